//! Repositories of unusual kinds, and files of unusual kinds, through everything that happens to them: snapshot,
//! mirror, clone, handoff, another mirror, checkout, branch.

use std::ffi::OsStr;
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use holdpoint_workspace::{
    BranchUpdate, HANDOFF_REF, Import, InputLimits, Mirror, ObjectId, SNAPSHOT_REF, UserRepo, WorkspaceError,
};
use nix::sys::resource::{UsageWho, getrusage};

use crate::support::{Workbench, commit_all, executable, git, init, meta, oid, plain_git, put};

const BRANCH: &str = "holdpoint/journey";

/// What came of a journey.
struct Journey {
    base: ObjectId,
    work: ObjectId,
    /// The verifier's checkout.
    out: PathBuf,
}

/// Flies one piece of work through everything: `edit` is the agent.
async fn journey(temp: &Path, repo: &Path, edit: impl FnOnce(&Path)) -> Journey {
    let user = UserRepo::open(repo).await.unwrap();
    let base = user.resolve("HEAD").await.unwrap();
    let snapshot = user.snapshot(&base, &temp.join("snapshot.bundle")).await.unwrap();
    let fresh = async |name: &str| {
        let mirror =
            Mirror::open_or_create(&temp.join(name), user.object_format(), InputLimits::default()).await.unwrap();
        let import = Import { bundle: &snapshot.path, ref_name: SNAPSHOT_REF, base: None };
        assert_eq!(mirror.import(import).await.unwrap(), base);
        mirror
    };
    let builder = fresh("builder").await;
    let clone = temp.join("clone");
    let handed = builder.clone_for_agent(&base, &clone).await.unwrap();
    assert_eq!(plain_git(&clone, &["status", "--porcelain"]).await.stdout, b"", "a clone is clean");
    edit(&clone);
    let tree = builder.capture_clone(&handed, &base).await.unwrap();
    assert_eq!(
        builder.capture(&clone, &base).await.unwrap(),
        tree,
        "what is remembered does not count, what is there does"
    );
    let work = builder.commit_on(&base, &tree, &meta("work")).await.unwrap();
    let bundle = builder.thin_bundle(&base, &work, HANDOFF_REF, &temp.join("work.bundle")).await.unwrap();
    let verifier = fresh("verifier").await;
    let import = Import { bundle: &bundle.path, ref_name: HANDOFF_REF, base: Some(&base) };
    assert_eq!(verifier.import(import).await.unwrap(), work);
    let out = temp.join("out");
    verifier.checkout(&work, &out).await.unwrap();
    assert_eq!(verifier.capture(&out, &base).await.unwrap(), tree, "a checkout is exactly the tree");
    let update = BranchUpdate { ref_name: HANDOFF_REF, branch: BRANCH, new: &work };
    user.import_branch(update, async |_| Ok::<_, WorkspaceError>(vec![bundle.path.clone()])).await.unwrap();
    assert_eq!(oid(repo, BRANCH).await, work);
    git(repo, &["fsck", "--no-dangling"]).await;
    Journey { base, work, out }
}

fn name(bytes: &[u8]) -> &OsStr {
    OsStr::from_bytes(bytes)
}

/// Names that break programs which read lines, quote, or take bytes for text.
const ODD_NAMES: [&[u8]; 8] = [
    b"with space",
    b"new\nline",
    b"-rf",
    b"--help",
    b"latin-\xe4\xff",
    b"quo\"te'$(x)`",
    b"tab\tand\\back",
    b"\xe2\x80\xae",
];

#[tokio::test]
async fn names_of_all_kinds_come_through() {
    let workbench = Workbench::with(|repo| {
        for odd in ODD_NAMES {
            std::fs::write(repo.join(name(odd)), odd).unwrap();
        }
    })
    .await;
    let journey = journey(workbench.temp.path(), &workbench.repo, |clone| {
        for odd in ODD_NAMES {
            assert_eq!(std::fs::read(clone.join(name(odd))).unwrap(), odd);
            std::fs::write(clone.join(name(odd)), [odd, b" changed"].concat()).unwrap();
            let folder = clone.join("new").join(name(odd));
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(folder.join(name(odd)), "new").unwrap();
        }
    })
    .await;
    for odd in ODD_NAMES {
        assert_eq!(std::fs::read(journey.out.join(name(odd))).unwrap(), [odd, b" changed"].concat());
        assert_eq!(std::fs::read(journey.out.join("new").join(name(odd)).join(name(odd))).unwrap(), b"new");
    }
}

