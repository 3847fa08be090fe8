//! What a role brings: the work of a turn.

use std::{future::Future, sync::Arc};

use holdpoint_bus::Bus;
use holdpoint_evidence::telling;
use holdpoint_protocol::{
    artifact::{
        BuildArtifact, BuildPlan, ClarificationRequest, Completion, CompletionPlan, HelpRequest, VerificationPlan,
        VerificationReport,
    },
    ids::RoleId,
};
use holdpoint_sandbox::room::NearlyFull;
use holdpoint_text::chain::ErrorChain;

use super::job::Job;

/// What one role does with a turn.
pub trait Worker: Send + Sync + 'static {
    /// What is going to be done. It is published before [`Worker::work`] starts. Quick and without I/O.
    fn plan(&self, job: &Job) -> PlanHandoff;

    /// What is done once this agent is up, before it takes its first turn.
    fn up(&self, _bus: &Bus, _role: &RoleId) -> impl Future<Output = ()> + Send {
        std::future::ready(())
    }

    /// Does the work, and returns what is to be handed off. It runs in a task of its own and is dropped when it does
    /// not heed [`Job::stop`] in time.
    ///
    /// # Errors
    /// A failure of ours, not of the program that was run: the turn is given back and delivered again after a pause.
    /// It is not an attempt.
    fn work(&self, job: Arc<Job>) -> impl Future<Output = Result<Final, WorkError>> + Send;
}

/// The plan handoff of a turn.
#[derive(Debug, Clone, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "there is one a turn, moved twice")]
pub enum PlanHandoff {
    /// Of a turn that makes work.
    Build(BuildPlan),
    /// Of a verifier.
    Verify(VerificationPlan),
    /// Of a turn that is completed.
    Complete(CompletionPlan),
}

/// The final handoff of a turn.
#[derive(Debug, Clone, PartialEq)]
#[allow(clippy::large_enum_variant, reason = "there is one a turn, moved twice")]
pub enum Final {
    /// Of a turn that makes work.
    Build(BuildArtifact),
    /// Of a verifier.
    Verify(VerificationReport),
    /// Of a turn that is completed.
    Complete(Box<Completion>),
    /// A question. The turn ends with it; the answer opens another.
    Clarify(ClarificationRequest),
    /// A call for help.
    Help(HelpRequest),
}

/// A failure of ours while working: a blob that cannot be got, a full disk, a missing tool.
#[derive(Debug, thiserror::Error)]
#[error("{action}")]
pub struct WorkError {
    action: String,
    source: Box<dyn std::error::Error + Send + Sync>,
}

impl WorkError {
    /// What could not be done (lowercase fragment), and why.
    #[must_use]
    pub fn new(action: impl Into<String>, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self { action: action.into(), source: source.into() }
    }

    /// The same, with what to do where a lack of room on this disk is the reason.
    #[must_use]
    pub fn on(self, disk: Option<&NearlyFull>) -> Self {
        let Some(disk) = disk.filter(|_| telling::says_no_room(&ErrorChain(&self).to_string())) else { return self };
        let Self { action, source } = self;
        let then = "make room there: the turn is tried again by itself, and this is no attempt";
        Self { action: format!("{action}, as {disk} ({then})"), source }
    }
}

#[cfg(test)]
mod tests {
    use std::{io, path::PathBuf};

    use super::*;

    #[test]
    fn a_failure_for_lack_of_room_says_where_and_what_to_do() {
        let disk = NearlyFull { mounted_at: PathBuf::from("/data"), free: 3 << 20, size: 1 << 30, files: None };
        let said = |code, disk| {
            let error = WorkError::new("do the turn", io::Error::from_raw_os_error(code)).on(disk);
            ErrorChain(&error).to_string()
        };
        assert_eq!(
            said(28, Some(&disk)),
            "do the turn, as the file system at /data has 3 MiB of 1024 MiB left (make room there: the turn is tried again by \
             itself, and this is no attempt): No space left on device (os error 28)"
        );
        for (code, disk) in [(28, None), (13, Some(&disk))] {
            assert!(said(code, disk).starts_with("do the turn: "));
        }
    }
}
