//! The compact, prose-free state of a waypoint, as it rides in every entry of its journal.
//!
//! How it changes is `holdpoint_engine::waypoint`; here are only its words.

mod delegated;
mod fork;
mod open;
mod queued;
mod visits;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Timestamp,
    artifact::{Disposition, Verb, VerificationPurpose},
    budget::Spent,
    checkpoint::{DocumentRef, GateCheckpoints},
    facts::{BundleRef, CriterionResult, LeftOut, Oid, Violation},
    ids::{AgentName, ArtifactId, GateId, RoleId, TurnId},
    journal::Cause,
    reason::{BlockReason, ReasonCode},
    words::words,
};

pub use delegated::Delegated;
pub use fork::{Branch, BranchStanding, OpenFork, Vote};
use open::is_zero;
pub use open::{
    JudgedCriterion, OpenAdvice, OpenTurn, Question, QuestionKind, QuestionStanding, TurnHolder, TurnQuestion,
};
pub use queued::{Alone, KeptReport, Queued, Stacked};
pub use visits::{EarlierVisits, GateEntries, GateVisit};

words! {
    /// The public status of a waypoint (contract, "With `--json`").
    Status {
        /// Not begun, or its dependencies are not complete.
        Pending = "pending",
        /// A turn is open, or its accepted work waits to land.
        Running = "running",
        /// For an answer or an approval.
        Waiting = "waiting",
        /// Accepted and landed.
        Complete = "complete",
        /// For a person's intervention.
        Blocked = "blocked",
        /// Its attempts or budget are used up.
        Failed = "failed",
        /// A person ended it.
        Cancelled = "cancelled",
    }
}

impl Status {
    /// Whether the waypoint landed, changed nothing, or was cancelled.
    #[must_use]
    pub const fn is_over(self) -> bool {
        matches!(self, Self::Complete | Self::Cancelled)
    }
}

/// Where a waypoint is. Durable, so an enum with the data of each phase.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "phase", rename_all = "snake_case")]
pub enum Phase {
    /// No entry yet.
    #[default]
    Pending,
    /// A turn is open.
    InTurn(OpenTurn),
    /// Several turns are open at the same time: where each is, is in the state's `fork`.
    Forked,
    /// Its work waits for a verifier's turn until it is integrated with what goes before it to the branch. No agent holds anything.
    Queued(Box<Queued>),
    /// Accepted; what landed is in the flight's journal.
    Accepted {
        /// When: the date of its landing commit.
        at: Timestamp,
    },
    /// Its children do the work (SDLC-2). No agent holds anything.
    Delegated(Box<Delegated>),
    /// A question is open. No agent holds anything; an answer opens the turn again.
    Waiting(Question),
    /// Blocked, failed or dead: a person can have it tried again where it is held.
    Held(Held),
    /// A person ended it. Nothing follows.
    Cancelled,
}

impl Phase {
    /// What kind of obstacle is in the way, where somebody says so.
    #[must_use]
    pub fn block_reason(&self) -> Option<BlockReason> {
        match self {
            Self::Waiting(question) => Some(question.block_reason),
            Self::Held(held) => held.block_reason,
            _ => None,
        }
    }
}

/// Work that only a person can have tried again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Held {
    /// `blocked` or `failed`.
    pub status: Status,
    /// Since when.
    pub since: Timestamp,
    /// Where it goes on.
    pub resume: Resume,
    /// What kind of obstacle it is, where who completed a gate as blocked says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub block_reason: Option<BlockReason>,
}

/// Where held work goes on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "where", rename_all = "snake_case")]
#[expect(clippy::large_enum_variant, reason = "there is one for a waypoint that is held")]
pub enum Resume {
    /// It has not begun.
    Beginning,
    /// This very turn, whose agents died or did not answer, opens again.
    Turn(OpenTurn),
    /// The fork that it is in goes on: votes count, and the other branches' turns open again.
    Fork,
    /// A new turn of this gate opens.
    Gate {
        /// The gate.
        gate: GateId,
        /// What the turn is for.
        purpose: Purpose,
    },
    /// It is accepted, and lands.
    Landing {
        /// When it was accepted.
        at: Timestamp,
    },
}

/// What an open turn is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// A build or repair turn.
    Build,
    /// A verifier's turn.
    Verify(VerificationPurpose),
    /// A turn of any other role, or of a person: an outcome with a summary.
    Complete,
    /// An advisor's turn: advice for the agent that calls for help at this gate.
    Advise,
}

