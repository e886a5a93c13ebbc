package com.portcullis.client;

/** Texts whose upper case and lower case letters count as the same, as those of headers do. */
final class Ascii {
  private Ascii() {}

  /** Names of headers are ASCII. No other letter may become one of them in lower case. */
  static boolean isSameName(String name, String other) {
    if (name == null || name.length() != other.length()) {
      return false;
    }
    for (var index = 0; index < name.length(); index++) {
      if (lowerCase(name.charAt(index)) != lowerCase(other.charAt(index))) {
        return false;
      }
    }
    return true;
  }

  static String lowerCase(String name) {
    for (var index = 0; index < name.length(); index++) {
      if (lowerCase(name.charAt(index)) != name.charAt(index)) {
        var lower = new StringBuilder(name);
        for (; index < name.length(); index++) {
          lower.setCharAt(index, lowerCase(name.charAt(index)));
        }
        return lower.toString();
      }
    }
    return name;
  }

  static char lowerCase(char letter) {
    return letter >= 'A' && letter <= 'Z' ? (char) (letter + ('a' - 'A')) : letter;
  }
}
