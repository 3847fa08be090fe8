//! Waypoints whose children do the work (SDLC-1, SDLC-2, SDLC-2a, SDLC-7), by the built-in workflow `sdlc`.

use holdpoint_planfile::checkpoints;
use holdpoint_protocol::{
    artifact::Verb,
    checkpoint::GateDocument,
    facts::Verdict,
    journal::Entry,
    proposal::PlanProposal,
    reason::ReasonCode,
    state::{Outcome, Status},
    turn::TurnRequest,
    view::FlightStatus,
    workflow::{GateKind, GateSpec, WorkflowSpec},
};

use crate::{
    flight::{self, Due},
    testing::{
        account::Account,
        fixture::{Fed, Fixture},
        parts::{fleet, id, plan, proposing, waypoint},
    },
    waypoint::{Input, Refusal},
};

fn begun() -> Fixture {
    let mut plan = plan(vec![waypoint("w", &[]), waypoint("next", &["w"])]);
    plan.waypoints[0].workflow = Some("sdlc".to_owned());
    let mut fixture = Fixture::new(plan, fleet());
    fixture.feed("w", Input::Open).turn();
    fixture
}

/// The gate where a waypoint is.
fn gate(fixture: &Fixture, name: &str) -> String {
    let view = flight::view(&fixture.flight, &fixture.waypoints, None, Vec::new(), |_, _| None).unwrap();
    let of = view.waypoints.iter().find(|one| one.id.as_str() == name).unwrap();
    of.gate.as_ref().map(ToString::to_string).unwrap_or_default()
}

fn sections(titles: &[&str]) -> String {
    titles.iter().map(|title| format!("# {title}\n\nx\n\n")).collect()
}

/// Completes the open gate with this document, where everything that its agent says of it holds.
fn hand_over(fixture: &mut Fixture, name: &str, text: &str, proposal: Option<PlanProposal>) -> Fed {
    let TurnRequest::Complete(request) = fixture.turn(name).request else { panic!("a gate that is completed") };
    let said = request.context.demands.checkpoints.iter().filter(|one| one.rule.is_none());
    let said = said.map(|one| holdpoint_protocol::checkpoint::CheckpointStatement {
        name: one.name.clone(),
        status: holdpoint_protocol::checkpoint::CheckpointStatus::Pass,
        message: String::new(),
    });
    let checkpoints = checkpoints::stated(said.collect());
    let document = GateDocument { text: text.to_owned(), proposal, checkpoints, ..GateDocument::default() };
    fixture.fulfil(name, |completion| completion.document = Some(Box::new(document)))
}

fn pass(fixture: &mut Fixture, name: &str) -> Fed {
    fixture.fulfil(name, |_| {})
}

fn send_back(fixture: &mut Fixture, name: &str) -> Fed {
    fixture.fulfil(name, |completion| {
        completion.outcome = Some(Outcome::NeedsReview);
        completion.blockers = vec!["`AC-1` cannot be seen".to_owned()];
    })
}

/// At the gate `plan`.
fn at_plan() -> Fixture {
    let mut fixture = begun();
    hand_over(&mut fixture, "w", &sections(&["Goal", "Constraints"]), None).turn();
    hand_over(&mut fixture, "w", &sections(&["Acceptance Criteria", "Test Scenarios", "Security"]), None).turn();
    pass(&mut fixture, "w").turn();
    fixture
}

fn propose(fixture: &mut Fixture, proposal: PlanProposal) {
    hand_over(fixture, "w", "# Plan\n", Some(proposal)).turn();
    pass(fixture, "w").decided();
}

/// Delegated, with children that are there: the second one depends on the first.
fn delegated() -> Fixture {
    let mut fixture = at_plan();
    propose(&mut fixture, proposing(&[("a", &[]), ("b", &["a"])]));
    assert_eq!(fixture.due(), [Due::Delegate(id("w"))]);
    fixture.add_children("w");
    fixture
}

fn fly(fixture: &mut Fixture, child: &str) {
    fixture.feed(child, Input::Open).turn();
    fixture.build_ok(child).turn();
    fixture.report(child, |_| {}).turn();
    pass(fixture, child).decided();
    fixture.land(child);
}

fn is_sound(fixture: &Fixture) {
    let findings = Account::of(fixture).audit().findings;
    assert!(findings.is_empty(), "{findings:#?}");
}

impl Fixture {
    fn due(&self) -> Vec<Due> {
        flight::due(&self.flight, &self.waypoints, self.now)
    }
}

