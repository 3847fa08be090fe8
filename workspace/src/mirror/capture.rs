//! Reading what an agent left in its working tree. The clone's own `.git` has no say: what is tracked comes from the
//! base, what is ignored from the ignore files, and bytes, modes and links from the file system. Git says which files are new,
//! and what attributes make of the bytes. It knows no driver for a filter and opens no repository of the agent's, so no filter,
//! hook or nested repository can run anything.

mod found;
mod stored;
mod unread;

use std::collections::{BTreeSet, HashMap, HashSet};
use std::ffi::OsStr;
use std::fs::File;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use found::{Found, Place, Refused};
use gix_object::Kind;
use holdpoint_protocol::facts::LeftOut;
use holdpoint_sandbox::ToolError;
use stored::Indexed;

use super::Mirror;
use super::attributes::has_attributes;
use super::clone::{AgentClone, Begun, INDEX, Remembered};
use super::compose::{FileAs, Replacement};
use super::left_out::{named, unfit};
use crate::droppings::{cache_of, declared_caches, exclude_file};
use crate::error::{InputRefusal, WorkspaceError};
use crate::files::{copy, open_unfollowed, real_path, write};
use crate::limits::InputLimits;
use crate::objects::Odb;
use crate::oid::ObjectId;
use crate::path::{RepoPath, escaped};
use crate::scratch::Scratch;
use crate::tree::{EntryMode, TreeEntry, tree_path};

/// What was in a working tree.
#[derive(Debug)]
pub struct Captured {
    /// Its files that are work, as a tree.
    pub tree: ObjectId,
    /// What there was besides, at most [`LEFT_OUT_MAX`](holdpoint_protocol::facts::LEFT_OUT_MAX).
    pub left_out: Vec<LeftOut>,
}

