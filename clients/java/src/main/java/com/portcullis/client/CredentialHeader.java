package com.portcullis.client;

import com.portcullis.v1.TokenKind;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;

/**
 * A header of the matrix, and its possible content.
 *
 * @param name in lower case; it is the place of a token that is in it alone
 * @param isBare whether a token may be in it alone
 * @param schemes that may be before a token
 */
record CredentialHeader(String name, boolean isBare, List<Scheme> schemes) {
  /**
   * A scheme that may be before a token.
   *
   * @param lower the scheme in lower case
   * @param place the header and the scheme, in lower case
   */
  record Scheme(String lower, String place) {
    /** Schemes are ASCII. No other letter may become one of them in lower case. */
    boolean isBefore(int end, String value) {
      if (end != lower.length()) {
        return false;
      }
      for (var index = 0; index < end; index++) {
        if (Ascii.lowerCase(value.charAt(index)) != lower.charAt(index)) {
          return false;
        }
      }
      return true;
    }
  }

  /** The headers of kinds of token, each once. Their texts are interned. */
  static CredentialHeader[] of(List<TokenKind> kinds) {
    var headers = new LinkedHashMap<String, CredentialHeader>();
    for (var kind : kinds) {
      var name = Ascii.lowerCase(kind.getHeader()).intern();
      var known = headers.getOrDefault(name, new CredentialHeader(name, false, List.of()));
      headers.put(name, known.with(Ascii.lowerCase(kind.getScheme())));
    }
    return headers.values().toArray(CredentialHeader[]::new);
  }

  private CredentialHeader with(String scheme) {
    if (scheme.isEmpty()) {
      return new CredentialHeader(name, true, schemes);
    }
    if (schemes.stream().anyMatch(each -> each.lower.equals(scheme))) {
      return this;
    }
    var more = new ArrayList<>(schemes);
    more.add(new Scheme(scheme, (name + " " + scheme).intern()));
    return new CredentialHeader(name, isBare, List.copyOf(more));
  }

  /**
   * The scheme of a value.
   *
   * @param end of what comes before the first space
   * @return null: it is not one of the header's schemes
   */
  Scheme schemeOf(String value, int end) {
    for (var index = 0; index < schemes.size(); index++) {
      if (schemes.get(index).isBefore(end, value)) {
        return schemes.get(index);
      }
    }
    return null;
  }
}
