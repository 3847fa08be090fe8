//! A declared workflow as it is flown: with what the org chart and the defaults say of its gates (spec GATE-2, GATE-15,
//! GATE-16). What a flight records is this, so that a later change of either file changes nothing for it.

use holdpoint_protocol::{
    ids::{AgentName, RoleId},
    org::{OrgChart, RoleSpec},
    workflow::{GateOrFork, GateSpec, WorkflowSpec, is_human},
};

use super::timeouts::default_timeout;
use crate::gates::Duty;

/// The workflow with what the chart says of each gate's role; with a time limit at each gate that is completed; and at each gate
/// for people with those who may complete it: whom the gate names, else the people of its role.
#[must_use]
pub fn resolve(mut spec: WorkflowSpec, chart: Option<&OrgChart>) -> WorkflowSpec {
    for (place, item) in spec.gates.iter_mut().enumerate() {
        match item {
            GateOrFork::Gate(gate) => of_gate(gate, place == 0, chart),
            GateOrFork::Fork(fork) => fork.branches.iter_mut().for_each(|gate| of_gate(gate, place == 0, chart)),
        }
    }
    spec
}

fn of_gate(gate: &mut GateSpec, first: bool, chart: Option<&OrgChart>) {
    let of_role = |role: &RoleId| chart.and_then(|chart| chart.roles.get(role));
    let role = of_role(&gate.role);
    // Agents would have to be there: a role of people alone has none.
    gate.require_human |= role.is_some_and(|role| role.require_human || !role.agents.is_empty() && of_people(role));
    gate.plane = role.and_then(|role| role.plane);
    gate.vacant = role.is_some_and(|role| role.agents.is_empty());
    gate.role_description = role.and_then(|role| role.description.clone());
    if Duty::of_gate(gate) != Duty::Complete {
        return;
    }
    gate.timeout = Some(gate.timeout.unwrap_or_else(|| default_timeout(gate, first)));
    let escalation = gate.escalate_to.as_ref().and_then(of_role);
    let is_peoples = |role: &&RoleSpec| gate.require_human || role.require_human || of_people(role);
    gate.escalation_people = escalation.filter(is_peoples).map(people).unwrap_or_default();
    if let Some(role) = role.filter(|_| gate.require_human && gate.people.is_empty()) {
        gate.people = people(role);
    }
}

/// Whether no agent has the role.
fn of_people(role: &RoleSpec) -> bool {
    role.agents.iter().all(is_human)
}

fn people(role: &RoleSpec) -> Vec<AgentName> {
    role.agents.iter().filter(|agent| is_human(agent)).cloned().collect()
}

#[cfg(test)]
mod tests {
    use holdpoint_protocol::{org::Plane, time::Millis};

    use super::*;

    fn gate(role: &str) -> GateSpec {
        GateSpec::new("g".parse().unwrap(), role.parse().unwrap())
    }

    fn chart() -> OrgChart {
        let agents = |names: &[&str]| names.iter().map(|name| name.parse().unwrap()).collect::<Vec<AgentName>>();
        let lead = RoleSpec { agents: agents(&["human-ann", "bot"]), require_human: true, ..RoleSpec::default() };
        let writer = RoleSpec { agents: agents(&["bot"]), ..RoleSpec::default() };
        OrgChart { roles: [("lead".parse().unwrap(), lead), ("writer".parse().unwrap(), writer)].into() }
    }

    fn resolved(gates: Vec<GateSpec>, chart: Option<&OrgChart>) -> Vec<GateSpec> {
        resolve(WorkflowSpec::new("x", gates), chart).all_gates().cloned().collect()
    }

    #[test]
    fn a_gate_of_a_role_of_people_is_theirs_and_has_a_time_limit() {
        let [lead, writer] = resolved(vec![gate("lead"), gate("writer")], Some(&chart())).try_into().unwrap();
        assert!(lead.require_human && lead.people == ["human-ann".parse().unwrap()]);
        assert_eq!(lead.timeout, Some(Millis(2 * 60 * 60_000)));
        assert_eq!(writer, GateSpec { timeout: Some(Millis(60 * 60_000)), ..gate("writer") });
    }

    #[test]
    fn what_the_chart_says_of_a_role_is_recorded_with_its_gates() {
        let coder = RoleSpec {
            agents: vec!["c1".parse().unwrap()],
            description: Some("Writes Rust".to_owned()),
            plane: Some(Plane::Build),
            ..RoleSpec::default()
        };
        let mut chart = chart();
        chart.roles.insert("coder".parse().unwrap(), coder);
        let escalating = |to: &str| GateSpec { escalate_to: Some(to.parse().unwrap()), ..gate("writer") };
        let gates = vec![gate("coder"), escalating("lead"), escalating("writer")];
        let [code, to_people, to_agents] = resolved(gates, Some(&chart)).try_into().unwrap();
        let (plane, role_description) = (Some(Plane::Build), Some("Writes Rust".to_owned()));
        assert_eq!(
            code,
            GateSpec { plane, role_description, ..gate("coder") },
            "its time is the fleet's and the plan's"
        );
        assert_eq!(to_people.escalation_people, ["human-ann".parse().unwrap()]);
        assert!(to_agents.escalation_people.is_empty());
    }

    #[test]
    fn a_role_that_nobody_has_makes_its_gates_vacant() {
        let mut chart = chart();
        chart.roles.insert("spare".parse().unwrap(), RoleSpec::default());
        let gates = resolved(vec![gate("spare"), gate("writer"), gate("unlisted")], Some(&chart));
        assert_eq!(gates.iter().map(|gate| gate.vacant).collect::<Vec<_>>(), [true, false, false]);
    }

    #[test]
    fn what_a_gate_says_itself_counts() {
        let own = GateSpec {
            people: vec!["human-bob".parse().unwrap()],
            timeout: Some(Millis(1)),
            escalate_to: Some("lead".parse().unwrap()),
            ..gate("lead")
        };
        let [lead] = resolved(vec![own.clone()], Some(&chart())).try_into().unwrap();
        let escalation_people = vec!["human-ann".parse().unwrap()];
        assert_eq!(lead, GateSpec { require_human: true, escalation_people, ..own });
        let alone = GateSpec { require_human: true, ..gate("nobody") };
        let [alone] = resolved(vec![alone], None).try_into().unwrap();
        assert!(alone.people.is_empty() && alone.timeout.is_some(), "without a chart any person of the fleet may");
    }
}
