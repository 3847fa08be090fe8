//! Reading how many tests ran from what the common test runners print.
//!
//! Exit code 0 does not show that tests ran: a program that ends itself early, a filter that matches nothing or a
//! test that was skipped all look green. So the counts of a run are compared with those on the base.
//!
//! What counts can show: that tests which used to run do not run any more, and that a runner which was begun did not
//! come to its end. What they cannot: the code under test runs inside, or below, the runner, and may print a line such as
//! `test result: ok. 100 passed` itself. A forged line can raise counts, and so hide a loss: together with an early exit
//! with code 0 a red check is green. Counting by itself only ever takes away from a run that was green by its exit code.
//! Names of tests can be forged in the same way.
//!
//! Some runners print too little, and say more in reports that they write: [`with_reports`] reads those.
//!
//! The output must be whole: of a cut output nothing should be counted. [`compare`](self::compare()) and its neighbours
//! compare counts; which runners a shell line is sure to show is in `silent`.

mod cargo;
mod compared;
mod ctest;
mod failures;
mod go;
mod gtest;
mod jest;
mod junit;
mod lines;
mod may_run;
mod mocha;
mod node;
mod observed;
mod pytest;
mod reports;
mod silent;
mod unittest;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

pub(crate) use cargo::takes_value;
pub use compared::{compare, ended_early, keep_steady, missing, short_of, weakened};
pub use failures::{expected, no_redder};
pub(crate) use lines::{without_escapes, words};
pub use may_run::may_run_tests;
pub use observed::{Observed, ObservedRun};
pub use silent::silent;

/// A test runner whose output is understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Runner {
    /// `cargo test`: libtest and doc tests.
    CargoTest,
    /// `cargo nextest run`.
    Nextest,
    /// pytest.
    Pytest,
    /// Python's own unittest, also below Django.
    Unittest,
    /// `go test`: tests with `-v`, else packages.
    GoTest,
    /// Node's own test runner, TAP or spec.
    NodeTest,
    /// Jest.
    Jest,
    /// Vitest.
    Vitest,
    /// Mocha.
    Mocha,
    /// JUnit, and what runs on its platform, below Maven or Gradle.
    Junit,
    /// CTest: each of its tests is a program, or a part of one.
    Ctest,
    /// GoogleTest.
    GoogleTest,
}

impl Runner {
    const ALL: [Self; 12] = [
        Self::CargoTest,
        Self::Nextest,
        Self::Pytest,
        Self::Unittest,
        Self::GoTest,
        Self::NodeTest,
        Self::Jest,
        Self::Vitest,
        Self::Mocha,
        Self::Junit,
        Self::Ctest,
        Self::GoogleTest,
    ];

    /// Words of a shell line, next to each other, that name this runner.
    fn words(self) -> &'static [&'static [&'static str]] {
        match self {
            Self::CargoTest => &[&["cargo", "test"], &["cargo", "t"]],
            Self::Nextest => &[&["nextest"], &["cargo-nextest"]],
            Self::Pytest => &[&["pytest"], &["py.test"]],
            Self::Unittest => &[&["unittest"]],
            Self::GoTest => &[&["go", "test"]],
            Self::NodeTest => &[&["node", "--test"]],
            Self::Jest => &[&["jest"]],
            Self::Vitest => &[&["vitest"]],
            Self::Mocha => &[&["mocha"]],
            Self::Junit => &[&["mvn"], &["mvnw"], &["./mvnw"], &["gradle"], &["gradlew"], &["./gradlew"]],
            Self::Ctest => &[&["ctest"]],
            // Its programs have names of the project's own.
            Self::GoogleTest => &[],
        }
    }

    /// Whether the words of a shell line name this runner.
    fn is_named(self, words: &[&str]) -> bool {
        self.words().iter().any(|named| words.windows(named.len()).any(|window| window == *named))
    }

    fn read(self, command: &[&str], lines: &[&str]) -> Option<Tally> {
        match self {
            Self::CargoTest => cargo::read_test(lines),
            Self::Nextest => cargo::read_nextest(command, lines),
            Self::Pytest => pytest::read(lines),
            Self::Unittest => unittest::read(lines),
            Self::GoTest => go::read(lines),
            Self::NodeTest => node::read(lines),
            Self::Jest => jest::read_jest(lines),
            Self::Vitest => jest::read_vitest(lines),
            Self::Mocha => mocha::read(lines),
            Self::Junit => junit::read(lines),
            Self::Ctest => ctest::read(lines),
            Self::GoogleTest => gtest::read(lines),
        }
    }
}

/// What one runner printed in one check, summed over its runs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    /// Tests that ran: passed and failed ones.
    pub run: u64,
    /// Tests that passed.
    pub passed: u64,
    /// Tests that failed, errors and time-outs included.
    pub failed: u64,
    /// Tests that were there and not run, or whose failure was declared not to count (ignored, skipped, todo, xfail).
    pub skipped: u64,
    /// What was begun and ended well without the runner's own last word: a test process that the code under test ended.
    pub unended: u64,
    /// Signs of failures: those that the summaries count, or those printed before them, whichever are more.
    pub red: u64,
    /// Whether tests were not built or collected, so that nobody knows of them.
    pub uncollected: bool,
    /// The tests by name, where every passed one was printed and the run was not broken off.
    pub names: Option<TestNames>,
}

