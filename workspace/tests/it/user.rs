//! Reading the user's repository.

use holdpoint_workspace::{
    BranchUpdate, ChangeSource, HANDOFF_REF, Import, InputLimits, Mirror, ObjectId, SNAPSHOT_REF, UserRepo,
    WorkspaceError, require_git,
};

use crate::support::{Workbench, bytes_of, commit_all, git, import, init, mirror_in, oid, path, put};

#[tokio::test]
async fn the_installed_git_will_do() {
    assert!(require_git().await.unwrap() >= holdpoint_workspace::GIT_FLOOR);
}

#[tokio::test]
async fn a_folder_without_repository_is_told_from_one_without_commits() {
    let temp = tempfile::tempdir().unwrap();
    assert!(matches!(UserRepo::open(temp.path()).await, Err(WorkspaceError::NotARepository { .. })));
    assert!(matches!(UserRepo::open(&temp.path().join("absent")).await, Err(WorkspaceError::NotARepository { .. })));
    init(temp.path()).await;
    assert!(matches!(UserRepo::open(temp.path()).await, Err(WorkspaceError::NoCommits { .. })));
    commit_all(temp.path(), "first").await;
    UserRepo::open(temp.path()).await.unwrap();
}

#[tokio::test]
async fn an_unborn_branch_does_not_hide_the_commits_of_others() {
    let workbench = Workbench::new().await;
    git(&workbench.repo, &["checkout", "--quiet", "--orphan", "fresh"]).await;
    let user = UserRepo::open(&workbench.repo).await.unwrap();
    assert!(matches!(user.resolve("HEAD").await, Err(WorkspaceError::UnknownRef { .. })));
    assert_eq!(user.resolve("main").await.unwrap(), workbench.base);
}

#[tokio::test]
async fn names_resolve_to_commits_from_any_working_tree() {
    let workbench = Workbench::new().await;
    git(&workbench.repo, &["tag", "-a", "-m", "a tag", "v1"]).await;
    git(&workbench.repo, &["checkout", "--quiet", "--detach"]).await;
    put(&workbench.repo, "src/new.txt", "new\n");
    commit_all(&workbench.repo, "detached").await;
    let user = UserRepo::open(&workbench.repo.join("src")).await.unwrap();
    assert_eq!(user.resolve("v1").await.unwrap(), workbench.base);
    assert_eq!(user.resolve("HEAD~1").await.unwrap(), workbench.base);
    assert_eq!(user.resolve("HEAD").await.unwrap(), oid(&workbench.repo, "HEAD").await);
    let linked = workbench.path("linked");
    git(&workbench.repo, &["worktree", "add", "--quiet", linked.to_str().unwrap(), "main"]).await;
    let other = UserRepo::open(&linked).await.unwrap();
    assert_eq!(other.resolve("HEAD").await.unwrap(), workbench.base);
    assert_eq!(other.git_dir(), user.git_dir());
    assert_eq!(user.working_tree().await.unwrap(), workbench.repo.canonicalize().ok());
    assert_eq!(other.working_tree().await.unwrap(), linked.canonicalize().ok());
    let bare = UserRepo::open(user.git_dir()).await.unwrap();
    assert_eq!(bare.working_tree().await.unwrap(), None);
    for name in ["nothing", "--all", "", "HEAD:src", "main..v1"] {
        assert!(matches!(user.resolve(name).await, Err(WorkspaceError::UnknownRef { .. })), "{name}");
    }
}

#[tokio::test]
async fn commits_besides_a_history_are_counted_wherever_they_are_named() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path();
    init(dir).await;
    put(dir, "a", "1\n");
    commit_all(dir, "first").await;
    put(dir, "a", "2\n");
    commit_all(dir, "second").await;
    let start = oid(dir, "HEAD").await;
    let beyond = async || UserRepo::open(dir).await.unwrap().commits_beyond(&start).await.unwrap();
    git(dir, &["branch", "old", "HEAD~1"]).await;
    assert_eq!(beyond().await, 0, "an older commit is in its history");
    git(dir, &["checkout", "--quiet", "--detach"]).await;
    put(dir, "a", "3\n");
    commit_all(dir, "on no branch").await;
    assert_eq!(beyond().await, 1);
    git(dir, &["tag", "kept"]).await;
    git(dir, &["checkout", "--quiet", "old"]).await;
    assert_eq!(beyond().await, 1, "its tag names it");
    put(dir, "a", "4\n");
    git(dir, &["stash", "--quiet"]).await;
    assert_eq!(beyond().await, 3, "a stash is two commits");
}

