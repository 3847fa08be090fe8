//! What was found, and how it is printed.

use std::{fmt, time::Duration};

use serde::Serialize;

use super::{SampleWork, SuiteRunner, VerdictArgs, judge::Spent, project::Project};
use crate::{
    stats::{median, ratio},
    target::{self, Target},
};

/// What a level may cost, as times of the first one.
const RATIO_WANTED: f64 = 2.5;

/// What `bench verdict` found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct VerdictReport {
    /// Tests in the suite.
    pub tests: u32,
    /// Times everything was measured; all figures are medians.
    pub rounds: u32,
    /// One for each project and piece of work.
    pub rows: Vec<VerdictRow>,
    /// Whether strict evidence costs what it may cost.
    pub targets: Vec<Target>,
}

/// The verdicts on one piece of work.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct VerdictRow {
    /// What runs the suite.
    pub runner: SuiteRunner,
    /// Processor time of each test, in milliseconds.
    pub work_ms: u32,
    /// What was done.
    pub work: SampleWork,
    /// The check alone, outside of everything, in seconds.
    pub check_s: f64,
    /// At each level, the one to compare with first.
    pub levels: Vec<AtLevel>,
}

/// A verdict at one level.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AtLevel {
    /// The level.
    pub level: &'static str,
    /// Seconds from request to findings.
    pub verdict_s: f64,
    /// By the first level's.
    pub ratio: f64,
    /// Runs that the findings name, with one of the base from an earlier turn.
    pub runs: usize,
    /// CPU seconds of the verifier and all that it ran.
    pub cpu_s: f64,
}

impl VerdictRow {
    /// Out of all rounds; there is at least one.
    pub(super) fn of(
        project: &Project,
        alone: Vec<Duration>,
        levels: impl Iterator<Item = (&'static str, Vec<Spent>)>,
    ) -> Self {
        let mut found: Vec<AtLevel> = Vec::new();
        for (level, spent) in levels {
            let verdict_s = seconds(spent.iter().map(|spent| spent.wall));
            let ratio = ratio(verdict_s, found.first().map_or(verdict_s, |first| first.verdict_s));
            let runs = spent.first().map_or(0, |spent| spent.runs);
            found.push(AtLevel { level, verdict_s, ratio, runs, cpu_s: seconds(spent.iter().map(|spent| spent.cpu)) });
        }
        let Project { runner, work_ms, work, .. } = *project;
        Self { runner, work_ms, work, check_s: seconds(alone.into_iter()), levels: found }
    }
}

fn seconds(each: impl Iterator<Item = Duration>) -> f64 {
    median(each.map(|duration| duration.as_secs_f64()).collect())
}

impl VerdictReport {
    pub(super) fn of(args: &VerdictArgs, rows: Vec<VerdictRow>) -> Self {
        let worst = |work: SampleWork| {
            let of_work = rows.iter().filter(|row| row.work == work);
            of_work.filter_map(|row| row.levels.get(1)).map(|strict| strict.ratio).fold(0.0, f64::max)
        };
        let targets = vec![
            Target::at_most("strict by fast, fix", RATIO_WANTED, worst(SampleWork::Fix)),
            Target::at_most("strict by fast, feature", RATIO_WANTED, worst(SampleWork::Feature)),
            Target::at_most("strict by fast, wide", RATIO_WANTED, worst(SampleWork::Wide)),
        ];
        Self { tests: args.tests, rounds: args.rounds, rows, targets }
    }
}

impl fmt::Display for VerdictReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} tests; medians of {} rounds\n", self.tests, self.rounds)?;
        writeln!(
            f,
            "  {:<10}{:>8}  {:<9}{:>8}  {:<10}{:>10}{:>7}{:>6}{:>8}",
            "runner", "ms/test", "work", "check s", "level", "verdict s", "ratio", "runs", "CPU s"
        )?;
        for VerdictRow { runner, work_ms, work, check_s, levels } in &self.rows {
            for (at, AtLevel { level, verdict_s, ratio, runs, cpu_s }) in levels.iter().enumerate() {
                let head = if at == 0 {
                    format!("{:<10}{work_ms:>8}  {:<9}{check_s:>8.2}", runner.to_string(), work.to_string())
                } else {
                    " ".repeat(37)
                };
                writeln!(f, "  {head}  {level:<10}{verdict_s:>10.2}{ratio:>7.2}{runs:>6}{cpu_s:>8.2}")?;
            }
        }
        target::write(&self.targets, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spent(wall: u64) -> Spent {
        Spent { wall: Duration::from_secs(wall), cpu: Duration::from_secs(2 * wall), runs: wall as usize }
    }

    #[test]
    fn ratios_are_those_of_the_medians_and_the_worst_one_counts() {
        let args = VerdictArgs { tests: 300, work_ms: vec![0], runners: None, rounds: 3 };
        let project = |runner| Project { runner, tests: 300, work_ms: 0, work: SampleWork::Fix };
        let row = |runner, strict: [u64; 3]| {
            let levels = [("fast", [9, 2, 1].map(spent).to_vec()), ("strict", strict.map(spent).to_vec())];
            VerdictRow::of(&project(runner), [3, 1, 2].map(Duration::from_secs).to_vec(), levels.into_iter())
        };
        let report =
            VerdictReport::of(&args, vec![row(SuiteRunner::Unittest, [4, 1, 90]), row(SuiteRunner::Cargo, [6, 6, 6])]);
        let levels = &report.rows[0].levels;
        assert_eq!((report.rows[0].check_s, levels[0].ratio, levels[1].ratio, levels[1].cpu_s), (2.0, 1.0, 2.0, 8.0));
        assert_eq!((report.targets[0].found, report.targets[0].met), (3.0, false));
        let table = report.to_string();
        assert!(table.contains("unittest") && table.contains("strict") && table.contains("3.00"), "{table}");
    }
}
