//! What is wrong with what a program handed over (RETRY-2).

use holdpoint_protocol::{Digest, artifact::ExchangeErrorKind, checkpoint::GateDocument};
use serde_json::{Map, Value};

/// What is wrong with a program's result.
#[derive(Debug, Clone, PartialEq)]
pub struct ResultProblem {
    /// Its kind.
    pub kind: ExchangeErrorKind,
    /// What is wrong, in words for the program and for people.
    pub details: String,
    /// Fields that are missing, all of them.
    pub missing: Vec<String>,
    /// What is kept of the object, so that only the rest is asked for.
    pub kept: Option<Map<String, Value>>,
    /// The document, with what came of the gate's checkpoints, where they are what is wrong.
    pub unready: Option<Box<GateDocument>>,
    /// It is wrong with the files that the program left, and not with what it printed.
    pub of_files: bool,
}

impl ResultProblem {
    /// A problem without more than its words.
    #[must_use]
    pub fn new(kind: ExchangeErrorKind, details: impl Into<String>) -> Self {
        Self { kind, details: details.into(), missing: Vec::new(), kept: None, unready: None, of_files: false }
    }

    /// What keeps the files that the program left from being handed off.
    #[must_use]
    pub fn of_files(details: impl Into<String>) -> Self {
        Self { of_files: true, ..Self::new(ExchangeErrorKind::Semantic, details) }
    }

    /// What the problem is known by: the same one twice running is a circle.
    #[must_use]
    pub fn digest(&self) -> Digest {
        Digest::of(format!("{}\n{}\n{}", self.kind.as_str(), self.details, self.missing.join("\n")).as_bytes())
    }
}
