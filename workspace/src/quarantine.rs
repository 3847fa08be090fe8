//! Bundles of others are unpacked next to a repository and join it only when everything about them is in order: one
//! expected ref, known prerequisites, sound and complete objects, sizes, gitlinks. Until then the repository does not
//! have them, and a refused bundle leaves nothing behind.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use gix_object::Kind;
use holdpoint_sandbox::ToolError;
use tempfile::TempDir;

use crate::allowance::Work;
use crate::bundle::{BundleHeader, read_header};
use crate::commit::Commit;
use crate::error::{InputRefusal, WorkspaceError};
use crate::files::{create_dir, write};
use crate::git::lacks_something;
use crate::limits::{BUNDLE_PREREQUISITES_MAX, InputLimits, LONG_TIMEOUT};
use crate::objects::{Objects, Odb};
use crate::oid::ObjectId;
use crate::scratch::Scratch;
use crate::tree::{self, TreeEntry};

/// What git minds in commits and tags, and modes with a zero before them: repositories that old tools wrote have it, and no
/// working tree shows it. In trees nothing else is let pass.
const OLD_HABITS: [&str; 24] = [
    "badDate",
    "badDateOverflow",
    "badEmail",
    "badName",
    "badObjectSha1",
    "badParentSha1",
    "badTimezone",
    "badTagName",
    "badType",
    "missingAuthor",
    "missingCommitter",
    "missingEmail",
    "missingNameBeforeEmail",
    "missingSpaceBeforeDate",
    "missingSpaceBeforeEmail",
    "missingTagEntry",
    "missingTaggerEntry",
    "missingType",
    "missingTypeEntry",
    "multipleAuthors",
    "zeroPaddedDate",
    "zeroPaddedFilemode",
    "badFilemode",
    "extraHeaderEntry",
];

/// What git minds in attributes, and passes over with a warning where it reads them: a folder of that name, a file or a line that is
/// too long.
const PASSED_OVER: [&str; 3] = ["gitattributesBlob", "gitattributesLarge", "gitattributesLineLength"];

/// The option with which git looks at every object, and lets these pass.
fn strict_but_for<'a>(habits: impl Iterator<Item = &'a &'a str>) -> String {
    let ignored: Vec<String> = habits.map(|habit| format!("{habit}=ignore")).collect();
    format!("--strict={}", ignored.join(","))
}

/// What a pack consists of, in the order in which git may see it appear: the index makes it visible.
const PACK_PARTS: [&str; 4] = ["pack", "rev", "keep", "idx"];

/// How such folders are called among a repository's objects: git's own name for theirs, so that in a user's repository
/// `git gc` removes what a crash leaves of them.
const FOLDER_PREFIX: &str = "tmp_objdir-holdpoint-";

/// Objects that are not part of their repository yet.
#[derive(Debug)]
pub(crate) struct Quarantine {
    scratch: Scratch,
    home: Objects,
    /// Holds the new objects; is inside the repository's own so that they can be moved. Removed when dropped.
    folder: TempDir,
}

/// What a bundle has to be to be taken.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Expected<'a> {
    pub(crate) ref_name: &'a str,
    /// The commit whose gitlinks may stay; it is looked at only where the tree has any. With it, every object has to be
    /// well-formed; in a snapshot every tree has to be, and odd old commits are taken as they are.
    pub(crate) base: Option<&'a ObjectId>,
    pub(crate) limits: &'a InputLimits,
}

/// What a bundle brought, and what was read of it on the way.
#[derive(Debug)]
pub(crate) struct Brought {
    /// The commit that its ref names.
    pub(crate) tip: ObjectId,
    pub(crate) commit: Commit,
    /// All entries of the commit's tree.
    pub(crate) entries: Vec<TreeEntry>,
    /// The commits that the bundle builds on. They are there.
    pub(crate) builds_on: Vec<ObjectId>,
}

impl Quarantine {
    /// An empty one for the repository with these objects; `parent` is for temporary files.
    pub(crate) fn new(home: &Objects, parent: Option<&Path>) -> Result<Self, WorkspaceError> {
        let folder = tempfile::Builder::new()
            .prefix(FOLDER_PREFIX)
            .permissions(Permissions::from_mode(0o700))
            .tempdir_in(&home.dir)
            .map_err(WorkspaceError::io("create a folder in", &home.dir))?;
        create_dir(&folder.path().join("pack"))?;
        create_dir(&folder.path().join("info"))?;
        // With those that the repository refers to itself: relative to it, they would not be found from here by every reader.
        let mut alternates = Vec::new();
        for dir in std::iter::once(&home.dir).chain(&home.alternates()) {
            alternates.extend_from_slice(dir.as_os_str().as_encoded_bytes());
            alternates.push(b'\n');
        }
        write(&folder.path().join("info/alternates"), alternates)?;
        let objects = Objects { dir: folder.path().to_owned(), format: home.format };
        Ok(Self { scratch: Scratch::new(parent, objects)?, home: home.clone(), folder })
    }

