//! What `complete` takes, and the signed act that follows from it: the one that `approve` and `reject` send.

use std::collections::BTreeMap;

use holdpoint_engine::completion::{self, CompletionRules};
use holdpoint_protocol::{
    artifact::{Act, Completion, CompletionBody, Verb},
    ids::{AgentName, FlightId, WaypointId},
    reason::BlockReason,
    state,
};
use rmcp::model::JsonObject;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{offer, reply::Refusal};
use crate::{
    failure::Failure,
    people::{act::About, find::Found},
};

/// The tool's name.
pub(super) const NAME: &str = "complete";

/// What the tool says of itself.
pub(super) const DESCRIPTION: &str = r#"Completes the gate for people at which a waypoint waits, signed with your key. Call get_task before, and do what the gate expects.

Outcomes:
- complete: the work is done as far as this gate is concerned, and goes on to the next gate.
- needs_review: something has to change. The work is sent back; `blockers` are what the next turn has to change. A gate may refuse this (reject_not_allowed).
- blocked: nobody can go on. The work is held until a person has it tried again; `blockers` say what is in the way, and `blockReason` of what kind it is.

`summary` says in one or two sentences what was looked at. `blockers` are needed for needs_review and blocked, each one thing that somebody can act on.

Examples:
{"waypoint": "pricing", "outcome": "complete", "summary": "Checked every claim of the draft against its source; all hold."}
{"waypoint": "pricing", "outcome": "needs_review", "summary": "Two claims have no source.", "blockers": ["The price in section 2 has no source", "Section 4 names the wrong release date: it was in May"]}

The answer says how the waypoint stands now, with a `warning` where blockers are vague. A refusal is {"error": {code, message, hint, details}} and changed nothing: correct the call and send it again. After answer_late somebody else was first: look with status before you act again. Only act_pending and act_not_stored are different: no orchestrator has said what became of the completion, or the broker did not acknowledge it. Look with status before you send it again."#;

/// What the tool says of itself in an agent's turn.
pub(super) const IN_TURN: &str = r#"Completes the gate whose turn this is: says what you looked at, and what it comes to. For turns that look at something; one that makes or judges work answers not_completed_here, with what ends it instead. Call get_task or context before, and do what the gate expects.

Outcomes:
- complete: the work is done as far as this gate is concerned, and goes on to the next gate.
- needs_review: something has to change. The work is sent back; `blockers` are what the next turn has to change. A gate may refuse this (reject_not_allowed).
- blocked: you cannot get any further. The work is held for a person; `blockers` say what is in the way, and `blockReason` of what kind it is.

`summary` says in one or two sentences what was looked at. `blockers` are needed for needs_review and blocked, each one thing that somebody can act on.

The answer is {"outcome"}, and `warning` where blockers are vague. The last completion counts once your program ends with exit code 0, whatever it prints: call again to replace it. A refusal is {"error": {code, message, hint, details}} and recorded nothing: correct the call and send it again.

Examples:
{"outcome": "complete", "summary": "Checked every claim of the draft against its source; all hold."}
{"outcome": "needs_review", "summary": "Two claims have no source.", "blockers": ["The price in section 2 has no source", "Section 4 names the wrong release date: it was in May"]}"#;

/// How the gate is left.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Outcome {
    /// The work goes on to the next gate.
    Complete,
    /// The work is sent back with `blockers`.
    NeedsReview,
    /// The work is held for a person, because of `blockers`.
    Blocked,
}

/// Arguments.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Arguments {
    /// The waypoint whose gate is completed.
    #[expect(dead_code, reason = "it was read as `Whose` before; here it belongs to the schema")]
    waypoint: WaypointId,
    /// Its flight; without it the one in which the waypoint waits.
    #[serde(default)]
    #[expect(dead_code, reason = "as the waypoint")]
    flight: Option<FlightId>,
    /// How the gate is left.
    outcome: Outcome,
    /// What was done or looked at, in one or two sentences.
    summary: String,
    /// What has to change (needs_review), or what is in the way (blocked): one thing each.
    #[serde(default)]
    blockers: Vec<String>,
    /// What kind of obstacle it is, for blocked only.
    #[serde(default, alias = "block_reason")]
    block_reason: Option<BlockReason>,
    /// What else the next one to have the work has to know.
    #[serde(default, alias = "rejection_notes")]
    rejection_notes: Option<String>,
    /// Anything; it is kept with the completion, and nothing is decided by it.
    #[serde(default)]
    metadata: BTreeMap<String, serde_json::Value>,
}

