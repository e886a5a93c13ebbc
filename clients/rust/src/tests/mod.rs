//! Tests of what a program does not see. The others are in `tests/`.

mod conformance;
mod table;
mod units;
