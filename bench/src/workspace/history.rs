//! A history that nobody wrote, for `git fast-import`: source-like text, a tree of folders, small commits.

use std::{
    fs::File,
    io::{self, BufWriter, Write},
    path::Path,
};

use super::WorkspaceArgs;

/// Files in a folder, and folders in a folder above.
const PER_FOLDER: u32 = 25;
const FOLDERS_PER_FOLDER: u32 = 10;
/// Lines of a file, at least and at most.
const LINES: std::ops::Range<u64> = 20..100;
/// Words of a line.
const WORDS_PER_LINE: u64 = 8;
/// Files that a commit changes.
const CHANGED_PER_COMMIT: u32 = 3;
/// When the first commit was made, in seconds since 1970; the others follow by the minute.
const BEGIN: u64 = 1_700_000_000;
/// What text consists of.
const WORDS: [&str; 16] = [
    "let", "value", "match", "while", "return", "struct", "public", "config", "request", "response", "error", "buffer",
    "stream", "handle", "index", "count",
];

/// Random numbers that are the same each time (splitmix64).
struct Dice(u64);

impl Dice {
    fn roll(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % below.max(1)
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        for _ in 0..WORDS_PER_LINE {
            let word = usize::try_from(self.roll(WORDS.len() as u64)).unwrap_or_default();
            line.push_str(WORDS.get(word).unwrap_or(&"value"));
            line.push_str(&self.roll(1000).to_string());
            line.push(' ');
        }
        line
    }
}

/// Where a file is.
pub(super) fn path(file: u32) -> String {
    let folder = file / PER_FOLDER;
    format!("src/part{:02}/unit{:02}/file{file:05}.txt", folder / FOLDERS_PER_FOLDER, folder % FOLDERS_PER_FOLDER)
}

/// One of the files, such that neighbours lie far from each other.
pub(super) fn spread(nth: u32, files: u32) -> u32 {
    const STRIDE: u64 = 7919;
    u32::try_from(u64::from(nth) * STRIDE % u64::from(files.max(1))).unwrap_or_default()
}

/// Writes the history: the first commit has all files, each later one changes a line in a few.
pub(super) fn write(to: &Path, args: &WorkspaceArgs, seed: u64) -> io::Result<()> {
    let mut out = BufWriter::new(File::create(to)?);
    let mut dice = Dice(seed);
    let mut files: Vec<Vec<String>> = (0..args.files)
        .map(|_| (0..LINES.start + dice.roll(LINES.end - LINES.start)).map(|_| dice.line()).collect())
        .collect();
    for commit in 0..args.commits {
        let message = format!("change {commit}");
        let at = BEGIN + u64::from(commit) * 60;
        writeln!(out, "commit refs/heads/main\ncommitter Bench <bench@localhost> {at} +0000")?;
        writeln!(out, "data {}\n{message}", message.len())?;
        let touched: Vec<u32> = if commit == 0 {
            (0..args.files).collect()
        } else {
            let mut some: Vec<u32> =
                (0..CHANGED_PER_COMMIT).filter_map(|_| u32::try_from(dice.roll(u64::from(args.files))).ok()).collect();
            some.sort_unstable();
            some.dedup();
            some
        };
        for file in touched {
            let Some(lines) = files.get_mut(file as usize) else { continue };
            if commit > 0 {
                let at = usize::try_from(dice.roll(lines.len() as u64)).unwrap_or_default();
                if let Some(line) = lines.get_mut(at) {
                    *line = dice.line();
                }
            }
            let text = lines.join("\n");
            writeln!(out, "M 100644 inline {}\ndata {}\n{text}", path(file), text.len())?;
        }
    }
    out.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn history(files: u32, commits: u32, seed: u64) -> Vec<u8> {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("stream");
        write(&file, &WorkspaceArgs { files, commits }, seed).unwrap();
        std::fs::read(file).unwrap()
    }

    #[test]
    fn the_same_seed_makes_the_same_history() {
        assert_eq!(history(30, 5, 1), history(30, 5, 1));
        assert_ne!(history(30, 5, 1), history(30, 5, 2));
    }

    #[test]
    fn a_history_has_all_files_and_commits() {
        let text = String::from_utf8(history(60, 7, 1)).unwrap();
        assert_eq!(text.lines().filter(|line| line.starts_with("commit ")).count(), 7);
        for file in 0..60 {
            assert!(text.contains(&path(file)), "{file}");
        }
    }

    #[test]
    fn files_that_are_changed_together_are_different_ones() {
        for files in [20, 5000] {
            let mut chosen: Vec<u32> = (0..10).map(|nth| spread(nth, files)).collect();
            assert!(chosen.iter().all(|file| *file < files));
            chosen.sort_unstable();
            chosen.dedup();
            assert_eq!(chosen.len(), 10);
        }
    }
}
