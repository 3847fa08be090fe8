//! The merge queue: who is in it and on what, and what becomes of those behind an entry that leaves.

mod any_order;

use std::{collections::BTreeMap, time::Duration};

use holdpoint_planfile::{gates::Workflow, workflows};
use holdpoint_protocol::{
    artifact::VerificationPurpose,
    facts::{Oid, Verdict},
    ids::{WaypointId, role},
    plan::{Priority, Waypoint},
    reason::ReasonCode,
    state::{Outcome, Phase, Stacked, Status, TurnHolder},
    turn::{CollisionKind, TurnRequest},
};

use crate::{
    flight::{self, Due, QueueContext},
    testing::{
        account::Account,
        desk::ADA,
        fixture::{Fed, Fixture},
        parts::{build_request, fleet, id, plan, waypoint},
    },
    waypoint::{BundledCommit, Input, MergeResult, MergesAlone, Oversize, stacks},
};

const FLY: &str = "fly";
const APPROVED: &str = "fly-approved";
/// Entries of every queue here, unless a test says otherwise.
const DEPTH: usize = 4;

fn due_with(fixture: &Fixture, depth: usize, taken: bool, aside: &[(&str, MergesAlone)]) -> Vec<Due> {
    let aside: BTreeMap<WaypointId, MergesAlone> = aside.iter().map(|(name, aside)| (id(name), *aside)).collect();
    let context = QueueContext { depth, is_taken: &|_, _| taken, aside: &aside, is_put_off: &|_| false };
    flight::due_in(&fixture.flight, &fixture.waypoints, fixture.now, &context)
}

fn due(fixture: &Fixture) -> Vec<Due> {
    due_with(fixture, DEPTH, true, &[])
}

fn of(names: &[&str], workflow: &str) -> Fixture {
    let mut plan = plan(names.iter().map(|name| waypoint(name, &[])).collect());
    plan.workflow = workflow.to_owned();
    Fixture::new(plan, fleet())
}

fn later(fixture: &mut Fixture) {
    fixture.now = fixture.now.after(Duration::from_secs(1));
}

/// These works accepted in this order, a second apart.
fn accepted(names: &[&str]) -> Fixture {
    let mut fixture = of(names, FLY);
    for name in names {
        later(&mut fixture);
        fixture.accept(name);
    }
    fixture
}

/// The same; the first has landed, and the second is merged with it.
fn begun(names: &[&str]) -> Fixture {
    let mut fixture = accepted(names);
    fixture.land(names[0]);
    fixture.merge(names[1], true).turn();
    fixture
}

/// The same, with the others behind the second, each being verified.
fn queued(names: &[&str]) -> Fixture {
    let mut fixture = begun(names);
    for name in &names[2..] {
        later(&mut fixture);
        assert_eq!(due(&fixture), [Due::Stack(id(name))]);
        fixture.stack(name).turn();
    }
    fixture
}

fn green(fixture: &mut Fixture, name: &str) {
    fixture.report(name, |_| {}).decided();
}

fn red(fixture: &mut Fixture, name: &str) -> Fed {
    fixture.report(name, |r| r.criteria[0].result.verdict = Verdict::Fail)
}

fn stacked(fixture: &Fixture, name: &str) -> Stacked {
    *fixture.state(name).stacked.expect("it is behind other work")
}

fn tree(fixture: &Fixture, name: &str) -> Oid {
    fixture.state(name).work.unwrap().tree
}

fn behind(fixture: &Fixture, name: &str) -> Vec<String> {
    stacked(fixture, name).behind.iter().map(ToString::to_string).collect()
}

/// Every landing is of the tree that was verified, on its parent's tree; and an audit of the flight finds nothing.
fn is_sound(fixture: &Fixture) {
    for landed in &fixture.flight.landed {
        let state = fixture.state(landed.waypoint.as_str());
        let verified = state.verified.unwrap();
        assert_eq!((&verified.tree, verified.report), (&landed.tree, landed.report));
        match &state.stacked {
            None => assert_eq!((&verified.base, &landed.verified_on), (&landed.parent, &None)),
            Some(stacked) => {
                assert_eq!(Some(&verified.base), landed.verified_on.as_ref());
                assert_eq!(fixture.flight.tree_of(&landed.parent), Some(&stacked.base_tree));
            }
        }
    }
    let audit = Account::of(fixture).audit();
    assert!(audit.is_sound(), "{:#?}", audit.findings);
}

