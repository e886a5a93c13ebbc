package com.portcullis.client;

import com.portcullis.v1.CheckResponse;
import java.time.Duration;
import java.util.List;
import java.util.Optional;

/**
 * A decision. It came from the sidecar, or from the memory of a client in local mode.
 *
 * <p>It is not a record, because an answer from memory is made of parts of the memory, and most
 * programs look at little of it.
 */
public final class Answer {
  private final boolean isAllowed;
  private final Reason reason;

  /** Null: the API accepts the kind, and nothing was asked. */
  private final Said said;

  /** Of memory; null: the sidecar gave the answer. */
  private final Rules.Row row;

  /** Of the kind; 0: it is not in the matrix. */
  private final int column;

  /** Null: the answer is not about a known token. */
  private final Entry entry;

  /** Whether the token is in force. */
  private final boolean isVerified;

  /** Of memory; null: the question had no request, or the sidecar gave the answer. */
  private final Route route;

  /** All of an answer of the sidecar; or the words of a denial, or where no token is needed. */
  record Said(CheckResponse response, String message, String header, String scheme) {
    /** The words of a denial. */
    static Said wordsOf(CheckResponse response) {
      return new Said(null, response.getMessage(), response.getHeader(), response.getScheme());
    }

    /** The words where an API needs no token. */
    static Said needless(String api) {
      return new Said(null, "`" + api + "` needs no token", "", "");
    }
  }

  /**
   * An answer of the sidecar. A reason that this client does not know may stand for anything, so it
   * is a denial. So is an answer to a request without its API.
   */
  Answer(CheckResponse response, Question question) {
    var found = response.getRoute();
    var isRouted =
        question.request() == null || !found.getApi().isEmpty() && found.getRefused().isEmpty();
    reason = Reason.of(response.getReasonValue());
    isAllowed = response.getAllowed() && reason == Reason.ALLOWED && isRouted;
    said = new Said(response, response.getMessage(), response.getHeader(), response.getScheme());
    row = null;
    column = 0;
    entry = null;
    isVerified = false;
    route = null;
  }

  /** An answer from memory. */
  Answer(
      boolean isAllowed,
      Reason reason,
      Said said,
      Rules.Row row,
      int column,
      Entry entry,
      boolean isVerified,
      Route route) {
    this.isAllowed = isAllowed;
    this.reason = reason;
    this.said = said;
    this.row = row;
    this.column = column;
    this.entry = entry;
    this.isVerified = isVerified;
    this.route = route;
  }

  /** {@return whether the credential opens the API} */
  public boolean allowed() {
    return isAllowed;
  }

  /** {@return the reason for the decision} */
  public Reason reason() {
    return reason;
  }

  /** {@return an explanation for people, with what to do} */
  public String message() {
    return said == null ? row.allowedMessage(column) : said.message;
  }

  /** {@return the request header for tokens of this kind} Empty: the kind is not known. */
  public String header() {
    return said == null ? row.kind(column).accepted().header() : said.header;
  }

  /**
   * {@return what comes before the token in that header, for example {@code Bearer}} Empty: the
   * header has the token alone.
   */
  public String scheme() {
    return said == null ? row.kind(column).accepted().scheme() : said.scheme;
  }

  /** {@return on a denial, every kind of token that the API accepts} */
  public List<AcceptedKind> accepted() {
    if (row != null) {
      return isAllowed ? List.of() : row.accepted();
    }
    return said.response.getAcceptedList().stream()
        .map(
            each ->
                AcceptedKind.of(
                    each.getKind(),
                    each.getHeader(),
                    each.getScheme(),
                    each.getIssuable(),
                    each.getObtained(),
                    each.getLink()))
        .toList();
  }

  /**
   * {@return recommendations, and the note of the matrix about this API and kind} An answer from
   * memory has the note.
   */
  public List<String> advice() {
    if (said == null) {
      return row.advice(column);
    }
    return row == null ? said.response.getAdviceList() : List.of();
  }

  /** {@return the verified token, if there is one} It is there on denials too. */
  public Optional<Token> token() {
    if (row != null) {
      return entry == null || reason == Reason.UNKNOWN_API
          ? Optional.empty()
          : Optional.of(entry.token());
    }
    return said.response.hasToken()
        ? Optional.of(Token.of(said.response.getToken()))
        : Optional.empty();
  }

  /** {@return whether the credential was verified} False for claims. */
  public boolean verified() {
    return row != null ? isVerified && reason != Reason.UNKNOWN_API : said.response.getVerified();
  }

  /** {@return what the routes of the sidecar say of the request} Empty: the question had none. */
  public Optional<Route> route() {
    if (row != null) {
      return Optional.ofNullable(route);
    }
    return said.response.hasRoute()
        ? Optional.of(Route.of(said.response.getRoute()))
        : Optional.empty();
  }

  /** {@return names the exact rules: the matrix and the mode} */
  public String rulesDigest() {
    return row != null ? row.rules().digest : said.response.getRulesDigest();
  }

  /**
   * {@return how long the answer may be reused} Zero: it must not be reused, as those from memory.
   */
  public Duration cacheFor() {
    if (row != null || !said.response.hasCacheFor()) {
      return Duration.ZERO;
    }
    var cacheFor = said.response.getCacheFor();
    var found = Duration.ofSeconds(cacheFor.getSeconds(), cacheFor.getNanos());
    return found.isNegative() ? Duration.ZERO : found;
  }

  /**
   * {@return the answer of the sidecar itself, with its conflicts} Empty: the answer came from
   * memory.
   */
  public Optional<CheckResponse> response() {
    return row != null ? Optional.empty() : Optional.of(said.response);
  }

  @Override
  public String toString() {
    return "Answer[allowed=" + isAllowed + ", reason=" + reason + ", message=" + message() + "]";
  }
}
