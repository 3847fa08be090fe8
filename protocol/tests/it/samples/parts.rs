//! What samples are made of.

use holdpoint_protocol::{
    Digest, Timestamp,
    artifact::{
        CheckRun, ChecklistReceipt, Clarified, Confidence, CriterionReport, Origin, PropertyEnforced, TreeTested,
        WorkInProgress,
    },
    budget::{Limits, OnExceeded, Unmetered},
    checkpoint::{
        CheckpointCommand, CheckpointResult, CheckpointRule, CheckpointSpec, CheckpointStatus, DocumentRef,
        DocumentSpec, EstablishedBy, GateCheckpoints, GateDemands, GateDocument, NeededTool, PathKind, ProposalRule,
        ReportPart, TouchedPaths,
    },
    facts::{
        BlobRef, BundleRef, ChangeStatus, CriterionResult, DiffSummary, LeftOut, LeftOutKind, Oid, PathChange, Verdict,
        Violation, ViolationKind,
    },
    ids::{AgentName, role},
    journal::{Cause, Fleet, Sequence},
    org::Plane,
    plan::{
        Answer, Attention, Check, Criterion, EnvironmentSpec, EvidenceLevel, FlightBudget, Guard, HttpGiven,
        HttpService, Mode, Plan, Policy, Priority, TurnBudget, Waypoint,
    },
    proposal::{PlanProposal, ProposalBounds, ProposedWaypoint},
    reason::CriterionReason,
    state::Outcome,
    time::Millis,
    workflow::{
        ByOutcome, Effect, Escalation, ForkKind, ForkSpec, GateContext, GateKind, GateOrFork, GateSpec, JoinStrategy,
        RejectionStrategy, WorkflowSpec,
    },
};

pub(super) fn at(seconds: i64) -> Timestamp {
    Timestamp::from_millis(1_790_000_000_000 + seconds * 1000 + 123)
}

pub(super) fn oid(hex: char) -> Oid {
    hex.to_string().repeat(40).parse().unwrap()
}

pub(super) fn digest(of: &str) -> Digest {
    Digest::of(of.as_bytes())
}

pub(super) fn origin(id: &str, role_name: &'static str) -> Origin {
    Origin {
        artifact_id: id.parse().unwrap(),
        waypoint_id: "retry-backoff".parse().unwrap(),
        produced_by_role: role::id(role_name),
        produced_at: at(0),
        source_refs: vec!["HP_JOURNAL/17".to_owned()],
    }
}

pub(super) fn bundle(tip: char) -> BundleRef {
    let blob = BlobRef { role: role::id(role::BUILDER), digest: digest("bundle"), bytes: 4096 };
    BundleRef { blob, tip: oid(tip), index: None }
}

pub(super) fn person() -> AgentName {
    "human-ann".parse().unwrap()
}

pub(super) fn clarified() -> Clarified {
    Clarified {
        question: "Which error type?".to_owned(),
        option: Some("anyhow".to_owned()),
        text: Some("as everywhere else".to_owned()),
        rationale: Some("the crate already uses it".to_owned()),
        constraints: vec!["use anyhow".to_owned()],
        by: person().to_string(),
    }
}

pub(super) fn work_in_progress() -> WorkInProgress {
    WorkInProgress { commit: oid('b'), bundle: bundle('b') }
}

/// A gate with a checkpoint of every kind.
fn demands() -> GateDemands {
    let checkpoint = |name: &str, rule| CheckpointSpec { name: name.parse().unwrap(), rule, required: true };
    let rules = [
        CheckpointRule::Section("Impact".to_owned()),
        CheckpointRule::Matches("AC-1".to_owned()),
        CheckpointRule::Lacks("blocker".to_owned()),
        CheckpointRule::Touches(TouchedPaths::Kind(PathKind::Tests)),
        CheckpointRule::Touches(TouchedPaths::Globs(vec!["api/**".to_owned()])),
        CheckpointRule::Guard("suite".parse().unwrap()),
        CheckpointRule::Command(checkpoint_command()),
        CheckpointRule::Report(ReportPart::NoBlockingDoubts),
        CheckpointRule::Proposal(ProposalRule::Atomic),
    ];
    let mut checkpoints = vec![CheckpointSpec { required: false, ..checkpoint("design_complete", None) }];
    let ruled = rules.into_iter().enumerate();
    checkpoints.extend(ruled.map(|(n, rule)| checkpoint(&format!("rule-{n}"), Some(rule))));
    let document = Some(DocumentSpec { sections: vec!["Impact".to_owned()] });
    let proposes = Some(ProposalBounds { waypoints: 8, scope: vec!["src/**".to_owned()], checked: true });
    GateDemands { document, proposes, checkpoints, checkpoint_retries: Some(2), plan_checks: true, threshold: Some(80) }
}

