package com.portcullis.client;

import static com.portcullis.client.Sidecar.ACCOUNT;
import static com.portcullis.client.Sidecar.balance;
import static com.portcullis.client.Sidecar.eventually;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.DynamicTest.dynamicTest;

import com.portcullis.v1.CheckResponse;
import com.portcullis.v1.IssueRequest;
import com.portcullis.v1.PasswordRequester;
import com.portcullis.v1.RevokeRequest;
import com.portcullis.v1.WatchChangesRequest;
import com.portcullis.v1.WatchChangesResponse;
import io.grpc.Status;
import io.grpc.TlsChannelCredentials;
import io.grpc.stub.StreamObserver;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.Proxy;
import java.net.ProxySelector;
import java.net.ServerSocket;
import java.net.SocketAddress;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.io.TempDir;

/** The calls of a client, its options and its errors. */
class ClientTest {
  private final Sidecar sidecar = Sidecar.shared();

  /** With the pauses of gRPC alone, which grow up to two minutes, it would take longer. */
  @Test
  void aClientTriesToConnectOften() throws Exception {
    var attempts = new CopyOnWriteArrayList<Long>();
    try (var listener = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
        var client = Client.connect("127.0.0.1:" + listener.getLocalPort())) {
      var accepting =
          new Thread(
              () -> {
                while (!listener.isClosed()) {
                  try {
                    listener.accept().close();
                    attempts.add(System.nanoTime());
                  } catch (IOException error) {
                    return;
                  }
                }
              });
      accepting.start();
      assertThrows(PortcullisException.class, () -> client.check(balance("any")));
      eventually("it tries often", () -> attempts.size() > 8);
    }
  }

  @Test
  void callsOfTheContract() throws Exception {
    var options =
        Client.builder()
            .address(sidecar.address())
            .callerTokenFile(sidecar.folder.resolve("operator"));
    try (var client = options.connect()) {
      var question = balance(sidecar.secrets.get("owner"));
      var answer = client.check(question);
      assertTrue(
          answer.allowed() && answer.verified() && answer.accepted().isEmpty(), answer::toString);
      assertEquals("X-Token", answer.header());
      var token = answer.token().orElseThrow();
      assertEquals(new Scope(ACCOUNT), token.scope());
      assertEquals("owner", token.subject().name());
      assertEquals(null, token.expiresAt());

      var claims = new Question("reports", new Claims("static_token", new Scope(ACCOUNT)));
      var answers = client.checkBatch(List.of(question, balance("unknown"), claims));
      assertEquals(
          List.of(Reason.ALLOWED, Reason.CREDENTIAL_INVALID, Reason.ALLOWED),
          answers.stream().map(Answer::reason).toList());

      var plan = client.plan("reports", "balance");
      assertEquals("static_token", plan.getTokens(0).getKind());

      var value = sidecar.create("of-the-contract");
      assertFalse(
          client.revoke(RevokeRequest.newBuilder().setValue(value).build()).getTokenId().isEmpty());
      assertEquals(Reason.CREDENTIAL_REVOKED, client.check(balance(value)).reason());

      var first = new CompletableFuture<WatchChangesResponse>();
      var following = client.watchChanges(WatchChangesRequest.getDefaultInstance(), firstOf(first));
      assertTrue(first.get().hasRules() && first.get().getVoided().getEverything());
      following.close();
    }
  }

  private static StreamObserver<WatchChangesResponse> firstOf(
      CompletableFuture<WatchChangesResponse> first) {
    return new StreamObserver<>() {
      @Override
      public void onNext(WatchChangesResponse response) {
        first.complete(response);
      }

      @Override
      public void onError(Throwable error) {
        first.completeExceptionally(error);
      }

      @Override
      public void onCompleted() {}
    };
  }

  @Test
  void anErrorSaysWhatIsWrong() {
    try (var client = sidecar.connect();
        var absent = Client.connect("unix:" + sidecar.folder.resolve("absent"))) {
      var refused =
          assertThrows(
              PortcullisException.class,
              () -> client.check(new Question("", new Claims("static_token", new Scope("")))));
      assertEquals(Status.Code.INVALID_ARGUMENT, refused.code());
      assertEquals("INVALID_ARGUMENT", refused.reason());
      assertEquals("api", refused.violations().get(0).field());
      var login =
          PasswordRequester.newBuilder().setUserName("nobody").setAccount(ACCOUNT).setPassword("x");
      var request =
          IssueRequest.newBuilder()
              .setPassword(login)
              .setScope(new Scope(ACCOUNT).message())
              .build();
      assertEquals(
          "LOGIN_FAILED",
          assertThrows(PortcullisException.class, () -> client.issue(request)).reason());
      var failed = assertThrows(PortcullisException.class, () -> absent.check(balance("x")));
      assertEquals(Status.Code.UNAVAILABLE, failed.code());
      assertEquals("", failed.reason());
      assertTrue(failed.getMessage().contains("no sidecar answers at unix:"), failed.getMessage());
    }
  }

