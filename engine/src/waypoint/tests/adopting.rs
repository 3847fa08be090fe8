//! Work that began before its project had a workflow, once it has one (GATE-11).

use holdpoint_planfile::workflows::ONE_GATE;
use holdpoint_protocol::{
    artifact::ActCode,
    ids::role,
    reason::ReasonCode,
    refusal::RefusalCode,
    state::{Outcome, Phase, Resume, Status},
    workflow::{GateSpec, WorkflowSpec},
};

use crate::{
    flight::{self, Due},
    state::adopted,
    testing::{
        account::Account,
        desk::{ADA, WATCH},
        fixture::Fixture,
        parts::{fleet, id, plan, waypoint},
    },
    waypoint::{Input, Refusal},
};

fn gate(name: &str, role_name: &str) -> GateSpec {
    GateSpec::new(name.parse().unwrap(), role_name.parse().unwrap())
}

/// Build, verify; the first gate has the id of the one that work was at.
fn declared(name: &str) -> WorkflowSpec {
    let verify = GateSpec { can_reject: true, ..gate("verify", role::VERIFIER) };
    WorkflowSpec::new(name, [gate("complete", role::BUILDER), verify])
}

/// `w` is under way without a workflow of its project; `later` waits for it.
fn under_way() -> Fixture {
    let mut planned = plan(vec![waypoint("w", &[]), waypoint("later", &["w"])]);
    planned.workflow = ONE_GATE.to_owned();
    let mut fixture = Fixture::flown_by(planned, fleet(), &[]);
    let turn = fixture.feed("w", Input::Open).turn();
    assert_eq!((turn.gate.as_str(), turn.role.as_str()), ("complete", "default"));
    fixture
}

fn due(fixture: &Fixture) -> Vec<Due> {
    flight::due(&fixture.flight, &fixture.waypoints, fixture.now)
}

fn visits(fixture: &Fixture) -> Vec<String> {
    let outcome =
        |outcome: Option<Outcome>| outcome.map_or_else(|| "open".to_owned(), |outcome| format!("{outcome:?}"));
    let history = fixture.state("w").history;
    history.iter().map(|visit| format!("{} {} {}", visit.gate, visit.role, outcome(visit.outcome))).collect()
}

fn is_sound(fixture: &Fixture) {
    assert_eq!(Account::of(fixture).audit().findings, []);
}

#[test]
fn work_under_way_comes_to_the_first_gate_of_the_workflow_that_is_declared() {
    let mut fixture = under_way();
    let Input::Fulfilled(late) = fixture.fulfilment("w", |_| {}) else { unreachable!("a completion") };
    fixture.reload(WATCH, &[declared("own"), declared("other")]).unwrap();
    let names = fixture.flight.configured.recorded().iter().map(|recorded| recorded.workflow.name.as_str());
    assert_eq!(names.collect::<Vec<_>>(), ["own"], "the first one adopts");
    assert_eq!(due(&fixture), [Due::Migrate(id("w"))]);
    let turn = fixture.migrate("w").turn();
    assert_eq!((turn.gate.as_str(), turn.role.as_str()), ("complete", role::BUILDER));
    assert_eq!(visits(&fixture), ["complete default Skip", "complete builder open"]);
    let decision = fixture.state("w").decision.unwrap();
    assert_eq!(decision.reason_code, ReasonCode::Reconfigured);
    assert!(turn.decision.unwrap().remediation.unwrap().contains("the project declares workflow own"));
    assert_eq!(fixture.feed("w", Input::Fulfilled(late)).refusal().code(), RefusalCode::WrongRole);
    assert_eq!(due(&fixture), [], "once");
    fixture.build_ok("w").turn();
    fixture.report("w", |_| {}).decided();
    fixture.land("w");
    assert_eq!(fixture.feed("later", Input::Open).turn().role.as_str(), role::BUILDER, "what begins later goes by it");
    is_sound(&fixture);
}

