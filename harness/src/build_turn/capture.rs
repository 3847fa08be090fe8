//! What a program left in its files, as one commit on the turn's base: finished for a handoff, or as it is for a question.

use std::{fmt::Display, path::PathBuf};

use holdpoint_core::commit;
use holdpoint_faults::Step;
use holdpoint_protocol::{
    artifact::Failure,
    facts,
    ids::AgentName,
    reason::ReasonCode,
    turn::{BuildRequest, Turn},
};
use holdpoint_workspace::{AgentClone, Bundle, CommitMeta, HANDOFF_REF, Mirror, ObjectId, WorkspaceError};

use super::{
    answer::{WorkClaims, with_output},
    hazards::stuck_ignore_file,
};
use crate::backend::BackendResult;
use holdpoint_runtime::{
    mirror::{diff_summary, from_wire, path_changes},
    telemetry::ErrorChain,
};

/// Who commits are by.
const AUTHOR: (&str, &str) = ("Holdpoint", "holdpoint@localhost");

/// What git passes on of the system's words when the machine, and not the repository, is the problem.
/// The last is git's own word for a full disk.
const MACHINE_IS_SHORT: [&str; 5] = [
    "No space left on device",
    "Disk quota exceeded",
    "Cannot allocate memory",
    "Input/output error",
    "Out of diskspace",
];

/// What is handed off.
#[derive(Debug)]
pub struct Ready {
    /// The commit on the base, and the thin bundle that brings it; `None` when nothing differs from the base.
    pub work: Option<CapturedWork>,
    /// The tree as the program left it.
    pub tree: ObjectId,
    /// What differs from the base.
    pub touched: Vec<facts::PathChange>,
    /// How much.
    pub diff: facts::DiffSummary,
    /// What the program says of it.
    pub said: WorkClaims,
}

/// A commit on the turn's base, and the thin bundle that brings it.
pub type CapturedWork = (ObjectId, Bundle);

/// Where the files are that are captured.
#[derive(Debug)]
pub(super) enum Files<'a> {
    /// The clone that the program worked in. It has ended.
    Clone(&'a AgentClone, PathBuf),
    /// A copy of it that was made while the program was at work, or the clone of a person.
    Copy(PathBuf),
}

/// A turn whose files are captured.
pub(super) struct Capture<'a> {
    pub(super) turn: &'a Turn,
    pub(super) request: &'a BuildRequest,
    pub(super) agent: &'a AgentName,
    pub(super) mirror: &'a Mirror,
    /// Where the bundle is written.
    pub(super) bundle: PathBuf,
    pub(super) files: Files<'a>,
}

impl Capture<'_> {
    /// What is handed off, or why the files cannot be.
    pub(super) async fn finished(
        &self,
        said: WorkClaims,
        result: &BackendResult,
    ) -> Result<Result<Ready, Failure>, WorkspaceError> {
        let invalid = |why: &dyn Display| {
            let what = format!("what the program left cannot be handed off: {why}");
            Ok(Err(Failure { reason: ReasonCode::HandoffInvalid, detail: with_output(&what, result) }))
        };
        if let Some(why) = self.hazard().await {
            return invalid(&why);
        }
        match self.ready(said).await {
            Ok(ready) => Ok(Ok(ready)),
            Err(error) if blames_the_files(&error) => invalid(&ErrorChain(&error)),
            Err(error) => Err(error),
        }
    }

    /// The work so far. `None` when nothing differs from the base, and when the files cannot be handed off: the question
    /// counts all the same.
    pub(super) async fn unfinished(&self) -> Result<Option<CapturedWork>, WorkspaceError> {
        if let Some(why) = self.hazard().await {
            tracing::info!(%why, "a question goes without the work that was there");
            return Ok(None);
        }
        match self.ready(WorkClaims::default()).await {
            Ok(ready) => Ok(ready.work),
            Err(error) if blames_the_files(&error) => {
                tracing::info!(why = %ErrorChain(&error), "a question goes without the work that was there");
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// The work of a person, or why the files cannot be handed in.
    pub(super) async fn by_hand(&self) -> Result<Result<Option<CapturedWork>, String>, WorkspaceError> {
        if let Some(why) = self.hazard().await {
            return Ok(Err(why));
        }
        match self.ready(WorkClaims::default()).await {
            Ok(ready) => Ok(Ok(ready.work)),
            Err(error) if blames_the_files(&error) => Ok(Err(ErrorChain(&error).to_string())),
            Err(error) => Err(error),
        }
    }

    /// What would make git hang, or files that cannot even be listed.
    async fn hazard(&self) -> Option<String> {
        let dir = match &self.files {
            Files::Clone(_, dir) | Files::Copy(dir) => dir.clone(),
        };
        let looked = tokio::task::spawn_blocking(move || stuck_ignore_file(&dir)).await;
        match looked.map_err(std::io::Error::other).flatten() {
            Ok(None) => None,
            Ok(Some(path)) => Some(format!("{} is neither a file nor a link", path.display())),
            Err(error) => Some(format!("its files cannot be listed: {error}")),
        }
    }

    async fn ready(&self, said: WorkClaims) -> Result<Ready, WorkspaceError> {
        let _at = holdpoint_faults::at(Step::Capture);
        let base = from_wire(&self.request.base);
        let tree = match &self.files {
            Files::Clone(clone, _) => self.mirror.capture_clone(clone, &base).await?,
            Files::Copy(dir) => self.mirror.capture(dir, &base).await?,
        };
        let base_tree = self.mirror.tree_of(&base).await?;
        if tree == base_tree {
            return Ok(Ready { work: None, tree, touched: Vec::new(), diff: facts::DiffSummary::default(), said });
        }
        let changes = self.mirror.diff(&base_tree, &tree).await?;
        let work = async {
            let commit = self.mirror.commit_on(&base, &tree, &self.meta()).await?;
            let bundle = self.mirror.thin_bundle(&base, &commit, HANDOFF_REF, &self.bundle).await?;
            Ok::<_, WorkspaceError>((commit, bundle))
        };
        let (summary, work) = tokio::join!(self.mirror.diff_summary(&base_tree, &tree), work);
        let (touched, diff) = (path_changes(&changes), diff_summary(&summary?));
        Ok(Ready { work: Some(work?), tree, touched, diff, said })
    }

    /// The date is the turn's, so that every delivery of the same result gives the same commit but for the agent's name.
    fn meta(&self) -> CommitMeta {
        let Turn { waypoint, role, record, .. } = self.turn;
        CommitMeta {
            name: AUTHOR.0.to_owned(),
            email: AUTHOR.1.to_owned(),
            epoch_seconds: u64::try_from(record.at.as_seconds()).unwrap_or_default(),
            message: commit::handoff(waypoint, &self.request.title, (role, self.agent)),
        }
    }
}

/// Whether the program's files are at fault and not our machine: trying the same again would give the same.
fn blames_the_files(error: &WorkspaceError) -> bool {
    let about_git =
        matches!(error, WorkspaceError::Git { .. } | WorkspaceError::Unexpected { .. }) && !error.is_retryable();
    error.is_refusal() || (about_git && !is_short_of_something(error))
}

/// Whether git says that the machine has no room left.
fn is_short_of_something(error: &WorkspaceError) -> bool {
    let text = ErrorChain(error).to_string();
    MACHINE_IS_SHORT.iter().any(|words| text.contains(words))
}
