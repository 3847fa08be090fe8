//! An issue's text as work without a plan file: its front matter, its title, and the rest as its goal.

use super::{
    bdd,
    limits::{GOAL_BYTES_MAX, TITLE_BYTES_MAX},
    task::PlanTask,
    waypoint,
};
use crate::yaml::{
    error::{PlanErrors, Problems},
    fields::Fields,
    front_matter,
    json::metadata,
    likeness::closest,
    place::Position,
    source::{self, FileBound},
    tree::{self, FileKind},
};

/// The largest issue in bytes: its text is a goal.
pub const ISSUE_BYTES_MAX: usize = GOAL_BYTES_MAX;
/// The keys of its front matter that are read. Those of trackers and of `holdpoint task` may stand next to them.
const KEYS: &[&str] =
    &["title", "tags", "priority", "metadata", "tests", "checks", "scope", "changed_tests", "workflow"];
/// Keys of `holdpoint task` that say how its work went.
const OF_TASKS: &[&str] = &["id", "status", "created", "updated", "routing", "gate", "testsFile"];
/// What an issue has at least.
const LEAST: &str = "write what is wanted: its first line is the title, and the rest the goal";

const BOUND: FileBound = FileBound {
    bytes: ISSUE_BYTES_MAX,
    what: "the issue",
    hint: "keep to what an agent needs, and name files for the rest",
};

const KIND: FileKind = FileKind {
    name: "issue's front matter",
    least: "its front matter has a key, such as `title`, or is left out",
    depth: "an issue's front matter needs six levels",
};

/// Reads an issue from a file's bytes. Of a larger file only one byte more than [`ISSUE_BYTES_MAX`] has to be given. `file` is only the
/// name under which problems are reported.
///
/// # Errors
/// All problems of the issue, in the order of their places.
pub fn read_issue(bytes: &[u8], file: &str) -> Result<PlanTask, PlanErrors> {
    source::read(bytes, file, BOUND, issue)
}

fn issue(text: &str, problems: &mut Problems) -> Option<PlanTask> {
    let (front, body) = front_matter::split(text).unwrap_or(("", text));
    let mut task = if front.lines().skip(1).all(|line| line.trim().is_empty()) {
        PlanTask::default()
    } else {
        said(front, problems)?
    };
    let body = body.trim();
    if task.title.trim().is_empty() {
        let (title, rest) = titled(body);
        task.title = title.to_owned();
        task.goal = Some(rest.to_owned());
    } else {
        task.goal = Some(body.to_owned());
    }
    task.goal = task.goal.filter(|goal| !goal.is_empty());
    if task.title.is_empty() {
        problems.add(Position::START, "the issue has no words", LEAST);
    } else if task.title.len() > TITLE_BYTES_MAX {
        let message = format!("the title of the issue, its first line, is longer than {TITLE_BYTES_MAX} bytes");
        problems.add(Position::START, message, "write a short line above it, or `title:` in its front matter");
    }
    Some(task)
}

/// What the front matter says.
fn said(front: &str, problems: &mut Problems) -> Option<PlanTask> {
    let root = tree::load(front, &KIND, problems)?;
    let fields = Fields::free(&root, "the front matter", KIND.least, problems)?;
    for (key, _) in fields.entries() {
        let name = key.name.as_str();
        let is_known = KEYS.contains(&name) || OF_TASKS.contains(&name);
        if let Some(meant) = closest(name, KEYS.iter().copied()).filter(|_| !is_known) {
            problems.add(
                key.at,
                format!("`{name}` in the front matter is not read"),
                format!("did you mean `{meant}`?"),
            );
        }
    }
    Some(PlanTask {
        title: fields.text("title", problems).unwrap_or_default(),
        goal: None,
        workflow: fields.text("workflow", problems),
        priority: waypoint::priority(&fields, problems),
        checks: fields.texts("checks", problems),
        suite: None,
        scope: waypoint::scope(&fields, problems),
        changed_tests: fields.texts("changed_tests", problems),
        tags: fields.texts("tags", problems),
        metadata: metadata(&fields, problems),
        tests: bdd::tests(&fields, problems),
    })
}

