//! The machine that moves one waypoint: `step(state, input) → entry`, and the fold back.
//!
//! Pure and total. An entry that opens a turn is decision, state change and dispatch in one message. What orders several
//! waypoints is [`crate::flight`]; the decision table is [`crate::policy`]; where an outcome leads is [`crate::gates`].

mod acts;
mod arrival;
mod asking;
mod completing;
mod dead;
mod fold;
mod handoff;
mod landing;
mod opening;
mod oversize;
mod questions;
mod refusal;
mod report;
mod requests;
mod transition;
mod turns;
mod visits;

use std::collections::BTreeMap;

use holdpoint_protocol::{
    Digest, Timestamp,
    artifact::{
        Cancel, ClarificationRequest, ClarificationResponse, Completion, Failure, HelpRequest, Retry,
        VerificationReport,
    },
    facts::{BundleRef, Oid, Violation},
    ids::{AgentName, ArtifactId, RoleId, TurnId, WaypointId},
    journal::{Cause, ConditionResult, Death, Entry},
    plan::Waypoint,
    state::{Phase, QuestionKind, WaypointState},
    turn::{Feedback, Turn},
};

pub use acts::{BLOCKERS_MAX, GRANT_MAX, NOTE_BYTES_MAX, reference};
pub use arrival::Evaluate;
pub use asking::{QUESTIONS_IN_TURN_MAX, questions_left};
pub use dead::{TakenUp, deaths, silence};
pub use fold::{Alarm, Folded, invariants};
pub use questions::{ANSWER_BYTES_MAX, CONSTRAINT_BYTES_MAX, CONSTRAINTS_MAX};
pub use refusal::Refusal;
pub use requests::policy_hash;
pub use turns::{queue, reply};
pub use visits::VISITS_MAX;

use crate::{flight::FlightState, gates::Workflow};

/// What a step may look at beside the waypoint's own state.
#[derive(Debug, Clone, Copy)]
pub struct Context<'a> {
    /// The flight.
    pub flight: &'a FlightState,
    /// The waypoint as planned.
    pub waypoint: &'a Waypoint,
    /// How it moves.
    pub workflow: &'a Workflow,
    /// The time of the step.
    pub now: Timestamp,
    /// What came of the conditions that the step wanted ([`Step::Evaluate`]), so far.
    pub conditions: &'a [ConditionResult],
}

/// Ids for one step, made by the caller: the core knows no randomness.
#[derive(Debug, Clone)]
pub struct Fresh {
    /// For the turn, if one opens. Unguessable.
    pub turn: TurnId,
    /// For the decision, if one is taken.
    pub decision: ArtifactId,
    /// For the turn's guidance.
    pub guidance: ArtifactId,
    /// For the turn's request.
    pub request: ArtifactId,
}

/// What happens to a waypoint.
#[derive(Debug, Clone)]
pub enum Input {
    /// Its dependencies are complete and there is room.
    Open,
    /// A build or repair turn ended.
    Built(Handoff<BuildOutcome>),
    /// A verifier reported.
    Reported(Handoff<Box<Reported>>),
    /// An agent completed a gate, or its turn failed.
    Fulfilled(Handoff<Box<Completion>>),
    /// An agent asked a question or called for help.
    Asked(Handoff<Box<Asked>>),
    /// A person answers the open question.
    Answered(Act<Box<Answering>>),
    /// A person completes a gate.
    Completed(Act<Box<Completion>>),
    /// A person has held work tried again.
    Retried(Act<Box<Retrying>>),
    /// A person ends the waypoint; without a body, its whole flight.
    Cancelled(Act<Option<Box<Cancel>>>),
    /// Nothing was handed off in time on this turn, as it stands.
    DeadlinePassed(Box<Turn>),
    /// Agents took this turn and were never heard of again.
    Died(Died),
    /// The open question got no answer in time.
    AnswerOverdue,
    /// Its accepted commit stands on an older head.
    HeadMoved(Merged),
    /// Its landing failed again and again; why, in one line.
    LandingFailed(String),
    /// The flight's budget is used up.
    BudgetExhausted,
    /// What was to follow is larger than a message may be: it can never be appended.
    TooLarge(Oversize),
}

