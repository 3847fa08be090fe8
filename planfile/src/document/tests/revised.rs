//! Documents that people edit, and what they may not change.

use holdpoint_protocol::checkpoint::{CheckpointSpec, CheckpointStatus, DOCUMENT_BYTES_MAX, DocumentSpec, GateDemands};

use super::*;

const TEXT: &str = "# Impact\r\n\n---\nNone.\n";

fn demanded() -> GateDemands {
    let addressed = CheckpointSpec { name: "addressed".parse().unwrap(), rule: None, required: true };
    GateDemands {
        document: Some(DocumentSpec { sections: vec!["Impact".to_owned()] }),
        checkpoints: vec![addressed],
        ..GateDemands::default()
    }
}

/// The document of a gate, as a history has it.
fn handed_over() -> ArtifactDocument {
    let results = json!([
        {"name": "document", "by": "predicate", "status": "pass"},
        {"name": "addressed", "by": "statement", "status": "pass", "message": "all"},
    ]);
    let artifact = json!({
        "artifact_id": "a-1", "waypoint_id": "w", "turn": "t-1", "outcome": "complete", "summary": "Done.",
        "blockers": ["x"], "metered": {"wall": 12},
        "document": {"text": TEXT, "title": "Impact", "checkpoints": results, "retry_count": 1, "last_failure": "document (fail)"},
    });
    let mut past = full_past();
    past.gate = Some("requirements".to_owned());
    let of = HistoryLine { standing: Some(Standing::Taken), ..line("completion", artifact) };
    ArtifactDocument::of(&of, past)
}

fn edit(change: impl FnOnce(String) -> String) -> Result<EditedDocument, String> {
    let old = handed_over();
    let text = change(old.render().unwrap());
    edited(&old, &demanded(), "it.md", text.as_bytes()).map_err(|problems| problems.render())
}

fn replaced(from: &'static str, to: &'static str) -> impl FnOnce(String) -> String {
    move |text| {
        assert_eq!(text.matches(from).count(), 1, "{from} in {text}");
        text.replace(from, to)
    }
}

#[test]
fn a_person_changes_the_title_the_text_and_what_is_said_and_the_rest_follows() {
    let unchanged = edit(|text| text).unwrap();
    assert!(!unchanged.is_changed);
    assert_eq!((unchanged.gate.as_str(), unchanged.document.text.as_str()), ("requirements", TEXT));
    let claimed = edit(replaced("handoff_ready: false", "handoff_ready: true")).unwrap();
    assert!(!claimed.is_changed, "what follows is not believed");
    let titled = edit(replaced("title: \"Impact\"", "title: Consequences")).unwrap();
    assert_eq!((titled.is_changed, titled.document.title.as_deref()), (true, Some("Consequences")));
    let written = edit(replaced("None.", "Small.")).unwrap();
    assert_eq!(written.document.text, TEXT.replace("None.", "Small."));
    assert_eq!((written.document.retry_count, written.document.last_failure.as_deref()), (1, Some("document (fail)")));
    let emptied = edit(replaced("# Impact\r", "# Design\r")).unwrap();
    let status = |document: &EditedDocument, at: usize| document.document.checkpoints[at].status;
    assert_eq!(status(&emptied, 0), CheckpointStatus::Fail, "it is looked at again");
    let said = edit(replaced("message: all", "message: but one")).unwrap();
    assert_eq!((said.document.checkpoints[1].message.as_str(), status(&said, 1)), ("but one", CheckpointStatus::Pass));
    let old = handed_over();
    let other = edited(&old, &demanded(), "it.md", old.with_text("# Impact\n\nOther.\n").as_bytes()).unwrap();
    assert_eq!(other.document.text, "# Impact\n\nOther.\n");
}

#[test]
fn what_only_its_maker_could_change_and_files_of_other_documents_are_refused_at_their_lines() {
    for (from, to, named) in [
        ("ref: \"HP_HANDOFF_BUILDER/7\"", "ref: \"HP_HANDOFF_BUILDER/8\"", "`ref` is HP_HANDOFF_BUILDER/8"),
        ("stage: requirements", "stage: design", "`stage` is design"),
        ("id: w\n", "id: other\n", "`id` is other"),
        ("retry_count: 1", "retry_count: 0", "`retry_count` differs"),
        ("outcome: complete", "outcome: blocked", "`artifact.outcome` differs"),
        ("wall: 12", "wall: 13", "`artifact.metered.wall` differs"),
        ("  turn: \"t-1\"\n", "", "`artifact.turn` differs"),
        ("name: addressed", "name: adressed", "no checkpoint adressed"),
        ("    name: document\n    status: pass", "    name: document\n    status: fine", "`checkpoints` is no list"),
    ] {
        let old = handed_over().render().unwrap();
        assert_eq!(old.matches(from).count(), 1, "{from} in {old}");
        let line = old[..old.find(from).unwrap()].matches('\n').count() + 1;
        let said = edit(|text| text.replace(from, to)).unwrap_err();
        assert!(said.contains(named), "{named} in {said}");
        let at: usize = said.split(':').nth(1).unwrap().parse().unwrap();
        assert!(to.is_empty() || at.abs_diff(line) <= 6, "{named}: line {line}, told {at}");
        assert!(said.contains("hint: "), "{said}");
    }
    let long = "x".repeat(DOCUMENT_BYTES_MAX + 1);
    let old = handed_over();
    assert!(edited(&old, &demanded(), "it.md", old.with_text(&long).as_bytes()).is_err());
    let plan = ArtifactDocument::of(&line("build_plan", json!({"waypoint_id": "w", "turn": "t"})), full_past());
    let said = edited(&plan, &demanded(), "it.md", plan.render().unwrap().as_bytes()).unwrap_err().render();
    assert!(said.contains("is no document of a gate"), "{said}");
}

#[test]
fn the_demands_and_the_newest_document_of_a_gate_are_what_its_journal_says() {
    let turn = |gate: &str, section: &str| {
        let context = json!({"document": {"sections": [section]}});
        line(
            "turn",
            json!({"gate": gate, "turn_id": "t", "request": {"context": context}, "record": {"state": {"documents": []}}}),
        )
    };
    let from = |at: &str| json!({"record": {"state": {"documents": [{"gate": "draft", "from": at}]}}});
    let mut history =
        vec![turn("draft", "One"), turn("draft", "Two"), turn("look", "Three"), line("decided", from("S/1"))];
    let sections = |gate: &str| demands(&history, gate).document.unwrap_or_default().sections;
    assert_eq!((sections("draft"), sections("none")), (vec!["Two".to_owned()], vec![]));
    assert_eq!((newest(&history, "draft"), newest(&history, "look")), (Some("S/1"), None));
    history.push(HistoryLine { standing: Some(Standing::Unsigned), ..line("revised", from("S/9")) });
    history.push(line("revise", json!({"gate": "draft"})));
    assert_eq!(newest(&history, "draft"), Some("S/1"), "only what an orchestrator signed counts");
    history.push(line("revised", from("S/2")));
    assert_eq!(newest(&history, "draft"), Some("S/2"));
}
