//! A flight with agents of its own, of which a part is measured.

use std::time::{Duration, Instant};

use holdpoint_protocol::{artifact::Disposition, ids::FlightId, ids::role, streams};

use crate::{
    BenchError,
    error::Doing as _,
    fleet::{Agents, Fleet},
    streams::Decisions,
    submit::{self, Submitter},
    usage::{Snapshot, Usage},
};

/// How long a decision may take.
const PATIENCE: Duration = Duration::from_secs(120);

/// What to fly.
#[derive(Debug, Clone)]
pub(super) struct Course {
    pub(super) flight: FlightId,
    /// Decisions before the measurement begins.
    pub(super) warm_up: usize,
    /// Decisions that are measured.
    pub(super) waypoints: usize,
    /// How many waypoints are open at once.
    pub(super) parallel: usize,
    pub(super) builders: usize,
    pub(super) verifiers: usize,
    /// How long a builder thinks about a turn.
    pub(super) think: Duration,
}

/// What was measured.
#[derive(Debug)]
pub(super) struct Measured {
    pub(super) wall: Duration,
    pub(super) usage: Vec<Usage>,
}

/// Flies it; its agents are gone afterwards.
pub(super) async fn fly(fleet: &mut Fleet, submitter: &Submitter, course: &Course) -> Result<Measured, BenchError> {
    let Course { flight, warm_up, waypoints, parallel, builders, verifiers, think } = course;
    let mut decisions = fleet.streams.decisions().await?;
    let pool = streams::flight_pool(flight);
    let plan = submit::plan(warm_up + waypoints)?;
    let parallel = u32::try_from(*parallel).unwrap_or(u32::MAX);
    let submit = submitter.flight(flight.clone(), plan, pool.clone(), Some(parallel));
    fleet.during(submitter.submit(&submit)).await?;
    // After the submission: the consumers that they pull from are made with it.
    let crews = [(role::BUILDER, *builders, *think), (role::VERIFIER, *verifiers, Duration::ZERO)];
    for (name, count, think) in crews {
        let count = u32::try_from(count).unwrap_or(u32::MAX);
        fleet.start_agents(&Agents { role: role::id(name), count, pool: pool.clone(), think })?;
    }
    let processes = fleet.processes();
    let work = async {
        const ACTION: &str = "read what processes use up";
        accepted(&mut decisions, flight, *warm_up).await?;
        let (begin, before) = (Instant::now(), Snapshot::take(&processes).doing(ACTION)?);
        accepted(&mut decisions, flight, *waypoints).await?;
        Ok(Measured { wall: begin.elapsed(), usage: before.since().doing(ACTION)? })
    };
    let measured = fleet.during(work).await?;
    for (name, ..) in crews {
        fleet.kill(&format!("{name}s")).await?;
    }
    Ok(measured)
}

/// Waits until so many more waypoints of the flight are accepted.
async fn accepted(decisions: &mut Decisions, flight: &FlightId, count: usize) -> Result<(), BenchError> {
    let mut left = count;
    while left > 0 {
        let next = tokio::time::timeout(PATIENCE, decisions.next()).await;
        let what = || "a decision on a waypoint".to_owned();
        let next = next.map_err(|_| BenchError::TimedOut { what: what(), seconds: PATIENCE.as_secs() })?;
        let (key, disposition) = next?;
        if &key.flight != flight {
            continue;
        }
        if disposition != Disposition::Accept {
            return Err(BenchError::NotAccepted { flight: flight.to_string(), found: disposition.to_string() });
        }
        left -= 1;
    }
    Ok(())
}
