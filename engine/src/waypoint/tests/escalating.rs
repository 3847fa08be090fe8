//! Turns that nobody answers in time, at each kind of gate: how they go through its chain, and where they end.

use holdpoint_protocol::{
    api::InboxKind,
    artifact::{ActCode, Verb, VerificationPurpose},
    facts::Verdict,
    ids::role,
    org::Plane,
    reason::ReasonCode,
    refusal::RefusalCode,
    state::{OpenTurn, Outcome, Phase, Purpose, Status},
    time::Millis,
    turn::TurnRequest,
    workflow::{Escalation, GateSpec, WorkflowSpec},
};

use proptest::prelude::*;

use super::{invariants::in_every_history, people::code};
use crate::testing::{
    desk::{ADA, BOB, person},
    fixture::{Fed, Fixture},
    parts::{build_request, failure, fleet, id, plan, to, to_people, waypoint},
};
use crate::{
    flight::{self},
    waypoint::{Input, TAKEN_TIME, queued_for},
};

/// The time of every gate here.
const TIMEOUT: Millis = Millis(60_000);

fn gate(name: &str, role_name: &str, chain: &[Escalation]) -> GateSpec {
    let (id, role) = (name.parse().unwrap(), role_name.parse().unwrap());
    GateSpec {
        can_reject: name != "build",
        timeout: Some(TIMEOUT),
        escalations: chain.to_vec(),
        ..GateSpec::new(id, role)
    }
}

fn makers(role_name: &str) -> Escalation {
    Escalation { plane: Some(Plane::Build), ..to(role_name) }
}

/// Build, verify, and a review, by these chains; the first turn is open.
fn chained(build: &[Escalation], verify: &[Escalation], review: &[Escalation], repair: bool) -> Fixture {
    let mut plan = plan(vec![waypoint("w", &[])]);
    plan.workflow = "declared".to_owned();
    let gates = [
        gate("build", role::BUILDER, build),
        gate("verify", role::VERIFIER, verify),
        gate("review", "reviewer", review),
    ];
    let fleet = holdpoint_protocol::journal::Fleet { repair, ..fleet() };
    let mut fixture = Fixture::flown_by(plan, fleet, &[WorkflowSpec::new("declared", gates)]);
    fixture.feed("w", Input::Open).turn();
    fixture
}

fn built(build: &[Escalation]) -> Fixture {
    chained(build, &[], &[], false)
}

fn reviewed(review: &[Escalation]) -> Fixture {
    let mut fixture = chained(&[], &[], review, false);
    fixture.build_ok("w").turn();
    fixture.report("w", |_| {}).turn();
    fixture
}

fn open(fixture: &Fixture) -> OpenTurn {
    fixture.open_turn("w").expect("a turn is open")
}

fn deadline(fixture: &mut Fixture) -> Fed {
    fixture.pass_deadline("w")
}

/// Whose the turn is after its deadline passed.
fn after_deadline(fixture: &mut Fixture) -> String {
    deadline(fixture).turn().role.to_string()
}

fn stands(fixture: &Fixture) -> (Status, ReasonCode) {
    (fixture.status("w"), fixture.state("w").decision.expect("it was decided").reason_code)
}

fn remediation(fixture: &Fixture) -> String {
    fixture.state("w").decision.and_then(|decision| decision.remediation).expect("a person is told")
}

const HELD: (Status, ReasonCode) = (Status::Blocked, ReasonCode::GateTimeout);

