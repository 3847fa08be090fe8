//! Artifacts (FLY-6 … FLY-13).

use holdpoint_protocol::{
    Digest,
    artifact::{
        BuildArtifact, BuildArtifactBody, BuildPlan, BuildPlanBody, BuildStatus, CheckpointAsked, CheckpointReport,
        ClarificationRequest, ClarificationRequestBody, CommandRun, Completion, CompletionBody, CompletionPlan,
        CompletionPlanBody, Confidence, Conversation, CoverageClaim, Disposition, Doubt, EvidenceExpected,
        EvidenceSource, EvidenceWanted, ExchangeAttempt, ExchangeError, ExchangeErrorKind, ExchangeRecord,
        ExchangeRecordBody, ExchangeStatus, Failure, GivenBack, GivenBackBody, GuidancePacket, GuidancePacketBody,
        HelpEvent, HelpRequest, HelpRequestBody, IgnoredBecause, IgnoredMarker, LedgerSource, Metered,
        OrchestratorDecision, OrchestratorDecisionBody, PersonVerdict, StatusMutation, StatusUpdate, StatusUpdateBody,
        TokenUsage, VerificationPlan, VerificationPlanBody, VerificationPurpose, VerificationReport,
        VerificationReportBody, VerificationRequest, VerificationRequestBody,
    },
    facts::{BlobRef, DiffSummary, Verdict},
    ids::{AgentName, TurnId, role},
    plan::{Attention, EvidenceLevel},
    reason::{BlockReason, ReasonCode},
    state::{Outcome, Status},
    time::Millis,
    workflow::GateBrief,
};

use super::{Kinds, another, parts::*, published};

pub(super) fn turn() -> TurnId {
    "turn-0a1b".parse().unwrap()
}

fn agent() -> AgentName {
    "builder-1".parse().unwrap()
}

fn ignored() -> IgnoredMarker {
    let line = "<waypoint-complete>other</waypoint-complete>".to_owned();
    IgnoredMarker { marker: "waypoint-complete".to_owned(), why: IgnoredBecause::OtherWaypoint, line }
}

pub(super) fn guidance(to: &'static str) -> GuidancePacket {
    GuidancePacket::new(
        origin("guidance-1", role::ORCHESTRATOR),
        GuidancePacketBody {
            covenant_version: digest("covenant"),
            policy_hash: digest("policy"),
            constraints: vec![format!("you are the {to}")],
            stop_conditions: vec!["the budget is used up".to_owned()],
        },
    )
}

pub(super) fn decision() -> OrchestratorDecision {
    OrchestratorDecision::new(
        origin("decision-1", role::ORCHESTRATOR),
        OrchestratorDecisionBody {
            disposition: Disposition::Escalate,
            reason_code: ReasonCode::AttemptsExhausted,
            status: Some(StatusMutation { from: Status::Running, to: Status::Failed }),
            remediation: Some("read the failing criteria".to_owned()),
            artifacts: vec!["report-1".parse().unwrap(), "build-1".parse().unwrap()],
        },
    )
}

pub(super) fn request(purpose: VerificationPurpose) -> VerificationRequest {
    VerificationRequest::new(
        origin("request-1", role::ORCHESTRATOR),
        VerificationRequestBody {
            purpose,
            base: oid('a'),
            commit: oid('b'),
            tree: oid('c'),
            bundles: vec![bundle('a'), bundle('b')],
            criteria: criteria(),
            guards: guards(),
            checkpoints: vec![CheckpointAsked {
                gate: "build".parse().unwrap(),
                id: "tests_passing".parse().unwrap(),
                command: checkpoint_command(),
            }],
            evidence: vec![EvidenceExpected {
                criterion: "unit".parse().unwrap(),
                by: EvidenceSource::Check,
                level: EvidenceLevel::Strict,
            }],
            environment: environment(),
            scope: vec!["src/**".to_owned()],
            new_tests: vec!["tests/**".to_owned()],
            changed_tests: vec!["tests/it.rs::waits".to_owned()],
            protected: vec!["tests/golden/**".to_owned()],
            covenant: "AGENTS.md".to_owned(),
            clarifications: vec![clarified()],
            suspicious: Attention::Off,
            judged: vec![PersonVerdict {
                criterion: "readable".parse().unwrap(),
                verdict: Verdict::Pass,
                note: "read every line".to_owned(),
                by: "human-ada".parse().unwrap(),
            }],
            tests: Vec::new(),
            gate: GateBrief {
                description: Some("Nothing lands unread.".to_owned()),
                role_description: None,
                context: gate_context(),
            },
        },
    )
}

