mod view;

use std::time::Duration;

use holdpoint_protocol::{
    Digest, Timestamp,
    artifact::{Metered, Verb},
    facts::{Oid, Verdict},
    ids::{TurnId, WaypointId},
    journal::Landed,
    plan::{Priority, Waypoint},
    reason::ReasonCode,
    subjects::Fence,
    time::Millis,
    turn::TurnRequest,
    version,
    view::{FlightStatus, Trouble},
};

use super::*;
use crate::{
    testing::{
        fixture::Fixture,
        parts::{bundle, failure, fleet, guard, id, oid, plan, waypoint},
    },
    waypoint::{BuildOutcome, Input},
};

fn fixture(waypoints: Vec<Waypoint>) -> Fixture {
    Fixture::new(plan(waypoints), fleet())
}

fn due_now(fixture: &Fixture) -> Vec<Due> {
    due(&fixture.flight, &fixture.waypoints, fixture.now)
}

fn next(fixture: &Fixture) -> Option<Timestamp> {
    next_deadline(&fixture.flight, &fixture.waypoints, fixture.now)
}

fn standing(fixture: &Fixture) -> FlightStatus {
    flight_status(&fixture.flight, &fixture.waypoints)
}

/// One waypoint of three, in every place it can be, with its public status and the flight's.
#[test]
fn every_phase_has_its_public_status() {
    use holdpoint_protocol::state::Status::{Complete, Failed, Pending, Running, Waiting};
    type Drive = fn(&mut Fixture);
    let table: &[(&str, Drive, _, FlightStatus)] = &[
        ("not begun", |_| {}, Pending, FlightStatus::Running),
        ("in a build turn", |f| drop(f.feed("a", Input::Open)), Running, FlightStatus::Running),
        ("accepted", |f| f.accept("a"), Running, FlightStatus::Running),
        (
            "landed",
            |f| {
                f.accept("a");
                f.land("a");
            },
            Complete,
            FlightStatus::Running,
        ),
        (
            "accepted without a change",
            |f| {
                f.feed("a", Input::Open);
                f.build("a", BuildOutcome::Work { commit: None, violations: Vec::new() });
                f.report("a", |_| {});
            },
            Complete,
            FlightStatus::Running,
        ),
        (
            "asked",
            |f| {
                f.feed("a", Input::Open);
                f.ask("a", "which?").decided();
            },
            Waiting,
            FlightStatus::Waiting,
        ),
        ("out of budget", |f| drop(f.feed("a", Input::BudgetExhausted)), Failed, FlightStatus::Incomplete),
    ];
    for (name, drive, expected, flight) in table {
        let mut fixture = fixture(vec![waypoint("a", &[]), waypoint("b", &["a"])]);
        drive(&mut fixture);
        assert_eq!(fixture.status("a"), *expected, "{name}");
        assert_eq!(fixture.status("b"), Pending, "{name}: what depends on it is pending");
        assert_eq!(standing(&fixture), *flight, "{name}");
    }
}

#[test]
fn a_flight_is_accepted_when_all_is_complete_and_waiting_when_only_an_answer_helps() {
    let mut fixture = fixture(vec![waypoint("a", &[]), waypoint("b", &[])]);
    fixture.accept("a");
    fixture.land("a");
    assert_eq!(standing(&fixture), FlightStatus::Running, "it can be opened");
    fixture.feed("b", Input::Open);
    fixture.ask("b", "which?").decided();
    assert_eq!(standing(&fixture), FlightStatus::Waiting);
    fixture.answer("b").turn();
    assert_eq!(standing(&fixture), FlightStatus::Running, "an agent can go on");
    fixture.build_ok("b").turn();
    fixture.report("b", |_| {}).decided();
    assert_eq!(standing(&fixture), FlightStatus::Running, "it has not landed");
    fixture.land("b");
    assert_eq!(standing(&fixture), FlightStatus::Accepted);
    assert_eq!((due_now(&fixture), next(&fixture)), (vec![], None));
}

#[test]
fn a_flight_rests_until_its_next_deadline_unless_something_is_due() {
    let mut fixture = fixture(vec![waypoint("a", &[])]);
    let rests = |fixture: &Fixture| rests_until(&fixture.flight, &fixture.waypoints, fixture.now);
    assert_eq!(rests(&fixture), None, "its waypoint is to be opened");
    fixture.feed("a", Input::Open);
    let deadline = next(&fixture).unwrap();
    assert_eq!(rests(&fixture), Some(deadline));
    fixture.now = deadline;
    assert_eq!(rests(&fixture), None, "its turn is overdue");
}

