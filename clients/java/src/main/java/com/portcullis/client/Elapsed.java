package com.portcullis.client;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

/**
 * How much time has passed, by the longer of a monotonic clock and the wall clock: the monotonic
 * clock of Linux stands still while a machine sleeps. It never goes back, so nothing lasts longer
 * because the wall clock was set. Times are in nanoseconds.
 */
final class Elapsed {
  /** Clocks that part by more than this do not only drift. */
  static final long JUMP_MAX = TimeUnit.MILLISECONDS.toNanos(500);

  /** Of what this program remembers. */
  static final Elapsed CLOCK = new Elapsed(wall(), System.nanoTime());

  /** The total by which the wall clock overtook the monotonic one. */
  private final AtomicLong jumped = new AtomicLong();

  /** The lead of the wall clock over this one. */
  private final AtomicLong ahead;

  Elapsed(long wall, long monotonic) {
    ahead = new AtomicLong(wall - monotonic);
  }

  private static long wall() {
    return TimeUnit.MILLISECONDS.toNanos(System.currentTimeMillis());
  }

  long now() {
    // The wall clock is read first: it must not be ahead because the program was interrupted in
    // between.
    var wall = wall();
    return read(wall, System.nanoTime());
  }

  long read(long wall, long monotonic) {
    var before = ahead.get();
    var known = jumped.get();
    var parted = wall - before - monotonic - known;
    if (parted > 0) {
      return monotonic + jumped.accumulateAndGet(known + parted, Math::max);
    }
    if (parted < -JUMP_MAX) {
      // It was set back: from now on they go together again.
      ahead.compareAndSet(before, before + parted);
    }
    return monotonic + known;
  }

  /** By how much the wall clock has jumped, in all. */
  long jumped() {
    return jumped.get();
  }
}
