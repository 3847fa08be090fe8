//! Waypoints and flights that people end, pause and let go on.

use holdpoint_protocol::{
    artifact::{ActCode, Verb},
    reason::ReasonCode,
    state::Status,
    time::Millis,
    view::FlightStatus,
};

use super::code;
use crate::{
    flight::{self, Due, flight_status},
    testing::{
        fixture::{Fed, Fixture},
        parts::{fleet, id, plan, waypoint},
    },
    waypoint::{Input, Refusal},
};

#[test]
fn cancelled_work_takes_no_handoff_and_does_not_land() {
    let mut fixture = Fixture::opened(|_, _| {});
    let work = fixture.work(Vec::new());
    let late = fixture.handoff("w", work);
    let decided = fixture.cancel("w").decided();
    assert_eq!((decided.decision.reason_code, fixture.status("w")), (ReasonCode::Cancelled, Status::Cancelled));
    assert!(matches!(fixture.feed("w", Input::Built(late)), Fed::Refused(Refusal::NotOpen { .. })));
    assert_eq!(code(fixture.cancel("w")), ActCode::Over);

    let mut fixture = Fixture::opened(|_, _| {});
    fixture.build_ok("w").turn();
    fixture.report("w", |_| {}).decided();
    fixture.cancel("w").decided();
    assert_eq!(flight::due(&fixture.flight, &fixture.waypoints, fixture.now), [], "accepted, and not landed");

    let mut fixture = Fixture::opened(|_, _| {});
    fixture.build_ok("w").turn();
    fixture.report("w", |_| {}).decided();
    fixture.land("w");
    assert_eq!(code(fixture.cancel("w")), ActCode::Over);
}

#[test]
fn cancelling_the_flight_ends_what_is_not_over() {
    let mut plan = plan(vec![waypoint("a", &[]), waypoint("b", &[]), waypoint("c", &["b"])]);
    plan.policy.max_reworks = 0;
    let mut fixture = Fixture::new(plan, fleet());
    fixture.accept("a");
    fixture.land("a");
    fixture.feed("b", Input::Open);
    fixture.steer(Verb::Cancel).unwrap();
    assert_eq!(flight_status(&fixture.flight, &fixture.waypoints), FlightStatus::Running, "it is being ended");
    let due = flight::due(&fixture.flight, &fixture.waypoints, fixture.now);
    assert_eq!(due, [Due::Cancel(id("b")), Due::Cancel(id("c"))]);
    for name in ["b", "c"] {
        fixture.end_with_flight(name).decided();
        assert_eq!(fixture.end_with_flight(name), Fed::Nothing);
    }
    assert_eq!(
        ["a", "b", "c"].map(|name| fixture.status(name)),
        [Status::Complete, Status::Cancelled, Status::Cancelled]
    );
    assert_eq!(flight_status(&fixture.flight, &fixture.waypoints), FlightStatus::Incomplete);
    assert!(fixture.steer(Verb::Resume).is_err(), "it is over");
}

#[test]
fn nothing_is_due_in_a_paused_flight_and_its_deadlines_move() {
    let mut fixture = Fixture::opened(|plan, _| plan.budget.wall = Some(Millis(36_000_000)));
    let deadline = fixture.turn("w").deadline;
    fixture.steer(Verb::Pause).unwrap();
    assert!(fixture.steer(Verb::Pause).is_err(), "it is paused already");
    fixture.now = deadline.after(Millis(36_000_000).duration());
    assert_eq!(flight::due(&fixture.flight, &fixture.waypoints, fixture.now), []);
    assert_eq!(flight::next_deadline(&fixture.flight, &fixture.waypoints, fixture.now), None);
    let view = flight::view(&fixture.flight, &fixture.waypoints, None, Vec::new(), |_, _| None).unwrap();
    assert!(view.paused);
    fixture.steer(Verb::Resume).unwrap();
    assert_eq!(flight::due(&fixture.flight, &fixture.waypoints, fixture.now), [], "the pause does not count");
    let next = flight::next_deadline(&fixture.flight, &fixture.waypoints, fixture.now).unwrap();
    assert!(next > fixture.now);
    fixture.now = next;
    assert_ne!(flight::due(&fixture.flight, &fixture.waypoints, fixture.now), []);
}
