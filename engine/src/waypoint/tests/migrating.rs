//! Work under way whose workflow is declared otherwise.

use holdpoint_protocol::{
    artifact::{ActCode, VerificationPurpose},
    ids::role,
    journal::Entry,
    org::Plane,
    reason::ReasonCode,
    refusal::RefusalCode,
    state::{Outcome, Phase, Purpose, Resume, Status},
    turn::{Turn, TurnRequest},
    workflow::{Escalation, GateSpec, WorkflowSpec},
};

use crate::testing::{
    desk::{ADA, person},
    fixture::{Fed, Fixture},
    parts::{NARRATIVE, failure, fleet, id, plan, to, to_people, waypoint},
};
use crate::{
    flight::{self, Due},
    testing::account::Account,
    waypoint::{self, Input, Refusal},
};

fn gate(name: &str, role_name: &str) -> GateSpec {
    GateSpec::new(name.parse().unwrap(), role_name.parse().unwrap())
}

fn verify(name: &str) -> GateSpec {
    GateSpec { can_reject: true, ..gate(name, role::VERIFIER) }
}

fn review(role_name: &str) -> GateSpec {
    GateSpec { can_reject: true, ..gate("review", role_name) }
}

fn declared(gates: impl IntoIterator<Item = GateSpec>) -> WorkflowSpec {
    WorkflowSpec::new("own", gates)
}

/// Build, verify, review.
fn before() -> WorkflowSpec {
    declared([gate("build", role::BUILDER), verify("verify"), review("reviewer")])
}

/// `w` is at the gate of this name.
fn standing_in(name: &str) -> Fixture {
    standing_by(before(), name)
}

fn standing_by(before: WorkflowSpec, name: &str) -> Fixture {
    let mut planned = plan(vec![waypoint("w", &[]), waypoint("later", &["w"])]);
    planned.workflow = "own".to_owned();
    let mut fixture = Fixture::flown_by(planned, fleet(), &[before]);
    fixture.feed("w", Input::Open).turn();
    if fixture.open_turn("w").unwrap().gate.as_str() != name {
        fixture.build_ok("w").turn();
    }
    if name == "review" {
        fixture.report("w", |_| {}).turn();
    }
    assert_eq!(fixture.open_turn("w").unwrap().gate.as_str(), name);
    fixture
}

fn due(fixture: &Fixture) -> Vec<Due> {
    flight::due(&fixture.flight, &fixture.waypoints, fixture.now)
}

fn is_sound(fixture: &Fixture) {
    assert_eq!(Account::of(fixture).audit().findings, []);
}

/// Where `w` is: the gate and role of its open turn, or why it is held.
fn place(fixture: &Fixture) -> String {
    let state = fixture.state("w");
    match state.phase {
        Phase::InTurn(open) => format!("{} {}", open.gate, open.role),
        Phase::Held(held) => format!("held {:?} {}", held.status, state.decision.unwrap().reason_code),
        other => format!("{other:?}"),
    }
}

#[test]
fn held_work_and_gates_name_the_people_whom_they_concern_as_declared_today() {
    let named = |owner: &str| WorkflowSpec {
        owner: Some(owner.parse().unwrap()),
        stakeholders: vec!["human-bob".parse().unwrap(), owner.parse().unwrap()],
        ..before()
    };
    let to = |fixture: &Fixture| {
        let waits = flight::waits(&fixture.flight, &fixture.waypoints);
        waits[0].to.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
    };
    let mut fixture = standing_in("review");
    fixture.reload(ADA, &[named("human-ann")]).unwrap();
    assert_eq!(flight::waits(&fixture.flight, &fixture.waypoints), [], "agents have the turn");
    fixture.feed("w", Input::BudgetExhausted).decided();
    assert_eq!(to(&fixture), "human-ann human-bob");
    fixture.reload(ADA, &[named("human-eve")]).unwrap();
    assert_eq!(to(&fixture), "human-eve human-bob");
    let sign = GateSpec {
        require_human: true,
        people: vec![ADA.parse().unwrap()],
        timeout: Some(holdpoint_protocol::time::Millis(60_000)),
        ..review("lead")
    };
    let mut fixture = standing_in("review");
    fixture.reload(ADA, &[declared([gate("build", role::BUILDER), verify("verify"), sign])]).unwrap();
    fixture.migrate("w");
    assert_eq!(to(&fixture), ADA, "a gate names who may complete it");
}