#[test]
fn each_role_of_a_chain_has_the_turn_for_the_gates_time_and_then_the_work_is_held() {
    let mut fixture = reviewed(&[to("chief"), to_people("lead", &[ADA]), to_people("director", &[BOB])]);
    let opened = open(&fixture);
    for (role, status) in [("chief", Status::Running), ("lead", Status::Waiting), ("director", Status::Waiting)] {
        assert_eq!(after_deadline(&mut fixture), role);
        assert_eq!(stands(&fixture), (status, ReasonCode::GateTimeout));
        assert!(remediation(&fixture).contains(&format!("in time: it is {role}'s now")), "{}", remediation(&fixture));
    }
    assert_eq!(open(&fixture).deadline, fixture.now.after(TIMEOUT.duration()), "people wait in no queue");
    let late = fixture.completion("w", ADA, Outcome::Complete);
    let refusal = fixture.feed("w", late).refusal().to_string();
    assert!(refusal.contains("human-bob may, because nobody did in time"), "{refusal}");
    deadline(&mut fixture).decided();
    assert_eq!(stands(&fixture), HELD);
    assert!(
        remediation(&fixture).contains("of the roles reviewer, chief, lead, director"),
        "{}",
        remediation(&fixture)
    );
    fixture.crash();
    let again = fixture.retry("w", |_| {}).turn();
    assert_eq!((again.role.as_str(), open(&fixture).link), ("reviewer", 0), "the gate's own role has it again");
    assert_eq!(open(&fixture).deadline.since(open(&fixture).opened_at), opened.deadline.since(opened.opened_at));
    fixture.fulfil("w", |_| {}).decided();
    assert_eq!(fixture.state("w").decision.unwrap().reason_code, ReasonCode::CriteriaMet);
}

#[test]
fn what_a_turn_was_told_goes_through_the_chain_and_stays_with_held_work() {
    let mut fixture = built(&[makers("senior")]);
    fixture.build_ok("w").turn();
    fixture.report("w", |report| report.criteria[0].result.verdict = Verdict::Fail).turn();
    let told = build_request(&fixture.turn("w")).feedback.clone();
    assert!(told.is_some());
    let senior = deadline(&mut fixture).turn();
    assert_eq!((senior.role.as_str(), &build_request(&senior).feedback), ("senior", &told));
    deadline(&mut fixture).decided();
    let again = fixture.retry("w", |retry| retry.note = Some("the mirror is back".to_owned())).turn();
    let mut told = told.unwrap();
    told.notes.push("the mirror is back".to_owned());
    assert_eq!((again.role.as_str(), &build_request(&again).feedback), (role::BUILDER, &Some(told)));
}

#[test]
fn a_turn_that_makes_work_goes_on_to_other_makers() {
    let mut fixture = built(&[makers("senior"), to(role::REPAIR)]);
    let first = fixture.turn("w");
    let late = {
        let work = fixture.work(Vec::new());
        Input::Built(fixture.handoff("w", work))
    };
    let senior = deadline(&mut fixture).turn();
    assert_eq!((senior.role.as_str(), &senior.request), ("senior", &first.request), "it asks the same");
    assert_eq!(queued_for(&senior).as_str(), "senior");
    assert_eq!(fixture.feed("w", late).refusal().code(), RefusalCode::TurnNotOpen);
    let failed = fixture.build("w", failure(ReasonCode::AgentFailed)).turn();
    assert_eq!(failed.role.as_str(), "senior", "whoever has it tries again");
    assert_eq!(after_deadline(&mut fixture), role::REPAIR);
    fixture.build_ok("w").turn();
    assert_eq!(fixture.state("w").work.unwrap().role.as_str(), role::REPAIR);
    let back = fixture.report("w", |report| report.criteria[0].result.verdict = Verdict::Fail).turn();
    assert_eq!(back.role.as_str(), role::BUILDER, "what is sent back is the gate's own role's again");
}

#[test]
fn repair_has_a_turn_as_the_one_that_tries_again_and_as_a_link_of_the_chain() {
    let mut fixture = chained(&[to(role::REPAIR), makers("senior")], &[], &[], true);
    let again = fixture.build("w", failure(ReasonCode::AgentFailed)).turn();
    assert_eq!((again.role.as_str(), open(&fixture).link), (role::REPAIR, 0));
    assert_eq!((after_deadline(&mut fixture).as_str(), open(&fixture).link), (role::REPAIR, 1));
    assert_eq!((after_deadline(&mut fixture).as_str(), open(&fixture).link), ("senior", 2));
}

