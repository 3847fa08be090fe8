//! Commits, differences, merges and composed trees.

use holdpoint_workspace::{
    Change, DiffStat, DiffStatus, EntryMode, FileAs, Landing, Merge, ObjectFormat, ObjectId, WorkspaceError,
};

use crate::support::{Workbench, executable, git, meta, mirror_in, path, put};

#[tokio::test]
async fn a_commit_has_the_same_id_everywhere() {
    let workbench = Workbench::new().await;
    let tree = workbench.mirror.tree_of(&workbench.base).await.unwrap();
    let message = meta("subject\n\nbody with ä\n\nHoldpoint-Flight: f1");
    let commit = workbench.mirror.commit_on(&workbench.base, &tree, &message).await.unwrap();
    let other = mirror_in(&workbench.path("other")).await;
    let full = workbench.mirror.full_bundle(&workbench.base, "refs/x/y", &workbench.path("f.bundle")).await.unwrap();
    crate::support::import(&other, &full, None).await.unwrap();
    assert_eq!(other.commit_on(&workbench.base, &tree, &message).await.unwrap(), commit);
    assert_eq!(other.parents(&commit).await.unwrap(), std::slice::from_ref(&workbench.base));
    assert_eq!(other.tree_of(&commit).await.unwrap(), tree);
    let later = holdpoint_workspace::CommitMeta { epoch_seconds: 1_700_000_001, ..message };
    assert_ne!(other.commit_on(&workbench.base, &tree, &later).await.unwrap(), commit);
    assert!(matches!(other.tree_of(&tree).await, Err(WorkspaceError::NoSuchObject { .. })));
}

#[tokio::test]
async fn a_difference_names_every_touched_path() {
    let workbench = Workbench::new().await;
    let dir = workbench.path("dir");
    workbench.mirror.checkout(&workbench.base, &dir).await.unwrap();
    std::fs::rename(dir.join("tests/a.txt"), dir.join("tests/ä b.txt")).unwrap();
    executable(&dir.join("src/lib.txt"));
    put(&dir, "bin.dat", [0, 1, 2, 255]);
    std::fs::remove_file(dir.join("link")).unwrap();
    put(&dir, "link", "a file now\n");
    let tree = workbench.mirror.capture(&dir, &workbench.base).await.unwrap();
    let changes = workbench.mirror.diff(&workbench.base, &tree).await.unwrap();
    let shown: Vec<_> = changes.iter().map(|change| (change.path.to_string(), change.status)).collect();
    let expected = [
        ("bin.dat", DiffStatus::Added),
        ("link", DiffStatus::TypeChanged),
        ("src/lib.txt", DiffStatus::Modified),
        ("tests/a.txt", DiffStatus::Deleted),
        ("tests/ä b.txt", DiffStatus::Added),
    ];
    assert_eq!(shown, expected.map(|(name, status)| (name.to_owned(), status)));
    assert!(changes[1].is_symlink() && !changes[2].is_symlink());
    assert_eq!(changes[2].new.as_ref().unwrap().0, EntryMode::Executable);
    let summary = workbench.mirror.diff_summary(&workbench.base, &tree).await.unwrap();
    // A link that became a file counts as both; git reports it as one path.
    assert_eq!(summary, DiffStat { files: 5, insertions: 2, deletions: 2, binary_files: 1 });
    assert_eq!(workbench.mirror.diff_summary(&tree, &tree).await.unwrap(), DiffStat::default());
    assert_eq!(workbench.mirror.diff(&tree, &tree).await.unwrap(), []);
}

#[tokio::test]
async fn listings_give_the_same_difference_as_git() {
    let workbench = Workbench::new().await;
    let apart = [("link", None), ("link/x", Some("a folder in a link's place\n")), ("link-more", Some("x\n"))];
    let one = workbench.commit(&workbench.base, &apart).await;
    let two = workbench.commit(&workbench.base, &[("src/lib.txt", Some("other\n")), ("src.txt", Some("\n"))]).await;
    for (from, to) in [(&workbench.base, &one), (&one, &two), (&two, &workbench.base), (&one, &one)] {
        let args = ["diff-tree", "-r", "-z", "--raw", "--no-abbrev", "--no-renames", from.as_str(), to.as_str()];
        let by_git = git(workbench.mirror.dir(), &args).await;
        let changes = workbench.mirror.diff(from, to).await.unwrap();
        assert_eq!(changes.iter().map(raw).collect::<String>(), by_git);
    }
}

