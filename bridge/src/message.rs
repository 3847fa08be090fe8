//! Messages in the inboxes (SDLC-8): one file each, written once from the journal's history. Pure.

use std::collections::BTreeMap;

use holdpoint_protocol::{
    Timestamp,
    api::{HistoryLine, Standing},
    artifact::ClarificationRequest,
    ids::{GateId, WaypointId},
    journal::Landed,
    turn::{Turn, TurnRequest},
};
use schemars::{JsonSchema, generate::SchemaSettings};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{
    moves::{Actor, SdlcStage},
    text,
};

/// Who writes and gets messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Party {
    /// The one who made the request.
    User,
    /// The role `supervisor`.
    Supervisor,
    /// The role `worker`.
    Worker,
}

impl From<Actor> for Party {
    fn from(actor: Actor) -> Self {
        match actor {
            Actor::Supervisor => Self::Supervisor,
            Actor::Worker => Self::Worker,
        }
    }
}

/// A message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct InboxMessage {
    /// `<journal sequence>-<TYPE>-<task>`, and the name of its file.
    pub id: String,
    /// What it says, with its type.
    #[serde(flatten)]
    pub says: MessageBody,
    /// Who says it.
    pub from: Party,
    /// Who hears it.
    pub to: Party,
}

/// What a message says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", content = "body", rename_all = "SCREAMING_SNAKE_CASE")]
pub enum MessageBody {
    /// A task waits.
    TaskAssigned(WaitingTask),
    /// A task is handed in.
    TaskSubmitted(WaitingTask),
    /// A task was sent back.
    TaskRejected(RejectedTask),
    /// A task is done, or its document was approved.
    TaskApproved(ApprovedTask),
    /// A question waits for its answer.
    ClarificationRequest(AskedQuestion),
}

/// A task that waits for somebody, to be done or to be looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WaitingTask {
    /// The task.
    pub task: WaypointId,
    /// What is to be done: the gate.
    pub gate: GateId,
    /// In one line.
    pub title: String,
    /// Until when.
    pub deadline: Timestamp,
}

/// A task that was sent back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RejectedTask {
    /// The task.
    pub task: WaypointId,
    /// Where it is done again.
    pub gate: GateId,
    /// Why, as a word.
    pub reason: String,
    /// The file that says it.
    pub feedback: String,
    /// Until when it is to be done again.
    pub deadline: Timestamp,
}

/// A task that was approved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ApprovedTask {
    /// The task.
    pub task: WaypointId,
    /// The gate that it comes to; absent: it has landed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gate: Option<GateId>,
}

/// A question that waits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AskedQuestion {
    /// The task.
    pub task: WaypointId,
    /// The question.
    pub question: String,
    /// The file in which the answer is written.
    pub file: String,
}

impl MessageBody {
    /// The word for it.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::TaskAssigned(_) => "TASK_ASSIGNED",
            Self::TaskSubmitted(_) => "TASK_SUBMITTED",
            Self::TaskRejected(_) => "TASK_REJECTED",
            Self::TaskApproved(_) => "TASK_APPROVED",
            Self::ClarificationRequest(_) => "CLARIFICATION_REQUEST",
        }
    }
}

/// The schema of the messages of each type, by the type.
#[must_use]
pub fn schemas() -> BTreeMap<&'static str, Value> {
    let party = || json!({"enum": ["user", "supervisor", "worker"]});
    let whole = |kind: &'static str, body: schemars::Schema| {
        let schema = json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "title": kind,
            "type": "object",
            "properties": {
                "id": {"type": "string", "description": "<journal sequence>-<TYPE>-<task>, and the name of its file"},
                "type": {"const": kind},
                "from": party(),
                "to": party(),
                "body": body,
            },
            "required": ["id", "type", "from", "to", "body"],
            "additionalProperties": false,
        });
        (kind, schema)
    };
    BTreeMap::from([
        whole("TASK_ASSIGNED", body_schema::<WaitingTask>()),
        whole("TASK_SUBMITTED", body_schema::<WaitingTask>()),
        whole("TASK_REJECTED", body_schema::<RejectedTask>()),
        whole("TASK_APPROVED", body_schema::<ApprovedTask>()),
        whole("CLARIFICATION_REQUEST", body_schema::<AskedQuestion>()),
    ])
}

/// In one piece: readers need not follow references.
fn body_schema<B: JsonSchema>() -> schemars::Schema {
    let mut settings = SchemaSettings::draft2020_12();
    settings.inline_subschemas = true;
    settings.meta_schema = None;
    settings.into_generator().into_root_schema_for::<B>()
}

