//! Several gates at the same time, and how they join (GATE-29).

mod random;

use holdpoint_protocol::{
    artifact::{Completion, VerificationPurpose},
    facts::Verdict,
    ids::role,
    reason::ReasonCode,
    refusal::RefusalCode,
    state::{BranchStanding, Outcome, Phase, Purpose, Status},
    time::Millis,
    turn::Feedback,
    workflow::{ForkKind, ForkSpec, GateOrFork, GateSpec, JoinStrategy, WorkflowSpec},
};

use crate::testing::{
    desk::ADA,
    fixture::{Fed, Fixture},
    parts::{build_request, fleet, plan, to, to_people, waypoint},
};
use crate::{
    flight,
    testing::account::Account,
    waypoint::{self, Input, Refusal},
};

fn gate(name: &str, role_name: &str) -> GateSpec {
    GateSpec::new(name.parse().unwrap(), role_name.parse().unwrap())
}

fn review(name: &str, role_name: &str) -> GateSpec {
    GateSpec { can_reject: true, timeout: Some(Millis(60_000)), ..gate(name, role_name) }
}

fn approval() -> GateSpec {
    GateSpec { require_human: true, people: vec![ADA.parse().unwrap()], ..review("approve", "owner") }
}

fn verify() -> GateSpec {
    GateSpec { can_reject: true, ..gate("verify", role::VERIFIER) }
}

fn fork(join_strategy: JoinStrategy, branches: Vec<GateSpec>) -> GateOrFork {
    let id = "reviews".parse().unwrap();
    GateOrFork::Fork(ForkSpec {
        id,
        kind: ForkKind::Fork,
        description: None,
        branches,
        join_strategy,
        when: None,
        metadata: [].into(),
    })
}

/// Work that was made and verified, at a fork of these branches, with a gate behind it.
fn at_fork(strategy: JoinStrategy, branches: Vec<GateSpec>) -> Fixture {
    let mut spec = WorkflowSpec::new("declared", [gate("build", role::BUILDER), verify()]);
    spec.gates.push(fork(strategy, branches));
    spec.gates.push(review("sign", "lead").into());
    let mut fixture = flown(spec);
    fixture.build_ok("w").turn();
    fixture.report("w", |_| {}).turn();
    fixture.fork("w");
    fixture
}

fn flown(spec: WorkflowSpec) -> Fixture {
    let mut plan = plan(vec![waypoint("w", &[])]);
    plan.workflow = "declared".to_owned();
    let mut fixture = Fixture::flown_by(plan, fleet(), &[spec]);
    fixture.feed("w", Input::Open).turn();
    fixture
}

fn three() -> Vec<GateSpec> {
    vec![review("security", "security"), review("docs", "writer"), review("style", "editor")]
}

fn open_gates(fixture: &Fixture) -> Vec<String> {
    fixture.state("w").open_turns().map(|open| open.gate.to_string()).collect()
}

/// This branch votes, by an agent of its name.
fn vote(fixture: &mut Fixture, gate: &'static str, outcome: Outcome) -> Fed {
    (fixture.at, fixture.agent) = (Some(gate), gate);
    let taken = fixture.fulfil("w", |completion| says(completion, gate, outcome));
    fixture.at = None;
    taken
}

fn says(completion: &mut Completion, gate: &str, outcome: Outcome) {
    completion.outcome = Some(outcome);
    if outcome != Outcome::Complete {
        completion.blockers = vec![format!("{gate} wants a change")];
    }
}

fn feedback(fixture: &Fixture) -> Feedback {
    build_request(&fixture.turn("w")).feedback.clone().expect("the work came back")
}

/// An auditor of the journals finds nothing wrong.
fn is_sound(fixture: &mut Fixture) {
    fixture.crash();
    let audit = Account::of(fixture).audit();
    assert_eq!(audit.findings, [], "the audit agrees");
}

