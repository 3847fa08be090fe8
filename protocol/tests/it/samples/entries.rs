//! Journal entries, turns among them.

use holdpoint_protocol::{
    artifact::{Confidence, Disposition, Verb, VerificationPurpose},
    budget::{Allowance, Amounts, Limits, Raise, Spent, Unmetered},
    ids::role,
    journal::{self, ConditionResult, Dead, Death, Decided, Landed, Record, Reserved, Steered, Submitted},
    reason::ReasonCode,
    state::{
        Acted, Alone, Answered, Branch, BranchStanding, Configured, Counters, GateEntries, GateVisit, Held,
        LastDecision, OpenAdvice, OpenFork, OpenTurn, Outcome, Phase, Purpose, Question, QuestionKind,
        QuestionStanding, Resume, Stacked, Status, TurnQuestion, Verified, Vote, WaypointState, Work,
    },
    subjects,
    turn::{
        Advice, AdviceRequest, BuildRequest, Collision, CollisionKind, CompletionRequest, DependencyOutcome, Feedback,
        LandedMeanwhile, ReviewContext, Turn, TurnRequest,
    },
    version,
    workflow::{GateContext, RecordedWorkflow},
};

use super::{
    Kinds, another,
    artifacts::{decision, guidance, request, turn},
    parts::*,
    published,
};

/// The role of a gate that neither builds nor verifies.
const REVIEWER: &str = "reviewer";

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
            earlier_makers: vec!["builder-1".parse().unwrap()],
            made_on: Some(oid('d')),
        }),
        counters: Counters { attempts: 2, reworks: 1, conflicts: 1, redeliveries: 3, clarifications: 2, granted: 1 },
        decision: Some(LastDecision {
            id: "decision-1".parse().unwrap(),
            disposition: Disposition::Rollback,
            reason_code: ReasonCode::Regression,
            remediation: Some("narrow the goal".to_owned()),
        }),
        criteria: results(),
        guards: results(),
        foreign_receipt: Some(false),
        entries: vec![GateEntries { gate: "build".parse().unwrap(), count: 2 }],
        earlier_visits: None,
        history: vec![GateVisit {
            gate: "build".parse().unwrap(),
            role: role::id(role::BUILDER),
            agent: Some("builder-1".parse().unwrap()),
            entered: at(1),
            exited: Some(at(2)),
            outcome: Some(Outcome::Complete),
        }],
        answered: Some(Answered { turn: turn(), digest: digest("handoff") }),
        answered_before: Vec::new(),
        fork: None,
        verified: Some(Verified { report: digest("report"), tree: oid('c'), base: oid('a') }),
        cleared: true,
        after_conflict: true,
        stacked: None,
        apart: false,
        constraints: vec!["use anyhow".to_owned()],
        acted: Some(Acted { by: person(), verb: Verb::Approve, at: at(5), digest: digest("act") }),
        advice: None,
        configured: Configured { began: 1, by: 2 },
        spent: Spent::default(),
    }
}

fn conditions() -> Vec<ConditionResult> {
    let failure = Some("it took more than 100 ms".to_owned());
    vec![ConditionResult { gate: "security".parse().unwrap(), holds: false, failure }]
}

fn record(phase: Phase) -> Record {
    Record {
        previous: Some(digest("entry")),
        cause: Some(cause()),
        state: Some(state(phase)),
        conditions: conditions(),
        ..Record::at(at(3))
    }
}

fn flight_record() -> Record {
    Record::at(at(0))
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
        clarifications: vec![clarified()],
        review: Some(ReviewContext {
            from_gate: "verify".parse().unwrap(),
            from_role: role::id(role::VERIFIER),
            from_agent: Some("verifier-1".parse().unwrap()),
            at: at(4),
        }),
    }
}

fn open_turn(role_name: &'static str, purpose: Purpose) -> OpenTurn {
    let people = purpose == Purpose::Complete;
    OpenTurn {
        turn: turn(),
        role: role::id(role_name),
        gate: if people { "approve" } else { "build" }.parse().unwrap(),
        purpose,
        link: 0,
        people,
        taken_by: None,
        judged: Vec::new(),
        listed_by: None,
        opened_at: at(3),
        deadline: at(1800),
        questions: Vec::new(),
        allowance: None,
    }
}