/// Arguments in a turn, where the harness knows what they are about. They go to the harness as they are: it teaches what is
/// wrong with them.
#[derive(Debug, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[expect(dead_code, reason = "it is a schema")]
pub(super) struct Completing {
    /// What the turn comes to.
    outcome: Outcome,
    /// What was done or looked at, in one or two sentences.
    summary: String,
    /// What has to change (needs_review), or what is in the way (blocked): one thing each.
    #[serde(default)]
    blockers: Vec<String>,
    /// What kind of obstacle it is, for blocked only.
    #[serde(default)]
    block_reason: Option<BlockReason>,
    /// What else the next one to have the work has to know.
    #[serde(default)]
    rejection_notes: Option<String>,
    /// Anything; it is kept with the completion, and nothing is decided by it.
    #[serde(default)]
    metadata: BTreeMap<String, serde_json::Value>,
}

/// Refuses a field that a completion in a turn does not have: it would be lost.
///
/// # Errors
/// The field, and those that there are.
pub(super) fn check_names(arguments: &JsonObject) -> Result<(), Refusal> {
    const NAMES: [&str; 8] = [
        "outcome",
        "summary",
        "blockers",
        "blockReason",
        "block_reason",
        "rejectionNotes",
        "rejection_notes",
        "metadata",
    ];
    match arguments.keys().find(|key| !NAMES.contains(&key.as_str())) {
        None => Ok(()),
        Some(key) => {
            let message = format!("`complete` in a turn has no field {key:?}");
            let hint = "its fields are outcome, summary, blockers, blockReason, rejectionNotes and metadata";
            Err(Failure::usage("invalid_arguments", message, hint).into())
        }
    }
}

/// Which waypoint a call is about; the rest is looked at once it is known where that waits.
#[derive(Debug, Deserialize)]
pub(super) struct Whose {
    /// The waypoint.
    pub(super) waypoint: WaypointId,
    /// Its flight.
    #[serde(default)]
    pub(super) flight: Option<FlightId>,
}

/// The act of `agent` on what was found at the waypoint.
///
/// # Errors
/// The call says too little, or cannot be read.
pub(super) fn act(arguments: JsonObject, about: &About, found: Found, agent: AgentName) -> Result<Act, Refusal> {
    if let (Some(gate), Some(waypoint)) = (&found.gate, &about.waypoint) {
        // Whether the gate sends work back is the orchestrator's to say.
        let wanted =
            CompletionRules { waypoint, gate, can_reject: true, default: state::Outcome::Complete, demands: None };
        // A call that names no outcome is refused below: a person's has none by default.
        completion::read(&arguments, wanted)?;
    }
    let said: Arguments = offer::read(NAME, arguments)?;
    let outcome = match said.outcome {
        Outcome::Complete => state::Outcome::Complete,
        Outcome::NeedsReview => state::Outcome::NeedsReview,
        Outcome::Blocked => state::Outcome::Blocked,
    };
    let body = CompletionBody {
        summary: said.summary,
        blockers: said.blockers,
        block_reason: said.block_reason,
        rejection_notes: said.rejection_notes,
        metadata: said.metadata,
        ..CompletionBody::of_person(agent, found.seen, outcome)
    };
    Ok(Act::Complete(Box::new(Completion::new(about.origin(), body))))
}

/// What could be better about blockers that are taken as they are.
pub(super) fn warning(arguments: &JsonObject) -> Option<serde_json::Value> {
    let blockers = arguments.get("blockers")?.as_array()?.iter().filter_map(|blocker| blocker.as_str());
    completion::warning(&blockers.map(str::to_owned).collect::<Vec<_>>())
}