/// An entry that is too large, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Oversize {
    /// Its size.
    pub bytes: usize,
    /// The limit.
    pub most: usize,
}

/// A final handoff.
#[derive(Debug, Clone)]
pub struct Handoff<T> {
    /// The turn it answers.
    pub turn: TurnId,
    /// The role that published it, from its subject.
    pub role: RoleId,
    /// The agent that signed it.
    pub agent: AgentName,
    /// Where it is stored.
    pub cause: Cause,
    /// What it says.
    pub body: T,
}

/// A verifier's report, with what follows it.
#[derive(Debug, Clone)]
pub struct Reported {
    /// The report. Whether its receipt is foreign is what its sender's key says, in place of what the report says of itself.
    pub report: VerificationReport,
    /// What its turn keeps for the build turn behind it.
    pub for_build: Option<Box<Feedback>>,
}

/// What a person did.
#[derive(Debug, Clone)]
pub struct Act<T> {
    /// Who signed it.
    pub by: AgentName,
    /// Where it is stored.
    pub cause: Cause,
    /// Whether the waypoint moved on after the act was stored: then an act that does not name what its person looked at is
    /// about something that is gone.
    pub overtaken: bool,
    /// What it says.
    pub body: T,
}

/// A question, or a call for help.
#[derive(Debug, Clone)]
pub struct Asked {
    /// Which of both.
    pub kind: QuestionKind,
    /// Its words: kept in the handoff, never in the state (FLY-18).
    pub question: String,
    /// The answers that its asker can work with.
    pub options: Vec<String>,
    /// Tells it from other questions of the turn: the digest of its words.
    pub words: Digest,
    /// Whether it ends its turn.
    pub ends: Ends,
    /// What was there when it was asked, as the orchestrator found it in the objects.
    pub work: Option<Commit>,
    /// The open turn, as it stands.
    pub turn: Box<Turn>,
}

/// Whether a question ends its turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ends {
    /// It is the turn's result.
    Turn,
    /// It is the turn's result now; its agent waited for the answer in the turn before.
    TurnAfterAll,
    /// Not before the agent has waited for the answer until then.
    NotBefore(Timestamp),
}

impl Asked {
    /// A question as it was handed off, with the work in progress and the open turn.
    #[must_use]
    pub fn question(asked: &ClarificationRequest, work: Option<Commit>, turn: Box<Turn>) -> Self {
        Self {
            kind: QuestionKind::Clarification,
            question: asked.question.clone(),
            options: asked.options.clone(),
            words: asked.words(),
            ends: match asked.waits_until {
                Some(until) => Ends::NotBefore(until),
                None if asked.waited => Ends::TurnAfterAll,
                None => Ends::Turn,
            },
            work,
            turn,
        }
    }

    /// A call for help as it was handed off.
    #[must_use]
    pub fn help(call: &HelpRequest, work: Option<Commit>, turn: Box<Turn>) -> Self {
        Self {
            kind: QuestionKind::Help,
            question: call.raw_line.clone(),
            options: Vec::new(),
            words: Digest::of(call.raw_line.as_bytes()),
            ends: Ends::Turn,
            work,
            turn,
        }
    }
}

/// An answer, with what it answers.
#[derive(Debug, Clone)]
pub struct Answering {
    /// The answer.
    pub response: ClarificationResponse,
    /// The words of the question.
    pub question: String,
    /// Its options.
    pub options: Vec<String>,
    /// The turn in which it was asked, as it stands; `None` where no question is open.
    pub turn: Option<Box<Turn>>,
}

/// A retry, with what is needed to go on.
#[derive(Debug, Clone)]
pub struct Retrying {
    /// The act.
    pub retry: Retry,
    /// The turn that is held, where it is one.
    pub turn: Option<Box<Turn>>,
    /// What the entry that holds the work kept for its next build turn.
    pub feedback: Option<Box<Feedback>>,
}

/// A turn was taken once more than its agents answered for.
#[derive(Debug, Clone)]
pub struct Died {
    /// The turn.
    pub turn: TurnId,
    /// The plan of whoever has it now.
    pub cause: Cause,
    /// Who had it before.
    pub deaths: Vec<Death>,
}

