//! The fleet in containers, on the images of `cargo xtask images --debug`: networks that are cut, engines that kill.
//!
//! One at a time: each is a fleet of up to a dozen containers. Without a Docker engine they say so and pass; with `CI=true`
//! they fail.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that cannot go on fails")]

mod cluster;
mod compose;
mod engine;
mod fleet;
mod flight;
mod outages;
mod project;
mod room;
mod standstill;
