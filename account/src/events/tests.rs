//! Events of flights in memory: tables of what happens at gates, and properties over random histories.

mod advising;
mod parts;
mod reports;
mod stories;
mod task;

use holdpoint_engine::{
    testing::{
        desk::ADA,
        parts::{failure, to, to_people},
    },
    waypoint::Input,
};
use holdpoint_protocol::{
    facts::Verdict,
    ids::role,
    journal::Sequence,
    org::Plane,
    reason::ReasonCode,
    state::{Outcome, Phase},
    workflow::{Escalation, GateSpec, WorkflowSpec},
};
use parts::{
    brief, build, completed_by, events, flown, flown_by, fulfilled_too, gate, handed, json_of, people, read, read_late,
    unusable, verify, when,
};
use serde_json::json;

#[test]
fn work_that_goes_through_is_a_transition_into_between_and_out_of_its_gates() {
    let mut fixture = flown_by([build(), verify()]);
    fixture.feed("w", Input::Open);
    fixture.wait(90);
    fixture.build_ok("w").turn();
    fixture.wait(10);
    fixture.report("w", |_| {}).decided();
    let events = events(&fixture);
    assert_eq!(
        brief(&events),
        ["transition -→build", "transition build→verify complete", "transition verify→- complete"]
    );
    let told = json_of(&events[1]);
    for (key, value) in [
        ("event", json!("gate_transition")),
        ("taskId", json!("w")),
        ("flight", json!("demo-1")),
        ("project", json!("demo")),
        ("workflow", json!("declared")),
        ("fromGate", json!("build")),
        ("toGate", json!("verify")),
        ("outcome", json!("complete")),
        ("agent", json!("agent-1")),
        ("role", json!("builder")),
        ("duration", json!(90)),
        ("level", json!("info")),
        ("timestamp", json!("2026-09-21T14:14:50Z")),
        ("ref", json!("HP_JOURNAL/3")),
    ] {
        assert_eq!(told[key], value, "{key}");
    }
}

#[test]
fn a_rejection_names_who_sent_the_work_back_and_what_has_to_change() {
    let mut fixture = flown_by([build(), verify(), people("sign")]);
    fixture.feed("w", Input::Open);
    fixture.build_ok("w").turn();
    fixture.report("w", |report| report.criteria[0].result.verdict = Verdict::Fail).turn();
    fixture.build_ok("w").turn();
    fixture.report("w", |_| {}).turn();
    fixture.wait(1_800);
    fixture.complete("w", Outcome::NeedsReview).turn();
    let events = events(&fixture);
    let expected = [
        "transition -→build",
        "transition build→verify complete",
        "transition verify→build needs_review",
        "rejection verify→build",
        "transition build→verify complete",
        "transition verify→sign complete",
        "transition sign→build needs_review",
        "rejection sign→build",
    ];
    assert_eq!(brief(&events), expected);
    assert!(json_of(&events[3])["blockers"][0].as_str().unwrap().starts_with("unit fail"), "{:?}", events[3]);
    let told = json_of(&events[7]);
    for (key, value) in [
        ("event", json!("gate_rejection")),
        ("gate", json!("sign")),
        ("targetGate", json!("build")),
        ("agent", json!("human-ada")),
        ("blockers", json!(["name it better"])),
        ("duration", json!(1800)),
        ("workOf", json!("agent-1")),
    ] {
        assert_eq!(told[key], value, "{key}");
    }
}

#[test]
fn a_maker_with_nothing_to_hand_off_rejects_nobodys_work() {
    let mut fixture = flown_by([build(), verify()]);
    fixture.feed("w", Input::Open);
    fixture.build("w", failure(ReasonCode::AgentFailed)).turn();
    assert_eq!(brief(&events(&fixture)), ["transition -→build", "transition build→build needs_review"]);
}

