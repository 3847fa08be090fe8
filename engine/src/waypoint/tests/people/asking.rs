//! Questions that wait in their turn, and what becomes of them.

use std::time::Duration;

use holdpoint_protocol::{
    api::InboxKind,
    artifact::{ActCode, Verb},
    ids::role,
    journal::Death,
    plan::Answer,
    reason::ReasonCode,
    state::{Outcome, Phase, QuestionStanding, Status},
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
        parts::{NARRATIVE, build_request, id},
    },
    waypoint::{Died, Ends, Input, QUESTIONS_IN_TURN_MAX, Refusal, questions_left},
};

/// A flight in whose build turn a question waits.
fn asking(question: &str) -> Fixture {
    let mut fixture = Fixture::opened(|_, _| {});
    let asked = fixture.waiting_question("w", question);
    fixture.feed("w", asked).decided();
    fixture
}

fn answers(fixture: &Fixture) -> Vec<String> {
    let turn = fixture.turn("w");
    let feedback = build_request(&turn).feedback.clone();
    feedback.map(|told| told.clarifications.into_iter().map(|one| one.question).collect()).unwrap_or_default()
}

fn standings(fixture: &Fixture) -> Vec<QuestionStanding> {
    fixture.open_turn("w").unwrap().questions.into_iter().map(|question| question.standing).collect()
}

/// The same question becomes the turn's result.
fn end(fixture: &mut Fixture, question: &str) -> Fed {
    let end = fixture.question_that("w", question, Ends::TurnAfterAll);
    fixture.feed("w", end)
}

#[test]
fn a_question_waits_in_its_open_turn_and_its_answer_leaves_the_turn_open() {
    let mut fixture = asking("red or blue?");
    let asked_in = fixture.turn("w");
    assert_eq!((fixture.status("w"), reason(&fixture)), (Status::Running, ReasonCode::ClarificationOpen));
    assert_eq!(flight_status(&fixture.flight, &fixture.waypoints), FlightStatus::Running);
    let [waits] = flight::waits(&fixture.flight, &fixture.waypoints).try_into().unwrap();
    assert_eq!((waits.kind, waits.gate.unwrap().as_str()), (InboxKind::Question, "build"));
    let question = fixture.open_turn("w").unwrap().asking().unwrap().clone();
    assert_eq!((waits.reference, waits.question.unwrap().asked), (question.asked.reference(), question.asked));
    let actions = |fixture: &Fixture| flight::actions(&fixture.flight, &id("w"), Some(&fixture.state("w")));
    assert_eq!(actions(&fixture), [Verb::Answer, Verb::Take, Verb::Cancel]);

    let act = fixture.answer_act("w", ADA, |answer| answer.rationale = Some("it is warmer".to_owned()));
    let answered = fixture.feed("w", act.clone()).answered();
    assert_eq!((&answered.turn, answered.words), (&asked_in.turn_id, question.words));
    assert_eq!((answered.answer.option.as_deref(), answered.answer.by.as_str()), (Some(OPTIONS[0]), ADA));
    assert_eq!(fixture.turn("w").turn_id, asked_in.turn_id, "the turn stays open");
    assert_eq!(actions(&fixture), [Verb::Take, Verb::Cancel]);
    assert_eq!(flight::waits(&fixture.flight, &fixture.waypoints), []);
    let Input::Answered(taken) = &act else { panic!() };
    let by_reference = QuestionStanding::Answered { by: Some(taken.cause.clone()) };
    assert_eq!(standings(&fixture), [by_reference]);
    assert_eq!(fixture.feed("w", act), Fed::Nothing, "its redelivery");
    let second = fixture.answer_act("w", "human-bob", |_| {});
    assert_eq!(code(fixture.feed("w", second)), ActCode::AnswerLate);

    fixture.build_ok("w").turn();
    fixture.report("w", |_| {}).decided();
    let counters = fixture.state("w").counters;
    assert!(matches!(fixture.state("w").phase, Phase::Accepted { .. }));
    assert_eq!((counters.attempts, counters.clarifications), (1, 1));
}

#[test]
fn the_answer_of_policy_is_one_entry_with_the_question() {
    let mut fixture = Fixture::opened(|plan, _| {
        plan.answers.push(Answer { matches: "colour".to_owned(), option: "red".to_owned(), rationale: None });
    });
    let before = fixture.journal("w").len();
    let asked = fixture.waiting_question("w", "which colour?");
    let answered = fixture.feed("w", asked.clone()).answered();
    assert_eq!((answered.answer.option.as_deref(), answered.answer.by.as_str()), (Some("red"), "policy"));
    assert_eq!(
        (fixture.journal("w").len(), standings(&fixture)),
        (before + 1, vec![QuestionStanding::Answered { by: None }])
    );
    assert_eq!(fixture.feed("w", asked), Fed::Nothing, "its redelivery");
    assert_eq!((fixture.state("w").counters.clarifications, answers(&fixture)), (1, vec!["which colour?".to_owned()]));
}

