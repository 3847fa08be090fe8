//! Deadlines that have passed, and the answers that met them: what was stored in time counts, whenever somebody comes to look at it.
//!
//! Which handoffs are still to be looked at, and for how long a deadline waits for them, is the caller's.

use holdpoint_protocol::{
    Timestamp,
    ids::{RoleId, TurnId, WaypointId, role},
    names::answers_turn,
    state::Phase,
    subjects::HandedSubject,
};

use super::Due;
use crate::state::{FlightState, Waypoints};

/// A deadline that has passed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Passed {
    /// Of which waypoint.
    pub waypoint: WaypointId,
    /// Of which turn, and whose it is; `None`: people did not answer a question.
    pub turn: Option<(RoleId, TurnId)>,
    /// When it was.
    pub at: Timestamp,
}

impl Passed {
    /// The deadline by which this is due; `None` where it is due for another reason.
    #[must_use]
    pub fn of(due: &Due, flight: &FlightState, waypoints: &Waypoints, now: Timestamp) -> Option<Self> {
        match due {
            Due::Deadline(waypoint, turn) => {
                let open = waypoints.get(waypoint)?.open_turn(turn)?;
                let turn = Some((open.role.clone(), turn.clone()));
                Some(Self { waypoint: waypoint.clone(), turn, at: flight.deadline_of(open, now) })
            }
            Due::Unanswered(waypoint) => {
                let asked = waypoints.get(waypoint)?.phases().filter_map(|phase| match phase {
                    Phase::Waiting(question) => Some(flight.shifted(question.deadline?, question.since, now)),
                    _ => None,
                });
                let at = asked.filter(|deadline| *deadline <= now).max()?;
                Some(Self { waypoint: waypoint.clone(), turn: None, at })
            }
            _ => None,
        }
    }

    /// Whether a handoff on the waypoint came in time, and may be what was waited for: an act, or a result that names the turn.
    #[must_use]
    pub fn is_met_by(&self, subject: &HandedSubject, stored: Timestamp, payload: &[u8]) -> bool {
        let is_act = subject.role.as_str() == role::OPERATOR;
        // Names of turns are text in every encoding, and nobody can guess one.
        let names = |turn: &TurnId| payload.windows(turn.as_str().len()).any(|part| part == turn.as_str().as_bytes());
        let is_result = || answers_turn(&subject.kind) && self.turn.as_ref().is_some_and(|(_, turn)| names(turn));
        stored <= self.at && (is_act || is_result())
    }
}

#[cfg(test)]
mod tests {
    use holdpoint_protocol::subjects;

    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_millis(seconds * 1_000)
    }

    fn subject(by: &str, kind: &str) -> HandedSubject {
        let subject = subjects::handoff(&by.parse().unwrap(), &"f".parse().unwrap(), &"w".parse().unwrap(), kind);
        subjects::parse_handed(&subject).unwrap()
    }

    #[test]
    fn acts_and_results_that_name_the_turn_meet_its_deadline_if_they_were_stored_by_then() {
        let turn: TurnId = "t-1".parse().unwrap();
        let of_turn = |turn| Passed { waypoint: "w".parse().unwrap(), turn, at: at(10) };
        let (agents, peoples) = (of_turn(Some(("builder".parse().unwrap(), turn))), of_turn(None));
        let rows = [
            ("builder", "build_artifact", 10, "{\"turn\":\"t-1\"}", (true, false)),
            ("builder", "build_artifact", 11, "{\"turn\":\"t-1\"}", (false, false)),
            ("builder", "build_artifact", 9, "{\"turn\":\"t-2\"}", (false, false)),
            ("builder", "build_plan", 9, "{\"turn\":\"t-1\"}", (false, false)),
            ("builder", "status_update", 9, "{\"turn\":\"t-1\"}", (false, false)),
            ("operator", "completion", 9, "{}", (true, true)),
            ("operator", "completion", 11, "{}", (false, false)),
        ];
        for (by, kind, stored, payload, met) in rows {
            let by_both =
                [&agents, &peoples].map(|passed| passed.is_met_by(&subject(by, kind), at(stored), payload.as_bytes()));
            assert_eq!((by_both[0], by_both[1]), met, "{by} {kind} {stored} {payload}");
        }
    }
}