#[test]
fn whoever_submitted_a_flight_is_its_owner_where_none_is_declared_and_a_script_is_nobody() {
    let table = [
        ("fly", "human-eve", None, vec!["human-eve"]),
        ("fly", "deploy-script", None, vec![]),
        ("own", "human-eve", None, vec!["human-eve", "human-bob"]),
        ("own", "human-eve", Some("human-ann"), vec!["human-ann", "human-bob"]),
    ];
    for (workflow, by, owner, expected) in table {
        let owner = owner.map(|owner: &str| owner.parse().unwrap());
        let spec = WorkflowSpec { owner, stakeholders: vec!["human-bob".parse().unwrap()], ..before() };
        let mut plan = plan(vec![waypoint("w", &[])]);
        plan.workflow = workflow.to_owned();
        let mut fixture = Fixture::flown_by(plan, fleet(), &[spec]);
        fixture.flight.submitted.by = Some(by.parse().unwrap());
        fixture.feed("w", Input::Open);
        fixture.feed("w", Input::BudgetExhausted).decided();
        let waits = flight::waits(&fixture.flight, &fixture.waypoints);
        let to: Vec<&str> = waits[0].to.iter().map(|person| person.as_str()).collect();
        assert_eq!(to, expected, "{workflow}, submitted by {by}");
    }
}

#[test]
fn people_act_as_the_chart_of_today_says_and_no_open_turn_is_interrupted() {
    let signed_by = |who: &str| {
        let sign = GateSpec {
            require_human: true,
            people: vec![who.parse().unwrap()],
            timeout: Some(holdpoint_protocol::time::Millis(60_000)),
            ..review("lead")
        };
        declared([gate("build", role::BUILDER), verify("verify"), sign])
    };
    let mut fixture = standing_in("review");
    fixture.reload(ADA, &[signed_by(ADA)]).unwrap();
    fixture.migrate("w");
    let open = fixture.open_turn("w");
    fixture.reload(ADA, &[signed_by("human-bob")]).unwrap();
    assert_eq!((due(&fixture), fixture.open_turn("w")), (vec![], open), "the turn stays open");
    let by_ada = fixture.completion("w", ADA, Outcome::Complete);
    let refusal = fixture.feed("w", by_ada).refusal();
    assert!(refusal.to_string().contains("human-bob may"), "{refusal}");
    let by_bob = fixture.completion("w", "human-bob", Outcome::Complete);
    fixture.feed("w", by_bob).decided();
    assert!(matches!(fixture.phase("w"), Phase::Accepted { .. }));
    is_sound(&fixture);

    let mut fixture = standing_in("review");
    let left = GateSpec { vacant: true, ..review("reviewer") };
    fixture.reload(ADA, &[declared([gate("build", role::BUILDER), verify("verify"), left])]).unwrap();
    assert_eq!((due(&fixture), place(&fixture)), (vec![], "review reviewer".to_owned()), "whoever has it goes on");
}

