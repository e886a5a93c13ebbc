package com.portcullis.peers;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.Duration;
import com.portcullis.client.Claims;
import com.portcullis.client.Client;
import com.portcullis.client.Question;
import com.portcullis.client.Scope;
import com.portcullis.v1.AuthorizationServiceGrpc.AuthorizationServiceImplBase;
import com.portcullis.v1.CheckRequest;
import com.portcullis.v1.CheckResponse;
import com.portcullis.v1.Position;
import com.portcullis.v1.Reason;
import com.portcullis.v1.Rules;
import com.portcullis.v1.Voided;
import com.portcullis.v1.WatchChangesRequest;
import com.portcullis.v1.WatchChangesResponse;
import io.grpc.Context;
import io.grpc.InsecureServerCredentials;
import io.grpc.Server;
import io.grpc.netty.shaded.io.grpc.netty.NettyServerBuilder;
import io.grpc.stub.StreamObserver;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import org.casbin.jcasbin.main.Enforcer;
import org.casbin.jcasbin.model.Model;
import org.junit.jupiter.api.Test;

/**
 * Compares a local check with a library of Java that decides in the calling process, on the same 90
 * questions: every API and every kind of token of the shipped matrix. It prints one line of JSON.
 * SECONDS says how long each is measured.
 */
class PeersTest {
  private static final String MODEL =
      """
      [request_definition]
      r = sub, obj
      [policy_definition]
      p = sub, obj
      [policy_effect]
      e = some(where (p.eft == allow))
      [matchers]
      m = r.sub == p.sub && r.obj == p.obj
      """;

  /** Rounds in which all take turns, so that a noisy machine moves all of them. */
  private static final int ROUNDS = 15;

  private final double seconds =
      Double.parseDouble(Objects.requireNonNullElse(System.getenv("SECONDS"), "0.02"));

  /** A cell of the matrix, and whether it allows. */
  private record Cell(String api, String kind, String level, boolean isAllowed) {}

  private static List<Cell> cellsOf(Rules rules) {
    var cells = new ArrayList<Cell>();
    for (var row : rules.getApisList()) {
      for (var index = 0; index < rules.getMatrix().getTokenKindsCount(); index++) {
        var kind = rules.getMatrix().getTokenKinds(index);
        var situation = kind.getScopeLevel().equals("project") ? 8 : 4;
        var reason = rules.getCells(row.getCells(index + 1)).getReasons(situation);
        if (!row.getApi().isEmpty()) {
          cells.add(
              new Cell(
                  row.getApi(),
                  kind.getId(),
                  kind.getScopeLevel(),
                  reason == Reason.REASON_ALLOWED));
        }
      }
    }
    return cells;
  }

  /** Tells the rules to a client, and says why it denies. */
  private static final class Sidecar extends AuthorizationServiceImplBase {
    private final Rules rules;
    private final List<Cell> cells;

    Sidecar(Rules rules) {
      this.rules = rules;
      this.cells = cellsOf(rules);
    }

    @Override
    public void watchChanges(
        WatchChangesRequest request, StreamObserver<WatchChangesResponse> observer) {
      var context = Context.current();
      var began = System.nanoTime();
      var first =
          WatchChangesResponse.newBuilder()
              .setRules(rules)
              .setVoided(Voided.newBuilder().setEverything(true));
      // A stream that is silent would be left, so it says something twice a second.
      for (var next = first; !context.isCancelled(); next = WatchChangesResponse.newBuilder()) {
        var sent = Duration.newBuilder().setSeconds((System.nanoTime() - began) / 1_000_000_000);
        observer.onNext(
            next.setPosition(Position.getDefaultInstance())
                .setValidFor(Duration.newBuilder().setSeconds(3600))
                .setSentAt(sent)
                .build());
        LockSupport.parkNanos(500_000_000);
      }
    }

    @Override
    public void check(CheckRequest request, StreamObserver<CheckResponse> observer) {
      var isAllowed =
          cells.stream()
              .anyMatch(
                  each ->
                      each.isAllowed
                          && each.api.equals(request.getApi())
                          && each.kind.equals(request.getToken().getKind()));
      observer.onNext(
          CheckResponse.newBuilder()
              .setAllowed(isAllowed)
              .setReason(isAllowed ? Reason.REASON_ALLOWED : Reason.REASON_TOKEN_KIND_NOT_ACCEPTED)
              .setMessage("denied")
              .setRulesDigest(rules.getMatrix().getRulesDigest())
              .build());
      observer.onCompleted();
    }
  }

