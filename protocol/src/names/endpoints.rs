//! The endpoints of the micro service `holdpoint`: who may call which, with what, and what they answer.

use super::{AGENTS, ARCHIVIST, EVERYBODY, OPERATOR, ORCHESTRATOR, Subject};
use crate::{
    api::{ACT, ARTIFACT, ATTEST, DEAD, EXPORT, FLIGHTS, HISTORY, INBOX, MESSAGES, PROGRESS, STATUS, SUBMIT},
    completing::{COMPLETE, TASK},
    retire::RETIRE,
    storage::STORAGE,
    subjects,
    unsound::CONFIG_INVALID,
};

/// An endpoint of the micro service `holdpoint`.
#[derive(Debug, Clone, Copy)]
pub struct Endpoint {
    /// The last token of its subject.
    pub name: &'static str,
    /// Who may call it.
    pub by: &'static [&'static str],
    /// The schema of a request.
    pub request: &'static str,
    /// The schema of the answer.
    pub answer: &'static str,
    /// What it does.
    pub summary: &'static str,
}

impl Endpoint {
    pub(super) fn subject(&self) -> Subject {
        Subject {
            name: self.name,
            address: subjects::api(self.name),
            by: self.by,
            to: ORCHESTRATOR,
            messages: vec![self.request],
            answer: Some(self.answer),
            summary: self.summary,
        }
    }
}

/// All endpoints.
pub const ENDPOINTS: [Endpoint; 17] = [
    Endpoint {
        name: PROGRESS,
        by: AGENTS,
        request: "progress",
        answer: "progress_answer",
        summary: "is this turn still wanted? asked every few seconds",
    },
    Endpoint { name: SUBMIT, by: OPERATOR, request: "submit", answer: "flight_view", summary: "begins a flight" },
    Endpoint {
        name: STATUS,
        by: OPERATOR,
        request: "status_query",
        answer: "flight_view",
        summary: "how a flight stands, a page at a time",
    },
    Endpoint {
        name: FLIGHTS,
        by: OPERATOR,
        request: "flights_query",
        answer: "flights",
        summary: "all flights, newest first, a page at a time",
    },
    Endpoint {
        name: HISTORY,
        by: OPERATOR,
        request: "history_query",
        answer: "history",
        summary: "all artifacts and decisions of a waypoint",
    },
    Endpoint {
        name: ARTIFACT,
        by: OPERATOR,
        request: "artifact_query",
        answer: "found_artifact",
        summary: "one artifact by its reference",
    },
    Endpoint {
        name: EXPORT,
        by: OPERATOR,
        request: "cut_query",
        answer: "export_begin",
        summary: "where a flight ends at this moment, sealed",
    },
    Endpoint {
        name: MESSAGES,
        by: OPERATOR,
        request: "message_query",
        answer: "export_page",
        summary: "a flight's messages in one stream, a page at a time",
    },
    Endpoint {
        name: ATTEST,
        by: OPERATOR,
        request: "attest_query",
        answer: "dsse_envelope",
        summary: "the signed statement on a landed waypoint",
    },
    Endpoint {
        name: DEAD,
        by: OPERATOR,
        request: "dead_query",
        answer: "dead_turns",
        summary: "turns that keep ending their agents",
    },
    Endpoint {
        name: STORAGE,
        by: OPERATOR,
        request: "storage_query",
        answer: "storage",
        summary: "how full the broker is, by stream",
    },
    Endpoint {
        name: INBOX,
        by: OPERATOR,
        request: "inbox_query",
        answer: "inbox",
        summary: "what waits for people, a page at a time",
    },
    Endpoint {
        name: ACT,
        by: OPERATOR,
        request: "act_query",
        answer: "act_standing",
        summary: "what became of a person's act",
    },
    Endpoint {
        name: CONFIG_INVALID,
        by: OPERATOR,
        request: "config_invalid",
        answer: "config_invalid_noted",
        summary: "workflow files were not reloaded because they are not sound: counts that, and changes nothing",
    },
    Endpoint {
        name: COMPLETE,
        by: EVERYBODY,
        request: "complete_call",
        answer: "complete_answer",
        summary: "completes a gate: stores a signed completion and says what became of it",
    },
    Endpoint {
        name: TASK,
        by: EVERYBODY,
        request: "task_query",
        answer: "task_answer",
        summary: "what is wanted: the turn that the calling agent holds, for people the waypoint's task",
    },
    Endpoint {
        name: RETIRE,
        by: ARCHIVIST,
        request: "retire_query",
        answer: "retire_answer",
        summary: "records that a flight is exported: after that its messages may be deleted",
    },
];
