//! Taking in bundles that others made.

use std::path::PathBuf;

use holdpoint_workspace::{Checked, Error, HANDOFF_REF, Import, Limits, Mirror, ObjectFormat, Oid, Refusal, limits};

use crate::support::{Bench, commit_all, foreign_bundle, git, import, import_file, init, meta, mirror_in, oid, put};

/// Whether a refusal is the one that a cap has to give.
type IsRight = fn(&Refusal) -> bool;

/// A clone of the bench's repository in which another user's agent commits.
async fn foreign_clone(bench: &Bench) -> PathBuf {
    let clone = bench.path("foreign");
    git(bench.temp.path(), &["clone", "--quiet", bench.repo.to_str().unwrap(), clone.to_str().unwrap()]).await;
    clone
}

/// What the foreign clone has, as the bundle that the protocol asks for.
async fn handoff(bench: &Bench, clone: &std::path::Path) -> PathBuf {
    let out = bench.path("handoff.bundle");
    foreign_bundle(clone, &bench.base, &[HANDOFF_REF], &out).await;
    out
}

#[tokio::test]
async fn a_thin_bundle_carries_a_commit_to_another_mirror() {
    let bench = Bench::new().await;
    let work = bench.commit(&bench.base, &[("src/lib.txt", Some("changed\n"))]).await;
    let bundle = bench.mirror.thin_bundle(&bench.base, &work, HANDOFF_REF, &bench.path("thin.bundle")).await.unwrap();
    assert_eq!(bundle.bytes, std::fs::metadata(&bundle.path).unwrap().len());
    let other = mirror_in(&bench.path("other")).await;
    let early = import(&other, &bundle, Some(&bench.base)).await;
    assert!(matches!(early, Err(Error::Refused(Refusal::MissingPrerequisite { .. }))));
    let full = bench.mirror.full_bundle(&bench.base, HANDOFF_REF, &bench.path("full.bundle")).await.unwrap();
    import(&other, &full, None).await.unwrap();
    assert_eq!(import(&other, &bundle, Some(&bench.base)).await.unwrap(), work);
    assert_eq!(import(&other, &bundle, Some(&bench.base)).await.unwrap(), work, "a second time changes nothing");
    assert_eq!(other.tree_of(&work).await.unwrap(), bench.mirror.tree_of(&work).await.unwrap());
    let reopened = mirror_in(&bench.path("other")).await;
    assert!(reopened.has(&work).await.unwrap());
}

#[tokio::test]
async fn a_bundle_with_another_ref_or_two_is_refused() {
    let bench = Bench::new().await;
    let clone = foreign_clone(&bench).await;
    put(&clone, "src/new.txt", "new\n");
    commit_all(&clone, "work").await;
    let out = bench.path("two.bundle");
    for refs in [&[HANDOFF_REF, "refs/heads/extra"][..], &["refs/heads/extra"], &["refs/heads/main"]] {
        foreign_bundle(&clone, &bench.base, refs, &out).await;
        let refused = import_file(&bench.mirror, &out, &bench.base).await;
        assert!(matches!(refused, Err(Error::Refused(Refusal::ForeignRefs { .. }))), "{refs:?}");
    }
    assert!(!bench.mirror.has(&oid(&clone, "HEAD").await).await.unwrap());
}

#[tokio::test]
async fn corrupt_and_truncated_bundles_are_refused_and_leave_nothing() {
    let bench = Bench::new().await;
    let clone = foreign_clone(&bench).await;
    put(&clone, "src/new.txt", "some text that is stored compressed\n".repeat(50));
    commit_all(&clone, "work").await;
    let out = handoff(&bench, &clone).await;
    let whole = std::fs::read(&out).unwrap();
    let mut flipped = whole.clone();
    let middle = whole.len() - 60;
    flipped[middle] ^= 0x40;
    let longer = [&whole[..], b"junk"].concat();
    for bad in [&flipped[..], &whole[..whole.len() - 30], &longer] {
        std::fs::write(&out, bad).unwrap();
        let refused = import_file(&bench.mirror, &out, &bench.base).await;
        assert!(matches!(refused, Err(Error::Refused(Refusal::BrokenObjects { .. }))), "{refused:?}");
    }
    std::fs::write(&out, b"no bundle\n").unwrap();
    let refused = import_file(&bench.mirror, &out, &bench.base).await;
    assert!(matches!(refused, Err(Error::Refused(Refusal::NotABundle { .. }))));
    let objects = std::fs::read_dir(bench.mirror.dir().join("objects")).unwrap();
    assert!(objects.flatten().all(|entry| !entry.file_name().to_string_lossy().starts_with("tmp")));
}

