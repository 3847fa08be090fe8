//! Accepted work whose base is no longer the head.

use std::collections::BTreeMap;

use holdpoint_protocol::{
    artifact::{Disposition, VerificationPurpose, VerificationRequest},
    facts::{Verdict, Violation, ViolationKind},
    ids::role,
    journal::Fleet,
    plan::Priority,
    reason::{CriterionReason, ReasonCode},
    state::Status,
    turn::{CollisionKind, Turn, TurnRequest},
};

use crate::testing::{
    fixture::{Fed, Fixture},
    parts::{build_request, check, fleet, id, oid, plan, waypoint},
};
use crate::{
    flight,
    waypoint::{self, Input, MergeResult, Merged},
};

/// Two accepted waypoints, the first of which has landed: the second is based on an older head.
fn overtaken() -> Fixture {
    overtaken_by(&["a"])
}

/// An accepted waypoint `b`, and these that landed since.
fn overtaken_by(names: &[&str]) -> Fixture {
    let mut plan = plan(names.iter().chain(&["b"]).map(|name| waypoint(name, &[])).collect());
    plan.policy.max_reworks = 1;
    let mut fixture = Fixture::new(plan, fleet());
    fixture.accept("b");
    for name in names {
        fixture.accept(name);
        fixture.land(name);
    }
    fixture
}

fn due(fixture: &Fixture) -> Vec<flight::Due> {
    flight::due(&fixture.flight, &fixture.waypoints, fixture.now)
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
    let feedback = request.feedback.as_ref().unwrap();
    assert!(feedback.notes[0].contains("both changed src/lib.rs"), "{feedback:?}");
    let told = feedback.collision.as_ref().unwrap();
    assert_eq!((told.kind, told.paths.as_slice()), (CollisionKind::Conflict, &["src/lib.rs".to_owned()][..]));
    let [landed] = told.landed.as_slice() else { panic!("{told:?}") };
    assert_eq!((landed.waypoint.as_str(), landed.title.as_str(), &landed.commit), ("a", "a", &head));
    assert_eq!(landed.paths, ["src/lib.rs"]);
    let counters = fixture.state("b").counters;
    assert_eq!((counters.attempts, counters.reworks, counters.conflicts), (1, 0, 1));
    fixture.build_ok("b").turn();
    fixture.report("b", |_| {}).decided();
    fixture.land("b");
    assert_eq!(fixture.status("b"), Status::Complete);
}

#[test]
fn work_that_is_red_with_what_landed_is_reworked_from_the_merge() {
    let mut fixture = overtaken();
    fixture.merge("b", true);
    let merged = fixture.state("b").work.unwrap().commit.unwrap();
    let turn = fixture.report("b", |r| r.criteria[0].result.verdict = Verdict::Fail).turn();
    assert_eq!(turn.decision.as_ref().unwrap().reason_code, ReasonCode::CriteriaFailed);
    let request = build_request(&turn);
    assert_eq!((&request.base, &request.start), (fixture.flight.head(), &merged));
    let feedback = request.feedback.as_ref().unwrap();
    assert_eq!((feedback.failing.len(), feedback.reason_code), (1, ReasonCode::CriteriaFailed));
    assert!(!feedback.failing[0].result.evidence.is_empty());
    let told = feedback.collision.as_ref().unwrap();
    assert_eq!((told.kind, told.paths.len(), told.landed.len()), (CollisionKind::RedMerge, 0, 1));
    assert_eq!((&told.landed[0].commit, told.landed[0].paths.len()), (fixture.flight.head(), 0));
    let counters = fixture.state("b").counters;
    assert_eq!((counters.attempts, counters.reworks, counters.conflicts), (1, 1, 0), "the work's own");
}

/// As [`overtaken`]; the check of `b` has to be red on its base, and no commit of `a` changed that.
fn overtaken_and_red_first() -> Fixture {
    let mut plan = plan(vec![waypoint("a", &[]), waypoint("b", &[])]);
    plan.waypoints[1].criteria[0].check = Some(check(true));
    let mut fixture = Fixture::new(plan, Fleet { repair: true, ..fleet() });
    fixture.feed("b", Input::Open);
    fixture.report("b", |_| {}).turn();
    fixture.build_ok("b").turn();
    fixture.report("b", |_| {}).decided();
    fixture.accept("a");
    fixture.land("a");
    fixture
}

fn baseline(turn: &Turn) -> &VerificationRequest {
    let TurnRequest::Verify(request) = &turn.request else { panic!("{turn:?}") };
    assert_eq!((turn.role.as_str(), request.purpose), (role::VERIFIER, VerificationPurpose::Baseline));
    request
}