#[test]
fn a_skipped_gate_says_why_and_a_condition_that_fails_what_was_done_about_it() {
    let mut fixture = flown_by([build(), verify(), when(people("legal")), when(people("docs"))]);
    fixture.conditions.left_out = vec!["legal"];
    fixture.feed("w", Input::Open);
    fixture.build_ok("w").turn();
    fixture.report("w", |_| {}).turn();
    assert_eq!(brief(&events(&fixture))[2..], ["transition verify→docs complete", "skip legal condition_false"]);

    let mut fixture = flown_by([build(), verify(), when(people("docs"))]);
    fixture.conditions.failing = vec!["docs"];
    fixture.feed("w", Input::Open);
    fixture.build_ok("w").turn();
    fixture.report("w", |_| {}).decided();
    let found = events(&fixture);
    assert_eq!(brief(&found)[2..], ["transition verify→- complete", "condition_error docs"]);
    let told = json_of(&found[3]);
    assert_eq!(told["expression"], "tags.includes('docs')");
    assert_eq!((&told["error"], &told["action"]), (&json!("it threw"), &json!("Holding the work for a person")));
    assert_eq!(told["level"], "warn");
}

#[test]
fn a_turn_that_nobody_answers_times_out_to_the_same_role_another_one_or_a_person() {
    let escalating =
        GateSpec { can_reject: false, escalations: vec![to_people("lead", &["human-bob"])], ..people("sign") };
    let mut fixture = flown_by([escalating]);
    fixture.feed("w", Input::Open);
    fixture.pass_deadline("w").turn();
    fixture.pass_deadline("w").decided();
    let found = events(&fixture);
    let expected = [
        "transition -→sign",
        "timeout sign reviewer→lead open",
        "timeout sign lead→- held",
        "transition sign→- blocked",
    ];
    assert_eq!(brief(&found), expected);
    let told = json_of(&found[1]);
    assert_eq!(
        (&told["timeout"], &told["escalateTo"], &told["role"]),
        (&json!(60), &json!("lead"), &json!("reviewer"))
    );

    let lead = || vec![to_people("lead", &["human-bob"])];
    let makers = Escalation { plane: Some(Plane::Build), ..to("senior") };
    let escalating = GateSpec { escalations: vec![to(role::REPAIR), makers], ..build() };
    let mut fixture = flown_by([escalating, GateSpec { escalations: lead(), ..verify() }]);
    fixture.feed("w", Input::Open);
    for _ in 0..2 {
        fixture.pass_deadline("w").turn();
    }
    fixture.build_ok("w").turn();
    fixture.pass_deadline("w").decided();
    let expected = [
        "timeout build builder→repair open",
        "timeout build repair→senior open",
        "transition build→verify complete",
        "timeout verify verifier→- held",
        "transition verify→- blocked",
    ];
    assert_eq!(brief(&events(&fixture))[1..], expected);

    let mut fixture = flown_by([build(), verify()]);
    fixture.feed("w", Input::Open);
    fixture.pass_deadline("w").turn();
    assert_eq!(brief(&events(&fixture))[1..], ["timeout build builder→- open"]);
    for _ in 0..3 {
        fixture.pass_deadline("w");
    }
    let expected = ["timeout build builder→- held", "transition build→- blocked"];
    assert_eq!(
        brief(&events(&fixture))[3..].iter().rev().take(2).rev().collect::<Vec<_>>(),
        expected.iter().collect::<Vec<_>>()
    );
}

#[test]
fn a_turn_whose_agents_died_is_left_and_is_no_timeout() {
    let mut fixture = flown_by([build(), verify()]);
    fixture.feed("w", Input::Open);
    fixture.die("w", 3);
    assert_eq!(brief(&events(&fixture)), ["transition -→build", "transition build→- blocked"]);
}

#[test]
fn work_that_goes_round_names_its_gate_and_how_often() {
    let mut fixture = flown_by([build(), verify(), people("sign")]);
    fixture.feed("w", Input::Open);
    for _ in 0..5 {
        fixture.build_ok("w").turn();
        fixture.report("w", |_| {}).turn();
        fixture.complete("w", Outcome::NeedsReview);
    }
    let found = events(&fixture);
    let told = json_of(found.last().unwrap());
    assert_eq!(told["event"], "gate_circular_loop");
    assert_eq!((&told["gate"], &told["loopCount"], &told["level"]), (&json!("build"), &json!(6), &json!("error")));
    assert!(told["message"].as_str().unwrap().contains("w came to gate 'build' 6 times"), "{told}");
}

