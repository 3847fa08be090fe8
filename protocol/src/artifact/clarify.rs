//! Questions, answers and calls for help (FLY-11, FLY-12, RETRY-10).

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de::Error as _};
use serde_json::Value;

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
        /// The JSON context that followed it, of 32 levels at most: it becomes a part of answers to operators.
        #[serde(default, deserialize_with = "shallow")]
        context: Option<Value>,
    }
}

artifact! {
    /// An agent gives a turn back without an answer, for a reason that is not the work's: it stops, or something failed
    /// on its side. Whoever says so has not died of the turn.
    GivenBack = "given_back" {
        /// The turn.
        turn: TurnId,
        /// Which delivery of the turn, from 1.
        delivery: u32,
        /// Who gives it back.
        agent: AgentName,
        /// Why, in one line.
        reason: String,
    }
}

/// The deepest nesting of what an agent wrote freely: as deep as a plan's free values.
const CONTEXT_DEPTH_MAX: usize = 32;

impl HelpRequest {
    /// Whether a value is shallow enough to be a context: readers refuse deeper ones.
    #[must_use]
    pub fn can_carry(context: &Value) -> bool {
        fits(context, CONTEXT_DEPTH_MAX)
    }
}

fn fits(value: &Value, levels: usize) -> bool {
    let inside = |value| levels > 0 && fits(value, levels - 1);
    match value {
        Value::Array(items) => levels > 0 && items.iter().all(inside),
        Value::Object(entries) => levels > 0 && entries.values().all(inside),
        _ => true,
    }
}

fn shallow<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    let context = Option::<Value>::deserialize(deserializer)?;
    if context.as_ref().is_some_and(|context| !HelpRequest::can_carry(context)) {
        return Err(D::Error::custom(format_args!("the context is nested deeper than {CONTEXT_DEPTH_MAX} levels")));
    }
    Ok(context)
}
