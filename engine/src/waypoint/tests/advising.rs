//! Advice before a person: rounds, what each answer does, and what reaches whom.

use std::time::Duration;

use holdpoint_protocol::{
    artifact::{Completion, Failure},
    facts::Verdict,
    ids::role,
    journal::Fleet,
    plan::Answer,
    reason::ReasonCode,
    state::{Outcome, Phase, Purpose, QuestionKind, Status},
    turn::{AdviceRequest, Turn, TurnRequest},
    workflow::{ForkKind, ForkSpec, GateOrFork, GateSpec, JoinStrategy, WorkflowSpec},
};

use crate::testing::{
    desk::ADA,
    fixture::{Fed, Fixture},
    parts::{build_request, fleet, plan, waypoint},
};
use crate::{
    flight,
    testing::account::Account,
    waypoint::{ADVICE_BYTES_MAX, ADVICE_ROUNDS_MAX, Input, Refusal, begins_at},
};

const ADVICE: &str = "canary-advice: look at the header";

fn fleet_of(advisors: u32) -> Fixture {
    Fixture::opened(|_, fleet| fleet.advisors = advisors)
}

fn gates(more: &[&str]) -> Vec<GateSpec> {
    let roles = [role::BUILDER, role::VERIFIER].into_iter().chain(more.iter().copied());
    let gate = |role: &str| GateSpec {
        can_reject: role != role::BUILDER,
        ..GateSpec::new(format!("gate-{role}").parse().unwrap(), role.parse().unwrap())
    };
    roles.map(gate).collect()
}

/// By a workflow of its own, in a fleet with one advisor.
fn flown_by(spec: WorkflowSpec) -> Fixture {
    let mut planned = plan(vec![waypoint("w", &[])]);
    planned.workflow = "own".to_owned();
    let mut fixture = Fixture::flown_by(planned, Fleet { advisors: 1, ..fleet() }, &[spec]);
    fixture.feed("w", Input::Open).turn();
    fixture
}

fn call(fixture: &mut Fixture) -> Turn {
    let call = fixture.question("w", QuestionKind::Help, ">>>HELP<<<", None);
    fixture.feed("w", call).turn()
}

/// A call for help goes to a person.
fn calls_a_person(fixture: &mut Fixture) {
    let help = fixture.question("w", QuestionKind::Help, ">>>HELP<<<", None);
    fixture.feed("w", help).decided();
    assert_eq!(fixture.status("w"), Status::Waiting);
}

fn asked(turn: &Turn) -> &AdviceRequest {
    match &turn.request {
        TurnRequest::Complete(request) => request.advice.as_deref().expect("advice is wanted"),
        other => panic!("{other:?}"),
    }
}

fn advise(fixture: &mut Fixture, change: impl FnOnce(&mut Completion)) -> Fed {
    let input = fixture.advice("w", |completion| {
        completion.summary = ADVICE.to_owned();
        change(completion);
    });
    fixture.feed("w", input)
}

fn fails(completion: &mut Completion) {
    completion.failure = Some(Failure { reason: ReasonCode::AgentFailed, detail: "exit 1".to_owned() });
}

fn declines(completion: &mut Completion) {
    (completion.outcome, completion.blockers) = (Some(Outcome::Blocked), vec!["no idea".to_owned()]);
}

fn is_sound(fixture: &Fixture) {
    let audit = Account::of(fixture).audit();
    assert!(audit.is_sound(), "{:?}", audit.findings);
}

#[test]
fn a_call_for_help_asks_an_advisor_and_its_answer_opens_the_same_turn_again() {
    let mut fixture = fleet_of(1);
    let before = fixture.turn("w");
    let turn = call(&mut fixture);
    assert_eq!((turn.role.as_str(), fixture.status("w")), (role::ADVISOR, Status::Running));
    assert_eq!((asked(&turn).question.as_str(), asked(&turn).round), (">>>HELP<<<", 1));
    assert_eq!(asked(&turn).asked.goal, build_request(&before).goal, "the advisor knows what the asker has to do");
    fixture.crash();
    let again = advise(&mut fixture, |_| {}).turn();
    assert_ne!(again.turn_id, before.turn_id);
    assert_eq!((&again.role, &again.gate, again.attempt), (&before.role, &before.gate, 1));
    assert_eq!(again.handoff_subject, before.handoff_subject);
    let [answered] = build_request(&again).feedback.as_ref().unwrap().clarifications.as_slice() else { panic!() };
    assert_eq!((answered.text.as_deref(), answered.by.as_str()), (Some(ADVICE), "agent-1"));
    let state = fixture.state("w");
    assert_eq!((state.advice(), state.counters.clarifications, state.counters.attempts), (None, 1, 0));
    is_sound(&fixture);
}