#[tokio::test]
async fn a_bundle_that_builds_on_thousands_of_commits_is_refused() {
    let bench = Bench::new().await;
    let clone = foreign_clone(&bench).await;
    put(&clone, "src/new.txt", "new\n");
    commit_all(&clone, "work").await;
    let out = handoff(&bench, &clone).await;
    let whole = std::fs::read(&out).unwrap();
    let first = whole.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    let made_up: String = (0..24_000).map(|n| format!("-{n:040x}\n")).collect();
    std::fs::write(&out, [&whole[..first], made_up.as_bytes(), &whole[first..]].concat()).unwrap();
    let refused = import_file(&bench.mirror, &out, &bench.base).await;
    assert!(matches!(refused, Err(Error::Refused(Refusal::NotABundle { .. }))), "{refused:?}");
}

#[tokio::test]
async fn a_parent_that_git_does_not_see_is_none_and_a_commit_of_megabytes_is_refused() {
    let bench = Bench::new().await;
    let clone = foreign_clone(&bench).await;
    let tree = git(&clone, &["rev-parse", "HEAD^{tree}"]).await;
    let who = "author A <a@b> 1 +0000\ncommitter A <a@b> 1 +0000";
    let late = format!("tree {tree}\n{who}\nparent {}\n\nwork\n", bench.base);
    let long = format!("tree {tree}\nparent {}\n{who}\n\n{}\n", bench.base, "long ".repeat(300_000));
    for (name, text) in [("late", late), ("long", long)] {
        put(&clone, name, text);
        let commit = git(&clone, &["hash-object", "-t", "commit", "-w", "--literally", name]).await;
        git(&clone, &["update-ref", "--no-deref", "HEAD", &commit]).await;
        let found = match import_file(&bench.mirror, &handoff(&bench, &clone).await, &bench.base).await {
            Ok(taken) => bench.mirror.commit(&taken).await,
            Err(error) => Err(error),
        };
        match name {
            "late" => assert!(!matches!(&found, Ok(commit) if !commit.parents.is_empty()), "{found:?}"),
            _ => assert!(matches!(found, Err(Error::Refused(Refusal::CommitTooLarge { .. }))), "{found:?}"),
        }
    }
}

#[tokio::test]
async fn malformed_objects_are_refused() {
    let bench = Bench::new().await;
    let clone = foreign_clone(&bench).await;
    let tree = git(&clone, &["rev-parse", "HEAD^{tree}"]).await;
    let text = format!("tree {tree}\nparent {}\nauthor nobody\ncommitter nobody\n\nno date\n", bench.base);
    put(&clone, "bad-commit", text);
    let bad = git(&clone, &["hash-object", "-t", "commit", "-w", "--literally", "bad-commit"]).await;
    git(&clone, &["update-ref", "--no-deref", "HEAD", &bad]).await;
    let out = handoff(&bench, &clone).await;
    let refused = import_file(&bench.mirror, &out, &bench.base).await;
    assert!(matches!(refused, Err(Error::Refused(Refusal::BrokenObjects { .. }))), "{refused:?}");
}

#[tokio::test]
async fn a_tree_that_would_write_into_git_folders_is_refused() {
    let bench = Bench::new().await;
    let clone = foreign_clone(&bench).await;
    let inner = git(&clone, &["rev-parse", "HEAD:src"]).await;
    put(&clone, "listing", format!("040000 tree {inner}\t.git\n"));
    let listing = std::fs::read(clone.join("listing")).unwrap();
    let made = holdpoint_sandbox::Tool::new("git").dir(&clone).args(["mktree"]).stdin(listing).run_ok().await.unwrap();
    let tree = String::from_utf8(made.stdout).unwrap();
    let head = git(&clone, &["commit-tree", tree.trim(), "-p", "HEAD", "-m", "evil"]).await;
    git(&clone, &["update-ref", "--no-deref", "HEAD", &head]).await;
    let out = handoff(&bench, &clone).await;
    assert!(import_file(&bench.mirror, &out, &bench.base).await.unwrap_err().is_refusal());
    let lenient = bench.mirror.import(Import { bundle: &out, ref_name: HANDOFF_REF, base: None }).await;
    assert!(matches!(lenient, Err(Error::Refused(Refusal::BrokenObjects { .. }))), "{lenient:?}");
}

#[tokio::test]
async fn new_submodule_links_are_refused() {
    let bench = Bench::new().await;
    let clone = foreign_clone(&bench).await;
    let link = format!("160000,{},sub", bench.base);
    git(&clone, &["update-index", "--add", "--cacheinfo", &link]).await;
    git(&clone, &["commit", "--quiet", "-m", "gitlink"]).await;
    let out = handoff(&bench, &clone).await;
    let refused = import_file(&bench.mirror, &out, &bench.base).await;
    assert!(matches!(refused, Err(Error::Refused(Refusal::Gitlink { .. }))), "{refused:?}");
    let head = oid(&clone, "HEAD").await;
    assert!(!bench.mirror.has(&head).await.unwrap());
}

