//! What is in a working tree and can be in no commit: pipes, sockets, devices.

use std::collections::{BTreeSet, HashSet};
use std::fs::FileType;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use crate::droppings::cache_of;
use crate::tree::TreeEntry;

/// So many are listed.
const LISTED_MAX: usize = 200;
/// A folder that has this is a repository, and none of it is looked at.
const GIT_DIR: &str = ".git";

/// What the files are that are no such thing as a commit holds and that the base does not have, by path. No link is followed, no
/// repository and no cache looked into.
pub(super) fn files(dir: &Path, base: &[TreeEntry], caches: &BTreeSet<Vec<u8>>) -> Vec<(Vec<u8>, &'static str)> {
    let known: HashSet<&[u8]> = base.iter().map(|entry| entry.path.as_bytes()).collect();
    let (mut folders, mut found) = (vec![PathBuf::new()], Vec::new());
    while let Some(folder) = folders.pop() {
        let is_root = folder.as_os_str().is_empty();
        if !is_root && dir.join(&folder).join(GIT_DIR).symlink_metadata().is_ok() {
            continue;
        }
        for entry in std::fs::read_dir(dir.join(&folder)).into_iter().flatten().flatten() {
            let (Ok(kind), path) = (entry.file_type(), folder.join(entry.file_name())) else { continue };
            if kind.is_dir() && !(is_root && entry.file_name() == GIT_DIR) {
                folders.push(path);
            } else if let Some(what) = special(kind) {
                let path = path.into_os_string().into_vec();
                let is_new = !known.contains(path.as_slice()) && cache_of(caches, &path).is_none();
                found.extend(is_new.then_some((path, what)));
            }
        }
        if found.len() >= LISTED_MAX {
            break;
        }
    }
    found.sort();
    found.truncate(LISTED_MAX);
    found
}

fn special(kind: FileType) -> Option<&'static str> {
    if kind.is_fifo() {
        Some("a pipe")
    } else if kind.is_socket() {
        Some("a socket")
    } else if kind.is_block_device() || kind.is_char_device() {
        Some("a device")
    } else {
        None
    }
}