#[test]
fn what_has_to_be_red_first_is_tried_on_the_new_base_before_work_that_collided_is_made_again() {
    let mut fixture = overtaken_and_red_first();
    let (head, tree) = (fixture.flight.head().clone(), fixture.flight.head_tree().clone());
    let turn = fixture.merge("b", false).turn();
    let request = baseline(&turn);
    assert_eq!((&request.base, &request.commit, &request.tree), (&head, &head, &tree), "the base alone");
    assert_eq!(turn.decision.as_ref().unwrap().reason_code, ReasonCode::MergeConflict);
    // The builder's feedback survives a verifier that is not heard of again.
    fixture.now = turn.deadline;
    fixture.feed("b", Input::DeadlinePassed(Box::new(turn))).turn();
    let build = fixture.report("b", |_| {}).turn();
    assert_eq!((build.role.as_str(), build.decision.is_none()), (role::REPAIR, true));
    let request = build_request(&build);
    assert_eq!((&request.base, &request.start), (&head, &head));
    let told = request.feedback.as_ref().unwrap();
    assert_eq!((told.reason_code, told.failing.len()), (ReasonCode::MergeConflict, 0));
    assert!(told.collision.is_some());
    fixture.build_ok("b").turn();
    fixture.report("b", |_| {}).decided();
    let counters = fixture.state("b").counters;
    assert_eq!((counters.attempts, counters.reworks, counters.conflicts), (2, 0, 1));
    fixture.land("b");
    assert_eq!(fixture.status("b"), Status::Complete);
}

#[test]
fn a_check_that_what_landed_made_green_blocks_before_the_work_is_made_again() {
    let mut fixture = overtaken_and_red_first();
    fixture.merge("b", false).turn();
    let decided = fixture.report("b", |r| r.criteria[0].result.verdict = Verdict::Pass).decided();
    assert_eq!(decided.decision.reason_code, ReasonCode::NotRed);
    assert_eq!(fixture.status("b"), Status::Blocked);
    let again = fixture.retry("b", |retry| retry.note = Some("look at a".to_owned())).turn();
    assert_eq!(&baseline(&again).base, fixture.flight.head());
    let build = fixture.report("b", |_| {}).turn();
    let told = build_request(&build).feedback.clone().unwrap();
    assert!(told.collision.is_some(), "{told:?}");
    assert_eq!(told.notes.last().map(String::as_str), Some("look at a"));
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
            assert!(decided.decision.remediation.unwrap().contains("a10"), "it names what was in the way");
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
    assert_eq!(fixture.merge("a", true), Fed::Nothing, "landed");
    fixture.merge("b", true);
    assert_eq!(fixture.merge("b", true), Fed::Nothing, "in a turn");
    fixture.report("b", |_| {});
    assert_eq!(fixture.merge("b", true), Fed::Nothing, "on the head");

    let mut fixture = Fixture::new(plan(vec![waypoint("a", &[]), waypoint("b", &[])]), fleet());
    fixture.accept("a");
    fixture.feed("b", Input::Open);
    fixture.build("b", waypoint::BuildOutcome::Work { commit: None, violations: Vec::new() });
    fixture.report("b", |_| {}).decided();
    fixture.land("a");
    assert_eq!(fixture.merge("b", true), Fed::Nothing, "nothing to land");
    assert_eq!(fixture.status("b"), Status::Complete);
}

#[test]
fn a_merge_with_a_head_that_moved_on_is_not_taken_for_one_with_the_new_head() {
    let mut fixture = overtaken_by(&["a", "c"]);
    let work = fixture.state("b").work.unwrap().commit.unwrap();
    let older = fixture.flight.landed[0].commit.clone();
    for clean in [true, false] {
        let merge = if clean {
            MergeResult::Clean { commit: fixture.commit(), violations: Vec::new(), same_diff: true }
        } else {
            MergeResult::Conflict { paths: vec!["x".to_owned()], paths_more: 0, changed_by: BTreeMap::new() }
        };
        let merged = Merged { work: work.clone(), head: older.clone(), behind: None, merge };
        // It would land a tree without what landed last, as if that had been undone.
        assert_eq!(fixture.feed("b", Input::Integrated(merged)), Fed::Nothing);
    }
    let merge = MergeResult::Clean { commit: fixture.commit(), violations: Vec::new(), same_diff: true };
    let other = Merged { work: oid(0xbad), head: fixture.flight.head().clone(), behind: None, merge };
    assert_eq!(fixture.feed("b", Input::Integrated(other)), Fed::Nothing, "work that was not accepted");
    fixture.merge("b", true).turn();
}

