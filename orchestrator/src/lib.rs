//! The orchestrator: it alone moves work on (FLY-1).
//!
//! A thin shell around `holdpoint-engine`: handoffs and deadlines go in, journal entries come out. Its actors:
//!
//! ```text
//! root ── router ── flight (one per flight that moves)
//!      ├─ intake (one per role and partition of handoffs)
//!      ├─ pulls  (ends what clients left in the consumers of turns)
//!      ├─ rooms  (says when a stream fills up)
//!      ├─ gates  (reads where work is, for metrics)
//!      └─ peers  (which other orchestrators there are)
//! ```
//!
//! Nothing is kept only in memory: every actor may be ended at any point and folds its journals from the start.

mod api;
mod attest;
mod books;
mod catalog;
mod checkpoint;
mod connections;
mod dead;
mod ended;
mod error;
mod examine;
mod export;
mod flight;
mod handed;
mod hints;
mod history;
mod intake;
mod landing;
mod metrics;
mod peers;
mod pulls;
mod quota;
mod refusals;
mod retire;
mod roles;
mod rooms;
mod root;
mod router;
mod senders;
mod set_up;
mod shell;
mod snapshots;
mod submit;
mod task;

pub use error::OrchestratorError;
pub use root::{Orchestrator, run, start};
