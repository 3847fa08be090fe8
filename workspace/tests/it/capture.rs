//! Reading what an agent left, also when the agent is not friendly.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use holdpoint_protocol::facts::LeftOutKind;
use holdpoint_workspace::{
    EntryMode, IgnoreRules, InputLimits, InputRefusal, Mirror, ObjectFormat, ObjectId, WorkspaceError,
};

use crate::support::{Workbench, commit_all, executable, git, init, oid, plain_git, put};

/// Whether a refusal is the one that a cap has to give.
type IsRight = fn(&InputRefusal) -> bool;

async fn cloned(workbench: &Workbench) -> PathBuf {
    let clone = workbench.path("clone");
    workbench.mirror.clone_for_agent(&workbench.base, &clone).await.unwrap();
    clone
}

async fn captured(workbench: &Workbench, clone: &Path) -> ObjectId {
    workbench.mirror.capture(clone, &workbench.base).await.unwrap()
}

#[tokio::test]
async fn an_untouched_clone_gives_the_base_tree() {
    let workbench = Workbench::new().await;
    let clone = cloned(&workbench).await;
    assert_eq!(captured(&workbench, &clone).await, workbench.mirror.tree_of(&workbench.base).await.unwrap());
}

#[tokio::test]
async fn the_working_tree_counts_and_neither_index_nor_commits_do() {
    let workbench = Workbench::new().await;
    let clone = cloned(&workbench).await;
    put(&clone, "committed.txt", "committed, then removed\n");
    commit_all(&clone, "by the agent").await;
    std::fs::remove_file(clone.join("committed.txt")).unwrap();
    std::fs::remove_file(clone.join("tests/a.txt")).unwrap();
    put(&clone, "src/lib.txt", "changed\n");
    put(&clone, "src/new.txt", "new\n");
    let tree = captured(&workbench, &clone).await;
    assert_eq!(workbench.names(&tree).await, ["link", "run.sh", "src/lib.txt", "src/new.txt"]);
    assert_eq!(workbench.text(&tree, "src/lib.txt").await, "changed\n");
}

#[tokio::test]
async fn what_no_working_tree_can_have_is_refused_where_it_was_made() {
    type Make = fn(&Path);
    let deep: Make = |clone| put(clone, &format!("{}f", ("d".repeat(200) + "/").repeat(18)), "deep");
    let cases: [(&str, Make); 5] = [
        ("too long to be checked out", deep),
        ("taken for git's own folder", |clone| put(clone, "sub/git~1", "x")),
        ("taken for git's own folder", |clone| put(clone, "g/.git ", "x")),
        ("taken for git's own folder", |clone| put(clone, "g/.g\u{200c}it", "x")),
        ("a link in the place of a file that git reads", |clone| symlink("a", clone.join(".GitModules")).unwrap()),
    ];
    for (why, make) in cases {
        let workbench = Workbench::new().await;
        let clone = cloned(&workbench).await;
        make(&clone);
        let error = workbench.mirror.capture(&clone, &workbench.base).await.unwrap_err();
        let WorkspaceError::Refused(refusal @ InputRefusal::Unfit { .. }) = &error else { panic!("{why}: {error:?}") };
        assert!(refusal.to_string().contains(why), "{refusal}");
    }
    let workbench = Workbench::new().await;
    let clone = cloned(&workbench).await;
    put(&clone, &"n".repeat(255), "the longest name");
    put(&clone, "git~2/.gitmodules2", "x");
    assert_eq!(workbench.names(&captured(&workbench, &clone).await).await.len(), 6);
}

#[tokio::test]
async fn the_same_tree_results_with_git_gone_or_a_file() {
    let workbench = Workbench::new().await;
    let clone = cloned(&workbench).await;
    put(&clone, "src/new.txt", "new\n");
    let tree = captured(&workbench, &clone).await;
    std::fs::remove_dir_all(clone.join(".git")).unwrap();
    assert_eq!(captured(&workbench, &clone).await, tree);
    put(&clone, ".git", "gitdir: /nonexistent\n");
    assert_eq!(captured(&workbench, &clone).await, tree);
    std::fs::remove_file(clone.join(".git")).unwrap();
    symlink(&workbench.repo, clone.join(".git")).unwrap();
    assert_eq!(captured(&workbench, &clone).await, tree);
}

