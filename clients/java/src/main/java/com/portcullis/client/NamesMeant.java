package com.portcullis.client;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/** The known name that an unknown one probably means. */
final class NamesMeant {
  /** Most edits between a name and the one that was meant. */
  private static final int EDITS_MAX = 2;

  /** Two edits leave little of a short name. */
  private static final int SHORT = 3;

  private NamesMeant() {}

  /**
   * The known names that differ from a name by a slip or two, the nearest first. Case does not
   * matter.
   */
  static List<String> of(String name, List<String> known) {
    var near = Stream.generate(ArrayList<String>::new).limit(EDITS_MAX + 1).toList();
    for (var each : known) {
      var most = Math.min(name.length(), each.length()) <= SHORT ? 1 : EDITS_MAX;
      if (Math.abs(each.length() - name.length()) > most) {
        continue;
      }
      var edits = edits(name.toLowerCase(Locale.ROOT), each.toLowerCase(Locale.ROOT));
      if (edits <= most) {
        near.get(edits).add(each);
      }
    }
    return near.stream().flatMap(List::stream).toList();
  }

  /** Levenshtein distance: the fewest characters to insert, delete or replace. */
  private static int edits(String one, String other) {
    var previous = IntStream.rangeClosed(0, other.length()).toArray();
    for (var row = 1; row <= one.length(); row++) {
      var current = new int[other.length() + 1];
      current[0] = row;
      for (var column = 1; column <= other.length(); column++) {
        var replaced = one.charAt(row - 1) == other.charAt(column - 1) ? 0 : 1;
        current[column] =
            Math.min(
                Math.min(previous[column], current[column - 1]) + 1,
                previous[column - 1] + replaced);
      }
      previous = current;
    }
    return previous[other.length()];
  }
}