/// A working tree that is being read.
pub(super) struct Reading {
    /// Without links.
    pub(super) dir: PathBuf,
    /// Has an index with the base.
    pub(super) scratch: Scratch,
    pub(super) base: Arc<Vec<TreeEntry>>,
    /// Files that an earlier attempt handed off and the base does not have: they count as tracked.
    pub(super) earlier: Vec<RepoPath>,
    /// Files that the base does not have and that are not ignored; folders that are repositories end with a slash.
    new: Vec<Vec<u8>>,
    /// Folders of new files that declare themselves caches.
    pub(super) caches: BTreeSet<Vec<u8>>,
}

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
        Ok(self.capture_all(dir, base, None).await?.tree)
    }

    /// As [`Mirror::capture`], of a clone that was made here: files that nobody touched are not read.
    ///
    /// # Errors
    /// As [`Mirror::capture`].
    pub async fn capture_clone(&self, clone: &AgentClone, base: &ObjectId) -> Result<ObjectId, WorkspaceError> {
        Ok(self.capture_all(&clone.dir, base, Some(clone)).await?.tree)
    }

    /// As [`Mirror::capture_all`], of files that are not finished: what would be refused stays as the base has it, and is left out.
    ///
    /// # Errors
    /// As [`Mirror::capture`], but for single files.
    pub async fn capture_partly(&self, dir: &Path, base: &ObjectId) -> Result<Captured, WorkspaceError> {
        let mut refused = Refused::LeftOut(Vec::new());
        let reading = self.read(dir, base, None, &mut refused).await?;
        let mut left_out = self.left_out(&reading, base).await;
        let (tree, refused) = self.tree(reading, base, Arc::default(), refused).await?;
        if let Refused::LeftOut(refused) = refused {
            left_out.extend(refused.iter().map(|(path, why)| unfit(path.as_ref(), why)));
        }
        Ok(Captured { tree, left_out: named(left_out) })
    }

    /// As [`Mirror::capture`] or, with the clone that was made in `dir`, [`Mirror::capture_clone`], with what is left out.
    ///
    /// # Errors
    /// As [`Mirror::capture`].
    pub async fn capture_all(
        &self,
        dir: &Path,
        base: &ObjectId,
        clone: Option<&AgentClone>,
    ) -> Result<Captured, WorkspaceError> {
        let begun = clone.map(|clone| &clone.begun);
        let mut refused = Refused::Everything;
        let reading = self.read(dir, base, begun, &mut refused).await?;
        let left_out = named(self.left_out(&reading, base).await);
        let known = begun.map(|begun| Arc::clone(&begun.remembered)).unwrap_or_default();
        let (tree, _) = self.tree(reading, base, known, refused).await?;
        Ok(Captured { tree, left_out })
    }

    async fn read(
        &self,
        dir: &Path,
        base: &ObjectId,
        begun: Option<&Begun>,
        refused: &mut Refused,
    ) -> Result<Reading, WorkspaceError> {
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
        let rules = self.ignored.as_deref().map(|ignored| &ignored.rules);
        write(&scratch.exclude_file(), exclude_file(rules.map_or(&[], |rules| &rules.flight)))?;
        let program = rules.map_or(&[][..], |rules| &rules.program);
        let new = untracked(&scratch, &dir, program, self.limits(), refused).await?;
        let caches = declared_caches(&dir, &new);
        let new: Vec<Vec<u8>> = new.into_iter().filter(|name| cache_of(&caches, name).is_none()).collect();
        let earlier = self.earlier(&base_entries, &new).await?;
        Ok(Reading { dir, scratch, base: base_entries, earlier, new, caches })
    }

    /// Files that an earlier attempt handed off, and that are neither the base's nor new.
    async fn earlier(&self, base: &[TreeEntry], new: &[Vec<u8>]) -> Result<Vec<RepoPath>, WorkspaceError> {
        let Some(ignored) = &self.ignored else { return Ok(Vec::new()) };
        let earlier = self.list_tree(&ignored.unless).await?;
        let base = base.iter().map(|entry| entry.path.as_bytes());
        let known: HashSet<&[u8]> = base.chain(new.iter().map(Vec::as_slice)).collect();
        let files = earlier.iter().filter(|entry| entry.mode != EntryMode::Gitlink);
        let unknown = files.filter(|entry| !known.contains(entry.path.as_bytes()));
        Ok(unknown.map(|entry| entry.path.clone()).collect())
    }

    async fn tree(
        &self,
        reading: Reading,
        base: &ObjectId,
        known: Arc<Remembered>,
        mut refused: Refused,
    ) -> Result<(ObjectId, Refused), WorkspaceError> {
        let Reading { dir, scratch, base: entries, earlier, new: names, .. } = reading;
        let mut new = Vec::new();
        for name in &names {
            new.extend(refused.settle(None, work_path(name).map_err(WorkspaceError::from))?);
        }
        let converts = entries.iter().map(|entry| &entry.path).chain(&earlier).chain(&new).any(has_attributes);
        let place = Place { dir: dir.clone(), known, limits: self.limits().clone() };
        let tracked = Arc::clone(&entries);
        let look = move |_: &Odb| Ok((found::look(&place, &tracked, &earlier, &new, &mut refused)?, refused));
        let (mut found, mut refused) = self.inner.objects.at_length(look).await?;
        // Git would store every byte as it is where nothing has attributes: this process does, without starting it.
        if converts {
            let indexed = Indexed { scratch: &scratch, base, entries: &entries };
            found = self.store(indexed, &dir, found, &mut refused).await?;
        }
        let hash = move |odb: &Odb| Ok((hash(odb, &dir, found, &mut refused)?, refused));
        let (files, refused) = self.inner.objects.at_length(hash).await?;
        self.written(base, entries, files, refused).await
    }

    /// The base's tree with these files in place of its own, within what filters allow.
    async fn written(
        &self,
        base: &ObjectId,
        entries: Arc<Vec<TreeEntry>>,
        mut files: Vec<(RepoPath, FileAs)>,
        mut refused: Refused,
    ) -> Result<(ObjectId, Refused), WorkspaceError> {
        loop {
            // Looked at once more where single files may be left out.
            let kept = if refused.leaves_out() { files.clone() } else { Vec::new() };
            let (base_entries, changed) = (Arc::clone(&entries), differences(&entries, files, &refused));
            let tree = self.inner.objects.at_length(move |odb| odb.edit(&base_entries, &changed)).await?;
            let paths = match self.check_filters(base, &tree).await {
                Ok(()) => return Ok((tree, refused)),
                Err(WorkspaceError::Refused(InputRefusal::Unfiltered { paths })) if refused.leaves_out() => paths,
                Err(error) => return Err(error),
            };
            files = kept.into_iter().filter(|(path, _)| paths.iter().all(|(bad, _)| bad != path)).collect();
            for one in paths {
                let path = one.0.clone();
                refused.settle::<()>(Some(&path), Err(InputRefusal::Unfiltered { paths: vec![one] }.into()))?;
            }
        }
    }
}

