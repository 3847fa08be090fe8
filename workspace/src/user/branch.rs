//! The one thing written into the user's repository: a branch that is created or moved forward, in one step, when all
//! its objects are there.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::{UserRepo, in_text, ref_name};
use crate::error::WorkspaceError;
use crate::git::unexpected;
use crate::limits::InputLimits;
use crate::oid::ObjectId;
use crate::quarantine::{Brought, Expected, Quarantine};

/// What a branch name stands for at the moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BranchState {
    /// There is no such branch.
    Absent,
    /// The branch is there and nobody works on it.
    At(ObjectId),
    /// A working tree of the repository is on the branch; `tip` is `None` while it has no commit.
    CheckedOut {
        /// Where the branch is.
        tip: Option<ObjectId>,
        /// The working tree.
        worktree: PathBuf,
    },
    /// The branch cannot be created or moved.
    Unusable {
        /// What is in the way.
        reason: String,
    },
}

/// How a commit stands in a repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommitStanding {
    /// A branch or a tag has it in its history, or `HEAD` has.
    InHistory,
    /// It is there, and nothing has it in its history any more: it was amended, rebased away, or its branch is deleted.
    LeftBehind,
    /// It is not there: git has removed what was left behind.
    Gone,
}

/// A branch to be created or moved forward.
#[derive(Debug, Clone, Copy)]
pub struct BranchUpdate<'a> {
    /// The one ref that each bundle has.
    pub ref_name: &'a str,
    /// The branch, without `refs/heads/`.
    pub branch: &'a str,
    /// Where it has to be.
    pub new: &'a ObjectId,
}

impl UserRepo {
    /// What the branch `name` (without `refs/heads/`) stands for.
    ///
    /// # Errors
    /// Git fails.
    pub async fn branch_state(&self, name: &str) -> Result<BranchState, WorkspaceError> {
        let full = format!("refs/heads/{name}");
        if !ref_name::is_valid(&full) || name.starts_with('-') || name == "HEAD" {
            return Ok(BranchState::Unusable { reason: "not a valid branch name".to_owned() });
        }
        let tip = match self.refs_at(&full, name).await? {
            Found::Nothing => None,
            Found::Branch(oid) => Some(oid),
            Found::InTheWay(reason) => return Ok(BranchState::Unusable { reason }),
        };
        let listing = self.git("worktree").args(["list", "--porcelain", "-z"]).run_ok().await?;
        Ok(match (worktree_on(&listing, &full), tip) {
            (Some(worktree), tip) => BranchState::CheckedOut { tip, worktree },
            (None, Some(oid)) => BranchState::At(oid),
            (None, None) => BranchState::Absent,
        })
    }

    /// How a commit stands here, where the history of branches whose name begins with `but` does not count.
    ///
    /// # Errors
    /// Git fails.
    pub async fn standing(&self, commit: &ObjectId, but: &str) -> Result<CommitStanding, WorkspaceError> {
        if self.try_resolve(commit.as_str()).await?.is_none() {
            return Ok(CommitStanding::Gone);
        }
        if let Some(head) = self.try_resolve("HEAD").await?
            && self.is_ancestor(commit, &head).await?
        {
            return Ok(CommitStanding::InHistory);
        }
        let git = self.git("for-each-ref").args(["--format=%(refname)", "--contains"]).arg(commit);
        let git = git.args(["refs/heads", "refs/remotes", "refs/tags"]);
        let listing = git.output_cap(crate::limits::LISTING_OUTPUT_BYTES).long().run_ok().await?;
        let but = format!("refs/heads/{but}");
        let others = listing.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        let kept = others.into_iter().any(|name| !name.starts_with(but.as_bytes()));
        Ok(if kept { CommitStanding::InHistory } else { CommitStanding::LeftBehind })
    }

