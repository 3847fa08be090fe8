//! The JSON Schema of plan files, for editors. Reading a plan is stricter, and says more.

use serde_json::{Value, json};

/// The schema of a plan file.
#[must_use]
pub fn schema() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Holdpoint plan",
        "type": "object",
        "required": ["plan", "waypoints"],
        "additionalProperties": false,
        "properties": {
            "plan": text("The plan's name: lower-case words with hyphens."),
            "base": text("The git ref to start from; HEAD by default."),
            "covenant": text("The repository's guidance document; AGENTS.md by default."),
            "workflow": text("fly (default), fly-approved, one-gate, or one that the project declares."),
            "policy": object(json!({
                "max_reworks": number("Reworks and rollbacks a waypoint may have; 3 by default."),
                "max_clarifications": number("Questions a waypoint may have; 2 by default."),
                "advise_questions": flag("Advisors are asked questions as well; false by default."),
                "ask_before_removing": number("A person is asked before work is judged that removes more files than this."),
                "suspicious": one_of(&["hold", "warn", "off"]),
                "open_scope": one_of(&["hold", "warn"]),
                "mode": one_of(&["team", "single"]),
            })),
            "budget": object(json!({
                "wall": span(), "tokens": number("Of the whole flight."), "cost_usd": json!({"type": "number"}),
                "tool_calls": number("Of the whole flight."), "output": size(),
                "on_exceeded": one_of(&["ask", "stop", "degrade"]), "unmetered": one_of(&["allow", "refuse"]),
            })),
            "sources": texts("Guidance documents; the first that is there wins."),
            "environment": {"anyOf": [one_of(&["none"]), environment()]},
            "protected": texts("Globs of paths that nobody changes."),
            "guards": {"type": "array", "items": guard()},
            "checks": {"anyOf": [one_of(&["auto", "rust", "python", "node"]), {"type": "object", "additionalProperties": {"type": ["string", "boolean"]}}]},
            "answers": {"type": "array", "items": object(json!({
                "match": text("A regular expression."), "option": text("The answer."), "rationale": text("Why."),
            }))},
            "answer_within": span(),
            "ask_below": one_of(&["low", "medium", "high"]),
            "evidence": one_of(&["fast", "strict"]),
            "ignore": texts("Files that are no work, as patterns of a .gitignore."),
            "service": service(),
            "waypoints": {"type": "array", "minItems": 1, "items": waypoint()},
        },
    })
}

fn environment() -> Value {
    let mut environment = object(json!({
        "setup": text("A command that sets the dependencies up, once per state of the inputs, with a network unless it is offline."),
        "inputs": texts("Globs of the files that it sees."),
        "names": texts("Globs of files that it finds empty."),
        "path": texts("Folders of the tree that come first in PATH."),
        "env": {"type": "object", "description": "Variables of setup, agents and checks.", "additionalProperties": {"type": ["string", "number", "boolean"]}},
        "offline": flag("The setup downloads nothing and has no network."),
    }));
    environment["required"] = json!(["setup"]);
    environment
}

fn service() -> Value {
    let given = object(json!({
        "env_from": text("A command whose lines NAME=value stand for ${NAME}."),
        "headers": {"type": "object", "description": "Headers of the request."},
    }));
    let mut service = object(json!({
        "run": text("What starts it on the port $PORT."),
        "ready": text("A request that says whether it is ready, such as GET /health."),
        "within": span(),
        "given": {"type": "object", "additionalProperties": {"anyOf": [given, {"type": "null"}]}},
        "network": flag("It may use the machine's network."),
        "writes_tree": flag("It may write into the tree."),
    }));
    service["required"] = json!(["run"]);
    service
}

