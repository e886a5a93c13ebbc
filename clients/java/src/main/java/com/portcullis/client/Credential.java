package com.portcullis.client;

import static java.util.Objects.requireNonNull;

import com.portcullis.v1.ApiSelection;
import com.portcullis.v1.IssueRequest;
import com.portcullis.v1.IssueResponse;
import java.io.IOException;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.Base64;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;

/**
 * The token of a profile, for requests that a program sends: in its header, and behind its scheme
 * if it has one. It is kept until shortly before it expires, and renewed once where an API answers
 * 401. Whatever sends requests with it sends it to the origin of the first request alone: a
 * redirect to another one does not get it.
 *
 * <p>{@link CredentialHttpClient} sends requests of java.net.http with it, and {@link
 * CredentialInterceptor} those of OkHttp.
 */
public final class Credential {
  /** A token is renewed this long before it expires, or a tenth of its time when it came. */
  private static final Duration RENEW_BEFORE = Duration.ofMinutes(1);

  /**
   * The profile may have another token after this time, also in place of one that never expires.
   */
  static final Duration KEPT_MAX = Duration.ofMinutes(5);

  private final Client client;
  private final String profile;
  private final IssueRequest request;

  /** It needs the lock of this object, as what follows does. */
  private final Kept kept = new Kept();

  /** Null: no token is being issued. */
  private CompletableFuture<Issued> issuing;

  /**
   * A token, and the header to send it in.
   *
   * @param headerValue what the header has: the value, behind its scheme
   * @param renewAt when another one should be issued
   * @param expiresAt null: never
   */
  record Issued(
      String header, String value, String headerValue, Instant renewAt, Instant expiresAt) {
    static Issued of(IssueResponse response, Instant now) {
      var renewAt = now.plus(KEPT_MAX);
      var value = response.getValue();
      var headerValue = headerValueOf(response);
      if (!response.hasExpiresAt()) {
        return new Issued(response.getHeader(), value, headerValue, renewAt, null);
      }
      var expiresAt = Token.instantOf(response.getExpiresAt());
      var left = Duration.between(now, expiresAt);
      var before = left.dividedBy(10);
      var renewed = expiresAt.minus(before.compareTo(RENEW_BEFORE) < 0 ? before : RENEW_BEFORE);
      return new Issued(
          response.getHeader(),
          value,
          headerValue,
          renewed.isBefore(renewAt) ? renewed : renewAt,
          expiresAt);
    }

    private static String headerValueOf(IssueResponse response) {
      var value = response.getValue();
      var content =
          switch (response.getBasic()) {
            case "user" -> base64(value + ":");
            case "password" -> base64(":" + value);
            default -> value;
          };
      return response.getScheme().isEmpty() ? content : response.getScheme() + " " + content;
    }

    private static String base64(String text) {
      return Base64.getEncoder().encodeToString(text.getBytes(StandardCharsets.UTF_8));
    }

    boolean isValid(Instant now) {
      return expiresAt == null || now.isBefore(expiresAt);
    }

    @Override
    public String toString() {
      return "a token for " + header;
    }
  }

  /**
   * The token of a profile, as a program keeps it. It has no clock and calls nothing;
   * clients/conformance describes what it must do.
   */
  static final class Kept {
    /** Null: there is none, or an API has refused it. */
    private Issued issued;

    /** A token that an API has refused, if none came since. A secret. Empty: there is none. */
    String rejected = "";

    /** The token that is sent without asking the sidecar; null: none. */
    Issued current(Instant now) {
      return issued != null && now.isBefore(issued.renewAt) ? issued : null;
    }

    /** The token that is sent where the sidecar has no answer; null: none. */
    Issued lasting(Instant now) {
      return issued != null && issued.isValid(now) ? issued : null;
    }

    /** An API has refused a token. Another one may have come since it was sent. */
    void refuse(String value) {
      if (issued != null && issued.value.equals(value)) {
        issued = null;
        rejected = value;
      }
    }

    /** A token came that was asked for at a time. */
    Issued came(IssueResponse response, Instant now) {
      issued = Issued.of(response, now);
      rejected = "";
      return issued;
    }
  }

