//! The map of a repository that a turn begins with (FLY-31): languages, folders, files in scope, their symbols, and the last
//! commits that changed them. Bounded, so that a program reads whole files only where it has to.
//!
//! Paths, symbols and subjects are the repository's words: each is shown on one line of its own, without hidden characters. It
//! reads nothing and parses nothing: entries, outlines and log come from its caller.

mod folders;
mod language;
#[cfg(test)]
mod tests;

use std::{collections::BTreeMap, fmt::Write};

use holdpoint_text::{shown, units::counted};

use crate::paths::Glob;

pub use language::{known_languages, language};

/// Bytes of a map. Files that do not fit are counted.
pub const MAP_BYTES_MAX: usize = 48 << 10;
/// Bytes of all files of which outlines are made.
pub const OUTLINE_BYTES_MAX: u64 = 2 << 20;
/// Bytes of the longest file that is outlined: longer ones are generated, as a rule.
const OUTLINE_FILE_BYTES_MAX: u64 = 256 << 10;
/// Files of which outlines are made.
const OUTLINES_MAX: usize = 200;
/// Files in scope that are listed.
const FILES_MAX: usize = 200;
/// Languages that are named.
const LANGUAGES_MAX: usize = 8;
/// The longest line of a map, in characters.
const LINE_CHARS_MAX: usize = 160;

/// A file of the commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MapFile<'a> {
    /// Its path.
    pub path: &'a str,
    /// Its size in bytes.
    pub bytes: u64,
}

/// What a file defines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outline {
    /// The file.
    pub path: String,
    /// Its definitions, in their order.
    pub symbols: Vec<MapSymbol>,
}

/// A definition in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MapSymbol {
    /// Which line, from 1.
    pub line: u32,
    /// Such as `function` or `class`.
    pub kind: String,
    /// Its name.
    pub name: String,
}

/// A commit that changed the files in scope.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogLine {
    /// The commit, or the beginning of its id.
    pub commit: String,
    /// The day, `YYYY-MM-DD`.
    pub day: String,
    /// The first line of its message.
    pub subject: String,
}

/// Which files the work is about: those in its scope, or that it changed already. By index, in the order of `files`. With no
/// scope, or one that names everything, these are all.
#[must_use]
pub fn focus(files: &[MapFile<'_>], scope: &[String], changed: &[String]) -> Vec<usize> {
    let globs: Vec<Glob> = scope.iter().filter_map(|glob| Glob::new(glob).ok()).collect();
    let is_meant = |file: &MapFile<'_>| {
        globs.is_empty() || globs.iter().any(|glob| glob.matches(file.path)) || changed.iter().any(|p| p == file.path)
    };
    files.iter().enumerate().filter(|(_, file)| is_meant(file)).map(|(at, _)| at).collect()
}

/// Which files to outline, the most telling first: those of the focus, then the others by how near the root they are.
#[must_use]
pub fn to_outline(files: &[MapFile<'_>], focus: &[usize]) -> Vec<usize> {
    let mut others: Vec<usize> = (0..files.len()).filter(|at| focus.binary_search(at).is_err()).collect();
    let depth = |at: &usize| files.get(*at).map_or(0, |file| file.path.matches('/').count());
    others.sort_by_key(depth);
    let mut bytes = 0;
    let fits = |at: &usize| {
        let Some(file) = files.get(*at).filter(|file| file.bytes <= OUTLINE_FILE_BYTES_MAX) else { return false };
        let is_outlined = language(file.path).is_some_and(|language| language.outlined);
        let fits = is_outlined && bytes + file.bytes <= OUTLINE_BYTES_MAX;
        bytes += if fits { file.bytes } else { 0 };
        fits
    };
    focus.iter().copied().chain(others).filter(fits).take(OUTLINES_MAX).collect()
}

/// The map, [`MAP_BYTES_MAX`] at most. `focus` is [`focus`]'s.
#[must_use]
pub fn map(commit: &str, files: &[MapFile<'_>], focus: &[usize], outlines: &[Outline], log: &[LogLine]) -> String {
    let mut map = Map::default();
    let bytes: u64 = files.iter().map(|file| file.bytes).sum();
    map.line(&format!("Commit {commit}: {}, {bytes} bytes", counted(files.len(), "file")));
    if let Some(languages) = languages(files) {
        map.line(&languages);
    }
    map.section("Folders (files in them and below)", folders::lines(files));
    let named: Vec<String> = focus.iter().filter_map(|at| files.get(*at)).map(file_line).collect();
    if named.len() < files.len() {
        let more = named.len().saturating_sub(FILES_MAX);
        let rest = (more > 0).then(|| format!("and {more} more files"));
        map.section("Files in scope", named.into_iter().take(FILES_MAX).chain(rest));
    }
    map.section("Last commits that changed files in scope", log.iter().map(log_line));
    for outline in outlines.iter().filter(|outline| !outline.symbols.is_empty()) {
        let symbols = outline.symbols.iter().map(|symbol| format!("{} {} {}", symbol.line, symbol.kind, symbol.name));
        map.section(&format!("Defined in {}", outline.path), symbols);
    }
    map.text
}

/// A map that is written until it is full.
#[derive(Default)]
struct Map {
    text: String,
}

impl Map {
    /// A line; nothing where the map is full.
    fn line(&mut self, line: &str) -> bool {
        let line: String = shown::line(line).chars().take(LINE_CHARS_MAX).collect();
        let fits = self.text.len() + line.len() < MAP_BYTES_MAX;
        if fits {
            let _ = writeln!(self.text, "{line}");
        }
        fits
    }

    /// A title with lines below it; nothing without lines. Lines that do not fit are left out.
    fn section(&mut self, title: &str, lines: impl IntoIterator<Item = String>) {
        let mut lines = lines.into_iter().peekable();
        if lines.peek().is_some() && self.line("") && self.line(&format!("{title}:")) {
            // Once one does not fit, no later one is let in before it.
            let _ = lines.all(|line| self.line(&format!("  {line}")));
        }
    }
}

fn file_line(file: &MapFile<'_>) -> String {
    format!("{} ({} bytes)", file.path, file.bytes)
}

fn log_line(logged: &LogLine) -> String {
    format!("{} {} {}", logged.day, logged.commit, logged.subject)
}

/// The languages with the most files.
fn languages(files: &[MapFile<'_>]) -> Option<String> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for language in files.iter().filter_map(|file| language(file.path)) {
        *counts.entry(language.name).or_default() += 1;
    }
    let mut counts: Vec<(&str, usize)> = counts.into_iter().collect();
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let named: Vec<String> = counts.iter().take(LANGUAGES_MAX).map(|(name, count)| format!("{name} {count}")).collect();
    (!named.is_empty()).then(|| format!("Languages (files): {}", named.join(", ")))
}