/// A command of a checkpoint that says everything.
pub(super) fn checkpoint_command() -> CheckpointCommand {
    let need = NeededTool { tool: "make".to_owned(), probe: "command -v make".to_owned() };
    CheckpointCommand { check: check("make test"), needs: vec![need] }
}

/// What came of the checkpoints of a gate.
pub(super) fn gate_checkpoints() -> Vec<GateCheckpoints> {
    vec![GateCheckpoints { gate: "verify".parse().unwrap(), score: Some(89), checkpoints: gate_document().checkpoints }]
}

/// Waypoints that a gate proposes.
pub(super) fn proposal() -> PlanProposal {
    let planned = waypoint();
    PlanProposal {
        waypoints: vec![ProposedWaypoint {
            key: "backoff".parse().unwrap(),
            title: planned.title,
            goal: planned.goal,
            criteria: planned.criteria,
            scope: planned.scope,
            depends_on: vec!["types".parse().unwrap()],
            priority: Priority::High,
            estimate: Some(Millis(1_800_000)),
            max_reworks: 2,
        }],
    }
}

/// Documents of earlier gates.
pub(super) fn documents() -> Vec<DocumentRef> {
    let blob = BlobRef { role: role::id(role::ORCHESTRATOR), digest: Digest::of(b"document"), bytes: 8 };
    vec![DocumentRef { gate: "requirements".parse().unwrap(), blob, from: "HP_HANDOFF_ANALYST/41".to_owned() }]
}

/// A document with what came of its gate's checkpoints.
pub(super) fn gate_document() -> GateDocument {
    let result = |name: &str, by, status, message: &str| CheckpointResult {
        name: name.parse().unwrap(),
        by,
        status,
        message: message.to_owned(),
    };
    GateDocument {
        text: "# Impact\n\nNone.\n".to_owned(),
        title: Some("Impact".to_owned()),
        proposal: Some(proposal()),
        checkpoints: vec![
            result("impact_analyzed", EstablishedBy::Predicate, CheckpointStatus::Pass, ""),
            result("tests_passing", EstablishedBy::Command, CheckpointStatus::Pass, ""),
            result("design_complete", EstablishedBy::Statement, CheckpointStatus::Skip, "nothing to design"),
        ],
        retry_count: 1,
        last_failure: Some("impact_analyzed (fail): section `Impact` has no text".to_owned()),
    }
}

/// What a gate says to the holder of its turn.
pub(super) fn gate_context() -> GateContext {
    GateContext {
        expectations: vec!["Every line was read".to_owned()],
        tips: vec!["Begin with the tests".to_owned()],
        outcome_help: ByOutcome { complete: Some("It lands.".to_owned()), ..ByOutcome::default() },
        demands: demands(),
    }
}

/// A workflow with all that a gate can say.
pub(super) fn workflow() -> WorkflowSpec {
    let gate = |id: &str, role_name: &'static str| GateSpec::new(id.parse().unwrap(), role::id(role_name));
    let fork = ForkSpec {
        id: "judged".parse().unwrap(),
        kind: ForkKind::Fork,
        description: Some("Both at once.".to_owned()),
        branches: vec![
            GateSpec { can_reject: true, ..gate("verify", role::VERIFIER) },
            GateSpec { can_reject: true, ..gate("read", "reviewer") },
        ],
        join_strategy: JoinStrategy::Majority,
        when: Some("tags.length > 0".to_owned()),
        metadata: [("room".to_owned(), 2.into())].into(),
    };
    let approve = GateSpec {
        description: Some("A person reads the diff.".to_owned()),
        can_reject: true,
        require_human: true,
        people: vec![person()],
        timeout: Some(Millis(86_400_000)),
        escalations: vec![
            Escalation { people: vec![person()], ..Escalation::from(role::id("lead")) },
            Escalation { plane: Some(Plane::Build), ..Escalation::from(role::id("backend")) },
        ],
        when: Some("!tags.includes('small')".to_owned()),
        reject_to: Some("build".parse().unwrap()),
        expectations: vec!["Every line was read".to_owned()],
        tips: vec!["Begin with the tests".to_owned()],
        outcome_help: ByOutcome { complete: Some("It lands.".to_owned()), ..ByOutcome::default() },
        metadata: [("kind".to_owned(), "ready-check".into())].into(),
        ..gate("approve", "reviewer")
    };
    let look = GateSpec { kind: Some(GateKind::Inspection), can_reject: true, ..gate("look", role::BUILDER) };
    let children = GateSpec {
        kind: Some(GateKind::Children),
        child_workflow: Some("fly".to_owned()),
        ..gate("execute", "worker")
    };
    WorkflowSpec {
        name: "approved".to_owned(),
        description: Some("A person has the last word.".to_owned()),
        gates: vec![
            gate("build", role::BUILDER).into(),
            look.into(),
            GateOrFork::Fork(fork),
            approve.into(),
            children.into(),
        ],
        default_outcome: Some(Outcome::Blocked),
        rejection_strategy: RejectionStrategy::Named,
        outcomes: ByOutcome { blocked: Some(Effect::Hold), ..ByOutcome::default() },
        owner: Some(person()),
        stakeholders: vec!["human-bob".parse().unwrap()],
        listed: [(role::id("reviewer"), vec!["reviewer-1".parse().unwrap()])].into(),
    }
}

