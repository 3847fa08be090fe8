//! What users see: the object that `run`, `status` and the API answer with (contract, "With `--json`").

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Digest, Timestamp,
    artifact::{Disposition, Verb},
    budget::Amounts,
    checkpoint::GateCheckpoints,
    facts::{BundleRef, CriterionResult, Oid},
    ids::{AgentName, FlightId, GateId, RoleId, TurnId, WaypointId},
    reason::{BlockReason, ReasonCode},
    state::{Outcome, Purpose, Status},
    words::words,
    workflow::{RecordedWorkflow, WorkflowSpec},
};

words! {
    /// How a flight stands.
    FlightStatus {
        /// Something can move on by itself.
        Running = "running",
        /// Only an answer or an approval can move it on.
        Waiting = "waiting",
        /// All waypoints are complete.
        Accepted = "accepted",
        /// Nothing but a person's intervention can move it on, and not all are complete.
        Incomplete = "incomplete",
    }
}

impl FlightStatus {
    /// Whether nothing of it moves on by itself, and no answer or approval can move it on.
    #[must_use]
    pub fn is_over(self) -> bool {
        matches!(self, Self::Accepted | Self::Incomplete)
    }
}

/// A flight as users see it. The API answers with a page of it: all fields but the lists are on each page, `landings`,
/// `brought_by` and `trouble` on the first one only.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FlightView {
    /// The flight.
    pub flight: FlightId,
    /// The plan's name.
    pub plan: String,
    /// How it stands.
    pub status: FlightStatus,
    /// The commit it started from.
    pub base: Oid,
    /// The branch that accepted work stands on.
    pub branch: String,
    /// The commit of the last landing, or the base.
    pub head: Oid,
    /// A person paused it: no turn opens and no deadline fires.
    #[serde(default)]
    pub paused: bool,
    /// When it was submitted; absent where an earlier orchestrator answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub submitted_at: Option<Timestamp>,
    /// The waypoints, in the plan's order.
    pub waypoints: Vec<WaypointView>,
    /// More waypoints follow this one: ask again with it as `after`. Absent on the last page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<WaypointId>,
    /// What brings the branch, in order, on top of the base.
    pub landings: Vec<BundleRef>,
    /// The fewest bundles that bring the head, in order, on top of the base: some bring several landings. Empty where
    /// nothing landed, or an earlier orchestrator answered.
    #[serde(default)]
    pub brought_by: Vec<BundleRef>,
    /// What fails at the moment and is tried again, as far as the orchestrator that answers knows. Nothing is lost
    /// meanwhile, and it goes away by itself once the cause is fixed. The oldest of them, where there are many.
    #[serde(default)]
    pub trouble: Vec<Trouble>,
    /// How many more there are.
    #[serde(default)]
    pub trouble_left_out: u64,
    /// The declared workflows that it is flown by; on the first page only.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub workflows: Vec<FlownWorkflow>,
}

impl FlightView {
    /// How many waypoints are complete, of how many. One with children counts by them alone: nothing of its own lands.
    #[must_use]
    pub fn progress(&self) -> (usize, usize) {
        let parents: BTreeSet<&WaypointId> =
            self.waypoints.iter().filter_map(|waypoint| waypoint.parent.as_ref()).collect();
        let makes_work = |waypoint: &&WaypointView| !parents.contains(&waypoint.id);
        let counted = || self.waypoints.iter().filter(makes_work);
        (counted().filter(|waypoint| waypoint.status == Status::Complete).count(), counted().count())
    }
}

/// A declared workflow as a flight is flown by it: enough to see where the files differ from it (GATE-12).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FlownWorkflow {
    /// Its name.
    pub name: String,
    /// Its digest, as it is recorded in the journal.
    pub digest: Digest,
    /// Its gates, in order.
    pub gates: Vec<FlownGate>,
    /// Those of its roles whose turns the org chart gives to some only. Empty where an earlier orchestrator answered.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub members: Vec<FlownMembers>,
}

/// A gate of a workflow that is flown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FlownGate {
    /// The gate.
    pub gate: GateId,
    /// Whose turn it is there.
    pub role: RoleId,
}

/// Who has a role: people, or the agents whom the org chart lists. Enough to see that they are others; a list may be long.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FlownMembers {
    /// The role.
    pub role: RoleId,
    /// How many they are.
    pub count: u32,
    /// Of their names, sorted, as a JSON list.
    pub digest: Digest,
}

impl From<&RecordedWorkflow> for FlownWorkflow {
    fn from(recorded: &RecordedWorkflow) -> Self {
        let RecordedWorkflow { digest, workflow } = recorded;
        let gates = workflow.all_gates().map(|gate| FlownGate { gate: gate.id.clone(), role: gate.role.clone() });
        Self { name: workflow.name.clone(), digest: *digest, gates: gates.collect(), members: members(workflow) }
    }
}

/// Everybody whom the workflow names for a role, at any of its gates.
fn members(workflow: &WorkflowSpec) -> Vec<FlownMembers> {
    let mut named: BTreeMap<&RoleId, BTreeSet<&AgentName>> = BTreeMap::new();
    for (role, agents) in &workflow.listed {
        named.entry(role).or_default().extend(agents);
    }
    for gate in workflow.all_gates() {
        let links = gate.escalations.iter().map(|link| (&link.role, &link.people));
        for (role, people) in links.chain([(&gate.role, &gate.people)]).filter(|(_, people)| !people.is_empty()) {
            named.entry(role).or_default().extend(people);
        }
    }
    let of = |(role, names): (&RoleId, BTreeSet<&AgentName>)| FlownMembers {
        role: role.clone(),
        count: u32::try_from(names.len()).unwrap_or(u32::MAX),
        digest: Digest::of(&serde_json::to_vec(&names).expect("names have a JSON form")),
    };
    named.into_iter().map(of).collect()
}

