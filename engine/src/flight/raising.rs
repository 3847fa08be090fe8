//! A person raises the limits of a flight, or of one of its waypoints.

use holdpoint_protocol::{
    Timestamp,
    artifact::{ActCode, Budget, Verb},
    budget::{Limits, Raise},
    journal::{Cause, Record, Steered},
    version,
    view::FlightStatus,
};

use super::flight_status;
use crate::{
    budget,
    state::{FlightState, Waypoints},
    waypoint::Refusal,
};

/// Raises of one flight's limits, at most: each is in the flight's journal for ever.
pub const RAISES_MAX: usize = 1_000;

/// Takes a raise of limits: the entry that journals it.
///
/// # Errors
/// [`Refusal::Act`]: what is wrong with it.
pub fn raise(
    flight: &FlightState,
    waypoints: &Waypoints,
    act: &Budget,
    cause: &Cause,
    now: Timestamp,
) -> Result<Steered, Refusal> {
    let id = &flight.submitted.flight;
    let refuse = |code, message: String, hint: &str| Err(Refusal::act(code, message, hint));
    let plan = &flight.submitted.plan;
    if let Some((who, _)) = &flight.steering.cancelled {
        return refuse(ActCode::Over, format!("flight {id} was cancelled by {who}"), "submit the plan again");
    }
    if flight_status(flight, waypoints) == FlightStatus::Accepted {
        return refuse(ActCode::Over, format!("flight {id} is accepted"), "there is nothing left to do");
    }
    let Raise { waypoint, add } = &act.raise;
    let limited = match waypoint {
        None => Limits { wall_ms: plan.budget.wall.map(|wall| wall.0), ..budget::of_flight(&plan.budget) },
        Some(waypoint) => match flight.planned(waypoint) {
            Some(planned) => budget::of_turn(&planned.budget).min(planned.budget.total),
            None => {
                let message = format!("there is no waypoint {waypoint} in flight {id}");
                return refuse(ActCode::NothingOpen, message, "`holdpoint status` lists them");
            }
        },
    };
    if add.is_zero() {
        return refuse(ActCode::Invalid, "nothing is raised".to_owned(), "say by how much, such as `--cost-usd +5`");
    }
    if limited.to_list().into_iter().zip(add.to_list()).any(|(limit, add)| limit.is_none() && add > 0) {
        let what = waypoint.as_ref().map_or_else(|| format!("flight {id}"), |waypoint| format!("waypoint {waypoint}"));
        let message = format!("the plan does not limit that for {what}: there is nothing to raise");
        return refuse(ActCode::Invalid, message, "`holdpoint cost` shows what is limited");
    }
    if flight.budget.raises.len() >= RAISES_MAX {
        let message = format!("the limits of a flight can be raised {RAISES_MAX} times");
        return refuse(ActCode::Invalid, message, "raise them by more at once in the next flight");
    }
    Ok(Steered {
        schema_version: version::CURRENT,
        verb: Verb::Budget,
        by: act.agent.clone(),
        workflows: Vec::new(),
        raised: Some(act.raise.clone()),
        record: Record { cause: Some(cause.clone()), ..Record::at(now) },
    })
}
