//! Messages in the inboxes (SDLC-8): one file each, written once from the journal's history. Pure.

use holdpoint_protocol::{
    Timestamp,
    api::{HistoryLine, Standing},
    artifact::ClarificationRequest,
    ids::{GateId, WaypointId},
    journal::Landed,
    turn::{Turn, TurnRequest},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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
    TaskAssigned(AssignedTask),
    /// A task is handed in.
    TaskSubmitted(SubmittedTask),
    /// A task was sent back.
    TaskRejected(RejectedTask),
    /// A task is done, or its document was approved.
    TaskApproved(ApprovedTask),
    /// A question waits for its answer.
    ClarificationRequest(AskedQuestion),
}

/// A task that waits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AssignedTask {
    /// The task.
    pub task: WaypointId,
    /// What is to be done: the gate.
    pub gate: GateId,
    /// In one line.
    pub title: String,
    /// Until when.
    pub deadline: Timestamp,
}

/// A task that was handed in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SubmittedTask {
    /// The task.
    pub task: WaypointId,
    /// The gate at which it is looked at.
    pub gate: GateId,
    /// In one line.
    pub title: String,
    /// Until when.
    pub deadline: Timestamp,
}

/// A task that was sent back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
pub struct ApprovedTask {
    /// The task.
    pub task: WaypointId,
    /// The gate that it comes to; absent: it has landed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gate: Option<GateId>,
}

/// A question that waits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
            (MessageBody::TaskAssigned(AssignedTask { task, gate, title, deadline }), Party::User, to)
        }
        None if row.gate == "plan" => {
            let approved = ApprovedTask { task, gate: Some(gate) };
            (MessageBody::TaskApproved(approved), Party::Supervisor, Party::Worker)
        }
        None if row.actor == Actor::Worker => {
            (MessageBody::TaskAssigned(AssignedTask { task, gate, title, deadline }), Party::Supervisor, to)
        }
        None => (MessageBody::TaskSubmitted(SubmittedTask { task, gate, title, deadline }), Party::Worker, to),
    })
}

fn of_question(task: &WaypointId, line: &HistoryLine) -> Option<(MessageBody, Party, Party)> {
    let asked: ClarificationRequest = serde_json::from_value(line.artifact.clone()).ok()?;
    let from = if asked.produced_by_role.as_str() == Actor::Supervisor.as_str() { Party::Supervisor } else { Party::Worker };
    let to = if from == Party::Supervisor { Party::User } else { Party::Supervisor };
    let question = AskedQuestion { task: task.clone(), question: asked.question.clone(), file: clarify_file(task) };
    Some((MessageBody::ClarificationRequest(question), from, to))
}