#[test]
fn a_question_whose_patience_is_over_ends_the_turn_under_its_name_and_counts_once() {
    let mut fixture = asking("which?");
    let (known_by, since) = (fixture.open_turn("w").unwrap().asking().unwrap().asked.clone(), fixture.now);
    let early = fixture.answer_act("w", ADA, |_| {});
    fixture.now = fixture.now.after(Duration::from_secs(60));
    end(&mut fixture, "which?").decided();
    let Phase::Waiting(question) = fixture.state("w").phase else { panic!() };
    assert_eq!((question.asked, question.since), (known_by, since), "people know it by this");
    assert_eq!((fixture.status("w"), fixture.state("w").counters.clarifications), (Status::Waiting, 1));
    let again = fixture.feed("w", early).turn();
    assert_eq!(build_request(&again).feedback.as_ref().unwrap().clarifications[0].question, "which?");
}

#[test]
fn an_answer_that_crosses_the_end_of_the_patience_opens_the_turn_again_at_once() {
    let mut fixture = asking("which?");
    let work = fixture.commit();
    fixture.answer("w").answered();
    let Input::Asked(mut ending) = fixture.question_that("w", "which?", Ends::TurnAfterAll) else { panic!() };
    ending.body.work = Some(work.clone());
    let again = fixture.feed("w", Input::Asked(ending)).turn();
    let request = build_request(&again);
    assert_eq!(request.feedback.as_ref().unwrap().clarifications.len(), 1);
    assert_eq!(request.start, work.commit, "with what there was");
    assert_eq!((standings(&fixture), fixture.state("w").counters.clarifications), (vec![], 1));
    fixture.ask("w", "which?").decided();
    assert_eq!(fixture.state("w").counters.clarifications, 2, "asked again, it is another");
}

#[test]
fn every_other_result_of_the_turn_withdraws_its_question() {
    let mut fixture = asking("which?");
    let answer = fixture.answer_act("w", ADA, |_| {});
    fixture.build_ok("w").turn();
    assert_eq!(flight::waits(&fixture.flight, &fixture.waypoints), []);
    let Refusal::Act(refused) = fixture.feed("w", answer).refusal() else { panic!() };
    assert_eq!(refused.code, ActCode::AnswerLate);
    assert!(refused.message.contains("withdrawn"), "{}", refused.message);
    fixture.report("w", |_| {}).decided();
    assert!(matches!(fixture.state("w").phase, Phase::Accepted { .. }));
}

#[test]
fn another_question_takes_the_place_of_the_one_that_waits() {
    let mut fixture = asking("first?");
    let late = fixture.answer_act("w", ADA, |_| {});
    let first = fixture.trace.last().unwrap().input.clone();
    let second = fixture.waiting_question("w", "second?");
    fixture.feed("w", second).decided();
    assert_eq!(standings(&fixture), [QuestionStanding::Withdrawn, QuestionStanding::Open]);
    assert_eq!(fixture.feed("w", first), Fed::Nothing, "the withdrawn one comes again");
    assert_eq!(code(fixture.feed("w", late)), ActCode::AnswerLate);
    fixture.answer("w").answered();
    assert_eq!(answers(&fixture), ["second?"]);
    // A question that did not wait ends the turn, and is counted for itself.
    fixture.ask("w", "third?").decided();
    assert_eq!(reason(&fixture), ReasonCode::ClarificationExhausted);
}

#[test]
fn rounds_in_a_turn_have_the_bound_of_all_questions_and_past_it_none_waits() {
    let mut fixture = Fixture::opened(|_, _| {});
    let most = fixture.flight.submitted.plan.policy.max_clarifications;
    for round in 0..most {
        assert_eq!(questions_left(&fixture.state("w"), &fixture.turn("w").turn_id, most), most - round);
        let asked = fixture.waiting_question("w", &format!("question {round}?"));
        fixture.feed("w", asked).decided();
        fixture.answer("w").answered();
    }
    assert_eq!(questions_left(&fixture.state("w"), &fixture.turn("w").turn_id, most), 0);
    let over = fixture.waiting_question("w", "one more?");
    let refused = fixture.feed("w", over).refusal();
    assert!(refused.to_string().contains("as the turn's result"), "{refused}");
    fixture.ask("w", "one more?").decided();
    assert_eq!((fixture.status("w"), reason(&fixture)), (Status::Blocked, ReasonCode::ClarificationExhausted));
    fixture.retry("w", |_| {}).turn();
    assert_eq!(answers(&fixture).len(), 2, "what was answered stays with the turn");

    let mut fixture = Fixture::opened(|plan, _| plan.policy.max_clarifications = u32::MAX);
    for round in 0..QUESTIONS_IN_TURN_MAX {
        let asked = fixture.waiting_question("w", &format!("question {round}?"));
        fixture.feed("w", asked).decided();
    }
    let over = fixture.waiting_question("w", "one more?");
    fixture.feed("w", over).refusal();
}

