//! Gates at which children do the work, and gates that propose these children (SDLC-2): where they may stand.

use holdpoint_protocol::{
    ids::GateId,
    workflow::{GateKind, GateOrFork, GateSpec, RejectionStrategy, WorkflowSpec},
};

use super::{Duty, Gate, Workflow};

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

/// The first gate that cannot stand where it does, and why; `duty` is what the turns of a gate are.
pub(crate) fn misplaced(spec: &WorkflowSpec, duty: impl Fn(&GateSpec) -> Duty) -> Option<(&GateSpec, &'static str)> {
    let delegates = |gate: &GateSpec| gate.kind == Some(GateKind::Children);
    let proposes = |gate: &GateSpec| gate.demands.proposes.is_some();
    for (at, item) in spec.gates.iter().enumerate() {
        let gate = match item {
            GateOrFork::Fork(fork) => match fork.branches.iter().find(|branch| delegates(branch) || proposes(branch)) {
                Some(branch) => return Some((branch, "stands in a fork, and children are of the whole waypoint")),
                None => continue,
            },
            GateOrFork::Gate(gate) => gate,
        };
        let is_gate =
            |item: &GateOrFork, is: &dyn Fn(&GateSpec) -> bool| matches!(item, GateOrFork::Gate(gate) if is(gate));
        let mut before = spec.gates.iter().take(at);
        let mut behind = spec.gates.iter().skip(at + 1);
        let opens = !gate.can_reject && !gate.require_human && gate.timeout.is_none() && gate.escalations.is_empty();
        let why = match delegates(gate) {
            true if gate.child_workflow.is_none() => "names no `childWorkflow` by which children are flown",
            true if !opens || !gate.demands.is_empty() => {
                "opens no turn, so that nobody there could reject, be late or hand anything over"
            }
            true if !before.any(|item| is_gate(item, &proposes)) => "has no gate before it that proposes children",
            true if spec.all_gates().any(|other| duty(other) == Duty::Make) => {
                "stands in a workflow that makes work itself, and only children may"
            }
            false if gate.child_workflow.is_some() => "names a `childWorkflow` and is not of the type `children`",
            false if proposes(gate) && !behind.any(|item| is_gate(item, &delegates)) => {
                "proposes children, and no gate of the type `children` follows it"
            }
            false if rejects_to(spec, at, gate, &delegates) => "rejects to a gate at which no turn opens",
            _ => continue,
        };
        return Some((gate, why));
    }
    None
}

/// Whether the rejections of a gate lead to one like this.
fn rejects_to(spec: &WorkflowSpec, at: usize, gate: &GateSpec, is: &dyn Fn(&GateSpec) -> bool) -> bool {
    let named = |item: &&GateOrFork| gate.reject_to.as_ref() == Some(item.id());
    let target = match spec.rejection_strategy {
        RejectionStrategy::Origin => None,
        RejectionStrategy::Previous => at.checked_sub(1).and_then(|before| spec.gates.get(before)),
        RejectionStrategy::Named => spec.gates.iter().take(at).find(named),
    };
    gate.can_reject && matches!(target, Some(GateOrFork::Gate(target)) if is(target))
}

#[cfg(test)]
mod tests {
    use holdpoint_protocol::{ids::role, time::Millis};

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
