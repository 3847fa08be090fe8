//! The wire's promises: goldens of every type, forms that mean the same, and published schemas.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail like tests")]

mod asyncapi;
mod examples;
mod files;
mod frozen;
mod golden;
mod hostile;
mod memory;
mod mutated;
mod samples;
mod schemas;
mod versions;
