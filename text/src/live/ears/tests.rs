use serde_json::{Value, json};

use super::*;
use crate::lines::LINES_A_MINUTE;
use holdpoint_protocol::subjects;

fn turn(id: &str, agent: Option<&str>) -> Value {
    json!({"turn": id, "role": "builder", "purpose": "build", "opened_at": "2026-01-01T00:00:00.000Z",
        "deadline": "2026-01-01T01:00:00.000Z", "agent": agent})
}

/// A flight in whose waypoint `w1` this turn is open.
fn view(turn: &Value) -> FlightView {
    let waypoint = json!({"id": "w1", "title": "t", "status": "running", "gate": "build", "disposition": null,
        "reason_code": null, "attempts": 0, "commit": null, "criteria": [], "guards": [], "remediation": null, "turn": turn});
    let oid = "a".repeat(40);
    let flight = json!({"flight": "f1", "plan": "p", "status": "running", "base": oid, "branch": "b", "head": oid,
        "waypoints": [waypoint], "landings": []});
    serde_json::from_value(flight).unwrap()
}

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_millis(seconds * 1_000)
}

fn from(role: &str, agent: &str) -> LogSubject {
    let (flight, waypoint) = ("f1".parse().unwrap(), "w1".parse().unwrap());
    let subject = subjects::log(&role.parse().unwrap(), &agent.parse().unwrap(), &flight, &waypoint);
    subjects::parse_log(&subject).unwrap()
}

fn said(turn: &str, text: &str) -> Vec<u8> {
    serde_json::to_vec(&json!({"turn": turn, "at": "2026-01-01T00:00:01.000Z", "kind": "said", "text": text})).unwrap()
}

fn ears() -> Ears {
    let mut ears = Ears::default();
    assert_eq!(ears.learn(&view(&turn("turn-1", Some("builder-1"))), at(0)), []);
    ears
}

#[test]
fn the_agent_that_has_the_turn_is_heard_and_its_words_are_cleaned() {
    let heard = ears().hear(from("builder", "builder-1"), &said("turn-1", "\u{1b}[2Jfirst\u{202e} line"), at(1));
    let LiveMessage::Line(spoken) = heard else { panic!("{heard:?}") };
    assert_eq!((spoken.line.text.as_str(), spoken.from.agent.as_str()), ("first line", "builder-1"));
}

#[test]
fn a_line_of_another_agent_or_role_or_of_no_shape_has_no_effect_but_that_it_is_counted() {
    let mut ears = ears();
    let forged = [
        (from("builder", "builder-2"), said("turn-1", "I am builder-1")),
        (from("verifier", "builder-1"), said("turn-1", "x")),
        (from("builder", "builder-1"), b"not JSON".to_vec()),
        (from("builder", "builder-1"), said("turn-1", "\u{1b}[2J")),
        (from("builder", "builder-1"), said("turn-1", &"x".repeat(LINE_BYTES_MAX))),
    ];
    for (count, (from, payload)) in (1..).zip(forged) {
        assert_eq!(ears.hear(from, &payload, at(1)), LiveMessage::LeftOut);
        assert_eq!(ears.foreign(), count);
    }
}

#[test]
fn a_line_of_a_turn_that_is_not_known_yet_waits_for_the_flight_and_not_for_long() {
    let mut ears = ears();
    assert_eq!(ears.hear(from("builder", "builder-2"), &said("turn-2", "early"), at(1)), LiveMessage::Waits);
    let shown = ears.learn(&view(&turn("turn-2", None)), at(2));
    assert_eq!(shown.iter().map(|spoken| spoken.line.text.as_str()).collect::<Vec<_>>(), ["early"]);
    assert_eq!(ears.hear(from("builder", "builder-2"), &said("guessed", "x"), at(3)), LiveMessage::Waits);
    for foreign in [0, 1] {
        assert_eq!(ears.learn(&view(&turn("turn-2", None)), at(4)), []);
        assert_eq!(ears.foreign(), foreign);
    }
    let late = ears.hear(from("builder", "builder-1"), &said("turn-1", "late"), at(5));
    assert!(matches!(late, LiveMessage::Line(_)), "{late:?}");
}

#[test]
fn what_waits_and_what_one_agent_is_shown_is_bounded() {
    let mut ears = ears();
    for n in 0..10_000 {
        ears.hear(from("builder", "builder-9"), &said(&format!("guess-{n}"), "x"), at(1));
    }
    assert_eq!((ears.waiting.len(), ears.foreign()), (WAITING_MAX, 10_000 - WAITING_MAX as u64));
    let shown = (0..1_000).filter(|_| {
        matches!(ears.hear(from("builder", "builder-1"), &said("turn-1", "x"), at(2)), LiveMessage::Line(_))
    });
    assert_eq!(shown.count(), LINES_A_MINUTE as usize);
    assert_eq!(ears.too_many(), 1_000 - u64::from(LINES_A_MINUTE));
}
