use std::{fs, os::unix::fs::symlink};

use super::*;

fn folder() -> (tempfile::TempDir, BridgeDesk) {
    let dir = tempfile::tempdir().unwrap();
    let desk = BridgeDesk::open(&dir.path().join("desk")).unwrap();
    (dir, desk)
}

fn write(desk: &BridgeDesk, path: &str, bytes: impl AsRef<[u8]>) {
    fs::write(desk.folder().path().join(path), bytes).unwrap();
}

fn read(desk: &BridgeDesk, path: &str) -> String {
    desk.folder().read(path).unwrap().map(|found| found.text).unwrap_or_default()
}

/// What two looks find to be submitted.
fn found(desk: &BridgeDesk) -> Vec<String> {
    let (_, seen) = new_requests(desk, &BTreeMap::new()).unwrap();
    let (found, _) = new_requests(desk, &seen).unwrap();
    found.into_iter().map(|file| file.name.to_string()).collect()
}

#[test]
fn requests_are_submitted_by_priority_once_for_their_bytes() {
    let (_dir, desk) = folder();
    for name in ["NEW_b.md", "LOW_NEW_a.md", "CRITICAL_NEW_z.md", "NEW_a.md"] {
        write(&desk, &format!("tasks/queue/{name}"), name);
    }
    let (first, _) = new_requests(&desk, &BTreeMap::new()).unwrap();
    assert!(first.is_empty(), "somebody may be writing still");
    assert_eq!(found(&desk), ["CRITICAL_NEW_z.md", "NEW_a.md", "NEW_b.md"], "and an id is one request");
    let known = |text: &str, submitted| KnownRequest {
        flight: "f".parse().unwrap(),
        digest: Some(Digest::of(text.as_bytes())),
        submitted,
        over: false,
    };
    desk.remember(&"b".parse().unwrap(), &known("NEW_b.md", true)).unwrap();
    desk.remember(&"z".parse().unwrap(), &known("CRITICAL_NEW_z.md", false)).unwrap();
    desk.remember(&"a".parse().unwrap(), &known("other words", true)).unwrap();
    assert_eq!(found(&desk), ["CRITICAL_NEW_z.md"], "one whose answer never came is submitted again");
    let said = read(&desk, "tasks/supervisor_feedback/FEEDBACK_NEW_a.md");
    assert!(said.contains("submitted with other words"), "{said}");
}

#[test]
fn a_request_that_was_moved_on_before_it_was_seen_is_one() {
    let (_dir, desk) = folder();
    write(&desk, "tasks/queue/DOC_login.md", "# Log in\n");
    assert_eq!(found(&desk), ["DOC_login.md"]);
    let killed = KnownRequest { flight: "f".parse().unwrap(), digest: None, submitted: false, over: false };
    desk.remember(&"login".parse().unwrap(), &killed).unwrap();
    assert_eq!(found(&desk), ["DOC_login.md"], "also where the bridge was killed while it was submitted");
    write(&desk, "tasks/queue/EXEC_other_01.md", "# A task of nothing\n");
    assert_eq!(found(&desk), ["DOC_login.md"]);
    assert!(read(&desk, "tasks/supervisor_feedback/FEEDBACK_EXEC_other_01.md").contains("there is no request other"));
}

#[test]
fn a_hostile_file_stays_and_its_feedback_names_line_and_fix() {
    let (dir, desk) = folder();
    let queue = desk.folder().path().join("tasks/queue");
    fs::write(dir.path().join("secret"), "secret").unwrap();
    symlink(dir.path().join("secret"), queue.join("NEW_link.md")).unwrap();
    write(&desk, "tasks/queue/NEW_latin.md", b"one\ntwo \xff\n");
    write(&desk, "tasks/queue/NEW_large.md", vec![b'x'; (1 << 20) + 1]);
    write(&desk, "tasks/queue/NEW_empty.md", "\n");
    write(&desk, "tasks/queue/NEW_two words.md", "x");
    write(&desk, "tasks/queue/NEW_a_01.md", "x");
    write(&desk, "tasks/review/notes.txt", "x");
    assert!(found(&desk).is_empty());
    let feedback = desk.folder().files("tasks/supervisor_feedback").unwrap();
    let all: Vec<String> =
        feedback.iter().map(|file| read(&desk, &format!("tasks/supervisor_feedback/{file}"))).collect();
    for (file, says) in [
        ("NEW_link.md", "no plain file: put a file there"),
        ("NEW_latin.md", "line 2 is not UTF-8: save it"),
        ("NEW_large.md", "more than 1048576 bytes: keep"),
        ("NEW_empty.md", "line 1: it is empty: write"),
        ("NEW_two words.md", "is no id: use letters"),
        ("NEW_a_01.md", "leave the number out"),
        ("notes.txt", "it is not called TYPE_ID.md"),
    ] {
        assert!(all.iter().any(|text| text.contains(file) && text.contains(says)), "{file}: {all:#?}");
        assert!(!all.iter().any(|text| text.contains("secret\n")));
    }
    assert_eq!(fs::read_dir(&queue).unwrap().count(), 6, "they stay");
}

