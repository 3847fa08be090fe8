//! What a run left in a tree: in the folder that took its changes over others, or in a copy that was made for it.

use std::{
    collections::BTreeSet,
    fs::{self, Metadata},
    io,
    os::unix::fs::{FileTypeExt as _, MetadataExt as _},
    path::{Path, PathBuf},
};

use holdpoint_evidence::environment::{NEW_PATHS_MAX, Touched};

/// The mark of a folder that hides the one below it (overlayfs), where users' attributes are used.
const OPAQUE: &str = "user.overlay.opaque";

/// What is in a folder that took changes: files, folders in place of others, and marks of what was removed.
///
/// # Errors
/// A folder cannot be listed.
pub fn over(changes: &Path) -> io::Result<Vec<Touched>> {
    walk(changes, |path, found| {
        let is_gone = found.file_type().is_char_device() && found.rdev() == 0;
        if found.is_dir() { is_opaque(path).then_some(true) } else { Some(is_gone) }
    })
}

/// What in a copy was changed after this time of change (nanoseconds since 1970), or of `there` is not there any more.
///
/// # Errors
/// A folder cannot be listed.
pub fn since(copy: &Path, time: i128, there: &BTreeSet<&str>) -> io::Result<Vec<Touched>> {
    let mut touched = walk(copy, |_, found| (!found.is_dir() && changed_at(found) > time).then_some(false))?;
    let gone = there.iter().filter(|path| copy.join(path).symlink_metadata().is_err());
    touched.extend(gone.map(|path| Touched { path: (*path).to_owned(), with_all_below: true }));
    Ok(touched)
}

/// When a file was changed last; nobody can set that.
#[must_use]
pub fn changed_at(found: &Metadata) -> i128 {
    i128::from(found.ctime()) * 1_000_000_000 + i128::from(found.ctime_nsec())
}

/// Every entry of which `is_touched` says something: whether all below it is meant. No link is followed.
fn walk(root: &Path, is_touched: impl Fn(&Path, &Metadata) -> Option<bool>) -> io::Result<Vec<Touched>> {
    let (mut touched, mut folders) = (Vec::new(), vec![PathBuf::new()]);
    while let Some(folder) = folders.pop() {
        let entries = match fs::read_dir(root.join(&folder)) {
            // A program closed it, and nothing below it was looked at by others either.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => continue,
            entries => entries?,
        };
        for entry in entries {
            let entry = entry?;
            let (found, path) = (entry.metadata()?, folder.join(entry.file_name()));
            if let Some(with_all_below) = is_touched(&entry.path(), &found) {
                touched.push(Touched { path: path.to_string_lossy().into_owned(), with_all_below });
            }
            if touched.len() >= NEW_PATHS_MAX {
                return Ok(touched);
            }
            if found.is_dir() {
                folders.push(path);
            }
        }
    }
    Ok(touched)
}

fn is_opaque(folder: &Path) -> bool {
    let mut value = [0; 1];
    matches!(rustix::fs::lgetxattr(folder, OPAQUE, &mut value[..]), Ok(1) if value == *b"y")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_shows_what_was_changed_in_it_made_and_removed() {
        let temp = tempfile::tempdir().unwrap();
        let put = |name: &str| fs::write(temp.path().join(name), name).unwrap();
        fs::create_dir(temp.path().join("d")).unwrap();
        for name in ["kept", "changed", "gone", "d/kept"] {
            put(name);
        }
        let time = changed_at(&temp.path().join("d/kept").metadata().unwrap());
        while changed_at(&tempfile::tempfile().unwrap().metadata().unwrap()) <= time {}
        put("changed");
        put("d/new");
        fs::remove_file(temp.path().join("gone")).unwrap();
        let tracked = BTreeSet::from(["kept", "changed", "gone", "d/kept"]);
        let mut touched = since(temp.path(), time, &tracked).unwrap();
        touched.sort();
        let found: Vec<(&str, bool)> = touched.iter().map(|t| (t.path.as_str(), t.with_all_below)).collect();
        assert_eq!(found, [("changed", false), ("d/new", false), ("gone", true)]);
        assert!(over(temp.path()).unwrap().iter().all(|touched| !touched.with_all_below), "folders say nothing alone");
    }
}
