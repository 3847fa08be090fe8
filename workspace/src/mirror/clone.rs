//! The disposable clone an agent works in. It shares nothing with the mirror: an agent that breaks it breaks nothing
//! else. Once the agent has it, it is never opened as a repository again.
//!
//! Its objects are a copy of the snapshot's pack, which is the user's own history and nothing of other work, and what
//! the start has beyond that. Linking the files would be cheaper than copying them, and sharing the mirror as an
//! alternate cheaper still; but the agent owns what is in its clone, so it could write through a link into the mirror,
//! and an alternate would show it the work of everybody else.

mod remembered;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::Mirror;
use crate::allowance::Work;
use crate::error::WorkspaceError;
use crate::files::{copy, create_dir, create_fresh_dir, write};
use crate::git::Git;
use crate::limits::{CLONE_COPY_BYTES_MAX, CLONE_DEPTH};
use crate::oid::{ObjectFormat, ObjectId};
use crate::scratch::{Scratch, config};
use crate::tree::bytes_of;

pub(super) use remembered::Remembered;

/// The branch the clone is on.
const BRANCH: &str = "work";
/// No filter of the machine the clone is on, so that a file under one stays as git stores it. It beats what the tree says.
const NO_FILTERS: &str = "* -filter\n";
/// What git calls the file with the index.
pub(super) const INDEX: &str = "index";
/// Who an agent's own commits are by; only their trees count, and only as files.
const IDENTITY: &str = "[user]\n\tname = Holdpoint agent\n\temail = agent@holdpoint.invalid\n";

/// A clone that was made for an agent, as it was before the agent had it.
#[derive(Debug)]
pub struct AgentClone {
    pub(super) dir: PathBuf,
    pub(super) begun: Begun,
}

/// What is known of a clone as it was handed over. No agent reaches it.
#[derive(Debug, Clone)]
pub(super) struct Begun {
    /// The commit that was checked out.
    on: ObjectId,
    /// Files that need not be read again if nobody touched them.
    pub(super) remembered: Arc<Remembered>,
    /// Has the index of that commit.
    scratch: Arc<Scratch>,
}

impl Begun {
    /// The index of `commit`, if it is the one that was checked out.
    pub(super) fn index_of(&self, commit: &ObjectId) -> Option<PathBuf> {
        (self.on == *commit).then(|| self.scratch.path().join(INDEX))
    }
}

impl Mirror {
    /// Makes a clone in `dest` (absent or empty) with `commit` checked out on a branch `work`, its files as git writes
    /// them where no filter is configured. It has at least the last [`CLONE_DEPTH`] commits of history, no remote, no hooks, and a name to
    /// commit under.
    ///
    /// # Errors
    /// [`WorkspaceError::NotEmpty`]; the commit is not here; its tree is over the limits.
    pub async fn clone_for_agent(&self, commit: &ObjectId, dest: &Path) -> Result<AgentClone, WorkspaceError> {
        let entries = self.list_tree(commit).await?;
        crate::tree::audit(&entries, None, self.limits())?;
        let dest = create_fresh_dir(dest)?;
        let git_dir = dest.join(".git");
        begin(&git_dir, self.object_format())?;
        let scratch = self.scratch()?;
        let files = async {
            let git = scratch.git("read-tree").work_tree(&dest).args(["--reset", "-u"]).arg(commit);
            git.confined(Work::of_files(bytes_of(&entries))).writes(&dest).long().run_ok().await
        };
        match self.snapshot_pack()? {
            Some(pack) if length(&pack)? <= CLONE_COPY_BYTES_MAX => {
                // Neither goes on in the folder of a clone that has failed.
                let (history, files) = tokio::join!(self.copy_history(&pack, commit, &git_dir), files);
                history?;
                files?;
            }
            _ => {
                self.fetch_history(commit, &dest).await?;
                files.await?;
            }
        }
        write(&git_dir.join("refs/heads").join(BRANCH), format!("{commit}\n"))?;
        copy(&scratch.path().join(INDEX), &git_dir.join(INDEX))?;
        let remembered = Arc::new(Remembered::of(&dest, entries).await?);
        Ok(AgentClone { dir: dest, begun: Begun { on: commit.clone(), remembered, scratch: Arc::new(scratch) } })
    }

    /// The whole history of the snapshot, and what `commit` has beyond it.
    async fn copy_history(&self, pack: &Path, commit: &ObjectId, git_dir: &Path) -> Result<(), WorkspaceError> {
        let target = git_dir.join("objects/pack");
        create_dir(&target)?;
        let parts = ["pack", "rev", "idx"].map(|part| pack.with_extension(part));
        let to = target.clone();
        let copied = tokio::task::spawn_blocking(move || {
            let mut parts = parts.iter().filter(|part| part.exists());
            parts.try_for_each(|part| copy(part, &to.join(part.file_name().unwrap_or_default())))
        });
        copied.await.map_err(|error| WorkspaceError::io("copy", pack)(std::io::Error::other(error)))??;
        let keep = pack.with_extension("keep");
        let text = std::fs::read_to_string(&keep).map_err(WorkspaceError::io("read", &keep))?;
        let tip = text.split_whitespace().last().and_then(|word| word.parse::<ObjectId>().ok());
        if tip.as_ref() == Some(commit) {
            return Ok(());
        }
        let without = tip.map(|tip| format!("^{tip}\n")).unwrap_or_default();
        let git = self.git("pack-objects").args(["--revs", "--quiet", "--delta-base-offset"]).arg(target.join("pack"));
        let git = git.writes(&target);
        git.stdin(format!("{commit}\n{without}").into_bytes()).long().run_ok().await?;
        Ok(())
    }

    /// Some history, where all of it is too much.
    async fn fetch_history(&self, commit: &ObjectId, dest: &Path) -> Result<(), WorkspaceError> {
        let git = Git::new("fetch").git_dir(&dest.join(".git")).confined(Work::of_packs(&self.inner.objects.dir));
        let git = git.work_tree(dest).reads(self.dir()).writes(dest);
        let options = ["--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules", "--update-head-ok"];
        // Else the branch's log would say where the mirror is.
        let git = git.env("GIT_REFLOG_ACTION", "start").args(options).arg(format!("--depth={CLONE_DEPTH}"));
        let git = git.arg(self.dir()).arg(format!("{commit}:refs/heads/{BRANCH}"));
        git.local_transport().long().run_ok().await?;
        Ok(())
    }
}

/// Makes an empty repository as `git init` does, without hooks and without a process.
fn begin(git_dir: &Path, format: ObjectFormat) -> Result<(), WorkspaceError> {
    for folder in ["objects/info", "objects/pack", "refs/heads", "refs/tags", "info"] {
        create_dir(&git_dir.join(folder))?;
    }
    let core = "\tfilemode = true\n\tbare = false\n\tlogallrefupdates = true\n";
    write(&git_dir.join("config"), config(format, core) + IDENTITY)?;
    write(&git_dir.join("info/attributes"), NO_FILTERS)?;
    write(&git_dir.join("HEAD"), format!("ref: refs/heads/{BRANCH}\n"))
}

fn length(file: &Path) -> Result<u64, WorkspaceError> {
    Ok(std::fs::metadata(file).map_err(WorkspaceError::io("look at", file))?.len())
}