/// What is looked for in the inbox.
pub(super) fn verb(arguments: &JsonObject) -> Verb {
    let rejects = arguments.get("outcome").is_some_and(|outcome| outcome == "needs_review");
    if rejects { Verb::Reject } else { Verb::Approve }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::commands::mcp::reply::result;

    fn made(arguments: &Value) -> Result<Act, Refusal> {
        let about = About { flight: "f".parse().unwrap(), waypoint: Some("w".parse().unwrap()) };
        let gate = Some("sign".parse().unwrap());
        let found =
            Found { flight: about.flight.clone(), seen: Some("t1".to_owned()), gate, waypoint: "w".parse().unwrap() };
        act(arguments.as_object().unwrap().clone(), &about, found, "human-ann".parse().unwrap())
    }

    fn refused(arguments: &Value) -> String {
        let sent = serde_json::to_value(result(Err(made(arguments).unwrap_err()))).unwrap();
        let error: Value = serde_json::from_str(sent["content"][0]["text"].as_str().unwrap()).unwrap();
        error["error"]["code"].as_str().unwrap().to_owned()
    }

    #[test]
    fn a_completion_call_is_the_act_of_a_person_on_what_was_seen() {
        let said = json!({
            "waypoint": "w", "outcome": "needs_review", "summary": "No.", "blockers": ["say more"],
            "rejectionNotes": "the tone is right", "metadata": {"minutes": 3},
        });
        let Ok(Act::Complete(act)) = made(&said) else { panic!("an act") };
        assert_eq!((act.outcome, act.on.as_deref()), (Some(state::Outcome::NeedsReview), Some("t1")));
        assert_eq!((act.agent.as_str(), act.turn.as_ref(), act.delivery), ("human-ann", None, 0));
        assert_eq!(
            (act.blockers.as_slice(), act.metadata["minutes"].as_i64()),
            (&["say more".to_owned()][..], Some(3))
        );
        assert_eq!(act.rejection_notes.as_deref(), Some("the tone is right"));
    }

    #[test]
    fn what_a_completion_call_lacks_is_refused_by_its_code() {
        for (said, code) in [
            (json!({"waypoint": "w", "outcome": "approved", "summary": "s"}), "invalid_outcome"),
            (json!({"waypoint": "w", "outcome": "skip", "summary": "s"}), "invalid_outcome"),
            (json!({"waypoint": "w", "outcome": "complete"}), "missing_summary"),
            (json!({"waypoint": "w", "outcome": "needs_review", "summary": "s"}), "missing_blockers"),
            (json!({"waypoint": "w", "outcome": "blocked", "summary": "s", "blockers": [" "]}), "empty_blockers"),
            (json!({"waypoint": "w", "summary": "s"}), "invalid_arguments"),
            (json!({"waypoint": "w", "outcome": "complete", "summary": "s", "note": "x"}), "invalid_arguments"),
            (json!({"waypoint": "w", "outcome": "complete", "summary": "s", "metadata": 1}), "invalid_arguments"),
        ] {
            assert_eq!(refused(&said), code, "{said}");
        }
    }

    #[test]
    fn in_a_turn_a_field_that_would_be_lost_is_refused_and_the_rest_is_the_harness_to_judge() {
        let check = |said: Value| check_names(said.as_object().unwrap()).is_ok();
        assert!(check(json!({"outcome": "maybe", "rejectionNotes": 7})) && check(json!({})));
        assert!(!check(json!({"outcome": "complete", "summary": "s", "blocker": ["x"]})));
        let tool = offer::tool::<Completing>(NAME, IN_TURN, false);
        assert_eq!(tool.input_schema["required"], json!(["outcome", "summary"]));
    }

    #[test]
    fn the_schema_of_a_completion_has_the_six_fields_and_what_outcomes_mean() {
        let tool = offer::tool::<Arguments>(NAME, DESCRIPTION, false);
        let schema = Value::Object((*tool.input_schema).clone());
        let fields = &schema["properties"];
        for field in ["outcome", "summary", "blockers", "blockReason", "rejectionNotes", "metadata"] {
            assert!(fields[field]["description"].is_string(), "{field}: {schema}");
        }
        assert_eq!(schema["required"], json!(["waypoint", "outcome", "summary"]));
        let text = schema.to_string();
        assert!(["complete", "needs_review", "blocked"].iter().all(|word| text.contains(word)), "{text}");
        assert!(!text.contains("$ref") && !text.contains("skip"), "{text}");
    }
}
