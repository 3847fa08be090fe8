//! An input becomes an entry: decided by the engine, appended under the check that nobody else did.

use bytes::Bytes;
use holdpoint_bus::{
    blobs::{self, BlobError},
    journal::AppendError,
};
use holdpoint_conditions::{ConditionAnswer, ConditionHelperError, Scope};
use holdpoint_engine::{
    budget::Need,
    flight::{self, FlightState},
    waypoint::{self, EngineStep, Evaluate, Fresh, Input, Oversize, Refusal, StepContext},
};
use holdpoint_protocol::{
    ids::{FlightId, GateId, WaypointId, role},
    journal::{ConditionResult, Entry, EntryKind},
    subjects::Fence,
};
use holdpoint_runtime::{
    clock, fresh,
    telemetry::{self, TraceContext, WaypointTrace, fields},
};
use tracing::Instrument as _;

use super::{State, children::ChildrenError, inbox::Unreadable, migrate, planned, trace};
use crate::{
    books::{Books, BooksError},
    shell::Shell,
};

/// Lost races in a row before a step is given up for now: each means that another orchestrator moved on.
pub(super) const RACES_MAX: u32 = 16;

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
    #[error("cannot store the document that is handed over")]
    Document(#[from] BlobError),
    #[error("cannot append to the waypoint's journal")]
    Append(#[from] AppendError),
    #[error("waypoint {waypoint} is not part of flight {flight}")]
    UnknownWaypoint { flight: FlightId, waypoint: WaypointId },
    #[error("the workflow of waypoint {waypoint} of flight {flight} is not in its submission, or not sound")]
    NoWorkflow { flight: FlightId, waypoint: WaypointId },
    #[error("others moved the waypoint again and again")]
    Races,
    #[error("cannot add the children of waypoint {parent}")]
    Children {
        parent: WaypointId,
        #[source]
        source: ChildrenError,
    },
    #[error("cannot read the kept report {reference}")]
    Kept {
        reference: String,
        #[source]
        source: Unreadable,
    },
    #[error("the kept report {reference} is gone: `holdpoint cancel` ends the waypoint")]
    NotKept { reference: String },
    #[error("cannot evaluate the condition of gate {gate}")]
    Condition {
        gate: GateId,
        #[source]
        source: ConditionHelperError,
    },
}

impl State {
    /// Gives an input to the engine and appends what it says. A lost race folds again and decides again. In the trace it
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
        // What the sender hears whose handoff led to nothing that can be appended.
        let mut refused = None;
        let mut conditions = Vec::new();
        let mut races = 0;
        while races < RACES_MAX {
            races += 1;
            let planned = planned(books, waypoint)?;
            if FlightState::fence(&books.waypoints, Some(waypoint)) == Fence::Flight && !read_on {
                books.refresh(&shell).await?;
                read_on = true;
            }
            let before = books.state(waypoint);
            let Some(workflow) = books.flight.workflow_of(&planned, &before) else {
                return Err(ApplyError::NoWorkflow { flight: flight.clone(), waypoint: waypoint.clone() });
            };
            let first = match &input {
                Input::Cancelled(_) | Input::Recalled | Input::Reconfigured(_) | Input::TooLarge(_) => None,
                _ => Box::pin(migrate::migration(books, &shell, waypoint)).await?,
            };
            let moves = first.is_some();
            let step_input = first.as_ref().unwrap_or(&input);
            let (state, now) = (&books.flight, clock::now());
            let is_first = flight::is_first(state, &books.waypoints, waypoint);
            let cx =
                StepContext { flight: state, waypoint: &planned, workflow, now, conditions: &conditions, is_first };
            let entry = match waypoint::step(&before, step_input.clone(), &cx, &fresh_ids()) {
                EngineStep::Append(entry) => *entry,
                EngineStep::Evaluate(wanted) => {
                    conditions.push(evaluate(&shell, &flight, *wanted).await?);
                    races -= 1;
                    continue;
                }
                EngineStep::Reserve(need) => {
                    reserve(books, &shell, waypoint, &need).await?;
                    // The entry that it is reserved for may be another one by now: the step is taken on what is there.
                    conditions.clear();
                    continue;
                }
                EngineStep::Nothing if read_on => return Ok(refused.map_or(Applied::Nothing, Applied::Refused)),
                EngineStep::Refuse(refusal) if read_on => return Ok(Applied::Refused(refusal)),
                EngineStep::Nothing | EngineStep::Refuse(_) => {
                    books.refresh(&shell).await?;
                    conditions.clear();
                    read_on = true;
                    continue;
                }
            };
            store_document(&shell, step_input).await?;
            trace::note(step_input, &entry);
            let kind = books.kind(&entry);
            let opened = if let Entry::Turn(turn) = &entry { Some(turn.turn_id.clone()) } else { None };
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
                        decision.tell(step_input, &entry);
                        trace::tell_if_over(books, waypoint);
                    }
                    if let (EntryKind::Turn { role, priority, pool }, Some(turn)) = (kind, opened) {
                        shell.hints.opened(&turn, &role, &pool, priority).await;
                    }
                    if moves {
                        conditions.clear();
                        continue;
                    }
                    return Ok(refused.map_or(Applied::Appended, Applied::Refused));
                }
                Err(AppendError::Conflict { .. } | AppendError::Unacknowledged { .. }) => {
                    books.refresh(&shell).await?;
                    conditions.clear();
                }
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

/// Stores the document that the entry refers to from now on. Only what is taken is stored, because it takes room of the orchestrators; one
/// that is there already is success.
async fn store_document(shell: &Shell, input: &Input) -> Result<(), BlobError> {
    let Some(document) = input.document().filter(|document| !document.text.is_empty()) else { return Ok(()) };
    let _at = holdpoint_faults::at(holdpoint_faults::Step::StoreDocument);
    let text = Bytes::from(document.text.clone().into_bytes());
    blobs::put(&shell.bus, &role::id(role::ORCHESTRATOR), text).await.map(|_| ())
}

/// Reserves what a turn may use up of the flight's budget, by what all its waypoints have. Where another orchestrator moved one of
/// them meanwhile, the step is taken again.
async fn reserve(books: &mut Books, shell: &Shell, waypoint: &WaypointId, need: &Need) -> Result<(), ApplyError> {
    books.refresh(shell).await?;
    let reserved = flight::reserve(&books.flight, &books.waypoints, waypoint, need, clock::now());
    match books.append(shell, None, Entry::Reserved(Box::new(reserved)), None).await {
        Err(error) if !error.is_race() => Err(error.into()),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// What comes of a condition. One that fails is reported here, because work may pass over its gate.
async fn evaluate(shell: &Shell, flight: &FlightId, wanted: Evaluate) -> Result<ConditionResult, ApplyError> {
    let Evaluate { gate, condition, scope, has_history } = wanted;
    let seen = Scope { json: &scope, recurs: !has_history };
    let answers = shell.conditions.evaluate(flight.as_str(), std::slice::from_ref(&condition), seen).await;
    let answers = answers.map_err(|source| ApplyError::Condition { gate: gate.clone(), source })?;
    let holds = answers.iter().all(ConditionAnswer::holds);
    let failure = answers.into_iter().find_map(|answer| match answer {
        ConditionAnswer::Failed(failure) => Some(failure.to_string()),
        ConditionAnswer::Holds | ConditionAnswer::DoesNotHold => None,
    });
    if let Some(failure) = failure.as_ref().filter(|_| shell.may_log("conditions of gates")) {
        tracing::warn!(%gate, condition, failure, "the condition of a gate cannot be evaluated");
    }
    Ok(ConditionResult { gate, holds, failure })
}

fn fresh_ids() -> Fresh {
    Fresh { turn: fresh::turn(), decision: fresh::artifact(), guidance: fresh::artifact(), request: fresh::artifact() }
}
