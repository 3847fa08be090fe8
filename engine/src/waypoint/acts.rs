//! What people do at a waypoint: complete a gate, have held work tried again, end it. Answers are [`super::questions`].
//!
//! An act names what its person looked at. The first that fits is taken; every other one changes nothing and gets an answer
//! that says what happened instead.

use holdpoint_planfile::{gates::Gate, proposal};
use holdpoint_protocol::{
    api::ActRefused,
    artifact::{ActCode, Cancel, Completion, Disposition, Retry, Verb},
    checkpoint::DOCUMENT_BYTES_MAX,
    ids::{AgentName, GateId},
    reason::{BlockReason, ReasonCode},
    state::{OpenTurn, Outcome, Phase, Purpose, Resume, WaypointState},
    turn::{Feedback, Turn, TurnRequest},
    workflow::is_human,
};

use super::{
    EngineStep, Fresh, PersonAct, Refusal, Retrying, StepContext,
    acted::{self, is_about, late, not_among, unopened},
    beginning, branches, completing, purposes,
    standing::has_ended,
    taking, terms,
    transition::Transition,
    turns::{self, Opening},
};
use crate::{
    completion::{self, CompletionRules, Lesson, ValidCompletion},
    feedback,
    handed::{BLOCKERS_MAX, NOTE_BYTES_MAX},
    policy::{escalate, met},
};

/// Reworks that one retry may grant.
pub const GRANT_MAX: u32 = 1_000;

/// Seconds of wall time that a hint adds to those that passed since there are none left.
const WALL_RAISE_S: u64 = 600;

/// The name by which the inbox knows what a waypoint waits for, in one of its phases.
#[must_use]
pub fn reference(state: &WaypointState, phase: &Phase) -> Option<String> {
    match phase {
        Phase::InTurn(open) if open.people => Some(open.turn.to_string()),
        Phase::InTurn(open) => open.asking().map(|question| question.asked.reference()),
        Phase::Waiting(question) => Some(question.asked.reference()),
        Phase::Held(_) | Phase::Delegated(_) => state.decision.as_ref().map(|decision| decision.id.to_string()),
        Phase::Pending | Phase::Forked | Phase::Queued(_) | Phase::Accepted { .. } | Phase::Cancelled => None,
    }
}

/// A person completes a gate.
pub(super) fn completed(
    state: &WaypointState,
    act: PersonAct<Box<Completion>>,
    cx: &StepContext<'_>,
    fresh: &Fresh,
) -> EngineStep {
    let PersonAct { by, cause, overtaken, body } = act;
    let verb = if body.outcome == Some(Outcome::NeedsReview) { Verb::Reject } else { Verb::Approve };
    let open = match &state.phase {
        Phase::InTurn(open) if open.people => open,
        _ => return unopened(state, verb, cx),
    };
    if let Some(refusal) = taking::not_completed(open) {
        return EngineStep::Refuse(refusal);
    }
    let Some(gate) = cx.workflow.gate(&open.gate) else { return unopened(state, verb, cx) };
    if !is_about(body.on.as_ref(), open.turn.as_str(), overtaken) {
        return EngineStep::Refuse(late(state, "what you looked at is not open any more", cx));
    }
    if let Some(refusal) = forbidden(gate, open, &by, &body).or_else(|| acted::own_work(state, open, &by)) {
        return EngineStep::Refuse(refusal);
    }
    if let Some(wrong) = unproposed(gate, &body, cx) {
        return EngineStep::Refuse(wrong);
    }
    if branches::has_voted(state, &by) {
        let message = format!("{by} voted in this fork already: another person has to complete gate {}", gate.id);
        return EngineStep::Refuse(Refusal::act(ActCode::NotAllowed, message, "one person votes once in a fork"));
    }
    // An act that names no outcome is forbidden.
    let outcome = body.outcome.unwrap_or(Outcome::Complete);
    let transition = Transition::new(state, cx, fresh).acted(by, verb, cause.clone()).answered(cause, outcome);
    let Completion { summary, blockers, block_reason, rejection_notes, document, metadata, .. } = *body;
    let document = document.map(|document| *document);
    let said = ValidCompletion { outcome, summary, blockers, block_reason, rejection_notes, document, metadata };
    completing::settle(transition, open, &said)
}

/// Why a gate that proposes children cannot be complete with what a person proposes.
fn unproposed(gate: &Gate, completion: &Completion, cx: &StepContext<'_>) -> Option<Refusal> {
    let demands = terms::demands(gate, cx);
    let bounds = demands.proposes.as_ref().filter(|_| completion.outcome == Some(Outcome::Complete))?;
    let proposed = completion.document.as_ref().and_then(|document| document.proposal.as_ref());
    let wrong = proposal::unsound(proposed, bounds)?;
    let message = format!("gate {} proposes what children do, and {wrong}", gate.id);
    Some(Refusal::act(
        ActCode::Invalid,
        message,
        "release the turn to its agents, or `holdpoint reject` it with what is wrong",
    ))
}

