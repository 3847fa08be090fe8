//! Writing the one branch of the user's repository.

use std::path::PathBuf;

use holdpoint_sandbox::Tool;
use holdpoint_workspace::{
    BranchState, BranchUpdate, CommitStanding, HANDOFF_REF, InputRefusal, ObjectId, UserRepo, WorkspaceError,
};

use crate::support::{Workbench, bytes_of, commit_all, executable, git, oid, put};

const BRANCH: &str = "holdpoint/flight-1";

/// Two landings, one on the other, each with its bundle.
async fn landings(workbench: &Workbench) -> [(ObjectId, PathBuf); 2] {
    let first = workbench.commit(&workbench.base, &[("src/one.txt", Some("1\n"))]).await;
    let second = workbench.commit(&first, &[("src/two.txt", Some("2\n"))]).await;
    let (out1, out2) = (workbench.path("1.bundle"), workbench.path("2.bundle"));
    workbench.mirror.thin_bundle(&workbench.base, &first, HANDOFF_REF, &out1).await.unwrap();
    workbench.mirror.thin_bundle(&first, &second, HANDOFF_REF, &out2).await.unwrap();
    [(first, out1), (second, out2)]
}

/// Brings the branch to `new` by these bundles.
async fn write(user: &UserRepo, bundles: &[&PathBuf], new: &ObjectId) -> Result<(), WorkspaceError> {
    let update = BranchUpdate { ref_name: HANDOFF_REF, branch: BRANCH, new };
    user.import_branch(update, async |_| Ok(bundles.iter().map(|path| (*path).clone()).collect())).await
}

#[tokio::test]
async fn a_branch_is_created_and_moved_forward_and_nothing_else_changes() {
    let workbench = Workbench::new().await;
    let [(first, one), (second, two)] = landings(&workbench).await;
    put(&workbench.repo, "src/lib.txt", "work of the user in progress\n");
    put(&workbench.repo, "staged.txt", "staged\n");
    git(&workbench.repo, &["add", "staged.txt"]).await;
    let kept = ["HEAD", "index", "config"].map(|name| workbench.repo.join(".git").join(name));
    let git_before = kept.clone().map(|file| std::fs::read(file).unwrap());
    let files =
        || bytes_of(&workbench.repo).into_iter().filter(|(file, _)| !file.starts_with(workbench.repo.join(".git")));
    let files_before: Vec<_> = files().collect();
    let user = UserRepo::open(&workbench.repo).await.unwrap();
    assert_eq!(user.branch_state(BRANCH).await.unwrap(), BranchState::Absent);

    write(&user, &[&one], &first).await.unwrap();
    assert_eq!(user.branch_state(BRANCH).await.unwrap(), BranchState::At(first.clone()));
    write(&user, &[&one, &two], &second).await.unwrap();

    assert_eq!(oid(&workbench.repo, BRANCH).await, second);
    git(&workbench.repo, &["fsck", "--strict"]).await;
    assert_eq!(git_before, kept.map(|file| std::fs::read(file).unwrap()));
    assert_eq!(files_before, files().collect::<Vec<_>>());
    assert_eq!(git(&workbench.repo, &["for-each-ref", "--format=%(refname)"]).await.lines().count(), 2);
    let objects = std::fs::read_dir(workbench.repo.join(".git/objects")).unwrap();
    assert!(objects.flatten().all(|entry| !entry.file_name().to_string_lossy().starts_with("tmp")));
}

#[tokio::test]
async fn a_branch_that_is_there_already_is_left_alone() {
    let workbench = Workbench::new().await;
    let [(first, one), _] = landings(&workbench).await;
    let user = UserRepo::open(&workbench.repo).await.unwrap();
    write(&user, &[&one], &first).await.unwrap();
    write(&user, &[&one], &first).await.unwrap();
}

#[tokio::test]
async fn two_who_write_the_same_branch_at_once_both_succeed() {
    let workbench = Workbench::new().await;
    let [(first, one), _] = landings(&workbench).await;
    let user = UserRepo::open(&workbench.repo).await.unwrap();
    for _ in 0..5 {
        let bundles = [&one];
        let write = || write(&user, &bundles, &first);
        let (a, b, c) = tokio::join!(write(), write(), write());
        for written in [a, b, c] {
            written.unwrap();
        }
        git(&workbench.repo, &["branch", "-D", BRANCH]).await;
    }
}

#[tokio::test]
async fn what_is_in_a_branchs_history_is_known() {
    let workbench = Workbench::new().await;
    commit_all(&workbench.repo, "second").await;
    let user = UserRepo::open(&workbench.repo).await.unwrap();
    let head = user.resolve("HEAD").await.unwrap();
    assert!(user.is_ancestor(&workbench.base, &head).await.unwrap() && user.is_ancestor(&head, &head).await.unwrap());
    assert!(!user.is_ancestor(&head, &workbench.base).await.unwrap());
    assert!(!user.is_ancestor(&"a".repeat(40).parse().unwrap(), &head).await.unwrap());
}

