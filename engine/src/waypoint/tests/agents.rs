//! Gates that agents of any role complete, and roles of an org chart that make work.

use holdpoint_protocol::{
    artifact::{Completion, Failure, VerificationPurpose},
    facts::Verdict,
    ids::{RoleId, role},
    org::Plane,
    reason::{BlockReason, ReasonCode},
    refusal::{RefusalAction, RefusalCode},
    state::{Outcome, Phase, Purpose, Status},
    time::Millis,
    turn::{CompletionRequest, Turn, TurnRequest},
    workflow::{ByOutcome, Effect, GateKind, GateSpec, RejectionStrategy, WorkflowSpec},
};

use crate::testing::{
    desk::ADA,
    fixture::{Fed, Fixture},
    parts::{build_request, fleet, plan, to_people, waypoint},
};
use crate::{
    completion::Code,
    waypoint::{BuildOutcome, Handoff, Input, Refusal},
};

fn gate(name: &str, role_name: &str) -> GateSpec {
    GateSpec::new(name.parse().unwrap(), role_name.parse().unwrap())
}

fn build() -> GateSpec {
    gate("build", role::BUILDER)
}

fn verify() -> GateSpec {
    GateSpec { can_reject: true, ..gate("verify", role::VERIFIER) }
}

fn review() -> GateSpec {
    GateSpec { can_reject: true, timeout: Some(Millis(60_000)), ..gate("review", "reviewer") }
}

fn flown_by(gates: impl IntoIterator<Item = GateSpec>) -> Fixture {
    flown(WorkflowSpec::new("declared", gates))
}

fn flown(spec: WorkflowSpec) -> Fixture {
    let mut plan = plan(vec![waypoint("w", &[])]);
    plan.workflow = "declared".to_owned();
    let mut fixture = Fixture::flown_by(plan, fleet(), &[spec]);
    fixture.feed("w", Input::Open).turn();
    fixture
}

/// Verified work that waits for an agent's review.
fn under_review() -> Fixture {
    let mut fixture = flown_by([build(), verify(), review()]);
    fixture.build_ok("w").turn();
    fixture.report("w", |_| {}).turn();
    fixture
}

fn reason(fixture: &Fixture) -> ReasonCode {
    fixture.state("w").decision.unwrap().reason_code
}

fn request(turn: &Turn) -> &CompletionRequest {
    match &turn.request {
        TurnRequest::Complete(request) => request,
        other => panic!("expected a completion to be wanted, got {other:?}"),
    }
}

fn says(outcome: Outcome, blocker: &'static str) -> impl FnOnce(&mut Completion) {
    move |completion| {
        completion.outcome = Some(outcome);
        completion.blockers = vec![blocker.to_owned()];
    }
}

fn fails(reason: ReasonCode) -> impl FnOnce(&mut Completion) {
    move |completion| completion.failure = Some(Failure { reason, detail: "exit code 1".to_owned() })
}

#[test]
fn an_agent_completes_a_gate_and_verified_work_is_accepted_behind_it() {
    let mut fixture = under_review();
    let turn = fixture.turn("w");
    assert_eq!((turn.role.as_str(), turn.gate.as_str()), ("reviewer", "review"));
    let open = fixture.open_turn("w").unwrap();
    assert_eq!((open.purpose, open.is_peoples(), fixture.status("w")), (Purpose::Complete, false, Status::Running));
    fixture.fulfil("w", |_| {}).decided();
    assert_eq!(reason(&fixture), ReasonCode::CriteriaMet);
    let visit = fixture.state("w").history.last().cloned().unwrap();
    assert_eq!((visit.agent.unwrap().as_str(), visit.outcome), ("reviewer-1", Some(Outcome::Complete)));
    fixture.land("w");
}