#[test]
fn a_request_is_planned_flown_by_its_children_and_complete_when_they_are() {
    let mut fixture = delegated();
    let state = fixture.state("w");
    assert_eq!((fixture.status("w"), state.work, state.proposal), (Status::Waiting, None, None));
    assert_eq!(
        fixture.due(),
        [Due::Open(id("w_01"))],
        "the second depends on the first, and what depends on `w` waits"
    );
    fly(&mut fixture, "w_01");
    assert_eq!(fixture.due(), [Due::Open(id("w_02"))]);
    let request = fixture.feed("w_02", Input::Open).turn().request;
    let TurnRequest::Build(request) = request else { panic!("work to make") };
    assert_eq!(request.dependencies.len(), 1, "it hears what it stands on");
    let gates: Vec<String> = request.documents.iter().map(|document| document.gate.to_string()).collect();
    assert_eq!(gates, ["brainstorm", "document", "plan"], "it has the documents of the request");
    fixture.build_ok("w_02").turn();
    fixture.report("w_02", |_| {}).turn();
    pass(&mut fixture, "w_02").decided();
    fixture.land("w_02");
    assert_eq!(fixture.due(), [Due::Gather(id("w"))]);
    let turn = fixture.feed("w", Input::Gathered).turn();
    let TurnRequest::Complete(request) = turn.request else { panic!("a gate that is completed") };
    assert_eq!((turn.gate.as_str(), request.children.len()), ("track", 2));
    assert_eq!(request.base, *fixture.flight.head(), "it looks at the newest head");
    pass(&mut fixture, "w").decided();
    assert_eq!(fixture.status("w"), Status::Complete);
    assert_eq!(fixture.flight.landed.len(), 2, "it lands nothing itself");
    assert_eq!(fixture.due(), [Due::Open(id("next"))]);
    fixture.crash();
    is_sound(&fixture);
}

/// A rollback of the source, how a flight gets there, the gate where the work is then, and what the holder of that turn hears.
type Move = (&'static str, fn() -> (Fixture, &'static str), &'static str, Option<&'static str>);

#[test]
fn every_rollback_of_the_source_leads_where_it_says() {
    let table: [Move; 8] = [
        ("an unclear request is asked about", || (asking(), "w"), "brainstorm", None),
        ("an answer has it begun again", || (answered(), "w"), "brainstorm", Some("as you like")),
        ("comments send a specification back", || (rejected_specification(), "w"), "document", Some("`AC-1`")),
        ("an estimate sends a plan back", || (rejected_estimate(), "w"), "plan", Some("`AC-1`")),
        ("a plan is made again while its tasks are done", || (replanned(), "w"), "plan", Some("smaller")),
        ("a plan is made again when its tasks are done", || (rejected_result(), "w"), "plan", Some("`AC-1`")),
        ("a red audit has a task done again", || (red(), "w_01"), "execute", None),
        ("a review has a task done again", || (rejected_task(), "w_01"), "execute", Some("`AC-1`")),
    ];
    for (what, lead, to, told) in table {
        let (fixture, name) = lead();
        assert_eq!(gate(&fixture, name), to, "{what}");
        let Some(told) = told else { continue };
        let turn = serde_json::to_string(&fixture.turn(name).request).unwrap();
        assert!(turn.contains(told), "{what}: {turn}");
        is_sound(&fixture);
    }
}

fn asking() -> Fixture {
    let mut fixture = begun();
    fixture.ask("w", "Which clients?").decided();
    assert_eq!(fixture.status("w"), Status::Waiting);
    fixture
}

fn answered() -> Fixture {
    let mut fixture = begun();
    let question =
        fixture.question("w", holdpoint_protocol::state::QuestionKind::Clarification, "Which clients?", None);
    fixture.feed("w", question).decided();
    let act = fixture.answer_act("w", crate::testing::desk::ADA, |answer| {
        answer.option = None;
        answer.text = Some("as you like".to_owned());
    });
    fixture.feed("w", act).turn();
    fixture
}

fn rejected_specification() -> Fixture {
    let mut fixture = begun();
    hand_over(&mut fixture, "w", &sections(&["Goal", "Constraints"]), None).turn();
    hand_over(&mut fixture, "w", &sections(&["Acceptance Criteria", "Test Scenarios", "Security"]), None).turn();
    send_back(&mut fixture, "w").turn();
    fixture
}

fn rejected_estimate() -> Fixture {
    let mut fixture = at_plan();
    hand_over(&mut fixture, "w", "# Plan\n", Some(proposing(&[("a", &[])]))).turn();
    send_back(&mut fixture, "w").turn();
    fixture
}

fn replanned() -> Fixture {
    let mut fixture = delegated();
    fixture
        .retry("w", |retry| {
            retry.from = Some("plan".parse().unwrap());
            retry.note = Some("smaller steps".to_owned());
        })
        .turn();
    fixture
}