/// Tests by name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TestNames {
    /// Names under which everything passed.
    pub green: BTreeSet<String>,
    /// Names under which something failed.
    pub red: BTreeSet<String>,
    /// Names of what was skipped, where every one was printed.
    pub skipped: Option<BTreeSet<String>>,
}

/// The counts of one check, by runner: one check may run several.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TestCounts {
    /// Never empty.
    pub by_runner: BTreeMap<Runner, Tally>,
}

impl TestCounts {
    /// All runners together, without names. Tests of GoogleTest below CTest count once: CTest runs each of them, or their
    /// program, as a test of its own.
    #[must_use]
    pub fn total(&self) -> Tally {
        let sum = |count: fn(&Tally) -> u64| {
            let of = |runner| self.by_runner.get(&runner).map_or(0, count);
            let twice = of(Runner::Ctest).min(of(Runner::GoogleTest));
            self.by_runner.values().map(count).fold(0, u64::saturating_add) - twice
        };
        Tally {
            run: sum(|tally| tally.run),
            passed: sum(|tally| tally.passed),
            failed: sum(|tally| tally.failed),
            skipped: sum(|tally| tally.skipped),
            unended: sum(|tally| tally.unended),
            red: sum(|tally| tally.red),
            uncollected: self.by_runner.values().any(|tally| tally.uncollected),
            names: None,
        }
    }

    /// Those of some runners.
    #[must_use]
    pub fn of(&self, wanted: impl Fn(Runner, &Tally) -> bool) -> Self {
        let wanted = self.by_runner.iter().filter(|(runner, tally)| wanted(**runner, tally));
        Self { by_runner: wanted.map(|(runner, tally)| (*runner, tally.clone())).collect() }
    }

    /// Whether failures were reported, whatever the exit code was.
    #[must_use]
    pub fn is_red(&self) -> bool {
        self.by_runner.values().any(|tally| tally.red > 0)
    }

    /// Whether all runners came to their ends and none of them ran a test: skipped ones did not run.
    #[must_use]
    pub fn ran_none(&self) -> bool {
        let ran_none = |tally: &Tally| tally.run == 0 && tally.red == 0 && tally.unended == 0 && !tally.uncollected;
        self.by_runner.values().all(ran_none)
    }

    /// Whether all runners found nothing to run. unittest says of a module that is not there that it failed.
    #[must_use]
    pub fn found_none(&self) -> bool {
        self.by_runner.iter().all(|(runner, tally)| {
            let nothing_red = tally.red == 0 || *runner == Runner::Unittest;
            tally.run == 0 && tally.unended == 0 && !tally.uncollected && nothing_red
        })
    }

    /// Keeps the counts, and none of the names where they are known.
    pub fn forget_names(&mut self) {
        for names in self.by_runner.values_mut().filter_map(|tally| tally.names.as_mut()) {
            names.green.clear();
            names.red.clear();
        }
    }

    /// The tests that were reported as failed, where names are known.
    #[must_use]
    pub fn red_names(&self) -> BTreeSet<String> {
        let names = self.by_runner.values().filter_map(|tally| tally.names.as_ref());
        names.flat_map(|names| names.red.iter().cloned()).collect()
    }
}

/// Whether a shell line names no runner.
#[must_use]
pub fn names_none(command: &str) -> bool {
    named(&lines::words(command)).is_empty()
}

fn named(words: &[&str]) -> Vec<Runner> {
    Runner::ALL.into_iter().filter(|runner| runner.is_named(words)).collect()
}

/// Reads the counts of a check from its shell line and its output. Where the line names runners only those are looked
/// for; where it names none (`make test`), any is. `None`: no runner was understood.
#[must_use]
pub fn counts(command: &str, output: &str) -> Option<TestCounts> {
    let text = lines::without_escapes(output);
    let lines: Vec<&str> = text.lines().collect();
    let words: Vec<&str> = lines::words(command);
    let named = named(&words);
    let looked_for = if named.is_empty() { Runner::ALL.to_vec() } else { named };
    let read = |runner: Runner| Some((runner, runner.read(&words, &lines)?));
    let mut by_runner: BTreeMap<Runner, Tally> = looked_for.into_iter().filter_map(read).collect();
    // CTest shows what failed programs printed, and of others nothing.
    if by_runner.contains_key(&Runner::Ctest) {
        by_runner.remove(&Runner::GoogleTest);
    }
    (!by_runner.is_empty()).then_some(TestCounts { by_runner })
}

/// Texts that a run wrote into files, by the runner that they are of: reports in JUnit's XML, and CTest's logs for GoogleTest.
pub type ReportTexts = BTreeMap<Runner, Vec<String>>;

/// The counts of a run from what it printed and what it reported in files: red in either is red, and the smaller count holds.
#[must_use]
pub fn with_reports(printed: Option<TestCounts>, texts: &ReportTexts) -> Option<TestCounts> {
    let mut counts = printed.unwrap_or_default();
    for (runner, texts) in texts {
        let Some(reported) = reports::read(*runner, texts) else { continue };
        let tally = match counts.by_runner.remove(runner) {
            Some(printed) => reports::both(*runner, printed, reported),
            None => reported,
        };
        counts.by_runner.insert(*runner, tally);
    }
    (!counts.by_runner.is_empty()).then_some(counts)
}
