//! An input becomes an entry: decided by the core, appended under the check that nobody else did.

use holdpoint_bus::journal::AppendError;
use holdpoint_core::engine::{self, Context, Fresh, Input, Oversize, Refusal, Step};
use holdpoint_protocol::{
    ids::{FlightId, WaypointId},
    journal::EntryKind,
};
use holdpoint_runtime::{
    clock, fresh,
    telemetry::{self, TraceContext, WaypointTrace, fields},
};
use tracing::Instrument as _;

use super::{State, planned, trace};
use crate::books::BooksError;

/// Lost races in a row before a step is given up for now: each means that somebody else moved on.
const RACES_MAX: u32 = 16;

/// What became of an input.
pub(crate) enum Applied {
    /// An entry was appended.
    Appended,
    /// There was nothing to do.
    Nothing,
    /// It cannot be taken.
    Refused(Refusal),
}

/// Why an input could not be applied now. It is tried again.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ApplyError {
    #[error("cannot read the flight's journals")]
    Books(#[from] BooksError),
    #[error("cannot append to the waypoint's journal")]
    Append(#[from] AppendError),
    #[error("waypoint {waypoint} is not part of flight {flight}")]
    UnknownWaypoint { flight: FlightId, waypoint: WaypointId },
    #[error("the workflow of waypoint {waypoint} of flight {flight} is not in its submission, or not sound")]
    NoWorkflow { flight: FlightId, waypoint: WaypointId },
    #[error("others moved the waypoint again and again")]
    Races,
}

impl State {
    /// Gives an input to the core and appends what it says. A lost race folds again and decides again. In the trace it
    /// is below `parent`, or the waypoint itself.
    pub(super) async fn apply(
        &mut self,
        waypoint: &WaypointId,
        input: Input,
        parent: Option<TraceContext>,
    ) -> Result<Applied, ApplyError> {
        let trace = WaypointTrace::of(&self.id, waypoint);
        let (trace_id, span_id) = telemetry::log_ids(&parent.clone().unwrap_or_else(|| trace.root()));
        let span = tracing::info_span!(
            "decide", { fields::FLIGHT } = %self.id, { fields::WAYPOINT } = %waypoint,
            { fields::TRACE_ID } = trace_id, { fields::SPAN_ID } = span_id,
        );
        // Boxed: it holds a plan, a state and an entry.
        let decided = Box::pin(self.decide(waypoint, input, &trace, parent.as_ref())).instrument(span).await;
        match decided {
            Ok(Applied::Appended) => self.idleness.disturbed(),
            Err(ApplyError::Books(_)) => self.books = None,
            Ok(Applied::Nothing | Applied::Refused(_)) | Err(_) => {}
        }
        decided
    }

    async fn decide(
        &mut self,
        waypoint: &WaypointId,
        mut input: Input,
        trace: &WaypointTrace,
        parent: Option<&TraceContext>,
    ) -> Result<Applied, ApplyError> {
        let (shell, flight, begun) = (self.shell.clone(), self.id.clone(), telemetry::now());
        let books = self.books().await?;
        // Another orchestrator may have moved the waypoint on: a refusal counts only on a state that was read just now.
        let mut read_on = false;
        // What the sender is told whose handoff led to nothing that can be appended.
        let mut refused = None;
        for _ in 0..RACES_MAX {
            let planned = planned(books, waypoint)?;
            let Some(workflow) = books.flight.workflow(&planned) else {
                return Err(ApplyError::NoWorkflow { flight: flight.clone(), waypoint: waypoint.clone() });
            };
            let cx = Context { flight: &books.flight, waypoint: &planned, workflow, now: clock::now() };
            let before = books.state(waypoint);
            let entry = match engine::step(&before, input.clone(), &cx, &fresh_ids()) {
                Step::Append(entry) => *entry,
                Step::Nothing if read_on => return Ok(refused.map_or(Applied::Nothing, Applied::Refused)),
                Step::Refuse(refusal) if read_on => return Ok(Applied::Refused(refusal)),
                Step::Nothing | Step::Refuse(_) => {
                    books.refresh(&shell).await?;
                    read_on = true;
                    continue;
                }
            };
            trace::note(&entry);
            let kind = books.kind(&entry);
            let appended = telemetry::is_recording().then(|| entry.clone());
            let (traceparent, sending) = (trace::context_of(trace, &entry).traceparent(), telemetry::now());
            match books.append(&shell, Some(waypoint), entry, Some(traceparent)).await {
                Ok(()) => {
                    if let Some(entry) = appended {
                        let decision = trace::Decision {
                            flight: &flight,
                            waypoint,
                            trace,
                            parent,
                            before: &before,
                            begun,
                            sending,
                        };
                        decision.tell(&input, &entry);
                        trace::tell_if_over(books, waypoint);
                    }
                    if let EntryKind::Turn { role, priority, .. } = kind {
                        shell.hints.send(&role, priority).await;
                    }
                    return Ok(refused.map_or(Applied::Appended, Applied::Refused));
                }
                Err(AppendError::Conflict { .. } | AppendError::Unacknowledged { .. }) => books.refresh(&shell).await?,
                // Trying again does not make it smaller: a person has to.
                Err(AppendError::TooLarge { bytes, most, .. })
                    if !matches!(input, Input::TooLarge(_) | Input::Cancelled(_)) =>
                {
                    let size = Oversize { bytes, most };
                    tracing::error!(bytes, most, "what follows is too large for a message: the waypoint is held");
                    match input.too_large(size) {
                        Some(refusal @ Refusal::Act(_)) => return Ok(Applied::Refused(refusal)),
                        other => refused = other,
                    }
                    (input, read_on) = (Input::TooLarge(size), false);
                }
                Err(error) => return Err(error.into()),
            }
        }
        Err(ApplyError::Races)
    }
}

fn fresh_ids() -> Fresh {
    Fresh { turn: fresh::turn(), decision: fresh::artifact(), guidance: fresh::artifact(), request: fresh::artifact() }
}
