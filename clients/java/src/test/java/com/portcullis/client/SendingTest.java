package com.portcullis.client;

import static com.portcullis.client.Sidecar.eventually;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.stream.IntStream;
import okhttp3.MediaType;
import okhttp3.OkHttpClient;
import okhttp3.Request;
import okhttp3.RequestBody;
import okio.BufferedSink;
import okio.Okio;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Requests that are sent with the token of a profile. */
class SendingTest {
  private final FakeSidecar issuer = new FakeSidecar();
  private final Client client =
      Client.builder().address(issuer.address()).deadline(Duration.ofMinutes(1)).connect();
  private final Credential credential = new Credential(client, "job", "balance");
  private final Api api = new Api();
  private final Api other = new Api();

  @AfterEach
  void close() {
    client.close();
    issuer.close();
    api.close();
    other.close();
  }

  /** A server that notes the token and the body of each request, and refuses some tokens. */
  private static final class Api implements AutoCloseable {
    private final HttpServer server;
    private final List<String> seen = new CopyOnWriteArrayList<>();
    private final List<String> refused = new CopyOnWriteArrayList<>();
    private volatile String header = "X-Auth-Token";

    /** Where each request is sent on; empty: nowhere. */
    private volatile String location = "";

    Api() {
      try {
        server = HttpServer.create(new InetSocketAddress("127.0.0.1", 0), 0);
      } catch (IOException error) {
        throw new IllegalStateException(error);
      }
      server.createContext("/", this::answer);
      server.setExecutor(Executors.newCachedThreadPool());
      server.start();
    }

    private void answer(HttpExchange exchange) throws IOException {
      var token = Objects.requireNonNullElse(exchange.getRequestHeaders().getFirst(header), "");
      var body = new String(exchange.getRequestBody().readAllBytes(), StandardCharsets.UTF_8);
      seen.add((token + " " + body).strip());
      var isRedirected =
          !location.isEmpty() && !exchange.getRequestURI().getPath().equals("/there");
      if (isRedirected) {
        exchange.getResponseHeaders().set("Location", location);
      }
      var status = refused.contains(token) ? 401 : isRedirected ? 307 : 200;
      exchange.sendResponseHeaders(status, -1);
      exchange.close();
    }

    String address() {
      return "http://127.0.0.1:" + server.getAddress().getPort();
    }

    @Override
    public void close() {
      server.stop(0);
    }
  }

  /** The way to send. */
  private enum Sender {
    JAVA {
      @Override
      int post(Credential credential, String address, String body, boolean isStream)
          throws Exception {
        var publisher =
            isStream
                ? BodyPublishers.ofInputStream(
                    () -> new ByteArrayInputStream(body.getBytes(StandardCharsets.UTF_8)))
                : BodyPublishers.ofString(body);
        var request = HttpRequest.newBuilder(URI.create(address)).POST(publisher).build();
        return new CredentialHttpClient(credential)
            .send(request, BodyHandlers.ofString())
            .statusCode();
      }
    },
    JAVA_ASYNC {
      @Override
      int post(Credential credential, String address, String body, boolean isStream)
          throws Exception {
        var publisher =
            isStream
                ? BodyPublishers.ofByteArrays(List.of(body.getBytes(StandardCharsets.UTF_8)))
                : BodyPublishers.ofString(body);
        var request = HttpRequest.newBuilder(URI.create(address)).POST(publisher).build();
        return CredentialHttpClient.waitFor(
                new CredentialHttpClient(credential)
                    .sendAsync(request, BodyHandlers.ofInputStream()))
            .statusCode();
      }
    },
    OKHTTP {
      @Override
      int post(Credential credential, String address, String body, boolean isStream)
          throws Exception {
        var sent = isStream ? new OneShot(body) : RequestBody.create(body, null);
        var http = CredentialInterceptor.on(new OkHttpClient.Builder(), credential).build();
        try (var response =
            http.newCall(new Request.Builder().url(address).post(sent).build()).execute()) {
          return response.code();
        } finally {
          http.dispatcher().executorService().shutdown();
          http.connectionPool().evictAll();
        }
      }
    };

    abstract int post(Credential credential, String address, String body, boolean isStream)
        throws Exception;
  }

  private static final class OneShot extends RequestBody {
    private final String text;

    OneShot(String text) {
      this.text = text;
    }

    @Override
    public boolean isOneShot() {
      return true;
    }

    @Override
    public MediaType contentType() {
      return null;
    }

    @Override
    public void writeTo(BufferedSink sink) throws IOException {
      try (var source =
          Okio.source(new ByteArrayInputStream(text.getBytes(StandardCharsets.UTF_8)))) {
        sink.writeAll(source);
      }
    }
  }

  @ParameterizedTest
  @EnumSource
  void aTokenIsKeptAndRenewedOnceAfter401(Sender sender) throws Exception {
    api.refused.add("token-1");
    assertEquals(200, sender.post(credential, api.address(), "body", false));
    assertEquals(200, sender.post(credential, api.address(), "body", false));
    assertEquals(List.of("token-1 body", "token-2 body", "token-2 body"), api.seen);
    assertEquals(
        List.of("", "token-1"),
        issuer.issued.stream().map(each -> each.getRejectedValue()).toList());
    assertEquals("job", issuer.issued.get(1).getProfile());
    assertEquals("balance", issuer.issued.get(1).getApis().getApis(0));
  }

