//! Held work that people have tried again.

use holdpoint_protocol::{
    artifact::{ActCode, Verb},
    facts::Verdict,
    ids::role,
    reason::{BlockReason, ReasonCode},
    state::{Outcome, Phase, QuestionKind, Status},
};

use super::{code, reason};
use crate::{
    flight,
    testing::{
        desk::ADA,
        fixture::Fixture,
        parts::{build_request, failure, guard, id},
    },
    waypoint::{Input, PersonAct},
};

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
fn an_act_that_names_nothing_is_about_what_was_there_when_it_was_stored() {
    let overtake = |act: Input| match act {
        Input::Answered(act) => Input::Answered(PersonAct { overtaken: true, ..act }),
        Input::Completed(act) => Input::Completed(PersonAct { overtaken: true, ..act }),
        Input::Retried(act) => Input::Retried(PersonAct { overtaken: true, ..act }),
        other => other,
    };
    let mut fixture = Fixture::opened(|_, _| {});
    fixture.ask("w", "which?").decided();
    let unnamed = fixture.answer_act("w", ADA, |answer| answer.request = None);
    assert_eq!(code(fixture.feed("w", overtake(unnamed.clone()))), ActCode::AnswerLate);
    fixture.feed("w", unnamed).turn();
    fixture.build("w", failure(ReasonCode::NotExecutable)).decided();
    let unnamed = fixture.retry_act("w", |retry| retry.on = None);
    assert_eq!(code(fixture.feed("w", overtake(unnamed.clone()))), ActCode::AnswerLate);
    fixture.feed("w", unnamed).turn();
    fixture.build("w", failure(ReasonCode::NotExecutable)).decided();
    let named = fixture.retry_act("w", |_| {});
    fixture.feed("w", overtake(named)).turn();
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
fn what_waits_for_something_else_than_a_persons_decision_is_tried_again_without_an_answer() {
    let mut fixture = Fixture::opened(|_, _| {});
    let asks = |fixture: &mut Fixture, reason: BlockReason| {
        let Input::Asked(mut asked) = fixture.question("w", QuestionKind::Clarification, "It is down", None) else {
            unreachable!("a question is asked")
        };
        asked.body.block_reason = reason;
        fixture.feed("w", Input::Asked(asked)).decided();
        let Phase::Waiting(question) = fixture.phase("w") else { panic!("{:?}", fixture.phase("w")) };
        assert_eq!(question.block_reason, reason);
        question
    };
    let actions = |fixture: &Fixture| flight::actions(&fixture.flight, &id("w"), Some(&fixture.state("w")));
    let first = asks(&mut fixture, BlockReason::ExternalDependency);
    assert_eq!(actions(&fixture), [Verb::Answer, Verb::Retry, Verb::Cancel]);
    let again = fixture.retry("w", |retry| {
        (retry.on, retry.note) = (Some(first.asked.artifact.to_string()), Some("it is up".to_owned()));
    });
    let again = again.turn();
    assert_eq!(
        build_request(&again).feedback.as_ref().map(|told| told.notes.clone()),
        Some(vec!["it is up".to_owned()])
    );
    let mut fixture = Fixture::opened(|_, _| {});
    let plain = asks(&mut fixture, BlockReason::NeedsHumanInput);
    assert_eq!(actions(&fixture), [Verb::Answer, Verb::Cancel]);
    let on = Some(plain.asked.artifact.to_string());
    assert_eq!(code(fixture.retry("w", |retry| retry.on = on)), ActCode::NothingOpen, "only an answer helps");
}