    /// Everywhere this repository is: its git directory and all of its working trees.
    ///
    /// # Errors
    /// Git fails; [`WorkspaceError::NotText`].
    pub async fn places(&self) -> Result<Vec<PathBuf>, WorkspaceError> {
        let listing = self.git("worktree").args(["list", "--porcelain", "-z"]).run_ok().await?;
        let trees = listing.split(|byte| *byte == 0).filter_map(|field| field.strip_prefix(b"worktree "));
        let trees = trees.map(|path| Path::new(OsStr::from_bytes(path)).to_owned());
        let places: Vec<PathBuf> =
            [self.git_dir().to_owned(), self.dir().to_owned()].into_iter().chain(trees).collect();
        places.iter().try_for_each(|place| in_text(place))?;
        Ok(places)
    }

    /// Looks for the branch itself, branches below it (`name/…`) and branches it would lie below.
    async fn refs_at(&self, full: &str, name: &str) -> Result<Found, WorkspaceError> {
        let parents = name.match_indices('/').filter_map(|(at, _)| name.get(..at)).map(|p| format!("refs/heads/{p}"));
        let patterns: Vec<String> = std::iter::once(full.to_owned()).chain(parents).collect();
        let git = self.git("for-each-ref").arg("--format=%(objectname) %(symref) %(refname)").args(&patterns);
        let listing = git.output_cap(crate::limits::LISTING_OUTPUT_BYTES).run_ok().await?;
        let mut found = Found::Nothing;
        for line in String::from_utf8_lossy(&listing).lines() {
            let odd = || unexpected("for-each-ref", line.as_bytes());
            let mut fields = line.splitn(3, ' ');
            let (Some(oid), Some(symref), Some(ref_name)) = (fields.next(), fields.next(), fields.next()) else {
                return Err(odd());
            };
            let is_below = ref_name.strip_prefix(full).is_some_and(|rest| rest.starts_with('/'));
            if ref_name == full && !symref.is_empty() {
                return Ok(Found::InTheWay(format!("it is another name of {symref}")));
            } else if ref_name == full {
                found = Found::Branch(oid.parse().map_err(|_| odd())?);
            } else if is_below || patterns.iter().any(|pattern| pattern == ref_name) {
                return Ok(Found::InTheWay(format!("{ref_name} is there")));
            }
        }
        Ok(found)
    }

    /// Takes over the commits and creates the branch, or moves it forward. Nothing else changes; if anything is wrong,
    /// nothing changes at all. A branch that is there already is left as it is.
    ///
    /// `bundles` gives what brings the commits from where the branch is (`None`: nowhere yet) to `new`, each bundle building on
    /// those before it.
    ///
    /// # Errors
    /// Those of `bundles`; [`WorkspaceError::BranchUnusable`], [`WorkspaceError::BranchCheckedOut`], [`WorkspaceError::BranchDiverged`],
    /// [`WorkspaceError::HeadMissing`], [`WorkspaceError::Refused`] for a bundle that is not in order, and
    /// [`WorkspaceError::BranchMoved`] where another process moved the branch meanwhile.
    pub async fn import_branch<E: From<WorkspaceError>>(
        &self,
        update: BranchUpdate<'_>,
        bundles: impl AsyncFnOnce(Option<&ObjectId>) -> Result<Vec<PathBuf>, E>,
    ) -> Result<(), E> {
        let old = self.writable_tip(update.branch).await?;
        if old.as_ref() == Some(update.new) {
            return Ok(());
        }
        let bundles = bundles(old.as_ref()).await?;
        Ok(self.move_by(update, old, &bundles).await?)
    }

