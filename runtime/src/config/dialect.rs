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
    /// The JSON lines of `gemini -o stream-json`.
    Gemini,
    /// The Agent Client Protocol on standard input and output.
    Acp,
}

/// Who gives the permissions that an agent asks for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Permissions {
    /// The role's policy: what the sandbox allows is allowed.
    #[default]
    Allow,
    /// A person, who is asked within the turn.
    Ask,
}

impl Permissions {
    /// Whether it is the default.
    #[must_use]
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

impl Dialect {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Plain, Self::Claude, Self::Codex, Self::Gemini, Self::Acp];

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
            Self::Gemini => "gemini",
            Self::Acp => "acp",
        }
    }
}
