//! `go test`. With `-v` tests are counted, sub-tests too; without, only packages and failures are printed, and packages are counted.

use super::{Tally, lines::Seen};

/// Reads packages and, where they are printed, tests.
pub(super) fn read(lines: &[&str]) -> Option<Tally> {
    let mut packages = Tally::default();
    let mut tests = Tally::default();
    let mut seen = Seen::default();
    let mut pending: Vec<(&str, &str)> = Vec::new();
    let mut found = lines.contains(&"no packages to test");
    let mut verbose = false;
    for line in lines {
        // Without `-v` failures are printed with their names as well, and nothing else is.
        verbose |= line.starts_with("=== RUN ");
        if let Some((outcome, name)) = test_line(line) {
            verbose |= outcome != "FAIL";
            match outcome {
                "PASS" => tests.passed = tests.passed.saturating_add(1),
                "FAIL" => tests.failed = tests.failed.saturating_add(1),
                _ => tests.skipped = tests.skipped.saturating_add(1),
            }
            pending.push((name, outcome));
            continue;
        }
        if *line == "FAIL" {
            seen.red_mark();
        }
        let Some((outcome, package, rest)) = package_line(line) else { continue };
        found = true;
        match outcome {
            "ok" if !rest.contains("[no tests to run]") => packages.passed = packages.passed.saturating_add(1),
            "FAIL" => packages.failed = packages.failed.saturating_add(1),
            _ => {}
        }
        if rest.contains("failed]") {
            seen.uncollected();
        }
        for (name, outcome) in pending.drain(..) {
            let name = format!("{package} {name}");
            match outcome {
                "PASS" => seen.green(name),
                "FAIL" => seen.red(name),
                _ => seen.skipped(name),
            }
        }
    }
    let mut tally = if verbose { tests } else { packages };
    tally.run = tally.passed.saturating_add(tally.failed);
    if !verbose {
        seen.give_up();
    }
    found.then(|| seen.complete(tally))
}

/// `    --- PASS: TestRetry/backs_off (0.00s)`.
fn test_line(line: &str) -> Option<(&str, &str)> {
    let (outcome, rest) = line.trim_start().strip_prefix("--- ")?.split_once(": ")?;
    let (name, time) = rest.rsplit_once(" (")?;
    (matches!(outcome, "PASS" | "FAIL" | "SKIP") && time.ends_with("s)")).then_some((outcome, name))
}

/// An outcome, a package and more, with tabs between: `ok`, `FAIL` or `?`, then `0.003s`, `[build failed]` and so on.
fn package_line(line: &str) -> Option<(&str, &str, &str)> {
    let (outcome, rest) = line.split_once('\t')?;
    let outcome = outcome.trim_end();
    let (package, rest) = rest.split_once(['\t', ' ']).unwrap_or((rest, ""));
    (matches!(outcome, "ok" | "FAIL" | "?") && !package.is_empty()).then_some((outcome, package, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_are_counted_where_failures_alone_have_names() {
        let red = "--- FAIL: TestA (0.00s)\n    --- FAIL: TestA/part (0.00s)\n        a_test.go:9: no\nFAIL\n\
            FAIL\texample.com/a\t0.003s\nok  \texample.com/b\t0.002s\nFAIL\n";
        let read = |text: &str| read(&text.lines().collect::<Vec<_>>()).unwrap();
        let quiet = read(red);
        assert_eq!((quiet.run, quiet.passed, quiet.failed, quiet.names.is_none()), (2, 1, 1, true));
        assert!(quiet.red > 0);
        let verbose = read(&format!("=== RUN   TestA\n=== RUN   TestA/part\n{red}"));
        assert_eq!((verbose.run, verbose.failed), (2, 2));
    }
}
