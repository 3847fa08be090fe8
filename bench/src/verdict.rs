//! What a verdict costs at each level of evidence, against the check alone.
//!
//! A project with a suite of tests is made, and the same work on it is judged by the verifier's own code
//! ([`VerifierWorkbench`](holdpoint_verifier_agent::VerifierWorkbench), as its agent calls it) at one level after another. No broker takes part: a
//! level changes what a verifier runs and nothing else.

mod judge;
mod project;
mod report;

use std::path::{Path, PathBuf};

use holdpoint_protocol::plan::EvidenceLevel;

use crate::{BenchError, Host};
use judge::{Rig, Spent};
use project::Project;

pub use project::{SampleWork, SuiteRunner};
pub use report::{AtLevel, VerdictReport, VerdictRow};

/// Tests of a suite, at most.
pub const TESTS_MAX: u32 = 10_000;
/// Milliseconds of work in a test, at most.
pub const WORK_MS_MAX: u32 = 1_000;

/// How hard a green is tried in one measurement.
#[derive(Debug, Clone, Copy)]
struct Level {
    name: &'static str,
    evidence: EvidenceLevel,
    mutants: Option<u32>,
}

/// All that are measured. The first is what the others are compared with.
const LEVELS: [Level; 2] = [
    Level { name: "fast", evidence: EvidenceLevel::Fast, mutants: None },
    Level { name: "strict", evidence: EvidenceLevel::Strict, mutants: None },
];

/// What to measure.
#[derive(Debug, Clone)]
pub struct VerdictArgs {
    /// Tests in the suite.
    pub tests: u32,
    /// How much processor time each test takes, in milliseconds: one project each.
    pub work_ms: Vec<u32>,
    /// Test runners; `None`: those that are there.
    pub runners: Option<Vec<SuiteRunner>>,
    /// Times everything is measured.
    pub rounds: u32,
}

impl VerdictArgs {
    /// Looks whether this makes sense, before anything is started.
    ///
    /// # Errors
    /// [`BenchError::Usage`].
    pub fn check(&self) -> Result<(), BenchError> {
        if !(project::TESTS_MIN..=TESTS_MAX).contains(&self.tests) {
            let what = format!("{} tests: it has to be {} to {TESTS_MAX}", self.tests, project::TESTS_MIN);
            return Err(BenchError::usage(what, "--tests 300"));
        }
        if self.work_ms.is_empty() || self.work_ms.iter().any(|ms| *ms > WORK_MS_MAX) {
            let what = format!("the work of a test has to be 0 to {WORK_MS_MAX} ms");
            return Err(BenchError::usage(what, "--work-ms 0,5"));
        }
        if self.rounds == 0 || self.runners.as_ref().is_some_and(Vec::is_empty) {
            return Err(BenchError::usage("there is nothing to measure", "--rounds 5, --runners unittest"));
        }
        Ok(())
    }
}

/// Measures it.
///
/// # Errors
/// [`BenchError`].
pub async fn run(args: &VerdictArgs, host: &Host) -> Result<VerdictReport, BenchError> {
    host.in_folder(async |dir| Box::pin(measure(args, host, dir)).await).await
}

async fn measure(args: &VerdictArgs, host: &Host, dir: &Path) -> Result<VerdictReport, BenchError> {
    let mut rows = Vec::new();
    for (runner, reads) in runners(args, host).await? {
        for &work_ms in &args.work_ms {
            for work in SampleWork::ALL {
                let project = Project { runner, tests: args.tests, work_ms, work };
                let place = dir.join(format!("{runner}-{work_ms}-{work}"));
                host.say(&format!("{runner}, {work_ms} ms a test, {work}"));
                let mut rig = Rig::new(&place, &project, reads.clone()).await?;
                rows.push(rounds(args, host, &mut rig, &project).await?);
            }
        }
    }
    Ok(VerdictReport::of(args, rows))
}

/// Measures one piece of work. Levels take turns, so that a busy moment hits all of them.
async fn rounds(args: &VerdictArgs, host: &Host, rig: &mut Rig, project: &Project) -> Result<VerdictRow, BenchError> {
    let mut alone = Vec::new();
    let mut spent: [Vec<Spent>; LEVELS.len()] = Default::default();
    for round in 0..args.rounds {
        host.say(&format!("  round {} of {}", round + 1, args.rounds));
        alone.push(rig.check_alone().await?);
        for (level, spent) in LEVELS.iter().zip(&mut spent) {
            spent.push(rig.judge(*level).await?);
        }
    }
    Ok(VerdictRow::of(project, alone, LEVELS.iter().map(|level| level.name).zip(spent)))
}

/// The runners that were asked for, or those that are there, each with what a check has to read for it.
async fn runners(args: &VerdictArgs, host: &Host) -> Result<Vec<(SuiteRunner, Vec<PathBuf>)>, BenchError> {
    let mut found = Vec::new();
    for runner in args.runners.as_deref().unwrap_or(&SuiteRunner::ALL) {
        match runner.find().await {
            Some(reads) => found.push((*runner, reads)),
            None if args.runners.is_some() => {
                let what = format!("{runner} is not there");
                return Err(BenchError::usage(what, "install it, or leave it out of --runners"));
            }
            None => host.say(&format!("{runner} is not there, so it is left out")),
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn senseless_arguments_are_refused_before_anything_starts() {
        let good = VerdictArgs { tests: 300, work_ms: vec![0, 5], runners: None, rounds: 5 };
        assert!(good.check().is_ok());
        for bad in [
            VerdictArgs { tests: 3, ..good.clone() },
            VerdictArgs { tests: TESTS_MAX + 1, ..good.clone() },
            VerdictArgs { work_ms: Vec::new(), ..good.clone() },
            VerdictArgs { work_ms: vec![WORK_MS_MAX + 1], ..good.clone() },
            VerdictArgs { rounds: 0, ..good.clone() },
            VerdictArgs { runners: Some(Vec::new()), ..good.clone() },
        ] {
            assert!(matches!(bad.check(), Err(BenchError::Usage { .. })), "{bad:?}");
        }
    }
}
