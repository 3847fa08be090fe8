//! Finding a program in `PATH` before it is started.
//!
//! The standard library starts a program by its path without a copy of this process's page tables (`posix_spawn`). For a
//! bare name in a changed environment it forks, which costs the more the larger the process is.

use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Bits of a file's mode that let anybody execute it.
const EXECUTE: u32 = 0o111;

/// The file that `program` names: itself if it has a slash, else the first executable file of that name in a folder of
/// `path`, which is like the variable `PATH`.
pub(crate) fn find(program: &OsStr, path: &OsStr) -> Option<PathBuf> {
    let program = Path::new(program);
    if program.components().count() > 1 {
        return Some(program.to_owned());
    }
    std::env::split_paths(path).map(|dir| dir.join(program)).find(|file| is_executable(file))
}

/// As [`find`], for starting it. What has no absolute path is left as it is, to be looked up where it is started.
pub(crate) fn to_start(program: &OsStr, path: &OsStr) -> PathBuf {
    find(program, path).filter(|file| file.is_absolute()).unwrap_or_else(|| PathBuf::from(program))
}

fn is_executable(file: &Path) -> bool {
    file.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & EXECUTE != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_looked_up_among_what_can_be_executed_and_a_path_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let [first, second] = ["first", "second"].map(|name| dir.path().join(name));
        for (folder, mode) in [(&first, 0o644), (&second, 0o755)] {
            std::fs::create_dir(folder).unwrap();
            std::fs::write(folder.join("tool"), "").unwrap();
            std::fs::set_permissions(folder.join("tool"), std::fs::Permissions::from_mode(mode)).unwrap();
        }
        let path = std::env::join_paths([&first, &second]).unwrap();
        assert_eq!(to_start(OsStr::new("tool"), &path), second.join("tool"));
        assert_eq!(to_start(OsStr::new("./tool"), &path), Path::new("./tool"));
        assert_eq!(to_start(OsStr::new("other"), &path), Path::new("other"));
        assert_eq!(
            to_start(OsStr::new("sh"), OsStr::new("bin")),
            Path::new("sh"),
            "a relative folder is another one there"
        );
    }
}
