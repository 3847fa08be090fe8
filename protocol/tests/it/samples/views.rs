//! What users and the micro service's callers see.

use holdpoint_protocol::{
    api::{
        ArtifactQuery, DeadTurn, FlightLine, Flights, History, HistoryLine, HistoryQuery, Presence, Progress,
        ProgressAnswer, RefusedHandoff, Standing, StatusQuery, Submit,
    },
    artifact::{Disposition, VerificationPurpose},
    ids::role,
    reason::ReasonCode,
    refusal::RefusalCode,
    state::{Purpose, Status},
    view::{FlightStatus, FlightView, Trouble, TurnView, WaypointView},
};

use super::{Kinds, artifacts::turn, entries::deaths, parts::*, published, unpublished};

fn waypoint_view() -> WaypointView {
    WaypointView {
        id: "retry-backoff".parse().unwrap(),
        title: "Retries back off".to_owned(),
        status: Status::Running,
        gate: Some("verify".parse().unwrap()),
        disposition: Some(Disposition::Rework),
        reason_code: Some(ReasonCode::CriteriaFailed),
        attempts: 1,
        commit: Some(oid('e')),
        criteria: results(),
        guards: results(),
        remediation: Some("read the failing criteria".to_owned()),
        turn: Some(TurnView {
            turn: turn(),
            role: role::id(role::VERIFIER),
            purpose: Purpose::Verify(VerificationPurpose::Handoff),
            opened_at: at(3),
            deadline: at(1800),
            agent: Some("verifier-1".parse().unwrap()),
        }),
    }
}

fn flight_view() -> FlightView {
    FlightView {
        flight: "demo-1".parse().unwrap(),
        plan: "harden-client".to_owned(),
        status: FlightStatus::Running,
        base: oid('a'),
        branch: "holdpoint/demo-1".to_owned(),
        head: oid('e'),
        waypoints: vec![waypoint_view()],
        landings: vec![bundle('e')],
        trouble: vec![Trouble {
            waypoint: Some("retry-backoff".parse().unwrap()),
            message: "cannot land: the disk is full".to_owned(),
            since: at(4),
            last: at(6),
            failures: 2,
        }],
    }
}

fn api() -> Kinds {
    let submit = Submit {
        flight: "demo-1".parse().unwrap(),
        plan: plan(),
        base: oid('a'),
        snapshot: bundle('a'),
        covenant: "AGENTS.md".to_owned(),
        fleet: fleet(),
    };
    let line = FlightLine {
        flight: "demo-1".parse().unwrap(),
        plan: "harden-client".to_owned(),
        submitted_at: at(0),
        status: FlightStatus::Incomplete,
    };
    let history = HistoryLine {
        at: at(5),
        kind: "build_artifact".to_owned(),
        reference: "HP_HANDOFF_BUILDER/42".to_owned(),
        artifact: serde_json::json!({"artifact_id": "build-1"}),
        standing: Some(Standing::Taken),
    };
    let progress = Progress {
        flight: "demo-1".parse().unwrap(),
        waypoint: "retry-backoff".parse().unwrap(),
        turn: turn(),
        delivery: 1,
        note: Some("running checks".to_owned()),
        trouble: Some("the disk is full".to_owned()),
    };
    let refused = RefusedHandoff::new(
        Some("turn-0a1b.1.builder-1.build_artifact.0".to_owned()),
        "HP_HANDOFF_BUILDER/43".to_owned(),
        RefusalCode::TurnNotOpen,
        "turn turn-0a1b is not open".to_owned(),
    );
    let presence =
        Presence { role: role::id(role::BUILDER), agent: "builder-1".parse().unwrap(), pid: 4711, turn: Some(turn()) };
    let (flight, waypoint) = ("demo-1".parse().unwrap(), "w1".parse().unwrap());
    vec![
        published("artifact_query", ArtifactQuery { reference: "HP_HANDOFF_BUILDER/43".to_owned() }),
        published("flights", Flights { flights: vec![line.clone()] }),
        published("history", History { lines: vec![history.clone()] }),
        published("history_query", HistoryQuery { flight, waypoint }),
        published("presence", presence),
        published("submit", submit),
        published("status_query", StatusQuery { flight: "demo-1".parse().unwrap() }),
        published("flight_line", line),
        published("history_line", history),
        published("progress", progress),
        unpublished("progress_continue", ProgressAnswer::Continue),
        published("progress_answer", ProgressAnswer::Stop { reason: "superseded".to_owned() }),
        published("refused_handoff", refused),
        published("dead_turn", dead_turn()),
    ]
}

fn dead_turn() -> DeadTurn {
    DeadTurn {
        flight: "demo-1".parse().unwrap(),
        waypoint: "retry-backoff".parse().unwrap(),
        turn: turn(),
        role: role::id(role::REPAIR),
        since: at(9),
        deaths: deaths(),
        overdue: 1,
    }
}

pub(super) fn all() -> Kinds {
    let mut all = vec![published("flight_view", flight_view())];
    all.extend(api());
    all
}
