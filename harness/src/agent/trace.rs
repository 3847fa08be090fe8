//! The spans of one delivery of a turn.

use holdpoint_protocol::{Timestamp, streams, turn::Turn};
use tracing::{Span, info_span};

use super::args::AgentArgs;
use holdpoint_runtime::telemetry::{self, PastSpan, TRACE, TraceContext, WaypointTrace, fields};

/// One span for log lines, and inside it one to export: below the turn, with links to its sending and to the delivery
/// before this one, whose agent may be dead.
pub(super) fn of_delivery<W>(context: &TraceContext, agent: &AgentArgs<W>, turn: &Turn, number: u32) -> (Span, Span) {
    let trace = WaypointTrace::around(context);
    let own = trace.delivery(&turn.turn_id, number);
    let (trace_id, span_id) = telemetry::log_ids(&own);
    let (role, name) = (&agent.role, agent.bus.name());
    let span = info_span!(
        "turn", { fields::FLIGHT } = %turn.flight, { fields::WAYPOINT } = %turn.waypoint,
        { fields::TURN } = %turn.turn_id, { fields::DELIVERY } = number, { fields::ATTEMPT } = turn.attempt,
        { fields::ROLE } = %role, { fields::AGENT } = %name, { fields::TRACE_ID } = trace_id,
        { fields::SPAN_ID } = span_id,
    );
    let exported = info_span!(
        target: TRACE, parent: &span, "process turn", otel.kind = "consumer",
        { fields::MESSAGING_SYSTEM } = "nats", { fields::MESSAGING_DESTINATION } = streams::JOURNAL,
        { fields::MESSAGING_OPERATION } = "process", { fields::MESSAGING_OPERATION_TYPE } = "process",
        { fields::FLIGHT } = %turn.flight, { fields::WAYPOINT } = %turn.waypoint, { fields::TURN } = %turn.turn_id,
        { fields::GATE } = %turn.gate, { fields::DELIVERY } = i64::from(number),
        { fields::ATTEMPT } = i64::from(turn.attempt),
        { fields::ROLE } = %role, { fields::AGENT } = %name, { fields::SETTLED } = tracing::field::Empty,
    );
    telemetry::link(&exported, &trace.sending(&turn.turn_id), "sent");
    if number > 1 {
        telemetry::link(&exported, &trace.delivery(&turn.turn_id, number - 1), "earlier_delivery");
    }
    telemetry::begin(&exported, context, &own);
    (span, exported)
}

/// How long a turn waited for an agent: from its entry, by the broker's clock, to its first delivery, by this machine's.
pub(super) fn of_queue(context: &TraceContext, turn: &Turn, opened: Timestamp) {
    let waited = PastSpan::new("queue turn", WaypointTrace::around(context).another(), telemetry::time_of(opened));
    let waited = waited.below(context).with(fields::FLIGHT, turn.flight.to_string());
    let waited = waited.with(fields::WAYPOINT, turn.waypoint.to_string()).with(fields::TURN, turn.turn_id.to_string());
    waited.with(fields::GATE, turn.gate.to_string()).ended(telemetry::now());
}

/// The broker hears what became of a delivery: `ack` or `nak`.
pub(super) fn of_settling(operation: &'static str) -> Span {
    info_span!(
        target: TRACE, "settle turn", otel.kind = "client",
        { fields::MESSAGING_SYSTEM } = "nats", { fields::MESSAGING_DESTINATION } = streams::JOURNAL,
        { fields::MESSAGING_OPERATION } = operation, { fields::MESSAGING_OPERATION_TYPE } = "settle",
    )
}
