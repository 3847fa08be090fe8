//! The user's repository. It is read, and one branch of it may be created or moved forward; working trees, index, HEAD,
//! configuration and all other refs are never written. Its hooks and monitors do not run.

mod branch;
mod change;
mod dirty;
mod empty;
mod ignored;
mod ref_name;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use holdpoint_sandbox::{ToolError, ToolOutput};

pub use branch::{BranchState, BranchUpdate, CommitStanding};
pub use change::ChangeSource;

use crate::bundle::{self, Bundle, SNAPSHOT_REF};
use crate::error::WorkspaceError;
use crate::git::{Git, require_git, unexpected};
use crate::limits::InputLimits;
use crate::objects::Objects;
use crate::oid::{ObjectFormat, ObjectId};
use crate::path::{RepoPath, escaped};
use crate::scratch::Scratch;
use crate::tree::{TreeEntry, tree_path};

/// Bytes of a `.gitattributes` that are read for its filters' names: people write kilobytes.
const ATTRIBUTES_BYTES_MAX: usize = 1 << 20;
/// What attributes say of a file that a program converts.
const FILTER_ATTRIBUTE: &str = "filter=";

/// A repository that belongs to the user.
#[derive(Debug, Clone)]
pub struct UserRepo {
    /// The user's current folder: `HEAD` means the one of this working tree.
    dir: PathBuf,
    git_dir: PathBuf,
    objects: Objects,
    shallow: bool,
}

impl UserRepo {
    /// The repository that `dir` is in: a working tree, a linked one, a bare repository, or a folder inside.
    ///
    /// # Errors
    /// [`WorkspaceError::GitMissing`], [`WorkspaceError::GitTooOld`], [`WorkspaceError::NotARepository`], [`WorkspaceError::NotText`],
    /// [`WorkspaceError::NoCommits`].
    pub async fn open(dir: &Path) -> Result<Self, WorkspaceError> {
        require_git().await?;
        let not_a_repository = || WorkspaceError::NotARepository { dir: dir.to_owned() };
        let dir = dir.canonicalize().ok().filter(|dir| dir.is_dir()).ok_or_else(not_a_repository)?;
        let questions =
            ["--git-common-dir", "--git-path", "objects", "--show-object-format", "--is-shallow-repository"];
        let git = Git::new("rev-parse").dir(&dir).arg("--path-format=absolute").args(questions);
        let answer = match git.run_ok().await {
            Err(WorkspaceError::Git { source: ToolError::Failed { stderr, .. }, .. })
                if stderr.contains("not a git repository") =>
            {
                return Err(not_a_repository());
            }
            other => other?,
        };
        let repo = Self::from_answer(dir, &answer).ok_or_else(|| unexpected("rev-parse", &answer))?;
        [&repo.dir, &repo.git_dir].into_iter().try_for_each(|place| in_text(place))?;
        if repo.is_empty().await? { Err(WorkspaceError::NoCommits { dir: repo.dir }) } else { Ok(repo) }
    }

    fn from_answer(dir: PathBuf, answer: &[u8]) -> Option<Self> {
        use std::os::unix::ffi::OsStrExt;
        let mut lines = answer.split(|byte| *byte == b'\n');
        let git_dir = PathBuf::from(std::ffi::OsStr::from_bytes(lines.next()?));
        let objects = PathBuf::from(std::ffi::OsStr::from_bytes(lines.next()?));
        let format = ObjectFormat::from_name(std::str::from_utf8(lines.next()?).ok()?)?;
        let shallow = lines.next()? == b"true";
        Some(Self { dir, git_dir, objects: Objects { dir: objects, format }, shallow })
    }

    async fn is_empty(&self) -> Result<bool, WorkspaceError> {
        if self.try_resolve("HEAD").await?.is_some() {
            return Ok(false);
        }
        Ok(self.git("for-each-ref").arg("--count=1").run_ok().await?.is_empty())
    }

    /// The folder it was opened with, without links.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The root of the working tree that it was opened in, without links; `None` for a bare repository.
    ///
    /// # Errors
    /// Git cannot be run.
    pub async fn working_tree(&self) -> Result<Option<PathBuf>, WorkspaceError> {
        use std::os::unix::ffi::OsStrExt;
        let ToolOutput { code, stdout, .. } = self.git("rev-parse").arg("--show-toplevel").run().await?;
        let root = stdout.strip_suffix(b"\n").unwrap_or(&stdout);
        Ok((code == Some(0) && !root.is_empty()).then(|| PathBuf::from(std::ffi::OsStr::from_bytes(root))))
    }

    /// The git directory that all its working trees share. Two folders with the same one are the same repository.
    #[must_use]
    pub fn git_dir(&self) -> &Path {
        &self.git_dir
    }

    /// The hash its objects are named with.
    #[must_use]
    pub fn object_format(&self) -> ObjectFormat {
        self.objects.format
    }

    /// The commit that `name` means here (branch, tag, id, `HEAD~2`).
    ///
    /// # Errors
    /// [`WorkspaceError::UnknownRef`], also for an abbreviation that fits several.
    pub async fn resolve(&self, name: &str) -> Result<ObjectId, WorkspaceError> {
        self.try_resolve(name).await?.ok_or_else(|| WorkspaceError::UnknownRef { name: name.to_owned() })
    }

    async fn try_resolve(&self, name: &str) -> Result<Option<ObjectId>, WorkspaceError> {
        let git = self.git("rev-parse").args(["--verify", "--quiet", "--end-of-options"]);
        let ToolOutput { code, stdout, .. } = git.arg(format!("{name}^{{commit}}")).run().await?;
        if code != Some(0) {
            return Ok(None);
        }
        let text = String::from_utf8_lossy(&stdout);
        text.trim_end().parse().map(Some).map_err(|_| unexpected("rev-parse", &stdout))
    }

