//! Why a verification could not be made at all. A check's result is never an error.

use std::{
    io::ErrorKind,
    path::{Path, PathBuf},
};

use holdpoint_harness::environment::EnvironmentError;
use holdpoint_runtime::path_rules::JudgeError;

/// A failure of ours, not of the work under review. The turn can be tried again.
#[derive(Debug, thiserror::Error)]
pub enum VerifyError {
    /// A folder or file of ours cannot be used.
    #[error("cannot {action} {}", path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
    /// Git failed, or an object that was handed over is missing.
    #[error("cannot read the trees under review")]
    Git(#[from] holdpoint_workspace::WorkspaceError),
    /// The sandbox could not run a program.
    #[error("cannot run a program in the sandbox")]
    Sandbox(#[from] holdpoint_sandbox::SandboxError),
    /// The regular expression of a check cannot be used. Plans are checked for that before they start.
    #[error("the expect of {id} is not a usable regular expression")]
    Expect {
        /// The criterion or guard.
        id: holdpoint_protocol::ids::CriterionId,
        /// What is wrong with it.
        #[source]
        source: regex::Error,
    },
    /// An environment cannot be used.
    #[error(transparent)]
    Environment(#[from] EnvironmentError),
    /// The environment of the work could not be set up, and that of the base cannot be either now: the network may be at fault.
    #[error("cannot set up the environment, nor that of the base, which shows that the work is not at fault: {why}")]
    NotSetUp {
        /// Why not.
        why: String,
    },
    /// The path rules cannot be applied.
    #[error("cannot judge the changed paths")]
    Paths(#[from] JudgeError),
}

impl VerifyError {
    /// For `map_err`: what was tried on which path.
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        move |source| Self::Io { action, path: path.to_owned(), source }
    }

    /// Whether the disk is full, which passes.
    #[must_use]
    pub fn lacks_room(&self) -> bool {
        matches!(self, Self::Io { source, .. } if [ErrorKind::StorageFull, ErrorKind::QuotaExceeded].contains(&source.kind()))
    }

    /// Whether trying again cannot help: the plan, or what was handed over, cannot be judged.
    #[must_use]
    pub fn is_permanent(&self) -> bool {
        match self {
            Self::Git(error) | Self::Paths(JudgeError::Git(error)) => error.is_refusal(),
            Self::Expect { .. } | Self::Paths(JudgeError::Glob(_)) => true,
            Self::Io { .. } | Self::Sandbox(_) | Self::Environment(_) | Self::NotSetUp { .. } => false,
        }
    }
}
