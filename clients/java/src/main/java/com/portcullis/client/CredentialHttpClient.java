package com.portcullis.client;

import static java.util.Objects.requireNonNull;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.net.Authenticator;
import java.net.CookieHandler;
import java.net.ProxySelector;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandler;
import java.net.http.HttpResponse.PushPromiseHandler;
import java.time.Duration;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executor;
import java.util.concurrent.Future;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLParameters;

/**
 * A client of java.net.http that puts the token of a profile on each request.
 *
 * <pre>{@code
 * var http = new CredentialHttpClient(new Credential(client, "job", "balance"));
 * }</pre>
 *
 * <p>A request is sent once more with a new token where the API answers 401, if the length of its
 * body is known: other bodies may not be there a second time. It follows redirects itself, at most
 * five of them and never from https to http, because the client of the platform sends each header
 * on to any origin. At another origin, and from there on, a request has no token, and loses the
 * program's own {@code Authorization}, {@code Proxy-Authorization} and {@code Cookie}.
 */
public final class CredentialHttpClient extends HttpClient {
  private static final int REDIRECTS_MAX = 5;

  /** Headers that are for one origin. */
  private static final Set<String> OF_ORIGIN =
      Set.of("authorization", "proxy-authorization", "cookie");

  private final Credential credential;
  private final HttpClient base;

  /** Sends a request, and says what came. */
  private interface Sending<T> {
    CompletableFuture<HttpResponse<T>> send(HttpRequest request);
  }

  /**
   * Sends by its own client.
   *
   * @param credential the token
   */
  public CredentialHttpClient(Credential credential) {
    this(credential, HttpClient.newHttpClient());
  }

  /**
   * Sends by another client.
   *
   * @param credential the token
   * @param base sends the requests; it must not follow redirects, which is its default
   */
  public CredentialHttpClient(Credential credential, HttpClient base) {
    this.credential = requireNonNull(credential, "credential");
    this.base = base;
    if (base.followRedirects() != Redirect.NEVER) {
      throw new IllegalArgumentException(
          "expected a client that does not follow redirects, which this one does itself");
    }
  }

  @Override
  public <T> HttpResponse<T> send(HttpRequest request, BodyHandler<T> handler)
      throws IOException, InterruptedException {
    var sending = sendAsync(request, handler);
    try {
      return waitFor(sending);
    } catch (InterruptedIOException error) {
      Thread.interrupted();
      throw (InterruptedException) new InterruptedException(error.getMessage()).initCause(error);
    }
  }

  @Override
  public <T> CompletableFuture<HttpResponse<T>> sendAsync(
      HttpRequest request, BodyHandler<T> handler) {
    return follow(request.uri(), request, each -> base.sendAsync(each, handler), 0);
  }

  @Override
  public <T> CompletableFuture<HttpResponse<T>> sendAsync(
      HttpRequest request, BodyHandler<T> handler, PushPromiseHandler<T> pushed) {
    return follow(request.uri(), request, each -> base.sendAsync(each, handler, pushed), 0);
  }

  /**
   * Sends a request, and those that redirects lead to.
   *
   * @param first where the program sent it; null: a redirect has led elsewhere
   */
  private <T> CompletableFuture<HttpResponse<T>> follow(
      URI first, HttpRequest request, Sending<T> sending, int redirects) {
    var isOurs = first != null && Credential.isSameOrigin(first, request.uri());
    var sent = isOurs ? sendWithToken(request, sending) : sending.send(request);
    return sent.thenCompose(
        response -> {
          var next = redirects < REDIRECTS_MAX ? redirected(request, response) : null;
          if (next == null) {
            return CompletableFuture.completedFuture(response);
          }
          discard(response);
          return follow(isOurs ? first : null, next, sending, redirects + 1);
        });
  }

  private <T> CompletableFuture<HttpResponse<T>> sendWithToken(
      HttpRequest request, Sending<T> sending) {
    return credential
        .token(null)
        .thenCompose(
            token -> {
              var sent = sending.send(withToken(request, token));
              return sent.thenCompose(
                  response ->
                      response.statusCode() == 401 && isRepeatable(request)
                          ? sendAgain(request, token, response, sending)
                          : CompletableFuture.completedFuture(response));
            });
  }

