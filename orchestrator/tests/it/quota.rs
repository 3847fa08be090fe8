//! How much one operator may have open.

use std::time::Duration;

use holdpoint_bus::{
    Bus,
    api::{ApiError, ApiFailure},
};
use holdpoint_protocol::{
    api::{SUBMIT, Submit},
    ids::FlightId,
    view::FlightView,
};
use holdpoint_runtime::config::Config;

use crate::support::{SOON, World};

const PLAN: &str =
    "plan: p\nwaypoints:\n  - {id: w, title: t, goal: g, criteria: [{id: c, statement: s, check: 'true'}]}\n";

fn two_flights(config: &mut Config) {
    config.orchestrator.open_flights = 2;
}

/// A fleet whose operators may have two flights open, and submissions of so many flights.
async fn world_with(submissions: usize) -> (World, Vec<Submit>) {
    let mut world = Box::pin(World::of_a_fleet()).await;
    Box::pin(world.start_orchestrator_with(two_flights)).await;
    let first = world.submission(PLAN, None).await;
    let named = |n| Submit { flight: format!("quota-{n}").parse().unwrap(), ..first.clone() };
    (world, (0..submissions).map(named).collect())
}

async fn submit(world: &World, operator: &Bus, submit: &Submit) -> Result<FlightView, ApiFailure> {
    match world.call_as(operator, SUBMIT, submit).await {
        Ok(view) => Ok(view),
        Err(ApiError::Refused { failure, .. }) => Err(failure),
        Err(error) => panic!("{error:?}"),
    }
}

/// A person ends all of a flight.
async fn end(world: &mut World, flight: &FlightId) {
    let ada = world.person("human-ada").await;
    world.flight = flight.clone();
    ada.does(world, None, &ada.cancel()).await;
}

fn assert_names_the_bound(failure: &ApiFailure) {
    assert_eq!(failure.code, 409, "{failure:?}");
    for part in ["tester has 2 flights open", "orchestrator.open_flights", "holdpoint cancel"] {
        assert!(failure.message.contains(part), "{part} in {}", failure.message);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_has_too_much_open_is_refused_with_the_bound_until_a_flight_is_over_also_after_a_restart() {
    let (mut world, flights) = world_with(4).await;
    let operator = world.operator.clone();
    for flight in &flights[..2] {
        submit(&world, &operator, flight).await.unwrap();
    }
    assert_names_the_bound(&submit(&world, &operator, &flights[2]).await.unwrap_err());
    let again = submit(&world, &operator, &flights[0]).await.unwrap();
    assert_eq!(again.flight, flights[0].flight, "what is open already is no further flight");
    let bob = world.person("human-bob").await;
    submit(&world, &bob.bus, &flights[3]).await.unwrap();

    world.crash_orchestrator();
    world.start_orchestrator_with(two_flights).await;
    assert_names_the_bound(&submit(&world, &operator, &flights[2]).await.unwrap_err());
    end(&mut world, &flights[1].flight).await;
    world.view_when("the flight to be over", |view| view.waypoints.iter().all(|w| w.turn.is_none())).await;
    submit(&world, &operator, &flights[2]).await.unwrap();
    let over = submit(&world, &operator, &flights[1]).await.unwrap();
    assert_eq!(over.flight, flights[1].flight, "a repeated submission of a flight that is over opens nothing");
}

#[tokio::test(flavor = "multi_thread")]
async fn several_orchestrators_hold_one_operator_to_one_bound_and_see_what_ends_at_another() {
    let (mut world, flights) = world_with(10).await;
    let operator = world.operator.clone();
    let _second = world.second_orchestrator_with(two_flights).await;
    for flight in &flights[..2] {
        submit(&world, &operator, flight).await.unwrap();
    }
    // Either may answer.
    for flight in &flights[2..] {
        assert_names_the_bound(&submit(&world, &operator, flight).await.unwrap_err());
    }
    end(&mut world, &flights[0].flight).await;
    // One that read the flights a moment ago does so again in ten seconds.
    let deadline = tokio::time::Instant::now() + SOON;
    while let Err(failure) = submit(&world, &operator, &flights[2]).await {
        assert_names_the_bound(&failure);
        assert!(tokio::time::Instant::now() < deadline, "room that was never seen");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn waypoints_of_all_open_flights_are_bounded_and_what_is_refused_takes_no_room() {
    let mut world = World::of_a_fleet().await;
    world.start_orchestrator_with(|config| config.orchestrator.open_waypoints = 3).await;
    let operator = world.operator.clone();
    let first = world.submission(PLAN, None).await;
    let of = |name: &str, waypoints: usize| {
        let mut submit = Submit { flight: name.parse().unwrap(), ..first.clone() };
        let waypoint = submit.plan.waypoints[0].clone();
        let named = |n| {
            let mut next = waypoint.clone();
            next.id = format!("w{n}").parse().unwrap();
            next
        };
        submit.plan.waypoints = (0..waypoints).map(named).collect();
        submit
    };
    submit(&world, &operator, &of("two", 2)).await.unwrap();
    let failure = submit(&world, &operator, &of("two-more", 2)).await.unwrap_err();
    assert_eq!(failure.code, 409);
    for part in ["2 waypoints open and would have 2 more", "may have 3", "orchestrator.open_waypoints"] {
        assert!(failure.message.contains(part), "{part} in {}", failure.message);
    }
    // Also what is refused for another reason, behind the bound.
    let mut unusable = of("unusable", 1);
    unusable.snapshot.blob.digest = holdpoint_protocol::Digest::of(b"not stored");
    assert_eq!(submit(&world, &operator, &unusable).await.unwrap_err().code, 400);
    submit(&world, &operator, &of("one", 1)).await.unwrap();
}
