package com.portcullis.client;

/**
 * A kind of token that an API accepts.
 *
 * @param kind its id
 * @param header the header to send it in
 * @param scheme what comes before the token in that header, for example {@code Bearer}; empty: the
 *     header has the token alone
 * @param issuable whether {@link Client#issue} can issue it
 * @param obtained how a token is obtained: {@code issue}, by {@link Client#issue}; {@code
 *     control_panel}, by a person; {@code elsewhere}, not from here
 * @param link where a person obtains one or reads how; empty: the matrix does not say
 */
public record AcceptedKind(
    String kind, String header, String scheme, boolean issuable, String obtained, String link) {
  /** A sidecar of the release before does not say how a token is obtained: never elsewhere. */
  static AcceptedKind of(
      String kind, String header, String scheme, boolean issuable, String said, String link) {
    var obtained = !said.isEmpty() ? said : issuable ? "issue" : "control_panel";
    return new AcceptedKind(kind, header, scheme, issuable, obtained, link);
  }
}
