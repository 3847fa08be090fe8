//! What of a declaration the engine does not run yet. Nothing of it is passed over in silence: a workflow that says such a
//! thing is not flown.
//!
//! `metadata` is free and no obstacle.

use std::collections::BTreeSet;

use holdpoint_protocol::{
    state::Outcome,
    workflow::{GateOrFork, GateSpec, WorkflowSpec},
};

use super::Duty;

/// Everything that keeps a sound workflow from being run by this version, in the words of its file.
#[must_use]
pub fn obstacles(spec: &WorkflowSpec) -> Vec<String> {
    let mut found = said(spec);
    let others = spec.all_gates().filter(|gate| !gate.require_human && Duty::of(&gate.role) == Duty::Complete);
    let roles: BTreeSet<&str> = others.map(|gate| gate.role.as_str()).collect();
    if !roles.is_empty() {
        let roles: Vec<&str> = roles.into_iter().collect();
        found.push(format!("roles of the org chart ({})", roles.join(", ")));
    }
    found
}

/// What it says that is not run.
pub(super) fn said(spec: &WorkflowSpec) -> Vec<String> {
    let mut found = Vec::new();
    if spec.default_outcome.is_some_and(|outcome| outcome != Outcome::Complete) {
        found.push("`defaultOutcome` other than `complete`".to_owned());
    }
    for item in &spec.gates {
        if let GateOrFork::Fork(fork) = item {
            found.push(format!("fork {}", fork.id));
        }
    }
    type Says = fn(&GateSpec) -> bool;
    let of_gates: [(&str, Says); 4] = [
        ("escalateTo", |gate| gate.escalate_to.is_some()),
        ("expectations", |gate| !gate.expectations.is_empty()),
        ("tips", |gate| !gate.tips.is_empty()),
        ("outcomeHelp", |gate| !gate.outcome_help.is_empty()),
    ];
    for (key, says) in of_gates {
        // People get all of this.
        let gates = spec.all_gates().filter(|gate| !gate.require_human && says(gate));
        let gates: Vec<&str> = gates.map(|gate| gate.id.as_str()).collect();
        if !gates.is_empty() {
            found.push(format!("`{key}` ({})", gates.join(", ")));
        }
    }
    found
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

    fn build(say: impl Fn(&mut GateSpec)) -> WorkflowSpec {
        change(|spec, _| match spec.gates.first_mut() {
            Some(GateOrFork::Gate(build)) => say(build),
            other => panic!("fly-approved begins with a gate: {other:?}"),
        })
    }

    #[test]
    fn what_the_engine_does_not_run_is_refused_by_name() {
        let table = [
            (change(|spec, _| spec.default_outcome = Some(Outcome::Blocked)), "`defaultOutcome` other than `complete`"),
            (build(|gate| gate.escalate_to = Some("lead".parse().unwrap())), "`escalateTo` (build)"),
            (build(|gate| gate.expectations = vec!["x".to_owned()]), "`expectations` (build)"),
            (build(|gate| gate.tips = vec!["x".to_owned()]), "`tips` (build)"),
            (build(|gate| gate.outcome_help.complete = Some("x".to_owned())), "`outcomeHelp` (build)"),
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
    fn roles_that_only_an_org_chart_has_are_named() {
        let spec = change(|_, gate| gate.require_human = false);
        assert_eq!(obstacles(&spec), ["roles of the org chart (approver)"]);
    }
}
