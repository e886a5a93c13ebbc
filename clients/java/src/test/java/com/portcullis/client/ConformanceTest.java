package com.portcullis.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.DynamicTest.dynamicTest;

import com.google.gson.Gson;
import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import com.google.protobuf.Duration;
import com.google.protobuf.Timestamp;
import com.portcullis.v1.CheckResponse;
import com.portcullis.v1.FoundRoute;
import com.portcullis.v1.IssueResponse;
import com.portcullis.v1.Position;
import com.portcullis.v1.Subject;
import com.portcullis.v1.TokenPlace;
import com.portcullis.v1.VerifiedToken;
import com.portcullis.v1.Voided;
import com.portcullis.v1.WatchChangesResponse;
import io.grpc.InternalMetadata;
import io.grpc.Status;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/**
 * The suite that all clients run (clients/conformance/README.md). CONFORMANCE names another folder,
 * with other traces.
 */
class ConformanceTest {
  private static final Path SUITE =
      Path.of(Objects.requireNonNullElse(System.getenv("CONFORMANCE"), "../conformance"));
  private static final Map<String, com.portcullis.v1.Rules> RULES = new ConcurrentHashMap<>();

  /** The lines of a file of the suite, without the first one. They are read as they are needed. */
  static Stream<JsonObject> linesOf(String name) throws IOException {
    var lines =
        Files.lines(SUITE.resolve(name))
            .map(line -> JsonParser.parseString(line).getAsJsonObject())
            .iterator();
    assertEquals("{\"version\":6}", lines.next().toString());
    assertTrue(lines.hasNext(), name);
    Iterable<JsonObject> others = () -> lines;
    return StreamSupport.stream(others.spliterator(), false);
  }

  static com.portcullis.v1.Rules rulesOf(String name) {
    return RULES.computeIfAbsent(
        name,
        key -> {
          try {
            return com.portcullis.v1.Rules.parseFrom(
                Files.readAllBytes(SUITE.resolve("rules/" + name + ".binpb")));
          } catch (IOException error) {
            throw new UncheckedIOException(error);
          }
        });
  }

  private static String textOf(JsonObject object, String name) {
    return object.has(name) ? object.get(name).getAsString() : "";
  }

  private static boolean isIn(JsonObject object, String name) {
    return object.has(name) && !object.get(name).isJsonNull();
  }

  private static Scope scopeOf(JsonObject object, String name) {
    if (!isIn(object, name)) {
      return null;
    }
    var scope = object.getAsJsonObject(name);
    return new Scope(textOf(scope, "account"), textOf(scope, "project"));
  }

  private static List<AcceptedKind> acceptedOf(JsonObject object) {
    return object.getAsJsonArray("accepted").asList().stream()
        .map(JsonElement::getAsJsonObject)
        .map(
            each ->
                new AcceptedKind(
                    textOf(each, "kind"),
                    textOf(each, "header"),
                    textOf(each, "scheme"),
                    each.get("issuable").getAsBoolean(),
                    textOf(each, "obtained"),
                    textOf(each, "link")))
        .toList();
  }

  @Test
  void decisionsAreThoseOfTheEngine() throws Exception {
    var known = new HashMap<String, Rules>();
    var lines = linesOf("decisions.jsonl").iterator();
    var questions = lines.next().getAsJsonArray("questions");
    while (lines.hasNext()) {
      var line = lines.next();
      var name = textOf(line, "rules");
      if (!known.containsKey(name)) {
        known.put(name, new Rules(rulesOf(name)));
      }
      var rules = known.get(name);
      if (!line.has("apis")) {
        assertEquals(acceptedOf(line), rules.row(textOf(line, "api")).accepted(), line::toString);
        continue;
      }
      for (var api : line.getAsJsonArray("apis")) {
        for (var index = 0; index < questions.size(); index++) {
          var question = questions.get(index).getAsJsonObject();
          var scope = scopeOf(question, "scope");
          var situation =
              question.has("fault")
                  ? Rules.situationOfFault(Reason.valueOf(textOf(question, "fault")))
                  : Rules.situationOf(
                      scope.account(), scope.project(), scopeOf(question, "target"));
          var found =
              rules.row(api.getAsString()).reason(rules.column(textOf(line, "kind")), situation);
          assertEquals(
              line.getAsJsonArray("reasons").get(index).getAsString(),
              found.name(),
              () -> line + " " + question);
        }
      }
    }
  }

