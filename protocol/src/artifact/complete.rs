//! What a gate's turn came to: of people and of agents that neither build nor verify (GATE-7, GATE-21).
//!
//! What a completion has to say, and what its sender learns where it does not, is `holdpoint_engine::completion`.

use std::collections::BTreeMap;

use super::{Failure, IgnoredMarker, Metered};
use crate::{
    artifact::artifact,
    checkpoint::GateDocument,
    ids::{AgentName, TurnId},
    reason::BlockReason,
    state::Outcome,
};

artifact! {
    /// Says who holds a turn that is completed. Published before the completion.
    CompletionPlan(CompletionPlanBody) = "completion_plan" {
        /// The turn.
        turn: TurnId,
        /// Which delivery of the turn, from 1.
        delivery: u32,
        /// Who holds it.
        agent: AgentName,
    }
}

artifact! {
    /// A gate's turn is completed (GATE-21).
    Completion(CompletionBody) = "completion" {
        /// Who completes it.
        agent: AgentName,
        /// The turn, of an agent; `None`: a person completes what `on` names.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        turn: Option<TurnId>,
        /// Which delivery of the turn, from 1; 0 for a person.
        #[serde(default, skip_serializing_if = "is_zero")]
        delivery: u32,
        /// What was looked at, as the inbox names it (`ref`); `None`: what is open by the time it is taken.
        #[serde(default)]
        on: Option<String>,
        /// `complete`, `needs_review` or `blocked`; of an agent, `None` is the workflow's `defaultOutcome` (GATE-7).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        outcome: Option<Outcome>,
        /// One or two sentences.
        #[serde(default)]
        summary: String,
        /// What has to change, for `needs_review` and `blocked`.
        #[serde(default)]
        blockers: Vec<String>,
        /// What kind of obstacle it is, for `blocked` alone (FLY-29a).
        #[serde(default, alias = "blockReason", skip_serializing_if = "Option::is_none")]
        block_reason: Option<BlockReason>,
        /// What else the next agent to get the work has to know.
        #[serde(default, alias = "rejectionNotes", skip_serializing_if = "Option::is_none")]
        rejection_notes: Option<String>,
        /// The gate's document, with what came of its checkpoints.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        document: Option<Box<GateDocument>>,
        /// Anything. It is kept with the completion, and nothing is decided by it.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        metadata: BTreeMap<String, serde_json::Value>,
        /// Why the turn failed, of an agent: then it came to no outcome, and what else is said does not count.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        failure: Option<Failure>,
        /// What its program used up, by its own word as far as it is not measured.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        metered: Option<Metered>,
        /// Markers in its program's output that say nothing where they are (FLY-25).
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        markers_ignored: Vec<IgnoredMarker>,
    }
}

impl CompletionBody {
    /// What a person completes that looked at this.
    #[must_use]
    pub fn of_person(agent: AgentName, on: Option<String>, outcome: Outcome) -> Self {
        Self {
            agent,
            turn: None,
            delivery: 0,
            on,
            outcome: Some(outcome),
            summary: String::new(),
            blockers: Vec::new(),
            block_reason: None,
            rejection_notes: None,
            document: None,
            metadata: BTreeMap::new(),
            failure: None,
            metered: None,
            markers_ignored: Vec::new(),
        }
    }

    /// What an agent completes that has this delivery of a turn.
    #[must_use]
    pub fn of_agent(agent: AgentName, turn: TurnId, delivery: u32) -> Self {
        let of_person = Self::of_person(agent, None, Outcome::Complete);
        Self { turn: Some(turn), delivery, outcome: None, ..of_person }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_zero(delivery: &u32) -> bool {
    *delivery == 0
}
