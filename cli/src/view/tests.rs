use holdpoint_protocol::{Digest, facts::CriterionResult, reason::CriterionReason};

use super::*;

/// A flight with one complete waypoint and one that is blocked.
pub(crate) fn flight() -> FlightView {
    let oid = |digit: &str| digit.repeat(40).parse::<Oid>().unwrap();
    let waypoint = |id: &str| WaypointView {
        id: id.parse().unwrap(),
        title: "A title".to_owned(),
        status: Status::Complete,
        gate: None,
        disposition: Some(Disposition::Accept),
        reason_code: Some(ReasonCode::CriteriaMet),
        attempts: 1,
        sent_back: 0,
        commit: Some(oid("b")),
        criteria: vec![CriterionResult {
            id: "unit".parse().unwrap(),
            verdict: Verdict::Pass,
            reason: None,
            evidence: vec![Digest::of(b"x")],
        }],
        guards: Vec::new(),
        checkpoints: Vec::new(),
        foreign_receipt: None,
        self_checked: false,
        remediation: None,
        parent: None,
        depends_on: Vec::new(),
        waits_for: Vec::new(),
        rollbacks: 0,
        interventions: 0,
        used: None,
        block_reason: None,
        actions: Vec::new(),
        turn: None,
        branches: Vec::new(),
        changed_at: None,
    };
    let mut blocked = waypoint("two");
    blocked.status = Status::Blocked;
    blocked.disposition = Some(Disposition::Escalate);
    blocked.reason_code = Some(ReasonCode::NotRed);
    blocked.commit = None;
    blocked.attempts = 0;
    blocked.remediation = Some("make the check red\u{1b}[2J first".to_owned());
    blocked.criteria[0].verdict = Verdict::Fail;
    blocked.criteria[0].reason = Some(CriterionReason::ExitCode);
    FlightView {
        flight: "p-00000000".parse().unwrap(),
        plan: "p".to_owned(),
        status: FlightStatus::Incomplete,
        base: oid("a"),
        branch: "holdpoint/p-00000000".to_owned(),
        head: oid("b"),
        paused: false,
        submitted_at: None,
        waypoints: vec![waypoint("one"), blocked],
        next: None,
        landings: Vec::new(),
        brought_by: Vec::new(),
        trouble: Vec::new(),
        trouble_left_out: 0,
        workflows: Vec::new(),
    }
}

#[test]
fn work_that_its_own_agent_checked_is_called_self_checked() {
    let mut flight = flight();
    assert!(!table(&flight).contains("self-checked"));
    flight.waypoints[0].self_checked = true;
    assert!(table(&flight).contains("1 of 1 criteria pass, self-checked, commit "), "{}", table(&flight));
}

#[test]
fn the_json_object_is_the_contracts() {
    let flight = flight();
    let object = serde_json::to_value(Shown::from(&flight)).unwrap();
    let keys: Vec<_> = object.as_object().unwrap().keys().map(String::as_str).collect();
    for key in ["flight", "plan", "status", "base", "branch", "head", "waypoints"] {
        assert!(keys.contains(&key), "{key}");
    }
    let [one, two] = object["waypoints"].as_array().unwrap().as_slice() else { panic!("two waypoints") };
    for key in ["id", "status", "gate", "disposition", "reason_code", "attempts", "commit", "criteria"] {
        assert!(one.get(key).is_some(), "{key}");
    }
    assert_eq!(object["status"], "incomplete");
    assert_eq!(one["gate"], serde_json::Value::Null);
    assert_eq!(one["disposition"], "accept");
    assert_eq!(two["commit"], serde_json::Value::Null);
    assert_eq!(two["reason_code"], "not_red");
    assert_eq!(two["criteria"][0]["verdict"], "fail");
    assert_eq!(two["criteria"][0]["reason"], "exit_code");
    assert!(one["criteria"][0]["evidence"][0].as_str().unwrap().starts_with("sha256:"));
}

#[test]
fn the_table_says_what_a_person_can_do_and_moves_no_cursor() {
    let table = table(&flight());
    for part in
        ["p-00000000 is incomplete", "✓ one", "1 attempt", "✗ two", "not_red", "make the check red", "bbbbbbbbbb"]
    {
        assert!(table.contains(part), "{part} in {table}");
    }
    assert!(!table.contains('\u{1b}'));
}

#[test]
fn what_is_red_is_told_in_words_unless_it_should_be() {
    let mut flight = flight();
    assert!(!table(&flight).contains("✗ unit"), "green too early is what holds it");
    flight.waypoints[1].reason_code = Some(ReasonCode::AttemptsExhausted);
    flight.waypoints[1].criteria[0].reason = Some(CriterionReason::TestsWeakened);
    let table = table(&flight);
    assert!(table.contains("✗ unit: green, but not with the tests as on the base\n"), "{table}");
}

#[test]
fn only_an_accepted_flight_is_a_success() {
    let mut flight = flight();
    for (status, expected) in [
        (FlightStatus::Accepted, Exit::Success),
        (FlightStatus::Incomplete, Exit::Incomplete),
        (FlightStatus::Waiting, Exit::Incomplete),
    ] {
        flight.status = status;
        assert_eq!(exit(&flight), expected);
    }
}

#[test]
fn a_turn_that_nobody_answered_in_time_says_how_often() {
    let mut view = flight();
    let waypoint = &mut view.waypoints[0];
    waypoint.status = Status::Running;
    let at = Timestamp::from_millis(0);
    waypoint.turn = Some(holdpoint_protocol::view::TurnView {
        turn: "turn-1".parse().unwrap(),
        role: "builder".parse().unwrap(),
        purpose: holdpoint_protocol::state::Purpose::Build,
        attempt: 1,
        opened_at: at,
        deadline: at,
        agent: None,
        overdue: 2,
    });
    assert!(table(&view).contains("running, turn of builder, overdue 2 times"), "{}", table(&view));
    view.waypoints[0].turn.as_mut().unwrap().agent = Some("human-ann".parse().unwrap());
    assert!(table(&view).contains("running, turn of builder (human-ann), overdue"), "{}", table(&view));
}

#[test]
fn work_that_waits_says_so_with_what_lands_before_it() {
    let mut view = flight();
    let waypoint = &mut view.waypoints[0];
    (waypoint.status, waypoint.gate, waypoint.turn) = (Status::Running, Some("verify".parse().unwrap()), None);
    waypoint.waits_for = vec!["two".parse().unwrap()];
    let shown = table(&view);
    assert!(shown.contains("running, waits in the queue to the branch, behind two"), "{shown}");
}

#[test]
fn the_list_says_which_flights_are_paused_and_which_nobody_flies() {
    let line = |flight: &str, status, paused| FlightLine {
        flight: flight.parse().unwrap(),
        plan: "p".to_owned(),
        submitted_at: Timestamp::from_millis(0),
        status,
        paused,
    };
    let lines = [
        line("f-1", FlightStatus::Running, false),
        line("f-2", FlightStatus::Running, false),
        line("f-3", FlightStatus::Waiting, true),
        line("f-4", FlightStatus::Accepted, false),
    ];
    let text = list(&lines, |line| line.flight.as_str() != "f-1");
    let words: Vec<_> = text.lines().map(|line| line.split_whitespace().nth(1).unwrap()).collect();
    assert_eq!(words, ["running", "interrupted", "paused", "accepted"], "{text}");
}
