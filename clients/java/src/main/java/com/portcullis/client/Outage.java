package com.portcullis.client;

import java.util.concurrent.TimeUnit;

/**
 * The reports of a client's guards on requests that could not be checked
 * (clients/conformance/README.md, "What a guard prints"). Times are those of {@link Elapsed}. Each
 * method returns the line to log; null: none.
 */
final class Outage {
  /** A line at most this often while requests fail. */
  private static final long LINE = TimeUnit.MINUTES.toNanos(1);

  /** Some requests may still be answered, from memory too, and others fail late. */
  private static final long QUIET = TimeUnit.SECONDS.toNanos(10);

  private volatile boolean isOpen;

  /** Of the last line. */
  private long saidAt;

  /** When the sidecar may be said to answer again. */
  private long quietAt;

  private int requests;

  /** Those that no line has counted. */
  private int more;

  boolean isOpen() {
    return isOpen;
  }

  /** A guard has asked before its first request, and there was no answer. */
  synchronized String starts(String error, long now) {
    if (isOpen) {
      return null;
    }
    begin(now);
    quietAt = now;
    return error + "; requests are denied until a sidecar answers";
  }

  /** A request could not be checked. */
  synchronized String fails(String error, long now) {
    var isFirst = !isOpen;
    if (isFirst) {
      begin(now);
    }
    quietAt = now + QUIET;
    requests++;
    if (isFirst) {
      return "no answer, so a request was refused: " + error;
    }
    more++;
    if (now - saidAt < LINE) {
      return null;
    }
    var line = requests(more, "more ") + " could not be checked: " + error;
    saidAt = now;
    more = 0;
    return line;
  }

  /** A request was answered, by the sidecar or from memory. */
  synchronized String answers(long now) {
    if (!isOpen || now - quietAt < 0) {
      return null;
    }
    isOpen = false;
    return "the sidecar answers again; " + requests(requests, "") + " could not be checked";
  }

  private void begin(long now) {
    isOpen = true;
    saidAt = now;
    requests = 0;
    more = 0;
  }

  private static String requests(int count, String more) {
    return count + " " + more + (count == 1 ? "request" : "requests");
  }

  /** For tests: as if the last failure was long ago. */
  synchronized void quiet() {
    quietAt = saidAt;
  }
}
