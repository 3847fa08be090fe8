//! Attributes convert files on their way out and back as git does in a repository that is trusted, but for filters.

use std::path::Path;

use holdpoint_workspace::{InputRefusal, ObjectId, UserRepo, WorkspaceError};

use crate::support::{Workbench, commit_all, git, meta, put};

/// Files by their path.
type Files = &'static [(&'static str, &'static [u8])];

/// A repository, and what somebody makes of its files.
struct Case {
    name: &'static str,
    base: Files,
    work: Files,
}

const UTF16: &[u8] = b"\xff\xfeh\0i\0\n\0";

/// Attributes, what the base has, and what is written over it.
const CASES: [Case; 12] = [
    Case {
        name: "line ends of text",
        base: &[(".gitattributes", b"*.bat text eol=crlf\n*.sh text eol=lf\n*.md text\n"), ("a.bat", b"a\r\n")],
        work: &[
            ("a.bat", b"a\r\nb\r\n"),
            ("n.bat", b"n\n"),
            ("n.sh", b"n\r\n"),
            ("n.md", b"a\r\nb\n"),
            ("n.x", b"n\r\n"),
        ],
    },
    Case {
        name: "automatic text, with and without line ends of the other kind in the index",
        base: &[(".gitattributes", b"* text=auto\nold.txt -text\n"), ("old.txt", b"a\r\n"), ("new.txt", b"a\n")],
        work: &[
            (".gitattributes", b"* text=auto\n"),
            ("old.txt", b"a\r\nb\r\n"),
            ("new.txt", b"a\r\nb\r\n"),
            ("bin", b"a\r\n\0"),
        ],
    },
    Case {
        name: "encodings",
        base: &[
            (".gitattributes", b"*.rc text working-tree-encoding=UTF-16LE-BOM\n*.u working-tree-encoding=UTF-16\n"),
            ("a.rc", UTF16),
        ],
        work: &[("a.rc", b"\xff\xfeh\0o\0\r\0\n\0"), ("n.rc", UTF16), ("n.u", b"\xfe\xff\0h\0i\0\n")],
    },
    Case {
        name: "an encoding of one byte",
        base: &[(".gitattributes", b"*.txt text working-tree-encoding=ISO-8859-1\n"), ("a.txt", b"\xe4\n")],
        work: &[("a.txt", b"\xe4\xf6\n"), ("n.txt", b"\xfc\r\n")],
    },
    Case {
        name: "ids",
        base: &[(".gitattributes", b"*.c ident\n"), ("a.c", b"$Id$\n")],
        work: &[("n.c", b"$Id: 0123 $\nx\n"), ("n.h", b"$Id: 0123 $\n")],
    },
    Case {
        name: "macros",
        base: &[(".gitattributes", b"[attr]dos text eol=crlf\n* text=auto\n*.dat binary\n*.ini dos\n")],
        work: &[("n.dat", b"a\r\n"), ("n.ini", b"a\r\n"), ("n", b"a\r\n")],
    },
    Case {
        name: "the last match, and the innermost folder",
        base: &[(".gitattributes", b"* text\n*.raw -text\n"), ("sub/.gitattributes", b"*.raw text\nkeep.raw -text\n")],
        work: &[("a.raw", b"a\r\n"), ("sub/a.raw", b"a\r\n"), ("sub/keep.raw", b"a\r\n"), ("sub/deep/a.raw", b"a\r\n")],
    },
    Case {
        name: "attributes of the work",
        base: &[("a.txt", b"a\n")],
        work: &[("sub/.gitattributes", b"*.txt text\n"), ("sub/n.txt", b"a\r\n"), ("n.txt", b"a\r\n")],
    },
    Case {
        name: "older words",
        base: &[(".gitattributes", b"*.a crlf\n*.b crlf=input\n*.c -crlf\n")],
        work: &[("n.a", b"a\r\n"), ("n.b", b"a\r\n"), ("n.c", b"a\r\n")],
    },
    Case {
        name: "odd names",
        base: &[(".gitattributes", b"* text\n")],
        work: &[
            ("a b", b"a\r\n"),
            ("new\nline", b"a\r\n"),
            ("-dash", b"a\r\n"),
            ("\"q\"", b"a\r\n"),
            ("tab\t", b"a\r\n"),
        ],
    },
    Case {
        name: "files and folders in each others place",
        base: &[(".gitattributes", b"* text\n"), ("x/a", b"a\n"), ("y", b"y\n")],
        work: &[("y/b", b"b\r\n"), ("x", b"x\r\n")],
    },
    Case {
        name: "attributes that are no file",
        base: &[("m/.gitattributes/f", b"* text\n"), ("m/a.txt", b"a\n")],
        work: &[("m/n.txt", b"a\r\n"), (".gitattributes/f", b"* text\n"), ("n.txt", b"a\r\n")],
    },
];

