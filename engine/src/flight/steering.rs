//! What people do to a flight as a whole: pause, resume, cancel. Its state is the fold of the flight's own journal.

use std::time::Duration;

use holdpoint_protocol::{
    Timestamp,
    artifact::{ActCode, Verb},
    ids::AgentName,
    journal::{Cause, Record, Steered},
    version,
    view::FlightStatus,
};

use super::{FlightState, Waypoints, flight_status};
use crate::waypoint::Refusal;

/// Pauses of one flight, at most: each is in the flight's journal for ever.
const PAUSES_MAX: usize = 1_000;

/// How people steered a flight.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Steering {
    /// From when to when it was paused; the last one may have no end yet.
    pauses: Vec<(Timestamp, Option<Timestamp>)>,
    /// Who ended it, by which act.
    pub cancelled: Option<(AgentName, Cause)>,
}

impl Steering {
    /// Takes an entry in.
    pub fn take(&mut self, steered: &Steered) {
        let at = steered.record.at;
        match (steered.verb, self.pauses.last_mut()) {
            (Verb::Cancel, _) => {
                let cause = steered.record.cause.clone();
                self.cancelled = self.cancelled.take().or_else(|| Some((steered.by.clone(), cause?)));
            }
            (Verb::Resume, Some((_, end @ None))) => *end = Some(at),
            (Verb::Pause, None | Some((_, Some(_)))) => self.pauses.push((at, None)),
            _ => {}
        }
    }

    /// Whether no turn opens and no deadline fires. A cancelled flight is over, and no longer paused.
    #[must_use]
    pub fn is_paused(&self) -> bool {
        self.cancelled.is_none() && self.pauses.last().is_some_and(|(_, end)| end.is_none())
    }

    /// How long it was paused between two times.
    #[must_use]
    pub fn paused_between(&self, since: Timestamp, now: Timestamp) -> Duration {
        let within = |(begin, end): &(Timestamp, Option<Timestamp>)| {
            let (begin, end) = ((*begin).max(since), end.unwrap_or(now).min(now));
            if end > begin { end.since(begin) } else { Duration::ZERO }
        };
        self.pauses.iter().map(within).sum()
    }
}

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