/// A build turn that a person took over.
fn taken_turn() -> Turn {
    let mut turn = Turn { decision: None, ..build_turn() };
    let state = turn.record.state.as_mut().expect("a turn has the state after it");
    if let Phase::InTurn(open) = &mut state.phase {
        (open.people, open.link) = (true, 1);
        open.taken_by = Some("human-ada".parse().unwrap());
        open.listed_by = Some(2);
    }
    turn
}

/// A turn in which one question was answered by policy, one by a person, one withdrawn, and one is open.
fn asking() -> Phase {
    let answered = |by| QuestionStanding::Answered { by };
    let standings =
        [answered(None), answered(Some(cause())), QuestionStanding::Withdrawn, QuestionStanding::Open].into_iter();
    let questions = standings.map(|standing| TurnQuestion {
        asked: cause(),
        words: digest("words"),
        since: at(4),
        until: at(64),
        standing,
    });
    Phase::InTurn(OpenTurn { questions: questions.collect(), ..open_turn(role::BUILDER, Purpose::Build) })
}

fn answered() -> journal::Answered {
    journal::Answered {
        schema_version: version::CURRENT,
        turn: turn(),
        words: digest("words"),
        answer: clarified(),
        record: record(asking()),
    }
}

fn a_turn(role_name: &'static str, purpose: Purpose, request: TurnRequest) -> Turn {
    let open = open_turn(role_name, purpose);
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
        for_build: None,
        allowance: None,
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
        ask_below: Some(Confidence::Medium),
        description: None,
        role_description: None,
        context: GateContext::default(),
        dependencies: vec![DependencyOutcome {
            waypoint: "types".parse().unwrap(),
            title: "The types".to_owned(),
            commit: oid('d'),
        }],
        conversation: Some(super::artifacts::talk()),
    };
    a_turn(role::REPAIR, Purpose::Build, TurnRequest::Build(Box::new(request)))
}

/// Of a gate of a declared workflow, by a role of the org chart.
fn declared_build_turn() -> Turn {
    let TurnRequest::Build(request) = build_turn().request else { unreachable!("a build turn") };
    let request = BuildRequest {
        description: Some("Makes what the plan says.".to_owned()),
        role_description: Some("Writes Rust.".to_owned()),
        context: gate_context(),
        ..*request
    };
    a_turn("coder", Purpose::Build, TurnRequest::Build(Box::new(request)))
}

fn verify_turn(purpose: VerificationPurpose) -> Turn {
    a_turn(role::VERIFIER, Purpose::Verify(purpose), TurnRequest::Verify(Box::new(request(purpose))))
}

fn complete_turn() -> Turn {
    let request = CompletionRequest {
        tests: Vec::new(),
        context: gate_context(),
        title: "Retries back off".to_owned(),
        description: Some("A person reads the diff.".to_owned()),
        can_reject: true,
        people: vec![person()],
        base: oid('a'),
        commit: oid('b'),
        tree: oid('c'),
        bundles: vec![bundle('a'), bundle('b')],
        report: Some(digest("report")),
        feedback: Some(feedback()),
        goal: None,
        criteria: Vec::new(),
        role_description: None,
        default_outcome: None,
        budget: None,
        advice: None,
    };
    a_turn(REVIEWER, Purpose::Complete, TurnRequest::Complete(Box::new(request)))
}

/// Of a gate that agents complete.
pub(super) fn agents_complete_turn() -> Turn {
    let TurnRequest::Complete(request) = complete_turn().request else { unreachable!("a completion") };
    let request = CompletionRequest {
        tests: Vec::new(),
        people: Vec::new(),
        goal: Some("Make *retries* back off.\n".to_owned()),
        criteria: criteria(),
        role_description: Some("Reads every line.".to_owned()),
        default_outcome: Some(Outcome::Blocked),
        budget: Some(turn_budget()),
        ..*request
    };
    let mut turn = a_turn(REVIEWER, Purpose::Complete, TurnRequest::Complete(Box::new(request)));
    if let Some(Phase::InTurn(open)) = turn.record.state.as_mut().map(|state| &mut state.phase) {
        open.people = false;
    }
    turn
}

