//! Where gates may stand at which children do the work, and gates that propose these children (SDLC-2). A workflow that is made and the
//! rules over declarations ask the same.

use holdpoint_protocol::workflow::{GateKind, GateOrFork, GateSpec, RejectionStrategy, WorkflowSpec};

use super::duty::Duty;

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
