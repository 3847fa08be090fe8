//! What git calls a conflict and what it merges: the cases that a landing queue meets.

use std::{fs, os::unix::fs::symlink, path::Path};

use holdpoint_workspace::{EntryMode, Landing, Merge, ObjectId, UserRepo};

use crate::support::{Workbench, commit_all, executable, import, init, meta, put};

/// What one side does to a checkout of the base.
type Change = fn(&Path);

/// A commit on `parent` whose tree is what `change` makes of it.
async fn made(workbench: &Workbench, parent: &ObjectId, change: Change) -> ObjectId {
    let dir = tempfile::tempdir_in(workbench.temp.path()).unwrap();
    workbench.mirror.checkout(parent, dir.path()).await.unwrap();
    change(dir.path());
    let tree = workbench.mirror.capture(dir.path(), parent).await.unwrap();
    workbench.mirror.commit_on(parent, &tree, &meta("work")).await.unwrap()
}

async fn merged(workbench: &Workbench, landed: Change, work: Change) -> Merge {
    let (tip, work) = (made(workbench, &workbench.base, landed).await, made(workbench, &workbench.base, work).await);
    workbench.mirror.merge_tree(Landing { base: &workbench.base, tip: &tip, work: &work }).await.unwrap()
}

fn rename(dir: &Path, from: &str, to: &str) {
    fs::create_dir_all(dir.join(to).parent().unwrap()).unwrap();
    fs::rename(dir.join(from), dir.join(to)).unwrap();
}

#[tokio::test]
async fn what_both_changed_is_a_conflict_that_names_its_paths() {
    let workbench = Workbench::with(|repo| {
        put(repo, "data.bin", [0, 1, 2, 3]);
    })
    .await;
    let table: &[(&str, Change, Change, &[&str])] = &[
        (
            "renamed to two names",
            |dir| rename(dir, "src/lib.txt", "src/one.txt"),
            |dir| rename(dir, "src/lib.txt", "src/two.txt"),
            &["src/lib.txt", "src/one.txt", "src/two.txt"],
        ),
        (
            "deleted and changed",
            |dir| fs::remove_file(dir.join("tests/a.txt")).unwrap(),
            |dir| put(dir, "tests/a.txt", "changed\n"),
            &["tests/a.txt"],
        ),
        (
            "changed and deleted",
            |dir| put(dir, "tests/a.txt", "changed\n"),
            |dir| fs::remove_file(dir.join("tests/a.txt")).unwrap(),
            &["tests/a.txt"],
        ),
        ("added by both", |dir| put(dir, "new", "one\n"), |dir| put(dir, "new", "two\n"), &["new"]),
        (
            "an executable and a link",
            |dir| executable(&dir.join("tests/a.txt")),
            |dir| {
                fs::remove_file(dir.join("tests/a.txt")).unwrap();
                symlink("../src", dir.join("tests/a.txt")).unwrap();
            },
            &["tests/a.txt"],
        ),
        (
            "a file and a link",
            |dir| put(dir, "new", "one\n"),
            |dir| symlink("run.sh", dir.join("new")).unwrap(),
            &["new"],
        ),
        ("a file and a folder", |dir| put(dir, "new", "one\n"), |dir| put(dir, "new/one", "one\n"), &["new"]),
        ("a folder and a file", |dir| put(dir, "new/one", "one\n"), |dir| put(dir, "new", "one\n"), &["new"]),
        (
            "a link to two places",
            |dir| {
                fs::remove_file(dir.join("link")).unwrap();
                symlink("run.sh", dir.join("link")).unwrap();
            },
            |dir| {
                fs::remove_file(dir.join("link")).unwrap();
                symlink("tests", dir.join("link")).unwrap();
            },
            &["link"],
        ),
        ("bytes", |dir| put(dir, "data.bin", [0, 1, 2, 4]), |dir| put(dir, "data.bin", [0, 1, 2, 5]), &["data.bin"]),
    ];
    let (mut found, mut wanted) = (Vec::new(), Vec::new());
    for (name, landed, work, expected) in table {
        found.push(match merged(&workbench, *landed, *work).await {
            Merge::Conflict(paths) => (*name, paths.iter().map(ToString::to_string).collect()),
            Merge::Clean(_) => (*name, Vec::new()),
        });
        wanted.push((*name, expected.iter().map(ToString::to_string).collect::<Vec<_>>()));
    }
    assert_eq!(found, wanted);
}

#[tokio::test]
async fn what_only_one_changed_is_merged() {
    let workbench = Workbench::new().await;
    let table: &[(&str, Change, Change, &[&str])] = &[
        (
            "renamed and changed",
            |dir| rename(dir, "src/lib.txt", "src/moved.txt"),
            |dir| put(dir, "src/lib.txt", "one\ntwo\nthree\nfour\nfive\nsix\nSEVEN\n"),
            &["link", "run.sh", "src/moved.txt", "tests/a.txt"],
        ),
        (
            "renamed alike",
            |dir| rename(dir, "src/lib.txt", "src/moved.txt"),
            |dir| rename(dir, "src/lib.txt", "src/moved.txt"),
            &["link", "run.sh", "src/moved.txt", "tests/a.txt"],
        ),
        (
            "names that differ in case",
            |dir| put(dir, "README", "one\n"),
            |dir| put(dir, "readme", "two\n"),
            &["README", "link", "readme", "run.sh", "src/lib.txt", "tests/a.txt"],
        ),
        (
            "a file in a folder that was renamed",
            |dir| rename(dir, "src", "lib"),
            |dir| put(dir, "src/new.txt", "new\n"),
            &["lib/lib.txt", "link", "run.sh", "src/new.txt", "tests/a.txt"],
        ),
        (
            "deleted by both",
            |dir| fs::remove_file(dir.join("tests/a.txt")).unwrap(),
            |dir| fs::remove_file(dir.join("tests/a.txt")).unwrap(),
            &["link", "run.sh", "src/lib.txt"],
        ),
    ];
    for (name, landed, work, expected) in table {
        let Merge::Clean(tree) = merged(&workbench, *landed, *work).await else { panic!("{name}: a conflict") };
        assert_eq!(workbench.names(&tree).await, *expected, "{name}");
    }
}