fn rejected_result() -> Fixture {
    let mut fixture = delegated();
    ["w_01", "w_02"].into_iter().for_each(|child| fly(&mut fixture, child));
    fixture.feed("w", Input::Gathered).turn();
    send_back(&mut fixture, "w").turn();
    fixture
}

fn red() -> Fixture {
    let mut fixture = delegated();
    fixture.feed("w_01", Input::Open).turn();
    fixture.build_ok("w_01").turn();
    fixture.report("w_01", fail).turn();
    fixture
}

fn fail(report: &mut holdpoint_protocol::artifact::VerificationReport) {
    report.criteria[0].result.verdict = Verdict::Fail;
}

fn rejected_task() -> Fixture {
    let mut fixture = delegated();
    fixture.feed("w_01", Input::Open).turn();
    fixture.build_ok("w_01").turn();
    fixture.report("w_01", |_| {}).turn();
    send_back(&mut fixture, "w_01").turn();
    fixture
}

#[test]
fn a_new_plan_ends_what_has_not_landed_and_counts_on() {
    let mut fixture = delegated();
    fly(&mut fixture, "w_01");
    fixture.feed("w_02", Input::Open).turn();
    fixture.retry("w", |retry| retry.from = Some("plan".parse().unwrap())).turn();
    assert_eq!(fixture.state("w").base.as_ref(), Some(fixture.flight.head()));
    assert_eq!(fixture.due(), [Due::Recall(id("w_02"))]);
    let decided = fixture.feed("w_02", Input::Recalled).decided();
    assert_eq!(decided.decision.reason_code, ReasonCode::Cancelled);
    assert_eq!((fixture.status("w_01"), fixture.status("w_02")), (Status::Complete, Status::Cancelled));
    assert_eq!(fixture.due(), []);
    propose(&mut fixture, proposing(&[("c", &[])]));
    fixture.add_children("w");
    assert_eq!(fixture.due(), [Due::Open(id("w_03"))]);
    fly(&mut fixture, "w_03");
    let request = fixture.feed("w", Input::Gathered).turn().request;
    let TurnRequest::Complete(request) = request else { panic!("a gate that is completed") };
    let landed: Vec<&str> = request.children.iter().map(|child| child.waypoint.as_str()).collect();
    assert_eq!(landed, ["w_01", "w_03"]);
    pass(&mut fixture, "w").decided();
    is_sound(&fixture);
}

#[test]
fn the_fourth_rejection_of_a_child_is_a_persons_and_so_is_its_parent() {
    let mut fixture = delegated();
    fixture.feed("w_01", Input::Open).turn();
    for _ in 0..3 {
        fixture.build_ok("w_01").turn();
        fixture.report("w_01", fail).turn();
    }
    fixture.build_ok("w_01").turn();
    fixture.report("w_01", fail).decided();
    assert_eq!((fixture.status("w_01"), fixture.status("w")), (Status::Failed, Status::Blocked));
    assert_eq!(flight::flight_status(&fixture.flight, &fixture.waypoints), FlightStatus::Incomplete);
    let waits: Vec<String> =
        flight::waits(&fixture.flight, &fixture.waypoints).iter().map(|waits| waits.waypoint.to_string()).collect();
    assert_eq!(waits, ["w", "w_01"]);
    let text = flight::remediation(&fixture.flight, &fixture.waypoints, &id("w")).unwrap();
    assert!(text.contains("`holdpoint retry w_01") && text.contains("--from plan`"), "{text}");
    fixture.retry("w_01", |retry| retry.reworks = 1).turn();
    assert_eq!(fixture.status("w"), Status::Waiting);
    is_sound(&fixture);
}

#[test]
fn the_end_of_a_waypoint_is_that_of_its_children_and_a_paused_flight_waits() {
    let mut fixture = delegated();
    fixture.feed("w_01", Input::Open).turn();
    fixture.cancel("w").decided();
    assert_eq!(fixture.due(), [Due::Recall(id("w_01")), Due::Recall(id("w_02"))]);
    fixture.steer(Verb::Pause).unwrap();
    assert_eq!(fixture.due(), []);
    fixture.steer(Verb::Resume).unwrap();
    for child in ["w_01", "w_02"] {
        fixture.feed(child, Input::Recalled).decided();
    }
    assert_eq!(fixture.due(), []);
    assert!(flight::retirable(&fixture.flight, &fixture.waypoints).is_err(), "`next` waits for `w` for ever");
    is_sound(&fixture);
}

#[test]
fn accepted_work_of_a_child_that_nobody_wants_does_not_land() {
    let mut fixture = delegated();
    fixture.feed("w_01", Input::Open).turn();
    fixture.build_ok("w_01").turn();
    fixture.report("w_01", |_| {}).turn();
    pass(&mut fixture, "w_01").decided();
    assert_eq!(fixture.due(), [Due::Land(id("w_01"))]);
    fixture.retry("w", |retry| retry.from = Some("plan".parse().unwrap())).turn();
    assert_eq!(fixture.due(), [Due::Recall(id("w_01")), Due::Recall(id("w_02"))]);
}

