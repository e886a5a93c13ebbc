package com.portcullis.client;

import static com.portcullis.client.Reason.ACCOUNT_MISMATCH;
import static com.portcullis.client.Reason.ALLOWED;
import static com.portcullis.client.Reason.CREDENTIAL_AMBIGUOUS;
import static com.portcullis.client.Reason.CREDENTIAL_INVALID;
import static com.portcullis.client.Reason.CREDENTIAL_MALFORMED;
import static com.portcullis.client.Reason.CREDENTIAL_MISSING;
import static com.portcullis.client.Reason.TOKEN_KIND_NOT_ACCEPTED;
import static com.portcullis.client.Reason.WRONG_HEADER;
import static com.portcullis.client.Sidecar.ACCOUNT;
import static com.portcullis.client.Sidecar.OTHER_ACCOUNT;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.JsonParser;
import com.google.rpc.ErrorInfo;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerInterceptor;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.health.v1.HealthCheckRequest;
import io.grpc.health.v1.HealthGrpc;
import io.grpc.protobuf.StatusProto;
import io.grpc.protobuf.services.HealthStatusManager;
import io.grpc.stub.MetadataUtils;
import jakarta.servlet.DispatcherType;
import jakarta.servlet.Filter;
import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletRequestWrapper;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Function;
import java.util.regex.Pattern;
import org.eclipse.jetty.ee10.servlet.FilterHolder;
import org.eclipse.jetty.ee10.servlet.ServletContextHandler;
import org.eclipse.jetty.ee10.servlet.ServletHolder;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;
import org.junit.jupiter.api.Test;

/** The guards, with servers as programs have them. */
class GuardTest {
  private static final HttpClient HTTP = HttpClient.newHttpClient();

  private final Sidecar sidecar = Sidecar.shared();

  record Header(String name, String value) {}

  /**
   * A request, and its outcome. The tests send them through every guard, with and without local
   * mode, and twice.
   */
  private record Row(String name, List<Header> headers, String account, Reason reason) {
    boolean isKnownToken() {
      return reason == ALLOWED || reason == ACCOUNT_MISMATCH || reason == TOKEN_KIND_NOT_ACCEPTED;
    }
  }

  private List<Row> rows() {
    var fixed = sidecar.secrets.get("owner");
    var iam = sidecar.issue("account", "");
    var project = sidecar.issue("alpha", "alpha");
    var forged = iam.substring(0, iam.length() - 8) + "AAAAAAAA";
    return List.of(
        new Row("no token", List.of(), ACCOUNT, CREDENTIAL_MISSING),
        new Row(
            "a longer name",
            List.of(new Header("X-Auth-Token-2", iam)),
            ACCOUNT,
            CREDENTIAL_MISSING),
        new Row(
            "two tokens",
            List.of(new Header("X-Token", fixed), new Header("X-Auth-Token", iam)),
            ACCOUNT,
            CREDENTIAL_AMBIGUOUS),
        new Row(
            "the header twice",
            List.of(new Header("X-Auth-Token", iam), new Header("x-auth-token", iam)),
            ACCOUNT,
            CREDENTIAL_AMBIGUOUS),
        new Row(
            "two tokens joined by a comma",
            List.of(new Header("X-Token", fixed + ", " + fixed)),
            ACCOUNT,
            CREDENTIAL_AMBIGUOUS),
        new Row(
            "a blank inside",
            List.of(new Header("X-Auth-Token", iam + " x")),
            ACCOUNT,
            CREDENTIAL_MALFORMED),
        new Row(
            "a static token in X-Auth-Token",
            List.of(new Header("X-Auth-Token", fixed)),
            ACCOUNT,
            WRONG_HEADER),
        new Row(
            "an IAM token in X-Token", List.of(new Header("X-Token", iam)), ACCOUNT, WRONG_HEADER),
        new Row(
            "an unknown token",
            List.of(new Header("X-Token", "unknown")),
            ACCOUNT,
            CREDENTIAL_INVALID),
        new Row(
            "a forged signature",
            List.of(new Header("X-Auth-Token", forged)),
            ACCOUNT,
            CREDENTIAL_INVALID),
        new Row(
            "a project token",
            List.of(new Header("X-Auth-Token", project)),
            ACCOUNT,
            TOKEN_KIND_NOT_ACCEPTED),
        new Row(
            "the account of others",
            List.of(new Header("X-Token", fixed)),
            OTHER_ACCOUNT,
            ACCOUNT_MISMATCH),
        new Row(
            "the account of others, by IAM",
            List.of(new Header("X-Auth-Token", iam)),
            OTHER_ACCOUNT,
            ACCOUNT_MISMATCH),
        new Row("a static token", List.of(new Header("X-Token", fixed)), ACCOUNT, ALLOWED),
        new Row("an IAM token", List.of(new Header("x-AUTH-tOKEN", iam)), ACCOUNT, ALLOWED),
        new Row(
            "blanks around a token",
            List.of(new Header("X-Token", " " + fixed + " ")),
            ACCOUNT,
            ALLOWED),
        new Row(
            "other headers",
            List.of(new Header("Authorization", "Bearer x"), new Header("X-Token", fixed)),
            ACCOUNT,
            ALLOWED));
  }

