//! A plan and its tasks as one document: what the files propose stands in its front matter, as an agent would write it. Pure.

use std::fmt::Write as _;

use holdpoint_planfile::checkpoints::read_document;
use holdpoint_protocol::plan::Priority;

use crate::{name::TaskName, text};

/// The line around front matter.
const FENCE: &str = "---";
/// Lines before the first one of a task's own front matter, in the document of this task alone.
const LINES_BEFORE: usize = 4;
/// What every line of a task's front matter is behind.
const INDENT: &str = "      ";

/// The document of a plan: its own text and front matter, with its tasks as what it proposes.
#[must_use]
pub fn document(plan: &str, tasks: &[(TaskName, String)]) -> String {
    let (front, body) = apart(plan);
    let mut text = format!("{FENCE}\n");
    for line in front.lines() {
        let _ = writeln!(text, "{line}");
    }
    text.push_str("proposal:\n  waypoints:\n");
    for (name, task) in tasks {
        push_task(&mut text, name, task);
    }
    let _ = write!(text, "{FENCE}\n\n{}", body.trim_start_matches('\n'));
    text
}

/// What is wrong with the front matter of a task, with its line; `None`: nothing.
#[must_use]
pub fn problem(name: &TaskName, task: &str) -> Option<String> {
    let alone = document("", std::slice::from_ref(&(name.clone(), task.to_owned())));
    let errors = read_document(alone.as_bytes(), &name.to_string()).err()?;
    let first = errors.errors.first()?;
    let line = first.line.saturating_sub(LINES_BEFORE).max(1) + 1;
    Some(format!("{name}, line {line}: {}; {}", first.message, first.hint))
}

/// The number of a task: by this name other tasks of the plan depend on it.
#[must_use]
pub fn key(name: &TaskName) -> &str {
    name.waypoint.as_str().rsplit_once('_').map_or("", |(_, number)| number)
}

fn push_task(text: &mut String, name: &TaskName, task: &str) {
    let (front, body) = apart(task);
    let has = |key: &str| front.lines().any(|line| line.strip_prefix(key).is_some_and(|rest| rest.starts_with(':')));
    let _ = writeln!(text, "    - key: {}", quoted(key(name)));
    for line in front.lines() {
        let _ = writeln!(text, "{INDENT}{line}");
    }
    if !has("title") {
        let _ = writeln!(text, "{INDENT}title: {}", quoted(&text::title(body)));
    }
    if !has("priority") && name.priority != Priority::Medium {
        let _ = writeln!(text, "{INDENT}priority: {}", name.priority.as_str());
    }
    if !has("goal") {
        let _ = writeln!(text, "{INDENT}goal: {}", quoted(body.trim()));
    }
}

/// A text as JSON has it, which YAML reads as well.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// The front matter of a file, without its fences, and what is below it.
fn apart(text: &str) -> (&str, &str) {
    let begun = text.strip_prefix(FENCE).and_then(|rest| rest.strip_prefix('\n'));
    let Some(rest) = begun else { return ("", text) };
    match rest.split_once("\n---\n") {
        Some((front, body)) => (front, body),
        None => ("", text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(file: &str) -> TaskName {
        TaskName::parse(file).unwrap()
    }

    const TASK: &str =
        "---\nestimate: 30m\ncriteria:\n  - {id: unit, check: make test}\n---\n# Parse it\n\nAs \"RFC 1\" says.\n";

    #[test]
    fn tasks_stand_in_the_front_matter_of_their_plan() {
        let tasks = [(name("EXEC_x_01.md"), TASK.to_owned()), (name("HIGH_EXEC_x_02.md"), "Print it".to_owned())];
        let text = document("---\ntitle: Two steps\n---\n# Plan\n\nEXEC_x_01, EXEC_x_02\n", &tasks);
        let expected = "---\ntitle: Two steps\nproposal:\n  waypoints:\n    - key: \"01\"\n      estimate: 30m\n      criteria:\n        \
                        - {id: unit, check: make test}\n      title: \"Parse it\"\n      goal: \"# Parse it\\n\\nAs \\\"RFC 1\\\" says.\"\n    \
                        - key: \"02\"\n      title: \"Print it\"\n      priority: high\n      goal: \"Print it\"\n---\n\n# Plan\n\n\
                        EXEC_x_01, EXEC_x_02\n";
        assert_eq!(text, expected);
        let read = read_document(text.as_bytes(), "plan").unwrap();
        assert_eq!(read.title.as_deref(), Some("Two steps"));
        assert!(read.text.starts_with("# Plan"), "{}", read.text);
    }

    #[test]
    fn a_task_that_cannot_be_read_is_named_with_its_line() {
        assert_eq!(problem(&name("EXEC_x_01.md"), TASK), None);
        let said = problem(&name("EXEC_x_01.md"), "---\nestimate: 30m\ncriteria: [\n---\nx\n").unwrap();
        assert!(said.starts_with("EXEC_x_01.md, line "), "{said}");
    }
}
