//! People take over agents' turns: whose they are then, how they come back, and who may not judge the work.

use std::time::Duration;

use holdpoint_protocol::{
    api::InboxKind,
    artifact::{ActCode, Verb},
    facts::Verdict,
    ids::role,
    reason::ReasonCode,
    state::{Outcome, Phase, Resume, Status},
    time::Millis,
    turn::Turn,
    workflow::{GateSpec, WorkflowSpec},
};

use super::code;
use crate::{
    flight::{self, Due},
    testing::{
        desk::{ADA, BOB, person},
        fixture::{Fed, Fixture},
        parts::{build_request, failure, fleet, id, plan, waypoint},
    },
    waypoint::{Input, PersonAct, TAKEN_TIME, Taking, queued_for},
};

fn building() -> Fixture {
    Fixture::opened(|_, _| {})
}

fn approved() -> Fixture {
    Fixture::opened(|plan, _| plan.workflow = "fly-approved".to_owned())
}

/// Verified work that waits for an agent's review.
fn under_review() -> Fixture {
    let gate = |name: &str, role_name: &str| GateSpec::new(name.parse().unwrap(), role_name.parse().unwrap());
    let review = GateSpec { can_reject: true, timeout: Some(Millis(60_000)), ..gate("review", "reviewer") };
    let verify = GateSpec { can_reject: true, ..gate("verify", role::VERIFIER) };
    let spec = WorkflowSpec::new("declared", [gate("build", role::BUILDER), verify, review]);
    let mut plan = plan(vec![waypoint("w", &[])]);
    plan.workflow = "declared".to_owned();
    let mut fixture = Fixture::flown_by(plan, fleet(), &[spec]);
    fixture.feed("w", Input::Open).turn();
    fixture.build_ok("w").turn();
    fixture.report("w", |_| {}).turn();
    fixture
}

fn take(fixture: &mut Fixture, by: &str) -> Turn {
    let act = fixture.take_act("w", by);
    fixture.feed("w", act).turn()
}

fn hand_in(fixture: &mut Fixture, by: &str) -> Fed {
    let work = fixture.work(Vec::new());
    let act = fixture.hand_in_act("w", by, work);
    fixture.feed("w", act)
}

#[test]
fn a_turn_that_is_taken_over_opens_again_for_one_person_and_no_agent_pulls_it() {
    let mut fixture = building();
    let before = fixture.turn("w");
    let late = {
        let work = fixture.work(Vec::new());
        Input::Built(fixture.handoff("w", work))
    };
    let turn = take(&mut fixture, ADA);
    let open = fixture.open_turn("w").unwrap();
    assert_eq!((open.taken_by(), open.is_peoples()), (Some(&person(ADA)), true));
    assert_ne!(turn.turn_id, before.turn_id, "who had it is too late");
    assert_eq!(
        (turn.request, turn.role.as_str()),
        (before.request, role::BUILDER),
        "it asks the same, of the same role"
    );
    let opened = fixture.turn("w");
    assert_eq!(queued_for(&opened).as_str(), role::OPERATOR);
    assert_eq!(fixture.status("w"), Status::Waiting);
    fixture.feed("w", late).refusal();
    let stolen = fixture.build_ok("w").refusal();
    assert!(stolen.to_string().contains("is not open"), "an agent that knows its token: {stolen}");
    let waits = flight::waits(&fixture.flight, &fixture.waypoints);
    assert_eq!((waits[0].kind, waits[0].taken_by.as_ref()), (InboxKind::Taken, Some(&person(ADA))));
    let actions = flight::actions(&fixture.flight, &id("w"), Some(&fixture.state("w")));
    assert_eq!(actions, [Verb::HandIn, Verb::Release, Verb::Cancel]);
}

#[test]
fn the_first_person_has_the_turn_and_the_same_act_again_changes_nothing() {
    let mut fixture = building();
    let (first, second) = (fixture.take_act("w", ADA), fixture.take_act("w", BOB));
    fixture.feed("w", first.clone()).turn();
    assert_eq!(fixture.feed("w", first), Fed::Nothing);
    assert_eq!(code(fixture.feed("w", second)), ActCode::AnswerLate);
    let again = fixture.take_act("w", ADA);
    let refusal = fixture.feed("w", again).refusal();
    assert!(refusal.to_string().contains("it is yours"), "{refusal}");
    assert_eq!(fixture.open_turn("w").unwrap().taken_by(), Some(&person(ADA)));
}