/// Of an advisor, in the second round.
fn advise_turn() -> Turn {
    let TurnRequest::Build(asked) = build_turn().request else { unreachable!("a build request") };
    let TurnRequest::Complete(request) = agents_complete_turn().request else { unreachable!("a completion") };
    let kept = Advice {
        advisor: Some("advisor-1".parse().unwrap()),
        success: false,
        declined: true,
        content: String::new(),
        session: Some("s-1".to_owned()),
        error: Some("agent_failed: exit 1".to_owned()),
        round: 1,
        at: at(5),
    };
    let helped = Advice {
        success: true,
        declined: false,
        content: "look at the header".to_owned(),
        error: None,
        ..kept.clone()
    };
    let advice = AdviceRequest {
        kind: QuestionKind::Help,
        question: ">>>HELP<<<".to_owned(),
        context: "{\"step\":17}".to_owned(),
        round: 2,
        not_before: Some(at(6)),
        given: vec![kept, helped],
        asked,
    };
    let request = CompletionRequest { advice: Some(Box::new(advice)), ..*request };
    let mut turn = a_turn(role::ADVISOR, Purpose::Advise, TurnRequest::Complete(Box::new(request)));
    if let (Some(state), Phase::Waiting(question)) = (turn.record.state.as_mut(), waiting(QuestionKind::Help)) {
        state.advice = Some(Box::new(OpenAdvice { question, round: 2, asked: 1, helped: 0 }));
    }
    turn
}

fn decided(phase: Phase) -> Decided {
    Decided { schema_version: version::CURRENT, decision: decision(), feedback: None, record: record(phase) }
}

fn held(status: Status, resume: Resume) -> Phase {
    Phase::Held(Held { status, since: at(6), resume })
}

fn waiting(kind: QuestionKind) -> Phase {
    Phase::Waiting(Question {
        turn: open_turn(role::BUILDER, Purpose::Build),
        asked: cause(),
        kind,
        since: at(4),
        deadline: (kind == QuestionKind::Clarification).then(|| at(86_400)),
    })
}

/// A decision for each phase that it can lead to.
fn decisions() -> Kinds {
    let verify = Purpose::Verify(VerificationPurpose::Handoff);
    let gate = Resume::Gate { gate: "verify".parse().unwrap(), purpose: verify };
    let landing = Resume::Landing { at: at(4), report: Some(digest("report")) };
    let failed = Decided { feedback: Some(Box::new(feedback())), ..decided(held(Status::Failed, gate)) };
    let mut all = vec![
        published("decided", decided(Phase::Accepted { at: at(4), report: Some(digest("report")) })),
        another("decided_failed", "decided", failed),
    ];
    let phases = [
        ("decided_unverified", Phase::Accepted { at: at(4), report: None }),
        ("decided_asking", asking()),
        ("decided_waiting", waiting(QuestionKind::Clarification)),
        ("decided_waiting_for_help", waiting(QuestionKind::Help)),
        ("decided_held", held(Status::Blocked, Resume::Beginning)),
        ("decided_held_at_landing", held(Status::Blocked, landing)),
        ("decided_cancelled", Phase::Cancelled),
    ];
    all.extend(phases.map(|(name, phase)| another(name, "decided", decided(phase))));
    all.push(another("decided_forked", "decided", forked()));
    all
}

/// A fork with a branch of each standing.
fn forked() -> Decided {
    let branch = |gate: &str, standing, redeliveries| Branch { gate: gate.parse().unwrap(), standing, redeliveries };
    let vote = Vote {
        outcome: Outcome::NeedsReview,
        by: "reviewer-1".parse().unwrap(),
        disposition: Disposition::Rework,
        reason_code: ReasonCode::ApprovalRejected,
        cause: digest("vote"),
    };
    let branches = vec![
        branch("verify", BranchStanding::Due, 0),
        branch("docs", BranchStanding::Skipped, 0),
        branch("security", BranchStanding::Open(asking()), 1),
        branch("style", BranchStanding::Voted(vote), 0),
    ];
    let mut decided = decided(Phase::Forked);
    if let Some(state) = &mut decided.record.state {
        state.answered_before = vec![Answered { turn: turn(), digest: digest("earlier") }];
        state.fork = Some(OpenFork { fork: "reviews".parse().unwrap(), since: at(3), branches });
    }
    decided
}

