//! Writing files that people name: none of theirs is written over unless they want it.

use std::{
    fs,
    io::{self, Write as _},
    path::Path,
};

use crate::failure::Failure;

/// The short word of a file that is there.
pub(crate) const EXISTS: &str = "exists";

/// Refuses a place where something is, unless it may be written over.
pub(crate) fn check(path: &Path, force: bool) -> Result<(), Failure> {
    if !force && path.symlink_metadata().is_ok() { Err(exists(path)) } else { Ok(()) }
}

/// Writes a file.
pub(crate) fn write(path: &Path, bytes: &[u8], force: bool) -> Result<(), Failure> {
    let mut options = fs::OpenOptions::new();
    options.write(true).create(true).truncate(true).create_new(!force);
    let written = options.open(path).and_then(|mut file| file.write_all(bytes));
    written.map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => exists(path),
        _ => Failure::environment(
            "cannot_write",
            format!("cannot write {}: {error}", path.display()),
            "--out FILE names another place",
        ),
    })
}

fn exists(path: &Path) -> Failure {
    let message = format!("{} is there already", path.display());
    Failure::usage(EXISTS, message, "--force writes over it; --out FILE names another place")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::Exit;

    #[test]
    fn a_file_that_is_there_is_not_written_over_unless_that_is_wanted() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("plan.yaml");
        check(&path, false).unwrap();
        write(&path, b"one", false).unwrap();
        for refused in [check(&path, false), write(&path, b"two", false)] {
            assert_eq!(refused.unwrap_err().exit(), Exit::Usage);
        }
        assert_eq!(fs::read_to_string(&path).unwrap(), "one");
        check(&path, true).unwrap();
        write(&path, b"3", true).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "3");
    }
}
