//! Work without a plan file.

use std::path::{Path, PathBuf};

use clap::{ArgGroup, Args};

/// Work that is described by flags, in place of a plan file.
#[derive(Debug, Clone, Default, Args)]
#[command(group = ArgGroup::new("work").args(["task", "issue"]))]
pub(crate) struct TaskFlags {
    /// Work without a plan file: its title. It goes by the project's first workflow; else, with a builder, it is built, and all tests of the project judge it; else it goes by one gate of the role `default`
    #[arg(long, value_name = "TITLE", conflicts_with = "plan")]
    pub(crate) task: Option<String>,
    /// Work without a plan file: an issue as a file, or `-` for one on standard input. Its first line is the title and the rest the goal; its front matter may have title, tags, priority, metadata, tests, checks, scope, changed_tests and workflow
    #[arg(long, value_name = "FILE", conflicts_with = "plan")]
    pub(crate) issue: Option<PathBuf>,
    /// What agents have to do [default: the title]
    #[arg(long, value_name = "TEXT", requires = "task", conflicts_with = "issue")]
    pub(crate) goal: Option<String>,
    /// The workflow that the work goes by
    #[arg(long, value_name = "NAME", requires = "work")]
    pub(crate) workflow: Option<String>,
    /// A command that succeeds when the work is done; may be repeated. A workflow that verifies needs one where it is not known how the project is tested
    #[arg(long = "check", value_name = "CMD", requires = "work")]
    pub(crate) checks: Vec<String>,
    /// Paths that the work may touch, as a glob; may be repeated. Without it the work may change anything
    #[arg(long, value_name = "GLOB", requires = "work")]
    pub(crate) scope: Vec<String>,
    /// Tests, snapshots or golden files that exist and may change; may be repeated
    #[arg(long = "changed-tests", value_name = "GLOB", requires = "work")]
    pub(crate) changed_tests: Vec<String>,
    /// A word for the conditions of gates; may be repeated
    #[arg(long = "tag", value_name = "WORD", requires = "work")]
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
        match plan {
            Some(plan) => Some(Self::Plan(plan)),
            None => (task.task.is_some() || task.issue.is_some()).then_some(Self::Task(task)),
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
