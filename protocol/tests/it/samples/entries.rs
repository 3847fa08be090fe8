//! Journal entries, turns among them.

use holdpoint_protocol::{
    artifact::{Disposition, VerificationPurpose},
    ids::role,
    journal::{Dead, Death, Decided, Landed, Record, Submitted},
    reason::ReasonCode,
    state::{
        Answered, Counters, GateVisit, LastDecision, OpenTurn, Outcome, Phase, Purpose, Status, WaypointState, Work,
    },
    subjects,
    turn::{BuildRequest, Collision, CollisionKind, Feedback, LandedMeanwhile, Turn, TurnRequest},
    version,
};

use super::{
    Kinds, another,
    artifacts::{decision, guidance, request, turn},
    parts::*,
    published,
};

fn state(phase: Phase) -> WaypointState {
    WaypointState {
        phase,
        base: Some(oid('a')),
        work: Some(Work {
            commit: Some(oid('b')),
            tree: oid('c'),
            bundle: Some(bundle('b')),
            violations: violations(),
            role: role::id(role::REPAIR),
            agent: "repair-1".parse().unwrap(),
            made_on: Some(oid('d')),
        }),
        counters: Counters { attempts: 2, reworks: 1, conflicts: 1, redeliveries: 3 },
        decision: Some(LastDecision {
            id: "decision-1".parse().unwrap(),
            disposition: Disposition::Rollback,
            reason_code: ReasonCode::Regression,
            remediation: Some("narrow the goal".to_owned()),
        }),
        criteria: results(),
        guards: results(),
        history: vec![GateVisit {
            gate: "build".parse().unwrap(),
            role: role::id(role::BUILDER),
            entered: at(1),
            exited: Some(at(2)),
            outcome: Some(Outcome::Complete),
        }],
        answered: Some(Answered { turn: turn(), digest: digest("handoff") }),
    }
}

fn record(phase: Phase) -> Record {
    Record {
        at: at(3),
        previous: Some(digest("entry")),
        cause: Some(cause()),
        state: Some(state(phase)),
        asked_by: Some("operator-ann".parse().unwrap()),
    }
}

fn flight_record() -> Record {
    Record { at: at(0), previous: None, cause: None, state: None, asked_by: None }
}

pub(super) fn feedback() -> Feedback {
    Feedback {
        disposition: Disposition::Rework,
        reason_code: ReasonCode::CriteriaFailed,
        failing: reports(),
        notes: vec!["README.md was changed and must not be".to_owned()],
        collision: Some(Collision {
            kind: CollisionKind::Conflict,
            paths: vec!["src/lib.rs".to_owned()],
            paths_more: 2,
            landed: vec![LandedMeanwhile {
                waypoint: "parse-headers".parse().unwrap(),
                title: "Headers are parsed".to_owned(),
                commit: oid('e'),
                paths: vec!["src/lib.rs".to_owned()],
            }],
            landed_more: 3,
        }),
    }
}

fn a_turn(role_name: &'static str, purpose: Purpose, request: TurnRequest) -> Turn {
    let open = OpenTurn {
        turn: turn(),
        role: role::id(role_name),
        gate: "build".parse().unwrap(),
        purpose,
        opened_at: at(3),
        deadline: at(1800),
    };
    let (flight, waypoint) = ("demo-1".parse().unwrap(), "retry-backoff".parse().unwrap());
    Turn {
        schema_version: version::CURRENT,
        turn_id: open.turn.clone(),
        handoff_subject: subjects::handoff_prefix(&open.role, &flight, &waypoint),
        flight,
        waypoint,
        gate: open.gate.clone(),
        role: open.role.clone(),
        attempt: 2,
        deadline: open.deadline,
        guidance: guidance(role_name),
        request,
        decision: Some(decision()),
        record: record(Phase::InTurn(open)),
    }
}

fn build_turn() -> Turn {
    let request = BuildRequest {
        title: "Retries back off".to_owned(),
        goal: "Make *retries* back off.\n".to_owned(),
        criteria: criteria(),
        scope: vec!["src/**".to_owned()],
        protected: vec!["tests/golden/**".to_owned()],
        sources: vec!["docs/product-spec.md".to_owned()],
        covenant: "AGENTS.md".to_owned(),
        base: oid('a'),
        start: oid('b'),
        bundles: vec![bundle('a'), bundle('b')],
        feedback: Some(feedback()),
        budget: turn_budget(),
        tests: vec![serde_json::json!({"given": "a server that is down"})],
    };
    a_turn(role::REPAIR, Purpose::Build, TurnRequest::Build(Box::new(request)))
}

fn verify_turn(purpose: VerificationPurpose) -> Turn {
    a_turn(role::VERIFIER, Purpose::Verify(purpose), TurnRequest::Verify(Box::new(request(purpose))))
}

fn decided(phase: Phase) -> Decided {
    Decided { schema_version: version::CURRENT, decision: decision(), record: record(phase) }
}

pub(super) fn deaths() -> Vec<Death> {
    [1, 3].map(|delivery| Death { delivery, agent: format!("repair-{delivery}").parse().unwrap() }).to_vec()
}

fn dead() -> Dead {
    let Phase::InTurn(open) = build_turn().record.state.unwrap().phase else { unreachable!() };
    Dead {
        schema_version: version::CURRENT,
        turn: open.turn.clone(),
        role: open.role.clone(),
        deaths: deaths(),
        overdue: 1,
        decision: decision(),
        record: record(Phase::Dead(open)),
    }
}

pub(super) fn all() -> Kinds {
    let submitted = Submitted {
        schema_version: version::CURRENT,
        flight: "demo-1".parse().unwrap(),
        plan: plan(),
        base: oid('a'),
        base_tree: oid('d'),
        snapshot: bundle('a'),
        covenant: "AGENTS.md".to_owned(),
        covenant_version: digest("covenant"),
        fleet: fleet(),
        record: flight_record(),
    };
    let landed = Landed {
        schema_version: version::CURRENT,
        waypoint: "retry-backoff".parse().unwrap(),
        tree: oid('c'),
        commit: oid('e'),
        parent: oid('a'),
        bundle: bundle('e'),
        bundle_on: Some(oid('b')),
        report: digest("report"),
        record: flight_record(),
    };
    vec![
        published("submitted", submitted),
        published("landed", landed),
        published("turn", build_turn()),
        another("turn_build", "turn", Turn { decision: None, ..build_turn() }),
        another("turn_baseline", "turn", verify_turn(VerificationPurpose::Baseline)),
        another("turn_verify", "turn", verify_turn(VerificationPurpose::Handoff)),
        published("dead", dead()),
        published("decided", decided(Phase::Accepted { at: at(4), report: digest("report") })),
        another("decided_halted", "decided", decided(Phase::Halted { status: Status::Blocked })),
        published("feedback", feedback()),
    ]
}
