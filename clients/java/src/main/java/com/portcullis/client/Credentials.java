package com.portcullis.client;

import static com.portcullis.client.Reason.CREDENTIAL_AMBIGUOUS;
import static com.portcullis.client.Reason.CREDENTIAL_MALFORMED;
import static com.portcullis.client.Reason.CREDENTIAL_MISSING;

import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.List;
import java.util.regex.Pattern;

/** Finds the credential among the headers of a request (clients/conformance, "Credentials"). */
final class Credentials {
  /** No control character (RFC 7617 §2). Bytes outside of ASCII may be anything. */
  private static final Pattern BASIC =
      Pattern.compile("(?<user>[^\\x00-\\x1f\\x7f:]*):(?<password>[^\\x00-\\x1f\\x7f]*)");

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
   * Where it is: its header, the scheme before it and the part of Basic, in lower case. Null: there
   * is no token, or more than one, or it is in none of the places of the matrix.
   */
  String place;

  /** The fault of the credentials of Basic, or of a token without its other header; null: none. */
  private Reason fault;

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
      if (isOne() && !isComplete(header, headers)) {
        fault = CREDENTIAL_MALFORMED;
      }
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
        if (!scheme.parts().isEmpty() && !token.isEmpty()) {
          decode(scheme.parts());
        }
        return;
      }
    }
    if (header.isBare()) {
      token = value;
      place = header.name();
    }
  }

  /** Of two parts of Basic that are not empty, the token is the one that begins as tokens there. */
  private void decode(List<CredentialHeader.Part> parts) {
    var credentials = BASIC.matcher(decoded(token));
    if (!credentials.matches()) {
      fault = CREDENTIAL_MALFORMED;
      return;
    }
    var sent = parts.stream().filter(each -> !credentials.group(each.name()).isEmpty()).toList();
    var fitting =
        sent.size() < 2
            ? sent
            : sent.stream().filter(each -> each.fits(credentials.group(each.name()))).toList();
    if (fitting.size() == 1) {
      place = fitting.get(0).place();
      token = credentials.group(fitting.get(0).name());
    } else if (sent.isEmpty()) {
      fault = CREDENTIAL_MISSING;
    } else {
      fault = fitting.isEmpty() ? CREDENTIAL_MALFORMED : CREDENTIAL_AMBIGUOUS;
    }
  }

  /**
   * The bytes in Base64, each as a character; empty: it is not Base64. The decoder is lenient. Only
   * the one right way to write the bytes counts, which all readers read alike.
   */
  private static String decoded(String text) {
    try {
      var bytes = Base64.getDecoder().decode(text);
      var isRight = Base64.getEncoder().encodeToString(bytes).equals(text);
      return isRight ? new String(bytes, StandardCharsets.ISO_8859_1) : "";
    } catch (IllegalArgumentException error) {
      return "";
    }
  }

  /** Whether the header that must come with the token has come, once and with a value. */
  private boolean isComplete(CredentialHeader header, Headers headers) {
    var companion = header.companions().get(place);
    if (companion == null) {
      return true;
    }
    var values = headers.values(companion);
    return values.size() == 1 && !trimmed(values.iterator().next()).isEmpty();
  }

  /** Whether there is one token, of which nothing else is known yet. */
  boolean isOne() {
    return fault == null && place != null && !token.isEmpty();
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
    if (fault != null) {
      return fault;
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
