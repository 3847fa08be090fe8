//! Flights in memory, for tests: of this crate, and of those that read what it writes.
#![allow(
    missing_docs,
    clippy::missing_panics_doc,
    clippy::must_use_candidate,
    clippy::unwrap_used,
    clippy::panic,
    clippy::expect_used,
    reason = "parts of tests"
)]

pub mod account;
pub mod desk;
pub mod fixture;
pub mod happen;
pub mod histories;
pub mod parts;
