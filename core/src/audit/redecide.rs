//! Taking every decision again: what the engine makes of the state before an entry and of what the entry answers has to
//! be what the entry says (FLY-30).
//!
//! What the engine was given is read off the entry where nothing else tells it: ids, times, the head it stood on, what
//! git said. Texts for people and deadlines are not compared: a later version may word or measure them otherwise.

use std::borrow::Cow;

use holdpoint_protocol::{
    artifact::{BuildArtifact, BuildStatus, Failure, Handed, HandedHead},
    facts::Oid,
    ids::{ArtifactId, TurnId, WaypointId},
    journal::{Entry, Record},
    plan::Waypoint,
    reason::ReasonCode,
    state::{Phase, WaypointState, Work},
    turn::{Turn, TurnRequest},
};
use serde_json::{Value, json};

use super::{Auditor, EntryLine, Known, Link};
use crate::{
    engine::{self, BuildOutcome, Commit, Context, Died, Fresh, Handoff, Input, Merge, Merged, Step},
    flight::FlightState,
    gates,
};

/// Why an entry is not what the rules make of it: what they make, and what is there.
type Difference = (String, String);

/// The longest part of an entry that is shown.
const SHOWN_MAX: usize = 200;

impl Auditor {
    /// Takes the decision of an entry again.
    pub(super) fn redecide(
        &mut self,
        line: &EntryLine,
        entry: &Entry,
        waypoint: &WaypointId,
        before: &WaypointState,
        last_turn: Option<&Turn>,
    ) {
        self.counts.decisions += 1;
        let difference = self.difference(entry, waypoint, before, last_turn);
        if let Err((expected, found)) = difference {
            self.broken(Link::Decision, line.reference(), Some(waypoint.clone()), expected, found);
        }
    }

    fn difference(
        &self,
        entry: &Entry,
        waypoint: &WaypointId,
        before: &WaypointState,
        last_turn: Option<&Turn>,
    ) -> Result<(), Difference> {
        let Some(flight) = &self.state else {
            return Err(("the submission of the flight before it".to_owned(), "there is none".to_owned()));
        };
        let Some(planned) = flight.submitted.plan.waypoint(waypoint) else {
            return Err((
                format!("a waypoint of the plan {}", flight.submitted.plan.plan),
                "none of this name".to_owned(),
            ));
        };
        let record = entry.record();
        let cause = record.cause.as_ref().and_then(|c| self.handoffs.get(&(c.stream.clone(), c.sequence)));
        let seen = Seen { entry, record, before, last_turn };
        let input = match cause {
            Some(known) => seen.answered(known)?,
            None => seen.unprompted()?,
        };
        compare(&seen, input, flight, planned)
    }
}

/// An entry, and what stood before it.
struct Seen<'a> {
    entry: &'a Entry,
    record: &'a Record,
    before: &'a WaypointState,
    last_turn: Option<&'a Turn>,
}

