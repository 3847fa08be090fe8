//! Checkpoints of verifiers' gates, and commands of makers' gates that a verifier runs again (DOC-3, SDLC-3).

use holdpoint_protocol::{
    artifact::{Disposition, VerificationPurpose, VerificationReport},
    checkpoint::{
        CheckpointCommand, CheckpointRule, CheckpointSpec, CheckpointStatus, GateDemands, PathKind, ReportPart,
        TouchedPaths,
    },
    facts::Verdict,
    ids::{CriterionId, role},
    reason::{CriterionReason, ReasonCode},
    state::{Phase, Status, WaypointState},
    turn::{Feedback, TurnRequest},
    workflow::{GateSpec, RejectionStrategy, WorkflowSpec},
};

use crate::testing::{
    fixture::Fixture,
    parts::{check, fleet, plan, waypoint},
};
use crate::waypoint::Input;

fn spec(name: &str, rule: CheckpointRule, required: bool) -> CheckpointSpec {
    CheckpointSpec { name: name.parse().unwrap(), rule: Some(rule), required }
}

fn command(name: &str, required: bool) -> CheckpointSpec {
    spec(name, CheckpointRule::Command(CheckpointCommand { check: check(false), needs: Vec::new() }), required)
}

/// Two gates that make work, of which the second one runs a command, and a verifier's with these demands.
fn workflow(demands: GateDemands) -> WorkflowSpec {
    let gate = |id: &str, role_name: &'static str| GateSpec::new(id.parse().unwrap(), role::id(role_name));
    let made = GateDemands { checkpoints: vec![command("formatted", true)], ..GateDemands::default() };
    let gates = [
        gate("draft", role::BUILDER),
        GateSpec { demands: made, ..gate("build", role::BUILDER) },
        GateSpec { demands, can_reject: true, reject_to: Some("build".parse().unwrap()), ..gate("qa", role::VERIFIER) },
    ];
    WorkflowSpec { rejection_strategy: RejectionStrategy::Named, ..WorkflowSpec::new("staged", gates) }
}

/// A flight of these waypoints by that workflow.
fn flight(names: &[&str], demands: GateDemands) -> Fixture {
    let mut plan = plan(names.iter().map(|name| waypoint(name, &[])).collect());
    "staged".clone_into(&mut plan.workflow);
    plan.checks = vec![command("syntax", true), command("lint", false), command("docs", false)];
    Fixture::flown_by(plan, fleet(), &[workflow(demands)])
}

/// Work comes to the verifier.
fn come(fixture: &mut Fixture, name: &str) {
    fixture.feed(name, Input::Open).turn();
    fixture.build_ok(name).turn();
    fixture.build_ok(name).turn();
}

/// Work that came to the verifier.
fn judged_by(demands: GateDemands) -> Fixture {
    let mut fixture = flight(&["w"], demands);
    come(&mut fixture, "w");
    fixture
}

fn of_paths() -> GateDemands {
    let docs = CheckpointRule::Touches(TouchedPaths::Kind(PathKind::Docs));
    let doubts = CheckpointRule::Report(ReportPart::NoBlockingDoubts);
    GateDemands {
        checkpoints: vec![spec("no_critical_bugs", doubts, true), spec("docs_updated", docs, true)],
        ..GateDemands::default()
    }
}

fn twelve(threshold: u8) -> GateDemands {
    GateDemands { plan_checks: true, threshold: Some(threshold), ..GateDemands::default() }
}

/// Each checkpoint of the state, as `gate name status`.
fn kept(state: &WaypointState) -> Vec<String> {
    let of = |gate: &holdpoint_protocol::checkpoint::GateCheckpoints| {
        let each = gate.checkpoints.iter();
        each.map(|one| format!("{} {} {}", gate.gate, one.name, one.status.as_str())).collect::<Vec<_>>()
    };
    state.checkpoints.iter().flat_map(of).collect()
}

fn told(fixture: &Fixture) -> Feedback {
    fixture.turn("w").told().unwrap().clone()
}

fn came_to(report: &mut VerificationReport, name: &str, verdict: Verdict, reason: Option<CriterionReason>) {
    let one = report.checkpoints.iter_mut().find(|one| one.report.result.id.as_str() == name).unwrap();
    (one.report.result.verdict, one.report.result.reason) = (verdict, reason);
}

#[test]
fn a_verifier_is_asked_to_run_the_commands_of_gates_before_it_and_its_own() {
    let fixture = judged_by(twelve(80));
    let TurnRequest::Verify(request) = fixture.turn("w").request else { panic!("a verifier's turn") };
    let asked: Vec<String> = request.checkpoints.iter().map(|one| format!("{} {}", one.gate, one.id)).collect();
    assert_eq!(asked, ["build formatted", "qa syntax", "qa lint", "qa docs"]);
    let without = judged_by(of_paths());
    assert!(without.turn("w").deadline < fixture.turn("w").deadline, "its turn has the time for them");
}

