//! What an observer heard of the runs of a check, and what that says of their printed report.
//!
//! The observer is a process of ours that the code under test cannot reach: that a runner was begun, that it came to its
//! end, and with which status its process ended is certain. A runner's report of its tests comes from the runner's own
//! process, from a module of ours or from libtest's log, over a descriptor and not over the output; code there that
//! knows of it can forge it.

mod named;

use std::collections::BTreeSet;

use named::Named;

use super::{
    Runner, Tally, TestCounts, TestNames,
    compared::{leaf, without_kind},
};

/// Names that are kept of one run; past it printed names are not held against them.
const NAMES_MAX: usize = 100_000;
/// Tests in processes of their own without an end that are shown.
const UNENDED_SHOWN: usize = 8;
/// Names of replaced functions that are kept of one run.
const REPLACED_MAX: usize = 64;
/// One run of a test runner, as it was heard.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ObservedRun {
    /// The runner; `None` where the run was not let in, because others were heard, and for a test program of a project's own.
    pub runner: Option<Runner>,
    /// It was not let in.
    refused: bool,
    /// The exit code of its process, as the kernel has it.
    pub exit: Option<i32>,
    /// Our module was there before anything of the tree.
    armed: bool,
    /// The exit code that the runner came to, when it had come to its end with nothing left to run.
    end: Option<i32>,
    passed: u64,
    failed: u64,
    skipped: u64,
    uncollected: bool,
    /// Its tests are not known by name.
    unlisted: bool,
    /// Functions of the test library that were not what they had been when the run came to its end.
    replaced: BTreeSet<String>,
    /// What passed, as [`heard_name`] has it.
    green: BTreeSet<String>,
}

impl ObservedRun {
    /// A run of what a starter calls the watched program, which ended with this code.
    #[must_use]
    pub fn of(name: &str, exit: Option<i32>) -> Self {
        let runner = match name {
            "pytest" => Some(Runner::Pytest),
            "unittest" => Some(Runner::Unittest),
            "libtest" => Some(Runner::CargoTest),
            "nextest" => Some(Runner::Nextest),
            "go" => Some(Runner::GoTest),
            "node" => Some(Runner::NodeTest),
            _ => None,
        };
        Self { runner, exit, refused: name.is_empty(), ..Self::default() }
    }

    /// Takes what was said in one message: `armed`, `passed`, `failed`, `skipped` or `absent` and a name, `uncollected`, `unlisted`,
    /// `replaced` and the name of a function, or `end` and an exit code. Others say nothing, and neither does what comes after the end: that cannot be taken back.
    pub fn hear(&mut self, message: &str) {
        if self.end.is_some() {
            return;
        }
        let (word, rest) = message.split_once(' ').unwrap_or((message, ""));
        match word {
            "armed" => self.armed = true,
            "passed" => {
                self.passed += 1;
                if let Some(runner) = self.runner.filter(|_| self.green.len() < NAMES_MAX) {
                    self.green.insert(heard_name(runner, rest));
                }
            }
            "failed" => self.failed += 1,
            "skipped" => self.skipped += 1,
            "uncollected" => self.uncollected = true,
            "unlisted" => self.unlisted = true,
            "replaced" if self.replaced.len() < REPLACED_MAX => drop(self.replaced.insert(rest.to_owned())),
            "end" => self.end = rest.parse().ok(),
            _ => {}
        }
    }

    fn unended(&self) -> bool {
        self.armed && self.end.is_none()
    }

    fn line(&self) -> String {
        let name = match self.runner {
            Some(Runner::Pytest) => "pytest",
            Some(Runner::Unittest) => "unittest",
            Some(Runner::CargoTest) => "libtest",
            Some(Runner::Nextest) => "a test of nextest",
            Some(Runner::GoTest) => return self.line_of_go(),
            Some(Runner::NodeTest) => "node",
            _ if self.refused => return "a run next to another one, not heard".to_owned(),
            _ => "a test program of its own",
        };
        let exit = self.exit.map_or_else(|| "no exit code".to_owned(), |code| format!("exit {code}"));
        if !self.armed {
            return format!("{name}: not heard; {exit}");
        }
        let end = self.end.map_or_else(|| "no end".to_owned(), |code| format!("end with {code}"));
        let Self { passed, failed, skipped, .. } = self;
        let mut line = format!("{name}: {passed} passed, {failed} failed, {skipped} skipped; {end}; {exit}");
        if !self.replaced.is_empty() {
            line += "; replaced in its library: ";
            line += &self.replaced.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
        }
        line
    }

