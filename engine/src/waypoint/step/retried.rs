//! A person has held work tried again (`Input::Retried`).

use holdpoint_planfile::gates::Gate;
use holdpoint_protocol::{
    artifact::{ActCode, Disposition, Retry, Verb},
    ids::GateId,
    reason::{BlockReason, ReasonCode},
    state::{Outcome, Phase, Purpose, Resume, WaypointState},
    turn::{Feedback, Turn, TurnRequest},
};

use super::super::{
    EngineStep, Fresh, PersonAct, Refusal, Retrying, StepContext,
    acted::{is_about, late, unopened},
    beginning, purposes,
    transition::Transition,
    turns::{self, Opening},
};
use crate::{feedback, handed::NOTE_BYTES_MAX, policy::met};

/// Seconds of wall time that a hint adds to those that passed since there are none left.
const WALL_RAISE_S: u64 = 600;
/// Reworks that one retry may grant.
pub const GRANT_MAX: u32 = 1_000;

/// A person has held work tried again.
pub(super) fn take(
    state: &WaypointState,
    act: PersonAct<Box<Retrying>>,
    cx: &StepContext<'_>,
    fresh: &Fresh,
) -> EngineStep {
    let PersonAct { by, cause, overtaken, body } = act;
    let Retrying { retry, turn, feedback } = *body;
    let decided = || state.decision.as_ref().map(|decision| decision.id.to_string()).unwrap_or_default();
    // Where it would go on by itself.
    let (held_where, there) = match &state.phase {
        Phase::Held(held) => (Some(held.resume.clone()), decided()),
        Phase::Delegated(_) => (None, decided()),
        // The obstacle may be gone without an answer.
        Phase::Waiting(question) if question.block_reason != BlockReason::NeedsHumanInput => {
            (Some(Resume::Turn(question.turn.clone())), question.asked.artifact.to_string())
        }
        _ => return unopened(state, Verb::Retry, cx),
    };
    if !is_about(retry.on.as_ref(), there.as_str(), overtaken) {
        return EngineStep::Refuse(late(state, "what you looked at is not held any more", cx));
    }
    let from = match again_from(&retry, held_where.is_some(), cx) {
        Ok(from) => from,
        Err(refusal) => return EngineStep::Refuse(refusal),
    };
    if let Some(refusal) = cannot(&retry, cx) {
        return EngineStep::Refuse(refusal);
    }
    let mut transition = Transition::new(state, cx, fresh).acted(by, Verb::Retry, cause);
    transition.next.counters.granted = transition.next.counters.granted.saturating_add(retry.reworks);
    transition.next.entries.clear();
    let Some(resume_at) = held_where.as_ref().filter(|_| from.is_none()) else {
        let from = from.unwrap_or_else(|| cx.workflow.first());
        let (of, purpose) = (held_where.as_ref().and_then(held_at), purposes::purpose(from));
        let told = feedback.map(|told| purposes::passed_on(*told, of, (&from.id, purpose)));
        if !cx.workflow.makes_work() {
            transition.move_to_head();
        }
        return again_at(transition.exited(Outcome::NeedsReview), from, purpose, retry, told);
    };
    resume(transition, resume_at, retry, turn, feedback.map(|feedback| *feedback))
}

/// The gate from which work goes on that is named: the first one, or one that proposes children. `None`: the one where it is held.
fn again_from<'a>(retry: &Retry, is_held: bool, cx: &StepContext<'a>) -> Result<Option<&'a Gate>, Refusal> {
    let first = cx.workflow.first();
    let may = |gate: &&Gate| gate.id == first.id || gate.proposes();
    let named = || cx.workflow.gates().filter(may).map(|gate| gate.id.as_str()).collect::<Vec<_>>().join(" or ");
    let refuse = |message: String, hint: String| Err(Refusal::act(ActCode::Invalid, message, &hint));
    match &retry.from {
        None if is_held => Ok(None),
        None => {
            let message = format!("children of waypoint {} do its work", cx.waypoint.id);
            refuse(message, format!("`--from {}` ends those that have not landed, and has it planned again", named()))
        }
        Some(from) => match cx.workflow.gate(from).filter(may) {
            Some(gate) => Ok(Some(gate)),
            None => {
                let message =
                    format!("work goes on in the gate where it is held, or from {}; not from {from}", named());
                refuse(message, "leave --from out, or name such a gate".to_owned())
            }
        },
    }
}

/// The gate that opens when held work goes on, and what its turn is for.
fn held_at(resume: &Resume) -> Option<(&GateId, Purpose)> {
    match resume {
        Resume::Gate { gate, purpose } => Some((gate, *purpose)),
        Resume::Turn(open) => Some((&open.gate, open.purpose)),
        Resume::Beginning | Resume::Fork | Resume::Landing { .. } => None,
    }
}

