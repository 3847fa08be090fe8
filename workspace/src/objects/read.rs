//! Reading single objects.

use std::fs::File;
use std::io::ErrorKind;

use gix_object::{Find, Kind};
use gix_odb::Header;

use super::{Objects, from_gix, to_gix, tree, unreadable};
use crate::commit::{Commit, parse_commit};
use crate::error::{InputRefusal, WorkspaceError};
use crate::limits::SHORT_OUTPUT_BYTES;
use crate::oid::ObjectId;
use crate::path::RepoPath;
use crate::tree::EntryMode;

/// Links one behind the other that are followed to a file.
const LINKS_MAX: usize = 8;
/// The longest text of a link, in bytes: what a kernel takes.
const LINK_BYTES_MAX: usize = 4096;

/// Objects that are open for one piece of work.
pub(crate) struct Odb {
    pub(super) objects: Objects,
    pub(super) handle: gix_odb::Handle,
}

impl Objects {
    /// The bytes of the file at `path` in a commit, links inside of its tree followed; `None` if no file is there.
    ///
    /// # Errors
    /// The commit is not there; the file has more than `cap` bytes ([`WorkspaceError::BlobOverCap`]).
    pub(crate) async fn file_at(
        &self,
        commit: &ObjectId,
        path: &RepoPath,
        cap: usize,
    ) -> Result<Option<Vec<u8>>, WorkspaceError> {
        let (commit, path) = (commit.clone(), path.clone());
        self.with(move |odb| odb.file_at(&commit, &path, cap)).await
    }
}

impl Odb {
    /// What kind of object this is, and how many bytes it has; `None` if it is not there.
    pub(crate) fn header(&self, oid: &ObjectId) -> Result<Option<(Kind, u64)>, WorkspaceError> {
        let header = self.header_of(&to_gix(oid)?)?;
        if header.is_none() {
            self.check_indices()?;
        }
        Ok(header)
    }

    /// An object counts as absent also where the index that has it cannot be opened, which is the machine's fault.
    fn check_indices(&self) -> Result<(), WorkspaceError> {
        let folders = [vec![self.objects.dir.clone()], self.objects.alternates()].concat();
        for entry in folders.iter().flat_map(|dir| std::fs::read_dir(dir.join("pack")).into_iter().flatten().flatten())
        {
            let path = entry.path();
            if path.extension().is_some_and(|end| end == "idx")
                && let Err(error) = File::open(&path)
                && error.kind() != ErrorKind::NotFound
            {
                return Err(WorkspaceError::io("open", &path)(error));
            }
        }
        Ok(())
    }

    pub(super) fn header_of(&self, oid: &gix_hash::oid) -> Result<Option<(Kind, u64)>, WorkspaceError> {
        let header = self.handle.try_header(oid).map_err(|error| self.failed(&error))?;
        Ok(header.map(|header| (header.kind(), header.size())))
    }

    /// Whether the object is there and of this kind.
    pub(crate) fn is(&self, kind: Kind, oid: &ObjectId) -> Result<bool, WorkspaceError> {
        Ok(self.header(oid)?.is_some_and(|(found, _)| found == kind))
    }

