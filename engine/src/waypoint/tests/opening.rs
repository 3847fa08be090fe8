//! How a waypoint begins: judge, baseline, first turn, deadlines and budget.

use std::time::Duration;

use holdpoint_protocol::{
    artifact::{Disposition, Doubt, StatusMutation, VerificationPurpose},
    facts::Verdict,
    ids::role,
    plan::{Check, EnvironmentSpec, EvidenceLevel, Guard},
    reason::ReasonCode,
    state::{Phase, Purpose, Status},
    time::Millis,
    turn::TurnRequest,
};

use crate::testing::{
    fixture::{Fed, Fixture},
    parts::{build_request, check, criterion, guard, oid, plan, waypoint},
};
use crate::waypoint::Input;

#[test]
fn a_waypoint_without_guards_and_red_first_opens_with_a_build_turn_on_the_head() {
    let fixture = Fixture::opened(|_, _| {});
    let turn = fixture.turn("w");
    assert_eq!((turn.role.as_str(), turn.gate.as_str(), turn.attempt), (role::BUILDER, "build", 1));
    let request = build_request(&turn);
    assert_eq!((&request.base, &request.start), (&oid(0xa), &oid(0xa)));
    assert_eq!(request.feedback, None);
    assert_eq!(request.protected, ["golden/**"]);
    assert_eq!(turn.decision, None);
    assert!(turn.handoff_subject.ends_with(".demo-1.w"), "{}", turn.handoff_subject);
}

#[test]
fn guards_and_red_first_checks_are_tried_on_the_base_first() {
    for (guarded, red) in [(true, false), (false, true), (true, true)] {
        let mut fixture = Fixture::opened(|plan, _| {
            plan.guards.extend(guarded.then(guard));
            plan.waypoints[0].criteria.push(criterion("new", Some(check(red))));
        });
        let turn = fixture.turn("w");
        let TurnRequest::Verify(request) = &turn.request else { panic!("{turn:?}") };
        assert_eq!(turn.role.as_str(), role::VERIFIER);
        assert_eq!((request.purpose, &request.tree), (VerificationPurpose::Baseline, &oid(0xb)));
        assert_eq!(request.commit, request.base);
        let asked: Vec<&str> = request.criteria.iter().map(|c| c.id.as_str()).collect();
        assert_eq!(asked, if red { vec!["new"] } else { vec![] }, "only what must be red");
        assert_eq!(request.guards.len(), usize::from(guarded));
        let build = fixture.report("w", |_| {}).turn();
        assert_eq!(build.role.as_str(), role::BUILDER);
        assert_eq!(fixture.state("w").counters.attempts, 0);
    }
}

#[test]
fn a_guard_that_is_not_green_on_the_base_blocks_before_anything_is_built() {
    for verdict in [Verdict::Fail, Verdict::Inconclusive] {
        let mut fixture = Fixture::opened(|plan, _| plan.guards.push(guard()));
        let decided = fixture.report("w", |r| r.guards[0].result.verdict = verdict).decided();
        assert_eq!(
            (decided.decision.disposition, decided.decision.reason_code),
            (Disposition::Escalate, ReasonCode::GuardRed)
        );
        assert_eq!(decided.decision.status, Some(StatusMutation { from: Status::Running, to: Status::Blocked }));
        assert!(decided.decision.remediation.unwrap().contains("suite"));
        assert_eq!((fixture.status("w"), fixture.state("w").counters.attempts), (Status::Blocked, 0));
    }
    let mut fixture = Fixture::opened(|plan, _| plan.guards.push(guard()));
    let doubt = || Doubt::note("its submodules are not there (vendor/lib)".to_owned());
    let red =
        fixture.report("w", |r| (r.guards[0].result.verdict, r.doubts) = (Verdict::Fail, vec![doubt()])).decided();
    assert!(red.decision.remediation.unwrap().ends_with("; its submodules are not there (vendor/lib)"));
    let mut fixture = Fixture::opened(|plan, _| plan.guards.push(guard()));
    let decided = fixture.report("w", |r| r.guards.clear()).decided();
    assert_eq!(decided.decision.reason_code, ReasonCode::GuardRed, "a guard without a verdict is not green");
}

