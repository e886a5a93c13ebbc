package com.portcullis.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.portcullis.v1.VerifiedToken;
import java.util.List;
import java.util.Random;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** The table of tokens, read by several threads while another one changes it. */
class TokenTableTest {
  private static final Entry.Likeness LIKE =
      new Entry.Likeness("static_token", "x-token", "1", "", "");

  private static Entry entry(String value) {
    var token = VerifiedToken.newBuilder().setTokenId("id of " + value).build();
    return Entry.of(value, LIKE, token, new Entry.AddressFault("192.0.2.1", null), null, 1);
  }

  @Test
  void stringsWithOneHashAreDistinguished() {
    // Each pair of letters has the hash of the other one, so all of these have one hash.
    var values =
        IntStream.range(0, 1 << 10)
            .mapToObj(
                bits ->
                    IntStream.range(0, 10)
                        .mapToObj(bit -> (bits >> bit & 1) == 0 ? "Aa" : "BB")
                        .reduce("", String::concat))
            .toList();
    assertEquals(1, values.stream().mapToInt(String::hashCode).distinct().count());
    var table = new TokenTable(10_000);
    values.subList(0, 512).forEach(value -> table.put(entry(value)));
    for (var value : values.subList(0, 512)) {
      assertEquals("id of " + value, table.find(new String(value)).id());
    }
    values.subList(512, 1024).forEach(value -> assertNull(table.find(value)));
  }

  @Test
  void thoseThatAreUsedStay() {
    var table = new TokenTable(100);
    IntStream.range(0, 100).forEach(index -> table.put(entry("used-" + index)));
    for (var index = 0; index < 1000; index++) {
      IntStream.range(0, 50).forEach(each -> table.find("used-" + each).isUsed = true);
      table.put(entry("new-" + index));
      assertEquals(100, table.pairs());
      assertEquals(100, table.count());
    }
    IntStream.range(0, 50)
        .forEach(each -> assertEquals("id of used-" + each, table.find("used-" + each).id()));
  }

  @Test
  void aLookUpFindsWhatStaysAndNothingElse() throws Exception {
    var table = new TokenTable(2_000);
    var stays = IntStream.range(0, 500).mapToObj(index -> "stays-" + index).toList();
    stays.forEach(value -> table.put(entry(value)));
    var isDone = new AtomicBoolean();
    var pool = Executors.newFixedThreadPool(3);
    var readers =
        IntStream.range(0, 3)
            .mapToObj(reader -> pool.submit(() -> read(table, stays, new Random(reader), isDone)))
            .toList();
    var random = new Random(4);
    for (var round = 0; round < 200_000 && readers.stream().noneMatch(Future::isDone); round++) {
      var value = "comes-" + random.nextInt(1_000);
      if (random.nextBoolean()) {
        table.put(entry(value));
      } else if (random.nextInt(100) > 0) {
        table.put(entry(value));
      } else {
        table.removeIf(each -> each.value.startsWith("comes-"));
      }
    }
    isDone.set(true);
    for (var each : readers) {
      // A look-up may miss a token while it is moved, which costs a question. That is rare.
      assertTrue(each.get() < 0.01, () -> "look-ups that missed");
    }
    pool.shutdown();
    assertTrue(table.count() <= 1_500);
    stays.forEach(value -> assertEquals(value, table.find(value).value));
  }

  /** The part of the look-ups that found nothing. */
  private static double read(
      TokenTable table, List<String> stays, Random random, AtomicBoolean isDone) {
    long count = 0;
    long missed = 0;
    while (!isDone.get()) {
      var value = stays.get(random.nextInt(stays.size()));
      var found = table.find(new String(value));
      missed += found == null ? 1 : 0;
      assertTrue(found == null || found.value.equals(value) && found.id().equals("id of " + value));
      assertNull(table.find("never-" + random.nextInt()));
      count++;
    }
    return (double) missed / count;
  }
}