/// Why this person cannot complete the gate like this.
fn forbidden(gate: &Gate, open: &OpenTurn, by: &AgentName, completion: &Completion) -> Option<Refusal> {
    let refuse = |code, message: String, hint: &str| Some(Refusal::act(code, message, hint));
    let teach = |code, message: &str, hint: &str, lesson: Lesson| {
        let (message, hint, details) = (message.to_owned(), hint.to_owned(), lesson.to_json());
        Some(Refusal::Act(Box::new(ActRefused { code, message, hint, details })))
    };
    let wanted = CompletionRules {
        waypoint: &completion.waypoint_id,
        gate: &gate.id,
        can_reject: gate.can_reject,
        default: Outcome::Complete,
        demands: None,
    };
    if !is_human(by) {
        let message = format!("gate {} is completed by people; {by} is no person's key", gate.id);
        let hint = "use the key of a person: its name begins with `human-` (--as, --creds)";
        return teach(ActCode::HumanRequired, &message, hint, completion::human_required(&gate.id, by));
    }
    if let Some(refusal) = taking::not_theirs(open, by) {
        return Some(refusal);
    }
    if let Some(refusal) = not_among(gate, open, by, "complete").filter(|_| open.taken_by.is_none()) {
        return Some(refusal);
    }
    let notes = completion.rejection_notes.as_ref().map_or(0, String::len);
    let words = completion.blockers.iter().map(String::len).sum::<usize>() + completion.summary.len() + notes;
    if words > NOTE_BYTES_MAX || completion.blockers.len() > BLOCKERS_MAX {
        let message = format!("an act carries {NOTE_BYTES_MAX} bytes of words and {BLOCKERS_MAX} blockers at most");
        return refuse(ActCode::Invalid, message, "say it shorter, and name a document for the rest");
    }
    let document = completion.document.as_ref().map_or(0, |document| document.text.len());
    if document > DOCUMENT_BYTES_MAX {
        let message = format!("the document has {document} bytes, and at most {DOCUMENT_BYTES_MAX} are taken");
        return refuse(ActCode::Invalid, message, "keep to what the next reader needs, and name files for the rest");
    }
    match completion.outcome {
        None => refuse(ActCode::Invalid, "it names no outcome".to_owned(), "approve or reject it"),
        Some(Outcome::Skip) => {
            let lesson = completion::invalid_outcome("skip", wanted);
            teach(ActCode::Invalid, "only the engine skips a gate", "approve or reject it", lesson)
        }
        Some(Outcome::NeedsReview) if !gate.can_reject => {
            let message = format!("gate {} may not send work back", gate.id);
            let lesson = completion::reject_not_allowed(wanted);
            teach(ActCode::RejectNotAllowed, &message, "approve it, or cancel the waypoint", lesson)
        }
        Some(outcome @ Outcome::NeedsReview) if completion.blockers.iter().all(|blocker| blocker.trim().is_empty()) => {
            let lesson = completion::empty_blockers(outcome);
            teach(ActCode::Invalid, "a rejection needs what has to change", "say it with --note", lesson)
        }
        _ => None,
    }
}

/// A person has held work tried again.
pub(super) fn retried(
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
    transition.next.counters.redeliveries = 0;
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
fn cannot(retry: &Retry, cx: &StepContext<'_>) -> Option<Refusal> {
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
fn resume(
    transition: Transition<'_>,
    at: &Resume,
    retry: Retry,
    turn: Option<Box<Turn>>,
    feedback: Option<Feedback>,
) -> EngineStep {
    let cx = transition.cx;
    match at {
        Resume::Beginning => beginning::begin(transition),
        Resume::Landing { at, report } => {
            let ruling = met();
            let phase = Phase::Accepted { at: *at, report: *report };
            transition.decided(phase, &ruling, None)
        }
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
fn note(request: &mut TurnRequest, note: Option<String>) {
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

/// A person ends the waypoint, or its whole flight. Accepted work that has not landed does not land.
pub(super) fn cancelled(
    state: &WaypointState,
    act: PersonAct<Option<Box<Cancel>>>,
    cx: &StepContext<'_>,
    fresh: &Fresh,
) -> EngineStep {
    let PersonAct { by, cause, body, .. } = act;
    let is_over = matches!(state.phase, Phase::Cancelled) || has_ended(state, cx);
    if is_over && body.is_none() {
        return EngineStep::Nothing;
    }
    if is_over {
        return unopened_or_over(state, cx);
    }
    let ruling = escalate(ReasonCode::Cancelled, &format!("cancelled by {by}"));
    let transition = Transition::new(state, cx, fresh).acted(by, Verb::Cancel, cause);
    transition.exited(Outcome::Blocked).decided(Phase::Cancelled, &ruling, None)
}

fn unopened_or_over(state: &WaypointState, cx: &StepContext<'_>) -> EngineStep {
    if has_ended(state, cx) {
        let message = format!("waypoint {} is complete", cx.waypoint.id);
        return EngineStep::Refuse(Refusal::act(ActCode::Over, message, "what has landed stays: revert it with git"));
    }
    unopened(state, Verb::Cancel, cx)
}