  /** A proxy that refuses every request, and notes its first line. */
  private static final class RefusingProxy extends ProxySelector implements AutoCloseable {
    final List<String> seen = new CopyOnWriteArrayList<>();
    private final ServerSocket listener;
    private final ProxySelector earlier = ProxySelector.getDefault();

    RefusingProxy() throws IOException {
      listener = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
      new Thread(this::serve).start();
      ProxySelector.setDefault(this);
    }

    private void serve() {
      while (true) {
        try (var connection = listener.accept()) {
          var line = new BufferedReader(new InputStreamReader(connection.getInputStream(), UTF_8));
          seen.add(line.readLine());
          connection
              .getOutputStream()
              .write("HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n".getBytes(UTF_8));
        } catch (IOException error) {
          if (listener.isClosed()) {
            return;
          }
        }
      }
    }

    @Override
    public List<Proxy> select(URI uri) {
      return List.of(new Proxy(Proxy.Type.HTTP, listener.getLocalSocketAddress()));
    }

    @Override
    public void connectFailed(URI uri, SocketAddress address, IOException error) {}

    @Override
    public void close() throws IOException {
      ProxySelector.setDefault(earlier);
      listener.close();
    }
  }

  @Test
  void theProxyOfThePlatformGetsTlsForOtherMachinesAlone() throws Exception {
    try (var proxy = new RefusingProxy()) {
      // The last one reaches this machine, and is not one of its names to the client.
      for (var host : List.of("127.0.0.1", "localhost", "[::ffff:127.0.0.1]")) {
        var address = sidecar.address().replace("127.0.0.1", host);
        try (var client = Client.builder().address(address).allowPlaintext().connect()) {
          assertTrue(client.check(balance(sidecar.secrets.get("owner"))).allowed());
        }
      }
      var tls = TlsChannelCredentials.create();
      for (var address : List.of("127.0.0.1:1", "unix:/absent", "sidecar.example:443")) {
        assertEquals(List.of(), proxy.seen);
        try (var client = Client.builder().address(address).tls(tls).connect()) {
          assertThrows(PortcullisException.class, () -> client.check(balance("x")));
        }
      }
      assertEquals(Set.of("CONNECT sidecar.example:443 HTTP/1.1"), Set.copyOf(proxy.seen));
    }
  }

  @TestFactory
  Stream<DynamicTest> onlyAddressesOfThisMachineAreOnIt() {
    var here =
        List.of(
            "127.0.0.1:1",
            "localhost:1",
            "[::1]:1",
            "[0:0:0:0:0:0:0:1]:1",
            "unix:x",
            "dns:///127.1.2.3:1",
            "127.0.0.1");
    var elsewhere =
        List.of(
            "192.0.2.1:1",
            "localhost.example:1",
            "[2001:db8::1]:1",
            "127.0.0.1.example:1",
            "dns:///sidecar:1",
            "127.0.0.256:1",
            "[::11]:1",
            "[::2:1]:1",
            "[1::1]:1",
            "[localhost]:1",
            "[::1].example:1",
            "localhost:1.example",
            "1:1",
            "0:1",
            "01:50051");
    return Stream.of(Map.entry(true, here), Map.entry(false, elsewhere))
        .flatMap(
            row ->
                row.getValue().stream()
                    .map(
                        each ->
                            dynamicTest(
                                each,
                                () -> assertEquals(row.getKey(), Address.isThisMachine(each)))));
  }

  @Test
  void noSecretGoesToAnotherMachineInPlaintext() {
    var options = Client.builder().address("192.0.2.1:1").callerToken("pcst_1");
    assertFalse(
        assertThrows(IllegalStateException.class, options::connect)
            .getMessage()
            .contains("pcst_1"));
    try (var client = Client.connect("192.0.2.1:1")) {
      assertThrows(IllegalStateException.class, () -> client.check(balance("x")));
      assertThrows(IllegalStateException.class, () -> client.checkBatch(List.of(balance("x"))));
      assertThrows(
          IllegalStateException.class, () -> client.issue(IssueRequest.getDefaultInstance()));
      assertThrows(
          IllegalStateException.class,
          () -> client.revoke(RevokeRequest.newBuilder().setValue("x").build()));
    }
  }

  @Test
  void optionsAreChecked() {
    assertThrows(
        UncheckedIOException.class,
        () -> Client.builder().callerTokenFile(Path.of("absent")).connect());
    for (var options :
        List.of(
            Client.builder().callerToken("secret secret"),
            Client.builder().iamToken("secret\u00ff"))) {
      var error = assertThrows(IllegalArgumentException.class, options::connect);
      assertFalse(error.getMessage().contains("secret"), error.getMessage());
    }
    assertThrows(IllegalArgumentException.class, () -> Client.builder().tokensMax(0));
    assertThrows(
        IllegalArgumentException.class, () -> new Question("balance", null, null, null, "", null));
  }