#[tokio::test]
async fn files_are_read_from_commits_and_not_from_the_working_tree() {
    let workbench = Workbench::new().await;
    put(&workbench.repo, "src/lib.txt", "changed since\n");
    let user = UserRepo::open(&workbench.repo.join("tests")).await.unwrap();
    let text = user.file_at(&workbench.base, &path("src/lib.txt"), 1000).await.unwrap().unwrap();
    assert!(text.starts_with(b"one\n"));
    assert_eq!(user.file_at(&workbench.base, &path("link"), 1000).await.unwrap().unwrap(), text, "a link is followed");
    for absent in ["src", "link/x", "nothing", "src/*.txt"] {
        assert_eq!(user.file_at(&workbench.base, &path(absent), 1000).await.unwrap(), None, "{absent}");
    }
    let listed = user.list_tree(&workbench.base).await.unwrap();
    let files: Vec<&str> = listed.iter().filter_map(|entry| entry.as_map_file().map(|file| file.path)).collect();
    assert!(files.contains(&"src/lib.txt") && !files.contains(&"link") && !files.contains(&"src"), "{files:?}");
    let over = user.file_at(&workbench.base, &path("src/lib.txt"), 3).await;
    assert!(matches!(over, Err(WorkspaceError::BlobOverCap { cap: 3, .. })));
}

#[tokio::test]
async fn a_repository_that_borrows_its_objects_is_read_and_written_like_any_other() {
    let workbench = Workbench::new().await;
    let borrower = workbench.path("borrower");
    let source = workbench.repo.to_str().unwrap();
    git(workbench.temp.path(), &["clone", "--quiet", "--shared", source, borrower.to_str().unwrap()]).await;
    let list = borrower.join(".git/objects/info/alternates");
    let lent = std::fs::read_to_string(&list).unwrap();
    // Git passes over what is gone, and so do we.
    std::fs::write(&list, format!("/nowhere/objects\n{lent}")).unwrap();
    let user = UserRepo::open(&borrower).await.unwrap();
    assert!(user.file_at(&workbench.base, &path("src/lib.txt"), 1000).await.unwrap().is_some());
    let work = workbench.commit(&workbench.base, &[("new.txt", Some("new\n"))]).await;
    let bundle = workbench.path("work.bundle");
    let bundle = workbench.mirror.thin_bundle(&workbench.base, &work, HANDOFF_REF, &bundle).await.unwrap();
    let update = BranchUpdate { ref_name: HANDOFF_REF, branch: "holdpoint/x", new: &work };
    user.import_branch(update, async |_| Ok::<_, WorkspaceError>(vec![bundle.path.clone()])).await.unwrap();
    assert_eq!(oid(&borrower, "holdpoint/x").await, work);
}

#[tokio::test]
async fn a_snapshot_has_the_history_and_changes_nothing() {
    let workbench = Workbench::new().await;
    put(&workbench.repo, "src/more.txt", "more\n");
    commit_all(&workbench.repo, "second").await;
    let before = bytes_of(&workbench.repo);
    let user = UserRepo::open(&workbench.repo).await.unwrap();
    let head = user.resolve("HEAD").await.unwrap();
    let bundle = user.snapshot(&head, &workbench.path("two.bundle")).await.unwrap();
    let again = user.snapshot(&head, &workbench.path("again.bundle")).await.unwrap();
    assert_eq!(std::fs::read(&bundle.path).unwrap(), std::fs::read(&again.path).unwrap());
    assert_eq!(bundle.ref_name, crate::support::SNAPSHOT);
    let mirror = mirror_in(&workbench.path("second-mirror")).await;
    assert_eq!(import(&mirror, &bundle, None).await.unwrap(), head);
    assert_eq!(mirror.parents(&head).await.unwrap(), std::slice::from_ref(&workbench.base));
    assert!(mirror.has(&workbench.base).await.unwrap());
    assert_eq!(before, bytes_of(&workbench.repo));
}

#[tokio::test]
async fn a_shallow_clone_is_refused_with_a_reason() {
    let workbench = Workbench::new().await;
    commit_all(&workbench.repo, "second").await;
    let url = format!("file://{}", workbench.repo.display());
    let shallow = workbench.path("shallow");
    git(workbench.temp.path(), &["clone", "--quiet", "--depth=1", &url, shallow.to_str().unwrap()]).await;
    let user = UserRepo::open(&shallow).await.unwrap();
    let head: ObjectId = user.resolve("HEAD").await.unwrap();
    assert!(matches!(user.snapshot(&head, &workbench.path("no.bundle")).await, Err(WorkspaceError::Shallow { .. })));
}