impl Seen<'_> {
    fn after(&self) -> Option<&WaypointState> {
        self.record.state.as_ref()
    }

    fn reason(&self) -> Option<ReasonCode> {
        self.entry.decision().map(|decision| decision.reason_code)
    }

    /// The handoff that was taken.
    fn answered(&self, known: &Known) -> Result<Input, Difference> {
        let (Ok((head, body)), Some(cause)) = (&known.line.body, &self.record.cause) else {
            return Err(("a handoff that can be read".to_owned(), "it cannot".to_owned()));
        };
        let HandedHead { turn, agent, .. } = head.clone();
        let handoff = Handoff { turn, role: known.line.subject.role.clone(), agent, cause: cause.clone(), body: () };
        Ok(match body {
            Handed::Built(artifact) => Input::Built(with(handoff, self.outcome(artifact)?)),
            Handed::Reported(report) => Input::Reported(with(handoff, report.clone())),
            Handed::Asked => Input::Asked(handoff),
            Handed::Plan => match self.entry {
                Entry::Dead(dead) => {
                    let (turn, cause) = (handoff.turn, handoff.cause);
                    Input::Died(Died { turn, cause, deaths: dead.deaths.clone() })
                }
                _ => return Err(("a handoff that ends a turn".to_owned(), "a plan".to_owned())),
            },
            Handed::GivenBack => {
                return Err(("a handoff that ends a turn".to_owned(), "one that gives it back".to_owned()));
            }
        })
    }

    /// What git said of handed-off work is in the entry: which tree, which broken rules, or that it could not be used.
    fn outcome(&self, artifact: &BuildArtifact) -> Result<BuildOutcome, Difference> {
        if artifact.status == BuildStatus::Failed {
            let unsaid = || Failure { reason: ReasonCode::AgentFailed, detail: String::new() };
            return Ok(BuildOutcome::Failed(artifact.failure.clone().unwrap_or_else(unsaid)));
        }
        let goes_on = matches!(self.entry, Entry::Turn(turn) if matches!(turn.request, TurnRequest::Verify(_)));
        if !goes_on {
            return Ok(BuildOutcome::Failed(Failure { reason: ReasonCode::HandoffInvalid, detail: String::new() }));
        }
        let work = self.after().and_then(|state| state.work.as_ref());
        match (&artifact.commit, work) {
            (Some(commit), Some(Work { commit: Some(taken), tree, violations, .. })) => {
                let Some(bundle) = artifact.bundle.clone().filter(|_| commit == taken) else {
                    return Err((format!("the commit {commit}, which was handed off"), format!("{taken} was taken")));
                };
                let commit = Some(Commit { commit: commit.clone(), tree: tree.clone(), bundle });
                Ok(BuildOutcome::Work { commit, violations: violations.clone() })
            }
            // The same tree as the base's: nothing changed.
            (_, Some(Work { commit: None, .. })) => Ok(BuildOutcome::Work { commit: None, violations: Vec::new() }),
            (None, Some(_)) => Err(("no commit: none was handed off".to_owned(), "one was taken".to_owned())),
            (_, None) => Err(("the handed-off work".to_owned(), "no work was taken".to_owned())),
        }
    }

    /// What happened by itself: a beginning, a deadline, a budget, a head that moved.
    fn unprompted(&self) -> Result<Input, Difference> {
        if self.reason() == Some(ReasonCode::BudgetExhausted) {
            return Ok(Input::BudgetExhausted);
        }
        match &self.before.phase {
            Phase::Pending => Ok(Input::Open),
            Phase::InTurn(_) => {
                let turn = self.last_turn.cloned().map(Box::new);
                let turn = turn.ok_or_else(|| ("the turn that is open".to_owned(), "no entry opens it".to_owned()))?;
                Ok(Input::DeadlinePassed(turn))
            }
            Phase::Dead(_) => {
                let turn = self.last_turn.cloned().map(Box::new);
                let turn = turn.ok_or_else(|| ("the turn that is dead".to_owned(), "no entry opens it".to_owned()))?;
                let by = self.record.asked_by.clone();
                let by = by.ok_or_else(|| ("who wants it tried again".to_owned(), "nobody is named".to_owned()))?;
                Ok(Input::Retried { by, turn })
            }
            Phase::Accepted { .. } => self.merged(),
            Phase::Halted { .. } => Err(("nothing behind the end of a waypoint".to_owned(), "an entry".to_owned())),
        }
    }

    fn merged(&self) -> Result<Input, Difference> {
        let (Some(after), Some(work)) = (self.after(), self.before.work.as_ref().and_then(|work| work.commit.clone()))
        else {
            return Err(("accepted work to merge".to_owned(), "there is none".to_owned()));
        };
        let head = after.base.clone().ok_or_else(|| ("a head".to_owned(), "none".to_owned()))?;
        let merge = match &after.work {
            None => {
                let collision = match self.entry {
                    Entry::Turn(turn) => match &turn.request {
                        TurnRequest::Build(request) => request.feedback.as_ref().and_then(|f| f.collision.as_ref()),
                        TurnRequest::Verify(_) => None,
                    },
                    _ => None,
                };
                let (paths, paths_more) = collision.map(|c| (c.paths.clone(), c.paths_more)).unwrap_or_default();
                Merge::Conflict { paths, paths_more, changed_by: Default::default() }
            }
            Some(Work { commit: Some(commit), tree, bundle: Some(bundle), violations, .. }) => {
                let commit = Commit { commit: commit.clone(), tree: tree.clone(), bundle: bundle.clone() };
                Merge::Clean { commit, violations: violations.clone() }
            }
            Some(_) => Merge::Contained,
        };
        Ok(Input::HeadMoved(Merged { work, head, merge }))
    }

    /// The ids that were drawn.
    fn fresh(&self) -> Fresh {
        let undrawn = || ArtifactId::try_new("undrawn").expect("a literal id");
        let turn = match self.entry {
            Entry::Turn(turn) => turn.turn_id.clone(),
            _ => TurnId::try_new("undrawn").expect("a literal id"),
        };
        let decision = self.entry.decision().map_or_else(undrawn, |decision| decision.artifact_id.clone());
        Fresh { turn, decision, guidance: undrawn(), request: undrawn() }
    }
}

