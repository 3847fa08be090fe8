//! What source files define: functions, classes and the like, with their names and lines (spec FLY-31).
//!
//! Files come from a repository under work and are not trusted, and the parsers are C: they run in a process of their own that
//! has no key, no environment and no access to files, and that is killed when it goes over its bounds ([`Confinement`]).
//!
//! - [`OutlineHelper`]: outlines of many files at once.
//! - [`maybe_run`]: the side of the helper; every executable that makes outlines calls it first.
//!
//! `holdpoint_core::map` decides which files are worth it, and what is shown of them. It resolves no names: a
//! definition is what looks like one.
//!
//! [`Confinement`]: holdpoint_sandbox::Confinement

mod grammar;
mod helper;
mod symbols;

pub use helper::{OutlineHelper, OutlineHelperError, maybe_run};

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
