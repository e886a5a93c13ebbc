package com.portcullis.client;

import static com.portcullis.client.Sidecar.eventually;

import com.portcullis.v1.CreateStaticTokenRequest;
import com.portcullis.v1.DirectoryServiceGrpc;
import com.portcullis.v1.RevokeRequest;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.concurrent.CompletableFuture;

/**
 * The cost of a check, beside one look-up of the token in a map and beside the same check over
 * gRPC. It prints one line of JSON. bench/suites/clients.ts starts it, and says what it gets.
 */
final class Benchmark {
  /** Rounds of checks over gRPC. */
  private static final int ROUNDS = 15;

  /** Look-ups and checks take turns in slices, so that a noisy machine moves both. */
  private static final int SLICE = 100;

  /** So that the compiler has seen enough before it counts. */
  private static final int WARM = 300_000;

  private static final double NANOSECONDS_PER_MILLISECOND = 1e6;

  private final String callerToken = System.getenv("CALLER_TOKEN");
  private final double seconds =
      Double.parseDouble(Objects.requireNonNullElse(System.getenv("SECONDS"), "1"));
  private final Scope target = new Scope(System.getenv("ACCOUNT"));
  private final List<String> tokens;

  private final Random random = new Random(1);

  private Benchmark() throws IOException {
    tokens = Files.readAllLines(Path.of(System.getenv("TOKENS_FILE")));
  }

  public static void main(String[] arguments) throws Exception {
    new Benchmark().run();
  }

  private void run() throws Exception {
    // In a map each token says which one comes next, so that a processor cannot look several up at
    // a time.
    var order = new ArrayList<>(tokens);
    Collections.shuffle(order, random);
    Map<String, Integer> next = new HashMap<>();
    for (var index = 0; index < order.size(); index++) {
      next.put(new String(order.get(index)), (index + 1) % order.size());
    }
    try (var asking = Client.builder().deadline(Duration.ofMinutes(1)).connect();
        var local = connectLocal()) {
      var before = heap();
      learn(local, order);
      var bytesPerToken = (heap() - before) / (double) order.size();

      var calls = new double[ROUNDS];
      for (var round = 0; round < ROUNDS; round++) {
        calls[round] = perCall(asking, order);
      }
      var turns = new Turns(order, next, local);
      for (var count = 0; count < WARM; count += SLICE) {
        turns.next();
      }
      turns.forget();
      var until = System.nanoTime() + (long) (2 * seconds * 1e9);
      do {
        turns.next();
      } while (System.nanoTime() < until);
      System.out.printf(
          Locale.ROOT,
          "{\"lookup_ns\":%.1f,\"local_check_ns\":%.1f,\"grpc_check_ns\":%.1f,\"bytes_per_token\":%.1f,"
              + "\"first_local_answer_ms\":%.1f,\"allocations_per_check\":null,\"revocation_ms\":%s}%n",
          median(turns.lookups),
          median(turns.checks),
          median(calls),
          bytesPerToken,
          firstLocalAnswer(order.get(0)),
          revocations(local));
    }
  }

  private void learn(Client client, List<String> order) {
    for (var start = 0; start < order.size(); start += 100) {
      order.subList(start, Math.min(start + 100, order.size())).stream()
          .map(value -> client.checkAsync(question(headersWith(value))))
          .toList()
          .forEach(CompletableFuture::join);
    }
  }

  private Client connectLocal() {
    var client =
        Client.builder()
            .callerToken(callerToken)
            .local()
            .deadline(Duration.ofMinutes(1))
            .tokensMax(Math.max(10_000, 2 * tokens.size()))
            .connect();
    eventually("the client follows", client::isFollowing);
    return client;
  }

  /** A look-up of tokens and a check of the same ones, in turn. */
  private final class Turns {
    private final List<String> order;
    private final Map<String, Integer> next;
    private final Client local;

    /** Nanoseconds of one, in each slice. */
    private final List<Double> lookups = new ArrayList<>();

    private final List<Double> checks = new ArrayList<>();

    private final int slice;
    private final String[] fresh;
    private final Question[] questions;

    Turns(List<String> order, Map<String, Integer> next, Client local) {
      this.order = order;
      this.next = next;
      this.local = local;
      slice = Math.min(SLICE, order.size());
      fresh = new String[slice];
      questions = new Question[slice];
    }

