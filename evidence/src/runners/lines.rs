//! Text helpers: terminal escapes, words, numbers, and collecting names.

use std::collections::{BTreeMap, BTreeSet};

use super::{Tally, TestNames};

/// The most names that are kept of one run; past it names are given up, not counts.
const NAMES_MAX: usize = 100_000;

/// `text` without terminal escapes (colours, titles, character sets) and without carriage returns.
pub(crate) fn without_escapes(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if c == '\r' {
            continue;
        }
        if c != '\u{1b}' {
            out.push(c);
            continue;
        }
        match chars.next() {
            // CSI: parameters up to a letter-like final character.
            Some('[') => while chars.next_if(|c| !('@'..='~').contains(c)).is_some() {},
            // OSC: up to BEL, or up to the backslash of ST. It never goes on over a line.
            Some(']') => while chars.next_if(|c| !matches!(c, '\u{7}' | '\\' | '\n')).is_some() {},
            // Character sets: one more character, which is dropped below.
            Some('(' | ')' | '#') => {}
            _ => continue,
        }
        chars.next_if(|c| *c != '\n');
    }
    out
}

/// The words of a shell line, without quotes, folders of programs and separators.
pub(crate) fn words(command: &str) -> Vec<&str> {
    let separator = |c: char| c.is_whitespace() || matches!(c, ';' | '&' | '|' | '(' | ')' | '"' | '\'' | '`' | '=');
    command.split(separator).filter(|word| !word.is_empty()).map(program).collect()
}

/// A program without its folder: `node_modules/.bin/jest` is `jest`. Arguments keep theirs.
fn program(word: &str) -> &str {
    match word.rsplit_once('/') {
        Some((folder, name)) if folder.ends_with("bin") => name,
        _ => word,
    }
}

/// The number before `word` in a summary such as `3 passed; 1 failed`; 0 if it is not there.
pub(super) fn number_before(text: &str, word: &str) -> u64 {
    let mut last = None;
    for token in text.split([' ', ',', ';', '(', ')', '|', '\t']).filter(|token| !token.is_empty()) {
        if token == word
            && let Some(number) = last
        {
            return number;
        }
        last = token.parse().ok();
    }
    0
}

/// `name (0.2ms)`, `name (31 ms)` or `name (1.2 s)` without its time.
pub(super) fn without_time(name: &str) -> &str {
    let Some((head, time)) = name.rsplit_once(" (") else { return name };
    let number = time.strip_suffix("ms)").or_else(|| time.strip_suffix("s)")).map(str::trim_end);
    if number.is_some_and(|number| number.parse::<f64>().is_ok()) { head } else { name }
}

/// Names as they are collected.
#[derive(Default)]
pub(super) struct Seen {
    /// Green names, with how often each was printed: two crates may both have `tests::works`.
    green: BTreeMap<String, u64>,
    red: BTreeSet<String>,
    /// Green lines, repeated names included.
    green_lines: u64,
    /// Red lines, repeated names included.
    red_lines: u64,
    skipped: BTreeSet<String>,
    /// Lines of what was skipped, repeated names included.
    skipped_lines: u64,
    /// Whether names cannot be relied on.
    broken: bool,
    /// Whether something was not built or not collected.
    uncollected: bool,
}

impl Seen {
    pub(super) fn green(&mut self, name: String) {
        self.green_lines += 1;
        self.keep(name, true);
    }

    pub(super) fn red(&mut self, name: String) {
        self.red_mark();
        self.keep(name, false);
    }

    /// Notes that something failed, without its name.
    pub(super) fn red_mark(&mut self) {
        self.red_lines += 1;
    }

    pub(super) fn skipped(&mut self, name: String) {
        self.skipped_lines += 1;
        if self.skipped.len() < NAMES_MAX {
            self.skipped.insert(name);
        }
    }

    /// Gives up names: they are not printed.
    pub(super) fn give_up(&mut self) {
        self.broken = true;
    }

    /// Gives up names: something was not built or not collected, so that they are missing without a trace.
    pub(super) fn uncollected(&mut self) {
        self.broken = true;
        self.uncollected = true;
    }

    fn keep(&mut self, name: String, green: bool) {
        if self.green.len() + self.red.len() >= NAMES_MAX {
            self.broken = true;
        } else if green {
            *self.green.entry(name).or_default() += 1;
        } else {
            self.red.insert(name);
        }
    }

    /// The names for a tally, if as many green ones were seen as passed. A name that was both is red. A name that was
    /// green several times is kept as often, with its number behind it, so that the loss of one of them is seen.
    pub(super) fn complete(self, tally: Tally) -> Tally {
        let whole = !self.broken && self.green_lines == tally.passed && self.green_lines <= NAMES_MAX as u64;
        let all_skipped = self.skipped_lines == tally.skipped && self.skipped_lines <= NAMES_MAX as u64;
        let Self { green, red, red_lines, skipped, uncollected, .. } = self;
        let numbered = |(name, times): (String, u64)| {
            let more = (2..=times).map(|number| format!("{name} [{number}]")).collect::<Vec<_>>();
            std::iter::once(name).chain(more)
        };
        let names = whole.then(|| {
            let green = green.into_iter().filter(|(name, _)| !red.contains(name)).flat_map(numbered).collect();
            TestNames { green, red, skipped: all_skipped.then_some(skipped) }
        });
        Tally { names, red: tally.failed.max(red_lines), uncollected, ..tally }
    }
}
