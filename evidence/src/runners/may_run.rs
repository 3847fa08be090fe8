//! Which checks may run tests, so that it is worth the time to count those on the base as well.
//!
//! A mistake towards "may" costs time; one towards "cannot" would lose a comparison, so only a short list of
//! plain programs is taken for not running any.

use crate::over_http;

/// Programs that run no tests, whatever their arguments are.
const PLAIN: [&str; 22] = [
    "[",
    "cat",
    "cd",
    "cmp",
    "diff",
    "echo",
    "egrep",
    "fgrep",
    "file",
    "grep",
    "head",
    "jq",
    "ls",
    "printf",
    "rg",
    "stat",
    "tail",
    "test",
    "true",
    "wc",
    "clang-format",
    "rustfmt",
];
/// Commands of cargo that run no tests.
const CARGO: [&str; 8] = ["audit", "build", "check", "clippy", "deny", "doc", "fmt", "tree"];
/// Words behind a program with which it runs no tests.
const WITH: [(&str, &[&[&str]]); 4] = [
    (
        "python3",
        &[
            &["-m", "bandit"],
            &["-m", "build"],
            &["-m", "compileall"],
            &["-m", "griffe"],
            &["-m", "interrogate"],
            &["-m", "pip"],
            &["-m", "pip_audit"],
            &["-m", "ruff"],
        ],
    ),
    ("npm", &[&["audit"], &["ls"]]),
    (
        "npx",
        &[
            &["--no-install", "api-extractor"],
            &["--no-install", "eslint"],
            &["--no-install", "tsc"],
            &["--no-install", "typedoc"],
        ],
    ),
    ("node", &[&["--check"]]),
];
/// Characters by which a shell line can run more than the words at the beginnings of its parts.
const HIDING: [char; 4] = ['$', '`', '<', '('];

/// Whether a shell line may run tests.
#[must_use]
pub fn may_run_tests(command: &str) -> bool {
    if over_http::is_asked_by(command) {
        return false;
    }
    if command.contains(HIDING) {
        return true;
    }
    command.split([';', '&', '|', '\n']).any(|part| {
        let mut words = part.split_whitespace().filter(|word| *word != "!");
        match words.next() {
            None => false,
            Some("cargo") => !words.next().is_some_and(|sub| CARGO.contains(&sub)),
            Some(program) => {
                let behind: Vec<&str> = words.collect();
                let with = WITH.iter().find(|(of, _)| *of == program).map_or(&[][..], |(_, with)| with);
                !PLAIN.contains(&program) && !with.iter().any(|with| behind.starts_with(with))
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looking_and_compiling_run_no_tests() {
        for command in [
            "grep -q x src/a.py",
            "cargo clippy --locked -- -D warnings",
            "test -f a && ! grep -q b a",
            "cargo fmt --check",
            "python3 -m ruff check --no-cache .",
            "python3 -m bandit -q -r . && python3 -m pip_audit",
            "npm ls",
            "npx --no-install eslint .",
            "node --check a.js",
            "holdpoint-http '{\"run\":\"./serve $PORT\"}'",
        ] {
            assert!(!may_run_tests(command), "{command}");
        }
    }

    #[test]
    fn anything_else_may() {
        for command in [
            "cargo test --locked",
            "cargo +nightly test",
            "python3 -m unittest",
            "make check",
            "./run.sh",
            "python3 -m coverage run -m pytest",
            "python3 -m pytest -m build",
            "npm run build",
            "npx --no-install c8 npm test",
            "node --test",
            "grep -q x a && pytest",
            "echo $(cargo test)",
            "FOO=1 cargo test",
            "cargo build && cargo nextest run",
        ] {
            assert!(may_run_tests(command), "{command}");
        }
    }
}
