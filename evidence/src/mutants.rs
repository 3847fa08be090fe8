//! Mutants: changed lines of the product, broken one at a time, each of which has to turn a green check red (contract,
//! "Mutants").
//!
//! A test that runs a line and asserts nothing about it is green whatever the line does. A mutant shows that: the tree
//! under review with one small change in one line. Which lines may be broken, how, and in which order they are tried
//! ([`sites`]) follows from the texts and a seed; what a run with a mutant says is [`fate()`].
//!
//! Pure and textual: this reads tokens and no grammar. A mutation that does not build is found when it runs, and says
//! nothing. Not for lines that no test can be asked about: comments, imports, attributes, tests inside product files, and
//! messages for people.

mod changed;
mod choose;
mod conditions;
mod fate;
mod language;
mod line;
mod literals;
mod mask;
mod operators;
mod regions;
mod site;
mod statements;
mod words;

#[cfg(test)]
mod tests;

use std::{collections::BTreeSet, ops::Range};

pub use fate::{Fate, MutantRun, fate};
pub use site::{Mutant, Site};

use language::Language;
use line::Edit;

/// Bytes of a file whose lines may be broken; a longer one is left as it is.
pub const MUTATED_BYTES_MAX: usize = 1 << 20;
/// Changed files that are looked at, and deleted ones that they may come from.
pub const MUTATED_FILES_MAX: usize = 200;
/// Mutations of one line, one tried after another where they do not build.
const PER_LINE_MAX: usize = 3;
/// Bytes of a line that may be broken: longer ones are made by programs.
const LINE_BYTES_MAX: usize = 400;
/// Characters of a line that a description shows.
const SHOWN_CHARS_MAX: usize = 100;

/// A changed file of the product.
#[derive(Debug, Clone, Copy)]
pub struct ChangedFile<'a> {
    /// Its path.
    pub path: &'a str,
    /// Its text on the base; `None`: the work added it.
    pub before: Option<&'a str>,
    /// Its text on the tree under review.
    pub after: &'a str,
}

/// Whether the lines of a file can be broken, by its name.
#[must_use]
pub fn is_read(path: &str) -> bool {
    Language::of(path).is_some()
}

/// The changed and added lines of a file, from 1. `gone` as for [`sites`].
#[must_use]
pub fn changed_lines(file: &ChangedFile<'_>, gone: &[&str]) -> BTreeSet<usize> {
    let changed = changed_flags(file, gone).into_iter().enumerate();
    changed.filter(|(_, changed)| *changed).map(|(at, _)| at + 1).collect()
}

/// For each line of a file, whether it is changed or new.
fn changed_flags(file: &ChangedFile<'_>, gone: &[&str]) -> Vec<bool> {
    let before = file.before.or_else(|| changed::origin(gone, file.after)).unwrap_or_default();
    changed::lines(before, file.after)
}

/// The changed lines that can be broken, in the order in which they are tried: spread over files and their hunks, by
/// `seed`. `gone` are the texts of files that the work deleted: one that only moved has no new lines.
#[must_use]
pub fn sites(seed: &str, files: &[ChangedFile<'_>], gone: &[&str]) -> Vec<Site> {
    let read = files.iter().take(MUTATED_FILES_MAX).filter(|file| file.after.len() <= MUTATED_BYTES_MAX);
    let of_file = read.filter_map(|file| Some(hunks(file, Language::of(file.path)?, gone)));
    choose::spread(seed, of_file.collect())
}

/// The sites of one file, by hunk.
fn hunks(file: &ChangedFile<'_>, language: Language, gone: &[&str]) -> Vec<Vec<Site>> {
    let changed = changed_flags(file, gone);
    let source = operators::Source::new(language, file.after);
    let mut hunks: Vec<Vec<Site>> = Vec::new();
    let mut open = false;
    for (at, range) in source.lines.iter().enumerate() {
        if !changed.get(at).copied().unwrap_or(false) {
            open = false;
            continue;
        }
        if !open {
            hunks.push(Vec::new());
            open = true;
        }
        let edits = if range.len() > LINE_BYTES_MAX { Vec::new() } else { operators::edits(&source, at) };
        if let (false, Some(hunk)) = (edits.is_empty(), hunks.last_mut()) {
            let said = |edit: &Edit| said(file, at + 1, range, edit);
            let mutants = edits.into_iter().take(PER_LINE_MAX);
            let mutants = mutants.map(|edit| Mutant { said: said(&edit), edit }).collect();
            hunk.push(Site { path: file.path.to_owned(), line: at + 1, mutants });
        }
    }
    hunks.retain(|hunk| !hunk.is_empty());
    hunks
}

/// `src/a.py:7: "return a + b" became "return a - b"`.
fn said(file: &ChangedFile<'_>, line: usize, range: &Range<usize>, edit: &Edit) -> String {
    let whole = file.after.get(range.clone()).unwrap_or_default();
    let inner = edit.range.start.saturating_sub(range.start)..edit.range.end.saturating_sub(range.start);
    let broken = Edit::new(inner.clone(), edit.with.clone()).apply(whole);
    // Where a line is long, what changed is what is shown of it.
    let from = whole.get(..inner.start).map_or(0, |before| before.chars().count()).saturating_sub(SHOWN_CHARS_MAX / 2);
    let shown = |text: &str| {
        let skipped: String = if text.chars().count() > SHOWN_CHARS_MAX {
            text.chars().skip(from).take(SHOWN_CHARS_MAX).collect()
        } else {
            text.to_owned()
        };
        holdpoint_text::shown::line(skipped.trim()).into_owned()
    };
    format!("{}:{line}: \"{}\" became \"{}\"", holdpoint_text::shown::line(file.path), shown(whole), shown(&broken))
}
