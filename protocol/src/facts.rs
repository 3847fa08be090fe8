//! Small prose-free facts that artifacts, entries and decisions share.

use std::{fmt, str::FromStr};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    digest::Digest,
    ids::{CriterionId, RoleId},
    reason::CriterionReason,
    words::words,
};

/// The name of a git object: 40 or 64 lower-case hex digits.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
pub struct Oid(String);

/// A text that is not a git object name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not a git object name: expected 40 or 64 lower-case hex digits")]
pub struct InvalidOid;

impl Oid {
    /// The hex digits.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The beginning, as people name a commit.
    #[must_use]
    pub fn short(&self) -> &str {
        self.0.get(..10).unwrap_or(&self.0)
    }
}

impl TryFrom<String> for Oid {
    type Error = InvalidOid;
    fn try_from(text: String) -> Result<Self, InvalidOid> {
        let hex = text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        if hex && matches!(text.len(), 40 | 64) { Ok(Self(text)) } else { Err(InvalidOid) }
    }
}

impl FromStr for Oid {
    type Err = InvalidOid;
    fn from_str(text: &str) -> Result<Self, InvalidOid> {
        text.to_owned().try_into()
    }
}

impl From<Oid> for String {
    fn from(oid: Oid) -> String {
        oid.0
    }
}

impl fmt::Display for Oid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Oid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Bytes in the blob stream: who stored them, and what they are called.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BlobRef {
    /// The role under whose subjects the chunks are.
    pub role: RoleId,
    /// Their digest.
    pub digest: Digest,
    /// Their length in bytes.
    pub bytes: u64,
}

/// A git bundle with exactly one ref. Bundles of a list build on each other in order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BundleRef {
    /// Where the bytes are.
    pub blob: BlobRef,
    /// The commit its one ref names.
    pub tip: Oid,
    /// The index of its pack (git's `.idx`), of a snapshot: the orchestrator made it when it checked every object.
    /// An agent that takes the orchestrator's word need not make it again; only one that it stored itself counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index: Option<BlobRef>,
}

words! {
    /// What a verifier says of one criterion (FLY-10).
    Verdict {
        /// Shown.
        Pass = "pass",
        /// Refuted.
        Fail = "fail",
        /// Neither.
        Inconclusive = "inconclusive",
    }
}

/// The verdict on one criterion or guard, without prose.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CriterionResult {
    /// The criterion or guard.
    pub id: CriterionId,
    /// The verdict.
    pub verdict: Verdict,
    /// Why it is not a plain pass.
    pub reason: Option<CriterionReason>,
    /// References of evidence: digests of captured output. Never empty for a criterion with a check (FLY-I3).
    pub evidence: Vec<Digest>,
}

impl CriterionResult {
    /// A pass counts only with evidence (FLY-I3).
    #[must_use]
    pub fn is_shown(&self) -> bool {
        self.verdict == Verdict::Pass && !self.evidence.is_empty()
    }
}

/// How a path differs between two trees.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ChangeStatus {
    /// Only in the new tree.
    Added,
    /// In both, with other bytes, mode or type.
    Modified,
    /// Only in the old tree.
    Deleted,
}

/// One changed path. A rename is a deletion and an addition: it touches both paths.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PathChange {
    /// The path, `/`-separated; bytes that are not UTF-8, control characters and `\` are written `\xNN`.
    pub path: String,
    /// How it changed.
    pub status: ChangeStatus,
    /// The git mode on the old side, e.g. `100644`; `None` when added.
    pub old_mode: Option<String>,
    /// The git mode on the new side; `None` when deleted.
    pub new_mode: Option<String>,
}

words! {
    /// Which rule about paths was broken (contract, "Paths").
    ViolationKind {
        /// A protected path.
        Protected = "protected",
        /// A steering file.
        Steering = "steering",
        /// A path outside the scope.
        OutOfScope = "out_of_scope",
    }
}

/// One broken rule about paths.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Violation {
    /// The rule.
    pub kind: ViolationKind,
    /// The path.
    pub path: String,
}

/// What a clone had besides the work that was handed off, or kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LeftOut {
    /// The kind.
    pub kind: LeftOutKind,
    /// The path, the branch or the stash.
    pub what: String,
    /// By which rule, in words.
    pub why: String,
}

/// The most of them that a handoff names.
pub const LEFT_OUT_MAX: usize = 20;

/// Why something in a clone is not part of the work, the most surprising first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LeftOutKind {
    /// It can be no part of a handoff, as it is: a repository inside the working tree, a pipe, a file that is too large.
    Unfit,
    /// It is not in the working tree: a branch, a stash, a second worktree.
    Elsewhere,
    /// A rule of the repository or of its user ignores it.
    Ignored,
    /// A tool left it for itself.
    Dropping,
}

words! {
    /// Whose harness works under a key. The key's credentials say so, which the fleet's authority signed; what its holder
    /// signs never does.
    Harness {
        /// Holdpoint's own.
        Holdpoint = "holdpoint",
        /// Any other, or the key does not say.
        Foreign = "foreign",
    }
}

impl Harness {
    /// Whether it is not Holdpoint's own.
    #[must_use]
    pub fn is_foreign(self) -> bool {
        self == Self::Foreign
    }
}

/// How much changed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DiffSummary {
    /// Changed paths.
    pub files: u64,
    /// Added lines; binary files count none.
    pub insertions: u64,
    /// Removed lines.
    pub deletions: u64,
}