#[test]
fn no_word_of_an_advisor_or_of_the_asker_is_in_the_state_or_reaches_a_verifier() {
    let mut fixture = fleet_of(2);
    let turn = call(&mut fixture);
    let second = advise(&mut fixture, |_| {}).turn();
    for turn in [&turn, &second] {
        let state = serde_json::to_string(turn.record.state.as_ref().unwrap()).unwrap();
        assert!(!state.contains("canary") && !state.contains("HELP<"), "{state}");
    }
    advise(&mut fixture, |_| {}).turn();
    let verify = fixture.build_ok("w").turn();
    assert_eq!(verify.role.as_str(), role::VERIFIER);
    assert!(!serde_json::to_string(&verify).unwrap().contains("canary"));
    let rework = fixture.report("w", |r| r.criteria[0].result.verdict = Verdict::Fail).turn();
    assert!(matches!(rework.request, TurnRequest::Build(_)));
    is_sound(&fixture);
}

#[test]
fn one_answer_makes_a_round_a_success_and_all_answers_are_kept_by_advisor() {
    let mut fixture = fleet_of(3);
    call(&mut fixture);
    let second = advise(&mut fixture, fails).turn();
    assert_eq!(asked(&second).given[0].error.as_deref(), Some("agent_failed: exit 1"));
    let third = advise(&mut fixture, |completion| {
        completion.metadata.insert("session".to_owned(), "s-7".into());
    })
    .turn();
    let [failed, helped] = asked(&third).given.as_slice() else { panic!() };
    assert_eq!((failed.success, helped.success, helped.session.as_deref()), (false, true, Some("s-7")));
    let again = advise(&mut fixture, declines).turn();
    let clarified = &build_request(&again).feedback.as_ref().unwrap().clarifications;
    assert_eq!(clarified.len(), 1, "only what helped goes to the asker: {clarified:?}");
    is_sound(&fixture);
}

#[test]
fn rounds_are_bounded_have_growing_pauses_and_then_a_person_is_asked_as_without_advisors() {
    let mut fixture = fleet_of(1);
    let mut turn = call(&mut fixture);
    let mut pauses = Vec::new();
    for round in 1..ADVICE_ROUNDS_MAX {
        assert_eq!((asked(&turn).round, asked(&turn).given.len()), (round, round as usize - 1));
        turn = advise(&mut fixture, fails).turn();
        pauses.push(begins_at(&turn).unwrap().since(fixture.now));
    }
    assert_eq!(pauses, [Duration::from_secs(1), Duration::from_secs(2)]);
    let decided = advise(&mut fixture, fails).decided();
    assert_eq!(decided.decision.reason_code, ReasonCode::HelpRequested);
    assert!(decided.decision.remediation.unwrap().starts_with("no advisor could help in 3 rounds; "));
    assert_eq!((fixture.status("w"), fixture.state("w").advice().cloned()), (Status::Waiting, None));
    is_sound(&fixture);
    let act = fixture.answer_act("w", ADA, |answer| (answer.option, answer.text) = (None, Some("go left".to_owned())));
    let again = fixture.feed("w", act).turn();
    assert_eq!(build_request(&again).feedback.as_ref().unwrap().clarifications[0].text.as_deref(), Some("go left"));
    is_sound(&fixture);
}

