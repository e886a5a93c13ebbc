package com.portcullis.client;

import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.function.Predicate;

/**
 * The known tokens by their values. Any number of threads may look one up without waiting. Changes
 * need a lock around them; a look-up that runs at the same time can miss a token, and then the
 * sidecar is asked.
 *
 * <p>Only tokens that the sidecar has verified come in here. A caller that makes many strings with
 * one hash finds no token with them, and slows down no look-up: a bucket has no more of them than
 * the sidecar has issued. Texts are equal by their characters, never by their hash alone.
 */
final class TokenTable {
  private static final int BUCKETS_MIN = 16;

  /** So many tokens share nothing before what they could share is forgotten. */
  private static final int LIKENESSES_MIN = 64;

  private final int pairsMax;
  private final Map<Entry.Likeness, Entry.Likeness> likenesses = new HashMap<>();
  private volatile AtomicReferenceArray<Entry> buckets;
  private int count;

  /** Of token and address. */
  private int pairs;

  /** The bucket that eviction looks at next. */
  private int cursor;

  TokenTable(int pairsMax) {
    this.pairsMax = pairsMax;
    clear();
  }

  Entry find(String value) {
    var hash = value.hashCode();
    var all = buckets;
    for (var each = all.getAcquire(bucketOf(hash, all)); each != null; each = each.next) {
      if (each.hash == hash && each.value.equals(value)) {
        return each;
      }
    }
    return null;
  }

  /** As in a HashMap: higher bits count, too. */
  private static int bucketOf(int hash, AtomicReferenceArray<Entry> buckets) {
    return (hash ^ (hash >>> 16)) & (buckets.length() - 1);
  }

  int count() {
    return count;
  }

  int pairs() {
    return pairs;
  }

  int pairsMax() {
    return pairsMax;
  }

  void clear() {
    buckets = new AtomicReferenceArray<>(BUCKETS_MIN);
    likenesses.clear();
    count = 0;
    pairs = 0;
    cursor = 0;
  }

  /** The one of equal likenesses that tokens share. */
  Entry.Likeness shared(Entry.Likeness like) {
    if (likenesses.size() > LIKENESSES_MIN + 2 * count) {
      likenesses.clear();
    }
    var known = likenesses.putIfAbsent(like, like);
    return known == null ? like : known;
  }

  /** Adds an entry, in place of the one with the same value. */
  void put(Entry added) {
    if (pairsMax < added.pairs()) {
      return;
    }
    remove(added.value);
    evict(pairsMax - added.pairs());
    if (count >= buckets.length()) {
      grow();
    }
    link(buckets, added);
    count++;
    pairs += added.pairs();
  }

  /** Removes the entry with a value, if there is one. */
  void remove(String value) {
    removeFrom(bucketOf(value.hashCode(), buckets), each -> each.value.equals(value));
  }

  private static void link(AtomicReferenceArray<Entry> buckets, Entry added) {
    var bucket = bucketOf(added.hash, buckets);
    added.next = buckets.getPlain(bucket);
    buckets.setRelease(bucket, added);
  }

  /** A look-up that follows an entry into its new bucket ends there, because each chain ends. */
  private void grow() {
    var old = buckets;
    var grown = new AtomicReferenceArray<Entry>(2 * old.length());
    for (var bucket = 0; bucket < old.length(); bucket++) {
      for (var each = old.getPlain(bucket); each != null; ) {
        var next = each.next;
        link(grown, each);
        each = next;
      }
    }
    buckets = grown;
  }

  void removeIf(Predicate<Entry> isVoid) {
    for (var bucket = 0; bucket < buckets.length(); bucket++) {
      removeFrom(bucket, isVoid);
    }
  }

  private void removeFrom(int bucket, Predicate<Entry> isVoid) {
    Entry before = null;
    for (var each = buckets.getPlain(bucket); each != null; each = each.next) {
      if (!isVoid.test(each)) {
        before = each;
        continue;
      }
      if (before == null) {
        buckets.setRelease(bucket, each.next);
      } else {
        before.next = each.next;
      }
      count--;
      pairs -= each.pairs();
    }
  }

  /** Makes room: those go first that were not used since it last came by. */
  private void evict(int max) {
    for (var seen = 0; pairs > max; seen++) {
      var isSecondRound = seen >= buckets.length();
      removeFrom(
          cursor,
          each -> {
            if (pairs <= max) {
              return false;
            }
            var wasUsed = each.isUsed;
            each.isUsed = false;
            return isSecondRound || !wasUsed;
          });
      cursor = (cursor + 1) & (buckets.length() - 1);
    }
  }
}
