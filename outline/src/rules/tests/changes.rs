//! The findings of a change: only for code that it adds, as much as fits, each with its place.

use super::*;
use crate::{FINDING_TEXT_CHARS_MAX, FINDINGS_MAX, UnseenReason};

const PEEK: &str = "import sys\n\ndef who():\n    return sys._getframe(1)\n";

fn lines(findings: &ChangeFindings) -> Vec<(&str, u32)> {
    findings.findings.iter().map(|finding| (&*finding.path, finding.line)).collect()
}

#[test]
fn a_finding_says_its_place_and_quotes_the_line() {
    let findings = found_in("calc.py", PEEK);
    assert_eq!(findings.len(), 1);
    let finding = &findings[0];
    assert_eq!((finding.line, &*finding.rule, finding.group), (4, "looks-at-callers", FindingGroup::Suspicious));
    assert_eq!(finding.text, "return sys._getframe(1)");
    assert!(finding.sentence.starts_with("The line looks at the frames of its callers"), "{}", finding.sentence);
    let long = found_in("calc.py", &format!("x = sys._getframe({})\n", "1".repeat(500)));
    assert_eq!(long[0].text.len(), FINDING_TEXT_CHARS_MAX);
}

#[test]
fn a_test_library_in_the_tree_is_one_finding() {
    let macros = "#define EXPECT_EQ(a, b) check(a, b)\n#undef EXPECT_NE\n";
    assert_eq!(found_in("tests/gtest/gtest.h", macros).len(), 1);
    assert_eq!(found_in("tests/checks.h", macros).len(), 2);
}

#[test]
fn what_is_on_the_base_already_is_no_finding() {
    let touched = PEEK.replace("def who", "# Looks.\ndef who");
    assert_eq!(lines(&found(&[change("calc.py", Some(PEEK), &touched)], &[])), []);
    // Another layout is no other code.
    let indented = "import sys\n\nclass A:\n    def who(self):\n        return sys . _getframe(1)\n";
    assert_eq!(lines(&found(&[change("calc.py", Some(PEEK), indented)], &[])), []);
}

#[test]
fn code_that_moves_to_another_file_is_no_finding() {
    let moves = [change("calc.py", Some(PEEK), ""), change("frames.py", None, PEEK)];
    assert_eq!(lines(&found(&moves, &[])), []);
    // A copy is one.
    let copies = [change("calc.py", Some(PEEK), &format!("{PEEK}\n")), change("frames.py", None, PEEK)];
    assert_eq!(lines(&found(&copies, &[])), [("frames.py", 4)]);
    // From the tests to the product is no move: the rule did not hold there.
    let imports = "import unittest\n";
    let out = [change("tests/a.py", Some(imports), ""), change("calc.py", None, imports)];
    assert_eq!(lines(&found(&out, &[])), [("calc.py", 1)]);
}

#[test]
fn of_equal_places_those_that_were_there_are_not_named() {
    let before = "import sys\na = sys._getframe(1)\n";
    let after = "import sys\nb = sys._getframe(2)\na = sys._getframe(1)\nc = sys._getframe(3)\n";
    assert_eq!(lines(&found(&[change("a.py", Some(before), after)], &[])), [("a.py", 2), ("a.py", 4)]);
}

#[test]
fn findings_are_sorted_by_group_path_and_line_and_bounded() {
    let many: String = (0..FINDINGS_MAX + 9).map(|n| format!("a{n} = f.f_back\n")).collect();
    let noisy = "x = 1  # noqa\n";
    let all = found(&[change("a.py", None, noisy), change("b.py", None, &many)], &[]);
    assert_eq!((all.findings.len(), all.more), (FINDINGS_MAX, 10));
    assert!(all.findings.iter().all(|finding| finding.group == FindingGroup::Suspicious));
    let few = found(&[change("b.py", None, "# noqa\na = f.f_back\n"), change("a.py", None, noisy)], &[]);
    assert_eq!(lines(&few), [("b.py", 2), ("a.py", 1), ("b.py", 1)]);
}

#[test]
fn files_at_which_nobody_looked_are_reported_where_they_are_in_a_language_with_rules() {
    let long = format!("{PEEK}#{}\n", "x".repeat(SCANNED_BYTES_MAX));
    let changes = [
        change("long.py", None, &long),
        change("long.md", None, &long),
        ChangedSource::from_bytes("bytes.py", None, Some(b"\xff"), false),
        ChangedSource::from_bytes("gone.py", Some(PEEK.as_bytes()), None, false),
        ChangedSource::from_bytes("image.png", None, Some(b"\xff"), false),
    ];
    let found = found(&changes, &[]);
    let unseen: Vec<(&str, UnseenReason)> = found.unseen.iter().map(|file| (&*file.path, file.reason)).collect();
    assert_eq!(unseen, [("bytes.py", UnseenReason::NotText), ("long.py", UnseenReason::TooLong)]);
    assert_eq!(lines(&found), []);
}

#[test]
fn a_file_without_an_ending_is_known_by_its_first_line() {
    for (first, text) in [
        ("#!/usr/bin/env python3", "x = f.f_back"),
        ("#!/bin/sh", "pytest || true"),
        ("#!/usr/bin/env -S node", "eval('1'); new Error().stack"),
    ] {
        assert_eq!(found_in("bin/run", &format!("{first}\n{text}\n")).len(), 1, "{first}");
    }
    assert_eq!(found_in("bin/run", "x = f.f_back\n"), []);
    assert_eq!(found_in("notes.md", "x = f.f_back\n"), []);
}
