package com.portcullis.client;

import java.util.List;
import java.util.Optional;

/**
 * Says that a guard names an API that the matrix does not have, so its requests are denied. The
 * matrix may get the API later: requests then pass.
 */
public final class UnknownApiException extends RuntimeException {
  private static final long serialVersionUID = 1;

  /** Of the guard. */
  private final String api;

  /** Null: no name is near. */
  private final String meant;

  UnknownApiException(String api, List<String> known) {
    this(api, NamesMeant.of(api, known).stream().findFirst().orElse(null));
  }

  private UnknownApiException(String api, String meant) {
    super(
        "the matrix has no API `"
            + api
            + "`, so the requests of its guard are denied"
            + (meant == null ? "" : "; did you mean `" + meant + "`?"));
    this.api = api;
    this.meant = meant;
  }

  /** {@return the API that the guard names} */
  public String api() {
    return api;
  }

  /** {@return the API of the matrix with the nearest name} Empty: no name is near. */
  public Optional<String> meant() {
    return Optional.ofNullable(meant);
  }
}