#[tokio::test]
async fn names_modes_and_links_are_kept() {
    let workbench = Workbench::new().await;
    let clone = cloned(&workbench).await;
    let odd: [&[u8]; 6] = [b"with space", b"new\nline", b"quote\"back\\slash", b"latin-\xe4", b"tab\tcr\r", b"-dash"];
    for name in odd {
        std::fs::write(clone.join(OsStr::from_bytes(name)), name).unwrap();
    }
    executable(&clone.join("src/lib.txt"));
    std::fs::remove_file(clone.join("link")).unwrap();
    symlink("/etc/shadow", clone.join("link")).unwrap();
    symlink("nowhere", clone.join("dangling")).unwrap();
    let tree = captured(&workbench, &clone).await;
    let entries = workbench.mirror.list_tree(&tree).await.unwrap();
    let find = |name: &[u8]| entries.iter().find(|entry| entry.path.as_bytes() == name).unwrap();
    for name in odd {
        let blob = workbench.mirror.read_blob(&find(name).oid, 100).await.unwrap();
        assert_eq!(blob, name);
    }
    assert_eq!(find(b"src/lib.txt").mode, EntryMode::Executable);
    assert_eq!((find(b"link").mode, find(b"dangling").mode), (EntryMode::Symlink, EntryMode::Symlink));
    assert_eq!(workbench.text(&tree, "link").await, "/etc/shadow");
    let out = workbench.path("out");
    workbench.mirror.checkout(&tree, &out).await.unwrap();
    assert_eq!(workbench.mirror.capture(&out, &tree).await.unwrap(), tree, "there and back again");
}

#[tokio::test]
async fn what_a_program_leaves_for_itself_counts_only_if_the_base_has_it() {
    let workbench = Workbench::with(|repo| put(repo, ".cache/kept", "the project's own\n")).await;
    let clone = cloned(&workbench).await;
    put(&clone, ".cache/kept", "changed\n");
    put(&clone, ".cache/tags.db", "noise\n");
    put(&clone, "src/.cache/made", "work\n");
    put(&clone, ".gitignore", "!.cache/\n");
    let own = || IgnoreRules { program: vec!["/.cache".to_owned()], ..IgnoreRules::default() };
    let mirror = workbench.mirror.ignoring(own(), &workbench.base);
    let names = workbench.names(&mirror.capture(&clone, &workbench.base).await.unwrap()).await;
    let has = |name: &str| names.iter().any(|found| found == name);
    assert!(has(".cache/kept") && has("src/.cache/made") && !has(".cache/tags.db"), "{names:?}");
    let names = workbench.names(&captured(&workbench, &clone).await).await;
    assert!(names.contains(&".cache/tags.db".to_owned()), "only who ignores it does: {names:?}");
    let earlier =
        workbench.commit(&workbench.base, &[(".cache/tags.db", Some("work\n")), (".cache/gone", Some("x\n"))]).await;
    let mirror = workbench.mirror.ignoring(own(), &earlier);
    put(&clone, ".cache/more", "noise\n");
    let names = workbench.names(&mirror.capture(&clone, &workbench.base).await.unwrap()).await;
    let cached: Vec<&String> = names.iter().filter(|name| name.starts_with(".cache/")).collect();
    assert_eq!(cached, [".cache/kept", ".cache/tags.db"], "what an earlier attempt handed off is work");
}

#[tokio::test]
async fn ignored_paths_count_only_if_the_base_has_them() {
    let workbench = Workbench::with(|repo| put(repo, "kept.log", "tracked before it was ignored\n")).await;
    let base = workbench.commit(&workbench.base, &[(".gitignore", Some("*.log\nbuild/\n"))]).await;
    let clone = workbench.path("clone");
    workbench.mirror.clone_for_agent(&base, &clone).await.unwrap();
    put(&clone, "kept.log", "changed\n");
    put(&clone, "noise.log", "noise\n");
    put(&clone, "build/out.txt", "out\n");
    put(&clone, "src/.gitignore", "local.txt\n");
    put(&clone, "src/local.txt", "local\n");
    put(&clone, ".git/info/exclude", "src/seen.txt\n");
    put(&clone, "src/seen.txt", "the clone's own settings have no say\n");
    init(&clone.join("build/vendored")).await;
    let tree = workbench.mirror.capture(&clone, &base).await.unwrap();
    let names = workbench.names(&tree).await;
    assert!(names.contains(&"src/seen.txt".to_owned()) && names.contains(&"src/.gitignore".to_owned()));
    assert!(!names.iter().any(|name| name.contains("noise") || name.contains("build") || name.contains("local")));
    assert_eq!(workbench.text(&tree, "kept.log").await, "changed\n");
}

