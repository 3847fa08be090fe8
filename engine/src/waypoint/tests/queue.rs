//! Work is integrated before its verifier gets it: what waits in the queue, for what, and how it leaves it.

use holdpoint_protocol::{
    artifact::{Doubt, VerificationPurpose, VerificationReport},
    ids::role,
    reason::ReasonCode,
    state::{Outcome, Phase, Status},
    turn::TurnRequest,
};

use crate::testing::{
    fixture::{Fed, Fixture},
    parts::{build_request, check, fleet, guard, id, plan, waypoint},
};
use crate::{
    flight::{self, Due, QueueContext},
    testing::account::Account,
    waypoint::{Input, Oversize},
};

fn of(names: &[&str], workflow: &str) -> Fixture {
    let mut plan = plan(names.iter().map(|name| waypoint(name, &[])).collect());
    plan.workflow = workflow.to_owned();
    let mut fixture = Fixture::new(plan, fleet());
    fixture.queues = true;
    for name in names {
        fixture.feed(name, Input::Open).turn();
    }
    fixture
}

fn due(fixture: &Fixture) -> Vec<Due> {
    let context = QueueContext { depth: 4, is_taken: &|_, _| true, aside: &Default::default(), is_put_off: &|_| false };
    flight::due_in(&fixture.flight, &fixture.waypoints, fixture.now, &context)
}

fn accepted(fixture: &mut Fixture, name: &str) {
    fixture.report(name, |_| {}).decided();
}

fn is_sound(fixture: &Fixture) {
    let audit = Account::of(fixture).audit();
    assert!(audit.is_sound(), "{:#?}", audit.findings);
}

#[test]
fn work_behind_other_work_is_verified_once_as_it_lands() {
    let mut fixture = of(&["a", "b", "c"], "fly");
    assert_eq!(fixture.build_ok("a").turn().role.as_str(), role::VERIFIER, "nothing is before it");
    for name in ["b", "c"] {
        assert_eq!(fixture.build_ok(name).queued().kept, None);
        assert_eq!((fixture.status(name), due(&fixture)), (Status::Running, vec![Due::Stack(id(name))]));
        let TurnRequest::Verify(request) = fixture.stack(name).turn().request else { panic!("a verifier's turn") };
        assert_eq!(request.purpose, VerificationPurpose::Handoff);
        assert_ne!(&request.base, fixture.flight.head(), "it stands for what is to land before");
    }
    for name in ["c", "b", "a"] {
        accepted(&mut fixture, name);
        assert_eq!(fixture.state(name).counters.attempts, 1);
    }
    for name in ["a", "b", "c"] {
        assert_eq!(due(&fixture), [Due::Land(id(name))]);
        fixture.land(name);
    }
    assert_eq!(due(&fixture), []);
    is_sound(&fixture);
}

#[test]
fn work_that_was_overtaken_is_merged_with_the_head_before_a_verifier_gets_it() {
    let mut fixture = of(&["a", "b"], "fly");
    fixture.build_ok("a").turn();
    accepted(&mut fixture, "a");
    fixture.land("a");
    fixture.build_ok("b").queued();
    assert_eq!(due(&fixture), [Due::Merge(id("b"))]);
    let TurnRequest::Verify(request) = fixture.merge("b", true).turn().request else { panic!("a verifier's turn") };
    assert_eq!((request.purpose, &request.base), (VerificationPurpose::Handoff, fixture.flight.head()));
    accepted(&mut fixture, "b");
    fixture.land("b");
    assert_eq!(fixture.state("b").counters.conflicts, 0);
    is_sound(&fixture);
}

#[test]
fn work_that_collides_goes_back_before_a_verifier_was_asked() {
    let mut fixture = of(&["a", "b"], "fly");
    fixture.build_ok("a").turn();
    accepted(&mut fixture, "a");
    fixture.land("a");
    fixture.build_ok("b").queued();
    let turn = fixture.merge("b", false).turn();
    assert_eq!(build_request(&turn).feedback.as_ref().unwrap().reason_code, ReasonCode::MergeConflict);
    assert_eq!(turn.attempt, 2, "its files and those of the first one have names of their own");
    let counters = fixture.state("b").counters;
    assert_eq!(
        (counters.attempts, counters.reworks, counters.conflicts),
        (0, 0, 1),
        "a landing conflict is no attempt"
    );
    fixture.build_ok("b").turn();
    accepted(&mut fixture, "b");
    assert_eq!(fixture.state("b").counters.attempts, 1);
    fixture.land("b");
    is_sound(&fixture);
}