#[test]
fn every_branch_of_a_fork_is_open_at_the_same_time_by_an_entry_of_its_own() {
    let mut fixture = at_fork(JoinStrategy::All, three());
    assert_eq!(open_gates(&fixture), ["security", "docs", "style"]);
    assert_eq!(fixture.status("w"), Status::Running);
    let view = flight::view(&fixture.flight, &fixture.waypoints, None, Vec::new(), |_, _| None).unwrap();
    let seen = &view.waypoints[0];
    assert_eq!((seen.gate.as_ref().unwrap().as_str(), seen.branches.len()), ("reviews", 3));
    assert!(seen.branches.iter().all(|branch| branch.turn.is_some()));
    is_sound(&mut fixture);
}

#[test]
fn with_all_every_branch_has_to_complete_before_work_goes_on() {
    let mut fixture = at_fork(JoinStrategy::All, three());
    for gate in ["docs", "security"] {
        vote(&mut fixture, gate, Outcome::Complete).decided();
        fixture.fork("w");
        assert_eq!(fixture.state("w").phase, Phase::Forked, "{gate} is not everybody");
    }
    vote(&mut fixture, "style", Outcome::Complete).decided();
    fixture.fork("w");
    assert_eq!(open_gates(&fixture), ["sign"]);
    assert_eq!(fixture.state("w").fork, None);
    let visits: Vec<_> = fixture.state("w").history.iter().map(|v| (v.gate.to_string(), v.outcome)).collect();
    assert!(visits.contains(&("docs".to_owned(), Some(Outcome::Complete))), "{visits:?}");
    vote(&mut fixture, "sign", Outcome::Complete).decided();
    fixture.land("w");
    is_sound(&mut fixture);
}

#[test]
fn with_all_a_rejection_waits_for_the_others_and_the_work_goes_back_once_with_everybodys_blockers() {
    let mut fixture = at_fork(JoinStrategy::All, three());
    vote(&mut fixture, "security", Outcome::NeedsReview).decided();
    vote(&mut fixture, "docs", Outcome::Complete).decided();
    fixture.fork("w");
    assert_eq!(open_gates(&fixture), ["style"], "the third is waited for");
    vote(&mut fixture, "style", Outcome::NeedsReview).decided();
    fixture.fork("w");
    assert_eq!((open_gates(&fixture), fixture.state("w").counters.reworks), (vec!["build".to_owned()], 1));
    let told = feedback(&fixture);
    let wanted = ["security: security wants a change", "style: style wants a change"];
    assert_eq!((told.notes, told.reason_code), (wanted.map(str::to_owned).to_vec(), ReasonCode::ApprovalRejected));
    let review = told.review.unwrap();
    assert_eq!((review.from_gate.as_str(), review.from_role.as_str()), ("reviews", "security"));
    assert_eq!(review.from_agent.unwrap().as_str(), "security");
    is_sound(&mut fixture);
}

#[test]
fn a_majority_goes_on_over_one_rejection_and_what_is_open_is_superseded() {
    let mut fixture = at_fork(JoinStrategy::Majority, three());
    vote(&mut fixture, "security", Outcome::NeedsReview).decided();
    fixture.fork("w");
    vote(&mut fixture, "docs", Outcome::Complete).decided();
    fixture.fork("w");
    assert_eq!(open_gates(&fixture), ["style"]);
    vote(&mut fixture, "style", Outcome::Complete).decided();
    fixture.fork("w");
    assert_eq!((open_gates(&fixture), fixture.state("w").counters.reworks), (vec!["sign".to_owned()], 0));
    is_sound(&mut fixture);

    let mut fixture = at_fork(JoinStrategy::Any, three());
    fixture.at = Some("style");
    let late = fixture.fulfilment("w", |_| {});
    let open = fixture.open_turn("w").unwrap();
    vote(&mut fixture, "docs", Outcome::Complete).decided();
    fixture.fork("w");
    assert_eq!(open_gates(&fixture), ["sign"]);
    assert!(!waypoint::is_current(&fixture.state("w"), &open.turn), "the agent of `style` is told to stop");
    let style = fixture.state("w").history.iter().find(|visit| visit.gate.as_str() == "style").cloned().unwrap();
    assert_eq!(style.outcome, Some(Outcome::Skip));
    assert_eq!(fixture.feed("w", late).refusal(), Refusal::NotOpen { turn: open.turn });
    is_sound(&mut fixture);
}

