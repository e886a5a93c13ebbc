package com.portcullis.client;

import io.grpc.Status;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.function.Supplier;

/**
 * The reports of a client's guards on their sidecar: that it does not answer, and that its matrix
 * does not have their API. They say it to the listener of the program; where that is null, they log
 * it.
 */
final class Reports {
  /** Most APIs that are reported. They are those of guards, and not those of requests. */
  private static final int TOLD_MAX = 1_000;

  private final Supplier<CompletableFuture<List<String>>> apisOfMatrix;
  private final BooleanSupplier isClosed;
  private final Outage outage = new Outage();
  private final Set<String> told = new HashSet<>();

  /** Asked once, for all guards that start. Null: none has. */
  private CompletableFuture<List<String>> atStart;

  /**
   * @param apisOfMatrix asks the sidecar what the matrix has
   * @param isClosed whether the client is closed, so that an absent sidecar is not reported
   */
  Reports(Supplier<CompletableFuture<List<String>>> apisOfMatrix, BooleanSupplier isClosed) {
    this.apisOfMatrix = apisOfMatrix;
    this.isClosed = isClosed;
  }

  /**
   * A guard starts: looks whether a sidecar answers, and whether its matrix has the APIs. It does
   * not wait.
   */
  void begin(Set<String> apis, Consumer<? super RuntimeException> listener) {
    CompletableFuture<List<String>> matrix;
    boolean isFirst;
    synchronized (told) {
      isFirst = atStart == null;
      if (isFirst) {
        atStart = apisOfMatrix.get();
      }
      matrix = atStart;
    }
    matrix.whenComplete(
        (known, error) -> {
          if (known != null) {
            apis.stream()
                .filter(api -> !known.contains(api) && isNew(api))
                .sorted()
                .forEach(api -> tell(new UnknownApiException(api, known), listener));
          } else if (isFirst
              && error instanceof CompletionException wrapped
              && wrapped.getCause() instanceof PortcullisException failed) {
            absent(failed, listener);
          }
        });
  }

  private void absent(PortcullisException failed, Consumer<? super RuntimeException> listener) {
    // Another error is an answer.
    var isNoAnswer =
        failed.code() == Status.Code.UNAVAILABLE || failed.code() == Status.Code.DEADLINE_EXCEEDED;
    if (!isNoAnswer || isClosed.getAsBoolean()) {
      return;
    }
    if (listener == null) {
      log(outage.starts(failed.explanation(), Elapsed.CLOCK.now()));
    } else {
      Log.report(listener, failed);
    }
  }

  /** The sidecar has said that the matrix does not have the API of a guard. It does not wait. */
  void unknown(String api, Consumer<? super RuntimeException> listener) {
    if (isNew(api)) {
      // Without the matrix, only the name that was meant is missing.
      apisOfMatrix
          .get()
          .exceptionally(error -> List.of())
          .thenAccept(known -> tell(new UnknownApiException(api, known), listener));
    }
  }

  /** Whether an API is reported now. */
  private boolean isNew(String api) {
    synchronized (told) {
      return told.size() < TOLD_MAX && told.add(api);
    }
  }

  private static void tell(
      UnknownApiException unknown, Consumer<? super RuntimeException> listener) {
    if (listener == null) {
      log(unknown.getMessage());
    } else {
      Log.report(listener, unknown);
    }
  }

  /** A request was answered, by the sidecar or from memory. */
  void answered() {
    if (outage.isOpen()) {
      log(outage.answers(Elapsed.CLOCK.now()));
    }
  }

  /** A request could not be checked. */
  void failed(RuntimeException error, Denial denial, Consumer<? super RuntimeException> listener) {
    if (listener != null) {
      Log.report(listener, error);
    } else if (denial.status() == 503) {
      log(outage.fails(error.getMessage(), Elapsed.CLOCK.now()));
    } else {
      log("no answer, so a request was refused: " + error.getMessage());
    }
  }

  private static void log(String line) {
    if (line != null) {
      Log.warn(line);
    }
  }

  /** For tests. */
  Outage outage() {
    return outage;
  }
}
