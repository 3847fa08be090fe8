//! Questions and calls for help: what waits, who answers, what happens instead.

use holdpoint_protocol::{
    Digest,
    artifact::{ActCode, Conversation},
    facts::{BlobRef, Verdict},
    ids::role,
    plan::Answer,
    reason::ReasonCode,
    state::{Phase, QuestionKind, Status},
    time::Millis,
    turn::TurnRequest,
    view::FlightStatus,
};

use super::{code, reason};
use crate::{
    flight::{self, Due, flight_status},
    testing::{
        desk::{ADA, OPTIONS},
        fixture::{Fed, Fixture},
        parts::{build_request, failure, id},
    },
    waypoint::{CONSTRAINTS_MAX, Input, Refusal},
};

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
fn the_conversation_of_a_question_is_in_the_turn_of_its_answer_and_nowhere_else() {
    let mut fixture = Fixture::opened(|_, _| {});
    let talk = |role: &str| Conversation {
        session: "s-secret".to_owned(),
        path: "at/s-secret.jsonl".to_owned(),
        transcript: BlobRef { role: role.parse().unwrap(), digest: Digest::of(b"said"), bytes: 4 },
        used: None,
        cost_micro_usd: None,
    };
    let ask = |fixture: &mut Fixture, talk: Conversation| {
        let mut asked = fixture.question("w", QuestionKind::Clarification, "which?", None);
        if let Input::Asked(asked) = &mut asked {
            asked.body.conversation = Some(talk);
        }
        fixture.feed("w", asked).decided();
    };
    ask(&mut fixture, talk(role::VERIFIER));
    assert_eq!(build_request(&fixture.answer("w").turn()).conversation, None, "only of the role that has the turn");
    ask(&mut fixture, talk(role::BUILDER));
    let names = |value: String| value.contains("s-secret") || value.contains(&Digest::of(b"said").to_string());
    assert!(!names(serde_json::to_string(&fixture.state("w")).unwrap()), "never in the state");
    let again = fixture.answer("w").turn();
    assert_eq!(build_request(&again).conversation, Some(talk(role::BUILDER)));
    assert!(!names(serde_json::to_string(&fixture.state("w")).unwrap()));
    let verify = fixture.build_ok("w").turn();
    assert!(!names(serde_json::to_string(&verify).unwrap()), "no verifier's turn names it");
    let rebuilt = fixture.report("w", |r| r.criteria[0].result.verdict = Verdict::Fail).turn();
    assert_eq!(build_request(&rebuilt).conversation, None);
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
    assert_eq!(fixture.feed("w", first), Fed::Nothing, "its redelivery");
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
    assert_eq!(fixture.feed("w", Input::AnswerOverdue), Fed::Nothing, "there is time left");
    fixture.now = fixture.now.after(Millis(60_000).duration());
    let due = flight::due(&fixture.flight, &fixture.waypoints, fixture.now);
    assert_eq!(due, [Due::Unanswered(id("w"))]);
    fixture.feed("w", Input::AnswerOverdue).decided();
    assert_eq!((fixture.status("w"), reason(&fixture)), (Status::Blocked, ReasonCode::AnswerOverdue));
    fixture.retry("w", |_| {}).turn();
}