#[test]
fn only_people_take_over_what_agents_have_and_no_verification_that_needs_nobody() {
    let mut fixture = approved();
    let agent = fixture.take_act("w", "release-bot");
    assert_eq!(code(fixture.feed("w", agent)), ActCode::HumanRequired);
    fixture.build_ok("w").turn();
    let verification = fixture.take_act("w", ADA);
    let refusal = fixture.feed("w", verification).refusal();
    assert!(refusal.to_string().contains("every criterion has a check"), "{refusal}");
    fixture.report("w", |_| {}).turn();
    let peoples = fixture.take_act("w", ADA);
    assert_eq!(code(fixture.feed("w", peoples)), ActCode::Invalid, "a gate for people is theirs already");
    fixture.cancel("w");
    let over = fixture.take_act("w", ADA);
    assert_eq!(code(fixture.feed("w", over)), ActCode::Over);
}

#[test]
fn a_turn_that_was_not_looked_at_is_not_taken_over() {
    let mut fixture = building();
    let seen = fixture.take_act("w", ADA);
    fixture.build("w", failure(ReasonCode::AgentFailed)).turn();
    assert_eq!(code(fixture.feed("w", seen)), ActCode::AnswerLate);
    let blind = match fixture.take_act("w", ADA) {
        Input::Taken(act) => {
            let body = Box::new(Taking { on: None, turn: act.body.turn.clone() });
            Input::Taken(PersonAct { overtaken: true, body, ..act })
        }
        other => panic!("{other:?}"),
    };
    assert_eq!(code(fixture.feed("w", blind)), ActCode::AnswerLate);
}

#[test]
fn a_turn_that_is_given_back_is_its_roles_again() {
    let mut fixture = building();
    let first = fixture.turn("w");
    take(&mut fixture, ADA);
    let stranger = fixture.release_act("w", BOB);
    assert_eq!(code(fixture.feed("w", stranger)), ActCode::NotAllowed);
    let release = fixture.release_act("w", ADA);
    let turn = fixture.feed("w", release.clone()).turn();
    assert_eq!(fixture.feed("w", release), Fed::Nothing);
    assert_eq!((turn.request.clone(), queued_for(&fixture.turn("w"))), (first.request, first.role));
    let open = fixture.open_turn("w").unwrap();
    assert_eq!((open.taken_by(), open.is_peoples(), fixture.status("w")), (None, false, Status::Running));
    let twice = fixture.release_act("w", ADA);
    assert_eq!(code(fixture.feed("w", twice)), ActCode::AnswerLate);
    fixture.build_ok("w").turn();
    assert_eq!(fixture.state("w").counters.attempts, 0, "it counts once it is verified");
}

#[test]
fn what_a_person_hands_in_is_verified_and_lands_like_a_builders_work() {
    let mut fixture = building();
    take(&mut fixture, ADA);
    let work = fixture.work(Vec::new());
    let stranger = fixture.hand_in_act("w", BOB, work);
    assert_eq!(code(fixture.feed("w", stranger)), ActCode::NotAllowed);
    let work = fixture.work(Vec::new());
    let handed = fixture.hand_in_act("w", ADA, work);
    let verify = fixture.feed("w", handed.clone()).turn();
    assert_eq!(fixture.feed("w", handed), Fed::Nothing);
    assert_eq!(verify.role.as_str(), role::VERIFIER);
    let state = fixture.state("w");
    let work = state.work.unwrap();
    assert_eq!((work.agent.as_str(), work.role.as_str()), (ADA, role::BUILDER));
    assert_eq!(state.history[0].agent, Some(person(ADA)));
    fixture.report("w", |_| {}).decided();
    assert_eq!(flight::due(&fixture.flight, &fixture.waypoints, fixture.now), [Due::Land(id("w"))]);
    assert_eq!(fixture.state("w").counters.attempts, 1);
}

#[test]
fn work_of_a_person_that_is_sent_back_is_a_builders_to_go_on_with() {
    let mut fixture = building();
    take(&mut fixture, ADA);
    hand_in(&mut fixture, ADA).turn();
    let commit = fixture.state("w").work.unwrap().commit.unwrap();
    let turn = fixture.report("w", |report| report.criteria[0].result.verdict = Verdict::Fail).turn();
    assert_eq!(build_request(&turn).start, commit);
    assert_eq!(
        (queued_for(&turn).as_str(), fixture.open_turn("w").unwrap().taken_by().cloned()),
        (role::BUILDER, None)
    );
}

#[test]
fn work_that_cannot_be_used_is_refused_and_its_person_keeps_the_turn() {
    let mut fixture = building();
    take(&mut fixture, ADA);
    let broken = fixture.hand_in_act("w", ADA, failure(ReasonCode::HandoffInvalid));
    assert_eq!(code(fixture.feed("w", broken)), ActCode::Invalid);
    let state = fixture.state("w");
    assert_eq!((state.counters.attempts, state.counters.reworks), (0, 0));
    let approval = fixture.completion("w", ADA, Outcome::Complete);
    assert_eq!(code(fixture.feed("w", approval)), ActCode::Invalid, "a turn that makes work is not approved");
    hand_in(&mut fixture, ADA).turn();
}