    /// Go says no more of its tests than that they were run, or which failed on its output.
    fn line_of_go(&self) -> String {
        let exit = self.exit.map_or_else(|| "no exit code".to_owned(), |code| format!("exit {code}"));
        let end = if self.end.is_some() { "came to its end" } else { "no end" };
        let tests =
            if self.unlisted || self.end.is_none() { String::new() } else { format!("{} tests; ", self.passed) };
        format!("go: {tests}{end}; {exit}")
    }

    /// Whether its process ended well and the runner in it had come to something else.
    fn ended_better(&self) -> bool {
        self.exit == Some(0) && self.end.is_some_and(|end| end != 0 || self.failed > 0)
    }
}

/// All runs that were heard of one check.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Observed {
    runs: Vec<ObservedRun>,
    /// Which runs its shell line names, where it can be read that plainly.
    named: Option<Named>,
}

impl Observed {
    /// The runs of a check with this shell line, in their order.
    #[must_use]
    pub fn new(command: &str, runs: Vec<ObservedRun>) -> Self {
        Self { runs, named: Named::in_line(command) }
    }

    /// Runs that were heard from their beginning.
    #[must_use]
    pub fn armed(&self) -> usize {
        self.runs.iter().filter(|run| run.armed).count()
    }

    /// Runs that did not come to their end.
    #[must_use]
    pub fn unended(&self) -> usize {
        self.runs.iter().filter(|run| run.unended()).count()
    }

    /// Runs whose process ended well although the runner had come to something else; and runs that nothing in the shell
    /// line has begun.
    #[must_use]
    pub fn contradicted(&self) -> usize {
        let better = self.runs.iter().filter(|run| run.ended_better()).count();
        let Some(named) = self.named else { return better };
        let refused = self.runs.iter().filter(|run| run.refused).count();
        let single = [Runner::Pytest, Runner::Unittest, Runner::NodeTest].map(Some);
        let one_by_one = self.runs.iter().filter(|run| single.contains(&run.runner)).count();
        // How many programs cargo and go start is not in the line. They have room, so none has to be refused.
        better
            + if named.many {
                refused + one_by_one.saturating_sub(named.single)
            } else {
                self.runs.len().saturating_sub(named.single)
            }
    }

    /// Runs whose process ended well although the runner had come to something else, or to no end.
    #[must_use]
    pub fn ended_too_well(&self) -> usize {
        self.runs.iter().filter(|run| run.ended_better() || (run.unended() && run.exit == Some(0))).count()
    }

    /// Functions of the test library that code of the tree had replaced at the end.
    #[must_use]
    pub fn replaced(&self) -> BTreeSet<String> {
        self.runs.iter().flat_map(|run| run.replaced.iter().cloned()).collect()
    }

    /// Tests that failed. Nextest knows of those whose processes did not end well, and may have tried them again.
    #[must_use]
    pub fn failed(&self) -> u64 {
        let known = |run: &&ObservedRun| run.runner == Some(Runner::Nextest) && run.exit != Some(0);
        self.runs.iter().filter(|run| !known(run)).map(|run| run.failed).sum()
    }

    /// Whether anything was heard that only a base can excuse.
    #[must_use]
    pub fn is_odd(&self) -> bool {
        let of_run = |run: &ObservedRun| run.unended() || !run.replaced.is_empty();
        self.contradicted() > 0 || self.failed() > 0 || self.runs.iter().any(of_run)
    }

