use holdpoint_account::events::{AdviceOutcome, Level, SkipReason};
use holdpoint_protocol::{Timestamp, time::Millis};

use super::*;

fn event(what: EventKind) -> Event {
    Event {
        timestamp: Timestamp::from_millis(0),
        what,
        level: Level::Info,
        task_id: "w".parse().unwrap(),
        flight: "f".parse().unwrap(),
        project: "p".to_owned(),
        workflow: "own".to_owned(),
        reference: String::new(),
        message: None,
    }
}

/// The lines that are there once these were counted, without what every process says.
fn counted(events: Vec<Event>, held: Option<(Labels, &'static str)>) -> Vec<String> {
    let metrics = Metrics::new("test");
    let gates = Gates::register(&metrics);
    gates.count(Counted { events, held, landed: None });
    let text = metrics.text().unwrap();
    let told = text.lines().filter(|line| line.contains("workflow=\"own\""));
    let told = told.map(|line| line.replace("project=\"p\",workflow=\"own\",", "").replace("holdpoint_", ""));
    told.filter(|line| !line.contains("_bucket")).collect()
}

#[test]
fn each_kind_of_event_has_its_counter() {
    let gate = || "sign".parse::<GateId>().unwrap();
    let role = || "lead".parse::<RoleId>().unwrap();
    let (timeout, agent) = (Millis(60_000), None);
    for (what, expected) in [
        (
            EventKind::GateTimeout { gate: gate(), role: role(), agent, timeout, escalate_to: None, reopened: true },
            "gate_timeouts_total{gate=\"sign\",role=\"lead\"} 1",
        ),
        (
            EventKind::GateSkip { gate: gate(), role: role(), reason: SkipReason::ConditionFalse },
            "gate_skips_total{gate=\"sign\",reason=\"condition_false\"} 1",
        ),
        (
            EventKind::GateAdvice {
                gate: gate(),
                role: role(),
                agent: None,
                round: 1,
                outcome: AdviceOutcome::Unhelped,
            },
            "gate_advice_total{gate=\"sign\",outcome=\"unhelped\"} 1",
        ),
        (EventKind::GateCircularLoop { gate: gate(), loop_count: 6 }, "gate_circular_loops_total{gate=\"sign\"} 1"),
        (
            EventKind::GateConditionError {
                gate: gate(),
                expression: "x".to_owned(),
                error: "y".to_owned(),
                action: "z",
            },
            "gate_condition_errors_total{gate=\"sign\"} 1",
        ),
    ] {
        assert_eq!(counted(vec![event(what)], None), [expected]);
    }
}

#[test]
fn a_gate_that_is_left_is_a_transition_and_a_duration() {
    let what = EventKind::GateTransition {
        from_gate: Some("sign".parse().unwrap()),
        to_gate: None,
        outcome: Some(Outcome::Blocked),
        role: None,
        agent: Some("human-ada".parse().unwrap()),
        duration: Some(Millis(90_500)),
        summary: Some("words".to_owned()),
    };
    let expected = [
        "gate_transitions_total{from_gate=\"sign\",to_gate=\"\",outcome=\"blocked\"} 1",
        "gate_duration_seconds_sum{gate=\"sign\",outcome=\"blocked\"} 90.5",
        "gate_duration_seconds_count{gate=\"sign\",outcome=\"blocked\"} 1",
    ];
    assert_eq!(counted(vec![event(what)], None), expected);
}

#[test]
fn work_that_is_held_counts_as_blocked_by_its_reason() {
    let held = Some((at("p", "own", "sign"), "gate_timeout"));
    assert_eq!(counted(Vec::new(), held), ["gate_blocked_total{gate=\"sign\",reason=\"gate_timeout\"} 1"]);
}
