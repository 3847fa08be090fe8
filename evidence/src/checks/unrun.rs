//! Changed lines that no test ran: what watched processes of a check said, and how it is reported.
//!
//! Only ever a doubt. The code under test runs in the processes that say it.

use std::collections::{BTreeMap, BTreeSet};

/// Files that are reported, and ranges of lines of each.
const FILES_SHOWN: usize = 5;
const RANGES_SHOWN: usize = 10;

/// Lines of files, from 1.
pub type LinesByFile = BTreeMap<String, BTreeSet<usize>>;

/// Lines as text: `1,2,5 path`, one file a line.
#[must_use]
pub fn listed(lines: &LinesByFile) -> String {
    let file = |(path, lines): (&String, &BTreeSet<usize>)| {
        let numbers: Vec<String> = lines.iter().map(usize::to_string).collect();
        format!("{} {path}\n", numbers.join(","))
    };
    lines.iter().map(file).collect()
}

/// The lines that could have run in some process and ran in none, by what all of them printed: `MARK could 1,2,5 path` and
/// `MARK ran 1,5 path`.
#[must_use]
pub fn unrun(mark: &str, output: &str) -> LinesByFile {
    let (mut could, mut ran) = (LinesByFile::new(), LinesByFile::new());
    for line in output.lines() {
        let said = line.strip_prefix(mark).and_then(|rest| rest.trim_start().split_once(' '));
        let Some((what, Some((numbers, path)))) = said.map(|(what, rest)| (what, rest.split_once(' '))) else {
            continue;
        };
        let lines = if what == "ran" { &mut ran } else { &mut could };
        let numbers = numbers.split(',').filter_map(|number| number.parse::<usize>().ok());
        lines.entry(path.to_owned()).or_default().extend(numbers);
    }
    for (path, lines) in &mut could {
        lines.retain(|line| !ran.get(path).is_some_and(|ran| ran.contains(line)));
    }
    could.retain(|_, lines| !lines.is_empty());
    could
}

/// How they are reported; `None`: there are none.
#[must_use]
pub fn told(unrun: &LinesByFile) -> Option<String> {
    let file = |(path, lines): (&String, &BTreeSet<usize>)| {
        let ranges = ranges(lines);
        let more = if ranges.len() > RANGES_SHOWN { ", …" } else { "" };
        let shown: Vec<String> = ranges.into_iter().take(RANGES_SHOWN).collect();
        format!("{} {}{more}", holdpoint_text::shown::line(path), shown.join(", "))
    };
    let files: Vec<String> = unrun.iter().take(FILES_SHOWN).map(file).collect();
    let left = unrun.len() - files.len();
    let more = if left > 0 { format!("; and {left} more files") } else { String::new() };
    (!files.is_empty()).then(|| format!("changed lines that no test ran: {}{more}", files.join("; ")))
}

/// `3`, `7-9`.
fn ranges(lines: &BTreeSet<usize>) -> Vec<String> {
    let mut ranges: Vec<(usize, usize)> = Vec::new();
    for line in lines {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == *line => *last = *line,
            _ => ranges.push((*line, *line)),
        }
    }
    let shown = |(first, last)| if first == last { format!("{first}") } else { format!("{first}-{last}") };
    ranges.into_iter().map(shown).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_ran_in_no_process_are_told_and_others_are_not() {
        let output = "m could 1,2,3 a b.py\nm ran 1 a b.py\nx\nm could 1,2,3 a b.py\nm ran 3 a b.py\nm could 4 c.py\nm ran 4 c.py\n";
        let found = unrun("m", output);
        assert_eq!(found, LinesByFile::from([("a b.py".to_owned(), BTreeSet::from([2]))]));
        assert_eq!(told(&found).as_deref(), Some("changed lines that no test ran: a b.py 2"));
        assert_eq!(told(&unrun("m", "m could\nm ran 1\nm could x y.py\n")), None);
        assert_eq!(told(&unrun("other", output)), None);
    }

    #[test]
    fn what_is_told_has_bounds() {
        let lines = |count: usize| BTreeSet::from_iter((0..count).flat_map(|n| [3 * n + 1, 3 * n + 2]));
        let of = |files: usize, count| LinesByFile::from_iter((0..files).map(|n| (format!("{n}.py"), lines(count))));
        assert_eq!(told(&of(1, 2)).unwrap(), "changed lines that no test ran: 0.py 1-2, 4-5");
        let most = told(&of(9, 99)).unwrap();
        assert!(most.ends_with("28-29, …; and 4 more files") && most.len() < 500, "{most}");
        assert_eq!(listed(&of(2, 1)), "1,2 0.py\n1,2 1.py\n");
    }
}
