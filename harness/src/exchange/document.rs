//! The document of a gate, as a program leaves it in its folder (DOC-6).

use std::{fs::OpenOptions, io::Read, os::unix::fs::OpenOptionsExt, path::Path};

use holdpoint_protocol::checkpoint::DOCUMENT_BYTES_MAX;
use rustix::fs::OFlags;

/// What a program wrote there, with a replacement for what is no text; `None`: there is no regular file. Of one that is too
/// large a byte more than may be, so that its reader says so.
#[must_use]
pub fn written(file: &Path) -> Option<String> {
    // The program owns the folder: no link is followed, and nothing is waited for.
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(file).ok()?;
    file.metadata().ok().filter(std::fs::Metadata::is_file)?;
    let mut bytes = Vec::new();
    file.take(DOCUMENT_BYTES_MAX as u64 + 1).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}
