//! A declared workflow as it is flown: with what the org chart and the defaults say of its gates (spec GATE-2, GATE-15,
//! GATE-16). What a flight records is this, so that a later change of either file changes nothing for it.

use std::collections::BTreeMap;

use holdpoint_protocol::{
    ids::{AgentName, RoleId, role},
    org::{OrgChart, RoleSpec},
    workflow::{GateOrFork, GateSpec, WorkflowSpec, is_human},
};

use super::timeouts::default_timeout;
use crate::gates::Duty;

/// The workflow with what the chart says of each gate's role; with a time limit at each gate that is completed; and at each gate
/// for people with those who may complete it: whom the gate names, else the people of its role. Roles of which the chart says
/// `onlyListed` come with their agents.
#[must_use]
pub fn resolve(mut spec: WorkflowSpec, chart: Option<&OrgChart>) -> WorkflowSpec {
    for (place, item) in spec.gates.iter_mut().enumerate() {
        match item {
            GateOrFork::Gate(gate) => of_gate(gate, place == 0, chart),
            GateOrFork::Fork(fork) => fork.branches.iter_mut().for_each(|gate| of_gate(gate, place == 0, chart)),
        }
    }
    spec.listed = chart.map(|chart| listed(&spec, chart)).unwrap_or_default();
    spec
}

/// The roles that can have turns of the workflow and are bound to the agents whom the chart names.
fn listed(spec: &WorkflowSpec, chart: &OrgChart) -> BTreeMap<RoleId, Vec<AgentName>> {
    // A base is tried by verifiers, work that was sent back is repaired, and advisors are asked, whatever roles the gates name. One
    // agent alone has the turns of others.
    let is_ours = |id: &RoleId| matches!(id.as_str(), role::VERIFIER | role::REPAIR | role::ADVISOR | role::SOLO);
    let has_turns = |id: &RoleId| {
        let of_gate = |gate: &GateSpec| gate.role == *id || gate.escalations.iter().any(|link| link.role == *id);
        is_ours(id) || spec.all_gates().any(of_gate)
    };
    let bound = chart.roles.iter().filter(|(id, role)| role.only_listed && has_turns(id) && !is_peoples(id, role));
    let agents = |role: &RoleSpec| role.agents.iter().filter(|agent| !is_human(agent)).cloned().collect();
    bound.map(|(id, role)| (id.clone(), agents(role))).collect()
}

fn of_gate(gate: &mut GateSpec, first: bool, chart: Option<&OrgChart>) {
    let of_role = |role: &RoleId| chart.and_then(|chart| chart.roles.get(role));
    let role = of_role(&gate.role);
    // Agents would have to be there: a role of people alone has none.
    gate.require_human |= role.is_some_and(|role| role.require_human || !role.agents.is_empty() && of_people(role));
    gate.plane = role.and_then(|role| role.plane).or(gate.plane);
    gate.vacant = role.is_some_and(|role| role.agents.is_empty());
    gate.role_description = role.and_then(|role| role.description.clone());
    for link in &mut gate.escalations {
        let role = of_role(&link.role);
        link.plane = role.and_then(|role| role.plane);
        let peoples = role.filter(|role| gate.require_human || is_peoples(&link.role, role));
        link.people = peoples.map(people).unwrap_or_default();
    }
    if Duty::of_gate(gate) != Duty::Complete {
        return;
    }
    gate.timeout = Some(gate.timeout.unwrap_or_else(|| default_timeout(gate, first)));
    if let Some(role) = role.filter(|_| gate.require_human && gate.people.is_empty()) {
        gate.people = people(role);
    }
}

/// Whether turns that escalate to the role are for people. What makes or judges work is agents' by its name.
pub(crate) fn is_peoples(id: &RoleId, role: &RoleSpec) -> bool {
    Duty::of(id) == Duty::Complete && (role.require_human || !role.agents.is_empty() && of_people(role))
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
    use holdpoint_protocol::{org::Plane, time::Millis, workflow::Escalation};

    use super::*;

    fn gate(role: &str) -> GateSpec {
        GateSpec::new("g".parse().unwrap(), role.parse().unwrap())
    }

    fn role(name: &str) -> RoleId {
        name.parse().unwrap()
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
        let escalating = |role: &str, to: &[&str]| {
            let escalations = to.iter().map(|to| to.parse::<RoleId>().unwrap().into()).collect();
            GateSpec { escalations, ..gate(role) }
        };
        let gates = vec![gate("coder"), escalating("writer", &["lead", "coder"]), escalating("coder", &["lead"])];
        let [code, review, escalated] = resolved(gates, Some(&chart)).try_into().unwrap();
        let (plane, role_description) = (Some(Plane::Build), Some("Writes Rust".to_owned()));
        assert_eq!(
            code,
            GateSpec { plane, role_description, ..gate("coder") },
            "its time is the fleet's and the plan's"
        );
        let lead = Escalation { people: vec!["human-ann".parse().unwrap()], ..Escalation::from(role("lead")) };
        let coder = Escalation { plane, ..Escalation::from(role("coder")) };
        assert_eq!(review.escalations, [lead.clone(), coder]);
        assert_eq!(escalated.escalations, [lead], "of a gate that makes work, too");
    }

    #[test]
    fn roles_that_the_chart_binds_come_with_their_agents_where_they_can_have_turns() {
        let bound = |names: &[&str]| RoleSpec {
            agents: names.iter().map(|name| name.parse().unwrap()).collect(),
            only_listed: true,
            ..RoleSpec::default()
        };
        let roles = [
            ("writer", bound(&["w1", "human-ann", "w2"])),
            ("verifier", bound(&["v1"])),
            ("editor", bound(&["e1"])),
            ("idle", bound(&["i1"])),
            ("lead", bound(&["human-bob"])),
            ("reader", RoleSpec { only_listed: false, ..bound(&["r1"]) }),
        ];
        let chart = OrgChart { roles: roles.map(|(name, spec)| (role(name), spec)).into() };
        let editing = GateSpec { escalations: vec![role("editor").into()], ..gate("reader") };
        let spec = WorkflowSpec::new("x", vec![gate("writer"), editing, gate("lead")]);
        let listed = resolve(spec.clone(), Some(&chart)).listed;
        let names = |agents: &Vec<AgentName>| agents.iter().map(AgentName::as_str).collect::<Vec<_>>().join(" ");
        let found: Vec<_> = listed.iter().map(|(role, agents)| (role.as_str(), names(agents))).collect();
        assert_eq!(found, [("editor", "e1".into()), ("verifier", "v1".into()), ("writer", "w1 w2".into())]);
        assert!(resolve(spec, None).listed.is_empty());
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
            escalations: vec![role("boss").into()],
            ..gate("lead")
        };
        let mut chart = chart();
        // A gate for people escalates to the people of a role that agents have, too.
        let boss =
            RoleSpec { agents: ["bot-2", "human-bob"].map(|a| a.parse().unwrap()).to_vec(), ..RoleSpec::default() };
        chart.roles.insert(role("boss"), boss);
        let [lead] = resolved(vec![own.clone()], Some(&chart)).try_into().unwrap();
        let escalations =
            vec![Escalation { people: vec!["human-bob".parse().unwrap()], ..Escalation::from(role("boss")) }];
        assert_eq!(lead, GateSpec { require_human: true, escalations, ..own });
        let alone = GateSpec { require_human: true, ..gate("nobody") };
        let [alone] = resolved(vec![alone], None).try_into().unwrap();
        assert!(alone.people.is_empty() && alone.timeout.is_some(), "without a chart any person of the fleet may");
    }
}