  /**
   * A text, or bytes, or pieces that are repeated. Bytes that are not ASCII become characters with
   * their numbers.
   */
  private static String valueOf(JsonElement value) {
    if (value.isJsonPrimitive()) {
      return value.getAsString();
    }
    var object = value.getAsJsonObject();
    if (object.has("base64")) {
      return new String(
          Base64.getDecoder().decode(textOf(object, "base64")), StandardCharsets.ISO_8859_1);
    }
    var text = new StringBuilder();
    for (var piece : object.getAsJsonArray("pieces")) {
      text.append(
          piece
              .getAsJsonArray()
              .get(0)
              .getAsString()
              .repeat(piece.getAsJsonArray().get(1).getAsInt()));
    }
    return text.toString();
  }

  private static List<Map.Entry<String, String>> pairsOf(JsonArray headers) {
    var pairs = new ArrayList<Map.Entry<String, String>>();
    for (var each : headers) {
      var parts = each.getAsJsonArray();
      var count = parts.size() > 2 ? parts.get(2).getAsInt() : 1;
      for (var index = 0; index < count; index++) {
        pairs.add(Map.entry(parts.get(0).getAsString(), valueOf(parts.get(1))));
      }
    }
    return pairs;
  }

  private static Headers asMap(List<Map.Entry<String, String>> pairs) {
    var map = new LinkedHashMap<String, List<String>>();
    pairs.forEach(
        pair -> map.computeIfAbsent(pair.getKey(), name -> new ArrayList<>()).add(pair.getValue()));
    return Headers.of(map);
  }

  /** As a server of gRPC gets them: bytes, with names in lower case. */
  private static Headers asMetadata(List<Map.Entry<String, String>> pairs) {
    var bytes = new ArrayList<byte[]>();
    for (var pair : pairs) {
      bytes.add(Ascii.lowerCase(pair.getKey()).getBytes(StandardCharsets.UTF_8));
      bytes.add(pair.getValue().getBytes(StandardCharsets.UTF_8));
    }
    return Headers.of(InternalMetadata.newMetadata(bytes.toArray(byte[][]::new)));
  }

  /** A place with a name, or with parts. */
  private static TokenPlace placeOf(JsonElement place) {
    var made = TokenPlace.newBuilder();
    if (place.isJsonPrimitive()) {
      var parts = place.getAsString().split(": ", 2);
      return made.setHeader(parts[0]).setScheme(parts.length > 1 ? parts[1] : "").build();
    }
    var parts = place.getAsJsonObject();
    return made.setHeader(textOf(parts, "header"))
        .setScheme(parts.has("basic") ? "Basic" : textOf(parts, "scheme"))
        .setPrefix(textOf(parts, "prefix"))
        .setBasic(textOf(parts, "basic"))
        .setWith(textOf(parts, "with"))
        .build();
  }

  @TestFactory
  Stream<DynamicTest> credentialsAreFound() throws IOException {
    return linesOf("credentials.jsonl")
        .map(
            line ->
                dynamicTest(
                    textOf(line, "name"),
                    () -> {
                      var places =
                          line
                              .getAsJsonArray(line.has("names") ? "names" : "places")
                              .asList()
                              .stream()
                              .map(ConformanceTest::placeOf)
                              .toList();
                      var pairs = pairsOf(line.getAsJsonArray("headers"));
                      for (var headers : List.of(asMap(pairs), asMetadata(pairs))) {
                        var found = new Credentials(CredentialHeader.of(places), headers);
                        if (line.has("fault")) {
                          assertEquals(textOf(line, "fault"), String.valueOf(found.fault()));
                          continue;
                        }
                        var expected = line.getAsJsonArray("found").deepCopy();
                        assertEquals(null, found.fault());
                        assertEquals(valueOf(expected.remove(1)), found.token);
                        var words = expected.asList().stream().map(JsonElement::getAsString);
                        assertEquals(words.collect(Collectors.joining(" ")), found.place);
                      }
                    }));
  }