#[tokio::test]
async fn files_folders_and_links_may_take_each_others_place() {
    let workbench = Workbench::new().await;
    let clone = cloned(&workbench).await;
    std::fs::remove_file(clone.join("run.sh")).unwrap();
    put(&clone, "run.sh/inner.txt", "a folder now\n");
    std::fs::remove_dir_all(clone.join("tests")).unwrap();
    put(&clone, "tests", "a file now\n");
    let outside = workbench.path("outside");
    put(&outside, "lib.txt", "a secret outside\n");
    std::fs::remove_dir_all(clone.join("src")).unwrap();
    symlink(&outside, clone.join("src")).unwrap();
    let tree = captured(&workbench, &clone).await;
    assert_eq!(workbench.names(&tree).await, ["link", "run.sh/inner.txt", "src", "tests"]);
    assert_eq!(workbench.text(&tree, "src").await, outside.to_str().unwrap());
}

#[tokio::test]
async fn nothing_an_agent_planted_runs() {
    let workbench = Workbench::new().await;
    let clone = cloned(&workbench).await;
    let canary = workbench.path("canary");
    put(&clone, "evil.sh", format!("#!/bin/sh\ntouch '{}'\ncat\n", canary.display()));
    let evil = clone.join("evil.sh");
    executable(&evil);
    let evil = evil.to_str().unwrap();
    for key in ["core.fsmonitor", "filter.evil.clean", "filter.evil.smudge", "filter.evil.process", "diff.external"] {
        git(&clone, &["config", key, evil]).await;
    }
    put(&clone, ".gitattributes", "*.md filter=evil\n* diff=evil merge=evil text eol=crlf\n");
    for hook in ["pre-commit", "post-index-change", "post-checkout"] {
        put(&clone, &format!(".git/hooks/{hook}"), format!("#!/bin/sh\ntouch '{}'\n", canary.display()));
        executable(&clone.join(".git/hooks").join(hook));
    }
    plain_git(&clone, &["status"]).await;
    assert!(canary.exists(), "the monitor would have run");
    std::fs::remove_file(&canary).unwrap();
    put(&clone, "src/new.txt", "a\r\nb\n");
    put(&clone, "filtered.md", "");
    let tree = captured(&workbench, &clone).await;
    assert_eq!(workbench.text(&tree, "src/new.txt").await, "a\nb\n");
    let commit = workbench.mirror.commit_on(&workbench.base, &tree, &crate::support::meta("work")).await.unwrap();
    workbench.mirror.diff(&workbench.base, &commit).await.unwrap();
    workbench.mirror.diff_summary(&workbench.base, &commit).await.unwrap();
    workbench.mirror.checkout(&commit, &workbench.path("out")).await.unwrap();
    assert!(!canary.exists());
}

#[tokio::test]
async fn nested_repositories_are_refused_and_not_opened() {
    let workbench = Workbench::new().await;
    let canary = workbench.path("canary");
    for (number, place) in ["vendored", "src/inner", "src"].into_iter().enumerate() {
        let clone = workbench.path(&format!("clone-{number}"));
        workbench.mirror.clone_for_agent(&workbench.base, &clone).await.unwrap();
        let nested = clone.join(place);
        init(&nested).await;
        put(&nested, "file.txt", "x\n");
        commit_all(&nested, "inner").await;
        put(&nested, ".git/monitor", format!("#!/bin/sh\ntouch '{}'\n", canary.display()));
        executable(&nested.join(".git/monitor"));
        git(&nested, &["config", "core.fsmonitor", nested.join(".git/monitor").to_str().unwrap()]).await;
        let refused = workbench.mirror.capture(&clone, &workbench.base).await;
        assert!(
            matches!(refused, Err(WorkspaceError::Refused(InputRefusal::NestedRepository { .. }))),
            "{place}: {refused:?}"
        );
    }
    assert!(!canary.exists());
}

