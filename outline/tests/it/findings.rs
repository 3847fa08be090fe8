//! Findings through the real helper.

use std::path::Path;

use holdpoint_outline::{
    ChangedSource, FindingGroup, OutlineHelper, OutlineHelperError, RuleFile, UnseenReason, check_rules,
};

use crate::helper;

fn new(path: &str, text: &str) -> ChangedSource {
    ChangedSource::from_bytes(path, None, Some(text.as_bytes()), false)
}

#[tokio::test]
async fn a_change_is_searched_with_the_shipped_rules_and_those_of_the_project() {
    let own = [RuleFile {
        name: "go.scm".to_owned(),
        text: "((identifier) @at (#eq? @at \"launch\") (#set! rule \"launches\") (#set! group \"suppression\") \
            (#set! sentence \"The line launches.\"))"
            .to_owned(),
    }];
    let changes =
        [new("a.go", "package a\nvar x = launch\n"), new("b.py", "import os\nos._exit(0)\n"), new("c.md", "x")];
    let found = helper().findings(&changes, &own).await.unwrap();
    let named: Vec<(&str, u32, &str, FindingGroup)> =
        found.findings.iter().map(|it| (&*it.path, it.line, &*it.rule, it.group)).collect();
    assert_eq!(
        named,
        [("b.py", 2, "ends-process", FindingGroup::Suspicious), ("a.go", 2, "launches", FindingGroup::Suppression)]
    );
    assert_eq!((found.more, found.unseen.len()), (0, 0));
    assert_eq!(helper().findings(&[], &own).await.unwrap().findings, []);
}

#[tokio::test]
async fn a_broken_file_of_rules_is_an_error_whatever_the_change_is() {
    let broken = RuleFile { name: "rules/go.scm".to_owned(), text: "\n(no_such_node) @at".to_owned() };
    let error = helper().findings(&[], std::slice::from_ref(&broken)).await.unwrap_err();
    assert_eq!(error.to_string(), check_rules(&broken).unwrap_err().to_string());
    assert!(error.to_string().starts_with("rules/go.scm:2: "), "{error}");
}

#[tokio::test]
async fn a_file_that_ends_the_helper_hides_no_other() {
    let deep = ["(", "[{", "if x {", "<T"].map(|open| new("src/deep.rs", &open.repeat(40_000)));
    let peek = new("src/gate.py", "import os\nos._exit(0)\n");
    for deep in deep {
        let found = helper().findings(&[deep, peek.clone()], &[]).await.unwrap();
        assert_eq!(found.findings.len(), 1, "{:?}", found.unseen);
        assert!(found.unseen.iter().all(|it| (&*it.path, it.reason) == ("src/deep.rs", UnseenReason::TooComplex)));
    }
}

#[tokio::test]
async fn a_program_that_is_no_helper_finds_nothing_and_says_so() {
    let helper = OutlineHelper::at(Path::new("/bin/true"));
    for changes in [vec![], vec![new("a.rs", "fn a() {}")], vec![new("a.rs", "fn a() {}"), new("b.rs", "")]] {
        let error = helper.findings(&changes, &[]).await.unwrap_err();
        assert!(matches!(error, OutlineHelperError::NoAnswer { code: Some(0) }), "{error:?}");
    }
}
