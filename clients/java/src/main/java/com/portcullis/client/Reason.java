package com.portcullis.client;

/**
 * Why a decision is as it is, in descending precedence. The contract (decision.proto) explains each
 * of them. {@link #ALLOWED} is the only one that lets a request pass.
 */
public enum Reason {
  /** A reason that this client does not know. It denies. */
  UNSPECIFIED,
  /** The API is not in the matrix. */
  UNKNOWN_API,
  /** There is no credential header, or an empty one. */
  CREDENTIAL_MISSING,
  /** There is more than one credential. */
  CREDENTIAL_AMBIGUOUS,
  /** The credential has other characters than visible ASCII, or is too long. */
  CREDENTIAL_MALFORMED,
  /** A token of one family is in the header of another one. */
  WRONG_HEADER,
  /** The credential is unknown or not genuine. */
  CREDENTIAL_INVALID,
  /** The token has expired. */
  CREDENTIAL_EXPIRED,
  /** The token was revoked, or ended with its holder. */
  CREDENTIAL_REVOKED,
  /** The account restricts client addresses, and this address is not allowed. */
  ADDRESS_NOT_ALLOWED,
  /** The kind of the token is not in the matrix. */
  UNKNOWN_TOKEN_KIND,
  /** The scope does not fit the kind of the token. */
  INVALID_SCOPE,
  /** The API does not accept tokens of this kind. */
  TOKEN_KIND_NOT_ACCEPTED,
  /** Strict mode is on, and a conflict of the matrix is about this API and kind of token. */
  CONTESTED,
  /** The target belongs to another account. */
  ACCOUNT_MISMATCH,
  /** The token is for a project, and the target is not in it. */
  PROJECT_MISMATCH,
  /** The credential opens the API. */
  ALLOWED;

  private static final Reason[] ALL = values();

  /** The reason with a number of the contract. */
  static Reason of(int number) {
    return number >= 0 && number < ALL.length ? ALL[number] : UNSPECIFIED;
  }

  /**
   * Whether another credential may help. With every other reason a status is 403, also with one
   * that is not known here.
   */
  boolean isUnauthenticated() {
    return switch (this) {
      case CREDENTIAL_MISSING,
          CREDENTIAL_AMBIGUOUS,
          CREDENTIAL_MALFORMED,
          WRONG_HEADER,
          CREDENTIAL_INVALID,
          CREDENTIAL_EXPIRED,
          CREDENTIAL_REVOKED ->
          true;
      default -> false;
    };
  }
}
