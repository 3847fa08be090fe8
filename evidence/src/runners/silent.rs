//! Runners that a shell line is sure to show: where one of them printed nothing, it did not come to its end.
//!
//! A mistake towards "may be silent" loses a comparison, one towards "always shows" refuses honest work. So only plain
//! lines are read: no pipes, no redirection, no conditions, no options that change what is printed.

use super::{Runner, TestCounts};

/// Characters by which a shell line can hide what a program prints, or not run it at all.
const HIDING: [char; 8] = ['|', '>', '<', '$', '`', '(', ')', '{'];
/// Words of the shell that begin conditions and loops.
pub(super) const CONDITIONS: [&str; 9] = ["if", "then", "else", "elif", "for", "while", "until", "case", "do"];
/// Programs that run the command after them, and that print nothing of their own in its place.
const PREFIXES: [&str; 10] = ["env", "exec", "time", "nice", "nohup", "command", "npx", "run", "uv", "poetry"];
/// Options after which a runner prints something else, or runs nothing; one list for all.
const OTHER_OUTPUT: [&str; 25] = [
    "-h",
    "--help",
    "--version",
    "-V",
    "--collect-only",
    "--co",
    "--fixtures",
    "--markers",
    "-p",
    "--reporter",
    "--reporters",
    "--json",
    "--listTests",
    "--showConfig",
    "--watch",
    "--watchAll",
    "--passWithNoTests",
    "--test-reporter",
    "--test-reporter-destination",
    "list",
    "--setup-only",
    "--stepwise",
    "-R",
    "--dry-run",
    "--list-files",
];

/// A runner that `command` runs plainly and of which `counts` know nothing. Only those that print the end of a run from
/// the process that the code under test is in, or that always print it.
#[must_use]
pub fn silent(command: &str, counts: Option<&TestCounts>) -> Option<Runner> {
    let command = command.replace("2>&1", " ");
    if command.contains(HIDING) {
        return None;
    }
    let parts = command.split(['&', ';', '\n']).map(|part| part.split_whitespace().collect::<Vec<_>>());
    let parts: Vec<Vec<&str>> = parts.filter(|words| !words.is_empty()).collect();
    if parts.iter().flatten().any(|word| CONDITIONS.contains(word)) {
        return None;
    }
    let seen = |runner: Runner| counts.is_some_and(|counts| counts.by_runner.contains_key(&runner));
    parts.iter().filter_map(|words| plain_runner(words)).find(|runner| !seen(*runner))
}

/// The runner that a simple command runs, if its end is always shown.
fn plain_runner(words: &[&str]) -> Option<Runner> {
    let passed = |word: &&&str| PREFIXES.contains(*word) || (word.contains('=') && !word.starts_with('-'));
    let at = words.iter().take_while(passed).count();
    let (program, arguments) = words.get(at..)?.split_first()?;
    let program = program.rsplit('/').next().unwrap_or(program);
    let (runner, arguments) = match program {
        "pytest" | "py.test" => (Runner::Pytest, arguments),
        "jest" => (Runner::Jest, arguments),
        "vitest" => (Runner::Vitest, arguments),
        "mocha" => (Runner::Mocha, arguments),
        "node" if arguments.contains(&"--test") => (Runner::NodeTest, arguments),
        _ if program.starts_with("python") || program.starts_with("pypy") => {
            let module = arguments.iter().position(|word| *word == "-m")?;
            let runner = match *arguments.get(module + 1)? {
                "pytest" => Runner::Pytest,
                "unittest" => Runner::Unittest,
                _ => return None,
            };
            (runner, arguments.get(module + 2..)?)
        }
        _ => return None,
    };
    let other = |word: &&str| OTHER_OUTPUT.contains(&word.split('=').next().unwrap_or(word));
    // `discover -p` takes a pattern; pytest's `-p` may take its terminal away.
    let other = |word: &&str| other(word) && !(runner == Runner::Unittest && *word == "-p");
    let quiet = arguments.iter().filter(|word| **word == "-q" || **word == "--quiet").count();
    let quiet = quiet > 1 || arguments.iter().any(|word| word.starts_with("-qq"));
    (!quiet && !arguments.iter().any(other)).then_some(runner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_runner_that_is_run_plainly_has_to_show_its_end() {
        for (command, runner) in [
            ("python3 -m unittest", Runner::Unittest),
            ("cd sub && PYTHONPATH=. python3 -W error -m unittest discover -p 'test_*.py' 2>&1", Runner::Unittest),
            ("pytest -q tests", Runner::Pytest),
            (".venv/bin/pytest", Runner::Pytest),
            ("uv run pytest -x", Runner::Pytest),
            ("npx jest --ci", Runner::Jest),
            ("npx mocha test/a.js", Runner::Mocha),
            ("node --test", Runner::NodeTest),
            ("true; env CI=1 npx vitest run", Runner::Vitest),
        ] {
            assert_eq!(silent(command, None), Some(runner), "{command}");
            let counts = TestCounts { by_runner: [(runner, super::super::Tally::default())].into() };
            assert_eq!(silent(command, Some(&counts)), None, "{command}");
        }
    }

    #[test]
    fn a_line_that_may_hide_a_runner_or_not_run_it_says_nothing() {
        for command in [
            "pytest -qq",
            "pytest -q -q",
            "pytest --collect-only",
            "pytest > log",
            "pytest | tail -1",
            "test -e a || python3 -m unittest",
            "if test -e a; then pytest; fi",
            "grep -q pytest requirements.txt",
            "pip install pytest",
            "npx jest --json",
            "mocha -R json",
            "npx vitest run --reporter=json",
            "node --test --test-reporter=dot",
            "python3 tests/test_a.py",
            "make test",
            "echo pytest",
            "",
        ] {
            assert_eq!(silent(command, None), None, "{command}");
        }
    }
}
