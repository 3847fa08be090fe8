//! Questions and acts of people: what waits, who may do what, what happens instead, where it goes on.

use holdpoint_protocol::{
    artifact::{ActCode, StatusMutation, Verb},
    facts::Verdict,
    ids::role,
    plan::{Answer, Plan},
    reason::ReasonCode,
    state::{Outcome, Phase, QuestionKind, Status},
    time::Millis,
    turn::{Turn, TurnRequest},
    view::FlightStatus,
    workflow::{GateSpec, WorkflowSpec},
};

use super::{
    desk::{ADA, OPTIONS, person},
    fixture::{Fixture, Taken},
    parts::{build_request, failure, fleet, guard, id, plan, waypoint},
};
use crate::{
    engine::{CONSTRAINTS_MAX, Input, Refusal},
    flight::{self, Due, flight_status},
    workflows,
};

fn approved(change: impl FnOnce(&mut Plan)) -> Fixture {
    Fixture::opened(|plan, _| {
        plan.workflow = "fly-approved".to_owned();
        change(plan);
    })
}

/// Verified work that waits for a person.
fn waiting_for_approval() -> Fixture {
    let mut fixture = approved(|_| {});
    fixture.build_ok("w").turn();
    fixture.report("w", |_| {}).turn();
    fixture
}

fn code(taken: Taken) -> ActCode {
    match taken.refusal() {
        Refusal::Act(refused) => refused.code,
        other => panic!("expected a refused act, got {other:?}"),
    }
}

fn reason(fixture: &Fixture) -> ReasonCode {
    fixture.state("w").decision.unwrap().reason_code
}

#[test]
fn a_question_waits_without_an_agent_and_its_answer_opens_the_same_turn_again() {
    let mut fixture = Fixture::opened(|_, _| {});
    let asked_in = fixture.turn("w");
    fixture.ask("w", "red or blue?").decided();
    assert_eq!((fixture.status("w"), reason(&fixture)), (Status::Waiting, ReasonCode::ClarificationOpen));
    assert_eq!(flight_status(&fixture.flight, &fixture.waypoints), FlightStatus::Waiting);
    assert_eq!(flight::next_deadline(&fixture.flight, &fixture.waypoints, fixture.now), None, "as long as it takes");
    let act = fixture.answer_act("w", ADA, |answer| answer.rationale = Some("it is warmer".to_owned()));
    let again = fixture.feed("w", act).turn();
    assert_ne!(again.turn_id, asked_in.turn_id);
    assert_eq!((&again.gate, &again.role, again.attempt), (&asked_in.gate, &asked_in.role, 1));
    let [answered] = build_request(&again).feedback.as_ref().unwrap().clarifications.as_slice() else { panic!() };
    assert_eq!((answered.question.as_str(), answered.option.as_deref()), ("red or blue?", Some(OPTIONS[0])));
    assert_eq!((answered.by.as_str(), answered.rationale.as_deref()), (ADA, Some("it is warmer")));
    let counters = fixture.state("w").counters;
    assert_eq!((counters.attempts, counters.reworks, counters.clarifications), (0, 0, 1));
}

#[test]
fn answers_of_all_rounds_and_the_failing_report_stay_with_the_turn() {
    let mut fixture = Fixture::opened(|_, _| {});
    fixture.build_ok("w").turn();
    fixture.report("w", |r| r.criteria[0].result.verdict = Verdict::Fail).turn();
    for _ in 0..2 {
        fixture.ask("w", "which?").decided();
        fixture.answer("w").turn();
    }
    let turn = fixture.turn("w");
    let feedback = build_request(&turn).feedback.clone().unwrap();
    assert_eq!((feedback.reason_code, feedback.failing.len()), (ReasonCode::CriteriaFailed, 1));
    assert_eq!(feedback.clarifications.len(), 2);
}

#[test]
fn policy_answers_at_once_in_the_entry_that_opens_the_turn_again() {
    let mut fixture = Fixture::opened(|plan, _| {
        let rationale = Some("it is the house colour".to_owned());
        plan.answers.push(Answer { matches: "(?i)COLOUR".to_owned(), option: "red".to_owned(), rationale });
    });
    let before = fixture.journal("w").len();
    let again = fixture.ask("w", "which colour?").turn();
    assert_eq!(fixture.journal("w").len(), before + 1);
    let [answered] = build_request(&again).feedback.as_ref().unwrap().clarifications.as_slice() else { panic!() };
    assert_eq!((answered.option.as_deref(), answered.by.as_str()), (Some("red"), "policy"));
    fixture.ask("w", "which shape?").decided();
    assert_eq!(fixture.status("w"), Status::Waiting, "policy has no answer to that");
}

