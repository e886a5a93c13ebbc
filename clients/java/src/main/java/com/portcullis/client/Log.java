package com.portcullis.client;

import java.util.function.Consumer;

/** Where a client says what its program has no listener for. */
final class Log {
  static final System.Logger LOG = System.getLogger("com.portcullis.client");

  private Log() {}

  static void warn(String line) {
    LOG.log(System.Logger.Level.WARNING, line);
  }

  /** Calls a function of the program that learns of an error. */
  static <E extends Exception> void report(Consumer<? super E> report, E error) {
    try {
      report.accept(error);
    } catch (RuntimeException | Error failed) {
      // It cannot turn one failure into another, and the program must still see the error.
      LOG.log(System.Logger.Level.WARNING, "a report failed", failed);
    }
  }
}
