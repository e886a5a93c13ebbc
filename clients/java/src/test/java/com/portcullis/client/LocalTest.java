package com.portcullis.client;

import static com.portcullis.client.Sidecar.ACCOUNT;
import static com.portcullis.client.Sidecar.OTHER_ACCOUNT;
import static com.portcullis.client.Sidecar.balance;
import static com.portcullis.client.Sidecar.eventually;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executors;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** Local mode, with a sidecar. */
class LocalTest {
  private final Sidecar sidecar = Sidecar.shared();

  /** The content of an answer, in a form that can be compared. */
  private static String seen(Answer answer) {
    return String.join(
        " | ",
        String.valueOf(answer.allowed()),
        answer.reason().name(),
        answer.message(),
        answer.header(),
        answer.accepted().toString(),
        answer.token().toString(),
        String.valueOf(answer.verified()),
        answer.rulesDigest(),
        answer.route().toString());
  }

  private static boolean isFromMemory(Answer answer) {
    return answer.response().isEmpty();
  }

  @Test
  void aKnownTokenIsAnsweredFromMemory() {
    var owner = sidecar.secrets.get("owner");
    var claims = new Claims("static_token", new Scope(ACCOUNT));
    var questions =
        List.of(
            balance(owner),
            new Question("balance", Headers.of("X-TOKEN", owner + " "))
                .withClientAddress("192.0.2.1"),
            new Question("reports", Headers.of("X-Token", owner))
                .withTarget(new Scope(OTHER_ACCOUNT))
                .withClientAddress("192.0.2.1"),
            new Question("secrets", Headers.of("X-Token", owner)).withClientAddress("192.0.2.1"),
            new Question("no-such-api", Headers.of("X-Token", owner))
                .withClientAddress("192.0.2.1"),
            new Question("balance", Headers.of("X-Other", "x")),
            new Question("balance", Map.of("X-Token", List.of("a", "b"))),
            new Question("balance", claims).withTarget(new Scope(ACCOUNT, "alpha")),
            new Question("balance", new Claims("no-such-kind", new Scope(ACCOUNT))));
    try (var local = sidecar.connectLocal();
        var direct = sidecar.connect()) {
      for (var question : questions) {
        var expected = direct.check(question);
        local.client().check(question);
        var before = local.asked().get();
        var found = local.client().check(question);
        assertEquals(before, local.asked().get(), question::toString);
        assertTrue(isFromMemory(found), question::toString);
        assertEquals(seen(expected), seen(found));
        assertEquals(seen(expected), seen(local.client().checkLocally(question).orElseThrow()));
        assertEquals(seen(expected), seen(local.client().checkAsync(question).join()));
      }
      assertTrue(local.client().checkLocally(balance("unknown")).isEmpty());
      assertTrue(direct.checkLocally(balance(owner)).isEmpty());
    }
  }

  @Test
  void aRevokedTokenIsDeniedWhileAProgramDecidesLocally() {
    try (var local = sidecar.connectLocal()) {
      var value = sidecar.create("to-be-revoked");
      eventually("the token is known", () -> isFromMemory(local.client().check(balance(value))));
      sidecar.revoke(value);
      eventually("the token is denied", () -> !local.client().check(balance(value)).allowed());
      var answer = local.client().check(balance(value));
      assertEquals(Reason.CREDENTIAL_REVOKED, answer.reason());
      assertTrue(isFromMemory(answer), "the denial is known");
    }
  }

  @Test
  void aTokenIsAskedAboutOnceByAllWhoUseIt() {
    try (var local = sidecar.connectLocal()) {
      var question = balance(sidecar.secrets.get("owner"));
      var pool = Executors.newFixedThreadPool(32);
      var blocking =
          IntStream.range(0, 32)
              .mapToObj(
                  index ->
                      CompletableFuture.supplyAsync(() -> local.client().check(question), pool))
              .toList();
      var waiting =
          IntStream.range(0, 32).mapToObj(index -> local.client().checkAsync(question)).toList();
      blocking.forEach(each -> assertTrue(each.join().allowed()));
      waiting.forEach(each -> assertTrue(each.join().allowed()));
      pool.shutdown();
      assertEquals(1, local.asked().get());
    }
  }

