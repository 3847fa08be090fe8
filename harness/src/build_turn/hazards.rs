//! What a program can leave in its clone that would hold up its readers.
//!
//! Git opens ignore files to read them, and opening a pipe waits for a writer that never comes.

use std::{
    io,
    path::{Path, PathBuf},
};

/// The file that git reads in every folder.
const IGNORE_FILE: &str = ".gitignore";
/// Git's own folder is not a part of the result, and is never looked into.
const GIT_DIR: &str = ".git";

/// The first ignore file that is neither a file nor a link nor a folder, relative to `clone`. No link is followed.
///
/// # Errors
/// A folder cannot be listed.
pub(super) fn stuck_ignore_file(clone: &Path) -> io::Result<Option<PathBuf>> {
    let mut folders = vec![PathBuf::new()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(clone.join(&folder))? {
            let entry = entry?;
            let (kind, path) = (entry.file_type()?, folder.join(entry.file_name()));
            let is_git_dir = entry.file_name() == GIT_DIR && folder.as_os_str().is_empty();
            if kind.is_dir() && !is_git_dir {
                folders.push(path);
            } else if entry.file_name() == IGNORE_FILE && !kind.is_file() && !kind.is_symlink() && !kind.is_dir() {
                return Ok(Some(path));
            }
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_socket_in_place_of_an_ignore_file_is_found_and_plain_ones_are_not() {
        let temp = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(temp.path().join("a/b")).unwrap();
        std::fs::write(temp.path().join(".gitignore"), "x").unwrap();
        std::os::unix::fs::symlink("/", temp.path().join("a/link")).unwrap();
        assert_eq!(stuck_ignore_file(temp.path()).unwrap(), None);
        let socket = std::os::unix::net::UnixListener::bind(temp.path().join("a/b/.gitignore")).unwrap();
        assert_eq!(stuck_ignore_file(temp.path()).unwrap(), Some("a/b/.gitignore".into()));
        drop(socket);
    }
}
