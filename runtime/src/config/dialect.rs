//! In which form an agent's program prints what it does.

use serde::{Deserialize, Serialize};

/// The form of a program's standard output.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Dialect {
    /// Plain text: what is printed is what the agent says.
    #[default]
    Plain,
    /// The JSON lines of `claude -p --output-format stream-json --verbose`.
    Claude,
    /// The JSON lines of `codex exec --json`.
    Codex,
}

impl Dialect {
    /// Whether it is the default.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        *self == Self::Plain
    }

    /// The word for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Claude => "claude",
            Self::Codex => "codex",
        }
    }
}
