use super::*;

const QUOTA: Quota = Quota { flights: 3, waypoints: 10 };

fn flight(n: u64) -> FlightId {
    format!("f-{n}").parse().unwrap()
}

fn ann() -> AgentName {
    "ann".parse().unwrap()
}

fn bob() -> AgentName {
    "bob".parse().unwrap()
}

/// One in which ann has so many flights open, of one waypoint each.
fn with(flights: u64) -> Ledger {
    let mut ledger = Ledger::default();
    (0..flights).for_each(|n| ledger.opened(&flight(n), Some(&ann()), 1, Sequence(n + 1)));
    ledger
}

#[test]
fn who_has_as_many_flights_open_as_may_be_is_refused_until_one_is_over_and_others_are_not() {
    let mut ledger = with(3);
    let excess = ledger.reserve(&flight(9), &ann(), 1, QUOTA).unwrap_err();
    assert_eq!((excess.bound, excess.open, excess.wanted, excess.most), (QuotaBound::Flights, 3, 1, 3));
    let text = excess.to_string();
    assert!(text.contains("ann has 3 flights open") && text.contains("orchestrator.open_flights"), "{text}");
    assert_eq!(ledger.reserve(&flight(10), &bob(), 1, QUOTA), Ok(true));
    ledger.over(&flight(1));
    assert_eq!(ledger.reserve(&flight(9), &ann(), 1, QUOTA), Ok(true));
}

#[test]
fn a_plan_with_more_waypoints_than_there_is_room_for_is_refused_and_a_smaller_one_is_not() {
    let mut ledger = Ledger::default();
    ledger.opened(&flight(0), Some(&ann()), 8, Sequence(1));
    let excess = ledger.reserve(&flight(1), &ann(), 3, QUOTA).unwrap_err();
    assert_eq!((excess.bound, excess.open, excess.wanted, excess.most), (QuotaBound::Waypoints, 8, 3, 10));
    assert!(
        excess.to_string().contains("8 waypoints open") && excess.to_string().contains(QuotaBound::Waypoints.setting())
    );
    assert_eq!(ledger.reserve(&flight(1), &ann(), 2, QUOTA), Ok(true));
    assert!(ledger.reserve(&flight(2), &ann(), usize::MAX, QUOTA).is_err(), "and nothing overflows");
}

#[test]
fn a_submission_counts_while_it_is_worked_on_and_no_more_when_it_came_to_nothing() {
    let mut ledger = with(2);
    assert_eq!(ledger.reserve(&flight(5), &ann(), 1, QUOTA), Ok(true));
    assert!(ledger.reserve(&flight(6), &ann(), 1, QUOTA).is_err());
    ledger.release(&flight(5));
    assert_eq!(ledger.reserve(&flight(6), &ann(), 1, QUOTA), Ok(true));
    ledger.opened(&flight(6), Some(&ann()), 1, Sequence(6));
    ledger.release(&flight(6));
    assert!(ledger.reserve(&flight(7), &ann(), 1, QUOTA).is_err(), "one that was begun counts on");
}

#[test]
fn a_flight_counts_once_however_often_it_is_heard_of_and_a_repeated_submission_takes_no_room() {
    let mut ledger = with(3);
    (0..3).for_each(|n| ledger.opened(&flight(n), Some(&ann()), 1, Sequence(n + 1)));
    assert_eq!(ledger.reserve(&flight(0), &ann(), 1, QUOTA), Ok(false));
    ledger.over(&flight(0));
    ledger.over(&flight(0));
    assert_eq!(ledger.reserve(&flight(3), &ann(), 1, QUOTA), Ok(true));
    assert!(ledger.reserve(&flight(4), &ann(), 1, QUOTA).is_err());
}

#[test]
fn a_flight_is_whose_journal_says_so_and_one_that_names_nobody_counts_for_nobody() {
    let mut ledger = Ledger::default();
    assert_eq!(ledger.reserve(&flight(0), &ann(), 1, QUOTA), Ok(true));
    ledger.opened(&flight(0), Some(&bob()), 1, Sequence(1));
    ledger.opened(&flight(1), None, 1, Sequence(2));
    assert_eq!(ledger.begun_by(&bob()), [(flight(0), Sequence(1))]);
    assert_eq!(ledger.begun_by(&ann()), []);
    ledger.over(&flight(0));
    assert!(ledger.loads.is_empty() && ledger.flights.is_empty(), "nothing is kept of flights that are over");
}

#[test]
fn plenty_is_at_most_half_of_either_bound_with_what_is_asked_for() {
    for (open, wanted, plenty) in [(0, 5, true), (0, 6, false), (1, 1, false)] {
        assert_eq!(with(open).has_plenty(&ann(), wanted, QUOTA), plenty, "{open} open, {wanted} wanted");
    }
    assert!(with(3).has_plenty(&bob(), 1, QUOTA), "what others have open is nothing to it");
}