fn landed(fixture: &Fixture) -> Vec<&str> {
    fixture.flight.landed.iter().map(|landed| landed.waypoint.as_str()).collect()
}

#[test]
fn works_are_verified_behind_each_other_at_the_same_time_and_land_in_order() {
    let mut fixture = queued(&["a", "b", "c", "d"]);
    assert_eq!((behind(&fixture, "c"), behind(&fixture, "d")), (vec!["b".to_owned()], vec!["b".into(), "c".into()]));
    assert_eq!(stacked(&fixture, "c").base_tree, tree(&fixture, "b"));
    assert_eq!(stacked(&fixture, "d").base_tree, tree(&fixture, "c"));
    for name in ["d", "c"] {
        green(&mut fixture, name);
        assert_eq!(due(&fixture), [], "b has not landed");
    }
    green(&mut fixture, "b");
    for name in ["b", "c", "d"] {
        assert_eq!(due(&fixture), [Due::Land(id(name))]);
        fixture.land(name);
    }
    assert_eq!(landed(&fixture), ["a", "b", "c", "d"]);
    is_sound(&fixture);
}

#[test]
fn the_verifier_of_a_car_gets_what_is_in_front_of_it_as_the_base() {
    let mut fixture = begun(&["a", "b", "c"]);
    let turn = fixture.stack("c").turn();
    let TurnRequest::Verify(request) = &turn.request else { panic!("{turn:?}") };
    let state = fixture.state("c");
    assert_eq!(request.purpose, VerificationPurpose::Merge);
    assert_eq!((Some(&request.base), &request.tree), (state.base.as_ref(), &tree(&fixture, "c")));
    assert_ne!(&request.base, fixture.flight.head(), "a commit that stands for a landing that is not there yet");
    let tips: Vec<_> = request.bundles.iter().map(|bundle| &bundle.tip).collect();
    assert!(tips.contains(&fixture.flight.head()) && tips.last() == Some(&&request.commit), "{tips:?}");
}

#[test]
fn the_train_is_no_longer_than_its_depth() {
    let mut fixture = begun(&["a", "b", "c", "d", "e"]);
    assert_eq!(due_with(&fixture, 1, true, &[]), [], "one at a time");
    assert_eq!(due_with(&fixture, 2, true, &[]), [Due::Stack(id("c"))]);
    fixture.stack("c").turn();
    assert_eq!(due_with(&fixture, 2, true, &[]), []);
    assert_eq!(due_with(&fixture, 3, true, &[]), [Due::Stack(id("d"))]);
}

#[test]
fn cars_are_added_while_verifiers_take_them() {
    let mut fixture = begun(&["a", "b", "c", "d", "e"]);
    assert_eq!(due_with(&fixture, DEPTH, false, &[]), [Due::Stack(id("c"))], "one waits behind the one that waits");
    fixture.stack("c").turn();
    assert_eq!(due_with(&fixture, DEPTH, false, &[]), [], "nobody is free");
    green(&mut fixture, "c");
    assert_eq!(due_with(&fixture, DEPTH, false, &[]), [Due::Stack(id("d"))]);
}

#[test]
fn urgent_work_goes_first_and_passes_no_car() {
    let mut fixture = of(&["a", "b", "c", "d", "e"], FLY);
    fixture.flight.submitted.plan.waypoints[4] = Waypoint { priority: Priority::High, ..waypoint("e", &[]) };
    for name in ["a", "b", "c", "d"] {
        later(&mut fixture);
        fixture.accept(name);
    }
    fixture.land("a");
    fixture.merge("b", true).turn();
    fixture.stack("c").turn();
    fixture.accept("e");
    assert_eq!(due(&fixture), [Due::Stack(id("e"))]);
    fixture.stack("e").turn();
    assert_eq!(due(&fixture), [Due::Stack(id("d"))]);
    assert_eq!(behind(&fixture, "e"), ["b", "c"]);
}

