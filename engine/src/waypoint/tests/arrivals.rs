//! Conditions of gates, rejections of declared workflows, and work that goes round.

use holdpoint_protocol::{
    facts::Verdict,
    ids::role,
    journal::ConditionResult,
    reason::ReasonCode,
    state::{Outcome, Status},
    time::Millis,
    workflow::{GateSpec, RejectionStrategy, WorkflowSpec},
};

use crate::testing::{
    fixture::{Fed, Fixture},
    parts::{fleet, plan, to_people, waypoint},
};
use crate::{flight, waypoint::Input};

fn gate(name: &str, role_name: &str) -> GateSpec {
    GateSpec::new(name.parse().unwrap(), role_name.parse().unwrap())
}

fn people(name: &str) -> GateSpec {
    GateSpec { require_human: true, can_reject: true, timeout: Some(Millis(60_000)), ..gate(name, "reviewer") }
}

/// The first gate of a workflow has nothing to reject to.
fn asked_first(name: &str) -> GateSpec {
    GateSpec { can_reject: false, ..people(name) }
}

fn when(spec: GateSpec) -> GateSpec {
    GateSpec { when: Some(format!("tags.includes('{}')", spec.id)), ..spec }
}

fn verify() -> GateSpec {
    GateSpec { can_reject: true, ..gate("verify", role::VERIFIER) }
}

fn build() -> GateSpec {
    gate("build", role::BUILDER)
}

fn flown_by(gates: impl IntoIterator<Item = GateSpec>) -> Fixture {
    flown(WorkflowSpec::new("declared", gates))
}

fn flown(spec: WorkflowSpec) -> Fixture {
    let mut plan = plan(vec![waypoint("w", &[])]);
    plan.workflow = "declared".to_owned();
    plan.waypoints[0].tags = vec!["security".to_owned()];
    plan.policy.max_reworks = 20;
    Fixture::flown_by(plan, fleet(), &[spec])
}

fn open_gate(fixture: &Fixture) -> String {
    fixture.open_turn("w").map_or_else(|| "none".to_owned(), |open| open.gate.to_string())
}

fn reason(fixture: &Fixture) -> ReasonCode {
    fixture.state("w").decision.unwrap().reason_code
}

fn visits(fixture: &Fixture) -> Vec<(String, Option<Outcome>)> {
    fixture.state("w").history.iter().map(|visit| (visit.gate.to_string(), visit.outcome)).collect()
}

#[test]
fn work_passes_over_a_gate_whose_condition_does_not_hold_and_the_entry_says_so() {
    let mut fixture = flown_by([build(), verify(), when(people("security")), when(people("docs"))]);
    fixture.conditions.left_out = vec!["security"];
    fixture.feed("w", Input::Open);
    fixture.build_ok("w").turn();
    let turn = fixture.report("w", |_| {}).turn();
    assert_eq!(turn.gate.as_str(), "docs");
    let result = |gate: &str, holds| ConditionResult { gate: gate.parse().unwrap(), holds, failure: None };
    assert_eq!(turn.record.conditions, [result("security", false), result("docs", true)]);
    let expected = [
        ("build", Some(Outcome::Complete)),
        ("verify", Some(Outcome::Complete)),
        ("security", Some(Outcome::Skip)),
        ("docs", None),
    ];
    assert_eq!(visits(&fixture), expected.map(|(gate, outcome)| (gate.to_owned(), outcome)));
    fixture.complete("w", Outcome::Complete).decided();
    assert_eq!(reason(&fixture), ReasonCode::CriteriaMet);
}

#[test]
fn a_condition_sees_the_plans_words_and_the_engines_and_none_of_an_agent() {
    let condition = "gateHistory.length > 1 && tags.includes('security')";
    let security = GateSpec { when: Some(condition.to_owned()), ..people("security") };
    let mut fixture = flown_by([build(), verify(), security]);
    fixture.feed("w", Input::Open);
    fixture.build_ok("w").turn();
    fixture.report("w", |_| {}).turn();
    let [asked] = fixture.conditions.asked.as_slice() else { panic!("{:?}", fixture.conditions.asked) };
    assert_eq!(asked.condition, condition);
    let seen: serde_json::Value = serde_json::from_str(&asked.scope).unwrap();
    assert_eq!((asked.has_history, &seen["tags"]), (true, &serde_json::json!(["security"])));
    let visit = &seen["gateHistory"][0];
    let mut keys: Vec<&str> = visit.as_object().unwrap().keys().map(String::as_str).collect();
    keys.sort_unstable();
    assert_eq!(keys, ["agent", "duration", "entered", "exited", "gate", "outcome", "role"]);
    assert_eq!((&visit["gate"], &visit["outcome"]), (&"build".into(), &"complete".into()));
}

