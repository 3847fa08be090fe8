//! Waypoints with no-op agents through the full protocol, against the raw yardstick.
//!
//! One waypoint is submit → build → verify → decision: a flight of its own, submitted through the API by an operator,
//! opened, handed off, judged and accepted by the processes of the product over a broker with their accounts and keys.
//! Builders change nothing and verifiers run nothing, so what is left is the protocol.

mod raw;
mod report;
mod table;

use std::{ops::RangeInclusive, path::Path, time::Duration};

use holdpoint_protocol::{ids::role, streams};
use serde::Serialize;

use crate::{
    BenchError, Host,
    driver::Driver,
    error::Doing as _,
    fleet::{Agents, Fleet},
    repository,
    stats::{Sample, count, ratio},
    streams::Shape,
    usage::{ProcessUsage, Snapshot},
    yardstick,
};

use raw::Raw;
pub use report::{Figures, HandoffReport, MessageSize};

/// Most waypoints of one run: a closed loop of them takes minutes.
pub const WAYPOINTS_MAX: usize = 1_000_000;
/// Most waypoints under way at once, and agents a role: each is a connection.
pub const CONCURRENCY_MAX: usize = 1_000;
/// Agents of a role unless it is said otherwise: more of them do not make two cores faster.
const AGENTS_DEFAULT: usize = 32;
/// One of so many waypoints is flown before the measurement, and as many more are measured alone.
const SHARE: usize = 10;
/// Waypoints that are flown before the measurement, at least and at most.
const WARM_UP: RangeInclusive<usize> = 5..=500;
/// Waypoints that are measured alone, at least and at most.
const ALONE: RangeInclusive<usize> = 10..=1_000;

/// When the broker writes through to the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Sync {
    /// Every now and then, as it does by default: an acknowledgement does not wait for the disk.
    Default,
    /// Before each acknowledgement: `sync_interval: always`.
    Always,
}

impl Sync {
    fn name(self) -> &'static str {
        match self {
            Self::Default => "default sync",
            Self::Always => "sync_interval: always",
        }
    }
}

/// What to measure.
#[derive(Debug, Clone)]
pub struct HandoffArgs {
    /// Waypoints of a measurement.
    pub waypoints: usize,
    /// How many are under way at once.
    pub concurrency: usize,
    /// Agents of each role; `None`: as many as are under way at once, but not too many.
    pub agents: Option<usize>,
    /// Which brokers.
    pub syncs: Vec<Sync>,
}

impl HandoffArgs {
    /// Refuses what cannot be measured.
    ///
    /// # Errors
    /// [`BenchError::Usage`].
    pub fn check(&self) -> Result<(), BenchError> {
        let Self { waypoints, concurrency, agents, syncs } = self;
        let in_range = |n: usize, max: usize| (1..=max).contains(&n);
        if !in_range(*waypoints, WAYPOINTS_MAX) {
            return Err(BenchError::usage(
                format!("{waypoints} waypoints cannot be measured"),
                "--waypoints is from 1 to 1000000",
            ));
        }
        if !in_range(*concurrency, CONCURRENCY_MAX) || concurrency > waypoints {
            return Err(BenchError::usage(
                format!("{concurrency} of {waypoints} waypoints cannot be under way at once"),
                "--concurrency is from 1 to 1000, and not more than --waypoints",
            ));
        }
        if agents.is_some_and(|agents| !in_range(agents, CONCURRENCY_MAX)) {
            return Err(BenchError::usage("that many agents cannot be started", "--agents is from 1 to 1000"));
        }
        if syncs.is_empty() {
            return Err(BenchError::usage("there is nothing to measure", "--sync is default, always or both"));
        }
        Ok(())
    }

    fn agents(&self) -> usize {
        self.agents.unwrap_or_else(|| self.concurrency.min(AGENTS_DEFAULT))
    }
}

/// What one closed loop showed.
struct Measured {
    sample: Sample,
    usage: Vec<ProcessUsage>,
}

/// What the protocol did in one closed loop.
struct Flown {
    measured: Measured,
    messages_per_waypoint: f64,
    bytes_per_waypoint: f64,
    shapes: Vec<Shape>,
}

/// Measures it.
///
/// # Errors
/// [`BenchError`].
pub async fn run(args: &HandoffArgs, host: &Host) -> Result<HandoffReport, BenchError> {
    args.check()?;
    let mut report = HandoffReport::new(args.waypoints, args.concurrency, args.agents());
    for sync in &args.syncs {
        let figures = measure(args, host, *sync).await?;
        match sync {
            Sync::Default => report.default_sync = Some(figures),
            Sync::Always => report.always = Some(figures),
        }
    }
    Ok(report)
}