#[test]
fn a_turn_that_makes_work_waits_for_the_people_of_its_chain_and_one_of_them_takes_it() {
    let mut fixture = built(&[to_people("lead", &[ADA, BOB])]);
    let lead = deadline(&mut fixture).turn();
    assert_eq!((lead.role.as_str(), stands(&fixture)), ("lead", (Status::Waiting, ReasonCode::GateTimeout)));
    assert!(matches!(lead.request, TurnRequest::Build(_)));
    assert!(remediation(&fixture).contains("`holdpoint take w`"), "{}", remediation(&fixture));
    assert_eq!(queued_for(&fixture.turn("w")).as_str(), role::OPERATOR, "no agent pulls it");
    let waits = flight::waits(&fixture.flight, &fixture.waypoints);
    assert_eq!((waits[0].kind, &waits[0].taken_by), (InboxKind::Turn, &None));
    let actions = |fixture: &Fixture| flight::actions(&fixture.flight, &id("w"), Some(&fixture.state("w")));
    assert_eq!(actions(&fixture), [Verb::Take, Verb::Cancel]);
    let stolen = fixture.build_ok("w").refusal();
    assert_eq!(stolen.code(), RefusalCode::TurnNotOpen, "an agent of that role that knows its token: {stolen}");
    let approval = fixture.completion("w", ADA, Outcome::Complete);
    assert_eq!(code(fixture.feed("w", approval)), ActCode::Invalid);
    let work = fixture.work(Vec::new());
    let early = fixture.hand_in_act("w", ADA, work);
    assert_eq!(code(fixture.feed("w", early)), ActCode::NothingOpen, "it has to be taken first");
    let stranger = fixture.take_act("w", "human-eve");
    let refusal = fixture.feed("w", stranger).refusal();
    assert!(refusal.to_string().contains("human-ada, human-bob may, because nobody did in time"), "{refusal}");

    let take = fixture.take_act("w", ADA);
    fixture.feed("w", take).turn();
    assert_eq!((open(&fixture).taken_by().cloned(), open(&fixture).link), (Some(person(ADA)), 1));
    let second = fixture.take_act("w", BOB);
    assert_eq!(code(fixture.feed("w", second)), ActCode::AnswerLate);
    let release = fixture.release_act("w", ADA);
    fixture.feed("w", release).turn();
    let given_back = open(&fixture);
    assert_eq!((given_back.taken_by(), given_back.is_peoples(), actions(&fixture)[0]), (None, true, Verb::Take));
    assert_eq!(queued_for(&fixture.turn("w")).as_str(), role::OPERATOR, "it is the people's again, and no agent's");

    let take = fixture.take_act("w", ADA);
    fixture.feed("w", take).turn();
    let work = fixture.work(Vec::new());
    let handed = fixture.hand_in_act("w", ADA, work);
    assert_eq!(fixture.feed("w", handed).turn().gate.as_str(), "verify");
    let made = fixture.state("w").work.unwrap();
    assert_eq!((made.agent.as_str(), made.role.as_str()), (ADA, "lead"));
}

#[test]
fn a_person_who_lets_a_taken_turn_pass_gives_it_back_to_the_people_of_its_link() {
    let mut fixture = built(&[to_people("lead", &[ADA]), to_people("director", &[BOB])]);
    deadline(&mut fixture).turn();
    let take = fixture.take_act("w", ADA);
    fixture.feed("w", take).turn();
    assert_eq!(open(&fixture).deadline, fixture.now.after(TAKEN_TIME));
    assert_eq!((after_deadline(&mut fixture).as_str(), open(&fixture).is_peoples()), ("lead", true));
    assert_eq!(after_deadline(&mut fixture), "director");
    assert!(
        remediation(&fixture).contains("nobody of role lead took the turn of gate build"),
        "{}",
        remediation(&fixture)
    );
    let late = fixture.take_act("w", ADA);
    assert_eq!(code(fixture.feed("w", late)), ActCode::NotAllowed);
    deadline(&mut fixture).decided();
    assert_eq!(stands(&fixture), HELD);
    assert_eq!(fixture.retry("w", |_| {}).turn().role.as_str(), role::BUILDER);
}

#[test]
fn people_have_a_day_for_a_turn_that_makes_work_where_its_gate_has_no_time() {
    let mut plan = plan(vec![waypoint("w", &[])]);
    plan.workflow = "declared".to_owned();
    let build = GateSpec { timeout: None, ..gate("build", role::BUILDER, &[to_people("lead", &[ADA])]) };
    let spec = WorkflowSpec::new("declared", [build, gate("verify", role::VERIFIER, &[])]);
    let mut fixture = Fixture::flown_by(plan, fleet(), &[spec]);
    fixture.feed("w", Input::Open).turn();
    deadline(&mut fixture).turn();
    assert_eq!(open(&fixture).deadline, fixture.now.after(TAKEN_TIME));
}