pub(super) fn turn_budget() -> TurnBudget {
    TurnBudget {
        wall: Some(Millis(600_000)),
        tokens: Some(200_000),
        cost_usd: Some(2.5),
        tool_calls: Some(100),
        output: Some(1 << 20),
        total: Limits {
            tokens: Some(900_000),
            cost_micro_usd: Some(9_000_000),
            wall_ms: Some(3_600_000),
            ..Limits::default()
        },
    }
}

pub(super) fn check(command: &str) -> Check {
    Check {
        command: command.to_owned(),
        expect: Some("test result: ok".to_owned()),
        red_first: true,
        timeout: Millis(600_000),
        network: false,
        writes_tree: true,
        evidence: EvidenceLevel::Fast,
        mutants: None,
    }
}

pub(super) fn criteria() -> Vec<Criterion> {
    vec![
        Criterion {
            id: "unit".parse().unwrap(),
            statement: "The unit tests pass".to_owned(),
            check: Some(Check {
                evidence: EvidenceLevel::Strict,
                mutants: Some(5),
                ..check("cargo test --locked retry")
            }),
        },
        Criterion { id: "readable".parse().unwrap(), statement: "One place".to_owned(), check: None },
    ]
}

pub(super) fn guards() -> Vec<Guard> {
    vec![Guard { id: "suite".parse().unwrap(), check: Check { expect: None, ..check("cargo test --locked") } }]
}

pub(super) fn plan() -> Plan {
    Plan {
        plan: "harden-client".to_owned(),
        base: "HEAD".to_owned(),
        covenant: Some("AGENTS.md".to_owned()),
        workflow: "fly".to_owned(),
        policy: Policy {
            max_reworks: 3,
            max_clarifications: 2,
            advise_questions: false,
            ask_before_removing: Some(20),
            suspicious: Attention::Warn,
            open_scope: Attention::Hold,
            mode: Mode::Team,
        },
        budget: FlightBudget {
            wall: Some(Millis(14_400_000)),
            tokens: Some(2_000_000),
            cost_usd: Some(20.0),
            tool_calls: Some(4_000),
            output: Some(1 << 28),
            on_exceeded: OnExceeded::Degrade,
            unmetered: Unmetered::Refuse,
        },
        sources: vec!["docs/product-spec.md".to_owned()],
        environment: Some(environment()),
        protected: vec!["tests/golden/**".to_owned()],
        guards: guards(),
        checks: demands().checkpoints,
        answers: vec![Answer {
            matches: "(?i)which error type".to_owned(),
            option: "anyhow".to_owned(),
            rationale: Some("the crate already uses it".to_owned()),
        }],
        answer_within: Some(Millis(86_400_000)),
        ask_below: Some(Confidence::Medium),
        ignore: vec!["*.orig".to_owned()],
        service: Some(service()),
        waypoints: vec![waypoint()],
    }
}

fn service() -> HttpService {
    let with_token = HttpGiven {
        env_from: Some("./mint-token.sh".to_owned()),
        headers: [("Authorization".to_owned(), "Bearer ${TOKEN}".to_owned())].into(),
    };
    HttpService {
        run: "python3 -m api --port \"$PORT\"".to_owned(),
        ready: Some("GET /health".to_owned()),
        within: Millis(20_000),
        given: [("a token".to_owned(), with_token), ("no token".to_owned(), HttpGiven::default())].into(),
        network: true,
        writes_tree: true,
        evidence: EvidenceLevel::Strict,
    }
}

pub(super) fn waypoint() -> Waypoint {
    Waypoint {
        id: "retry-backoff".parse().unwrap(),
        title: "Retries back off".to_owned(),
        goal: "Make *retries* back off.\n".to_owned(),
        depends_on: vec!["other-id".parse().unwrap()],
        priority: Priority::High,
        tags: vec!["network".to_owned()],
        metadata: [("risk".to_owned(), serde_json::json!(2))].into(),
        scope: vec!["src/**".to_owned()],
        new_tests: vec!["tests/**".to_owned()],
        changed_tests: vec!["tests/it.rs::waits".to_owned()],
        protected: vec!["src/wire.rs".to_owned()],
        criteria: criteria(),
        budget: turn_budget(),
        workflow: Some("approved".to_owned()),
        tests: vec![serde_json::json!({"given": "a server that is down"})],
        max_reworks: Some(2),
        tests_file: Some("retry.tests.yaml".to_owned()),
    }
}