#[test]
fn a_majority_that_cannot_be_reached_any_more_sends_the_work_back_at_once() {
    let mut fixture = at_fork(JoinStrategy::Majority, three());
    vote(&mut fixture, "security", Outcome::NeedsReview).decided();
    vote(&mut fixture, "docs", Outcome::NeedsReview).decided();
    fixture.fork("w");
    assert_eq!(open_gates(&fixture), ["build"]);
    assert_eq!(feedback(&fixture).notes.len(), 2);
    is_sound(&mut fixture);
}

#[test]
fn one_agent_votes_once_and_who_made_the_work_not_at_all() {
    let same = |name: &str| review(name, "reviewer");
    let mut fixture = at_fork(JoinStrategy::Majority, vec![same("one"), same("two"), same("three")]);
    (fixture.at, fixture.agent) = (Some("one"), "reviewer-1");
    fixture.fulfil("w", |_| {}).decided();
    fixture.at = Some("two");
    let second = fixture.open_turn("w").unwrap().turn;
    let told = |agent: &str| fixture.for_others("w", &second, agent);
    assert!(told("reviewer-1").unwrap().contains("another agent"));
    assert_eq!(told("reviewer-2"), None);
    assert!(told("agent-1").unwrap().contains("made a part of the work"));
    let refusal = fixture.fulfil("w", |_| {}).refusal();
    assert_eq!(refusal.code(), RefusalCode::AlreadyVoted);
    fixture.agent = "agent-1";
    assert_eq!(fixture.fulfil("w", |_| {}).refusal().code(), RefusalCode::OwnWork);
    fixture.agent = "reviewer-2";
    fixture.fulfil("w", |_| {}).decided();
    fixture.fork("w");
    assert_eq!(open_gates(&fixture), ["sign"], "two of three are a majority");
    is_sound(&mut fixture);
}

#[test]
fn a_vote_that_comes_again_is_none_whenever_it_comes() {
    let mut fixture = at_fork(JoinStrategy::All, three());
    (fixture.at, fixture.agent) = (Some("security"), "security-1");
    let first = fixture.fulfilment("w", |_| {});
    fixture.feed("w", first.clone());
    assert_eq!(fixture.feed("w", first.clone()), Fed::Nothing);
    vote(&mut fixture, "docs", Outcome::Complete).decided();
    assert_eq!(fixture.feed("w", first.clone()), Fed::Nothing, "another vote came since");
    vote(&mut fixture, "style", Outcome::Complete).decided();
    fixture.fork("w");
    assert_eq!(fixture.feed("w", first), Fed::Nothing, "the fork was decided since");
}

#[test]
fn a_verifiers_branch_is_required_and_its_verdict_takes_the_work_back() {
    let made = || {
        let mut spec = WorkflowSpec::new("declared", [gate("build", role::BUILDER)]);
        spec.gates.push(fork(JoinStrategy::Any, vec![verify(), review("security", "security")]));
        let mut fixture = flown(spec);
        fixture.build_ok("w").turn();
        fixture.fork("w");
        fixture
    };
    let mut fixture = made();
    vote(&mut fixture, "security", Outcome::Complete).decided();
    fixture.fork("w");
    assert_eq!(open_gates(&fixture), ["verify"], "one is enough, and the verifier is required");
    fixture.at = Some("verify");
    fixture.report("w", |_| {}).decided();
    fixture.fork("w");
    fixture.land("w");
    is_sound(&mut fixture);

    let mut fixture = made();
    fixture.at = Some("verify");
    fixture.report("w", |report| report.criteria[0].result.verdict = Verdict::Fail).decided();
    fixture.fork("w");
    fixture.at = None;
    assert_eq!((open_gates(&fixture), fixture.state("w").counters.reworks), (vec!["build".to_owned()], 1));
    assert_eq!(feedback(&fixture).failing.len(), 1);
    is_sound(&mut fixture);
}

