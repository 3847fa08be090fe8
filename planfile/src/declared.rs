//! What a project declares: its workflows (`project.yaml`) and who has which role (`org.yaml`); spec GATE-1 to GATE-3.
//!
//! The files are read as plans are: every problem is found at once, each with its place and what to do about it.
//! Warnings are apart: with them alone a declaration is sound. Nothing is read from disk here, and no predicate is
//! evaluated.

pub(crate) mod check;
pub(crate) mod checkpoint;
pub(crate) mod checks;
pub(crate) mod condition;
mod demands;
mod file;
mod gate;
mod org;
mod outcomes;
pub(crate) mod presets;
pub(crate) mod project;
pub(crate) mod read;
pub(crate) mod resolve;
pub(crate) mod timeouts;

pub use check::{CheckedDeclarations, check, defaults};
pub use condition::Conditions;
pub use file::{DeclaredFile, FILE_BYTES_MAX};
pub use project::ProjectDefaults;
pub use read::{is_org_chart, read};
pub use resolve::resolve;

#[cfg(test)]
mod tests;
