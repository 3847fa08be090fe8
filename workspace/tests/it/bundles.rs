//! Taking in bundles that others made.

use std::path::PathBuf;

use holdpoint_workspace::{
    CheckedSnapshot, HANDOFF_REF, Import, InputLimits, InputRefusal, Mirror, ObjectFormat, ObjectId, WorkspaceError,
    limits,
};

use crate::support::{
    Workbench, commit_all, foreign_bundle, git, import, import_file, init, meta, mirror_in, oid, put,
};

/// Whether a refusal is the one that a cap has to give.
type IsRight = fn(&InputRefusal) -> bool;

/// A clone of the workbench's repository in which another user's agent commits.
async fn foreign_clone(workbench: &Workbench) -> PathBuf {
    let clone = workbench.path("foreign");
    git(workbench.temp.path(), &["clone", "--quiet", workbench.repo.to_str().unwrap(), clone.to_str().unwrap()]).await;
    clone
}

/// What the foreign clone has, as the bundle that the protocol asks for.
async fn handoff(workbench: &Workbench, clone: &std::path::Path) -> PathBuf {
    let out = workbench.path("handoff.bundle");
    foreign_bundle(clone, &workbench.base, &[HANDOFF_REF], &out).await;
    out
}

#[tokio::test]
async fn a_thin_bundle_carries_a_commit_to_another_mirror() {
    let workbench = Workbench::new().await;
    let work = workbench.commit(&workbench.base, &[("src/lib.txt", Some("changed\n"))]).await;
    let bundle = workbench
        .mirror
        .thin_bundle(&workbench.base, &work, HANDOFF_REF, &workbench.path("thin.bundle"))
        .await
        .unwrap();
    assert_eq!(bundle.bytes, std::fs::metadata(&bundle.path).unwrap().len());
    git(&workbench.repo, &["bundle", "verify", "--quiet", bundle.path.to_str().unwrap()]).await;
    let empty = workbench.mirror.thin_bundle(&work, &workbench.base, HANDOFF_REF, &workbench.path("none.bundle")).await;
    assert!(matches!(empty, Err(WorkspaceError::NothingToBundle { .. })), "{empty:?}");
    assert!(!workbench.path("none.bundle").exists());
    let other = mirror_in(&workbench.path("other")).await;
    let early = import(&other, &bundle, Some(&workbench.base)).await;
    assert!(matches!(early, Err(WorkspaceError::Refused(InputRefusal::MissingPrerequisite { .. }))));
    let full =
        workbench.mirror.full_bundle(&workbench.base, HANDOFF_REF, &workbench.path("full.bundle")).await.unwrap();
    import(&other, &full, None).await.unwrap();
    assert_eq!(import(&other, &bundle, Some(&workbench.base)).await.unwrap(), work);
    assert_eq!(import(&other, &bundle, Some(&workbench.base)).await.unwrap(), work, "a second time changes nothing");
    assert_eq!(other.tree_of(&work).await.unwrap(), workbench.mirror.tree_of(&work).await.unwrap());
    let reopened = mirror_in(&workbench.path("other")).await;
    assert!(reopened.has(&work).await.unwrap());
}

