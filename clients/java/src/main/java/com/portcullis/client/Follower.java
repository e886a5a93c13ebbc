package com.portcullis.client;

import com.portcullis.v1.AuthorizationServiceGrpc;
import com.portcullis.v1.WatchChangesRequest;
import com.portcullis.v1.WatchChangesResponse;
import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ClientCall;
import io.grpc.ConnectivityState;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.Status;
import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/** Keeps the memory of a client up to date. */
final class Follower {
  /** A sidecar says something at least every second. A stream that is silent for longer is left. */
  private static final long QUIET_MAX_MS = 2_000;

  /**
   * How long one stream is read. Two clocks drift by some milliseconds in that time, and a new
   * stream compares them anew.
   */
  private static final long STREAM_MAX_NS = TimeUnit.MINUTES.toNanos(10);

  /** The rules of a large matrix exceed the 4 MiB that gRPC accepts by default. */
  static final int RULES_BYTES_MAX = 256 << 20;

  private final ManagedChannel connection;
  private final Channel channel;
  private final String address;
  private final Memory memory;
  private final Consumer<? super Exception> report;

  /** Each reason is reported once: an interruption is ordinary, a refusal is not. */
  private final Set<String> reported = new HashSet<>();

  private final Thread thread = new Thread(this::run, "portcullis-follower");
  private volatile boolean isClosed;

  /** How long a follower waits before it begins the next stream. Times are in milliseconds. */
  static final class Pauses {
    /** Pause after a stream that failed: longer after each further one. */
    private static final long MIN = 100;

    private static final long MAX = 2_000;

    /** Pause where the sidecar does not let the client follow. */
    private static final long REFUSED = 60_000;

    private long next = MIN;

    /** A response of a stream counted. */
    void heard() {
      next = MIN;
    }

    /** The pause after a stream that ended with a code. */
    long after(Status.Code code) {
      if (isRefusal(code)) {
        return REFUSED;
      }
      var pause = next;
      next = Math.min(2 * pause, MAX);
      return pause;
    }
  }

  /** The end of a stream. */
  private record End(Status status, Metadata trailers) {}

  /**
   * @param channel presents who the program is
   */
  Follower(
      ManagedChannel connection,
      Channel channel,
      String address,
      Memory memory,
      Consumer<? super Exception> report) {
    this.connection = connection;
    this.channel = channel;
    this.address = address;
    this.memory = memory;
    this.report = report;
    thread.setDaemon(true);
  }

  void start() {
    // The connection is made while the thread begins.
    connection.getState(true);
    thread.start();
  }

  /** The clock of the client. After its end nothing in its memory counts. */
  long now() {
    return isClosed ? Long.MAX_VALUE : Elapsed.CLOCK.now();
  }

  void stop() {
    isClosed = true;
    thread.interrupt();
  }

  /** Follows until the client is closed. */
  private void run() {
    var pauses = new Pauses();
    try {
      while (true) {
        // Null: the stream was read for long enough.
        Status.Code ended = null;
        try {
          read(pauses);
        } catch (Memory.Impossible | Rules.Incomplete error) {
          ended = Status.Code.UNKNOWN;
          reportOnce(error.getMessage(), error);
        } catch (RuntimeException error) {
          var failed = PortcullisException.of(error, address);
          ended = failed.code();
          if (isRefusal(ended)) {
            reportOnce(ended.name(), failed);
          } else if (ended == Status.Code.UNKNOWN) {
            // Its text may differ each time.
            reportOnce(ended.name(), error);
          }
        }
        if (ended != null) {
          Thread.sleep(pauses.after(ended));
        }
      }
    } catch (InterruptedException error) {
      Thread.currentThread().interrupt();
    }
  }

  private void reportOnce(String what, Exception error) {
    if (reported.add(what)) {
      Log.report(report, error);
    }
  }

  /** An older sidecar has no such stream, and not every caller may follow. */
  private static boolean isRefusal(Status.Code code) {
    return switch (code) {
      case UNIMPLEMENTED, UNAUTHENTICATED, PERMISSION_DENIED -> true;
      default -> false;
    };
  }

  /**
   * Reads one stream, for long enough.
   *
   * @param pauses learn that it has said something
   */
  private void read(Pauses pauses)
      throws InterruptedException, Memory.Impossible, Rules.Incomplete {
    connect();
    // There is at most one response in it, because each is asked for; and then the end.
    var arrived = new ArrayBlockingQueue<Object>(2);
    var method = AuthorizationServiceGrpc.getWatchChangesMethod();
    var call =
        channel.newCall(method, CallOptions.DEFAULT.withMaxInboundMessageSize(RULES_BYTES_MAX));
    try {
      var asked = System.nanoTime();
      var request = memory.begin(now(), Elapsed.CLOCK.jumped());
      start(call, request, arrived);
      while (System.nanoTime() - asked < STREAM_MAX_NS) {
        var each = arrived.poll(QUIET_MAX_MS, TimeUnit.MILLISECONDS);
        if (each == null) {
          throw Status.DEADLINE_EXCEEDED.asRuntimeException();
        }
        if (each instanceof End end) {
          var status =
              end.status.isOk()
                  ? Status.UNAVAILABLE.withDescription("the sidecar ended the stream")
                  : end.status;
          throw status.asRuntimeException(end.trailers);
        }
        var goesOn = memory.hear((WatchChangesResponse) each, now(), Elapsed.CLOCK.jumped());
        pauses.heard();
        if (!goesOn) {
          return;
        }
        call.request(1);
      }
    } finally {
      call.cancel("the stream is left", null);
    }
  }

  private static void start(
      ClientCall<WatchChangesRequest, WatchChangesResponse> call,
      WatchChangesRequest request,
      BlockingQueue<Object> arrived) {
    call.start(
        new ClientCall.Listener<>() {
          @Override
          public void onMessage(WatchChangesResponse message) {
            arrived.add(message);
          }

          @Override
          public void onClose(Status status, Metadata trailers) {
            arrived.add(new End(status, trailers));
          }
        },
        new Metadata());
    call.sendMessage(request);
    call.halfClose();
    call.request(1);
  }

  /**
   * Waits for the connection. An answer counts from the moment of the question, so the time to
   * connect would be lost.
   */
  private void connect() throws InterruptedException {
    for (var state = connection.getState(true);
        state != ConnectivityState.READY;
        state = connection.getState(true)) {
      if (state == ConnectivityState.SHUTDOWN) {
        throw new InterruptedException();
      }
      var changed = new CountDownLatch(1);
      connection.notifyWhenStateChanged(state, changed::countDown);
      changed.await();
    }
  }
}
