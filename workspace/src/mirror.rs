//! A process's own bare repository: the place where bundles are taken in, trees compared, merged and composed, clones
//! given to agents and their results read. No agent ever sees it. It is a cache of what bundles hold: it has no refs,
//! nothing in it is ever collected, and it may be deleted between runs.

mod adopt;
mod attributes;
mod cache;
mod capture;
mod checkout;
mod clone;
mod commit;
mod compose;
mod diff;
mod elsewhere;
mod filters;
mod ignored;
mod import;
mod left_out;
mod look;
mod merge;
mod special;
mod submodules;

use std::fs::{File, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

pub use adopt::CheckedSnapshot;
pub use capture::Captured;
pub use checkout::Checkout;
pub use clone::AgentClone;
pub use compose::{FileAs, Replacement};
pub use diff::{Change, DiffStat, DiffStatus};
pub use import::Import;
pub use left_out::named as left_out_named;
pub use look::{FoundLine, Logged};
pub use merge::{Landing, Merge};

use cache::ObjectCache;
use holdpoint_sandbox::tree::spread;

use crate::allowance::Work;
use crate::bundle::{self, Bundle};
use crate::error::WorkspaceError;
use crate::files::{create_dir, real_path};
use crate::git::{Git, require_git, unexpected};
use crate::limits::{InputLimits, MIRROR_PACKS_MAX, MIRROR_SINGLES_MAX};
use crate::objects::{Objects, Odb};
use crate::oid::{ObjectFormat, ObjectId};
use crate::path::RepoPath;
use crate::quarantine::is_quarantine;
use crate::scratch::Scratch;
use crate::tree::{EntryMode, TreeEntry};

/// How temporary files are called: git's `tmp_pack_…`, `tmp_idx_…` and `tmp_obj_…`, and what this process had begun to write.
const TEMPORARY: [&[u8]; 2] = [b"tmp_", b".tmp"];
/// The file that users of a mirror lock.
const IN_USE: &str = "in-use";

/// A private bare repository. Cheap to clone; all clones are the same repository.
#[derive(Debug, Clone)]
pub struct Mirror {
    inner: Arc<Inner>,
    /// Besides what ignore files name.
    ignored: Option<Arc<Ignored>>,
}

/// What is no work besides what the ignore files of a repository name, as patterns of gitignore(5).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IgnoreRules {
    /// What the agent's program leaves for itself, whatever ignore files say.
    pub program: Vec<String>,
    /// Rules of the flight, such as its user's own: ignore files can overrule them.
    pub flight: Vec<String>,
}

/// Files that captures take as ignored.
#[derive(Debug)]
struct Ignored {
    rules: IgnoreRules,
    /// The commit (or tree) whose files are not.
    unless: ObjectId,
}

#[derive(Debug)]
struct Inner {
    dir: PathBuf,
    objects: Objects,
    limits: InputLimits,
    cache: ObjectCache,
    /// Held shared while the mirror is open, so that nobody clears its temporary files.
    in_use: File,
}

impl Mirror {
    /// The mirror in `dir`, made if it is not there, for repositories whose objects are named with `format`. Several
    /// processes may have it open.
    ///
    /// # Errors
    /// [`WorkspaceError::GitMissing`], [`WorkspaceError::GitTooOld`], [`WorkspaceError::MirrorFormat`] for one made with the other format; the
    /// folder cannot be written.
    pub async fn open_or_create(dir: &Path, format: ObjectFormat, limits: InputLimits) -> Result<Self, WorkspaceError> {
        require_git().await?;
        create_dir(dir)?;
        let dir = real_path(dir)?;
        let in_use = claim(&dir)?;
        // Harmless for one that is there, and completes one whose making was interrupted.
        if !is_made(&dir) {
            let options = ["--quiet", "--bare", "--template=", "--initial-branch=none"];
            let git = Git::new("init").args(options).arg(format!("--object-format={}", format.name()));
            git.arg(&dir).run_ok().await?;
        }
        let found = Git::new("rev-parse").git_dir(&dir).dir(&dir).arg("--show-object-format").line().await?;
        if found != format.name() {
            return Err(WorkspaceError::MirrorFormat { dir, wanted: format });
        }
        let objects = Objects { dir: dir.join("objects"), format };
        let inner = Arc::new(Inner { dir, objects, limits, cache: ObjectCache::default(), in_use });
        Ok(Self { inner, ignored: None })
    }

