//! What is done without git is what git does: listings, commits and edited trees are compared with its own.

use std::path::Path;
use std::time::Duration;

use holdpoint_sandbox::Tool;
use holdpoint_workspace::{CommitMeta, EntryMode, FileAs, InputRefusal, ObjectId, Replacement, WorkspaceError};

use crate::support::{Workbench, git, import_file, meta, oid, path, put};

/// Runs git on the mirror as it is.
async fn on_mirror(workbench: &Workbench, args: &[&str], stdin: &[u8], env: &[(&str, &str)]) -> Vec<u8> {
    let tool = Tool::new("git").dir(workbench.mirror.dir()).args(args).stdin(stdin);
    env.iter().fold(tool, |tool, (key, value)| tool.env(key, value)).run_ok().await.unwrap().stdout
}

async fn made(workbench: &Workbench, args: &[&str], stdin: &[u8]) -> ObjectId {
    let answer = on_mirror(workbench, args, stdin, &[]).await;
    String::from_utf8(answer).unwrap().trim().parse().unwrap()
}

/// The listing in git's own form.
async fn listed(workbench: &Workbench, tree: &ObjectId) -> String {
    let entries = workbench.mirror.list_tree(tree).await.unwrap();
    let shown = entries.iter().map(|entry| {
        let kind = if entry.mode == EntryMode::Gitlink { "commit" } else { "blob" };
        let bytes = entry.bytes.map_or_else(|| "-".to_owned(), |bytes| bytes.to_string());
        let path = String::from_utf8_lossy(entry.path.as_bytes()).into_owned();
        format!("{} {kind} {} {bytes:>7}\t{path}\0", entry.mode.octal(), entry.oid)
    });
    shown.collect()
}

#[tokio::test]
async fn a_tree_is_listed_as_git_lists_it() {
    let workbench = Workbench::with(|repo| {
        // Sorted as if folders ended with a slash.
        for name in ["a", "a.txt", "a-b/c", "a0/x", "a\tb\n c/d\"", "b/c/d/e/f", "b/c.txt"] {
            put(repo, name, name);
        }
        put(repo, "empty", "");
    })
    .await;
    let sub = workbench.base.as_str();
    let index = format!("160000 {sub}\tsub\n100644 {}\tz\n", oid(&workbench.repo, "HEAD:a").await);
    git(&workbench.repo, &["read-tree", "HEAD"]).await;
    let tool = Tool::new("git").dir(&workbench.repo).args(["update-index", "--index-info"]);
    tool.stdin(index.into_bytes()).run_ok().await.unwrap();
    let tree = git(&workbench.repo, &["write-tree"]).await;
    // The mirror has all of it but this tree.
    let bytes = Tool::new("git").dir(&workbench.repo).args(["cat-file", "tree", &tree]).run_ok().await.unwrap().stdout;
    let tree = made(&workbench, &["hash-object", "-w", "-t", "tree", "--stdin"], &bytes).await;
    let git = on_mirror(&workbench, &["ls-tree", "-r", "-z", "-l", "--full-tree", tree.as_str()], b"", &[]).await;
    assert_eq!(listed(&workbench, &tree).await, String::from_utf8_lossy(&git));
    let whole = on_mirror(&workbench, &["ls-tree", "-r", "-z", "-l", workbench.base.as_str()], b"", &[]).await;
    assert_eq!(listed(&workbench, &workbench.base).await, String::from_utf8_lossy(&whole));
}

#[tokio::test]
async fn modes_of_old_repositories_are_read_and_written_as_git_does() {
    let workbench = Workbench::new().await;
    let blob = workbench.mirror.write_blob(b"x\n".to_vec()).await.unwrap();
    let raw: Vec<u8> =
        (0..40).step_by(2).map(|at| u8::from_str_radix(&blob.as_str()[at..at + 2], 16).unwrap()).collect();
    let old: Vec<u8> = [("100664", "a"), ("100600", "b"), ("100775", "c")]
        .iter()
        .flat_map(|(mode, name)| [format!("{mode} {name}\0").as_bytes(), &raw].concat())
        .collect();
    let tree = made(&workbench, &["hash-object", "-w", "-t", "tree", "--literally", "--stdin"], &old).await;
    let modes: Vec<_> = workbench.mirror.list_tree(&tree).await.unwrap().iter().map(|entry| entry.mode).collect();
    assert_eq!(modes, [EntryMode::File, EntryMode::File, EntryMode::Executable]);
    let replacement = (path("d"), Some(FileAs { mode: EntryMode::File, oid: blob.clone() }));
    let edited = workbench.mirror.compose_tree(&tree, &[replacement]).await.unwrap();
    let listing =
        format!("100644 blob {blob}\ta\n100644 blob {blob}\tb\n100755 blob {blob}\tc\n100644 blob {blob}\td\n");
    assert_eq!(edited, made(&workbench, &["mktree"], listing.as_bytes()).await);
}