/// Files that the base does not have, and neither an ignore file nor `program` names. A nested repository shows as a folder.
async fn untracked(
    scratch: &Scratch,
    dir: &Path,
    program: &[String],
    limits: &InputLimits,
    refused: &mut Refused,
) -> Result<Vec<Vec<u8>>, WorkspaceError> {
    let git = scratch.git("ls-files").work_tree(dir).args(["-z", "--others", "--exclude-standard"]).long();
    let output = match git.args(excluding(program)).run().await {
        Err(WorkspaceError::Git { source: ToolError::OutputLimit { .. }, .. }) => {
            refused.settle::<()>(None, Err(InputRefusal::TooManyEntries { max: limits.tree_entries }.into()))?;
            return Ok(Vec::new());
        }
        other => other?,
    };
    let unreadable = if output.code != Some(0) {
        Some(escaped(&output.stderr))
    } else if output.stderr.is_empty() {
        None
    } else {
        unread::folder(dir, &output.stderr).map(|folder| escaped(folder.as_os_str().as_bytes()))
    };
    if let Some(shown) = unreadable {
        refused.settle::<()>(None, Err(InputRefusal::Unreadable { shown }.into()))?;
    }
    Ok(names(&output.stdout).map(<[u8]>::to_vec).collect())
}

/// Options of `git ls-files` for patterns that are stronger than ignore files.
pub(super) fn excluding(patterns: &[String]) -> impl Iterator<Item = String> {
    patterns.iter().map(|pattern| format!("--exclude={pattern}"))
}

/// The names that git ends with a NUL byte each.
pub(super) fn names(output: &[u8]) -> impl Iterator<Item = &[u8]> {
    output.split(|byte| *byte == 0).filter(|name| !name.is_empty())
}

/// A name that git lists, as a path; a nested repository has none.
fn work_path(name: &[u8]) -> Result<RepoPath, InputRefusal> {
    match name.strip_suffix(b"/") {
        Some(folder) => Err(InputRefusal::NestedRepository { path: tree_path(folder)? }),
        None => tree_path(name),
    }
}

/// Writes the bytes of files whose ids are not known into the mirror, and gives what all of them are.
fn hash(
    odb: &Odb,
    dir: &Path,
    found: Vec<Found>,
    refused: &mut Refused,
) -> Result<Vec<(RepoPath, FileAs)>, WorkspaceError> {
    let mut files = Vec::new();
    for Found { path, mode, known } in found {
        let written = known.map_or_else(|| write_blob(odb, &dir.join(path.as_path()), mode), Ok);
        files.extend(refused.settle(Some(&path), written)?.map(|oid| (path, FileAs { mode, oid })));
    }
    Ok(files)
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
    let unreadable = || InputRefusal::Unreadable { shown: escaped(file.as_os_str().as_bytes()) };
    let opened = open_unfollowed(file).map_err(|error| match error.kind() {
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
fn differences(base: &[TreeEntry], files: Vec<(RepoPath, FileAs)>, refused: &Refused) -> Vec<Replacement> {
    let left_out = if let Refused::LeftOut(left_out) = refused { left_out.as_slice() } else { &[] };
    let kept = files.iter().map(|(path, _)| path).chain(left_out.iter().filter_map(|(path, _)| path.as_ref()));
    let kept: HashSet<&OsStr> = kept.map(|path| path.as_path().as_os_str()).collect();
    let gone = base.iter().filter(|entry| !kept.contains(entry.path.as_path().as_os_str()));
    let mut all: Vec<Replacement> = gone.map(|entry| (entry.path.clone(), None)).collect();
    let same: HashMap<&RepoPath, (EntryMode, &ObjectId)> =
        base.iter().map(|entry| (&entry.path, (entry.mode, &entry.oid))).collect();
    let changed = files.into_iter().filter(|(path, file)| same.get(path) != Some(&(file.mode, &file.oid)));
    all.extend(changed.map(|(path, file)| (path, Some(file))));
    all
}
