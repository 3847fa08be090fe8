//! What a page says when something was not answered or not done.

/// Why something was not answered or not done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConsoleProblem {
    /// There is no such thing.
    pub not_found: bool,
    /// What happened and why.
    pub message: String,
    /// What to do next.
    pub hint: String,
}

impl ConsoleProblem {
    /// There is no such thing.
    #[must_use]
    pub fn not_found(message: impl Into<String>) -> Self {
        Self { not_found: true, message: message.into(), hint: String::new() }
    }
}