fn waypoint() -> Value {
    let mut waypoint = object(json!({
        "id": text("A short name, unique in the plan."),
        "title": text("One line for people."),
        "goal": text("What the builder has to do, as Markdown."),
        "depends_on": texts("Waypoints that have to be complete first."),
        "priority": one_of(&["critical", "high", "medium", "low"]),
        "tags": texts("Free words."),
        "metadata": {"type": "object"},
        "scope": {"anyOf": [one_of(&["any"]), texts("Globs of all paths that it may touch.")]},
        "new_tests": texts("Globs of paths where tests may be added besides, also inside files that exist."),
        "changed_tests": texts("Tests that exist and need not stay green as they are, or may go: globs, or file::name."),
        "protected": texts("Globs, in addition to the plan's."),
        "criteria": {"type": "array", "items": criterion()},
        "budget": object(json!({
            "wall": span(), "tokens": number("Of each turn."), "cost_usd": json!({"type": "number"}),
            "tool_calls": number("Of each turn."), "output": size(), "total": {"type": "object"},
        })),
        "workflow": text("Another workflow than the plan's."),
        "max_reworks": number("Its own bound on reworks and rollbacks."),
        "tests": {"type": "array"},
        "testsFile": text("A file of the repository with such tests."),
    }));
    waypoint["required"] = json!(["id", "goal"]);
    waypoint
}

fn criterion() -> Value {
    let mut criterion = guard();
    criterion["properties"]["statement"] = text("What has to be true.");
    criterion["required"] = json!(["id"]);
    criterion
}

fn guard() -> Value {
    let mut guard = object(json!({
        "id": text("A short name."),
        "check": {"type": ["string", "boolean"], "description": "A shell command; green is exit code 0."},
        "expect": text("A regular expression that its output has to match as well."),
        "red_first": flag("It has to be red before the work: else it shows nothing."),
        "timeout": span(),
        "network": flag("It may use the machine's network."),
        "writes_tree": flag("It may write into the tree."),
        "evidence": one_of(&["fast", "strict"]),
        "mutants": number("Changed lines that are broken, each of which has to turn it red."),
    }));
    guard["required"] = json!(["id", "check"]);
    guard
}

fn object(properties: Value) -> Value {
    json!({"type": "object", "additionalProperties": false, "properties": properties})
}

fn text(description: &str) -> Value {
    json!({"type": ["string", "number"], "description": description})
}

fn texts(description: &str) -> Value {
    json!({"type": "array", "items": {"type": ["string", "number"]}, "description": description})
}

fn number(description: &str) -> Value {
    json!({"type": "integer", "minimum": 0, "description": description})
}

fn flag(description: &str) -> Value {
    json!({"type": "boolean", "description": description})
}

fn one_of(words: &[&str]) -> Value {
    json!({"enum": words})
}

fn span() -> Value {
    json!({"type": ["string", "integer"], "description": "A duration, such as 90s, 20m or 4h."})
}

fn size() -> Value {
    json!({"type": ["string", "integer"], "description": "A size, such as 512KiB or 1MiB."})
}

#[cfg(test)]
mod tests {
    use super::{
        super::{
            over_http::{GIVEN_KEYS, SERVICE_KEYS},
            waypoint::WAYPOINT_KEYS,
            whole::PLAN_KEYS,
        },
        *,
    };
    use crate::plan::{criteria::CHECK_KEYS, environment::ENVIRONMENT_KEYS};

    fn keys(of: &Value) -> Vec<String> {
        let mut keys: Vec<String> = of["properties"].as_object().unwrap().keys().cloned().collect();
        keys.sort();
        keys
    }

    fn sorted(keys: &[&[&str]]) -> Vec<String> {
        let mut keys: Vec<String> = keys.concat().into_iter().map(str::to_owned).collect();
        keys.sort();
        keys
    }

    #[test]
    fn the_schema_has_the_keys_that_are_read_and_no_others() {
        let schema = schema();
        assert_eq!(keys(&schema), sorted(&[PLAN_KEYS]));
        let environment = &schema["properties"]["environment"]["anyOf"][1];
        assert_eq!(keys(environment), sorted(&[ENVIRONMENT_KEYS]));
        let service = &schema["properties"]["service"];
        assert_eq!(keys(service), sorted(&[SERVICE_KEYS]));
        let given = &service["properties"]["given"]["additionalProperties"]["anyOf"][0];
        assert_eq!(keys(given), sorted(&[GIVEN_KEYS]));
        let waypoint = &schema["properties"]["waypoints"]["items"];
        assert_eq!(keys(waypoint), sorted(&[WAYPOINT_KEYS]));
        assert_eq!(keys(&waypoint["properties"]["criteria"]["items"]), sorted(&[CHECK_KEYS, &["id", "statement"]]));
        assert_eq!(keys(&schema["properties"]["guards"]["items"]), sorted(&[CHECK_KEYS, &["id"]]));
    }
}