/// Work that was handed off: one commit on the base.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Work {
    /// The commit; `None` when nothing changed.
    pub commit: Option<Oid>,
    /// Its tree.
    pub tree: Oid,
    /// What brings it, on top of the base's bundles.
    pub bundle: Option<BundleRef>,
    /// Broken path rules, as the orchestrator computed them from the objects.
    pub violations: Vec<Violation>,
    /// What its clone had besides, as its harness says.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<LeftOut>,
    /// Which role made it: `builder` or `repair`.
    pub role: RoleId,
    /// Which agent of that role, or the person who took its turn over.
    pub agent: AgentName,
    /// Who made the commits that this one goes on from, oldest first: at most [`EARLIER_MAKERS_MAX`], the newest of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub earlier_makers: Vec<AgentName>,
    /// The base it was handed off on, once it was merged with a newer head; `None` for work as it was handed off.
    pub made_on: Option<Oid>,
}

/// Makers of earlier commits that a state names. They are as many as reworks that different agents did, which people bound.
pub const EARLIER_MAKERS_MAX: usize = 64;

impl Work {
    /// Everybody who made a part of it; nobody, where nothing was changed.
    pub fn makers(&self) -> impl Iterator<Item = &AgentName> {
        let made = self.commit.is_some();
        self.earlier_makers.iter().chain(std::iter::once(&self.agent)).filter(move |_| made)
    }
}

words! {
    /// What a gate's turn came to (GATE-7).
    Outcome {
        /// On to the next gate.
        Complete = "complete",
        /// Back to the first gate.
        NeedsReview = "needs_review",
        /// Hold for a person.
        Blocked = "blocked",
        /// The engine passed over it.
        Skip = "skip",
    }
}

/// How the last decision went.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LastDecision {
    /// Its artifact id.
    pub id: ArtifactId,
    /// What became of the work.
    pub disposition: Disposition,
    /// Why.
    pub reason_code: ReasonCode,
    /// What a person can do.
    pub remediation: Option<String>,
}

/// What is used up. Each bound counts for itself (spec README, "how many retries").
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Counters {
    /// Decided build and repair turns.
    pub attempts: u32,
    /// Reworks and rollbacks.
    pub reworks: u32,
    /// Landing conflicts.
    pub conflicts: u32,
    /// Questions and calls for help, answered or not.
    #[serde(default)]
    pub clarifications: u32,
    /// Reworks that people granted on top of the plan's.
    #[serde(default)]
    pub granted: u32,
    /// Those of the reworks that went back to the base. Earlier versions did not count them.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub rollbacks: u32,
    /// Acts of people on it that were taken. Earlier versions did not count them.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub interventions: u32,
}

impl Counters {
    /// The number of the attempt that is under way, from 1. Work that collided has a number, though it was no attempt that counts: no
    /// two works of a waypoint have the same.
    #[must_use]
    pub fn attempt(&self) -> u32 {
        self.attempts.saturating_add(self.conflicts).saturating_add(1)
    }

    /// How often work was sent back: reworks, rollbacks, landing conflicts. Every decision that sends work back makes it
    /// one more; so does work that is merged a second time, without a decision.
    #[must_use]
    pub fn sent_back(&self) -> u32 {
        self.reworks.saturating_add(self.conflicts)
    }
}

/// The state of a waypoint: the fold of its journal.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WaypointState {
    /// Where it is.
    pub phase: Phase,
    /// The commit its work stands on; `None` before the first turn.
    pub base: Option<Oid>,
    /// What was last handed off on that base.
    pub work: Option<Work>,
    /// What is used up.
    pub counters: Counters,
    /// How the last decision went.
    pub decision: Option<LastDecision>,
    /// The last verdicts.
    pub criteria: Vec<CriterionResult>,
    /// The last verdicts on guards.
    pub guards: Vec<CriterionResult>,
    /// What came of checkpoints with them, gate by gate.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checkpoints: Vec<GateCheckpoints>,
    /// Whether a harness that is not Holdpoint's made the receipt behind these verdicts, by the key that signed the report
    /// and whatever it says of itself; `None` before the first verdicts. Earlier versions did not record it: foreign.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub foreign_receipt: Option<bool>,
    /// The last visits of gates, oldest first, a bounded list. All of them are in the journal, each in its own entries.
    pub history: Vec<GateVisit>,
    /// How often each gate was entered since a person last had the work tried again; counted where the workflow bounds it
    /// (GATE-18).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub entries: Vec<GateEntries>,
    /// The visits before those of `history`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub earlier_visits: Option<EarlierVisits>,
    /// The final handoff or act that was last taken, behind those that were taken before it in the same fork, a bounded list: their redelivery
    /// is no conflict.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub answered: Vec<WinningHandoff>,
    /// The fork that it is in; work that is held in one has it too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fork: Option<OpenFork>,
    /// The passing verification of what would land; accepted work without one has nothing that lands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verified: Option<Verified>,
    /// Every gate has let this work's diff through: after a clean merge it is verified, and not approved again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cleared: bool,
    /// The work is integrated behind other work that has not landed, and judged as it lands if that does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stacked: Option<Box<Stacked>>,
    /// Constraints that people set: they hold for every later turn.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub constraints: Vec<String>,
    /// The act of a person that was last taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acted: Option<Acted>,
    /// The last document of each gate that looks at work, one for each gate.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub documents: Vec<DocumentRef>,
    /// The handoff that proposes children, until they are asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proposal: Option<Cause>,
    /// By which of the flight's configurations it moves.
    #[serde(default, skip_serializing_if = "Configured::is_first")]
    pub configured: Configured,
    /// What its turns used up, in plans with such budgets.
    #[serde(default, skip_serializing_if = "Spent::is_empty")]
    pub spent: Spent,
}

