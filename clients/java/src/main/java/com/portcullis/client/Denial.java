package com.portcullis.client;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * The answer in place of a handler, in the same bytes as by a sidecar behind a proxy.
 *
 * @param accepted null: there is no decision
 * @param rules the digest of the rules that decided; null: none did
 */
record Denial(
    int status, String reason, String message, List<AcceptedKind> accepted, String rules) {
  static final Denial TARGET_NOT_FOUND =
      new Denial(
          403,
          "TARGET_NOT_FOUND",
          "the request does not say whose resource it asks for",
          null,
          null);
  static final Denial API_NOT_FOUND =
      new Denial(403, "UNKNOWN_API", "no API is known for this request", null, null);
  private static final Denial RESOURCE_NOT_FOUND =
      new Denial(404, "NOT_FOUND", "there is no such resource", null, null);

  static Denial of(Answer answer, boolean isHidingOthers) {
    var reason = answer.reason();
    if (isHidingOthers
        && (reason == Reason.ACCOUNT_MISMATCH || reason == Reason.PROJECT_MISMATCH)) {
      return RESOURCE_NOT_FOUND;
    }
    var refused = answer.route().map(Route::refused).orElse("");
    if (!refused.isEmpty()) {
      return new Denial(403, refused, answer.message(), List.of(), null);
    }
    var status = reason.isUnauthenticated() ? 401 : 403;
    return new Denial(
        status, reason.name(), answer.message(), answer.accepted(), answer.rulesDigest());
  }

  /**
   * The client cannot fix what is wrong with a configuration, so it learns the reason alone; the
   * log has the rest.
   */
  static Denial of(RuntimeException error) {
    if (error instanceof PortcullisException failed
        && failed.code() != io.grpc.Status.Code.INVALID_ARGUMENT) {
      var reason = failed.reason().isEmpty() ? failed.code().name() : failed.reason();
      return new Denial(
          503, reason, "the request could not be authorized; try again later", null, null);
    }
    return new Denial(
        500,
        "INTERNAL",
        "the request could not be authorized; the operator finds the cause in the log",
        null,
        null);
  }

  /** Names in lower case. */
  Map<String, String> headers() {
    var headers = new LinkedHashMap<String, String>();
    headers.put("content-type", "application/json");
    headers.put("cache-control", "no-store");
    headers.put("x-portcullis-reason", reason);
    if (rules != null) {
      headers.put("x-portcullis-rules-digest", rules);
    }
    if (status == 401) {
      headers.put("www-authenticate", challenges());
    }
    if (status == 503) {
      headers.put("retry-after", "1");
    }
    return headers;
  }

  /**
   * A challenge for each place that a token could be sent in (RFC 9110 §11.6.1 demands one with
   * 401).
   */
  private String challenges() {
    if (accepted.isEmpty()) {
      return "Portcullis reason=\"" + reason + "\"";
    }
    return accepted.stream().map(this::challenge).distinct().collect(Collectors.joining(", "));
  }

  private String challenge(AcceptedKind each) {
    var scheme = each.scheme().isEmpty() ? "" : " scheme=\"" + each.scheme() + "\",";
    return "Portcullis header=\"" + each.header() + "\"," + scheme + " reason=\"" + reason + "\"";
  }

  String body() {
    var body =
        new StringBuilder(
            "{\"error\":{\"reason\":" + quoted(reason) + ",\"message\":" + quoted(message));
    if (accepted != null) {
      body.append(
          accepted.stream()
              .map(Denial::inJson)
              .collect(Collectors.joining(",", ",\"accepted\":[", "]")));
    }
    return body.append("}}").toString();
  }

  private static String inJson(AcceptedKind each) {
    return "{\"kind\":"
        + quoted(each.kind())
        + ",\"header\":"
        + quoted(each.header())
        + (each.scheme().isEmpty() ? "" : ",\"scheme\":" + quoted(each.scheme()))
        + ",\"issuable\":"
        + each.issuable()
        + ",\"obtained\":"
        + quoted(each.obtained())
        + (each.link().isEmpty() ? "" : ",\"link\":" + quoted(each.link()))
        + "}";
  }

  /** A text in JSON, as JavaScript writes it. */
  private static String quoted(String text) {
    var result = new StringBuilder("\"");
    for (var index = 0; index < text.length(); index++) {
      var letter = text.charAt(index);
      switch (letter) {
        case '"', '\\' -> result.append('\\').append(letter);
        case '\b' -> result.append("\\b");
        case '\f' -> result.append("\\f");
        case '\n' -> result.append("\\n");
        case '\r' -> result.append("\\r");
        case '\t' -> result.append("\\t");
        default -> {
          if (letter < 0x20) {
            result.append(String.format("\\u%04x", (int) letter));
          } else {
            result.append(letter);
          }
        }
      }
    }
    return result.append('"').toString();
  }
}