/// A change as git's raw listing has it.
fn raw(change: &Change) -> String {
    let zero = ObjectId::zero(ObjectFormat::Sha1);
    let side = |side: &Option<(EntryMode, ObjectId)>| match side {
        Some((mode, oid)) => (mode.octal(), oid.clone()),
        None => ("000000", zero.clone()),
    };
    let ((old_mode, old), (new_mode, new)) = (side(&change.old), side(&change.new));
    let status = match change.status {
        DiffStatus::Added => "A",
        DiffStatus::Modified => "M",
        DiffStatus::Deleted => "D",
        DiffStatus::TypeChanged => "T",
    };
    format!(":{old_mode} {new_mode} {old} {new} {status}\0{}\0", change.path)
}

#[tokio::test]
async fn a_patch_shows_text_and_is_not_there_where_it_is_too_long() {
    let workbench = Workbench::new().await;
    let commit =
        workbench.commit(&workbench.base, &[("src/lib.txt", Some("another\n")), ("new.txt", Some("words\n"))]).await;
    let patch = workbench.mirror.patch(&workbench.base, &commit, 1 << 20).await.unwrap().unwrap();
    let patch = String::from_utf8(patch).unwrap();
    for part in ["+++ b/src/lib.txt\n", "\n+another\n", "new file mode 100644", "\n+words\n"] {
        assert!(patch.contains(part), "{patch}");
    }
    assert_eq!(workbench.mirror.patch(&workbench.base, &commit, 64).await.unwrap(), None);
    assert_eq!(workbench.mirror.patch(&commit, &commit, 64).await.unwrap(), Some(Vec::new()));
}

#[tokio::test]
async fn work_on_other_lines_merges_and_on_the_same_conflicts() {
    let workbench = Workbench::new().await;
    let text = |first: &str, last: &str| format!("{first}\ntwo\nthree\nfour\nfive\nsix\n{last}\n");
    let tip = workbench.commit(&workbench.base, &[("src/lib.txt", Some(&text("ONE", "seven")))]).await;
    let apart = workbench.commit(&workbench.base, &[("src/lib.txt", Some(&text("one", "SEVEN")))]).await;
    let same = workbench.commit(&workbench.base, &[("src/lib.txt", Some(&text("uno", "seven")))]).await;
    let landing = |work| Landing { base: &workbench.base, tip: &tip, work };
    let Merge::Clean(tree) = workbench.mirror.merge_tree(landing(&apart)).await.unwrap() else { panic!("a conflict") };
    assert_eq!(workbench.text(&tree, "src/lib.txt").await, text("ONE", "SEVEN"));
    let conflict = workbench.mirror.merge_tree(landing(&same)).await.unwrap();
    assert_eq!(conflict, Merge::Conflict(vec![path("src/lib.txt")]));
}

#[tokio::test]
async fn a_file_removed_on_one_side_and_changed_on_the_other_conflicts() {
    let workbench = Workbench::new().await;
    let tip = workbench.commit(&workbench.base, &[("tests/a.txt", None)]).await;
    let work = workbench.commit(&workbench.base, &[("tests/a.txt", Some("changed\n"))]).await;
    let merge = workbench.mirror.merge_tree(Landing { base: &workbench.base, tip: &tip, work: &work }).await.unwrap();
    assert_eq!(merge, Merge::Conflict(vec![path("tests/a.txt")]));
}

#[tokio::test]
async fn only_one_commit_on_the_base_is_merged() {
    let workbench = Workbench::new().await;
    let first = workbench.commit(&workbench.base, &[("a", Some("a\n"))]).await;
    let second = workbench.commit(&first, &[("b", Some("b\n"))]).await;
    let two = workbench.mirror.merge_tree(Landing { base: &workbench.base, tip: &workbench.base, work: &second }).await;
    assert!(matches!(two, Err(WorkspaceError::NotOnBase { commit, .. }) if commit == second));
    let aside = workbench.mirror.merge_tree(Landing { base: &first, tip: &workbench.base, work: &second }).await;
    assert!(matches!(aside, Err(WorkspaceError::NotOnBase { commit, .. }) if commit == workbench.base));
}

