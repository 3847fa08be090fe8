//! Work without a plan file.

use std::path::{Path, PathBuf};

use clap::Args;

/// Work that is described by flags, in place of a plan file.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct TaskFlags {
    /// Work without a plan file: its title. It goes by the project's first workflow; else, with a builder, it is built, and all tests of the project judge it; else it goes by one gate of the role `default`
    #[arg(long, value_name = "TITLE", conflicts_with = "plan")]
    pub(crate) task: Option<String>,
    /// What agents have to do [default: the title]
    #[arg(long, value_name = "TEXT", requires = "task")]
    pub(crate) goal: Option<String>,
    /// The workflow that the work goes by
    #[arg(long, value_name = "NAME", requires = "task")]
    pub(crate) workflow: Option<String>,
    /// A command that succeeds when the work is done; may be repeated. A workflow that verifies needs one where it is not known how the project is tested
    #[arg(long = "check", value_name = "CMD", requires = "task")]
    pub(crate) checks: Vec<String>,
    /// Tests, snapshots or golden files that exist and may change; may be repeated
    #[arg(long = "changed-tests", value_name = "GLOB", requires = "task")]
    pub(crate) changed_tests: Vec<String>,
    /// A word for the conditions of gates; may be repeated
    #[arg(long = "tag", value_name = "WORD", requires = "task")]
    pub(crate) tags: Vec<String>,
}

/// What is to be flown.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Work<'a> {
    /// A plan file.
    Plan(&'a Path),
    /// What these flags say.
    Task(&'a TaskFlags),
}

impl<'a> Work<'a> {
    /// What was named; `None`: neither.
    pub(crate) fn named(plan: Option<&'a PathBuf>, task: &'a TaskFlags) -> Option<Self> {
        match (plan, &task.task) {
            (Some(plan), _) => Some(Self::Plan(plan)),
            (None, Some(_)) => Some(Self::Task(task)),
            (None, None) => None,
        }
    }

    /// The plan file, if it is one.
    pub(crate) fn file(self) -> Option<&'a Path> {
        match self {
            Self::Plan(path) => Some(path),
            Self::Task(_) => None,
        }
    }
}