#[tokio::test]
async fn modes_links_and_names_that_differ_in_case_come_through() {
    let workbench = Workbench::with(|repo| {
        symlink("nowhere", repo.join("dangling")).unwrap();
        symlink("src", repo.join("folder-link")).unwrap();
        put(repo, "readme.md", "text\n");
        put(repo, "plain.sh", "#!/bin/sh\n");
    })
    .await;
    let journey = journey(workbench.temp.path(), &workbench.repo, |clone| {
        std::fs::rename(clone.join("readme.md"), clone.join("README.md")).unwrap();
        executable(&clone.join("plain.sh"));
        std::fs::set_permissions(clone.join("run.sh"), std::fs::Permissions::from_mode(0o644)).unwrap();
        std::fs::remove_file(clone.join("dangling")).unwrap();
        symlink("/absolute/target", clone.join("dangling")).unwrap();
        std::fs::create_dir_all(clone.join("empty/inner")).unwrap();
        put(clone, "src/LIB.txt", "beside lib.txt\n");
    })
    .await;
    let mode = |name: &str| journey.out.join(name).metadata().unwrap().permissions().mode() & 0o111;
    assert!(journey.out.join("README.md").exists() && !journey.out.join("readme.md").exists());
    assert_eq!((mode("plain.sh"), mode("run.sh")), (0o111, 0));
    assert_eq!(std::fs::read_link(journey.out.join("dangling")).unwrap(), Path::new("/absolute/target"));
    assert_eq!(std::fs::read_link(journey.out.join("folder-link")).unwrap(), Path::new("src"));
    assert!(!journey.out.join("empty").exists(), "git has no empty folders");
    assert!(journey.out.join("src/LIB.txt").exists() && journey.out.join("src/lib.txt").exists());
}

#[tokio::test]
async fn line_ends_are_those_of_attributes_and_pointers_stay_pointers() {
    let pointer = "version https://git-lfs.github.com/spec/v1\n\
        oid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 12345\n";
    let workbench = Workbench::with(|repo| {
        put(repo, ".gitattributes", "*.txt text eol=crlf\n*.utf16 working-tree-encoding=UTF-16\n");
        put(repo, "unix.txt", "a\nb\n");
        put(repo, "big.bin", pointer);
        put(repo, "assets/.gitattributes", "*.bin filter=lfs diff=lfs merge=lfs -text\n");
    })
    .await;
    let journey = journey(workbench.temp.path(), &workbench.repo, |clone| {
        assert_eq!(std::fs::read(clone.join("unix.txt")).unwrap(), b"a\r\nb\r\n");
        put(clone, "dos.txt", "a\r\nb\r\n");
        put(clone, "assets/new.bin", pointer);
    })
    .await;
    assert_eq!(std::fs::read(journey.out.join("dos.txt")).unwrap(), b"a\r\nb\r\n");
    assert_eq!(std::fs::read(journey.out.join("big.bin")).unwrap(), pointer.as_bytes());
    assert_eq!(std::fs::read(journey.out.join("assets/new.bin")).unwrap(), pointer.as_bytes());
    let stored = git(&workbench.repo, &["cat-file", "-p", &format!("{}:dos.txt", journey.work)]).await;
    assert_eq!(stored, "a\nb");
}

#[tokio::test]
async fn submodule_links_stay_and_do_not_come_or_change() {
    let workbench = Workbench::new().await;
    let link = format!("160000,{},sub", workbench.base);
    git(&workbench.repo, &["update-index", "--add", "--cacheinfo", &link]).await;
    git(&workbench.repo, &["commit", "--quiet", "-m", "gitlink"]).await;
    let journey = journey(workbench.temp.path(), &workbench.repo, |clone| put(clone, "src/new.txt", "new\n")).await;
    let listing = git(&workbench.repo, &["ls-tree", journey.work.as_str(), "sub"]).await;
    assert!(listing.starts_with(&format!("160000 commit {}", workbench.base)), "{listing}");
    // An agent's own submodule is a repository inside its working tree.
    let clone = workbench.path("again");
    let builder = crate::support::mirror_in(&workbench.path("builder")).await;
    let handed = builder.clone_for_agent(&journey.base, &clone).await.unwrap();
    init(&clone.join("vendored")).await;
    commit_all(&clone.join("vendored"), "inner").await;
    assert!(builder.capture_clone(&handed, &journey.base).await.unwrap_err().is_refusal());
}