    /// What a commit names; `None` if no commit has this id.
    pub(crate) fn commit(&self, oid: &ObjectId) -> Result<Option<Commit>, WorkspaceError> {
        match self.header(oid)? {
            Some((Kind::Commit, bytes)) if bytes > SHORT_OUTPUT_BYTES as u64 => {
                Err(InputRefusal::CommitTooLarge { oid: oid.clone(), max: SHORT_OUTPUT_BYTES }.into())
            }
            Some((Kind::Commit, _)) => {
                let bytes = self.contents(&to_gix(oid)?)?;
                parse_commit(&String::from_utf8_lossy(&bytes)).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// The bytes of a blob.
    pub(crate) fn blob(&self, oid: &ObjectId, cap: usize) -> Result<Vec<u8>, WorkspaceError> {
        match self.header(oid)? {
            Some((Kind::Blob, bytes)) if bytes > cap as u64 => {
                Err(WorkspaceError::BlobOverCap { oid: oid.clone(), cap })
            }
            Some((Kind::Blob, _)) => self.contents(&to_gix(oid)?),
            _ => Err(WorkspaceError::NoSuchObject { kind: "blob", oid: oid.clone() }),
        }
    }

    /// The bytes of the file at `path` in a commit; `None` if no file is there (nothing, a link, a folder).
    fn file_at(&self, commit: &ObjectId, path: &RepoPath, cap: usize) -> Result<Option<Vec<u8>>, WorkspaceError> {
        let no_commit = || WorkspaceError::NoSuchObject { kind: "commit", oid: commit.clone() };
        let root = to_gix(&self.commit(commit)?.ok_or_else(no_commit)?.tree)?;
        let mut path = path.clone();
        for _ in 0..=LINKS_MAX {
            match self.step(root, &path)? {
                Some((EntryMode::File | EntryMode::Executable, oid, _)) => return self.blob(&oid, cap).map(Some),
                Some((EntryMode::Symlink, oid, depth)) => {
                    let Some(next) = path.led(depth, &self.blob(&oid, LINK_BYTES_MAX)?) else { return Ok(None) };
                    path = next;
                }
                Some((EntryMode::Gitlink, ..)) | None => return Ok(None),
            }
        }
        Ok(None)
    }

    /// What is at `path` below a tree, with how many names lead to it: all of them, or as many as lead to a link on the way.
    fn step(
        &self,
        root: gix_hash::ObjectId,
        path: &RepoPath,
    ) -> Result<Option<(EntryMode, ObjectId, usize)>, WorkspaceError> {
        let (mut at, mut names) = (root, path.names().enumerate().peekable());
        while let Some((depth, name)) = names.next() {
            let bytes = self.contents(&at)?;
            let mut rest = &bytes[..];
            let found = loop {
                match tree::next(&mut rest, self.objects.format.bytes()) {
                    Some(entry) if entry.name == name => break entry,
                    Some(_) => {}
                    None => return Ok(None),
                }
            };
            at = gix_hash::ObjectId::from_bytes_or_panic(found.id);
            match found.mode {
                None => {}
                Some(mode) if mode == EntryMode::Symlink || names.peek().is_none() => {
                    return Ok(Some((mode, from_gix(&at)?, depth + 1)));
                }
                Some(_) => return Ok(None),
            }
        }
        Ok(None)
    }

    /// The bytes of an object that is there.
    pub(super) fn contents(&self, oid: &gix_hash::oid) -> Result<Vec<u8>, WorkspaceError> {
        let mut bytes = Vec::new();
        let found = self.handle.try_find(oid, &mut bytes).map_err(|error| self.failed(&error))?;
        match found.is_some() {
            true => Ok(bytes),
            false => Err(unreadable(&self.objects.dir, format!("{oid} is not there any more"))),
        }
    }

    /// What the system could not do is the machine's fault, and what is too large the maker's. Everything else, and a file that is
    /// gone, is damage: a confined git read all of it before.
    pub(super) fn failed(&self, error: &gix_error::Error) -> WorkspaceError {
        let systems = error.iter_errors().find_map(|error| {
            let error = error.downcast_ref::<std::io::Error>()?;
            let number = error.raw_os_error().filter(|_| error.kind() != ErrorKind::NotFound)?;
            Some(std::io::Error::from_raw_os_error(number))
        });
        match systems {
            Some(source) => WorkspaceError::io("work on the objects in", &self.objects.dir)(source),
            None if error.is_resource_exhausted() => {
                let limit = format!("{} MiB for one object", super::ALLOCATION_MAX >> 20);
                InputRefusal::OverLimit { command: "cat-file", limit }.into()
            }
            None => unreadable(&self.objects.dir, error),
        }
    }
}