    /// Takes the bundles in and moves the branch from `old`.
    async fn move_by(
        &self,
        update: BranchUpdate<'_>,
        old: Option<ObjectId>,
        bundles: &[PathBuf],
    ) -> Result<(), WorkspaceError> {
        let BranchUpdate { ref_name, branch, new } = update;
        let limits = InputLimits::default();
        let quarantine = Quarantine::new(&self.objects, None)?;
        // Commits that are known to have the branch in their history.
        let mut ahead: Vec<ObjectId> = old.iter().cloned().collect();
        let (mut last, mut known) = (None, None);
        for bundle in bundles {
            let expected = Expected { ref_name, base: None, limits: &limits };
            let Brought { tip, commit, builds_on, .. } = quarantine.add(bundle, expected).await?;
            // What the others build on is walked, as far as the first one does not bring it.
            known.get_or_insert(builds_on);
            if commit.parents.iter().any(|parent| ahead.contains(parent)) {
                ahead.push(tip.clone());
            }
            last = Some(tip);
        }
        if last.as_ref() != Some(new) && !quarantine.has_commit(new).await? {
            return Err(WorkspaceError::HeadMissing { new: new.clone() });
        }
        // Once for all of them: the user's repository may lack objects, and no bundle may build on that.
        if let Some(known) = known {
            quarantine.check_connected(new, &known).await?;
        }
        if let Some(tip) = old.clone().filter(|_| !ahead.contains(new)) {
            let git = quarantine.scratch().git("merge-base").arg("--is-ancestor").arg(&tip).arg(new);
            if git.run().await?.code != Some(0) {
                return Err(WorkspaceError::BranchDiverged { branch: branch.to_owned(), tip, new: new.clone() });
            }
        }
        quarantine.release(None)?;
        self.move_branch(branch, old.as_ref(), new).await
    }

    /// Where a branch is that may be written.
    async fn writable_tip(&self, branch: &str) -> Result<Option<ObjectId>, WorkspaceError> {
        let branch = branch.to_owned();
        match self.branch_state(&branch).await? {
            BranchState::Absent => Ok(None),
            BranchState::At(oid) => Ok(Some(oid)),
            BranchState::CheckedOut { worktree, .. } => Err(WorkspaceError::BranchCheckedOut { branch, worktree }),
            BranchState::Unusable { reason } => Err(WorkspaceError::BranchUnusable { branch, reason }),
        }
    }

    /// Git itself compares with `old` under the ref's lock. Another process may have written the same meanwhile.
    async fn move_branch(&self, branch: &str, old: Option<&ObjectId>, new: &ObjectId) -> Result<(), WorkspaceError> {
        let zero = ObjectId::zero(self.object_format());
        let git = self.git("update-ref").args(["--no-deref", "-m", "holdpoint: accepted work"]);
        // The branch's log wants a name for who wrote it.
        let git = git.env("GIT_COMMITTER_NAME", "Holdpoint").env("GIT_COMMITTER_EMAIL", "holdpoint@localhost");
        let git = git.arg(format!("refs/heads/{branch}")).arg(new).arg(old.unwrap_or(&zero));
        let Err(error) = git.run_ok().await else { return Ok(()) };
        match self.writable_tip(branch).await? {
            found if found.as_ref() == Some(new) => Ok(()),
            found if found.as_ref() == old => Err(error),
            found => Err(WorkspaceError::BranchMoved { branch: branch.to_owned(), found }),
        }
    }
}

enum Found {
    Nothing,
    Branch(ObjectId),
    InTheWay(String),
}

/// The working tree that is on the branch, also when the branch has no commit yet.
fn worktree_on(listing: &[u8], full: &str) -> Option<PathBuf> {
    let mut worktree = None;
    for field in listing.split(|byte| *byte == 0) {
        if let Some(path) = field.strip_prefix(b"worktree ") {
            worktree = Some(path);
        } else if field.strip_prefix(b"branch ") == Some(full.as_bytes()) {
            return worktree.map(|path| Path::new(OsStr::from_bytes(path)).to_owned());
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worktree_of_a_branch_is_found_by_its_whole_name() {
        let listing =
            b"worktree /a\0HEAD x\0branch refs/heads/main\0\0worktree /b c\0HEAD y\0branch refs/heads/f/1\0\0";
        assert_eq!(worktree_on(listing, "refs/heads/f/1"), Some(PathBuf::from("/b c")));
        assert_eq!(worktree_on(listing, "refs/heads/f"), None);
    }
}