#[test]
fn a_command_that_its_maker_calls_passed_counts_as_the_verifier_found_it() {
    let mut fixture = judged_by(GateDemands::default());
    let fail =
        |report: &mut VerificationReport| came_to(report, "formatted", Verdict::Fail, Some(CriterionReason::ExitCode));
    let turn = fixture.report("w", fail).turn();
    let decision = turn.decision.unwrap();
    assert_eq!((turn.gate.as_str(), decision.reason_code), ("build", ReasonCode::CheckpointsUnmet));
    let feedback = told(&fixture);
    assert_eq!(feedback.failing[0].result.id.as_str(), "formatted");
    assert!(feedback.notes[0].contains("### Checkpoint: formatted\n**Status**: FAIL"), "{feedback:?}");
    assert!(feedback.notes[0].ends_with("### Retry Attempt: 1 of 3\n"), "{feedback:?}");
    assert_eq!(kept(&fixture.state("w")), ["build formatted fail"]);
    // A verifier that leaves it out has not shown it.
    fixture.build_ok("w").turn();
    assert_eq!(fixture.report("w", |report| report.checkpoints.clear()).turn().gate.as_str(), "build");
    fixture.build_ok("w").turn();
    fixture.report("w", |_| {}).decided();
    assert_eq!(kept(&fixture.state("w")), ["build formatted pass"]);
}

#[test]
fn a_verifiers_gate_whose_checkpoint_fails_sends_the_work_where_its_rejections_go() {
    let mut fixture = judged_by(of_paths());
    let turn = fixture.report("w", |_| {}).turn();
    assert_eq!(turn.gate.as_str(), "build");
    assert!(told(&fixture).notes[0].contains("the work touches no document for readers"));
    assert_eq!(kept(&fixture.state("w")), ["build formatted pass", "qa no_critical_bugs pass", "qa docs_updated fail"]);
    fixture.build_ok("w").turn();
    fixture.touched = vec![CriterionId::try_new("docs_updated").unwrap()];
    let decided = fixture.report("w", |_| {}).decided();
    assert_eq!(decided.decision.disposition, Disposition::Accept);
    assert_eq!(kept(&fixture.state("w"))[2], "qa docs_updated pass");
}

#[test]
fn a_score_below_the_threshold_is_a_rework_and_one_that_reaches_it_lets_the_work_on() {
    let red = |name: &'static str| {
        move |report: &mut VerificationReport| came_to(report, name, Verdict::Fail, Some(CriterionReason::ExitCode))
    };
    let mut fixture = judged_by(twelve(80));
    assert_eq!(fixture.report("w", red("lint")).turn().gate.as_str(), "build");
    assert!(told(&fixture).notes[0].contains("### Score\nthe score is 67 and has to be 80: 2 of 3"));
    assert_eq!(fixture.state("w").checkpoints[1].score, Some(67));
    let mut fixture = judged_by(twelve(60));
    assert_eq!(fixture.report("w", red("lint")).decided().decision.disposition, Disposition::Accept);
    let mut fixture = judged_by(twelve(60));
    assert_eq!(fixture.report("w", red("syntax")).turn().gate.as_str(), "build", "a required one, whatever the score");
}

#[test]
fn a_missing_tool_is_no_part_of_the_score_and_where_a_required_one_is_missing_a_person_has_to_look() {
    let missing = |name: &'static str| {
        move |report: &mut VerificationReport| {
            came_to(report, name, Verdict::Inconclusive, Some(CriterionReason::ToolMissing));
        }
    };
    let mut fixture = judged_by(twelve(100));
    assert_eq!(fixture.report("w", missing("lint")).decided().decision.disposition, Disposition::Accept);
    let own = &fixture.state("w").checkpoints[1];
    assert_eq!((own.score, own.checkpoints[1].status), (Some(100), CheckpointStatus::Skip));
    assert_eq!(own.checkpoints[1].message, "what its command needs is not there");
    let mut fixture = judged_by(twelve(100));
    let decided = fixture.report("w", missing("syntax")).decided();
    assert_eq!(decided.decision.reason_code, ReasonCode::CheckpointsUnmet);
    assert!(decided.decision.remediation.unwrap().contains("syntax (skip)"));
    let state = fixture.state("w");
    assert!(matches!(state.phase, Phase::Held(_)), "no agent can change that");
    assert_eq!((fixture.status("w"), state.counters.reworks), (Status::Blocked, 0));
}

#[test]
fn a_merge_is_held_to_the_same_checkpoints() {
    let mut fixture = flight(&["a", "b"], twelve(80));
    for name in ["b", "a"] {
        come(&mut fixture, name);
        fixture.report(name, |_| {}).decided();
    }
    fixture.land("a");
    let TurnRequest::Verify(request) = fixture.merge("b", true).turn().request else { panic!("a verifier's turn") };
    assert_eq!((request.purpose, request.checkpoints.len()), (VerificationPurpose::Merge, 4));
    let fail =
        |report: &mut VerificationReport| came_to(report, "formatted", Verdict::Fail, Some(CriterionReason::ExitCode));
    let turn = fixture.report("b", fail).turn();
    assert_eq!(turn.decision.as_ref().unwrap().reason_code, ReasonCode::CheckpointsUnmet);
    let told = turn.told().unwrap();
    assert!(told.notes[0].contains("### Checkpoint: formatted"), "{told:?}");
    assert!(told.collision.is_some(), "with what it was judged together");
}