#[test]
fn a_person_is_asked_at_once_when_no_advisor_is_heard_of_in_time() {
    let mut fixture = fleet_of(2);
    let first = call(&mut fixture);
    fixture.now = first.deadline;
    let due = flight::due(&fixture.flight, &fixture.waypoints, fixture.now);
    assert_eq!(due.len(), 1, "{due:?}");
    let decided = fixture.feed("w", Input::DeadlinePassed(Box::new(first))).decided();
    assert_eq!(decided.decision.reason_code, ReasonCode::HelpRequested);
    assert!(decided.decision.remediation.unwrap().starts_with("no advisor answered in time; "));
    assert_eq!((fixture.status("w"), fixture.state("w").advice().cloned()), (Status::Waiting, None));
    is_sound(&fixture);
}

#[test]
fn what_one_advisor_said_is_not_lost_when_the_next_one_is_not_heard_of() {
    let mut fixture = fleet_of(2);
    call(&mut fixture);
    let second = advise(&mut fixture, |_| {}).turn();
    fixture.now = second.deadline;
    let again = fixture.feed("w", Input::DeadlinePassed(Box::new(second))).turn();
    assert_eq!(build_request(&again).feedback.as_ref().unwrap().clarifications[0].text.as_deref(), Some(ADVICE));
    is_sound(&fixture);
}

#[test]
fn a_person_is_asked_without_another_round_when_every_advisor_says_that_it_cannot_help() {
    let mut fixture = fleet_of(2);
    call(&mut fixture);
    let second = advise(&mut fixture, declines).turn();
    let [given] = asked(&second).given.as_slice() else { panic!() };
    assert_eq!((given.success, given.declined, given.error.as_deref()), (false, true, Some("no idea")));
    // A question of its own is no answer either.
    let question = fixture.question("w", QuestionKind::Clarification, "which?", None);
    let decided = fixture.feed("w", question).decided();
    assert!(decided.decision.remediation.unwrap().starts_with("no advisor can help; "));
    assert_eq!(fixture.status("w"), Status::Waiting);
    is_sound(&fixture);
}

#[test]
fn advice_without_words_is_refused_and_what_is_too_long_is_cut() {
    let mut fixture = fleet_of(1);
    call(&mut fixture);
    let refused = advise(&mut fixture, |completion| completion.summary = " ".to_owned()).refusal();
    assert!(matches!(refused, Refusal::Completion { .. }), "{refused:?}");
    let again = advise(&mut fixture, |completion| completion.summary = "x".repeat(2 * ADVICE_BYTES_MAX)).turn();
    let said = build_request(&again).feedback.as_ref().unwrap().clarifications[0].text.as_ref().unwrap().len();
    assert_eq!(said, ADVICE_BYTES_MAX);
    is_sound(&fixture);
}

#[test]
fn advice_is_asked_of_no_role_that_has_gates_or_whom_the_org_chart_leaves_empty() {
    calls_a_person(&mut flown_by(WorkflowSpec {
        listed: [(role::id(role::ADVISOR), Vec::new())].into(),
        ..WorkflowSpec::new("own", gates(&[]))
    }));
    calls_a_person(&mut flown_by(WorkflowSpec::new("own", gates(&[role::ADVISOR]))));
}

#[test]
fn questions_go_to_advisors_only_where_the_policy_says_so_and_after_the_plans_own_answers() {
    let mut fixture = fleet_of(1);
    fixture.ask("w", "which?").decided();
    assert_eq!(fixture.status("w"), Status::Waiting);
    let mut fixture = Fixture::opened(|plan, fleet| {
        fleet.advisors = 1;
        plan.policy.advise_questions = true;
        plan.answers.push(Answer { matches: "colour".to_owned(), option: "red".to_owned(), rationale: None });
    });
    let answered = fixture.ask("w", "which colour?").turn();
    assert_eq!(answered.role.as_str(), role::BUILDER);
    let turn = fixture.ask("w", "which shape?").turn();
    assert_eq!((turn.role.as_str(), asked(&turn).kind), (role::ADVISOR, QuestionKind::Clarification));
    is_sound(&fixture);
}

#[test]
fn a_fleet_without_advisors_asks_people() {
    let mut fixture = fleet_of(0);
    calls_a_person(&mut fixture);
}