  @Test
  void aCallerWhoLeavesDoesNotTakeTheAnswerAlong() {
    try (var local = sidecar.connectLocal()) {
      var question = balance(sidecar.secrets.get("owner"));
      var first = local.client().checkAsync(question);
      var second = local.client().checkAsync(question);
      first.cancel(true);
      assertTrue(second.join().allowed());
      Thread.currentThread().interrupt();
      var failed =
          assertThrows(PortcullisException.class, () -> local.client().check(balance("unknown")));
      assertEquals(io.grpc.Status.Code.CANCELLED, failed.code());
      assertTrue(Thread.interrupted(), "the interrupt is kept");
      assertTrue(local.client().check(question).allowed());
    }
  }

  @Test
  void tenThousandTokens() {
    try (var local = sidecar.connectLocal(Client.builder().tokensMax(Sidecar.MANY))) {
      askAll(local.client());
      var before = local.asked().get();
      assertEquals(Sidecar.MANY, before);
      askAll(local.client());
      assertEquals(before, local.asked().get());
      local.client().check(balance(sidecar.secrets.get("owner")));
      assertEquals(Sidecar.MANY, local.client().memory().tokens.count());
      assertEquals(Sidecar.MANY, local.client().memory().tokens.pairs());
    }
  }

  private void askAll(Client client) {
    for (var start = 0; start < sidecar.many.size(); start += 100) {
      sidecar.many.subList(start, start + 100).stream()
          .map(value -> client.checkAsync(balance(value)))
          .toList()
          .forEach(each -> assertTrue(each.join().allowed()));
    }
  }

  @Test
  void tokensOfOtherAccountsAreAskedAbout() {
    try (var local = sidecar.connectLocal(Client.builder().accounts(OTHER_ACCOUNT))) {
      for (var round = 0; round < 2; round++) {
        local.client().check(balance(sidecar.secrets.get("owner")));
        local.client().check(balance(sidecar.secrets.get("stranger")));
      }
      assertEquals(3, local.asked().get());
    }
  }

  @Test
  void withoutTheRightToFollowEachCheckIsAsked() throws InterruptedException {
    var reported = new LinkedBlockingQueue<Exception>();
    var options = Client.builder().address(sidecar.address()).callerToken(Sidecar.STRANGER_TOKEN);
    try (var client = options.local().onFailure(reported::add).connect()) {
      assertEquals("CALLER_RIGHT_MISSING", ((PortcullisException) reported.take()).reason());
      for (var round = 0; round < 2; round++) {
        var answer = client.check(balance(sidecar.secrets.get("owner")));
        assertTrue(answer.allowed());
        assertFalse(isFromMemory(answer));
      }
      assertEquals(0, reported.size());
    }
  }

  @Test
  void aSidecarThatIsKilledAndComesBack() throws Exception {
    var question = balance(sidecar.secrets.get("owner"));
    try (var local = sidecar.connectLocal();
        var direct = sidecar.connect()) {
      local.client().check(question);
      direct.check(question);
      sidecar.kill();
      eventually("there is no answer", () -> failure(local.client(), question) != null);
      assertEquals(io.grpc.Status.Code.UNAVAILABLE, failure(direct, question).code());
      sidecar.startAgain();
      eventually(
          "the token is known again",
          () ->
              failure(local.client(), question) == null
                  && isFromMemory(local.client().check(question)));
      eventually("the other client connects again", () -> failure(direct, question) == null);
    }
  }

  private static PortcullisException failure(Client client, Question question) {
    try {
      assertTrue(client.check(question).allowed());
      return null;
    } catch (PortcullisException error) {
      return error;
    }
  }

  /**
   * Asks random questions of a client in local mode, and of the sidecar. QUESTIONS says how many:
   * 1,000,000 in the nightly size.
   */
  @Test
  void localAnswersAreThoseOfTheSidecar() {
    var count = Integer.parseInt(Objects.requireNonNullElse(System.getenv("QUESTIONS"), "10000"));
    var seed = System.nanoTime();
    System.out.println("seed " + seed);
    try (var local = sidecar.connectLocal();
        var direct = sidecar.connect()) {
      var questions = randomQuestions(new Random(seed), local.client().memory().rules());
      for (var done = 0; done < count; done += 500) {
        var batch = new ArrayList<Question>();
        for (var index = 0; index < Math.min(500, count - done); index++) {
          batch.add(questions.get());
        }
        var expected = direct.checkBatch(batch);
        for (var index = 0; index < batch.size(); index++) {
          var question = batch.get(index);
          var found = local.client().check(question);
          assertEquals(expected.get(index).allowed(), found.allowed(), question::toString);
          if (isFromMemory(found)) {
            assertEquals(seen(expected.get(index)), seen(found), question::toString);
          }
        }
      }
      assertTrue(
          count < 5_000 || local.asked().get() < count / 2,
          () -> "most answers come from memory, found " + local.asked() + " questions");
    }
  }