#[tokio::test]
async fn unfinished_files_are_captured_but_for_those_that_would_be_refused() {
    let workbench = Workbench::new().await;
    let clone = cloned(&workbench).await;
    put(&clone, "src/lib.txt", "changed\n");
    put(&clone, "src/new.txt", "new\n");
    let nested = clone.join("vendored");
    init(&nested).await;
    put(&nested, "file.txt", "x\n");
    commit_all(&nested, "inner").await;
    put(&clone, "sub/git~1", "x");
    std::fs::remove_file(clone.join("run.sh")).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(clone.join("run.sh")).unwrap();
    let captured = workbench.mirror.capture_partly(&clone, &workbench.base).await.unwrap();
    let names = workbench.names(&captured.tree).await;
    assert_eq!(names, ["link", "run.sh", "src/lib.txt", "src/new.txt", "tests/a.txt"]);
    assert_eq!(workbench.text(&captured.tree, "src/lib.txt").await, "changed\n");
    let base = workbench.mirror.tree_of(&workbench.base).await.unwrap();
    assert_eq!(workbench.text(&captured.tree, "run.sh").await, workbench.text(&base, "run.sh").await);
    let named = captured.left_out.iter().map(|one| (one.kind, one.what.as_str(), one.why.as_str()));
    let mut named: Vec<_> = named.collect();
    named.sort();
    assert_eq!(named[0], (LeftOutKind::Unfit, "run.sh", "neither a file nor a link"));
    assert_eq!(named[1].1, "sub/git~1");
    assert_eq!(named[2..], [(LeftOutKind::Unfit, "vendored", "a git repository inside the working tree")]);
    // A tracked folder that became a repository has the files that it has.
    init(&clone.join("src")).await;
    assert_eq!(workbench.mirror.capture_partly(&clone, &workbench.base).await.unwrap().tree, captured.tree);
}

#[tokio::test]
async fn a_link_in_place_of_the_working_tree_is_not_followed() {
    let workbench = Workbench::new().await;
    let clone = cloned(&workbench).await;
    std::fs::remove_dir_all(&clone).unwrap();
    symlink(&workbench.repo, &clone).unwrap();
    let refused = workbench.mirror.capture(&clone, &workbench.base).await;
    assert!(matches!(refused, Err(WorkspaceError::Refused(InputRefusal::Unreadable { .. }))), "{refused:?}");
}

#[tokio::test]
async fn what_is_neither_file_nor_link_is_refused_where_the_base_has_a_file() {
    let workbench = Workbench::new().await;
    let clone = cloned(&workbench).await;
    let _socket = std::os::unix::net::UnixListener::bind(clone.join("new.sock")).unwrap();
    assert_eq!(captured(&workbench, &clone).await, workbench.mirror.tree_of(&workbench.base).await.unwrap());
    std::fs::remove_file(clone.join("run.sh")).unwrap();
    let _other = std::os::unix::net::UnixListener::bind(clone.join("run.sh")).unwrap();
    let refused = workbench.mirror.capture(&clone, &workbench.base).await;
    assert!(matches!(refused, Err(WorkspaceError::Refused(InputRefusal::UnsupportedFile { .. }))), "{refused:?}");
}

#[tokio::test]
async fn caps_hold_for_working_trees() {
    let workbench = Workbench::new().await;
    let clone = cloned(&workbench).await;
    put(&clone, "big.bin", vec![7_u8; 5000]);
    let tries: [(InputLimits, IsRight); 3] = [
        (InputLimits { blob_bytes: 4999, ..InputLimits::default() }, |r| {
            matches!(r, InputRefusal::BlobTooLarge { bytes: 5000, .. })
        }),
        (InputLimits { tree_bytes: 5010, ..InputLimits::default() }, |r| {
            matches!(r, InputRefusal::TreeTooLarge { .. })
        }),
        (InputLimits { tree_entries: 4, ..InputLimits::default() }, |r| {
            matches!(r, InputRefusal::TooManyEntries { .. })
        }),
    ];
    for (limits, is_right) in tries {
        let mirror = Mirror::open_or_create(workbench.mirror.dir(), ObjectFormat::Sha1, limits).await.unwrap();
        match mirror.capture(&clone, &workbench.base).await {
            Err(WorkspaceError::Refused(refusal)) => assert!(is_right(&refusal), "{refusal:?}"),
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn content_is_read_whatever_times_and_sizes_say() {
    let workbench = Workbench::new().await;
    let clone = cloned(&workbench).await;
    let file = clone.join("tests/a.txt");
    let old = std::fs::metadata(&file).unwrap().modified().unwrap();
    std::fs::write(&file, "tset a\n").unwrap();
    std::fs::File::options().write(true).open(&file).unwrap().set_modified(old).unwrap();
    git(&clone, &["update-index", "--assume-unchanged", "tests/a.txt"]).await;
    let tree = captured(&workbench, &clone).await;
    assert_eq!(workbench.text(&tree, "tests/a.txt").await, "tset a\n");
    assert_eq!(oid(&clone, "HEAD").await, workbench.base);
}