#[tokio::test]
async fn tests_as_on_the_base_are_composed() {
    let workbench = Workbench::with(|repo| put(repo, "tests/b.txt", "test b\n")).await;
    let files = [
        ("src/lib.txt", Some("the work\n")),
        ("tests/a.txt", None),
        ("tests/b.txt", Some("weakened\n")),
        ("tests/c.txt", Some("new\n")),
    ];
    let work = workbench.commit(&workbench.base, &files).await;
    let changes = workbench.mirror.diff(&workbench.base, &work).await.unwrap();
    let back: Vec<_> = changes
        .into_iter()
        .filter(|change| change.path.as_bytes().starts_with(b"tests/"))
        .map(|change| (change.path, change.old.map(|(mode, oid)| FileAs { mode, oid })))
        .collect();
    let tree = workbench.mirror.compose_tree(&work, &back).await.unwrap();
    assert_eq!(workbench.names(&tree).await, ["link", "run.sh", "src/lib.txt", "tests/a.txt", "tests/b.txt"]);
    assert_eq!(workbench.text(&tree, "tests/b.txt").await, "test b\n");
    assert_eq!(workbench.text(&tree, "src/lib.txt").await, "the work\n");
}

#[tokio::test]
async fn composing_replaces_files_by_folders_and_back() {
    let workbench = Workbench::new().await;
    let entries = workbench.mirror.list_tree(&workbench.base).await.unwrap();
    let oid = entries.iter().find(|entry| entry.path == path("run.sh")).unwrap().oid.clone();
    let file = || Some(FileAs { mode: EntryMode::File, oid: oid.clone() });
    let tree = workbench
        .mirror
        .compose_tree(&workbench.base, &[(path("run.sh/x"), file()), (path("src"), file())])
        .await
        .unwrap();
    assert_eq!(workbench.names(&tree).await, ["link", "run.sh/x", "src", "tests/a.txt"]);
    assert_eq!(
        workbench.mirror.compose_tree(&workbench.base, &[]).await.unwrap(),
        workbench.mirror.tree_of(&workbench.base).await.unwrap()
    );
}

#[tokio::test]
async fn turns_may_use_one_mirror_at_once_from_any_thread() {
    let workbench = Workbench::new().await;
    let turns = (0..3).map(|number| {
        let (mirror, base) = (workbench.mirror.clone(), workbench.base.clone());
        let (clone, out) = (workbench.path(&format!("clone-{number}")), workbench.path(&format!("out-{number}")));
        tokio::spawn(async move {
            mirror.clone_for_agent(&base, &clone).await.unwrap();
            put(&clone, "number.txt", format!("{number}\n"));
            let tree = mirror.capture(&clone, &base).await.unwrap();
            let commit = mirror.commit_on(&base, &tree, &meta("work")).await.unwrap();
            mirror.merge_tree(Landing { base: &base, tip: &base, work: &commit }).await.unwrap();
            mirror.checkout(&commit, &out).await.unwrap();
            std::fs::read_to_string(out.join("number.txt")).unwrap()
        })
    });
    for (number, turn) in turns.collect::<Vec<_>>().into_iter().enumerate() {
        assert_eq!(turn.await.unwrap(), format!("{number}\n"));
    }
}

#[tokio::test]
async fn an_object_that_is_not_there_is_told_by_its_kind() {
    let workbench = Workbench::new().await;
    let absent: holdpoint_workspace::ObjectId = "12".repeat(20).parse().unwrap();
    assert!(!workbench.mirror.has(&absent).await.unwrap());
    let listed = workbench.mirror.list_tree(&absent).await;
    assert!(matches!(listed, Err(WorkspaceError::NoSuchObject { kind: "tree", oid }) if oid == absent));
    assert!(matches!(
        workbench.mirror.parents(&absent).await,
        Err(WorkspaceError::NoSuchObject { kind: "commit", .. })
    ));
}

#[tokio::test]
async fn blobs_are_read_up_to_a_cap() {
    let workbench = Workbench::new().await;
    let entries = workbench.mirror.list_tree(&workbench.base).await.unwrap();
    let file = entries.iter().find(|entry| entry.path == path("tests/a.txt")).unwrap();
    assert_eq!(file.bytes, Some(7));
    assert_eq!(workbench.mirror.read_blob(&file.oid, 7).await.unwrap(), b"test a\n");
    assert!(matches!(workbench.mirror.read_blob(&file.oid, 6).await, Err(WorkspaceError::BlobOverCap { .. })));
    assert!(matches!(workbench.mirror.read_blob(&workbench.base, 100).await, Err(WorkspaceError::NoSuchObject { .. })));
}
