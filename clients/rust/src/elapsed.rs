//! How much time has passed, by the longer of a monotonic clock and the wall clock: the monotonic clock of Linux stands still
//! while a machine sleeps.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// Clocks that part by more than this do not only drift.
pub(crate) const JUMP_MAX: i64 = 500_000_000;

/// A clock that never goes back, so nothing lasts longer because the wall clock was set. Times are in nanoseconds.
pub(crate) struct Elapsed {
    /// The total by which the wall clock overtook the monotonic one.
    jumped: AtomicI64,
    /// The lead of the wall clock over this one.
    ahead: AtomicI64,
}

static CLOCK: LazyLock<(Instant, Elapsed)> = LazyLock::new(|| {
    let wall = wall();
    (Instant::now(), Elapsed::new(wall, 0))
});

fn wall() -> i64 {
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since_1970.as_nanos()).unwrap_or(i64::MAX)
}

/// The time since the first call.
pub(crate) fn now() -> i64 {
    let (began, clock) = &*CLOCK;
    // The wall clock is read first: it must not be ahead because the program was interrupted in between.
    let wall = wall();
    clock.read(wall, i64::try_from(began.elapsed().as_nanos()).unwrap_or(i64::MAX))
}

/// By how much the wall clock has jumped, in all.
pub(crate) fn jumped() -> i64 {
    CLOCK.1.jumped()
}

impl Elapsed {
    pub(crate) fn new(wall: i64, monotonic: i64) -> Elapsed {
        Elapsed { jumped: AtomicI64::new(0), ahead: AtomicI64::new(wall.saturating_sub(monotonic)) }
    }

    pub(crate) fn read(&self, wall: i64, monotonic: i64) -> i64 {
        let (ahead, known) = (self.ahead.load(Ordering::Relaxed), self.jumped.load(Ordering::Relaxed));
        let jumped = wall.saturating_sub(ahead).saturating_sub(monotonic);
        if jumped > known {
            let before = self.jumped.fetch_max(jumped, Ordering::Relaxed);
            return monotonic.saturating_add(before.max(jumped));
        }
        if jumped < known.saturating_sub(JUMP_MAX) {
            // It was set back: from now on they go together again.
            let together = wall.saturating_sub(monotonic).saturating_sub(known);
            let _ = self.ahead.compare_exchange(ahead, together, Ordering::Relaxed, Ordering::Relaxed);
        }
        monotonic.saturating_add(known)
    }

    pub(crate) fn jumped(&self) -> i64 {
        self.jumped.load(Ordering::Relaxed)
    }
}
