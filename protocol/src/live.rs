//! What an agent's program says while it runs: core messages on `hp.v1.log.<role>.<agent>.<flight>.<waypoint>`, for people. They
//! are not stored, nothing is decided by them, and no agent can listen to them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Timestamp, ids::TurnId, words::words};

/// The longest text of a line, in characters.
pub const TEXT_CHARS_MAX: usize = 400;
/// The longest message on a `log` subject that is read, in bytes.
pub const LINE_BYTES_MAX: usize = 4 << 10;

/// One line of what a program says while it runs, or of what its harness does with it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LiveLine {
    /// The turn. A line that does not name the open turn of its waypoint is shown to nobody.
    pub turn: TurnId,
    /// When it was said.
    pub at: Timestamp,
    /// What it is.
    pub kind: LiveKind,
    /// The words, at most 400 characters. A program that shows them removes what moves a cursor or cannot be seen.
    pub text: String,
    /// How many lines of this turn were left out before it: an agent sends 10 at once and 100 a minute.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub left_out: u32,
}

words! {
    /// What a line is.
    LiveKind {
        /// A line of the agent's words.
        Said = "said",
        /// A tool call: the tool's name and the beginning of what it is called with.
        Tool = "tool",
        /// What the harness does.
        Doing = "doing",
    }
}

fn is_zero(left_out: &u32) -> bool {
    *left_out == 0
}
