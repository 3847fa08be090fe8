use std::path::{Path, PathBuf};

use super::{Grant, Kind, Layout};
use crate::error::SandboxError;
use crate::profile::{Network, Profile, RunLimits, ShownTree};

fn at(tree: &Path, at: impl AsRef<Path>) -> ShownTree {
    ShownTree { tree: tree.to_owned(), at: at.as_ref().to_owned(), over: None }
}

fn profile(read: &[&Path], write: &[&Path], deny: &[&Path]) -> Profile {
    let own = |paths: &[&Path]| paths.iter().map(|path| path.to_path_buf()).collect();
    Profile {
        read: own(read),
        write: own(write),
        deny: own(deny),
        network: Network::Loopback,
        limits: RunLimits::default(),
    }
}

fn tree() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().canonicalize().unwrap();
    for folder in ["a/secret/open", "a/plain", "b"] {
        std::fs::create_dir_all(root.join(folder)).unwrap();
    }
    std::os::unix::fs::symlink(root.join("a/secret"), root.join("a/link")).unwrap();
    (dir, root)
}

fn kind_of(layout: &Layout, path: &Path) -> Option<Kind> {
    layout.grants.iter().find(|grant| grant.path == path).map(|grant| grant.kind)
}

#[test]
fn tree_with_something_denied_is_replaced_by_its_other_children() {
    let (_dir, root) = tree();
    let layout = Layout::of(&profile(&[&root.join("a")], &[], &[&root.join("a/secret")]), false).unwrap();
    let ours: Vec<_> = layout.rules.read.iter().filter(|path| path.starts_with(&root)).collect();
    assert_eq!(ours, [&root.join("a/plain")]);
}

#[test]
fn deeper_grant_opens_a_part_of_what_is_denied() {
    let (_dir, root) = tree();
    let open = root.join("a/secret/open");
    let layout = Layout::of(&profile(&[&root.join("a")], &[&open], &[&root.join("a/secret")]), true).unwrap();
    let order: Vec<_> = layout.grants.iter().filter(|grant| grant.path.starts_with(&root)).map(|g| g.kind).collect();
    assert_eq!(order, [Kind::Read, Kind::Hidden, Kind::Write]);
}

#[test]
fn denied_wins_over_a_grant_of_the_same_path() {
    let (_dir, root) = tree();
    let layout = Layout::of(&profile(&[&root.join("a"), &root], &[], &[&root.join("a")]), true).unwrap();
    assert_eq!(kind_of(&layout, &root.join("a")), Some(Kind::Hidden));
}

#[test]
fn denied_path_behind_a_link_is_denied_where_it_is() {
    let (_dir, root) = tree();
    let layout = Layout::of(&profile(&[&root], &[], &[&root.join("a/link")]), true).unwrap();
    assert_eq!(kind_of(&layout, &root.join("a/secret")), Some(Kind::Hidden));
}

#[test]
fn right_taken_back_below_a_writable_tree_is_noticed() {
    let (_dir, root) = tree();
    let a = root.join("a");
    assert!(Layout::of(&profile(&[], &[&root], &[&a]), true).unwrap().takes_back_below_write());
    assert!(Layout::of(&profile(&[&a], &[&root], &[]), true).unwrap().takes_back_below_write());
    assert!(!Layout::of(&profile(&[&root], &[&a], &[]), true).unwrap().takes_back_below_write());
}

#[test]
fn paths_that_cannot_be_meant_are_refused() {
    for path in ["relative", "/", "/usr/../root"] {
        let error = Layout::of(&profile(&[Path::new(path)], &[], &[]), true).unwrap_err();
        assert!(matches!(error, SandboxError::BadPath { .. }), "{path}");
    }
    let error = Layout::of(&profile(&[], &[Path::new("/no/such/place")], &[]), true).unwrap_err();
    assert!(matches!(error, SandboxError::BadPath { problem: "does not exist", .. }));
}

#[test]
fn readable_path_that_does_not_exist_is_left_out() {
    Layout::of(&profile(&[Path::new("/no/such/place")], &[], &[Path::new("/nor/this")]), true).unwrap();
}

#[test]
fn tree_is_shown_at_one_path_and_what_is_denied_in_it_with_it() {
    let (_dir, root) = tree();
    let (a, shown) = (root.join("a"), Path::new("/hold/w1"));
    let profile = profile(&[&root], &[&a], &[&root.join("a/secret"), &root]);
    let layout = Layout::showing(&profile, true, &[at(&a, shown)]).unwrap();
    assert_eq!(kind_of(&layout, shown), Some(Kind::Write));
    assert_eq!(kind_of(&layout, &shown.join("secret")), Some(Kind::Hidden));
    assert!(kind_of(&layout, &a).is_none() && !layout.rules.write.contains(&a));
    assert!(layout.rules.write.contains(&shown.to_owned()));
    let grant = layout.grants.iter().find(|grant| grant.path == shown).unwrap();
    assert_eq!(grant.real(), a);
    let plain = Layout::showing(&profile, false, &[at(&a, shown)]).unwrap();
    assert_eq!(kind_of(&plain, &a), Some(Kind::Write), "without mounts it is where it is");
}

#[test]
fn tree_is_shown_in_another_one_that_is_shown_and_in_folders_that_are_the_programs_own() {
    let (_dir, root) = tree();
    let (a, b) = (root.join("a"), root.join("b"));
    let profile = profile(&[], &[&a, &b], &[]);
    let shown = [at(&a, "/tmp/w1"), at(&b, "/tmp/w1/deps")];
    let layout = Layout::showing(&profile, true, &shown).unwrap();
    let order: Vec<&Path> = layout.grants.iter().filter(|grant| grant.real.is_some()).map(Grant::real).collect();
    assert_eq!(order, [&a, &b], "the outer one first");
    assert!(Layout::showing(&profile, true, &[shown[1].clone(), shown[0].clone()]).is_err(), "not around another one");
}

#[test]
fn tree_is_shown_at_no_path_of_another_tree() {
    let (_dir, root) = tree();
    for shown in ["/usr/hold", "/", "hold/w1", "/hold/../etc"] {
        let layout = Layout::showing(&profile(&[], &[&root], &[]), true, &[at(&root, shown)]);
        assert!(matches!(layout, Err(SandboxError::BadPath { .. })), "{shown}");
    }
}