#[test]
fn work_in_every_gate_goes_to_where_it_belongs_by_the_workflow_of_today() {
    let renamed = || declared([gate("make", role::BUILDER), verify("check"), review("reviewer")]);
    let table = [
        ("build", declared([gate("build", role::BUILDER), verify("verify")]), "build builder"),
        ("verify", declared([gate("build", role::BUILDER), verify("verify")]), "verify verifier"),
        ("review", declared([gate("build", role::BUILDER), verify("verify")]), "verify verifier"),
        ("review", declared([gate("build", role::BUILDER), verify("check")]), "build builder"),
        ("verify", declared([gate("build", role::BUILDER), verify("check"), review("reviewer")]), "build builder"),
        ("build", renamed(), "held Blocked reconfigured"),
        ("review", declared([gate("build", role::BUILDER), verify("verify"), review("critic")]), "review critic"),
        (
            "build",
            declared([gate("polish", "writer"), gate("build", role::BUILDER), verify("verify")]),
            "build builder",
        ),
    ];
    for (stood, after, expected) in table {
        let mut fixture = standing_in(stood);
        let old = fixture.open_turn("w").unwrap();
        fixture.reload(ADA, std::slice::from_ref(&after)).unwrap();
        let moves = !expected.starts_with(&format!("{stood} {}", old.role));
        assert_eq!(due(&fixture), if moves { vec![Due::Migrate(id("w"))] } else { vec![] }, "{stood} {expected}");
        let taken = fixture.migrate("w");
        assert_eq!(matches!(taken, Fed::Appended(_)), moves, "{taken:?}");
        assert_eq!(place(&fixture), expected, "it stood in {stood}");
        assert_eq!(due(&fixture), [], "once is enough");
        assert_eq!(fixture.migrate("w"), Fed::Nothing);
        fixture.crash();
        is_sound(&fixture);
    }
}

/// Build, verify, review, with this chain at the gate of this name.
fn chained(name: &str, chain: &[Escalation]) -> WorkflowSpec {
    let gates = [gate("build", role::BUILDER), verify("verify"), review("reviewer")];
    declared(gates.map(|gate| {
        let escalations = if gate.id.as_str() == name { chain.to_vec() } else { Vec::new() };
        GateSpec { escalations, ..gate }
    }))
}

#[test]
fn a_turn_stays_where_its_chain_has_it_and_is_the_gates_own_roles_where_it_has_it_no_more() {
    let (lead, chief) = (to_people("lead", &[ADA]), || to("chief"));
    let makers = Escalation { plane: Some(Plane::Build), ..to("senior") };
    for (stood, chain, after, stays) in [
        ("review", vec![lead.clone()], vec![lead.clone(), chief()], true),
        ("review", vec![lead.clone()], vec![to_people("lead", &["human-bob"])], true),
        ("review", vec![lead.clone()], vec![to("lead")], false),
        ("review", vec![lead.clone()], vec![chief(), lead.clone()], false),
        ("review", vec![chief()], vec![], false),
        ("build", vec![makers.clone()], vec![makers.clone(), lead.clone()], true),
        ("build", vec![lead.clone()], vec![lead.clone()], true),
        ("build", vec![lead.clone()], vec![makers], false),
    ] {
        let mut fixture = standing_by(chained(stood, &chain), stood);
        fixture.pass_deadline("w").turn();
        let (own, escalated) = (if stood == "build" { role::BUILDER } else { "reviewer" }, place(&fixture));
        let mut spec = chained(stood, &after);
        spec.description = Some("of today".to_owned());
        fixture.reload(ADA, &[spec]).unwrap();
        assert_eq!(due(&fixture), if stays { vec![] } else { vec![Due::Migrate(id("w"))] }, "{chain:?} {after:?}");
        fixture.migrate("w");
        let expected = if stays { escalated } else { format!("{stood} {own}") };
        assert_eq!((place(&fixture), fixture.open_turn("w").unwrap().link), (expected, u32::from(stays)));
        is_sound(&fixture);
    }
}

#[test]
fn a_turn_that_a_person_took_over_stays_theirs_where_its_gate_stays() {
    for stood in ["build", "review"] {
        let mut fixture = standing_in(stood);
        let take = fixture.take_act("w", ADA);
        fixture.feed("w", take).turn();
        fixture.reload(ADA, &[chained(stood, &[to_people("lead", &[ADA])])]).unwrap();
        assert_eq!(due(&fixture), [], "{stood}");
        assert_eq!(fixture.open_turn("w").unwrap().taken_by(), Some(&person(ADA)));
    }
}

