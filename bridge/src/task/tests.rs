use std::{fs, os::unix::fs::symlink};

use holdpoint_protocol::{ids::WaypointId, plan::Priority};

use super::*;
use crate::{lock::TaskLock, moves::SdlcStage};

struct Folder {
    _dir: tempfile::TempDir,
    desk: BridgeDesk,
}

impl Folder {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let desk = BridgeDesk::open(&dir.path().join("desk")).unwrap();
        Self { _dir: dir, desk }
    }

    fn write(&self, path: &str, text: &str) {
        fs::write(self.desk.folder().path().join(path), text).unwrap();
    }

    fn mv(&self, from: &str, to: &str) {
        let root = self.desk.folder().path();
        fs::rename(root.join(from), root.join(to)).unwrap();
    }

    fn read(&self, path: &str) -> String {
        self.desk.folder().read(path).unwrap().map(|found| found.text).unwrap_or_default()
    }

    fn has(&self, path: &str) -> bool {
        self.desk.folder().has(path)
    }

    /// What came of two looks.
    fn look(&self, task: &OpenTask) -> TaskLook {
        let mut seen = TaskSeen::default();
        task.look(&self.desk, &mut seen).unwrap();
        task.look(&self.desk, &mut seen).unwrap()
    }
}

fn open(waypoint: &str, gate: &str, turn: &str) -> OpenTask {
    let waypoint: WaypointId = waypoint.parse().unwrap();
    let row = SdlcStage::of(&waypoint, &gate.parse().unwrap()).unwrap();
    OpenTask {
        row,
        name: TaskName::of(Priority::Medium, row.home.1, waypoint),
        turn: turn.parse().unwrap(),
        body: "# Log in\n".to_owned(),
        sent_back: None,
        clone: None,
        reviewed: None,
    }
}

#[test]
fn a_specification_is_claimed_and_handed_in_once_its_document_is_there() {
    let (folder, task) = (Folder::new(), open("login", "document", "turn-1"));
    task.arrive(&folder.desk).unwrap();
    assert_eq!(folder.look(&task), TaskLook::Open);
    folder.mv("tasks/queue/DOC_login.md", "tasks/running/DOC_login.md");
    assert_eq!(folder.look(&task), TaskLook::Open);
    assert!(folder.has("tasks/running/DOC_login.md.lock"), "a claim without a lock gets one");
    folder.mv("tasks/running/DOC_login.md", "tasks/review/DOC_login.md");
    assert_eq!(folder.look(&task), TaskLook::Open);
    assert!(folder.read("tasks/supervisor_feedback/FEEDBACK_login.md").contains("docs/specs/login_spec.md"));
    folder.write("docs/specs/login_spec.md", "# Spec\n");
    let mut seen = TaskSeen::default();
    assert_eq!(task.look(&folder.desk, &mut seen).unwrap(), TaskLook::Open, "somebody may be writing still");
    let TaskLook::Done(handed) = task.look(&folder.desk, &mut seen).unwrap() else { panic!("it is handed in") };
    assert_eq!(handed.document.as_deref(), Some("# Spec\n"));
    task.leave(&folder.desk).unwrap();
    assert!(
        !folder.has("tasks/running/DOC_login.md.lock") && !folder.has("tasks/supervisor_feedback/FEEDBACK_login.md")
    );
}

#[test]
fn a_move_for_a_turn_that_is_over_does_not_count_and_its_text_is_kept() {
    let folder = Folder::new();
    open("login", "spec-review", "turn-1").arrive(&folder.desk).unwrap();
    let mut text = folder.read("tasks/review/DOC_login.md");
    text.push_str("- say more\n");
    folder.write("tasks/review/DOC_login.md", &text);
    folder.mv("tasks/review/DOC_login.md", "tasks/queue/DOC_login.md");
    let again = open("login", "spec-review", "turn-2");
    again.arrive(&folder.desk).unwrap();
    assert!(folder.read("tasks/review/DOC_login.md").contains("turn: turn-2"));
    assert!(!folder.has("tasks/queue/DOC_login.md"));
    let kept = folder.desk.folder().files("stale").unwrap();
    assert!(folder.read(&format!("stale/{}", kept[0])).contains("say more"));
    assert!(folder.read("tasks/supervisor_feedback/FEEDBACK_login.md").contains("a turn that is over"));
    assert_eq!(folder.look(&again), TaskLook::Open);
    // The same while the turn is open: somebody moves an old copy.
    folder.write("tasks/queue/PLAN_login.md", &text);
    assert_eq!(folder.look(&again), TaskLook::Open);
    assert!(!folder.has("tasks/queue/PLAN_login.md"), "it is back, or gone where the new one stands");
}