#[test]
fn those_behind_a_first_car_that_is_red_are_merged_again_in_their_order() {
    let mut fixture = queued(&["a", "b", "c", "d"]);
    green(&mut fixture, "d");
    let turn = red(&mut fixture, "b").turn();
    assert_eq!(turn.decision.as_ref().unwrap().reason_code, ReasonCode::CriteriaFailed);
    let given_up = fixture.open_turn("c").unwrap().turn;
    assert_eq!(due(&fixture), [Due::Merge(id("c"))], "also while it is being verified");
    fixture.merge("c", true).turn();
    assert_ne!(fixture.open_turn("c").unwrap().turn, given_up);
    assert_eq!(fixture.state("c").stacked, None, "it is the first now");
    assert_eq!(due(&fixture), [Due::Stack(id("d"))]);
    fixture.stack("d").turn();
    assert_eq!(behind(&fixture, "d"), ["c"]);
    for name in ["d", "c"] {
        green(&mut fixture, name);
    }
    for name in ["c", "d"] {
        assert_eq!(due(&fixture).first(), Some(&Due::Land(id(name))));
        fixture.land(name);
        assert_eq!(fixture.state(name).counters.conflicts, 0, "nothing collided with {name}");
    }
    is_sound(&fixture);
}

#[test]
fn a_red_report_behind_what_has_not_landed_is_kept_and_counts_once_that_has() {
    let mut fixture = queued(&["a", "b", "c", "d"]);
    let (open, merged) = (fixture.open_turn("c").unwrap(), fixture.state("c").work);
    let kept = red(&mut fixture, "c").queued().kept.unwrap();
    assert_eq!(kept.turn.turn, open.turn);
    let state = fixture.state("c");
    assert!(state.stacked.is_some() && state.work == merged && state.counters.reworks == 0, "{state:?}");
    assert_eq!(due(&fixture), [Due::Stack(id("d"))], "nothing stands on what is not green");
    let again = fixture.judge("c");
    assert!(matches!(again, Fed::Nothing), "it is kept already: {again:?}");
    fixture.stack("d").turn();
    assert_eq!(behind(&fixture, "d"), ["b"]);
    green(&mut fixture, "b");
    fixture.land("b");
    assert_eq!(due(&fixture), [Due::Judge(id("c"))]);
    let head = fixture.flight.head().clone();
    let turn = fixture.judge("c").turn();
    let request = build_request(&turn);
    assert_eq!((&request.base, Some(&request.start)), (&head, merged.unwrap().commit.as_ref()));
    let told = request.feedback.as_ref().unwrap();
    assert_eq!((told.reason_code, told.failing.len()), (ReasonCode::CriteriaFailed, 1));
    let collision = told.collision.as_ref().unwrap();
    assert_eq!((collision.kind, collision.landed.len()), (CollisionKind::RedMerge, 2));
    let counters = fixture.state("c").counters;
    assert_eq!((counters.attempts, counters.reworks, counters.conflicts), (1, 1, 0));
    green(&mut fixture, "d");
    fixture.land("d");
    is_sound(&fixture);
}

#[test]
fn a_kept_report_is_void_where_what_it_was_behind_leaves_the_queue() {
    let mut fixture = queued(&["a", "b", "c"]);
    let alone = stacked(&fixture, "c").alone;
    red(&mut fixture, "c").queued();
    red(&mut fixture, "b").turn();
    assert_eq!(due(&fixture), [Due::Merge(id("c"))]);
    assert_eq!(fixture.merge("c", true).turn().role.as_str(), role::VERIFIER);
    let state = fixture.state("c");
    let made_on = state.work.unwrap().made_on;
    assert_eq!((state.stacked, made_on, state.counters.reworks), (None, Some(alone.base), 0));
    green(&mut fixture, "c");
    fixture.land("c");
    is_sound(&fixture);
}

#[test]
fn work_that_is_red_when_all_in_front_of_it_landed_goes_on_from_the_merge() {
    let mut fixture = queued(&["a", "b", "c"]);
    green(&mut fixture, "b");
    fixture.land("b");
    let (head, merged) = (fixture.flight.head().clone(), fixture.state("c").work.unwrap().commit.unwrap());
    let turn = red(&mut fixture, "c").turn();
    let request = build_request(&turn);
    assert_eq!((&request.base, &request.start), (&head, &merged));
    let told = request.feedback.as_ref().unwrap().collision.as_ref().unwrap();
    assert_eq!((told.kind, told.landed.len()), (CollisionKind::RedMerge, 2));
    assert_eq!((fixture.state("c").counters.conflicts, fixture.state("c").counters.reworks), (0, 1));
    fixture.build_ok("c").turn();
    green(&mut fixture, "c");
    fixture.land("c");
    is_sound(&fixture);
}