#[test]
fn rounds_are_bounded_and_past_the_bound_the_work_is_held() {
    let mut fixture = Fixture::opened(|_, _| {});
    for _ in 0..2 {
        fixture.ask("w", "which?").decided();
        fixture.answer("w").turn();
    }
    fixture.ask("w", "which?").decided();
    assert_eq!((fixture.status("w"), reason(&fixture)), (Status::Blocked, ReasonCode::ClarificationExhausted));
    let again = fixture.retry("w", |retry| retry.note = Some("take red".to_owned())).turn();
    assert!(build_request(&again).feedback.as_ref().unwrap().notes.contains(&"take red".to_owned()));
}

#[test]
fn a_call_for_help_waits_and_policy_never_answers_it() {
    let mut fixture = Fixture::opened(|plan, _| {
        plan.answers.push(Answer { matches: ".*".to_owned(), option: "red".to_owned(), rationale: None });
    });
    let help = fixture.question("w", QuestionKind::Help, "HELP", None);
    fixture.feed("w", help).decided();
    assert_eq!((fixture.status("w"), reason(&fixture)), (Status::Waiting, ReasonCode::HelpRequested));
    let text =
        fixture.answer_act("w", ADA, |answer| (answer.option, answer.text) = (None, Some("look there".to_owned())));
    let again = fixture.feed("w", text).turn();
    assert_eq!(build_request(&again).feedback.as_ref().unwrap().clarifications[0].text.as_deref(), Some("look there"));
}

#[test]
fn work_in_progress_is_where_the_next_turn_starts() {
    let mut fixture = Fixture::opened(|_, _| {});
    let work = fixture.commit();
    let asked = fixture.question("w", QuestionKind::Clarification, "which?", Some(work.clone()));
    fixture.feed("w", asked).decided();
    let again = fixture.answer("w").turn();
    let request = build_request(&again);
    assert_eq!((&request.start, request.bundles.last()), (&work.commit, Some(&work.bundle)));
    fixture.build("w", failure(ReasonCode::AgentFailed)).turn();
    assert_eq!(build_request(&fixture.turn("w")).start, work.commit, "and it stays");
}

#[test]
fn constraints_of_an_answer_reach_every_later_turn_and_the_question_no_verifier() {
    let canary = "canary-in-the-question";
    let mut fixture = Fixture::opened(|_, _| {});
    fixture.ask("w", canary).decided();
    let act = fixture.answer_act("w", ADA, |answer| answer.updated_constraints.push("no new dependency".to_owned()));
    let build = fixture.feed("w", act).turn();
    let verify = fixture.build_ok("w").turn();
    for turn in [&build, &verify] {
        assert!(turn.guidance.constraints.contains(&"no new dependency".to_owned()), "{:?}", turn.role);
    }
    assert!(!serde_json::to_string(&verify).unwrap().contains(canary));
    let rework = fixture.report("w", |r| r.criteria[0].result.verdict = Verdict::Fail).turn();
    assert!(rework.guidance.constraints.contains(&"no new dependency".to_owned()));
}

#[test]
fn a_verifier_may_ask_and_goes_on_with_the_answer() {
    let mut fixture = Fixture::opened(|_, _| {});
    let verify = fixture.build_ok("w").turn();
    fixture.ask("w", "which threshold?").decided();
    let again = fixture.answer("w").turn();
    assert_eq!((again.role.as_str(), &again.gate), (role::VERIFIER, &verify.gate));
    let TurnRequest::Verify(request) = &again.request else { panic!() };
    assert_eq!(request.clarifications[0].question, "which threshold?");
    fixture.report("w", |_| {}).decided();
    assert!(matches!(fixture.state("w").phase, Phase::Accepted { .. }));
}

