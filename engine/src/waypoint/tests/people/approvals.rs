//! Gates for people: who completes them, where the work goes.

use holdpoint_planfile::workflows;
use holdpoint_protocol::{
    artifact::{ActCode, StatusMutation},
    facts::Verdict,
    ids::role,
    plan::Plan,
    reason::ReasonCode,
    state::{Outcome, Status},
    time::Millis,
    turn::{Turn, TurnRequest},
    workflow::{GateSpec, WorkflowSpec},
};

use super::{code, reason};
use crate::{
    flight::{self, Due},
    testing::{
        desk::person,
        fixture::Fixture,
        parts::{build_request, fleet, id, plan, waypoint},
    },
    waypoint::{Input, MergeResult},
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

#[test]
fn verified_work_waits_for_a_person_and_lands_once_one_approves() {
    let mut fixture = waiting_for_approval();
    let open = fixture.open_turn("w").unwrap();
    assert_eq!((open.gate.as_str(), open.is_peoples()), ("approve", true));
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
    let gates = spec.all_gates().cloned().map(|gate| match gate.require_human {
        true => GateSpec { people: vec![person("human-bob")], can_reject: false, ..gate },
        false => gate,
    });
    let named = WorkflowSpec::new("named", gates);
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
fn a_gate_that_nobody_completes_in_time_is_offered_once_more_then_held_and_opens_again() {
    let mut fixture = waiting_for_approval();
    let pass = |fixture: &mut Fixture| {
        let turn = fixture.turn("w");
        fixture.now = turn.deadline;
        fixture.feed("w", Input::DeadlinePassed(Box::new(turn)))
    };
    let first = fixture.open_turn("w").unwrap();
    for _ in 0..2 {
        let again = pass(&mut fixture).turn();
        assert_eq!((&again.role, &again.gate), (&first.role, &first.gate));
        assert_ne!(again.turn_id, first.turn, "the inbox has another reference: people are notified once more");
        assert_eq!((fixture.status("w"), reason(&fixture)), (Status::Waiting, ReasonCode::GateTimeout));
        let said = fixture.state("w").decision.unwrap().remediation.unwrap();
        assert!(said.contains("it is open once more. `holdpoint approve w`"), "{said}");
        pass(&mut fixture).decided();
        assert_eq!((fixture.status("w"), reason(&fixture)), (Status::Blocked, ReasonCode::GateTimeout));
        fixture.retry("w", |_| {}).turn();
    }
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
        let merge = MergeResult::Clean { commit: fixture.commit(), violations: Vec::new(), same_diff };
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
fn two_steps_of_people_need_no_verifier_and_land_nothing() {
    let sign = |id: &str, can_reject| GateSpec {
        can_reject,
        require_human: true,
        timeout: Some(Millis(60_000)),
        ..GateSpec::new(id.parse().unwrap(), "approver".parse().unwrap())
    };
    let spec = WorkflowSpec::new("signed", [sign("draft", false), sign("sign", true)]);
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
        can_reject,
        ..GateSpec::new(id.parse().unwrap(), role::id(role_name))
    };
    let gates = [gate("build", role::BUILDER, false), gate("verify", role::VERIFIER, true)];
    let value = WorkflowSpec::new("fly", gates);
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
