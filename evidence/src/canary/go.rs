//! Canaries for `go test`: tests at the end of the test files of a package.

use std::{collections::BTreeSet, fmt::Write as _};

use super::{Planted, marks::FileMarks};

/// Bodies of tests that have to fail, with `@A` and `@B` for two numbers that differ.
const TESTS: [&str; 7] = [
    "if @A != @B { t.Errorf(\"%d is not %d\", @A, @B) }",
    "t.Error(\"@A\")",
    "t.Fatal(\"@A\")",
    "t.Fatalf(\"%d\", @A)",
    "t.Fail()",
    "t.FailNow()",
    "t.Run(\"@A\", func(t *testing.T) { t.Error(\"@B\") })",
];
/// How a file names the library that the tests need.
const IMPORTS: [&str; 2] = ["\"testing\"", "import \"testing\""];
/// What decides whether a file is built, and has to stand before its package.
const CONSTRAINT: &str = "//go:build ";

/// The file with canaries at its end, where it has tests. `run` is the pattern of names that the line asks for.
pub(super) fn plant(marks: FileMarks<'_>, text: &str, run: Option<&str>) -> Option<Planted> {
    if !text.lines().any(|line| IMPORTS.contains(&line.trim())) {
        return None;
    }
    let (canaries, marks) = canaries(marks, &name(text, run));
    Some(Planted { text: format!("{text}\n{canaries}"), marks })
}

/// Only the canaries of a file.
pub(super) fn alone(marks: FileMarks<'_>, text: &str, run: Option<&str>) -> String {
    let (canaries, _) = canaries(marks, &name(text, run));
    format!("{}\nimport \"testing\"\n{canaries}", emptied(text))
}

/// The file without anything in it: go refuses one without a package.
pub(super) fn emptied(text: &str) -> String {
    let head: Vec<&str> = text.lines().take_while(|line| !line.starts_with("import")).collect();
    let constraint = head.iter().find(|line| line.starts_with(CONSTRAINT)).map(|line| format!("{line}\n\n"));
    let package = head.iter().find(|line| line.starts_with("package ")).copied().unwrap_or("package main");
    format!("{}{package}\n", constraint.unwrap_or_default())
}

/// What the names of canaries begin with, so that they are among those that are asked for, or like the file's own.
fn name(text: &str, run: Option<&str>) -> String {
    let run = run.map(|run| run.split('/').next().unwrap_or(run).trim_start_matches('^')).filter(|run| is_name(run));
    let own = || {
        let names = text.lines().filter_map(|line| line.strip_prefix("func ")?.split_once('(')).map(|(name, _)| name);
        names.filter(|name| is_name(name)).find(|name| name.starts_with("Test") && *name != "TestMain")
    };
    match run {
        Some(run) if run.starts_with("Test") => run.to_owned(),
        Some(run) => format!("Test_{run}"),
        None => own().unwrap_or("Test").to_owned(),
    }
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

fn canaries(mut marks: FileMarks<'_>, name: &str) -> (String, BTreeSet<String>) {
    let (mut out, mut all) = (String::new(), BTreeSet::new());
    for body in TESTS {
        let mark = marks.next();
        let (a, b) = (u32::from(marks.number()) + 1, u32::from(marks.number()) + 2);
        let body = body.replace("@A", &a.to_string()).replace("@B", &b.to_string());
        let _ = writeln!(out, "\nfunc {name}_{mark}(t *testing.T) {{ {body} }}");
        all.insert(mark);
    }
    (out, all)
}
