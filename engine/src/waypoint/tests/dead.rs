//! Turns whose agents die of them: counted, given up, and tried again when a person says so.

use std::time::Duration;

use holdpoint_protocol::{
    Timestamp,
    artifact::{Disposition, StatusMutation},
    journal::Death,
    reason::ReasonCode,
    state::{Outcome, Phase, Resume, Status},
    view::FlightStatus,
};

use crate::testing::{
    desk::ADA,
    fixture::{Fed, Fixture},
};
use crate::{
    flight::{self, flight_status},
    waypoint::{Died, Input, Refusal, TakenUp, deaths},
};

fn death(delivery: u32) -> Death {
    Death { delivery, agent: format!("builder-{delivery}").parse().unwrap() }
}

/// Agents took the open turn so often, and one more has it now.
fn died(fixture: &mut Fixture, count: u32) -> Fed {
    let turn = fixture.turn("w");
    let cause = fixture.cause(&turn.role);
    let deaths = (1..=count).map(death).collect();
    fixture.feed("w", Input::Died(Died { turn: turn.turn_id, cause, deaths }))
}

/// Plans for these deliveries, stored so many seconds after the turn was opened.
fn plans<const N: usize>(taken: [(u32, i64); N]) -> [TakenUp; N] {
    taken.map(|(delivery, at)| TakenUp { by: death(delivery), at: Timestamp::from_millis(at * 1_000) })
}

const ACK_WAIT: Duration = Duration::from_secs(30);

#[test]
fn deliveries_that_were_taken_and_not_given_back_are_deaths() {
    let taken = || plans([(1, 0), (2, 30), (3, 61), (4, 95), (5, 125)]);
    assert_eq!(deaths(taken(), &[], ACK_WAIT), [1, 2, 3, 4].map(death), "the one that has it now lives");
    assert_eq!(deaths(taken(), &[2, 3, 9].map(death), ACK_WAIT), [1, 4].map(death));
    assert_eq!(deaths([], &[], ACK_WAIT), [], "who died before a plan is counted by the deadline");
}

#[test]
fn a_plan_before_its_turn_can_have_been_delivered_again_shows_no_death() {
    let soon = (1..=1_000).map(|n| (n, i64::from(n) / 100));
    let taken = soon.flat_map(|plan| plans([plan]));
    assert_eq!(deaths(taken, &[], ACK_WAIT), []);
    // Two plans for one delivery are one taking, however late the second is.
    assert_eq!(deaths(plans([(1, 0), (1, 90)]), &[], ACK_WAIT), []);
    // A plan may be late by a while: the turn was delivered again at second 30.
    assert_eq!(deaths(plans([(1, 12), (2, 31)]), &[], ACK_WAIT), [death(1)]);
}

#[test]
fn plans_that_are_declared_in_mid_turn_take_nothing() {
    let whole = plans([(1, 0), (2, 31), (3, 62)]);
    let declared = plans([(1, 0), (1, 5), (2, 31), (1, 70), (2, 95), (3, 110), (1, 200)]);
    assert_eq!(deaths(whole, &[], ACK_WAIT), [1, 2].map(death));
    assert_eq!(deaths(declared, &[], ACK_WAIT), [1, 2].map(death), "agents that lost the turn may still declare");
}

#[test]
fn a_turn_that_was_given_back_may_be_taken_again_at_once() {
    let taken = plans([(1, 0), (2, 1), (3, 32), (4, 33)]);
    assert_eq!(deaths(taken, &[death(1)], ACK_WAIT), [death(2)]);
    let other = Death { delivery: 1, agent: "another".parse().unwrap() };
    assert_eq!(deaths(plans([(1, 0), (2, 31)]), &[other], ACK_WAIT), [death(1)], "each speaks for itself");
}

