//! What users and the micro service's callers see.

use holdpoint_protocol::{
    api::{
        ArtifactQuery, DeadQuery, DeadTurn, DeadTurns, FlightLine, Flights, FlightsQuery, FoundArtifact, GivenAnswer,
        Going, History, HistoryLine, HistoryQuery, Progress, ProgressAnswer, ProgressNotice, RefusedHandoff, Standing,
        StatusQuery, StreamPlace, Submit,
    },
    artifact::{Disposition, Verb, VerificationPurpose},
    attestation::{AttestQuery, Envelope, EnvelopeSignature, PAYLOAD_TYPE},
    export::{
        BlobPart, Cut, CutQuery, End, ExportCut, ExportPlace, FORMAT, HandoffsEnd, Head, JournalEnd, Line, Message,
        MessagePage, MessageQuery, MissingBlob, Seal,
    },
    ids::role,
    journal::Sequence,
    live::{LiveKind, LiveLine},
    presence::Presence,
    reason::ReasonCode,
    refusal::RefusalCode,
    retire::{RetireAnswer, RetireQuery},
    state::{Outcome, Purpose, Status},
    storage::{Storage, StorageQuery, StreamStorage},
    unsound::{ConfigInvalid, ConfigInvalidNoted},
    version,
    view::{BranchStatus, BranchView, FlightStatus, FlightView, FlownWorkflow, Trouble, TurnView, WaypointView},
    workflow::RecordedWorkflow,
};

use super::{Kinds, another, artifacts::turn, entries::deaths, parts::*, published, unpublished};

fn live_line() -> LiveLine {
    LiveLine { turn: turn(), at: at(5), kind: LiveKind::Tool, text: "Edit src/client.rs".to_owned(), left_out: 2 }
}