fn built() -> BuildArtifact {
    let ledger = |source, exit_code, evidence| CommandRun {
        source,
        command: "cargo build".to_owned(),
        exit_code,
        duration: Millis(900),
        evidence,
    };
    BuildArtifact::new(
        origin("build-1", role::BUILDER),
        BuildArtifactBody {
            turn: turn(),
            delivery: 1,
            agent: agent(),
            status: BuildStatus::Ok,
            failure: None,
            commit: Some(oid('b')),
            tree: Some(oid('c')),
            bundle: Some(bundle('b')),
            touched: touched(),
            diff: diff(),
            left_out: vec![left_out()],
            document: Some(Box::new(gate_document())),
            ledger: vec![
                ledger(LedgerSource::Harness, Some(0), Some(digest("log"))),
                ledger(LedgerSource::Agent, None, None),
            ],
            claims: vec![CoverageClaim { criterion: "unit".parse().unwrap(), claim: "they pass".to_owned() }],
            completion_claim: Some("ready".to_owned()),
            markers_ignored: vec![ignored()],
            last_words: Some("it was there already".to_owned()),
            metered: metered(),
        },
    )
}

fn metered() -> Metered {
    Metered {
        wall: Millis(90_000),
        output_bytes: 2048,
        tokens: Some(9),
        usage: Some(TokenUsage { input: 4, output: 2, cache_read: 3, cache_write: 0 }),
        cost_usd: Some(0.25),
        cost_micro_usd: Some(250_000),
        estimated: true,
        tool_calls: Some(3),
        incomplete: true,
    }
}

fn failed_build() -> BuildArtifact {
    let failure = Failure { reason: ReasonCode::AgentFailed, detail: "exit code 3".to_owned() };
    BuildArtifact::new(
        origin("build-2", role::REPAIR),
        BuildArtifactBody {
            turn: turn(),
            delivery: 2,
            agent: agent(),
            status: BuildStatus::Failed,
            failure: Some(failure),
            commit: None,
            tree: None,
            bundle: None,
            touched: Vec::new(),
            diff: DiffSummary::default(),
            left_out: Vec::new(),
            document: None,
            ledger: Vec::new(),
            claims: Vec::new(),
            completion_claim: None,
            markers_ignored: Vec::new(),
            last_words: None,
            metered: Metered::default(),
        },
    )
}

fn report() -> VerificationReport {
    VerificationReport::new(
        origin("report-1", role::VERIFIER),
        VerificationReportBody {
            turn: turn(),
            delivery: 1,
            agent: "verifier-1".parse().unwrap(),
            purpose: VerificationPurpose::Handoff,
            commit: oid('b'),
            tree: oid('c'),
            criteria: reports(),
            guards: reports(),
            checkpoints: reports()
                .into_iter()
                .map(|report| CheckpointReport { gate: "build".parse().unwrap(), report })
                .collect(),
            violations: violations(),
            diff: diff(),
            doubts: vec![Doubt { suspicious: true, ..Doubt::blocking("two readings of the goal".to_owned()) }],
            receipt: receipt(),
            self_checked: false,
            metered: Some(metered()),
            markers_ignored: vec![ignored()],
        },
    )
}

fn plans() -> Kinds {
    let plan = BuildPlan::new(
        origin("plan-1", role::BUILDER),
        BuildPlanBody {
            turn: turn(),
            delivery: 1,
            agent: agent(),
            declared: false,
            file_targets: vec!["src/retry.rs".to_owned()],
            validation: vec!["cargo test".to_owned()],
            coverage: vec!["unit".parse().unwrap()],
            budget: turn_budget(),
        },
    );
    let wanted = |id: &str, command: Option<&str>| EvidenceWanted {
        criterion: id.parse().unwrap(),
        command: command.map(str::to_owned),
    };
    let verification = VerificationPlan::new(
        origin("vplan-1", role::VERIFIER),
        VerificationPlanBody {
            turn: turn(),
            delivery: 1,
            agent: agent(),
            wanted: vec![wanted("unit", Some("cargo test --locked retry")), wanted("readable", None)],
        },
    );
    let completing = CompletionPlan::new(
        origin("plan-3", "reviewer"),
        CompletionPlanBody { turn: turn(), delivery: 1, agent: agent() },
    );
    let completion = CompletionBody {
        outcome: Some(Outcome::NeedsReview),
        summary: "Two claims have no source.".to_owned(),
        blockers: vec!["The price has no source".to_owned()],
        rejection_notes: Some("The price list is in docs/prices.md".to_owned()),
        document: Some(Box::new(gate_document())),
        metadata: [("pages".to_owned(), 3.into())].into(),
        metered: Some(metered()),
        markers_ignored: vec![ignored()],
        ..CompletionBody::of_agent(agent(), turn(), 1)
    };
    let blocked = CompletionBody {
        outcome: Some(Outcome::Blocked),
        summary: "The price list cannot be opened.".to_owned(),
        blockers: vec!["Sales has to publish the price list".to_owned()],
        block_reason: Some(BlockReason::ExternalDependency),
        ..CompletionBody::of_agent(agent(), turn(), 1)
    };
    let failed = CompletionBody {
        failure: Some(Failure { reason: ReasonCode::AgentFailed, detail: "exit code 1".to_owned() }),
        ..CompletionBody::of_agent(agent(), turn(), 1)
    };
    vec![
        published("build_plan", plan),
        published("verification_plan", verification),
        published("completion_plan", completing),
        another("completion_agent", "completion", Completion::new(origin("completion-2", "reviewer"), completion)),
        another("completion_blocked", "completion", Completion::new(origin("completion-4", "reviewer"), blocked)),
        another("completion_failed", "completion", Completion::new(origin("completion-3", "reviewer"), failed)),
    ]
}