#[tokio::test]
async fn git_finds_nothing_wrong_with_a_small_bundle_of_ours() {
    let workbench = Workbench::with(|repo| put(repo, "deep/er/file.txt", "x\n")).await;
    let none = |name| (name, None);
    let steps: [&[(&str, Option<&str>)]; 8] = [
        &[("src/lib.txt", Some("changed\n")), ("empty.txt", Some(""))],
        &[("deep/er/new/file.txt", Some("x\n")), none("tests/a.txt")],
        &[none("deep/er/file.txt"), none("run.sh"), ("run.sh/now", Some("a folder now\n"))],
        &[("copy.txt", Some("a folder now\n"))],
        &[none("empty.txt"), none("link")],
        // A folder changes, gets a file, and loses it again: its tree comes back.
        &[("src/lib.txt", Some("again\n"))],
        &[("src/more.txt", Some("more\n"))],
        &[none("src/more.txt")],
    ];
    let other = mirror_in(&workbench.path("other")).await;
    let full = workbench.mirror.full_bundle(&workbench.base, HANDOFF_REF, &workbench.path("f.bundle")).await.unwrap();
    import(&other, &full, None).await.unwrap();
    let mut tip = workbench.base.clone();
    for step in steps {
        let next = workbench.commit(&tip, step).await;
        let out = workbench.path("step.bundle");
        let bundle = workbench.mirror.thin_bundle(&tip, &next, HANDOFF_REF, &out).await.unwrap();
        assert_eq!(import(&other, &bundle, Some(&tip)).await.unwrap(), next);
        tip = next;
    }
    let objects = other.dir();
    git(objects, &["fsck", "--strict", "--no-dangling", tip.as_str()]).await;
    let all = workbench.mirror.thin_bundle(&workbench.base, &tip, HANDOFF_REF, &workbench.path("all.bundle")).await;
    let third = mirror_in(&workbench.path("third")).await;
    import(&third, &full, None).await.unwrap();
    assert_eq!(import(&third, &all.unwrap(), Some(&workbench.base)).await.unwrap(), tip, "all steps in one");
    git(third.dir(), &["fsck", "--strict", "--no-dangling", tip.as_str()]).await;
}

#[tokio::test]
async fn a_large_file_that_changed_a_little_travels_as_a_difference() {
    let text: String = (0..50_000).map(|number| format!("line {}\n", number * 7_919 % 100_003)).collect();
    let workbench = Workbench::with(|repo| put(repo, "large.txt", &text)).await;
    let work = workbench.commit(&workbench.base, &[("large.txt", Some(&format!("{text}one more\n")))]).await;
    let out = workbench.path("thin.bundle");
    let bundle = workbench.mirror.thin_bundle(&workbench.base, &work, HANDOFF_REF, &out).await.unwrap();
    assert!(bundle.bytes < 10_000, "{}", bundle.bytes);
}

#[tokio::test]
async fn a_bundle_with_another_ref_or_two_is_refused() {
    let workbench = Workbench::new().await;
    let clone = foreign_clone(&workbench).await;
    put(&clone, "src/new.txt", "new\n");
    commit_all(&clone, "work").await;
    let out = workbench.path("two.bundle");
    for refs in [&[HANDOFF_REF, "refs/heads/extra"][..], &["refs/heads/extra"], &["refs/heads/main"]] {
        foreign_bundle(&clone, &workbench.base, refs, &out).await;
        let refused = import_file(&workbench.mirror, &out, &workbench.base).await;
        assert!(matches!(refused, Err(WorkspaceError::Refused(InputRefusal::ForeignRefs { .. }))), "{refs:?}");
    }
    assert!(!workbench.mirror.has(&oid(&clone, "HEAD").await).await.unwrap());
}

#[tokio::test]
async fn corrupt_and_truncated_bundles_are_refused_and_leave_nothing() {
    let workbench = Workbench::new().await;
    let clone = foreign_clone(&workbench).await;
    put(&clone, "src/new.txt", "some text that is stored compressed\n".repeat(50));
    commit_all(&clone, "work").await;
    let out = handoff(&workbench, &clone).await;
    let whole = std::fs::read(&out).unwrap();
    let mut flipped = whole.clone();
    let middle = whole.len() - 60;
    flipped[middle] ^= 0x40;
    let longer = [&whole[..], b"junk"].concat();
    for bad in [&flipped[..], &whole[..whole.len() - 30], &longer] {
        std::fs::write(&out, bad).unwrap();
        let refused = import_file(&workbench.mirror, &out, &workbench.base).await;
        assert!(matches!(refused, Err(WorkspaceError::Refused(InputRefusal::BrokenObjects { .. }))), "{refused:?}");
    }
    std::fs::write(&out, b"no bundle\n").unwrap();
    let refused = import_file(&workbench.mirror, &out, &workbench.base).await;
    assert!(matches!(refused, Err(WorkspaceError::Refused(InputRefusal::NotABundle { .. }))));
    let objects = std::fs::read_dir(workbench.mirror.dir().join("objects")).unwrap();
    assert!(objects.flatten().all(|entry| !entry.file_name().to_string_lossy().starts_with("tmp")));
}