  private Supplier<Question> randomQuestions(Random random, Rules rules) {
    var tokens =
        List.of(
            sidecar.secrets.get("owner"),
            sidecar.secrets.get("stranger"),
            sidecar.issue("account", ""),
            sidecar.issue("alpha", "alpha"),
            sidecar.many.get(0),
            "unknown",
            "",
            "a b",
            "a,b");
    var apis =
        rules.rows.keySet().stream()
            .map(api -> api.isEmpty() ? "no-such-api" : api)
            .sorted()
            .toList();
    var names = List.of("X-Token", "x-auth-token", "X-AUTH-TOKEN", "x-token", "X-Other");
    var kinds =
        List.of(
            "static_token",
            "iam_token_account_scoped",
            "iam_token_project_scoped",
            "no-such-kind",
            "");
    var addresses = List.of("", "192.0.2.1", "2001:db8::1");
    Supplier<Scope> scope =
        () ->
            new Scope(
                one(random, List.of(ACCOUNT, ACCOUNT, ACCOUNT, OTHER_ACCOUNT)),
                one(random, List.of("", "", "alpha", "beta")));
    var methods = List.of("GET", "GET", "HEAD", "POST", "get");
    var hosts = List.of("api.example", "API.example:8080", "", "a,b");
    var accounts = List.of(ACCOUNT, OTHER_ACCOUNT, "", "1 2");
    var segments =
        List.of(
            "accounts",
            "balance",
            ACCOUNT,
            OTHER_ACCOUNT,
            "Balance",
            "balance.json",
            "..",
            "%61",
            "");
    Supplier<String> path =
        () -> {
          var first =
              one(
                  random,
                  List.of("/accounts/" + ACCOUNT + "/balance", "/balance", "/accounts", ""));
          return random.nextInt(3) > 0 ? first : first + "/" + one(random, segments) + "?x=y";
        };
    return () -> {
      var api = one(random, apis);
      if (random.nextInt(4) == 0) {
        var request = new Request(one(random, methods), one(random, hosts), path.get());
        var headers =
            Map.of(
                "X-Token",
                List.of(one(random, tokens)),
                "X-Account",
                List.of(one(random, accounts)));
        return new Question(request, Headers.of(headers)).withClientAddress(one(random, addresses));
      }
      var target = random.nextInt(4) > 0 ? scope.get() : null;
      if (random.nextInt(5) == 0) {
        return new Question(
            api,
            null,
            new Claims(one(random, kinds), scope.get()),
            target,
            one(random, addresses),
            null);
      }
      var headers = new java.util.TreeMap<String, List<String>>();
      for (var count = 1 + random.nextInt(5) / 4; count > 0; count--) {
        headers
            .computeIfAbsent(one(random, names), name -> new ArrayList<>())
            .add(one(random, tokens));
      }
      return new Question(api, Headers.of(headers), null, target, one(random, addresses), null);
    };
  }

  private static <T> T one(Random random, List<T> from) {
    return from.get(random.nextInt(from.size()));
  }

  @Test
  void aClientThatWasClosedAnswersNothing() {
    var question = balance(sidecar.secrets.get("owner"));
    try (var local = sidecar.connectLocal();
        var asked = sidecar.connect()) {
      eventually(
          "the token is known",
          () -> {
            local.client().check(question);
            return local.client().checkLocally(question).isPresent();
          });
      for (var client : List.of(local.client(), asked)) {
        client.close();
        assertThrows(PortcullisException.class, () -> client.check(question));
        assertTrue(client.checkLocally(question).isEmpty());
      }
    }
  }

  private static long followers() {
    return Thread.getAllStackTraces().keySet().stream()
        .filter(each -> each.getName().equals("portcullis-follower") && !each.isInterrupted())
        .count();
  }

  @Test
  void aClientThatIsDroppedLeavesNoThread() {
    eventually("the clients of other tests have ended", () -> followers() == 0);
    dropAClient();
    eventually(
        "what follows has ended",
        () -> {
          System.gc();
          return followers() == 0;
        });
  }

  private void dropAClient() {
    var client =
        Client.builder()
            .address(sidecar.address())
            .callerToken(Sidecar.CALLER_TOKEN)
            .local()
            .connect();
    assertTrue(client.check(balance(sidecar.secrets.get("owner"))).allowed());
    assertEquals(1, followers());
  }
}
