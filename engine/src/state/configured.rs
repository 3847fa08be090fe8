//! By which workflows a flight goes on: those it was submitted with, until a reload gives it others (GATE-12).
//!
//! They are counted from 0, the submission. Work that began by an earlier one passes over the gates that were added since:
//! it moves by the workflow of today without them.

use std::collections::{BTreeMap, BTreeSet};

use holdpoint_planfile::{
    gates::{Duty, ENTRIES_MAX, Workflow},
    workflows::{self, ONE_GATE},
};
use holdpoint_protocol::{
    ids::{AgentName, GateId},
    journal::{Cause, Steered, Submitted},
    plan::Policy,
    workflow::{GateOrFork, RecordedWorkflow, WorkflowSpec},
};

/// The configurations of a flight, oldest first.
#[derive(Debug, Clone, PartialEq)]
pub struct Configurations {
    policy: Policy,
    all: Vec<Configuration>,
    /// How work moves that began by each of them.
    flown: Vec<BTreeMap<String, Workflow>>,
}

/// One of them.
#[derive(Debug, Clone, PartialEq)]
struct Configuration {
    workflows: Vec<RecordedWorkflow>,
    /// Whose act it was; `None`: the submission's.
    by: Option<(AgentName, Cause)>,
}

/// The workflow that moves work which names this one. What began before its project had a workflow moves by the first of those that
/// adopted it (GATE-11); `None`: none of them does.
pub fn adopted<'a>(
    mut workflows: impl Iterator<Item = &'a WorkflowSpec> + Clone,
    name: &str,
) -> Option<&'a WorkflowSpec> {
    let first = workflows.clone().next().filter(|_| name == ONE_GATE);
    workflows.find(|spec| spec.name == name).or(first)
}

impl Configurations {
    /// That of the submission.
    pub(super) fn new(submitted: &Submitted) -> Self {
        let mut first = Self { policy: submitted.plan.policy.clone(), all: Vec::new(), flown: Vec::new() };
        first.push(Configuration { workflows: submitted.workflows.clone(), by: None });
        first
    }

    fn push(&mut self, configuration: Configuration) {
        self.all.push(configuration);
        let Some(today) = self.all.last() else { return };
        let flown = |began: &Configuration| {
            let each = today.workflows.iter().map(|recorded| &recorded.workflow);
            // One that is not sound is refused before a flight goes by it; a waypoint that names it does not move.
            let flown = |spec: &WorkflowSpec| Some(under(&self.policy, flown(spec, began.spec(&spec.name))?));
            each.filter_map(|spec| Some((spec.name.clone(), flown(spec)?))).collect()
        };
        self.flown = self.all.iter().map(flown).collect();
    }

    /// Takes an entry in: a flight goes on by other workflows.
    pub(super) fn take(&mut self, steered: &Steered) {
        if let Some(cause) = steered.record.cause.clone().filter(|_| !steered.workflows.is_empty()) {
            self.push(Configuration { workflows: steered.workflows.clone(), by: Some((steered.by.clone(), cause)) });
        }
    }

    /// The number of the newest.
    #[must_use]
    pub fn newest(&self) -> u32 {
        u32::try_from(self.all.len().saturating_sub(1)).unwrap_or(u32::MAX)
    }

    /// The workflows of the newest, as they are recorded.
    #[must_use]
    pub fn recorded(&self) -> &[RecordedWorkflow] {
        self.all.last().map(|last| last.workflows.as_slice()).unwrap_or_default()
    }

    /// Whose act the newest is; `None` if it is the submission's.
    #[must_use]
    pub fn by(&self) -> Option<&(AgentName, Cause)> {
        self.all.last()?.by.as_ref()
    }

    /// The name of the workflow by which work moved under this configuration that names this one.
    pub(super) fn name_at<'a>(&'a self, number: u32, name: &'a str) -> &'a str {
        let configuration = usize::try_from(number).ok().and_then(|number| self.all.get(number));
        let workflows = configuration.into_iter().flat_map(|configuration| &configuration.workflows);
        adopted(workflows.map(|recorded| &recorded.workflow), name).map_or(name, |spec| spec.name.as_str())
    }

    /// Which workflow has adopted what began without one.
    pub(crate) fn adopting(&self) -> Option<&str> {
        Some(self.name_at(self.newest(), ONE_GATE)).filter(|name| *name != ONE_GATE)
    }

    /// How work moves now that began by this one.
    pub(super) fn flown(&self, began: u32) -> Option<&BTreeMap<String, Workflow>> {
        self.flown.get(usize::try_from(began).ok()?)
    }

    pub(super) fn spec(&self, number: u32, name: &str) -> Option<&WorkflowSpec> {
        self.all.get(usize::try_from(number).ok()?)?.spec(name)
    }
}

impl Configuration {
    fn spec(&self, name: &str) -> Option<&WorkflowSpec> {
        self.workflows.iter().map(|recorded| &recorded.workflow).find(|spec| spec.name == name)
    }
}

/// A workflow as it is flown by work that began when it was declared like this; `None` if it is not sound.
///
/// Gates that were added are left out, as long as what is left is a workflow: a verifier's gate counts where nothing else
/// verifies what is made, and all gates count where no sound workflow is left without them.
fn flown(today: &WorkflowSpec, began: Option<&WorkflowSpec>) -> Option<Workflow> {
    let known: Option<BTreeSet<&GateId>> = began.map(|spec| spec.all_gates().map(|gate| &gate.id).collect());
    let was_there = |item: &GateOrFork| match (&known, item) {
        (Some(known), GateOrFork::Gate(gate)) => known.contains(&gate.id),
        (Some(known), GateOrFork::Fork(fork)) => fork.branches.iter().any(|branch| known.contains(&branch.id)),
        (None, _) => true,
    };
    let judges = |item: &GateOrFork| match item {
        GateOrFork::Gate(gate) => Duty::of_gate(gate) == Duty::Judge,
        GateOrFork::Fork(fork) => fork.branches.iter().any(|branch| Duty::of_gate(branch) == Duty::Judge),
    };
    let without = |counts: &dyn Fn(&GateOrFork) -> bool| {
        let mut spec = today.clone();
        spec.gates.retain(|item| was_there(item) || counts(item));
        Workflow::try_new(&spec).ok()
    };
    let mut workflow = without(&|_| false).or_else(|| without(&judges)).or_else(|| without(&|_| true))?;
    // A declared one is bounded by how often work comes to its gates, a built-in one by reworks.
    workflow.entries_max = (!workflows::is_built_in(today)).then_some(ENTRIES_MAX);
    Some(workflow)
}

/// A workflow under a plan's policy.
fn under(policy: &Policy, workflow: Workflow) -> Workflow {
    let workflow = workflow.under(policy.mode);
    if policy.suspicious.is_hold() || policy.open_scope.is_hold() { workflow.with_sign_off() } else { workflow }
}