  /** A server behind filters. */
  static final class Served implements AutoCloseable {
    private final Server server = new Server();
    private final ServerConnector connector = new ServerConnector(server);

    Served(Filter... filters) throws Exception {
      this(new Balance(), filters);
    }

    Served(HttpServlet servlet, Filter... filters) throws Exception {
      connector.setHost("127.0.0.1");
      server.addConnector(connector);
      var context = new ServletContextHandler();
      for (var each : filters) {
        context.addFilter(new FilterHolder(each), "/*", EnumSet.of(DispatcherType.REQUEST));
      }
      context.addServlet(new ServletHolder(servlet), "/*");
      server.setHandler(context);
      server.start();
    }

    int port() {
      return connector.getLocalPort();
    }

    HttpResponse<String> get(String path, List<Header> headers) throws Exception {
      var request = HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port() + path));
      headers.forEach(each -> request.header(each.name, each.value));
      return HTTP.send(request.build(), BodyHandlers.ofString());
    }

    /** Sends a request as it is. Returns the status, or the reason of a denial. */
    String send(String line, String headers, String token) throws IOException {
      try (var socket = new Socket("127.0.0.1", port())) {
        var request =
            line
                + " HTTP/1.1\r\nConnection: close\r\nX-Token: "
                + token
                + "\r\n"
                + headers
                + "\r\n\r\n";
        socket.getOutputStream().write(request.getBytes(StandardCharsets.ISO_8859_1));
        var response =
            new String(socket.getInputStream().readAllBytes(), StandardCharsets.ISO_8859_1);
        var reason = Pattern.compile("(?i)x-portcullis-reason: (\\S+)").matcher(response);
        return reason.find() ? reason.group(1) : response.split(" ")[1];
      }
    }

    @Override
    public void close() {
      try {
        server.stop();
      } catch (Exception error) {
        throw new IllegalStateException(error);
      }
    }
  }

  private static final class Balance extends HttpServlet {
    private static final long serialVersionUID = 1;

    @Override
    protected void doGet(HttpServletRequest request, HttpServletResponse response)
        throws IOException {
      var token = Guard.tokenOf(request).orElseThrow();
      Guard.answerOf(request)
          .flatMap(Answer::route)
          .ifPresent(route -> assertEquals(new Route("balance", new Scope(ACCOUNT), ""), route));
      response.getWriter().print(token.kind() + " of " + token.scope().account());
    }
  }

  private static Scope accountOf(HttpServletRequest request) {
    return new Scope(request.getRequestURI().split("/")[2]);
  }

  private void inEachMode(Function<Client, Filter> guard) throws Exception {
    var rows = rows();
    try (var asked = sidecar.connect();
        var local = sidecar.connectLocal()) {
      for (var client : List.of(asked, local.client())) {
        try (var served = new Served(guard.apply(client))) {
          for (var row : rows) {
            for (var round = 0; round < 2; round++) {
              expect(row, served.get("/accounts/" + row.account + "/balance", row.headers));
            }
          }
        }
      }
    }
  }

  private static void expect(Row row, HttpResponse<String> response) {
    if (row.reason == ALLOWED) {
      assertEquals(200, response.statusCode(), row.name);
      assertTrue(response.body().endsWith(" of " + ACCOUNT), response.body());
      return;
    }
    assertEquals(row.isKnownToken() ? 403 : 401, response.statusCode(), row.name);
    var error = JsonParser.parseString(response.body()).getAsJsonObject().getAsJsonObject("error");
    assertEquals(row.reason.name(), error.get("reason").getAsString(), row.name);
    assertEquals(2, error.getAsJsonArray("accepted").size(), row.name);
    Function<String, String> header = name -> response.headers().firstValue(name).orElse("");
    assertEquals(row.reason.name(), header.apply("X-Portcullis-Reason"));
    assertEquals("no-store", header.apply("Cache-Control"));
    assertEquals("application/json", header.apply("Content-Type"));
    assertTrue(header.apply("X-Portcullis-Rules-Digest").startsWith("sha256:"));
    var challenges =
        "Portcullis header=\"X-Auth-Token\", reason=\"%1$s\", Portcullis header=\"X-Token\", reason=\"%1$s\"";
    assertEquals(
        row.isKnownToken() ? "" : challenges.formatted(row.reason),
        header.apply("WWW-Authenticate"));
  }

  @Test
  void requestsOfServlets() throws Exception {
    inEachMode(client -> new Guard(client, "balance").target(GuardTest::accountOf));
  }

  @Test
  void requestsOfSpring() throws Exception {
    inEachMode(
        client ->
            new SpringGuard(new Guard(client, request -> "balance").target(GuardTest::accountOf)));
  }

  @Test
  void requestsByTheRoutes() throws Exception {
    inEachMode(Guard::routes);
    inEachMode(client -> new SpringGuard(Guard.routes(client)));
  }

  /**
   * A request, and the reasons for which it is denied; 200: it passes; 400: or the container
   * refuses it.
   */
  private record Start(String line, String headers, String... reasons) {}

  @Test
  void requestsThatTheRoutesRefuse() throws Exception {
    var starts =
        List.of(
            new Start("GET /accounts/123456/balance", "Host: a", "200"),
            new Start("GET /accounts/123456/balance/", "Host: a", "NOT_CANONICAL"),
            new Start("GET /accounts/../accounts/123456/balance", "Host: a", "NOT_CANONICAL"),
            new Start("GET /accounts//123456/balance", "Host: a", "NOT_CANONICAL", "400"),
            new Start("GET /accounts/123456/%62alance", "Host: a", "NOT_CANONICAL"),
            new Start("GET /accounts/123456/balance;a=b", "Host: a", "NOT_CANONICAL"),
            new Start("GET /accounts/123456/BALANCE", "Host: a", "NOT_CANONICAL"),
            new Start("GET /accounts/123456/balance.json", "Host: a", "NOT_CANONICAL"),
            new Start(
                "GET http://else.where/accounts/123456/balance", "Host: a", "NOT_CANONICAL", "400"),
            new Start(
                "GET /accounts/123456/balance", "Host: a\r\nX-Original-URL: /", "NOT_CANONICAL"),
            new Start(
                "GET /accounts/123456/balance",
                "Host: a\r\nX-HTTP-Method-Override: DELETE",
                "NOT_CANONICAL"),
            new Start("DELETE /accounts/123456/balance", "Host: a", "TOKEN_KIND_NOT_ACCEPTED"),
            new Start("GET /accounts/1%202/balance", "Host: a", "ACCOUNT_MISMATCH"),
            new Start("GET /", "Host: a", "NO_ROUTE"),
            new Start("GET /balance", "Host: a", "TARGET_NOT_FOUND"));
    try (var asked = sidecar.connect();
        var local = sidecar.connectLocal()) {
      for (var client : List.of(asked, local.client(), local.client())) {
        try (var served = new Served(Guard.routes(client))) {
          for (var start : starts) {
            var found = served.send(start.line, start.headers, sidecar.secrets.get("owner"));
            assertTrue(List.of(start.reasons).contains(found), () -> start + ": " + found);
          }
        }
      }
    }
  }

  @Test
  void plainRequestsAreNotAskedAbout() throws Exception {
    try (var local = sidecar.connectLocal();
        var served = new Served(Guard.routes(local.client()))) {
      var headers =
          List.of(
              new Header("X-Token", sidecar.secrets.get("owner")),
              new Header("X-Account", ACCOUNT));
      for (var path : List.of("/accounts/123456/balance", "/balance", "/balance?a=b")) {
        assertEquals(200, served.get(path, headers).statusCode(), path);
      }
      assertEquals(1, local.asked().get());
      assertEquals(403, served.get("/Balance", headers).statusCode());
      assertEquals(2, local.asked().get());
    }
  }

  @Test
  void requestsThatAFilterHasChanged() throws Exception {
    var reported = new AtomicReference<RuntimeException>();
    try (var client = sidecar.connect()) {
      var arrived = "/accounts/123456/balance";
      for (var told :
          List.of(
              List.of("GET", arrived, "", "200"),
              // As a filter for proxies has it, which cut the beginning of a path.
              List.of("GET", "/before" + arrived, "/before", "200"),
              List.of("DELETE", arrived, "", "INTERNAL"),
              List.of("GET", "/else/where", "", "INTERNAL"),
              List.of("GET", arrived, "/accounts", "INTERNAL"))) {
        Filter changes =
            (request, response, chain) ->
                chain.doFilter(
                    new HttpServletRequestWrapper((HttpServletRequest) request) {
                      @Override
                      public String getMethod() {
                        return told.get(0);
                      }

                      @Override
                      public String getRequestURI() {
                        return told.get(1);
                      }

                      @Override
                      public String getContextPath() {
                        return told.get(2);
                      }
                    },
                    response);
        try (var served = new Served(changes, Guard.routes(client).onFailure(reported::set))) {
          var found = served.send("GET " + arrived, "Host: a", sidecar.secrets.get("owner"));
          assertEquals(told.get(3), found, told.toString());
        }
      }
      assertInstanceOf(IllegalStateException.class, reported.get());
    }
  }

  @Test
  void withRoutesTheTargetIsTheirs() {
    try (var client = sidecar.connect()) {
      var guard = Guard.routes(client);
      assertThrows(IllegalStateException.class, () -> guard.target(request -> new Scope(ACCOUNT)));
      var request = new Request("GET", "a", "/");
      var question = new Question(request, Headers.of("X-Token", "x"));
      assertThrows(IllegalArgumentException.class, () -> question.withTarget(new Scope(ACCOUNT)));
    }
  }

  @Test
  void aSidecarWithoutRoutes() throws Exception {
    var reported = new AtomicReference<RuntimeException>();
    try (var unrouted = sidecar.serve("--data", "unrouted", "--grpc", "127.0.0.1:0");
        var client = Client.connect(unrouted.address());
        var served = new Served(Guard.routes(client).onFailure(reported::set))) {
      assertEquals(500, served.get("/", List.of()).statusCode());
      assertEquals(Status.Code.INVALID_ARGUMENT, ((PortcullisException) reported.get()).code());
    }
  }

  @Test
  void eachGuardOfSpringLooksAtARequest() throws Exception {
    var token = List.of(new Header("X-Auth-Token", sidecar.issue("account", "")));
    try (var client = sidecar.connect();
        var served =
            new Served(
                new SpringGuard(new Guard(client, "balance")),
                new SpringGuard(new Guard(client, "no-such-api")))) {
      assertEquals(
          "UNKNOWN_API",
          served.get("/", token).headers().firstValue("X-Portcullis-Reason").orElse(""));
    }
  }

  @Test
  void answersWithoutADecision() throws Exception {
    var reported = new AtomicReference<RuntimeException>();
    try (var client = sidecar.connect();
        var absent = Client.connect("unix:" + sidecar.folder.resolve("absent"));
        var exposed = Client.connect("192.0.2.1:1")) {
      expectBody(
          new Guard(absent, "balance").onFailure(reported::set),
          503,
          "UNAVAILABLE",
          "the request could not be authorized; try again later");
      assertInstanceOf(PortcullisException.class, reported.get());
      var message = "the request could not be authorized; the operator finds the cause in the log";
      expectBody(new Guard(exposed, "balance").onFailure(reported::set), 500, "INTERNAL", message);
      var target = "the request does not say whose resource it asks for";
      expectBody(
          new Guard(client, "balance").target(request -> null), 403, "TARGET_NOT_FOUND", target);
      expectBody(
          new Guard(client, "balance").target(request -> new Scope("")),
          403,
          "TARGET_NOT_FOUND",
          target);
      var hidden =
          new Guard(client, "balance").target(request -> new Scope(OTHER_ACCOUNT)).hideOthers();
      expectBody(hidden, 404, "NOT_FOUND", "there is no such resource");
      expectBody(
          new Guard(client, request -> ""), 403, "UNKNOWN_API", "no API is known for this request");
      expectBody(
          new Guard(client, request -> null),
          403,
          "UNKNOWN_API",
          "no API is known for this request");
      assertThrows(NullPointerException.class, () -> new Guard(null, "balance"));
      assertThrows(NullPointerException.class, () -> new Guard(client, (String) null));
    }
  }

  private void expectBody(Guard guard, int status, String reason, String message) throws Exception {
    try (var served = new Served(guard)) {
      var response = served.get("/", List.of(new Header("X-Token", sidecar.secrets.get("owner"))));
      assertEquals(status, response.statusCode());
      assertEquals(
          "{\"error\":{\"reason\":\"" + reason + "\",\"message\":\"" + message + "\"}}",
          response.body());
    }
  }

  @Test
  void headersThatAreNoText() throws Exception {
    try (var asked = sidecar.connect();
        var local = sidecar.connectLocal()) {
      for (var client : List.of(asked, local.client(), local.client())) {
        try (var served = new Served(new Guard(client, "balance"));
            var socket = new Socket("127.0.0.1", served.port())) {
          var request =
              "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nX-Other: \u00ff\u00fe\r\nX-Token: a\u00ff\r\n\r\n";
          socket.getOutputStream().write(request.getBytes(StandardCharsets.ISO_8859_1));
          var response = new String(socket.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
          assertTrue(response.contains("CREDENTIAL_MALFORMED"), response);
        }
      }
    }
  }

  @Test
  void anAnswerIsReusedForAsLongAsItSays() {
    try (var fake = new FakeSidecar();
        var client = Client.connect(fake.address())) {
      for (var round = 0; round < 3; round++) {
        assertTrue(client.checkCached(Sidecar.balance("x")).allowed());
      }
      assertEquals(1, fake.checks.get());
      client.checkCached(Sidecar.balance("y"));
      assertEquals(2, fake.checks.get());
    }
  }

  private static final Metadata.Key<String> ACCOUNT_KEY =
      Metadata.Key.of("account", Metadata.ASCII_STRING_MARSHALLER);

  /** Looks for the token that a guard forwards. */
  private static final class ExpectsToken implements ServerInterceptor {
    @Override
    public <Q, A> ServerCall.Listener<Q> interceptCall(
        ServerCall<Q, A> call, Metadata metadata, ServerCallHandler<Q, A> next) {
      assertEquals(ACCOUNT, CallGuard.token().orElseThrow().scope().account());
      return next.startCall(call, metadata);
    }
  }

  /** A server of gRPC behind a guard, and its client. */
  static final class Calls implements AutoCloseable {
    private final io.grpc.Server server;
    private final io.grpc.ManagedChannel channel;

    Calls(CallGuard guard) {
      // Of two interceptors the one that was added last comes first.
      server =
          FakeSidecar.serve(
              new HealthStatusManager().getHealthService(), new ExpectsToken(), guard);
      channel =
          Grpc.newChannelBuilder(
                  "127.0.0.1:" + server.getPort(), InsecureChannelCredentials.create())
              .build();
    }

    HealthGrpc.HealthBlockingStub with(Metadata metadata) {
      return HealthGrpc.newBlockingStub(channel)
          .withInterceptors(MetadataUtils.newAttachHeadersInterceptor(metadata));
    }

    @Override
    public void close() {
      channel.shutdownNow();
      server.shutdownNow();
    }
  }

  private static Scope accountOf(CallGuard.Call call) {
    assertInstanceOf(HealthCheckRequest.class, call.request());
    return new Scope(call.metadata().get(ACCOUNT_KEY));
  }

  @Test
  void callsOfGrpc() throws Exception {
    var apis =
        Map.of("grpc.health.v1.Health/Check", "balance", "grpc.health.v1.Health/Watch", "balance");
    inEachModeOfCalls(client -> new CallGuard(client, apis).target(GuardTest::accountOf));
  }

  @Test
  void callsByTheRoutes() throws Exception {
    inEachModeOfCalls(CallGuard::routes);
    var metadata = new Metadata();
    metadata.put(
        Metadata.Key.of("x-token", Metadata.ASCII_STRING_MARSHALLER), sidecar.secrets.get("owner"));
    try (var client = sidecar.connect();
        var calls = new Calls(CallGuard.routes(client))) {
      var check = HealthCheckRequest.getDefaultInstance();
      var error =
          assertThrows(StatusRuntimeException.class, () -> calls.with(metadata).check(check));
      assertEquals(Status.Code.PERMISSION_DENIED, error.getStatus().getCode());
      assertTrue(
          error.getStatus().getDescription().startsWith("TARGET_NOT_FOUND: "), error.toString());
    }
  }

  private void inEachModeOfCalls(Function<Client, CallGuard> guard) throws Exception {
    var rows = rows();
    try (var asked = sidecar.connect();
        var local = sidecar.connectLocal()) {
      for (var client : List.of(asked, local.client())) {
        try (var calls = new Calls(guard.apply(client))) {
          for (var row : rows) {
            var metadata = new Metadata();
            metadata.put(ACCOUNT_KEY, row.account);
            row.headers.forEach(
                each ->
                    metadata.put(
                        Metadata.Key.of(each.name, Metadata.ASCII_STRING_MARSHALLER),
                        each.value.strip()));
            for (var round = 0; round < 2; round++) {
              expect(
                  row, () -> calls.with(metadata).check(HealthCheckRequest.getDefaultInstance()));
              expect(
                  row,
                  () -> calls.with(metadata).watch(HealthCheckRequest.getDefaultInstance()).next());
            }
          }
        }
      }
    }
  }

  private static void expect(Row row, Runnable call) {
    if (row.reason == ALLOWED) {
      call.run();
      return;
    }
    var error = assertThrows(StatusRuntimeException.class, call::run, row.name);
    assertEquals(
        row.isKnownToken() ? Status.Code.PERMISSION_DENIED : Status.Code.UNAUTHENTICATED,
        error.getStatus().getCode(),
        row.name);
    assertTrue(error.getStatus().getDescription().startsWith(row.reason + ": "), row.name);
    try {
      assertEquals(
          row.reason.name(),
          StatusProto.fromThrowable(error).getDetails(0).unpack(ErrorInfo.class).getReason());
    } catch (com.google.protobuf.InvalidProtocolBufferException failed) {
      throw new IllegalStateException(failed);
    }
  }

  @Test
  void callsWithoutADecision() {
    var metadata = new Metadata();
    metadata.put(
        Metadata.Key.of("x-token", Metadata.ASCII_STRING_MARSHALLER), sidecar.secrets.get("owner"));
    var apis = Map.of("grpc.health.v1.Health/Check", "balance");
    try (var client = sidecar.connect();
        var absent = Client.connect("unix:" + sidecar.folder.resolve("absent"))) {
      expectCode(new CallGuard(client, Map.of()), metadata, Status.Code.PERMISSION_DENIED);
      expectCode(
          new CallGuard(client, apis).target(call -> null),
          metadata,
          Status.Code.PERMISSION_DENIED);
      expectCode(
          new CallGuard(client, apis).target(call -> new Scope(OTHER_ACCOUNT)).hideOthers(),
          metadata,
          Status.Code.NOT_FOUND);
      expectCode(
          new CallGuard(absent, apis).onFailure(error -> {}), metadata, Status.Code.UNAVAILABLE);
      try (var calls = new Calls(new CallGuard(client, apis))) {
        assertNotNull(calls.with(metadata).check(HealthCheckRequest.getDefaultInstance()));
      }
    }
  }

  private static void expectCode(CallGuard guard, Metadata metadata, Status.Code code) {
    try (var calls = new Calls(guard)) {
      var stub = calls.with(metadata);
      var error =
          assertThrows(
              StatusRuntimeException.class,
              () -> stub.check(HealthCheckRequest.getDefaultInstance()));
      assertEquals(code, error.getStatus().getCode());
    }
  }
}
