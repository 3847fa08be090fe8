//! `cargo xtask corpus`: what becomes of every cheat and of all honest work, at both levels of evidence.
//!
//! The tests that fly the corpora note their outcomes, and fail where they expect others: they are written for one level.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::Context as _;

use crate::check::{self, FLIGHTS};
use crate::layout::Layout;
use crate::process;
use crate::tools;

/// Names the folder where the tests note outcomes.
const OUTCOMES: &str = "HOLDPOINT_CORPUS_OUTCOMES";
/// Names the level of evidence at which they fly.
const EVIDENCE: &str = "HOLDPOINT_CORPUS_EVIDENCE";
const LEVELS: [&str; 2] = ["fast", "strict"];
/// The tests that fly corpora, by the beginnings of their names.
const TESTS: [&str; 2] = ["cheats::", "honest::"];
/// What can become of work, as the tests note it.
const KINDS: [&str; 4] = ["refused", "held", "accepted with a warning", "accepted silently"];

/// How often each outcome was noted, by the corpus and its kind.
type Counts = BTreeMap<String, [usize; KINDS.len()]>;

/// Flies them, and prints the table.
pub(crate) fn run(layout: &Layout) -> anyhow::Result<()> {
    process::run(&mut process::cargo(&layout.root, &["build", "--workspace", "--bins", "--locked"]), "")?;
    let mut tables = Vec::new();
    for level in LEVELS {
        let folder = layout.target.join("corpus").join(level);
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).with_context(|| format!("failed to create {}", folder.display()))?;
        let mut tests = check::tester(layout, tools::prepare_for_tests(layout)?, &["--package", FLIGHTS])?;
        tests.args(["--no-fail-fast", "--"]).args(TESTS).env(OUTCOMES, &folder).env(EVIDENCE, level);
        if let Err(error) = process::run(&mut tests, "") {
            println!("note: {error:#}; what they noted counts");
        }
        tables.push((level, counted(&folder)?));
    }
    println!();
    for (level, counts) in tables {
        println!("| {level} | {} |", KINDS.join(" | "));
        println!("|---|{}", "---|".repeat(KINDS.len()));
        for (kind, counts) in counts {
            println!("| {kind} | {} |", counts.map(|count| count.to_string()).join(" | "));
        }
        println!();
    }
    Ok(())
}

/// Counts what the tests noted, by the first two parts of their names, such as `cheats.python`.
fn counted(folder: &Path) -> anyhow::Result<Counts> {
    let mut counts = Counts::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let test = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let kind = test.split('.').take(2).collect::<Vec<_>>().join(" ");
        let of_kind = counts.entry(kind).or_default();
        let text = fs::read_to_string(&path).with_context(|| format!("failed to read {}", path.display()))?;
        for (_, outcome) in text.lines().filter_map(|line| line.split_once('\t')) {
            let place = KINDS.iter().position(|kind| *kind == outcome);
            of_kind[place.with_context(|| format!("{test} notes an unknown outcome, {outcome}"))?] += 1;
        }
    }
    Ok(counts)
}
