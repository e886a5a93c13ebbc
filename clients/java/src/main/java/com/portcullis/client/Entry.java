package com.portcullis.client;

import com.portcullis.v1.VerifiedToken;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;

/**
 * A token that the sidecar has verified. It never changes, apart from its place in the table. Most
 * of its texts are one string, and the fields that many tokens share are kept once: a program may
 * know tens of thousands of tokens, and the data of a check should be close together.
 */
final class Entry {
  /** Most addresses that are kept of one token. */
  static final int ADDRESSES_MAX = 100;

  /** Most characters of the texts of a token. No token of a directory has more. */
  private static final int TEXTS_MAX = Character.MAX_VALUE;

  private static final long NEVER = Long.MAX_VALUE;

  /** The fields that many tokens share. The kind and the place are interned. */
  record Likeness(String kind, String place, String account, String project, String holderType) {}

  /**
   * The fault of a token at an address.
   *
   * @param fault null: nothing
   */
  record AddressFault(String address, Reason fault) {}

  /** The fields that few tokens have. */
  private record More(
      List<AddressFault> addresses,
      List<String> roles,
      String authority,
      List<String> derivedFrom) {}

  private static final More NOTHING_MORE = new More(List.of(), List.of(), "", List.of());

  /** The token itself, and its hash. */
  final String value;

  final int hash;
  final Likeness like;

  /** The first address, the id, the id and the name of the holder, and the id of the project. */
  private final String texts;

  private final char addressEnd;
  private final char idEnd;
  private final char holderIdEnd;
  private final char holderNameEnd;

  /** The fault at the first address; null: nothing. */
  private final Reason fault;

  private final More more;

  /** In milliseconds since 1970. */
  final long expiresAt;

  private final long issuedAt;

  /** The next one in the same bucket. */
  volatile Entry next;

  /** Whether the token was used since eviction last came by. A race about it is harmless. */
  boolean isUsed;

  private Entry(String value, Likeness like, VerifiedToken token, AddressFault first, More more) {
    this.value = value;
    this.hash = value.hashCode();
    this.like = like;
    this.fault = first.fault;
    this.more = more;
    expiresAt = expiryOf(token);
    issuedAt = millisecondsOf(token.getIssuedAt());
    var subject = token.getSubject();
    texts =
        first.address
            + token.getTokenId()
            + subject.getId()
            + subject.getName()
            + token.getProjectId();
    addressEnd = (char) first.address.length();
    idEnd = (char) (addressEnd + token.getTokenId().length());
    holderIdEnd = (char) (idEnd + subject.getId().length());
    holderNameEnd = (char) (holderIdEnd + subject.getName().length());
  }

  /**
   * @param earlier an earlier entry of the same value; null: there is none
   * @param addressesMax how many addresses there is room for
   * @return null: the token is too long to be kept
   */
  static Entry of(
      String value,
      Likeness like,
      VerifiedToken token,
      AddressFault first,
      Entry earlier,
      int addressesMax) {
    var subject = token.getSubject();
    var length =
        0L
            + first.address.length()
            + token.getTokenId().length()
            + subject.getId().length()
            + subject.getName().length();
    if (length + token.getProjectId().length() > TEXTS_MAX) {
      return null;
    }
    var addresses = List.<AddressFault>of();
    if (earlier != null && earlier.like.equals(like) && earlier.isOf(token)) {
      addresses = earlier.addressesBeside(first.address, addressesMax - 1);
    }
    var hasMore =
        token.getRolesCount() + token.getDerivedFromCount() + addresses.size() > 0
            || !token.getAuthority().isEmpty();
    var more =
        hasMore
            ? new More(
                addresses,
                List.copyOf(token.getRolesList()),
                token.getAuthority(),
                List.copyOf(token.getDerivedFromList()))
            : NOTHING_MORE;
    return new Entry(value, like, token, first, more);
  }

  /** Whether the same is said of the token as when it became known. */
  private boolean isOf(VerifiedToken token) {
    var subject = token.getSubject();
    return id().equals(token.getTokenId())
        && holderId().equals(subject.getId())
        && holderName().equals(subject.getName())
        && projectId().equals(token.getProjectId())
        && expiresAt == expiryOf(token)
        && issuedAt == millisecondsOf(token.getIssuedAt())
        && more.derivedFrom.equals(token.getDerivedFromList());
  }

  private static long expiryOf(VerifiedToken token) {
    return token.hasExpiresAt() ? millisecondsOf(token.getExpiresAt()) : NEVER;
  }

  private static long millisecondsOf(com.google.protobuf.Timestamp message) {
    return Token.instantOf(message).toEpochMilli();
  }

  /** The known faults at other addresses, as many as there is room for. */
  private List<AddressFault> addressesBeside(String address, int max) {
    var known = new ArrayList<AddressFault>();
    known.add(new AddressFault(texts.substring(0, addressEnd), fault));
    known.addAll(more.addresses);
    known.removeIf(each -> each.address.equals(address));
    return List.copyOf(known.subList(0, Math.min(known.size(), Math.max(0, max))));
  }

  /** Whether it is known what is wrong with the token at an address. */
  boolean isKnownAt(String address) {
    return isFirst(address) || !more.addresses.isEmpty() && faultBeside(address) != null;
  }

  /** The fault of the token at an address where it is known; null: none. */
  Reason faultAt(String address) {
    return isFirst(address) ? fault : faultBeside(address).fault;
  }

  private boolean isFirst(String address) {
    return address.length() == addressEnd && texts.startsWith(address);
  }

  private AddressFault faultBeside(String address) {
    for (var each : more.addresses) {
      if (each.address.equals(address)) {
        return each;
      }
    }
    return null;
  }

  /** How many pairs of token and address it stands for. */
  int pairs() {
    return 1 + more.addresses.size();
  }

  String id() {
    return texts.substring(addressEnd, idEnd);
  }

  String holderId() {
    return texts.substring(idEnd, holderIdEnd);
  }

  private String holderName() {
    return texts.substring(holderIdEnd, holderNameEnd);
  }

  String projectId() {
    return texts.substring(holderNameEnd);
  }

  List<String> derivedFrom() {
    return more.derivedFrom;
  }

  Token token() {
    return new Token(
        like.kind,
        new Scope(like.account, like.project),
        new Subject(holderId(), holderName(), like.holderType),
        id(),
        Instant.ofEpochMilli(issuedAt),
        expiresAt == NEVER ? null : Instant.ofEpochMilli(expiresAt),
        more.roles,
        more.authority,
        projectId(),
        more.derivedFrom);
  }
}
