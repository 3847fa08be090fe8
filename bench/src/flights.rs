//! Many small flights, in rounds: each round flies some and archives them. Memory, open files and what the broker holds are to be
//! the same after the last round as after the first.
//!
//! A flight is one waypoint whose builder makes a commit, and which lands. Archiving is done by the command that users call, in a
//! process of its own.

mod report;

use std::{
    collections::BTreeMap,
    ops::RangeInclusive,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use futures::{StreamExt as _, TryStreamExt as _, stream};
use holdpoint_protocol::{ids::role, streams, subjects};
use holdpoint_sandbox::Tool;
use serde::Deserialize;

use crate::{
    BenchError, Host,
    error::Doing as _,
    fleet::{Agents, Fleet},
    repository,
    submit::{self, Submitter},
    usage::mib,
};

pub use report::{FleetState, FlightsReport, FlightsRow};

/// Flights of all rounds together.
const FLIGHTS: RangeInclusive<usize> = 1..=1_000_000;
/// Rounds.
const ROUNDS: RangeInclusive<usize> = 2..=100;
/// Agents of each role.
const AGENTS: u32 = 8;
/// Submissions under way at once.
const REQUESTS: usize = 16;
/// How long landings may stand still.
const STANDSTILL: Duration = Duration::from_secs(120);
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// How long archiving one round may take, and how much it may say of it.
const ARCHIVE_MAX: Duration = Duration::from_secs(3_600);
const OUTPUT_MAX: usize = 1 << 30;

/// What to measure.
#[derive(Debug, Clone, Copy)]
pub struct FlightsArgs {
    /// Flights of all rounds together.
    pub flights: usize,
    /// Rounds.
    pub rounds: usize,
}

impl FlightsArgs {
    /// Refuses what cannot be measured.
    ///
    /// # Errors
    /// [`BenchError::Usage`].
    pub fn check(&self) -> Result<(), BenchError> {
        if !FLIGHTS.contains(&self.flights) {
            return Err(BenchError::usage(
                format!("{} flights cannot be flown", self.flights),
                "--flights is from 1 to 1000000",
            ));
        }
        if !ROUNDS.contains(&self.rounds) || self.rounds > self.flights {
            let hint = "--rounds is from 2 to 100, and no more than --flights";
            return Err(BenchError::usage(format!("there cannot be {} rounds", self.rounds), hint));
        }
        Ok(())
    }
}

/// Measures it.
///
/// # Errors
/// [`BenchError`].
pub async fn run(args: &FlightsArgs, host: &Host) -> Result<FlightsReport, BenchError> {
    args.check()?;
    let rows = host.in_folder(async |dir| Box::pin(rows(args, host, dir)).await).await?;
    Ok(FlightsReport::of(args, rows))
}

async fn rows(args: &FlightsArgs, host: &Host, dir: &Path) -> Result<Vec<FlightsRow>, BenchError> {
    // Its disk follows what is deleted within a minute.
    let fleet = Fleet::start(host, dir, true, &[]).await?;
    let submitter = Submitter::new(&fleet.operator, repository::snapshot(dir, &fleet.operator).await?);
    let mut world = World { fleet, submitter, dir: dir.to_owned(), begun: 0 };
    for (name, commits) in [(role::BUILDER, true), (role::VERIFIER, false)] {
        let agents =
            Agents { role: role::id(name), count: AGENTS, pool: streams::fleet_pool(), think: Duration::ZERO, commits };
        world.fleet.start_agents(&agents)?;
    }
    let creds = world.archivist()?;
    let mut rows = Vec::new();
    for round in 1..=args.rounds {
        let flights = args.flights * round / args.rounds - args.flights * (round - 1) / args.rounds;
        host.say(&format!("round {round} of {}: {flights} flights", args.rounds));
        let flown = world.fly(flights).await?;
        let full = world.state().await?;
        host.say("archiving them");
        let (archived, export_bytes) = world.archive(flights, &creds).await?;
        let left = world.state().await?;
        let export_mib = mib(export_bytes);
        rows.push(FlightsRow {
            round,
            flights,
            flown_s: flown.as_secs_f64(),
            archived_s: archived.as_secs_f64(),
            export_mib,
            full,
            left,
        });
    }
    world.fleet.stop().await?;
    Ok(rows)
}

struct World {
    fleet: Fleet,
    submitter: Submitter,
    dir: PathBuf,
    /// Flights so far.
    begun: usize,
}

/// What `holdpoint archive --json` says.
#[derive(Deserialize)]
struct Archived {
    archived: Vec<One>,
}

#[derive(Deserialize)]
struct One {
    file_bytes: u64,
}

impl World {
    /// Begins flights, and waits until all of them have landed.
    async fn fly(&mut self, flights: usize) -> Result<Duration, BenchError> {
        let plan = submit::plan(1)?;
        let new: Result<Vec<_>, _> =
            (self.begun..self.begun + flights).map(|n| submit::flight_id("small", n)).collect();
        self.begun += flights;
        let (new, submitter, streams) = (new?, self.submitter.clone(), self.fleet.streams.clone());
        let begin = Instant::now();
        let (dir, operator) = (self.dir.clone(), self.fleet.operator.clone());
        let work = async {
            // It left with the flights before.
            repository::store(&dir, &operator).await?;
            let submits = new.into_iter().map(|flight| {
                let submit = submitter.flight(flight, plan.clone(), streams::fleet_pool(), None);
                let submitter = submitter.clone();
                async move { submitter.submit(&submit).await }
            });
            stream::iter(submits).buffer_unordered(REQUESTS).try_collect::<()>().await?;
            let (mut seen, mut since) = (0, Instant::now());
            loop {
                // Those of earlier rounds have left.
                let landed = streams.count(&subjects::journal_landings()).await?;
                if landed >= flights {
                    return Ok(begin.elapsed());
                }
                if landed > seen {
                    (seen, since) = (landed, Instant::now());
                } else if since.elapsed() > STANDSTILL {
                    return Err(BenchError::timed_out(
                        format!("{} more flights to land", flights - landed),
                        STANDSTILL,
                    ));
                }
                tokio::time::sleep(LOOK_EVERY).await;
            }
        };
        self.fleet.during(work).await
    }

    /// A key that may delete.
    fn archivist(&self) -> Result<PathBuf, BenchError> {
        const ACTION: &str = "make an archivist's key";
        let name = "archivist".parse().map_err(|_| "not a name").doing(ACTION)?;
        let path = self.dir.join("archivist.creds");
        self.fleet.local.authority.mint_archivist(&name, None).doing(ACTION)?.save(&path).doing(ACTION)?;
        Ok(path)
    }

    /// Archives everything; how long that took, and the bytes of the exports.
    async fn archive(&mut self, flights: usize, creds: &Path) -> Result<(Duration, u64), BenchError> {
        const ACTION: &str = "archive flights";
        let exe = std::env::current_exe().unwrap_or_else(|_| "/proc/self/exe".into());
        let to = self.dir.join("archive");
        let url = self.fleet.local.broker.url();
        let tool = Tool::new(exe).args(["archive", "--older-than", "1ms", "--grace", "1ms", "--json", "--nats", &url]);
        let tool = tool.arg("--creds").arg(creds).arg("--to").arg(&to).timeout(ARCHIVE_MAX).output_cap(OUTPUT_MAX);
        let begin = Instant::now();
        let output = self.fleet.during(async { tool.run().await.doing(ACTION) }).await?;
        let took = begin.elapsed();
        if !output.success() {
            return Err(BenchError::failed(ACTION, String::from_utf8_lossy(&output.stderr).trim().to_owned()));
        }
        let Archived { archived } = serde_json::from_slice(&output.stdout).doing(ACTION)?;
        if archived.len() != flights {
            return Err(BenchError::failed(ACTION, format!("{} of {flights} flights were archived", archived.len())));
        }
        // They are not to fill the disk.
        std::fs::remove_dir_all(&to).doing(ACTION)?;
        Ok((took, archived.iter().map(|one| one.file_bytes).sum()))
    }

    /// How the fleet stands.
    async fn state(&self) -> Result<FleetState, BenchError> {
        const ACTION: &str = "read what processes use up";
        let mut state = FleetState { stored_mib: mib(self.fleet.streams.held().await?), ..FleetState::default() };
        state.disk_mib = mib(disk(&self.dir.join("broker/store")).doing(ACTION)?);
        let mut of = BTreeMap::new();
        for name in ["orchestrator", "broker"] {
            let process = self.fleet.process(name).ok_or("it is not there").doing(ACTION)?;
            of.insert(name, (mib(process.rss().doing(ACTION)?), process.files().doing(ACTION)?));
        }
        (state.orchestrator_rss_mib, state.orchestrator_files) = of["orchestrator"];
        (state.broker_rss_mib, state.broker_files) = of["broker"];
        Ok(state)
    }
}

/// Bytes of all files below a folder. One that goes meanwhile counts for nothing.
fn disk(dir: &Path) -> std::io::Result<u64> {
    let mut bytes = 0;
    for entry in std::fs::read_dir(dir)?.flatten() {
        bytes += match entry.metadata() {
            Ok(known) if known.is_dir() => disk(&entry.path()).unwrap_or(0),
            Ok(known) => known.len(),
            Err(_) => 0,
        };
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_measured_is_refused_with_what_can() {
        let args = FlightsArgs { flights: 1_000, rounds: 5 };
        assert!(args.check().is_ok());
        for wrong in [
            FlightsArgs { flights: 0, ..args },
            FlightsArgs { rounds: 1, ..args },
            FlightsArgs { flights: 3, rounds: 4 },
            FlightsArgs { rounds: 101, ..args },
        ] {
            assert!(matches!(wrong.check(), Err(BenchError::Usage { .. })), "{wrong:?}");
        }
    }
}