fn with<T>(handoff: Handoff<()>, body: T) -> Handoff<T> {
    let Handoff { turn, role, agent, cause, body: () } = handoff;
    Handoff { turn, role, agent, cause, body }
}

fn compare(seen: &Seen<'_>, input: Input, flight: &FlightState, planned: &Waypoint) -> Result<(), Difference> {
    let opens = matches!(input, Input::Open | Input::HeadMoved(_));
    let base = seen.after().and_then(|state| state.base.as_ref()).filter(|_| opens);
    let flight = match base {
        Some(base) => as_of(flight, base)
            .ok_or_else(|| ("to stand on a head of the flight's branch".to_owned(), format!("it stands on {base}")))?,
        None => Cow::Borrowed(flight),
    };
    let workflow = gates::fly();
    let cx = Context { flight: &flight, waypoint: planned, workflow: &workflow, now: seen.record.at };
    match engine::step(seen.before, input, &cx, &seen.fresh()) {
        Step::Append(made) => unlike(&facts(&made), &facts(seen.entry)).map_or(Ok(()), Err),
        Step::Refuse(refusal) => Err((format!("what it answers to be refused: {refusal}"), "it was taken".to_owned())),
        Step::Nothing => Err(("nothing: it is not due".to_owned(), format!("an entry {}", seen.entry.schema_name()))),
    }
}

/// The flight as it was when `head` was its head; `None` if it never was. Whoever decided may not have known of the
/// newest landing yet.
fn as_of<'a>(flight: &'a FlightState, head: &Oid) -> Option<Cow<'a, FlightState>> {
    if flight.head() == head {
        return Some(Cow::Borrowed(flight));
    }
    let mut earlier = FlightState::new(flight.submitted.clone());
    if earlier.head() == head {
        return Some(Cow::Owned(earlier));
    }
    for landed in &flight.landed {
        earlier.landed.push(landed.clone());
        if &landed.commit == head {
            return Some(Cow::Owned(earlier));
        }
    }
    None
}

/// What of an entry is compared.
fn facts(entry: &Entry) -> Value {
    let mut state = json!(entry.record().state);
    for hidden in ["/phase/deadline", "/decision/remediation"] {
        if let Some(value) = state.pointer_mut(hidden).filter(|value| !value.is_null()) {
            *value = json!("…");
        }
    }
    let decision = entry.decision().map(|decision| {
        json!({
            "disposition": decision.disposition,
            "reason_code": decision.reason_code,
            "status": decision.status,
            "source_refs": decision.source_refs,
        })
    });
    let turn = match entry {
        Entry::Turn(turn) => json!({
            "role": turn.role, "gate": turn.gate, "attempt": turn.attempt, "request": request(&turn.request),
        }),
        _ => Value::Null,
    };
    json!({"entry": entry.schema_name(), "decision": decision, "turn": turn, "state": state})
}

fn request(request: &TurnRequest) -> Value {
    match request {
        TurnRequest::Build(build) => json!({"wanted": "build", "base": build.base, "start": build.start}),
        TurnRequest::Verify(verify) => json!({
            "wanted": "verify", "purpose": verify.purpose, "base": verify.base, "commit": verify.commit,
            "tree": verify.tree,
        }),
    }
}

/// The first place where two values differ.
fn unlike(made: &Value, there: &Value) -> Option<Difference> {
    fn search(path: &str, made: &Value, there: &Value) -> Option<Difference> {
        match (made, there) {
            (Value::Object(one), Value::Object(other)) => {
                let none = Value::Null;
                let keys = one.keys().chain(other.keys().filter(|key| !one.contains_key(*key)));
                let mut keys = keys.map(|key| (format!("{path}{key}."), one.get(key), other.get(key)));
                keys.find_map(|(path, one, other)| search(&path, one.unwrap_or(&none), other.unwrap_or(&none)))
            }
            (one, other) if one == other => None,
            (one, other) => {
                let path = path.trim_end_matches('.');
                Some((format!("{path} {}", shown(one)), shown(other)))
            }
        }
    }
    search("", made, there)
}

fn shown(value: &Value) -> String {
    let text = value.to_string();
    if text.chars().count() <= SHOWN_MAX { text } else { text.chars().take(SHOWN_MAX).chain("…".chars()).collect() }
}
