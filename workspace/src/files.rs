//! Small file-system helpers with errors that name the path. No git here.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use crate::error::WorkspaceError;

/// Creates `dir` and what leads to it.
pub(crate) fn create_dir(dir: &Path) -> Result<(), WorkspaceError> {
    std::fs::create_dir_all(dir).map_err(WorkspaceError::io("create the folder", dir))
}

/// Copies a file.
pub(crate) fn copy(from: &Path, to: &Path) -> Result<(), WorkspaceError> {
    std::fs::copy(from, to).map(drop).map_err(WorkspaceError::io("copy", from))
}

/// Creates `dir`, or takes an empty one; gives its real path.
///
/// A folder that is not empty is refused: what is put into it has to be all there is.
pub(crate) fn create_fresh_dir(dir: &Path) -> Result<PathBuf, WorkspaceError> {
    create_dir(dir)?;
    let mut entries = std::fs::read_dir(dir).map_err(WorkspaceError::io("list", dir))?;
    if entries.next().is_some() {
        return Err(WorkspaceError::NotEmpty { dir: dir.to_owned() });
    }
    real_path(dir)
}

/// The absolute path of `path` without links.
pub(crate) fn real_path(path: &Path) -> Result<PathBuf, WorkspaceError> {
    path.canonicalize().map_err(WorkspaceError::io("find", path))
}

/// Writes a whole file.
pub(crate) fn write(path: &Path, bytes: impl AsRef<[u8]>) -> Result<(), WorkspaceError> {
    std::fs::write(path, bytes).map_err(WorkspaceError::io("write", path))
}

/// Appends to a file that is there.
pub(crate) fn append(path: &Path, bytes: &[u8]) -> Result<(), WorkspaceError> {
    let opened = std::fs::File::options().append(true).open(path);
    opened.and_then(|mut file| file.write_all(bytes)).map_err(WorkspaceError::io("write", path))
}

/// Opens something in a place that an agent could write: no link is followed, and nothing is waited for.
pub(crate) fn open_unfollowed(path: &Path) -> std::io::Result<File> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    File::options().read(true).custom_flags(flags).open(path)
}

/// The first bytes of a file in such a place; `None`: no file is there, or it cannot be read.
pub(crate) fn start_of(path: &Path, most: usize) -> Option<Vec<u8>> {
    let file = open_unfollowed(path).ok().filter(|file| file.metadata().is_ok_and(|found| found.is_file()))?;
    let mut bytes = Vec::new();
    file.take(most as u64).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}
