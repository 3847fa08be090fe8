use holdpoint_protocol::{
    checkpoint::CheckpointSpec,
    ids::role,
    journal::Entry,
    time::Millis,
    workflow::{Effect, GateOrFork},
};

use super::*;
use crate::{
    flight::{Course, takes},
    testing::{
        desk::{ADA, WATCH, person},
        fixture::Fixture,
        parts::{check, fleet, plan as plan_of, to_people, waypoint},
    },
    waypoint::Input,
};

const SCRIPT: &str = "script-1";

fn gate(name: &str, role_name: &str) -> GateSpec {
    GateSpec::new(name.parse().unwrap(), role_name.parse().unwrap())
}

/// Build, verify, a writer, and a person approves.
fn gates() -> [GateSpec; 4] {
    let verify = GateSpec { can_reject: true, ..gate("verify", role::VERIFIER) };
    let approve = GateSpec {
        can_reject: true,
        require_human: true,
        timeout: Some(Millis(60_000)),
        people: vec![person(ADA)],
        ..gate("approve", "po")
    };
    [gate("build", role::BUILDER), verify, gate("write", "writer"), approve]
}

fn declared(change: impl FnOnce(&mut Vec<GateSpec>)) -> WorkflowSpec {
    let mut gates = gates().to_vec();
    change(&mut gates);
    WorkflowSpec::new("own", gates)
}

/// A command as a required checkpoint.
fn command(name: &str) -> CheckpointSpec {
    let command = CheckpointCommand { check: check(false), needs: Vec::new() };
    CheckpointSpec { name: name.parse().unwrap(), rule: Some(CheckpointRule::Command(command)), required: true }
}

fn fixture() -> Fixture {
    let mut plan = plan_of(vec![waypoint("w", &[])]);
    plan.workflow = "own".to_owned();
    let mut fixture = Fixture::flown_by(plan, fleet(), &[declared(|_| {})]);
    fixture.feed("w", Input::Open);
    fixture
}

fn code(by: &str, sent: &[WorkflowSpec]) -> Option<ActCode> {
    let mut fixture = fixture();
    let recorded = fixture.flight.configured.recorded().to_vec();
    match fixture.reload(by, sent) {
        Ok(()) => {
            assert_ne!(fixture.flight.configured.recorded(), recorded);
            None
        }
        Err(Refusal::Act(refused)) => {
            assert_eq!(fixture.flight.configured.recorded(), recorded, "it is flown by what it was flown by");
            assert!(!refused.message.is_empty() && !refused.hint.is_empty());
            Some(refused.code)
        }
        Err(other) => panic!("{other:?}"),
    }
}

#[test]
fn what_takes_a_guard_away_needs_a_person_and_everything_else_does_not() {
    let free = [
        declared(|gates| drop(gates.remove(2))),
        declared(|gates| gates[2].role = "critic".parse().unwrap()),
        declared(|gates| gates[2].require_human = true).with_timeout(),
        declared(|gates| gates.insert(1, gate("polish", "writer"))),
        declared(|gates| gates[1].tips.push("look twice".to_owned())),
        declared(|gates| gates[0].id = "make".parse().unwrap()),
        declared(|gates| gates[0].escalations.push(to_people("lead", &[ADA]))),
        declared(|gates| gates[0].demands.checkpoints.push(command("tested"))),
    ];
    for spec in free {
        assert_eq!(code(SCRIPT, std::slice::from_ref(&spec)), None, "{spec:?}");
    }
    let guarded = [
        declared(|gates| drop(gates.pop())),
        declared(|gates| gates[1].id = "check".parse().unwrap()),
        declared(|gates| gates[3].require_human = false),
        declared(|gates| gates[3].people.push(person("human-bob"))),
        declared(|gates| gates[3].escalations.push(to_people("lead", &["human-bob"]))),
        declared(|gates| gates[1].escalations.push(to_people("lead", &["human-bob"]))),
        declared(|gates| gates[3].can_reject = false),
        declared(|gates| gates[1].demands.checkpoints.push(command("tested"))),
        declared(|gates| gates[1].when = Some("false".to_owned())),
        declared(|gates| gates[3].when = Some("false".to_owned())),
        declared(|gates| {
            let verify = GateSpec { id: "again".parse().unwrap(), ..gates[1].clone() };
            gates.extend([gate("make", role::BUILDER), verify]);
        }),
        WorkflowSpec {
            outcomes: holdpoint_protocol::workflow::ByOutcome {
                needs_review: Some(Effect::Advance),
                ..Default::default()
            },
            ..declared(|_| {})
        },
    ];
    for spec in guarded {
        for by in [SCRIPT, WATCH] {
            assert_eq!(code(by, std::slice::from_ref(&spec)), Some(ActCode::HumanRequired), "{spec:?}");
        }
        assert_eq!(code(ADA, std::slice::from_ref(&spec)), None, "{spec:?}");
    }
}