  private <T> CompletableFuture<HttpResponse<T>> sendAgain(
      HttpRequest request,
      Credential.Issued refused,
      HttpResponse<T> response,
      Sending<T> sending) {
    // The answer says more than why there is no other token.
    var renewed = credential.token(refused).exceptionally(error -> refused);
    return renewed.thenCompose(
        token -> {
          if (token.value().equals(refused.value())) {
            return CompletableFuture.completedFuture(response);
          }
          discard(response);
          return sending.send(withToken(request, token));
        });
  }

  private static HttpRequest withToken(HttpRequest request, Credential.Issued token) {
    return HttpRequest.newBuilder(request, (name, value) -> !name.equalsIgnoreCase(token.header()))
        .header(token.header(), token.headerValue())
        .build();
  }

  private static boolean isRepeatable(HttpRequest request) {
    return request.bodyPublisher().map(body -> body.contentLength() >= 0).orElse(true);
  }

  /** Frees the connection of an answer that the program does not see. */
  private static void discard(HttpResponse<?> response) {
    if (response.body() instanceof AutoCloseable body) {
      try {
        body.close();
      } catch (Exception error) {
        // It is no longer of use.
        Log.LOG.log(System.Logger.Level.DEBUG, "an answer was not closed", error);
      }
    }
  }

  /** The request that a redirect asks for; null: there is none. */
  private static HttpRequest redirected(HttpRequest request, HttpResponse<?> response) {
    var status = response.statusCode();
    var location = response.headers().firstValue("Location").orElse(null);
    if (location == null || status < 301 || status > 308 || status > 303 && status < 307) {
      return null;
    }
    URI to;
    try {
      to = request.uri().resolve(location);
    } catch (IllegalArgumentException error) {
      return null;
    }
    var isDowngrade =
        "https".equalsIgnoreCase(request.uri().getScheme())
            && !"https".equalsIgnoreCase(to.getScheme());
    if (isDowngrade
        || to.getHost() == null
        || !"http".equalsIgnoreCase(to.getScheme()) && !"https".equalsIgnoreCase(to.getScheme())) {
      return null;
    }
    var isForGet =
        status == 303 && !request.method().equals("HEAD")
            || status <= 302 && request.method().equals("POST");
    if (!isForGet && !isRepeatable(request)) {
      return null;
    }
    var isSame = Credential.isSameOrigin(request.uri(), to);
    var next =
        HttpRequest.newBuilder(
                request,
                (name, value) -> isSame || !OF_ORIGIN.contains(name.toLowerCase(Locale.ROOT)))
            .uri(to);
    return (isForGet ? next.method("GET", BodyPublishers.noBody()) : next).build();
  }

  /**
   * Waits for what is sent.
   *
   * @throws InterruptedIOException the thread was interrupted, and still is
   */
  static <T> T waitFor(Future<T> running) throws IOException {
    try {
      return running.get();
    } catch (InterruptedException error) {
      running.cancel(true);
      Thread.currentThread().interrupt();
      throw (IOException) new InterruptedIOException("the thread was interrupted").initCause(error);
    } catch (ExecutionException error) {
      var cause = Credential.causeOf(error.getCause());
      if (cause instanceof IOException failed) {
        throw failed;
      }
      throw new IOException(cause.getMessage(), cause);
    }
  }

  @Override
  public Optional<CookieHandler> cookieHandler() {
    return base.cookieHandler();
  }

  @Override
  public Optional<Duration> connectTimeout() {
    return base.connectTimeout();
  }

  @Override
  public Redirect followRedirects() {
    return Redirect.NORMAL;
  }

  @Override
  public Optional<ProxySelector> proxy() {
    return base.proxy();
  }

  @Override
  public SSLContext sslContext() {
    return base.sslContext();
  }

  @Override
  public SSLParameters sslParameters() {
    return base.sslParameters();
  }

  @Override
  public Optional<Authenticator> authenticator() {
    return base.authenticator();
  }

  @Override
  public Version version() {
    return base.version();
  }

  @Override
  public Optional<Executor> executor() {
    return base.executor();
  }
}