#[test]
fn a_turn_tells_its_agent_what_its_own_gate_says_and_nothing_of_others() {
    let told = |gate: GateSpec, word: &str| GateSpec {
        description: Some(format!("{word} is for this")),
        role_description: Some(format!("{word} knows it")),
        expectations: vec![format!("{word} expects")],
        tips: vec![format!("{word} advises")],
        outcome_help: ByOutcome { complete: Some(format!("{word} is done")), ..ByOutcome::default() },
        ..gate
    };
    let gates = [told(build(), "alpha"), told(verify(), "gamma"), told(review(), "omega")];
    let spec = WorkflowSpec::new("declared", gates);
    let mut fixture = flown(WorkflowSpec { default_outcome: Some(Outcome::Blocked), ..spec });
    let build = fixture.turn("w");
    assert_eq!(build_request(&build).context.tips, ["alpha advises"]);
    assert_eq!(build_request(&build).role_description.as_deref(), Some("alpha knows it"));
    let verify = fixture.build_ok("w").turn();
    let TurnRequest::Verify(asked) = &verify.request else { panic!("a verifier's turn: {verify:?}") };
    assert_eq!(asked.gate.description.as_deref(), Some("gamma is for this"));
    assert_eq!(asked.gate.role_description.as_deref(), Some("gamma knows it"));
    assert_eq!(asked.gate.context.expectations, ["gamma expects"]);
    assert_eq!(asked.gate.context.outcome_help.complete.as_deref(), Some("gamma is done"));
    let review = fixture.report("w", |_| {}).turn();
    let CompletionRequest { goal, criteria, description, role_description, context, default_outcome, budget, .. } =
        request(&review);
    assert_eq!((goal.as_deref(), criteria.len()), (Some("do it"), 1));
    assert_eq!(description.as_deref(), Some("omega is for this"));
    assert_eq!(role_description.as_deref(), Some("omega knows it"));
    assert_eq!(
        (&context.expectations[..], &context.tips[..]),
        (&["omega expects".to_owned()][..], &["omega advises".to_owned()][..])
    );
    assert_eq!(*default_outcome, Some(Outcome::Blocked));
    assert_eq!(budget.as_ref().and_then(|budget| budget.wall), Some(Millis(60_000)));
    for (turn, own) in [(build, "alpha"), (verify, "gamma"), (review, "omega")] {
        let shown = serde_json::to_string(&(turn.request, turn.guidance)).unwrap();
        let others = ["alpha", "gamma", "omega"].into_iter().filter(|word| *word != own);
        others.for_each(|other| assert!(!shown.contains(other), "{shown}"));
    }
}

#[test]
fn a_verification_of_the_base_is_told_nothing_by_the_gate_that_makes_work() {
    let build = GateSpec { tips: vec!["alpha".to_owned()], ..build() };
    let mut plan = plan(vec![waypoint("w", &[])]);
    plan.workflow = "declared".to_owned();
    plan.waypoints[0].criteria[0].check.as_mut().unwrap().red_first = true;
    let mut fixture = Fixture::flown_by(plan, fleet(), &[WorkflowSpec::new("declared", [build, verify()])]);
    let baseline = fixture.feed("w", Input::Open).turn();
    let TurnRequest::Verify(asked) = &baseline.request else { panic!("the base is verified: {baseline:?}") };
    assert_eq!(asked.purpose, VerificationPurpose::Baseline);
    assert!(asked.gate.is_empty(), "{asked:?}");
}

#[test]
fn what_names_no_outcome_is_the_default_of_its_workflow() {
    let unnamed = |default: Option<Outcome>| {
        let spec = WorkflowSpec::new("declared", [build(), verify(), review()]);
        let mut fixture = flown(WorkflowSpec { default_outcome: default, ..spec });
        fixture.build_ok("w").turn();
        fixture.report("w", |_| {}).turn();
        fixture.fulfil("w", |completion| completion.outcome = None);
        reason(&fixture)
    };
    assert_eq!(unnamed(None), ReasonCode::CriteriaMet);
    assert_eq!(unnamed(Some(Outcome::NeedsReview)), ReasonCode::ApprovalRejected);
    assert_eq!(unnamed(Some(Outcome::Blocked)), ReasonCode::GateBlocked);
}

