//! Accepted work whose base is no longer the head.

use holdpoint_protocol::{
    artifact::{Disposition, VerificationPurpose},
    facts::Verdict,
    ids::role,
    reason::{CriterionReason, ReasonCode},
    state::Status,
    turn::TurnRequest,
};

use super::{
    fixture::{Fixture, Taken},
    parts::{build_request, fleet, plan, waypoint},
};

/// Two accepted waypoints, the first of which has landed: the second stands on an older head.
fn overtaken() -> Fixture {
    let mut plan = plan(vec![waypoint("a", &[]), waypoint("b", &[])]);
    plan.policy.max_reworks = 0;
    let mut fixture = Fixture::new(plan, fleet());
    fixture.accept("a");
    fixture.accept("b");
    fixture.land("a");
    fixture
}

#[test]
fn a_clean_merge_is_verified_again_on_the_head_before_it_lands() {
    let mut fixture = overtaken();
    let head = fixture.flight.head().clone();
    let turn = fixture.merge("b", true).turn();
    assert_eq!((turn.role.as_str(), turn.gate.as_str()), (role::VERIFIER, "verify"));
    let TurnRequest::Verify(request) = &turn.request else { panic!("{turn:?}") };
    assert_eq!((request.purpose, &request.base), (VerificationPurpose::Merge, &head));
    assert_eq!(request.commit, fixture.state("b").work.unwrap().commit.unwrap());
    assert_eq!(request.criteria.len(), 1, "all criteria, not only the red ones");
    let tips: Vec<_> = request.bundles.iter().map(|b| &b.tip).collect();
    assert!(tips.contains(&&head) && tips.last() == Some(&&request.commit), "{tips:?}");
    let decided = fixture.report("b", |_| {}).decided();
    assert_eq!(decided.decision.disposition, Disposition::Accept);
    assert_eq!(fixture.state("b").counters.attempts, 1, "a merge is no attempt");
    fixture.land("b");
    assert_eq!(fixture.status("b"), Status::Complete);
}

#[test]
fn a_conflict_is_a_rework_on_the_new_head_that_uses_up_no_rework() {
    let mut fixture = overtaken();
    let head = fixture.flight.head().clone();
    let turn = fixture.merge("b", false).turn();
    let decision = turn.decision.clone().unwrap();
    assert_eq!((decision.disposition, decision.reason_code), (Disposition::Rework, ReasonCode::MergeConflict));
    assert!(!decision.source_refs.is_empty());
    let request = build_request(&turn);
    assert_eq!((&request.base, &request.start), (&head, &head));
    assert_eq!(request.feedback.as_ref().unwrap().notes, ["both changed src/lib.rs"]);
    let counters = fixture.state("b").counters;
    assert_eq!((counters.attempts, counters.reworks, counters.conflicts), (1, 0, 1));
    fixture.build_ok("b").turn();
    fixture.report("b", |_| {}).decided();
    fixture.land("b");
    assert_eq!(fixture.status("b"), Status::Complete);
}

#[test]
fn a_merge_that_is_red_is_a_conflict_that_starts_from_the_merge() {
    let mut fixture = overtaken();
    fixture.merge("b", true);
    let merged = fixture.state("b").work.unwrap().commit.unwrap();
    let turn = fixture.report("b", |r| r.criteria[0].result.verdict = Verdict::Fail).turn();
    assert_eq!(turn.decision.as_ref().unwrap().reason_code, ReasonCode::MergeConflict);
    let request = build_request(&turn);
    assert_eq!((&request.base, &request.start), (fixture.flight.head(), &merged));
    assert_eq!(request.feedback.as_ref().unwrap().failing.len(), 1);
    let counters = fixture.state("b").counters;
    assert_eq!((counters.attempts, counters.reworks, counters.conflicts), (1, 0, 1));
}

#[test]
fn a_merge_that_nobody_can_judge_is_a_persons_matter() {
    let mut fixture = overtaken();
    fixture.merge("b", true);
    let decided = fixture.report("b", |r| r.criteria[0].result.reason = Some(CriterionReason::NoJudge)).decided();
    assert_eq!(decided.decision.reason_code, ReasonCode::JudgeMissing);
    assert_eq!(fixture.status("b"), Status::Blocked);
}

#[test]
fn conflicts_have_a_bound_of_their_own() {
    let names: Vec<String> = (0..12).map(|n| format!("a{n}")).collect();
    let mut waypoints: Vec<_> = names.iter().map(|n| waypoint(n, &[])).collect();
    waypoints.push(waypoint("b", &[]));
    let mut fixture = Fixture::new(plan(waypoints), fleet());
    fixture.accept("b");
    for (conflict, name) in names.iter().enumerate() {
        fixture.accept(name);
        fixture.land(name);
        if conflict == 10 {
            let decided = fixture.merge("b", false).decided();
            let expected = (Disposition::Escalate, ReasonCode::MergeConflict);
            assert_eq!((decided.decision.disposition, decided.decision.reason_code), expected);
            assert!(decided.decision.remediation.is_some());
            assert_eq!((fixture.status("b"), fixture.state("b").counters.conflicts), (Status::Blocked, 10));
            return;
        }
        fixture.merge("b", false).turn();
        fixture.build_ok("b").turn();
        fixture.report("b", |_| {}).decided();
    }
    panic!("ten conflicts went by");
}

#[test]
fn nothing_is_merged_that_stands_on_the_head_or_has_landed_or_has_nothing_to_land() {
    let mut fixture = overtaken();
    assert_eq!(fixture.merge("a", true), Taken::Nothing, "landed");
    fixture.merge("b", true);
    assert_eq!(fixture.merge("b", true), Taken::Nothing, "in a turn");
    fixture.report("b", |_| {});
    assert_eq!(fixture.merge("b", true), Taken::Nothing, "on the head");

    let mut fixture = Fixture::new(plan(vec![waypoint("a", &[]), waypoint("b", &[])]), fleet());
    fixture.accept("a");
    fixture.feed("b", crate::engine::Input::Open);
    fixture.build("b", crate::engine::BuildOutcome::Work { commit: None, violations: Vec::new() });
    fixture.report("b", |_| {}).decided();
    fixture.land("a");
    assert_eq!(fixture.merge("b", true), Taken::Nothing, "nothing to land");
    assert_eq!(fixture.status("b"), Status::Complete);
}
