//! What an observer heard of the runs of a check, and what that says of their printed report.
//!
//! The observer is a process of ours that the code under test cannot reach: that a runner was begun, that it came to its
//! end, and with which status its process ended is certain. What a runner says of its tests comes from a module of ours
//! in the runner's own process, over a descriptor and not over the output; code there that knows of it can forge it.

use std::collections::BTreeSet;

use super::{Counts, Names, Runner, Tally, compared::leaf, silent::CONDITIONS};

/// Names that are kept of one run; past it printed names are not held against them.
const NAMES_MAX: usize = 100_000;
/// Names of replaced functions that are kept of one run.
const REPLACED_MAX: usize = 64;
/// Characters by which a shell line may start more programs than the words of its parts.
const HIDING: [char; 6] = ['$', '`', '(', ')', '{', '<'];
/// Programs that start none of the observed ones, and print no report.
const PLAIN: [&str; 17] = [
    "[", "cat", "cd", "echo", "export", "false", "grep", "head", "ls", "mkdir", "printf", "set", "sort", "tail", "tee",
    "test", "true",
];
/// Programs that run the command after them, as `PATH` has it.
const PREFIXES: [&str; 5] = ["env", "exec", "nice", "nohup", "time"];

/// One run of a test runner, as it was heard.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ObservedRun {
    /// The runner; `None` where the run was not let in, because another one was heard.
    pub runner: Option<Runner>,
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
    /// Functions of the test library that were not what they had been when the run came to its end.
    replaced: BTreeSet<String>,
    /// What passed, by the last part of its name.
    green: BTreeSet<String>,
}

impl ObservedRun {
    /// A run of what a starter calls the watched program, which ended with this code.
    #[must_use]
    pub fn of(name: &str, exit: Option<i32>) -> Self {
        let runner = match name {
            "pytest" => Some(Runner::Pytest),
            "unittest" => Some(Runner::Unittest),
            _ => None,
        };
        Self { runner, exit, ..Self::default() }
    }

    /// Takes what was said in one message: `armed`, `passed`, `failed` or `skipped` and a name, `uncollected`, `replaced`
    /// and the name of a function, or `end` and an exit code. Others say nothing, and neither does what comes after the end: that cannot be taken back.
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
                    self.green.insert(leaf(runner, rest));
                }
            }
            "failed" => self.failed += 1,
            "skipped" => self.skipped += 1,
            "uncollected" => self.uncollected = true,
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
            _ => return "a run beside another one, not heard".to_owned(),
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

    /// Whether its process ended well and the runner in it had come to something else.
    fn ended_better(&self) -> bool {
        self.exit == Some(0) && self.end.is_some_and(|end| end != 0 || self.failed > 0)
    }
}

/// All runs that were heard of one check.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Observed {
    runs: Vec<ObservedRun>,
    /// How many runs its shell line names, where it can be read that plainly.
    named: Option<usize>,
}

impl Observed {
    /// The runs of a check with this shell line, in their order.
    #[must_use]
    pub fn new(command: &str, runs: Vec<ObservedRun>) -> Self {
        Self { runs, named: named_runs(command) }
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
        better + self.named.map_or(0, |named| self.runs.len().saturating_sub(named))
    }

    /// Functions of the test library that code of the tree had replaced at the end.
    #[must_use]
    pub fn replaced(&self) -> BTreeSet<String> {
        self.runs.iter().flat_map(|run| run.replaced.iter().cloned()).collect()
    }

    /// Tests that failed.
    #[must_use]
    pub fn failed(&self) -> u64 {
        self.runs.iter().map(|run| run.failed).sum()
    }

    /// Whether anything was heard that only a base can excuse.
    #[must_use]
    pub fn is_odd(&self) -> bool {
        let of_run = |run: &ObservedRun| run.unended() || run.failed > 0 || !run.replaced.is_empty();
        self.contradicted() > 0 || self.runs.iter().any(of_run)
    }

