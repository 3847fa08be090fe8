//! What a program left in its files, as one commit on the turn's base: finished for a handoff, or as it is.

use std::path::{Path, PathBuf};

use holdpoint_evidence::telling;
use holdpoint_faults::Step;
use holdpoint_protocol::{
    checkpoint::GateDocument,
    facts::{self, LeftOut, LeftOutKind},
    ids::AgentName,
    turn::{BuildRequest, Turn},
};
use holdpoint_runtime::{
    handed_commit::handed_commit,
    mirror::{diff_summary, from_wire, path_changes},
    telemetry::ErrorChain,
};
use holdpoint_sandbox::room::NearlyFull;
use holdpoint_workspace::{
    AgentClone, Bundle, Captured, HANDOFF_REF, Mirror, ObjectId, WorkspaceError, left_out_named,
};

use super::{answer::WorkClaims, hazards::stuck_ignore_file, unusable::unusable};

/// The largest bundle of unfinished files that is kept: every failed attempt may bring one.
const UNFINISHED_BYTES_MAX: u64 = 256 << 20;
/// Things that are taken away because git must not open them.
const HAZARDS_MAX: usize = 16;

/// What git passes on of the system's words when the machine, and not the repository, is the problem; besides a full disk.
const MACHINE_IS_SHORT: [&str; 2] = ["Cannot allocate memory", "Input/output error"];

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
    /// What the clone had besides.
    pub left_out: Vec<LeftOut>,
    /// What the program says of it.
    pub said: WorkClaims,
    /// The gate's document, with what came of its checkpoints.
    pub document: Option<Box<GateDocument>>,
}

/// A commit on the turn's base, and the thin bundle that brings it.
pub type CapturedWork = (ObjectId, Bundle);

/// What keeps the files from being read.
struct Hazard {
    why: String,
    /// What git must not open.
    path: Option<PathBuf>,
}

impl Hazard {
    fn left_out(self) -> LeftOut {
        match self.path {
            Some(path) => LeftOut { kind: LeftOutKind::Unfit, what: path.display().to_string(), why: self.why },
            None => all_of_them(self.why),
        }
    }
}

