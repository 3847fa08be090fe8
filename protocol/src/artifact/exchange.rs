//! What went wrong between a program and its harness, and what was done about it (RETRY-7).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Digest, Timestamp,
    artifact::artifact,
    ids::{AgentName, CriterionId, TurnId},
    words::words,
};

artifact! {
    /// An exchange that failed at least once (RETRY-7). It is published before the next try begins, so that a crash loses
    /// nothing; a later record of the same `exchange` replaces it. It ends nothing and changes no state.
    ExchangeRecord(ExchangeRecordBody) = "exchange_record" {
        /// The turn.
        turn: TurnId,
        /// Which delivery of the turn, from 1.
        delivery: u32,
        /// Who holds it.
        agent: AgentName,
        /// The exchange: unguessable, the same in all records of it.
        exchange: String,
        /// Who should have handed over: a role, or `judge`.
        component: String,
        /// The criterion that a judge was asked about.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        criterion: Option<CriterionId>,
        /// The program's conversation, where its stream names one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        session: Option<String>,
        /// What was wrong first.
        original_error: ExchangeError,
        /// What was tried since, oldest first.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        attempts: Vec<ExchangeAttempt>,
        /// How it ended; `None`: it goes on, or its agent died in it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        final_status: Option<ExchangeStatus>,
    }
}

/// One failure of an exchange.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExchangeError {
    /// Its kind.
    pub kind: ExchangeErrorKind,
    /// What was wrong, in words.
    pub details: String,
    /// Fields that are missing, all of them, as `data.todos`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
    /// The first 500 characters that the program printed.
    pub output_sample: String,
    /// The whole output, as a blob of the role; `None`: it is not kept, as configured, or could not be stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Digest>,
}

words! {
    /// What is wrong with a program's result (RETRY-2).
    ExchangeErrorKind {
        /// It is no JSON, or no valid marker.
        Malformed = "malformed",
        /// Required fields are missing, or have another type.
        MissingField = "missing_field",
        /// It is valid and wrong: another waypoint, an unknown criterion, a pass without evidence.
        Semantic = "semantic",
        /// It is valid, and a checkpoint of its gate does not hold.
        NotReady = "not_ready",
        /// It was cut off, or says itself that it is not done.
        Partial = "partial",
        /// The program did not come to its end.
        Stuck = "stuck",
        /// The program ended with another exit code than 0, by a signal or at a limit.
        Crashed = "crashed",
        /// The program's conversation is full.
        ContextWindow = "context_window",
    }
}

/// One try after a failure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExchangeAttempt {
    /// Which one, from 1.
    pub attempt: u32,
    /// When it began.
    pub at: Timestamp,
    /// The command line.
    pub command: String,
    /// The program's prompt, its first 4 KiB.
    pub prompt: String,
    /// The first 500 characters that the program printed.
    pub output_sample: String,
    /// What was wrong this time; `None`: nothing.
    pub error: Option<ExchangeError>,
}

words! {
    /// How an exchange ended that failed at least once.
    ExchangeStatus {
        /// A later try was good.
        Recovered = "recovered",
        /// The retries are used up, or the same error came twice running: the turn fails, and the orchestrator decides.
        Escalated = "escalated",
        /// The program ended badly: there is nothing to retry in this turn.
        Fatal = "fatal",
    }
}
