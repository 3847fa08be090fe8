//! Handoffs that were refused for what they are: no conflicts. They are not in the journals, so that why is worked out once more.

use std::collections::BTreeMap;

use holdpoint_engine::completion::{self, CompletionRules};
use holdpoint_protocol::{
    Timestamp,
    artifact::Completion,
    ids::{AgentName, GateId, RoleId, WaypointId},
    journal::Entry,
    state::Outcome,
    workflow::WorkflowSpec,
};

/// Agents to whom an org chart binds roles.
type Listed = BTreeMap<RoleId, Vec<AgentName>>;

/// To whom the org charts of a flight bind roles: of each configuration, and since when, by the names of workflows.
#[derive(Debug, Default)]
pub(super) struct Listings(Vec<(Timestamp, BTreeMap<String, Listed>)>);

impl Listings {
    /// Takes an entry in: a flight goes by the workflows of its submission until a reload brings others.
    pub(super) fn take(&mut self, entry: &Entry) {
        let (at, workflows) = match entry {
            Entry::Submitted(submitted) => (submitted.record.at, &submitted.workflows),
            Entry::Steered(steered) if !steered.workflows.is_empty() => (steered.record.at, &steered.workflows),
            _ => return,
        };
        let specs = workflows.iter().map(|recorded| &recorded.workflow).filter(|spec| !spec.listed.is_empty());
        self.0.push((at, specs.map(|spec| (spec.name.clone(), spec.listed.clone())).collect()));
    }

    /// Whether an agent could answer a turn at this time that is bound by the configuration of this number: it, or one that came
    /// until then, names the agent, or binds the role no more.
    pub(super) fn is_listed(
        &self,
        (workflow, role, opened_by): (&str, &RoleId, u32),
        agent: &AgentName,
        at: Timestamp,
    ) -> bool {
        let opened_by = usize::try_from(opened_by).unwrap_or(usize::MAX);
        let names = |listed: &BTreeMap<String, Listed>| {
            listed.get(workflow).and_then(|listed| listed.get(role)).is_none_or(|agents| agents.contains(agent))
        };
        let since = self.0.iter().enumerate().skip(opened_by);
        let known = since.filter(|(number, (since, _))| *number == opened_by || *since <= at);
        known.map(|(_, (_, listed))| listed).any(names)
    }
}

/// Whether an agent's completion is refused whenever it comes, with a lesson.
pub(super) fn is_unusable(completion: &Completion, waypoint: &WaypointId, gate: &GateId, spec: &WorkflowSpec) -> bool {
    let Some(gate) = spec.all_gates().find(|other| other.id == *gate) else { return false };
    let (default, can_reject) = (spec.default_outcome.unwrap_or(Outcome::Complete), gate.can_reject);
    let wanted = CompletionRules { waypoint, gate: &gate.id, can_reject, default, demands: Some(&gate.demands) };
    completion.failure.is_none() && completion::of_agent(completion, wanted).is_err()
}

/// Whether a person completes a gate that names others, at any link of its chain.
pub(super) fn is_not_among(by: &AgentName, gate: &GateId, spec: &WorkflowSpec) -> bool {
    let Some(gate) = spec.all_gates().find(|other| other.id == *gate) else { return false };
    let links = gate.escalations.iter().map(|link| &link.people);
    let mut named = std::iter::once(&gate.people).chain(links).flatten().peekable();
    named.peek().is_some() && !named.any(|person| person == by)
}

/// Whether the first of two references is of a message that the same stream has earlier.
pub(super) fn is_before(one: &str, other: &str) -> bool {
    let parts = |reference: &str| {
        let (stream, sequence) = reference.rsplit_once('/')?;
        Some((stream.to_owned(), sequence.parse::<u64>().ok()?))
    };
    matches!((parts(one), parts(other)), (Some(one), Some(other)) if one.0 == other.0 && one.1 < other.1)
}