/// No file is kept, because of this.
fn all_of_them(why: String) -> LeftOut {
    LeftOut { kind: LeftOutKind::Unfit, what: "all of the files".to_owned(), why }
}

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
    /// What is handed off, or what is wrong with the files and how it is put right.
    pub(super) async fn finished(&self, said: WorkClaims) -> Result<Result<Ready, String>, WorkspaceError> {
        if let Some(hazard) = self.hazard().await {
            return Ok(Err(hazard.why));
        }
        let ready = async {
            self.mirror.check_submodules(self.dir(), &from_wire(&self.request.base)).await?;
            self.ready(said).await
        };
        match ready.await {
            Ok(ready) => Ok(Ok(ready)),
            Err(error) if self.blames_the_files(&error) => Ok(Err(unusable(&error))),
            Err(error) => Err(error),
        }
    }

    /// The work so far, and what the clone has besides. No work where nothing differs from the base.
    pub(super) async fn unfinished(&self) -> Result<(Option<CapturedWork>, Vec<LeftOut>), WorkspaceError> {
        let mut left_out: Vec<LeftOut> = Vec::new();
        while let Some(why) = self.hazard().await {
            // What git must not open can still be taken away.
            let is_gone = why.path.as_ref().is_some_and(|path| std::fs::remove_file(self.dir().join(path)).is_ok());
            left_out.push(why.left_out());
            if !is_gone || left_out.len() > HAZARDS_MAX {
                return Ok((None, left_out_named(left_out)));
            }
        }
        let kept = match self.ready(WorkClaims::default()).await {
            Ok(ready) => {
                left_out.extend(ready.left_out);
                Ok(ready.work)
            }
            Err(error) if self.blames_the_files(&error) => self.partly(&mut left_out).await,
            Err(error) => Err(error),
        };
        let kept = match kept {
            Err(error) if self.blames_the_files(&error) => {
                left_out.push(all_of_them(ErrorChain(&error).to_string()));
                None
            }
            kept => kept?,
        };
        let kept = kept.filter(|(_, bundle)| {
            let fits = bundle.bytes <= UNFINISHED_BYTES_MAX;
            if !fits {
                let mib = (bundle.bytes >> 20, UNFINISHED_BYTES_MAX >> 20);
                left_out.push(all_of_them(format!("they take {} MiB, and {} MiB at most are kept", mib.0, mib.1)));
            }
            fits
        });
        Ok((kept, left_out_named(left_out)))
    }

    async fn partly(&self, left_out: &mut Vec<LeftOut>) -> Result<Option<CapturedWork>, WorkspaceError> {
        let base = from_wire(&self.request.base);
        let captured = self.mirror.capture_partly(self.dir(), &base).await?;
        let tree = captured.tree;
        left_out.extend(captured.left_out);
        if tree == self.mirror.tree_of(&base).await? { Ok(None) } else { self.commit(&tree).await.map(Some) }
    }

    /// Whether the program's files are at fault and not our machine: trying the same again would give the same. Of a failure on a full
    /// disk nobody can tell.
    fn blames_the_files(&self, error: &WorkspaceError) -> bool {
        let about_git =
            matches!(error, WorkspaceError::Git { .. } | WorkspaceError::Unexpected { .. }) && !error.is_retryable();
        let is_full = || NearlyFull::at(self.dir()).is_some_and(|disk| disk.is_full());
        error.is_refusal() || (about_git && !is_short_of_something(error) && !is_full())
    }

    /// Where the files are.
    fn dir(&self) -> &Path {
        let (Files::Clone(_, dir) | Files::Copy(dir)) = &self.files;
        dir
    }

    /// What would make git hang, or files that cannot even be listed.
    async fn hazard(&self) -> Option<Hazard> {
        let dir = self.dir().to_owned();
        let looked = tokio::task::spawn_blocking(move || stuck_ignore_file(&dir)).await;
        match looked.map_err(std::io::Error::other).flatten() {
            Ok(None) => None,
            Ok(Some(path)) => {
                let why = format!("{} is neither a file nor a link: remove it", path.display());
                Some(Hazard { why, path: Some(path) })
            }
            Err(error) => Some(Hazard { why: format!("its files cannot be listed: {error}"), path: None }),
        }
    }

    async fn ready(&self, said: WorkClaims) -> Result<Ready, WorkspaceError> {
        let _at = holdpoint_faults::at(Step::Capture);
        let base = from_wire(&self.request.base);
        let clone = if let Files::Clone(clone, _) = &self.files { Some(*clone) } else { None };
        let Captured { tree, left_out } = self.mirror.capture_all(self.dir(), &base, clone).await?;
        let base_tree = self.mirror.tree_of(&base).await?;
        if tree == base_tree {
            let (touched, diff) = (Vec::new(), facts::DiffSummary::default());
            return Ok(Ready { work: None, tree, touched, diff, left_out, said, document: None });
        }
        let changes = self.mirror.diff(&base_tree, &tree).await?;
        let (summary, work) = tokio::join!(self.mirror.diff_summary(&base_tree, &tree), self.commit(&tree));
        let (touched, diff) = (path_changes(&changes), diff_summary(&summary?));
        Ok(Ready { work: Some(work?), tree, touched, diff, left_out, said, document: None })
    }

    /// One commit on the base, in a bundle.
    async fn commit(&self, tree: &ObjectId) -> Result<CapturedWork, WorkspaceError> {
        let base = from_wire(&self.request.base);
        let Turn { waypoint, role, record, .. } = self.turn;
        let meta = handed_commit(waypoint, &self.request.title, (role, self.agent), record.at);
        let commit = self.mirror.commit_on(&base, tree, &meta).await?;
        let bundle = self.mirror.thin_bundle(&base, &commit, HANDOFF_REF, &self.bundle).await?;
        Ok((commit, bundle))
    }
}

/// Whether git says what the machine is short of.
fn is_short_of_something(error: &WorkspaceError) -> bool {
    let text = ErrorChain(error).to_string();
    telling::says_no_room(&text) || MACHINE_IS_SHORT.iter().any(|words| text.contains(words))
}
