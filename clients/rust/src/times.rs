//! Times and durations of messages. A value that does not fit becomes the nearest one that does.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

const NANOS: i128 = 1_000_000_000;

fn clamped(nanos: i128) -> i64 {
    i64::try_from(nanos).unwrap_or(if nanos < 0 { i64::MIN } else { i64::MAX })
}

/// Nanoseconds of a duration; below 0 where it is negative.
pub(crate) fn nanos(duration: &prost_types::Duration) -> i64 {
    clamped(i128::from(duration.seconds) * NANOS + i128::from(duration.nanos))
}

/// Nanoseconds since 1970.
pub(crate) fn day_nanos(time: &prost_types::Timestamp) -> i64 {
    clamped(i128::from(time.seconds) * NANOS + i128::from(time.nanos))
}

/// Milliseconds since 1970.
pub(crate) fn day_millis(time: &prost_types::Timestamp) -> i64 {
    clamped((i128::from(time.seconds) * NANOS + i128::from(time.nanos)).div_euclid(1_000_000))
}

/// `None`: one that the machine cannot write.
pub(crate) fn system_time(time: &prost_types::Timestamp) -> Option<SystemTime> {
    let seconds = Duration::from_secs(time.seconds.unsigned_abs());
    let whole = if time.seconds < 0 { UNIX_EPOCH.checked_sub(seconds) } else { UNIX_EPOCH.checked_add(seconds) };
    whole?.checked_add(Duration::from_nanos(u64::try_from(time.nanos).ok()?))
}

/// The time at a number of milliseconds after 1970, or before.
pub(crate) fn system_time_of(millis: i64) -> Option<SystemTime> {
    let since = Duration::from_millis(millis.unsigned_abs());
    if millis < 0 { UNIX_EPOCH.checked_sub(since) } else { UNIX_EPOCH.checked_add(since) }
}

/// Whether times of an answer are such: of the years 1 to 9999. One that is not there is.
pub(crate) fn are_times(times: [Option<&prost_types::Timestamp>; 2]) -> bool {
    times.into_iter().flatten().all(|time| {
        (-62_135_596_800..253_402_300_800).contains(&time.seconds) && (0..1_000_000_000).contains(&time.nanos)
    })
}