    /// Where it is.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.inner.dir
    }

    /// Whether the folder is still the one that was opened: a mirror may be deleted while it is open.
    #[must_use]
    pub fn is_in_place(&self) -> bool {
        let named = std::fs::metadata(self.inner.dir.join(IN_USE));
        let same = |named: Metadata, held: Metadata| (named.dev(), named.ino()) == (held.dev(), held.ino());
        named.and_then(|named| Ok(same(named, self.inner.in_use.metadata()?))).unwrap_or(false)
            && is_made(&self.inner.dir)
    }

    /// Whether another holder has a clone of this: it is in use elsewhere in this process.
    #[must_use]
    pub fn is_shared(&self) -> bool {
        Arc::strong_count(&self.inner) > 1
    }

    /// The hash its objects are named with.
    #[must_use]
    pub fn object_format(&self) -> ObjectFormat {
        self.inner.objects.format
    }

    /// Whether the object is here. Objects of refused bundles are not.
    ///
    /// # Errors
    /// The mirror is damaged.
    pub async fn has(&self, oid: &ObjectId) -> Result<bool, WorkspaceError> {
        Ok(self.has_each(std::slice::from_ref(oid)).await? == [true])
    }

    /// Which of these objects are here.
    ///
    /// # Errors
    /// The mirror is damaged.
    pub async fn has_each(&self, oids: &[ObjectId]) -> Result<Vec<bool>, WorkspaceError> {
        let cache = &self.inner.cache;
        let mut here: Vec<bool> = oids.iter().map(|oid| cache.is_here(oid)).collect();
        let unknown: Vec<ObjectId> =
            oids.iter().zip(&here).filter(|(_, here)| !**here).map(|(oid, _)| oid.clone()).collect();
        if !unknown.is_empty() {
            let look = move |odb: &Odb| {
                let is_here = |oid| Ok(odb.header(oid)?.is_some());
                let found: Result<Vec<bool>, WorkspaceError> = unknown.iter().map(is_here).collect();
                found.map(|found| (unknown, found))
            };
            let (unknown, found) = self.inner.objects.with(look).await?;
            cache.keep_here(unknown.iter().zip(&found).filter(|(_, found)| **found).map(|(oid, _)| oid));
            for (here, found) in here.iter_mut().filter(|here| !**here).zip(found) {
                *here = found;
            }
        }
        Ok(here)
    }

    /// Which of these commits need not be brought. The mirror is looked at once a minute at most. Meanwhile, what this process
    /// brought is remembered; what another one brought counts as absent, and may be brought again.
    ///
    /// # Errors
    /// The mirror is damaged.
    pub async fn has_brought(&self, tips: &[ObjectId]) -> Result<Vec<bool>, WorkspaceError> {
        if self.inner.cache.is_reliable(Instant::now()) {
            return Ok(tips.iter().map(|tip| self.inner.cache.is_here(tip)).collect());
        }
        let here = self.has_each(tips).await;
        if here.is_err() {
            self.inner.cache.forget();
        }
        here
    }

    /// All entries of a tree, or of a commit's tree, folders not counted, in git's order.
    ///
    /// # Errors
    /// No such tree; more entries than the limits allow.
    pub async fn list_tree(&self, tree: &ObjectId) -> Result<Arc<Vec<TreeEntry>>, WorkspaceError> {
        if let Some(list) = self.inner.cache.list(tree) {
            return Ok(list);
        }
        let (wanted, limits) = (tree.clone(), self.inner.limits.clone());
        let list = Arc::new(self.inner.objects.with(move |odb| odb.list(&wanted, &limits)).await?);
        self.inner.cache.keep_list(tree, &list);
        Ok(list)
    }

    /// The bytes of a blob.
    ///
    /// # Errors
    /// [`WorkspaceError::NoSuchObject`]; [`WorkspaceError::BlobOverCap`] when it has more than `cap` bytes.
    pub async fn read_blob(&self, oid: &ObjectId, cap: usize) -> Result<Vec<u8>, WorkspaceError> {
        let oid = oid.clone();
        self.inner.objects.with(move |odb| odb.blob(&oid, cap)).await
    }

    /// The bytes of the file at `path` in `commit`; `None` if no file is there (nothing, a link, a folder).
    ///
    /// # Errors
    /// The commit is not there, or the file has more than `cap` bytes ([`WorkspaceError::BlobOverCap`]).
    pub async fn file_at(
        &self,
        commit: &ObjectId,
        path: &RepoPath,
        cap: usize,
    ) -> Result<Option<Vec<u8>>, WorkspaceError> {
        let Some(entries) = self.inner.cache.list(commit) else {
            return self.inner.objects.file_at(commit, path, cap).await;
        };
        let file =
            |entry: &&TreeEntry| entry.path == *path && matches!(entry.mode, EntryMode::File | EntryMode::Executable);
        match entries.iter().find(file) {
            Some(entry) => self.read_blob(&entry.oid, cap).await.map(Some),
            None => Ok(None),
        }
    }

    /// Writes what `commit` has and `base` does not as a bundle with the one ref `ref_name`.
    ///
    /// # Errors
    /// Git fails, also when `base` already has `commit`; `out` cannot be written.
    pub async fn thin_bundle(
        &self,
        base: &ObjectId,
        commit: &ObjectId,
        ref_name: &str,
        out: &Path,
    ) -> Result<Bundle, WorkspaceError> {
        bundle::write(&self.scratch()?, ref_name, commit, Some(base), out).await
    }

    /// Writes `commit` with all its history as a bundle with the one ref `ref_name`.
    ///
    /// # Errors
    /// Git fails; `out` cannot be written.
    pub async fn full_bundle(&self, commit: &ObjectId, ref_name: &str, out: &Path) -> Result<Bundle, WorkspaceError> {
        bundle::write(&self.scratch()?, ref_name, commit, None, out).await
    }

    /// The bytes that the objects which `commit` has and `base` has not take up on disk here.
    ///
    /// # Errors
    /// Git fails.
    pub async fn bytes_between(&self, base: &ObjectId, commit: &ObjectId) -> Result<u64, WorkspaceError> {
        let git = self.git("rev-list").args(["--objects", "--disk-usage"]).arg(commit).arg(format!("^{base}"));
        let answer = git.long().line().await?;
        answer.parse().map_err(|_| unexpected("rev-list", answer.as_bytes()))
    }

    /// Joins packs when there are many, each import having brought one, and single objects, which captures bring. Cheap
    /// when there is nothing to do; may run while the mirror is in use. Nothing is lost.
    ///
    /// # Errors
    /// Git fails.
    pub async fn tidy(&self) -> Result<(), WorkspaceError> {
        let folder = self.inner.objects.dir.join("pack");
        let packs = entries(&folder).filter(|entry| entry.path().extension().is_some_and(|end| end == "pack")).count();
        // Ids are spread evenly: one of the 256 folders of single objects stands for all.
        let singles = 256 * entries(&self.inner.objects.dir.join("17")).count();
        if packs > MIRROR_PACKS_MAX || singles > MIRROR_SINGLES_MAX {
            // By size, and never by what refs reach: there are none.
            let git = self.git("repack").args(["--quiet", "--geometric=2", "-d", "--no-write-bitmap-index"]);
            git.long().run_ok().await?;
        }
        Ok(())
    }

    /// The same repository, whose captures take files as ignored by these rules as well. Those that the base or this commit (or
    /// tree) has count.
    #[must_use]
    pub fn ignoring(&self, rules: IgnoreRules, unless: &ObjectId) -> Self {
        Self { inner: self.inner.clone(), ignored: Some(Arc::new(Ignored { rules, unless: unless.clone() })) }
    }

    fn limits(&self) -> &InputLimits {
        &self.inner.limits
    }

    fn git(&self, command: &'static str) -> Git {
        let git = Git::new(command).git_dir(&self.inner.dir).dir(&self.inner.dir);
        git.confined(Work::of_packs(&self.inner.objects.dir)).writes(&self.inner.dir)
    }

    fn scratch(&self) -> Result<Scratch, WorkspaceError> {
        Scratch::new(Some(&scratch_parent(&self.inner.dir)), self.inner.objects.clone())
    }
}

