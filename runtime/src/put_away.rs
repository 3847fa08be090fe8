//! Removing folders with many files without waiting for it.

use std::{io, path::Path, time::Duration};

use holdpoint_sandbox::tree::remove_tree;

use crate::fresh;

/// How the name of a folder begins that is being removed.
pub const GONE: &str = ".gone-";
/// Tries to remove a folder: a program that is being ended may still write for a moment.
const REMOVE_TRIES: u32 = 50;
/// The pause between two of them.
const REMOVE_PAUSE: Duration = Duration::from_millis(100);

/// The folder is gone at once, so that nobody finds what is left of it; its files are removed by a thread,
/// because that may take long. A folder that is not there is gone already. Anything left when the process ends has a
/// name that begins with [`GONE`] and is next to it.
///
/// # Errors
/// The folder cannot be renamed, or the system gives no thread.
pub fn put_away(dir: &Path) -> io::Result<()> {
    let gone = dir.with_file_name(format!("{GONE}{}", fresh::suffix()));
    match std::fs::rename(dir, &gone) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        renamed => renamed?,
    }
    std::thread::Builder::new().name("put-away".to_owned()).spawn(move || remove_patiently(&gone)).map(drop)
}

fn remove_patiently(dir: &Path) {
    for _ in 1..REMOVE_TRIES {
        match remove_tree(dir) {
            Ok(()) => return,
            Err(_) => std::thread::sleep(REMOVE_PAUSE),
        }
    }
    if let Err(error) = remove_tree(dir) {
        tracing::warn!(dir = %dir.display(), %error, "cannot remove files that nobody needs: the next start does");
    }
}