    /// A git directory that sees the repository's objects and the new ones.
    pub(crate) fn scratch(&self) -> &Scratch {
        &self.scratch
    }

    /// Unpacks a bundle and checks all of it. Its objects lead to objects that are there (`git index-pack --strict`). In a repository
    /// that may lack what such an object leads to in turn, see [`Quarantine::check_connected`].
    pub(crate) async fn add(&self, bundle: &Path, expected: Expected<'_>) -> Result<Brought, WorkspaceError> {
        let bundle = crate::files::real_path(bundle)?;
        let header = self.check_header(&bundle, expected)?;
        let Some((_, tip)) = header.refs.first() else {
            return Err(InputRefusal::NotABundle { reason: "no ref" }.into());
        };
        if let Err(error) = self.unpack(&bundle, &header, expected.base.is_some()).await {
            // Objects that lead to a commit which is not here are broken; what is missing says more.
            self.check_prerequisites(&header).await?;
            return Err(error);
        }
        self.look(tip, header.prerequisites, expected).await
    }

    /// What came, if it may be taken in.
    async fn look(
        &self,
        tip: &ObjectId,
        prerequisites: Vec<ObjectId>,
        expected: Expected<'_>,
    ) -> Result<Brought, WorkspaceError> {
        let (tip, base, limits) = (tip.clone(), expected.base.cloned(), expected.limits.clone());
        let look = move |odb: &Odb| {
            all_commits(odb, &prerequisites)?;
            let no_commit = || InputRefusal::NotACommit { oid: tip.clone() };
            let commit = odb.commit(&tip)?.ok_or_else(no_commit)?;
            let entries = odb.list(&commit.tree, &limits)?;
            let base = match base {
                Some(base) if tree::gitlinks(&entries).next().is_some() => Some(odb.list(&base, &limits)?),
                // A tree without links has none that the base does not have.
                _ => None,
            };
            tree::audit(&entries, base.as_deref(), &limits)?;
            Ok(Brought { tip, commit, entries, builds_on: prerequisites })
        };
        self.scratch.objects().with(look).await
    }

    pub(crate) fn check_header(&self, bundle: &Path, expected: Expected<'_>) -> Result<BundleHeader, WorkspaceError> {
        let bytes = std::fs::metadata(bundle).map_err(WorkspaceError::io("look at", bundle))?.len();
        if bytes > expected.limits.bundle_bytes {
            return Err(InputRefusal::BundleTooLarge { bytes, max: expected.limits.bundle_bytes }.into());
        }
        let header = read_header(bundle)?;
        if header.refs.len() != 1 || header.refs.iter().any(|(name, _)| name != expected.ref_name) {
            let found = header.refs.into_iter().map(|(name, _)| name).collect();
            return Err(InputRefusal::ForeignRefs { expected: expected.ref_name.to_owned(), found }.into());
        }
        if header.prerequisites.len() > BUNDLE_PREREQUISITES_MAX {
            return Err(InputRefusal::NotABundle { reason: "too many prerequisites" }.into());
        }
        let oids = header.prerequisites.iter().chain(header.refs.iter().map(|(_, oid)| oid));
        if header.format != self.home.format || oids.into_iter().any(|oid| oid.format() != self.home.format) {
            return Err(InputRefusal::WrongFormat.into());
        }
        if header.objects > expected.limits.bundle_objects {
            let max = expected.limits.bundle_objects;
            return Err(InputRefusal::TooManyObjects { objects: header.objects, max }.into());
        }
        Ok(header)
    }

    async fn check_prerequisites(&self, header: &BundleHeader) -> Result<(), WorkspaceError> {
        let prerequisites = header.prerequisites.clone();
        self.scratch.objects().with(move |odb| all_commits(odb, &prerequisites)).await
    }

    /// `git index-pack` reads the pack from the bundle itself: `git bundle unbundle` would do that with three processes
    /// more, and check no objects. That nothing may follow the pack it sees only because its input is a file.
    async fn unpack(&self, bundle: &Path, header: &BundleHeader, well_formed: bool) -> Result<(), WorkspaceError> {
        let git = self.scratch.git("index-pack").args(["--stdin", "--fix-thin"]);
        let old: &[&str] = if well_formed { &[] } else { &OLD_HABITS };
        let git = git.arg(strict_but_for(PASSED_OVER.iter().chain(old)));
        let bytes = std::fs::metadata(bundle).map_err(WorkspaceError::io("look at", bundle))?.len();
        let git = git.confined(Work::of_bundle(bytes, header.objects));
        sound(git.stdin_file(bundle, header.pack_at as u64).timeout(LONG_TIMEOUT).run_ok().await).map(drop)
    }

