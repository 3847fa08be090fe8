//! The real executable, as a user types it: what it answers, where, and with which exit code. Whole flights are flown by
//! the workspace's own tests.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

mod answers;
mod bench;
mod broker;
mod check;
mod first_hours;
mod health;
mod keys;
mod lab;
mod mcp;
mod pipelines;
mod plans;
mod recorded;
mod repositories;
mod verify;
mod workflow;
