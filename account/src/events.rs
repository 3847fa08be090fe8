//! What happened at the gates of a flight, by what is written (GATE-25), and what it comes to (GATE-27, GATE-34).
//!
//! Events are not recorded: they follow from the journals, and conflicts from the handoffs that no entry answers. The
//! same journals give the same events.
//!
//! - `event`: the words; `entry`: the events of one entry; `reader`: those of a whole flight, with names and summaries from
//!   its handoffs.
//! - `visits`: the visits of gates, and where work is now; `gates`: how they add up, gate by gate.
//! - `task`: one waypoint as the workflow document keeps a task.
//! - `agents` and `delivery`: the reports by agent and on delivery; `trend`: whether gates send back more than they did.

mod agents;
mod delivery;
mod entry;
mod event;
mod gates;
mod reader;
mod refused;
mod spread;
mod task;
#[cfg(test)]
mod tests;
mod trend;
mod visits;

pub use agents::{AgentReport, Agents};
pub use delivery::{DeliveryReport, DeliveryTally};
pub use entry::{Scene, of_entry};
pub use event::{AdviceOutcome, Event, EventKind, KINDS, Level, SkipReason};
pub use gates::{GateReport, Gates, Passes, WaypointAtGate};
pub use reader::{EntryEffect, FlightReader, HandoffWords};
pub use spread::Spread;
pub use task::{Task, TaskGatherer, TaskStatus, Visit};
pub use trend::{GateSpan, GateTrend, Trend, TrendDirection, TrendReport};
pub use visits::{PlaceKind, StoppedAt, closed, places};