#[test]
fn an_agents_rejection_is_a_rework_with_its_blockers_and_notes_and_names_who_gave_it() {
    let mut fixture = under_review();
    let turn = fixture
        .fulfil("w", |completion| {
            says(Outcome::NeedsReview, "the name says nothing")(completion);
            completion.rejection_notes = Some("see the style guide".to_owned());
        })
        .turn();
    assert_eq!((turn.gate.as_str(), turn.role.as_str()), ("build", role::BUILDER));
    let feedback = build_request(&turn).feedback.clone().unwrap();
    assert_eq!(feedback.notes, ["the name says nothing", "see the style guide"]);
    let review = feedback.review.unwrap();
    let from = (review.from_gate.as_str(), review.from_role.as_str(), review.from_agent.unwrap().to_string());
    assert_eq!(from, ("review", "reviewer", "reviewer-1".to_owned()));
    assert_eq!((fixture.state("w").counters.reworks, fixture.state("w").verified), (1, None));
    fixture.build_ok("w").turn();
    fixture.report("w", |_| {}).turn();
    fixture.fulfil("w", |_| {}).decided();
    assert_eq!(reason(&fixture), ReasonCode::CriteriaMet);
}

#[test]
fn what_is_sent_back_to_a_gate_behind_all_makers_stays_verified() {
    let sign = GateSpec { reject_to: Some("review".parse().unwrap()), can_reject: true, ..gate("sign", "signer") };
    let review = GateSpec { can_reject: false, ..review() };
    let verify = GateSpec { reject_to: Some("build".parse().unwrap()), ..verify() };
    let spec = WorkflowSpec::new("declared", [build(), verify, review, sign]);
    let mut fixture = flown(WorkflowSpec { rejection_strategy: RejectionStrategy::Named, ..spec });
    fixture.build_ok("w").turn();
    fixture.report("w", |_| {}).turn();
    fixture.fulfil("w", |_| {}).turn();
    let again = fixture.fulfil("w", says(Outcome::NeedsReview, "look again")).turn();
    assert_eq!(
        (again.gate.as_str(), &request(&again).feedback.as_ref().unwrap().notes[..]),
        ("review", &["look again".to_owned()][..])
    );
    fixture.fulfil("w", |_| {}).turn();
    fixture.fulfil("w", |_| {}).decided();
    assert_eq!(reason(&fixture), ReasonCode::CriteriaMet);
}

#[test]
fn blocked_work_is_held_and_its_agent_gets_what_a_person_says() {
    let mut fixture = under_review();
    let blocked = |completion: &mut Completion| {
        says(Outcome::Blocked, "the price list is missing")(completion);
        completion.block_reason = Some(BlockReason::ExternalDependency);
    };
    let decided = fixture.fulfil("w", blocked).decided();
    assert_eq!((fixture.status("w"), reason(&fixture)), (Status::Blocked, ReasonCode::GateBlocked));
    let Phase::Held(held) = fixture.state("w").phase else { panic!("it is not held") };
    assert_eq!(held.block_reason, Some(BlockReason::ExternalDependency));
    let remediation = decided.decision.remediation.unwrap();
    assert!(remediation.contains("(external_dependency: the price list is missing)"), "{remediation}");
    let turn = fixture.retry("w", |retry| retry.note = Some("it is there now".to_owned())).turn();
    assert_eq!((turn.gate.as_str(), turn.role.as_str()), ("review", "reviewer"));
    let notes = &request(&turn).feedback.as_ref().unwrap().notes;
    assert_eq!(notes, &["the price list is missing", "it is there now"]);
    fixture.fulfil("w", |_| {}).decided();
}