async fn measure(args: &HandoffArgs, host: &Host, sync: Sync) -> Result<Figures, BenchError> {
    let name = sync.name();
    let alone = share(args.waypoints, ALONE);
    host.say(&format!("{name}: {} waypoints, {} at once", args.waypoints, args.concurrency));
    let many = fly(host, sync, args.waypoints, args.concurrency, args.agents()).await?;
    host.say(&format!("{name}: {alone} waypoints, one at a time"));
    let single = fly(host, sync, alone, 1, 1).await?;
    let steps = yardstick::chain(&many.shapes);
    let raw = Raw::measure(args, host, sync, &steps).await?;
    Ok(Figures::of(sync, &many, &single, &raw))
}

/// Flies waypoints on a fleet of its own.
async fn fly(
    host: &Host,
    sync: Sync,
    waypoints: usize,
    concurrency: usize,
    agents: usize,
) -> Result<Flown, BenchError> {
    host.in_folder(async |dir| {
        let mut fleet = Fleet::start(host, dir, sync == Sync::Always, &[]).await?;
        for name in [role::BUILDER, role::VERIFIER] {
            let count = u32::try_from(agents).unwrap_or(u32::MAX);
            let agents = Agents {
                role: role::id(name),
                count,
                pool: streams::fleet_pool(),
                think: Duration::ZERO,
                commits: false,
            };
            fleet.start_agents(&agents)?;
        }
        let flown = fly_on(&mut fleet, dir, waypoints, concurrency).await?;
        fleet.stop().await?;
        Ok(flown)
    })
    .await
}

async fn fly_on(fleet: &mut Fleet, dir: &Path, waypoints: usize, concurrency: usize) -> Result<Flown, BenchError> {
    const ACTION: &str = "read what processes use up";
    let (processes, operator, streams) = (fleet.processes(), fleet.operator.clone(), fleet.streams.clone());
    let work = async move {
        let snapshot = repository::snapshot(dir, &operator).await?;
        let mut driver = Driver::start(&operator, &streams, snapshot).await?;
        driver.fly(share(waypoints, WARM_UP), concurrency).await?;
        let stored = streams.stored().await?;
        let before = Snapshot::take(&processes).doing(ACTION)?;
        let (sample, last) = driver.fly(waypoints, concurrency).await?;
        let usage = before.since().doing(ACTION)?;
        let stored = streams.stored().await?.since(stored);
        let shapes = streams.shapes(&last).await?;
        let each = |n: u64| ratio(n as f64, count(sample.len()));
        Ok(Flown {
            messages_per_waypoint: each(stored.messages),
            bytes_per_waypoint: each(stored.bytes),
            shapes,
            measured: Measured { sample, usage },
        })
    };
    fleet.during(work).await
}

/// A part of all waypoints, within these bounds.
fn share(waypoints: usize, bounds: RangeInclusive<usize>) -> usize {
    (waypoints / SHARE).clamp(*bounds.start(), *bounds.end())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args() -> HandoffArgs {
        HandoffArgs { waypoints: 2_000, concurrency: 64, agents: None, syncs: vec![Sync::Default] }
    }

    #[test]
    fn what_cannot_be_measured_is_refused() {
        assert!(args().check().is_ok());
        let wrong = [
            HandoffArgs { waypoints: 0, ..args() },
            HandoffArgs { waypoints: WAYPOINTS_MAX + 1, ..args() },
            HandoffArgs { concurrency: 0, ..args() },
            HandoffArgs { waypoints: 10, concurrency: 11, ..args() },
            HandoffArgs { agents: Some(0), ..args() },
            HandoffArgs { syncs: vec![], ..args() },
        ];
        for args in wrong {
            assert!(matches!(args.check(), Err(BenchError::Usage { .. })), "{args:?}");
        }
    }

    #[test]
    fn there_are_as_many_agents_as_waypoints_at_once_up_to_a_bound() {
        assert_eq!(args().agents(), AGENTS_DEFAULT);
        assert_eq!(HandoffArgs { concurrency: 4, ..args() }.agents(), 4);
        assert_eq!(HandoffArgs { agents: Some(50), ..args() }.agents(), 50);
    }

    #[test]
    fn a_share_stays_within_its_bounds() {
        assert_eq!((share(10, WARM_UP), share(2_000, WARM_UP), share(100_000, WARM_UP)), (5, 200, 500));
    }
}
