//! The machine that moves one waypoint: `step(state, input) → entry`, and the fold back.
//!
//! Pure and total. An entry that opens a turn is decision, state change and dispatch in one message. What orders several
//! waypoints is [`crate::flight`]; the decision table is [`crate::policy`]; where an outcome leads is [`crate::gates`].

mod dead;
mod draft;
mod fold;
mod handoff;
mod landing;
mod opening;
mod report;
mod turns;

use std::collections::BTreeMap;

use holdpoint_protocol::{
    Timestamp,
    artifact::{Failure, VerificationReport},
    facts::{BundleRef, Oid, Violation},
    ids::{AgentName, ArtifactId, RoleId, TurnId, WaypointId},
    journal::{Cause, Death, Entry},
    plan::Waypoint,
    refusal::RefusalCode,
    state::{Phase, WaypointState},
    turn::Turn,
};

pub use dead::{deaths, not_dead};
pub use fold::{Alarm, Folded, invariants};
pub use turns::{policy_hash, queue};

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
    Reported(Handoff<Box<VerificationReport>>),
    /// An agent asked a question or called for help.
    Asked(Handoff<()>),
    /// Nothing was handed off in time on this turn, the journal's last entry.
    DeadlinePassed(Box<Turn>),
    /// Agents took this turn and were never heard of again.
    Died(Died),
    /// A person wants its dead turn tried again.
    Retried {
        /// Who.
        by: AgentName,
        /// The turn, as it was opened last.
        turn: Box<Turn>,
    },
    /// Its accepted commit stands on an older head.
    HeadMoved(Merged),
    /// The flight's budget is used up.
    BudgetExhausted,
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
    /// The input cannot be taken; whoever sent it is told why.
    Refuse(Refusal),
    /// It was taken before, or is no longer due.
    Nothing,
}

/// Why a handoff is refused. The turn stays open.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// No turn is open, or another one.
    #[error("turn {turn} is not open: it was answered, superseded or cancelled")]
    NotOpen {
        /// The turn it named.
        turn: TurnId,
    },
    /// The turn belongs to another role.
    #[error("turn {turn} belongs to role {expected}, not to {found}")]
    WrongRole {
        /// The turn.
        turn: TurnId,
        /// Whose it is.
        expected: RoleId,
        /// Who answered.
        found: RoleId,
    },
    /// Not what the turn wants.
    #[error("turn {turn} wants {wanted}")]
    WrongKind {
        /// The turn.
        turn: TurnId,
        /// What it wants.
        wanted: &'static str,
    },
    /// There is no dead turn to be tried again.
    #[error("waypoint {waypoint} has no dead turn: it is {status}")]
    NotDead {
        /// The waypoint.
        waypoint: WaypointId,
        /// How it stands, by its own journal.
        status: &'static str,
    },
    /// The handoff is about something else than what was asked.
    #[error("the handoff on turn {turn} does not fit its request: {what}")]
    Mismatch {
        /// The turn.
        turn: TurnId,
        /// Where it differs.
        what: String,
    },
}

impl Refusal {
    /// What the sender is told of it.
    #[must_use]
    pub fn code(&self) -> RefusalCode {
        match self {
            // The second is told to people only.
            Self::NotOpen { .. } | Self::NotDead { .. } => RefusalCode::TurnNotOpen,
            Self::WrongRole { .. } => RefusalCode::WrongRole,
            Self::WrongKind { .. } => RefusalCode::WrongKind,
            Self::Mismatch { .. } => RefusalCode::RequestMismatch,
        }
    }
}

/// Takes one input.
#[must_use]
pub fn step(state: &WaypointState, input: Input, cx: &Context<'_>, fresh: &Fresh) -> Step {
    match input {
        Input::Open => opening::open(state, cx, fresh),
        Input::Built(handoff) => handoff::built(state, handoff, cx, fresh),
        Input::Reported(handoff) => report::reported(state, handoff, cx, fresh),
        Input::Asked(handoff) => handoff::asked(state, &handoff, cx, fresh),
        Input::DeadlinePassed(turn) => opening::deadline_passed(state, *turn, cx, fresh),
        Input::Died(died) => dead::died(state, died, cx, fresh),
        Input::Retried { by, turn } => dead::retried(state, *turn, by, cx, fresh),
        Input::HeadMoved(merge) => landing::head_moved(state, merge, cx, fresh),
        Input::BudgetExhausted => opening::budget_exhausted(state, cx, fresh),
    }
}

/// Whether a turn is still wanted: what `progress` answers.
#[must_use]
pub fn is_current(state: &WaypointState, turn: &TurnId) -> bool {
    matches!(&state.phase, Phase::InTurn(open) if &open.turn == turn)
}

#[cfg(test)]
pub(crate) mod tests;
