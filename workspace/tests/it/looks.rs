//! Looking into a commit without a checkout.

use holdpoint_workspace::{ObjectId, WorkspaceError};

use crate::support::{Workbench, path};

#[tokio::test]
async fn many_files_are_read_at_once_whatever_is_in_them() {
    let workbench = Workbench::new().await;
    let texts = ["", "one\n", "no line feed", "a blob 3\n\nabc\n"];
    let files: Vec<(String, &str)> = texts.iter().enumerate().map(|(n, text)| (format!("f{n}"), *text)).collect();
    let written: Vec<(&str, Option<&str>)> = files.iter().map(|(name, text)| (name.as_str(), Some(*text))).collect();
    let commit = workbench.commit(&workbench.base, &written).await;
    let entries = workbench.mirror.list_tree(&commit).await.unwrap();
    let oid = |name: &str| entries.iter().find(|entry| entry.path == path(name)).unwrap().oid.clone();
    let wanted: Vec<ObjectId> = files.iter().map(|(name, _)| oid(name)).chain([oid("f1")]).collect();
    let read = workbench.mirror.read_blobs(&wanted, 1 << 20).await.unwrap();
    assert_eq!(read, texts.iter().chain(&["one\n"]).map(|text| text.as_bytes().to_vec()).collect::<Vec<_>>());
    assert!(workbench.mirror.read_blobs(&[], 0).await.unwrap().is_empty());
    assert!(
        matches!(workbench.mirror.read_blobs(&[commit], 1 << 20).await, Err(WorkspaceError::NoSuchObject { .. })),
        "a commit"
    );
    let long = "x".repeat(1 << 12);
    let commit = workbench.commit(&workbench.base, &[("long", Some(&long))]).await;
    let entries = workbench.mirror.list_tree(&commit).await.unwrap();
    let long = entries.iter().find(|entry| entry.path == path("long")).unwrap().oid.clone();
    workbench.mirror.read_blobs(&[long], 1 << 10).await.unwrap_err();
}

#[tokio::test]
async fn a_text_is_found_as_it_stands_with_its_file_and_line() {
    let workbench = Workbench::new().await;
    let commit = workbench
        .commit(
            &workbench.base,
            &[("src/odd\nname.txt", Some("x\n-e a.c: \u{e4}\n")), ("twice", Some("-e a.c\n-e a.c\n"))],
        )
        .await;
    let found = workbench.mirror.find_text(&commit, "-e a.c", 1).await.unwrap();
    let found: Vec<_> = found.iter().map(|line| (line.path.as_bytes(), line.line, line.text.as_str())).collect();
    assert_eq!(found, [(&b"src/odd\nname.txt"[..], 2, "-e a.c: \u{e4}"), (b"twice", 1, "-e a.c")]);
    assert_eq!(workbench.mirror.find_text(&commit, "a?c", 1).await.unwrap(), []);
    let nothing: ObjectId = "1".repeat(40).parse().unwrap();
    workbench.mirror.find_text(&nothing, "a", 1).await.unwrap_err();
}

#[tokio::test]
async fn the_log_names_the_last_commits_that_changed_a_path() {
    let workbench = Workbench::new().await;
    let second = workbench.commit(&workbench.base, &[("src/lib.txt", Some("other\n"))]).await;
    let third = workbench.commit(&second, &[("tests/a.txt", Some("other\n"))]).await;
    let all = workbench.mirror.log(&third, &[], 2).await.unwrap();
    let said: Vec<_> = all.iter().map(|logged| (&logged.commit, logged.subject.as_str())).collect();
    assert_eq!(said, [(&third, "work"), (&second, "work")]);
    assert_eq!(all[0].day, "2023-11-14");
    let of_source = workbench.mirror.log(&third, &[path("src")], 9).await.unwrap();
    let said: Vec<_> = of_source.iter().map(|logged| (&logged.commit, logged.subject.as_str())).collect();
    assert_eq!(said, [(&second, "work"), (&workbench.base, "first")]);
}
