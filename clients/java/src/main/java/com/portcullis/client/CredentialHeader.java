package com.portcullis.client;

import static java.util.function.Predicate.not;
import static java.util.stream.Collectors.groupingBy;
import static java.util.stream.Collectors.joining;
import static java.util.stream.Collectors.toList;
import static java.util.stream.Collectors.toUnmodifiableMap;

import com.portcullis.v1.TokenPlace;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BiFunction;
import java.util.function.Function;
import java.util.stream.Stream;

/**
 * A header of the matrix, and its possible content.
 *
 * @param name in lower case; it is the place of a token that is in it alone
 * @param isBare whether a token may be in it alone
 * @param schemes that may be before a token
 * @param companions the header that must come with a token, by the place of the token
 */
record CredentialHeader(
    String name, boolean isBare, List<Scheme> schemes, Map<String, String> companions) {
  /**
   * A part of the credentials of Basic that may be a token.
   *
   * @param name {@code user} or {@code password}
   * @param place the header, the scheme and the part, in lower case
   * @param prefixes tokens there begin with one of these
   */
  record Part(String name, String place, List<String> prefixes) {
    static Part of(String name, List<TokenPlace> places) {
      var prefixes = places.stream().map(TokenPlace::getPrefix).toList();
      return new Part(name, placeOf(places.get(0)), prefixes);
    }

    boolean fits(String value) {
      return prefixes.stream().anyMatch(value::startsWith);
    }
  }

  /**
   * A scheme that may be before a token.
   *
   * @param lower the scheme in lower case
   * @param place the header and the scheme, in lower case
   * @param parts of Basic that may be the token; empty: it is what stands there
   */
  record Scheme(String lower, String place, List<Part> parts) {
    static Scheme of(String lower, List<TokenPlace> places) {
      var parts = grouped(places, TokenPlace::getBasic);
      parts.remove("");
      return new Scheme(lower, placeOf(places.get(0)), listOf(parts, Part::of));
    }

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

  /** The headers of places, each once. Their texts are interned. */
  static CredentialHeader[] of(List<TokenPlace> places) {
    return listOf(grouped(places, TokenPlace::getHeader), CredentialHeader::of)
        .toArray(CredentialHeader[]::new);
  }

  private static CredentialHeader of(String name, List<TokenPlace> places) {
    var schemes = grouped(places, TokenPlace::getScheme);
    var isBare = schemes.remove("") != null;
    var companions =
        places.stream()
            .filter(each -> !each.getWith().isEmpty())
            .collect(
                toUnmodifiableMap(
                    CredentialHeader::placeOf, TokenPlace::getWith, (one, other) -> other));
    return new CredentialHeader(name.intern(), isBare, listOf(schemes, Scheme::of), companions);
  }

  /** The name of a place: the header, the scheme and the part of Basic, in lower case. */
  static String placeOf(TokenPlace place) {
    return Stream.of(place.getHeader(), place.getScheme(), place.getBasic())
        .filter(not(String::isEmpty))
        .map(Ascii::lowerCase)
        .collect(joining(" "))
        .intern();
  }

  private static Map<String, List<TokenPlace>> grouped(
      List<TokenPlace> places, Function<TokenPlace, String> word) {
    return places.stream()
        .collect(
            groupingBy(each -> Ascii.lowerCase(word.apply(each)), LinkedHashMap::new, toList()));
  }

  private static <T> List<T> listOf(
      Map<String, List<TokenPlace>> groups, BiFunction<String, List<TokenPlace>, T> made) {
    return groups.entrySet().stream()
        .map(each -> made.apply(each.getKey(), each.getValue()))
        .toList();
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