fn write(dir: &Path, files: Files) {
    for (name, bytes) in files {
        let path = dir.join(name);
        for folder in path.ancestors().skip(1).take_while(|folder| *folder != dir).filter(|folder| folder.is_file()) {
            std::fs::remove_file(folder).unwrap();
        }
        if path.is_dir() {
            std::fs::remove_dir_all(&path).unwrap();
        }
        put(dir, name, bytes);
    }
}

async fn workbench(base: Files) -> Workbench {
    Workbench::with(|repo| write(repo, base)).await
}

/// A clone by plain git, as its user has it.
async fn users(workbench: &Workbench) -> std::path::PathBuf {
    git(workbench.temp.path(), &["clone", "--quiet", "--no-local", workbench.repo.to_str().unwrap(), "users"]).await;
    workbench.path("users")
}

#[tokio::test]
async fn what_is_captured_is_what_git_add_stores() {
    for Case { name, base, work } in CASES {
        let workbench = workbench(base).await;
        let (users, clone, copy) = (users(&workbench).await, workbench.path("clone"), workbench.path("copy"));
        let handed = workbench.mirror.clone_for_agent(&workbench.base, &clone).await.unwrap();
        workbench.mirror.checkout(&workbench.base, &copy).await.unwrap();
        for dir in [&users, &clone, &copy] {
            write(dir, work);
        }
        git(&users, &["add", "--all"]).await;
        let wanted = git(&users, &["write-tree"]).await;
        let captured = workbench.mirror.capture_clone(&handed, &workbench.base).await.unwrap();
        let from_copy = workbench.mirror.capture(&copy, &workbench.base).await.unwrap();
        let listing = git(&users, &["ls-files", "--stage"]).await;
        assert_eq!((captured.as_str(), from_copy.as_str()), (&*wanted, &*wanted), "{name}: {listing}");
    }
}

#[tokio::test]
async fn clones_and_checkouts_have_the_bytes_that_a_user_gets() {
    for Case { name, base, .. } in CASES {
        let workbench = workbench(base).await;
        let (users, clone, out) = (users(&workbench).await, workbench.path("clone"), workbench.path("out"));
        workbench.mirror.clone_for_agent(&workbench.base, &clone).await.unwrap();
        workbench.mirror.checkout(&workbench.base, &out).await.unwrap();
        for (file, _) in base {
            let bytes = |dir: &Path| std::fs::read(dir.join(file)).unwrap();
            assert_eq!((bytes(&clone), bytes(&out)), (bytes(&users), bytes(&users)), "{name}: {file}");
        }
        assert_eq!(git(&clone, &["status", "--porcelain"]).await, "", "{name}");
    }
}