#[test]
fn a_cancelled_car_leaves_the_train() {
    let mut fixture = queued(&["a", "b", "c", "d"]);
    fixture.cancel("c").decided();
    assert_eq!(fixture.status("c"), Status::Cancelled);
    assert_eq!(due(&fixture), [Due::Stack(id("d"))]);
    fixture.stack("d").turn();
    assert_eq!(behind(&fixture, "d"), ["b"]);
    fixture.cancel("b").decided();
    assert_eq!(due(&fixture), [Due::Merge(id("d"))]);
    fixture.merge("d", true).turn();
    green(&mut fixture, "d");
    fixture.land("d");
    assert_eq!(landed(&fixture), ["a", "d"]);
    is_sound(&fixture);
}

#[test]
fn work_that_was_in_the_train_lands_before_work_that_never_was() {
    let mut fixture = accepted(&["a", "b", "c"]);
    fixture.stack("b").turn();
    fixture.cancel("a").decided();
    assert_eq!(due(&fixture), [Due::Merge(id("b"))], "c could land as it is, but was accepted later");
    fixture.merge("b", true).turn();
    assert_eq!(fixture.state("b").work.unwrap().made_on, None, "it stands on the head as it was handed off");
    green(&mut fixture, "b");
    assert_eq!(due(&fixture).first(), Some(&Due::Land(id("b"))));
    fixture.land("b");
    assert_eq!(due(&fixture), [Due::Merge(id("c"))]);
    is_sound(&fixture);
}

#[test]
fn work_made_on_the_head_lands_although_a_car_behind_it_lost_its_place() {
    let mut fixture = accepted(&["a", "b", "c"]);
    fixture.stack("b").turn();
    fixture.stack("c").turn();
    fixture.cancel("b").decided();
    assert_eq!(due(&fixture), [Due::Land(id("a")), Due::Stack(id("c"))]);
}

#[test]
fn a_car_that_cannot_be_landed_lets_those_behind_it_go_on_and_lands_later() {
    let mut fixture = queued(&["a", "b", "c"]);
    green(&mut fixture, "b");
    green(&mut fixture, "c");
    fixture.feed("b", Input::LandingFailed("no room".to_owned())).decided();
    assert_eq!(due(&fixture), [Due::Merge(id("c"))]);
    fixture.merge("c", true).turn();
    green(&mut fixture, "c");
    fixture.land("c");
    fixture.retry("b", |_| {}).decided();
    assert_eq!(due(&fixture), [Due::Merge(id("b"))]);
    fixture.merge("b", true).turn();
    green(&mut fixture, "b");
    fixture.land("b");
    is_sound(&fixture);
}

#[test]
fn a_held_car_that_is_tried_again_comes_back_to_the_train_that_there_is_then() {
    let mut fixture = queued(&["a", "b", "c", "d"]);
    let turn = fixture.turn("c");
    fixture.feed("c", Input::TooLarge(Oversize { bytes: 9, most: 8 })).decided();
    assert_eq!(fixture.status("c"), Status::Blocked);
    assert_eq!(due(&fixture), [Due::Stack(id("d"))]);
    fixture.stack("d").turn();
    for name in ["b", "d"] {
        green(&mut fixture, name);
        fixture.land(name);
    }
    let again = fixture.retry("c", |_| {}).turn();
    assert_ne!(again.turn_id, turn.turn_id);
    assert_eq!(due(&fixture), [Due::Merge(id("c"))]);
    fixture.merge("c", true).turn();
    green(&mut fixture, "c");
    fixture.land("c");
    is_sound(&fixture);
}

#[test]
fn a_merge_that_collides_with_the_head_leaves_the_train_as_a_conflict() {
    let mut fixture = queued(&["a", "b", "c"]);
    fixture.cancel("b").decided();
    let turn = fixture.merge("c", false).turn();
    let request = build_request(&turn);
    assert_eq!((&request.base, &request.start), (fixture.flight.head(), fixture.flight.head()));
    let state = fixture.state("c");
    assert!(state.stacked.is_none() && state.work.is_none() && state.counters.conflicts == 1, "{state:?}");
    assert!(state.history.iter().filter(|visit| visit.gate.as_str() == "verify").all(|v| v.exited.is_some()));
    is_sound(&fixture);
}

