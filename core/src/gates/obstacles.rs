//! What of a declaration the engine does not run yet. Nothing of it is passed over in silence: a workflow that says such a
//! thing is not flown.
//!
//! `metadata` is free and no obstacle.

use holdpoint_protocol::{
    state::Outcome,
    workflow::{GateOrFork, GateSpec, WorkflowSpec},
};

/// Everything that keeps a sound workflow from being run by this version, in the words of its file.
#[must_use]
pub fn obstacles(spec: &WorkflowSpec) -> Vec<String> {
    let mut found = Vec::new();
    if spec.default_outcome.is_some_and(|outcome| outcome != Outcome::Complete) {
        found.push("`defaultOutcome` other than `complete`".to_owned());
    }
    for item in &spec.gates {
        match item {
            GateOrFork::Fork(fork) => found.push(format!("fork {}", fork.id)),
            GateOrFork::Gate(gate) => found.extend(of_gate(gate)),
        }
    }
    found
}

fn of_gate(gate: &GateSpec) -> impl Iterator<Item = String> {
    let said = [
        ("escalateTo", gate.escalate_to.is_some()),
        ("expectations", !gate.expectations.is_empty()),
        ("tips", !gate.tips.is_empty()),
        ("outcomeHelp", !gate.outcome_help.is_empty()),
    ];
    said.into_iter().filter(|(_, said)| *said).map(|(key, _)| format!("`{key}` of gate {}", gate.id))
}

#[cfg(test)]
mod tests {
    use holdpoint_protocol::workflow::{ForkKind, ForkSpec, JoinStrategy};

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

    #[test]
    fn what_the_engine_does_not_run_is_refused_by_name() {
        let table = [
            (change(|spec, _| spec.default_outcome = Some(Outcome::Blocked)), "`defaultOutcome` other than `complete`"),
            (change(|_, gate| gate.escalate_to = Some("lead".parse().unwrap())), "`escalateTo` of gate approve"),
            (change(|_, gate| gate.expectations = vec!["x".to_owned()]), "`expectations` of gate approve"),
            (change(|_, gate| gate.tips = vec!["x".to_owned()]), "`tips` of gate approve"),
            (change(|_, gate| gate.outcome_help.complete = Some("x".to_owned())), "`outcomeHelp` of gate approve"),
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
}