#[tokio::test]
async fn files_that_nobody_changed_stay_as_they_are_stored_whatever_attributes_say_now() {
    let workbench = workbench(&[
        ("dos.txt", b"a\r\nb\r\n"),
        ("mixed.txt", b"a\r\nb\n"),
        ("id.txt", b"$Id: 1 $\n"),
        ("a.rc", b"plain\n"),
    ])
    .await;
    let attributes = "*.txt text eol=crlf ident\n*.rc working-tree-encoding=UTF-16LE\n";
    put(&workbench.repo, ".gitattributes", attributes);
    git(&workbench.repo, &["add", ".gitattributes"]).await;
    git(&workbench.repo, &["commit", "--quiet", "--message", "attributes"]).await;
    let user = UserRepo::open(&workbench.repo).await.unwrap();
    let base = user.resolve("HEAD").await.unwrap();
    let bundle = user.snapshot(&base, &workbench.path("again.bundle")).await.unwrap();
    crate::support::import(&workbench.mirror, &bundle, None).await.unwrap();
    let (clone, out) = (workbench.path("clone"), workbench.path("out"));
    let handed = workbench.mirror.clone_for_agent(&base, &clone).await.unwrap();
    workbench.mirror.checkout(&base, &out).await.unwrap();
    assert_eq!(std::fs::read(out.join("mixed.txt")).unwrap(), b"a\r\nb\r\n");
    let tree = workbench.mirror.tree_of(&base).await.unwrap();
    assert_eq!(workbench.mirror.capture(&out, &base).await.unwrap(), tree);
    for file in ["dos.txt", "mixed.txt", "id.txt", "a.rc"] {
        let bytes = std::fs::read(clone.join(file)).unwrap();
        put(&clone, file, bytes);
    }
    assert_eq!(
        workbench.mirror.capture_clone(&handed, &base).await.unwrap(),
        tree,
        "also where they were written again"
    );
}

#[tokio::test]
async fn what_cannot_be_stored_as_attributes_say_is_refused_by_its_name() {
    let workbench = workbench(&[(".gitattributes", b"*.rc text working-tree-encoding=UTF-16\n")]).await;
    let clone = workbench.path("clone");
    workbench.mirror.clone_for_agent(&workbench.base, &clone).await.unwrap();
    put(&clone, "menu.rc", "no byte order mark\n");
    let error = workbench.mirror.capture(&clone, &workbench.base).await.unwrap_err();
    let WorkspaceError::Refused(refusal @ InputRefusal::Unstorable { .. }) = &error else { panic!("{error:?}") };
    assert!(refusal.to_string().contains("menu.rc"), "{refusal}");
}

#[tokio::test]
async fn of_unfinished_files_only_those_that_cannot_be_stored_as_attributes_say_are_kept_as_they_are() {
    let workbench = workbench(&[
        (".gitattributes", b"*.rc text working-tree-encoding=UTF-16\n*.bat text eol=crlf\n"),
        ("old.rc", b"\xff\xfea\0\n\0"),
    ])
    .await;
    let clone = workbench.path("clone");
    workbench.mirror.clone_for_agent(&workbench.base, &clone).await.unwrap();
    for name in ["a.rc", "old.rc", "z.rc"] {
        put(&clone, name, "no byte order mark\n");
    }
    let lines = ["1.bat", "m.bat", "zz.bat"];
    lines.iter().for_each(|name| put(&clone, name, "echo\r\n"));
    let captured = workbench.mirror.capture_partly(&clone, &workbench.base).await.unwrap();
    for name in lines {
        assert_eq!(workbench.text(&captured.tree, name).await, "echo\n", "{name} is as git stores it");
    }
    for name in ["a.rc", "old.rc", "z.rc"] {
        assert_eq!(workbench.text(&captured.tree, name).await, "no byte order mark\n", "{name} is as it was");
        let named = captured.left_out.iter().find(|one| one.what == name).unwrap();
        assert!(named.why.starts_with("kept as it is, though git cannot store"), "{named:?}");
    }
    assert_eq!(captured.left_out.len(), 3, "{:?}", captured.left_out);
}

