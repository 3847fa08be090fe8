//! Named pipes: a way into the sandbox where a program may make no sockets.

use std::path::Path;

use nix::sys::stat::Mode;
use nix::unistd::mkfifo;

/// Makes a named pipe that only this user may open.
///
/// # Errors
/// Something is there already, or the file system refuses.
pub fn make(path: &Path) -> std::io::Result<()> {
    Ok(mkfifo(path, Mode::S_IRUSR | Mode::S_IWUSR)?)
}