    /// What was heard, a line for each run, for people. Tests in processes of their own have one together, and one each where
    /// there was no end; of these the first few.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        let (each, others): (Vec<&ObservedRun>, Vec<_>) =
            self.runs.iter().partition(|run| run.runner == Some(Runner::Nextest));
        let mut lines: Vec<String> = others.into_iter().map(ObservedRun::line).collect();
        if !each.is_empty() {
            let sum = |of: fn(&ObservedRun) -> u64| each.iter().map(|run| of(run)).sum::<u64>();
            let (passed, failed, skipped) = (sum(|run| run.passed), sum(|run| run.failed), sum(|run| run.skipped));
            let (odd, processes) = (each.iter().filter(|run| run.unended()), each.len());
            let unended = odd.clone().count();
            let counts = format!("{passed} passed, {failed} failed, {skipped} skipped");
            lines.push(format!("nextest: {counts} in {processes} processes; {unended} without an end"));
            lines.extend(odd.take(UNENDED_SHOWN).map(|run| run.line()));
        }
        lines
    }

    /// The counts of a check: what was heard instead of what was printed, where each run of its line was heard. Of printed
    /// names only those of tests that were heard to pass are green.
    #[must_use]
    pub fn counts(&self, printed: Option<TestCounts>) -> Option<TestCounts> {
        let heard = !self.runs.is_empty() && self.runs.iter().all(|run| run.armed && run.runner.is_some());
        if self.named.is_none() || !heard {
            return printed;
        }
        let mut counts = printed.unwrap_or_default();
        let runners: BTreeSet<Runner> = self.runs.iter().filter_map(|run| run.runner).collect();
        for runner in runners {
            let printed = counts.by_runner.remove(&runner);
            if let Some(tally) = self.tally(runner, printed) {
                counts.by_runner.insert(runner, tally);
            }
        }
        (!counts.by_runner.is_empty()).then_some(counts)
    }

    fn tally(&self, runner: Runner, printed: Option<Tally>) -> Option<Tally> {
        let runs = || self.runs.iter().filter(|run| run.runner == Some(runner));
        let known = runs().all(|run| run.green.len() < NAMES_MAX);
        let passes = |name: &str| {
            !known || runs().any(|run| run.green.contains(&printed_name(runner, name))) || is_unheard(runner, name)
        };
        if runner == Runner::GoTest {
            return printed.map(|printed| self.tally_of_go(printed, passes));
        }
        if matches!(runner, Runner::CargoTest | Runner::Nextest) {
            return printed.map(|printed| believed(printed, passes));
        }
        let printed = printed.unwrap_or_default();
        let (passed, failed) = (runs().map(|run| run.passed).sum(), runs().map(|run| run.failed).sum());
        let names = printed.names.map(|names| TestNames { green: kept(names.green, passes), ..names });
        Some(Tally {
            run: passed + failed,
            passed,
            failed,
            skipped: runs().map(|run| run.skipped).sum(),
            unended: printed.unended,
            red: printed.red.max(failed),
            uncollected: printed.uncollected || runs().any(|run| run.uncollected),
            names,
        })
    }

    /// What go printed, without tests that were printed as passed and not heard to be run. Where it printed no names those that
    /// were heard are its names: a test of the base that is missing is seen then as well. Counts stay those of packages.
    fn tally_of_go(&self, printed: Tally, passes: impl Fn(&str) -> bool) -> Tally {
        let mut runs = self.runs.iter().filter(|run| run.runner == Some(Runner::GoTest));
        if runs.clone().any(|run| run.unlisted || run.end != Some(0)) {
            return printed;
        }
        if printed.names.is_some() || runs.clone().any(|run| run.green.len() >= NAMES_MAX) {
            return believed(printed, passes);
        }
        let green = runs.by_ref().flat_map(|run| run.green.iter().cloned()).collect();
        Tally { names: Some(TestNames { green, red: BTreeSet::new(), skipped: None }), ..printed }
    }
}

/// What cargo's runners printed, without tests that were printed as passed and not heard to pass. Other printed tests
/// stay: doc tests are among them, which nobody hears.
fn believed(printed: Tally, passes: impl Fn(&str) -> bool) -> Tally {
    let Some(names) = printed.names else { return printed };
    let before = names.green.len();
    let green = kept(names.green, passes);
    let forged = (before - green.len()) as u64;
    Tally {
        run: printed.run.saturating_sub(forged),
        passed: printed.passed.saturating_sub(forged),
        names: Some(TestNames { green, ..names }),
        ..printed
    }
}

fn kept(names: BTreeSet<String>, passes: impl Fn(&str) -> bool) -> BTreeSet<String> {
    names.into_iter().filter(|name| passes(name)).collect()
}

/// By what a test is known that was heard: its whole name below cargo and go, else the last part of it.
fn heard_name(runner: Runner, name: &str) -> String {
    let whole = matches!(runner, Runner::CargoTest | Runner::Nextest | Runner::GoTest);
    if whole { name.to_owned() } else { leaf(runner, name) }
}

