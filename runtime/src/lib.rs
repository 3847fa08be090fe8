//! What Holdpoint's processes share: configuration, telemetry, supervision, shutdown, and the harness around agents.
//!
//! Nothing here decides anything about a flight: that is `holdpoint-core`.

pub mod agent;
pub mod ask;
pub mod backend;
pub mod build_turn;
pub mod clock;
pub mod complete_turn;
pub mod config;
pub mod fresh;
pub mod health;
pub mod metrics;
pub mod mirror;
pub mod path_rules;
pub mod process;
pub mod put_away;
pub mod supervise;
pub mod telemetry;