#[test]
fn what_the_old_turn_came_to_is_not_taken_and_the_new_one_can_be_answered() {
    let mut fixture = standing_in("review");
    let late = fixture.fulfilment("w", |_| {});
    fixture.reload(ADA, &[declared([gate("build", role::BUILDER), verify("verify")])]).unwrap();
    let turn = fixture.migrate("w").turn();
    assert_eq!(turn.decision.as_ref().unwrap().reason_code, ReasonCode::Reconfigured);
    assert!(matches!(fixture.feed("w", late), Fed::Refused(Refusal::NotOpen { .. })));
    let visit = |n: usize| fixture.state("w").history[n].clone();
    assert_eq!((visit(2).gate.as_str(), visit(2).outcome), ("review", Some(Outcome::Skip)));
    fixture.report("w", |_| {}).decided();
    fixture.land("w");
    assert_eq!(fixture.status("w"), Status::Complete);
    is_sound(&fixture);
}

#[test]
fn running_work_passes_over_added_gates_and_later_work_does_not() {
    let mut fixture = standing_in("build");
    let approve = review("critic");
    let approve = GateSpec { id: "approve".parse().unwrap(), ..approve };
    let added = declared([
        gate("polish", "writer"),
        gate("build", role::BUILDER),
        verify("verify"),
        review("reviewer"),
        approve,
    ]);
    fixture.reload("script-1", &[added]).expect("a script may add gates");
    fixture.build_ok("w").turn();
    fixture.report("w", |_| {}).turn();
    fixture.fulfil("w", |_| {}).decided();
    assert!(matches!(fixture.state("w").phase, Phase::Accepted { .. }), "it passed over `approve`");
    fixture.land("w");
    let turn = fixture.feed("later", Input::Open).turn();
    assert_eq!(turn.gate.as_str(), "polish", "what begins later comes to every gate");
    is_sound(&fixture);
}

#[test]
fn work_that_no_kept_gate_would_verify_comes_to_the_added_verifier() {
    let mut fixture = standing_in("build");
    fixture.reload(ADA, &[declared([gate("build", role::BUILDER), verify("check")])]).unwrap();
    assert_eq!(fixture.build_ok("w").turn().gate.as_str(), "check");
    fixture.report("w", |_| {}).decided();
    fixture.land("w");
    is_sound(&fixture);
}

#[test]
fn held_work_migrates_and_a_retry_opens_the_gate_it_went_to() {
    let mut fixture = standing_in("review");
    fixture.fulfil("w", |completion| {
        completion.outcome = Some(Outcome::Blocked);
        completion.blockers = vec!["nobody knows".to_owned()];
    });
    fixture.reload(ADA, &[declared([gate("build", role::BUILDER), verify("verify")])]).unwrap();
    assert_eq!(due(&fixture), [Due::Migrate(id("w"))]);
    fixture.migrate("w").decided();
    let Phase::Held(held) = fixture.state("w").phase else { panic!("it is held still") };
    assert!(matches!(held.resume, Resume::Gate { gate, .. } if gate.as_str() == "verify"));
    assert_eq!(fixture.retry("w", |_| {}).turn().gate.as_str(), "verify");
    is_sound(&fixture);
}

#[test]
fn work_whose_gates_are_all_gone_begins_at_the_first_one_when_a_person_says_so() {
    let mut fixture = standing_in("verify");
    let renamed = declared([gate("make", role::BUILDER), verify("check")]);
    fixture.reload(ADA, &[renamed]).unwrap();
    let decided = fixture.migrate("w").decided();
    let advice = decided.decision.remediation.unwrap();
    assert!(advice.contains("holdpoint retry w") && advice.contains("gate make"), "{advice}");
    assert_eq!(fixture.retry("w", |_| {}).turn().gate.as_str(), "make");
    fixture.build_ok("w").turn();
    fixture.report("w", |_| {}).decided();
    is_sound(&fixture);
}

