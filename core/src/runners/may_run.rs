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
            Some(program) => !PLAIN.contains(&program),
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
            "grep -q x a && pytest",
            "echo $(cargo test)",
            "FOO=1 cargo test",
            "cargo build && cargo nextest run",
        ] {
            assert!(may_run_tests(command), "{command}");
        }
    }
}