  private static Predicate<Cell> ofClient(Client client, List<Cell> cells)
      throws InterruptedException {
    var target = new Scope("1", "p");
    var claims = new HashMap<String, Claims>();
    for (var each : cells) {
      var scope = each.level.equals("project") ? target : new Scope("1");
      claims.put(each.kind, new Claims(each.kind, scope));
    }
    // What is said about each denial is asked for once, as soon as the client follows.
    for (var each : cells) {
      var question = new Question(each.api, claims.get(each.kind)).withTarget(target);
      while (client.checkLocally(question).isEmpty()) {
        client.check(question);
        Thread.sleep(1);
      }
    }
    return each ->
        client.check(new Question(each.api, null, claims.get(each.kind), target, "", null)).allowed();
  }

  private static Predicate<Cell> ofCasbin(Enforcer enforcer, List<Cell> cells) {
    for (var each : cells) {
      if (each.isAllowed) {
        enforcer.addPolicy(each.kind, each.api);
      }
    }
    return each -> enforcer.enforce(each.kind, each.api);
  }

  private static Model model() {
    var model = new Model();
    model.loadModelFromText(MODEL);
    return model;
  }

  private static Server serve(Rules rules) throws IOException {
    var address = new InetSocketAddress("127.0.0.1", 0);
    return NettyServerBuilder.forAddress(address, InsecureServerCredentials.create())
        .addService(new Sidecar(rules))
        .build()
        .start();
  }

  @Test
  void theClientAnswersAlikeAndIsAhead() throws Exception {
    var rules =
        Rules.parseFrom(Files.readAllBytes(Path.of("../../conformance/rules/shipped.binpb")));
    var cells = cellsOf(rules);
    assertEquals(90, cells.size());
    var server = serve(rules);
    var options = Client.builder().address("127.0.0.1:" + server.getPort()).local();
    try (var client = options.deadline(java.time.Duration.ofMinutes(1)).connect()) {
      var all = new LinkedHashMap<String, Predicate<Cell>>();
      all.put("client_ns", ofClient(client, cells));
      all.put("casbin_ns", ofCasbin(new Enforcer(model()), cells));
      for (var each : all.entrySet()) {
        for (var cell : cells) {
          assertEquals(cell.isAllowed, each.getValue().test(cell), () -> each.getKey() + cell);
        }
      }
      var figures = measure(all, cells);
      System.out.println(
          figures.entrySet().stream()
              .map(each -> "\"" + each.getKey() + "\":" + Math.round(each.getValue()))
              .collect(Collectors.joining(",", "{", "}")));
      for (var each : figures.entrySet()) {
        assertTrue(figures.get("client_ns") <= each.getValue(), figures::toString);
      }
    } finally {
      server.shutdownNow();
    }
  }

  private Map<String, Double> measure(Map<String, Predicate<Cell>> all, List<Cell> cells) {
    var rounds = new LinkedHashMap<String, double[]>();
    all.keySet().forEach(name -> rounds.put(name, new double[ROUNDS]));
    // The first rounds only warm up.
    for (var round = -ROUNDS; round < ROUNDS; round++) {
      for (var each : all.entrySet()) {
        rounds.get(each.getKey())[Math.max(0, round)] = slice(each.getValue(), cells);
      }
    }
    var medians = new LinkedHashMap<String, Double>();
    rounds.forEach(
        (name, figures) -> {
          Arrays.sort(figures);
          medians.put(name, figures[ROUNDS / 2]);
        });
    return medians;
  }

  private double slice(Predicate<Cell> decide, List<Cell> cells) {
    var began = System.nanoTime();
    var until = began + (long) (seconds * 1e9 / ROUNDS);
    var count = 0L;
    do {
      for (var each : cells) {
        assertEquals(each.isAllowed, decide.test(each));
      }
      count += cells.size();
    } while (System.nanoTime() < until);
    return (System.nanoTime() - began) / (double) count;
  }
}
