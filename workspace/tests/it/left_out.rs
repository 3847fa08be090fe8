//! What a clone has besides the work that is captured, and what in it is no work.

use std::path::{Path, PathBuf};

use holdpoint_protocol::facts::{LEFT_OUT_MAX, LeftOut, LeftOutKind};
use holdpoint_workspace::{IgnoreRules, InputRefusal, ObjectId, UserRepo, WorkspaceError};

use crate::support::{Workbench, commit_all, git, init, put};

/// How a folder declares that it is a cache.
const CACHE_TAG: &str = "Signature: 8a477f597d28d172789f06886806bc55\n# made by a tool\n";

async fn cloned(workbench: &Workbench, base: &ObjectId) -> PathBuf {
    let clone = workbench.path("clone");
    workbench.mirror.clone_for_agent(base, &clone).await.unwrap();
    clone
}

async fn left_out(workbench: &Workbench, clone: &Path, base: &ObjectId) -> Vec<LeftOut> {
    workbench.mirror.capture_all(clone, base, None).await.unwrap().left_out
}

/// Why something is left out, if it is.
fn why<'a>(left_out: &'a [LeftOut], what: &str) -> Option<(LeftOutKind, &'a str)> {
    left_out.iter().find(|one| one.what == what).map(|one| (one.kind, one.why.as_str()))
}

#[tokio::test]
async fn ignored_files_are_named_with_the_rule_that_ignores_them() {
    let workbench = Workbench::with(|repo| put(repo, ".gitignore", "# generated\n/dist\n*.log\n")).await;
    let base = workbench.base.clone();
    let clone = cloned(&workbench, &base).await;
    put(&clone, "dist/app.js", "built");
    put(&clone, "dist/app.css", "built");
    put(&clone, "notes.log", "the result");
    put(&clone, "src/.gitignore", "local.txt\n");
    put(&clone, "src/local.txt", "mine");
    put(&clone, "env/.gitignore", "*\n");
    put(&clone, "env/bin/python", "x");
    let found = left_out(&workbench, &clone, &base).await;
    assert_eq!(why(&found, "dist/"), Some((LeftOutKind::Ignored, "ignored by .gitignore:2 `/dist`")));
    assert_eq!(why(&found, "notes.log"), Some((LeftOutKind::Ignored, "ignored by .gitignore:3 `*.log`")));
    assert_eq!(why(&found, "src/local.txt"), Some((LeftOutKind::Ignored, "ignored by src/.gitignore:1 `local.txt`")));
    assert_eq!(why(&found, "env/"), Some((LeftOutKind::Ignored, "ignored by env/.gitignore:1 `*`")));
    assert_eq!(found.len(), 4, "{found:?}");
    for n in 0..LEFT_OUT_MAX * 20 {
        put(&clone, &format!("src/{n}.log"), "x");
    }
    let found = left_out(&workbench, &clone, &base).await;
    assert_eq!(found.len(), LEFT_OUT_MAX);
    assert!(found.last().unwrap().what.ends_with(" more"), "{found:?}");
}

