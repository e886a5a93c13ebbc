package com.portcullis.client;

import static org.junit.jupiter.api.Assertions.fail;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import com.portcullis.v1.CreateStaticTokenRequest;
import com.portcullis.v1.DirectoryServiceGrpc;
import com.portcullis.v1.IssueRequest;
import com.portcullis.v1.PasswordRequester;
import com.portcullis.v1.RevokeRequest;
import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ClientCall;
import io.grpc.ClientInterceptor;
import io.grpc.ClientInterceptors;
import io.grpc.MethodDescriptor;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** The sidecar of all tests, started from the checkout. It has a directory with two accounts. */
final class Sidecar {
  static final String ACCOUNT = "123456";
  static final String OTHER_ACCOUNT = "654321";
  static final String CALLER_TOKEN = "follower-caller-token-0123456789abcdef";
  static final String STRANGER_TOKEN = "stranger-caller-token-0123456789abcdef";

  /** May do everything. */
  static final String OPERATOR_TOKEN = "operator-caller-token-0123456789abcdef";

  /** How many static tokens one user has, beside those that tests name. */
  static final int MANY = 10_000;

  private static final Path CHECKOUT = Path.of("../..").toAbsolutePath().normalize();
  private static Sidecar shared;

  final Path folder;

  /** By the name of a user. */
  final Map<String, String> secrets = new HashMap<>();

  final List<String> many = new ArrayList<>();
  private Process process;
  private String address;