#[test]
fn nobody_hands_in_or_gives_back_what_nobody_took_over() {
    let mut fixture = building();
    let work = fixture.work(Vec::new());
    let handed = fixture.hand_in_act("w", ADA, work);
    assert_eq!(code(fixture.feed("w", handed)), ActCode::NothingOpen);
    let release = fixture.release_act("w", ADA);
    assert_eq!(code(fixture.feed("w", release)), ActCode::NothingOpen);
}

#[test]
fn a_turn_goes_back_to_its_role_when_its_persons_time_is_over() {
    let mut fixture = building();
    take(&mut fixture, ADA);
    assert_eq!(fixture.open_turn("w").unwrap().deadline, fixture.now.after(TAKEN_TIME));
    let turn = fixture.turn("w");
    fixture.now = fixture.now.after(TAKEN_TIME - Duration::from_secs(1));
    assert!(flight::due(&fixture.flight, &fixture.waypoints, fixture.now).is_empty());
    fixture.now = fixture.now.after(Duration::from_secs(1));
    let due = flight::due(&fixture.flight, &fixture.waypoints, fixture.now);
    assert_eq!(due, [Due::Deadline(id("w"), turn.turn_id.clone())]);
    let late = fixture.work(Vec::new());
    let late = fixture.hand_in_act("w", ADA, late);
    let opened = fixture.feed("w", Input::DeadlinePassed(Box::new(turn))).turn();
    assert_eq!((queued_for(&opened).as_str(), fixture.status("w")), (role::BUILDER, Status::Running));
    assert_eq!(fixture.open_turn("w").unwrap().redeliveries, 0, "no agent let it pass");
    fixture.feed("w", late).refusal();
}

#[test]
fn a_turn_that_was_held_while_a_person_had_it_is_its_roles_when_it_is_tried_again() {
    let mut fixture = building();
    take(&mut fixture, ADA);
    fixture.feed("w", Input::TooLarge(crate::waypoint::Oversize { bytes: 2, most: 1 })).decided();
    let Phase::Held(held) = fixture.state("w").phase else { panic!("it is held") };
    assert!(matches!(held.resume, Resume::Turn(open) if open.taken_by().is_none() && !open.is_peoples()));
    assert_eq!(queued_for(&fixture.retry("w", |_| {}).turn()).as_str(), role::BUILDER);
}

#[test]
fn who_made_the_work_cannot_approve_or_review_it() {
    let mut fixture = approved();
    take(&mut fixture, ADA);
    hand_in(&mut fixture, ADA).turn();
    fixture.report("w", |_| {}).turn();
    for outcome in [Outcome::Complete, Outcome::NeedsReview] {
        let own = fixture.completion("w", ADA, outcome);
        let refusal = fixture.feed("w", own).refusal();
        assert!(refusal.to_string().contains("made the work"), "{refusal}");
    }
    for (by, why) in [(ADA, "made the work"), (BOB, "nothing to take over")] {
        let act = fixture.take_act("w", by);
        let refusal = fixture.feed("w", act).refusal();
        assert!(refusal.to_string().contains(why), "{by}: {refusal}");
    }
    let other = fixture.completion("w", BOB, Outcome::Complete);
    fixture.feed("w", other).decided();
}

#[test]
fn an_agents_gate_that_is_taken_over_is_completed_by_its_person_alone() {
    let mut fixture = under_review();
    take(&mut fixture, ADA);
    let actions = flight::actions(&fixture.flight, &id("w"), Some(&fixture.state("w")));
    assert_eq!(actions, [Verb::Approve, Verb::Reject, Verb::Release, Verb::Cancel]);
    fixture.fulfil("w", |_| {}).refusal();
    let stranger = fixture.completion("w", BOB, Outcome::Complete);
    assert_eq!(code(fixture.feed("w", stranger)), ActCode::NotAllowed);
    let work = fixture.work(Vec::new());
    let work = fixture.hand_in_act("w", ADA, work);
    assert_eq!(code(fixture.feed("w", work)), ActCode::Invalid);
    let own = fixture.completion("w", ADA, Outcome::Complete);
    fixture.feed("w", own).decided();
    assert_eq!(fixture.state("w").history.last().unwrap().agent, Some(person(ADA)));
}

#[test]
fn who_made_the_work_takes_over_no_review_of_it() {
    let mut fixture = under_review();
    fixture.fulfil("w", |completion| {
        completion.outcome = Some(Outcome::NeedsReview);
        completion.blockers = vec!["name it better".to_owned()];
    });
    take(&mut fixture, ADA);
    hand_in(&mut fixture, ADA).turn();
    fixture.report("w", |_| {}).turn();
    let own = fixture.take_act("w", ADA);
    assert_eq!(code(fixture.feed("w", own)), ActCode::NotAllowed);
    take(&mut fixture, BOB);
}