#[test]
fn the_first_valid_answer_wins_and_others_learn_who_was_first() {
    let mut fixture = Fixture::opened(|_, _| {});
    fixture.ask("w", "which?").decided();
    let unknown = fixture.answer_act("w", "human-bob", |answer| answer.option = Some("green".to_owned()));
    assert_eq!(code(fixture.feed("w", unknown)), ActCode::Invalid);
    let empty = fixture.answer_act("w", "human-bob", |answer| answer.option = None);
    assert_eq!(code(fixture.feed("w", empty)), ActCode::Invalid);
    let (first, second) = (fixture.answer_act("w", ADA, |_| {}), fixture.answer_act("w", "human-bob", |_| {}));
    fixture.feed("w", first.clone()).turn();
    let state = fixture.state("w");
    assert_eq!(fixture.feed("w", first), Taken::Nothing, "its redelivery");
    let refusal = fixture.feed("w", second).refusal();
    let Refusal::Act(refused) = refusal else { panic!() };
    assert_eq!(refused.code, ActCode::AnswerLate);
    assert!(refused.message.contains(ADA), "{}", refused.message);
    assert_eq!(fixture.state("w"), state);
}

#[test]
fn an_answer_to_an_earlier_question_is_not_taken_for_the_open_one() {
    let mut fixture = Fixture::opened(|_, _| {});
    fixture.ask("w", "first?").decided();
    let late = fixture.answer_act("w", "human-bob", |_| {});
    fixture.answer("w").turn();
    fixture.ask("w", "second?").decided();
    assert_eq!(code(fixture.feed("w", late)), ActCode::AnswerLate);
}

#[test]
fn constraints_are_bounded() {
    let mut fixture = Fixture::opened(|_, _| {});
    fixture.ask("w", "which?").decided();
    let many = vec!["one".to_owned(); CONSTRAINTS_MAX + 1];
    let act = fixture.answer_act("w", ADA, |answer| answer.updated_constraints = many);
    assert_eq!(code(fixture.feed("w", act)), ActCode::Invalid);
}

#[test]
fn a_question_that_nobody_answers_in_time_is_held() {
    let mut fixture = Fixture::opened(|plan, _| plan.answer_within = Some(Millis(60_000)));
    fixture.ask("w", "which?").decided();
    assert_eq!(fixture.feed("w", Input::AnswerOverdue), Taken::Nothing, "there is time left");
    fixture.now = fixture.now.after(Millis(60_000).duration());
    let due = flight::due(&fixture.flight, &fixture.waypoints, fixture.now);
    assert_eq!(due, [Due::Unanswered(id("w"))]);
    fixture.feed("w", Input::AnswerOverdue).decided();
    assert_eq!((fixture.status("w"), reason(&fixture)), (Status::Blocked, ReasonCode::AnswerOverdue));
    fixture.retry("w", |_| {}).turn();
}

#[test]
fn verified_work_waits_for_a_person_and_lands_once_one_approves() {
    let mut fixture = waiting_for_approval();
    let open = fixture.open_turn("w").unwrap();
    assert_eq!((open.gate.as_str(), open.people), ("approve", true));
    assert_eq!((fixture.status("w"), reason(&fixture)), (Status::Waiting, ReasonCode::ApprovalOpen));
    let Turn { decision, request, guidance, .. } = fixture.turn("w");
    assert!(guidance.constraints.contains(&"change nothing".to_owned()), "a builder's words: {guidance:?}");
    let waits = StatusMutation { from: Status::Running, to: Status::Waiting };
    assert_eq!(decision.and_then(|decision| decision.status), Some(waits));
    let TurnRequest::Complete(request) = request else { panic!() };
    assert_eq!(request.report, fixture.state("w").verified.map(|verified| verified.report));
    let decided = fixture.complete("w", Outcome::Complete).decided();
    assert_eq!(decided.decision.reason_code, ReasonCode::CriteriaMet);
    assert_eq!(flight::due(&fixture.flight, &fixture.waypoints, fixture.now), [Due::Land(id("w"))]);
    assert_eq!(fixture.state("w").counters.attempts, 1);
}

#[test]
fn only_people_approve_and_only_those_whom_the_gate_names() {
    let mut fixture = waiting_for_approval();
    let script = fixture.completion("w", "operator-ci", Outcome::Complete);
    assert_eq!(code(fixture.feed("w", script)), ActCode::HumanRequired);

    let spec = workflows::built_in("fly-approved").unwrap();
    let gates = spec.gates.into_iter().map(|gate| match gate.require_human {
        true => GateSpec { people: vec![person("human-bob")], can_reject: false, ..gate },
        false => gate,
    });
    let named = WorkflowSpec { name: "named".to_owned(), description: None, gates: gates.collect() };
    let mut plan = plan(vec![waypoint("w", &[])]);
    plan.workflow = "named".to_owned();
    let mut fixture = Fixture::flown_by(plan, fleet(), &[named]);
    fixture.feed("w", Input::Open);
    fixture.build_ok("w").turn();
    fixture.report("w", |_| {}).turn();
    assert_eq!(code(fixture.complete("w", Outcome::Complete)), ActCode::NotAllowed);
    let reject = fixture.completion("w", "human-bob", Outcome::NeedsReview);
    assert_eq!(code(fixture.feed("w", reject)), ActCode::RejectNotAllowed);
    let approve = fixture.completion("w", "human-bob", Outcome::Complete);
    fixture.feed("w", approve).decided();
}

