use holdpoint_engine::waypoint::{self, EngineStep, Fresh, Input, StepContext};
use holdpoint_protocol::{
    journal::Entry,
    state::{WaypointState, Work},
};

use super::*;
use crate::books::tests::{books, landing, submitted};

fn standing(gate: &str, kind: PlaceKind, since_s: i64, nobody: Option<&str>) -> Standing {
    let role = (kind != PlaceKind::Held).then(|| "builder".parse().unwrap());
    let since = Timestamp::from_millis(since_s * 1_000);
    Standing {
        project: "p".to_owned(),
        workflow: "fly".to_owned(),
        place: StoppedAt { gate: (!gate.is_empty()).then(|| gate.parse().unwrap()), role, kind, since },
        held: (kind == PlaceKind::Held).then_some(ReasonCode::GateLoop),
        nobody: nobody.map(|role| role.parse().unwrap()),
    }
}

fn of<'a>(samples: &'a [Sample], name: &str) -> Vec<(Vec<&'a str>, f64)> {
    let found = samples.iter().filter(|sample| sample.name == name);
    found.map(|sample| (sample.labels.iter().map(|(_, value)| value.as_str()).collect(), sample.value)).collect()
}

#[test]
fn gauges_say_how_much_work_is_at_a_gate_for_whom_it_waits_and_since_when() {
    let work = vec![
        standing("build", PlaceKind::Agent, 10, None),
        standing("build", PlaceKind::Answer, 20, None),
        standing("audit", PlaceKind::Held, 30, Some("auditor")),
        standing("", PlaceKind::Held, 40, None),
    ];
    let seen = Seen { work, read: Some(Timestamp::from_millis(95_000)) };
    let samples = seen.samples(Timestamp::from_millis(100_000));
    assert_eq!(of(&samples, READ_AGE), [(vec![], 5.0)]);
    let build = vec!["p", "fly", "build"];
    assert_eq!(of(&samples, ACTIVE)[..2], [(build.clone(), 1.0), (build.clone(), 1.0)]);
    assert_eq!(of(&samples, OLDEST)[..2], [(build.clone(), 90.0), (build, 80.0)]);
    assert_eq!(of(&samples, WAITING)[2], (vec!["p", "fly", "audit", "held"], 1.0));
    assert_eq!(of(&samples, WAITING)[3], (vec!["p", "fly", "", "held"], 1.0));
    assert_eq!(of(&samples, HELD)[0], (vec!["p", "fly", "audit", "gate_loop"], 1.0));
    assert_eq!(of(&samples, NOBODY), [(vec!["auditor"], 1.0)]);
    let empty = ["builder", "verifier", "repair"].map(|role| (vec![role], 0.0));
    assert_eq!(of(&samples, QUEUE)[..3], empty, "a queue is there when it is empty");
    assert_eq!(of(&samples, QUEUE)[3..], [(vec!["builder"], 1.0)], "what waits for an answer has an agent");
}

#[test]
fn before_the_journals_were_read_no_gauge_says_that_nothing_is_there() {
    assert_eq!(Seen::default().samples(Timestamp::from_millis(0)), []);
}

/// The entry that opens the only waypoint.
fn opened() -> Entry {
    let (books, id) = (books(), "w".parse().unwrap());
    let flight = &books.flight;
    let waypoint = flight.submitted.plan.waypoint(&id).unwrap();
    let workflow = flight.workflow(waypoint).unwrap();
    let cx =
        StepContext { flight, waypoint, workflow, now: Timestamp::from_millis(1_000), conditions: &[], is_first: true };
    let fresh = Fresh {
        turn: "turn-1".parse().unwrap(),
        decision: "decision-1".parse().unwrap(),
        guidance: "guidance-1".parse().unwrap(),
        request: "request-1".parse().unwrap(),
    };
    match waypoint::step(&WaypointState::default(), Input::Open, &cx, &fresh) {
        EngineStep::Append(entry) => *entry,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_flight_is_kept_while_something_may_come_of_it_and_its_workflows_are_begun_once() {
    let (mut tracked, flight, waypoint) = (Tracked::default(), "f".parse().unwrap(), "w".parse().unwrap());
    tracked.take(&flight, Some(&waypoint), &opened());
    assert!(tracked.0.is_empty(), "nothing is known of a flight without its submission");
    tracked.take(&flight, None, &Entry::Submitted(Box::new(submitted())));
    assert_eq!((tracked.standing(), tracked.begun().count()), (vec![], 0), "nothing has begun");
    tracked.take(&flight, Some(&waypoint), &opened());
    let [standing] = tracked.standing().try_into().unwrap();
    assert_eq!((standing.project.as_str(), standing.workflow.as_str()), ("p", "fly"));
    assert_eq!((standing.place.kind, standing.place.since), (PlaceKind::Agent, Timestamp::from_millis(1_000)));
    let begun: Vec<_> =
        tracked.begun().map(|(project, workflow)| (project.to_owned(), workflow.name.clone())).collect();
    assert_eq!(begun, [("p".to_owned(), "fly".to_owned())]);
    assert_eq!(tracked.begun().count(), 0, "once");
    tracked.take(&flight, None, &landing(b""));
    assert!(tracked.0.is_empty() && tracked.standing().is_empty());
}

#[test]
fn work_that_is_accepted_without_a_change_is_over() {
    let (mut tracked, flight, waypoint) = (Tracked::default(), "f".parse().unwrap(), "w".parse().unwrap());
    tracked.take(&flight, None, &Entry::Submitted(Box::new(submitted())));
    let mut accepted = opened();
    tracked.take(&flight, Some(&waypoint), &accepted);
    let state = accepted.record_mut().state.as_mut().unwrap();
    state.phase = Phase::Accepted { at: Timestamp::from_millis(2_000) };
    let (commit, base) = ("c".repeat(40).parse().unwrap(), state.base.clone().unwrap());
    let builder = (ids::role::id(ids::role::BUILDER), "b1".parse().unwrap());
    let mut work = Work {
        commit: Some(commit),
        tree: base,
        bundle: None,
        role: builder.0,
        agent: builder.1,
        violations: Vec::new(),
        left_out: Vec::new(),
        made_on: None,
        earlier_makers: Vec::new(),
    };
    state.work = Some(work.clone());
    tracked.take(&flight, Some(&waypoint), &accepted);
    assert!(!tracked.0.is_empty(), "its commit lands");
    work.commit = None;
    accepted.record_mut().state.as_mut().unwrap().work = Some(work);
    tracked.take(&flight, Some(&waypoint), &accepted);
    assert!(tracked.0.is_empty(), "nothing follows");
}
