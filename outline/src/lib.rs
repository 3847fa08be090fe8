//! What source files define, and what a change adds that a person should see (spec FLY-31).
//!
//! - [`OutlineHelper::outline`]: functions, classes and the like, with their names and lines.
//! - [`OutlineHelper::findings`]: the places that a change adds and that a rule names, such as product code that looks at its
//!   callers. More runs of a test cannot exclude that product code recognises the run; a person who reads the line can.
//! - [`maybe_run`]: the side of the helper; every executable that asks for either calls it first.
//!
//! Files come from a repository under work and are not trusted, and the parsers are C: they run in a process of their own that
//! has no key, no environment and no access to files, and that is killed when it goes over its bounds ([`Confinement`]).
//!
//! `holdpoint_evidence::map` decides which files are worth an outline, and what is shown of them. It resolves no names: a
//! definition is what looks like one. The rules are tree-sitter queries in `rules/`, and a project may add its own
//! ([`RuleFile`]); they see structure, not meaning, and a finding is a question to a person and not a verdict.
//!
//! [`Confinement`]: holdpoint_sandbox::Confinement

mod added;
mod findings;
mod grammar;
mod helper;
mod rules;
mod symbols;

pub use findings::{
    ChangeFinding, ChangeFindings, ChangedSource, FINDING_TEXT_CHARS_MAX, FINDINGS_MAX, FindingGroup, UnseenFile,
    UnseenReason,
};
pub use helper::{OutlineHelper, OutlineHelperError, maybe_run};
pub use rules::{RuleFile, RuleFileError, SCANNED_BYTES_MAX, check_rules};

use serde::{Deserialize, Serialize};

/// Definitions that are named of one file.
pub const SYMBOLS_MAX: usize = 200;
/// Characters of a name; longer ones are cut.
pub const NAME_CHARS_MAX: usize = 80;

/// A file to be outlined.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceFile {
    /// Its name or path: the ending says which language it is in.
    pub name: String,
    /// What is in it.
    pub text: String,
}

/// A definition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Symbol {
    /// Which line, from 1.
    pub line: u32,
    /// Such as `function`, `method`, `class` or `module`, as the language's grammar calls it.
    pub kind: String,
    /// Its name.
    pub name: String,
}