#[test]
fn a_condition_that_cannot_name_the_history_is_asked_with_the_plans_words_alone() {
    let sees = |condition: &str| {
        let sign = GateSpec { when: Some(condition.to_owned()), ..people("sign") };
        let mut fixture = flown_by([build(), verify(), sign]);
        fixture.feed("w", Input::Open);
        fixture.build_ok("w").turn();
        fixture.report("w", |_| {}).turn();
        let asked = &fixture.conditions.asked[0];
        let seen: serde_json::Map<String, serde_json::Value> = serde_json::from_str(&asked.scope).unwrap();
        assert_eq!(asked.has_history, seen.contains_key("gateHistory"));
        seen.keys().cloned().collect::<Vec<_>>()
    };
    assert_eq!(sees("tags.includes('security') || metadata.risk > 3"), ["metadata", "tags"]);
    for condition in ["gateHistory.length", "arguments[2].length", "eval('gate' + 'History')", "gate\\u0048istory"] {
        assert!(sees(condition).contains(&"gateHistory".to_owned()), "{condition}");
    }
}

#[test]
fn the_first_gate_whose_condition_holds_is_the_first_and_rejections_come_back_to_it() {
    let mut fixture = flown_by([when(asked_first("triage")), build(), verify(), people("sign")]);
    fixture.conditions.left_out = vec!["triage"];
    assert_eq!(fixture.feed("w", Input::Open).turn().gate.as_str(), "build");
    fixture.build_ok("w").turn();
    fixture.report("w", |_| {}).turn();
    let turn = fixture.complete("w", Outcome::NeedsReview).turn();
    assert_eq!(turn.gate.as_str(), "build", "the first gate is passed over again");
    let told = crate::testing::parts::build_request(&turn).feedback.clone().unwrap();
    assert_eq!(told.reason_code, ReasonCode::ApprovalRejected);
    let review = told.review.expect("who sent it back");
    let from = (review.from_gate.as_str(), review.from_role.as_str(), review.from_agent.unwrap().to_string());
    assert_eq!(from, ("sign", "reviewer", "human-ada".to_owned()));
    assert_eq!(review.at, turn.record.at);
}

#[test]
fn a_visit_names_who_completed_it_and_a_verdict_comes_from_its_verifier() {
    let mut fixture = flown_by([build(), verify(), people("sign")]);
    fixture.feed("w", Input::Open);
    fixture.build_ok("w").turn();
    let turn = fixture.report("w", |report| report.criteria[0].result.verdict = Verdict::Fail).turn();
    let told = crate::testing::parts::build_request(&turn).feedback.clone().unwrap();
    assert_eq!(told.review.map(|review| review.from_gate.to_string()), Some("verify".to_owned()));
    fixture.build_ok("w").turn();
    fixture.report("w", |_| {}).turn();
    fixture.complete("w", Outcome::Complete).decided();
    let by = fixture
        .state("w")
        .history
        .iter()
        .map(|visit| visit.agent.as_ref().map(ToString::to_string))
        .collect::<Vec<_>>();
    assert_eq!(by.len(), 5);
    assert!(by.iter().all(Option::is_some), "{by:?}");
    assert_eq!(by[4].as_deref(), Some("human-ada"));
}

#[test]
fn work_that_no_condition_lets_in_is_blocked_and_never_complete() {
    let mut fixture = flown_by([when(asked_first("legal")), when(people("sales"))]);
    fixture.conditions.left_out = vec!["legal", "sales"];
    fixture.feed("w", Input::Open).decided();
    assert_eq!((fixture.status("w"), reason(&fixture)), (Status::Blocked, ReasonCode::GatesSkipped));
    fixture.conditions.left_out = vec!["legal"];
    assert_eq!(fixture.retry("w", |_| {}).turn().gate.as_str(), "sales");
}

