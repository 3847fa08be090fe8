//! Reading what an agent left in its working tree. The clone's own `.git` has no say: what is tracked comes from the
//! base, what is ignored from the ignore files, and bytes, modes and links from the file system. Git says which files are new,
//! and what attributes make of the bytes. It knows no driver for a filter and opens no repository of the agent's, so no filter,
//! hook or nested repository can run anything.

mod found;
mod stored;
mod unread;

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::fs::File;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Arc;

use found::{Found, Place};
use gix_object::Kind;
use holdpoint_sandbox::ToolError;
use rustix::fs::OFlags;
use stored::Indexed;

use super::Mirror;
use super::attributes::has_attributes;
use super::clone::{AgentClone, Begun, INDEX};
use super::compose::{FileAs, Replacement};
use crate::error::{InputRefusal, WorkspaceError};
use crate::files::{copy, real_path};
use crate::limits::InputLimits;
use crate::objects::Odb;
use crate::oid::ObjectId;
use crate::path::{RepoPath, escaped};
use crate::scratch::Scratch;
use crate::tree::{EntryMode, TreeEntry, tree_path};

impl Mirror {
    /// The working tree in `dir` as a tree of this mirror. `base` is the commit (or tree) the clone was made of: ignored
    /// files count if it has them, and its submodule links stay as they are, whatever is in their folders.
    ///
    /// The program that worked in `dir` has ended: the files must not change meanwhile.
    ///
    /// # Errors
    /// [`WorkspaceError::Refused`] for nested repositories, what is neither file nor link, what cannot be read or stored as attributes
    /// say, paths under a filter ([`Mirror::check_filters`]), and sizes over the limits.
    pub async fn capture(&self, dir: &Path, base: &ObjectId) -> Result<ObjectId, WorkspaceError> {
        self.capture_knowing(dir, base, None).await
    }

    /// As [`Mirror::capture`], of a clone that was made here: files that nobody touched are not read.
    ///
    /// # Errors
    /// As [`Mirror::capture`].
    pub async fn capture_clone(&self, clone: &AgentClone, base: &ObjectId) -> Result<ObjectId, WorkspaceError> {
        self.capture_knowing(&clone.dir, base, Some(&clone.begun)).await
    }

    async fn capture_knowing(
        &self,
        dir: &Path,
        base: &ObjectId,
        begun: Option<&Begun>,
    ) -> Result<ObjectId, WorkspaceError> {
        // A link in its place would have us read another user's files.
        if !dir.symlink_metadata().map_err(WorkspaceError::io("look at", dir))?.is_dir() {
            return Err(InputRefusal::Unreadable { shown: "the working tree's own folder".to_owned() }.into());
        }
        let dir = real_path(dir)?;
        let base_entries = self.list_tree(base).await?;
        let scratch = self.scratch()?;
        match begun.and_then(|begun| begun.index_of(base)) {
            Some(index) => copy(&index, &scratch.path().join(INDEX))?,
            None => drop(scratch.git("read-tree").arg(base).long().run_ok().await?),
        }
        let new = self.new_files(&scratch, &dir, &base_entries).await?;
        let known = begun.map(|begun| Arc::clone(&begun.remembered)).unwrap_or_default();
        let converts = base_entries.iter().map(|entry| &entry.path).chain(&new).any(has_attributes);
        let place = Place { dir: dir.clone(), known, limits: self.limits().clone() };
        let tracked = Arc::clone(&base_entries);
        let found = self.inner.objects.at_length(move |_| found::look(&place, &tracked, &new)).await?;
        let found = match converts {
            true => self.store(Indexed { scratch: &scratch, base, entries: &base_entries }, &dir, found).await?,
            // Git would store every byte as it is: this process does, without starting it.
            false => found,
        };
        let make = move |odb: &Odb| odb.edit(&base_entries, &differences(&base_entries, hash(odb, &dir, found)?));
        let tree = self.inner.objects.at_length(make).await?;
        self.check_filters(base, &tree).await?;
        Ok(tree)
    }

    /// Files that the base does not have and that are not ignored.
    async fn new_files(
        &self,
        scratch: &Scratch,
        dir: &Path,
        base: &[TreeEntry],
    ) -> Result<Vec<RepoPath>, WorkspaceError> {
        let Some(ignored) = &self.ignored else { return untracked(scratch, dir, &[], self.limits()).await };
        let mut new = untracked(scratch, dir, &ignored.patterns, self.limits()).await?;
        let known: HashSet<&RepoPath> = base.iter().map(|entry| &entry.path).chain(&new).collect();
        let earlier = self.list_tree(&ignored.unless).await?;
        let missing: HashSet<&RepoPath> =
            earlier.iter().map(|entry| &entry.path).filter(|path| !known.contains(path)).collect();
        if !missing.is_empty() {
            let all = untracked(scratch, dir, &[], self.limits()).await?;
            new.extend(all.into_iter().filter(|path| missing.contains(path)));
        }
        Ok(new)
    }
}