#[test]
fn waypoints_open_by_priority_then_order_when_their_dependencies_are_complete() {
    let urgent = Waypoint { priority: Priority::Critical, ..waypoint("d", &["a"]) };
    let high = Waypoint { priority: Priority::High, ..waypoint("c", &[]) };
    let mut fixture = fixture(vec![waypoint("a", &[]), waypoint("b", &[]), high, urgent]);
    for expected in ["c", "a", "b"] {
        assert_eq!(due_now(&fixture), [Due::Open(id(expected))]);
        fixture.feed(expected, Input::Open);
    }
    assert_eq!(due_now(&fixture), [], "d waits for a");
    fixture.build_ok("a");
    fixture.report("a", |_| {});
    assert_eq!(due_now(&fixture), [Due::Land(id("a"))], "accepted is not complete");
    fixture.land("a");
    assert_eq!(due_now(&fixture), [Due::Open(id("d"))]);
}

#[test]
fn no_more_open_than_there_is_room_for() {
    let mut fleet = fleet();
    fleet.parallel = Some(1);
    let mut fixture = Fixture::new(plan(vec![waypoint("a", &[]), waypoint("b", &[])]), fleet);
    fixture.accept("a");
    assert_eq!(due_now(&fixture), [Due::Land(id("a"))], "accepted work takes up room until it has landed");
    fixture.land("a");
    assert_eq!(due_now(&fixture), [Due::Open(id("b"))]);
}

#[test]
fn the_first_accepted_lands_first_and_what_stands_on_an_older_head_is_merged() {
    let mut fixture = fixture(vec![waypoint("a", &[]), waypoint("b", &[])]);
    fixture.accept("b");
    fixture.now = fixture.now.after(Duration::from_secs(1));
    fixture.accept("a");
    assert_eq!(due_now(&fixture), [Due::Land(id("b"))], "one at a time");
    fixture.land("b");
    assert_eq!(due_now(&fixture), [Due::Merge(id("a"))]);
    fixture.merge("a", true).turn();
    assert_eq!(due_now(&fixture), []);
    fixture.report("a", |_| {}).decided();
    assert_eq!(due_now(&fixture), [Due::Land(id("a"))]);
}

#[test]
fn a_waypoint_learns_what_its_dependencies_landed_as() {
    let mut fixture = fixture(vec![waypoint("a", &[]), waypoint("b", &["a"]), waypoint("c", &[])]);
    fixture.accept("a");
    fixture.land("a");
    let commit = fixture.flight.head().clone();
    fixture.feed("b", Input::Open);
    let told = |fixture: &Fixture, name: &str| match fixture.turn(name).request {
        TurnRequest::Build(request) => request.dependencies,
        other => panic!("{other:?}"),
    };
    let [dependency] = &told(&fixture, "b")[..] else { panic!("one") };
    assert_eq!((dependency.waypoint.as_str(), &dependency.commit), ("a", &commit));
    fixture.feed("c", Input::Open);
    assert!(told(&fixture, "c").is_empty());
}

/// These waypoints accepted in this order, a second apart, all on the flight's base.
fn accepted(waypoints: Vec<Waypoint>, order: &[&str]) -> Fixture {
    let mut fixture = fixture(waypoints);
    for name in order {
        fixture.now = fixture.now.after(Duration::from_secs(1));
        fixture.accept(name);
    }
    fixture
}

#[test]
fn a_merge_that_is_being_verified_keeps_its_place_until_it_has_landed() {
    let mut fixture = accepted(["a", "b", "c", "d"].map(|n| waypoint(n, &[])).to_vec(), &["a", "b", "c"]);
    fixture.land("a");
    assert_eq!(due_now(&fixture), [Due::Merge(id("b")), Due::Open(id("d"))]);
    fixture.merge("b", true).turn();
    assert_eq!(due_now(&fixture), [Due::Open(id("d"))], "c would be merged with a head that is about to move");
    fixture.accept("d");
    assert_eq!(due_now(&fixture), [], "d stands on the head, and would move it under the merge");
    fixture.report("b", |_| {}).decided();
    assert_eq!(due_now(&fixture), [Due::Land(id("b"))]);
    fixture.land("b");
    for name in ["c", "d"] {
        assert_eq!(due_now(&fixture), [Due::Merge(id(name))]);
        fixture.merge(name, true).turn();
        fixture.report(name, |_| {}).decided();
        fixture.land(name);
    }
    assert_eq!(standing(&fixture), FlightStatus::Accepted);
}