#[test]
fn agents_that_verify_or_complete_gates_are_answered_by_people_in_a_fork_too() {
    let mut fixture = fleet_of(1);
    fixture.build_ok("w").turn();
    calls_a_person(&mut fixture);
    let branches = gates(&["security", "docs"]).split_off(2);
    let fork = ForkSpec {
        id: "reviews".parse().unwrap(),
        kind: ForkKind::Fork,
        description: None,
        branches,
        join_strategy: JoinStrategy::All,
        when: None,
        metadata: [].into(),
    };
    let mut spec = WorkflowSpec::new("own", gates(&["lead"]));
    spec.gates.push(GateOrFork::Fork(fork));
    let mut fixture = flown_by(spec);
    fixture.build_ok("w").turn();
    let review = fixture.report("w", |_| {}).turn();
    assert_eq!(review.role.as_str(), "lead");
    calls_a_person(&mut fixture);
    let turn = fixture.answer("w").turn();
    assert_eq!(turn.role.as_str(), "lead");
    fixture.fulfil("w", |completion| completion.outcome = Some(Outcome::Complete)).turn();
    fixture.fork("w");
    fixture.at = Some("gate-docs");
    let help = fixture.question("w", QuestionKind::Help, ">>>HELP<<<", None);
    fixture.feed("w", help).decided();
    let state = fixture.state("w");
    let waits = state.phases().filter(|phase| matches!(phase, Phase::Waiting(_))).count();
    assert_eq!((waits, state.open_turns().count(), state.advice()), (1, 1, None), "a person is asked, and nobody else");
}

#[test]
fn calls_beyond_the_bound_of_questions_are_held_and_advisors_are_not_asked() {
    let mut fixture = fleet_of(1);
    for _ in 0..2 {
        call(&mut fixture);
        advise(&mut fixture, |_| {}).turn();
    }
    let help = fixture.question("w", QuestionKind::Help, ">>>HELP<<<", None);
    let decided = fixture.feed("w", help).decided();
    assert_eq!(decided.decision.reason_code, ReasonCode::ClarificationExhausted);
}

#[test]
fn nobody_but_an_advisor_answers_its_turn_and_what_holds_the_work_goes_on_with_the_asker() {
    let mut fixture = fleet_of(1);
    let advisor = call(&mut fixture);
    let taken = fixture.take_act("w", ADA);
    assert!(matches!(fixture.feed("w", taken), Fed::Refused(_)), "a person cannot take it over");
    let completed = fixture.fulfil("w", |_| {});
    assert!(matches!(completed, Fed::Refused(Refusal::WrongKind { .. })), "{completed:?}");
    let work = fixture.build_ok("w");
    assert!(matches!(work, Fed::Refused(Refusal::WrongKind { .. })), "{work:?}");
    fixture.feed("w", Input::BudgetExhausted).decided();
    assert_eq!(fixture.state("w").advice(), None);
    let again = fixture.retry("w", |_| {}).turn();
    assert_eq!(again.role.as_str(), role::BUILDER);
    assert!(matches!(fixture.state("w").phase, Phase::InTurn(open) if open.purpose == Purpose::Build));
    let late = fixture.advice_on("w", advisor, |_| {});
    assert!(matches!(fixture.feed("w", late), Fed::Refused(_)), "its turn is over");
}

#[test]
fn only_the_agents_whom_the_org_chart_lists_may_advise() {
    let mut fixture = flown_by(WorkflowSpec {
        listed: [(role::id(role::ADVISOR), vec!["wise".parse().unwrap()])].into(),
        ..WorkflowSpec::new("own", gates(&[]))
    });
    call(&mut fixture);
    let refused = advise(&mut fixture, |_| {}).refusal();
    assert!(matches!(refused, Refusal::NotListed { .. }), "{refused:?}");
}

#[test]
fn an_advisors_key_decides_nothing_else() {
    let mut fixture = fleet_of(1);
    let advisor = call(&mut fixture);
    let again = advise(&mut fixture, |_| {}).turn();
    // Its role answers no turn but an advisor's, whatever it sends.
    for turn in [&again, &advisor] {
        let mut claimed = advisor.clone();
        claimed.turn_id = turn.turn_id.clone();
        let input = fixture.advice_on("w", claimed, |_| {});
        assert!(matches!(fixture.feed("w", input), Fed::Refused(_)), "{}", turn.turn_id);
    }
    assert_eq!(fixture.open_turn("w").unwrap().turn, again.turn_id);
}