    /// What was heard, a line for each run, for people.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        self.runs.iter().map(ObservedRun::line).collect()
    }

    /// The counts of a check: what was heard instead of what was printed, where each run of its line was heard. Of printed
    /// names only those of tests that were heard to pass are green.
    #[must_use]
    pub fn counts(&self, printed: Option<Counts>) -> Option<Counts> {
        let heard = !self.runs.is_empty() && self.runs.iter().all(|run| run.armed && run.runner.is_some());
        if self.named.is_none() || !heard {
            return printed;
        }
        let mut counts = printed.unwrap_or_default();
        for runner in self.runs.iter().filter_map(|run| run.runner) {
            let printed = counts.by_runner.remove(&runner).unwrap_or_default();
            counts.by_runner.insert(runner, self.tally(runner, printed));
        }
        Some(counts)
    }

    fn tally(&self, runner: Runner, printed: Tally) -> Tally {
        let runs = || self.runs.iter().filter(|run| run.runner == Some(runner));
        let (passed, failed) = (runs().map(|run| run.passed).sum(), runs().map(|run| run.failed).sum());
        let known = runs().all(|run| run.green.len() < NAMES_MAX);
        let passes = |name: &String| !known || runs().any(|run| run.green.contains(&leaf(runner, name)));
        let believed = |names: Names| Names { green: names.green.into_iter().filter(passes).collect(), ..names };
        Tally {
            run: passed + failed,
            passed,
            failed,
            skipped: runs().map(|run| run.skipped).sum(),
            unended: printed.unended,
            red: printed.red.max(failed),
            uncollected: printed.uncollected || runs().any(|run| run.uncollected),
            names: printed.names.map(believed),
        }
    }
}

/// How many runs of observed runners a shell line names, if it starts nothing else that could run tests.
fn named_runs(command: &str) -> Option<usize> {
    let command = command.replace("2>&1", " ").replace("&&", ";");
    if command.contains(HIDING) || command.contains('&') {
        return None;
    }
    let parts = command.split([';', '|', '\n']).map(|part| part.split_whitespace().collect::<Vec<_>>());
    let mut named = 0;
    for words in parts.filter(|words| !words.is_empty()) {
        if words.iter().any(|word| CONDITIONS.contains(word)) {
            return None;
        }
        named += runs_of(&words)?;
    }
    Some(named)
}

/// How many runs a simple command is: one or none, or nobody knows.
fn runs_of(words: &[&str]) -> Option<usize> {
    let before = |word: &&&str| PREFIXES.contains(*word) || (word.contains('=') && !word.starts_with('-'));
    let at = words.iter().take_while(before).count();
    let Some((program, arguments)) = words.get(at..)?.split_first() else { return Some(0) };
    match *program {
        "pytest" | "py.test" => return Some(1),
        "coverage" if arguments.first() != Some(&"run") => return Some(0),
        "coverage" => {}
        _ if program.starts_with("python") || program.starts_with("pypy") => {}
        _ => return PLAIN.contains(program).then_some(0),
    }
    let module = arguments.iter().position(|word| *word == "-m")?;
    matches!(*arguments.get(module + 1)?, "pytest" | "unittest").then_some(1)
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
    fn a_line_names_its_runs_where_nothing_else_can_run_tests() {
        for (command, runs) in [
            ("python3 -m unittest -v", Some(1)),
            ("cd sub && PYTHONPATH=. python3 -W error -m pytest -k 'a and b' 2>&1 | tail -3", Some(1)),
            ("pytest tests/a.py; py.test tests/b.py", Some(2)),
            ("coverage run -m pytest && coverage report", Some(1)),
            ("test -e a && env CI=1 pytest || echo no", Some(1)),
            ("grep -q x a", Some(0)),
            ("make test", None),
            ("python3 tests/test_a.py", None),
            ("pytest tests/a.py & pytest tests/b.py", None),
            ("for i in 1 2; do pytest; done", None),
            (".venv/bin/pytest", None),
            ("! pytest", None),
            ("$RUNNER", None),
        ] {
            assert_eq!(named_runs(command), runs, "{command}");
        }
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
}
