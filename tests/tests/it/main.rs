//! Flights through real processes: `holdpoint` as a user starts it, with its own broker, agents and sandbox.
//!
//! Few and whole. What can be shown without processes is shown in the crates.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that cannot go on fails")]

mod baseline;
mod crashes;
mod examples;
mod flights;
mod landing;
mod parallel;
mod support;
mod surroundings;