#[test]
fn held_work_is_adopted_and_a_retry_begins_at_the_first_gate() {
    let mut fixture = under_way();
    fixture.fulfil("w", |completion| {
        completion.outcome = Some(Outcome::Blocked);
        completion.blockers = vec!["nobody knows the price".to_owned()];
    });
    fixture.reload(ADA, &[declared("own")]).unwrap();
    assert_eq!(due(&fixture), [Due::Migrate(id("w"))]);
    fixture.migrate("w").decided();
    assert_eq!(visits(&fixture), ["complete default Blocked", "complete default Skip"]);
    let Phase::Held(held) = fixture.state("w").phase else { panic!("it is held still") };
    assert_eq!((held.resume, held.status), (Resume::Beginning, Status::Blocked));
    assert_eq!(due(&fixture), []);
    assert_eq!(fixture.retry("w", |_| {}).turn().role.as_str(), role::BUILDER);
    is_sound(&fixture);
}

#[test]
fn a_question_goes_with_the_gate_and_what_is_complete_stays_so() {
    let mut asking = under_way();
    asking.ask("w", "which one?").decided();
    asking.reload(ADA, &[declared("own")]).unwrap();
    assert_eq!(asking.migrate("w").turn().role.as_str(), role::BUILDER);
    is_sound(&asking);
    let mut over = under_way();
    over.fulfil("w", |_| {}).decided();
    over.reload(ADA, &[declared("own")]).unwrap();
    assert_eq!(due(&over), [Due::Open(id("later"))]);
    assert_eq!(over.status("w"), Status::Complete);
    is_sound(&over);
}

#[test]
fn adopted_work_is_reloaded_by_the_workflow_that_adopted_it_and_passes_over_later_gates() {
    let mut fixture = under_way();
    fixture.reload(ADA, &[declared("own")]).unwrap();
    fixture.migrate("w").turn();
    let mut longer = declared("own");
    longer.gates.insert(1, GateSpec { can_reject: true, ..gate("read", "reader") }.into());
    fixture.reload(ADA, &[declared("other"), longer]).unwrap();
    assert_eq!(due(&fixture), []);
    assert_eq!(fixture.build_ok("w").turn().gate.as_str(), "verify");
    let Err(Refusal::Act(gone)) = fixture.reload(ADA, &[declared("other")]) else { panic!("it is refused") };
    assert_eq!((gone.code, gone.message.contains("workflow own")), (ActCode::Invalid, true), "{}", gone.message);
    is_sound(&fixture);
}

#[test]
fn a_workflow_that_verifies_adopts_no_work_without_criteria() {
    let mut planned = plan(vec![waypoint("w", &[])]);
    planned.workflow = ONE_GATE.to_owned();
    planned.waypoints[0].criteria.clear();
    let mut fixture = Fixture::flown_by(planned, fleet(), &[]);
    fixture.feed("w", Input::Open).turn();
    let Err(Refusal::Act(refused)) = fixture.reload(ADA, &[declared("own")]) else { panic!("it is refused") };
    assert_eq!(refused.code, ActCode::Invalid);
    fixture.reload(ADA, &[WorkflowSpec::new("read", [gate("read", "reader")])]).unwrap();
    assert_eq!(fixture.migrate("w").turn().role.as_str(), "reader");
    is_sound(&fixture);
}

#[test]
fn what_began_without_a_workflow_moves_by_the_first_of_those_that_adopted_it_and_nothing_else_does() {
    let table: [(&[&str], &str, Option<&str>); 6] = [
        (&["a", "b"], ONE_GATE, Some("a")),
        (&["a", ONE_GATE], ONE_GATE, Some(ONE_GATE)),
        (&["a", "b"], "b", Some("b")),
        (&["a", "b"], "gone", None),
        (&[ONE_GATE], "gone", None),
        (&[], ONE_GATE, None),
    ];
    for (declared, named, moves_by) in table {
        let specs: Vec<WorkflowSpec> = declared.iter().map(|name| WorkflowSpec::new(*name, [])).collect();
        let found = adopted(specs.iter(), named).map(|spec| spec.name.as_str());
        assert_eq!(found, moves_by, "{named} among {declared:?}");
    }
}