    /// The bytes of the file at `path` in `commit`, links inside of its tree followed; `None` if no file is there.
    ///
    /// # Errors
    /// The commit is not there, or the file has more than `cap` bytes ([`WorkspaceError::BlobOverCap`]).
    pub async fn file_at(
        &self,
        commit: &ObjectId,
        path: &RepoPath,
        cap: usize,
    ) -> Result<Option<Vec<u8>>, WorkspaceError> {
        self.objects.file_at(commit, path, cap).await
    }

    /// The bytes of a blob.
    ///
    /// # Errors
    /// No such blob, or it has more than `cap` bytes ([`WorkspaceError::BlobOverCap`]).
    pub async fn read_blob(&self, oid: &ObjectId, cap: usize) -> Result<Vec<u8>, WorkspaceError> {
        let oid = oid.clone();
        self.objects.with(move |odb| odb.blob(&oid, cap)).await
    }

    /// All entries of a commit's tree, folders not counted, in git's order.
    ///
    /// # Errors
    /// No such commit; more entries than a handoff may have.
    pub async fn list_tree(&self, commit: &ObjectId) -> Result<Vec<TreeEntry>, WorkspaceError> {
        let commit = commit.clone();
        self.objects.with(move |odb| odb.list(&commit, &InputLimits::default())).await
    }

    /// The names of the branches below `folder`.
    ///
    /// # Errors
    /// Git fails.
    pub async fn branches_below(&self, folder: &str) -> Result<Vec<String>, WorkspaceError> {
        let refs = format!("refs/heads/{folder}/");
        let listed = self.git("for-each-ref").args(["--format=%(refname:lstrip=2)", refs.as_str()]).run_ok().await?;
        Ok(String::from_utf8_lossy(&listed).lines().map(str::to_owned).collect())
    }

    /// Whether `commit` is `other`, or in its history. A commit that is not here is not.
    ///
    /// # Errors
    /// Git fails.
    pub async fn is_ancestor(&self, commit: &ObjectId, other: &ObjectId) -> Result<bool, WorkspaceError> {
        let output = self.git("merge-base").arg("--is-ancestor").arg(commit).arg(other).run().await?;
        Ok(output.code == Some(0))
    }

    /// Refuses a repository of which no snapshot can be made. Cheap: it does not look at the objects.
    ///
    /// # Errors
    /// [`WorkspaceError::Shallow`]: commits keep their parents, so a snapshot without the older ones would be a broken one.
    pub fn check_complete(&self) -> Result<(), WorkspaceError> {
        if self.shallow { Err(WorkspaceError::Shallow { dir: self.dir.clone() }) } else { Ok(()) }
    }

    /// Writes `commit` with all its history as a bundle with the one ref [`SNAPSHOT_REF`].
    ///
    /// # Errors
    /// [`WorkspaceError::Shallow`]; [`WorkspaceError::Partial`] for a clone that left out objects; git fails; `out` cannot be written.
    pub async fn snapshot(&self, commit: &ObjectId, out: &Path) -> Result<Bundle, WorkspaceError> {
        self.check_complete()?;
        let scratch = Scratch::of_user(self.objects.clone())?;
        match bundle::write(&scratch, SNAPSHOT_REF, commit, None, out).await {
            Err(WorkspaceError::Git { .. }) if self.is_partial().await? => {
                Err(WorkspaceError::Partial { dir: self.dir.clone() })
            }
            other => other,
        }
    }

    /// Whether git leaves out objects until they are wanted.
    async fn is_partial(&self) -> Result<bool, WorkspaceError> {
        let keys = r"^(extensions\.partialclone|remote\..*\.(promisor|partialclonefilter))$";
        let output = self.git("config").args(["--local", "--get-regexp", keys]).run().await?;
        Ok(output.code == Some(0))
    }

    /// The filters that attributes of the commit's tree name (Git LFS, git-crypt): files under them are stored otherwise than in a working
    /// tree.
    ///
    /// # Errors
    /// Git fails.
    pub async fn filters(&self, commit: &ObjectId) -> Result<BTreeSet<String>, WorkspaceError> {
        let listing = self.git("ls-tree").args(["-r", "-z", "--full-tree", "--name-only"]).arg(commit).long();
        let mut filters = BTreeSet::new();
        for name in listing.run_ok().await?.split(|byte| *byte == 0) {
            let last = name.rsplit(|byte| *byte == b'/').next();
            if last == Some(b".gitattributes") {
                match self.file_at(commit, &tree_path(name)?, ATTRIBUTES_BYTES_MAX).await {
                    Err(WorkspaceError::BlobOverCap { .. }) => {}
                    text => filters.extend(filters_in(&String::from_utf8_lossy(&text?.unwrap_or_default()))),
                }
            }
        }
        Ok(filters)
    }

    fn git(&self, command: &'static str) -> Git {
        Git::new(command).dir(&self.dir)
    }
}

fn filters_in(attributes: &str) -> impl Iterator<Item = String> + '_ {
    let rules = attributes.lines().filter(|line| !line.trim_start().starts_with('#'));
    let said = rules.flat_map(|line| line.split_whitespace().skip(1));
    said.filter_map(|said| said.strip_prefix(FILTER_ATTRIBUTE)).map(|name| escaped(name.as_bytes()))
}

/// Refuses a place of the repository that is not UTF-8.
fn in_text(place: &Path) -> Result<(), WorkspaceError> {
    place.to_str().map(drop).ok_or_else(|| WorkspaceError::NotText { path: place.to_owned() })
}
