package com.portcullis.client;

import static com.portcullis.client.Sidecar.balance;
import static com.portcullis.client.Sidecar.eventually;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.Duration;
import com.google.protobuf.Timestamp;
import com.portcullis.v1.WatchChangesResponse;
import io.grpc.Status;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.function.Consumer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Sidecars that are older, or say what cannot be. */
class FollowerTest {
  private final FakeSidecar fake = new FakeSidecar();
  private final LinkedBlockingQueue<Exception> reported = new LinkedBlockingQueue<>();

  @AfterEach
  void close() {
    fake.close();
  }

  private Client connect() {
    return Client.builder()
        .address(fake.address())
        .deadline(java.time.Duration.ofMinutes(1))
        .local()
        .onFailure(reported::add)
        .connect();
  }

  @Test
  void anOlderSidecarIsAskedEachTime() throws InterruptedException {
    try (var client = connect()) {
      assertEquals(
          Status.Code.UNIMPLEMENTED,
          assertInstanceOf(PortcullisException.class, reported.take()).code());
      for (var round = 0; round < 3; round++) {
        client.check(balance("x"));
      }
      assertEquals(3, fake.checks.get());
      assertEquals(1, fake.watches.get());
      assertEquals(0, reported.size());
    }
  }

  @Test
  void aStreamThatIsSilentIsLeft() {
    fake.watch = observer -> observer.onNext(FakeSidecar.firstResponse().build());
    try (var client = connect()) {
      eventually("the client follows", client::isFollowing);
      eventually("the client asks for another stream", () -> fake.watches.get() > 1);
      assertEquals(0, reported.size());
    }
  }

  @Test
  void aTokenBehindASchemeIsKnown() {
    fake.kind = "kiosk_key";
    fake.rules = "library";
    fake.watch =
        observer -> {
          var first = FakeSidecar.firstResponse().setRules(ConformanceTest.rulesOf("library"));
          if (fake.watches.get() > 1) {
            first.clearVoided();
          }
          observer.onNext(first.build());
        };
    try (var client = connect()) {
      eventually("the token is known", () -> client.check(kiosk("Kiosk key")).response().isEmpty());
      var asked = fake.checks.get();
      for (var value : List.of("Kiosk key", "kiosk  key", " KIOSK key ")) {
        var answer = client.check(kiosk(value));
        assertEquals("`printers` accepts a kiosk key in `Authorization: Kiosk`", answer.message());
        assertEquals("Authorization", answer.header());
        assertEquals("Kiosk", answer.scheme());
      }
      assertEquals(asked, fake.checks.get());
      for (var value : List.of("Bearer key", "key", "Kiosk")) {
        assertEquals(Optional.empty(), client.checkLocally(kiosk(value)));
      }
    }
  }

  private static Question kiosk(String value) {
    return new Question("printers", Headers.of("Authorization", value));
  }

  @Test
  void oneWhoWaitsForAnotherHasTheSameDeadline() {
    fake.isSilent = true;
    fake.watch = observer -> observer.onNext(FakeSidecar.firstResponse().build());
    var options =
        Client.builder().address(fake.address()).deadline(java.time.Duration.ofSeconds(3)).local();
    try (var client = options.connect()) {
      eventually("the client follows", client::isFollowing);
      var began = System.nanoTime();
      var asked = List.of(client.checkAsync(balance("x")), client.checkAsync(balance("x")));
      for (var each : asked) {
        var failed = assertThrows(PortcullisException.class, () -> Client.await(each));
        assertEquals(Status.Code.DEADLINE_EXCEEDED, failed.code());
      }
      var took = java.time.Duration.ofNanos(System.nanoTime() - began);
      assertTrue(took.toMillis() < 5_500, took::toString);
    }
  }

  @Test
  void aTimeThatIsNoneIsAnError() {
    fake.issuedAt = Timestamp.newBuilder().setSeconds(Long.MAX_VALUE).build();
    fake.watch = observer -> observer.onNext(FakeSidecar.firstResponse().build());
    try (var client = connect()) {
      eventually("the client follows", client::isFollowing);
      for (var round = 0; round < 2; round++) {
        var failed = assertThrows(PortcullisException.class, () -> client.check(balance("x")));
        assertEquals(Status.Code.INTERNAL, failed.code());
      }
    }
  }

