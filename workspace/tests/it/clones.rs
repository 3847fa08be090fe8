//! What agents get, and fresh checkouts.

use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

use holdpoint_workspace::{EntryMode, WorkspaceError};

use crate::support::{Workbench, bytes_of, executable, git, plain_git, put};

#[tokio::test]
async fn a_clone_is_on_its_commit_and_an_agent_can_commit_in_it() {
    let workbench = Workbench::new().await;
    let clone = workbench.path("clone");
    workbench.mirror.clone_for_agent(&workbench.base, &clone).await.unwrap();
    assert_eq!(git(&clone, &["rev-parse", "HEAD"]).await, workbench.base.as_str());
    assert_eq!(git(&clone, &["symbolic-ref", "HEAD"]).await, "refs/heads/work");
    assert_eq!(git(&clone, &["status", "--porcelain"]).await, "");
    assert_eq!(git(&clone, &["remote"]).await, "");
    put(&clone, "src/new.txt", "new\n");
    let own = holdpoint_sandbox::Tool::new("git").dir(&clone).env("GIT_CONFIG_GLOBAL", "/dev/null");
    own.clone().args(["add", "--all"]).run_ok().await.unwrap();
    own.args(["commit", "--quiet", "-m", "by the agent"]).run_ok().await.unwrap();
}

#[tokio::test]
async fn a_clone_shares_nothing_with_the_mirror_and_does_not_know_it() {
    let workbench = Workbench::new().await;
    let clone = workbench.path("clone");
    workbench.mirror.clone_for_agent(&workbench.base, &clone).await.unwrap();
    assert!(!clone.join(".git/objects/info/alternates").exists());
    assert!(!clone.join(".git/hooks").exists());
    let mirror_dir = workbench.mirror.dir().to_str().unwrap().to_owned();
    for (file, bytes) in bytes_of(&clone) {
        assert_eq!(file.symlink_metadata().unwrap().nlink(), 1, "{}", file.display());
        let text = String::from_utf8_lossy(&bytes);
        assert!(!text.contains(&mirror_dir), "{} names the mirror", file.display());
    }
    std::fs::remove_dir_all(clone.join(".git/objects")).unwrap();
    assert!(workbench.mirror.has(&workbench.base).await.unwrap());
    assert_eq!(workbench.mirror.list_tree(&workbench.base).await.unwrap().len(), 4);
}

#[tokio::test]
async fn a_clone_has_recent_history() {
    let workbench = Workbench::new().await;
    let second = workbench.commit(&workbench.base, &[("a.txt", Some("a\n"))]).await;
    let clone = workbench.path("clone");
    workbench.mirror.clone_for_agent(&second, &clone).await.unwrap();
    assert_eq!(git(&clone, &["rev-parse", "HEAD~1"]).await, workbench.base.as_str());
    assert!(matches!(workbench.mirror.clone_for_agent(&second, &clone).await, Err(WorkspaceError::NotEmpty { .. })));
}

#[tokio::test]
async fn a_clone_has_the_users_history_and_its_start_and_no_other_work() {
    let workbench = Workbench::new().await;
    let start = workbench.commit(&workbench.base, &[("a.txt", Some("a\n"))]).await;
    let of_others = workbench.commit(&workbench.base, &[("b.txt", Some("the work of somebody else\n"))]).await;
    let (fresh, later) = (workbench.path("fresh"), workbench.path("later"));
    workbench.mirror.clone_for_agent(&workbench.base, &fresh).await.unwrap();
    workbench.mirror.clone_for_agent(&start, &later).await.unwrap();
    for clone in [&fresh, &later] {
        git(clone, &["fsck", "--full"]).await;
        assert!(!plain_git(clone, &["cat-file", "-e", of_others.as_str()]).await.success());
        assert_eq!(git(clone, &["stash", "list"]).await, "");
    }
    assert!(!plain_git(&fresh, &["cat-file", "-e", start.as_str()]).await.success());
    assert_eq!(git(&later, &["rev-list", "--all", "--count"]).await, "2");
}