#[tokio::test]
async fn what_tools_leave_for_themselves_is_no_work_unless_it_was_handed_off() {
    let workbench = Workbench::with(|repo| put(repo, "old/__pycache__/kept.pyc", "committed long ago")).await;
    let base = workbench.base.clone();
    let clone = cloned(&workbench, &base).await;
    put(&clone, "src/__pycache__/lib.cpython-312.pyc", "compiled");
    put(&clone, "old/__pycache__/kept.pyc", "changed");
    put(&clone, "web/node_modules/.cache/babel/x.json", "{}");
    put(&clone, "cache/CACHEDIR.TAG", CACHE_TAG);
    put(&clone, "cache/deep/entry", "x");
    init(&clone.join("cache/checkout")).await;
    put(&clone, "fixtures/CACHEDIR.TAG", "no signature");
    put(&clone, "CACHEDIR.TAG", CACHE_TAG);
    put(&clone, "work.orig", "the user's own settings ignore it");
    let flight = IgnoreRules { flight: vec!["*.orig".to_owned()], ..IgnoreRules::default() };
    let mirror = workbench.mirror.ignoring(flight.clone(), &base);
    let captured = mirror.capture_all(&clone, &base, None).await.unwrap();
    let names = workbench.names(&captured.tree).await;
    let new = ["CACHEDIR.TAG", "fixtures/CACHEDIR.TAG"];
    assert!(new.iter().all(|name| names.contains(&(*name).to_owned())), "{names:?}");
    assert_eq!(names.len(), 4 + 1 + new.len(), "{names:?}");
    assert_eq!(workbench.text(&captured.tree, "old/__pycache__/kept.pyc").await, "changed");
    let found = captured.left_out;
    assert_eq!(why(&found, "src/__pycache__/"), Some((LeftOutKind::Dropping, "compiled Python")));
    assert_eq!(why(&found, "cache/"), Some((LeftOutKind::Dropping, "a cache, by its own CACHEDIR.TAG")));
    assert_eq!(why(&found, "work.orig"), Some((LeftOutKind::Ignored, "ignored by the flight's rule `*.orig`")));
    // The repository's own files overrule all of it, and so does an earlier attempt.
    put(&clone, ".gitignore", "!__pycache__/\n");
    let names = workbench.names(&mirror.capture(&clone, &base).await.unwrap()).await;
    assert!(names.contains(&"src/__pycache__/lib.cpython-312.pyc".to_owned()), "{names:?}");
    let earlier = workbench.commit(&base, &[("work.orig", Some("handed off before it was ignored"))]).await;
    let mirror = workbench.mirror.ignoring(flight, &earlier);
    let names = workbench.names(&mirror.capture(&clone, &base).await.unwrap()).await;
    assert!(names.contains(&"work.orig".to_owned()), "{names:?}");
}

#[tokio::test]
async fn a_pipe_and_a_socket_are_named_and_those_in_an_ignored_folder_go_by_its_rule() {
    let workbench = Workbench::with(|repo| put(repo, ".gitignore", "/run/\n")).await;
    let base = workbench.base.clone();
    let clone = cloned(&workbench, &base).await;
    std::fs::create_dir_all(clone.join("run")).unwrap();
    let pipe = clone.join("src/queue").into_os_string().into_string().unwrap();
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let _socket = std::os::unix::net::UnixListener::bind(clone.join("api.sock")).unwrap();
    let _ignored = std::os::unix::net::UnixListener::bind(clone.join("run/api.sock")).unwrap();
    let found = left_out(&workbench, &clone, &base).await;
    assert_eq!(why(&found, "src/queue"), Some((LeftOutKind::Unfit, "a pipe, which no commit can hold")));
    assert_eq!(why(&found, "api.sock"), Some((LeftOutKind::Unfit, "a socket, which no commit can hold")));
    assert_eq!(why(&found, "run/"), Some((LeftOutKind::Ignored, "ignored by .gitignore:1 `/run/`")));
    assert_eq!(found.len(), 3, "{found:?}");
}

#[tokio::test]
async fn work_on_another_branch_in_a_stash_and_in_a_second_worktree_is_named() {
    let workbench = Workbench::new().await;
    let base = workbench.base.clone();
    let clone = cloned(&workbench, &base).await;
    assert!(left_out(&workbench, &clone, &base).await.is_empty());
    git(&clone, &["checkout", "--quiet", "-b", "feature/one"]).await;
    put(&clone, "src/new.txt", "work");
    commit_all(&clone, "done").await;
    git(&clone, &["branch", "same"]).await;
    assert!(left_out(&workbench, &clone, &base).await.is_empty(), "the files are those of the branch");
    git(&clone, &["checkout", "--quiet", "work"]).await;
    git(&clone, &["branch", "--quiet", "-D", "same"]).await;
    put(&clone, "src/lib.txt", "unfinished");
    git(&clone, &["stash", "--quiet"]).await;
    git(&clone, &["worktree", "add", "--quiet", ".trees/second", "-b", "second"]).await;
    let own = IgnoreRules { program: vec!["/.trees/".to_owned()], ..IgnoreRules::default() };
    let mirror = workbench.mirror.ignoring(own, &base);
    let captured = mirror.capture_all(&clone, &base, None).await.unwrap();
    assert_eq!(captured.tree, workbench.mirror.tree_of(&base).await.unwrap());
    let kinds = captured.left_out.iter().filter(|one| one.kind == LeftOutKind::Elsewhere);
    let named: Vec<&str> = kinds.map(|one| one.what.as_str()).collect();
    assert_eq!(named[..2], ["branch feature/one", "stash"], "{:?}", captured.left_out);
    assert!(named[2].starts_with("worktree ") && named[2].ends_with("/.trees/second") && named.len() == 3);
    let branch = why(&captured.left_out, "branch feature/one");
    assert_eq!(branch, Some((LeftOutKind::Elsewhere, "1 commit that the files do not have")));
    git(&clone, &["pack-refs", "--all"]).await;
    std::fs::remove_dir_all(clone.join(".trees")).unwrap();
    let found = left_out(&workbench, &clone, &base).await;
    let named: Vec<&str> = found.iter().map(|one| one.what.as_str()).collect();
    assert_eq!(named, ["branch feature/one", "stash"], "packed, and the worktree is gone");
}

