//! A folder of documents that an export writes, and brings up to date when it is called again. It belongs to one flight, which its
//! list names. Files appear whole; no link is followed; a file that is not as an export left it was edited, and stays.

use std::{
    collections::BTreeMap,
    fs,
    io::{self, ErrorKind, Read as _, Write as _},
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use holdpoint_planfile::document::RENDERED_BYTES_MAX;
use holdpoint_protocol::{Digest, ids::FlightId};
use serde::{Deserialize, Serialize};

use crate::failure::Failure;

/// The list of what was written.
const LIST: &str = "documents.json";
/// The largest list that is read: a path and a digest for each of some 200,000 documents.
const LIST_BYTES_MAX: u64 = 32 << 20;
/// Rights of new files, as far as the user's mask leaves them.
const MODE: u32 = 0o666;

/// What was done with a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum FileState {
    /// There was none.
    New,
    /// It had other text, as an export had left it.
    Updated,
    /// It has this text already.
    Unchanged,
    /// Somebody edited it: it was left alone.
    Edited,
}

/// The list of a folder.
#[derive(Debug, Serialize, Deserialize)]
struct FolderList {
    flight: FlightId,
    /// The text that each file was left with, by its path.
    files: BTreeMap<String, Digest>,
}

/// A folder that an export writes.
pub(super) struct DocumentFolder {
    dir: PathBuf,
    list: FolderList,
}

impl DocumentFolder {
    /// Takes a folder that is not there or empty, or that of an earlier export of the flight.
    pub(super) fn open(dir: &Path, flight: &FlightId) -> Result<Self, Failure> {
        match fs::symlink_metadata(dir) {
            Ok(found) if found.is_dir() => {}
            Ok(_) => {
                let message = format!("{} is there already, and no folder", dir.display());
                return Err(Failure::usage("exists", message, "--folder DIR names another place"));
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {
                fs::create_dir_all(dir).map_err(|error| unwritable(dir, &error))?;
            }
            Err(error) => return Err(unwritable(dir, &error)),
        }
        let files = match listed(&dir.join(LIST))? {
            Some(list) if list.flight == *flight => list.files,
            Some(list) => {
                let message = format!("{} has the documents of the flight {}", dir.display(), list.flight);
                return Err(Failure::usage("other_flight", message, "--folder DIR names a folder of its own"));
            }
            None => BTreeMap::new(),
        };
        let is_list = |entry: &io::Result<fs::DirEntry>| entry.as_ref().is_ok_and(|entry| entry.file_name() == LIST);
        let mut entries = fs::read_dir(dir).map_err(|error| unwritable(dir, &error))?.peekable();
        let is_listed = fs::symlink_metadata(dir.join(LIST)).is_ok();
        if !is_listed && entries.any(|entry| !is_list(&entry)) {
            let message = format!("{} is not empty, and no earlier export of {flight}", dir.display());
            return Err(Failure::usage(
                "not_empty",
                message,
                "--folder DIR names an empty folder, or one that is not there",
            ));
        }
        let folder = Self { dir: dir.to_owned(), list: FolderList { flight: flight.clone(), files } };
        // Before the first document: an export that is interrupted goes on when it is called again.
        folder.close()?;
        Ok(folder)
    }

    /// Puts a document there, as `WAYPOINT/NAME`.
    pub(super) fn put(&mut self, file: &str, text: &str) -> Result<FileState, Failure> {
        let path = self.dir.join(file);
        if let Some(parent) = path.parent() {
            folder(parent)?;
        }
        let (digest, before) = (Digest::of(text.as_bytes()), self.list.files.get(file).copied());
        let there = bytes(&path, RENDERED_BYTES_MAX as u64)?.map(|bytes| Digest::of(&bytes));
        let state = match there {
            None => FileState::New,
            Some(there) if there == digest => FileState::Unchanged,
            Some(there) if Some(there) == before => FileState::Updated,
            Some(_) => return Ok(FileState::Edited),
        };
        if state != FileState::Unchanged {
            write_whole(&path, text.as_bytes())?;
        }
        self.list.files.insert(file.to_owned(), digest);
        Ok(state)
    }

    /// Writes the list.
    pub(super) fn close(&self) -> Result<(), Failure> {
        let list = serde_json::to_vec_pretty(&self.list).expect("plain data with text keys");
        write_whole(&self.dir.join(LIST), &list)
    }
}

/// The list of an earlier export; `None`: there is no file.
fn listed(path: &Path) -> Result<Option<FolderList>, Failure> {
    let Some(bytes) = bytes(path, LIST_BYTES_MAX)? else { return Ok(None) };
    let list = serde_json::from_slice(&bytes).map_err(|error| {
        let message = format!("{} is not the list of an export: {error}", path.display());
        Failure::usage("not_empty", message, "--folder DIR names an empty folder, or one that is not there")
    })?;
    Ok(Some(list))
}

/// A folder inside, made where it is not there.
fn folder(path: &Path) -> Result<(), Failure> {
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_dir() => Ok(()),
        Ok(_) => Err(in_the_way(path, "no folder")),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            fs::create_dir(path).map_err(|error| unwritable(path, &error))
        }
        Err(error) => Err(unwritable(path, &error)),
    }
}

/// The bytes of a plain file; `None`: nothing is there. One byte more than `most` of a longer one, which no document has.
fn bytes(path: &Path, most: u64) -> Result<Option<Vec<u8>>, Failure> {
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_file() => {}
        Ok(_) => return Err(in_the_way(path, "no plain file")),
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(unwritable(path, &error)),
    }
    let mut bytes = Vec::new();
    let read = fs::File::open(path).and_then(|file| file.take(most + 1).read_to_end(&mut bytes));
    read.map_err(|error| unwritable(path, &error))?;
    Ok(Some(bytes))
}