#[test]
fn a_merge_that_is_sent_back_or_given_up_makes_room_for_the_next() {
    for given_up in [false, true] {
        let mut fixture = accepted(["a", "b", "c"].map(|n| waypoint(n, &[])).to_vec(), &["a", "b", "c"]);
        fixture.land("a");
        fixture.merge("b", true).turn();
        assert_eq!(due_now(&fixture), []);
        if given_up {
            fixture.ask("b", "which?").decided();
        } else {
            fixture.report("b", |r| r.criteria[0].result.verdict = Verdict::Fail).turn();
        }
        assert_eq!(due_now(&fixture), [Due::Merge(id("c"))]);
    }
}

#[test]
fn what_stands_on_the_head_lands_first_then_urgent_work_then_the_first_accepted() {
    let urgent = Waypoint { priority: Priority::High, ..waypoint("d", &[]) };
    let all = vec![waypoint("a", &[]), waypoint("b", &[]), waypoint("c", &[]), urgent, waypoint("e", &["a"])];
    let mut fixture = accepted(all, &["a", "c", "b", "d"]);
    assert_eq!(due_now(&fixture), [Due::Land(id("d"))], "all stand on the head");
    fixture.land("d");
    assert_eq!(due_now(&fixture), [Due::Merge(id("a"))]);
    fixture.merge("a", true).turn();
    fixture.report("a", |_| {}).decided();
    fixture.land("a");
    fixture.accept("e");
    assert_eq!(due_now(&fixture), [Due::Land(id("e"))], "it needs no further verification");
    fixture.land("e");
    assert_eq!(due_now(&fixture), [Due::Merge(id("c"))]);
}

#[test]
fn merges_that_racing_orchestrators_began_on_one_head_do_not_wait_for_each_other() {
    let mut fixture = accepted(["a", "b", "c"].map(|n| waypoint(n, &[])).to_vec(), &["a", "b", "c"]);
    fixture.land("a");
    fixture.merge("b", true).turn();
    fixture.merge("c", true).turn();
    assert_eq!(due_now(&fixture), []);
    fixture.report("c", |_| {}).decided();
    assert_eq!(due_now(&fixture), [Due::Land(id("c"))]);
    fixture.land("c");
    fixture.report("b", |_| {}).decided();
    assert_eq!(due_now(&fixture), [Due::Merge(id("b"))]);
}

#[test]
fn a_deadline_is_due_when_it_has_come_and_is_the_next_until_then() {
    let mut fixture = fixture(vec![waypoint("a", &[])]);
    assert_eq!(next(&fixture), None);
    let turn = fixture.feed("a", Input::Open).turn();
    assert_eq!((due_now(&fixture), next(&fixture)), (vec![], Some(turn.deadline)));
    fixture.now = turn.deadline;
    assert_eq!(due_now(&fixture), [Due::Deadline(id("a"), turn.turn_id.clone())]);
    fixture.feed("a", Input::DeadlinePassed(Box::new(turn))).turn();
    assert_eq!(due_now(&fixture), []);
}

#[test]
fn a_used_up_wall_budget_ends_what_runs_or_would_run_and_lets_accepted_work_land() {
    let mut plan = plan(vec![waypoint("a", &[]), waypoint("b", &[]), waypoint("c", &[]), waypoint("d", &["b"])]);
    plan.budget.wall = Some(Millis(60_000));
    let mut fixture = Fixture::new(plan, fleet());
    let end = fixture.flight.wall_end(fixture.now).unwrap();
    assert_eq!(next(&fixture), Some(end));
    fixture.accept("a");
    fixture.feed("b", Input::Open);
    assert_eq!(due_now(&fixture), [Due::Land(id("a")), Due::Open(id("c"))]);
    fixture.now = end;
    let budget = |name: &str| Due::Budget(id(name));
    let all = due_now(&fixture);
    assert_eq!(all.first(), Some(&budget("b")));
    assert_eq!(all.get(1), Some(&budget("c")));
    for name in ["b", "c"] {
        fixture.feed(name, Input::BudgetExhausted).decided();
    }
    assert_eq!(due_now(&fixture), [Due::Land(id("a"))], "d stays pending");
    assert_eq!(next(&fixture), None, "there is nothing to wake up for while it lands");
    fixture.land("a");
    assert_eq!((due_now(&fixture), standing(&fixture)), (vec![], FlightStatus::Incomplete));
}