    /// Everything that the commit leads to is there, given that it is for the commits that are `known`.
    pub(crate) async fn check_connected(&self, tip: &ObjectId, known: &[ObjectId]) -> Result<(), WorkspaceError> {
        let git = self.scratch.git("rev-list").args(["--objects", "--quiet"]).arg(tip).arg("--not").args(known);
        sound(git.timeout(LONG_TIMEOUT).run_ok().await)?;
        Ok(())
    }

    /// Whether this is a commit that came, or that the repository has.
    pub(crate) async fn has_commit(&self, oid: &ObjectId) -> Result<bool, WorkspaceError> {
        let oid = oid.clone();
        self.scratch.objects().with(move |odb| odb.is(Kind::Commit, &oid)).await
    }

    /// The objects join their repository. A pack that is `kept` as it came, whatever is tidied later, says whose it is.
    pub(crate) fn release(self, kept: Option<&ObjectId>) -> Result<(), WorkspaceError> {
        let target = self.home.dir.join("pack");
        create_dir(&target)?;
        for pack in self.packs()? {
            if let Some(tip) = kept {
                write(&pack.with_extension("keep"), format!("snapshot of {tip}\n"))?;
            }
            for part in PACK_PARTS.map(|part| pack.with_extension(part)).iter().filter(|part| part.exists()) {
                let name = part.file_name().unwrap_or_default();
                std::fs::rename(part, target.join(name)).map_err(WorkspaceError::io("move", part))?;
            }
        }
        Ok(())
    }

    /// Where the packs are until then.
    pub(crate) fn pack_dir(&self) -> PathBuf {
        self.folder.path().join("pack")
    }

    fn packs(&self) -> Result<Vec<PathBuf>, WorkspaceError> {
        let folder = self.pack_dir();
        let mut packs = Vec::new();
        for entry in std::fs::read_dir(&folder).map_err(WorkspaceError::io("list", &folder))? {
            let path = entry.map_err(WorkspaceError::io("list", &folder))?.path();
            if path.extension().is_some_and(|extension| extension == "pack") {
                packs.push(path);
            }
        }
        Ok(packs)
    }
}

/// Whether a folder among a repository's objects is a quarantine.
pub(crate) fn is_quarantine(folder: &std::ffi::OsStr) -> bool {
    folder.as_encoded_bytes().starts_with(FOLDER_PREFIX.as_bytes())
}

/// Refuses the first of these objects that is no commit.
fn all_commits(odb: &Odb, oids: &[ObjectId]) -> Result<(), WorkspaceError> {
    for oid in oids {
        if !odb.is(Kind::Commit, oid)? {
            return Err(InputRefusal::MissingPrerequisite { oid: oid.clone() }.into());
        }
    }
    Ok(())
}

/// Whether git failed because the machine did. Only its last words count: what it says before may be quoted from the
/// objects. Lack of memory is not among it: objects can claim any size.
fn is_machines(stderr: &str) -> bool {
    let last = stderr.trim_end().lines().next_back().unwrap_or_default();
    last.starts_with("fatal: ") && lacks_something(last)
}

/// A command that failed over the objects given to it says that they are bad, not that git is.
fn sound(result: Result<Vec<u8>, WorkspaceError>) -> Result<Vec<u8>, WorkspaceError> {
    match result {
        Err(WorkspaceError::Git { source: ToolError::Failed { code: Some(_), stderr, .. }, .. })
            if !is_machines(&stderr) =>
        {
            Err(InputRefusal::BrokenObjects { detail: crate::path::escaped(stderr.as_bytes()) }.into())
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed(stderr: &str) -> Result<Vec<u8>, WorkspaceError> {
        let (program, args) = ("git".to_owned(), "index-pack".to_owned());
        let source = ToolError::Failed { program, args, code: Some(128), stderr: stderr.to_owned() };
        sound(Err(WorkspaceError::Git { command: "index-pack", source }))
    }

    #[test]
    fn a_full_disk_is_not_the_fault_of_the_objects() {
        for ours in [
            "fatal: write error: No space left on device",
            "fatal: sha1 file 'objects/pack/tmp_idx' write error. Out of diskspace",
            "error: short\nfatal: unable to create thread: Resource temporarily unavailable\n",
        ] {
            assert!(matches!(failed(ours), Err(WorkspaceError::Git { .. })), "{ours}");
        }
        for theirs in [
            "fatal: pack has 2 unresolved deltas",
            "fatal: Out of memory, malloc failed (tried to allocate 99999999999 bytes)",
            "error: url: x\nfatal: No space left on device\nfatal: fsck error in packed object",
            "error: disallowed submodule url: No space left on device",
            "",
        ] {
            assert!(
                matches!(failed(theirs), Err(WorkspaceError::Refused(InputRefusal::BrokenObjects { .. }))),
                "{theirs}"
            );
        }
    }
}