#[test]
fn a_wrong_completion_is_refused_with_what_to_do_and_changes_nothing() {
    let mut fixture = flown_by([GateSpec { can_reject: false, ..review() }, verify()]);
    type Change = fn(&mut Completion);
    let table: [(Change, Code); 6] = [
        (|c| c.block_reason = Some(BlockReason::ScopeChange), Code::InvalidBlockReason),
        (|c| c.summary = " ".to_owned(), Code::MissingSummary),
        (|c| c.outcome = Some(Outcome::Skip), Code::InvalidOutcome),
        (|c| c.outcome = Some(Outcome::NeedsReview), Code::RejectNotAllowed),
        (|c| c.outcome = Some(Outcome::Blocked), Code::MissingBlockers),
        (|c| c.waypoint_id = "v".parse().unwrap(), Code::WrongTask),
    ];
    let before = fixture.state("w");
    for (change, code) in table {
        let refusal = fixture.fulfil("w", change).refusal();
        let Refusal::Completion { lesson, .. } = &refusal else { panic!("{refusal}") };
        assert_eq!((lesson.code, refusal.code()), (code, RefusalCode::CompletionInvalid));
        assert_eq!(refusal.details().unwrap()["error"], code.as_str());
        assert_eq!(refusal.code().action(), RefusalAction::Correct);
    }
    assert_eq!(fixture.state("w"), before);
}

#[test]
fn an_agent_completes_only_what_is_its_own_roles_and_not_what_people_complete() {
    let people = GateSpec { require_human: true, ..review() };
    let mut fixture = flown_by([build(), verify(), people]);
    let completion = |fixture: &mut Fixture, role_name: Option<&str>| {
        let Input::Fulfilled(handoff) = fixture.fulfilment("w", |_| {}) else { unreachable!("a completion") };
        let role: RoleId = role_name.map_or_else(|| handoff.role.clone(), |name| name.parse().unwrap());
        fixture.feed("w", Input::Fulfilled(Handoff { role, ..handoff })).refusal()
    };
    let wrong_kind = completion(&mut fixture, None);
    assert_eq!(wrong_kind.to_string().split(" wants ").last(), Some("a build artifact"));
    fixture.build_ok("w").turn();
    assert_eq!(completion(&mut fixture, Some("reviewer")).code(), RefusalCode::WrongRole);
    fixture.report("w", |_| {}).turn();
    let refusal = completion(&mut fixture, None);
    assert_eq!(refusal.details().unwrap()["error"], "human_required");
    fixture.complete("w", Outcome::Complete).decided();
}

#[test]
fn nobody_completes_a_gate_that_looks_at_their_own_work() {
    let mut fixture = under_review();
    let Input::Fulfilled(handoff) = fixture.fulfilment("w", |_| {}) else { unreachable!("a completion") };
    let agent = fixture.state("w").work.unwrap().agent;
    let refusal = fixture.feed("w", Input::Fulfilled(Handoff { agent, ..handoff })).refusal();
    assert_eq!(refusal.code(), RefusalCode::OwnWork);
    fixture.fulfil("w", |_| {}).decided();
}

#[test]
fn agents_of_one_role_look_at_what_their_own_role_wrote_without_a_repository() {
    let again = GateSpec { can_reject: true, ..gate("self-review", "writer") };
    let mut fixture = flown_by([gate("draft", "writer"), again]);
    fixture.fulfil("w", |_| {}).turn();
    let back = fixture.fulfil("w", says(Outcome::NeedsReview, "the second claim has no source")).turn();
    assert_eq!(back.gate.as_str(), "draft");
    fixture.fulfil("w", |_| {}).turn();
    fixture.fulfil("w", |_| {}).decided();
    assert_eq!(fixture.status("w"), Status::Complete);
}

#[test]
fn a_turn_that_fails_after_a_rejection_still_knows_what_was_rejected() {
    let spec = WorkflowSpec::new(
        "declared",
        [gate("draft", "writer"), GateSpec { can_reject: true, ..gate("edit", "editor") }],
    );
    let mut fixture = flown(spec);
    fixture.fulfil("w", |_| {}).turn();
    let back = fixture.fulfil("w", says(Outcome::NeedsReview, "it has no source")).turn();
    let again = fixture.fulfil("w", fails(ReasonCode::AgentTimeout)).turn();
    let (told, now) = (back.told().unwrap(), again.told().unwrap());
    assert_eq!((now.reason_code, &now.review), (ReasonCode::AgentTimeout, &told.review));
    assert_eq!(now.notes, ["it has no source", "exit code 1"]);
}