    void next() {
      var start = random.nextInt(order.size() - slice + 1);
      prepare(start);
      var began = System.nanoTime();
      var position = start;
      for (var index = 0; index < slice; index++) {
        position = next.get(fresh[position - start]);
      }
      var lookup = System.nanoTime() - began;
      if (position != (start + slice) % order.size()) {
        throw new IllegalStateException("expected one after the other");
      }
      prepare(start);
      began = System.nanoTime();
      var isAsked = false;
      for (var index = 0; index < slice; ) {
        var answer = local.check(questions[index]);
        isAsked |= answer.response().isPresent();
        index += allowed(answer);
      }
      var check = System.nanoTime() - began;
      if (!isAsked) {
        lookups.add(lookup / (double) slice);
        checks.add(check / (double) slice);
      }
    }

    /** Copies of the characters: no strings of an earlier request, and no hashes. */
    private void prepare(int start) {
      for (var index = 0; index < slice; index++) {
        fresh[index] = new String(order.get(start + index).toCharArray());
        questions[index] = question(headersWith(fresh[index]));
      }
    }

    void forget() {
      lookups.clear();
      checks.clear();
    }
  }

  private double perCall(Client client, List<String> order) {
    var until = System.nanoTime() + (long) (seconds * 1e9 / ROUNDS);
    var began = System.nanoTime();
    var count = 0;
    do {
      allowed(client.check(question(headersWith(order.get(count % order.size())))));
      count++;
    } while (System.nanoTime() < until);
    return (System.nanoTime() - began) / (double) count;
  }

  /** As the frameworks have them. */
  private static Map<String, List<String>> headersWith(String value) {
    var headers = new LinkedHashMap<String, List<String>>();
    headers.put("Host", List.of("api.example"));
    headers.put("User-Agent", List.of("benchmark"));
    headers.put("Accept", List.of("*/*"));
    headers.put("X-Token", List.of(value));
    headers.put("Content-Type", List.of("application/json"));
    return headers;
  }

  private Question question(Map<String, List<String>> headers) {
    return new Question("balance", Headers.of(headers), null, target, "192.0.2.1", null);
  }

  /** Always 1. */
  private static int allowed(Answer answer) {
    if (!answer.allowed()) {
      throw new IllegalStateException("expected that the token opens the API");
    }
    return 1;
  }

  /** In milliseconds, in a program that is warm. */
  private double firstLocalAnswer(String value) {
    var spent = new double[5];
    for (var round = 0; round < spent.length; round++) {
      var question = question(headersWith(value));
      var began = System.nanoTime();
      try (var client =
          Client.builder()
              .callerToken(callerToken)
              .deadline(Duration.ofMinutes(1))
              .local()
              .connect()) {
        while (client.checkLocally(question).isEmpty()) {
          allowed(client.check(question));
        }
        spent[round] = (System.nanoTime() - began) / NANOSECONDS_PER_MILLISECOND;
      }
    }
    return median(spent);
  }

  /** In milliseconds, as JSON; null: no caller may revoke. */
  private String revocations(Client local) {
    var operatorToken = System.getenv("OPERATOR_TOKEN");
    if (operatorToken == null) {
      return "null";
    }
    var delays = new double[seconds < 1 ? 3 : 100];
    try (var operator =
        Client.builder().callerToken(operatorToken).deadline(Duration.ofMinutes(1)).connect()) {
      var directory = DirectoryServiceGrpc.newBlockingStub(operator.channel());
      for (var number = 0; number < delays.length; number++) {
        var name = "java-" + ProcessHandle.current().pid() + "-" + number;
        var created =
            CreateStaticTokenRequest.newBuilder()
                .setAccount(target.account())
                .setUserName("owner")
                .setName(name);
        var value = directory.createStaticToken(created.build()).getValue();
        var question = question(headersWith(value));
        while (local.checkLocally(question).isEmpty()) {
          allowed(local.check(question));
        }
        operator.revoke(RevokeRequest.newBuilder().setValue(value).build());
        var began = System.nanoTime();
        while (local.check(question).allowed()) {
          Thread.onSpinWait();
        }
        delays[number] = (System.nanoTime() - began) / NANOSECONDS_PER_MILLISECOND;
      }
    }
    Arrays.sort(delays);
    return String.format(
        Locale.ROOT,
        "{\"p50\":%.3f,\"p99\":%.3f}",
        delays[delays.length / 2],
        delays[delays.length * 99 / 100]);
  }

  private static double median(List<Double> figures) {
    return median(figures.stream().mapToDouble(Double::doubleValue).toArray());
  }

  private static double median(double[] figures) {
    Arrays.sort(figures);
    return figures[figures.length / 2];
  }

  private static long heap() throws InterruptedException {
    for (var round = 0; round < 3; round++) {
      System.gc();
      Thread.sleep(50);
    }
    var runtime = Runtime.getRuntime();
    return runtime.totalMemory() - runtime.freeMemory();
  }
}