  /**
   * A token that opens APIs.
   *
   * @param client issues it; it needs a caller token
   * @param profile of the sidecar, which has the login
   * @param apis that the requests are sent to: the token has a kind that all of them accept
   */
  public Credential(Client client, String profile, String... apis) {
    this(
        client,
        profile,
        IssueRequest.newBuilder()
            .setProfile(profile)
            .setApis(ApiSelection.newBuilder().addAllApis(List.of(apis)))
            .build());
  }

  /**
   * A token for a scope.
   *
   * @param client issues it; it needs a caller token
   * @param profile of the sidecar, which has the login
   * @param scope of the token
   */
  public Credential(Client client, String profile, Scope scope) {
    this(
        client,
        profile,
        IssueRequest.newBuilder().setProfile(profile).setScope(scope.message()).build());
  }

  private Credential(Client client, String profile, IssueRequest request) {
    this.client = requireNonNull(client, "client");
    this.profile = profile;
    this.request = request;
  }

  /**
   * A token that opens the same APIs, where they accept tokens of a project.
   *
   * @param project its name
   * @return another credential
   */
  public Credential inProject(String project) {
    var apis = request.getApis().toBuilder().setProject(project);
    return new Credential(client, profile, request.toBuilder().setApis(apis).build());
  }

  /**
   * The same token, sent in another place of its kind than the first one.
   *
   * @param place as the matrix writes it: {@code X-Api-Key}, {@code Authorization: Bearer} or
   *     {@code Authorization: Basic (password)}
   * @return another credential
   */
  public Credential inPlace(String place) {
    return new Credential(client, profile, request.toBuilder().setPlace(place).build());
  }

  /**
   * The token. All who need one at the same time wait for the same.
   *
   * @param refused a token that an API has just refused; null: none
   * @return it is not the refused one, if the profile has another; it fails with {@link
   *     IOException}
   */
  CompletableFuture<Issued> token(Issued refused) {
    var now = Instant.now();
    var mine = new CompletableFuture<Issued>();
    CompletableFuture<Issued> running;
    Issued lasting;
    String rejected;
    synchronized (this) {
      if (refused != null) {
        kept.refuse(refused.value);
      }
      var current = kept.current(now);
      if (current != null) {
        return CompletableFuture.completedFuture(current);
      }
      lasting = kept.lasting(now);
      rejected = kept.rejected;
      running = issuing;
      if (running == null) {
        issuing = mine;
      }
    }
    if (running == null) {
      running = mine;
      issue(rejected, now, mine);
    }
    return lasting == null ? running.copy() : running.exceptionally(error -> lasting);
  }

  private void issue(String rejected, Instant now, CompletableFuture<Issued> result) {
    CompletableFuture<IssueResponse> answer;
    try {
      answer = client.issueAsync(request.toBuilder().setRejectedValue(rejected).build());
    } catch (RuntimeException error) {
      answer = CompletableFuture.failedFuture(error);
    }
    answer.whenComplete(
        (response, error) -> {
          Issued issued;
          synchronized (this) {
            issuing = null;
            issued = error == null ? kept.came(response, now) : null;
          }
          if (issued != null) {
            result.complete(issued);
          } else {
            var cause = causeOf(error);
            result.completeExceptionally(
                new IOException(
                    "no token of profile `" + profile + "`: " + cause.getMessage(), cause));
          }
        });
  }

  /** The first failure, also where another step came after it. */
  static Throwable causeOf(Throwable error) {
    return error instanceof CompletionException && error.getCause() != null
        ? error.getCause()
        : error;
  }

  /** For tests: as if time had passed. */
  synchronized void age(Instant renewAt, Instant expiresAt) {
    var issued = kept.issued;
    kept.issued = new Issued(issued.header, issued.value, issued.headerValue, renewAt, expiresAt);
  }

  static boolean isSameOrigin(URI some, URI other) {
    // java.net.URI does not have a host that it cannot read.
    return some.getScheme().equalsIgnoreCase(other.getScheme())
        && some.getHost() != null
        && some.getHost().equalsIgnoreCase(other.getHost())
        && portOf(some) == portOf(other);
  }

  private static int portOf(URI uri) {
    if (uri.getPort() >= 0) {
      return uri.getPort();
    }
    return uri.getScheme().equalsIgnoreCase("https") ? 443 : 80;
  }

  /** Shows no secret. */
  @Override
  public String toString() {
    return "Credential[profile=" + profile + "]";
  }
}