#[tokio::test]
async fn a_ref_that_names_no_commit_is_refused() {
    let bench = Bench::new().await;
    let clone = foreign_clone(&bench).await;
    git(&clone, &["tag", "-a", "-m", "tag", "v1"]).await;
    git(&clone, &["update-ref", HANDOFF_REF, "refs/tags/v1"]).await;
    let out = bench.path("tag.bundle");
    git(&clone, &["bundle", "create", "--quiet", out.to_str().unwrap(), HANDOFF_REF]).await;
    let refused = import_file(&bench.mirror, &out, &bench.base).await;
    assert!(matches!(refused, Err(Error::Refused(Refusal::NotACommit { .. }))), "{refused:?}");
}

#[tokio::test]
async fn caps_hold_for_bytes_objects_entries_and_files() {
    let bench = Bench::new().await;
    let work = bench.commit(&bench.base, &[("big.txt", Some(&"x".repeat(5000)))]).await;
    let bundle = bench.mirror.thin_bundle(&bench.base, &work, HANDOFF_REF, &bench.path("t.bundle")).await.unwrap();
    let full = bench.mirror.full_bundle(&bench.base, HANDOFF_REF, &bench.path("f.bundle")).await.unwrap();
    let tries: [(Limits, IsRight); 5] = [
        (Limits { bundle_bytes: 10, ..Limits::default() }, |r| matches!(r, Refusal::BundleTooLarge { .. })),
        (Limits { bundle_objects: 2, ..Limits::default() }, |r| matches!(r, Refusal::TooManyObjects { .. })),
        (Limits { tree_entries: 4, ..Limits::default() }, |r| matches!(r, Refusal::TooManyEntries { .. })),
        (Limits { blob_bytes: 4999, ..Limits::default() }, |r| matches!(r, Refusal::BlobTooLarge { .. })),
        (Limits { tree_bytes: 5010, ..Limits::default() }, |r| matches!(r, Refusal::TreeTooLarge { .. })),
    ];
    for (number, (limits, is_right)) in tries.into_iter().enumerate() {
        let dir = bench.path(&format!("capped-{number}"));
        import(&mirror_in(&dir).await, &full, None).await.unwrap();
        let mirror = Mirror::open_or_create(&dir, ObjectFormat::Sha1, limits).await.unwrap();
        match import(&mirror, &bundle, Some(&bench.base)).await {
            Err(Error::Refused(refusal)) => assert!(is_right(&refusal), "{refusal:?}"),
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn repositories_with_the_other_hash_work_and_do_not_mix() {
    let bench = Bench::new().await;
    let repo = bench.path("sha256");
    std::fs::create_dir_all(&repo).unwrap();
    git(&repo, &["init", "--quiet", "--object-format=sha256"]).await;
    put(&repo, "a.txt", "a\n");
    commit_all(&repo, "first").await;
    let user = holdpoint_workspace::UserRepo::open(&repo).await.unwrap();
    let head: Oid = user.resolve("HEAD").await.unwrap();
    let bundle = user.snapshot(&head, &bench.path("256.bundle")).await.unwrap();
    assert!(matches!(import(&bench.mirror, &bundle, None).await, Err(Error::Refused(Refusal::WrongFormat))));
    let dir = bench.path("mirror256");
    let mirror = Mirror::open_or_create(&dir, user.object_format(), Limits::default()).await.unwrap();
    import(&mirror, &bundle, None).await.unwrap();
    let clone = bench.path("clone256");
    mirror.clone_for_agent(&head, &clone).await.unwrap();
    put(&clone, "b.txt", "b\n");
    let tree = mirror.capture(&clone, &head).await.unwrap();
    let commit = mirror.commit_on(&head, &tree, &meta("b")).await.unwrap();
    assert_eq!(mirror.diff(&head, &commit).await.unwrap().len(), 1);
    let other = Mirror::open_or_create(&bench.path("other256"), user.object_format(), Limits::default()).await.unwrap();
    import(&other, &bundle, None).await.unwrap();
    let thin = mirror.thin_bundle(&head, &commit, HANDOFF_REF, &bench.path("thin256.bundle")).await.unwrap();
    assert_eq!(import(&other, &thin, Some(&head)).await.unwrap(), commit);
    let mixed = Mirror::open_or_create(&dir, ObjectFormat::Sha1, Limits::default()).await;
    assert!(matches!(mixed, Err(Error::MirrorFormat { .. })));
}

#[tokio::test]
async fn several_bundles_are_taken_in_at_once() {
    let bench = Bench::new().await;
    let unused = bench.path("unused");
    init(&unused).await;
    let mut bundles = Vec::new();
    for number in 0..4 {
        let name = format!("file-{number}");
        let work = bench.commit(&bench.base, &[(&name, Some("x\n"))]).await;
        let out = bench.path(&format!("{number}.bundle"));
        bundles.push(bench.mirror.thin_bundle(&bench.base, &work, HANDOFF_REF, &out).await.unwrap());
    }
    let other = mirror_in(&bench.path("other")).await;
    let full = bench.mirror.full_bundle(&bench.base, HANDOFF_REF, &bench.path("f.bundle")).await.unwrap();
    import(&other, &full, None).await.unwrap();
    let [a, b, c, d] = &bundles[..] else { panic!("four bundles") };
    let base = Some(&bench.base);
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
    let bench = Bench::new().await;
    let mut commits = vec![bench.base.clone()];
    let tree = bench.mirror.tree_of(&bench.base).await.unwrap();
    let other = mirror_in(&bench.path("other")).await;
    let full = bench.mirror.full_bundle(&bench.base, HANDOFF_REF, &bench.path("f.bundle")).await.unwrap();
    import(&other, &full, None).await.unwrap();
    for number in 0..=limits::MIRROR_PACKS_MAX {
        let parent = commits.last().unwrap().clone();
        let commit = bench.mirror.commit_on(&parent, &tree, &meta(&format!("commit {number}"))).await.unwrap();
        let out = bench.path("next.bundle");
        let bundle = bench.mirror.thin_bundle(&parent, &commit, HANDOFF_REF, &out).await.unwrap();
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
    let bench = Bench::new().await;
    let objects = bench.mirror.dir().join("objects");
    let packs = |end: &str| {
        let all = std::fs::read_dir(objects.join("pack")).unwrap().flatten().map(|entry| entry.path());
        all.filter(|path| path.extension().is_some_and(|found| found == end)).collect::<Vec<_>>()
    };
    let snapshot = packs("pack");
    assert_eq!((snapshot.len(), packs("keep").len()), (1, 1));
    let dir = bench.path("many");
    bench.mirror.checkout(&bench.base, &dir).await.unwrap();
    for number in 0..MANY {
        put(&dir, &format!("many/{number}"), number.to_string());
    }
    let tree = bench.mirror.capture(&dir, &bench.base).await.unwrap();
    bench.mirror.tidy().await.unwrap();
    assert!(packs("pack").len() == 2 && packs("pack").contains(&snapshot[0]));
    assert_eq!(bench.mirror.list_tree(&tree).await.unwrap().len(), 4 + MANY);
}

#[tokio::test]
async fn a_checked_snapshot_is_taken_in_with_its_index_and_with_no_other() {
    let bench = Bench::new().await;
    let work = bench.commit(&bench.base, &[("src/new.txt", Some("new\n"))]).await;
    let full = bench.mirror.full_bundle(&bench.base, HANDOFF_REF, &bench.path("f.bundle")).await.unwrap();
    let more = bench.mirror.full_bundle(&work, HANDOFF_REF, &bench.path("m.bundle")).await.unwrap();
    let (first, second) = (mirror_in(&bench.path("first")).await, mirror_in(&bench.path("second")).await);
    import(&first, &full, None).await.unwrap();
    import(&second, &more, None).await.unwrap();
    let index = first.snapshot_index().unwrap().unwrap();
    let other = mirror_in(&bench.path("other")).await;
    let foreign = second.snapshot_index().unwrap().unwrap();
    let checked = Checked { bundle: &full.path, index: &foreign, ref_name: HANDOFF_REF };
    let refused = other.adopt(checked).await;
    assert!(matches!(refused, Err(Error::Refused(Refusal::ForeignIndex))), "{refused:?}");
    let refused = other.adopt(Checked { index: &full.path, ..checked }).await;
    assert!(matches!(refused, Err(Error::Refused(Refusal::ForeignIndex))), "{refused:?}");
    assert!(!other.has(&bench.base).await.unwrap());
    assert_eq!(other.adopt(Checked { index: &index, ..checked }).await.unwrap(), bench.base);
    git(other.dir(), &["fsck", "--full", "--strict"]).await;
    assert_eq!(other.list_tree(&bench.base).await.unwrap().len(), 4);
    let clone = bench.path("clone");
    other.clone_for_agent(&bench.base, &clone).await.unwrap();
    git(&clone, &["fsck", "--full"]).await;
}

#[tokio::test]
async fn leftovers_of_a_crash_go_when_nobody_else_uses_the_mirror() {
    let bench = Bench::new().await;
    let dir = bench.mirror.dir().to_owned();
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
    let Bench { temp: _temp, mirror: first, base, .. } = bench;
    drop((first, second));
    let third = mirror_in(&dir).await;
    assert!(leftovers.iter().all(|leftover| !leftover.exists()));
    assert!(third.has(&base).await.unwrap());
}