#[test]
fn an_agent_that_takes_the_turn_after_a_death_has_the_answers_and_may_ask_the_same() {
    let mut fixture = asking("which?");
    let question = fixture.open_turn("w").unwrap().asking().unwrap().clone();
    let again = fixture.waiting_question("w", "which?");
    assert_eq!(fixture.feed("w", again), Fed::Nothing, "it is the same question");
    assert_eq!(fixture.open_turn("w").unwrap().asking(), Some(&question));
    fixture.answer("w").answered();
    fixture.crash();
    assert_eq!(answers(&fixture), ["which?"], "whoever takes the turn has it");
    let turn = fixture.turn("w");
    let cause = fixture.cause(&turn.role);
    let deaths = (1..4).map(|delivery| Death { delivery, agent: "agent-1".parse().unwrap() }).collect();
    fixture.feed("w", Input::Died(Died { turn: turn.turn_id, cause, deaths })).dead();
    fixture.retry("w", |_| {}).turn();
    assert_eq!((answers(&fixture), standings(&fixture)), (vec!["which?".to_owned()], vec![]));
}

#[test]
fn deadline_cancellation_and_pause_are_those_of_any_open_turn() {
    let mut fixture = asking("which?");
    let answer = fixture.answer_act("w", ADA, |_| {});
    let turn = fixture.turn("w");
    fixture.steer(Verb::Pause).unwrap();
    assert_eq!(flight::actions(&fixture.flight, &id("w"), Some(&fixture.state("w"))), [Verb::Cancel]);
    fixture.steer(Verb::Resume).unwrap();
    fixture.now = turn.deadline;
    let due = flight::due(&fixture.flight, &fixture.waypoints, fixture.now);
    assert_eq!(due, [Due::Deadline(id("w"), turn.turn_id.clone())]);
    fixture.feed("w", Input::DeadlinePassed(Box::new(turn))).turn();
    assert_eq!(code(fixture.feed("w", answer)), ActCode::AnswerLate, "its turn is over");
    assert_eq!(fixture.cancel("w").decided().decision.reason_code, ReasonCode::Cancelled);

    let mut fixture = Fixture::opened(|plan, _| plan.answer_within = Some(Millis(30_000)));
    let asked = fixture.waiting_question("w", "which?");
    fixture.feed("w", asked).decided();
    fixture.now = fixture.now.after(Duration::from_secs(60));
    assert_eq!(flight::due(&fixture.flight, &fixture.waypoints, fixture.now), [], "its turn is open");
    end(&mut fixture, "which?").decided();
    assert_eq!(flight::due(&fixture.flight, &fixture.waypoints, fixture.now), [Due::Unanswered(id("w"))]);
}

#[test]
fn constraints_of_the_answer_reach_later_turns_and_no_word_of_the_question_a_verifier() {
    let mut fixture = asking(NARRATIVE);
    let act = fixture.answer_act("w", ADA, |answer| answer.updated_constraints.push("no new dependency".to_owned()));
    fixture.feed("w", act).answered();
    assert!(fixture.turn("w").guidance.constraints.contains(&"no new dependency".to_owned()), "the turn as it stands");
    let verify = fixture.build_ok("w").turn();
    assert!(verify.guidance.constraints.contains(&"no new dependency".to_owned()));
    assert!(!serde_json::to_string(&verify).unwrap().contains(NARRATIVE));
}

#[test]
fn a_judge_may_wait_for_an_answer_and_people_who_complete_gates_never_ask() {
    let mut fixture = Fixture::opened(|plan, _| plan.workflow = "fly-approved".to_owned());
    fixture.build_ok("w").turn();
    let asked = fixture.waiting_question("w", "which threshold?");
    fixture.feed("w", asked).decided();
    fixture.answer("w").answered();
    let turn = fixture.turn("w");
    let TurnRequest::Verify(request) = &turn.request else { panic!() };
    assert_eq!((turn.role.as_str(), request.clarifications[0].question.as_str()), (role::VERIFIER, "which threshold?"));
    fixture.report("w", |_| {}).turn();
    fixture.complete("w", Outcome::Complete).decided();
}
