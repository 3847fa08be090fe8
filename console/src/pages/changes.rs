//! A unified diff as files with their hunks: which lines stand next to each other, and what of a pair differs. Pure.

use std::ops::Range;

/// What is said of a file before its first hunk, at most.
const HEADS_MAX: usize = 12;

/// One file of a diff.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct File<'a> {
    /// Its path, as git names it after the change, or before it where it is gone.
    pub(super) path: &'a str,
    /// What else git says of it: modes, renames, that it is binary.
    pub(super) heads: Vec<&'a str>,
    /// Its rows.
    pub(super) rows: Vec<Row<'a>>,
}

/// A line with its number.
pub(super) type Numbered<'a> = (u64, &'a str);

/// A row of a file.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Row<'a> {
    /// The beginning of a hunk.
    Hunk(&'a str),
    /// A line that stays, with its number before and after.
    Same(u64, u64, &'a str),
    /// A line before, the one in its place after, or one of them alone.
    Changed(Option<Numbered<'a>>, Option<Numbered<'a>>),
    /// What git says of the line before.
    Note(&'a str),
}

/// What is left of a hunk, and where it stands.
#[derive(Debug, Default)]
struct Within<'a> {
    old: Range<u64>,
    new: Range<u64>,
    removed: Vec<Numbered<'a>>,
    added: Vec<Numbered<'a>>,
}

/// Reads a unified diff of git.
pub(super) fn read(text: &str) -> Vec<File<'_>> {
    let mut files: Vec<File<'_>> = Vec::new();
    let mut within = Within::default();
    for line in text.split_inclusive('\n') {
        let line = line.strip_suffix('\n').unwrap_or(line);
        // The counts of a hunk say what belongs to it: a removed line may look like the head of a file.
        if within.is_open() || line.starts_with('\\') {
            if let Some(file) = files.last_mut() {
                within.take(line, &mut file.rows);
            }
            continue;
        }
        if let Some(paths) = line.strip_prefix("diff --git ") {
            let path = paths.split_once(" b/").map_or(paths, |(_, after)| after);
            files.push(File { path, ..File::default() });
            continue;
        }
        if files.is_empty() {
            files.push(File::default());
        }
        let Some(file) = files.last_mut() else { continue };
        if let Some(hunk) = Within::of(line) {
            within = hunk;
            file.rows.push(Row::Hunk(line));
        } else if file.heads.len() < HEADS_MAX && !["index ", "--- ", "+++ "].iter().any(|head| line.starts_with(head))
        {
            file.heads.push(line);
        }
    }
    if let Some(file) = files.last_mut() {
        within.flush(&mut file.rows);
    }
    files
}

impl<'a> Within<'a> {
    /// Of the line that begins it: `@@ -1,2 +1,3 @@`.
    fn of(line: &str) -> Option<Self> {
        let (spans, _) = line.strip_prefix("@@ -")?.split_once(" @@")?;
        let (old, new) = spans.split_once(" +")?;
        let range = |span: &str| {
            let (from, count) = span.split_once(',').unwrap_or((span, "1"));
            let from: u64 = from.parse().ok()?;
            Some(from..from.saturating_add(count.parse().ok()?))
        };
        Some(Self { old: range(old)?, new: range(new)?, ..Self::default() })
    }

    fn is_open(&self) -> bool {
        !self.old.is_empty() || !self.new.is_empty()
    }

    fn take(&mut self, line: &'a str, rows: &mut Vec<Row<'a>>) {
        let rest = line.get(1..).unwrap_or_default();
        match line.as_bytes().first() {
            Some(b'-') => self.removed.extend(self.old.next().map(|number| (number, rest))),
            Some(b'+') => self.added.extend(self.new.next().map(|number| (number, rest))),
            Some(b'\\') => {
                self.flush(rows);
                rows.push(Row::Note(rest.trim()));
            }
            _ => {
                self.flush(rows);
                let (old, new) = (self.old.next().unwrap_or_default(), self.new.next().unwrap_or_default());
                rows.push(Row::Same(old, new, rest));
            }
        }
        if !self.is_open() {
            self.flush(rows);
        }
    }

    /// Puts removed and added lines next to each other, in order.
    fn flush(&mut self, rows: &mut Vec<Row<'a>>) {
        let (mut removed, mut added) = (self.removed.drain(..), self.added.drain(..));
        loop {
            match (removed.next(), added.next()) {
                (None, None) => break,
                (old, new) => rows.push(Row::Changed(old, new)),
            }
        }
    }
}