/// What a build turn came to, as the orchestrator computed it from the objects.
#[derive(Debug, Clone)]
pub enum BuildOutcome {
    /// One commit on the base; or nothing changed.
    Work {
        /// The commit, its tree and the bundle that brings it; `None` when nothing changed.
        commit: Option<Commit>,
        /// Broken path rules.
        violations: Vec<Violation>,
    },
    /// Nothing to judge.
    Failed(Failure),
}

/// A commit with what brings it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Commit {
    /// The commit.
    pub commit: Oid,
    /// Its tree.
    pub tree: Oid,
    /// The bundle.
    pub bundle: BundleRef,
}

/// An accepted commit was merged with a head.
#[derive(Debug, Clone)]
pub struct Merged {
    /// The accepted commit.
    pub work: Oid,
    /// The head it was merged with. Either may be outdated by the time of the step.
    pub head: Oid,
    /// What came of it.
    pub merge: Merge,
}

/// What merging an accepted commit with the head came to.
#[derive(Debug, Clone)]
pub enum Merge {
    /// One commit on the head.
    Clean {
        /// The merged commit.
        commit: Commit,
        /// Broken path rules of the merged diff.
        violations: Vec<Violation>,
        /// It changes exactly what the work changed: the same files, from and to the same contents.
        same_diff: bool,
    },
    /// The head has all that the work changed: nothing is left to land.
    Contained,
    /// Both changed the same.
    Conflict {
        /// The paths, a bounded list.
        paths: Vec<String>,
        /// How many more there are.
        paths_more: u32,
        /// Which of `paths` each waypoint changed that landed since the work's base.
        changed_by: BTreeMap<WaypointId, Vec<String>>,
    },
}

/// What a step comes to.
#[derive(Debug, Clone)]
pub enum Step {
    /// Append this entry.
    Append(Box<Entry>),
    /// Evaluate this condition, and take the step again with its result.
    Evaluate(Box<Evaluate>),
    /// The input cannot be taken; whoever sent it is told why.
    Refuse(Refusal),
    /// It was taken before, or is no longer due.
    Nothing,
}

/// Takes one input.
#[must_use]
pub fn step(state: &WaypointState, input: Input, cx: &Context<'_>, fresh: &Fresh) -> Step {
    if input.act().is_some_and(|cause| acts::is_repeated(state, cause)) {
        return Step::Nothing;
    }
    match input {
        Input::Open => opening::open(state, cx, fresh),
        Input::Built(handoff) => handoff::built(state, handoff, cx, fresh),
        Input::Reported(handoff) => report::reported(state, handoff, cx, fresh),
        Input::Fulfilled(handoff) => completing::fulfilled(state, handoff, cx, fresh),
        Input::Asked(handoff) => questions::asked(state, handoff, cx, fresh),
        Input::Answered(act) => questions::answered(state, act, cx, fresh),
        Input::Completed(act) => acts::completed(state, act, cx, fresh),
        Input::Retried(act) => acts::retried(state, act, cx, fresh),
        Input::Cancelled(act) => acts::cancelled(state, act, cx, fresh),
        Input::DeadlinePassed(turn) => opening::deadline_passed(state, *turn, cx, fresh),
        Input::AnswerOverdue => questions::overdue(state, cx, fresh),
        Input::Died(died) => dead::died(state, died, cx, fresh),
        Input::HeadMoved(merge) => landing::head_moved(state, merge, cx, fresh),
        Input::LandingFailed(detail) => landing::landing_failed(state, &detail, cx, fresh),
        Input::BudgetExhausted => opening::budget_exhausted(state, cx, fresh),
        Input::TooLarge(size) => oversize::hold(state, size, cx, fresh),
    }
}

impl Input {
    /// The act that it is, by where it is stored.
    fn act(&self) -> Option<&Cause> {
        match self {
            Self::Answered(act) => Some(&act.cause),
            Self::Completed(act) => Some(&act.cause),
            Self::Retried(act) => Some(&act.cause),
            Self::Cancelled(act) => Some(&act.cause),
            _ => None,
        }
    }
}

/// Whether a turn is still wanted: what `progress` answers.
#[must_use]
pub fn is_current(state: &WaypointState, turn: &TurnId) -> bool {
    matches!(&state.phase, Phase::InTurn(open) if &open.turn == turn)
}

#[cfg(test)]
pub(crate) mod tests;