#[tokio::test]
async fn a_branch_with_commits_of_its_own_is_not_overwritten() {
    let workbench = Workbench::new().await;
    let [(first, one), _] = landings(&workbench).await;
    git(&workbench.repo, &["checkout", "--quiet", "-b", BRANCH]).await;
    commit_all(&workbench.repo, "the user's own").await;
    let own = oid(&workbench.repo, BRANCH).await;
    git(&workbench.repo, &["checkout", "--quiet", "main"]).await;
    let user = UserRepo::open(&workbench.repo).await.unwrap();
    let diverged = write(&user, &[&one], &first).await;
    assert!(matches!(diverged, Err(WorkspaceError::BranchDiverged { .. })));
    assert_eq!(oid(&workbench.repo, BRANCH).await, own);
    assert!(!crate::support::plain_git(&workbench.repo, &["cat-file", "-e", first.as_str()]).await.success());
}

#[tokio::test]
async fn a_branch_that_moves_while_its_commits_are_fetched_is_not_overwritten() {
    let workbench = Workbench::new().await;
    let [(first, one), _] = landings(&workbench).await;
    let user = UserRepo::open(&workbench.repo).await.unwrap();
    let update = BranchUpdate { ref_name: HANDOFF_REF, branch: BRANCH, new: &first };
    let moved = user.import_branch(update, async |old| {
        assert_eq!(old, None);
        git(&workbench.repo, &["branch", BRANCH, "main"]).await;
        Ok::<_, WorkspaceError>(vec![one.clone()])
    });
    let moved = moved.await;
    assert!(matches!(moved, Err(WorkspaceError::BranchMoved { found: Some(found), .. }) if found == workbench.base));
    assert_eq!(oid(&workbench.repo, BRANCH).await, workbench.base);
    let from = user.import_branch(update, async |old| {
        assert_eq!(old, Some(&workbench.base));
        Ok::<_, WorkspaceError>(vec![one.clone()])
    });
    from.await.unwrap();
}

#[tokio::test]
async fn a_checked_out_branch_is_refused_in_every_working_tree_and_also_unborn() {
    let workbench = Workbench::new().await;
    let [(first, one), _] = landings(&workbench).await;
    let linked = workbench.path("linked tree");
    git(&workbench.repo, &["worktree", "add", "--quiet", "-b", BRANCH, linked.to_str().unwrap()]).await;
    let user = UserRepo::open(&workbench.repo).await.unwrap();
    let state = user.branch_state(BRANCH).await.unwrap();
    assert_eq!(state, BranchState::CheckedOut { tip: Some(workbench.base.clone()), worktree: linked });
    let refused = write(&user, &[&one], &first).await;
    assert!(matches!(refused, Err(WorkspaceError::BranchCheckedOut { .. })));
    git(&workbench.repo, &["checkout", "--quiet", "--orphan", "fresh"]).await;
    let unborn = user.branch_state("fresh").await.unwrap();
    assert!(matches!(unborn, BranchState::CheckedOut { tip: None, .. }));
}

#[tokio::test]
async fn names_that_cannot_be_branches_are_known_before_anything_starts() {
    let workbench = Workbench::new().await;
    git(&workbench.repo, &["branch", "holdpoint"]).await;
    git(&workbench.repo, &["branch", "deep/er/still"]).await;
    git(&workbench.repo, &["symbolic-ref", "refs/heads/alias", "refs/heads/main"]).await;
    let user = UserRepo::open(&workbench.repo).await.unwrap();
    for name in [BRANCH, "deep", "deep/er", "alias", "a..b", "-x", "HEAD", "", "a b"] {
        let state = user.branch_state(name).await.unwrap();
        assert!(matches!(state, BranchState::Unusable { .. }), "{name}: {state:?}");
    }
    for name in ["deep/er/other", "dee", "holdpoin"] {
        assert_eq!(user.branch_state(name).await.unwrap(), BranchState::Absent, "{name}");
    }
}

#[tokio::test]
async fn names_are_valid_where_git_says_so() {
    let workbench = Workbench::new().await;
    let user = UserRepo::open(&workbench.repo).await.unwrap();
    let parts =
        ["a", ".", "..", "/", "//", "@", "{", "@{", ".lock", "lock", "~", " ", "\\", "\u{7f}", "\t", "ä", "*", "["];
    let pairs = parts.iter().flat_map(|one| parts.iter().map(move |two| format!("{one}{two}")));
    let names: Vec<String> = pairs.chain(parts.iter().map(|part| format!("a{part}b"))).collect();
    for name in &names {
        let full = format!("refs/heads/{name}");
        let valid = crate::support::plain_git(&workbench.repo, &["check-ref-format", &full]).await.success();
        let state = user.branch_state(name).await.unwrap();
        assert_eq!(!matches!(state, BranchState::Unusable { .. }), valid, "{name:?}: {state:?}");
    }
}

