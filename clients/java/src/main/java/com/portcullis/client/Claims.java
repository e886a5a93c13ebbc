package com.portcullis.client;

import static java.util.Objects.requireNonNull;

/**
 * About a token that the program has verified itself. Only the matrix decides about them.
 *
 * @param kind the id of a kind of token
 * @param scope the scope of the token
 */
public record Claims(String kind, Scope scope) {
  /**
   * Checks that nothing is null.
   *
   * @param kind the id of a kind of token
   * @param scope the scope of the token
   */
  public Claims {
    requireNonNull(kind, "kind");
    requireNonNull(scope, "scope");
  }
}
