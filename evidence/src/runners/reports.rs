//! What a run wrote into files: reports in JUnit's XML of surefire, Gradle and pytest, and CTest's log.

use roxmltree::{Document, Node};

use super::{Runner, Tally, ctest, lines::Seen};

/// Reads all reports of one runner. One that cannot be read has no tests.
pub(super) fn read(runner: Runner, texts: &[String]) -> Option<Tally> {
    match runner {
        Runner::GoogleTest => ctest::read_google(texts),
        _ => read_xml(runner, texts),
    }
}

fn read_xml(runner: Runner, texts: &[String]) -> Option<Tally> {
    let documents: Vec<Document<'_>> = texts.iter().filter_map(|text| Document::parse(text).ok()).collect();
    let mut tally = Tally::default();
    let mut seen = Seen::default();
    let mut found = false;
    for document in &documents {
        found |= matches!(document.root_element().tag_name().name(), "testsuite" | "testsuites");
        for case in document.descendants().filter(|node| node.has_tag_name("testcase")) {
            let Some(name) = name(runner, case) else { continue };
            let has = |tags: &[&str]| case.children().any(|child| tags.contains(&child.tag_name().name()));
            if has(&["failure", "error"]) {
                tally.failed += 1;
                seen.red(name);
            } else if has(&["skipped"]) {
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

/// A test's class and name.
fn name(runner: Runner, case: Node<'_, '_>) -> Option<String> {
    let between = if runner == Runner::Pytest { "::" } else { "." };
    Some(format!("{}{between}{}", case.attribute("classname")?, case.attribute("name")?))
}

/// What was printed and what was reported of the same runs: red in either is red, and the smaller count holds. Of several runs of
/// pytest the last one alone is reported: that has names where there was one, and is nothing where there were several.
pub(super) fn both(runner: Runner, printed: Tally, reported: Tally) -> Tally {
    if runner == Runner::Pytest {
        let one = (printed.passed, printed.failed) == (reported.passed, reported.failed) && !printed.uncollected;
        return Tally { names: printed.names.or_else(|| reported.names.filter(|_| one)), ..printed };
    }
    let passed = printed.passed.min(reported.passed);
    let failed = printed.failed.max(reported.failed);
    Tally {
        run: printed.run.min(reported.run),
        passed,
        failed,
        skipped: printed.skipped.max(reported.skipped),
        unended: printed.unended.max(reported.unended),
        red: printed.red.max(reported.red),
        uncollected: printed.uncollected,
        names: printed.names.or(reported.names),
    }
}
