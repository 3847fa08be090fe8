//! `submit`: handing a plan to a fleet that runs already.

use std::path::Path;

use holdpoint_protocol::{ids::FlightId, journal::Fleet, streams};
use holdpoint_runtime::config::Config;
use serde_json::json;

use super::run::{facts, nothing_named};
use crate::{
    args::{SubmitArgs, Work},
    client::Client,
    failure::{Exit, Failure},
    flight_id, ground, output, preflight,
    ready::{Planned, Ready},
    running_fleet::RunningFleet,
    target::{Remote, Target},
};

/// Begins a flight and prints its id.
pub(super) async fn submit(args: SubmitArgs) -> Result<Exit, Failure> {
    let work = Work::named(args.plan.as_ref(), &args.task).ok_or_else(nothing_named)?;
    let plan = preflight::read_work(work, &args.place.repo, None).await?;
    let config = Config::load(args.fleet.config.as_deref(), Vec::new())?;
    let is_local = Remote::named(&args.place)?.is_none();
    let (ready, flight) = preflight::clear_elsewhere(plan, &args.place.repo).await?;
    let fleet = fleet_facts(&config, &ready, is_local, work.file()).await?;
    preflight::warn(&preflight::unjudged(&ready.plan, fleet.judge, work.file()));
    preflight::warn(&preflight::loose(&ready.plan, work.file()));
    preflight::warn(&preflight::base_warnings(&ready, work.file()).await?);
    begin(&args, ready, &flight, fleet).await?;
    if args.json {
        output::json(&json!({"flight": flight}));
    } else {
        output::out(flight.as_str());
    }
    Ok(Exit::Success)
}

/// What the fleet has: the local one says it, of one elsewhere the configuration does. Refuses what the local one lacks.
async fn fleet_facts(config: &Config, ready: &Ready, is_local: bool, file: Option<&Path>) -> Result<Fleet, Failure> {
    let mut fleet = facts(config, streams::fleet_pool(), None);
    if is_local {
        let state = ground::state(&ready.repo).await?;
        let running = RunningFleet::find(&state).ok_or_else(|| {
            let message = format!("no fleet runs for the repository in {}", ready.repo.dir().display());
            let hint = "start one with `holdpoint up`, name one with --nats URL, or fly at once with `holdpoint run`";
            Failure::environment("no_fleet", message, hint)
        })?;
        preflight::check_network(&ready.plan, running.network, file)?;
        fleet.repair = running.repair;
        fleet.judge = running.judge;
        fleet.advisors = running.advisors;
    }
    Ok(fleet)
}

/// Begins a flight over a connection that is there.
pub(crate) async fn hand_in(client: &Client, plan: Planned, repo: &Path, is_local: bool) -> Result<FlightId, Failure> {
    let flight = flight_id::fresh(&plan.plan.plan);
    hand_in_as(client, plan, repo, is_local, &flight).await?;
    Ok(flight)
}

/// The same of a flight that has its id: done again, it changes nothing.
pub(crate) async fn hand_in_as(
    client: &Client,
    plan: Planned,
    repo: &Path,
    is_local: bool,
    flight: &FlightId,
) -> Result<(), Failure> {
    let config = Config::load(None, Vec::new())?;
    let ready = preflight::clear_as(plan, repo, flight).await?;
    let fleet = fleet_facts(&config, &ready, is_local, None).await?;
    ready.submit(client, flight, fleet).await
}

async fn begin(args: &SubmitArgs, ready: Ready, flight: &FlightId, fleet: Fleet) -> Result<(), Failure> {
    let target = Target::for_person(&args.place, None).await?;
    target.serve(async |client| ready.submit(client, flight, fleet).await).await
}
