//! The machine that moves one waypoint: `step(state, input) → entry`, and the fold back.
//!
//! Pure and total. An entry that opens a turn is decision, state change and dispatch in one message. What orders several
//! waypoints is [`crate::flight`]; the decision table is [`crate::policy`]; where an outcome leads is [`holdpoint_planfile::gates`].
//!
//! `step` has a file for each input. The files of this folder stand below it, each on those before it:
//!
//! - The words: `input`, `refusal`, and this file.
//! - Rules that read a state: `visits`, `spent`, `standing`, `terms`, `purposes`, `holder`, `branches`, `listing`, `acted`, `verdicts`,
//!   `checkpoints`, `stacking`, `migrating`.
//! - A change of state on its way to an entry: `transition`.
//! - A turn that opens, with its request and its means: `requests`, `funding`, `turns`.
//! - The way from gate to gate: `arrival`, `leaving`, `beginning`.
//! - Inputs as they are made of handoffs, and what entries record of them: `basis`.
//! - Rules that several inputs share: `answers`, `handoff`, `completing`, `advising`, `asking`, `taking`, `dead`, `collisions`.
//!
//! `fold` reads journals back by `invariants`.

mod acted;
mod advising;
mod answers;
mod arrival;
mod asking;
mod basis;
mod beginning;
mod branches;
mod checkpoints;
mod collisions;
mod completing;
mod dead;
mod fold;
mod funding;
mod handoff;
mod holder;
mod input;
mod invariants;
mod leaving;
mod listing;
mod migrating;
mod purposes;
mod refusal;
mod requests;
mod spent;
mod stacking;
mod standing;
mod step;
mod taking;
mod terms;
mod transition;
mod turns;
mod verdicts;
mod visits;

use holdpoint_protocol::{
    Timestamp,
    ids::{ArtifactId, GateId, TurnId},
    journal::{ConditionResult, Entry},
    plan::Waypoint,
};

pub use acted::reference;
pub use advising::{ADVICE_BYTES_MAX, ADVICE_ROUNDS_MAX, begins_at};
pub use asking::{QUESTIONS_IN_TURN_MAX, questions_left};
pub use basis::{HandoffFacts, InputNeeds, InputParts, failure};
pub use branches::{is_for_others, voted};
pub use dead::{TakenUp, deaths, silence};
pub use fold::{Alarm, Folded};
pub use handoff::why_over;
pub use holder::{TAKEN_TIME, queued_for, waits_to_be_taken};
pub use holdpoint_protocol::journal::{Behind, BundledCommit, MergeResult, Merged};
pub use input::{
    Advised, AgentQuestion, BuildOutcome, Died, Ends, HandingIn, Handoff, Input, Migrating, Oversize, PersonAct,
    PersonAnswer, Releasing, ReportInput, Retrying, Taking, Voted,
};
pub use invariants::invariants;
pub use listing::unlisted;
pub use migrating::has_to_migrate;
pub use refusal::Refusal;
pub use requests::{evidence_expected, policy_hash};
pub use stacking::{MergesAlone, counts_now, stacks, unmerged};
pub(crate) use stacking::{keeps, lands_by_verdict, replaceable};
pub use standing::phase_status;
pub(crate) use step::runs_on_work;
pub use step::{ANSWER_BYTES_MAX, CONSTRAINT_BYTES_MAX, CONSTRAINTS_MAX, GRANT_MAX, is_current, step};
pub use taking::can_be_taken;
pub use turns::{queue, reply};
pub use visits::VISITS_MAX;

use holdpoint_planfile::gates::Workflow;

use crate::{budget::Need, state::FlightState};

/// What a step may look at besides the waypoint's own state.
#[derive(Debug, Clone, Copy)]
pub struct StepContext<'a> {
    /// The flight.
    pub flight: &'a FlightState,
    /// The waypoint as planned.
    pub waypoint: &'a Waypoint,
    /// How it moves.
    pub workflow: &'a Workflow,
    /// The time of the step.
    pub now: Timestamp,
    /// What came of the conditions that the step wanted ([`EngineStep::Evaluate`]), so far.
    pub conditions: &'a [ConditionResult],
    /// No other work is on its way to the branch ([`crate::flight::is_first`]).
    pub is_first: bool,
}

/// Ids for one step, made by the caller: the engine knows no randomness.
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

/// A condition that has to be evaluated before the step can be taken.
#[derive(Debug, Clone, PartialEq)]
pub struct Evaluate {
    /// The gate that work came to.
    pub gate: GateId,
    /// Its condition.
    pub condition: String,
    /// What the condition sees, as text: a JSON object of `tags`, `metadata` and, where the condition can name it, `gateHistory`.
    /// Nothing in it was written by an agent.
    pub scope: String,
    /// Whether the history is in it. Without that it is the same for work at every time, and so is what comes of it.
    pub has_history: bool,
}

/// What a step comes to.
#[derive(Debug, Clone)]
pub enum EngineStep {
    /// Append this entry.
    Append(Box<Entry>),
    /// Evaluate this condition, and take the step again with its result.
    Evaluate(Box<Evaluate>),
    /// Reserve this of the flight's budget ([`crate::flight::reserve`]), and take the step again.
    Reserve(Box<Need>),
    /// The input cannot be taken; its sender hears why.
    Refuse(Refusal),
    /// It was taken before, or is no longer due.
    Nothing,
}

#[cfg(test)]
pub(crate) mod tests;