#[test]
fn builders_look_at_what_another_builder_made_before_it_is_verified() {
    let look = GateSpec {
        kind: Some(GateKind::Inspection),
        can_reject: true,
        expectations: vec!["It is small".to_owned()],
        ..gate("look", role::BUILDER)
    };
    let mut fixture = flown_by([build(), look, verify()]);
    let turn = fixture.build_ok("w").turn();
    assert_eq!((turn.gate.as_str(), turn.role.as_str()), ("look", role::BUILDER));
    assert_eq!(request(&turn).context.expectations, ["It is small"]);
    let maker = fixture.state("w").work.unwrap().agent;
    let Input::Fulfilled(handoff) = fixture.fulfilment("w", |_| {}) else { unreachable!("a completion") };
    let own = fixture.feed("w", Input::Fulfilled(Handoff { agent: maker, ..handoff })).refusal();
    assert_eq!(own.code(), RefusalCode::OwnWork);
    assert_eq!(fixture.build_ok("w").refusal().code(), RefusalCode::WrongKind, "it only looks");
    let back = fixture.fulfil("w", says(Outcome::NeedsReview, "split the second function")).turn();
    assert_eq!((back.gate.as_str(), back.role.as_str()), ("build", role::BUILDER));
    assert_eq!(build_request(&back).feedback.as_ref().unwrap().notes, ["split the second function"]);
    fixture.build_ok("w").turn();
    assert_eq!(fixture.fulfil("w", |_| {}).turn().gate.as_str(), "verify");
    fixture.report("w", |_| {}).decided();
    assert_eq!(fixture.state("w").work.unwrap().role.as_str(), role::BUILDER);
    fixture.land("w");
}

#[test]
fn a_failed_turn_is_no_outcome_and_comes_again_while_reworks_are_left() {
    let spec = WorkflowSpec::new("declared", [build(), verify(), review()]);
    let mut fixture = flown(WorkflowSpec { default_outcome: Some(Outcome::NeedsReview), ..spec });
    fixture.build_ok("w").turn();
    fixture.report("w", |_| {}).turn();
    let (attempts, visits) = (fixture.state("w").counters.attempts, fixture.state("w").history.len());
    let again = fixture.fulfil("w", fails(ReasonCode::AgentTimeout)).turn();
    assert_eq!((again.gate.as_str(), again.role.as_str()), ("review", "reviewer"));
    assert_eq!(request(&again).feedback.as_ref().unwrap().notes, ["exit code 1"]);
    let state = fixture.state("w");
    assert_eq!((state.counters.attempts, state.counters.reworks, state.history.len()), (attempts, 1, visits));
    assert_eq!(state.history.last().unwrap().outcome, None, "the gate is open still");
    for _ in 0..2 {
        fixture.fulfil("w", fails(ReasonCode::AgentFailed)).turn();
    }
    fixture.fulfil("w", fails(ReasonCode::AgentFailed)).decided();
    assert_eq!((fixture.status("w"), reason(&fixture)), (Status::Failed, ReasonCode::AttemptsExhausted));
    assert_eq!(fixture.retry("w", |retry| retry.reworks = 1).turn().gate.as_str(), "review");
    let mut poor = under_review();
    poor.fulfil("w", fails(ReasonCode::NotExecutable)).decided();
    assert_eq!((poor.status("w"), reason(&poor)), (Status::Blocked, ReasonCode::NotExecutable));
    assert_eq!(
        under_review().fulfil("w", fails(ReasonCode::CriteriaMet)).refusal().code(),
        RefusalCode::RequestMismatch
    );
}

fn deadline(fixture: &mut Fixture) -> Fed {
    fixture.now = fixture.open_turn("w").unwrap().deadline;
    let turn = Box::new(fixture.turn("w"));
    fixture.feed("w", Input::DeadlinePassed(turn))
}