#[test]
fn work_that_was_sent_back_is_not_finished_because_no_condition_lets_it_in_again() {
    let mut fixture = flown_by([when(asked_first("draft")), when(people("sign"))]);
    fixture.feed("w", Input::Open);
    fixture.complete("w", Outcome::Complete).turn();
    fixture.conditions.left_out = vec!["draft", "sign"];
    fixture.complete("w", Outcome::NeedsReview).decided();
    assert_eq!((fixture.status("w"), reason(&fixture)), (Status::Blocked, ReasonCode::GatesSkipped));
    assert_eq!(fixture.retry("w", |_| {}).turn().gate.as_str(), "draft", "a retry opens the gate it was sent back to");
}

#[test]
fn a_condition_that_fails_leaves_its_gate_out_unless_work_depends_on_its_word() {
    let mut fixture = flown_by([build(), when(verify())]);
    fixture.conditions.failing = vec!["verify"];
    fixture.feed("w", Input::Open);
    let held = fixture.build_ok("w").decided();
    assert_eq!(reason(&fixture), ReasonCode::ConditionFailed);
    assert_eq!(held.record.conditions[0].failure.as_deref(), Some("it threw"));
    assert_eq!(fixture.retry("w", |_| {}).turn().gate.as_str(), "verify", "a person opens the gate");

    let mut fixture = flown_by([build(), verify(), when(people("sign"))]);
    fixture.conditions.failing = vec!["sign"];
    fixture.feed("w", Input::Open);
    fixture.build_ok("w").turn();
    fixture.report("w", |_| {}).decided();
    assert_eq!((fixture.status("w"), reason(&fixture)), (Status::Blocked, ReasonCode::ConditionFailed));
}

#[test]
fn work_that_passed_over_its_verifier_does_not_land() {
    let mut fixture = flown_by([build(), when(verify())]);
    fixture.conditions.left_out = vec!["verify"];
    fixture.feed("w", Input::Open);
    fixture.build_ok("w").decided();
    assert_eq!((fixture.status("w"), reason(&fixture)), (Status::Blocked, ReasonCode::NotVerified));
    assert_eq!(fixture.retry("w", |_| {}).turn().gate.as_str(), "verify");
    fixture.report("w", |_| {}).decided();
    assert_eq!(reason(&fixture), ReasonCode::CriteriaMet);
}

#[test]
fn rejections_lead_to_the_gate_before_or_to_a_named_one() {
    let signed = |strategy, sign: GateSpec| {
        let spec = WorkflowSpec::new("declared", [asked_first("draft"), people("edit"), sign]);
        let mut fixture = flown(WorkflowSpec { rejection_strategy: strategy, ..spec });
        fixture.feed("w", Input::Open);
        fixture.complete("w", Outcome::Complete);
        fixture.complete("w", Outcome::Complete);
        assert_eq!(open_gate(&fixture), "sign");
        fixture.complete("w", Outcome::NeedsReview).turn().gate.to_string()
    };
    assert_eq!(signed(RejectionStrategy::Origin, people("sign")), "draft");
    assert_eq!(signed(RejectionStrategy::Previous, people("sign")), "edit");
}