#[tokio::test]
async fn a_bundle_that_builds_on_thousands_of_commits_is_refused() {
    let workbench = Workbench::new().await;
    let clone = foreign_clone(&workbench).await;
    put(&clone, "src/new.txt", "new\n");
    commit_all(&clone, "work").await;
    let out = handoff(&workbench, &clone).await;
    let whole = std::fs::read(&out).unwrap();
    let first = whole.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    let made_up: String = (0..24_000).map(|n| format!("-{n:040x}\n")).collect();
    std::fs::write(&out, [&whole[..first], made_up.as_bytes(), &whole[first..]].concat()).unwrap();
    let refused = import_file(&workbench.mirror, &out, &workbench.base).await;
    assert!(matches!(refused, Err(WorkspaceError::Refused(InputRefusal::NotABundle { .. }))), "{refused:?}");
}

#[tokio::test]
async fn a_parent_that_git_does_not_see_is_none_and_a_commit_of_megabytes_is_refused() {
    let workbench = Workbench::new().await;
    let clone = foreign_clone(&workbench).await;
    let tree = git(&clone, &["rev-parse", "HEAD^{tree}"]).await;
    let who = "author A <a@b> 1 +0000\ncommitter A <a@b> 1 +0000";
    let late = format!("tree {tree}\n{who}\nparent {}\n\nwork\n", workbench.base);
    let long = format!("tree {tree}\nparent {}\n{who}\n\n{}\n", workbench.base, "long ".repeat(300_000));
    for (name, text) in [("late", late), ("long", long)] {
        put(&clone, name, text);
        let commit = git(&clone, &["hash-object", "-t", "commit", "-w", "--literally", name]).await;
        git(&clone, &["update-ref", "--no-deref", "HEAD", &commit]).await;
        let found = match import_file(&workbench.mirror, &handoff(&workbench, &clone).await, &workbench.base).await {
            Ok(taken) => workbench.mirror.commit(&taken).await,
            Err(error) => Err(error),
        };
        match name {
            "late" => assert!(!matches!(&found, Ok(commit) if !commit.parents.is_empty()), "{found:?}"),
            _ => {
                assert!(
                    matches!(found, Err(WorkspaceError::Refused(InputRefusal::CommitTooLarge { .. }))),
                    "{found:?}"
                );
            }
        }
    }
}

#[tokio::test]
async fn malformed_objects_are_refused() {
    let workbench = Workbench::new().await;
    let clone = foreign_clone(&workbench).await;
    let tree = git(&clone, &["rev-parse", "HEAD^{tree}"]).await;
    let text = format!("tree {tree}\nparent {}\nauthor nobody\ncommitter nobody\n\nno date\n", workbench.base);
    put(&clone, "bad-commit", text);
    let bad = git(&clone, &["hash-object", "-t", "commit", "-w", "--literally", "bad-commit"]).await;
    git(&clone, &["update-ref", "--no-deref", "HEAD", &bad]).await;
    let out = handoff(&workbench, &clone).await;
    let refused = import_file(&workbench.mirror, &out, &workbench.base).await;
    assert!(matches!(refused, Err(WorkspaceError::Refused(InputRefusal::BrokenObjects { .. }))), "{refused:?}");
}