#[test]
fn a_red_first_check_that_is_green_on_the_base_blocks_with_no_attempt() {
    let mut fixture = Fixture::opened(|plan, _| plan.waypoints[0].criteria[0].check = Some(check(true)));
    let decided = fixture.report("w", |r| r.criteria[0].result.verdict = Verdict::Pass).decided();
    assert_eq!(decided.decision.reason_code, ReasonCode::NotRed);
    assert!(decided.decision.remediation.unwrap().contains("unit"));
    let state = fixture.state("w");
    assert_eq!((fixture.status("w"), state.counters.attempts), (Status::Blocked, 0));
    assert_eq!(state.criteria.len(), 1, "the verdict can be looked at");
}

#[test]
fn a_baseline_without_a_verdict_on_what_must_be_red_is_refused() {
    let mut fixture = Fixture::opened(|plan, _| plan.waypoints[0].criteria[0].check = Some(check(true)));
    let refusal = fixture.report("w", |r| r.criteria.clear()).refusal();
    assert!(refusal.to_string().contains("criterion unit has no verdict"), "{refusal}");
}

#[test]
fn a_criterion_without_check_needs_a_judge_in_the_fleet() {
    let unchecked = |plan: &mut holdpoint_protocol::plan::Plan| plan.waypoints[0].criteria[0].check = None;
    let fixture = Fixture::opened(|plan, _| unchecked(plan));
    let state = fixture.state("w");
    assert_eq!(state.decision.map(|d| d.reason_code), Some(ReasonCode::JudgeMissing));
    assert_eq!((fixture.status("w"), state.counters.attempts), (Status::Blocked, 0));

    let fixture = Fixture::opened(|plan, fleet| {
        unchecked(plan);
        fleet.judge = true;
    });
    assert_eq!(fixture.turn("w").role.as_str(), role::BUILDER);
}

#[test]
fn rules_that_cannot_both_hold_block_before_anything_is_built() {
    type Change = fn(&mut holdpoint_protocol::plan::Plan);
    let conflicts: [(Change, &str); 4] = [
        (|plan| (plan.guards, plan.waypoints[0].criteria[0].check) = (vec![guard()], red(guard())), "guard suite"),
        (|plan| plan.waypoints[0].scope = vec!["golden/**".to_owned()], "(golden/**)"),
        (|plan| plan.waypoints[0].scope = vec!["golden/a".to_owned(), "golden/b/*.rs".to_owned()], "golden/b/*.rs"),
        (|plan| (plan.waypoints[0].scope, plan.waypoints[0].protected) = (one("a"), one("**")), "(a)"),
    ];
    for (change, named) in conflicts {
        let mut fixture = Fixture::opened(|plan, _| change(plan));
        let state = fixture.state("w");
        let decision = state.decision.expect("it was decided");
        assert_eq!(
            (decision.disposition, decision.reason_code),
            (Disposition::Escalate, ReasonCode::PolicyConflict),
            "{named}"
        );
        assert!(decision.remediation.is_some_and(|text| text.contains(named)), "{named}");
        assert_eq!((fixture.status("w"), state.counters.attempts), (Status::Blocked, 0));
        fixture.retry("w", |_| {}).decided();
        assert_eq!(fixture.status("w"), Status::Blocked, "the plan is the same");
    }
}

#[test]
fn rules_that_leave_something_to_do_are_no_conflict() {
    let changes: [fn(&mut holdpoint_protocol::plan::Plan); 4] = [
        |plan| (plan.guards, plan.waypoints[0].criteria[0].check) = (vec![guard()], Some(guard().check)),
        |plan| (plan.guards, plan.waypoints[0].criteria[0].check) = (vec![guard()], Some(check(true))),
        |plan| plan.waypoints[0].scope = vec!["golden/**".to_owned(), "src/**".to_owned()],
        |plan| plan.waypoints[0].scope = vec!["golden*/**".to_owned()],
    ];
    for change in changes {
        let fixture = Fixture::opened(|plan, _| change(plan));
        assert_eq!(fixture.status("w"), Status::Running);
    }
}