/// By which of its flight's configurations a waypoint moves. They are counted: 0 is the one that the flight was submitted
/// with, and each reload makes one more (GATE-12).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Configured {
    /// The one by which it began: it passes over gates that were added since.
    pub began: u32,
    /// The one by which its last entry was decided.
    pub by: u32,
}

impl Configured {
    fn is_first(&self) -> bool {
        *self == Self::default()
    }
}

/// A passing verification.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Verified {
    /// The report's reference (`Holdpoint-Report`): the digest of its payload.
    pub report: crate::Digest,
    /// The tree that passed.
    pub tree: Oid,
    /// The base it stands on.
    pub base: Oid,
    /// The verifier found suspicious code in the change.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub suspicious: bool,
}

/// An act that was taken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Acted {
    /// Who.
    pub by: AgentName,
    /// What was done.
    pub verb: Verb,
    /// When it was taken.
    pub at: Timestamp,
    /// The digest of the act as sent: its redelivery is recognised.
    pub digest: crate::Digest,
}

/// A final handoff that won its turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WinningHandoff {
    /// The turn it answered.
    pub turn: TurnId,
    /// The digest of its payload as sent.
    pub digest: crate::Digest,
}

impl WaypointState {
    /// Whether its work is accepted and has a commit, which goes on the flight's branch.
    #[must_use]
    pub fn lands(&self) -> bool {
        matches!(self.phase, Phase::Accepted { .. }) && self.work.as_ref().is_some_and(|work| work.commit.is_some())
    }

    /// Where it is: the open branches of the fork that it is in, or its one phase.
    pub fn phases(&self) -> impl Iterator<Item = &Phase> {
        let fork = self.fork.as_ref().filter(|_| self.phase == Phase::Forked);
        let alone = fork.is_none().then_some(&self.phase);
        fork.into_iter().flat_map(OpenFork::phases).chain(alone)
    }

    /// Every turn that is open, also as one branch of a fork sees the waypoint.
    pub fn all_open_turns(&self) -> impl Iterator<Item = &OpenTurn> {
        let own = match &self.phase {
            Phase::InTurn(open) => Some(open),
            _ => None,
        };
        let in_fork = self.fork.iter().flat_map(OpenFork::phases).filter_map(|phase| match phase {
            Phase::InTurn(open) => Some(open),
            _ => None,
        });
        own.into_iter().chain(in_fork.filter(move |open| own.is_none_or(|own| own.turn != open.turn)))
    }

    /// Every turn that is open.
    pub fn open_turns(&self) -> impl Iterator<Item = &OpenTurn> {
        self.phases().filter_map(|phase| match phase {
            Phase::InTurn(open) => Some(open),
            _ => None,
        })
    }

    /// Every turn that is open, that a question waits to open again, also while advisors are asked, or that is held.
    pub fn open_or_held_turns(&self) -> impl Iterator<Item = &OpenTurn> {
        let turns = self.phases().filter_map(|phase| match phase {
            Phase::Held(Held { resume: Resume::Turn(open), .. }) => Some(open),
            other => other.turn(),
        });
        turns.flat_map(|open| [Some(open), open.advice().map(|advice| &advice.question.turn)]).flatten()
    }

    /// This turn, while it is open.
    #[must_use]
    pub fn open_turn(&self, turn: &TurnId) -> Option<&OpenTurn> {
        self.open_turns().find(|open| &open.turn == turn)
    }

    /// The advice that is asked for: an advisor's turn is open.
    #[must_use]
    pub fn advice(&self) -> Option<&OpenAdvice> {
        if let Phase::InTurn(open) = &self.phase { open.advice() } else { None }
    }

    /// When its first gate was entered.
    #[must_use]
    pub fn begun_at(&self) -> Option<Timestamp> {
        let first = || self.history.first().map(|visit| visit.entered);
        self.earlier_visits.map(|earlier| earlier.since).or_else(first)
    }
}