#[test]
fn head_trees_and_bundles_follow_the_landings() {
    let mut fixture = fixture(vec![waypoint("a", &[]), waypoint("b", &["a"])]);
    let flight = fixture.flight.clone();
    assert_eq!((flight.head(), flight.head_tree()), (&oid(0xa), &oid(0xb)));
    for name in ["a", "b"] {
        fixture.accept(name);
        fixture.land(name);
    }
    let flight = &fixture.flight;
    let [a, b] = &flight.landed[..] else { panic!() };
    assert_eq!((flight.head(), flight.head_tree(), &b.parent), (&b.commit, &b.tree, &a.commit));
    let tips = |commit: &Oid| flight.bundles_up_to(commit).into_iter().map(|b| b.tip).collect::<Vec<_>>();
    assert_eq!(tips(&oid(0xa)), [oid(0xa)]);
    assert_eq!(tips(&a.commit), [oid(0xa), a.commit.clone()]);
    assert_eq!(tips(&b.commit), [oid(0xa), a.commit.clone(), b.commit.clone()]);
    assert_eq!(flight.tree_of(&oid(0xa)), Some(&oid(0xb)));
    assert_eq!(flight.tree_of(&a.commit), Some(&a.tree));
    assert_eq!(flight.tree_of(&oid(0xff)), None);
    assert_eq!(flight.landing(&id("a")), Some(a));
}

#[test]
fn what_cannot_be_opened_now_lets_others_go_before_it() {
    let fixture = fixture(vec![waypoint("a", &[]), waypoint("b", &[]), waypoint("c", &["a"])]);
    let due = |put_off: &[&str]| {
        let is_put_off = |id: &WaypointId| put_off.contains(&id.as_str());
        due_in(
            &fixture.flight,
            &fixture.waypoints,
            fixture.now,
            &QueueContext { is_put_off: &is_put_off, ..QueueContext::SINGLE },
        )
    };
    assert_eq!(due(&[]), [Due::Open(id("a"))]);
    assert_eq!(due(&["a"]), [Due::Open(id("b"))]);
    assert_eq!(due(&["a", "b"]), []);
}

#[test]
fn a_landing_may_follow_only_while_its_work_is_accepted_and_nothing_else_landed() {
    type Meanwhile = fn(&mut Fixture);
    let table: &[(&str, Meanwhile, bool)] = &[
        ("nothing", |_| {}, true),
        ("it was held", |f| drop(f.feed("a", Input::LandingFailed("no room".to_owned()))), false),
        ("it was cancelled", |f| drop(f.cancel("a")), false),
        ("the flight was cancelled", |f| f.steer(Verb::Cancel).unwrap(), false),
        ("it has landed", |f| f.land("a"), false),
        ("other work has landed", |f| f.land("b"), false),
        ("other work was held", |f| drop(f.feed("b", Input::LandingFailed("no room".to_owned()))), true),
    ];
    for (meanwhile, happens, may) in table {
        let mut fixture = fixture(vec![waypoint("a", &[]), waypoint("b", &[])]);
        fixture.accept("a");
        fixture.accept("b");
        let landing = fixture.landing("a");
        happens(&mut fixture);
        assert_eq!(fixture.flight.may_land(&landing, &fixture.state("a")), *may, "{meanwhile}");
    }
}

