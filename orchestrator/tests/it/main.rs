//! The orchestrator on a real broker, with agents played by the test: what it decides, and what it does not believe.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that cannot go on fails")]

mod budgets;
mod calls;
mod checkpoints;
mod completions;
mod cut_off;
mod dead;
mod decisions;
mod distrust;
mod floods;
mod forks;
mod landings;
mod listed;
mod memory;
mod merge_queue;
mod metrics;
mod monitoring;
mod people;
mod pools;
mod quota;
mod retirement;
mod signals;
mod storage;
mod submissions;
mod support;
mod trouble;
