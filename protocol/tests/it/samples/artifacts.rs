//! Artifacts (FLY-6 … FLY-13).

use holdpoint_protocol::{
    artifact::{
        BuildArtifact, BuildPlan, BuildStatus, ClarificationRequest, ClarificationRequestBody, CommandRun, Confidence,
        CoverageClaim, Disposition, Doubt, EvidenceWanted, Failure, GivenBack, GuidancePacket, HelpRequest,
        HelpRequestBody, LedgerSource, Metered, OrchestratorDecision, StatusMutation, VerificationPlan,
        VerificationPurpose, VerificationReport, VerificationRequest, VerificationRequestBody,
    },
    facts::DiffSummary,
    ids::{AgentName, TurnId, role},
    reason::ReasonCode,
    state::Status,
    time::Millis,
};

use super::{Kinds, another, parts::*, published};

pub(super) fn turn() -> TurnId {
    "turn-0a1b".parse().unwrap()
}

fn agent() -> AgentName {
    "builder-1".parse().unwrap()
}

pub(super) fn guidance(to: &'static str) -> GuidancePacket {
    GuidancePacket::new(
        origin("guidance-1", role::ORCHESTRATOR),
        digest("covenant"),
        digest("policy"),
        vec![format!("you are the {to}")],
        vec!["the budget is used up".to_owned()],
    )
}

pub(super) fn decision() -> OrchestratorDecision {
    OrchestratorDecision::new(
        origin("decision-1", role::ORCHESTRATOR),
        Disposition::Escalate,
        ReasonCode::AttemptsExhausted,
        Some(StatusMutation { from: Status::Running, to: Status::Failed }),
        Some("read the failing criteria".to_owned()),
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
            prepare: Some("cargo fetch --locked".to_owned()),
            scope: vec!["src/**".to_owned()],
            protected: vec!["tests/golden/**".to_owned()],
            covenant: "AGENTS.md".to_owned(),
            clarifications: vec![clarified()],
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
        turn(),
        1,
        agent(),
        BuildStatus::Ok,
        None,
        Some(oid('b')),
        Some(oid('c')),
        Some(bundle('b')),
        touched(),
        diff(),
        vec![ledger(LedgerSource::Harness, Some(0), Some(digest("log"))), ledger(LedgerSource::Agent, None, None)],
        vec![CoverageClaim { criterion: "unit".parse().unwrap(), claim: "they pass".to_owned() }],
        Some("ready".to_owned()),
        Metered {
            wall: Millis(90_000),
            output_bytes: 2048,
            tokens: Some(9),
            cost_usd: Some(0.25),
            tool_calls: Some(3),
        },
    )
}

fn failed_build() -> BuildArtifact {
    let failure = Failure { reason: ReasonCode::AgentFailed, detail: "exit code 3".to_owned() };
    BuildArtifact::new(
        origin("build-2", role::REPAIR),
        turn(),
        2,
        agent(),
        BuildStatus::Failed,
        Some(failure),
        None,
        None,
        None,
        Vec::new(),
        DiffSummary::default(),
        Vec::new(),
        Vec::new(),
        None,
        Metered::default(),
    )
}

fn report() -> VerificationReport {
    VerificationReport::new(
        origin("report-1", role::VERIFIER),
        turn(),
        1,
        "verifier-1".parse().unwrap(),
        VerificationPurpose::Handoff,
        oid('b'),
        oid('c'),
        reports(),
        reports(),
        violations(),
        diff(),
        vec![Doubt { blocking: true, text: "two readings of the goal".to_owned() }],
        receipt(),
        false,
    )
}

fn plans() -> Kinds {
    let plan = BuildPlan::new(
        origin("plan-1", role::BUILDER),
        turn(),
        1,
        agent(),
        false,
        vec!["src/retry.rs".to_owned()],
        vec!["cargo test".to_owned()],
        vec!["unit".parse().unwrap()],
        turn_budget(),
    );
    let wanted = |id: &str, command: Option<&str>| EvidenceWanted {
        criterion: id.parse().unwrap(),
        command: command.map(str::to_owned),
    };
    let verification = VerificationPlan::new(
        origin("vplan-1", role::VERIFIER),
        turn(),
        1,
        agent(),
        vec![wanted("unit", Some("cargo test --locked retry")), wanted("readable", None)],
    );
    vec![published("build_plan", plan), published("verification_plan", verification)]
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
            work: Some(work_in_progress()),
        },
    );
    let help = HelpRequest::new(
        origin("help-1", role::BUILDER),
        HelpRequestBody {
            turn: turn(),
            delivery: 1,
            agent: agent(),
            raw_line: "HELP: the build is broken".to_owned(),
            context: Some(serde_json::json!({"file": ["build.rs", 3, -1, 0.5, null, true]})),
            work: Some(work_in_progress()),
        },
    );
    let given_back =
        GivenBack::new(origin("given-1", role::BUILDER), turn(), 2, agent(), "the disk is full".to_owned());
    vec![
        published("given_back", given_back),
        published("clarification_request", question),
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