/// What differs in a pair of lines, in each: between what they begin and what they end with alike, in whole words. `None`: too
/// little is alike for that to say anything.
pub(super) fn differing(old: &str, new: &str) -> Option<(Range<usize>, Range<usize>)> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let alike = |a: (usize, char), b: (usize, char)| a.1 == b.1;
    let mut begin =
        old.char_indices().zip(new.chars()).take_while(|(a, b)| a.1 == *b).map(|(a, _)| a.0 + a.1.len_utf8()).last();
    // Back to where a word begins.
    while let Some(at) = begin {
        let inside = |text: &str| text.get(at..).and_then(|rest| rest.chars().next()).is_some_and(is_word);
        let before = old.get(..at).and_then(|text| text.chars().next_back());
        match before {
            Some(c) if is_word(c) && (inside(old) || inside(new)) => begin = Some(at - c.len_utf8()),
            _ => break,
        }
    }
    let begin = begin.unwrap_or(0);
    let (old_rest, new_rest) = (old.get(begin..)?, new.get(begin..)?);
    let pairs = old_rest.char_indices().rev().zip(new_rest.char_indices().rev());
    let mut end = pairs.take_while(|(a, b)| alike(*a, *b)).map(|(a, _)| old_rest.len() - a.0).last().unwrap_or(0);
    // Forward to where a word ends.
    while end > 0 {
        let inside =
            |text: &str| text.get(..text.len() - end).and_then(|text| text.chars().next_back()).is_some_and(is_word);
        let after = old_rest.get(old_rest.len() - end..).and_then(|text| text.chars().next());
        match after {
            Some(c) if is_word(c) && (inside(old_rest) || inside(new_rest)) => end -= c.len_utf8(),
            _ => break,
        }
    }
    let says = (begin + end) * 3 >= old.len().max(new.len());
    says.then(|| (begin..old.len() - end, begin..new.len() - end))
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIFF: &str = "diff --git a/x.py b/x.py\nindex 1..2 100644\n--- a/x.py\n+++ b/x.py\n@@ -1,4 +1,4 @@ def f\n same\n--- looks like a head\n-b\n+c\n+d\n end\n\\ No newline at end of file\ndiff --git a/old b/new\nsimilarity index 100%\nrename from old\nrename to new\n";

    #[test]
    fn removed_and_added_lines_stand_next_to_each_other_with_their_numbers() {
        let files = read(DIFF);
        assert_eq!((files[0].path, files[1].path), ("x.py", "new"));
        assert_eq!(files[1].heads, ["similarity index 100%", "rename from old", "rename to new"]);
        let expected = [
            Row::Hunk("@@ -1,4 +1,4 @@ def f"),
            Row::Same(1, 1, "same"),
            Row::Changed(Some((2, "-- looks like a head")), Some((2, "c"))),
            Row::Changed(Some((3, "b")), Some((3, "d"))),
            Row::Same(4, 4, "end"),
            Row::Note("No newline at end of file"),
        ];
        assert_eq!(files[0].rows, expected);
    }

    #[test]
    fn whatever_a_diff_is_cut_to_is_read_without_a_panic() {
        for end in 0..DIFF.len() {
            read(&DIFF[..end]);
            read(&DIFF[end..]);
        }
        for odd in ["@@ -1,9 +1,9 @@\n", "@@ -x +y @@\n", "+alone\n", "\\ alone", "@@ -1,2 +1,2 @@\n\u{e9}\n-\u{e9}"] {
            read(odd);
        }
    }

    #[test]
    fn what_differs_in_a_pair_is_whole_words() {
        let shown = |old: &'static str, new: &'static str| {
            differing(old, new).map(|(a, b)| (old[a].to_owned(), new[b].to_owned()))
        };
        let pair = |a: &str, b: &str| Some((a.to_owned(), b.to_owned()));
        assert_eq!(shown("return round(fare)", "return ceil(fare)"), pair("round", "ceil"));
        assert_eq!(shown("retries = 3", "retries = 35"), pair("3", "35"));
        assert_eq!(shown("a(b)", "a(b, c)"), pair("", ", c"));
        assert_eq!(shown("let prefix_a = 1;", "let prefix_b = 1;"), pair("prefix_a", "prefix_b"));
        assert_eq!(shown("über é", "über è"), pair("é", "è"));
        assert_eq!(shown("nothing alike", "quite another line"), None);
        assert_eq!(shown("same", "same"), pair("", ""));
    }
}