/// An exchange that recovered after a first failure.
fn exchange() -> ExchangeRecord {
    ExchangeRecord::new(
        origin("exchange-1", role::BUILDER),
        ExchangeRecordBody {
            turn: turn(),
            delivery: 1,
            agent: agent(),
            exchange: "0a1b2c3d".to_owned(),
            component: "builder".to_owned(),
            criterion: Some("unit".parse().unwrap()),
            session: Some("session-1".to_owned()),
            original_error: ExchangeError {
                kind: ExchangeErrorKind::MissingField,
                details: "2 required fields are missing: data.todos, data.success".to_owned(),
                missing: vec!["data.todos".to_owned(), "data.success".to_owned()],
                output_sample: "{\"component\": \"builder\"".to_owned(),
                output: Some(digest("7")),
            },
            attempts: vec![ExchangeAttempt {
                attempt: 1,
                at: at(9),
                command: "agent --print".to_owned(),
                prompt: "Print the missing fields".to_owned(),
                output_sample: "{}".to_owned(),
                error: None,
            }],
            final_status: Some(ExchangeStatus::Recovered),
        },
    )
}

fn conversation() -> Kinds {
    let question = ClarificationRequest::new(
        origin("question-1", role::BUILDER),
        ClarificationRequestBody {
            turn: turn(),
            delivery: 1,
            agent: agent(),
            question: "Which error type?".to_owned(),
            decision_context: "the public API".to_owned(),
            confidence: Confidence::Low,
            options: vec!["anyhow".to_owned(), "thiserror".to_owned()],
            block_reason: BlockReason::ScopeChange,
            work: Some(work_in_progress()),
            waits_until: None,
            waited: false,
            metered: Some(metered()),
            conversation: Some(talk()),
        },
    );
    let waits = ClarificationRequest { work: None, waits_until: Some(at(64)), ..question.clone() };
    let waited = ClarificationRequest { waited: true, ..question.clone() };
    let help = HelpRequest::new(
        origin("help-1", role::BUILDER),
        HelpRequestBody {
            turn: turn(),
            delivery: 1,
            agent: agent(),
            raw_line: "HELP: the build is broken".to_owned(),
            context: Some(serde_json::json!({"file": ["build.rs", 3, -1, 0.5, null, true]})),
            work: Some(work_in_progress()),
            help_events: vec![
                HelpEvent {
                    timestamp: at(62),
                    raw_line: "HELP".to_owned(),
                    context: Some(serde_json::json!({"step": 17})),
                },
                HelpEvent { timestamp: at(63), raw_line: "HELP".to_owned(), context: None },
            ],
            overruled: true,
            running: false,
            markers_ignored: vec![ignored()],
            metered: Some(metered()),
            conversation: Some(talk()),
        },
    );
    let heard = HelpRequest { work: None, overruled: false, running: true, ..help.clone() };
    let given_back = GivenBack::new(
        origin("given-1", role::BUILDER),
        GivenBackBody { turn: turn(), delivery: 2, agent: agent(), reason: "the disk is full".to_owned() },
    );
    let status = StatusUpdate::new(
        origin("status-1", role::BUILDER),
        StatusUpdateBody {
            turn: turn(),
            delivery: 1,
            agent: agent(),
            summary: "tests are written, the retry loop is next".to_owned(),
            percent: Some(40),
        },
    );
    vec![
        published("status_update", status),
        published("given_back", given_back),
        published("exchange_record", exchange()),
        published("clarification_request", question),
        another("clarification_request_waits", "clarification_request", waits),
        another("help_request_heard", "help_request", heard),
        another("clarification_request_waited", "clarification_request", waited),
        published("help_request", help),
    ]
}

pub(super) fn all() -> Kinds {
    let mut all = vec![
        published("build_artifact", built()),
        another("build_artifact_failed", "build_artifact", failed_build()),
        published("checklist_receipt", receipt()),
        published("guidance_packet", guidance(role::BUILDER)),
        published("orchestrator_decision", decision()),
        published("verification_report", report()),
        published("verification_request", request(VerificationPurpose::Merge)),
    ];
    all.extend(plans());
    all.extend(conversation());
    all
}

/// A conversation that goes along with a question.
pub(super) fn talk() -> Conversation {
    Conversation {
        session: "4c1e".to_owned(),
        path: "-hold-w1/4c1e.jsonl".to_owned(),
        transcript: BlobRef { role: role::id(role::BUILDER), digest: Digest::of(b"transcript"), bytes: 10 },
        used: None,
        cost_micro_usd: Some(1_200),
    }
}