#[test]
fn a_second_and_a_late_handoff_are_conflicts_and_another_roles_an_assignment_error() {
    let mut fixture = flown_by([build(), verify()]);
    fixture.feed("w", Input::Open);
    let turn = fixture.open_turn("w").unwrap().turn;
    let handoffs =
        vec![handed(&fixture, "verifier", "agent-9", &turn, 1), handed(&fixture, "builder", "agent-2", &turn, 2)];
    let (mut reader, _) = read(&fixture, &handoffs);
    assert_eq!(brief(&reader.conflicts()), ["assignment_error build builder not verifier by agent-9"]);
    assert_eq!(reader.conflicts(), [], "each is told once");
    fixture.build_ok("w").turn();
    let (mut reader, told) = read(&fixture, &handoffs);
    let conflicts = reader.conflicts();
    assert_eq!(brief(&conflicts)[1..], ["conflict build agent-1 before agent-2"]);
    assert_eq!(told.len(), 2, "no entry says so");
    assert_eq!(json_of(&conflicts[1])["winningAgent"], "agent-1");

    let mut fixture = flown_by([build(), verify()]);
    fixture.feed("w", Input::Open);
    let turn = fixture.open_turn("w").unwrap().turn;
    fixture.pass_deadline("w").turn();
    let handoffs = vec![handed(&fixture, "builder", "agent-2", &turn, 2)];
    let (mut reader, _) = read(&fixture, &handoffs);
    assert_eq!(brief(&reader.conflicts()), ["conflict build - before agent-2"]);
    assert!(matches!(fixture.state("w").phase, Phase::InTurn(_)), "its turn is open under another name");
}

#[test]
fn what_answers_a_turn_whose_gate_went_to_another_role_is_an_assignment_error() {
    let mut fixture = flown_by([gate("draft", "writer")]);
    fixture.feed("w", Input::Open);
    let turn = fixture.open_turn("w").unwrap().turn;
    fixture.reload(ADA, &[WorkflowSpec::new("declared", [gate("draft", "editor")])]).unwrap();
    fixture.migrate("w").turn();
    let (mut reader, _) = read(&fixture, &[handed(&fixture, "writer", "agent-2", &turn, 2)]);
    let told = reader.conflicts();
    assert_eq!(brief(&told), ["assignment_error draft editor not writer by agent-2"]);
    assert!(told[0].message.as_ref().unwrap().contains("the gate went to role 'editor' meanwhile"));
}

#[test]
fn agents_completions_are_told_as_peoples_are_and_a_late_one_is_a_conflict_but_a_corrected_one_is_not() {
    let mut fixture = flown_by([gate("draft", "writer"), GateSpec { can_reject: true, ..gate("look", "writer") }]);
    fixture.feed("w", Input::Open);
    let mut late = fulfilled_too(&mut fixture);
    fixture.fulfil("w", |_| {}).turn();
    fixture
        .fulfil("w", |completion| {
            completion.outcome = Some(Outcome::NeedsReview);
            completion.blockers = vec!["name the source".to_owned()];
        })
        .turn();
    let corrected = late.clone();
    late.sequence = Sequence(late.sequence.0 + 100_000);
    let (mut reader, told) = read(&fixture, &[corrected, late]);
    let found: Vec<_> = told.into_iter().flat_map(|told| told.events).collect();
    let expected = ["transition -→draft", "transition draft→look complete", "transition look→draft needs_review"];
    assert_eq!(brief(&found)[..3], expected);
    assert!(brief(&found).contains(&"rejection look→draft".to_owned()), "{found:?}");
    assert_eq!(brief(&reader.conflicts()), ["conflict draft reviewer-1 before reviewer-1"]);
}

#[test]
fn an_act_of_a_person_whom_the_gate_does_not_name_is_no_conflict_and_a_second_one_of_those_is() {
    let named = |names: &[&str]| names.iter().map(|name| name.parse().unwrap()).collect::<Vec<_>>();
    let sign = GateSpec { people: named(&[ADA, "human-eve"]), can_reject: false, ..people("sign") };
    let mut fixture = flown_by([sign]);
    fixture.feed("w", Input::Open);
    let (refused, second) = (completed_by(&mut fixture, "human-bob"), completed_by(&mut fixture, "human-eve"));
    fixture.complete("w", Outcome::Complete).decided();
    let (mut reader, _) = read(&fixture, &[refused, second]);
    assert_eq!(brief(&reader.conflicts()), ["conflict sign human-ada before human-eve"]);
}