/// Why held work cannot be tried again like this.
pub(super) fn cannot(retry: &Retry, cx: &StepContext<'_>) -> Option<Refusal> {
    let refuse = |code, message: String, hint: &str| Some(Refusal::act(code, message, hint));
    if retry.reworks > GRANT_MAX || retry.note.as_ref().is_some_and(|note| note.len() > NOTE_BYTES_MAX) {
        let message = format!("a retry grants {GRANT_MAX} reworks and carries {NOTE_BYTES_MAX} bytes of words at most");
        return refuse(ActCode::Invalid, message, "ask for less");
    }
    if let Some(end) = cx.flight.wall_end(cx.now).filter(|end| *end <= cx.now) {
        let message = "the flight's wall budget is used up: nothing opens any more".to_owned();
        let (flight, most) = (&cx.flight.submitted.flight, cx.now.since(end).as_secs() + WALL_RAISE_S);
        let hint = format!("raise it by more than the time since then: `holdpoint budget {flight} --wall +{most}`");
        return refuse(ActCode::Over, message, &hint);
    }
    None
}

/// Goes on where it is held.
pub(super) fn resume(
    transition: Transition<'_>,
    at: &Resume,
    retry: Retry,
    turn: Option<Box<Turn>>,
    feedback: Option<Feedback>,
) -> EngineStep {
    let cx = transition.cx;
    match at {
        Resume::Beginning => beginning::begin(transition),
        Resume::Landing { at } => transition.decided(Phase::Accepted { at: *at }, &met(), None),
        Resume::Turn(open) => match turn.filter(|turn| turn.turn_id == open.turn) {
            Some(mut turn) => {
                note(&mut turn.request, retry.note);
                turns::start_from(&mut turn, &transition.next, cx);
                turns::open_again(transition, open, *turn)
            }
            None => EngineStep::Refuse(Refusal::act(
                ActCode::NothingOpen,
                format!("no entry opens turn {}", open.turn),
                "the journal may be damaged: `holdpoint audit`",
            )),
        },
        Resume::Fork => transition.decided(Phase::Forked, &met(), None),
        Resume::Gate { gate, .. } if let Some(fork) = cx.workflow.fork(gate) => transition.enter_held(fork),
        Resume::Gate { gate, purpose } => {
            let gate = cx.workflow.gate(gate).unwrap_or_else(|| cx.workflow.first());
            if *purpose == purposes::BASELINE {
                return try_base(transition, gate, retry, feedback);
            }
            again_at(transition, gate, *purpose, retry, feedback)
        }
    }
}

/// The base is tried again, and with what the build turn behind it gets. A base that has nothing on it yet is the newest.
fn try_base(mut transition: Transition<'_>, gate: &Gate, retry: Retry, mut feedback: Option<Feedback>) -> EngineStep {
    if transition.next.work.is_none() {
        transition.next.base = Some(transition.cx.flight.head().clone());
    }
    if let Some(note) = retry.note {
        feedback.get_or_insert_with(nothing_wrong).notes.push(note);
    }
    turns::open(transition, Opening { purpose: purposes::BASELINE, feedback, ..Opening::of(gate) }, None)
}

/// Another turn of a gate, with what was wrong and what the person says; a verifier gets neither (FLY-18).
fn again_at(
    transition: Transition<'_>,
    gate: &Gate,
    purpose: Purpose,
    retry: Retry,
    feedback: Option<Feedback>,
) -> EngineStep {
    let cx = transition.cx;
    if transition.next.base.is_none() {
        return beginning::begin(transition);
    }
    if let Purpose::Verify(_) = purpose {
        return turns::open(transition, Opening { purpose, ..Opening::of(gate) }, None);
    }
    let mut feedback = feedback;
    if let Some(note) = retry.note {
        feedback.get_or_insert_with(nothing_wrong).notes.push(note);
    }
    let repair = feedback.is_some() && purposes::is_repaired(gate, cx);
    turns::open(transition, Opening { purpose, feedback, repair, ..Opening::of(gate) }, None)
}

/// A person's note goes with a turn that makes work or completes a gate; a verifier does not get it (FLY-18).
pub(super) fn note(request: &mut TurnRequest, note: Option<String>) {
    let feedback = match request {
        TurnRequest::Build(request) => &mut request.feedback,
        TurnRequest::Complete(request) => &mut request.feedback,
        TurnRequest::Verify(_) => return,
    };
    if let Some(note) = note {
        feedback.get_or_insert_with(nothing_wrong).notes.push(note);
    }
}

/// Feedback that says nothing yet.
fn nothing_wrong() -> Feedback {
    feedback::in_words(Disposition::Rework, ReasonCode::AttemptsExhausted, Vec::new())
}