#[tokio::test]
async fn a_file_rewritten_with_the_same_length_and_an_old_date_is_seen() {
    let workbench = Workbench::new().await;
    let journey = journey(workbench.temp.path(), &workbench.repo, |clone| {
        let file = clone.join("tests/a.txt");
        let before = file.metadata().unwrap();
        std::fs::write(&file, "test b\n").unwrap();
        std::fs::File::options().write(true).open(&file).unwrap().set_modified(before.modified().unwrap()).unwrap();
        assert_eq!(file.metadata().unwrap().modified().unwrap(), before.modified().unwrap());
    })
    .await;
    assert_eq!(std::fs::read(journey.out.join("tests/a.txt")).unwrap(), b"test b\n");
}

#[tokio::test]
async fn a_repository_that_borrows_objects_is_read_whole() {
    let workbench = Workbench::new().await;
    let borrowing = workbench.path("borrowing");
    let source = workbench.repo.to_str().unwrap();
    git(workbench.temp.path(), &["clone", "--quiet", "--shared", source, borrowing.to_str().unwrap()]).await;
    put(&borrowing, "own.txt", "own\n");
    commit_all(&borrowing, "own").await;
    let journey = journey(workbench.temp.path(), &borrowing, |clone| put(clone, "src/new.txt", "new\n")).await;
    assert!(journey.out.join("own.txt").exists() && journey.out.join("src/new.txt").exists());
}

#[tokio::test]
async fn bare_repositories_and_linked_working_trees_work_like_any_other() {
    let workbench = Workbench::new().await;
    let bare = workbench.path("bare.git");
    let source = workbench.repo.to_str().unwrap();
    git(workbench.temp.path(), &["clone", "--quiet", "--bare", source, bare.to_str().unwrap()]).await;
    let linked = workbench.path("linked");
    git(&workbench.repo, &["worktree", "add", "--quiet", "--detach", linked.to_str().unwrap()]).await;
    for (repo, place) in [(bare, "one"), (linked, "two")] {
        let place = workbench.path(place);
        std::fs::create_dir(&place).unwrap();
        journey(&place, &repo, |clone| put(clone, "src/new.txt", "new\n")).await;
    }
}

#[tokio::test]
async fn a_partial_clone_is_refused_with_a_reason() {
    let workbench = Workbench::new().await;
    put(&workbench.repo, "src/lib.txt", "another\n");
    commit_all(&workbench.repo, "second").await;
    git(&workbench.repo, &["config", "uploadpack.allowFilter", "true"]).await;
    let url = format!("file://{}", workbench.repo.display());
    let partial = workbench.path("partial");
    let args = ["clone", "--quiet", "--filter=blob:none", "--no-checkout", &url, partial.to_str().unwrap()];
    git(workbench.temp.path(), &args).await;
    let user = UserRepo::open(&partial).await.unwrap();
    let head = user.resolve("HEAD").await.unwrap();
    let refused = user.snapshot(&head, &workbench.path("no.bundle")).await;
    assert!(matches!(refused, Err(WorkspaceError::Partial { .. })), "{refused:?}");
    git(&partial, &["fetch", "--quiet", "--refetch", "--no-filter"]).await;
    user.snapshot(&head, &workbench.path("yes.bundle")).await.unwrap();
}

#[tokio::test]
async fn a_large_file_goes_through_in_bounded_memory() {
    // Twice what git is allowed to keep in memory of one file, and text, which it would compare line by line.
    const BYTES: usize = 48 << 20;
    let line = b"a line of a very long log file that somebody committed\n";
    let workbench = Workbench::with(|repo| {
        // Line by line: what this process once held counts for what it starts.
        let mut file = std::io::BufWriter::new(std::fs::File::create(repo.join("huge.log")).unwrap());
        file.write_all(b"A").unwrap();
        file.write_all(&line[1..]).unwrap();
        for _ in 1..BYTES / line.len() {
            file.write_all(line).unwrap();
        }
    })
    .await;
    let journey = journey(workbench.temp.path(), &workbench.repo, |clone| {
        let mut file = std::fs::File::options().append(true).open(clone.join("huge.log")).unwrap();
        file.write_all(b"one more\n").unwrap();
    })
    .await;
    let out = journey.out.join("huge.log");
    assert_eq!(out.metadata().unwrap().len() as usize, BYTES / line.len() * line.len() + 9);
    for (who, is) in [(UsageWho::RUSAGE_SELF, "this process"), (UsageWho::RUSAGE_CHILDREN, "git")] {
        // In KiB. Each test is a process of its own.
        let peak = getrusage(who).unwrap().max_rss();
        assert!(peak < 40 << 10, "{is} took {peak} KiB at its peak");
    }
}
