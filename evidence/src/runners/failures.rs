//! Failures in a report: they are red whatever the exit code is.
//!
//! Code under test runs inside its runner, and can end that process with code 0 after the runner has printed what failed:
//! an exit hook, a thread, a child that goes on. So what was printed counts as well. It is excused where a green base
//! reports as many failures, and the shell line can ask for them (`! pytest tests/test_bug.py`).

use super::{Runner, TestCounts, lines};

/// Words of the shell before a command.
const BEFORE: [&str; 7] = ["if", "elif", "while", "until", "then", "else", "do"];

/// Whether `now` reports no failures but such as `base` reports as well: no more of them, and none by another name.
#[must_use]
pub fn no_redder(base: Option<&TestCounts>, now: &TestCounts) -> bool {
    now.by_runner.iter().all(|(runner, now)| {
        let Some(base) = base.and_then(|base| base.by_runner.get(runner)) else { return now.red == 0 };
        let named = match (&base.names, &now.names) {
            (Some(base), Some(now)) => now.red.is_subset(&base.red),
            _ => true,
        };
        now.red <= base.red && named
    })
}

/// Whether a shell line asks for failures: it negates the command that runs the tests.
#[must_use]
pub fn expected(command: &str) -> bool {
    let names_runner = |text: &str| {
        let words = lines::words(text);
        Runner::ALL.iter().any(|runner| runner.is_named(&words))
    };
    let any = !names_runner(command);
    command.split([';', '&', '|', '(', '{', '\n']).any(|part| {
        let first = part.split_whitespace().find(|word| !BEFORE.contains(word));
        first == Some("!") && (any || names_runner(part))
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::{super::Tally, *};

    #[test]
    fn failures_of_the_base_are_no_news_and_others_are() {
        let of = |red| TestCounts { by_runner: BTreeMap::from([(Runner::Pytest, Tally { red, ..Tally::default() })]) };
        assert!(no_redder(Some(&of(2)), &of(2)) && no_redder(None, &of(0)));
        assert!(!no_redder(Some(&of(1)), &of(2)) && !no_redder(None, &of(1)));
        let named = |text: &str| super::super::counts("cargo test", text).unwrap();
        let a = named("test a ... FAILED\ntest result: FAILED. 0 passed; 1 failed; 0 ignored");
        let b = named("test b ... FAILED\ntest result: FAILED. 0 passed; 1 failed; 0 ignored");
        assert!(no_redder(Some(&a), &a) && !no_redder(Some(&a), &b));
    }

    #[test]
    fn only_a_negated_runner_is_expected_to_fail() {
        for command in ["! pytest tests/test_bug.py", "cd a && ! cargo test bug", "if ! make check; then true; fi"] {
            assert!(expected(command), "{command}");
        }
        for command in
            ["pytest", "! grep -q x a && pytest", "test ! -e a; pytest", "pytest || exit 1", "if pytest; then a; fi"]
        {
            assert!(!expected(command), "{command}");
        }
    }
}