#[test]
fn a_base_that_nobody_tries_in_time_is_no_makers_turn() {
    let mut plan = plan(vec![waypoint("w", &[])]);
    plan.workflow = "declared".to_owned();
    plan.waypoints[0].criteria[0].check.as_mut().unwrap().red_first = true;
    let gates = [gate("build", role::BUILDER, &[to_people("lead", &[ADA])]), gate("verify", role::VERIFIER, &[])];
    let mut fixture = Fixture::flown_by(plan, fleet(), &[WorkflowSpec::new("declared", gates)]);
    fixture.feed("w", Input::Open).turn();
    assert_eq!(after_deadline(&mut fixture), role::VERIFIER, "the base is tried again");
    assert_eq!(open(&fixture).purpose, Purpose::Verify(VerificationPurpose::Baseline));
}

#[test]
fn what_no_verifier_answers_is_held_at_once_for_the_people_of_its_chain() {
    let chain = [to_people("lead", &[ADA]), to_people("director", &[BOB])];
    let mut fixture = chained(&[], &chain, &[], false);
    fixture.build_ok("w").turn();
    let asked = fixture.turn("w").request;
    deadline(&mut fixture).decided();
    assert_eq!(stands(&fixture), HELD);
    let text = remediation(&fixture);
    for part in [
        "no agent of role verifier answered gate verify",
        "human-ada (lead), then human-bob (director)",
        "`holdpoint retry w`",
    ] {
        assert!(text.contains(part), "{text}");
    }
    let waits = crate::flight::waits(&fixture.flight, &fixture.waypoints);
    assert_eq!(waits[0].to.iter().map(ToString::to_string).collect::<Vec<_>>(), [ADA, BOB]);
    let again = fixture.retry("w", |_| {}).turn();
    assert_eq!((again.role.as_str(), again.request), (role::VERIFIER, asked), "only verifiers judge");
    fixture.report("w", |_| {}).turn();
    fixture.fulfil("w", |_| {}).decided();
}

#[test]
fn a_merge_that_no_verifier_answers_is_held_for_the_same_people() {
    let mut plan = plan(vec![waypoint("w", &[]), waypoint("x", &[])]);
    plan.workflow = "declared".to_owned();
    let verify = gate("verify", role::VERIFIER, &[to_people("lead", &[ADA])]);
    let spec = WorkflowSpec::new("declared", [gate("build", role::BUILDER, &[]), verify]);
    let mut fixture = Fixture::flown_by(plan, fleet(), &[spec]);
    fixture.accept("w");
    fixture.accept("x");
    fixture.land("x");
    fixture.merge("w", true).turn();
    deadline(&mut fixture).decided();
    assert_eq!(stands(&fixture), HELD);
    fixture.retry("w", |_| {}).turn();
    assert_eq!(open(&fixture).purpose, Purpose::Verify(VerificationPurpose::Merge));
}

#[test]
fn a_gate_that_escalates_to_nobody_says_how_often_it_was_offered_again() {
    let mut fixture = reviewed(&[]);
    let overdue = |fixture: &Fixture| {
        let view = flight::view(&fixture.flight, &fixture.waypoints, None, Vec::new(), |_, _| None).unwrap();
        view.waypoints[0].turn.as_ref().map(|turn| turn.overdue)
    };
    for times in 0..=3 {
        assert_eq!(overdue(&fixture), Some(times));
        deadline(&mut fixture);
    }
    assert_eq!(stands(&fixture), (Status::Blocked, ReasonCode::TurnPoisoned));
}

#[test]
fn only_time_takes_a_turn_to_the_next_role_of_its_chain_and_no_agent_answers_one_for_people() {
    in_every_history(|story| {
        for transition in &story.fixture.trace {
            let (Phase::InTurn(before), Phase::InTurn(after)) = (&transition.before.phase, &transition.after.phase)
            else {
                continue;
            };
            if after.gate == before.gate && after.link > before.link {
                let by_time = matches!(transition.input, Input::DeadlinePassed(_));
                prop_assert!(by_time && after.link == before.link + 1, "{transition:?}");
            }
            let by_agent = matches!(transition.input, Input::Built(_) | Input::Fulfilled(_) | Input::Reported(_));
            prop_assert!(!(by_agent && before.is_peoples()), "{transition:?}");
        }
        Ok(())
    });
}
