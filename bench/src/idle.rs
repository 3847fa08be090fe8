//! What a fleet costs that has nothing to do: broker, orchestrator and agents as the processes that they are, each connected, each
//! waiting. There is no yardstick: a machine that runs nothing uses up nothing.

use std::{fmt, ops::RangeInclusive, path::Path, time::Duration};

use holdpoint_protocol::ids::role;
use serde::Serialize;

use crate::{
    BenchError, Host,
    error::Doing as _,
    fleet::Fleet,
    target::{self, Target},
    usage::{ProcessUsage, Snapshot},
};

/// Agents of one role, each a process.
const AGENTS: RangeInclusive<u32> = 1..=64;
/// How long is measured: shorter ones see what happens every few seconds only by chance.
const SPAN: RangeInclusive<Duration> = Duration::from_secs(1)..=Duration::from_secs(3_600);
/// How long a fleet may take to come to rest after its start; no longer than is measured.
const SETTLE: Duration = Duration::from_secs(15);
/// What all of it together may use up, in percent of one core.
const WANTED_PERCENT: f64 = 3.0;

/// What to measure.
#[derive(Debug, Clone)]
pub struct IdleArgs {
    /// Builders.
    pub builders: u32,
    /// Verifiers.
    pub verifiers: u32,
    /// Repair agents.
    pub repairs: u32,
    /// For how long.
    pub span: Duration,
}

impl IdleArgs {
    /// Refuses what cannot be measured.
    ///
    /// # Errors
    /// [`BenchError::Usage`].
    pub fn check(&self) -> Result<(), BenchError> {
        for (name, count) in self.crews() {
            if !AGENTS.contains(&count) {
                let what = format!("{count} agents of the role {name} cannot be started");
                return Err(BenchError::usage(what, "--builders, --verifiers and --repairs are from 1 to 64"));
            }
        }
        if !SPAN.contains(&self.span) {
            let what = format!("{:?} cannot be measured", self.span);
            return Err(BenchError::usage(what, "--seconds is from 1 to 3600"));
        }
        Ok(())
    }

    fn crews(&self) -> [(&'static str, u32); 3] {
        [(role::BUILDER, self.builders), (role::VERIFIER, self.verifiers), (role::REPAIR, self.repairs)]
    }
}

/// What was found.
#[derive(Debug, Clone, Serialize)]
pub struct IdleReport {
    /// For how long, in seconds.
    pub seconds: f64,
    /// A row for broker and orchestrator, and one for the agents of each role.
    pub rows: Vec<IdleRow>,
    /// All of them, in percent of one core.
    pub percent: f64,
    /// What was aimed at.
    pub targets: Vec<Target>,
}

/// Processes of one kind.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct IdleRow {
    /// What they are.
    pub name: String,
    /// How many.
    pub processes: usize,
    /// All of them, in percent of one core.
    pub percent: f64,
    /// The most memory that all of them ever had together, in MiB.
    pub peak_rss_mib: f64,
}

/// Measures it.
///
/// # Errors
/// [`BenchError`].
pub async fn run(args: &IdleArgs, host: &Host) -> Result<IdleReport, BenchError> {
    args.check()?;
    let usage = host.in_folder(async |dir| Box::pin(rest(args, host, dir)).await).await?;
    Ok(IdleReport::of(args, &usage))
}

async fn rest(args: &IdleArgs, host: &Host, dir: &Path) -> Result<Vec<ProcessUsage>, BenchError> {
    const ACTION: &str = "read what processes used up";
    // As the fleets of people have it.
    let mut fleet = Fleet::start(host, dir, true, &[]).await?;
    for (name, count) in args.crews() {
        (1..=count).try_for_each(|n| fleet.start_agent(&role::id(name), n))?;
    }
    let agents: u32 = args.crews().iter().map(|(_, count)| count).sum();
    let (span, processes, settle) = (args.span, fleet.processes(), args.span.min(SETTLE));
    host.say(&format!("{agents} agents, {} s to come to rest and {} s of it", settle.as_secs(), span.as_secs()));
    let measured = async {
        tokio::time::sleep(settle).await;
        let before = Snapshot::take(&processes).doing(ACTION)?;
        tokio::time::sleep(span).await;
        before.since().doing(ACTION)
    };
    let usage = fleet.during(measured).await?;
    fleet.stop().await?;
    Ok(usage)
}

impl IdleReport {
    fn of(args: &IdleArgs, usage: &[ProcessUsage]) -> Self {
        let seconds = args.span.as_secs_f64();
        let row = |name: &str, is_one: &dyn Fn(&str) -> bool| {
            let these: Vec<&ProcessUsage> = usage.iter().filter(|usage| is_one(&usage.process)).collect();
            IdleRow {
                name: name.to_owned(),
                processes: these.len(),
                percent: 100.0 * these.iter().map(|usage| usage.cpu_s).sum::<f64>() / seconds,
                peak_rss_mib: these.iter().map(|usage| usage.peak_rss_mib).sum(),
            }
        };
        let mut rows: Vec<IdleRow> =
            ["broker", "orchestrator"].iter().map(|name| row(name, &|process| process == *name)).collect();
        for (name, _) in args.crews() {
            let prefix = format!("{name}-");
            rows.push(row(name, &|process| process.starts_with(&prefix)));
        }
        let percent = rows.iter().map(|row| row.percent).sum();
        let targets = vec![Target::at_most("percent of one core", WANTED_PERCENT, percent)];
        Self { seconds, rows, percent, targets }
    }
}

impl fmt::Display for IdleReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "nothing to do for {} s\n", self.seconds)?;
        writeln!(f, "  {:<16}{:>10}{:>18}{:>20}", "", "processes", "percent of a core", "peak memory, MiB")?;
        for IdleRow { name, processes, percent, peak_rss_mib } in &self.rows {
            writeln!(f, "  {name:<16}{processes:>10}{percent:>18.2}{peak_rss_mib:>20.1}")?;
        }
        target::write(&self.targets, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args() -> IdleArgs {
        IdleArgs { builders: 12, verifiers: 4, repairs: 3, span: Duration::from_secs(10) }
    }

    #[test]
    fn what_cannot_be_measured_is_refused_with_what_can() {
        assert!(args().check().is_ok());
        for wrong in [
            IdleArgs { builders: 0, ..args() },
            IdleArgs { repairs: 65, ..args() },
            IdleArgs { span: Duration::ZERO, ..args() },
        ] {
            assert!(matches!(wrong.check(), Err(BenchError::Usage { .. })), "{wrong:?}");
        }
    }

    #[test]
    fn processes_are_counted_with_their_kind_and_the_driver_with_none() {
        let of = |process: &str, cpu_s| ProcessUsage { process: process.to_owned(), cpu_s, peak_rss_mib: 2.0 };
        let usage = [
            of("driver", 9.0),
            of("broker", 0.1),
            of("orchestrator", 0.05),
            of("builder-1", 0.01),
            of("builder-2", 0.03),
        ];
        let report = IdleReport::of(&args(), &usage);
        let builders = &report.rows[2];
        assert_eq!((builders.name.as_str(), builders.processes, builders.peak_rss_mib), ("builder", 2, 4.0));
        assert!((builders.percent - 0.4).abs() < 1e-9 && (report.percent - 1.9).abs() < 1e-9, "{report:?}");
        assert!(report.targets[0].met);
    }
}