#[test]
fn only_the_engine_skips_a_gate() {
    let mut fixture = waiting_for_approval();
    assert_eq!(code(fixture.complete("w", Outcome::Skip)), ActCode::Invalid);
    assert_eq!(fixture.status("w"), Status::Waiting);
}

#[test]
fn a_rejection_is_a_rework_with_the_blockers_and_all_gates_follow_again() {
    let mut fixture = waiting_for_approval();
    let turn = fixture.complete("w", Outcome::NeedsReview).turn();
    assert_eq!((turn.gate.as_str(), reason(&fixture)), ("build", ReasonCode::ApprovalRejected));
    assert_eq!(build_request(&turn).feedback.as_ref().unwrap().notes, ["name it better"]);
    assert_eq!(fixture.state("w").counters.reworks, 1);
    fixture.build_ok("w").turn();
    fixture.report("w", |_| {}).turn();
    assert_eq!(fixture.status("w"), Status::Waiting);
}

#[test]
fn rejections_use_up_the_reworks_and_people_grant_more() {
    let mut fixture = approved(|plan| plan.policy.max_reworks = 0);
    fixture.build_ok("w").turn();
    fixture.report("w", |_| {}).turn();
    fixture.complete("w", Outcome::NeedsReview).decided();
    assert_eq!((fixture.status("w"), reason(&fixture)), (Status::Failed, ReasonCode::AttemptsExhausted));
    let turn = fixture.retry("w", |retry| retry.reworks = 1).turn();
    assert_eq!(build_request(&turn).feedback.as_ref().unwrap().notes, ["name it better"]);
    fixture.build_ok("w").turn();
    fixture.report("w", |r| r.criteria[0].result.verdict = Verdict::Fail).turn();
    assert_eq!(fixture.state("w").counters.reworks, 1, "what was granted was used");
}

#[test]
fn a_gate_that_nobody_completes_in_time_is_held_and_opens_again() {
    let mut fixture = waiting_for_approval();
    let turn = fixture.turn("w");
    fixture.now = turn.deadline;
    fixture.feed("w", Input::DeadlinePassed(Box::new(turn))).decided();
    assert_eq!((fixture.status("w"), reason(&fixture)), (Status::Blocked, ReasonCode::GateTimeout));
    fixture.retry("w", |_| {}).turn();
    fixture.complete("w", Outcome::Complete).decided();
}

#[test]
fn an_approval_counts_for_a_clean_merge_with_the_same_diff_only() {
    for same_diff in [true, false] {
        let mut plan = plan(vec![waypoint("a", &[]), waypoint("b", &[])]);
        plan.workflow = "fly-approved".to_owned();
        let mut fixture = Fixture::new(plan, fleet());
        for name in ["a", "b"] {
            fixture.feed(name, Input::Open);
            fixture.build_ok(name).turn();
            fixture.report(name, |_| {}).turn();
            fixture.complete(name, Outcome::Complete).decided();
        }
        fixture.land("a");
        let merge = crate::engine::Merge::Clean { commit: fixture.commit(), violations: Vec::new(), same_diff };
        fixture.merged("b", merge).turn();
        let after = fixture.report("b", |_| {});
        if same_diff {
            after.decided();
            fixture.land("b");
        } else {
            assert_eq!(after.turn().gate.as_str(), "approve");
            fixture.complete("b", Outcome::Complete).decided();
            fixture.land("b");
        }
    }
}

