//! The client beside a sidecar of this checkout, and beside sidecars that say what a test wants.

#![allow(clippy::unwrap_used, clippy::panic, clippy::expect_used, clippy::indexing_slicing)]

mod allocations;
mod calls;
mod client;
mod fake;
mod following;
mod guards;
mod local;
mod page;
mod random;
mod redirects;
mod reports;
mod sending;
mod support;
mod wrapping;
