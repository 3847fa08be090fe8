//! What whole flights are tried with: a world of its own for each of them. Flights that everybody runs are in
//! `tests/it/`, the long ones in the binary `holdpoint-soak`.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

pub mod account;
pub mod cell;
pub mod checker;
pub mod collector;
pub mod disk;
pub mod external;
pub mod fleet;
pub mod soak;
pub mod world;