fn is_made(dir: &Path) -> bool {
    dir.join("HEAD").is_file() && dir.join("config").is_file() && dir.join("objects").is_dir()
}

fn scratch_parent(mirror: &Path) -> PathBuf {
    mirror.join("scratch")
}

/// Removes what killed processes were still writing: bundles that were unpacked, packs and single objects.
fn clear_leftovers(objects: &Path) -> Result<(), WorkspaceError> {
    for entry in entries(objects) {
        let path = entry.path();
        let remove = |path: PathBuf| std::fs::remove_file(&path).map_err(WorkspaceError::io("remove", &path));
        if is_quarantine(&entry.file_name()) {
            std::fs::remove_dir_all(&path).map_err(WorkspaceError::io("remove", &path))?;
        } else if path.is_dir() {
            entries(&path).filter(is_temporary).try_for_each(|leftover| remove(leftover.path()))?;
        } else if is_temporary(&entry) {
            remove(path)?;
        }
    }
    Ok(())
}

fn is_temporary(entry: &std::fs::DirEntry) -> bool {
    TEMPORARY.iter().any(|start| entry.file_name().as_encoded_bytes().starts_with(start))
}

fn entries(dir: &Path) -> impl Iterator<Item = std::fs::DirEntry> {
    std::fs::read_dir(dir).into_iter().flatten().flatten()
}

/// Takes the mirror into use. A user that is alone with it clears what crashed users left.
fn claim(dir: &Path) -> Result<File, WorkspaceError> {
    let path = dir.join(IN_USE);
    let lock = File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(&path)
        .map_err(WorkspaceError::io("open", &path))?;
    let scratch = scratch_parent(dir);
    if lock.try_lock().is_ok() {
        if scratch.exists() {
            std::fs::remove_dir_all(&scratch).map_err(WorkspaceError::io("remove", &scratch))?;
        }
        clear_leftovers(&dir.join("objects"))?;
        lock.unlock().map_err(WorkspaceError::io("unlock", &path))?;
    }
    lock.lock_shared().map_err(WorkspaceError::io("lock", &path))?;
    create_dir(&scratch)?;
    spread(&scratch);
    Ok(lock)
}
