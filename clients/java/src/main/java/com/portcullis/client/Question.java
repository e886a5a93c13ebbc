package com.portcullis.client;

import static java.util.Objects.requireNonNull;

import com.portcullis.v1.CheckRequest;
import com.portcullis.v1.Header;
import com.portcullis.v1.HttpRequest;
import com.portcullis.v1.TokenClaims;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Asks whether a credential opens an API. The credential is among the headers, or claims take its
 * place.
 *
 * @param api the id of an API, for example "balance"; empty: the routes of the sidecar say it
 * @param headers of the request, with the credential; null: there are claims
 * @param claims that are trusted without verification; null: the credential is verified
 * @param target the account, and the project if any, that owns the requested resource; null: only
 *     the matrix decides
 * @param clientAddress the IP address of the client, for accounts that restrict addresses; empty:
 *     it is not known
 * @param request takes the place of API and target: the routes of the sidecar say them; null: there
 *     is none
 */
public record Question(
    String api,
    Headers headers,
    Claims claims,
    Scope target,
    String clientAddress,
    Request request) {
  /**
   * Checks that there are either headers or claims, and no API or target beside a request.
   *
   * @param api the id of an API; empty: the routes of the sidecar say it
   * @param headers of the request, with the credential; null: there are claims
   * @param claims that are trusted without verification; null: the credential is verified
   * @param target the account, and the project if any, that owns the requested resource; null: only
   *     the matrix decides
   * @param clientAddress the IP address of the client; empty: it is not known
   * @param request takes the place of API and target; null: there is none
   */
  public Question {
    requireNonNull(api, "api");
    requireNonNull(clientAddress, "clientAddress");
    if ((headers == null) == (claims == null)) {
      throw new IllegalArgumentException("expected either headers or claims");
    }
    if (request != null && (!api.isEmpty() || target != null)) {
      throw new IllegalArgumentException(
          "expected neither an API nor a target beside a request, because the routes say them");
    }
  }

  /**
   * Asks about a credential.
   *
   * @param api the id of an API
   * @param headers of the request, with the credential
   */
  public Question(String api, Headers headers) {
    this(api, headers, null, null, "", null);
  }

  /**
   * Asks about a credential, by the routes of the sidecar.
   *
   * @param request as it arrived
   * @param headers all headers of the request
   */
  public Question(Request request, Headers headers) {
    this("", headers, null, null, "", requireNonNull(request, "request"));
  }

  /**
   * Asks about a credential.
   *
   * @param api the id of an API
   * @param headers of the request: names, and the values of each
   */
  public Question(String api, Map<String, ? extends Collection<String>> headers) {
    this(api, Headers.of(headers));
  }

  /**
   * Asks about claims.
   *
   * @param api the id of an API
   * @param claims that are trusted without verification
   */
  public Question(String api, Claims claims) {
    this(api, null, claims, null, "", null);
  }

  /**
   * The question with a target.
   *
   * @param target the account, and the project if any, that owns the requested resource
   * @return another question
   */
  public Question withTarget(Scope target) {
    return new Question(api, headers, claims, target, clientAddress, request);
  }

  /**
   * The question with an address.
   *
   * @param clientAddress the IP address of the client
   * @return another question
   */
  public Question withClientAddress(String clientAddress) {
    return new Question(api, headers, claims, target, clientAddress, request);
  }

  /** The message of the question, for the sidecar. */
  CheckRequest message() {
    var message = CheckRequest.newBuilder().setApi(text(api)).setClientAddress(text(clientAddress));
    if (target != null) {
      message.setTarget(target.message());
    }
    if (request != null) {
      message.setRequest(
          HttpRequest.newBuilder()
              .setMethod(text(request.method()))
              .setHost(text(request.host()))
              .setPath(text(request.path())));
    }
    if (claims != null) {
      var token =
          TokenClaims.newBuilder().setKind(text(claims.kind())).setScope(claims.scope().message());
      return message.setToken(token).build();
    }
    var sent = new ArrayList<Header>();
    headers.forEach(
        (name, value) -> {
          // The routes may look for a target in any header.
          if (request != null && !name.startsWith(":") || !isIrrelevant(name)) {
            sent.add(Header.newBuilder().setName(text(name)).setValue(text(value)).build());
          }
        });
    // The order of a map may be another one each time. Equal questions must be equal, because
    // answers are reused.
    sent.sort(Comparator.comparing(Header::getName));
    message.getCredentialsBuilder().addAllHeaders(sent);
    return message.build();
  }

  /**
   * A text that a message can have. Half of a character in UTF-16 would become a question mark,
   * which is a character of credentials.
   */
  static String text(String value) {
    for (var index = 0; index < value.length(); index++) {
      if (Character.isSurrogate(value.charAt(index))) {
        return value
            .chars()
            .map(each -> Character.isSurrogate((char) each) ? 0xfffd : each)
            .collect(
                StringBuilder::new, (made, each) -> made.append((char) each), StringBuilder::append)
            .toString();
      }
    }
    return value;
  }

  /**
   * Headers that carry no credential of this kind. They differ from request to request, so without
   * them an answer can be reused.
   */
  private static final Set<String> IRRELEVANT =
      Set.of(
          ("accept baggage cache-control connection cookie date dnt expect forwarded host keep-alive origin pragma priority range referer"
                  + " te traceparent tracestate trailer transfer-encoding upgrade upgrade-insecure-requests user-agent via x-real-ip"
                  + " x-request-id x-correlation-id x-forwarded-by x-forwarded-client-cert x-forwarded-for x-forwarded-host"
                  + " x-forwarded-method x-forwarded-path x-forwarded-port x-forwarded-prefix x-forwarded-proto x-forwarded-protocol"
                  + " x-forwarded-scheme x-forwarded-server x-forwarded-ssl x-forwarded-uri")
              .split(" "));

  private static final List<String> IRRELEVANT_FAMILIES =
      List.of(":", "accept-", "content-", "grpc-", "if-", "sec-", "access-control-", "x-b3-");

  private static boolean isIrrelevant(String name) {
    var lower = Ascii.lowerCase(name);
    return IRRELEVANT.contains(lower) || IRRELEVANT_FAMILIES.stream().anyMatch(lower::startsWith);
  }
}