#[tokio::test]
async fn a_mode_and_a_text_of_one_file_are_merged() {
    let workbench = Workbench::new().await;
    let merge =
        merged(&workbench, |dir| executable(&dir.join("tests/a.txt")), |dir| put(dir, "tests/a.txt", "changed\n"));
    let Merge::Clean(tree) = merge.await else { panic!("a conflict") };
    assert_eq!(workbench.text(&tree, "tests/a.txt").await, "changed\n");
    let entries = workbench.mirror.list_tree(&tree).await.unwrap();
    let entry = entries.iter().find(|entry| entry.path.as_bytes() == b"tests/a.txt").unwrap();
    assert_eq!(entry.mode, EntryMode::Executable);
}

#[tokio::test]
async fn identical_changes_leave_nothing_to_land() {
    let workbench = Workbench::new().await;
    let change: Change = |dir| put(dir, "src/lib.txt", "the same\n");
    let tip = made(&workbench, &workbench.base, change).await;
    let work = made(&workbench, &workbench.base, change).await;
    let merge = workbench.mirror.merge_tree(Landing { base: &workbench.base, tip: &tip, work: &work }).await.unwrap();
    assert_eq!(merge, Merge::Clean(workbench.mirror.tree_of(&tip).await.unwrap()));
}

#[tokio::test]
async fn a_submodule_stays_where_both_leave_it_alone() {
    let workbench = Workbench::new().await;
    let sub = workbench.repo.join("sub");
    init(&sub).await;
    put(&sub, "inside", "inside\n");
    commit_all(&sub, "inside").await;
    commit_all(&workbench.repo, "with a submodule").await;
    let user = UserRepo::open(&workbench.repo).await.unwrap();
    let base = user.resolve("HEAD").await.unwrap();
    let bundle = user.snapshot(&base, &workbench.path("again.bundle")).await.unwrap();
    import(&workbench.mirror, &bundle, None).await.unwrap();
    let tip = made(&workbench, &base, |dir| put(dir, "one", "one\n")).await;
    let work = made(&workbench, &base, |dir| put(dir, "two", "two\n")).await;
    let merge = workbench.mirror.merge_tree(Landing { base: &base, tip: &tip, work: &work }).await.unwrap();
    let Merge::Clean(tree) = merge else { panic!("a conflict") };
    let entries = workbench.mirror.list_tree(&tree).await.unwrap();
    let entry = |name: &str| entries.iter().find(|entry| entry.path.as_bytes() == name.as_bytes()).map(|e| e.mode);
    assert_eq!(entry("sub"), Some(EntryMode::Gitlink));
    assert_eq!((entry("one"), entry("two")), (Some(EntryMode::File), Some(EntryMode::File)));
}

/// What comes of these changes of both sides.
async fn both_appended(workbench: &Workbench, tip: &[(&str, Option<&str>)], work: &[(&str, Option<&str>)]) -> Merge {
    let tip = workbench.commit(&workbench.base, tip).await;
    let work = workbench.commit(&workbench.base, work).await;
    workbench.mirror.merge_tree(Landing { base: &workbench.base, tip: &tip, work: &work }).await.unwrap()
}

#[tokio::test]
async fn files_are_merged_as_attributes_of_the_tip_say() {
    let attributes = "*.txt merge=union\n*.bin binary\n*.lock -merge\n*.own merge=own\nsub/*.txt merge\n";
    let workbench = Workbench::with(|repo| {
        put(repo, ".gitattributes", attributes);
        for name in ["a.txt", "a.bin", "a.lock", "a.own", "sub/a.txt"] {
            put(repo, name, "1\n2\n3\n4\n5\n6\n7\n");
        }
    })
    .await;
    let (tip, work) = (Some("1\n2\n3\n4\n5\n6\n7\ntip\n"), Some("1\n2\n3\n4\n5\n6\n7\nwork\n"));
    let start = Some("work\n1\n2\n3\n4\n5\n6\n7\n");
    for (name, ours, merged) in [
        ("a.txt", work, Some("1\n2\n3\n4\n5\n6\n7\ntip\nwork\n")),
        ("sub/a.txt", work, None),
        ("a.bin", start, None),
        ("a.lock", start, None),
        ("a.own", start, Some("work\n1\n2\n3\n4\n5\n6\n7\ntip\n")),
        ("a.own", work, None),
    ] {
        match (both_appended(&workbench, &[(name, tip)], &[(name, ours)]).await, merged) {
            (Merge::Clean(tree), Some(merged)) => assert_eq!(workbench.text(&tree, name).await, merged, "{name}"),
            (Merge::Conflict(paths), None) => assert_eq!(paths, [crate::support::path(name)], "{name}"),
            (other, _) => panic!("{name}: {other:?}"),
        }
    }
}

#[tokio::test]
async fn work_does_not_say_how_it_is_merged() {
    let workbench = Workbench::new().await;
    let (tip, work) = (("tests/a.txt", Some("tip\n")), ("tests/a.txt", Some("work\n")));
    let union = (".gitattributes", Some("* merge=union\n"));
    assert!(matches!(both_appended(&workbench, &[tip], &[work, union]).await, Merge::Conflict(_)));
    assert!(matches!(both_appended(&workbench, &[tip, union], &[work]).await, Merge::Clean(_)));
}
