//! `submit`: handing a plan to a fleet that runs already.

use holdpoint_protocol::{ids::FlightId, journal::Fleet as FleetFacts, streams};
use holdpoint_runtime::config::Config;
use serde_json::json;

use super::{
    run::{facts, nothing_named},
    up::RunningFleet,
};
use crate::{
    args::{SubmitArgs, Work},
    failure::{Exit, Failure},
    output,
    preflight::{self, Ready},
    state::StateDir,
    target::{Remote, Target},
};

/// Begins a flight and prints its id.
pub(super) async fn submit(args: SubmitArgs) -> Result<Exit, Failure> {
    let work = Work::named(args.plan.as_ref(), &args.task).ok_or_else(nothing_named)?;
    let plan = preflight::read_work(work, &args.place.repo).await?;
    let config = Config::load(args.fleet.config.as_deref(), Vec::new())?;
    let remote = Remote::named(&args.place)?;
    let (ready, flight) = preflight::clear_elsewhere(plan, &args.place.repo).await?;
    let mut fleet = facts(&config, streams::fleet_pool(), None);
    if remote.is_none() {
        let state = StateDir::of(&ready.repo)?;
        let running = RunningFleet::find(&state).ok_or_else(|| {
            let message = format!("no fleet runs for the repository in {}", ready.repo.dir().display());
            let hint = "start one with `holdpoint up`, name one with --nats URL, or fly at once with `holdpoint run`";
            Failure::environment("no_fleet", message, hint)
        })?;
        fleet.repair = running.repair;
        fleet.judge = running.judge;
        fleet.advisors = running.advisors;
    }
    preflight::warn(&preflight::unjudged(&ready.plan, fleet.judge, work.file()));
    begin(&args, ready, &flight, fleet).await?;
    if args.json {
        output::json(&json!({"flight": flight}));
    } else {
        output::out(flight.as_str());
    }
    Ok(Exit::Success)
}

async fn begin(args: &SubmitArgs, ready: Ready, flight: &FlightId, fleet: FleetFacts) -> Result<(), Failure> {
    let target = Target::for_person(&args.place, None).await?;
    target.serve(async |client| ready.submit(client, flight, fleet).await).await
}
