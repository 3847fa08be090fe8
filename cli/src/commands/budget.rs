//! `budget`: raises limits, and has work tried again that was held because of them.

use holdpoint_protocol::{
    api::ActRefused,
    artifact::{Act, ActCode, Budget, BudgetBody, Retry, RetryBody, Verb},
    budget::{Amounts, Raise},
    ids::{FlightId, WaypointId},
    reason::ReasonCode,
    view::{FlightView, WaypointView},
};

use super::act::report;
use crate::{
    args::budget::BudgetArgs,
    client::Client,
    failure::{Exit, Failure},
    output,
    people::{
        act::{About, perform},
        find,
    },
    target::Target,
};

/// Raises limits.
pub(super) async fn budget(args: BudgetArgs) -> Result<Exit, Failure> {
    let acting = &args.acting;
    let target = Target::for_person(&acting.place, acting.person.as_ref()).await?;
    let local = target.fleet.is_some();
    let (waypoint, view) = target.serve(async |client| raise(client, &args).await).await?;
    let about = About { flight: view.flight.clone(), waypoint };
    report(acting, Verb::Budget, &about, &view, local).await
}

async fn raise(client: &Client, args: &BudgetArgs) -> Result<(Option<WaypointId>, FlightView), Failure> {
    let (flight, waypoint) = meant(client, args).await?;
    let about = About { flight: flight.clone(), waypoint: None };
    let add = Amounts {
        tokens: args.tokens.unwrap_or_default(),
        cost_micro_usd: args.cost_usd.unwrap_or_default(),
        tool_calls: args.tool_calls.unwrap_or_default(),
        output_bytes: args.output.unwrap_or_default(),
        wall_ms: args.wall.unwrap_or_default().saturating_mul(1_000),
    };
    let agent = client.bus().name().clone();
    let raise = Raise { waypoint: waypoint.clone(), add };
    let body = BudgetBody { agent: agent.clone(), raise };
    perform(client, &about, &Act::Budget(Box::new(Budget::new(about.origin(), body)))).await?;
    let view = client.status(&flight).await?;
    let held = |known: &&WaypointView| {
        known.reason_code == Some(ReasonCode::BudgetExhausted)
            && known.actions.contains(&Verb::Retry)
            && waypoint.as_ref().is_none_or(|meant| *meant == known.id)
    };
    for held in view.waypoints.iter().filter(held) {
        let about = About { flight: flight.clone(), waypoint: Some(held.id.clone()) };
        let body = RetryBody { agent: agent.clone(), on: None, from: None, reworks: 0, note: None };
        match perform(client, &about, &Act::Retry(Box::new(Retry::new(about.origin(), body)))).await {
            // The limit is raised all the same, and another one is in the way.
            Err(Failure::Act(refused)) if refused.code == ActCode::Over => {
                let ActRefused { message, hint, .. } = *refused;
                output::err(&format!("raised, but {} is not tried again: {message}\n hint: {hint}", held.id));
                break;
            }
            other => drop(other?),
        }
    }
    Ok((waypoint, client.status(&flight).await?))
}

/// The flight, or the waypoint with its flight, that is meant.
async fn meant(client: &Client, args: &BudgetArgs) -> Result<(FlightId, Option<WaypointId>), Failure> {
    if let Some(flight) = &args.flight {
        let (flight, waypoint) = find::flight_with(client, Some(flight), &args.target).await?;
        return Ok((flight, Some(waypoint)));
    }
    let flight = FlightId::try_new(args.target.as_str()).expect("both ids have the same form");
    if client.flights().await?.iter().any(|line| line.flight == flight) {
        return Ok((flight, None));
    }
    if flight.as_str() == find::LATEST {
        return Ok((find::known(client, &flight).await?.flight, None));
    }
    // A flight's id begins as its plan is called, and so may a waypoint be.
    match find::newest_with(client, &args.target).await {
        Ok((flight, waypoint)) => Ok((flight, Some(waypoint))),
        Err(no_waypoint) => find::known(client, &flight).await.map(|view| (view.flight, None)).map_err(|_| no_waypoint),
    }
}