fn red(guard: Guard) -> Option<Check> {
    Some(Check { red_first: true, ..guard.check })
}

fn one(glob: &str) -> Vec<String> {
    vec![glob.to_owned()]
}

#[test]
fn a_waypoint_opens_once() {
    let mut fixture = Fixture::opened(|_, _| {});
    assert_eq!(fixture.feed("w", Input::Open), Fed::Nothing);
}

#[test]
fn a_verifier_has_the_time_of_the_runs_that_strict_evidence_and_mutants_add() {
    let allowed = |evidence: EvidenceLevel, mutants: Option<u32>| {
        let mut fixture = Fixture::opened(|plan, _| {
            let check = plan.waypoints[0].criteria[0].check.as_mut().unwrap();
            (check.timeout, check.evidence, check.mutants) = (Millis(60_000), evidence, mutants);
        });
        let now = fixture.now;
        fixture.build_ok("w").turn().deadline.since(now)
    };
    let minutes = |evidence, mutants| (allowed(evidence, mutants) - allowed(EvidenceLevel::Fast, None)).as_secs() / 60;
    assert_eq!((minutes(EvidenceLevel::Fast, Some(1)), minutes(EvidenceLevel::Fast, Some(20))), (2, 21));
    assert_eq!((minutes(EvidenceLevel::Strict, None), minutes(EvidenceLevel::Strict, Some(1))), (5, 7));
}

#[test]
fn a_turn_is_opened_anew_after_its_deadline_with_the_same_request_and_another_token() {
    let mut fixture = Fixture::opened(|_, _| {});
    let first = fixture.turn("w");
    assert_eq!(fixture.feed("w", Input::DeadlinePassed(Box::new(first.clone()))), Fed::Nothing, "not yet");
    for redelivery in 1..=3 {
        let expired = fixture.turn("w");
        fixture.now = expired.deadline;
        let anew = fixture.feed("w", Input::DeadlinePassed(Box::new(expired.clone()))).turn();
        assert_ne!(anew.turn_id, expired.turn_id);
        assert!(anew.deadline > expired.deadline);
        assert_eq!((&anew.request, &anew.guidance, anew.attempt), (&first.request, &first.guidance, 1));
        assert_eq!(fixture.open_turn("w").unwrap().redeliveries, redelivery);
        assert_eq!(fixture.feed("w", Input::DeadlinePassed(Box::new(expired))), Fed::Nothing, "another's deadline");
    }
    let last = fixture.turn("w");
    fixture.now = last.deadline;
    let dead = fixture.feed("w", Input::DeadlinePassed(Box::new(last.clone()))).dead();
    assert_eq!(dead.decision.reason_code, ReasonCode::TurnPoisoned);
    assert_eq!((&dead.turn, dead.overdue, dead.deaths), (&last.turn_id, 3, vec![]));
    assert!(dead.decision.remediation.is_some_and(|text| text.contains("holdpoint retry w --flight demo-1")));
    assert_eq!((fixture.status("w"), fixture.state("w").counters.attempts), (Status::Blocked, 0));
}

#[test]
fn an_answer_gives_the_next_turn_its_redeliveries_back() {
    let mut fixture = Fixture::opened(|_, _| {});
    let expired = fixture.turn("w");
    fixture.now = expired.deadline;
    fixture.feed("w", Input::DeadlinePassed(Box::new(expired))).turn();
    fixture.build_ok("w").turn();
    assert_eq!(fixture.open_turn("w").unwrap().redeliveries, 0);
}

