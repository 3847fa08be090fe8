//! A flight with agents of its own, of which a part is measured.

use std::time::{Duration, Instant};

use holdpoint_protocol::{
    artifact::Disposition,
    ids::{FlightId, RoleId, role},
    plan::Plan,
    streams,
    workflow::WorkflowSpec,
};

use crate::{
    BenchError,
    error::Doing as _,
    fleet::{Agents, Fleet},
    streams::Decisions,
    submit::Submitter,
    usage::{ProcessUsage, Snapshot},
};

/// How long a decision may take.
const PATIENCE: Duration = Duration::from_secs(120);

/// What to fly.
#[derive(Debug, Clone)]
pub(crate) struct Course {
    pub(crate) flight: FlightId,
    /// At least as many waypoints as are decided before and during the measurement.
    pub(crate) plan: Plan,
    /// The workflows of the plan that are not built in.
    pub(crate) workflows: Vec<WorkflowSpec>,
    /// Decisions before the measurement begins.
    pub(crate) warm_up: usize,
    /// Decisions that are measured.
    pub(crate) waypoints: usize,
    /// How many waypoints are open at once.
    pub(crate) parallel: usize,
    /// The flight's agents.
    pub(crate) crews: Vec<Crew>,
}

/// Agents of one role.
#[derive(Debug, Clone)]
pub(crate) struct Crew {
    pub(crate) role: RoleId,
    pub(crate) agents: usize,
    /// How long each thinks about a turn.
    pub(crate) think: Duration,
}

/// What was measured.
#[derive(Debug)]
pub(crate) struct Measured {
    pub(crate) wall: Duration,
    pub(crate) usage: Vec<ProcessUsage>,
    /// Entries that were appended meanwhile to journals of waypoints.
    pub(crate) entries: u64,
}

impl Crew {
    /// Builders and verifiers. The builders think so long about a turn.
    pub(crate) fn of_fly(builders: usize, verifiers: usize, think: Duration) -> Vec<Self> {
        let crew = |name, agents, think| Self { role: role::id(name), agents, think };
        vec![crew(role::BUILDER, builders, think), crew(role::VERIFIER, verifiers, Duration::ZERO)]
    }
}

/// Flies it; its agents are gone afterwards.
pub(crate) async fn fly(fleet: &mut Fleet, submitter: &Submitter, course: &Course) -> Result<Measured, BenchError> {
    let Course { flight, plan, workflows, warm_up, waypoints, parallel, crews } = course;
    let mut decisions = fleet.streams.decisions().await?;
    let pool = streams::flight_pool(flight);
    let parallel = u32::try_from(*parallel).unwrap_or(u32::MAX);
    let mut submit = submitter.flight(flight.clone(), plan.clone(), pool.clone(), Some(parallel));
    submit.workflows.clone_from(workflows);
    fleet.during(submitter.submit(&submit)).await?;
    // After the submission: the consumers that they pull from are made with it.
    for Crew { role, agents, think } in crews {
        let count = u32::try_from(*agents).unwrap_or(u32::MAX);
        fleet.start_agents(&Agents { role: role.clone(), count, pool: pool.clone(), think: *think, commits: false })?;
    }
    let streams = fleet.streams.clone();
    let processes = fleet.processes();
    let work = async {
        const ACTION: &str = "read what processes use up";
        accepted(&mut decisions, flight, *warm_up).await?;
        let entries = streams.journal_entries().await?;
        let (begin, before) = (Instant::now(), Snapshot::take(&processes).doing(ACTION)?);
        accepted(&mut decisions, flight, *waypoints).await?;
        let (wall, usage) = (begin.elapsed(), before.since().doing(ACTION)?);
        Ok(Measured { wall, usage, entries: streams.journal_entries().await?.saturating_sub(entries) })
    };
    let measured = fleet.during(work).await?;
    for crew in crews {
        fleet.kill(&format!("{}s", crew.role)).await?;
    }
    Ok(measured)
}

/// Waits until so many more waypoints of the flight are accepted.
async fn accepted(decisions: &mut Decisions, flight: &FlightId, count: usize) -> Result<(), BenchError> {
    let mut left = count;
    while left > 0 {
        let next = tokio::time::timeout(PATIENCE, decisions.next()).await;
        let next = next.map_err(|_| BenchError::timed_out("a decision on a waypoint".to_owned(), PATIENCE))?;
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
