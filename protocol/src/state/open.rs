//! Turns that are open, and the questions that are asked in them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Purpose;
use crate::{
    Timestamp,
    budget::Allowance,
    facts::Verdict,
    ids::{AgentName, CriterionId, GateId, RoleId, TurnId},
    journal::Cause,
    reason::BlockReason,
};

/// The turn a waypoint waits for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OpenTurn {
    /// The fencing token.
    pub turn: TurnId,
    /// Which role may answer it.
    pub role: RoleId,
    /// The gate it belongs to.
    pub gate: GateId,
    /// What it is for.
    pub purpose: Purpose,
    /// How far the turn came in its gate's escalations: 0 is the gate's own role, 1 the first role to which it escalates.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub link: u32,
    /// Who can answer it.
    #[serde(default, skip_serializing_if = "TurnHolder::is_agents")]
    pub holder: TurnHolder,
    /// Of a verifier's turn: what a person said of criteria without a check, who had taken the turn over. No report says
    /// anything else.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub judged: Vec<JudgedCriterion>,
    /// The configuration of its flight by whose org chart only some agents of the role may answer it: those whom it names, and those
    /// whom the newest one names. Absent: any agent of the role.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub listed_by: Option<u32>,
    /// When it was opened.
    pub opened_at: Timestamp,
    /// When it is reopened if nothing was handed off.
    pub deadline: Timestamp,
    /// How often it was reopened for that.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub redeliveries: u32,
    /// Questions that its agents asked and wait for while it stays open, oldest first, a bounded list. Only the last may be
    /// open.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub questions: Vec<TurnQuestion>,
    /// What its program may use up, in plans with such budgets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allowance: Option<Allowance>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
pub(super) fn is_zero(count: &u32) -> bool {
    *count == 0
}

/// Who can answer an open turn.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "who", rename_all = "snake_case")]
pub enum TurnHolder {
    /// The agents of its role.
    #[default]
    Agents,
    /// People: it waits, and no agent pulls it.
    People,
    /// The person who took it over from its role (GATE-33): nobody else can answer it or give it back.
    Person {
        /// Who.
        name: AgentName,
    },
    /// An advisor, for the agent whose turn waits (RETRY-12).
    Advisor(Box<OpenAdvice>),
}

impl TurnHolder {
    fn is_agents(&self) -> bool {
        *self == Self::Agents
    }
}

/// A person's verdict on a criterion, without its words (FLY-18).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct JudgedCriterion {
    /// The criterion.
    pub criterion: CriterionId,
    /// `pass` or `fail`.
    pub verdict: Verdict,
}

/// A question that waits in its turn: a reference, never its words (FLY-18).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TurnQuestion {
    /// The handoff that asks.
    pub asked: Cause,
    /// Distinguishes it from other questions: the digest of its words.
    pub words: crate::Digest,
    /// Since when.
    pub since: Timestamp,
    /// How long its asker waits, by the asker's clock. Then the question ends the turn.
    pub until: Timestamp,
    /// What became of it.
    pub standing: QuestionStanding,
}

/// What became of a question that waits in its turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum QuestionStanding {
    /// It is open.
    Open,
    /// It was answered.
    Answered {
        /// The act of a person; `None`: the plan's `answers` did.
        by: Option<Cause>,
    },
    /// Another question took its place.
    Withdrawn,
}

impl OpenTurn {
    /// Whether only a person can answer it.
    #[must_use]
    pub fn is_peoples(&self) -> bool {
        matches!(self.holder, TurnHolder::People | TurnHolder::Person { .. })
    }

    /// The person who took it over.
    #[must_use]
    pub fn taken_by(&self) -> Option<&AgentName> {
        if let TurnHolder::Person { name } = &self.holder { Some(name) } else { None }
    }

    /// The advice that is asked for, of an advisor's turn.
    #[must_use]
    pub fn advice(&self) -> Option<&OpenAdvice> {
        if let TurnHolder::Advisor(advice) = &self.holder { Some(advice) } else { None }
    }

    /// The question that waits for an answer.
    #[must_use]
    pub fn asking(&self) -> Option<&TurnQuestion> {
        self.questions.last().filter(|question| question.standing == QuestionStanding::Open)
    }
}

/// An open question: a reference, never its words (FLY-18).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Question {
    /// The turn in which it was asked, which the answer opens again.
    pub turn: OpenTurn,
    /// The handoff that asks.
    pub asked: Cause,
    /// A question, or a call for help.
    pub kind: QuestionKind,
    /// What kind of obstacle is in the asker's way (DOC-7).
    #[serde(default)]
    pub block_reason: BlockReason,
    /// Since when.
    pub since: Timestamp,
    /// When it is held for want of an answer; `None`: never.
    pub deadline: Option<Timestamp>,
}

/// Advice that is asked for (RETRY-12): what was asked by reference, and counts. The words ride in the advisors' turns.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OpenAdvice {
    /// The question as it waits for a person if no advisor can help.
    pub question: Question,
    /// Which round, from 1.
    pub round: u32,
    /// Advisors that were asked in this round, the one included whose turn is open.
    pub asked: u32,
    /// How many of them helped.
    pub helped: u32,
}

/// What kind of question waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum QuestionKind {
    /// A `clarification_request`.
    Clarification,
    /// A `help_request`.
    Help,
}