fn steered() -> Steered {
    let workflows = Vec::new();
    let (schema_version, record) = (version::CURRENT, flight_record());
    Steered { schema_version, verb: Verb::Pause, by: person(), workflows, raised: None, record }
}

fn reconfigured() -> Steered {
    Steered { verb: Verb::Reconfigure, workflows: vec![RecordedWorkflow::from(workflow())], ..steered() }
}

fn raised() -> Steered {
    let add = Amounts { cost_micro_usd: 5_000_000, ..Amounts::default() };
    Steered { verb: Verb::Budget, raised: Some(Raise { waypoint: None, add }), ..steered() }
}

fn reserved() -> Reserved {
    Reserved {
        schema_version: version::CURRENT,
        waypoint: "retry-backoff".parse().unwrap(),
        step: 3,
        allowance: Limits { cost_micro_usd: Some(2_500_000), tokens: Some(400_000), ..Limits::default() },
        adds: Amounts { cost_micro_usd: 1_250_000, tokens: 200_000, ..Amounts::default() },
        record: flight_record(),
    }
}

/// A turn with an allowance, of a waypoint that used up something before.
fn allowed_turn() -> Turn {
    let limits = reserved().allowance;
    let allowance = Some(Allowance { limits, unmetered: Unmetered::Refuse, degraded: true, reservation: Some(2) });
    let mut turn = Turn { allowance, ..build_turn() };
    if let Some(state) = &mut turn.record.state {
        let used =
            Amounts { tokens: 200_000, cost_micro_usd: 1_250_000, tool_calls: 12, output_bytes: 9, wall_ms: 60_000 };
        state.spent = Spent { used, turns: 2, unmetered: 1, unreported: 1, step: 4, raises: 1, degraded: true };
        if let Phase::InTurn(open) = &mut state.phase {
            open.allowance = allowance;
        }
    }
    turn
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
        record: record(held(Status::Blocked, Resume::Turn(open))),
    }
}

/// The verification of a merge behind other accepted work.
fn stacked_turn() -> Turn {
    let mut turn = verify_turn(VerificationPurpose::Merge);
    if let Some(state) = &mut turn.record.state {
        let work = state.work.clone().unwrap();
        let alone = Alone { at: at(4), base: oid('9'), work: Work { made_on: None, ..work }, report: digest("report") };
        let behind = vec!["parse-config".parse().unwrap()];
        (state.apart, state.verified) = (true, None);
        state.stacked = Some(Box::new(Stacked { on: oid('9'), behind, base_tree: oid('8'), since: at(5), alone }));
    }
    turn
}

pub(super) fn all() -> Kinds {
    let submitted = Submitted {
        schema_version: version::CURRENT,
        flight: "demo-1".parse().unwrap(),
        by: Some("human-ann".parse().unwrap()),
        plan: plan(),
        base: oid('a'),
        base_tree: oid('d'),
        snapshot: bundle('a'),
        covenant: "AGENTS.md".to_owned(),
        covenant_version: digest("covenant"),
        fleet: fleet(),
        workflows: vec![RecordedWorkflow::from(workflow())],
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
        verified_on: None,
        record: flight_record(),
    };
    let stacked = Landed { verified_on: Some(oid('f')), bundle_on: None, ..landed.clone() };
    let mut all = vec![
        published("submitted", submitted),
        published("landed", landed),
        another("landed_stacked", "landed", stacked),
        another("turn_stacked", "turn", stacked_turn()),
        published("turn", build_turn()),
        another("turn_taken", "turn", taken_turn()),
        another("turn_build", "turn", Turn { decision: None, ..build_turn() }),
        another("turn_baseline", "turn", verify_turn(VerificationPurpose::Baseline)),
        another("turn_verify", "turn", verify_turn(VerificationPurpose::Handoff)),
        another("turn_declared_build", "turn", declared_build_turn()),
        another("turn_complete", "turn", complete_turn()),
        another("turn_agents_complete", "turn", agents_complete_turn()),
        another("turn_advise", "turn", advise_turn()),
        published("dead", dead()),
        published("feedback", feedback()),
        published("steered", steered()),
        another("steered_reconfigured", "steered", reconfigured()),
        published("answered", answered()),
        another("steered_budget", "steered", raised()),
        published("reserved", reserved()),
        another("turn_allowed", "turn", allowed_turn()),
    ];
    all.extend(decisions());
    all
}