#[test]
fn what_does_not_fit_behind_the_train_is_passed_or_waited_for() {
    let mut fixture = begun(&["a", "b", "c", "d"]);
    assert_eq!(due_with(&fixture, DEPTH, true, &[("c", MergesAlone::Passed)]), [Due::Stack(id("d"))]);
    assert_eq!(due_with(&fixture, DEPTH, true, &[("c", MergesAlone::First)]), []);
    green(&mut fixture, "b");
    fixture.land("b");
    assert_eq!(due_with(&fixture, DEPTH, true, &[("c", MergesAlone::First)]), [Due::Merge(id("c"))]);
}

#[test]
fn only_a_diff_that_was_let_through_goes_behind_others_where_people_look_at_it() {
    let fixture = begun(&["a", "b", "c"]);
    let clean = |same_diff| {
        let commit = BundledCommit {
            commit: tree(&fixture, "a"),
            tree: tree(&fixture, "b"),
            bundle: fixture.state("a").work.unwrap().bundle.unwrap(),
        };
        MergeResult::Clean { commit, violations: Vec::new(), same_diff }
    };
    let conflict = MergeResult::Conflict { paths: Vec::new(), paths_more: 0, changed_by: BTreeMap::new() };
    let [fly, approved] = [FLY, APPROVED].map(|name| Workflow::try_new(&workflows::built_in(name).unwrap()).unwrap());
    assert_eq!([true, false].map(|same| stacks(&clean(same), &fly)), [Ok(()), Ok(())]);
    assert_eq!([true, false].map(|same| stacks(&clean(same), &approved)), [Ok(()), Err(MergesAlone::First)]);
    for workflow in [&fly, &approved] {
        assert_eq!(stacks(&MergeResult::Contained, workflow), Err(MergesAlone::Passed));
        assert_eq!(stacks(&conflict, workflow), Err(MergesAlone::Passed));
    }
}

#[test]
fn approved_work_behind_other_work_is_verified_and_not_approved_again() {
    let mut fixture = of(&["a", "b", "c"], APPROVED);
    for name in ["a", "b", "c"] {
        later(&mut fixture);
        fixture.feed(name, Input::Open);
        fixture.build_ok(name).turn();
        fixture.report(name, |_| {}).turn();
        fixture.complete(name, Outcome::Complete).decided();
    }
    fixture.land("a");
    fixture.merge("b", true).turn();
    fixture.stack("c").turn();
    // b is approved again, and leaves the queue until it is.
    green(&mut fixture, "c");
    red(&mut fixture, "b").turn();
    assert_eq!(due(&fixture), [Due::Merge(id("c"))]);
    fixture.merge("c", true).turn();
    green(&mut fixture, "c");
    fixture.land("c");
    is_sound(&fixture);
}

#[test]
fn a_verification_that_a_person_has_taken_over_is_not_given_up() {
    let mut fixture = queued(&["a", "b", "c"]);
    let turn = fixture.open_turn("c").unwrap();
    let mut state = fixture.state("c");
    let Phase::InTurn(open) = &mut state.phase else { panic!("{turn:?}") };
    open.holder = TurnHolder::Person { name: ADA.parse().unwrap() };
    fixture.cancel("b").decided();
    fixture.waypoints.insert(id("c"), state);
    assert_eq!(due(&fixture), [], "what comes of it is merged again");
}

#[test]
fn two_works_that_racing_orchestrators_put_behind_the_same_one_go_on_behind_each_other() {
    let mut fixture = begun(&["a", "b", "c", "d"]);
    let before = fixture.waypoints.clone();
    fixture.stack("c").turn();
    let c = fixture.waypoints.insert(id("c"), before.get(&id("c")).unwrap().clone()).unwrap();
    fixture.stack("d").turn();
    fixture.waypoints.insert(id("c"), c);
    assert_eq!(due(&fixture), [Due::Stack(id("d"))], "c came first");
    fixture.stack("d").turn();
    assert_eq!(behind(&fixture, "d"), ["b", "c"]);
}

/// An entry of another depth's orchestrator stays in the queue.
#[test]
fn an_orchestrator_that_makes_one_merge_at_a_time_lands_the_train_of_another() {
    let mut fixture = queued(&["a", "b", "c"]);
    for name in ["b", "c"] {
        green(&mut fixture, name);
        assert_eq!(flight::due(&fixture.flight, &fixture.waypoints, fixture.now), [Due::Land(id(name))]);
        fixture.land(name);
    }
    is_sound(&fixture);
}
