//! Reading the user's repository.

use holdpoint_workspace::{Error, Oid, UserRepo, require_git};

use crate::support::{Bench, bytes_of, commit_all, git, import, init, mirror_in, oid, path, put};

#[tokio::test]
async fn the_installed_git_will_do() {
    assert!(require_git().await.unwrap() >= holdpoint_workspace::GIT_FLOOR);
}

#[tokio::test]
async fn a_folder_without_repository_is_told_from_one_without_commits() {
    let temp = tempfile::tempdir().unwrap();
    assert!(matches!(UserRepo::open(temp.path()).await, Err(Error::NotARepository { .. })));
    assert!(matches!(UserRepo::open(&temp.path().join("absent")).await, Err(Error::NotARepository { .. })));
    init(temp.path()).await;
    assert!(matches!(UserRepo::open(temp.path()).await, Err(Error::NoCommits { .. })));
    commit_all(temp.path(), "first").await;
    UserRepo::open(temp.path()).await.unwrap();
}

#[tokio::test]
async fn an_unborn_branch_does_not_hide_the_commits_of_others() {
    let bench = Bench::new().await;
    git(&bench.repo, &["checkout", "--quiet", "--orphan", "fresh"]).await;
    let user = UserRepo::open(&bench.repo).await.unwrap();
    assert!(matches!(user.resolve("HEAD").await, Err(Error::UnknownRef { .. })));
    assert_eq!(user.resolve("main").await.unwrap(), bench.base);
}

#[tokio::test]
async fn names_resolve_to_commits_from_any_working_tree() {
    let bench = Bench::new().await;
    git(&bench.repo, &["tag", "-a", "-m", "a tag", "v1"]).await;
    git(&bench.repo, &["checkout", "--quiet", "--detach"]).await;
    put(&bench.repo, "src/new.txt", "new\n");
    commit_all(&bench.repo, "detached").await;
    let user = UserRepo::open(&bench.repo.join("src")).await.unwrap();
    assert_eq!(user.resolve("v1").await.unwrap(), bench.base);
    assert_eq!(user.resolve("HEAD~1").await.unwrap(), bench.base);
    assert_eq!(user.resolve("HEAD").await.unwrap(), oid(&bench.repo, "HEAD").await);
    let linked = bench.path("linked");
    git(&bench.repo, &["worktree", "add", "--quiet", linked.to_str().unwrap(), "main"]).await;
    let other = UserRepo::open(&linked).await.unwrap();
    assert_eq!(other.resolve("HEAD").await.unwrap(), bench.base);
    assert_eq!(other.git_dir(), user.git_dir());
    for name in ["nothing", "--all", "", "HEAD:src", "main..v1"] {
        assert!(matches!(user.resolve(name).await, Err(Error::UnknownRef { .. })), "{name}");
    }
}

#[tokio::test]
async fn files_are_read_from_commits_and_not_from_the_working_tree() {
    let bench = Bench::new().await;
    put(&bench.repo, "src/lib.txt", "changed since\n");
    let user = UserRepo::open(&bench.repo.join("tests")).await.unwrap();
    let text = user.file_at(&bench.base, &path("src/lib.txt"), 1000).await.unwrap().unwrap();
    assert!(text.starts_with(b"one\n"));
    for absent in ["src", "link", "nothing", "src/*.txt"] {
        assert_eq!(user.file_at(&bench.base, &path(absent), 1000).await.unwrap(), None, "{absent}");
    }
    let over = user.file_at(&bench.base, &path("src/lib.txt"), 3).await;
    assert!(matches!(over, Err(Error::BlobOverCap { cap: 3, .. })));
}

#[tokio::test]
async fn a_snapshot_has_the_history_and_changes_nothing() {
    let bench = Bench::new().await;
    put(&bench.repo, "src/more.txt", "more\n");
    commit_all(&bench.repo, "second").await;
    let before = bytes_of(&bench.repo);
    let user = UserRepo::open(&bench.repo).await.unwrap();
    let head = user.resolve("HEAD").await.unwrap();
    let bundle = user.snapshot(&head, &bench.path("two.bundle")).await.unwrap();
    let again = user.snapshot(&head, &bench.path("again.bundle")).await.unwrap();
    assert_eq!(std::fs::read(&bundle.path).unwrap(), std::fs::read(&again.path).unwrap());
    assert_eq!(bundle.ref_name, crate::support::SNAPSHOT);
    let mirror = mirror_in(&bench.path("second-mirror")).await;
    assert_eq!(import(&mirror, &bundle, None).await.unwrap(), head);
    assert_eq!(mirror.parents(&head).await.unwrap(), std::slice::from_ref(&bench.base));
    assert!(mirror.has(&bench.base).await.unwrap());
    assert_eq!(before, bytes_of(&bench.repo));
}

#[tokio::test]
async fn a_shallow_clone_is_refused_with_a_reason() {
    let bench = Bench::new().await;
    commit_all(&bench.repo, "second").await;
    let url = format!("file://{}", bench.repo.display());
    let shallow = bench.path("shallow");
    git(bench.temp.path(), &["clone", "--quiet", "--depth=1", &url, shallow.to_str().unwrap()]).await;
    let user = UserRepo::open(&shallow).await.unwrap();
    let head: Oid = user.resolve("HEAD").await.unwrap();
    assert!(matches!(user.snapshot(&head, &bench.path("no.bundle")).await, Err(Error::Shallow { .. })));
}

#[tokio::test]
async fn programs_the_repository_names_do_not_run() {
    let bench = Bench::new().await;
    let canary = bench.path("canary");
    let script = format!("#!/bin/sh\ntouch '{}'\n", canary.display());
    for hook in ["reference-transaction", "post-checkout", "post-index-change"] {
        put(&bench.repo, &format!(".git/hooks/{hook}"), &script);
        executable_in(&bench, &format!(".git/hooks/{hook}"));
    }
    put(&bench.repo, ".git/monitor", &script);
    executable_in(&bench, ".git/monitor");
    let monitor = bench.repo.join(".git/monitor");
    git(&bench.repo, &["config", "core.fsmonitor", monitor.to_str().unwrap()]).await;
    git(&bench.repo, &["config", "core.pager", monitor.to_str().unwrap()]).await;
    let _ = std::fs::remove_file(&canary);
    let user = UserRepo::open(&bench.repo).await.unwrap();
    let head = user.resolve("HEAD").await.unwrap();
    user.file_at(&head, &path("run.sh"), 1000).await.unwrap();
    user.branch_state("main").await.unwrap();
    user.snapshot(&head, &bench.path("quiet.bundle")).await.unwrap();
    assert!(!canary.exists());
}

fn executable_in(bench: &Bench, name: &str) {
    crate::support::executable(&bench.repo.join(name));
}