fn item(reference: &str) -> InboxItem {
    serde_json::from_value(serde_json::json!({
        "kind": "question", "flight": "f", "waypoint": "login", "gate": "brainstorm", "since": "2026-01-01T00:00:00Z",
        "question": "Which one?", "options": ["a", "b"], "confidence": "low", "round": 1, "reason_code": null, "remediation": null,
        "evidence": [], "actions": ["answer"], "ref": reference,
    }))
    .unwrap()
}

#[test]
fn a_question_is_asked_in_its_file_and_what_is_below_is_its_answer() {
    let (_dir, desk) = folder();
    let path = "tasks/escalations/login_CLARIFY.md";
    // Its asker's file, below which a person has begun already.
    write(&desk, path, "Which one?\n\nthe first\n");
    assert_eq!(asking(&desk, &item("HP_HANDOFF_SUPERVISOR/7")).unwrap(), None);
    assert_eq!(asking(&desk, &item("HP_HANDOFF_SUPERVISOR/7")).unwrap().as_deref(), Some("the first"));
    // Another question takes its place.
    assert_eq!(asking(&desk, &item("HP_HANDOFF_SUPERVISOR/9")).unwrap(), None);
    assert!(read(&desk, path).contains("question: HP_HANDOFF_SUPERVISOR/9"));
    assert_eq!(desk.folder().files("stale").unwrap().len(), 1, "the answer that nobody waited for is kept");
    withdrawn(&desk, &"login".parse().unwrap()).unwrap();
    assert!(!desk.folder().has(path));
}

#[test]
fn proposed_tasks_leave_the_queue_once_they_are_planned_and_go_back_before() {
    let (_dir, desk) = folder();
    let (request, known) = ("login".parse().unwrap(), BTreeSet::from(["login".parse().unwrap()]));
    write(&desk, "tasks/running/EXEC_login_01.md", "# One\n");
    write(&desk, "tasks/running/EXEC_login_01.md.lock", "me");
    early_tasks(&desk, &request, &known, false).unwrap();
    assert!(
        desk.folder().has("tasks/queue/EXEC_login_01.md") && !desk.folder().has("tasks/running/EXEC_login_01.md.lock")
    );
    write(&desk, "tasks/queue/EXEC_login_02.md", "---\nid: login_02\nturn: turn-1\n---\n\n# Two\n");
    early_tasks(&desk, &request, &known, true).unwrap();
    assert_eq!(desk.folder().files("tasks/queue").unwrap(), ["EXEC_login_02.md"], "what the bridge wrote stays");
}

const VIEW: &str = include_str!("../../../protocol/golden/flight_view.json");

#[test]
fn a_task_that_used_up_its_retries_is_in_its_folder_and_a_person_hears_what_to_do() {
    let (_dir, desk) = folder();
    let golden: serde_json::Value = serde_json::from_str(VIEW).unwrap();
    let mut view = golden["waypoints"][0].clone();
    for (key, value) in [("id", "login_01"), ("parent", "login"), ("status", "failed"), ("gate", "execute")] {
        view[key] = value.into();
    }
    view["turn"] = serde_json::Value::Null;
    view["sent_back"] = 4.into();
    view["reason_code"] = "attempts_exhausted".into();
    view["remediation"] = "`holdpoint retry login_01 --reworks +1`".into();
    let failed: WaypointView = serde_json::from_value(view.clone()).unwrap();
    write(&desk, "tasks/review/HIGH_EXEC_login_01.md", "# One\n");
    place(&desk, &failed).unwrap();
    assert_eq!(desk.folder().files("tasks/failed").unwrap(), ["HIGH_EXEC_login_01.md"]);
    let said = read(&desk, "tasks/escalations/login_01_ESCALATED.md");
    assert!(said.contains("attempts_exhausted") && said.contains("holdpoint retry login_01"), "{said}");
    let lineage: serde_json::Value = serde_json::from_str(&read(&desk, "tasks/history/login_01.json")).unwrap();
    assert_eq!(lineage, serde_json::json!({"id": "login_01", "retries": 4, "parent": "login", "status": "failed"}));
    // A person had it tried again, and it landed.
    view["status"] = "complete".into();
    place(&desk, &serde_json::from_value(view).unwrap()).unwrap();
    assert_eq!(desk.folder().files("tasks/completed").unwrap(), ["HIGH_EXEC_login_01.md"]);
    assert!(!desk.folder().has("tasks/escalations/login_01_ESCALATED.md"));
}
