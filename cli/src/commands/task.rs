//! `task`: a waypoint as a document with front matter (GATE-35).

use holdpoint_account::events::{Task, TaskGatherer};
use holdpoint_protocol::ids::{FlightId, WaypointId};
use holdpoint_text::shown;
use serde_json::Value;

use crate::{
    args::observe::TaskArgs,
    client::Client,
    failure::{Exit, Failure},
    observe::Source,
    output,
    people::find::{flight_with, no_waypoint},
    target::Target,
};

/// The keys of the front matter, in the order of the workflow document.
const KEYS: [&str; 13] = [
    "id",
    "title",
    "status",
    "created",
    "updated",
    "routing",
    "gate",
    "gateHistory",
    "reviewContext",
    "tests",
    "testsFile",
    "tags",
    "metadata",
];

/// Prints the waypoint.
pub(super) async fn task(args: TaskArgs) -> Result<Exit, Failure> {
    let target = Target::existing(&args.place).await?;
    let task = target.serve(async |client| find(client, args.flight.as_ref(), &args.waypoint).await).await?;
    if args.json {
        output::json(&task);
    } else {
        output::out(&readable(&task));
    }
    Ok(Exit::Success)
}

/// The waypoint in this flight, or in the newest one that has it.
pub(super) async fn find(client: &Client, flight: Option<&FlightId>, waypoint: &WaypointId) -> Result<Task, Failure> {
    let (flight, waypoint) = flight_with(client, flight, waypoint).await?;
    let (mut source, mut tasks) = (Source::open(client, &flight).await?, TaskGatherer::of(waypoint.clone()));
    source.read_on(client, |reader, told, entry| tasks.take(reader, told, entry)).await?;
    tasks
        .finish(source.reader())
        .ok_or_else(|| no_waypoint(&waypoint, &format!("the flight {flight}"), std::iter::empty()))
}

/// The document.
pub(super) fn readable(task: &Task) -> String {
    let fields = serde_json::to_value(task).expect("plain data with text keys");
    document(&fields, &task.description)
}

/// Front matter, and the goal below it. A key has its value in JSON behind it, which is YAML as well, and in which nothing of
/// others can leave its line.
fn document(fields: &Value, goal: &str) -> String {
    let json = |value: &Value| shown::json(&value.to_string()).into_owned();
    let mut lines = vec!["---".to_owned()];
    for key in KEYS {
        match fields.get(key) {
            Some(Value::Array(items)) if items.iter().any(Value::is_object) => {
                lines.push(format!("{key}:"));
                lines.extend(items.iter().map(|item| format!("  - {}", json(item))));
            }
            Some(value) => lines.push(format!("{key}: {}", json(value))),
            None => {}
        }
    }
    lines.push("---\n".to_owned());
    lines.push(shown::lines(goal.trim_end()).into_owned());
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_task_is_a_document_whose_front_matter_has_every_key_but_the_goal_which_stands_below() {
        let task = json!({
            "id": "w", "title": "a: title\n---", "description": "unused", "status": "blocked",
            "created": "2026-09-21T14:13:20Z", "updated": "2026-09-21T14:13:20Z", "routing": {"workflow": "x"},
            "gateHistory": [{
                "gate": "g", "role": "r", "entered": "2026-09-21T14:13:20Z", "summary": "did\nit", "blockers": [], "duration": 3
            }],
            "tags": ["a"], "metadata": {},
        });
        let shown = document(&task, "# Goal\n\n- x\n");
        let lines: Vec<&str> = shown.lines().collect();
        assert_eq!(lines[..3], ["---", "id: \"w\"", "title: \"a: title\\n---\""]);
        assert!(
            lines.contains(&"gateHistory:")
                && lines.iter().any(|line| line.starts_with("  - {") && line.contains("did\\nit"))
        );
        assert_eq!(lines[lines.len() - 5..], ["---", "", "# Goal", "", "- x"]);
        assert_eq!(lines.iter().filter(|line| **line == "---").count(), 2);
    }
}