#[tokio::test]
async fn work_is_clean_in_a_repository_whose_user_converts_line_ends() {
    let workbench = workbench(&[(".gitattributes", b"*.bat text eol=crlf\n"), ("plain.txt", b"a\n")]).await;
    let clone = workbench.path("clone");
    workbench.mirror.clone_for_agent(&workbench.base, &clone).await.unwrap();
    write(&clone, &[("n.txt", b"a\r\n"), ("plain.txt", b"a\r\nb\r\n"), ("n.bat", b"a\r\n"), ("unix.txt", b"a\n")]);
    let tree = workbench.mirror.capture(&clone, &workbench.base).await.unwrap();
    let work = workbench.mirror.commit_on(&workbench.base, &tree, &meta("work")).await.unwrap();
    let users = users(&workbench).await;
    let objects = workbench.mirror.dir().join("objects");
    put(&users, ".git/objects/info/alternates", objects.to_str().unwrap());
    for setting in ["false", "input", "true"] {
        git(&users, &["config", "core.autocrlf", setting]).await;
        git(&users, &["checkout", "--quiet", "--force", "--detach", workbench.base.as_str()]).await;
        git(&users, &["merge", "--quiet", "--ff-only", work.as_str()]).await;
        assert_eq!(git(&users, &["status", "--porcelain"]).await, "", "core.autocrlf={setting}");
    }
}

const POINTER: &[u8] = b"version https://git-lfs.github.com/spec/v1\n\
    oid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 12345\n";
const FILTERED: Files = &[
    (".gitattributes", b"vault/** filter=lock\n*.bin filter=lfs diff=lfs merge=lfs -text\n"),
    ("vault/old.env", b"as the filter stored it"),
    ("logo.bin", b"whole since before there was a filter"),
    ("app.txt", b"1\n"),
];

/// The path and the filter that a refusal names first, if any.
type Outcome = Option<(&'static str, &'static str)>;

#[tokio::test]
async fn a_path_under_a_filter_is_taken_only_as_the_filter_stores_it() {
    let table: &[(&str, Files, Outcome)] = &[
        ("a new file", &[("vault/new.env", b"token\n")], Some(("vault/new.env", "lock"))),
        ("a changed file", &[("vault/old.env", b"token\n")], Some(("vault/old.env", "lock"))),
        ("a large file", &[("new.bin", &[7; 4000])], Some(("new.bin", "lfs"))),
        ("a pointer", &[("new.bin", POINTER), ("logo.bin", POINTER)], None),
        ("a pointer under another filter", &[("vault/new.env", POINTER)], Some(("vault/new.env", "lock"))),
        ("a copy of what is stored", &[("vault/moved.env", b"as the filter stored it")], None),
        ("a copy of what is stored elsewhere", &[("vault/app", b"1\n")], Some(("vault/app", "lock"))),
        ("nothing", &[("vault/empty", b""), ("app.txt", b"2\n")], None),
        ("no filter any more", &[(".gitattributes", b""), ("vault/new", b"x")], Some(("vault/new", "lock"))),
        (
            "another filter",
            &[(".gitattributes", b"* filter=lfs\n"), ("vault/n", POINTER)],
            Some((".gitattributes", "lfs")),
        ),
        (
            "a filter of the work",
            &[("sub/.gitattributes", b"* filter=own\n"), ("sub/a", b"x")],
            Some(("sub/.gitattributes", "own")),
        ),
        (
            "a filter that is switched off",
            &[("vault/.gitattributes", b"* -filter\n")],
            Some(("vault/.gitattributes", "lock")),
        ),
    ];
    for (name, work, outcome) in table {
        let workbench = workbench(FILTERED).await;
        let clone = workbench.path("clone");
        workbench.mirror.clone_for_agent(&workbench.base, &clone).await.unwrap();
        assert_eq!(std::fs::read(clone.join("vault/old.env")).unwrap(), b"as the filter stored it");
        write(&clone, work);
        let captured = workbench.mirror.capture(&clone, &workbench.base).await;
        assert_eq!(
            refused(&captured.map(drop)),
            outcome.map(|(path, filter)| (path.to_owned(), filter.to_owned())),
            "{name}"
        );
        // Somebody else's commit is looked at in the same way.
        commit_all(&clone, "by the agent").await;
        let bundle = workbench.path("foreign.bundle");
        crate::support::foreign_bundle(&clone, &workbench.base, &[holdpoint_workspace::HANDOFF_REF], &bundle).await;
        let tip = crate::support::import_file(&workbench.mirror, &bundle, &workbench.base).await.unwrap();
        let checked = workbench.mirror.check_filters(&workbench.base, &tip).await;
        assert_eq!(refused(&checked), outcome.map(|(path, filter)| (path.to_owned(), filter.to_owned())), "{name}");
    }
}

