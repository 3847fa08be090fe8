//! A declared workflow as it is flown: with what the org chart and the defaults say of its gates (spec GATE-2, GATE-15,
//! GATE-16). What a flight records is this, so that a later change of either file changes nothing for it.

use holdpoint_protocol::{
    ids::AgentName,
    org::{OrgChart, RoleSpec},
    workflow::{GateOrFork, GateSpec, WorkflowSpec, is_human},
};

use super::timeouts::default_timeout;

/// The workflow with a time limit at each gate for people, and with the people who may complete it: those whom the gate names,
/// else those of its role.
#[must_use]
pub fn resolve(mut spec: WorkflowSpec, chart: Option<&OrgChart>) -> WorkflowSpec {
    for (place, item) in spec.gates.iter_mut().enumerate() {
        match item {
            GateOrFork::Gate(gate) => of_people(gate, place == 0, chart),
            GateOrFork::Fork(fork) => fork.branches.iter_mut().for_each(|gate| of_people(gate, place == 0, chart)),
        }
    }
    spec
}

fn of_people(gate: &mut GateSpec, first: bool, chart: Option<&OrgChart>) {
    let role: Option<&RoleSpec> = chart.and_then(|chart| chart.roles.get(&gate.role));
    gate.require_human |= role.is_some_and(|role| role.require_human);
    if !gate.require_human {
        return;
    }
    if let Some(role) = role.filter(|_| gate.people.is_empty()) {
        gate.people = people(role);
    }
    let escalation = gate.escalate_to.as_ref().and_then(|role| chart?.roles.get(role));
    gate.escalation_people = escalation.map(people).unwrap_or_default();
    let timeout = gate.timeout.unwrap_or_else(|| default_timeout(gate, first));
    gate.timeout = Some(timeout);
}

fn people(role: &RoleSpec) -> Vec<AgentName> {
    role.agents.iter().filter(|agent| is_human(agent)).cloned().collect()
}

#[cfg(test)]
mod tests {
    use holdpoint_protocol::time::Millis;

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
        assert_eq!(writer, gate("writer"));
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