#[test]
fn work_that_is_on_the_head_already_is_verified_there_and_leaves_nothing_to_land() {
    let mut fixture = overtaken();
    let head = fixture.flight.head().clone();
    let turn = fixture.merged("b", MergeResult::Contained).turn();
    let TurnRequest::Verify(request) = &turn.request else { panic!("{turn:?}") };
    assert_eq!((&request.commit, &request.base), (&head, &head));
    assert_eq!(&request.tree, fixture.flight.head_tree());
    assert_eq!(due(&fixture), [], "nothing waits for it");
    fixture.report("b", |_| {}).decided();
    assert_eq!((fixture.status("b"), due(&fixture).len()), (Status::Complete, 0));
    assert_eq!((fixture.flight.landed.len(), fixture.state("b").counters.attempts), (1, 1));

    let mut fixture = overtaken();
    fixture.merged("b", MergeResult::Contained);
    let turn = fixture.report("b", |r| r.criteria[0].result.verdict = Verdict::Fail).turn();
    let request = build_request(&turn);
    assert_eq!((&request.base, &request.start), (fixture.flight.head(), fixture.flight.head()));
}

#[test]
fn a_merge_that_breaks_a_path_rule_is_sent_back_with_the_path() {
    let mut fixture = overtaken();
    let violations = vec![Violation { kind: ViolationKind::OutOfScope, path: "moved/by-a".to_owned() }];
    let commit = fixture.commit();
    fixture.merged("b", MergeResult::Clean { commit, violations, same_diff: true });
    let turn = fixture.report("b", |_| {}).turn();
    let feedback = build_request(&turn).feedback.clone().unwrap();
    assert_eq!(feedback.reason_code, ReasonCode::ScopeViolation);
    assert!(feedback.notes.iter().any(|note| note.contains("moved/by-a")), "{feedback:?}");
}

#[test]
fn a_tip_that_moves_under_a_merge_again_and_again_is_bounded() {
    let names: Vec<String> = (0..12).map(|n| format!("a{n}")).collect();
    let mut waypoints: Vec<_> = names.iter().map(|n| waypoint(n, &[])).collect();
    waypoints.push(waypoint("b", &[]));
    let mut fixture = Fixture::new(plan(waypoints), fleet());
    fixture.accept("b");
    for (moved, name) in names.iter().enumerate() {
        fixture.accept(name);
        // Only orchestrators that race do that: what is due is the merge that is being verified.
        fixture.land(name);
        if moved == 11 {
            let decided = fixture.merge("b", true).decided();
            assert_eq!(decided.decision.reason_code, ReasonCode::MergeConflict);
            assert_eq!((fixture.status("b"), fixture.state("b").counters.conflicts), (Status::Blocked, 10));
            return;
        }
        let turn = fixture.merge("b", true).turn();
        let TurnRequest::Verify(request) = &turn.request else { panic!("{turn:?}") };
        assert_eq!(&request.base, fixture.flight.head());
        fixture.report("b", |_| {}).decided();
        let counters = fixture.state("b").counters;
        assert_eq!(
            (counters.conflicts, counters.attempts),
            (u32::try_from(moved).unwrap(), 1),
            "the first merge is none"
        );
    }
    panic!("the tip moved eleven times");
}

#[test]
fn a_builder_is_told_of_what_landed_since_its_work_and_not_of_everything() {
    let before = ["x", "y"];
    let names: Vec<String> = (0..25).map(|n| format!("a{n}")).collect();
    let all = before.into_iter().chain(names.iter().map(String::as_str)).chain(["b"]);
    let mut fixture = Fixture::new(plan(all.map(|n| waypoint(n, &[])).collect()), fleet());
    for name in before {
        fixture.accept(name);
        fixture.land(name);
    }
    fixture.accept("b");
    for name in &names {
        fixture.feed(name, Input::Open);
        fixture.build_ok(name).turn();
        fixture.report(name, |_| {}).decided();
        fixture.land(name);
    }
    let colliding = [(id("a3"), vec!["p".to_owned()])];
    let merge = MergeResult::Conflict { paths: vec!["p".to_owned()], paths_more: 4, changed_by: colliding.into() };
    let turn = fixture.merged("b", merge).turn();
    let told = build_request(&turn).feedback.as_ref().unwrap().collision.clone().unwrap();
    let shown: Vec<&str> = told.landed.iter().map(|l| l.waypoint.as_str()).collect();
    assert_eq!((shown.len(), told.landed_more, told.paths_more), (20, 5, 4));
    assert_eq!(&shown[..3], ["a3", "a24", "a23"], "what collides first, then the newest");
    assert!(!shown.contains(&"x") && !shown.contains(&"y"));
}

#[test]
fn a_merge_stands_in_the_most_urgent_queue_and_other_turns_where_the_plan_says() {
    let mut fixture = overtaken();
    let merge = fixture.merge("b", true).turn();
    assert_eq!(waypoint::queue(&merge, Priority::Low), Priority::Critical);
    let rework = fixture.report("b", |r| r.criteria[0].result.verdict = Verdict::Fail).turn();
    assert_eq!(waypoint::queue(&rework, Priority::Low), Priority::Low);
    let handoff = fixture.build_ok("b").turn();
    assert_eq!(waypoint::queue(&handoff, Priority::High), Priority::High);
}