#[tokio::test]
async fn commits_are_those_that_git_makes() {
    let workbench = Workbench::new().await;
    let tree = workbench.mirror.tree_of(&workbench.base).await.unwrap();
    let table = [
        ("Holdpoint", "holdpoint@localhost", "one line\n"),
        ("  A. <B>, \"C\" ", "<a@b>", "no line feed at its end"),
        ("a'b\nc", " a b@c; ", "\n\n  blanks before\n\n\nand after  \n\n\n"),
        ("Jörg Ä", "j@ä", "text\r\n\ntrailer: x\n# no comment\n"),
        ("x", "", ""),
    ];
    for (name, email, message) in table {
        let meta = CommitMeta {
            name: name.to_owned(),
            email: email.to_owned(),
            epoch_seconds: 1_700_000_000,
            message: message.to_owned(),
        };
        let ours = workbench.mirror.commit_on(&workbench.base, &tree, &meta).await.unwrap();
        let date = "@1700000000 +0000";
        let env = [
            ("GIT_AUTHOR_NAME", name),
            ("GIT_AUTHOR_EMAIL", email),
            ("GIT_AUTHOR_DATE", date),
            ("GIT_COMMITTER_NAME", name),
            ("GIT_COMMITTER_EMAIL", email),
            ("GIT_COMMITTER_DATE", date),
        ];
        let args = ["commit-tree", tree.as_str(), "-p", workbench.base.as_str(), "-F", "-"];
        let theirs = on_mirror(&workbench, &args, message.as_bytes(), &env).await;
        let shown = on_mirror(&workbench, &["cat-file", "commit", ours.as_str()], b"", &[]).await;
        assert_eq!(ours.as_str(), String::from_utf8_lossy(&theirs).trim(), "{:?}", String::from_utf8_lossy(&shown));
    }
    for (name, message) in [(" ',<> ", "x"), ("a", "a\0b")] {
        let meta = CommitMeta { name: name.to_owned(), ..meta(message) };
        let refused = workbench.mirror.commit_on(&workbench.base, &tree, &meta).await;
        assert!(matches!(refused, Err(WorkspaceError::NoCommit { .. })), "{refused:?}");
    }
    let missing = ObjectId::zero(workbench.mirror.object_format());
    for (parent, tree) in [(&missing, &tree), (&workbench.base, &missing), (&tree, &tree)] {
        let refused = workbench.mirror.commit_on(parent, tree, &meta("x")).await;
        assert!(matches!(refused, Err(WorkspaceError::NoSuchObject { .. })), "{refused:?}");
    }
}

/// The tree that git's index gives.
async fn by_index(workbench: &Workbench, on: &ObjectId, replacements: &[Replacement], index: &Path) -> ObjectId {
    let env = [("GIT_INDEX_FILE", index.to_str().unwrap())];
    on_mirror(workbench, &["read-tree", on.as_str()], b"", &env).await;
    let (removed, written): (Vec<_>, Vec<_>) = replacements.iter().partition(|(_, file)| file.is_none());
    let lines = removed.into_iter().chain(written).map(|(path, file)| match file {
        Some(FileAs { mode, oid }) => format!("{} {oid}\t{path}\n", mode.octal()),
        None => format!("0 {}\t{path}\n", "0".repeat(40)),
    });
    let lines: String = lines.collect();
    on_mirror(workbench, &["update-index", "--replace", "--index-info"], lines.as_bytes(), &env).await;
    let tree = on_mirror(workbench, &["write-tree"], b"", &env).await;
    String::from_utf8(tree).unwrap().trim().parse().unwrap()
}

#[tokio::test]
async fn edited_trees_are_those_that_an_index_gives() {
    let workbench = Workbench::new().await;
    let mut blobs = Vec::new();
    for text in ["one", "two", "three"] {
        blobs.push(workbench.mirror.write_blob(text.into()).await.unwrap());
    }
    let names = ["a", "a/b", "a/b/c", "a/d", "a.x", "b", "b/c", "b/c/d", "src/lib.txt", "src", "run.sh", "tests/a.txt"];
    let modes = [EntryMode::File, EntryMode::Executable, EntryMode::Symlink, EntryMode::Gitlink];
    // Numbers that look random and are the same each time (Knuth's MMIX generator).
    let mut state = 1_u64;
    let mut next = move |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).unwrap() % below
    };
    let index = workbench.path("index");
    let mut tree = workbench.mirror.tree_of(&workbench.base).await.unwrap();
    for round in 0..120 {
        let replacements: Vec<Replacement> = (0..=next(4))
            .map(|_| {
                let file = FileAs { mode: modes[next(4)], oid: blobs[next(3)].clone() };
                (path(names[next(names.len())]), (next(3) > 0).then_some(file))
            })
            .collect();
        let edited = workbench.mirror.compose_tree(&tree, &replacements).await.unwrap();
        assert_eq!(edited, by_index(&workbench, &tree, &replacements, &index).await, "{round}: {replacements:?}");
        tree = edited;
    }
}

