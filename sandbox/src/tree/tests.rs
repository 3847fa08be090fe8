use std::{
    fs::{self, Permissions},
    os::unix::fs::{PermissionsExt as _, symlink},
    thread,
};

use super::*;

/// Deeper than any stack or path can be.
const DEEP: u32 = 30_000;
/// Enough for a few calls, and for nothing that grows with the depth of a tree.
const SMALL_STACK: usize = 128 * 1024;

/// Makes a chain of folders from the innermost outwards, as no path reaches its end.
fn chain(parent: &Path) -> PathBuf {
    let (inner, outer) = (parent.join("inner"), parent.join("outer"));
    fs::create_dir(&inner).unwrap();
    fs::write(inner.join("file"), "x").unwrap();
    for _ in 1..DEEP {
        fs::create_dir(&outer).unwrap();
        fs::rename(&inner, outer.join("d")).unwrap();
        fs::rename(&outer, &inner).unwrap();
    }
    inner
}

fn on_a_small_stack<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    thread::Builder::new().stack_size(SMALL_STACK).spawn(work).unwrap().join().unwrap()
}

fn is_empty(dir: &Path) -> bool {
    fs::read_dir(dir).unwrap().next().is_none()
}

fn close(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

#[test]
fn a_tree_deeper_than_stack_and_paths_is_removed() {
    let temp = tempfile::tempdir().unwrap();
    let chain = chain(temp.path());
    on_a_small_stack(move || remove_tree(&chain)).unwrap();
    assert!(is_empty(temp.path()));
}

#[test]
fn what_a_crash_left_is_removed_and_nothing_else() {
    let temp = tempfile::tempdir().unwrap();
    let holding = make_holding(temp.path()).unwrap();
    fs::rename(chain(temp.path()), holding.join("7")).unwrap();
    fs::create_dir(temp.path().join("other")).unwrap();
    let parent = temp.path().to_owned();
    on_a_small_stack(move || remove_leftovers(&parent)).unwrap();
    let left: Vec<_> = fs::read_dir(temp.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["other"]);
}

#[test]
fn a_wide_tree_of_files_and_folders_is_removed() {
    let temp = tempfile::tempdir().unwrap();
    let tree = temp.path().join("tree");
    for folder in 0..40 {
        let folder = tree.join(format!("a/{folder}/b"));
        fs::create_dir_all(&folder).unwrap();
        for file in 0..20 {
            fs::write(folder.join(file.to_string()), "x").unwrap();
        }
    }
    remove_tree(&tree).unwrap();
    assert!(is_empty(temp.path()));
}

#[test]
fn folders_without_rights_are_removed() {
    let temp = tempfile::tempdir().unwrap();
    let tree = temp.path().join("tree");
    fs::create_dir_all(tree.join("a/b/c")).unwrap();
    fs::write(tree.join("a/b/file"), "x").unwrap();
    for (folder, mode) in [("a/b/c", 0o000), ("a/b", 0o500), ("a", 0o000), ("", 0o500)] {
        close(&tree.join(folder), mode);
    }
    remove_tree(&tree).unwrap();
    assert!(is_empty(temp.path()));
}

#[test]
fn links_are_unlinked_and_what_they_point_to_stays_as_it_is() {
    let temp = tempfile::tempdir().unwrap();
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("file"), "x").unwrap();
    close(outside.path(), 0o755);
    let tree = temp.path().join("tree");
    fs::create_dir(&tree).unwrap();
    symlink(outside.path(), tree.join("folder")).unwrap();
    symlink("nowhere", tree.join("broken")).unwrap();
    let link = temp.path().join("link");
    symlink(outside.path(), &link).unwrap();
    remove_tree(&tree).unwrap();
    remove_tree(&link).unwrap();
    assert!(is_empty(temp.path()));
    assert!(outside.path().join("file").exists());
    assert_eq!(outside.path().metadata().unwrap().permissions().mode() & 0o777, 0o755);
}

#[test]
fn a_link_that_takes_a_folders_place_while_it_moves_is_not_entered() {
    let temp = tempfile::tempdir().unwrap();
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("file"), "x").unwrap();
    close(outside.path(), 0o755);
    let link = temp.path().join("link");
    symlink(outside.path(), &link).unwrap();
    let mut removal = Removal::begin(temp.path()).unwrap();
    removal.hold(&link);
    let number = removal.waiting.pop().unwrap();
    removal.empty(number);
    removal.end(&link).unwrap();
    assert!(is_empty(temp.path()));
    assert!(outside.path().join("file").exists());
    assert_eq!(outside.path().metadata().unwrap().permissions().mode() & 0o777, 0o755);
}

#[test]
fn what_cannot_be_removed_is_where_it_was_and_goes_the_next_time() {
    let temp = tempfile::tempdir().unwrap();
    let tree = temp.path().join("tree");
    fs::create_dir_all(tree.join("sub")).unwrap();
    let mut removal = Removal::begin(temp.path()).unwrap();
    removal.hold(&tree);
    // As if a program that still runs had written it.
    fs::write(removal.holding.join("late"), "x").unwrap();
    while let Some(number) = removal.waiting.pop() {
        removal.empty(number);
    }
    assert_eq!(removal.end(&tree).unwrap_err().kind(), ErrorKind::DirectoryNotEmpty);
    assert!(tree.join("late").exists());
    remove_tree(&tree).unwrap();
    assert!(is_empty(temp.path()));
}

#[test]
fn a_file_is_removed_and_what_is_missing_is_gone_already() {
    let temp = tempfile::tempdir().unwrap();
    let file = temp.path().join("file");
    fs::write(&file, "x").unwrap();
    remove_tree(&file).unwrap();
    assert!(!file.exists());
    remove_tree(&file).unwrap();
    remove_leftovers(&file).unwrap();
}

#[test]
fn folders_are_put_apart_where_the_file_system_knows_how() {
    let dir = tempfile::tempdir().unwrap();
    spread(dir.path());
    spread(&dir.path().join("not there"));
    std::fs::create_dir(dir.path().join("made")).unwrap();
    let ext4 = nix::sys::statfs::statfs(dir.path()).unwrap().filesystem_type() == nix::sys::statfs::EXT4_SUPER_MAGIC;
    let flags = |dir: &Path| rustix::fs::ioctl_getflags(std::fs::File::open(dir).unwrap()).unwrap_or(IFlags::empty());
    assert!(flags(dir.path()).contains(IFlags::TOPDIR) || !ext4);
    assert!(!flags(&dir.path().join("made")).contains(IFlags::TOPDIR), "what is in them stays together");
}
