//! What of a declaration the engine does not run yet. Nothing of it is passed over in silence: a workflow that says such a
//! thing is not flown.
//!
//! `metadata` is free and no obstacle.

use holdpoint_protocol::workflow::{GateOrFork, GateSpec, WorkflowSpec};

use super::Duty;

/// Everything that keeps a sound workflow from being run by this version, in the words of its file.
#[must_use]
pub fn obstacles(spec: &WorkflowSpec) -> Vec<String> {
    let mut found = Vec::new();
    for item in &spec.gates {
        if let GateOrFork::Fork(fork) = item {
            found.push(format!("fork {}", fork.id));
        }
    }
    let escalates = |gate: &&GateSpec| gate.escalate_to.is_some() && Duty::of_gate(gate) != Duty::Complete;
    let gates: Vec<&str> = spec.all_gates().filter(escalates).map(|gate| gate.id.as_str()).collect();
    if !gates.is_empty() {
        found.push(format!("`escalateTo` of what builds or verifies ({})", gates.join(", ")));
    }
    found
}

#[cfg(test)]
mod tests {
    use holdpoint_protocol::{
        state::Outcome,
        workflow::{ForkKind, ForkSpec, JoinStrategy},
    };

    use super::*;
    use crate::{
        gates::{GateError, Workflow},
        workflows::built_in,
    };

    fn change(change: impl Fn(&mut WorkflowSpec, &mut GateSpec)) -> WorkflowSpec {
        let mut spec = built_in("fly-approved").unwrap();
        let Some(GateOrFork::Gate(mut approve)) = spec.gates.pop() else { panic!("fly-approved ends in a gate") };
        change(&mut spec, &mut approve);
        spec.gates.push(approve.into());
        spec
    }

    fn verify(say: impl Fn(&mut GateSpec)) -> WorkflowSpec {
        change(|spec, _| match spec.gates.get_mut(1) {
            Some(GateOrFork::Gate(verify)) => say(verify),
            other => panic!("the second gate of fly-approved verifies: {other:?}"),
        })
    }

    #[test]
    fn what_the_engine_does_not_run_is_refused_by_name() {
        let table = [
            (
                verify(|gate| gate.escalate_to = Some("lead".parse().unwrap())),
                "`escalateTo` of what builds or verifies (verify)",
            ),
            (
                change(|spec, gate| {
                    spec.gates.push(GateOrFork::Fork(ForkSpec {
                        id: "both".parse().unwrap(),
                        kind: ForkKind::Fork,
                        description: None,
                        branches: vec![gate.clone(), gate.clone()],
                        join_strategy: JoinStrategy::All,
                        when: None,
                        metadata: [].into(),
                    }));
                }),
                "fork both",
            ),
        ];
        for (spec, what) in table {
            assert_eq!(obstacles(&spec), [what]);
            assert_eq!(Workflow::try_new(&spec), Err(GateError::NotYet { what: what.to_owned() }));
        }
    }

    #[test]
    fn what_only_spells_out_the_defaults_is_run() {
        let spec = change(|spec, gate| {
            spec.default_outcome = Some(Outcome::Complete);
            gate.metadata = [("room".to_owned(), 2.into())].into();
        });
        assert_eq!(obstacles(&spec), [""; 0]);
        Workflow::try_new(&spec).unwrap();
    }

    #[test]
    fn agents_of_any_role_complete_gates() {
        let spec = change(|spec, gate| {
            gate.require_human = false;
            gate.escalate_to = Some("lead".parse().unwrap());
            gate.tips = vec!["x".to_owned()];
            spec.default_outcome = Some(Outcome::Blocked);
        });
        assert_eq!(obstacles(&spec), [""; 0]);
        Workflow::try_new(&spec).unwrap();
    }
}