fn refused(result: &Result<(), WorkspaceError>) -> Option<(String, String)> {
    let error = result.as_ref().err()?;
    let WorkspaceError::Refused(InputRefusal::Unfiltered { paths }) = error else {
        return Some(("not by a filter".to_owned(), error.to_string()));
    };
    paths.first().map(|(path, filter)| (path.to_string(), filter.clone()))
}

#[tokio::test]
async fn a_refusal_says_what_its_maker_can_do() {
    let workbench = workbench(FILTERED).await;
    let clone = workbench.path("clone");
    workbench.mirror.clone_for_agent(&workbench.base, &clone).await.unwrap();
    write(&clone, &[("a.bin", b"x"), ("vault/b", b"x")]);
    let error = workbench.mirror.capture(&clone, &workbench.base).await.unwrap_err();
    let WorkspaceError::Refused(refusal) = error else { panic!("{error:?}") };
    assert_eq!(
        refusal.to_string(),
        "a.bin (filter=lfs), vault/b (filter=lock): not stored as the filter in .gitattributes stores it, and no filter is run on files \
         of others; leave these paths as the base has them, or write a Git LFS pointer where the filter is lfs; a person who has the \
         filter can change them"
    );
}

#[tokio::test]
async fn files_that_git_warns_about_and_passes_over_do_not_make_a_tree_invalid() {
    let workbench = Workbench::with(|repo| {
        let long = [b"*.", &b"a".repeat(3000)[..], b" text\n"].concat();
        write(repo, &[("d/.gitignore/f", b"x"), ("d/.gitattributes/f", b"x")]);
        put(repo, "long/.gitattributes", long);
        put(repo, "l/f", "f\n");
        for name in [".gitignore", ".gitattributes", ".mailmap", "l/.gitignore", "l/.gitattributes"] {
            std::os::unix::fs::symlink("nowhere", repo.join(name)).unwrap();
        }
    })
    .await;
    let clone = workbench.path("clone");
    let handed = workbench.mirror.clone_for_agent(&workbench.base, &clone).await.unwrap();
    put(&clone, "l/new.txt", "new\n");
    put(&clone, "long/new.txt", "new\n");
    std::os::unix::fs::symlink("/dev/null", clone.join("d/.gitattributes/.gitignore")).unwrap();
    let tree = workbench.mirror.capture_clone(&handed, &workbench.base).await.unwrap();
    assert_eq!(workbench.text(&tree, "l/new.txt").await, "new\n");
    let commit = workbench.mirror.commit_on(&workbench.base, &tree, &meta("work")).await.unwrap();
    let bundle = workbench.path("work.bundle");
    let bundle = workbench
        .mirror
        .thin_bundle(&workbench.base, &commit, holdpoint_workspace::HANDOFF_REF, &bundle)
        .await
        .unwrap();
    let tip: ObjectId = crate::support::import_file(&workbench.mirror, &bundle.path, &workbench.base).await.unwrap();
    workbench.mirror.check_filters(&workbench.base, &tip).await.unwrap();
    workbench.mirror.checkout(&tip, &workbench.path("out")).await.unwrap();
}

#[tokio::test]
async fn a_repository_says_which_filters_it_names() {
    let workbench = workbench(&[
        (".gitattributes", b"# filter=none\n*.a filter=lock text\n*.b -filter\n"),
        ("sub/.gitattributes", b"*.bin filter=lfs diff=lfs\n*.c filter=lock\n"),
    ])
    .await;
    let user = UserRepo::open(&workbench.repo).await.unwrap();
    let filters: Vec<String> = user.filters(&workbench.base).await.unwrap().into_iter().collect();
    assert_eq!(filters, ["lfs", "lock"]);
    let plain = Workbench::new().await;
    assert!(UserRepo::open(&plain.repo).await.unwrap().filters(&plain.base).await.unwrap().is_empty());
}
