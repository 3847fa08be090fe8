//! The first part: more and more waypoints that are open, and what another one costs meanwhile.

use std::time::{Duration, Instant};

use futures::{StreamExt as _, TryStreamExt as _, stream};
use holdpoint_protocol::{ids::FlightId, streams};

use super::{OpenRow, ScaleArgs};
use crate::{
    BenchError, Host,
    course::{self, Course, Crew, Measured},
    error::Doing as _,
    fleet::Fleet,
    repository,
    stats::{count, ratio},
    submit::{self, Submitter},
    usage::mib,
};

/// The orchestrator's name among the processes.
const ORCHESTRATOR: &str = "orchestrator";
/// Agents of each role of the flight that is measured, and its waypoints that are open at once.
const AGENTS: usize = 16;
const PARALLEL: usize = 64;
/// Requests under way at once.
const REQUESTS: usize = 16;
/// How long opening may stand still.
const STANDSTILL: Duration = Duration::from_secs(120);
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// One fleet for all rows: what is open stays open.
struct World {
    fleet: Fleet,
    submitter: Submitter,
    open: Vec<FlightId>,
}

/// Measures a row for each number of open waypoints.
pub(super) async fn rows(args: &ScaleArgs, host: &Host) -> Result<Vec<OpenRow>, BenchError> {
    host.in_folder(async |dir| {
        let fleet = Fleet::start(host, dir, false, &[]).await?;
        let snapshot = repository::snapshot(dir, &fleet.operator).await?;
        let submitter = Submitter::new(&fleet.operator, snapshot);
        let mut world = World { fleet, submitter, open: Vec::new() };
        let mut rows = Vec::new();
        for (index, open) in args.open.iter().enumerate() {
            host.say(&format!("opening waypoints until {open} are open"));
            world.open(*open, args.per_flight).await?;
            host.say(&format!("{open} open: {} more are flown", args.waypoints));
            let measured = world.fly(index, args.waypoints).await?;
            rows.push(world.row(*open, args.waypoints, &measured).await?);
        }
        world.fleet.stop().await?;
        Ok(rows)
    })
    .await
}

impl World {
    /// Begins flights until so many waypoints are open.
    async fn open(&mut self, wanted: usize, per_flight: usize) -> Result<(), BenchError> {
        let plan = submit::plan(per_flight)?;
        let flights = wanted.div_ceil(per_flight);
        let new: Vec<FlightId> =
            (self.open.len()..flights).map(|n| submit::flight_id("open", n)).collect::<Result<_, _>>()?;
        let (submitter, streams) = (self.submitter.clone(), self.fleet.streams.clone());
        let work = async {
            let before = streams.journal_entries().await?;
            let submits = new.iter().map(|flight| {
                let submit = submitter.flight(flight.clone(), plan.clone(), streams::fleet_pool(), None);
                let submitter = submitter.clone();
                async move { submitter.submit(&submit).await }
            });
            stream::iter(submits).buffer_unordered(REQUESTS).try_collect::<()>().await?;
            // A submission, and a turn for each waypoint.
            let entries = before + (new.len() * (1 + per_flight)) as u64;
            let (mut seen, mut since) = (0, Instant::now());
            loop {
                let now = streams.journal_entries().await?;
                if now >= entries {
                    return Ok(());
                }
                if now > seen {
                    (seen, since) = (now, Instant::now());
                } else if since.elapsed() > STANDSTILL {
                    let what = format!("{} more waypoints to open", entries - now);
                    return Err(BenchError::timed_out(what, STANDSTILL));
                }
                tokio::time::sleep(LOOK_EVERY).await;
            }
        };
        self.fleet.during(work).await?;
        self.open.extend(new);
        Ok(())
    }

    async fn fly(&mut self, index: usize, waypoints: usize) -> Result<Measured, BenchError> {
        let warm_up = waypoints / 5;
        let course = Course {
            flight: submit::flight_id("measured", index)?,
            plan: submit::plan(warm_up + waypoints)?,
            workflows: Vec::new(),
            warm_up,
            waypoints,
            parallel: PARALLEL,
            crews: Crew::of_fly(AGENTS, AGENTS, Duration::ZERO),
        };
        course::fly(&mut self.fleet, &self.submitter, &course).await
    }

    async fn row(&mut self, open: usize, waypoints: usize, measured: &Measured) -> Result<OpenRow, BenchError> {
        const ACTION: &str = "read what processes use up";
        let rss = |name| self.fleet.process(name).map_or(Ok(0), |process| process.rss()).doing(ACTION);
        let (orchestrator, broker) = (rss(ORCHESTRATOR)?, rss("broker")?);
        let journal_entries = self.fleet.streams.journal_entries().await?;
        let restart = self.restart().await?;
        let cpu: f64 = measured.usage.iter().map(|usage| usage.cpu_s).sum();
        let of =
            |name: &str| measured.usage.iter().find(|usage| usage.process == name).map_or(0.0, |usage| usage.cpu_s);
        let each = |seconds: f64| ratio(seconds * 1000.0, count(waypoints));
        Ok(OpenRow {
            open,
            flights: self.open.len(),
            journal_entries,
            throughput: ratio(count(waypoints), measured.wall.as_secs_f64()),
            cpu_s_per_1000: each(cpu),
            orchestrator_cpu_s_per_1000: each(of(ORCHESTRATOR)),
            broker_cpu_s_per_1000: each(of("broker")),
            orchestrator_rss_mib: mib(orchestrator),
            broker_rss_mib: mib(broker),
            restart_s: restart.as_secs_f64(),
        })
    }

    /// Kills the orchestrator and starts another; how long until that one knows how every open flight stands.
    async fn restart(&mut self) -> Result<Duration, BenchError> {
        self.fleet.kill(ORCHESTRATOR).await?;
        self.submitter.nobody_there().await?;
        let begin = Instant::now();
        self.fleet.start_orchestrator()?;
        let (submitter, open) = (self.submitter.clone(), self.open.clone());
        let work = async {
            let asked = open.iter().map(|flight| submitter.status(flight));
            stream::iter(asked).buffer_unordered(REQUESTS).try_collect::<()>().await
        };
        self.fleet.during(work).await?;
        Ok(begin.elapsed())
    }
}