#[test]
fn held_work_goes_on_where_it_is_held() {
    let mut fixture = Fixture::opened(|plan, _| plan.guards.push(guard()));
    fixture.report("w", |r| r.guards[0].result.verdict = Verdict::Fail).decided();
    assert_eq!(reason(&fixture), ReasonCode::GuardRed);
    let again = fixture.retry("w", |_| {}).turn();
    assert_eq!(again.role.as_str(), role::VERIFIER);
    fixture.report("w", |_| {}).turn();
    for _ in 0..4 {
        fixture.build_ok("w").turn();
        fixture.report("w", |r| r.criteria[0].result.verdict = Verdict::Fail);
    }
    assert_eq!((fixture.status("w"), reason(&fixture)), (Status::Failed, ReasonCode::AttemptsExhausted));
    let again = fixture.retry("w", |_| {}).turn();
    assert_eq!(build_request(&again).feedback.as_ref().unwrap().failing.len(), 1, "with what was wrong last");
    fixture.build_ok("w").turn();
    fixture.report("w", |_| {}).decided();
    assert!(matches!(fixture.state("w").phase, Phase::Accepted { .. }));
}

#[test]
fn a_retry_that_looked_at_something_else_changes_nothing() {
    let mut fixture = Fixture::opened(|_, _| {});
    fixture.build("w", failure(ReasonCode::NotExecutable)).decided();
    let stale = fixture.retry_act("w", |_| {});
    fixture.retry("w", |_| {}).turn();
    fixture.build("w", failure(ReasonCode::NotExecutable)).decided();
    assert_eq!(code(fixture.feed("w", stale)), ActCode::AnswerLate);
    let elsewhere = fixture.retry_act("w", |retry| retry.from = Some("verify".parse().unwrap()));
    assert_eq!(code(fixture.feed("w", elsewhere)), ActCode::Invalid);
    assert_eq!(fixture.retry("w", |retry| retry.from = Some("build".parse().unwrap())).turn().gate.as_str(), "build");
}

#[test]
fn what_is_not_held_cannot_be_retried_and_what_is_not_open_cannot_be_answered() {
    let mut fixture = Fixture::opened(|_, _| {});
    let answer = fixture.answer_act("w", ADA, |_| {});
    let approve = fixture.completion("w", ADA, Outcome::Complete);
    let retry = fixture.retry_act("w", |_| {});
    for act in [answer, approve, retry] {
        assert_eq!(code(fixture.feed("w", act)), ActCode::NothingOpen);
    }
}

#[test]
fn a_landing_that_keeps_failing_is_held_and_lands_after_a_retry() {
    let mut fixture = Fixture::opened(|_, _| {});
    fixture.build_ok("w").turn();
    fixture.report("w", |_| {}).decided();
    fixture.feed("w", Input::LandingFailed("no room".to_owned())).decided();
    assert_eq!((fixture.status("w"), reason(&fixture)), (Status::Blocked, ReasonCode::LandingHeld));
    assert_eq!(flight::due(&fixture.flight, &fixture.waypoints, fixture.now), []);
    fixture.retry("w", |_| {}).decided();
    fixture.land("w");
    assert_eq!(fixture.status("w"), Status::Complete);
}

#[test]
fn cancelled_work_takes_no_handoff_and_does_not_land() {
    let mut fixture = Fixture::opened(|_, _| {});
    let work = fixture.work(Vec::new());
    let late = fixture.handoff("w", work);
    let decided = fixture.cancel("w").decided();
    assert_eq!((decided.decision.reason_code, fixture.status("w")), (ReasonCode::Cancelled, Status::Cancelled));
    assert!(matches!(fixture.feed("w", Input::Built(late)), Taken::Refused(Refusal::NotOpen { .. })));
    assert_eq!(code(fixture.cancel("w")), ActCode::Over);

    let mut fixture = Fixture::opened(|_, _| {});
    fixture.build_ok("w").turn();
    fixture.report("w", |_| {}).decided();
    fixture.cancel("w").decided();
    assert_eq!(flight::due(&fixture.flight, &fixture.waypoints, fixture.now), [], "accepted, and not landed");

    let mut fixture = Fixture::opened(|_, _| {});
    fixture.build_ok("w").turn();
    fixture.report("w", |_| {}).decided();
    fixture.land("w");
    assert_eq!(code(fixture.cancel("w")), ActCode::Over);
}