  private static Request requestOf(JsonObject request) {
    return new Request(textOf(request, "method"), textOf(request, "host"), textOf(request, "path"));
  }

  /** A route in the form of `expect`. */
  private static JsonObject inJson(Route route) {
    var found = new JsonObject();
    found.addProperty("api", route.api());
    if (route.target() != null) {
      var target = new JsonObject();
      target.addProperty("account", route.target().account());
      if (!route.target().project().isEmpty()) {
        target.addProperty("project", route.target().project());
      }
      found.add("target", target);
    }
    return found;
  }

  @TestFactory
  Stream<DynamicTest> routesAreFound() throws IOException {
    return linesOf("routes.jsonl")
        .map(
            line ->
                dynamicTest(
                    textOf(line, "name"),
                    () -> {
                      var message = Base64.getDecoder().decode(textOf(line, "routes"));
                      var routes = new Routes(com.portcullis.v1.Routes.parseFrom(message));
                      for (var each : line.getAsJsonArray("requests")) {
                        var asked = each.getAsJsonObject();
                        var pairs =
                            asked.has("headers")
                                ? pairsOf(asked.getAsJsonArray("headers"))
                                : List.<Map.Entry<String, String>>of();
                        for (var headers : List.of(asMap(pairs), asMetadata(pairs))) {
                          var found = routes.find(requestOf(asked), headers);
                          assertEquals(
                              asked.get("expect"),
                              found == null ? new Gson().toJsonTree("ask") : inJson(found),
                              asked::toString);
                        }
                      }
                    }));
  }

  @TestFactory
  Stream<DynamicTest> memoryAnswersStepByStep() throws IOException {
    return linesOf("traces.jsonl")
        .map(trace -> dynamicTest(textOf(trace, "name"), () -> new Player(trace).play()));
  }

  /** Plays the steps of a trace. */
  private static final class Player {
    private final JsonArray steps;
    private final Memory memory;
    private final Elapsed clock = new Elapsed(0, 0);
    private final Map<Integer, Question> questions = new HashMap<>();
    private final Map<Integer, Memory.Asked> asked = new HashMap<>();
    private String digest = "";

    Player(JsonObject trace) {
      steps = trace.getAsJsonArray("steps");
      var options = trace.has("options") ? trace.getAsJsonObject("options") : new JsonObject();
      var accounts =
          options.has("accounts")
              ? options.getAsJsonArray("accounts").asList().stream()
                  .map(JsonElement::getAsString)
                  .toList()
              : List.<String>of();
      memory =
          new Memory(
              accounts, options.has("tokens_max") ? options.get("tokens_max").getAsInt() : 10_000);
    }

    void play() {
      for (var number = 0; number < steps.size(); number++) {
        var step = steps.get(number).getAsJsonObject();
        var found = play(number, step);
        if (step.has("expect")) {
          var place = number;
          assertEquals(step.get("expect"), found, () -> "step " + place);
        }
      }
    }

    /** The act of the client in the step, in the form of `expect`. */
    private JsonElement play(int number, JsonObject step) {
      var monotonic = nanosecondsOf(step.get("at_ms"));
      var wall = step.has("wall_ms") ? nanosecondsOf(step.get("wall_ms")) : monotonic;
      var now = clock.read(wall, monotonic);
      if (step.has("begin")) {
        return begin(now);
      }
      if (step.has("hear")) {
        return new Gson().toJsonTree(hear(step.getAsJsonObject("hear"), now));
      }
      if (step.has("check")) {
        return check(number, step.getAsJsonObject("check"), now);
      }
      return learn(step.getAsJsonObject("learn"));
    }

    private JsonElement begin(long now) {
      var request = memory.begin(now, clock.jumped());
      var began = new JsonObject();
      began.add("accounts", new Gson().toJsonTree(List.copyOf(request.getAccountsList())));
      var recordedAt = request.getAfter().getRecordedAt();
      var after =
          List.of(
              request.getAfter().getChange(),
              recordedAt.getSeconds() * 1000 + recordedAt.getNanos() / 1_000_000);
      began.add("after", new Gson().toJsonTree(request.hasAfter() ? after : null));
      began.addProperty("basis", request.getAfter().getBasis());
      // Numbers of a parser and of a program are compared by their text.
      return JsonParser.parseString(
          new com.google.gson.GsonBuilder().serializeNulls().create().toJson(began));
    }

