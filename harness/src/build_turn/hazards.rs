//! What a program can leave in its clone that would hold up its readers.
//!
//! Git opens files with ignore rules and attributes to read them, and opening a pipe waits for a writer that never comes.

use std::{
    fs::DirEntry,
    io::{self, ErrorKind},
    os::unix::fs::{FileTypeExt as _, MetadataExt as _},
    path::{Path, PathBuf},
};

/// The files that git reads in every folder.
const READ_BY_GIT: [&str; 2] = [".gitignore", ".gitattributes"];
/// Git's own folder is not a part of the result, and is never looked into.
const GIT_DIR: &str = ".git";

/// The first of these files that is neither a file nor a link nor a folder, relative to `clone`. No link is followed, and a folder that
/// must not be opened is passed over: the capture says whether that matters.
///
/// # Errors
/// A folder cannot be listed.
pub(super) fn stuck_ignore_file(clone: &Path) -> io::Result<Option<PathBuf>> {
    let mut folders = vec![PathBuf::new()];
    while let Some(folder) = folders.pop() {
        let entries = match std::fs::read_dir(clone.join(&folder)) {
            Err(error) if error.kind() == ErrorKind::PermissionDenied => continue,
            entries => entries?,
        };
        for entry in entries {
            let entry = entry?;
            let (kind, path) = (entry.file_type()?, folder.join(entry.file_name()));
            let is_git_dir = entry.file_name() == GIT_DIR && folder.as_os_str().is_empty();
            if kind.is_dir() && !is_git_dir {
                folders.push(path);
            } else if READ_BY_GIT.iter().any(|name| entry.file_name() == *name) && holds_up(&entry)? {
                return Ok(Some(path));
            }
        }
    }
    Ok(None)
}

/// Whether opening it may wait for somebody. An overlay's mark of a file of the environment that was removed fails at once.
fn holds_up(entry: &DirEntry) -> io::Result<bool> {
    let kind = entry.file_type()?;
    let is_mark = kind.is_char_device() && entry.metadata()?.rdev() == 0;
    Ok(!kind.is_file() && !kind.is_symlink() && !kind.is_dir() && !is_mark)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_socket_in_place_of_a_file_that_git_reads_is_found_and_plain_ones_are_not() {
        let temp = tempfile::tempdir().unwrap();
        std::fs::write(temp.path().join(".gitattributes"), "x").unwrap();
        std::fs::create_dir_all(temp.path().join("a/b")).unwrap();
        std::fs::write(temp.path().join(".gitignore"), "x").unwrap();
        std::os::unix::fs::symlink("/", temp.path().join("a/link")).unwrap();
        assert_eq!(stuck_ignore_file(temp.path()).unwrap(), None);
        let socket = std::os::unix::net::UnixListener::bind(temp.path().join("a/b/.gitignore")).unwrap();
        assert_eq!(stuck_ignore_file(temp.path()).unwrap(), Some("a/b/.gitignore".into()));
        drop(socket);
        std::fs::remove_file(temp.path().join("a/b/.gitignore")).unwrap();
        let socket = std::os::unix::net::UnixListener::bind(temp.path().join("a/.gitattributes")).unwrap();
        assert_eq!(stuck_ignore_file(temp.path()).unwrap(), Some("a/.gitattributes".into()));
        drop(socket);
    }
}