#[test]
fn while_a_roles_agents_cannot_work_no_work_that_needs_them_begins_until_a_person_has_it_tried_again() {
    let mut fixture = fixture(vec![waypoint("a", &[]), waypoint("b", &[])]);
    fixture.feed("a", Input::Open);
    assert_eq!(due_now(&fixture), [Due::Open(id("b"))]);
    fixture.build("a", failure(ReasonCode::NotExecutable));
    assert_eq!((due_now(&fixture), standing(&fixture)), (Vec::new(), FlightStatus::Incomplete));
    let view = view(&fixture.flight, &fixture.waypoints, None, Vec::new(), |_, _| None).unwrap();
    assert_eq!(view.waypoints[1].waits_for, [id("a")], "people see what it waits for");
    fixture.retry("a", |_| {});
    assert_eq!(due_now(&fixture), [Due::Open(id("b"))]);
}

#[test]
fn time_uses_up_no_work_that_a_held_role_keeps_from_beginning() {
    let mut plan = plan(vec![waypoint("a", &[]), waypoint("b", &[])]);
    plan.budget.wall = Some(Millis(60_000));
    let mut fixture = Fixture::new(plan, fleet());
    fixture.feed("a", Input::Open);
    fixture.build("a", failure(ReasonCode::NotExecutable));
    assert_eq!(next(&fixture), None, "nothing of it ends by itself");
    fixture.now = fixture.flight.wall_end(fixture.now).unwrap();
    assert_eq!(due_now(&fixture), []);
}

#[test]
fn a_landing_and_whatever_else_becomes_of_accepted_work_are_fenced_by_all_journals_of_the_flight() {
    let mut fixture = fixture(vec![waypoint("a", &[])]);
    let fences =
        |fixture: &Fixture, waypoint: Option<&str>| FlightState::fence(&fixture.waypoints, waypoint.map(id).as_ref());
    assert_eq!((fences(&fixture, None), fences(&fixture, Some("a"))), (Fence::Flight, Fence::Journal));
    fixture.feed("a", Input::Open);
    assert_eq!(fences(&fixture, Some("a")), Fence::Journal, "its own journal orders what becomes of work under way");
    fixture.accept("a");
    assert_eq!(fences(&fixture, Some("a")), Fence::Flight);
    fixture.feed("a", Input::LandingFailed("no room".to_owned()));
    assert_eq!(fences(&fixture, Some("a")), Fence::Journal, "held work does not land");
}

#[test]
fn few_bundles_bring_a_long_branch_and_each_builds_on_the_one_before() {
    let mut flight = fixture(vec![waypoint("a", &[])]).flight;
    let base = flight.submitted.base.clone();
    for n in 1..=5_000_u64 {
        let (commit, parent) = (oid(1_000 + n), flight.head().clone());
        let wide = flight.wide();
        let places = (n.trailing_zeros() / 4) as usize;
        assert_eq!(wide.len(), places, "only every sixteenth may bring more than itself, every 256th in two ways");
        let bundle_on = wide.first().cloned();
        flight.landed.push(Landed {
            schema_version: version::CURRENT,
            waypoint: format!("w{n}").parse().unwrap(),
            tree: oid(n),
            bundle: bundle(commit.clone()),
            bundle_on,
            commit: commit.clone(),
            parent,
            report: Digest::of(b""),
            verified_on: None,
            record: flight.submitted.record.clone(),
        });
        let bundles = flight.bundles_up_to(&commit);
        assert_eq!((&bundles[0].tip, &bundles.last().unwrap().tip), (&base, &commit));
        assert!(bundles.len() <= 1 + 4 * 15, "{n}: {}", bundles.len());
        for pair in bundles[1..].windows(2) {
            let upper = flight.landed.at(&pair[1].tip).unwrap();
            assert_eq!(upper.bundle_on.as_ref().unwrap_or(&upper.parent), &pair[0].tip);
        }
    }
}

#[test]
fn a_bundle_that_says_to_build_on_itself_or_on_what_came_later_is_not_followed() {
    let mut fixture = fixture(vec![waypoint("a", &[]), waypoint("b", &["a"])]);
    for name in ["a", "b"] {
        fixture.accept(name);
        fixture.land(name);
    }
    let landed: Vec<Landed> = fixture.flight.landed.to_vec();
    for (first_on, second_on) in [(0, 1), (1, 0), (1, 1)] {
        let mut flight = FlightState::new(fixture.flight.submitted.clone());
        for (landing, on) in landed.iter().zip([first_on, second_on]) {
            flight.landed.push(Landed { bundle_on: Some(landed[on].commit.clone()), ..landing.clone() });
        }
        assert!(flight.bundles_up_to(&landed[1].commit).len() <= 3);
    }
}
