//! Turns with real programs, real git, the real sandbox and, where it matters, a real broker.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod acp;
mod asking;
mod binary;
mod broker;
mod completing;
mod context;
mod conversations;
mod dialects;
mod exchange;
mod help;
mod planning;
mod program;
mod result;
mod support;
mod walls;