#[test]
fn a_gate_that_nobody_completes_in_time_is_the_next_roles_and_then_held() {
    let escalating = GateSpec {
        people: vec!["human-ann".parse().unwrap()],
        escalations: vec![to_people("lead", &["human-bob"])],
        ..asked_first("sign")
    };
    let mut fixture = flown_by([escalating]);
    fixture.feed("w", Input::Open);
    let first = fixture.open_turn("w").unwrap();
    let deadline = |fixture: &mut Fixture| {
        let open = fixture.open_turn("w").unwrap();
        fixture.now = open.deadline;
        let turn = fixture.turn("w");
        fixture.feed("w", Input::DeadlinePassed(Box::new(turn)))
    };
    let turn = deadline(&mut fixture).turn();
    assert_eq!((turn.role.as_str(), turn.gate.as_str()), ("lead", "sign"));
    assert_ne!(turn.turn_id, first.turn, "the turn of before is over");
    assert_eq!((fixture.status("w"), reason(&fixture)), (Status::Waiting, ReasonCode::GateTimeout));
    let by = |fixture: &mut Fixture, who: &str| {
        let act = fixture.completion("w", who, Outcome::Complete);
        fixture.feed("w", act)
    };
    let Fed::Refused(refusal) = by(&mut fixture, "human-ann") else { panic!("it is not hers any more") };
    assert!(refusal.to_string().contains("human-bob may, because nobody did in time"), "{refusal}");
    deadline(&mut fixture).decided();
    assert_eq!((fixture.status("w"), reason(&fixture)), (Status::Blocked, ReasonCode::GateTimeout));
    fixture.retry("w", |_| {});
    assert_eq!(fixture.open_turn("w").unwrap().role.as_str(), "reviewer", "a retry opens the gate for its own role");
    by(&mut fixture, "human-ann").decided();
    assert_eq!(reason(&fixture), ReasonCode::CriteriaMet);
}

#[test]
fn work_that_comes_to_a_gate_whose_role_nobody_has_is_held_until_a_person_has_it_opened() {
    let vacant = |spec: GateSpec| GateSpec { vacant: true, ..spec };
    for gates in [
        vec![vacant(gate("draft", "writer")), people("sign")],
        vec![asked_first("draft"), vacant(gate("edit", "editor"))],
    ] {
        let mut fixture = flown_by(gates);
        fixture.feed("w", Input::Open);
        if open_gate(&fixture) == "draft" {
            fixture.complete("w", Outcome::Complete).decided();
        }
        assert_eq!((fixture.status("w"), reason(&fixture)), (Status::Blocked, ReasonCode::NoAgents));
        let view = flight::view(&fixture.flight, &fixture.waypoints, None, Vec::new(), |_, _| None).unwrap();
        let shown =
            (view.waypoints[0].gate.clone(), flight::waits(&fixture.flight, &fixture.waypoints)[0].gate.clone());
        let turn = fixture.retry("w", |_| {}).turn();
        assert!(["draft", "edit"].contains(&turn.gate.as_str()), "{turn:?}");
        assert_eq!(shown, (Some(turn.gate.clone()), Some(turn.gate)), "the gate that it is held before");
    }
}

#[test]
fn a_vacant_gate_that_makes_work_still_has_its_base_tried_once_it_is_opened() {
    let mut plan = plan(vec![waypoint("w", &[])]);
    plan.workflow = "declared".to_owned();
    plan.waypoints[0].criteria[0].check.as_mut().unwrap().red_first = true;
    let spec = WorkflowSpec::new("declared", vec![GateSpec { vacant: true, ..build() }, verify()]);
    let mut fixture = Fixture::flown_by(plan, fleet(), &[spec]);
    fixture.feed("w", Input::Open);
    assert_eq!((fixture.status("w"), reason(&fixture)), (Status::Blocked, ReasonCode::NoAgents));
    assert_eq!(fixture.retry("w", |_| {}).turn().role.as_str(), role::VERIFIER);
}

#[test]
fn work_that_comes_to_a_gate_a_sixth_time_waits_for_a_person() {
    let mut fixture = flown_by([build(), verify(), people("sign")]);
    fixture.feed("w", Input::Open);
    for round in 1..=5 {
        fixture.build_ok("w").turn();
        fixture.report("w", |_| {}).turn();
        let taken = fixture.complete("w", Outcome::NeedsReview);
        assert_eq!(matches!(&taken, Fed::Appended(entry) if entry.schema_name() == "turn"), round < 5, "{round}");
    }
    assert_eq!((fixture.status("w"), reason(&fixture)), (Status::Blocked, ReasonCode::GateLoop));
    assert_eq!(fixture.retry("w", |_| {}).turn().gate.as_str(), "build");
    fixture.build_ok("w").turn();
    fixture.report("w", |_| {}).turn();
    assert_eq!(fixture.complete("w", Outcome::NeedsReview).turn().gate.as_str(), "build", "a retry counts from there");
}