/// The file in which a question about a task waits.
#[must_use]
pub fn clarify_file(task: &WaypointId) -> String {
    format!("tasks/escalations/{task}_CLARIFY.md")
}

/// The file with what was wrong with a task.
#[must_use]
pub fn feedback_file(task: &str) -> String {
    format!("tasks/supervisor_feedback/FEEDBACK_{task}.md")
}

/// The messages that follow from the history of a waypoint, oldest first.
#[must_use]
pub fn messages(task: &WaypointId, history: &[HistoryLine]) -> Vec<InboxMessage> {
    let mut all = Vec::new();
    for (at, line) in history.iter().enumerate().filter(|(_, line)| line.standing != Some(Standing::Unsigned)) {
        let found = match line.kind.as_str() {
            "turn" => serde_json::from_value(line.artifact.clone()).ok().and_then(|turn: Turn| of_turn(&turn)),
            "landed" => serde_json::from_value::<Landed>(line.artifact.clone()).ok().map(|_| {
                let approved = ApprovedTask { task: task.clone(), gate: None };
                (MessageBody::TaskApproved(approved), Party::Supervisor, Party::Worker)
            }),
            "clarification_request" if line.standing == Some(Standing::Taken) => of_question(task, line),
            _ => None,
        };
        // What answers a handoff is the entry behind it.
        let sequence = history.get(at..).into_iter().flatten().find_map(sequence);
        if let (Some((says, from, to)), Some(sequence)) = (found, sequence) {
            all.push(InboxMessage { id: format!("{sequence}-{}-{task}", says.kind()), says, from, to });
        }
    }
    all
}

/// Where a line stands in the journal; `None`: it is a handoff.
fn sequence(line: &HistoryLine) -> Option<u64> {
    let (stream, sequence) = line.reference.split_once('/')?;
    (stream == holdpoint_protocol::streams::JOURNAL).then(|| sequence.parse().ok()).flatten()
}

fn of_turn(turn: &Turn) -> Option<(MessageBody, Party, Party)> {
    let row = SdlcStage::of(&turn.waypoint, &turn.gate)?;
    let (task, gate, deadline) = (turn.waypoint.clone(), turn.gate.clone(), turn.deadline);
    let title = match &turn.request {
        TurnRequest::Build(request) => request.title.clone(),
        TurnRequest::Complete(request) => request.title.clone(),
        TurnRequest::Verify(_) => return None,
    };
    let to = Party::from(row.actor);
    Some(match turn.told().filter(|told| text::is_sent_back(Some(told))) {
        Some(told) => {
            let (reason, feedback) = (told.reason_code.as_str().to_owned(), feedback_file(task.as_str()));
            let rejected = RejectedTask { task, gate, reason, feedback, deadline };
            (MessageBody::TaskRejected(rejected), Party::from(row.actor.other()), to)
        }
        None if row.gate == "brainstorm" => {
            (MessageBody::TaskAssigned(WaitingTask { task, gate, title, deadline }), Party::User, to)
        }
        None if row.gate == "plan" => {
            let approved = ApprovedTask { task, gate: Some(gate) };
            (MessageBody::TaskApproved(approved), Party::Supervisor, Party::Worker)
        }
        None if row.actor == Actor::Worker => {
            (MessageBody::TaskAssigned(WaitingTask { task, gate, title, deadline }), Party::Supervisor, to)
        }
        None => (MessageBody::TaskSubmitted(WaitingTask { task, gate, title, deadline }), Party::Worker, to),
    })
}