#[test]
fn a_move_that_was_made_before_a_restart_counts_after_it() {
    let (folder, task) = (Folder::new(), open("login", "spec-review", "turn-1"));
    task.arrive(&folder.desk).unwrap();
    folder.mv("tasks/review/DOC_login.md", "tasks/queue/PLAN_login.md");
    task.arrive(&folder.desk).unwrap();
    assert!(matches!(folder.look(&task), TaskLook::Done(_)));
}

#[test]
fn work_that_is_sent_back_says_what_has_to_change_wherever_a_reviewer_writes_it() {
    for (path, more) in [
        ("tasks/queue/DOC_login.md", "\n## Comments\n\n- name the error\n"),
        ("docs/specs/login_spec.md", "> name the error\n"),
        ("tasks/supervisor_feedback/FEEDBACK_login.md", "name the error\n"),
    ] {
        let folder = Folder::new();
        folder.write("docs/specs/login_spec.md", "# Spec\n");
        let reviewed = Some(("docs/specs/login_spec.md".to_owned(), "# Spec\n".to_owned()));
        let task = OpenTask { reviewed, ..open("login", "spec-review", "turn-1") };
        task.arrive(&folder.desk).unwrap();
        folder.mv("tasks/review/DOC_login.md", "tasks/queue/DOC_login.md");
        assert_eq!(folder.look(&task), TaskLook::Open, "without a word it does not count");
        assert!(folder.has("tasks/review/DOC_login.md"));
        folder.mv("tasks/review/DOC_login.md", "tasks/queue/DOC_login.md");
        let before = if path.ends_with("FEEDBACK_login.md") { String::new() } else { folder.read(path) };
        folder.write(path, &format!("{before}{more}"));
        let TaskLook::SentBack(_, comments) = folder.look(&task) else { panic!("{path}: it is sent back") };
        assert_eq!(comments, ["name the error"], "{path}");
    }
}

#[test]
fn a_move_that_means_nothing_is_undone_and_a_file_that_is_gone_comes_back() {
    let (folder, task) = (Folder::new(), open("login", "document", "turn-1"));
    task.arrive(&folder.desk).unwrap();
    folder.mv("tasks/queue/DOC_login.md", "tasks/completed/DOC_login.md");
    assert_eq!(folder.look(&task), TaskLook::Open);
    assert!(folder.has("tasks/queue/DOC_login.md") && !folder.has("tasks/completed/DOC_login.md"));
    assert!(folder.read("tasks/supervisor_feedback/FEEDBACK_login.md").contains("tasks/completed/DOC_login.md"));
    folder.desk.folder().remove("tasks/queue/DOC_login.md").unwrap();
    assert_eq!(folder.look(&task), TaskLook::Open);
    assert!(folder.read("tasks/queue/DOC_login.md").contains("turn: turn-1"));
    for folder_name in ["review", "queue"] {
        folder.write(&format!("tasks/{folder_name}/DOC_login.md"), "x");
    }
    let review = open("login", "spec-review", "turn-2");
    folder.write("tasks/queue/PLAN_login.md", "x");
    assert_eq!(folder.look(&review), TaskLook::Open, "two moves that say different things are none");
}

