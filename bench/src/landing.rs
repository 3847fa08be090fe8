//! How fast accepted work lands when many builders are done at once.
//!
//! Builders change a file of their own each and think about nothing; verifiers take a while for each verdict that costs no
//! processor time. All of the orchestrator's work is real: examining, merging, journals, landings. The yardstick is what the
//! verifiers could do if nothing but their checks took time: each work is verified by itself and as it lands.

mod report;

use std::{
    ops::RangeInclusive,
    path::Path,
    time::{Duration, Instant},
};

use holdpoint_protocol::{
    ids::{FlightId, role},
    streams,
    view::FlightStatus,
};

use crate::{
    BenchError, Host,
    fleet::{Agents, Fleet},
    repository,
    submit::{self, Submitter},
};

pub use report::{LandingReport, LandingRow};

/// Waypoints of one row.
const WAYPOINTS: RangeInclusive<usize> = 2..=1_000;
/// Agents of one role, each a connection.
const AGENTS: RangeInclusive<usize> = 1..=64;
/// How long a check may take.
const CHECK: RangeInclusive<Duration> = Duration::from_millis(10)..=Duration::from_secs(60);
/// The pause before it is asked again how the flight stands.
const PAUSE: Duration = Duration::from_millis(100);
/// A flight takes at most so many times as long as its checks; and a minute for what does not depend on them.
const PATIENCE: (u32, Duration) = (10, Duration::from_secs(60));

/// What to measure.
#[derive(Debug, Clone)]
pub struct LandingArgs {
    /// Waypoints of each flight.
    pub waypoints: usize,
    /// Builders.
    pub builders: usize,
    /// How many verifiers, a row each.
    pub verifiers: Vec<usize>,
    /// How long a verdict takes.
    pub check: Duration,
}

impl LandingArgs {
    /// Refuses what cannot be measured.
    ///
    /// # Errors
    /// [`BenchError::Usage`].
    pub fn check(&self) -> Result<(), BenchError> {
        let refuse = |what: String, hint| Err(BenchError::usage(what, hint));
        if !WAYPOINTS.contains(&self.waypoints) {
            return refuse(
                format!("{} waypoints cannot be landed here", self.waypoints),
                "--waypoints is from 2 to 1000",
            );
        }
        if !AGENTS.contains(&self.builders) {
            return refuse(format!("{} builders cannot be started", self.builders), "--builders is from 1 to 64");
        }
        if self.verifiers.is_empty() {
            return refuse("there is nothing to measure".to_owned(), "name rows with --verifiers");
        }
        if let Some(n) = self.verifiers.iter().find(|n| !AGENTS.contains(n)) {
            return refuse(format!("{n} verifiers cannot be started"), "--verifiers is from 1 to 64 each, with commas");
        }
        if !CHECK.contains(&self.check) {
            return refuse(format!("a check cannot take {:?}", self.check), "--check-ms is from 10 to 60000");
        }
        Ok(())
    }

    /// How many verdicts there are: each work is judged once, as it lands.
    fn verdicts(&self) -> usize {
        self.waypoints
    }
}

/// Measures it: a flight for each number of verifiers, on one fleet.
///
/// # Errors
/// [`BenchError`].
pub async fn run(args: &LandingArgs, host: &Host) -> Result<LandingReport, BenchError> {
    args.check()?;
    let rows = host.in_folder(async |dir| Box::pin(rows(args, host, dir)).await).await?;
    Ok(LandingReport::of(args, rows))
}

async fn rows(args: &LandingArgs, host: &Host, dir: &Path) -> Result<Vec<LandingRow>, BenchError> {
    let mut fleet = Fleet::start(host, dir, false, &[]).await?;
    let snapshot = repository::snapshot(dir, &fleet.operator).await?;
    let submitter = Submitter::new(&fleet.operator, snapshot);
    let mut rows = Vec::new();
    for (index, verifiers) in args.verifiers.iter().enumerate() {
        host.say(&format!("{} waypoints, {} builders, {verifiers} verifiers", args.waypoints, args.builders));
        let flight = submit::flight_id("landing", index)?;
        let wall = fly(args, &mut fleet, &submitter, &flight, *verifiers).await?;
        rows.push(LandingRow::of(args, *verifiers, wall));
    }
    fleet.stop().await?;
    Ok(rows)
}

/// How long it takes until all of a flight landed, from the moment its agents are there.
async fn fly(
    args: &LandingArgs,
    fleet: &mut Fleet,
    submitter: &Submitter,
    flight: &FlightId,
    verifiers: usize,
) -> Result<Duration, BenchError> {
    let pool = streams::flight_pool(flight);
    // All of them are open: what is accepted takes up room until it has landed.
    let submit = submitter.flight(flight.clone(), submit::plan(args.waypoints)?, pool.clone(), None);
    fleet.during(submitter.submit(&submit)).await?;
    let begin = Instant::now();
    let crews = [(role::BUILDER, args.builders, Duration::ZERO), (role::VERIFIER, verifiers, args.check)];
    for (name, count, think) in crews {
        let count = u32::try_from(count).unwrap_or(u32::MAX);
        let commits = name == role::BUILDER;
        fleet.start_agents(&Agents { role: role::id(name), count, pool: pool.clone(), think, commits })?;
    }
    let verdicts = u32::try_from(args.verdicts()).unwrap_or(u32::MAX);
    let most = args.check.saturating_mul(verdicts).saturating_mul(PATIENCE.0) + PATIENCE.1;
    let landed = async {
        loop {
            let view = submitter.first_page(flight).await?;
            if view.status == FlightStatus::Accepted {
                return Ok(begin.elapsed());
            }
            if view.status != FlightStatus::Running {
                let (flight, found) = (flight.to_string(), format!("{:?}", view.status));
                return Err(BenchError::NotAccepted { flight, found });
            }
            if begin.elapsed() > most {
                let what = format!("all {} landings: {} are there", args.waypoints, view.landings.len());
                return Err(BenchError::timed_out(what, most));
            }
            tokio::time::sleep(PAUSE).await;
        }
    };
    let wall = fleet.during(landed).await?;
    for name in [role::BUILDER, role::VERIFIER] {
        fleet.kill(&format!("{name}s")).await?;
    }
    Ok(wall)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_measured_is_refused_with_what_can() {
        let check = Duration::from_secs(1);
        let args = LandingArgs { waypoints: 64, builders: 16, verifiers: vec![1, 8], check };
        assert!(args.check().is_ok());
        assert_eq!(args.verdicts(), 64);
        for wrong in [
            LandingArgs { waypoints: 1, ..args.clone() },
            LandingArgs { builders: 0, ..args.clone() },
            LandingArgs { verifiers: Vec::new(), ..args.clone() },
            LandingArgs { verifiers: vec![1, 65], ..args.clone() },
            LandingArgs { check: Duration::ZERO, ..args.clone() },
        ] {
            assert!(matches!(wrong.check(), Err(BenchError::Usage { .. })), "{wrong:?}");
        }
    }
}