#[test]
fn a_merge_is_verified_in_the_verifiers_branch_alone() {
    let mut plan = plan(vec![waypoint("w", &[]), waypoint("v", &[])]);
    plan.workflow = "declared".to_owned();
    let mut spec = WorkflowSpec::new("declared", [gate("build", role::BUILDER)]);
    spec.gates.push(fork(JoinStrategy::All, vec![verify(), review("security", "security")]));
    let mut fixture = Fixture::flown_by(plan, fleet(), &[spec]);
    for name in ["w", "v"] {
        fixture.feed(name, Input::Open).turn();
    }
    for name in ["w", "v"] {
        fixture.build_ok(name).turn();
        fixture.fork(name);
        fixture.at = Some("verify");
        fixture.report(name, |_| {}).decided();
        (fixture.at, fixture.agent) = (Some("security"), "security-1");
        fixture.fulfil(name, |_| {}).decided();
        fixture.at = None;
        fixture.fork(name);
    }
    fixture.land("w");
    fixture.merge("v", true).turn();
    let open = fixture.open_turn("v").unwrap();
    assert_eq!(open.purpose, Purpose::Verify(VerificationPurpose::Merge));
    fixture.report("v", |_| {}).decided();
    fixture.land("v");
    is_sound(&mut fixture);
}

#[test]
fn a_branch_that_nobody_completes_in_time_opens_again_and_the_others_stay() {
    let mut fixture = at_fork(JoinStrategy::All, three());
    vote(&mut fixture, "security", Outcome::Complete).decided();
    fixture.at = Some("docs");
    let (first, style) = (fixture.turn("w"), fixture.state("w").open_turns().nth(1).cloned().unwrap());
    fixture.now = first.deadline;
    fixture.feed("w", Input::DeadlinePassed(Box::new(first.clone()))).turn();
    let again = fixture.open_turn("w").unwrap();
    assert_ne!(again.turn, first.turn_id);
    let state = fixture.state("w");
    assert_eq!(state.open_turns().nth(1), Some(&style), "the other one is as it was");
    assert_eq!(state.open_turns().map(|open| open.redeliveries).collect::<Vec<_>>(), [1, 0]);
    assert_eq!(fixture.feed("w", Input::DeadlinePassed(Box::new(first))), Fed::Nothing);
    is_sound(&mut fixture);
}

#[test]
fn a_branch_goes_through_its_chain_by_itself_and_the_votes_stay_when_nobody_is_left() {
    let mut branches = three();
    branches[1].escalations = vec![to("editor-in-chief"), to_people("owner", &[ADA])];
    let mut fixture = at_fork(JoinStrategy::All, branches);
    vote(&mut fixture, "security", Outcome::Complete).decided();
    fixture.at = Some("docs");
    for role in ["editor-in-chief", "owner"] {
        assert_eq!(fixture.pass_deadline("w").turn().role.as_str(), role);
        assert_eq!(open_gates(&fixture), ["docs", "style"], "the other one is as it was");
    }
    fixture.pass_deadline("w").decided();
    let decided = fixture.state("w").decision.unwrap().reason_code;
    assert_eq!((fixture.status("w"), decided), (Status::Blocked, ReasonCode::GateTimeout));
    assert_eq!(fixture.retry("w", |_| {}).turn().role.as_str(), "writer", "its own role has it again");
    fixture.fork("w");
    vote(&mut fixture, "docs", Outcome::Complete).decided();
    vote(&mut fixture, "style", Outcome::Complete).decided();
    fixture.fork("w");
    assert_eq!(open_gates(&fixture), ["sign"]);
    is_sound(&mut fixture);
}

#[test]
fn a_question_in_a_branch_waits_for_its_answer_while_the_others_go_on() {
    let mut fixture = at_fork(JoinStrategy::All, three());
    fixture.at = Some("docs");
    fixture.ask("w", "which chapter?").decided();
    assert_eq!((open_gates(&fixture).len(), fixture.status("w")), (2, Status::Running));
    vote(&mut fixture, "security", Outcome::Complete).decided();
    vote(&mut fixture, "style", Outcome::Complete).decided();
    assert_eq!(fixture.status("w"), Status::Waiting);
    let waits = flight::waits(&fixture.flight, &fixture.waypoints);
    assert_eq!((waits.len(), waits[0].gate.as_ref().unwrap().as_str()), (1, "docs"));
    fixture.at = Some("docs");
    fixture.answer("w").turn();
    vote(&mut fixture, "docs", Outcome::Complete).decided();
    fixture.fork("w");
    assert_eq!(open_gates(&fixture), ["sign"]);
}