  @Test
  void aNewCallerTokenIsRead(@TempDir Path folder) throws IOException {
    var file = folder.resolve("token");
    Files.writeString(file, "\uFEFFfirst\r\n");
    // A variable may have been written as a file is.
    assertEquals("first", new Presented("\uFEFFfirst\n", null, "").callerToken(System.nanoTime()));
    var presented = new Presented("", file, "");
    var later = System.nanoTime();
    for (var expected : List.of("second", "third")) {
      Files.writeString(file, "\uFEFF" + expected + "\r\n");
      assertNotEquals(expected, presented.callerToken(System.nanoTime()));
      later += 60_000_000_000L;
      assertEquals(expected, presented.callerToken(later));
    }
    Files.writeString(file, "");
    assertEquals("third", presented.callerToken(later + 60_000_000_000L));
  }

  @Test
  void overTlsAndAUnixSocket() throws Exception {
    writeCertificate();
    sidecar.write(
        "tls.yaml",
        """
        callers:
          - { name: follower, token_file: caller.token, rights: [follow] }
          - { name: job, certificate: { dns: follower.example }, rights: [follow] }
        grpc: { tls: { certificate: certificate.pem, key: key.pem, client_ca: certificate.pem } }
        log: { level: error }
        """);
    var certificate = sidecar.folder.resolve("certificate.pem").toFile();
    var tls =
        TlsChannelCredentials.newBuilder()
            .trustManager(certificate)
            .keyManager(certificate, sidecar.folder.resolve("key.pem").toFile())
            .build();
    try (var served =
        sidecar.serve("--config", "tls.yaml", "--data", "data", "--grpc", "127.0.0.1:0")) {
      expectLocal(Client.builder().address(served.address()).tls(tls));
    }
    var socket = "unix:" + sidecar.folder.resolve("grpc.sock");
    try (var served =
        sidecar.serve("--config", "portcullis.yaml", "--data", "data", "--grpc", socket)) {
      assertEquals(socket, served.address());
      expectLocal(Client.builder().address(socket).callerToken(Sidecar.CALLER_TOKEN));
    }
  }

  private void expectLocal(Client.Builder options) {
    try (var client = options.local().connect()) {
      eventually("the client follows", client::isFollowing);
      var question = balance(sidecar.secrets.get("owner"));
      assertTrue(client.check(question).allowed());
      assertTrue(client.checkLocally(question).isPresent());
    }
  }

  /** Writes a key and a certificate for this machine, which signs itself. */
  private void writeCertificate() throws IOException, InterruptedException {
    var subject = "subjectAltName=IP:127.0.0.1,DNS:follower.example";
    var command =
        List.of(
            "openssl",
            "req",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:P-256",
            "-nodes",
            "-days",
            "1",
            "-subj",
            "/CN=sidecar",
            "-addext",
            subject,
            "-keyout",
            "key.pem",
            "-out",
            "certificate.pem");
    assertEquals(
        0,
        new ProcessBuilder(command)
            .directory(sidecar.folder.toFile())
            .redirectErrorStream(true)
            .start()
            .waitFor());
  }

  @Test
  void aSidecarOfTheReleaseBeforeSaysOnlyWhetherKindsAreIssuable() {
    var response = CheckResponse.newBuilder();
    response.addAcceptedBuilder().setIssuable(true);
    response.addAcceptedBuilder().setIssuable(false);
    var accepted = new Answer(response.build(), balance("")).accepted();
    assertEquals(
        List.of("issue", "control_panel"), accepted.stream().map(AcceptedKind::obtained).toList());
  }

  @Test
  void aReasonThatIsNotKnownDenies() {
    for (var number : List.of(-1, 0, Reason.values().length, 999)) {
      var answer =
          new Answer(
              CheckResponse.newBuilder().setAllowed(true).setReasonValue(number).build(),
              balance("x"));
      assertFalse(answer.allowed());
      assertEquals(Reason.UNSPECIFIED, answer.reason());
    }
    for (var reason : Reason.values()) {
      assertEquals("REASON_" + reason, com.portcullis.v1.Reason.forNumber(reason.ordinal()).name());
    }
    assertEquals(Reason.values().length, com.portcullis.v1.Reason.values().length - 1);
  }

  @Test
  void textThatIsNoUnicodeIsNoCredential() {
    var lone = new Question("balance", Headers.of("X-Token", "a\ud800"));
    assertEquals("a\ufffd", lone.message().getCredentials().getHeaders(0).getValue());
    try (var client = sidecar.connect()) {
      assertEquals(Reason.CREDENTIAL_MALFORMED, client.check(lone).reason());
    }
  }
}
