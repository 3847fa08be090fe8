//! Questions, answers and calls for help (FLY-11, FLY-12, RETRY-10).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    artifact::artifact,
    ids::{AgentName, ArtifactId, TurnId},
};

/// How sure the asker is of its own best guess.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Confidence {
    /// A guess.
    Low,
    /// Likely.
    Medium,
    /// Nearly certain.
    High,
}

artifact! {
    /// A blocking question (FLY-11).
    ClarificationRequest = "clarification_request" {
        /// The turn.
        turn: TurnId,
        /// Which delivery of the turn, from 1.
        delivery: u32,
        /// Who asks.
        agent: AgentName,
        /// The question.
        question: String,
        /// What depends on the answer.
        decision_context: String,
        /// How sure the asker is of its own best guess.
        confidence: Confidence,
        /// The answers it can work with.
        options: Vec<String>,
    }
}

artifact! {
    /// The answer to a question (FLY-12).
    ClarificationResponse = "clarification_response" {
        /// The question.
        request: ArtifactId,
        /// The chosen option, or the answer in words.
        answer: String,
        /// Why.
        rationale: String,
        /// Constraints that hold from now on.
        updated_constraints: Vec<String>,
    }
}

artifact! {
    /// A call for help (RETRY-10).
    HelpRequest = "help_request" {
        /// The turn.
        turn: TurnId,
        /// Which delivery of the turn, from 1.
        delivery: u32,
        /// Who calls.
        agent: AgentName,
        /// The line of the output that called.
        raw_line: String,
        /// The JSON context that followed it.
        context: Option<serde_json::Value>,
    }
}
