//! A person pauses a flight, lets it go on, or ends it.

use holdpoint_protocol::{
    Timestamp,
    artifact::{ActCode, Verb},
    ids::AgentName,
    journal::{Cause, Record, Steered},
    version,
    view::FlightStatus,
};

use super::flight_status;
use crate::{
    state::{FlightState, Waypoints},
    waypoint::Refusal,
};

/// Pauses of one flight, at most: each is in the flight's journal for ever.
const PAUSES_MAX: usize = 1_000;

/// Takes an act on the whole flight: the entry that journals it, `None` if it was taken already.
///
/// # Errors
/// [`Refusal::Act`]: what happened instead.
pub fn steer(
    flight: &FlightState,
    waypoints: &Waypoints,
    verb: Verb,
    by: &AgentName,
    cause: &Cause,
    now: Timestamp,
) -> Result<Steered, Refusal> {
    let id = &flight.submitted.flight;
    let refuse = |code, message: String, hint: &str| Err(Refusal::act(code, message, hint));
    let is_paused = flight.steering.is_paused();
    if let Some((who, _)) = &flight.steering.cancelled {
        return refuse(ActCode::Over, format!("flight {id} was cancelled by {who}"), "submit the plan again");
    }
    let over = flight_status(flight, waypoints) == FlightStatus::Accepted;
    match verb {
        _ if over => refuse(ActCode::Over, format!("flight {id} is accepted"), "there is nothing left to do"),
        Verb::Pause if is_paused => {
            refuse(ActCode::AnswerLate, format!("flight {id} is paused already"), "`holdpoint resume` lets it go on")
        }
        Verb::Pause if flight.steering.pauses.len() >= PAUSES_MAX => {
            refuse(ActCode::Invalid, format!("a flight can be paused {PAUSES_MAX} times"), "let it go on, or cancel it")
        }
        Verb::Resume if !is_paused => {
            refuse(ActCode::NothingOpen, format!("flight {id} is not paused"), "`holdpoint status` shows how it stands")
        }
        Verb::Pause | Verb::Resume | Verb::Cancel => Ok(Steered {
            schema_version: version::CURRENT,
            verb,
            by: by.clone(),
            workflows: Vec::new(),
            raised: None,
            record: Record { cause: Some(cause.clone()), ..Record::at(now) },
        }),
        // It carries what it is about: `reconfigure` takes it.
        Verb::Answer
        | Verb::Approve
        | Verb::Reject
        | Verb::Retry
        | Verb::Take
        | Verb::Release
        | Verb::HandIn
        | Verb::Reconfigure
        | Verb::Revise
        | Verb::Budget => refuse(
            ActCode::Invalid,
            format!("`{}` is about a waypoint, not about a whole flight", verb.as_str()),
            "name the waypoint",
        ),
    }
}