#[tokio::test]
async fn bundles_that_lack_commits_leave_no_branch() {
    let workbench = Workbench::new().await;
    let [(first, one), (second, two)] = landings(&workbench).await;
    let user = UserRepo::open(&workbench.repo).await.unwrap();
    let gap = write(&user, &[&two], &second).await;
    assert!(matches!(gap, Err(WorkspaceError::Refused(InputRefusal::MissingPrerequisite { oid })) if oid == first));
    let short = write(&user, &[&one], &second).await;
    assert!(matches!(short, Err(WorkspaceError::HeadMissing { .. })));
    assert_eq!(user.branch_state(BRANCH).await.unwrap(), BranchState::Absent);
}

#[tokio::test]
async fn bundles_that_lead_to_what_the_repository_lacks_leave_no_branch() {
    let workbench = Workbench::new().await;
    let [(_, one), (second, two)] = landings(&workbench).await;
    let third = workbench.commit(&second, &[("deep/er/file.txt", Some("3\n"))]).await;
    let mirror = workbench.mirror.dir();
    let part = async |name: &str| git(mirror, &["rev-parse", &format!("{third}{name}")]).await;
    let (root, deep, folder) = (part("^{tree}").await, part(":deep").await, part(":deep/er").await);
    // The folder is in the user's repository, and its file is nowhere.
    let entries = git(mirror, &["ls-tree", &folder]).await;
    let made =
        Tool::new("git").dir(&workbench.repo).args(["mktree", "--missing"]).stdin(format!("{entries}\n").into_bytes());
    assert_eq!(String::from_utf8(made.run_ok().await.unwrap().stdout).unwrap().trim(), folder);
    let pack = Tool::new("git").dir(mirror).args(["pack-objects", "--stdout", "-q"]);
    let pack = pack.stdin(format!("{third}\n{root}\n{deep}\n").into_bytes()).run_ok().await.unwrap().stdout;
    let header = format!("# v2 git bundle\n-{second} base\n{third} {HANDOFF_REF}\n\n");
    let lacking = workbench.path("lacking.bundle");
    std::fs::write(&lacking, [header.as_bytes(), &pack].concat()).unwrap();

    let user = UserRepo::open(&workbench.repo).await.unwrap();
    let refused = write(&user, &[&one, &two, &lacking], &third).await;
    assert!(matches!(refused, Err(WorkspaceError::Refused(_) | WorkspaceError::NoSuchObject { .. })), "{refused:?}");
    assert_eq!(user.branch_state(BRANCH).await.unwrap(), BranchState::Absent);
}

#[tokio::test]
async fn hooks_of_the_repository_do_not_run() {
    let workbench = Workbench::new().await;
    let [(first, one), _] = landings(&workbench).await;
    let canary = workbench.path("canary");
    let hook = workbench.repo.join(".git/hooks/reference-transaction");
    put(&workbench.repo, ".git/hooks/reference-transaction", format!("#!/bin/sh\ntouch '{}'\n", canary.display()));
    executable(&hook);
    let user = UserRepo::open(&workbench.repo).await.unwrap();
    write(&user, &[&one], &first).await.unwrap();
    assert!(!canary.exists());
    git(&workbench.repo, &["branch", "other"]).await;
    assert!(canary.exists(), "the hook would have run");
}

#[tokio::test]
async fn a_commit_that_was_amended_is_left_behind_and_gone_once_git_removes_it() {
    let workbench = Workbench::new().await;
    let user = UserRepo::open(&workbench.repo).await.unwrap();
    let standing = async || user.standing(&workbench.base, "holdpoint/").await.unwrap();
    assert_eq!(standing().await, CommitStanding::InHistory);
    git(&workbench.repo, &["commit", "--quiet", "--amend", "--message", "Better"]).await;
    git(&workbench.repo, &["branch", "holdpoint/flight", workbench.base.as_str()]).await;
    assert_eq!(standing().await, CommitStanding::LeftBehind, "a flight's own branch does not count");
    git(&workbench.repo, &["tag", "kept", workbench.base.as_str()]).await;
    assert_eq!(standing().await, CommitStanding::InHistory);
    git(&workbench.repo, &["tag", "--delete", "kept"]).await;
    git(&workbench.repo, &["branch", "--quiet", "-D", "holdpoint/flight"]).await;
    git(&workbench.repo, &["reflog", "expire", "--expire=now", "--all"]).await;
    git(&workbench.repo, &["gc", "--quiet", "--prune=now"]).await;
    assert_eq!(standing().await, CommitStanding::Gone);
}
