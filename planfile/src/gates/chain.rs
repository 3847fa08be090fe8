//! The roles to which a gate escalates: its chain, one link after the other (GATE-15).
//!
//! Links are counted from 1; 0 is the gate's own role. When a turn goes on to the next link is `engine::waypoint`'s to say.

use holdpoint_protocol::{
    ids::{AgentName, RoleId, role},
    org::Plane,
    workflow::{ESCALATIONS_MAX, Escalation, is_human},
};

use super::{Duty, Gate, GateError};

impl Gate {
    /// The link of the chain that has this number.
    #[must_use]
    pub fn link(&self, link: u32) -> Option<&Escalation> {
        let place = usize::try_from(link).ok()?.checked_sub(1)?;
        self.escalations.get(place)
    }

    /// Whose a turn of this link is.
    #[must_use]
    pub fn role_at(&self, link: u32) -> &RoleId {
        self.link(link).map_or(&self.role, |link| &link.role)
    }

    /// Whether a turn of this link is for people.
    #[must_use]
    pub fn is_peoples_at(&self, link: u32) -> bool {
        self.require_human || self.link(link).is_some_and(|link| !link.people.is_empty())
    }

    /// The people who may answer a turn of this link; none: any.
    #[must_use]
    pub fn people_at(&self, link: u32) -> &[AgentName] {
        self.link(link).map_or(&self.people, |link| &link.people)
    }

    /// The roles of agents in the chain.
    pub(super) fn escalates_to_agents(&self) -> impl Iterator<Item = &RoleId> {
        let agents = self.escalations.iter().filter(|link| !self.require_human && link.people.is_empty());
        agents.map(|link| &link.role)
    }

    pub(super) fn check_chain(&self) -> Result<(), GateError> {
        let gate = || self.id.clone();
        if self.escalations.len() > ESCALATIONS_MAX {
            return Err(GateError::LongChain { gate: gate(), count: self.escalations.len() });
        }
        let mut seen = vec![&self.role];
        for link in &self.escalations {
            let role = link.role.clone();
            if matches!(role.as_str(), role::ORCHESTRATOR | role::OPERATOR | role::SOLO) {
                return Err(GateError::Role { gate: gate(), role });
            }
            if seen.contains(&&link.role) {
                return Err(GateError::RepeatedLink { gate: gate(), role });
            }
            if let Some(name) = link.people.iter().find(|name| !is_human(name)) {
                return Err(GateError::NoPerson { gate: gate(), name: name.clone() });
            }
            let is_peoples = self.require_human || !link.people.is_empty();
            if !is_peoples && !takes(self.duty, link) {
                return Err(GateError::Link { gate: gate(), role, duty: self.duty });
            }
            seen.push(&link.role);
        }
        Ok(())
    }
}

/// Whether agents of this link can answer such turns. Only verifiers judge, and they are who did not.
fn takes(duty: Duty, link: &Escalation) -> bool {
    duty != Duty::Judge && duty_of(link) == duty
}

/// What the turns of a link's agents are.
fn duty_of(link: &Escalation) -> Duty {
    match link.plane {
        Some(Plane::Build) => Duty::Make,
        None => Duty::of(&link.role),
    }
}

#[cfg(test)]
mod tests {
    use holdpoint_protocol::workflow::{GateSpec, WorkflowSpec};

    use super::*;
    use crate::gates::Workflow;

    fn link(role: &str) -> Escalation {
        Escalation::from(role.parse::<RoleId>().unwrap())
    }

    fn people(role: &str) -> Escalation {
        Escalation { people: vec!["human-ann".parse().unwrap()], ..link(role) }
    }

    fn makers(role: &str) -> Escalation {
        Escalation { plane: Some(Plane::Build), ..link(role) }
    }

    fn gate(id: &str, role: &str) -> GateSpec {
        GateSpec::new(id.parse().unwrap(), role.parse().unwrap())
    }

    /// Build, verify, review; the gate of this name has this chain.
    fn with(escalates: &str, chain: &[Escalation]) -> Result<Workflow, GateError> {
        let reject = |gate| GateSpec { can_reject: true, ..gate };
        let gates = [gate("build", "builder"), reject(gate("verify", "verifier")), reject(gate("review", "reviewer"))];
        let chained = gates.map(|gate| {
            let escalations = if gate.id.as_str() == escalates { chain.to_vec() } else { Vec::new() };
            GateSpec { escalations, ..gate }
        });
        Workflow::try_new(&WorkflowSpec::new("x", chained))
    }

    #[test]
    fn a_chain_has_roles_that_can_answer_the_gates_turns_each_once() {
        for (gate, chain, wrong) in [
            ("build", vec![makers("senior"), link("repair"), people("lead")], ""),
            ("build", vec![link("reviewer")], "gate build makes work, and agents of role reviewer do not"),
            ("build", vec![link("verifier")], "gate build makes work, and agents of role verifier do not"),
            ("verify", vec![people("lead"), people("director")], ""),
            ("verify", vec![makers("senior")], "gate verify judges work, and escalates to people only: role senior"),
            ("verify", vec![link("reviewer")], "gate verify judges work, and escalates to people only: role reviewer"),
            ("review", vec![link("lead"), people("director")], ""),
            ("review", vec![link("builder")], "gate review is completed, and agents of role builder do not complete"),
            ("review", vec![makers("senior")], "gate review is completed, and agents of role senior do not complete"),
            ("review", vec![link("reviewer")], "gate review escalates to role reviewer twice, or to its own"),
            ("review", vec![link("lead"), link("lead")], "gate review escalates to role lead twice, or to its own"),
            ("review", vec![link("operator")], "gate review cannot belong to role operator"),
        ] {
            let said = with(gate, &chain).err().map(|error| error.to_string()).unwrap_or_default();
            assert!(said.starts_with(wrong) && said.is_empty() == wrong.is_empty(), "{gate} {chain:?}: {said}");
        }
        let many: Vec<Escalation> = (0..=ESCALATIONS_MAX).map(|n| link(&format!("r{n}"))).collect();
        assert!(with("review", &many[1..]).is_ok());
        assert_eq!(
            with("review", &many),
            Err(GateError::LongChain { gate: "review".parse().unwrap(), count: ESCALATIONS_MAX + 1 })
        );
        let bot = Escalation { people: vec!["bot".parse().unwrap()], ..link("lead") };
        assert!(matches!(with("build", &[bot]), Err(GateError::NoPerson { .. })));
    }

    #[test]
    fn each_link_says_whose_its_turns_are() {
        let workflow = with("build", &[makers("senior"), people("lead")]).unwrap();
        let build = workflow.gate(&"build".parse().unwrap()).unwrap();
        let said = |link: u32| {
            let people: Vec<&str> = build.people_at(link).iter().map(AgentName::as_str).collect();
            format!("{} {} {}", build.role_at(link), build.is_peoples_at(link), people.concat())
        };
        assert_eq!([0, 1, 2].map(said), ["builder false ", "senior false ", "lead true human-ann"]);
        assert_eq!(build.link(3), None);
    }
}
