//! What whole flights are tried with: a world of its own for each of them. Flights that everybody runs are in
//! `tests/it/`, the long ones in the binary `holdpoint-soak`.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

pub mod account;
pub mod browser;
pub mod cell;
pub mod checker;
pub mod collector;
pub mod disk;
pub mod external;
pub mod fleet;
pub mod ports;
pub mod soak;
pub mod visitor;
pub mod world;

/// Says something past the capture of the test runner, which shows a test's words only when it fails.
pub fn say(words: &str) {
    // Nobody is left to tell when standard error is gone.
    let _ = std::io::Write::write_all(&mut std::io::stderr(), format!("{words}\n").as_bytes());
}
