package com.portcullis.client;

import static java.util.Objects.requireNonNull;

import java.util.Set;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import java.util.function.Function;

/**
 * The common part of the guards. Set the options before the first request comes.
 *
 * @param <R> a request
 * @param <G> the guard
 */
public abstract sealed class AbstractGuard<R, G extends AbstractGuard<R, G>>
    permits Guard, CallGuard {
  /** Leaves API and target to the routes of the sidecar. */
  static final Function<Object, String> ROUTES = request -> "";

  private final Client client;
  private final Function<? super R, String> apiOf;

  /** Those that the program names, whatever a request is. */
  private final Set<String> apis;

  /** Null: only the matrix decides. */
  private Function<? super R, Scope> target;

  private Function<? super R, String> clientAddress;
  private boolean isHidingOthers;

  /** Null: events are logged. */
  private Consumer<? super RuntimeException> onFailure;

  private final AtomicBoolean isStarted = new AtomicBoolean();

  /**
   * The outcome of a request.
   *
   * @param denial null: it passes
   */
  record Verdict(Answer answer, Denial denial) {}

  AbstractGuard(
      Client client,
      Function<? super R, String> apiOf,
      Set<String> apis,
      Function<? super R, String> clientAddress) {
    this.client = requireNonNull(client, "client");
    this.apiOf = requireNonNull(apiOf, "api");
    this.apis = apis;
    this.clientAddress = clientAddress;
  }

  abstract G self();

  /** The request as it arrived, for the routes of the sidecar. */
  abstract Request arrived(R request);

  /**
   * Says whose resource a request asks for. Without a target only the matrix decides.
   *
   * @param target returns the account, and the project if any, that owns the requested resource:
   *     from the records of the program or the path, never from the token; a request for which it
   *     returns null or no account is denied
   * @return this guard
   * @throws IllegalStateException the routes of the sidecar say it
   */
  public G target(Function<? super R, Scope> target) {
    if (apiOf == ROUTES) {
      throw new IllegalStateException("expected no target, because the routes say it");
    }
    this.target = requireNonNull(target, "target");
    return self();
  }

  /**
   * Says where a request comes from, for accounts that restrict addresses.
   *
   * @param clientAddress returns an IP address; default: the one of the connection, which behind a
   *     proxy is that of the proxy
   * @return this guard
   */
  public G clientAddress(Function<? super R, String> clientAddress) {
    this.clientAddress = requireNonNull(clientAddress, "clientAddress");
    return self();
  }

  /**
   * Answers that there is no such resource where it belongs to others, so that a client does not
   * learn that it exists.
   *
   * @return this guard
   */
  public G hideOthers() {
    isHidingOthers = true;
    return self();
  }

  /**
   * Learns why there was no answer: for each request, and once for the client if no sidecar answers
   * when a guard starts. Learns once, with an {@link UnknownApiException}, that the matrix does not
   * have an API of the guard.
   *
   * @param onFailure gets the cause; default: lines of the logger com.portcullis.client, which are
   *     the first failure of an outage, a count each minute, and its end
   * @return this guard
   */
  public G onFailure(Consumer<? super RuntimeException> onFailure) {
    this.onFailure = requireNonNull(onFailure, "onFailure");
    return self();
  }

  boolean hasTarget() {
    return target != null;
  }

  /** Where the framework does not say it, a guard starts with its first request. */
  void start() {
    if (!apis.isEmpty() && !isStarted.get() && isStarted.compareAndSet(false, true)) {
      client.reports().begin(apis, onFailure);
    }
  }

  Verdict judge(R request, Headers headers) {
    start();
    if (apiOf == ROUTES) {
      return judgeByRoutes(request, headers);
    }
    var api = apiOf.apply(request);
    if (api == null || api.isEmpty()) {
      return new Verdict(null, Denial.API_NOT_FOUND);
    }
    var question = new Question(api, headers);
    if (target != null) {
      var found = target.apply(request);
      // Without a target the check would be about the API alone, for a resource of any account.
      if (found == null || found.account().isEmpty()) {
        return new Verdict(null, Denial.TARGET_NOT_FOUND);
      }
      question = question.withTarget(found);
    }
    return judge(request, question);
  }

  private Verdict judgeByRoutes(R request, Headers headers) {
    Request arrived;
    try {
      arrived = arrived(request);
    } catch (IllegalStateException error) {
      return failed(error);
    }
    return judge(request, new Question(arrived, headers));
  }

  private Verdict judge(R request, Question question) {
    var address = clientAddress.apply(request);
    try {
      var answer = client.checkCached(question.withClientAddress(address == null ? "" : address));
      if (answer.reason() == Reason.UNKNOWN_API && apis.contains(question.api())) {
        client.reports().unknown(question.api(), onFailure);
      }
      return new Verdict(answer, answer.allowed() ? null : Denial.of(answer, isHidingOthers));
    } catch (RuntimeException error) {
      return failed(error);
    }
  }

  private Verdict failed(RuntimeException error) {
    var denial = Denial.of(error);
    client.reports().failed(error, denial, onFailure);
    return new Verdict(null, denial);
  }

  /** An IP address without brackets and zone. */
  static String ipOf(String address) {
    if (address == null) {
      return "";
    }
    var bare = bare(address);
    var zone = bare.indexOf('%');
    return zone < 0 ? bare : bare.substring(0, zone);
  }

  /** An address without brackets. */
  static String bare(String address) {
    return address.startsWith("[") && address.endsWith("]")
        ? address.substring(1, address.length() - 1)
        : address;
  }
}