#[test]
fn a_delegated_waypoint_goes_on_by_a_new_plan_only() {
    let mut fixture = delegated();
    for from in [None, Some("execute"), Some("estimate")] {
        let refused = fixture.retry("w", |retry| retry.from = from.map(|from| from.parse().unwrap())).refusal();
        let Refusal::Act(refused) = refused else { panic!("{refused:?}") };
        assert!(format!("{} {}", refused.message, refused.hint).contains("plan"), "{refused:?}");
    }
    fixture.retry("w", |retry| retry.from = Some("brainstorm".parse().unwrap())).turn();
    assert_eq!(gate(&fixture, "w"), "brainstorm");
}

#[test]
fn a_proposal_that_the_flight_cannot_take_is_refused_with_what_is_wrong() {
    for (proposal, wrong) in [
        (None, "proposal (fail): there is no proposal"),
        (Some(proposing(&[("a", &["b"]), ("b", &["a"])])), "dependencies_mapped (fail)"),
        (Some(proposing(&[])), "tasks_atomic (fail)"),
    ] {
        let mut fixture = at_plan();
        let refusal = hand_over(&mut fixture, "w", "# Plan\n", proposal).refusal();
        assert!(format!("{refusal}").contains(wrong), "{refusal}");
        assert_eq!(gate(&fixture, "w"), "plan");
    }
}

#[test]
fn children_that_were_added_otherwise_than_proposed_are_found() {
    let forged = |change: fn(&mut holdpoint_protocol::journal::Added)| {
        let mut fixture = delegated();
        let at = fixture.log.iter().rposition(|logged| matches!(logged.entry, Entry::Added(_))).unwrap();
        let Entry::Added(added) = &mut fixture.log[at].entry else { unreachable!("it was found") };
        change(added);
        !Account::of(&fixture).audit().findings.is_empty()
    };
    assert!(!forged(|_| {}));
    assert!(forged(|added| added.waypoints[0].goal = "something else".to_owned()));
    assert!(forged(|added| added.waypoints[1].depends_on.clear()));
    assert!(forged(|added| drop(added.waypoints.pop())));
    assert!(forged(|added| added.generation = 2));
    assert!(forged(|added| added.parent = id("next")));
    assert!(forged(|added| added.record.cause = None));
}

#[test]
fn a_waypoint_that_goes_on_before_its_children_are_complete_is_found() {
    let mut fixture = delegated();
    fixture.feed("w", Input::Gathered).turn();
    assert!(!Account::of(&fixture).audit().findings.is_empty());
    let mut fixture = delegated();
    fixture.feed("w_01", Input::Recalled).decided();
    assert!(!Account::of(&fixture).audit().findings.is_empty());
}

#[test]
fn a_reload_takes_work_back_from_children_whose_gate_is_gone() {
    let gate = |id: &str, role: &str| GateSpec::new(id.parse().unwrap(), role.parse().unwrap());
    let proposes = |mut spec: GateSpec| {
        spec.demands.proposes = Some(Default::default());
        spec
    };
    let children = |id: &str| GateSpec {
        kind: Some(GateKind::Children),
        child_workflow: Some("task".to_owned()),
        ..gate(id, "worker")
    };
    let spec = |gates: Vec<GateSpec>| WorkflowSpec::new("own", gates);
    let mut plan = plan(vec![waypoint("w", &[])]);
    plan.workflow = "own".to_owned();
    let own = spec(vec![proposes(gate("plan", "lead")), children("do"), gate("look", "lead")]);
    let verify = GateSpec { can_reject: true, ..gate("verify", "verifier") };
    let task = WorkflowSpec::new("task", [gate("build", "builder"), verify]);
    let mut fixture = Fixture::flown_by(plan, fleet(), &[own, task.clone()]);
    fixture.feed("w", Input::Open).turn();
    hand_over(&mut fixture, "w", "", Some(proposing(&[("a", &[])]))).decided();
    fixture.add_children("w");
    fixture.feed("w_01", Input::Open).turn();
    fixture.reload(crate::testing::desk::ADA, &[spec(vec![gate("plan", "lead"), gate("look", "lead")]), task]).unwrap();
    assert_eq!(fixture.due()[0], Due::Migrate(id("w")));
    let turn = fixture.migrate("w").turn();
    assert_eq!(turn.gate.as_str(), "plan");
    assert_eq!(fixture.due(), [Due::Recall(id("w_01"))]);
    fixture.feed("w_01", Input::Recalled).decided();
    is_sound(&fixture);
}
