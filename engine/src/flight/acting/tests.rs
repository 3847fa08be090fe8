use holdpoint_protocol::{ids::AgentName, journal::Submitted};

use super::*;
use crate::{
    flight::steer,
    testing::{
        fixture::Fixture,
        parts::{fleet, plan, waypoint},
    },
};

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_millis(seconds * 1_000)
}

/// A flight that was submitted at second 10 and steered like this.
struct World {
    fixture: Fixture,
    own: Vec<(Timestamp, Entry)>,
}

impl World {
    fn new() -> Self {
        let fixture = Fixture::new(plan(vec![waypoint("w", &[])]), fleet());
        let submitted: Submitted = fixture.flight.submitted.clone();
        Self { fixture, own: vec![(at(10), Entry::Submitted(Box::new(submitted)))] }
    }

    fn steer(&mut self, verb: Verb, seconds: i64) {
        let (fixture, by) = (&mut self.fixture, "human-ada".parse::<AgentName>().unwrap());
        let (cause, _) = fixture.act_of("f");
        let steered = steer(&fixture.flight, &fixture.waypoints, verb, &by, &cause, at(seconds)).unwrap();
        fixture.flight.take(&Entry::Steered(Box::new(steered.clone())));
        self.own.push((at(seconds), Entry::Steered(Box::new(steered))));
    }

    /// Why an act that was stored then is refused.
    fn refusal(&self, verb: Verb, stored: i64) -> Option<ActCode> {
        let course = Course::of(self.own.iter().map(|(at, entry)| (*at, entry)), None);
        match takes(&self.fixture.flight, verb, at(stored), &course) {
            Ok(()) => None,
            Err(Refusal::Act(refused)) => Some(refused.code),
            Err(other) => panic!("{other:?}"),
        }
    }
}

#[test]
fn of_a_paused_flight_a_waypoint_can_be_ended_and_nothing_else_until_it_goes_on() {
    let mut world = World::new();
    world.steer(Verb::Pause, 20);
    for verb in [Verb::Answer, Verb::Approve, Verb::Reject, Verb::Retry] {
        assert_eq!(world.refusal(verb, 30), Some(ActCode::Invalid), "{verb:?}");
    }
    assert_eq!(world.refusal(Verb::Cancel, 30), None);
    assert_eq!(world.refusal(Verb::Resume, 30), None);
    world.steer(Verb::Resume, 40);
    assert_eq!(world.refusal(Verb::Retry, 40), None);
}

#[test]
fn what_was_refused_because_of_a_pause_is_refused_still_when_it_comes_again() {
    let mut world = World::new();
    world.steer(Verb::Pause, 20);
    world.steer(Verb::Resume, 40);
    assert_eq!(world.refusal(Verb::Retry, 30), Some(ActCode::AnswerLate), "paused then, and not now");
    assert_eq!(world.refusal(Verb::Pause, 30), Some(ActCode::AnswerLate), "it was paused already");
    world.steer(Verb::Pause, 60);
    assert_eq!(world.refusal(Verb::Resume, 50), Some(ActCode::AnswerLate), "it was not paused");
    assert_eq!(world.refusal(Verb::Resume, 60), None);
    assert_eq!(world.refusal(Verb::Cancel, 30), None, "an end has no better time");
}

#[test]
fn what_was_refused_by_the_chart_of_then_is_refused_still_after_a_reload() {
    let world = World::new();
    let mut reloaded = Course::of(world.own.iter().map(|(stored, entry)| (*stored, entry)), None);
    reloaded.configured = Some(at(20));
    for (verb, code) in [
        (Verb::Approve, Some(ActCode::AnswerLate)),
        (Verb::Answer, Some(ActCode::AnswerLate)),
        (Verb::HandIn, Some(ActCode::AnswerLate)),
        (Verb::Cancel, None),
        (Verb::Pause, None),
    ] {
        let taken = |stored| takes(&world.fixture.flight, verb, at(stored), &reloaded);
        let refused = taken(19).err().map(|refusal| match refusal {
            Refusal::Act(refused) => refused.code,
            other => panic!("{other:?}"),
        });
        assert_eq!(refused, code, "{verb:?}");
        assert!(taken(20).is_ok(), "{verb:?}");
    }
}

#[test]
fn an_act_that_is_older_than_its_flight_is_about_another() {
    let world = World::new();
    for verb in [Verb::Cancel, Verb::Pause, Verb::Retry] {
        assert_eq!(world.refusal(verb, 9), Some(ActCode::NothingOpen), "{verb:?}");
        assert_eq!(world.refusal(verb, 10), None, "{verb:?}");
    }
}

#[test]
fn a_waypoint_overtakes_what_was_stored_before_its_last_entry() {
    let course = |moved| Course::of([], moved);
    assert!(!course(None).overtook(at(1)));
    assert!(!course(Some(at(2))).overtook(at(2)));
    assert!(course(Some(at(3))).overtook(at(2)));
}
