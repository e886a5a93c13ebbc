package com.portcullis.client;

import static java.util.Objects.requireNonNull;

import java.io.IOException;
import java.io.InterruptedIOException;
import okhttp3.HttpUrl;
import okhttp3.Interceptor;
import okhttp3.OkHttpClient;
import okhttp3.Request;
import okhttp3.Response;

/**
 * Puts the token of a profile on each request of OkHttp.
 *
 * <pre>{@code
 * var http = CredentialInterceptor.on(new OkHttpClient.Builder(), new Credential(client, "job", "balance")).build();
 * }</pre>
 */
public final class CredentialInterceptor implements Interceptor {
  private final Credential credential;

  /** The token of the requests of a call, until a redirect leads elsewhere. */
  private static final class Sent {
    private final Credential.Issued token;
    private final HttpUrl first;
    private boolean hasLeft;

    Sent(Credential.Issued token, HttpUrl first) {
      this.token = token;
      this.first = first;
    }

    boolean isFor(Request request) {
      hasLeft |= !isSameOrigin(first, request.url());
      return !hasLeft;
    }
  }

  static boolean isSameOrigin(HttpUrl some, HttpUrl other) {
    return some.scheme().equals(other.scheme())
        && some.host().equals(other.host())
        && some.port() == other.port();
  }

  private CredentialInterceptor(Credential credential) {
    this.credential = requireNonNull(credential, "credential");
  }

  /**
   * Adds the token to what a client sends.
   *
   * @param builder of a client
   * @param credential the token
   * @return the builder
   */
  public static OkHttpClient.Builder on(OkHttpClient.Builder builder, Credential credential) {
    // OkHttp sends the headers of the first request along with each redirect. So one obtains the
    // token, and the other looks where each
    // request goes.
    var interceptor = new CredentialInterceptor(credential);
    return builder.addInterceptor(interceptor).addNetworkInterceptor(interceptor);
  }

  @Override
  public Response intercept(Chain chain) throws IOException {
    return chain.connection() == null ? send(chain) : chain.proceed(withToken(chain.request()));
  }

  private static Request withToken(Request request) {
    var sent = request.tag(Sent.class);
    if (sent == null || !sent.isFor(request)) {
      return request;
    }
    return request.newBuilder().header(sent.token.header(), sent.token.headerValue()).build();
  }

  private Response send(Chain chain) throws IOException {
    var first = chain.request().url();
    var sent = new Sent(token(null), first);
    var response = chain.proceed(chain.request().newBuilder().tag(Sent.class, sent).build());
    // The last one: earlier ones are not sent again.
    var request = response.request();
    if (response.code() != 401 || !sent.isFor(request) || !isRepeatable(request)) {
      return response;
    }
    Credential.Issued renewed;
    try {
      renewed = token(sent.token);
    } catch (InterruptedIOException error) {
      response.close();
      throw error;
    } catch (IOException error) {
      // The answer says more than why there is no other token.
      return response;
    }
    if (renewed.value().equals(sent.token.value())) {
      return response;
    }
    response.close();
    return chain.proceed(request.newBuilder().tag(Sent.class, new Sent(renewed, first)).build());
  }

  private static boolean isRepeatable(Request request) {
    var body = request.body();
    return body == null || !body.isOneShot() && !body.isDuplex();
  }

  private Credential.Issued token(Credential.Issued refused) throws IOException {
    return CredentialHttpClient.waitFor(credential.token(refused));
  }
}