/// Writes next to the place, so that a file with this name is a whole one.
fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let write = || {
        let parent = path.parent().unwrap_or_else(|| Path::new("."));
        let rights = fs::Permissions::from_mode(MODE);
        let mut part = tempfile::Builder::new().prefix(".part-").permissions(rights).tempfile_in(parent)?;
        part.write_all(bytes)?;
        part.persist(path).map(drop).map_err(|error| error.error)
    };
    write().map_err(|error| unwritable(path, &error))
}

fn in_the_way(path: &Path, what: &str) -> Failure {
    let message = format!("{} is there already, and {what}: it is not followed, nor written over", path.display());
    Failure::usage("exists", message, "move it away, or name another folder with --folder DIR")
}

fn unwritable(path: &Path, error: &io::Error) -> Failure {
    let message = format!("cannot write {}: {error}", path.display());
    Failure::environment("export", message, "name another folder with --folder DIR, or make room")
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use holdpoint_sandbox::TemporaryFolder;

    use super::*;

    fn flight(name: &str) -> FlightId {
        name.parse().unwrap()
    }

    #[test]
    fn an_export_is_brought_up_to_date_and_what_somebody_edited_is_left_alone() {
        let parent = TemporaryFolder::new().unwrap();
        let dir = parent.path().join("a/b");
        let open = || DocumentFolder::open(&dir, &flight("f")).unwrap();
        let read = |file: &str| fs::read_to_string(dir.join(file)).unwrap();
        let mut folder = open();
        assert_eq!(folder.put("w/001-build-turn.md", "one").unwrap(), FileState::New);
        assert_eq!(folder.put("w/002-build-build_artifact.md", "two").unwrap(), FileState::New);
        assert_eq!(folder.put("w/003-build-decided.md", "three").unwrap(), FileState::New);
        folder.close().unwrap();
        fs::write(dir.join("w/003-build-decided.md"), "mine").unwrap();
        fs::write(dir.join("w/notes.md"), "a person's own").unwrap();
        let mut folder = open();
        assert_eq!(folder.put("w/001-build-turn.md", "one").unwrap(), FileState::Unchanged);
        assert_eq!(folder.put("w/002-build-build_artifact.md", "two, taken").unwrap(), FileState::Updated);
        assert_eq!(folder.put("w/003-build-decided.md", "three").unwrap(), FileState::Edited);
        assert_eq!(folder.put("w/004-build-landed.md", "four").unwrap(), FileState::New);
        assert_eq!(read("w/002-build-build_artifact.md"), "two, taken");
        assert_eq!(
            (read("w/003-build-decided.md"), read("w/notes.md")),
            ("mine".to_owned(), "a person's own".to_owned())
        );
        // Without the list at the end, as after a crash, it goes on.
        let mut folder = open();
        assert_eq!(folder.put("w/004-build-landed.md", "four").unwrap(), FileState::Unchanged);
        let left: Vec<_> = fs::read_dir(dir.join("w")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left.len(), 5, "nothing half written is left: {left:?}");
    }

    #[test]
    fn a_folder_of_others_is_refused_and_stays_as_it_is() {
        let parent = TemporaryFolder::new().unwrap();
        let path = |name: &str| parent.path().join(name);
        for name in ["full", "other", "broken", "empty"] {
            fs::create_dir(path(name)).unwrap();
        }
        fs::write(path("full").join("x"), "").unwrap();
        fs::write(path("broken").join(LIST), "{").unwrap();
        fs::write(path("file"), "").unwrap();
        symlink(path("empty"), path("link")).unwrap();
        DocumentFolder::open(&path("other"), &flight("g")).unwrap();
        for (name, code) in [
            ("full", "not_empty"),
            ("other", "other_flight"),
            ("broken", "not_empty"),
            ("file", "exists"),
            ("link", "exists"),
        ] {
            let refused = DocumentFolder::open(&path(name), &flight("f")).err().unwrap();
            assert!(refused.is(code), "{name}: {refused:?}");
        }
        assert!(fs::read_dir(path("empty")).unwrap().next().is_none());
        assert_eq!(fs::read_dir(path("full")).unwrap().count(), 1);
    }

    #[test]
    fn links_inside_are_neither_followed_nor_written_over() {
        let parent = TemporaryFolder::new().unwrap();
        let (dir, target) = (parent.path().join("out"), parent.path().join("target"));
        fs::create_dir(&target).unwrap();
        fs::write(target.join("file"), "kept").unwrap();
        let mut folder = DocumentFolder::open(&dir, &flight("f")).unwrap();
        symlink(&target, dir.join("w")).unwrap();
        assert!(folder.put("w/001-a-turn.md", "x").unwrap_err().is("exists"));
        fs::create_dir(dir.join("v")).unwrap();
        symlink(target.join("file"), dir.join("v/001-a-turn.md")).unwrap();
        symlink(target.join("new"), dir.join("v/002-a-turn.md")).unwrap();
        for file in ["v/001-a-turn.md", "v/002-a-turn.md"] {
            assert!(folder.put(file, "x").unwrap_err().is("exists"));
        }
        assert_eq!(fs::read_to_string(target.join("file")).unwrap(), "kept");
        assert_eq!(fs::read_dir(&target).unwrap().count(), 1);
        symlink(target.join("file"), parent.path().join("listed")).unwrap();
        fs::remove_file(dir.join(LIST)).unwrap();
        symlink(target.join("file"), dir.join(LIST)).unwrap();
        assert!(DocumentFolder::open(&dir, &flight("f")).err().unwrap().is("exists"));
    }
}