pub(super) fn fleet() -> Fleet {
    Fleet {
        pool: "fleet".parse().unwrap(),
        repair: true,
        judge: true,
        advisors: 0,
        parallel: Some(4),
        queue_grace: Millis(60_000),
        build_wall: Millis(1_800_000),
        dead_after: 5,
    }
}

pub(super) fn environment() -> EnvironmentSpec {
    EnvironmentSpec {
        setup: Some("npm ci".to_owned()),
        inputs: vec!["package.json".to_owned(), "package-lock.json".to_owned()],
        names: vec!["src/lib.rs".to_owned()],
        path: vec!["node_modules/.bin".to_owned()],
        env: [("CI".to_owned(), "true".to_owned())].into(),
        offline: true,
    }
}

pub(super) fn cause() -> Cause {
    Cause {
        stream: "HP_HANDOFF_BUILDER".to_owned(),
        sequence: Sequence(42),
        digest: digest("handoff"),
        artifact: "art-1".parse().unwrap(),
    }
}

pub(super) fn results() -> Vec<CriterionResult> {
    vec![
        CriterionResult {
            id: "unit".parse().unwrap(),
            verdict: Verdict::Fail,
            reason: Some(CriterionReason::ExitCode),
            evidence: vec![digest("output")],
        },
        CriterionResult {
            id: "readable".parse().unwrap(),
            verdict: Verdict::Pass,
            reason: None,
            evidence: vec![digest("verdict")],
        },
    ]
}

pub(super) fn reports() -> Vec<CriterionReport> {
    let report = |result: CriterionResult| CriterionReport {
        result,
        command: Some("cargo test --locked retry".to_owned()),
        exit_code: Some(101),
        output_tail: "test result: FAILED. 1 passed; 1 failed\n".to_owned(),
        note: Some("exit code 101".to_owned()),
    };
    results().into_iter().map(report).collect()
}

pub(super) fn left_out() -> LeftOut {
    let why = "ignored by .gitignore:3 `*.log`".to_owned();
    LeftOut { kind: LeftOutKind::Ignored, what: "logs/run.log".to_owned(), why }
}

pub(super) fn violations() -> Vec<Violation> {
    [
        (ViolationKind::Protected, "tests/golden/a.json"),
        (ViolationKind::Steering, ".github/workflows/ci.yml"),
        (ViolationKind::OutOfScope, "README.md"),
    ]
    .map(|(kind, path)| Violation { kind, path: path.to_owned() })
    .into()
}

pub(super) fn touched() -> Vec<PathChange> {
    let change = |path: &str, status, old: Option<&str>, new: Option<&str>| PathChange {
        path: path.to_owned(),
        status,
        old_mode: old.map(str::to_owned),
        new_mode: new.map(str::to_owned),
    };
    vec![
        change("src/backoff.rs", ChangeStatus::Added, None, Some("100644")),
        change("src/retry.rs", ChangeStatus::Modified, Some("100644"), Some("100755")),
        change("src/old\\x0a.rs", ChangeStatus::Deleted, Some("100644"), None),
    ]
}

pub(super) fn diff() -> DiffSummary {
    DiffSummary { files: 3, insertions: 40, deletions: 7 }
}

pub(super) fn receipt() -> ChecklistReceipt {
    let run = |tested, verdict, reason| CheckRun {
        criterion: Some("unit".parse().unwrap()),
        command: "cargo test --locked retry".to_owned(),
        tested,
        tree: oid('c'),
        exit_code: Some(0),
        signal: None,
        duration: Millis(1234),
        after: Some(Millis(56)),
        output: digest("output"),
        output_bytes: 512,
        verdict,
        reason,
        known_from: None,
    };
    ChecklistReceipt {
        checks: vec![
            CheckRun { criterion: None, ..run(TreeTested::Base, Verdict::Pass, None) },
            CheckRun {
                after: None,
                known_from: Some("report-1".parse().unwrap()),
                ..run(TreeTested::Base, Verdict::Pass, None)
            },
            CheckRun {
                exit_code: None,
                signal: Some(9),
                ..run(TreeTested::Handoff, Verdict::Inconclusive, Some(CriterionReason::Signal))
            },
            run(TreeTested::TestsAsOnBase, Verdict::Fail, Some(CriterionReason::TestsWeakened)),
        ],
        properties: vec![
            PropertyEnforced { property: "no_network".to_owned(), mechanism: Some("seccomp".to_owned()) },
            PropertyEnforced { property: "tree_ended".to_owned(), mechanism: None },
        ],
        foreign: false,
    }
}