/// By what a test is known that was printed.
fn printed_name(runner: Runner, name: &str) -> String {
    let name = match runner {
        // A program's name and the test's.
        Runner::Nextest => name.split_once(' ').map_or(name, |(_, test)| test),
        // A part of a test is not listed. Packages have slashes, and no spaces.
        Runner::GoTest => {
            let package = name.find(' ').unwrap_or_default();
            let part = name.get(package..).and_then(|test| test.find('/'));
            part.and_then(|part| name.get(..package + part)).unwrap_or(name)
        }
        _ => name,
    };
    if runner == Runner::CargoTest { without_kind(name).to_owned() } else { heard_name(runner, name) }
}

/// Whether a printed name is a doc test's.
fn is_unheard(runner: Runner, name: &str) -> bool {
    runner == Runner::CargoTest && name.contains(" - ") && name.contains(" (line ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heard(exit: i32, messages: &[&str]) -> ObservedRun {
        let mut run = ObservedRun::of("unittest", Some(exit));
        messages.iter().for_each(|message| run.hear(message));
        run
    }

    #[test]
    fn a_run_without_its_end_or_with_a_better_one_is_seen() {
        let of = |run: ObservedRun| Observed::new("python3 -m unittest", vec![run]);
        let fine = of(heard(0, &["armed", "passed a (t.T.a)", "end 0"]));
        assert_eq!((fine.armed(), fine.unended(), fine.contradicted()), (1, 0, 0));
        let vanished = of(heard(0, &["armed", "passed a (t.T.a)"]));
        assert_eq!((vanished.unended(), vanished.contradicted()), (1, 0));
        for messages in [&["armed", "failed a", "end 0"][..], &["armed", "passed a", "end 1"]] {
            assert_eq!(of(heard(0, messages)).contradicted(), 1);
            assert_eq!(of(heard(1, messages)).contradicted(), 0);
        }
        assert_eq!(of(heard(0, &[])).unended(), 0, "an interpreter without our module promised nothing");
        let back = of(heard(0, &["armed", "failed a", "end 1", "passed a", "end 0"]));
        assert_eq!((back.failed(), back.contradicted()), (1, 1), "an end cannot be taken back");
        let two = Observed::new("pytest", vec![heard(0, &["armed", "end 0"]), ObservedRun::of("", None)]);
        assert_eq!(two.contradicted(), 1, "the line begins one run");
        assert_eq!(Observed::new("make", two.runs).contradicted(), 0);
    }

    #[test]
    fn what_was_heard_counts_and_not_what_was_printed() {
        let command = "python3 -m unittest -v";
        let printed = "test_a (t.T.test_a) ... ok\ntest_b (t.T.test_b) ... ok\n\nRan 2 tests in 0.1s\n\nOK\n";
        let printed = super::super::counts(command, printed);
        let run = || heard(0, &["armed", "passed test_a (t.T.test_a)", "skipped x", "end 0"]);
        let counts = Observed::new(command, vec![run()]).counts(printed.clone()).unwrap();
        let tally = &counts.by_runner[&Runner::Unittest];
        assert_eq!((tally.run, tally.skipped), (1, 1));
        let green = &tally.names.as_ref().unwrap().green;
        assert_eq!(green.iter().collect::<Vec<_>>(), ["test_a (t.T.test_a)"]);
        // Where other programs of the line may print reports of their own, the printed ones stay.
        assert_eq!(Observed::new("make", vec![run()]).counts(printed.clone()), printed);
        assert_eq!(Observed::new(command, vec![heard(0, &[])]).counts(printed.clone()), printed);
        assert_eq!(Observed::new(command, vec![run()]).counts(None).unwrap().total().run, 1);
    }

    fn cargo(name: &str, exit: i32, messages: &[&str]) -> ObservedRun {
        let mut run = ObservedRun::of(name, Some(exit));
        messages.iter().for_each(|message| run.hear(message));
        run
    }

    #[test]
    fn a_test_that_libtest_printed_and_nobody_heard_is_none() {
        let command = "cargo test";
        let printed = "test a::one ... ok\ntest a::bad - should panic ... ok\ntest a::forged ... ok\n\
            test src/lib.rs - add (line 3) ... ok\n\ntest result: ok. 4 passed; 0 failed; 0 ignored; 0 measured\n";
        let printed = super::super::counts(command, printed);
        let run = || cargo("libtest", 0, &["armed", "passed a::one", "passed a::bad", "end 0"]);
        let counts = Observed::new(command, vec![run()]).counts(printed.clone()).unwrap();
        let tally = &counts.by_runner[&Runner::CargoTest];
        assert_eq!((tally.run, tally.passed), (3, 3));
        let green = &tally.names.as_ref().unwrap().green;
        assert_eq!(Vec::from_iter(green), ["a::bad - should panic", "a::one", "src/lib.rs - add (line 3)"]);
        // A program of the project's own may have printed it.
        let own = || cargo("program", 0, &[]);
        assert_eq!(Observed::new(command, vec![run(), own()]).counts(printed.clone()), printed);
        assert_eq!(Observed::new(command, vec![run()]).counts(None), None, "what is quiet says nothing");
        assert_eq!(
            Observed::new(command, vec![run(), own()]).lines()[1],
            "a test program of its own: not heard; exit 0"
        );
    }

    #[test]
    fn programs_below_cargo_are_as_many_as_it_starts() {
        let run = || cargo("libtest", 0, &["armed", "end 0"]);
        let of = |runs| Observed::new("cargo test --locked", runs);
        assert_eq!(of(vec![run(), run()]).contradicted(), 0);
        assert_eq!(of(vec![run(), ObservedRun::of("", None)]).contradicted(), 1, "each has room");
        assert_eq!(of(vec![run(), heard(0, &["armed", "end 0"])]).contradicted(), 1, "no Python is in the line");
        assert_eq!(Observed::new("python3 -m unittest", vec![run(), run()]).contradicted(), 1);
    }

    #[test]
    fn a_test_that_go_printed_and_nobody_listed_is_none() {
        let printed = "--- PASS: TestA (0.00s)\n    --- PASS: TestA/part (0.00s)\n--- PASS: TestForged (0.00s)\nPASS\n\
            ok  \texample.com/a\t0.003s\n";
        let count = |command: &str, printed: &str, messages: &[&str]| {
            let observed = Observed::new(command, vec![cargo("go", 0, messages)]);
            observed.counts(super::super::counts(command, printed)).unwrap().by_runner[&Runner::GoTest].clone()
        };
        let listed = &["armed", "passed example.com/a TestA", "end 0"][..];
        let tally = count("go test -v ./...", printed, listed);
        assert_eq!(tally.passed, 2);
        assert_eq!(Vec::from_iter(tally.names.unwrap().green), ["example.com/a TestA", "example.com/a TestA/part"]);
        let tally = count("go test -v ./...", printed, &["armed", "unlisted", "end 0"]);
        assert_eq!(tally.passed, 3, "nobody knows");
        let tally = count("go test ./...", "ok  \texample.com/a\t0.003s\n", listed);
        assert_eq!(
            (tally.passed, Vec::from_iter(tally.names.unwrap().green)),
            (1, vec!["example.com/a TestA".to_owned()])
        );
        let lines = Observed::new("go test", vec![cargo("go", 0, listed), cargo("go", 0, &["armed"])]).lines();
        assert_eq!(lines, ["go: 1 tests; came to its end; exit 0", "go: no end; exit 0"]);
        let many = || Observed::new("go test ./...", vec![cargo("go", 0, listed), cargo("go", 1, &["armed", "end 1"])]);
        assert_eq!((many().contradicted(), many().unended(), many().is_odd()), (0, 0, false));
    }

    #[test]
    fn nextest_may_try_a_test_again_and_is_told_of_each_end() {
        let red = || cargo("nextest", 101, &["armed", "failed a", "end 101"]);
        let green = || cargo("nextest", 0, &["armed", "passed a", "end 0"]);
        let early = cargo("nextest", 0, &["armed"]);
        let again = Observed::new("cargo nextest run --retries 1", vec![red(), green()]);
        assert_eq!((again.failed(), again.contradicted(), again.unended(), again.is_odd()), (0, 0, 0, false));
        assert_eq!(again.lines(), ["nextest: 1 passed, 1 failed, 0 skipped in 2 processes; 0 without an end"]);
        let forged = Observed::new("cargo nextest run", vec![cargo("nextest", 0, &["armed", "failed a", "end 101"])]);
        assert_eq!((forged.failed(), forged.contradicted()), (1, 1));
        let ended = Observed::new("cargo nextest run", vec![green(), early]);
        assert_eq!(ended.unended(), 1);
        assert_eq!(ended.lines()[1], "a test of nextest: 0 passed, 0 failed, 0 skipped; no end; exit 0");
    }
}
