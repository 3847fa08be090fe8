//! What a shell line says about failures: whether its runner goes on after the first, and which tests it asks for.

use crate::runners::{takes_value, words};

/// Options by which runners stop at a failure.
const STOPPING: [&str; 8] =
    ["-x", "-f", "--exitfirst", "--failfast", "-failfast", "--fail-fast", "--bail", "--stepwise"];
/// The line with cargo's runners told to go on after a failure: each of their test programs has canaries of its own.
#[must_use]
pub fn for_all_failures(command: &str) -> String {
    if command.contains("fail-fast") {
        return command.to_owned();
    }
    let mut line = command.to_owned();
    for runner in ["cargo test", "cargo t", "nextest run", "nextest r"] {
        let mut from = 0;
        while let Some(at) = line.get(from..).and_then(|rest| rest.find(runner)) {
            let end = from + at + runner.len();
            from = end;
            let whole = line
                .get(end..)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', ';', '&', '|', ')', '\n']));
            if whole {
                line.insert_str(end, " --no-fail-fast");
            }
        }
    }
    line
}

/// Whether a line asks its runner to stop at a failure, so that one canary hides the others.
#[must_use]
pub fn stops_early(command: &str) -> bool {
    let short = |word: &str| {
        let letters = word.strip_prefix('-').filter(|letters| letters.bytes().all(|b| b.is_ascii_lowercase()));
        letters.is_some_and(|letters| letters.len() <= 4 && letters.contains(['x', 'f']))
    };
    let words = words(command);
    words.iter().any(|word| {
        STOPPING.contains(word) || word.starts_with("--maxfail") || word.starts_with("--max-fail") || short(word)
    })
}

/// The filter that a line gives to `cargo test` or nextest: the first word that is neither an option nor its value.
pub(super) fn filter(command: &str) -> Option<String> {
    let words = words(command);
    let at = words.iter().position(|word| *word == "cargo" || word.ends_with("nextest"))?;
    let mut rest = words
        .iter()
        .skip(at + 1)
        .skip_while(|word| matches!(**word, "nextest" | "test" | "t" | "run" | "r") || word.starts_with('+'));
    while let Some(word) = rest.next() {
        if takes_value(word) {
            rest.next();
        } else if !word.starts_with('-') {
            let plain = word.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b':'));
            return plain.then(|| (*word).to_owned());
        }
    }
    None
}

/// The pattern of names that a line gives to `go test`.
pub(super) fn run(command: &str) -> Option<String> {
    let words = words(command);
    let at = words.windows(2).position(|pair| pair == ["go", "test"])?;
    let mut rest = words.iter().skip(at + 2).skip_while(|word| !matches!(**word, "-run" | "--run"));
    rest.nth(1).map(|pattern| (*pattern).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_filter_is_the_first_word_that_is_no_option_and_no_value_of_one() {
        for (line, found) in [
            ("cargo test", None),
            ("cargo test retry", Some("retry")),
            ("cargo test --jobs 2 -p retry", None),
            ("cargo nextest run --run-ignored all --config-file n.toml retry::it", Some("retry::it")),
            ("cargo nextest run --status-level pass --max-fail 3", None),
            ("cargo test --message-format short -- --skip slow", None),
        ] {
            assert_eq!(filter(line).as_deref(), found, "{line}");
        }
    }

    #[test]
    fn the_pattern_of_go_is_what_follows_its_option() {
        for (line, found) in [
            ("go test ./...", None),
            ("go test -v -run TestRetry ./...", Some("TestRetry")),
            ("cd a && go test -run='^TestRetry/slow'", Some("^TestRetry/slow")),
            ("cargo test -run x", None),
        ] {
            assert_eq!(run(line).as_deref(), found, "{line}");
        }
    }
}