/// Something that fails again and again for a reason that is not the work's: a full disk, a missing blob.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Trouble {
    /// The waypoint that it holds up; `None`: the whole flight.
    pub waypoint: Option<WaypointId>,
    /// What cannot be done, and why. One line.
    pub message: String,
    /// When it failed first.
    pub since: Timestamp,
    /// When it failed last.
    pub last: Timestamp,
    /// How often it has failed.
    pub failures: u32,
}

/// A waypoint as users see it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WaypointView {
    /// The waypoint.
    pub id: WaypointId,
    /// One line for people.
    pub title: String,
    /// How it stands.
    pub status: Status,
    /// The gate it is in.
    pub gate: Option<GateId>,
    /// The last decision.
    pub disposition: Option<Disposition>,
    /// Why.
    pub reason_code: Option<ReasonCode>,
    /// Decided build and repair turns.
    pub attempts: u32,
    /// How often its work was sent back: reworks, rollbacks and landing conflicts. A reader who sees it grow by more
    /// than one between two looks has missed a decision. 0 where an earlier orchestrator answered.
    #[serde(default)]
    pub sent_back: u32,
    /// The landed commit.
    pub commit: Option<Oid>,
    /// The last verdicts.
    pub criteria: Vec<CriterionResult>,
    /// The last verdicts on guards.
    pub guards: Vec<CriterionResult>,
    /// What came of checkpoints with them, gate by gate.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checkpoints: Vec<GateCheckpoints>,
    /// Whether a harness that is not Holdpoint's made the receipt behind these verdicts; `None` before the first verdicts.
    #[serde(default)]
    pub foreign_receipt: Option<bool>,
    /// The agent that made the work reached these verdicts: nobody else verified it (FLY-36).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub self_checked: bool,
    /// The waypoint whose child it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<WaypointId>,
    /// What it builds on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<WaypointId>,
    /// What of that has not landed yet, its children that are not complete, and the works that land before it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waits_for: Vec<WaypointId>,
    /// How often its work went back to the base.
    #[serde(default)]
    pub rollbacks: u32,
    /// How many acts of people on it were taken.
    #[serde(default)]
    pub interventions: u32,
    /// What its turns used up together, in plans with budgets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub used: Option<Amounts>,
    /// What a person can do.
    pub remediation: Option<String>,
    /// What kind of obstacle blocks it, where who completed its gate says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub block_reason: Option<BlockReason>,
    /// The acts that are open to people; the commands of the same names do them.
    #[serde(default)]
    pub actions: Vec<Verb>,
    /// The open turn.
    pub turn: Option<TurnView>,
    /// How the branches of the fork stand that it is in; `gate` names the fork then.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub branches: Vec<BranchView>,
    /// When something happened to it last; absent before it begins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changed_at: Option<Timestamp>,
}

impl WaypointView {
    /// The turns that are open.
    pub fn open_turns(&self) -> impl Iterator<Item = &TurnView> {
        self.turn.iter().chain(self.branches.iter().filter_map(|branch| branch.turn.as_ref()))
    }

    /// Whether its children do the work, and it waits for them alone.
    #[must_use]
    pub fn is_delegated(&self) -> bool {
        let at_rest = self.turn.is_none() && self.branches.is_empty();
        self.status == Status::Waiting && at_rest && !self.waits_for.is_empty()
    }

    /// Whether an agent waits for an answer while its turn goes on.
    #[must_use]
    pub fn asks_in_turn(&self) -> bool {
        self.status == Status::Running && self.actions.contains(&Verb::Answer)
    }

    /// Whether nothing of it moves on until a person acts.
    #[must_use]
    pub fn needs_people(&self) -> bool {
        matches!(self.status, Status::Waiting | Status::Blocked | Status::Failed) && !self.is_delegated()
    }
}

/// A branch of a fork as users see it (GATE-29).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BranchView {
    /// Its gate.
    pub gate: GateId,
    /// How it stands.
    pub standing: BranchStatus,
    /// `complete` or `needs_review`, once it voted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
    /// Who voted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<AgentName>,
    /// Its open turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<TurnView>,
}

/// How a branch stands, in a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BranchStatus {
    /// Its turn opens next.
    Due,
    /// It has no vote: its condition does not hold.
    Skipped,
    /// An agent's turn is open.
    Running,
    /// For a person.
    Waiting,
    /// It voted.
    Voted,
}

/// An open turn as users see it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TurnView {
    /// The turn.
    pub turn: TurnId,
    /// The role whose turn it is.
    pub role: RoleId,
    /// What it is for.
    pub purpose: Purpose,
    /// The number of the attempt that it belongs to, from 1.
    #[serde(default)]
    pub attempt: u32,
    /// Since when.
    pub opened_at: Timestamp,
    /// Until when.
    pub deadline: Timestamp,
    /// Who holds it, as far as is known.
    pub agent: Option<AgentName>,
    /// How often its role has let it pass unanswered: it was offered to the same role again each time.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub overdue: u32,
}

fn is_zero(overdue: &u32) -> bool {
    *overdue == 0
}