fn waypoint_view() -> WaypointView {
    WaypointView {
        id: "retry-backoff".parse().unwrap(),
        title: "Retries back off".to_owned(),
        status: Status::Running,
        gate: Some("verify".parse().unwrap()),
        disposition: Some(Disposition::Rework),
        reason_code: Some(ReasonCode::CriteriaFailed),
        attempts: 1,
        sent_back: 0,
        commit: Some(oid('e')),
        criteria: results(),
        guards: results(),
        checkpoints: gate_checkpoints(),
        foreign_receipt: Some(false),
        self_checked: true,
        remediation: Some("read the failing criteria".to_owned()),
        parent: Some("harden".parse().unwrap()),
        depends_on: vec!["types".parse().unwrap()],
        waits_for: vec!["types".parse().unwrap()],
        rollbacks: 1,
        interventions: 2,
        used: None,
        block_reason: None,
        actions: vec![Verb::Cancel],
        turn: Some(TurnView {
            turn: turn(),
            role: role::id(role::VERIFIER),
            purpose: Purpose::Verify(VerificationPurpose::Handoff),
            attempt: 1,
            opened_at: at(3),
            deadline: at(1800),
            agent: Some("verifier-1".parse().unwrap()),
            overdue: 2,
        }),
        branches: vec![BranchView {
            gate: "security".parse().unwrap(),
            standing: BranchStatus::Voted,
            outcome: Some(Outcome::Complete),
            by: Some("reviewer-1".parse().unwrap()),
            turn: None,
        }],
        changed_at: Some(at(3)),
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
        paused: true,
        submitted_at: Some(holdpoint_protocol::Timestamp::from_millis(1_700_000_000_000)),
        waypoints: vec![waypoint_view()],
        next: Some("retry-backoff".parse().unwrap()),
        landings: vec![bundle('e')],
        brought_by: vec![bundle('e')],
        trouble: vec![Trouble {
            waypoint: Some("retry-backoff".parse().unwrap()),
            message: "cannot land: the disk is full".to_owned(),
            since: at(4),
            last: at(6),
            failures: 2,
        }],
        trouble_left_out: 3,
        workflows: vec![FlownWorkflow::from(&RecordedWorkflow::from(workflow()))],
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
        workflows: vec![workflow()],
    };
    let line = FlightLine {
        flight: "demo-1".parse().unwrap(),
        plan: "harden-client".to_owned(),
        submitted_at: at(0),
        status: FlightStatus::Incomplete,
        paused: true,
    };
    let history = HistoryLine {
        at: at(5),
        kind: "build_artifact".to_owned(),
        reference: "HP_HANDOFF_BUILDER/42".to_owned(),
        artifact: serde_json::json!({"artifact_id": "build-1"}),
        standing: Some(Standing::Taken),
    };
    let found = FoundArtifact {
        line: HistoryLine { standing: None, ..history.clone() },
        flight: Some("demo-1".parse().unwrap()),
        waypoint: Some("retry-backoff".parse().unwrap()),
    };
    let progress = Progress {
        flight: "demo-1".parse().unwrap(),
        waypoint: "retry-backoff".parse().unwrap(),
        turn: turn(),
        delivery: 1,
        note: Some("running checks".to_owned()),
        trouble: Some("the disk is full".to_owned()),
        answers: 1,
        newest: true,
    };
    let going =
        Going { answers: vec![GivenAnswer { words: digest("words"), answer: clarified() }], questions_left: Some(1) };
    let notice = ProgressNotice {
        turn: turn(),
        nonce: "5f0e8c2d1b7a4936".to_owned(),
        answer: ProgressAnswer::Continue(Going::default()),
    };
    let refused = RefusedHandoff::new(
        Some("turn-0a1b.1.builder-1.build_artifact.0".to_owned()),
        "HP_HANDOFF_BUILDER/43".to_owned(),
        RefusalCode::TurnNotOpen,
        "turn turn-0a1b is not open".to_owned(),
    );
    let presence = Presence {
        role: role::id(role::BUILDER),
        agent: "builder-1".parse().unwrap(),
        pid: 4711,
        turn: Some(turn()),
        delivery: Some(1),
        version: Some("0.1.0".to_owned()),
    };
    let (flight, waypoint) = ("demo-1".parse().unwrap(), "w1".parse().unwrap());
    let places = vec![StreamPlace { stream: "HP_HANDOFF_BUILDER".to_owned(), sequence: Sequence(42) }];
    vec![
        published("artifact_query", ArtifactQuery { reference: "HP_HANDOFF_BUILDER/43".to_owned() }),
        published("flights", Flights { flights: vec![line.clone()], next: Some("demo-1".parse().unwrap()) }),
        published("history", History { lines: vec![history.clone()], next: Some(places.clone()) }),
        published("history_query", HistoryQuery { flight, waypoint, after: places }),
        published("presence", presence),
        published("live_line", live_line()),
        published("submit", submit),
        published("flights_query", FlightsQuery { after: Some("demo-1".parse().unwrap()) }),
        published(
            "status_query",
            StatusQuery { flight: "demo-1".parse().unwrap(), after: Some("retry-backoff".parse().unwrap()) },
        ),
        published("flight_line", line),
        published("found_artifact", found),
        published("history_line", history),
        published("progress", progress),
        unpublished("progress_continue", ProgressAnswer::Continue(Going::default())),
        unpublished("progress_continue_answered", ProgressAnswer::Continue(going)),
        published("progress_answer", ProgressAnswer::Stop { reason: "superseded".to_owned(), give_back: false }),
        published("progress_notice", notice),
        published("refused_handoff", refused),
        published("dead_turn", dead_turn()),
        published("dsse_envelope", envelope()),
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

fn envelope() -> Envelope {
    let signature = EnvelopeSignature { keyid: "UABC".to_owned(), sig: "AAEC".to_owned() };
    Envelope { payload_type: PAYLOAD_TYPE.to_owned(), payload: "e30=".to_owned(), signatures: vec![signature] }
}

fn export() -> Kinds {
    let seal = Seal { payload: b"{}".to_vec(), signature: "AAEC".to_owned() };
    let trust = serde_json::json!({"orchestrators": ["UABC"]});
    let flight = "demo-1".parse().unwrap();
    let head = Head {
        format: FORMAT.to_owned(),
        flight,
        evidence: true,
        work: false,
        trust: trust.clone(),
        seal: seal.clone(),
    };
    let message = Message {
        stream: "HP_JOURNAL".to_owned(),
        sequence: Sequence(17),
        subject: "hp.v1.journal.demo-1._.submitted".to_owned(),
        time: at(1),
        headers: [("Hp-Signature".to_owned(), "AAEC".to_owned())].into(),
        payload: b"{}".to_vec(),
    };
    let part = BlobPart { digest: digest("log"), offset: 0, last: true, data: b"ok\n".to_vec() };
    let missing = MissingBlob { digest: digest("lost"), error: "no blob".to_owned() };
    let end = JournalEnd { waypoint: None, sequence: Sequence(17), digest: digest("entry") };
    let handoffs = HandoffsEnd { stream: "HP_HANDOFF_BUILDER".to_owned(), known: Sequence(3), until: Sequence(4) };
    let cut = Cut {
        schema_version: version::CURRENT,
        flight: "demo-1".parse().unwrap(),
        at: at(2),
        journals: vec![end],
        handoffs: vec![handoffs.clone()],
    };
    let page =
        MessagePage { messages: vec![message.clone()], next: Some(ExportPlace { sequence: Sequence(17), offset: 5 }) };
    let flight = || "demo-1".parse().unwrap();
    let query = MessageQuery {
        flight: flight(),
        stream: "HP_JOURNAL".to_owned(),
        after: ExportPlace::default(),
        until: Sequence(17),
    };
    vec![
        published("export_line", Line::Export(Box::new(head))),
        another("export_message", "export_line", Line::Message(message)),
        another("export_blob", "export_line", Line::Blob(part)),
        another("export_missing", "export_line", Line::Missing(missing)),
        another("export_end", "export_line", Line::End(End { messages: 1, blobs: 1 })),
        unpublished("export_cut", cut),
        published("retire_query", RetireQuery { flight: flight(), seal: seal.clone(), export: digest("export") }),
        published("export_begin", ExportCut { seal, trust }),
        published("export_page", page),
        published("cut_query", CutQuery { flight: flight() }),
        published("retire_answer", RetireAnswer { entry: Sequence(90), handoffs: vec![handoffs] }),
        published("message_query", query),
        published("attest_query", AttestQuery { flight: flight(), waypoint: "retry-backoff".parse().unwrap() }),
        published(
            "config_invalid",
            ConfigInvalid { message: "project.yaml:3:9: gate `read` is there twice".to_owned() },
        ),
        published("config_invalid_noted", ConfigInvalidNoted { counted: true }),
        published("storage_query", StorageQuery { stream: Some("HP_BLOB_BUILDER".to_owned()) }),
        published(
            "storage",
            Storage {
                version: "0.1.0".to_owned(),
                bytes: 4096,
                bytes_max: 1 << 30,
                streams: vec![StreamStorage {
                    stream: "HP_BLOB_BUILDER".to_owned(),
                    bytes: 4096,
                    bytes_max: Some(1 << 20),
                    messages: 3,
                    messages_max: None,
                }],
            },
        ),
        published("dead_query", DeadQuery { flight: Some(flight()), after: Some(Sequence(4)) }),
        published("dead_turns", DeadTurns { turns: vec![dead_turn()], next: Some(Sequence(9)) }),
    ]
}

pub(super) fn all() -> Kinds {
    let mut all = vec![published("flight_view", flight_view())];
    all.extend(api());
    all.extend(export());
    all
}
