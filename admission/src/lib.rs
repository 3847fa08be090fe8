//! Who may use how much of a fleet: which handoffs are worked on, by which orchestrator, and which key asks too much.

pub mod connections;
pub mod intake;
pub mod pulls;
pub mod quota;
pub mod rates;
pub mod rooms;
pub mod shares;
pub mod store;
pub mod traffic;
pub mod untaken;
