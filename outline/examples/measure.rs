//! Measures how often the rules name honest work: pairs of unpacked folders, such as two consecutive versions of a package,
//! go in as `OLD NEW OLD NEW …`. For each pair it prints how many source files differ and which rules found how much, with
//! the places of the findings that are suspicious; the last line sums up. A rule that names the code of a well-known package
//! again and again is noise: `cargo run --release -p holdpoint-outline --example measure -- click-8.1.0 click-8.1.1`.

#![allow(clippy::print_stdout, reason = "a tool for developers that prints its measurements")]

use std::{
    collections::BTreeMap,
    error::Error,
    fs,
    path::{Path, PathBuf},
};

use holdpoint_outline::{ChangeFindings, ChangedSource, FindingGroup, OutlineHelper, RuleFile, maybe_run};

/// Endings of the files that count as source files.
const ENDINGS: [&str; 23] = [
    "py", "pyi", "rs", "go", "js", "jsx", "mjs", "cjs", "ts", "tsx", "mts", "cts", "sh", "bash", "java", "c", "h",
    "cc", "hh", "cpp", "hpp", "cxx", "hxx",
];
/// Folders and parts of names by which tests are known.
const TEST_FOLDERS: [&str; 9] =
    ["test", "tests", "__tests__", "spec", "specs", "e2e", "testdata", "testing", "test-utils"];

type Files = BTreeMap<String, Vec<u8>>;

#[derive(Default)]
struct Sums {
    pairs: usize,
    named_pairs: usize,
    files: usize,
    named_files: usize,
    rules: BTreeMap<String, usize>,
}

fn main() -> Result<(), Box<dyn Error>> {
    maybe_run();
    tokio::runtime::Runtime::new()?.block_on(measure())
}

async fn measure() -> Result<(), Box<dyn Error>> {
    let helper = OutlineHelper::own()?;
    let folders: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let mut sums = Sums::default();
    for pair in folders.chunks_exact(2) {
        let [old, new] = pair else { continue };
        let changes = changes(&files(old)?, &files(new)?);
        let found = helper.findings(&changes, &[] as &[RuleFile]).await?;
        println!("{} -> {}: {} changed files", old.display(), new.display(), changes.len());
        print(&found);
        sums.add(changes.len(), &found);
    }
    let share = |part: usize, all: usize| {
        100.0 * f64::from(u32::try_from(part).unwrap_or(0)) / f64::from(u32::try_from(all.max(1)).unwrap_or(1))
    };
    println!(
        "{} of {} pairs ({:.1} %) and {} of {} files ({:.1} %) have a suspicious finding: {:?}",
        sums.named_pairs,
        sums.pairs,
        share(sums.named_pairs, sums.pairs),
        sums.named_files,
        sums.files,
        share(sums.named_files, sums.files),
        sums.rules
    );
    Ok(())
}

fn print(found: &ChangeFindings) {
    let mut rules: BTreeMap<&str, usize> = BTreeMap::new();
    for finding in &found.findings {
        *rules.entry(&finding.rule).or_default() += 1;
        if finding.group == FindingGroup::Suspicious {
            println!("  {}:{}: {}: {}", finding.path, finding.line, finding.rule, finding.text);
        }
    }
    for unseen in &found.unseen {
        println!("  {}: unseen, {:?}", unseen.path, unseen.reason);
    }
    if !rules.is_empty() {
        println!("  {rules:?} and {} more", found.more);
    }
}

impl Sums {
    fn add(&mut self, files: usize, found: &ChangeFindings) {
        let suspicious: Vec<_> =
            found.findings.iter().filter(|finding| finding.group == FindingGroup::Suspicious).collect();
        let mut paths: Vec<&str> = suspicious.iter().map(|finding| &*finding.path).collect();
        paths.dedup();
        self.pairs += 1;
        self.named_pairs += usize::from(!suspicious.is_empty());
        self.files += files;
        self.named_files += paths.len();
        for finding in suspicious {
            *self.rules.entry(finding.rule.clone()).or_default() += 1;
        }
    }
}

/// The source files below a folder, by their path in it.
fn files(root: &Path) -> Result<Files, Box<dyn Error>> {
    let (mut files, mut folders) = (Files::new(), vec![root.to_owned()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder)? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().and_then(|it| it.to_str()).is_some_and(|it| ENDINGS.contains(&it)) {
                let name = path.strip_prefix(root)?.to_string_lossy().into_owned();
                files.insert(name, fs::read(&path)?);
            }
        }
    }
    Ok(files)
}

fn changes(old: &Files, new: &Files) -> Vec<ChangedSource> {
    let mut paths: Vec<&String> = old.keys().chain(new.keys()).collect();
    paths.sort();
    paths.dedup();
    let bytes = |files: &Files, path: &String| files.get(path).cloned();
    let differ = |path: &&&String| old.get(**path) != new.get(**path);
    let change = |path: &String| {
        ChangedSource::from_bytes(path, bytes(old, path).as_deref(), bytes(new, path).as_deref(), is_test(path))
    };
    paths.iter().filter(differ).map(|path| change(path)).collect()
}

fn is_test(path: &str) -> bool {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    let stem = name.split('.').next().unwrap_or_default();
    folder.split('/').any(|part| TEST_FOLDERS.contains(&part))
        || stem.starts_with("test_")
        || stem.ends_with("_test")
        || ["tests", "test", "conftest"].contains(&stem)
        || (name.ends_with(".java") && ["Test", "Tests", "IT"].iter().any(|end| stem.ends_with(end)))
        || [".test.", ".spec.", ".test-d."].iter().any(|part| name.contains(part))
}