#[test]
fn a_blocked_branch_holds_the_work_and_a_retry_goes_on_with_the_votes() {
    let mut fixture = at_fork(JoinStrategy::All, three());
    vote(&mut fixture, "security", Outcome::Complete).decided();
    vote(&mut fixture, "docs", Outcome::Blocked).decided();
    assert_eq!((fixture.status("w"), open_gates(&fixture).len()), (Status::Blocked, 0));
    fixture.retry("w", |_| {}).turn();
    fixture.fork("w");
    assert_eq!(open_gates(&fixture), ["docs", "style"], "the vote of `security` counts");
    for gate in ["docs", "style"] {
        vote(&mut fixture, gate, Outcome::Complete).decided();
    }
    fixture.fork("w");
    assert_eq!(open_gates(&fixture), ["sign"]);
    is_sound(&mut fixture);
}

#[test]
fn a_used_up_budget_holds_a_fork_and_a_retry_from_the_first_gate_leaves_it() {
    let mut fixture = at_fork(JoinStrategy::All, three());
    fixture.feed("w", Input::BudgetExhausted).decided();
    assert_eq!(fixture.status("w"), Status::Failed);
    fixture.retry("w", |_| {}).decided();
    fixture.fork("w");
    assert_eq!(open_gates(&fixture).len(), 3);
    is_sound(&mut fixture);
    fixture.feed("w", Input::BudgetExhausted).decided();
    fixture.retry("w", |retry| retry.from = Some("build".parse().unwrap())).turn();
    assert_eq!((open_gates(&fixture), fixture.state("w").fork), (vec!["build".to_owned()], None));
    is_sound(&mut fixture);
}

#[test]
fn people_complete_their_branch_by_name_and_vote_once() {
    let second =
        GateSpec { people: vec![ADA.parse().unwrap()], ..GateSpec { id: "legal".parse().unwrap(), ..approval() } };
    let mut fixture = at_fork(JoinStrategy::All, vec![review("security", "security"), approval(), second]);
    let waits = flight::waits(&fixture.flight, &fixture.waypoints);
    assert_eq!(
        waits.iter().map(|waits| waits.gate.clone().unwrap().to_string()).collect::<Vec<_>>(),
        ["approve", "legal"]
    );
    let Input::Completed(mut act) = fixture.completion("w", "human-zed", Outcome::Complete) else { panic!("an act") };
    act.body.on = None;
    let refusal = fixture.feed("w", Input::Completed(act)).refusal();
    assert!(refusal.to_string().contains("may not complete gate approve"), "{refusal}");
    fixture.at = Some("legal");
    let act = fixture.completion("w", ADA, Outcome::Complete);
    fixture.feed("w", act.clone()).decided();
    let fork = fixture.state("w").fork.unwrap();
    assert!(matches!(fork.branches[2].standing, BranchStanding::Voted(_)), "the one that she named");
    assert_eq!(fixture.feed("w", act), Fed::Nothing);
    fixture.at = Some("approve");
    let refusal = fixture.complete("w", Outcome::Complete).refusal();
    assert!(refusal.to_string().contains("voted in this fork already"), "{refusal}");
    vote(&mut fixture, "security", Outcome::Complete).decided();
    assert_eq!(fixture.status("w"), Status::Waiting);
    is_sound(&mut fixture);
}

