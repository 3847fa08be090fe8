//! The rules for a request to fly a plan: what it says besides the plan. A command line and a configuration can say no more.

use std::ops::RangeInclusive;

use holdpoint_protocol::{
    api::Submit,
    journal::Fleet,
    workflow::{GateOrFork, WorkflowSpec},
};

use super::{
    declared::{self, roster::Findings},
    plan,
};
use crate::{
    declared::project::Declared,
    plan::{
        limits::{ADVISORS_MAX, DURATION_MS_MAX, WAYPOINTS_MAX},
        workflows::{BUILT_IN_WORKFLOWS, KnownWorkflow},
    },
    yaml::{findings::PlanProblems, path::At},
};

/// Waypoints that a fleet may have open at once.
const PARALLEL: RangeInclusive<u64> = 1..=WAYPOINTS_MAX as u64;
/// Milliseconds that a turn may wait for an agent.
const GRACE: RangeInclusive<u64> = 0..=DURATION_MS_MAX;
/// Advisors of a round.
const ADVISORS: RangeInclusive<u64> = 0..=ADVISORS_MAX as u64;

/// Holds a request against every rule: its plan, the workflows that come with it, and what it says of its fleet.
#[must_use]
pub fn validate_submission(submit: &Submit) -> PlanProblems {
    let (at, mut found) = (At::ROOT, PlanProblems::default());
    validate(at.key("workflows"), &submit.workflows, &mut found);
    found.path(at.key("covenant"), "`covenant`", &submit.covenant);
    fleet(at.key("fleet"), &submit.fleet, &mut found);
    let sent = submit.workflows.iter().map(KnownWorkflow::of);
    let known: Vec<_> = BUILT_IN_WORKFLOWS.iter().copied().chain(sent).collect();
    plan::check(&submit.plan, &known, &mut found);
    found
}

/// Holds workflows that came without their file against the rules of [`check`]; `at` is their list. What an org chart says is in them,
/// and held against the chart where that is: here it is left out. Conditions are looked at where they are evaluated.
fn validate(at: At<'_>, workflows: &[WorkflowSpec], found: &mut PlanProblems) {
    let mut findings = Findings { errors: std::mem::take(found), ..Findings::default() };
    let all = workflows.iter().cloned().map(|spec| Declared { spec: without_chart(spec), whole: true });
    let all: Vec<Declared> = all.collect();
    declared::names(at, &all, &mut findings);
    for (i, one) in all.iter().enumerate() {
        declared::workflow(at.item(i), one, None, &|_| Ok(()), &mut findings);
    }
    *found = findings.errors;
}

/// The workflow without those who complete its gates, and to whom these escalate: who can is known by the chart.
fn without_chart(mut spec: WorkflowSpec) -> WorkflowSpec {
    let gates = spec.gates.iter_mut().flat_map(|item| match item {
        GateOrFork::Gate(gate) => std::slice::from_mut(gate),
        GateOrFork::Fork(fork) => fork.branches.as_mut_slice(),
    });
    for gate in gates {
        gate.people.clear();
        gate.escalations.clear();
    }
    spec
}

fn fleet(at: At<'_>, fleet: &Fleet, found: &mut PlanProblems) {
    let Fleet { pool: _, repair: _, judge: _, advisors, parallel, queue_grace, build_wall, dead_after: _ } = fleet;
    found.number(at.key("advisors"), "advisors", u64::from(*advisors), &ADVISORS);
    if let Some(parallel) = parallel {
        found.number(at.key("parallel"), "parallel", u64::from(*parallel), &PARALLEL);
    }
    found.number(at.key("queue_grace"), "queue_grace", queue_grace.0, &GRACE);
    found.duration(at.key("build_wall"), "build_wall", *build_wall);
}

#[cfg(test)]
mod tests {
    use holdpoint_protocol::{
        Digest,
        facts::{BlobRef, BundleRef},
        ids::{RoleId, role},
        journal::DEAD_AFTER,
        streams,
        time::Millis,
        workflow::{Escalation, GateOrFork, WorkflowSpec},
    };