#[test]
fn a_turn_is_dead_after_as_many_deaths_as_the_fleet_allows_and_no_sooner() {
    let mut fixture = Fixture::opened(|_, _| {});
    for count in 0..3 {
        assert_eq!(died(&mut fixture, count), Fed::Nothing);
    }
    let turn = fixture.turn("w").turn_id;
    let dead = died(&mut fixture, 3).dead();
    assert_eq!((dead.turn, dead.deaths), (turn, [1, 2, 3].map(death).to_vec()));
    let decision = dead.decision;
    assert_eq!((decision.disposition, decision.reason_code), (Disposition::Escalate, ReasonCode::TurnPoisoned));
    assert_eq!(decision.status, Some(StatusMutation { from: Status::Running, to: Status::Blocked }));
    assert_eq!(decision.source_refs, [dead.record.cause.unwrap().reference()]);
    let text = decision.remediation.unwrap();
    assert!(
        text.contains("builder-1, builder-2, builder-3") && text.contains("holdpoint retry w --flight demo-1"),
        "{text}"
    );
    let state = fixture.state("w");
    assert!(matches!(&state.phase, Phase::Held(held) if matches!(held.resume, Resume::Turn(_))));
    assert_eq!(state.history.last().unwrap().outcome, Some(Outcome::Blocked));
    assert_eq!((fixture.status("w"), state.counters.attempts), (Status::Blocked, 0), "no attempt was decided");
    assert_eq!(flight_status(&fixture.flight, &fixture.waypoints), FlightStatus::Incomplete);
    assert_eq!(flight::next_deadline(&fixture.flight, &fixture.waypoints, fixture.now), None);
}

#[test]
fn a_fleet_may_allow_more_deaths_or_any_number() {
    for (allowed, count, is_dead) in [(5, 4, false), (5, 5, true), (1, 1, true), (0, 1_000, false)] {
        let mut fixture = Fixture::opened(|_, fleet| fleet.dead_after = allowed);
        assert_eq!(matches!(died(&mut fixture, count), Fed::Appended(_)), is_dead, "{count} of {allowed}");
    }
}

#[test]
fn deaths_of_a_turn_that_is_over_say_nothing() {
    let mut fixture = Fixture::opened(|_, _| {});
    let turn = fixture.turn("w");
    let cause = fixture.cause(&turn.role);
    fixture.build_ok("w").turn();
    let late = Died { turn: turn.turn_id, cause, deaths: (1..=9).map(death).collect() };
    assert_eq!(fixture.feed("w", Input::Died(late)), Fed::Nothing);
}

#[test]
fn a_dead_turn_takes_no_answer_and_is_tried_again_under_another_token() {
    let mut fixture = Fixture::opened(|_, _| {});
    let first = fixture.turn("w");
    let late = fixture.work(Vec::new());
    let late = fixture.handoff("w", late);
    died(&mut fixture, 3).dead();
    let refusal = fixture.feed("w", Input::Built(late)).refusal();
    assert_eq!(refusal, Refusal::NotOpen { turn: first.turn_id.clone() });
    assert_eq!(fixture.feed("w", Input::BudgetExhausted), Fed::Nothing);

    let again = fixture.retry("w", |_| {}).turn();
    assert_ne!(again.turn_id, first.turn_id);
    assert_eq!((&again.request, &again.role, again.attempt), (&first.request, &first.role, 1));
    assert_eq!(fixture.state("w").acted.unwrap().by.as_str(), ADA);
    assert!(again.record.cause.unwrap().stream.ends_with("OPERATOR"), "the act is the cause");
    let state = fixture.state("w");
    assert_eq!((fixture.status("w"), fixture.open_turn("w").unwrap().redeliveries), (Status::Running, 0));
    assert_eq!(state.history.iter().filter(|visit| visit.exited.is_none()).count(), 1);
    assert_eq!(flight_status(&fixture.flight, &fixture.waypoints), FlightStatus::Running);
    fixture.build_ok("w").turn();
    fixture.report("w", |_| {}).decided();
    assert!(matches!(fixture.state("w").phase, Phase::Accepted { .. }));
}

#[test]
fn a_verifiers_turn_can_die_and_be_tried_again_too() {
    let mut fixture = Fixture::opened(|_, _| {});
    let verify = fixture.build_ok("w").turn();
    let dead = died(&mut fixture, 3).dead();
    assert_eq!((dead.role, dead.turn), (verify.role, verify.turn_id));
    let again = fixture.retry("w", |_| {}).turn();
    assert_eq!(again.request, verify.request);
    fixture.report("w", |_| {}).decided();
}

#[test]
fn a_dead_turn_is_tried_again_once_for_each_death() {
    let mut fixture = Fixture::opened(|_, _| {});
    died(&mut fixture, 3).dead();
    let act = fixture.retry_act("w", |_| {});
    fixture.feed("w", act.clone()).turn();
    assert_eq!(fixture.feed("w", act), Fed::Nothing, "the same act comes again");
    assert!(matches!(fixture.retry("w", |_| {}), Fed::Refused(_)), "nothing is dead any more");
}
