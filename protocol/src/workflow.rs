//! Declared workflows, as they are recorded with a flight.
//!
//! Whether a declaration is sound is `holdpoint_planfile::declared`; whether gates make a workflow that the engine runs, and
//! where an outcome leads, is `holdpoint_planfile::gates`.

mod escalation;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Digest,
    checkpoint::GateDemands,
    ids::{AgentName, GateId, RoleId},
    org::Plane,
    state::Outcome,
    time::Millis,
};

pub use escalation::{ESCALATIONS_MAX, Escalation};

/// A workflow as declared: an ordered list of gates (spec GATE-1).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkflowSpec {
    /// Its name, by which plans and waypoints choose it.
    pub name: String,
    /// What it is for, one line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The gates, in order.
    pub gates: Vec<GateOrFork>,
    /// What an agent's turn came to that names no outcome; absent: `complete`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default_outcome: Option<Outcome>,
    /// Where a rejection leads.
    #[serde(default, skip_serializing_if = "RejectionStrategy::is_origin")]
    pub rejection_strategy: RejectionStrategy,
    /// What outcomes lead to, where the workflow says so.
    #[serde(default, skip_serializing_if = "ByOutcome::is_empty")]
    pub outcomes: ByOutcome<Effect>,
    /// The person to notify of stuck work. Declared once per file; a flight records it with each workflow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<AgentName>,
    /// More people to notify. Recorded like `owner`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stakeholders: Vec<AgentName>,
    /// The roles whose turns only these agents answer (`onlyListed` of the org chart); of any other role every agent
    /// with a key of it. Never written in a file: a flight records what the org chart of its day says.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub listed: BTreeMap<RoleId, Vec<AgentName>>,
}

impl WorkflowSpec {
    /// A workflow of these gates that says nothing else.
    #[must_use]
    pub fn new(name: impl Into<String>, gates: impl IntoIterator<Item = GateSpec>) -> Self {
        Self {
            name: name.into(),
            description: None,
            gates: gates.into_iter().map(GateOrFork::from).collect(),
            default_outcome: None,
            rejection_strategy: RejectionStrategy::default(),
            outcomes: ByOutcome::default(),
            owner: None,
            stakeholders: Vec::new(),
            listed: BTreeMap::new(),
        }
    }

    /// The people to notify of stuck work, each once: the owner, who is the person who submitted the work where none is
    /// declared, then the stakeholders. A script that submitted it is nobody to notify.
    #[must_use]
    pub fn notified(&self, submitter: Option<&AgentName>) -> Vec<AgentName> {
        let owner = self.owner.as_ref().or_else(|| submitter.filter(|by| is_human(by)));
        let mut all = Vec::new();
        for person in owner.into_iter().chain(&self.stakeholders) {
            if !all.contains(person) {
                all.push(person.clone());
            }
        }
        all
    }

    /// Every gate, those of forks included, in order.
    pub fn all_gates(&self) -> impl Iterator<Item = &GateSpec> {
        self.gates.iter().flat_map(|item| match item {
            GateOrFork::Gate(gate) => std::slice::from_ref(gate),
            GateOrFork::Fork(fork) => fork.branches.as_slice(),
        })
    }
}

/// Something for each outcome that an agent or person can send.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ByOutcome<T> {
    /// For `complete`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub complete: Option<T>,
    /// For `needs_review`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub needs_review: Option<T>,
    /// For `blocked`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blocked: Option<T>,
}

impl<T> ByOutcome<T> {
    /// Whether nothing is said of any outcome.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.complete.is_none() && self.needs_review.is_none() && self.blocked.is_none()
    }
}

impl<T> Default for ByOutcome<T> {
    fn default() -> Self {
        Self { complete: None, needs_review: None, blocked: None }
    }
}

/// What a gate says to the holder of its turn, and nothing about other gates (GATE-20).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GateContext {
    /// What they go through.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub expectations: Vec<String>,
    /// Advice.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tips: Vec<String>,
    /// What outcomes mean here.
    #[serde(default, skip_serializing_if = "ByOutcome::is_empty")]
    pub outcome_help: ByOutcome<String>,
    /// What is demanded of what they hand off.
    #[serde(flatten)]
    pub demands: GateDemands,
}

impl GateContext {
    /// Whether it says nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// What a gate is for, and what it says to the holder of its turn (GATE-20).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GateBrief {
    /// What the gate is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// What the role is for, as the org chart has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role_description: Option<String>,
    /// What the gate says.
    #[serde(flatten)]
    pub context: GateContext,
}

impl GateBrief {
    /// Whether it says nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Where a rejection leads (GATE-14, GATE-31).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RejectionStrategy {
    /// To the first gate.
    #[default]
    Origin,
    /// To the gate before.
    Previous,
    /// To the gate that `rejectTo` of the rejecting one names.
    Named,
}

impl RejectionStrategy {
    fn is_origin(&self) -> bool {
        *self == Self::Origin
    }
}

/// What an outcome leads to (GATE-1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// On to the next gate.
    Advance,
    /// Back, as the rejection strategy says.
    Reject,
    /// It stays in its gate, for a person.
    Hold,
}

/// One item of a workflow: a gate, or several that are open at the same time. A fork says `type: fork`, and a gate at which a
/// role that makes work only looks at it says `type: inspection`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[expect(clippy::large_enum_variant, reason = "nearly every item is a gate")]
pub enum GateOrFork {
    /// Several gates at the same time.
    Fork(ForkSpec),
    /// One gate.
    Gate(GateSpec),
}