#[tokio::test]
async fn programs_the_repository_names_do_not_run() {
    let workbench = Workbench::new().await;
    let canary = workbench.path("canary");
    let script = format!("#!/bin/sh\ntouch '{}'\n", canary.display());
    for hook in ["reference-transaction", "post-checkout", "post-index-change"] {
        put(&workbench.repo, &format!(".git/hooks/{hook}"), &script);
        executable_in(&workbench, &format!(".git/hooks/{hook}"));
    }
    put(&workbench.repo, ".git/monitor", &script);
    executable_in(&workbench, ".git/monitor");
    let monitor = workbench.repo.join(".git/monitor");
    git(&workbench.repo, &["config", "core.fsmonitor", monitor.to_str().unwrap()]).await;
    git(&workbench.repo, &["config", "core.pager", monitor.to_str().unwrap()]).await;
    let _ = std::fs::remove_file(&canary);
    let user = UserRepo::open(&workbench.repo).await.unwrap();
    let head = user.resolve("HEAD").await.unwrap();
    user.file_at(&head, &path("run.sh"), 1000).await.unwrap();
    user.branch_state("main").await.unwrap();
    user.snapshot(&head, &workbench.path("quiet.bundle")).await.unwrap();
    assert!(!canary.exists());
}

fn executable_in(workbench: &Workbench, name: &str) {
    crate::support::executable(&workbench.repo.join(name));
}

#[tokio::test]
async fn a_change_is_two_commits_of_trees_and_writes_nothing_into_the_repository() {
    let workbench = Workbench::new().await;
    put(&workbench.repo, "src/new.txt", "new\n");
    commit_all(&workbench.repo, "work").await;
    let work = oid(&workbench.repo, "HEAD").await;
    let patch = git(&workbench.repo, &["diff", "HEAD~1"]).await + "\n";
    let user = UserRepo::open(&workbench.repo).await.unwrap();
    assert_eq!(user.merge_base(&work, &workbench.base).await.unwrap(), Some(workbench.base.clone()));
    let before = git(&workbench.repo, &["count-objects", "-v"]).await;
    let mut tips = Vec::new();
    for (n, source) in [ChangeSource::Commit(&work), ChangeSource::Patch(patch.as_bytes())].into_iter().enumerate() {
        let bundle = user.change(&workbench.base, source, &workbench.path(&format!("{n}.bundle"))).await.unwrap();
        let dir = workbench.path(&format!("m{n}"));
        let mirror = Mirror::open_or_create(&dir, user.object_format(), InputLimits::default()).await.unwrap();
        let tip = mirror.import(Import { bundle: &bundle.path, ref_name: SNAPSHOT_REF, base: None }).await.unwrap();
        let parents = mirror.parents(&tip).await.unwrap();
        assert_eq!(mirror.tree_of(&tip).await.unwrap(), oid(&workbench.repo, "HEAD^{tree}").await);
        assert_eq!(mirror.tree_of(&parents[0]).await.unwrap(), oid(&workbench.repo, "HEAD~1^{tree}").await);
        assert_eq!(mirror.parents(&parents[0]).await.unwrap(), []);
        tips.push(tip);
    }
    assert_eq!(tips[0], tips[1], "both are the same change");
    assert_eq!(git(&workbench.repo, &["count-objects", "-v"]).await, before);
    let refused = user.change(&work, ChangeSource::Patch(patch.as_bytes()), &workbench.path("refused")).await;
    assert!(matches!(refused, Err(WorkspaceError::PatchRefused { .. })), "{refused:?}");
    let nothing = user.change(&work, ChangeSource::Commit(&work), &workbench.path("nothing.bundle")).await.unwrap();
    assert_eq!(nothing.tip.as_str().len(), work.as_str().len());
}

#[tokio::test]
async fn a_change_is_taken_out_of_a_shallow_clone() {
    let workbench = Workbench::new().await;
    put(&workbench.repo, "src/new.txt", "new\n");
    commit_all(&workbench.repo, "work").await;
    let (shallow, from) = (workbench.path("shallow"), format!("file://{}", workbench.repo.display()));
    git(&workbench.repo, &["clone", "--quiet", "--depth=2", &from, shallow.to_str().unwrap()]).await;
    let user = UserRepo::open(&shallow).await.unwrap();
    let (base, work) = (user.resolve("HEAD~1").await.unwrap(), user.resolve("HEAD").await.unwrap());
    let bundle = user.change(&base, ChangeSource::Commit(&work), &workbench.path("of-shallow")).await.unwrap();
    assert!(bundle.bytes > 0);
}
