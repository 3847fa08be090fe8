//! Fuzzing of everything that parses what others wrote: builds `fuzz/` with coverage instrumentation, gives each target
//! its share of the time, and says what was found.
//!
//! It works with the stable compiler: the instrumentation is LLVM's, and product code has no `unsafe` that a sanitizer
//! would have to watch. Tried inputs are kept below `target/fuzz`, so that a later run goes on from there.
#![expect(clippy::print_stdout, reason = "its table is what a long run is for")]

mod seeds;

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Command, ExitStatus, Stdio},
    sync::Mutex,
    thread,
    time::Duration,
};

use super::Terms;
use seeds::{TARGETS, Target};

/// What one target may take of memory before that is a finding: the largest payload's limit and the program itself.
const RSS_MIB_MAX: u32 = 1_024;
/// How long one input may take before that is a finding, in seconds. A busy machine is slow.
const INPUT_SECONDS_MAX: u32 = 30;
/// The longest input. Longer ones find little that shorter ones do not.
const INPUT_BYTES_MAX: u32 = 64 << 10;
/// Coverage of edges and comparisons, without which fuzzing is guessing. Few units of code build faster.
const INSTRUMENTATION: &str = "-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares -Ccodegen-units=16 --cfg fuzzing";

/// What came of a target.
#[derive(Debug, Default)]
struct Outcome {
    runs: u64,
    /// Edges reached, and edges with how often.
    coverage: u64,
    features: u64,
    peak_mib: u64,
    finding: Option<String>,
}

/// Runs every target.
///
/// # Errors
/// The targets cannot be built, or one of them found something.
pub fn run(terms: &Terms) -> Result<(), String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().ok_or("this crate is below the root")?;
    let work = root.join("target/fuzz");
    let program = build(root, &work)?;
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let rounds = u32::try_from(TARGETS.len().div_ceil(cores)).unwrap_or(u32::MAX);
    let share = (terms.time / rounds).max(Duration::from_secs(1));
    println!("{} targets, {cores} at once, {} s each", TARGETS.len(), share.as_secs());
    let left = Mutex::new(TARGETS.iter());
    let done = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(|| {
                loop {
                    let Some(target) = left.lock().unwrap().next() else { return };
                    let outcome = fuzz(&program, root, &work, target, share, terms.seed);
                    println!("{}: {}", target.name, if outcome.finding.is_some() { "FOUND SOMETHING" } else { "done" });
                    done.lock().unwrap().push((target.name, outcome));
                }
            });
        }
    });
    table(done.into_inner().unwrap())
}

fn build(root: &Path, work: &Path) -> Result<PathBuf, String> {
    let rustc = Command::new("rustc").arg("-vV").output().map_err(|error| format!("cannot run rustc: {error}"))?;
    let version = String::from_utf8_lossy(&rustc.stdout).into_owned();
    let host = version.lines().find_map(|line| line.strip_prefix("host: ")).ok_or("rustc does not name its host")?;
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    // With a target named, build scripts and macros are not instrumented. Not `--locked`: the lock of `fuzz/` follows
    // what our own crates depend on.
    command.args(["build", "--target", host, "--manifest-path"]).arg(root.join("fuzz/Cargo.toml"));
    command.env("RUSTFLAGS", INSTRUMENTATION).env("CARGO_TARGET_DIR", work);
    let status = command.status().map_err(|error| format!("cannot run cargo: {error}"))?;
    if !status.success() {
        return Err("the fuzz targets cannot be built; a C++ compiler is needed for libFuzzer".to_owned());
    }
    Ok(work.join(host).join("debug/holdpoint-fuzz"))
}

/// Feeds one target for a while, from its seeds and from what earlier runs kept.
fn fuzz(program: &Path, root: &Path, work: &Path, target: &Target, time: Duration, seed: u64) -> Outcome {
    let corpus = work.join("corpus").join(target.name);
    let findings = work.join("findings");
    for folder in [&corpus, &findings] {
        fs::create_dir_all(folder).unwrap();
    }
    target.write_seeds(root, &corpus);
    let log = work.join(format!("{}.log", target.name));
    let mut command = Command::new(program);
    command.env("HOLDPOINT_FUZZ_TARGET", target.name).stdin(Stdio::null()).stdout(Stdio::null());
    command.stderr(fs::File::create(&log).unwrap()).arg(&corpus);
    for (name, value) in [
        ("max_total_time", time.as_secs()),
        ("rss_limit_mb", u64::from(RSS_MIB_MAX)),
        ("timeout", u64::from(INPUT_SECONDS_MAX)),
        ("max_len", u64::from(INPUT_BYTES_MAX)),
        // Zero would be a seed of the fuzzer's own choice.
        ("seed", seed % u64::from(u32::MAX) + 1),
        ("print_final_stats", 1),
    ] {
        command.arg(format!("-{name}={value}"));
    }
    command.arg(format!("-artifact_prefix={}/{}-", findings.display(), target.name));
    let status = command.status().unwrap();
    outcome(&fs::read_to_string(&log).unwrap_or_default(), status)
}

/// Reads what libFuzzer prints.
fn outcome(log: &str, status: ExitStatus) -> Outcome {
    let last = |name: &str| {
        let after = log.rsplit_once(name).map_or("", |(_, after)| after).trim_start();
        after.split(|c: char| !c.is_ascii_digit()).next().and_then(|digits| digits.parse().ok()).unwrap_or(0)
    };
    let words = ["panicked at", "ERROR: libFuzzer", "SUMMARY"];
    let told = log.lines().filter(|line| words.iter().any(|word| line.contains(word))).collect::<Vec<_>>().join("\n");
    let kept = log.lines().find_map(|line| line.split("Test unit written to ").nth(1)).unwrap_or("no input was kept");
    Outcome {
        runs: last("stat::number_of_executed_units:"),
        coverage: last(" cov:"),
        features: last(" ft:"),
        peak_mib: last("stat::peak_rss_mb:"),
        finding: (!status.success()).then(|| format!("{status}\n{told}\n{kept}")),
    }
}

fn table(mut outcomes: Vec<(&str, Outcome)>) -> Result<(), String> {
    outcomes.sort_by_key(|(name, _)| *name);
    println!("\n| target | runs | edges | features | peak RSS, MiB | findings |\n|---|---|---|---|---|---|");
    for (name, outcome) in &outcomes {
        let Outcome { runs, coverage, features, peak_mib, finding } = outcome;
        println!("| {name} | {runs} | {coverage} | {features} | {peak_mib} | {} |", u8::from(finding.is_some()));
    }
    let found = |(name, outcome): &(&str, Outcome)| Some(format!("{name}: {}", outcome.finding.as_ref()?));
    let findings: Vec<String> = outcomes.iter().filter_map(found).collect();
    if findings.is_empty() { Ok(()) } else { Err(findings.join("\n\n")) }
}
