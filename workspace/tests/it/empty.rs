//! The repository without files.

use holdpoint_workspace::UserRepo;

#[tokio::test]
async fn a_repository_without_files_is_the_same_wherever_and_however_often_it_is_made() {
    let dir = tempfile::tempdir().unwrap();
    let (one, other) = (dir.path().join("one"), dir.path().join("other"));
    let made = UserRepo::empty(&one).await.unwrap();
    let head = made.resolve("HEAD").await.unwrap();
    assert_eq!(UserRepo::empty(&one).await.unwrap().resolve("HEAD").await.unwrap(), head);
    assert_eq!(UserRepo::empty(&other).await.unwrap().resolve("main").await.unwrap(), head);
    made.check_complete().unwrap();
    let bundle = made.snapshot(&head, &dir.path().join("snapshot.bundle")).await.unwrap();
    assert!(bundle.bytes > 0);
}

#[tokio::test]
async fn one_that_was_half_made_within_another_repository_is_completed() {
    let outer = tempfile::tempdir().unwrap();
    UserRepo::empty(&outer.path().join(".git")).await.unwrap();
    let inner = outer.path().join("state/void");
    std::fs::create_dir_all(inner.join("objects")).unwrap();
    let made = UserRepo::empty(&inner).await.unwrap();
    assert_eq!(made.git_dir(), inner.canonicalize().unwrap());
}