#[test]
fn a_rejection_names_the_blockers_that_nobody_can_act_on() {
    let mut fixture = flown_by([gate("draft", "writer"), GateSpec { can_reject: true, ..gate("look", "reader") }]);
    fixture.feed("w", Input::Open);
    fixture.fulfil("w", |_| {}).turn();
    let blockers = ["needs more work", "section 4 names no source"].map(str::to_owned);
    fixture
        .fulfil("w", |completion| {
            completion.outcome = Some(Outcome::NeedsReview);
            completion.blockers = blockers.to_vec();
        })
        .turn();
    let told = json_of(events(&fixture).last().unwrap());
    assert_eq!((&told["event"], &told["vagueBlockers"]), (&json!("gate_rejection"), &json!(["needs more work"])));
    assert_eq!(told["blockers"], json!(blockers));
}

#[test]
fn a_completion_that_was_refused_and_not_corrected_before_its_turn_was_over_is_no_conflict() {
    let mut fixture = flown_by([gate("draft", "writer"), GateSpec { can_reject: true, ..gate("look", "reader") }]);
    fixture.feed("w", Input::Open);
    let refused = unusable(&mut fixture);
    let (mut reader, _) = read(&fixture, std::slice::from_ref(&refused));
    assert_eq!(reader.conflicts(), [], "its turn is open");
    fixture.pass_deadline("w").turn();
    let (mut reader, _) = read(&fixture, std::slice::from_ref(&refused));
    assert_eq!(brief(&reader.conflicts()), Vec::<String>::new(), "nobody was first, and nobody was too late");
    fixture.fulfil("w", |_| {}).turn();
    let (mut reader, _) = read(&fixture, &[refused]);
    assert_eq!(brief(&reader.conflicts()), Vec::<String>::new());

    // A handoff after the turn's end was too late, no matter what it says; so was what would have been taken.
    let mut fixture = flown_by([gate("draft", "writer")]);
    fixture.feed("w", Input::Open);
    let (sound, wrong) = (fulfilled_too(&mut fixture), unusable(&mut fixture));
    fixture.pass_deadline("w").turn();
    let (mut reader, _) = read(&fixture, &[sound]);
    assert_eq!(brief(&reader.conflicts()), ["conflict draft - before reviewer-1"]);
    let (mut reader, _) = read_late(&fixture, &[wrong]);
    assert_eq!(brief(&reader.conflicts()), ["conflict draft - before reviewer-1"]);
}

#[test]
fn what_an_agent_answers_whom_the_org_chart_does_not_name_is_an_assignment_error() {
    let bound = |agents: &[&str]| WorkflowSpec {
        listed: [("writer".parse().unwrap(), agents.iter().map(|name| name.parse().unwrap()).collect())].into(),
        ..WorkflowSpec::new("declared", [gate("draft", "writer")])
    };
    let mut fixture = flown(bound(&["w1"]));
    fixture.feed("w", Input::Open);
    let turn = fixture.open_turn("w").unwrap().turn;
    let handoffs = [
        handed(&fixture, "writer", "stray", &turn, 1),
        handed(&fixture, "writer", "w2", &turn, 2),
        handed(&fixture, "writer", "w1", &turn, 3),
    ];
    let (mut reader, _) = read(&fixture, &handoffs);
    let told = reader.conflicts();
    let expected = ["stray", "w2"].map(|agent| format!("assignment_error draft writer not writer by {agent}"));
    assert_eq!(brief(&told), expected);
    assert!(told[0].message.as_ref().unwrap().contains("the org chart does not name for role 'writer'"));
    fixture.wait(10);
    fixture.reload(ADA, &[bound(&["w2"])]).unwrap();
    let (mut reader, _) = read_late(&fixture, &handoffs);
    assert_eq!(brief(&reader.conflicts()), expected[..1], "who joined meanwhile may answer, and who left still may");
}

#[test]
fn work_that_is_held_goes_on_by_a_transition_from_nowhere() {
    let mut fixture = flown_by([build(), verify(), people("sign")]);
    fixture.feed("w", Input::Open);
    fixture.build_ok("w").turn();
    fixture.report("w", |_| {}).turn();
    fixture.complete("w", Outcome::Blocked).decided();
    fixture.retry("w", |_| {}).turn();
    assert_eq!(brief(&events(&fixture))[3..], ["transition sign→- blocked", "transition -→sign"]);
}