#[tokio::test]
async fn a_clone_without_a_snapshots_pack_gets_its_history_by_fetching() {
    let workbench = Workbench::new().await;
    for entry in std::fs::read_dir(workbench.mirror.dir().join("objects/pack")).unwrap().flatten() {
        if entry.path().extension().is_some_and(|end| end == "keep") {
            std::fs::remove_file(entry.path()).unwrap();
        }
    }
    let second = workbench.commit(&workbench.base, &[("a.txt", Some("a\n"))]).await;
    let clone = workbench.path("clone");
    let handed = workbench.mirror.clone_for_agent(&second, &clone).await.unwrap();
    assert_eq!(git(&clone, &["rev-parse", "HEAD~1"]).await, workbench.base.as_str());
    assert_eq!(git(&clone, &["status", "--porcelain"]).await, "");
    let tree = workbench.mirror.tree_of(&second).await.unwrap();
    assert_eq!(workbench.mirror.capture_clone(&handed, &workbench.base).await.unwrap(), tree);
}

#[tokio::test]
async fn a_checkout_is_exactly_the_tree() {
    let workbench = Workbench::with(|repo| {
        symlink("/etc/passwd", repo.join("absolute")).unwrap();
        symlink("../../outside", repo.join("src/up")).unwrap();
        symlink("../run.sh", repo.join("src/inside")).unwrap();
        put(repo, "odd/new\nline", "x");
    })
    .await;
    let out = workbench.path("out");
    let checkout = workbench.mirror.checkout(&workbench.base, &out).await.unwrap();
    assert_eq!(checkout.entries.len(), 8);
    assert!(!out.join(".git").exists());
    assert_eq!(bytes_of(&out).len(), 8);
    assert_eq!(std::fs::read(out.join("odd/new\nline")).unwrap(), b"x");
    assert_eq!(std::fs::read_link(out.join("absolute")).unwrap().to_str(), Some("/etc/passwd"));
    assert_eq!(std::fs::metadata(out.join("run.sh")).unwrap().permissions().mode() & 0o111, 0o111);
    let links: Vec<String> = checkout.links_out.iter().map(ToString::to_string).collect();
    assert_eq!(links, ["absolute", "src/up"]);
    assert!(matches!(workbench.mirror.checkout(&workbench.base, &out).await, Err(WorkspaceError::NotEmpty { .. })));
}

#[tokio::test]
async fn submodule_links_are_empty_folders() {
    let workbench = Workbench::new().await;
    let link = format!("160000,{},sub", workbench.base);
    git(&workbench.repo, &["update-index", "--add", "--cacheinfo", &link]).await;
    git(&workbench.repo, &["commit", "--quiet", "-m", "gitlink"]).await;
    let user = holdpoint_workspace::UserRepo::open(&workbench.repo).await.unwrap();
    let head = user.resolve("HEAD").await.unwrap();
    let bundle = user.snapshot(&head, &workbench.path("s.bundle")).await.unwrap();
    crate::support::import(&workbench.mirror, &bundle, None).await.unwrap();
    let (out, clone) = (workbench.path("out"), workbench.path("clone"));
    let checkout = workbench.mirror.checkout(&head, &out).await.unwrap();
    assert!(checkout.entries.iter().any(|entry| entry.mode == EntryMode::Gitlink));
    assert_eq!(std::fs::read_dir(out.join("sub")).unwrap().count(), 0);
    workbench.mirror.clone_for_agent(&head, &clone).await.unwrap();
    let tree = workbench.mirror.tree_of(&head).await.unwrap();
    put(&clone, "sub/built", "does not count\n");
    assert_eq!(workbench.mirror.capture(&clone, &head).await.unwrap(), tree, "the link stays as it is");
    std::fs::remove_dir_all(clone.join("sub")).unwrap();
    assert_eq!(workbench.mirror.capture(&clone, &head).await.unwrap(), tree, "also without its folder");
    put(&clone, "sub", "a file now");
    assert!(workbench.mirror.capture(&clone, &head).await.unwrap_err().is_refusal());
}

#[tokio::test]
async fn filters_of_a_tree_do_not_run_on_checkout() {
    let workbench = Workbench::with(|repo| {
        put(repo, ".gitattributes", "* filter=evil diff=evil merge=evil\n");
        put(repo, "filter.sh", "#!/bin/sh\ntouch canary\ncat\n");
        executable(&repo.join("filter.sh"));
    })
    .await;
    let out = workbench.path("out");
    workbench.mirror.checkout(&workbench.base, &out).await.unwrap();
    assert!(bytes_of(workbench.temp.path()).iter().all(|(file, _)| !file.ends_with("canary")));
}
