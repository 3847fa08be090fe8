//! What goes between a process and its helper, and what came of a condition. Pure data.

use serde::{Deserialize, Serialize};

/// What came of one condition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConditionAnswer {
    /// It is true, or a value that JavaScript takes for true.
    Holds,
    /// It is false, or a value that JavaScript takes for false.
    DoesNotHold,
    /// It could not be evaluated.
    Failed(ConditionFailure),
}

impl ConditionAnswer {
    /// Whether it holds. A condition that failed does not (spec GATE-6).
    #[must_use]
    pub fn holds(&self) -> bool {
        matches!(self, Self::Holds)
    }

    /// Whether it went over its bounds.
    pub(crate) fn is_over_bounds(&self) -> bool {
        matches!(self, Self::Failed(ConditionFailure::Time | ConditionFailure::Memory))
    }
}

/// Why a condition could not be evaluated. The same condition fails in the same way for the same waypoint, but for
/// [`ConditionFailure::Time`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum ConditionFailure {
    /// It is no JavaScript expression.
    #[error("it is no JavaScript expression: {0}")]
    Syntax(String),
    /// It threw: most often something undefined was looked into.
    #[error("it threw {0}")]
    Threw(String),
    /// It used more processor time than a condition may.
    #[error("it took more than 100 ms")]
    Time,
    /// It used more memory than a condition may, or ended its helper in another way.
    #[error("it used more than 16 MiB of memory")]
    Memory,
}

/// What conditions see.
#[derive(Debug, Clone, Copy)]
pub struct Scope<'a> {
    /// A JSON object as text: each of its members is seen under its name.
    pub json: &'a str,
    /// Whether the same may be seen again, so that what comes of it is worth remembering.
    pub recurs: bool,
}

/// What a helper is asked.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Request {
    /// The conditions, each evaluated by itself.
    pub(crate) conditions: Vec<String>,
    /// What they see: a JSON object as text, which only the engine reads. `None`: they are only parsed.
    pub(crate) scope: Option<String>,
}
