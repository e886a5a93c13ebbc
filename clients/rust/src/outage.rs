//! The reports of a client's guards on requests that could not be checked (`clients/conformance/README.md`,
//! "What a guard prints").

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A line at most this often while requests fail, in nanoseconds.
const LINE: i64 = 60_000_000_000;
/// Some requests may still be answered, from memory too, and others fail late.
const QUIET: i64 = 10_000_000_000;

/// Times are in nanoseconds. Each method returns the line to print, if any.
#[derive(Default)]
pub(crate) struct Outage {
    is_open: AtomicBool,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Of the last line.
    said_at: i64,
    /// When the sidecar may be said to answer again.
    quiet_at: i64,
    requests: usize,
    /// Those that no line has counted.
    more: usize,
}

impl Outage {
    pub(crate) fn is_open(&self) -> bool {
        self.is_open.load(Ordering::Relaxed)
    }

    /// A guard has asked before its first request, and there was no answer.
    pub(crate) fn starts(&self, error: &str, now: i64) -> Option<String> {
        let _state = self.begin(now, now)?;
        Some(format!("{error}; requests are denied until a sidecar answers"))
    }

    /// A request could not be checked.
    pub(crate) fn fails(&self, error: &str, now: i64) -> Option<String> {
        if let Some(mut state) = self.begin(now, now.saturating_add(QUIET)) {
            state.requests = 1;
            return Some(format!("no answer, so a request was refused: {error}"));
        }
        let mut state = self.state();
        state.quiet_at = now.saturating_add(QUIET);
        state.requests += 1;
        state.more += 1;
        if now.saturating_sub(state.said_at) < LINE {
            return None;
        }
        state.said_at = now;
        let more = std::mem::take(&mut state.more);
        Some(format!("{} could not be checked: {error}", counted(more, "more ")))
    }

    /// A request was answered, by the sidecar or from memory.
    pub(crate) fn answers(&self, now: i64) -> Option<String> {
        let state = self.state();
        if now < state.quiet_at || !self.is_open.swap(false, Ordering::Relaxed) {
            return None;
        }
        Some(format!("the sidecar answers again; {} could not be checked", counted(state.requests, "")))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins an outage, if there is none.
    fn begin(&self, now: i64, quiet_at: i64) -> Option<MutexGuard<'_, State>> {
        let mut state = self.state();
        if self.is_open.swap(true, Ordering::Relaxed) {
            return None;
        }
        *state = State { said_at: now, quiet_at, ..State::default() };
        Some(state)
    }
}

fn counted(count: usize, more: &str) -> String {
    format!("{count} {more}request{}", if count == 1 { "" } else { "s" })
}