#[tokio::test]
async fn a_bundle_that_lacks_an_object_is_refused_whichever_it_is() {
    let workbench = Workbench::new().await;
    let clone = foreign_clone(&workbench).await;
    put(&clone, "src/deep/new.txt", "new\n");
    commit_all(&clone, "work").await;
    let parts = ["HEAD", "HEAD^{tree}", "HEAD:src", "HEAD:src/deep", "HEAD:src/deep/new.txt"];
    let mut ids = Vec::new();
    for part in parts {
        ids.push(git(&clone, &["rev-parse", part]).await);
    }
    let out = workbench.path("lacking.bundle");
    for lacking in (0..ids.len()).rev() {
        let listed: String =
            ids.iter().enumerate().filter(|(n, _)| *n != lacking).map(|(_, id)| format!("{id}\n")).collect();
        let pack = holdpoint_sandbox::Tool::new("git").dir(&clone).args(["pack-objects", "--stdout", "-q"]);
        let pack = pack.stdin(listed.into_bytes()).run_ok().await.unwrap().stdout;
        let header = format!("# v2 git bundle\n-{} base\n{} {HANDOFF_REF}\n\n", workbench.base, ids[0]);
        std::fs::write(&out, [header.as_bytes(), &pack].concat()).unwrap();
        for base in [Some(&workbench.base), None] {
            let refused = workbench.mirror.import(Import { bundle: &out, ref_name: HANDOFF_REF, base }).await;
            let error = refused.expect_err(parts[lacking]);
            assert!(error.is_refusal(), "{}: {error:?}", parts[lacking]);
            assert!(!workbench.mirror.has(&ids[0].parse().unwrap()).await.unwrap());
        }
    }
}

#[tokio::test]
async fn a_tree_that_would_write_into_git_folders_is_refused() {
    let workbench = Workbench::new().await;
    let clone = foreign_clone(&workbench).await;
    let inner = git(&clone, &["rev-parse", "HEAD:src"]).await;
    put(&clone, "listing", format!("040000 tree {inner}\t.git\n"));
    let listing = std::fs::read(clone.join("listing")).unwrap();
    let made = holdpoint_sandbox::Tool::new("git").dir(&clone).args(["mktree"]).stdin(listing).run_ok().await.unwrap();
    let tree = String::from_utf8(made.stdout).unwrap();
    let head = git(&clone, &["commit-tree", tree.trim(), "-p", "HEAD", "-m", "evil"]).await;
    git(&clone, &["update-ref", "--no-deref", "HEAD", &head]).await;
    let out = handoff(&workbench, &clone).await;
    assert!(import_file(&workbench.mirror, &out, &workbench.base).await.unwrap_err().is_refusal());
    let lenient = workbench.mirror.import(Import { bundle: &out, ref_name: HANDOFF_REF, base: None }).await;
    assert!(matches!(lenient, Err(WorkspaceError::Refused(InputRefusal::BrokenObjects { .. }))), "{lenient:?}");
}

#[tokio::test]
async fn new_submodule_links_are_refused() {
    let workbench = Workbench::new().await;
    let clone = foreign_clone(&workbench).await;
    let link = format!("160000,{},sub", workbench.base);
    git(&clone, &["update-index", "--add", "--cacheinfo", &link]).await;
    git(&clone, &["commit", "--quiet", "-m", "gitlink"]).await;
    let out = handoff(&workbench, &clone).await;
    let refused = import_file(&workbench.mirror, &out, &workbench.base).await;
    assert!(matches!(refused, Err(WorkspaceError::Refused(InputRefusal::Gitlink { .. }))), "{refused:?}");
    let head = oid(&clone, "HEAD").await;
    assert!(!workbench.mirror.has(&head).await.unwrap());
}

