//! A waypoint as a task.

use holdpoint_engine::{
    audit::HandoffLine,
    testing::{account::Account, fixture::Fixture},
    waypoint::Input,
};
use holdpoint_protocol::{
    Timestamp,
    facts::{Harness, Verdict},
    journal::Sequence,
    state::Outcome,
};
use serde_json::{Value, json};

use super::parts::{build, flown_by, people, verify};
use crate::events::{FlightReader, TaskGatherer};

fn task(fixture: &Fixture) -> Value {
    let (mut reader, mut tasks) = (FlightReader::default(), TaskGatherer::of("w".parse().unwrap()));
    for line in &Account::of(fixture).handoffs {
        reader.handoff(&HandoffLine { sender: Ok(Harness::Holdpoint), ..line.clone() }, Timestamp::from_millis(0));
    }
    for (logged, n) in fixture.log.iter().zip(1..) {
        let told = reader.entry(logged.waypoint.as_ref(), Sequence(n), &logged.entry);
        tasks.take(&reader, &told, &logged.entry);
    }
    serde_json::to_value(tasks.finish(&reader).unwrap()).unwrap()
}

#[test]
fn a_task_has_the_keys_of_the_workflow_document_and_every_visit_with_its_words() {
    let mut fixture = flown_by([build(), verify(), people("sign")]);
    assert_eq!((task(&fixture)["status"].clone(), task(&fixture)["gate"].clone()), (json!("ready"), Value::Null));
    fixture.feed("w", Input::Open);
    fixture.wait(60);
    fixture.build_ok("w").turn();
    fixture.wait(10);
    fixture.report("w", |_| {}).turn();
    fixture.wait(30);
    let open = task(&fixture);
    assert_eq!((&open["status"], &open["gate"]["current"]), (&json!("in_progress"), &json!("sign")));
    assert_eq!(open["routing"], json!({"workflow": "declared", "role": "reviewer"}));
    let reject = fixture.completion("w", "human-ada", Outcome::NeedsReview);
    fixture.feed("w", reject).turn();

    let back = task(&fixture);
    for key in ["id", "title", "description", "created", "updated", "tags", "metadata"] {
        assert!(!back[key].is_null(), "{key}: {back}");
    }
    assert_eq!(back["gate"]["current"], "build");
    let review = &back["reviewContext"];
    assert_eq!((&review["fromGate"], &review["fromAgent"]), (&json!("sign"), &json!("human-ada")));
    assert!(review["blockers"].to_string().contains("name it better"), "{review}");
    let visits: Vec<_> = back["gateHistory"].as_array().unwrap().iter().map(|v| (&v["gate"], &v["duration"])).collect();
    assert_eq!(visits, [(&json!("build"), &json!(60)), (&json!("verify"), &json!(10)), (&json!("sign"), &json!(30))]);
    let signed = &back["gateHistory"][2];
    assert_eq!((&signed["outcome"], &signed["agent"]), (&json!("needs_review"), &json!("human-ada")));
    assert_eq!((&signed["summary"], &signed["blockers"]), (&json!("looked at"), &json!(["name it better"])));
}

#[test]
fn a_task_is_complete_once_its_work_landed_and_blocked_where_people_have_to_look() {
    let mut fixture = flown_by([build(), verify()]);
    fixture.feed("w", Input::Open);
    fixture.build_ok("w").turn();
    fixture.report("w", |_| {}).decided();
    assert_eq!(task(&fixture)["status"], "in_progress", "it has to land");
    fixture.land("w");
    assert_eq!((&task(&fixture)["status"], &task(&fixture)["gate"]), (&json!("complete"), &Value::Null));

    let mut fixture = flown_by([build(), verify()]);
    fixture.feed("w", Input::Open);
    fixture.die("w", 3);
    assert_eq!(task(&fixture)["status"], "blocked");
}

#[test]
fn every_visit_is_in_a_task_however_many_a_state_names() {
    let mut fixture = flown_by([build(), verify()]);
    fixture.feed("w", Input::Open);
    let rounds = 3;
    for _ in 0..rounds {
        fixture.build_ok("w").turn();
        fixture.report("w", |report| report.criteria[0].result.verdict = Verdict::Fail).turn();
    }
    assert_eq!(task(&fixture)["gateHistory"].as_array().unwrap().len(), 2 * rounds);
}