#[tokio::test]
async fn a_blob_that_is_not_there_makes_no_tree() {
    let workbench = Workbench::new().await;
    let oid = ObjectId::zero(workbench.mirror.object_format());
    let file = |mode| vec![(path("a"), Some(FileAs { mode, oid: oid.clone() }))];
    let refused = workbench.mirror.compose_tree(&workbench.base, &file(EntryMode::File)).await;
    assert!(matches!(refused, Err(WorkspaceError::NoSuchObject { kind: "blob", .. })), "{refused:?}");
    let folder = workbench.mirror.tree_of(&workbench.base).await.unwrap();
    let folder = vec![(path("a"), Some(FileAs { mode: EntryMode::File, oid: folder }))];
    let refused = workbench.mirror.compose_tree(&workbench.base, &folder).await;
    assert!(matches!(refused, Err(WorkspaceError::NoSuchObject { kind: "blob", .. })), "{refused:?}");
}

/// A bundle of one commit on `base` with this tree of the repository.
async fn bundle_of(workbench: &Workbench, tree: &str) -> std::path::PathBuf {
    let commit = git(&workbench.repo, &["commit-tree", tree, "-p", workbench.base.as_str(), "-m", "x"]).await;
    git(&workbench.repo, &["update-ref", "refs/holdpoint/handoff", &commit]).await;
    let out = workbench.path("made.bundle");
    let not = format!("^{}", workbench.base);
    git(&workbench.repo, &["bundle", "create", "--quiet", out.to_str().unwrap(), "refs/holdpoint/handoff", &not]).await;
    out
}

/// To git a mode `140000` is a submodule link, to other readers a folder: what one of them shows, the other does not.
#[tokio::test]
async fn a_folder_with_a_mode_that_is_none_is_refused() {
    let workbench = Workbench::new().await;
    let raw = Tool::new("git").dir(&workbench.repo).args(["cat-file", "tree", "HEAD^{tree}"]).run_ok().await.unwrap();
    let at = raw.stdout.windows(12).position(|bytes| bytes == b"40000 tests\0").unwrap();
    for (from, to) in [("40000 ", "140000 "), ("40000 ", "140644 ")] {
        let mut bytes = raw.stdout.clone();
        bytes.splice(at..at + from.len(), to.bytes());
        let made =
            Tool::new("git").dir(&workbench.repo).args(["hash-object", "-w", "-t", "tree", "--literally", "--stdin"]);
        let tree = String::from_utf8(made.stdin(bytes).run_ok().await.unwrap().stdout).unwrap();
        let bundle = bundle_of(&workbench, tree.trim()).await;
        let refused = import_file(&workbench.mirror, &bundle, &workbench.base).await;
        let Err(WorkspaceError::Refused(InputRefusal::BrokenObjects { detail })) = refused else {
            panic!("{refused:?}")
        };
        assert!(detail.contains("has an entry that is none"), "git lets it pass: {detail}");
    }
}

#[tokio::test]
async fn endless_folders_without_a_file_are_refused() {
    let workbench = Workbench::new().await;
    let mut tree = git(&workbench.repo, &["hash-object", "-w", "-t", "tree", "/dev/null"]).await;
    for _ in 0..12 {
        let listing: String = (0..10).map(|name| format!("040000 tree {tree}\t{name}\n")).collect();
        let made = Tool::new("git").dir(&workbench.repo).arg("mktree").stdin(listing.into_bytes());
        tree = String::from_utf8(made.run_ok().await.unwrap().stdout).unwrap().trim().to_owned();
    }
    let bomb = bundle_of(&workbench, &tree).await;
    let import = import_file(&workbench.mirror, &bomb, &workbench.base);
    let refused = tokio::time::timeout(Duration::from_secs(100), import).await.unwrap().unwrap_err();
    assert!(matches!(refused, WorkspaceError::Refused(InputRefusal::TooManyEntries { .. })), "{refused}");
}
