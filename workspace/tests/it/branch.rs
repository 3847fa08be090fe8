//! Writing the one branch of the user's repository.

use std::path::PathBuf;

use holdpoint_workspace::{BranchState, BranchUpdate, Error, HANDOFF_REF, Oid, Refusal, UserRepo};

use crate::support::{Bench, bytes_of, commit_all, executable, git, oid, put};

const BRANCH: &str = "holdpoint/flight-1";

/// Two landings, one on the other, each with its bundle.
async fn landings(bench: &Bench) -> [(Oid, PathBuf); 2] {
    let first = bench.commit(&bench.base, &[("src/one.txt", Some("1\n"))]).await;
    let second = bench.commit(&first, &[("src/two.txt", Some("2\n"))]).await;
    let (out1, out2) = (bench.path("1.bundle"), bench.path("2.bundle"));
    bench.mirror.thin_bundle(&bench.base, &first, HANDOFF_REF, &out1).await.unwrap();
    bench.mirror.thin_bundle(&first, &second, HANDOFF_REF, &out2).await.unwrap();
    [(first, out1), (second, out2)]
}

fn update<'a>(bundles: &'a [PathBuf], expected_old: Option<&'a Oid>, new: &'a Oid) -> BranchUpdate<'a> {
    BranchUpdate { bundles, ref_name: HANDOFF_REF, branch: BRANCH, expected_old, new }
}

#[tokio::test]
async fn a_branch_is_created_and_moved_forward_and_nothing_else_changes() {
    let bench = Bench::new().await;
    let [(first, one), (second, two)] = landings(&bench).await;
    put(&bench.repo, "src/lib.txt", "work of the user in progress\n");
    put(&bench.repo, "staged.txt", "staged\n");
    git(&bench.repo, &["add", "staged.txt"]).await;
    let kept = ["HEAD", "index", "config"].map(|name| bench.repo.join(".git").join(name));
    let git_before = kept.clone().map(|file| std::fs::read(file).unwrap());
    let files = || bytes_of(&bench.repo).into_iter().filter(|(file, _)| !file.starts_with(bench.repo.join(".git")));
    let files_before: Vec<_> = files().collect();
    let user = UserRepo::open(&bench.repo).await.unwrap();
    assert_eq!(user.branch_state(BRANCH).await.unwrap(), BranchState::Absent);

    user.import_branch(update(std::slice::from_ref(&one), None, &first)).await.unwrap();
    assert_eq!(user.branch_state(BRANCH).await.unwrap(), BranchState::At(first.clone()));
    user.import_branch(update(&[one, two], Some(&first), &second)).await.unwrap();

    assert_eq!(oid(&bench.repo, BRANCH).await, second);
    git(&bench.repo, &["fsck", "--strict"]).await;
    assert_eq!(git_before, kept.map(|file| std::fs::read(file).unwrap()));
    assert_eq!(files_before, files().collect::<Vec<_>>());
    assert_eq!(git(&bench.repo, &["for-each-ref", "--format=%(refname)"]).await.lines().count(), 2);
    let objects = std::fs::read_dir(bench.repo.join(".git/objects")).unwrap();
    assert!(objects.flatten().all(|entry| !entry.file_name().to_string_lossy().starts_with("tmp")));
}

#[tokio::test]
async fn a_branch_that_is_there_already_is_left_alone() {
    let bench = Bench::new().await;
    let [(first, one), _] = landings(&bench).await;
    let user = UserRepo::open(&bench.repo).await.unwrap();
    user.import_branch(update(std::slice::from_ref(&one), None, &first)).await.unwrap();
    user.import_branch(update(std::slice::from_ref(&one), None, &first)).await.unwrap();
}

#[tokio::test]
async fn two_who_write_the_same_branch_at_once_both_succeed() {
    let bench = Bench::new().await;
    let [(first, one), _] = landings(&bench).await;
    let user = UserRepo::open(&bench.repo).await.unwrap();
    for _ in 0..5 {
        let bundles = [one.clone()];
        let write = || user.import_branch(update(&bundles, None, &first));
        let (a, b, c) = tokio::join!(write(), write(), write());
        for written in [a, b, c] {
            written.unwrap();
        }
        git(&bench.repo, &["branch", "-D", BRANCH]).await;
    }
}

#[tokio::test]
async fn what_is_in_a_branchs_history_is_known() {
    let bench = Bench::new().await;
    commit_all(&bench.repo, "second").await;
    let user = UserRepo::open(&bench.repo).await.unwrap();
    let head = user.resolve("HEAD").await.unwrap();
    assert!(user.is_ancestor(&bench.base, &head).await.unwrap() && user.is_ancestor(&head, &head).await.unwrap());
    assert!(!user.is_ancestor(&head, &bench.base).await.unwrap());
    assert!(!user.is_ancestor(&"a".repeat(40).parse().unwrap(), &head).await.unwrap());
}