    private String hear(JsonObject hear, long now) {
      var response = WatchChangesResponse.newBuilder();
      if (isIn(hear, "position")) {
        response.setPosition(positionOf(hear));
      }
      if (isIn(hear, "valid_for_ms")) {
        response.setValidFor(durationOf(hear.get("valid_for_ms")));
      }
      if (isIn(hear, "sent_at_ms")) {
        response.setSentAt(durationOf(hear.get("sent_at_ms")));
      }
      if (isIn(hear, "time_of_day_ms")) {
        response.setTimeOfDay(timestampOf(hear.get("time_of_day_ms").getAsLong()));
      }
      if (isIn(hear, "rules_part")) {
        response.setRulesPart(rulesOf(textOf(hear, "rules_part")));
      }
      if (isIn(hear, "rules")) {
        response.setRules(rulesOf(textOf(hear, "rules")));
        digest = response.getRules().getMatrix().getRulesDigest();
      }
      if (isIn(hear, "voided")) {
        response.setVoided(voidedOf(hear.get("voided")));
      }
      try {
        return memory.hear(response.build(), now, clock.jumped()) ? "followed" : "left";
      } catch (Memory.Impossible | Rules.Incomplete error) {
        return "refused";
      }
    }

    private static Voided voidedOf(JsonElement voided) {
      if (voided.isJsonPrimitive()) {
        return Voided.newBuilder().setEverything(voided.getAsString().equals("everything")).build();
      }
      var object = voided.getAsJsonObject();
      return Voided.newBuilder()
          .addAllTokenIds(textsOf(object, "token_ids"))
          .addAllUserIds(textsOf(object, "user_ids"))
          .addAllAccounts(textsOf(object, "accounts"))
          .addAllProjectIds(textsOf(object, "project_ids"))
          .build();
    }

    private static List<String> textsOf(JsonObject object, String name) {
      return object.has(name)
          ? object.getAsJsonArray(name).asList().stream().map(JsonElement::getAsString).toList()
          : List.of();
    }

    private JsonElement check(int number, JsonObject check, long now) {
      var headers =
          check.has("headers") ? asMap(pairsOf(check.getAsJsonArray("headers"))) : asMap(List.of());
      var claims =
          isIn(check, "scope") ? new Claims(textOf(check, "kind"), scopeOf(check, "scope")) : null;
      var question =
          new Question(
              textOf(check, "api"),
              claims == null ? headers : null,
              claims,
              scopeOf(check, "target"),
              textOf(check, "address"),
              isIn(check, "request") ? requestOf(check.getAsJsonObject("request")) : null);
      var answer = memory.answer(question, now);
      if (answer == null) {
        questions.put(number, question);
        asked.put(number, memory.asked(question, now));
        return new Gson().toJsonTree("ask");
      }
      var found = new JsonObject();
      found.addProperty("allowed", answer.allowed());
      found.addProperty("reason", answer.reason().name());
      found.addProperty("message", answer.message());
      if (!answer.advice().isEmpty()) {
        found.add("advice", new Gson().toJsonTree(answer.advice()));
      }
      answer.route().ifPresent(route -> found.add("route", inJson(route)));
      return found;
    }

