//! Outlines and findings through the real helper, confined as it is in a fleet.

#![allow(clippy::unwrap_used, reason = "tests say what is expected by failing")]

mod findings;

use std::path::Path;

use holdpoint_outline::{OutlineHelper, OutlineHelperError, SourceFile};

fn helper() -> OutlineHelper {
    OutlineHelper::at(Path::new(env!("CARGO_BIN_EXE_holdpoint-outline-helper")))
}

fn source(name: &str, text: &str) -> SourceFile {
    SourceFile { name: name.to_owned(), text: text.to_owned() }
}

#[tokio::test]
async fn files_of_several_languages_are_outlined_in_their_order() {
    let sources = [
        source("core/gate.rs", "fn leave() {}\n"),
        source("notes.md", "# x\n"),
        source("gate.py", "class Gate:\n    def leave(self): pass\n"),
    ];
    let outlines = helper().outline(&sources).await.unwrap();
    let names: Vec<Vec<&str>> =
        outlines.iter().map(|outline| outline.iter().map(|symbol| symbol.name.as_str()).collect()).collect();
    assert_eq!(names, [vec!["leave"], vec![], vec!["Gate", "leave"]]);
    assert!(helper().outline(&[]).await.unwrap().is_empty());
}

#[tokio::test]
async fn files_that_nest_without_end_are_outlined_or_refused_and_the_next_ones_are_not_harmed() {
    let deep = ["(", "[{", "if x {", "<T"].map(|open| source("deep.rs", &open.repeat(40_000)));
    for source in deep {
        match helper().outline(std::slice::from_ref(&source)).await {
            Ok(outlines) => assert_eq!(outlines.len(), 1),
            Err(error) => {
                assert!(matches!(error, OutlineHelperError::NoAnswer { .. } | OutlineHelperError::Run(_)), "{error}");
            }
        }
    }
    assert_eq!(helper().outline(&[source("a.rs", "fn a() {}")]).await.unwrap()[0].len(), 1);
}

#[tokio::test]
async fn a_program_that_is_no_helper_gives_no_answer() {
    let error = OutlineHelper::at(Path::new("/bin/true")).outline(&[source("a.rs", "fn a() {}")]).await.unwrap_err();
    assert!(matches!(error, OutlineHelperError::NoAnswer { code: Some(0) }), "{error:?}");
}
