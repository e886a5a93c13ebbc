package com.portcullis.client;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.DynamicTest.dynamicTest;

import com.google.gson.JsonArray;
import com.google.gson.JsonNull;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import com.sun.net.httpserver.Headers;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.stream.Stream;
import okhttp3.HttpUrl;
import okhttp3.OkHttpClient;
import okhttp3.Request;
import okhttp3.RequestBody;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/** The conformance suite of redirects: two servers play a line together. */
class RedirectTest {
  private final List<JsonArray> seen = new CopyOnWriteArrayList<>();
  private final List<Headers> headers = new CopyOnWriteArrayList<>();
  private volatile JsonArray answers = new JsonArray();
  private final HttpServer a = serve("a");
  private final HttpServer b = serve("b");

  @AfterEach
  void stop() {
    a.stop(0);
    b.stop(0);
  }

  private HttpServer serve(String name) {
    try {
      var server = HttpServer.create(new InetSocketAddress("127.0.0.1", 0), 0);
      server.createContext("/", exchange -> answer(name, exchange));
      server.start();
      return server;
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    }
  }

  private void answer(String name, HttpExchange exchange) throws IOException {
    var token = exchange.getRequestHeaders().getFirst("X-Auth-Token");
    var request = new JsonArray();
    request.add(name);
    request.add(exchange.getRequestMethod());
    request.add(token);
    request.add(new String(exchange.getRequestBody().readAllBytes(), UTF_8));
    var answer = seen.size() < answers.size() ? answers.get(seen.size()).getAsJsonObject() : ok();
    seen.add(request);
    headers.add(exchange.getRequestHeaders());
    if (answer.has("location")) {
      exchange.getResponseHeaders().set("Location", placed(answer.get("location").getAsString()));
    }
    exchange.sendResponseHeaders(answer.get("status").getAsInt(), -1);
    exchange.close();
  }

  private static JsonObject ok() {
    return JsonParser.parseString("{\"status\":200}").getAsJsonObject();
  }

  private String placed(String location) {
    return location
        .replace("{a}", "127.0.0.1:" + a.getAddress().getPort())
        .replace("{b}", "127.0.0.1:" + b.getAddress().getPort())
        .replace("{a.port}", Integer.toString(a.getAddress().getPort()));
  }

  /** The way to send. It returns the status. */
  private interface Sender {
    int send(Credential credential, String url, String method, String body) throws Exception;
  }

  private static final Map<String, Sender> SENDERS =
      Map.of("java.net.http", RedirectTest::sendWithJava, "OkHttp", RedirectTest::sendWithOkHttp);

  private static int sendWithJava(Credential credential, String url, String method, String body)
      throws Exception {
    var publisher = body.isEmpty() ? BodyPublishers.noBody() : BodyPublishers.ofString(body);
    var request = HttpRequest.newBuilder(URI.create(url)).method(method, publisher).build();
    return new CredentialHttpClient(credential).send(request, BodyHandlers.ofString()).statusCode();
  }

  private static int sendWithOkHttp(Credential credential, String url, String method, String body)
      throws Exception {
    var http = CredentialInterceptor.on(new OkHttpClient.Builder(), credential).build();
    var request =
        new Request.Builder()
            .url(url)
            .method(method, body.isEmpty() ? null : RequestBody.create(body, null));
    try (var response = http.newCall(request.build()).execute()) {
      return response.code();
    } finally {
      http.dispatcher().executorService().shutdown();
      http.connectionPool().evictAll();
    }
  }

  @TestFactory
  Stream<DynamicTest> sequences() throws IOException {
    return ConformanceTest.linesOf("redirects.jsonl")
        .filter(line -> line.has("answers"))
        .flatMap(
            line ->
                SENDERS.entrySet().stream()
                    .map(
                        sender ->
                            dynamicTest(
                                line.get("name").getAsString() + ", " + sender.getKey(),
                                () -> play(line, sender.getValue()))));
  }

  private void play(JsonObject line, Sender sender) throws Exception {
    seen.clear();
    answers = line.getAsJsonArray("answers");
    var requests = line.getAsJsonArray("requests").asList();
    Integer status = null;
    try (var issuer = new FakeSidecar();
        var client = Client.connect(issuer.address())) {
      var credential = new Credential(client, "job", "balance");
      status =
          sender.send(
              credential,
              placed("http://{a}/start"),
              line.get("method").getAsString(),
              line.get("body").getAsString());
    } catch (IOException error) {
      // It ends there.
    }
    var least = line.has("least") ? line.get("least").getAsInt() : requests.size();
    assertTrue(seen.size() >= least, seen::toString);
    assertEquals(requests.subList(0, Math.min(seen.size(), requests.size())), seen);
    if (status != null) {
      var last = answers.get(seen.size() - 1).getAsJsonObject();
      assertEquals(last.get("status").getAsInt(), status);
    }
  }

  @TestFactory
  Stream<DynamicTest> origins() throws IOException {
    return ConformanceTest.linesOf("redirects.jsonl")
        .filter(line -> line.has("from"))
        .map(
            line -> {
              var from = line.get("from").getAsString();
              var to = line.get("to").getAsString();
              return dynamicTest(
                  from + " and " + to,
                  () -> {
                    var same = line.get("same").getAsBoolean();
                    assertEquals(same, Credential.isSameOrigin(URI.create(from), URI.create(to)));
                    assertEquals(
                        same,
                        CredentialInterceptor.isSameOrigin(HttpUrl.get(from), HttpUrl.get(to)));
                  });
            });
  }

  @Test
  void whatTheProgramHasForOneOriginDoesNotLeaveIt() throws Exception {
    answers =
        JsonParser.parseString(
                "[{\"status\":307,\"location\":\"/here\"},{\"status\":307,\"location\":\"http://{b}/away\"}]")
            .getAsJsonArray();
    var own = Map.of("Authorization", "Basic x", "Proxy-Authorization", "Basic x", "Cookie", "x=y");
    var request = HttpRequest.newBuilder(URI.create(placed("http://{a}/start")));
    own.forEach(request::header);
    try (var issuer = new FakeSidecar();
        var client = Client.connect(issuer.address())) {
      var http = new CredentialHttpClient(new Credential(client, "job", "balance"));
      var sent = request.header("X-Own", "kept").build();
      assertEquals(200, http.send(sent, BodyHandlers.ofString()).statusCode());
    }
    for (var hop = 0; hop < 3; hop++) {
      var found = headers.get(hop);
      assertEquals("kept", found.getFirst("X-Own"));
      for (var name : List.of("Authorization", "Cookie")) {
        assertEquals(hop < 2 ? own.get(name) : null, found.getFirst(name), name);
      }
    }
    assertEquals(null, headers.get(2).getFirst("Proxy-Authorization"));
    assertEquals(JsonNull.INSTANCE, seen.get(2).get(2));
  }
}