    use super::*;
    use crate::{plan::read, workflows};

    fn submission() -> Submit {
        let text = "plan: p\nwaypoints:\n  - {id: a, goal: g, criteria: [{id: c, check: x}]}\n";
        let (oid, role) = ("0".repeat(40).parse().unwrap(), role::id(role::OPERATOR));
        let base: holdpoint_protocol::facts::Oid = oid;
        Submit {
            flight: "f".parse().unwrap(),
            plan: read(text, "plan.yaml", BUILT_IN_WORKFLOWS).unwrap(),
            base: base.clone(),
            snapshot: BundleRef { blob: BlobRef { role, digest: Digest::of(b""), bytes: 0 }, tip: base, index: None },
            covenant: "AGENTS.md".to_owned(),
            fleet: Fleet {
                pool: streams::fleet_pool(),
                repair: false,
                judge: false,
                advisors: 0,
                parallel: None,
                queue_grace: Millis(0),
                build_wall: Millis(1),
                dead_after: DEAD_AFTER,
            },
            workflows: Vec::new(),
        }
    }

    fn mine() -> WorkflowSpec {
        WorkflowSpec { name: "mine".to_owned(), ..workflows::built_in("fly-approved").unwrap() }
    }

    #[test]
    fn everything_that_a_request_says_has_a_bound() {
        type Case = (fn(&mut Submit), Option<&'static str>);
        let cases: &[Case] = &[
            (|_| {}, None),
            (|submit| submit.fleet.parallel = Some(5_000), None),
            (|submit| submit.fleet.parallel = Some(1 << 31), Some("fleet/parallel")),
            (|submit| submit.fleet.parallel = Some(0), Some("fleet/parallel")),
            (|submit| submit.fleet.build_wall = Millis(1 << 60), Some("fleet/build_wall")),
            (|submit| submit.fleet.build_wall = Millis(0), Some("fleet/build_wall")),
            (|submit| submit.fleet.queue_grace = Millis(u64::MAX), Some("fleet/queue_grace")),
            (|submit| submit.fleet.advisors = 4, Some("fleet/advisors")),
            (|submit| submit.covenant = "../AGENTS.md".to_owned(), Some("covenant")),
            (|submit| submit.covenant = "/etc/passwd".to_owned(), Some("covenant")),
            (|submit| submit.plan.plan = String::new(), Some("plan")),
            (|submit| submit.workflows = vec![mine()], None),
            (|submit| submit.workflows = vec![mine(), mine()], Some("workflows/1/name")),
            (|submit| submit.workflows = vec![workflows::built_in("fly").unwrap()], Some("workflows/0/name")),
            (
                |submit| submit.workflows = vec![WorkflowSpec { description: Some("x".repeat(5_000)), ..mine() }],
                Some("workflows/0/description"),
            ),
        ];
        for (n, (change, wrong)) in cases.iter().enumerate() {
            let mut submit = submission();
            change(&mut submit);
            let found = validate_submission(&submit);
            let paths: Vec<String> = found.problems.iter().map(|problem| problem.path.to_string()).collect();
            assert_eq!(paths.first().map(String::as_str), *wrong, "case {n}: {found:?}");
        }
    }

    #[test]
    fn what_an_org_chart_says_of_gates_is_taken() {
        let mut submit = submission();
        let mut workflow = mine();
        let Some(GateOrFork::Gate(approve)) = workflow.gates.last_mut() else { panic!("it ends in a gate") };
        approve.people = (0..200).map(|n| format!("human-{n}").parse().unwrap()).collect();
        let people = approve.people.clone();
        let Some(GateOrFork::Gate(verify)) = workflow.gates.get_mut(1) else { panic!("its second gate verifies") };
        verify.escalations = vec![Escalation { people, ..Escalation::from("lead".parse::<RoleId>().unwrap()) }];
        submit.workflows = vec![workflow];
        assert_eq!(validate_submission(&submit).problems, []);
    }
}
