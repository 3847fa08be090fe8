//! Reading what an agent left in its working tree. The clone's own `.git` has no say: what is tracked comes from the
//! base, what is ignored from the ignore files, and bytes, modes and links from the file system. Git is given nothing
//! but a list of plain files to hash, so no filter, attribute, hook or nested repository can run anything.

mod found;

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

use found::{Found, Place};
use holdpoint_sandbox::ToolError;

use super::Mirror;
use super::clone::{AgentClone, Begun, INDEX};
use super::compose::{FileAs, Replacement, update_index, write_tree};
use crate::allowance::Work;
use crate::error::{InputRefusal, WorkspaceError};
use crate::files::{copy, create_dir, quoted, real_path, write};
use crate::git::unexpected;
use crate::limits::InputLimits;
use crate::oid::ObjectId;
use crate::path::{RepoPath, escaped};
use crate::scratch::Scratch;
use crate::tree::{EntryMode, TreeEntry, ascii, tree_path};

impl Mirror {
    /// The working tree in `dir` as a tree of this mirror. `base` is the commit (or tree) the clone was made of: ignored
    /// files count if it has them, and its submodule links stay as they are, whatever is in their folders.
    ///
    /// The program that worked in `dir` has ended: the files must not change meanwhile.
    ///
    /// # Errors
    /// [`WorkspaceError::Refused`] for nested repositories, what is neither file nor link, what cannot be read, and sizes over
    /// the limits.
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
        let new = untracked(&scratch, &dir, self.limits()).await?;
        let links = scratch.path().join("links");
        create_dir(&links)?;
        let known = begun.map(|begun| Arc::clone(&begun.remembered)).unwrap_or_default();
        let place = Place { dir: dir.clone(), known, limits: self.limits().clone() };
        let tracked = Arc::clone(&base_entries);
        let looked = tokio::task::spawn_blocking(move || found::look(&place, &tracked, &new)).await;
        let found =
            looked.map_err(|error| WorkspaceError::io("look through", &dir)(std::io::Error::other(error)))??;
        let files = hash(&scratch, &dir, &links, found).await?;
        update_index(&scratch, &differences(&base_entries, files)).await?;
        write_tree(&scratch).await
    }
}

/// Files that the base does not have and no ignore file names. A nested repository shows as a folder.
async fn untracked(scratch: &Scratch, dir: &Path, limits: &InputLimits) -> Result<Vec<RepoPath>, WorkspaceError> {
    let git = scratch.git("ls-files").work_tree(dir).args(["-z", "--others", "--exclude-standard"]).long();
    let output = match git.run().await {
        Err(WorkspaceError::Git { source: ToolError::OutputLimit { .. }, .. }) => {
            return Err(InputRefusal::TooManyEntries { max: limits.tree_entries }.into());
        }
        other => other?,
    };
    // A folder that cannot be opened is skipped by git with a warning: then it is not known what the result is.
    if output.code != Some(0) || !output.stderr.is_empty() {
        return Err(InputRefusal::Unreadable { shown: escaped(&output.stderr) }.into());
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
async fn hash(
    scratch: &Scratch,
    dir: &Path,
    links: &Path,
    found: Vec<Found>,
) -> Result<Vec<(RepoPath, FileAs)>, WorkspaceError> {
    let unknown: Vec<&Found> = found.iter().filter(|file| file.known.is_none()).collect();
    let (mut names, mut bytes) = (Vec::new(), 0);
    for (number, file) in unknown.iter().enumerate() {
        let mut source = dir.join(file.path.as_path());
        if file.mode == EntryMode::Symlink {
            // A link's blob is its target; git would follow the link, so it gets the target in a file.
            let target = std::fs::read_link(&source).map_err(WorkspaceError::io("read the link", &source))?;
            source = links.join(number.to_string());
            write(&source, target.as_os_str().as_bytes())?;
        }
        bytes += std::fs::metadata(&source).map_err(WorkspaceError::io("look at", &source))?.len();
        names.extend(quoted(&source));
        names.push(b'\n');
    }
    if unknown.is_empty() {
        return Ok(with_ids(found, Vec::new()));
    }
    let git = scratch.git("hash-object").args(["-w", "--no-filters", "--stdin-paths"]);
    let git = git.confined(Work::of_files(bytes)).reads(dir);
    let answer = git.stdin(names).long().run_ok().await?;
    let lines = answer.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let oids: Option<Vec<ObjectId>> = lines.map(|line| ascii(line).and_then(|text| text.parse().ok())).collect();
    let oids = oids.filter(|oids| oids.len() == unknown.len()).ok_or_else(|| unexpected("hash-object", &answer))?;
    Ok(with_ids(found, oids))
}

/// What all files are, `ids` being those of the unknown ones in their order.
fn with_ids(found: Vec<Found>, ids: Vec<ObjectId>) -> Vec<(RepoPath, FileAs)> {
    let mut ids = ids.into_iter();
    let files = found.into_iter().filter_map(|Found { path, mode, known }| {
        let oid = known.or_else(|| ids.next())?;
        Some((path, FileAs { mode, oid }))
    });
    files.collect()
}

/// What has to be written into an index of the base, and what has to go from it.
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