    /** The answer that the program gets. */
    private JsonElement learn(JsonObject learn) {
      var of = learn.get("of").getAsInt();
      assertTrue(questions.containsKey(of), () -> "step " + of + " did not ask");
      var reason = textOf(learn, "reason");
      var allowed =
          learn.has("allowed") ? learn.get("allowed").getAsBoolean() : reason.equals("ALLOWED");
      var isSame = !learn.has("same_rules") || learn.get("same_rules").getAsBoolean();
      var response =
          CheckResponse.newBuilder()
              .setAllowed(allowed)
              .setReasonValue(numberOf(reason))
              .setMessage(textOf(learn, "message"))
              .setHeader(textOf(learn, "header"))
              .setVerified(learn.has("verified") && learn.get("verified").getAsBoolean())
              .setRulesDigest(isSame ? digest : "others");
      if (isIn(learn, "position")) {
        response.setPosition(positionOf(learn));
      }
      if (isIn(learn, "token")) {
        var token = learn.getAsJsonObject("token");
        var made =
            VerifiedToken.newBuilder()
                .setTokenId(textOf(token, "id"))
                .setKind(textOf(token, "kind"))
                .setScope(new Scope(textOf(token, "account"), textOf(token, "project")).message())
                .setSubject(Subject.newBuilder().setId(textOf(token, "user")))
                .setProjectId(textOf(token, "project_id"))
                .addAllDerivedFrom(textsOf(token, "derived_from"));
        if (isIn(token, "expires_at_ms")) {
          made.setExpiresAt(timestampOf(token.get("expires_at_ms").getAsLong()));
        }
        response.setToken(made);
      }
      if (isIn(learn, "route")) {
        response.setRoute(routeOf(learn.getAsJsonObject("route")));
      }
      memory.learn(questions.get(of), asked.get(of), response.build());
      var answer = new Answer(response.build(), questions.get(of));
      var found = new JsonObject();
      found.addProperty("allowed", answer.allowed());
      found.addProperty("reason", answer.reason().name());
      return found;
    }

    private static int numberOf(String reason) {
      return switch (reason) {
        case "" -> 0;
        case "UNSPECIFIED" -> 999;
        default -> Reason.valueOf(reason).ordinal();
      };
    }

    private static FoundRoute routeOf(JsonObject route) {
      var found =
          FoundRoute.newBuilder().setApi(textOf(route, "api")).setRefused(textOf(route, "refused"));
      if (isIn(route, "target")) {
        found.setTarget(scopeOf(route, "target").message());
      }
      return found.build();
    }

    private static Position positionOf(JsonObject line) {
      var position = line.getAsJsonArray("position");
      return Position.newBuilder()
          .setBasis(textOf(line, "basis"))
          .setChange(position.get(0).getAsLong())
          .setRecordedAt(timestampOf(position.get(1).getAsLong()))
          .build();
    }

    private static Timestamp timestampOf(long milliseconds) {
      return Timestamp.newBuilder()
          .setSeconds(Math.floorDiv(milliseconds, 1000))
          .setNanos((int) Math.floorMod(milliseconds, 1000L) * 1_000_000)
          .build();
    }

    private static Duration durationOf(JsonElement milliseconds) {
      var nanoseconds = nanosecondsOf(milliseconds);
      return Duration.newBuilder()
          .setSeconds(nanoseconds / 1_000_000_000)
          .setNanos((int) (nanoseconds % 1_000_000_000))
          .build();
    }

    private static long nanosecondsOf(JsonElement milliseconds) {
      return Math.round(milliseconds.getAsDouble() * 1_000_000);
    }
  }

  @Test
  void denialsHaveTheBytesOfTheSidecar() throws IOException {
    linesOf("denials.jsonl")
        .forEach(
            line -> {
              var denial =
                  line.has("answer")
                      ? denialOf(line.getAsJsonObject("answer"))
                      : failureOf(line.getAsJsonObject("failure"));
              assertEquals(line.get("status").getAsInt(), denial.status(), line::toString);
              var headers = new HashMap<String, String>();
              line.getAsJsonObject("headers")
                  .entrySet()
                  .forEach(each -> headers.put(each.getKey(), each.getValue().getAsString()));
              assertEquals(headers, denial.headers(), line::toString);
              assertEquals(line.get("body"), JsonParser.parseString(denial.body()), line::toString);
            });
  }