#[test]
fn a_deadline_leaves_room_for_all_that_a_turn_may_do() {
    let time = |change: fn(&mut holdpoint_protocol::plan::Plan, &mut holdpoint_protocol::journal::Fleet)| {
        let mut fixture = Fixture::opened(change);
        let turn = if fixture.turn("w").role.as_str() == role::BUILDER {
            fixture.build_ok("w").turn()
        } else {
            fixture.turn("w")
        };
        turn.deadline.since(fixture.now)
    };
    let plain = time(|_, _| {});
    assert!(plain >= Duration::from_secs(3 * 60), "three runs of a check of a minute");
    let minutes = |n: u64| Duration::from_secs(n * 60);
    assert_eq!(time(|_, fleet| fleet.queue_grace.0 = 60_000), plain + minutes(1));
    assert_eq!(time(|plan, _| plan.guards.push(guard())), plain + minutes(3));
    let set_up = time(|plan, _| {
        plan.environment =
            Some(EnvironmentSpec { setup: Some("cargo fetch".to_owned()), ..EnvironmentSpec::default() });
    });
    assert!(set_up >= plain + minutes(30));
    let judged = time(|plan, fleet| {
        plan.waypoints[0].criteria.push(criterion("readable", None));
        fleet.judge = true;
    });
    assert!(judged >= plain + minutes(30), "a judge has as long as any other program");
}

#[test]
fn a_used_up_budget_ends_what_is_not_accepted() {
    let mut fixture = Fixture::new(
        plan(vec![waypoint("a", &[]), waypoint("b", &[]), waypoint("c", &[])]),
        crate::testing::parts::fleet(),
    );
    fixture.accept("a");
    fixture.feed("b", Input::Open);
    assert_eq!(fixture.feed("a", Input::BudgetExhausted), Fed::Nothing);
    for name in ["b", "c"] {
        let decided = fixture.feed(name, Input::BudgetExhausted).decided();
        assert_eq!(decided.decision.reason_code, ReasonCode::BudgetExhausted);
        assert_eq!(fixture.status(name), Status::Failed);
        assert_eq!(fixture.feed(name, Input::BudgetExhausted), Fed::Nothing, "once");
    }
}

#[test]
fn guidance_is_for_the_role_and_from_the_covenant() {
    let mut fixture = Fixture::opened(|_, fleet| fleet.repair = true);
    let builder = fixture.turn("w").guidance;
    let verifier = fixture.build_ok("w").turn().guidance;
    let repair = fixture.report("w", |r| r.criteria[0].result.verdict = Verdict::Fail).turn().guidance;
    for guidance in [&builder, &verifier, &repair] {
        assert_eq!(guidance.covenant_version, fixture.flight.submitted.covenant_version);
        assert_eq!(guidance.policy_hash, builder.policy_hash);
        assert!(!guidance.constraints.is_empty() && !guidance.stop_conditions.is_empty());
    }
    assert!(builder.constraints != verifier.constraints && verifier.constraints != repair.constraints);
    let other = Fixture::opened(|plan, _| plan.policy.max_reworks = 1);
    assert_ne!(other.turn("w").guidance.policy_hash, builder.policy_hash);
}

#[test]
fn the_policy_hash_is_of_the_rules_and_of_nothing_else() {
    type Change = fn(&mut holdpoint_protocol::plan::Plan);
    let hash = |change: Change| Fixture::opened(|plan, _| change(plan)).turn("w").guidance.policy_hash;
    let rules: [Change; 4] = [
        |plan| plan.policy.max_clarifications += 1,
        |plan| plan.protected.push("docs/**".to_owned()),
        |plan| plan.guards.push(guard()),
        |plan| plan.sources.push("docs/spec.md".to_owned()),
    ];
    let plain = hash(|_| {});
    for rule in rules {
        assert_ne!(hash(rule), plain);
    }
    assert_eq!(hash(|plan| plan.waypoints[0].goal = "do something else".to_owned()), plain);
}

#[test]
fn a_turn_that_is_open_is_current_and_no_other() {
    let mut fixture = Fixture::opened(|_, _| {});
    let build = fixture.turn("w").turn_id;
    assert!(super::super::is_current(&fixture.state("w"), &build));
    let Phase::InTurn(open) = fixture.state("w").phase else { panic!() };
    assert_eq!(open.purpose, Purpose::Build);
    fixture.build_ok("w").turn();
    assert!(!super::super::is_current(&fixture.state("w"), &build));
}