/// Files that the base does not have, and neither an ignore file nor `ignored` names. A nested repository shows as a folder.
async fn untracked(
    scratch: &Scratch,
    dir: &Path,
    ignored: &[String],
    limits: &InputLimits,
) -> Result<Vec<RepoPath>, WorkspaceError> {
    let git = scratch.git("ls-files").work_tree(dir).args(["-z", "--others", "--exclude-standard"]).long();
    let git = git.args(ignored.iter().map(|pattern| format!("--exclude={pattern}")));
    let output = match git.run().await {
        Err(WorkspaceError::Git { source: ToolError::OutputLimit { .. }, .. }) => {
            return Err(InputRefusal::TooManyEntries { max: limits.tree_entries }.into());
        }
        other => other?,
    };
    if output.code != Some(0) {
        return Err(InputRefusal::Unreadable { shown: escaped(&output.stderr) }.into());
    }
    if !output.stderr.is_empty()
        && let Some(folder) = unread::folder(dir, &output.stderr)
    {
        return Err(InputRefusal::Unreadable { shown: escaped(folder.as_os_str().as_bytes()) }.into());
    }
    let names = output.stdout.split(|byte| *byte == 0).filter(|name| !name.is_empty());
    names
        .map(|name| match name.strip_suffix(b"/") {
            Some(folder) => Err(InputRefusal::NestedRepository { path: tree_path(folder)? }.into()),
            None => Ok(tree_path(name)?),
        })
        .collect()
}

/// Writes the bytes of files whose ids are not known into the mirror, and gives what all of them are.
fn hash(odb: &Odb, dir: &Path, found: Vec<Found>) -> Result<Vec<(RepoPath, FileAs)>, WorkspaceError> {
    let files = found.into_iter().map(|Found { path, mode, known }| {
        let oid = match known {
            Some(oid) => oid,
            None => write_blob(odb, &dir.join(path.as_path()), mode)?,
        };
        Ok((path, FileAs { mode, oid }))
    });
    files.collect()
}

/// A link's blob is its target.
fn write_blob(odb: &Odb, file: &Path, mode: EntryMode) -> Result<ObjectId, WorkspaceError> {
    if mode == EntryMode::Symlink {
        let target = std::fs::read_link(file).map_err(WorkspaceError::io("read the link", file))?;
        return odb.write(Kind::Blob, target.as_os_str().as_bytes());
    }
    let (opened, bytes) = open_file(file)?;
    odb.write_blob_from(bytes, opened)
}

/// A file, and how many bytes it has. Nothing follows a link that took its place since it was looked at.
fn open_file(file: &Path) -> Result<(File, u64), WorkspaceError> {
    let mut opening = File::options();
    opening.read(true).custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed());
    let unreadable = || InputRefusal::Unreadable { shown: escaped(file.as_os_str().as_bytes()) };
    let opened = opening.open(file).map_err(|error| match error.kind() {
        ErrorKind::PermissionDenied => unreadable().into(),
        _ => WorkspaceError::io("open", file)(error),
    })?;
    let found = opened.metadata().map_err(WorkspaceError::io("look at", file))?;
    if !found.is_file() {
        return Err(unreadable().into());
    }
    Ok((opened, found.len()))
}

/// What has to be written into the base's tree, and what has to go from it.
fn differences(base: &[TreeEntry], files: Vec<(RepoPath, FileAs)>) -> Vec<Replacement> {
    let kept: HashSet<&OsStr> = files.iter().map(|(path, _)| path.as_path().as_os_str()).collect();
    let gone = base.iter().filter(|entry| entry.mode != EntryMode::Gitlink);
    let gone = gone.filter(|entry| !kept.contains(entry.path.as_path().as_os_str()));
    let mut all: Vec<Replacement> = gone.map(|entry| (entry.path.clone(), None)).collect();
    let same: HashMap<&RepoPath, (EntryMode, &ObjectId)> =
        base.iter().map(|entry| (&entry.path, (entry.mode, &entry.oid))).collect();
    let changed = files.into_iter().filter(|(path, file)| same.get(path) != Some(&(file.mode, &file.oid)));
    all.extend(changed.map(|(path, file)| (path, Some(file))));
    all
}
