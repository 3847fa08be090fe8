use super::*;

fn flight(name: &str) -> FlightId {
    name.parse().unwrap()
}

/// An answer of an agent on the turn `t`.
fn answer(of: &str, agent: &str, sequence: u64) -> Arrived {
    Arrived {
        flight: flight(of),
        sender: Some(agent.parse().unwrap()),
        answers: Some("t".parse().unwrap()),
        sequence: Sequence(sequence),
    }
}

/// What answers nothing, such as a plan.
fn other(of: &str, agent: Option<&str>, sequence: u64) -> Arrived {
    let sender = agent.map(|agent| agent.parse().unwrap());
    Arrived { sender, answers: None, ..answer(of, "a", sequence) }
}

fn arrive(desk: &mut IntakeDesk<u64>, arrived: Arrived) -> Admission<u64> {
    let message = arrived.sequence.0;
    desk.arrives(arrived, message)
}

fn works(admission: Admission<u64>) -> HandoffPlace {
    match admission {
        Admission::Work(place, _) => place,
        other => panic!("{other:?}"),
    }
}

#[test]
fn of_a_flood_of_one_agents_answers_one_is_in_work_and_the_newest_waits() {
    let mut desk = IntakeDesk::default();
    let first = works(arrive(&mut desk, answer("f", "b1", 1)));
    assert_eq!(arrive(&mut desk, answer("f", "b1", 2)), Admission::Kept { superseded: None });
    for sequence in 3..5_000 {
        assert_eq!(arrive(&mut desk, answer("f", "b1", sequence)), Admission::Kept { superseded: Some(sequence - 1) });
    }
    let (second, message) = desk.settled(first).unwrap();
    assert_eq!(message, 4_999);
    assert_eq!(desk.settled(second), None);
    assert_eq!((desk.flights.len(), desk.senders.len(), desk.busy.len()), (0, 0, 0), "every place is free again");
}

#[test]
fn what_comes_back_from_the_broker_behind_a_newer_one_is_superseded() {
    let mut desk = IntakeDesk::default();
    for sequence in [1, 2] {
        let place = works(arrive(&mut desk, answer("f", "b1", sequence)));
        assert_eq!(desk.settled(place), None);
    }
    assert_eq!(arrive(&mut desk, answer("f", "b1", 1)), Admission::Superseded(1));
    works(arrive(&mut desk, answer("f", "b1", 2)));
}

#[test]
fn answers_of_other_agents_turns_and_flights_supersede_nothing() {
    let mut desk = IntakeDesk::default();
    let _own = works(arrive(&mut desk, answer("f", "b1", 1)));
    works(arrive(&mut desk, answer("f", "b2", 2)));
    works(arrive(&mut desk, answer("g", "b1", 3)));
    works(arrive(&mut desk, Arrived { answers: Some("u".parse().unwrap()), ..answer("f", "b1", 4) }));
    works(arrive(&mut desk, other("f", Some("b1"), 5)));
}

#[test]
fn a_vote_that_comes_again_is_taken_although_its_agent_voted_in_another_branch_since() {
    let mut desk = IntakeDesk::default();
    let of_branch =
        |turn: &str, sequence| Arrived { answers: Some(turn.parse().unwrap()), ..answer("f", "b1", sequence) };
    let first = works(arrive(&mut desk, of_branch("lint", 1)));
    let second = works(arrive(&mut desk, of_branch("audit", 2)));
    assert_eq!((desk.settled(first), desk.settled(second)), (None, None), "given back to the broker");
    works(arrive(&mut desk, of_branch("lint", 1)));
}

#[test]
fn a_redelivery_of_what_is_in_hand_is_no_newer_answer() {
    let mut desk = IntakeDesk::default();
    let _place = works(arrive(&mut desk, answer("f", "b1", 1)));
    assert_eq!(arrive(&mut desk, answer("f", "b1", 1)), Admission::InHand(1));
    assert_eq!(arrive(&mut desk, answer("f", "b1", 3)), Admission::Kept { superseded: None });
    assert_eq!(arrive(&mut desk, answer("f", "b1", 3)), Admission::InHand(3));
    assert_eq!(
        arrive(&mut desk, answer("f", "b1", 1)),
        Admission::InHand(1),
        "it is in work, though a newer one waits"
    );
}

#[test]
fn no_flight_and_no_sender_has_all_places() {
    let mut desk = IntakeDesk::default();
    let agents: Vec<String> = (0..PLACES).map(|n| format!("b{n}")).collect();
    let mut places: Vec<HandoffPlace> =
        agents[..FLIGHT_PLACES].iter().map(|agent| works(arrive(&mut desk, answer("f", agent, 1)))).collect();
    assert_eq!(arrive(&mut desk, answer("f", "late", 2)), Admission::Full(2));
    works(arrive(&mut desk, answer("g", "late", 2)));
    assert_eq!(desk.settled(places.pop().unwrap()), None);
    works(arrive(&mut desk, answer("f", "late", 2)));

    let mut desk = IntakeDesk::default();
    for n in 0..SENDER_PLACES as u64 {
        works(arrive(&mut desk, other(&format!("f{n}"), Some("b1"), n)));
    }
    assert_eq!(arrive(&mut desk, other("g", Some("b1"), 99)), Admission::Full(99));
    works(arrive(&mut desk, other("g", Some("b2"), 99)));
}

#[test]
fn senders_that_are_not_known_share_few_places() {
    let mut desk = IntakeDesk::default();
    for n in 0..UNKNOWN_PLACES as u64 {
        works(arrive(&mut desk, other(&format!("f{n}"), None, n)));
    }
    assert_eq!(arrive(&mut desk, other("g", None, 99)), Admission::Full(99));
    works(arrive(&mut desk, other("g", Some("b1"), 99)));
}

#[test]
fn what_is_remembered_of_lanes_is_bounded() {
    let mut desk = IntakeDesk::default();
    for n in 0..3 * LANES_REMEMBERED as u64 {
        let place = works(arrive(&mut desk, answer(&format!("f{n}"), "b1", n)));
        assert_eq!(desk.settled(place), None);
        assert!(desk.newest.len() <= LANES_REMEMBERED);
    }
}

#[test]
fn what_finds_no_place_waits_longer_each_time_up_to_a_bound() {
    assert_eq!([0, 1, 2, 6, 7, u64::MAX].map(|n| pause(n).as_millis()), [500, 500, 1_000, 16_000, 16_000, 16_000]);
}

#[test]
fn missing_blobs_are_waited_for_and_looked_for_more_than_once_however_late() {
    let at = |seconds: i64| Timestamp::from_millis(seconds * 1_000);
    let wait = Duration::from_secs(300);
    assert!(!is_hopeless(at(0), at(299), 100, wait));
    assert!(is_hopeless(at(0), at(300), 100, wait));
    assert!(!is_hopeless(at(0), at(9_000), LOOKS_MIN - 1, wait), "nobody looked while no orchestrator was there");
    assert!(!is_hopeless(at(9_000), at(0), 100, wait), "a clock that is behind gives nothing up");
}
