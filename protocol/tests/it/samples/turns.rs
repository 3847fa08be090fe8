//! Turns, one of each kind.

use holdpoint_protocol::{
    artifact::{Confidence, VerificationPurpose},
    budget::{Allowance, Amounts, Spent, Unmetered},
    ids::role,
    state::{Alone, OpenAdvice, Outcome, Phase, Purpose, QuestionKind, Stacked, TurnHolder, Work},
    subjects,
    turn::{Advice, AdviceRequest, BuildRequest, CompletionRequest, DependencyOutcome, Turn, TurnRequest},
    version,
    workflow::GateContext,
};

use super::{
    Kinds, another,
    artifacts::{decision, guidance, request, talk},
    entries::{REVIEWER, feedback, open_turn, record, reserved, waiting},
    parts::*,
    published,
};

/// A build turn that a person took over.
pub(super) fn taken_turn() -> Turn {
    let mut turn = Turn { decision: None, ..build_turn() };
    let state = turn.record.state.as_mut().expect("a turn has the state after it");
    if let Phase::InTurn(open) = &mut state.phase {
        (open.holder, open.link) = (TurnHolder::Person { name: "human-ada".parse().unwrap() }, 1);
        open.listed_by = Some(2);
    }
    turn
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

pub(super) fn build_turn() -> Turn {
    let request = BuildRequest {
        title: "Retries back off".to_owned(),
        goal: "Make *retries* back off.\n".to_owned(),
        criteria: criteria(),
        scope: vec!["src/**".to_owned()],
        protected: vec!["tests/golden/**".to_owned()],
        ignore: vec!["*.orig".to_owned()],
        sources: vec!["docs/product-spec.md".to_owned()],
        environment: environment(),
        covenant: "AGENTS.md".to_owned(),
        base: oid('a'),
        start: oid('b'),
        bundles: vec![bundle('a'), bundle('b')],
        feedback: Some(feedback()),
        budget: turn_budget(),
        tests: vec![serde_json::json!({"given": "a server that is down"})],
        ask_below: Some(Confidence::Medium),
        ask_before_removing: Some(20),
        description: None,
        role_description: None,
        context: GateContext::default(),
        dependencies: vec![DependencyOutcome {
            waypoint: "types".parse().unwrap(),
            title: "The types".to_owned(),
            commit: oid('d'),
        }],
        documents: Vec::new(),
        conversation: Some(talk()),
    };
    a_turn(role::REPAIR, Purpose::Build, TurnRequest::Build(Box::new(request)))
}

/// Of a gate of a declared workflow, by a role of the org chart.
pub(super) fn declared_build_turn() -> Turn {
    let TurnRequest::Build(request) = build_turn().request else { unreachable!("a build turn") };
    let request = BuildRequest {
        description: Some("Makes what the plan says.".to_owned()),
        role_description: Some("Writes Rust.".to_owned()),
        context: gate_context(),
        ..*request
    };
    a_turn("coder", Purpose::Build, TurnRequest::Build(Box::new(request)))
}

pub(super) fn verify_turn(purpose: VerificationPurpose) -> Turn {
    a_turn(role::VERIFIER, Purpose::Verify(purpose), TurnRequest::Verify(Box::new(request(purpose))))
}

pub(super) fn complete_turn() -> Turn {
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
        documents: documents(),
        children: Vec::new(),
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
        children: vec![DependencyOutcome {
            waypoint: "retry-backoff_01".parse().unwrap(),
            title: "Retries back off".to_owned(),
            commit: oid('d'),
        }],
        ..*request
    };
    let mut turn = a_turn(REVIEWER, Purpose::Complete, TurnRequest::Complete(Box::new(request)));
    if let Some(Phase::InTurn(open)) = turn.record.state.as_mut().map(|state| &mut state.phase) {
        open.holder = TurnHolder::Agents;
    }
    turn
}

/// Of an advisor, in the second round.
pub(super) fn advise_turn() -> Turn {
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
    if let Some(Phase::InTurn(open)) = turn.record.state.as_mut().map(|state| &mut state.phase)
        && let Phase::Waiting(question) = waiting(QuestionKind::Help)
    {
        open.holder = TurnHolder::Advisor(Box::new(OpenAdvice { question, round: 2, asked: 1, helped: 0 }));
    }
    turn
}

/// A turn with an allowance, of a waypoint that used up something before.
pub(super) fn allowed_turn() -> Turn {
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

/// The verification of work that is integrated behind other work.
pub(super) fn stacked_turn() -> Turn {
    let mut turn = verify_turn(VerificationPurpose::Merge);
    if let Some(state) = &mut turn.record.state {
        let work = state.work.clone().unwrap();
        let alone = Alone { base: oid('9'), work: Work { made_on: None, ..work } };
        let behind = vec!["parse-config".parse().unwrap()];
        state.verified = None;
        state.stacked = Some(Box::new(Stacked { on: oid('9'), behind, base_tree: oid('8'), since: at(5), alone }));
    }
    turn
}

pub(super) fn all() -> Kinds {
    vec![
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
        another("turn_allowed", "turn", allowed_turn()),
    ]
}
