//! A fork that a waypoint is in: its branches, each with a turn or vote of its own (GATE-29).
//!
//! When a fork is decided is `holdpoint_planfile::gates`; how branches move is `holdpoint_engine::waypoint`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{OpenTurn, Outcome, Phase};
use crate::{
    Digest, Timestamp,
    artifact::Disposition,
    ids::{AgentName, GateId, TurnId},
    reason::ReasonCode,
};

/// A fork that was entered and is not decided yet. Work that is held in one keeps the votes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OpenFork {
    /// Its id in the workflow.
    pub fork: GateId,
    /// When it was entered.
    pub since: Timestamp,
    /// Its branches, in the workflow's order.
    pub branches: Vec<Branch>,
}

/// One branch of a fork.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Branch {
    /// Its gate.
    pub gate: GateId,
    /// How it stands.
    pub standing: BranchStanding,
}

/// How a branch stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "is", rename_all = "snake_case")]
#[expect(clippy::large_enum_variant, reason = "most branches are open while a fork is")]
pub enum BranchStanding {
    /// Its turn is to be opened.
    Due,
    /// Its condition does not hold, or its work was let through before: it has no vote.
    Skipped,
    /// Its turn is open, or a question of it. Never another phase.
    Open(Phase),
    /// It was completed or rejected.
    Voted(Vote),
}

/// What a branch came to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Vote {
    /// `complete` or `needs_review`.
    pub outcome: Outcome,
    /// Who.
    pub by: AgentName,
    /// What would become of the work by this vote alone.
    pub disposition: Disposition,
    /// Why.
    pub reason_code: ReasonCode,
    /// The digest of the handoff or act, which has the words.
    pub cause: Digest,
}

impl OpenFork {
    /// The branch of this gate.
    #[must_use]
    pub fn branch(&self, gate: &GateId) -> Option<&Branch> {
        self.branches.iter().find(|branch| &branch.gate == gate)
    }

    /// The branch of this gate, to be changed.
    pub fn branch_mut(&mut self, gate: &GateId) -> Option<&mut Branch> {
        self.branches.iter_mut().find(|branch| &branch.gate == gate)
    }

    /// What its open branches are in.
    pub fn phases(&self) -> impl Iterator<Item = &Phase> {
        self.branches.iter().filter_map(Branch::phase)
    }

    /// The votes so far, with their gates.
    pub fn votes(&self) -> impl Iterator<Item = (&GateId, &Vote)> {
        self.branches.iter().filter_map(|branch| match &branch.standing {
            BranchStanding::Voted(vote) => Some((&branch.gate, vote)),
            _ => None,
        })
    }

    /// The branch in which this turn is open, or was asked about.
    #[must_use]
    pub fn with_turn(&self, turn: &TurnId) -> Option<&Branch> {
        self.branches.iter().find(|branch| branch.phase().and_then(Phase::turn).is_some_and(|open| &open.turn == turn))
    }
}

impl Branch {
    /// What it is in, while it is open.
    #[must_use]
    pub fn phase(&self) -> Option<&Phase> {
        match &self.standing {
            BranchStanding::Open(phase) => Some(phase),
            _ => None,
        }
    }
}

impl Phase {
    /// The turn that is open, or that a question waits to open again.
    #[must_use]
    pub fn turn(&self) -> Option<&OpenTurn> {
        match self {
            Self::InTurn(open) => Some(open),
            Self::Waiting(question) => Some(&question.turn),
            _ => None,
        }
    }
}
