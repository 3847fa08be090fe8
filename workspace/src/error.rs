//! What can go wrong. [`InputRefusal`] is the maker's fault (a handoff that is not valid); every other error is about the
//! machine, the user's repository or the caller.

use std::path::{Path, PathBuf};

use holdpoint_sandbox::ToolError;

use crate::lfs;
use crate::oid::{ObjectFormat, ObjectId};
use crate::path::RepoPath;
use crate::version::{GIT_FLOOR, GitVersion};

/// Why an operation on a repository failed.
#[derive(Debug, thiserror::Error)]
pub enum WorkspaceError {
    /// There is no git program.
    #[error("git is not installed, or not in PATH")]
    GitMissing,
    /// The git program lacks what we need.
    #[error("git {found} is too old: {GIT_FLOOR} or newer is needed")]
    GitTooOld {
        /// Its version.
        found: GitVersion,
    },
    /// Git failed, took too long or wrote too much.
    #[error("git {command} failed")]
    Git {
        /// The git subcommand.
        command: &'static str,
        /// What happened, with git's own words.
        #[source]
        source: ToolError,
    },
    /// Git said something we cannot read.
    #[error("git {command} answered something unexpected: {answer}")]
    Unexpected {
        /// The git subcommand.
        command: &'static str,
        /// The part of the answer, escaped.
        answer: String,
    },
    /// Git objects cannot be read or written: they are damaged.
    #[error("the objects in {} cannot be worked on: {detail}", dir.display())]
    Objects {
        /// Their folder.
        dir: PathBuf,
        /// What is wrong with them.
        detail: String,
    },
    /// The file system failed us.
    #[error("{action} {}", path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
    /// The folder is not inside a git repository.
    #[error("{} is not inside a git repository", dir.display())]
    NotARepository {
        /// The folder.
        dir: PathBuf,
    },
    /// A place of the repository cannot be written down: records and configuration are text.
    #[error("the path of a folder of the repository is not UTF-8: {path:?}")]
    NotText {
        /// The path.
        path: PathBuf,
    },
    /// The repository has no commit yet, so there is nothing to work on.
    #[error("the repository in {} has no commits yet", dir.display())]
    NoCommits {
        /// The folder.
        dir: PathBuf,
    },
    /// The repository lacks a part of its history, so no complete snapshot can be made of it.
    #[error("the repository in {} is a shallow clone (`git fetch --unshallow` completes it)", dir.display())]
    Shallow {
        /// The folder.
        dir: PathBuf,
    },
    /// The repository lacks objects that its commits name.
    #[error("the repository in {} is a partial clone, and objects of its history are not here", dir.display())]
    Partial {
        /// The folder.
        dir: PathBuf,
    },
    /// A patch does not apply to the tree that it has to change.
    #[error("the patch does not apply: {words}")]
    PatchRefused {
        /// What git says of it.
        words: String,
    },
    /// No commit has this name.
    #[error("no commit is called {name:?}")]
    UnknownRef {
        /// The name as given.
        name: String,
    },
    /// The branch cannot exist: its name is not valid, or another ref is in its way.
    #[error("the branch {branch} cannot be written: {reason}")]
    BranchUnusable {
        /// The branch, without `refs/heads/`.
        branch: String,
        /// What is in the way.
        reason: String,
    },
    /// The branch is checked out: writing it would change a user's working state.
    #[error("the branch {branch} is checked out in {}", worktree.display())]
    BranchCheckedOut {
        /// The branch, without `refs/heads/`.
        branch: String,
        /// Where.
        worktree: PathBuf,
    },
    /// The branch is not where the caller saw it.
    #[error("the branch {branch} moved meanwhile")]
    BranchMoved {
        /// The branch, without `refs/heads/`.
        branch: String,
        /// Where it is now; `None` when it is gone.
        found: Option<ObjectId>,
    },
    /// The branch has commits that the new head does not have.
    #[error("the branch {branch} has commits of its own: {tip} is not an ancestor of {new}")]
    BranchDiverged {
        /// The branch, without `refs/heads/`.
        branch: String,
        /// Where it is.
        tip: ObjectId,
        /// Where it should have gone.
        new: ObjectId,
    },
    /// The bundles do not contain the commit that the branch should go to.
    #[error("the bundles do not contain {new}")]
    HeadMissing {
        /// The commit.
        new: ObjectId,
    },
    /// A bundle would have no objects: its base has all of them.
    #[error("the bundle of {tip} would be empty: its base has all of it")]
    NothingToBundle {
        /// The commit.
        tip: ObjectId,
    },
    /// The mirror was made for repositories with the other hash.
    #[error("the mirror in {} is not a {} one", dir.display(), wanted.name())]
    MirrorFormat {
        /// The mirror.
        dir: PathBuf,
        /// The hash asked for.
        wanted: ObjectFormat,
    },
    /// A folder that has to be fresh is not.
    #[error("{} is there already and not empty", dir.display())]
    NotEmpty {
        /// The folder.
        dir: PathBuf,
    },
    /// The commit to merge is not one commit on the base it was made for.
    #[error("{commit} is not a commit on {base}")]
    NotOnBase {
        /// The commit.
        commit: ObjectId,
        /// The base.
        base: ObjectId,
    },
    /// The object is not in the mirror, or is of another kind.
    #[error("no {kind} {oid} in the mirror")]
    NoSuchObject {
        /// The kind asked for.
        kind: &'static str,
        /// The id.
        oid: ObjectId,
    },
    /// The blob is larger than the caller wants to read.
    #[error("blob {oid} has more than {cap} bytes")]
    BlobOverCap {
        /// The id.
        oid: ObjectId,
        /// The caller's cap, in bytes.
        cap: usize,
    },
    /// The commit cannot be made of what was given.
    #[error("no commit can be made: {reason}")]
    NoCommit {
        /// What is wrong.
        reason: &'static str,
    },
    /// Handed-in work is not taken.
    #[error("what was handed in is refused")]
    Refused(#[from] InputRefusal),
}

/// Why something that was handed in (a bundle, a tree, a working tree) is not taken. Trying again does not help.
#[derive(Debug, thiserror::Error)]
pub enum InputRefusal {
    /// The file is no bundle, or has a header we do not take.
    #[error("not a usable bundle: {reason}")]
    NotABundle {
        /// What is wrong with it.
        reason: &'static str,
    },
    /// The bundle has too many bytes.
    #[error("the bundle has {bytes} bytes, more than {max}")]
    BundleTooLarge {
        /// Its size.
        bytes: u64,
        /// The cap.
        max: u64,
    },
    /// The bundle says it has too many objects.
    #[error("the bundle has {objects} objects, more than {max}")]
    TooManyObjects {
        /// How many it says.
        objects: u32,
        /// The cap.
        max: u32,
    },
    /// The bundle does not have exactly the one ref that was agreed on.
    #[error("the bundle has to have exactly the ref {expected}, and has {found:?}")]
    ForeignRefs {
        /// The ref that was agreed on.
        expected: String,
        /// Those it has.
        found: Vec<String>,
    },
    /// The index that came with a bundle is not the one of its pack.
    #[error("the index is not the one of the bundle's pack")]
    ForeignIndex,
    /// The bundle's objects use another hash than the repository's.
    #[error("the bundle's objects use another hash than the repository")]
    WrongFormat,
    /// The bundle builds on a commit that is not here.
    #[error("the bundle builds on {oid}, which is not known here")]
    MissingPrerequisite {
        /// The commit.
        oid: ObjectId,
    },
    /// Objects in the bundle are corrupt, malformed or missing.
    #[error("the bundle's objects are not sound: {detail}")]
    BrokenObjects {
        /// What is wrong, in git's own words where git found it.
        detail: String,
    },
    /// Git would need more for it than honest work of that size does.
    #[error("git {command} needed more than work of this size may use: {limit}")]
    OverLimit {
        /// The git subcommand.
        command: &'static str,
        /// What it needed too much of.
        limit: String,
    },
    /// The bundle's ref names no commit.
    #[error("{oid} is not a commit")]
    NotACommit {
        /// The object.
        oid: ObjectId,
    },
    /// A commit is too large: its message, or the number of its parents.
    #[error("the commit {oid} has more than {max} bytes")]
    CommitTooLarge {
        /// The commit.
        oid: ObjectId,
        /// The cap.
        max: usize,
    },
    /// The tree has too many entries.
    #[error("the tree has more than {max} entries")]
    TooManyEntries {
        /// The cap.
        max: usize,
    },
    /// A file is too large.
    #[error("{path} has {bytes} bytes, more than {max}")]
    BlobTooLarge {
        /// The file.
        path: RepoPath,
        /// Its size.
        bytes: u64,
        /// The cap.
        max: u64,
    },
    /// All files together are too large.
    #[error("the files of the tree have more than {max} bytes together")]
    TreeTooLarge {
        /// The cap.
        max: u64,
    },
    /// A submodule link is new or was changed.
    #[error("{path} is a submodule link that the base does not have like this")]
    Gitlink {
        /// The link.
        path: RepoPath,
    },
    /// Something in a submodule was changed.
    #[error("{path} is a submodule, and {change}")]
    Submodule {
        /// The submodule.
        path: RepoPath,
        /// What was changed, in words.
        change: String,
    },
    /// A repository is inside the working tree.
    #[error("{path} is a git repository inside the working tree")]
    NestedRepository {
        /// Its folder.
        path: RepoPath,
    },
    /// Something in the working tree is neither file, link nor folder.
    #[error("{path} is neither a file nor a link")]
    UnsupportedFile {
        /// The entry.
        path: RepoPath,
    },
    /// A name that cannot be taken over into a tree.
    #[error("the name {shown} cannot be taken into a tree")]
    UnusablePath {
        /// The name, escaped.
        shown: String,
    },
    /// An entry of a tree that no working tree can have.
    #[error("{shown} cannot be in a working tree: {reason}")]
    Unfit {
        /// Its path, escaped and shortened.
        shown: String,
        /// Why.
        reason: &'static str,
    },
    /// A file cannot be stored as attributes say: it has another encoding, for one.
    #[error("git cannot store a file as .gitattributes says: {detail}")]
    Unstorable {
        /// Which one and why, in git's words.
        detail: String,
    },
    /// Paths under a filter are not stored as that filter leaves them.
    #[error("{}", unfiltered(paths))]
    Unfiltered {
        /// Each with its filter's name, escaped.
        paths: Vec<(RepoPath, String)>,
    },
    /// A part of the working tree cannot be read, so it cannot be said what the result is.
    #[error("{shown} cannot be read")]
    Unreadable {
        /// The entry or git's message about it, escaped.
        shown: String,
    },
}

impl InputRefusal {
    /// The path that it is about, where it is about one: the first of several.
    #[must_use]
    pub fn path(&self) -> Option<String> {
        match self {
            Self::BlobTooLarge { path, .. }
            | Self::Gitlink { path }
            | Self::Submodule { path, .. }
            | Self::NestedRepository { path }
            | Self::UnsupportedFile { path } => Some(path.to_string()),
            Self::UnusablePath { shown } | Self::Unfit { shown, .. } | Self::Unreadable { shown } => {
                Some(shown.clone())
            }
            Self::Unfiltered { paths } => paths.first().map(|(path, _)| path.to_string()),
            Self::NotABundle { .. }
            | Self::BundleTooLarge { .. }
            | Self::TooManyObjects { .. }
            | Self::ForeignRefs { .. }
            | Self::ForeignIndex
            | Self::WrongFormat
            | Self::MissingPrerequisite { .. }
            | Self::BrokenObjects { .. }
            | Self::OverLimit { .. }
            | Self::NotACommit { .. }
            | Self::CommitTooLarge { .. }
            | Self::TooManyEntries { .. }
            | Self::TreeTooLarge { .. }
            | Self::Unstorable { .. } => None,
        }
    }
}

/// What is wrong with paths under a filter, and what their maker can do.
fn unfiltered(paths: &[(RepoPath, String)]) -> String {
    const SHOWN: usize = 8;
    let mut named: Vec<String> =
        paths.iter().take(SHOWN).map(|(path, filter)| format!("{path} (filter={filter})")).collect();
    if paths.len() > SHOWN {
        named.push(format!("{} more", paths.len() - SHOWN));
    }
    let has_lfs = paths.iter().any(|(_, filter)| filter == lfs::FILTER);
    let instead = if has_lfs { ", or write a Git LFS pointer where the filter is lfs" } else { "" };
    format!(
        "{}: not stored as the filter in .gitattributes stores it, and no filter is run on files of others; leave these paths as the base \
         has them{instead}; a person who has the filter can change them",
        named.join(", ")
    )
}

impl WorkspaceError {
    /// For `map_err`: what was tried on which path.
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        move |source| Self::Io { action, path: path.to_owned(), source }
    }

    /// Whether the maker of what was handed in is at fault.
    #[must_use]
    pub fn is_refusal(&self) -> bool {
        matches!(self, Self::Refused(_))
    }

    /// Whether trying again unchanged can succeed: git hung on the user's own repository, could not be confined, or the
    /// machine was short of something. A confined git that hangs is over a limit, which is a refusal.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        use ToolError::{Confine, Io, Start, TimedOut};
        matches!(
            self,
            Self::Io { .. } | Self::Git { source: TimedOut { .. } | Start { .. } | Io { .. } | Confine { .. }, .. }
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_machine_could_not_do_is_tried_again_and_what_went_over_a_limit_is_not() {
        let program = || "git".to_owned();
        let failed = |source| WorkspaceError::Git { command: "index-pack", source };
        let confine = ToolError::Confine { program: program(), reason: "no thread".to_owned() };
        assert!(failed(confine).is_retryable());
        assert!(
            failed(ToolError::TimedOut { program: program(), after: std::time::Duration::from_secs(1) }).is_retryable()
        );
        assert!(!failed(ToolError::OutputLimit { program: program(), limit: 1 }).is_retryable());
    }
}
