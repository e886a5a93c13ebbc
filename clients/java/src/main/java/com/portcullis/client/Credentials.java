package com.portcullis.client;

import static com.portcullis.client.Reason.CREDENTIAL_AMBIGUOUS;
import static com.portcullis.client.Reason.CREDENTIAL_MALFORMED;
import static com.portcullis.client.Reason.CREDENTIAL_MISSING;

/** Finds the credential among the headers of a request (clients/conformance, "Credentials"). */
final class Credentials {
  /** Values of credential headers. */
  private int count;

  private boolean isOneEmpty;

  /** The first of the values. */
  private String value;

  /**
   * The only token that there is. It may have a fault, which no token has that is known. Empty:
   * there is none behind its scheme.
   */
  String token;

  /**
   * Where it is: its header, and the scheme before it, in lower case. Null: there is no token, or
   * more than one, or it is in none of the places of the matrix.
   */
  String place;

  /** The credentials in these headers. */
  Credentials(CredentialHeader[] places, Headers headers) {
    CredentialHeader header = null;
    for (var each : places) {
      var values = headers.values(each.name());
      if (values.isEmpty()) {
        continue;
      }
      if (count == 0 || values.size() == 1) {
        var first = trimmed(values.iterator().next());
        if (count == 0) {
          value = first;
          header = each;
        }
        // A repeated header is never empty: intermediaries join the values with a comma.
        isOneEmpty |= values.size() == 1 && first.isEmpty();
      }
      count += values.size();
    }
    if (count == 1 && !isOneEmpty) {
      find(header);
    }
  }

  private void find(CredentialHeader header) {
    if (!header.schemes().isEmpty()) {
      var space = value.indexOf(' ');
      var end = space < 0 ? value.length() : space;
      var scheme = header.schemeOf(value, end);
      if (scheme != null) {
        while (end < value.length() && value.charAt(end) == ' ') {
          end++;
        }
        token = value.substring(end);
        place = scheme.place();
        return;
      }
    }
    if (header.isBare()) {
      token = value;
      place = header.name();
    }
  }

  /** Whether there is one token, of which nothing else is known yet. */
  boolean isOne() {
    return place != null && !token.isEmpty();
  }

  /** The fault of the credential; null: there is none. */
  Reason fault() {
    if (count == 0 || isOneEmpty) {
      return CREDENTIAL_MISSING;
    }
    if (count > 1) {
      return CREDENTIAL_AMBIGUOUS;
    }
    // A token that is known came through here once, so this is not done again for it.
    if (value.indexOf(',') >= 0) {
      return CREDENTIAL_AMBIGUOUS;
    }
    if (place == null) {
      return CREDENTIAL_MALFORMED;
    }
    if (token.isEmpty()) {
      return CREDENTIAL_MISSING;
    }
    for (var index = 0; index < token.length(); index++) {
      if (token.charAt(index) < 0x21 || token.charAt(index) > 0x7e) {
        return CREDENTIAL_MALFORMED;
      }
    }
    return null;
  }

  /** White space around a value is not part of it (RFC 9110 §5.5). */
  private static String trimmed(String value) {
    int start = 0;
    int end = value.length();
    while (start < end && isBlank(value.charAt(start))) {
      start++;
    }
    while (end > start && isBlank(value.charAt(end - 1))) {
      end--;
    }
    return value.substring(start, end);
  }

  private static boolean isBlank(char letter) {
    return letter == ' ' || letter == '\t';
  }
}