#[test]
fn a_task_of_a_dead_or_late_holder_is_in_the_queue_again() {
    for (pid, expires) in [(u32::MAX, None), (std::process::id(), Some(holdpoint_protocol::Timestamp::from_millis(0)))]
    {
        let (folder, task) = (Folder::new(), open("login_01", "execute", "turn-1"));
        task.arrive(&folder.desk).unwrap();
        let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap().trim().to_owned();
        let lock = TaskLock { holder: "w".to_owned(), host: Some(host), pid: Some(pid), expires };
        folder.write("tasks/running/EXEC_login_01.md.lock", &serde_json::to_string(&lock).unwrap());
        folder.mv("tasks/queue/EXEC_login_01.md", "tasks/running/EXEC_login_01.md");
        assert_eq!(folder.look(&task), TaskLook::Open);
        assert!(folder.has("tasks/queue/EXEC_login_01.md") && !folder.has("tasks/running/EXEC_login_01.md.lock"));
    }
}

#[test]
fn rejected_work_is_in_its_folder_with_feedback_and_is_picked_up_from_there() {
    let folder = Folder::new();
    open("login_01", "execute", "turn-1").arrive(&folder.desk).unwrap();
    folder.mv("tasks/queue/EXEC_login_01.md", "tasks/review/EXEC_login_01.md");
    let again = OpenTask { sent_back: Some("unit: fail".to_owned()), ..open("login_01", "execute", "turn-2") };
    again.arrive(&folder.desk).unwrap();
    assert!(folder.has("tasks/rejected/EXEC_login_01.md") && !folder.has("tasks/review/EXEC_login_01.md"));
    assert!(folder.read("tasks/supervisor_feedback/FEEDBACK_login_01.md").contains("unit: fail"));
    assert!(folder.desk.folder().files("stale").unwrap().is_empty(), "it was handed in, and nothing was missed");
    folder.mv("tasks/rejected/EXEC_login_01.md", "tasks/running/EXEC_login_01.md");
    assert_eq!(folder.look(&again), TaskLook::Open);
    folder.mv("tasks/running/EXEC_login_01.md", "tasks/review/EXEC_login_01.md");
    assert!(matches!(folder.look(&again), TaskLook::Done(_)));
}

#[test]
fn a_plan_is_handed_in_once_it_names_exactly_the_tasks_that_are_there() {
    let (folder, task) = (Folder::new(), open("login", "plan", "turn-1"));
    task.arrive(&folder.desk).unwrap();
    folder.write("tasks/queue/EXEC_login_01.md", "# One\n");
    assert_eq!(folder.look(&task), TaskLook::Open, "there is no plan yet");
    folder.write("docs/plans/login_plan.md", "- EXEC_login_01.md\n- EXEC_login_02: later\n");
    assert_eq!(folder.look(&task), TaskLook::Open);
    assert!(
        folder
            .read("tasks/supervisor_feedback/FEEDBACK_login.md")
            .contains("EXEC_login_02.md, which is not in tasks/queue")
    );
    folder.write("tasks/queue/HIGH_EXEC_login_02.md", "# Two\n");
    folder.write("tasks/queue/EXEC_other_01.md", "# Another request's\n");
    let TaskLook::Done(handed) = folder.look(&task) else { panic!("it is handed in") };
    let names: Vec<String> = handed.tasks.iter().map(|(name, _)| name.to_string()).collect();
    assert_eq!(names, ["EXEC_login_01.md", "HIGH_EXEC_login_02.md"]);
    folder.write("tasks/queue/EXEC_login_03.md", "# Three\n");
    assert_eq!(folder.look(&task), TaskLook::Open);
    assert!(folder.read("tasks/supervisor_feedback/FEEDBACK_login.md").contains("does not name EXEC_login_03.md"));
}

#[test]
fn a_question_ends_the_turn_and_its_file_may_be_no_link() {
    let (folder, task) = (Folder::new(), open("login", "brainstorm", "turn-1"));
    task.arrive(&folder.desk).unwrap();
    let path = "tasks/escalations/login_CLARIFY.md";
    symlink("/etc/hostname", folder.desk.folder().path().join(path)).unwrap();
    assert_eq!(folder.look(&task), TaskLook::Open);
    assert!(folder.read("tasks/supervisor_feedback/FEEDBACK_login_CLARIFY.md").contains("no plain file"));
    folder.desk.folder().remove(path).unwrap();
    folder.write(path, "Which one?\n");
    assert_eq!(folder.look(&task), TaskLook::Asked("Which one?".to_owned()));
}
