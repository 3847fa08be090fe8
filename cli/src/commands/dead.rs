//! `dead`: turns that kill their agents, listed and tried again.

use holdpoint_protocol::{api::DeadTurn, ids::FlightId};
use holdpoint_text::units;

use crate::{
    args::dead::{DeadAction, DeadArgs, DeadListArgs},
    client::Client,
    failure::{Exit, Failure},
    output,
    people::find,
    target::Target,
};

/// Lists or retries.
pub(super) async fn dead(args: DeadArgs) -> Result<Exit, Failure> {
    match args.action {
        DeadAction::List(args) => list(args).await,
        DeadAction::Retry(args) => super::act::retry(args.into()).await,
    }
}

async fn list(args: DeadListArgs) -> Result<Exit, Failure> {
    let turns = match Target::find(&args.place).await? {
        Some(target) => target.serve(async |client| listed(client, args.flight.as_ref()).await).await?,
        None => Vec::new(),
    };
    if args.json {
        output::json(&turns);
    } else if turns.is_empty() {
        output::out("no turn is dead");
    } else {
        turns.iter().for_each(|turn| output::out(&readable(turn)));
    }
    Ok(Exit::Success)
}

async fn listed(client: &Client, flight: Option<&FlightId>) -> Result<Vec<DeadTurn>, Failure> {
    let flight = match flight {
        Some(named) => Some(find::known(client, named).await?.flight),
        None => None,
    };
    Ok(client.dead(flight.as_ref()).await?)
}

fn readable(turn: &DeadTurn) -> String {
    let DeadTurn { flight, waypoint, role, since, deaths, overdue, .. } = turn;
    let why = if deaths.is_empty() {
        format!("nobody answered it in time, {} times", overdue.saturating_add(1))
    } else {
        let agents: Vec<&str> = deaths.iter().map(|death| death.agent.as_str()).collect();
        format!("died of it: {}", agents.join(", "))
    };
    format!("{}  {flight}  {waypoint}  {role}  {why}", units::seconds(*since))
}
