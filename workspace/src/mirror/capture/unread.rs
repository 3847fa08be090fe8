//! Folders that git passed over because it could not open them: what is in them is not known, so no result is. Other things that git
//! warns about (an ignore file that is a link, or too large) make no difference to its listing.

use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The first folder below `dir` that cannot be opened and that git names in what it said. One that is ignored git does not open, and does
/// not name. No link is followed.
pub(super) fn folder(dir: &Path, said: &[u8]) -> Option<PathBuf> {
    closed(dir).into_iter().find(|folder| names(said, folder))
}

fn closed(dir: &Path) -> Vec<PathBuf> {
    let (mut folders, mut closed) = (vec![PathBuf::new()], Vec::new());
    while let Some(folder) = folders.pop() {
        match std::fs::read_dir(dir.join(&folder)) {
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(_) => closed.push(folder),
            Ok(entries) => {
                let inside = entries.flatten().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
                folders.extend(inside.map(|entry| folder.join(entry.file_name())));
            }
        }
    }
    closed.sort();
    closed
}

/// Whether the words have the folder's name as git quotes it.
fn names(said: &[u8], folder: &Path) -> bool {
    let quoted = [b"'", folder.as_os_str().as_bytes(), b"/'"].concat();
    said.windows(quoted.len()).any(|words| words == quoted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_folders_that_git_names_count() {
        let said = b"warning: could not open directory 'a/b/': Permission denied\nwarning: unable to access 'c/.gitignore': x\n";
        assert!(names(said, Path::new("a/b")));
        for other in ["a", "b", "c", "c/.gitignore"] {
            assert!(!names(said, Path::new(other)), "{other}");
        }
    }
}