/// A base with a submodule in `sub`, whose commit is this repository's first one.
async fn with_submodule(workbench: &Workbench) -> ObjectId {
    let link = format!("160000,{},sub", workbench.base);
    git(&workbench.repo, &["update-index", "--add", "--cacheinfo", &link]).await;
    put(&workbench.repo, ".gitmodules", "[submodule \"sub\"]\n\tpath = sub\n\turl = ../elsewhere\n");
    git(&workbench.repo, &["add", ".gitmodules"]).await;
    git(&workbench.repo, &["commit", "--quiet", "-m", "gitlink"]).await;
    let user = UserRepo::open(&workbench.repo).await.unwrap();
    let head = user.resolve("HEAD").await.unwrap();
    let bundle = user.snapshot(&head, &workbench.path("s.bundle")).await.unwrap();
    crate::support::import(&workbench.mirror, &bundle, None).await.unwrap();
    head
}

/// What is wrong with the submodules of a clone, if anything.
async fn change(workbench: &Workbench, clone: &Path, base: &ObjectId) -> Option<String> {
    let error = workbench.mirror.check_submodules(clone, base).await.err()?;
    Some(match error {
        WorkspaceError::Refused(InputRefusal::Submodule { path, change }) => format!("{path}: {change}"),
        other => other.to_string(),
    })
}

#[tokio::test]
async fn a_change_in_a_submodule_is_refused_by_name_and_one_that_is_only_checked_out_is_none() {
    let workbench = Workbench::new().await;
    let base = with_submodule(&workbench).await;
    let clone = cloned(&workbench, &base).await;
    assert_eq!(change(&workbench, &clone, &base).await, None);
    put(&clone, "sub/api.txt", "edited");
    assert_eq!(change(&workbench, &clone, &base).await.unwrap(), "sub: api.txt was written there");
    std::fs::remove_dir_all(clone.join("sub")).unwrap();
    assert_eq!(change(&workbench, &clone, &base).await, None, "a folder that is gone changes nothing");
    // As `git submodule update --init` does it.
    let repo = workbench.repo.to_str().unwrap();
    let modules = clone.join(".git/modules/sub");
    let separate = format!("--separate-git-dir={}", modules.display());
    std::fs::create_dir_all(clone.join(".git/modules")).unwrap();
    git(&clone, &["clone", "--quiet", &separate, repo, "sub"]).await;
    put(&clone, "sub/.git", "gitdir: ../.git/modules/sub\n");
    git(&clone.join("sub"), &["checkout", "--quiet", workbench.base.to_string().as_str()]).await;
    put(&clone, "sub/src/__pycache__/lib.pyc", "compiled");
    assert_eq!(change(&workbench, &clone, &base).await, None, "it is the commit of the base");
    put(&clone, "sub/src/lib.txt", "edited");
    assert_eq!(change(&workbench, &clone, &base).await.unwrap(), "sub: src/lib.txt was changed there");
    commit_all(&clone.join("sub"), "by the agent").await;
    let moved = change(&workbench, &clone, &base).await.unwrap();
    assert!(moved.starts_with("sub: it stands on ") && moved.ends_with(&workbench.base.to_string()), "{moved}");
}

#[tokio::test]
async fn a_submodule_that_was_removed_with_its_entry_is_gone_from_the_tree() {
    let workbench = Workbench::new().await;
    let base = with_submodule(&workbench).await;
    let clone = cloned(&workbench, &base).await;
    git(&clone, &["rm", "--quiet", "-r", "sub"]).await;
    assert_eq!(change(&workbench, &clone, &base).await, None);
    let names = workbench.names(&workbench.mirror.capture(&clone, &base).await.unwrap()).await;
    assert!(!names.contains(&"sub".to_owned()), "{names:?}");
}