  @ParameterizedTest
  @EnumSource
  void aTokenIsSentBehindItsScheme(Sender sender) throws Exception {
    issuer.scheme = "Bearer";
    api.header = other.header = "Authorization";
    api.refused.add("Bearer token-1");
    api.location = other.address() + "/there";
    var placed = credential.inPlace("Authorization: Bearer").inProject("alpha");
    assertEquals(200, sender.post(placed, api.address(), "body", false));
    assertEquals(List.of("Bearer token-1 body", "Bearer token-2 body"), api.seen);
    assertEquals(List.of("body"), other.seen);
    assertEquals("token-1", issuer.issued.get(1).getRejectedValue());
    assertEquals("Authorization: Bearer", issuer.issued.get(1).getPlace());
    assertEquals("alpha", issuer.issued.get(1).getApis().getProject());
  }

  @ParameterizedTest
  @EnumSource
  void anApiThatRefusesEveryTokenIsAskedTwice(Sender sender) throws Exception {
    api.refused.addAll(List.of("token-1", "token-2"));
    assertEquals(401, sender.post(credential, api.address(), "", false));
    assertEquals(List.of("token-1", "token-2"), api.seen);
  }

  @ParameterizedTest
  @EnumSource
  void aBodyThatCannotBeSentAgainIsSentOnce(Sender sender) throws Exception {
    api.refused.add("token-1");
    assertEquals(401, sender.post(credential, api.address(), "stream", true));
    assertEquals(List.of("token-1 stream"), api.seen);
  }

  @ParameterizedTest
  @EnumSource
  void withoutAnotherTokenTheAnswerIsThatOfTheApi(Sender sender) throws Exception {
    api.refused.add("token-1");
    credential.token(null).join();
    issuer.isFailing = true;
    assertEquals(401, sender.post(credential, api.address(), "", false));
  }

  @ParameterizedTest
  @EnumSource
  void redirectsComeToAnEnd(Sender sender) throws Exception {
    api.location = "/again";
    try {
      assertEquals(307, sender.post(credential, api.address(), "body", false));
    } catch (IOException error) {
      assertTrue(error.getMessage().contains("Too many follow-up requests"), error.getMessage());
    }
    assertTrue(api.seen.size() < 30);
  }

  @ParameterizedTest
  @EnumSource
  void withoutATokenNothingIsSent(Sender sender) {
    issuer.isFailing = true;
    var error =
        assertThrows(
            IOException.class, () -> sender.post(credential, api.address(), "body", false));
    assertTrue(
        error.getMessage().startsWith("no token of profile `job`: UNAVAILABLE"),
        error.getMessage());
    assertInstanceOf(PortcullisException.class, error.getCause());
    assertEquals(List.of(), api.seen);
  }

  @Test
  void allWhoNeedATokenWaitForTheSame() {
    issuer.gate = new CountDownLatch(1);
    var waiting = IntStream.range(0, 32).mapToObj(index -> credential.token(null)).toList();
    eventually("a token is being issued", () -> issuer.issued.size() == 1);
    // A waiting caller may leave, and the others keep waiting.
    waiting.get(0).cancel(true);
    issuer.gate.countDown();
    waiting.subList(1, 32).stream()
        .map(CompletableFuture::join)
        .forEach(each -> assertEquals("token-1", each.value()));
    assertEquals(1, issuer.issued.size());
  }

  @Test
  void aTokenIsRenewedShortlyBeforeItExpires() {
    issuer.lifetime = Duration.ofHours(1);
    var first = credential.token(null).join();
    var left = Duration.between(Instant.now(), first.renewAt());
    assertTrue(
        left.compareTo(Credential.KEPT_MAX) <= 0
            && left.compareTo(Credential.KEPT_MAX.minusMinutes(1)) > 0,
        left::toString);
    // The moment has come, but there is no sidecar: the token still lasts.
    credential.age(Instant.now(), first.expiresAt());
    issuer.isFailing = true;
    assertEquals("token-1", credential.token(null).join().value());
    issuer.isFailing = false;
    assertEquals("token-3", credential.token(null).join().value());
    // Now it does not.
    credential.age(Instant.now(), Instant.now());
    issuer.isFailing = true;
    assertThrows(IOException.class, () -> CredentialHttpClient.waitFor(credential.token(null)));
  }

  @Test
  void noSecretIsShown() {
    var token = credential.token(null).join();
    assertFalse((credential + " " + token).contains("token-1"));
  }

  @Test
  void aClientThatFollowsRedirectsIsRefused() {
    var base = HttpClient.newBuilder().followRedirects(HttpClient.Redirect.NORMAL).build();
    assertThrows(IllegalArgumentException.class, () -> new CredentialHttpClient(credential, base));
  }

  @Test
  void aProfileOfASidecar() throws Exception {
    var sidecar = Sidecar.shared();
    try (var caller =
            Client.builder()
                .address(sidecar.address())
                .callerToken(Sidecar.CALLER_TOKEN)
                .connect();
        var stranger = sidecar.connect();
        var local = sidecar.connectLocal()) {
      var own = new Credential(caller, "job", "balance");
      var first = own.token(null).join();
      var question = new Question("balance", Headers.of(first.header(), first.value()));
      assertEquals(
          "account", local.client().check(question).token().orElseThrow().subject().name());
      // The API knows a token as revoked, and the profile gets another one.
      sidecar.revoke(first.value());
      eventually("the token is denied", () -> !local.client().check(question).allowed());
      var renewed = own.token(first).join();
      assertTrue(
          local
              .client()
              .check(new Question("balance", Headers.of(renewed.header(), renewed.value())))
              .allowed());
      var scoped = new Credential(caller, "job", new Scope(Sidecar.ACCOUNT)).token(null).join();
      assertEquals("X-Auth-Token", scoped.header());
      var error =
          assertThrows(
              IOException.class,
              () ->
                  CredentialHttpClient.waitFor(
                      new Credential(stranger, "job", "balance").token(null)));
      assertEquals(
          "CALLER_TOKEN_MISSING",
          assertInstanceOf(PortcullisException.class, error.getCause()).reason());
    }
  }
}