  private Sidecar() throws IOException {
    folder = Files.createTempDirectory("portcullis-java-");
    Runtime.getRuntime().addShutdownHook(new Thread(this::end));
    var names =
        IntStream.range(0, MANY)
            .mapToObj(index -> "many-" + index)
            .collect(Collectors.joining(", "));
    write(
        "directory.yaml",
        """
        accounts:
          - account: "%s"
            projects: [alpha, beta]
            service_users:
              - { name: account, permissions: [{ scope: account }] }
              - { name: alpha, permissions: [{ scope: projects, projects: [alpha] }] }
            control_panel_users:
              - { name: owner, static_tokens: [key, %s] }
          - account: "%s"
            control_panel_users:
              - { name: stranger, static_tokens: [other] }
        """
            .formatted(ACCOUNT, names, OTHER_ACCOUNT));
    var applied = start("directory", "apply", "directory.yaml", "--data", "data", "--json");
    var output = new String(applied.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    for (var each : JsonParser.parseString(output).getAsJsonObject().getAsJsonArray("secrets")) {
      var secret = each.getAsJsonObject();
      var value = secret.get("value").getAsString();
      if (secret.has("name") && secret.get("name").getAsString().startsWith("many-")) {
        many.add(value);
      } else {
        secrets.put(secret.get("user").getAsString(), value);
      }
    }
    write("caller.token", CALLER_TOKEN);
    write("operator", OPERATOR_TOKEN);
    write("stranger", STRANGER_TOKEN);
    write("password", secrets.get("account"));
    write(
        "portcullis.yaml",
        """
        callers:
          - { name: follower, token_file: caller.token, rights: [follow], profiles: [job] }
          - { name: operator, token_file: operator, rights: [everything] }
          - { name: stranger, token_file: stranger, rights: [read] }
        profiles:
          job: { account: "%s", user_name: account, password_file: password }
        directory: { staleness_ms: 2000 }
        routes:
          - { path: /accounts/, api: iam }
          - { path: "/accounts/{account}/balance", methods: [GET], api: balance, target: { account: { segment: account } } }
          - { path: /balance, api: balance, target: { account: { header: X-Account } } }
          - { path: /grpc.health.v1.Health/Check, methods: [POST], api: balance, target: { account: { header: account } } }
          - { path: /grpc.health.v1.Health/Watch, methods: [POST], api: balance, target: { account: { header: account } } }
        log: { level: error }
        """
            .formatted(ACCOUNT));
    serve("127.0.0.1:0");
  }

  static synchronized Sidecar shared() {
    if (shared == null) {
      try {
        shared = new Sidecar();
      } catch (IOException error) {
        throw new UncheckedIOException(error);
      }
    }
    return shared;
  }

  String address() {
    return address;
  }

  void write(String name, String content) {
    try {
      Files.writeString(folder.resolve(name), content);
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    }
  }

  private Process start(String... arguments) throws IOException {
    var command =
        new ArrayList<>(
            List.of(
                CHECKOUT.resolve("node_modules/.bin/node").toString(),
                CHECKOUT.resolve("sidecar/portcullis.js").toString()));
    command.addAll(List.of(arguments));
    return new ProcessBuilder(command)
        .directory(folder.toFile())
        .redirectError(ProcessBuilder.Redirect.INHERIT)
        .start();
  }

  private void serve(String listen) throws IOException {
    var served = serve("--config", "portcullis.yaml", "--data", "data", "--grpc", listen);
    process = served.process;
    address = served.address;
  }

  /** A sidecar beside the shared one. */
  record Served(Process process, String address) implements AutoCloseable {
    @Override
    public void close() {
      stop(process);
    }
  }

  /** Starts a sidecar, and waits until it is ready. */
  Served serve(String... flags) throws IOException {
    var arguments = new ArrayList<>(List.of("serve", "--http", "off", "--json"));
    arguments.addAll(List.of(flags));
    var started = start(arguments.toArray(String[]::new));
    var line = started.inputReader(StandardCharsets.UTF_8).readLine();
    if (line == null) {
      throw new IOException("the sidecar did not start");
    }
    JsonObject ready = JsonParser.parseString(line).getAsJsonObject();
    return new Served(started, ready.get("grpc").getAsString());
  }

  /** Kills the sidecar, as a machine does that fails. */
  void kill() throws InterruptedException {
    process.destroyForcibly().waitFor();
  }

  /** Starts it again where it was. */
  void startAgain() throws IOException {
    serve(address);
  }

  private static void stop(Process process) {
    process.destroy();
    try {
      if (!process.waitFor(10, TimeUnit.SECONDS)) {
        process.destroyForcibly();
      }
    } catch (InterruptedException error) {
      process.destroyForcibly();
    }
  }

  private void end() {
    if (process != null) {
      stop(process);
    }
    try (var files = Files.walk(folder)) {
      files.sorted(Comparator.reverseOrder()).forEach(each -> each.toFile().delete());
    } catch (IOException error) {
      // The folder of temporary files is emptied by others, too.
      System.err.println(error);
    }
  }

  /** A client in local mode that follows already, and the number of checks that it has asked. */
  record Local(Client client, AtomicInteger asked) implements AutoCloseable {
    @Override
    public void close() {
      client.close();
    }
  }

  Local connectLocal() {
    return connectLocal(Client.builder());
  }

  Local connectLocal(Client.Builder options) {
    var asked = new AtomicInteger();
    options.deadline(Duration.ofMinutes(1));
    options.intercepted = channel -> counted(channel, asked);
    var client = options.address(address).callerToken(CALLER_TOKEN).local().connect();
    eventually("the client follows", client::isFollowing);
    return new Local(client, asked);
  }

  private static Channel counted(Channel channel, AtomicInteger count) {
    return ClientInterceptors.intercept(
        channel,
        new ClientInterceptor() {
          @Override
          public <Q, A> ClientCall<Q, A> interceptCall(
              MethodDescriptor<Q, A> method, CallOptions options, Channel next) {
            if ("Check".equals(method.getBareMethodName())) {
              count.incrementAndGet();
            }
            return next.newCall(method, options);
          }
        });
  }

  Client connect() {
    return options().connect();
  }

  /** A busy machine takes its time. */
  private Client.Builder options() {
    return Client.builder().address(address).deadline(Duration.ofMinutes(1));
  }

  Client connectAsOperator() {
    return options().callerToken(OPERATOR_TOKEN).connect();
  }

  /** A token of a service user. */
  String issue(String user, String project) {
    var password =
        PasswordRequester.newBuilder()
            .setUserName(user)
            .setAccount(ACCOUNT)
            .setPassword(secrets.get(user));
    try (var client = connect()) {
      return client
          .issue(
              IssueRequest.newBuilder()
                  .setPassword(password)
                  .setScope(new Scope(ACCOUNT, project).message())
                  .build())
          .getValue();
    }
  }

  /** A new static token. */
  String create(String name) {
    try (var client = connectAsOperator()) {
      var request =
          CreateStaticTokenRequest.newBuilder()
              .setAccount(ACCOUNT)
              .setUserName("owner")
              .setName(name);
      return DirectoryServiceGrpc.newBlockingStub(client.channel())
          .createStaticToken(request.build())
          .getValue();
    }
  }

  void revoke(String value) {
    try (var client = connectAsOperator()) {
      client.revoke(RevokeRequest.newBuilder().setValue(value).build());
    }
  }

  /** Waits until something is so. It fails long after it should have been. */
  static void eventually(String what, BooleanSupplier isSo) {
    var until = System.nanoTime() + Duration.ofSeconds(30).toNanos();
    while (!isSo.getAsBoolean()) {
      if (System.nanoTime() > until) {
        fail("expected that " + what);
      }
      try {
        Thread.sleep(2);
      } catch (InterruptedException error) {
        throw new IllegalStateException(error);
      }
    }
  }

  /** Asks about the API `balance` with a static token. */
  static Question balance(String value) {
    return new Question("balance", Headers.of("X-Token", value))
        .withTarget(new Scope(ACCOUNT))
        .withClientAddress("192.0.2.1");
  }
}