#[tokio::test]
async fn a_ref_that_names_no_commit_is_refused() {
    let workbench = Workbench::new().await;
    let clone = foreign_clone(&workbench).await;
    git(&clone, &["tag", "-a", "-m", "tag", "v1"]).await;
    git(&clone, &["update-ref", HANDOFF_REF, "refs/tags/v1"]).await;
    let out = workbench.path("tag.bundle");
    git(&clone, &["bundle", "create", "--quiet", out.to_str().unwrap(), HANDOFF_REF]).await;
    let refused = import_file(&workbench.mirror, &out, &workbench.base).await;
    assert!(matches!(refused, Err(WorkspaceError::Refused(InputRefusal::NotACommit { .. }))), "{refused:?}");
}

#[tokio::test]
async fn caps_hold_for_bytes_objects_entries_and_files() {
    let workbench = Workbench::new().await;
    let work = workbench.commit(&workbench.base, &[("big.txt", Some(&"x".repeat(5000)))]).await;
    let bundle =
        workbench.mirror.thin_bundle(&workbench.base, &work, HANDOFF_REF, &workbench.path("t.bundle")).await.unwrap();
    let full = workbench.mirror.full_bundle(&workbench.base, HANDOFF_REF, &workbench.path("f.bundle")).await.unwrap();
    let tries: [(InputLimits, IsRight); 5] = [
        (InputLimits { bundle_bytes: 10, ..InputLimits::default() }, |r| {
            matches!(r, InputRefusal::BundleTooLarge { .. })
        }),
        (InputLimits { bundle_objects: 2, ..InputLimits::default() }, |r| {
            matches!(r, InputRefusal::TooManyObjects { .. })
        }),
        (InputLimits { tree_entries: 4, ..InputLimits::default() }, |r| {
            matches!(r, InputRefusal::TooManyEntries { .. })
        }),
        (InputLimits { blob_bytes: 4999, ..InputLimits::default() }, |r| {
            matches!(r, InputRefusal::BlobTooLarge { .. })
        }),
        (InputLimits { tree_bytes: 5010, ..InputLimits::default() }, |r| {
            matches!(r, InputRefusal::TreeTooLarge { .. })
        }),
    ];
    for (number, (limits, is_right)) in tries.into_iter().enumerate() {
        let dir = workbench.path(&format!("capped-{number}"));
        import(&mirror_in(&dir).await, &full, None).await.unwrap();
        let mirror = Mirror::open_or_create(&dir, ObjectFormat::Sha1, limits).await.unwrap();
        match import(&mirror, &bundle, Some(&workbench.base)).await {
            Err(WorkspaceError::Refused(refusal)) => assert!(is_right(&refusal), "{refusal:?}"),
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn repositories_with_the_other_hash_work_and_do_not_mix() {
    let workbench = Workbench::new().await;
    let repo = workbench.path("sha256");
    std::fs::create_dir_all(&repo).unwrap();
    git(&repo, &["init", "--quiet", "--object-format=sha256"]).await;
    put(&repo, "a.txt", "a\n");
    commit_all(&repo, "first").await;
    let user = holdpoint_workspace::UserRepo::open(&repo).await.unwrap();
    let head: ObjectId = user.resolve("HEAD").await.unwrap();
    let bundle = user.snapshot(&head, &workbench.path("256.bundle")).await.unwrap();
    assert!(matches!(
        import(&workbench.mirror, &bundle, None).await,
        Err(WorkspaceError::Refused(InputRefusal::WrongFormat))
    ));
    let dir = workbench.path("mirror256");
    let mirror = Mirror::open_or_create(&dir, user.object_format(), InputLimits::default()).await.unwrap();
    import(&mirror, &bundle, None).await.unwrap();
    let clone = workbench.path("clone256");
    mirror.clone_for_agent(&head, &clone).await.unwrap();
    put(&clone, "b.txt", "b\n");
    let tree = mirror.capture(&clone, &head).await.unwrap();
    let commit = mirror.commit_on(&head, &tree, &meta("b")).await.unwrap();
    assert_eq!(mirror.diff(&head, &commit).await.unwrap().len(), 1);
    let other = Mirror::open_or_create(&workbench.path("other256"), user.object_format(), InputLimits::default())
        .await
        .unwrap();
    import(&other, &bundle, None).await.unwrap();
    let thin = mirror.thin_bundle(&head, &commit, HANDOFF_REF, &workbench.path("thin256.bundle")).await.unwrap();
    git(&repo, &["bundle", "verify", "--quiet", thin.path.to_str().unwrap()]).await;
    assert_eq!(import(&other, &thin, Some(&head)).await.unwrap(), commit);
    let mixed = Mirror::open_or_create(&dir, ObjectFormat::Sha1, InputLimits::default()).await;
    assert!(matches!(mixed, Err(WorkspaceError::MirrorFormat { .. })));
}

#[tokio::test]
async fn several_bundles_are_taken_in_at_once() {
    let workbench = Workbench::new().await;
    let unused = workbench.path("unused");
    init(&unused).await;
    let mut bundles = Vec::new();
    for number in 0..4 {
        let name = format!("file-{number}");
        let work = workbench.commit(&workbench.base, &[(&name, Some("x\n"))]).await;
        let out = workbench.path(&format!("{number}.bundle"));
        bundles.push(workbench.mirror.thin_bundle(&workbench.base, &work, HANDOFF_REF, &out).await.unwrap());
    }
    let other = mirror_in(&workbench.path("other")).await;
    let full = workbench.mirror.full_bundle(&workbench.base, HANDOFF_REF, &workbench.path("f.bundle")).await.unwrap();
    import(&other, &full, None).await.unwrap();
    let [a, b, c, d] = &bundles[..] else { panic!("four bundles") };
    let base = Some(&workbench.base);
    let all = tokio::join!(
        import(&other, a, base),
        import(&other, b, base),
        import(&other, c, base),
        import(&other, d, base)
    );
    for (taken, bundle) in [all.0, all.1, all.2, all.3].into_iter().zip(&bundles) {
        assert_eq!(taken.unwrap(), bundle.tip);
    }
}

#[tokio::test]
async fn many_packs_are_joined_and_nothing_is_lost() {
    let workbench = Workbench::new().await;
    let mut commits = vec![workbench.base.clone()];
    let tree = workbench.mirror.tree_of(&workbench.base).await.unwrap();
    let other = mirror_in(&workbench.path("other")).await;
    let full = workbench.mirror.full_bundle(&workbench.base, HANDOFF_REF, &workbench.path("f.bundle")).await.unwrap();
    import(&other, &full, None).await.unwrap();
    for number in 0..=limits::MIRROR_PACKS_MAX {
        let parent = commits.last().unwrap().clone();
        let commit = workbench.mirror.commit_on(&parent, &tree, &meta(&format!("commit {number}"))).await.unwrap();
        let out = workbench.path("next.bundle");
        let bundle = workbench.mirror.thin_bundle(&parent, &commit, HANDOFF_REF, &out).await.unwrap();
        import(&other, &bundle, None).await.unwrap();
        commits.push(commit);
    }
    other.tidy().await.unwrap();
    let packs = std::fs::read_dir(other.dir().join("objects/pack")).unwrap().flatten();
    assert!(packs.filter(|entry| entry.path().extension().is_some_and(|end| end == "pack")).count() < 10);
    for commit in &commits {
        assert!(other.has(commit).await.unwrap());
    }
}

#[tokio::test]
async fn many_single_objects_are_packed_and_the_snapshot_stays_as_it_came() {
    // Enough that the folder which is counted has more than its share.
    const MANY: usize = limits::MIRROR_SINGLES_MAX * 5 / 4;
    let workbench = Workbench::new().await;
    let objects = workbench.mirror.dir().join("objects");
    let packs = |end: &str| {
        let all = std::fs::read_dir(objects.join("pack")).unwrap().flatten().map(|entry| entry.path());
        all.filter(|path| path.extension().is_some_and(|found| found == end)).collect::<Vec<_>>()
    };
    let snapshot = packs("pack");
    assert_eq!((snapshot.len(), packs("keep").len()), (1, 1));
    let dir = workbench.path("many");
    workbench.mirror.checkout(&workbench.base, &dir).await.unwrap();
    for number in 0..MANY {
        put(&dir, &format!("many/{number}"), number.to_string());
    }
    let tree = workbench.mirror.capture(&dir, &workbench.base).await.unwrap();
    workbench.mirror.tidy().await.unwrap();
    assert!(packs("pack").len() == 2 && packs("pack").contains(&snapshot[0]));
    assert_eq!(workbench.mirror.list_tree(&tree).await.unwrap().len(), 4 + MANY);
}

#[tokio::test]
async fn a_checked_snapshot_is_taken_in_with_its_index_and_with_no_other() {
    let workbench = Workbench::new().await;
    let work = workbench.commit(&workbench.base, &[("src/new.txt", Some("new\n"))]).await;
    let full = workbench.mirror.full_bundle(&workbench.base, HANDOFF_REF, &workbench.path("f.bundle")).await.unwrap();
    let more = workbench.mirror.full_bundle(&work, HANDOFF_REF, &workbench.path("m.bundle")).await.unwrap();
    let (first, second) = (mirror_in(&workbench.path("first")).await, mirror_in(&workbench.path("second")).await);
    import(&first, &full, None).await.unwrap();
    import(&second, &more, None).await.unwrap();
    let index = first.snapshot_index().unwrap().unwrap();
    let other = mirror_in(&workbench.path("other")).await;
    let foreign = second.snapshot_index().unwrap().unwrap();
    let checked = CheckedSnapshot { bundle: &full.path, index: &foreign, ref_name: HANDOFF_REF };
    let refused = other.adopt(checked).await;
    assert!(matches!(refused, Err(WorkspaceError::Refused(InputRefusal::ForeignIndex))), "{refused:?}");
    let refused = other.adopt(CheckedSnapshot { index: &full.path, ..checked }).await;
    assert!(matches!(refused, Err(WorkspaceError::Refused(InputRefusal::ForeignIndex))), "{refused:?}");
    assert!(!other.has(&workbench.base).await.unwrap());
    assert_eq!(other.adopt(CheckedSnapshot { index: &index, ..checked }).await.unwrap(), workbench.base);
    git(other.dir(), &["fsck", "--full", "--strict"]).await;
    assert_eq!(other.list_tree(&workbench.base).await.unwrap().len(), 4);
    let clone = workbench.path("clone");
    other.clone_for_agent(&workbench.base, &clone).await.unwrap();
    git(&clone, &["fsck", "--full"]).await;
}

#[tokio::test]
async fn leftovers_of_a_crash_go_when_nobody_else_uses_the_mirror() {
    let workbench = Workbench::new().await;
    let dir = workbench.mirror.dir().to_owned();
    let folders = [dir.join("scratch/holdpoint-git-old"), dir.join("objects/tmp_objdir-holdpoint-old")];
    let files = [dir.join("objects/pack/tmp_pack_x1y2z3"), dir.join("objects/a1/tmp_obj_x1y2z3")];
    for folder in folders.iter().chain([&dir.join("objects/a1")]) {
        std::fs::create_dir_all(folder).unwrap();
    }
    for file in &files {
        std::fs::write(file, "half").unwrap();
    }
    let leftovers = [folders, files].concat();
    let second = mirror_in(&dir).await;
    assert!(leftovers.iter().all(|leftover| leftover.exists()), "the first one may still need them");
    let Workbench { temp: _temp, mirror: first, base, .. } = workbench;
    drop((first, second));
    let third = mirror_in(&dir).await;
    assert!(leftovers.iter().all(|leftover| !leftover.exists()));
    assert!(third.has(&base).await.unwrap());
}
