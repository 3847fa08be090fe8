//! By which workflow a waypoint moves, and whom that names for its gates.

use holdpoint_planfile::{checkpoints, gates::Workflow, workflows::ONE_GATE};
use holdpoint_protocol::{
    checkpoint::CheckpointRule,
    ids::{AgentName, GateId, RoleId},
    plan::{Check, Waypoint},
    state::{Phase, Resume, WaypointState},
    workflow::WorkflowSpec,
};

use super::FlightState;

impl FlightState {
    /// The name of the workflow by which a waypoint moves.
    #[must_use]
    pub fn workflow_name<'a>(&'a self, waypoint: &'a Waypoint) -> &'a str {
        self.configured.name_at(self.configured.newest(), self.planned_name(waypoint))
    }

    fn planned_name<'a>(&'a self, waypoint: &'a Waypoint) -> &'a str {
        waypoint.workflow.as_deref().unwrap_or(&self.submitted.plan.workflow)
    }

    /// The workflow by which a waypoint moves, as it is recorded.
    #[must_use]
    pub fn declared(&self, waypoint: &Waypoint) -> Option<&WorkflowSpec> {
        self.configured.spec(self.configured.newest(), self.workflow_name(waypoint))
    }

    /// Whether what was under way without a workflow of its project moves by one that was declared since.
    pub(crate) fn is_adopted(&self, waypoint: &Waypoint, state: &WaypointState) -> bool {
        let before = self.configured.name_at(state.configured.by, self.planned_name(waypoint));
        before == ONE_GATE && self.workflow_name(waypoint) != ONE_GATE
    }

    /// How a waypoint moves that begins now.
    #[must_use]
    pub fn workflow(&self, waypoint: &Waypoint) -> Option<&Workflow> {
        self.configured.flown(self.configured.newest())?.get(self.workflow_name(waypoint))
    }

    /// How a waypoint moves as it stands. A waypoint that has begun passes over gates that were added since.
    #[must_use]
    pub fn workflow_of(&self, waypoint: &Waypoint, state: &WaypointState) -> Option<&Workflow> {
        match began(state) {
            Some(began) => self.configured.flown(began)?.get(self.workflow_name(waypoint)),
            None => self.workflow(waypoint),
        }
    }

    /// The checks that checkpoints at any of a waypoint's gates run.
    #[must_use]
    pub fn checkpoint_checks(&self, waypoint: &Waypoint) -> Vec<Check> {
        let gates = self.workflow(waypoint).into_iter().flat_map(Workflow::gates);
        let demands = gates.map(|gate| checkpoints::in_plan(&gate.context.demands, &self.submitted.plan));
        let rules = demands.flat_map(|demands| demands.checkpoints).filter_map(|spec| spec.rule);
        let checks = rules.filter_map(|rule| match rule {
            CheckpointRule::Command(command) => Some(command.check),
            _ => None,
        });
        checks.collect()
    }

    /// The agents to whom the org chart of this configuration binds a role's turns at a waypoint; `None`: it binds the role to nobody.
    pub(crate) fn listed(&self, waypoint: &Waypoint, number: u32, role: &RoleId) -> Option<&[AgentName]> {
        let spec = self.configured.spec(number, self.configured.name_at(number, self.planned_name(waypoint)))?;
        spec.listed.get(role).map(Vec::as_slice)
    }

    /// The people to notify when the waypoint's work is stuck, as its workflow names them today; of one without an owner,
    /// the person who submitted the flight.
    #[must_use]
    pub fn notified(&self, waypoint: &Waypoint) -> Vec<AgentName> {
        self.declared(waypoint).map(|spec| spec.notified(self.submitted.by.as_ref())).unwrap_or_default()
    }

    /// The gates before this one, nearest first, as they were when the waypoint's last entry was written.
    pub(crate) fn gates_before(&self, waypoint: &Waypoint, state: &WaypointState, gate: &GateId) -> Vec<GateId> {
        let by = state.configured.by;
        let spec = self.configured.spec(by, self.configured.name_at(by, self.planned_name(waypoint)));
        let gates = spec.into_iter().flat_map(WorkflowSpec::all_gates).map(|gate| gate.id.clone());
        let mut before: Vec<GateId> = gates.take_while(|earlier| earlier != gate).collect();
        before.reverse();
        before
    }
}

/// By which configuration a waypoint began; `None` if it has not.
pub(crate) fn began(state: &WaypointState) -> Option<u32> {
    match &state.phase {
        Phase::Pending => None,
        Phase::Held(held) if held.resume == Resume::Beginning => None,
        _ => Some(state.configured.began),
    }
}
