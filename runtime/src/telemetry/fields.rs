//! The vocabulary of names, so that one search finds everything about a flight in every log and every trace.
//!
//! Used as `tracing::info!({ fields::FLIGHT } = %flight, "submitted")`, and as the attributes of spans. Ours have one
//! prefix; the others are those of the OpenTelemetry conventions for messaging and for agents, written out here because
//! the constants of their crate are deprecated.

/// A flight's id.
pub const FLIGHT: &str = "holdpoint.flight";
/// A waypoint's id.
pub const WAYPOINT: &str = "holdpoint.waypoint";
/// A turn's id.
pub const TURN: &str = "holdpoint.turn";
/// Which delivery of a turn.
pub const DELIVERY: &str = "holdpoint.delivery";
/// A gate's id.
pub const GATE: &str = "holdpoint.gate";
/// What a turn is for: `build`, `baseline`, `handoff` (verify what was handed off) or `merge`.
pub const PURPOSE: &str = "holdpoint.purpose";
/// A criterion's or guard's id.
pub const CRITERION: &str = "holdpoint.criterion";
/// What a check said: `pass`, `fail` or `inconclusive`.
pub const VERDICT: &str = "holdpoint.verdict";
/// Which kind of tree a check ran on: `handoff`, `base` or `tests_as_on_base`.
pub const TESTED: &str = "holdpoint.tested";
/// The report that a run of a check is known from, which was not made again.
pub const KNOWN_FROM: &str = "holdpoint.known_from";
/// Which attempt at a waypoint, from 1.
pub const ATTEMPT: &str = "holdpoint.attempt";
/// How many attempts a waypoint took.
pub const ATTEMPTS: &str = "holdpoint.attempts";
/// How a waypoint ended: `complete`, `blocked`, `failed`, `cancelled`.
pub const STATUS: &str = "holdpoint.status";
/// A role.
pub const ROLE: &str = "holdpoint.role";
/// An agent's name.
pub const AGENT: &str = "holdpoint.agent";
/// The pool an agent takes turns of.
pub const POOL: &str = "holdpoint.pool";
/// The kind of a handoff.
pub const KIND: &str = "holdpoint.kind";
/// What became of a delivered handoff: `taken`, `repeated`, `refused` or `again` (it comes again).
pub const SETTLED: &str = "holdpoint.settled";
/// How far an agent says that its turn is, in one line.
pub const STATUS_SUMMARY: &str = "holdpoint.status.summary";
/// The part of its turn that an agent says is done, in percent.
pub const STATUS_PERCENT: &str = "holdpoint.status.percent";
/// A stream's name.
pub const STREAM: &str = "holdpoint.stream";
/// A position in a stream.
pub const STREAM_SEQ: &str = "holdpoint.stream_seq";
/// A partition of handoffs.
pub const PARTITION: &str = "holdpoint.partition";
/// A decision's disposition.
pub const DISPOSITION: &str = "holdpoint.disposition";
/// A reason code.
pub const REASON: &str = "holdpoint.reason_code";
/// A decision's artifact id.
pub const DECISION: &str = "holdpoint.decision";
/// The commit that a landing or a merge made.
pub const COMMIT: &str = "holdpoint.commit";
/// Why one span links to another: `sent`, `earlier_delivery`, `opened_by`, `earlier_turn`, `landed`.
pub const LINK: &str = "holdpoint.link";
/// A child of a supervisor.
pub const CHILD: &str = "holdpoint.child";
/// The code of an error that has one.
pub const ERROR_CODE: &str = "holdpoint.error_code";
/// An error with everything that caused it.
pub const ERROR: &str = "holdpoint.error";

/// The trace that a log line belongs to: 32 hex digits.
pub const TRACE_ID: &str = "trace_id";
/// The span that a log line was written in: 16 hex digits.
pub const SPAN_ID: &str = "span_id";

/// `nats`.
pub const MESSAGING_SYSTEM: &str = "messaging.system";
/// The stream that a message is stored in.
pub const MESSAGING_DESTINATION: &str = "messaging.destination.name";
/// `send`, `process`, `ack` or `nak`.
pub const MESSAGING_OPERATION: &str = "messaging.operation.name";
/// `send`, `process` or `settle`.
pub const MESSAGING_OPERATION_TYPE: &str = "messaging.operation.type";
/// The length of a message's payload, in bytes.
pub const MESSAGING_BODY_SIZE: &str = "messaging.message.body.size";
/// What an agent was asked for: always `invoke_agent`.
pub const GEN_AI_OPERATION: &str = "gen_ai.operation.name";
/// An agent's name, for people.
pub const GEN_AI_AGENT_NAME: &str = "gen_ai.agent.name";
/// An agent's id: its name in the fleet.
pub const GEN_AI_AGENT_ID: &str = "gen_ai.agent.id";
/// The conversation an agent's run belongs to: the flight and the waypoint.
pub const GEN_AI_CONVERSATION: &str = "gen_ai.conversation.id";
/// The exit code of a program.
pub const EXIT_CODE: &str = "process.exit.code";