impl From<GateSpec> for GateOrFork {
    fn from(gate: GateSpec) -> Self {
        Self::Gate(gate)
    }
}

impl GateOrFork {
    /// Its id: gates and forks share one set of names.
    #[must_use]
    pub fn id(&self) -> &GateId {
        match self {
            Self::Fork(fork) => &fork.id,
            Self::Gate(gate) => &gate.id,
        }
    }
}

/// Several gates that are open at the same time, as declared (GATE-29).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ForkSpec {
    /// Unique in the workflow.
    pub id: GateId,
    /// Distinguishes a fork from a gate.
    #[serde(rename = "type")]
    pub kind: ForkKind,
    /// What it is for, one line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Its gates.
    pub branches: Vec<GateSpec>,
    /// When work goes on.
    #[serde(default)]
    pub join_strategy: JoinStrategy,
    /// When it is entered at all: a predicate; absent: always.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when: Option<String>,
    /// Anything.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub metadata: BTreeMap<String, serde_json::Value>,
}

/// The type that a fork names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ForkKind {
    /// A fork.
    Fork,
}

/// The type that a gate can name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GateKind {
    /// Its role looks at the work and completes the gate with an outcome, also where other turns of the role make work
    /// (GATE-30).
    Inspection,
    /// No turn opens: the children of the waypoint do the work, and it goes on once they are complete (SDLC-2).
    Children,
}

/// How many branches of a fork have to complete.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum JoinStrategy {
    /// All of them.
    #[default]
    All,
    /// One.
    Any,
    /// More than half.
    Majority,
}

/// A gate as declared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GateSpec {
    /// Unique in the workflow.
    pub id: GateId,
    /// Which role has the turn there.
    pub role: RoleId,
    /// What its turns are, where that does not follow from the role.
    #[serde(rename = "type", default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<GateKind>,
    /// What the gate is for, one line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Whether that role may send work back.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub can_reject: bool,
    /// Whether only a person may complete it (GATE-16).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub require_human: bool,
    /// The people who may complete it; empty: any person of the fleet.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub people: Vec<AgentName>,
    /// How long a turn of this gate may take before it is held for a person's intervention.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Millis>,
    /// Which roles get a turn that timed out, one after the other; none: the same role has it again. `escalateTo` in a file.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub escalations: Vec<Escalation>,
    /// `build`: its turns make work, as a builder's do. In a file `type: build` says so; else a flight records what the org chart of
    /// its day says of the role.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plane: Option<Plane>,
    /// Nobody has the role: work that comes to the gate is held (GATE-3). Never written in a file: a flight records what the org
    /// chart of its day says.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub vacant: bool,
    /// What the role is for. Never written in a file: a flight records what the org chart of its day says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role_description: Option<String>,
    /// When the gate is entered at all: a predicate; absent: always.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when: Option<String>,
    /// The workflow by which children of the waypoint are flown, at a gate of the type `children`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub child_workflow: Option<String>,
    /// Where its rejections lead, with [`RejectionStrategy::Named`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reject_to: Option<GateId>,
    /// The checklist of the agent or person who has the turn.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub expectations: Vec<String>,
    /// Advice to them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tips: Vec<String>,
    /// What outcomes mean at this gate, in words for them.
    #[serde(default, skip_serializing_if = "ByOutcome::is_empty")]
    pub outcome_help: ByOutcome<String>,
    /// What is demanded of what is handed off at this gate.
    #[serde(flatten)]
    pub demands: GateDemands,
    /// Anything; `kind` decides on the default of `timeout`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub metadata: BTreeMap<String, serde_json::Value>,
}

impl GateSpec {
    /// A gate that says nothing but its role.
    #[must_use]
    pub fn new(id: GateId, role: RoleId) -> Self {
        Self {
            id,
            role,
            kind: None,
            description: None,
            can_reject: false,
            require_human: false,
            people: Vec::new(),
            timeout: None,
            escalations: Vec::new(),
            plane: None,
            vacant: false,
            role_description: None,
            when: None,
            child_workflow: None,
            reject_to: None,
            expectations: Vec::new(),
            tips: Vec::new(),
            outcome_help: ByOutcome::default(),
            demands: GateDemands::default(),
            metadata: BTreeMap::new(),
        }
    }
}

/// A workflow in a flight's submission: what the flight is flown by, whatever is declared later.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RecordedWorkflow {
    /// The digest of the workflow's JSON form: shows drift between declarations.
    pub digest: Digest,
    /// The workflow.
    pub workflow: WorkflowSpec,
}

impl From<WorkflowSpec> for RecordedWorkflow {
    fn from(workflow: WorkflowSpec) -> Self {
        let json = serde_json::to_vec(&workflow).expect("plain data with string keys has a JSON form");
        Self { digest: Digest::of(&json), workflow }
    }
}

/// What the name of every person begins with (GATE-2).
pub const HUMAN_PREFIX: &str = "human-";

/// Whether a key of this name is a person's.
#[must_use]
pub fn is_human(name: &AgentName) -> bool {
    name.as_str().len() > HUMAN_PREFIX.len() && name.as_str().starts_with(HUMAN_PREFIX)
}
