//! The vocabulary of field names, so that one search finds everything about a flight in every process.
//!
//! Used as `tracing::info!({ fields::FLIGHT } = %flight, "submitted")`.

/// A flight's id.
pub const FLIGHT: &str = "hp.flight.id";
/// A waypoint's id.
pub const WAYPOINT: &str = "hp.waypoint.id";
/// A turn's id.
pub const TURN: &str = "hp.turn.id";
/// Which delivery of a turn.
pub const DELIVERY: &str = "hp.turn.delivery";
/// A gate's id.
pub const GATE: &str = "hp.gate.id";
/// A criterion's id.
pub const CRITERION: &str = "hp.criterion.id";
/// Which attempt at a waypoint, from 1.
pub const ATTEMPT: &str = "hp.attempt";
/// A role.
pub const ROLE: &str = "hp.role";
/// An agent's name.
pub const AGENT: &str = "hp.agent";
/// The pool an agent takes turns of.
pub const POOL: &str = "hp.pool";
/// The kind of a handoff.
pub const KIND: &str = "hp.handoff.kind";
/// A stream's name.
pub const STREAM: &str = "hp.stream.name";
/// A position in a stream.
pub const STREAM_SEQ: &str = "hp.stream.seq";
/// A partition of handoffs.
pub const PARTITION: &str = "hp.partition";
/// A decision's disposition.
pub const DISPOSITION: &str = "hp.disposition";
/// A reason code.
pub const REASON: &str = "hp.reason_code";
/// A child of a supervisor.
pub const CHILD: &str = "hp.child";
/// The code of an error that has one.
pub const ERROR_CODE: &str = "hp.error.code";
/// An error with everything that caused it.
pub const ERROR: &str = "hp.error";
