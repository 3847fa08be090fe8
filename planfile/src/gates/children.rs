//! Gates that propose children, which do the work at a later gate (SDLC-2).

use holdpoint_protocol::ids::GateId;

use super::{Gate, Workflow};

impl Workflow {
    /// The nearest gate before this one that proposes children.
    #[must_use]
    pub fn proposer_before(&self, gate: &GateId) -> Option<&Gate> {
        let before = self.gates.iter().take_while(|other| &other.id != gate);
        before.filter(|other| other.proposes()).last()
    }
}

impl Gate {
    /// Whether children are proposed here.
    #[must_use]
    pub fn proposes(&self) -> bool {
        self.context.demands.proposes.is_some()
    }
}

#[cfg(test)]
mod tests {
    use holdpoint_protocol::{
        ids::role,
        time::Millis,
        workflow::{GateKind, GateSpec, RejectionStrategy, WorkflowSpec},
    };

    use super::*;
    use crate::gates::GateError;

    fn gate(id: &str, role: &str) -> GateSpec {
        GateSpec::new(id.parse().unwrap(), role.parse().unwrap())
    }

    fn plan() -> GateSpec {
        let mut plan = gate("plan", "lead");
        plan.demands.proposes = Some(Default::default());
        plan
    }

    fn execute() -> GateSpec {
        let child_workflow = Some("fly".to_owned());
        GateSpec { kind: Some(GateKind::Children), child_workflow, ..gate("execute", "worker") }
    }

    fn track() -> GateSpec {
        GateSpec { can_reject: true, ..gate("track", "lead") }
    }

    #[test]
    fn children_stand_behind_what_proposes_them_and_nothing_else_makes_work() {
        let sound = Workflow::try_new(&WorkflowSpec::new("own", [plan(), execute(), track()])).unwrap();
        assert_eq!(sound.proposer_before(&"track".parse().unwrap()).unwrap().id.as_str(), "plan");
        assert_eq!(sound.agent_roles().map(|(role, _)| role.as_str()).collect::<Vec<_>>(), ["lead", "lead"]);
        let other = || GateSpec { id: "other".parse().unwrap(), kind: None, ..execute() };
        let verify = || GateSpec { can_reject: true, ..gate("verify", role::VERIFIER) };
        for (gates, at, why) in [
            (vec![gate("first", "lead"), execute()], "execute", "no gate before it"),
            (vec![plan(), gate("last", "lead")], "plan", "no gate of the type `children` follows"),
            (vec![plan(), GateSpec { child_workflow: None, ..execute() }], "execute", "no `childWorkflow`"),
            (vec![plan(), GateSpec { timeout: Some(Millis(1)), ..execute() }], "execute", "opens no turn"),
            (vec![plan(), GateSpec { can_reject: true, ..execute() }], "execute", "opens no turn"),
            (vec![plan(), execute(), gate("build", role::BUILDER), verify()], "execute", "makes work itself"),
            (vec![plan(), execute(), other()], "other", "not of the type `children`"),
        ] {
            let error = Workflow::try_new(&WorkflowSpec::new("own", gates)).unwrap_err();
            let GateError::Misplaced { gate, why: found } = &error else { panic!("{error}") };
            assert!(gate.as_str() == at && found.contains(why), "{why}: {error}");
        }
    }

    #[test]
    fn no_rejection_leads_to_a_gate_where_no_turn_opens() {
        let with = |strategy, target: Option<&str>| {
            let track = GateSpec { reject_to: target.map(|id| id.parse().unwrap()), ..track() };
            let spec = WorkflowSpec::new("own", [plan(), execute(), track]);
            Workflow::try_new(&WorkflowSpec { rejection_strategy: strategy, ..spec }).is_ok()
        };
        assert!(with(RejectionStrategy::Origin, None) && with(RejectionStrategy::Named, Some("plan")));
        assert!(!with(RejectionStrategy::Previous, None) && !with(RejectionStrategy::Named, Some("execute")));
    }
}