/// The first line, which may be a heading, and what stands below it.
fn titled(body: &str) -> (&str, &str) {
    let (first, rest) = body.split_once('\n').unwrap_or((body, ""));
    (first.trim().trim_matches('#').trim(), rest.trim())
}

#[cfg(test)]
mod tests {
    use holdpoint_protocol::plan::Priority;
    use serde_json::json;

    use super::*;

    fn read(text: &str) -> PlanTask {
        read_issue(text.as_bytes(), "issue.md").unwrap_or_else(|found| panic!("{}", found.render()))
    }

    #[test]
    fn the_title_is_in_the_front_matter_or_is_the_first_line_and_the_rest_is_the_goal() {
        for (text, title, goal) in [
            ("Back off", "Back off", None),
            ("\n\n# Back off #\n\nThree times.\n\nTwice.\n", "Back off", Some("Three times.\n\nTwice.")),
            ("Back off\r\nThree times.\r\n", "Back off", Some("Three times.")),
            ("\u{feff}Back off\n---\n", "Back off", Some("---")),
            ("---\ntitle: Back off\n---\n# Why\n\nIt hurts.\n", "Back off", Some("# Why\n\nIt hurts.")),
            ("---\ntitle: Back off\n---\n", "Back off", None),
            ("---\nlabels: [net]\nassignee: ~\n---\n## Back off\n", "Back off", None),
            ("---\n---\nBack off", "Back off", None),
        ] {
            let task = read(text);
            assert_eq!((task.title.as_str(), task.goal.as_deref()), (title, goal), "{text:?}");
        }
    }

    #[test]
    fn the_front_matter_says_what_flags_say_and_a_task_that_was_printed_is_an_issue() {
        let task = read(
            "---\nid: back-off\nstatus: ready\ncreated: 2026-01-01T00:00:00Z\nrouting: {workflow: fly}\ntags: [net]\npriority: high\n\
             metadata: {risk: 2}\ntests:\n  - {given: a, when: b, then: c}\nchecks: [make test]\nscope: [src/**]\nchanged_tests: [test/*.snap]\nworkflow: fly\n\
             ---\nBack off\n",
        );
        assert_eq!((task.tags, task.checks), (vec!["net".to_owned()], vec!["make test".to_owned()]));
        assert_eq!((task.priority, task.workflow.as_deref()), (Priority::High, Some("fly")));
        assert_eq!((&task.metadata["risk"], &task.tests[0]["when"]), (&json!(2), &json!("b")));
        assert_eq!((task.scope, task.changed_tests), (vec!["src/**".to_owned()], vec!["test/*.snap".to_owned()]));
    }

    #[test]
    fn what_is_wrong_with_an_issue_is_said_at_its_line() {
        let long = "word ".repeat(300);
        let large = "x\n".repeat(ISSUE_BYTES_MAX);
        for (bytes, line, words) in [
            (&b""[..], 1, "the issue has no words"),
            (b" \n###\n", 1, "the issue has no words"),
            (b"Back off\n\xff", 2, "not UTF-8"),
            (b"---\ncheck: [make test]\n---\nBack off\n", 2, "`check` in the front matter is not read"),
            (b"---\ntags: net\n---\nBack off\n", 2, "`tags` is a list"),
            (b"---\ntags: []\npriority: urgent\n---\nBack off\n", 3, "is not a priority"),
            (b"---\n- a\n---\nBack off\n", 2, "the front matter is a mapping"),
            (long.as_bytes(), 1, "is longer than 1024 bytes"),
            (large.as_bytes(), 1, "larger than 256 KiB"),
        ] {
            let found = read_issue(bytes, "issue.md").unwrap_err();
            let [error] = found.errors.as_slice() else { panic!("{}", found.render()) };
            assert!(error.line == line && error.message.contains(words), "{words}: {}", found.render());
        }
    }
}