#[test]
fn cancelling_the_flight_ends_what_is_not_over() {
    let mut plan = plan(vec![waypoint("a", &[]), waypoint("b", &[]), waypoint("c", &["b"])]);
    plan.policy.max_reworks = 0;
    let mut fixture = Fixture::new(plan, fleet());
    fixture.accept("a");
    fixture.land("a");
    fixture.feed("b", Input::Open);
    fixture.steer(Verb::Cancel).unwrap();
    assert_eq!(flight_status(&fixture.flight, &fixture.waypoints), FlightStatus::Running, "it is being ended");
    let due = flight::due(&fixture.flight, &fixture.waypoints, fixture.now);
    assert_eq!(due, [Due::Cancel(id("b")), Due::Cancel(id("c"))]);
    for name in ["b", "c"] {
        fixture.end_with_flight(name).decided();
        assert_eq!(fixture.end_with_flight(name), Taken::Nothing);
    }
    assert_eq!(
        ["a", "b", "c"].map(|name| fixture.status(name)),
        [Status::Complete, Status::Cancelled, Status::Cancelled]
    );
    assert_eq!(flight_status(&fixture.flight, &fixture.waypoints), FlightStatus::Incomplete);
    assert!(fixture.steer(Verb::Resume).is_err(), "it is over");
}

#[test]
fn nothing_is_due_in_a_paused_flight_and_its_deadlines_move() {
    let mut fixture = Fixture::opened(|plan, _| plan.budget.wall = Some(Millis(36_000_000)));
    let deadline = fixture.turn("w").deadline;
    fixture.steer(Verb::Pause).unwrap();
    assert!(fixture.steer(Verb::Pause).is_err(), "it is paused already");
    fixture.now = deadline.after(Millis(36_000_000).duration());
    assert_eq!(flight::due(&fixture.flight, &fixture.waypoints, fixture.now), []);
    assert_eq!(flight::next_deadline(&fixture.flight, &fixture.waypoints, fixture.now), None);
    let view = flight::view(&fixture.flight, &fixture.waypoints, None, Vec::new(), |_, _| None).unwrap();
    assert!(view.paused);
    fixture.steer(Verb::Resume).unwrap();
    assert_eq!(flight::due(&fixture.flight, &fixture.waypoints, fixture.now), [], "the pause does not count");
    let next = flight::next_deadline(&fixture.flight, &fixture.waypoints, fixture.now).unwrap();
    assert!(next > fixture.now);
    fixture.now = next;
    assert_ne!(flight::due(&fixture.flight, &fixture.waypoints, fixture.now), []);
}

#[test]
fn two_steps_of_people_need_no_verifier_and_land_nothing() {
    let sign = |id: &str, can_reject| GateSpec {
        id: id.parse().unwrap(),
        role: "approver".parse().unwrap(),
        description: None,
        can_reject,
        require_human: true,
        people: Vec::new(),
        timeout: Some(Millis(60_000)),
    };
    let gates = vec![sign("draft", false), sign("sign", true)];
    let spec = WorkflowSpec { name: "signed".to_owned(), description: None, gates };
    let mut plan = plan(vec![waypoint("w", &[])]);
    plan.workflow = "signed".to_owned();
    let mut fixture = Fixture::flown_by(plan, fleet(), &[spec]);
    assert_eq!(fixture.feed("w", Input::Open).turn().gate.as_str(), "draft");
    assert_eq!(fixture.complete("w", Outcome::Complete).turn().gate.as_str(), "sign");
    assert_eq!(fixture.complete("w", Outcome::NeedsReview).turn().gate.as_str(), "draft");
    fixture.complete("w", Outcome::Complete).turn();
    fixture.complete("w", Outcome::Complete).decided();
    assert_eq!(fixture.status("w"), Status::Complete);
}

#[test]
fn fly_from_its_file_and_as_a_value_write_the_same_journal() {
    let gate = |id: &str, role_name: &'static str, can_reject| GateSpec {
        id: id.parse().unwrap(),
        role: role::id(role_name),
        description: None,
        can_reject,
        require_human: false,
        people: Vec::new(),
        timeout: None,
    };
    let gates = vec![gate("build", role::BUILDER, false), gate("verify", role::VERIFIER, true)];
    let value = WorkflowSpec { name: "fly".to_owned(), description: None, gates };
    let journal = |own: &[WorkflowSpec]| {
        let mut fixture = Fixture::flown_by(plan(vec![waypoint("w", &[])]), fleet(), own);
        fixture.feed("w", Input::Open);
        fixture.build_ok("w").turn();
        fixture.report("w", |r| r.criteria[0].result.verdict = Verdict::Fail).turn();
        fixture.ask("w", "which?").decided();
        fixture.answer("w").turn();
        fixture.build_ok("w").turn();
        fixture.report("w", |_| {}).decided();
        fixture.journal("w").iter().map(|stored| stored.bytes.clone()).collect::<Vec<_>>()
    };
    assert_eq!(journal(&[]), journal(&[value]));
}