#[test]
fn only_a_person_takes_a_command_away_that_verifiers_run_again() {
    let with = declared(|gates| gates[0].demands.checkpoints.push(command("tested")));
    let renamed = declared(|gates| {
        gates[0].id = "make".parse().unwrap();
        gates[0].demands.checkpoints.push(command("all-tested"));
    });
    assert_eq!(loosened(&with, &renamed), None, "the same command is run again");
    assert_eq!(loosened(&declared(|_| {}), &with), None);
    let taken = loosened(&with, &declared(|_| {})).unwrap();
    assert!(taken.contains("takes a command away"), "{taken}");
}

trait WithTimeout {
    fn with_timeout(self) -> Self;
}

impl WithTimeout for WorkflowSpec {
    /// People's turns have a time.
    fn with_timeout(mut self) -> Self {
        for item in &mut self.gates {
            if let GateOrFork::Gate(gate) = item {
                gate.timeout = Some(Millis(60_000));
            }
        }
        self
    }
}

#[test]
fn what_could_not_be_submitted_is_refused_and_changes_nothing() {
    let unsound = [
        Vec::new(),
        vec![declared(|gates| drop(gates.remove(1)))],
        vec![declared(|gates| drop(gates.drain(..2)))],
        vec![declared(|gates| gates[2].role = "nobody".parse().unwrap())],
        vec![declared(|gates| gates[0].can_reject = true)],
        vec![declared(|_| {}), declared(|gates| drop(gates.remove(2)))],
        vec![WorkflowSpec::new("fly", gates()), declared(|gates| drop(gates.remove(2)))],
        vec![declared(|gates| gates[1].demands.plan_checks = true)],
        vec![declared(|gates| gates[2].tips.push("x".repeat(RELOAD_BYTES_MAX)))],
    ];
    for sent in unsound {
        assert_eq!(code(ADA, &sent), Some(ActCode::Invalid), "{sent:?}");
    }
    assert_eq!(code(ADA, &[declared(|_| {})]), Some(ActCode::NothingOpen), "nothing is different");
}

#[test]
fn a_flight_is_given_other_workflows_so_often_and_while_it_goes_on() {
    let mut fixture = fixture();
    let other = |n: u32| declared(|gates| gates[2].tips.push(format!("{n}")));
    (0..CONFIGURATIONS_MAX).for_each(|n| fixture.reload(SCRIPT, &[other(n)]).unwrap());
    assert!(fixture.reload(SCRIPT, &[other(CONFIGURATIONS_MAX)]).is_err());
    let mut fixture = self::fixture();
    fixture.steer(Verb::Pause).unwrap();
    fixture.reload(SCRIPT, &[other(1)]).expect("what is paused goes on later");
    fixture.steer(Verb::Cancel).unwrap();
    let Err(Refusal::Act(refused)) = fixture.reload(SCRIPT, &[other(2)]) else { panic!("it is over") };
    assert_eq!(refused.code, ActCode::Over);
}

#[test]
fn a_reload_that_came_before_another_one_is_late() {
    let mut fixture = fixture();
    fixture.reload(SCRIPT, &[declared(|gates| drop(gates.remove(2)))]).unwrap();
    let at = Timestamp::from_millis;
    let own: Vec<(Timestamp, Entry)> = fixture
        .log
        .iter()
        .filter(|logged| logged.waypoint.is_none())
        .zip([10, 20])
        .map(|(logged, stored)| (at(stored), logged.entry.clone()))
        .collect();
    let course = Course::of(own.iter().map(|(stored, entry)| (*stored, entry)), None);
    let taken = |stored| takes(&fixture.flight, Verb::Reconfigure, at(stored), &course).is_ok();
    assert_eq!([taken(5), taken(15), taken(25)], [false, false, true]);
    let pause = takes(&fixture.flight, Verb::Pause, at(15), &course);
    assert!(pause.is_ok(), "it has nothing to do with the workflows");
}

#[test]
fn only_a_person_lets_other_agents_verify_where_the_chart_names_them() {
    let bound = |names: &[&str]| WorkflowSpec {
        listed: [(role::id(role::VERIFIER), names.iter().map(|name| name.parse().unwrap()).collect())].into(),
        ..declared(|_| {})
    };
    let old = bound(&["v1", "v2"]);
    for (new, expected) in [
        (bound(&["v2"]), None),
        (bound(&["v2", "v3"]), Some("the reload lets v3 verify in workflow own, which the org chart did not")),
        (declared(|_| {}), Some("the reload lets any verifier verify in workflow own, which the org chart did not")),
    ] {
        assert_eq!(loosened(&old, &new).as_deref(), expected, "{new:?}");
        assert_eq!(loosened(&declared(|_| {}), &new), None, "whoever has a key may already: {new:?}");
    }
}