#[test]
fn work_that_people_look_at_behind_its_verifier_waits_for_no_other_work() {
    let mut fixture = of(&["a", "b", "c"], "fly-approved");
    for name in ["a", "b"] {
        assert_eq!(fixture.build_ok(name).turn().role.as_str(), role::VERIFIER, "the head has not moved");
        fixture.report(name, |_| {}).turn();
    }
    fixture.complete("a", Outcome::Complete).decided();
    fixture.land("a");
    fixture.build_ok("c").queued();
    assert_eq!(due(&fixture), [Due::Merge(id("c"))], "b waits for a person, and c not for b");
    fixture.merge("c", true).turn();
    fixture.report("c", |_| {}).turn();
    fixture.complete("c", Outcome::Complete).decided();
    fixture.land("c");
    is_sound(&fixture);
}

#[test]
fn work_behind_other_work_is_signed_off_once_that_landed_and_keeps_nobody_waiting() {
    let mut fixture = of(&["a", "b", "c"], "fly");
    fixture.build_ok("a").turn();
    for name in ["b", "c"] {
        fixture.build_ok(name).queued();
        fixture.stack(name).turn();
    }
    let suspicious = |report: &mut VerificationReport| report.doubts.push(Doubt::suspicious("who calls?".to_owned()));
    fixture.report("b", suspicious).queued().kept.unwrap();
    assert_eq!(due(&fixture), [Due::Stack(id("c"))], "c goes behind a");
    fixture.stack("c").turn();
    accepted(&mut fixture, "a");
    fixture.land("a");
    assert_eq!(due(&fixture), [Due::Judge(id("b"))]);
    assert_eq!(fixture.judge("b").turn().gate.as_str(), "sign-off");
    let state = fixture.state("b");
    assert_eq!((state.base.as_ref(), state.stacked.is_none()), (Some(fixture.flight.head()), true));
    accepted(&mut fixture, "c");
    assert_eq!(due(&fixture), [Due::Land(id("c"))], "nobody waits for the person");
    fixture.land("c");
    fixture.complete("b", Outcome::Complete).decided();
    assert_eq!(due(&fixture), [Due::Merge(id("b"))]);
    fixture.merge("b", true).turn();
    fixture.report("b", suspicious).decided();
    assert_eq!(due(&fixture), [Due::Land(id("b"))], "the same diff is signed off once");
    fixture.land("b");
    is_sound(&fixture);
}

#[test]
fn waiting_work_can_be_ended_and_held_and_goes_on_where_it_was() {
    let waiting = || {
        let mut fixture = of(&["a", "b"], "fly");
        fixture.build_ok("a").turn();
        fixture.build_ok("b").queued();
        fixture
    };
    let mut fixture = waiting();
    fixture.cancel("b").decided();
    assert_eq!((fixture.status("b"), due(&fixture)), (Status::Cancelled, vec![]));
    is_sound(&fixture);

    for hold in [Input::TooLarge(Oversize { bytes: 9, most: 8 }), Input::LandingFailed("no room".to_owned())] {
        let mut fixture = waiting();
        fixture.feed("b", hold).decided();
        assert_eq!((fixture.status("b"), due(&fixture)), (Status::Blocked, vec![]));
        assert_eq!(fixture.retry("b", |_| {}).turn().role.as_str(), role::VERIFIER);
        is_sound(&fixture);
    }
}

#[test]
fn a_report_on_a_turn_that_another_integration_replaced_is_refused() {
    let mut fixture = of(&["a", "b"], "fly");
    fixture.build_ok("a").turn();
    fixture.build_ok("b").queued();
    fixture.stack("b").turn();
    let late = fixture.turn("b");
    fixture.cancel("a").decided();
    assert_eq!(due(&fixture), [Due::Merge(id("b"))]);
    let report = fixture.reported("b", crate::testing::parts::sound_report(&late));
    fixture.merge("b", true).turn();
    assert!(matches!(fixture.feed("b", report), Fed::Refused(_)));
    assert!(matches!(fixture.state("b").phase, Phase::InTurn(_)));
}

#[test]
fn guards_are_tried_on_no_base_that_landed_and_what_has_to_be_red_on_every_one() {
    let mut plan = plan(vec![waypoint("a", &[]), waypoint("b", &["a"]), waypoint("c", &["a"])]);
    plan.guards = vec![guard()];
    plan.waypoints[2].criteria[0].check = Some(check(true));
    let mut fixture = Fixture::new(plan, fleet());
    let tried = |taken: Fed| match taken.turn().request {
        TurnRequest::Verify(request) => {
            assert_eq!(request.purpose, VerificationPurpose::Baseline);
            Some((request.criteria.len(), request.guards.len()))
        }
        _ => None,
    };
    assert_eq!(tried(fixture.feed("a", Input::Open)), Some((0, 1)), "nobody has shown that it is green there");
    fixture.report("a", |_| {}).turn();
    fixture.build_ok("a").turn();
    accepted(&mut fixture, "a");
    fixture.land("a");
    assert_eq!(tried(fixture.feed("b", Input::Open)), None, "its tree was verified with all guards");
    assert_eq!(tried(fixture.feed("c", Input::Open)), Some((1, 0)));
    is_sound(&fixture);
}
