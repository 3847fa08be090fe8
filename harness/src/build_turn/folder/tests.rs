//! The folders of turns, and what stays of them.

use std::{fs::Permissions, os::unix::fs::PermissionsExt};

use super::*;

fn create(folders: &TurnFolders) -> TurnFolder {
    folders.create(&"f1".parse().unwrap(), &"w1".parse().unwrap()).unwrap()
}

#[tokio::test]
async fn a_turns_folder_goes_with_it_whatever_was_done_to_it() {
    let temp = tempfile::tempdir().unwrap();
    let folders = TurnFolders::open(&temp.path().join("turns")).await.unwrap();
    let folder = create(&folders);
    let locked = folder.scratch().join("a/b");
    std::fs::create_dir_all(&locked).unwrap();
    std::fs::write(locked.join("file"), "x").unwrap();
    std::fs::set_permissions(&locked, Permissions::from_mode(0o000)).unwrap();
    let root = folder.input().parent().unwrap().to_owned();
    drop(folder);
    assert!(!root.exists());
    let deadline = Instant::now() + Duration::from_secs(30);
    while std::fs::read_dir(root.parent().unwrap()).unwrap().count() > 1 {
        assert!(Instant::now() < deadline, "more is left than the lock");
        tokio::time::sleep(LOCK_PAUSE).await;
    }
}

#[tokio::test]
async fn what_a_crash_left_is_removed_at_start() {
    let temp = tempfile::tempdir().unwrap();
    let folders = TurnFolders::open(temp.path()).await.unwrap();
    let folder = create(&folders);
    let root = folder.input().parent().unwrap().to_owned();
    std::mem::forget(folder);
    drop(folders);
    TurnFolders::open(temp.path()).await.unwrap();
    assert!(!root.exists());
}

fn again(folders: &TurnFolders, waypoint: &str, begins_with: &str) -> TurnFolder {
    folders.create_again(&"f1".parse().unwrap(), &waypoint.parse().unwrap(), begins_with).unwrap()
}

/// A turn whose program was at work.
fn at_work(folders: &TurnFolders, waypoint: &str) -> TurnFolder {
    let folder = again(folders, waypoint, "base");
    make(&folder.clone_dir()).unwrap();
    std::fs::write(folder.clone_dir().join("half"), waypoint).unwrap();
    folder.begin("base").unwrap();
    folder
}

#[tokio::test]
async fn of_an_interrupted_turn_the_clone_stays_for_one_that_starts_from_the_same() {
    let temp = tempfile::tempdir().unwrap();
    for (waypoint, crashes) in [("w2", false), ("w3", true)] {
        let folders = TurnFolders::open(temp.path()).await.unwrap();
        let folder = at_work(&folders, waypoint);
        assert!(folder.left().is_none());
        let own = folder.own();
        if crashes {
            std::mem::forget(folder);
        } else {
            drop(folder);
        }
        drop(folders);
        let folders = TurnFolders::open(temp.path()).await.unwrap();
        assert!(!own.exists(), "nothing else stays");
        let next = again(&folders, waypoint, "base");
        assert_eq!(std::fs::read_to_string(next.left().unwrap().join("half")).unwrap(), waypoint);
        drop(next);
        assert!(again(&folders, waypoint, "base").left().is_some(), "one that did not even begin costs nothing");
    }
    let folders = TurnFolders::open(temp.path()).await.unwrap();
    drop(at_work(&folders, "w1"));
    assert!(again(&folders, "w1", "another base").left().is_none());
    let ended = at_work(&folders, "w1");
    ended.over();
    drop(ended);
    assert!(again(&folders, "w1", "base").left().is_none());
}

#[tokio::test]
async fn clones_of_few_interrupted_turns_are_kept() {
    let temp = tempfile::tempdir().unwrap();
    let folders = TurnFolders::open(temp.path()).await.unwrap();
    for n in 0..=LEFT_MAX {
        drop(at_work(&folders, &format!("w{n}")));
        let left = temp.path().join(format!("f1~w{n}/left"));
        let time = std::time::SystemTime::UNIX_EPOCH + Duration::from_secs(n as u64);
        File::open(left).unwrap().set_modified(time).unwrap();
    }
    drop(again(&folders, "other", "base"));
    let left = (0..=LEFT_MAX).filter(|n| temp.path().join(format!("f1~w{n}/left")).exists());
    assert_eq!(left.collect::<Vec<_>>(), (1..=LEFT_MAX).collect::<Vec<_>>());
}

#[test]
fn only_a_full_disk_is_a_lack_of_room() {
    let error = |kind: io::ErrorKind| AgentFolderError::Io { path: PathBuf::from("turns"), source: kind.into() };
    assert!(error(io::ErrorKind::StorageFull).lacks_room() && error(io::ErrorKind::QuotaExceeded).lacks_room());
    assert!(!error(io::ErrorKind::PermissionDenied).lacks_room());
    assert!(!AgentFolderError::InUse { dir: PathBuf::from("turns") }.lacks_room());
}

#[tokio::test]
async fn two_agents_do_not_share_a_folder() {
    let temp = tempfile::tempdir().unwrap();
    let _first = TurnFolders::open(temp.path()).await.unwrap();
    let second = TurnFolders::open_within(temp.path(), 2 * LOCK_PAUSE).await;
    assert!(matches!(second, Err(AgentFolderError::InUse { .. })));
}