#[tokio::test]
async fn a_branch_with_commits_of_its_own_is_not_overwritten() {
    let bench = Bench::new().await;
    let [(first, one), _] = landings(&bench).await;
    git(&bench.repo, &["checkout", "--quiet", "-b", BRANCH]).await;
    commit_all(&bench.repo, "the user's own").await;
    let own = oid(&bench.repo, BRANCH).await;
    git(&bench.repo, &["checkout", "--quiet", "main"]).await;
    let user = UserRepo::open(&bench.repo).await.unwrap();
    let bundles = [one];
    let moved = user.import_branch(update(&bundles, None, &first)).await;
    assert!(matches!(moved, Err(Error::BranchMoved { found: Some(found), .. }) if found == own));
    let diverged = user.import_branch(update(&bundles, Some(&own), &first)).await;
    assert!(matches!(diverged, Err(Error::BranchDiverged { .. })));
    assert_eq!(oid(&bench.repo, BRANCH).await, own);
    assert!(!crate::support::plain_git(&bench.repo, &["cat-file", "-e", first.as_str()]).await.success());
}

#[tokio::test]
async fn a_checked_out_branch_is_refused_in_every_working_tree_and_also_unborn() {
    let bench = Bench::new().await;
    let [(first, one), _] = landings(&bench).await;
    let linked = bench.path("linked tree");
    git(&bench.repo, &["worktree", "add", "--quiet", "-b", BRANCH, linked.to_str().unwrap()]).await;
    let user = UserRepo::open(&bench.repo).await.unwrap();
    let state = user.branch_state(BRANCH).await.unwrap();
    assert_eq!(state, BranchState::CheckedOut { tip: Some(bench.base.clone()), worktree: linked });
    let refused = user.import_branch(update(&[one], Some(&bench.base), &first)).await;
    assert!(matches!(refused, Err(Error::BranchCheckedOut { .. })));
    git(&bench.repo, &["checkout", "--quiet", "--orphan", "fresh"]).await;
    let unborn = user.branch_state("fresh").await.unwrap();
    assert!(matches!(unborn, BranchState::CheckedOut { tip: None, .. }));
}

#[tokio::test]
async fn names_that_cannot_be_branches_are_known_before_anything_starts() {
    let bench = Bench::new().await;
    git(&bench.repo, &["branch", "holdpoint"]).await;
    git(&bench.repo, &["branch", "deep/er/still"]).await;
    git(&bench.repo, &["symbolic-ref", "refs/heads/alias", "refs/heads/main"]).await;
    let user = UserRepo::open(&bench.repo).await.unwrap();
    for name in [BRANCH, "deep", "deep/er", "alias", "a..b", "-x", "HEAD", "", "a b"] {
        let state = user.branch_state(name).await.unwrap();
        assert!(matches!(state, BranchState::Unusable { .. }), "{name}: {state:?}");
    }
    for name in ["deep/er/other", "dee", "holdpoin"] {
        assert_eq!(user.branch_state(name).await.unwrap(), BranchState::Absent, "{name}");
    }
}

#[tokio::test]
async fn bundles_that_lack_commits_leave_no_branch() {
    let bench = Bench::new().await;
    let [(first, one), (second, two)] = landings(&bench).await;
    let user = UserRepo::open(&bench.repo).await.unwrap();
    let gap = user.import_branch(update(&[two], None, &second)).await;
    assert!(matches!(gap, Err(Error::Refused(Refusal::MissingPrerequisite { oid })) if oid == first));
    let short = user.import_branch(update(&[one], None, &second)).await;
    assert!(matches!(short, Err(Error::HeadMissing { .. })));
    assert_eq!(user.branch_state(BRANCH).await.unwrap(), BranchState::Absent);
}

#[tokio::test]
async fn hooks_of_the_repository_do_not_run() {
    let bench = Bench::new().await;
    let [(first, one), _] = landings(&bench).await;
    let canary = bench.path("canary");
    let hook = bench.repo.join(".git/hooks/reference-transaction");
    put(&bench.repo, ".git/hooks/reference-transaction", format!("#!/bin/sh\ntouch '{}'\n", canary.display()));
    executable(&hook);
    let user = UserRepo::open(&bench.repo).await.unwrap();
    user.import_branch(update(&[one], None, &first)).await.unwrap();
    assert!(!canary.exists());
    git(&bench.repo, &["branch", "other"]).await;
    assert!(canary.exists(), "the hook would have run");
}
