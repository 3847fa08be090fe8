//! Reports in JUnit's XML, which surefire, Gradle and GoogleTest write and others can: counts and names of one run.

use roxmltree::{Document, Node};

use super::{Tally, lines::Seen};

/// Reads all reports of one runner. One that cannot be read has no tests.
pub(super) fn read(texts: &[String]) -> Option<Tally> {
    let documents: Vec<Document<'_>> = texts.iter().filter_map(|text| Document::parse(text).ok()).collect();
    let mut tally = Tally::default();
    let mut seen = Seen::default();
    let mut found = false;
    for document in &documents {
        found |= matches!(document.root_element().tag_name().name(), "testsuite" | "testsuites");
        for case in document.descendants().filter(|node| node.has_tag_name("testcase")) {
            let Some(name) = name(case) else { continue };
            let has = |tags: &[&str]| case.children().any(|child| tags.contains(&child.tag_name().name()));
            if has(&["failure", "error"]) {
                tally.failed += 1;
                seen.red(name);
            } else if has(&["skipped"]) || case.attribute("status") == Some("notrun") {
                tally.skipped += 1;
                seen.skipped(name);
            } else {
                tally.passed += 1;
                seen.green(name);
            }
        }
    }
    tally.run = tally.passed + tally.failed;
    found.then(|| seen.complete(tally))
}

/// A test's class and name. GoogleTest's list of tests has the same form, without classes.
fn name(case: Node<'_, '_>) -> Option<String> {
    Some(format!("{}.{}", case.attribute("classname")?, case.attribute("name")?))
}

/// What was printed and what was reported of the same runs: red in either is red, and the smaller count holds.
pub(super) fn both(printed: Tally, reported: Tally) -> Tally {
    let passed = printed.passed.min(reported.passed);
    let failed = printed.failed.max(reported.failed);
    Tally {
        run: printed.run.min(reported.run),
        passed,
        failed,
        skipped: printed.skipped.max(reported.skipped),
        unended: printed.unended,
        red: printed.red.max(reported.red),
        uncollected: printed.uncollected,
        names: printed.names.or(reported.names),
    }
}