#[test]
fn an_open_question_goes_with_its_gate() {
    let mut fixture = standing_in("review");
    fixture.ask("w", "which one?").decided();
    fixture.reload(ADA, &[declared([gate("build", role::BUILDER), verify("verify")])]).unwrap();
    assert_eq!(fixture.migrate("w").turn().gate.as_str(), "verify");
    is_sound(&fixture);
}

#[test]
fn nothing_that_a_builder_said_comes_to_a_verifier_by_a_reload() {
    let mut fixture = standing_in("review");
    fixture.fulfil("w", |completion| {
        completion.outcome = Some(Outcome::NeedsReview);
        completion.blockers = vec![NARRATIVE.to_owned()];
    });
    let told = |fixture: &Fixture| serde_json::to_string(&fixture.turn("w")).unwrap().contains(NARRATIVE);
    assert!(told(&fixture), "the builder is told what to change");
    let judged = GateSpec { id: "build".parse().unwrap(), ..gate("build", "writer") };
    fixture.reload(ADA, &[declared([judged, gate("make", role::BUILDER), verify("verify")])]).unwrap();
    assert_eq!(fixture.migrate("w").turn().role.as_str(), "writer");
    assert!(told(&fixture), "so is whoever has the gate now");
    let mut fixture = standing_in("review");
    fixture.ask("w", NARRATIVE).decided();
    fixture.reload(ADA, &[declared([gate("build", role::BUILDER), verify("verify")])]).unwrap();
    fixture.migrate("w").turn();
    assert!(!told(&fixture));
}

#[test]
fn answers_to_who_makes_work_are_for_no_other_gate() {
    let hears = |turn: &Turn| turn.told().is_some_and(|told| !told.clarifications.is_empty());
    let asked_in = |mut fixture: Fixture| {
        fixture.ask("w", "which?").decided();
        assert!(hears(&fixture.answer("w").turn()));
        fixture
    };
    // Its gate is another role's, which makes nothing.
    let mut fixture = asked_in(standing_in("build"));
    let gates = [gate("build", "writer"), gate("make", role::BUILDER), verify("verify")];
    fixture.reload(ADA, &[declared(gates)]).unwrap();
    let turn = fixture.migrate("w").turn();
    assert_eq!((turn.role.as_str(), hears(&turn)), ("writer", false));
    is_sound(&fixture);
    // A person has it begin at the first gate, which makes nothing.
    let gates = [gate("draft", "writer"), gate("build", role::BUILDER), verify("verify")];
    for from in [None, Some("draft".parse().unwrap())] {
        let mut fixture = standing_by(declared(gates.clone()), "draft");
        fixture.fulfil("w", |completion| completion.outcome = Some(Outcome::Complete)).turn();
        let mut fixture = asked_in(fixture);
        while fixture.status("w") == Status::Running {
            fixture.build("w", failure(ReasonCode::AgentFailed));
        }
        let turn = fixture.retry("w", |retry| (retry.from, retry.reworks) = (from.clone(), 1)).turn();
        assert_eq!((turn.gate.as_str(), hears(&turn)), if from.is_none() { ("build", true) } else { ("draft", false) });
        is_sound(&fixture);
    }
}

#[test]
fn a_merge_is_verified_at_the_verifiers_gate_of_today() {
    let mut planned = plan(vec![waypoint("w", &[]), waypoint("later", &[])]);
    planned.workflow = "own".to_owned();
    let first = declared([gate("build", role::BUILDER), verify("verify")]);
    let mut fixture = Fixture::flown_by(planned, fleet(), &[first]);
    fixture.accept("w");
    fixture.accept("later");
    fixture.land("later");
    fixture.merge("w", true).turn();
    fixture.reload(ADA, &[declared([gate("build", role::BUILDER), verify("check")])]).unwrap();
    let turn = fixture.migrate("w").turn();
    let TurnRequest::Verify(request) = &turn.request else { panic!("{turn:?}") };
    assert_eq!((turn.gate.as_str(), request.purpose), ("check", VerificationPurpose::Merge));
    assert_eq!(fixture.open_turn("w").unwrap().purpose, Purpose::Verify(VerificationPurpose::Merge));
    fixture.report("w", |_| {}).decided();
    fixture.land("w");
    is_sound(&fixture);
}