#[test]
fn a_turn_that_no_agent_completes_in_time_opens_again_and_is_dead_after_a_bound() {
    let mut fixture = under_review();
    for _ in 0..3 {
        assert_eq!(deadline(&mut fixture).turn().role.as_str(), "reviewer");
    }
    deadline(&mut fixture).dead();
    assert_eq!((fixture.status("w"), reason(&fixture)), (Status::Blocked, ReasonCode::TurnPoisoned));
}

#[test]
fn a_turn_that_no_agent_completes_in_time_is_the_role_to_which_its_gate_escalates() {
    let escalating = |people: &[&str]| GateSpec { escalations: vec![to_people("lead", people)], ..review() };
    let flown_to = |people: &[&str]| {
        let mut fixture = flown_by([build(), verify(), escalating(people)]);
        fixture.build_ok("w").turn();
        fixture.report("w", |_| {}).turn();
        let turn = deadline(&mut fixture).turn();
        assert_eq!((turn.role.as_str(), reason(&fixture)), ("lead", ReasonCode::GateTimeout));
        fixture
    };
    let mut to_people = flown_to(&[ADA]);
    assert_eq!(to_people.status("w"), Status::Waiting);
    to_people.complete("w", Outcome::Complete).decided();
    let mut to_agents = flown_to(&[]);
    assert_eq!(to_agents.status("w"), Status::Running);
    assert_eq!(to_agents.fulfil("w", fails(ReasonCode::AgentFailed)).turn().role.as_str(), "lead");
    to_agents.fulfil("w", |_| {}).decided();
}

#[test]
fn a_role_of_the_build_plane_makes_work_and_repair_takes_none_of_it() {
    let code = GateSpec { plane: Some(Plane::Build), ..gate("code", "coder") };
    let mut plan = plan(vec![waypoint("w", &[])]);
    plan.workflow = "declared".to_owned();
    let fleet = holdpoint_protocol::journal::Fleet { repair: true, ..fleet() };
    let mut fixture = Fixture::flown_by(plan, fleet, &[WorkflowSpec::new("declared", [code, verify()])]);
    let turn = fixture.feed("w", Input::Open).turn();
    assert_eq!((turn.role.as_str(), &build_request(&turn).feedback), ("coder", &None));
    let failed = fixture.build("w", crate::testing::parts::failure(ReasonCode::AgentFailed)).turn();
    assert_eq!(failed.role.as_str(), "coder");
    let none = BuildOutcome::Work { commit: None, violations: Vec::new() };
    fixture.build("w", none).turn();
    let back = fixture.report("w", |report| report.criteria[0].result.verdict = Verdict::Fail).turn();
    assert_eq!(back.role.as_str(), "coder");
    fixture.build_ok("w").turn();
    fixture.report("w", |_| {}).decided();
    assert_eq!(fixture.state("w").work.unwrap().role.as_str(), "coder");
    fixture.land("w");
}

#[test]
fn held_work_goes_on_at_the_gate_that_made_it_and_not_at_the_first() {
    let mut fixture = flown_by([GateSpec { can_reject: false, ..review() }, build(), verify()]);
    fixture.fulfil("w", |_| {}).turn();
    fixture.build("w", crate::testing::parts::failure(ReasonCode::NotExecutable)).decided();
    let turn = fixture.retry("w", |_| {}).turn();
    assert_eq!((turn.gate.as_str(), turn.role.as_str()), ("build", role::BUILDER));
}

#[test]
fn an_outcome_that_is_declared_to_send_back_takes_its_words_along() {
    let spec = WorkflowSpec::new("declared", [build(), verify(), review()]);
    let outcomes = ByOutcome { blocked: Some(Effect::Reject), ..ByOutcome::default() };
    let mut fixture = flown(WorkflowSpec { outcomes, ..spec });
    fixture.build_ok("w").turn();
    fixture.report("w", |_| {}).turn();
    let turn = fixture.fulfil("w", says(Outcome::Blocked, "the licence is missing")).turn();
    assert_eq!(build_request(&turn).feedback.as_ref().unwrap().notes, ["the licence is missing"]);
}