fn of_question(task: &WaypointId, line: &HistoryLine) -> Option<(MessageBody, Party, Party)> {
    let asked: ClarificationRequest = serde_json::from_value(line.artifact.clone()).ok()?;
    let from =
        if asked.produced_by_role.as_str() == Actor::Supervisor.as_str() { Party::Supervisor } else { Party::Worker };
    let to = if from == Party::Supervisor { Party::User } else { Party::Supervisor };
    let question = AskedQuestion { task: task.clone(), question: asked.question.clone(), file: clarify_file(task) };
    Some((MessageBody::ClarificationRequest(question), from, to))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    const BUILD: &str = include_str!("../../protocol/golden/turn_build.json");
    const COMPLETE: &str = include_str!("../../protocol/golden/turn_agents_complete.json");
    const LANDED: &str = include_str!("../../protocol/golden/landed.json");
    const ASKED: &str = include_str!("../../protocol/golden/clarification_request.json");

    fn line(kind: &str, reference: &str, artifact: Value, standing: Option<Standing>) -> HistoryLine {
        let (at, kind, reference) = (Timestamp::from_millis(0), kind.to_owned(), reference.to_owned());
        HistoryLine { at, kind, reference, artifact, standing }
    }

    fn turn(golden: &str, sequence: u32, (waypoint, gate): (&str, &str), sent_back: bool) -> HistoryLine {
        let mut turn: Value = serde_json::from_str(golden).unwrap();
        turn["waypoint"] = waypoint.into();
        turn["gate"] = gate.into();
        if sent_back {
            turn["request"]["feedback"]["disposition"] = "rework".into();
        } else {
            turn["request"]["feedback"] = Value::Null;
        }
        line("turn", &format!("HP_JOURNAL/{sequence}"), turn, None)
    }

    fn asked(role: &str) -> HistoryLine {
        let mut asked: Value = serde_json::from_str(ASKED).unwrap();
        asked["produced_by_role"] = role.into();
        line("clarification_request", "HP_HANDOFF_WORKER/4", asked, Some(Standing::Taken))
    }

    fn all() -> Vec<(InboxMessage, &'static str)> {
        let landed = || line("landed", "HP_JOURNAL/90", serde_json::from_str(LANDED).unwrap(), None);
        let request = [
            turn(COMPLETE, 1, ("login", "brainstorm"), false),
            turn(COMPLETE, 2, ("login", "document"), false),
            asked("worker"),
            turn(COMPLETE, 5, ("login", "document"), false),
            turn(COMPLETE, 7, ("login", "spec-review"), false),
            turn(COMPLETE, 8, ("login", "document"), true),
            turn(COMPLETE, 9, ("login", "plan"), false),
            turn(COMPLETE, 12, ("login", "deploy"), false),
        ];
        let task = [
            turn(BUILD, 20, ("login_01", "execute"), false),
            turn(BUILD, 30, ("login_01", "execute"), true),
            turn(COMPLETE, 40, ("login_01", "review"), false),
            landed(),
        ];
        let of = |id: &str, lines: &[HistoryLine]| messages(&id.parse().unwrap(), lines);
        let expected = [
            "1-TASK_ASSIGNED-login",
            "2-TASK_ASSIGNED-login",
            "5-CLARIFICATION_REQUEST-login",
            "5-TASK_ASSIGNED-login",
            "7-TASK_SUBMITTED-login",
            "8-TASK_REJECTED-login",
            "9-TASK_APPROVED-login",
            "20-TASK_ASSIGNED-login_01",
            "30-TASK_REJECTED-login_01",
            "40-TASK_SUBMITTED-login_01",
            "90-TASK_APPROVED-login_01",
        ];
        let found: Vec<InboxMessage> = of("login", &request).into_iter().chain(of("login_01", &task)).collect();
        assert_eq!(found.len(), expected.len(), "{found:#?}");
        found.into_iter().zip(expected).collect()
    }

    #[test]
    fn a_message_follows_from_each_entry_that_one_of_both_has_to_hear_of() {
        for (message, id) in all() {
            assert_eq!(message.id, id);
            let to = if message.says.kind() == "TASK_SUBMITTED" || id == "1-TASK_ASSIGNED-login" || id.contains("CLAR")
            {
                Party::Supervisor
            } else {
                Party::Worker
            };
            assert_eq!(message.to, to, "{id}");
        }
    }

    #[test]
    fn each_message_fits_the_schema_of_its_type_and_no_other() {
        let schemas = schemas();
        for (message, id) in all() {
            let value = serde_json::to_value(&message).unwrap();
            for (kind, schema) in &schemas {
                let fits = jsonschema::validator_for(schema).unwrap().is_valid(&value);
                assert_eq!(fits, *kind == message.says.kind(), "{id} as {kind}: {value}");
            }
            assert_eq!(serde_json::from_value::<InboxMessage>(value).unwrap(), message);
        }
    }

    #[test]
    fn the_schemas_are_published_as_they_are() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("schemas");
        for (kind, schema) in schemas() {
            let file = folder.join(format!("{kind}.json"));
            let text = format!("{}\n", serde_json::to_string_pretty(&schema).unwrap());
            if std::env::var_os("HOLDPOINT_UPDATE_GOLDEN").is_some() {
                std::fs::create_dir_all(&folder).unwrap();
                std::fs::write(&file, &text).unwrap();
            }
            let published = std::fs::read_to_string(&file).unwrap();
            assert_eq!(published, text, "{} is old: HOLDPOINT_UPDATE_GOLDEN=1 writes it again", file.display());
        }
    }
}