#[test]
fn accepted_work_is_not_touched() {
    let mut fixture = standing_in("review");
    fixture.fulfil("w", |_| {}).decided();
    fixture.reload(ADA, &[declared([gate("make", role::BUILDER), verify("check")])]).unwrap();
    assert_eq!(due(&fixture), [Due::Land(id("w"))]);
    fixture.land("w");
    is_sound(&fixture);
}

/// The decider may not have read a reload yet that is before the entry.
#[test]
fn an_audit_takes_decisions_again_by_the_workflows_of_their_time() {
    let mut fixture = standing_in("verify");
    let known = fixture.flight.clone();
    fixture.reload(ADA, &[declared([gate("build", role::BUILDER), verify("verify")])]).unwrap();
    let newest = std::mem::replace(&mut fixture.flight, known);
    fixture.report("w", |_| {}).turn();
    assert_eq!((fixture.state("w").configured.by, place(&fixture).as_str()), (0, "review reviewer"));
    fixture.flight = newest;
    assert_eq!(due(&fixture), [Due::Migrate(id("w"))]);
    fixture.migrate("w").turn();
    assert_eq!(fixture.state("w").configured.by, 1);
    is_sound(&fixture);

    let mut account = Account::of(&fixture);
    for line in &mut account.entries {
        if let Ok(Entry::Turn(turn)) = &mut line.entry
            && let Some(state) = &mut turn.record.state
            && state.configured.by == 0
            && turn.gate.as_str() == "review"
        {
            state.configured.by = 1;
        }
    }
    assert!(!account.audit().is_sound(), "by the later workflows it would have come to something else");
}

#[test]
fn a_script_does_not_take_a_guard_away_and_the_audit_would_see_it() {
    let mut fixture = standing_in("review");
    let refusal = fixture.reload("script-1", &[declared([gate("build", role::BUILDER), verify("check")])]).unwrap_err();
    let Refusal::Act(refused) = refusal else { panic!("{refusal:?}") };
    assert_eq!(refused.code, ActCode::HumanRequired);
    fixture.reload(ADA, &[declared([gate("build", role::BUILDER), verify("check")])]).unwrap();
    fixture.migrate("w").turn();
    is_sound(&fixture);
    let mut account = Account::of(&fixture);
    let script = person("script-1");
    for line in &mut account.entries {
        if let Ok(Entry::Steered(steered)) = &mut line.entry {
            steered.by = script.clone();
        }
    }
    assert!(!account.audit().is_sound());
}

#[test]
fn an_agent_whose_gate_went_to_another_role_is_told_whose_turn_it_is() {
    let mut fixture = standing_in("review");
    assert!(waypoint::why_over(&fixture.state("w")).contains("answered, superseded or cancelled"));
    let Input::Fulfilled(late) = fixture.fulfilment("w", |_| {}) else { unreachable!("a completion") };
    fixture.reload(ADA, &[declared([gate("build", role::BUILDER), verify("verify"), review("critic")])]).unwrap();
    assert_eq!(fixture.migrate("w").turn().role.as_str(), "critic");
    let told = waypoint::why_over(&fixture.state("w"));
    assert!(told.contains("gate review is role critic's now"), "{told}");
    let refused = fixture.feed("w", Input::Fulfilled(late)).refusal();
    assert_eq!(refused.code(), RefusalCode::WrongRole);
    assert!(refused.to_string().contains("belongs to role critic, not to reviewer"), "{refused}");
    fixture.fulfil("w", |_| {}).decided();
    assert!(waypoint::why_over(&fixture.state("w")).contains("answered, superseded or cancelled"));
    is_sound(&fixture);
}
