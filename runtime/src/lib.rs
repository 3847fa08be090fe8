//! What Holdpoint's processes share: configuration, telemetry, supervision and shutdown.
//!
//! Nothing here decides anything about a flight: that is `holdpoint-engine`. Nothing here runs an
//! agent's program: that is `holdpoint-harness`.

pub mod blocking;
pub mod broker;
pub mod clock;
pub mod config;
pub mod fresh;
pub mod handed_commit;
pub mod health;
pub mod metrics;
pub mod mirror;
pub mod own;
pub mod path_rules;
pub mod process;
pub mod put_away;
pub mod set_aside;
pub mod shelf;
pub mod supervise;
pub mod telemetry;
pub mod webhook;