  private static Denial denialOf(JsonObject answer) {
    var response =
        CheckResponse.newBuilder()
            .setReasonValue(Reason.valueOf(textOf(answer, "reason")).ordinal())
            .setMessage(textOf(answer, "message"))
            .setRulesDigest(textOf(answer, "rules_digest"));
    var question = new Question(new Request("GET", "", "/"), asMap(List.of()));
    if (answer.has("refused")) {
      response.setRoute(FoundRoute.newBuilder().setRefused(textOf(answer, "refused")));
    }
    acceptedOf(answer)
        .forEach(
            each ->
                response
                    .addAcceptedBuilder()
                    .setKind(each.kind())
                    .setHeader(each.header())
                    .setScheme(each.scheme())
                    .setIssuable(each.issuable())
                    .setObtained(each.obtained())
                    .setLink(each.link()));
    return Denial.of(new Answer(response.build(), question), false);
  }

  private static Denial failureOf(JsonObject failure) {
    return Denial.of(
        new PortcullisException(
            Status.Code.valueOf(textOf(failure, "code")), textOf(failure, "reason"), ""));
  }

  @Test
  void outages() throws IOException {
    linesOf("outages.jsonl")
        .forEach(
            line -> {
              var outage = new Outage();
              for (var each : line.getAsJsonArray("steps")) {
                var step = each.getAsJsonObject();
                var now = step.get("at_ms").getAsLong() * 1_000_000;
                var error = textOf(step, "error");
                var said =
                    switch (textOf(step, "event")) {
                      case "starts" -> outage.starts(error, now);
                      case "fails" -> outage.fails(error, now);
                      default -> outage.answers(now);
                    };
                var expected = isIn(step, "expect") ? textOf(step, "expect") : null;
                assertEquals(expected, said, () -> textOf(line, "name") + ": " + step);
              }
            });
  }

  @Test
  void pauses() throws IOException {
    linesOf("pauses.jsonl")
        .forEach(
            line -> {
              var pauses = new Follower.Pauses();
              for (var each : line.getAsJsonArray("steps")) {
                var step = each.getAsJsonObject();
                if (step.get("heard").getAsBoolean()) {
                  pauses.heard();
                }
                var code = textOf(step, "code");
                assertEquals(
                    step.get("expect_ms").getAsLong(),
                    pauses.after(code.isEmpty() ? Status.Code.UNKNOWN : Status.Code.valueOf(code)),
                    () -> textOf(line, "name") + ": " + step);
              }
            });
  }

  @Test
  void namesMeant() throws IOException {
    linesOf("meant.jsonl")
        .forEach(
            line ->
                assertEquals(
                    namesOf(line, "meant"),
                    NamesMeant.of(textOf(line, "name"), namesOf(line, "known")),
                    line::toString));
  }

  private static List<String> namesOf(JsonObject line, String list) {
    return line.getAsJsonArray(list).asList().stream().map(JsonElement::getAsString).toList();
  }

  @Test
  void sending() throws IOException {
    linesOf("sending.jsonl")
        .forEach(
            line -> {
              var kept = new Credential.Kept();
              line.getAsJsonArray("steps")
                  .forEach(each -> send(kept, each.getAsJsonObject(), textOf(line, "name")));
            });
  }

  private static void send(Credential.Kept kept, JsonObject step, String name) {
    var now = Instant.ofEpochMilli(1_790_000_000_000L + step.get("at_ms").getAsLong());
    if (step.has("refused")) {
      kept.refuse(textOf(step, "refused"));
    }
    var found = new JsonObject();
    var sent = kept.current(now);
    found.addProperty("asked", sent == null ? kept.rejected : null);
    if (sent == null && step.get("sidecar").isJsonNull()) {
      sent = kept.lasting(now);
    } else if (sent == null) {
      var issued = step.getAsJsonObject("sidecar");
      var response =
          IssueResponse.newBuilder()
              .setValue(textOf(issued, "value"))
              .setScheme(textOf(issued, "scheme"))
              .setBasic(textOf(issued, "basic"));
      if (issued.has("expires_in_ms")) {
        var expiresAt = now.plusMillis(issued.get("expires_in_ms").getAsLong());
        response
            .getExpiresAtBuilder()
            .setSeconds(expiresAt.getEpochSecond())
            .setNanos(expiresAt.getNano());
      }
      sent = kept.came(response.build(), now);
    }
    found.addProperty("value", sent == null ? null : sent.headerValue());
    assertEquals(step.getAsJsonObject("expect"), found, () -> name + ": " + step);
  }
}