  @Test
  void aReportThatFailsEndsNothing() {
    try (var client =
        Client.builder()
            .address(fake.address())
            .local()
            .onFailure(
                error -> {
                  fake.watch = observer -> observer.onNext(FakeSidecar.firstResponse().build());
                  throw new IllegalStateException("a report");
                })
            .connect()) {
      fake.watch = observer -> observer.onNext(WatchChangesResponse.getDefaultInstance());
      eventually("the client follows", client::isFollowing);
    }
  }

  /** Impossible notifications of a sidecar. */
  private enum Wrong {
    SENT_EARLIER(response -> response.setSentAt(Duration.getDefaultInstance())),
    A_TIME_BEYOND_ALL(
        response -> response.setTimeOfDay(Timestamp.newBuilder().setSeconds(Long.MAX_VALUE))),
    NO_POSITION(WatchChangesResponse.Builder::clearPosition),
    RULES_WITHOUT_CELLS(
        response -> response.setRules(com.portcullis.v1.Rules.getDefaultInstance()));

    private final Consumer<WatchChangesResponse.Builder> damage;

    Wrong(Consumer<WatchChangesResponse.Builder> damage) {
      this.damage = damage;
    }
  }

  @ParameterizedTest
  @EnumSource
  void aSidecarThatSaysWhatCannotBeIsLeft(Wrong wrong) throws InterruptedException {
    var observers = new LinkedBlockingQueue<io.grpc.stub.StreamObserver<WatchChangesResponse>>();
    fake.watch =
        observer -> {
          observer.onNext(FakeSidecar.firstResponse().build());
          observers.add(observer);
        };
    try (var client = connect()) {
      var first = observers.take();
      eventually("the token is known", () -> client.check(balance("x")).response().isEmpty());
      assertEquals(java.time.Duration.ZERO, client.check(balance("x")).cacheFor());
      var next = FakeSidecar.firstResponse().clearVoided().clearRules();
      wrong.damage.accept(next);
      // The next stream begins anew, and gets nothing.
      fake.watch = observer -> {};
      first.onNext(next.build());
      Class<? extends Exception> expected =
          wrong == Wrong.RULES_WITHOUT_CELLS ? Rules.Incomplete.class : Memory.Impossible.class;
      assertInstanceOf(expected, reported.take());
      eventually("the client asks for another stream", () -> fake.watches.get() > 1);
      var before = fake.checks.get();
      client.check(balance("x"));
      assertEquals(before + 1, fake.checks.get());
    }
  }

  /** How a message of rules can lack something. */
  private enum Damage {
    NO_ROWS(rules -> rules.clearApis()),
    NO_ROW_FOR_UNKNOWN_APIS(rules -> rules.removeApis(0)),
    KIND_WITHOUT_PLACES(rules -> rules.getMatrixBuilder().getTokenKindsBuilder(0).clearPlaces()),
    A_KIND_THAT_A_ROW_LACKS(
        rules -> {
          var cells = rules.getApis(3).getCellsList();
          rules.getApisBuilder(3).clearCells().addAllCells(cells.subList(1, cells.size()));
        }),
    A_CELL_THAT_DOES_NOT_EXIST(rules -> rules.getApisBuilder(3).setCells(0, rules.getCellsCount())),
    A_CELL_BEYOND_ALL(rules -> rules.getApisBuilder(3).setCells(0, -1)),
    A_REASON_THAT_IS_MISSING(
        rules -> {
          var reasons = rules.getCells(0).getReasonsList();
          rules.getCellsBuilder(0).clearReasons().addAllReasons(reasons.subList(1, reasons.size()));
        });

    private final Consumer<com.portcullis.v1.Rules.Builder> damage;

    Damage(Consumer<com.portcullis.v1.Rules.Builder> damage) {
      this.damage = damage;
    }
  }

  @ParameterizedTest
  @EnumSource
  void rulesWithACellOrAPlaceMissingAreRefused(Damage damage) {
    var message = ConformanceTest.rulesOf("shipped").toBuilder();
    damage.damage.accept(message);
    assertThrows(Rules.Incomplete.class, () -> new Rules(message.build()));
  }

  @Test
  void aMatrixOf100000Apis() throws Exception {
    var message = ConformanceTest.rulesOf("shipped").toBuilder();
    for (var index = 0; index < 100_000; index++) {
      message.addApis(message.getApis(1 + index % 30).toBuilder().setApi("api-" + index));
    }
    var rules = new Rules(message.build());
    for (var each : message.getApisList()) {
      assertEquals(each.getApi(), rules.row(each.getApi()).api());
    }
    assertSame(rules.row(""), rules.row("api-100000"));
  }
}
