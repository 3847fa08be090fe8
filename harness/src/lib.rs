//! The harness around agents' programs: the turn loop, the backend that runs a program, turns that make work and turns that
//! are completed, and the line over which a program asks.
//!
//! A crate of its own, so that a process which must never run an agent's program, the orchestrator above all, cannot: it does
//! not depend on this one. Nothing here decides anything about a flight: that is `holdpoint-engine`.

pub mod acp;
pub mod agent;
pub mod ask;
pub mod backend;
pub mod build_turn;
pub mod complete_turn;
pub mod context;
pub mod dialect;
pub mod environment;
pub mod exchange;
pub mod ledger;
pub mod live;
pub mod meter;
pub mod over_http;
mod personality;
pub mod tail;