#[test]
fn branches_whose_condition_does_not_hold_have_no_vote_and_a_fork_of_nothing_is_passed() {
    let some = |name: &str| GateSpec { when: Some("tags.length > 0".to_owned()), ..review(name, "reviewer") };
    let made = |left_out: Vec<&'static str>, failing: Vec<&'static str>, branches: Vec<GateSpec>| {
        let mut spec = WorkflowSpec::new("declared", [gate("build", role::BUILDER), verify()]);
        spec.gates.push(fork(JoinStrategy::All, branches));
        spec.gates.push(review("sign", "lead").into());
        let mut fixture = flown(spec);
        (fixture.conditions.left_out, fixture.conditions.failing) = (left_out, failing);
        fixture.build_ok("w").turn();
        fixture.report("w", |_| {});
        fixture.fork("w");
        fixture
    };
    let fixture = made(vec!["one"], vec![], vec![some("one"), some("two")]);
    assert_eq!(open_gates(&fixture), ["two"]);
    let fixture = made(vec!["one", "two"], vec![], vec![some("one"), some("two")]);
    assert_eq!(open_gates(&fixture), ["sign"]);
    let human = GateSpec { when: Some("true".to_owned()), ..approval() };
    let mut fixture = made(vec![], vec!["approve"], vec![some("one"), human]);
    assert_eq!((fixture.status("w"), fixture.state("w").fork.clone()), (Status::Blocked, None));
    fixture.retry("w", |_| {}).turn();
    fixture.fork("w");
    assert_eq!(open_gates(&fixture), ["one", "approve"], "nobody is passed over by a wrong condition");
    is_sound(&mut fixture);
}

#[test]
fn a_reload_keeps_a_fork_that_is_as_it_was_and_sends_work_before_one_that_changed() {
    let flown = |strategy, branches| {
        let mut spec = WorkflowSpec::new("declared", [gate("build", role::BUILDER), verify()]);
        spec.gates.push(fork(strategy, branches));
        spec.gates.push(review("sign", "lead").into());
        spec
    };
    let mut fixture = at_fork(JoinStrategy::All, three());
    vote(&mut fixture, "security", Outcome::Complete).decided();
    vote(&mut fixture, "docs", Outcome::Complete).decided();
    fixture.reload(ADA, &[flown(JoinStrategy::Majority, three())]).unwrap();
    fixture.fork("w");
    assert_eq!(open_gates(&fixture), ["sign"], "the votes count, by the strategy of today");
    is_sound(&mut fixture);

    let mut fixture = at_fork(JoinStrategy::All, three());
    vote(&mut fixture, "security", Outcome::Complete).decided();
    let legal = review("legal", "legal");
    fixture.reload(ADA, &[flown(JoinStrategy::All, vec![three().remove(0), legal])]).unwrap();
    fixture.migrate("w").turn();
    assert_eq!((open_gates(&fixture), fixture.state("w").fork), (vec!["verify".to_owned()], None));
    is_sound(&mut fixture);
}

#[test]
fn only_a_person_lets_other_votes_count_in_place_of_a_persons() {
    let flown = |strategy| {
        let mut spec = WorkflowSpec::new("declared", [gate("build", role::BUILDER), verify()]);
        spec.gates.push(fork(strategy, vec![approval(), review("docs", "writer")]));
        spec
    };
    let loosened = flight::loosened(&flown(JoinStrategy::All), &flown(JoinStrategy::Any));
    assert!(loosened.unwrap().contains("who looks at gate approve"));
    assert_eq!(flight::loosened(&flown(JoinStrategy::Any), &flown(JoinStrategy::Any)), None);
}

#[test]
fn a_rejected_fork_without_reworks_left_is_held_and_a_cancelled_one_is_over() {
    let mut fixture = at_fork(JoinStrategy::Majority, three());
    fixture.flight.submitted.plan.policy.max_reworks = 0;
    vote(&mut fixture, "security", Outcome::NeedsReview).decided();
    assert_eq!(fixture.status("w"), Status::Running, "one vote decides nothing");
    vote(&mut fixture, "docs", Outcome::NeedsReview).decided();
    fixture.fork("w");
    assert_eq!((fixture.status("w"), fixture.state("w").fork.clone()), (Status::Failed, None));
    fixture.retry("w", |retry| retry.reworks = 1).turn();
    assert_eq!(feedback(&fixture).notes.len(), 2, "what was said is not lost");

    let mut fixture = at_fork(JoinStrategy::All, three());
    let act = fixture.cancel_act("w");
    fixture.feed("w", act).decided();
    let state = fixture.state("w");
    assert_eq!((fixture.status("w"), state.fork.clone(), state.open_turns().count()), (Status::Cancelled, None, 0));
    assert!(state.history.iter().all(|visit| visit.exited.is_some()));
    is_sound(&mut fixture);
}
