//! What fails at the moment and is tried again: remembered only to be shown (`FlightView::trouble`).
//!
//! Nothing is decided by it, and nothing is retried here. It begins again with the actor, as the failures do.

use std::{collections::BTreeMap, time::Duration};

use holdpoint_protocol::{
    Timestamp,
    ids::{TurnId, WaypointId},
    view::Trouble,
};

/// The longest message, in characters: an error's chain may carry a program's whole output.
const MESSAGE_LEN_MAX: usize = 2_000;
/// An agent that has not failed again for so long works: longer than it pauses before it tries again.
const AGENT_QUIET: Duration = Duration::from_secs(120);

/// A turn that only the wrong agents ask for is shown as trouble after so long: the others may be busy.
const OTHERS_PATIENCE: Duration = Duration::from_secs(30);

/// What fails. What succeeds at the same place clears it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Place {
    /// Doing what is due: of one waypoint, or whatever it is of a flight that cannot be read.
    Due(Option<WaypointId>),
    /// Making or journalling a landing or a merge.
    Landing(WaypointId),
    /// Taking a handoff of this waypoint.
    Handoff(WaypointId),
    /// An agent's own part: it gave the turn back.
    Turn(WaypointId, TurnId),
    /// Only agents that must not take the turn ask for it.
    Others(WaypointId, TurnId),
}

impl Place {
    fn waypoint(&self) -> Option<&WaypointId> {
        match self {
            Self::Due(waypoint) => waypoint.as_ref(),
            Self::Landing(waypoint) | Self::Handoff(waypoint) | Self::Turn(waypoint, _) | Self::Others(waypoint, _) => {
                Some(waypoint)
            }
        }
    }
}

/// Everything that fails at the moment.
#[derive(Debug, Default)]
pub(super) struct Troubles(BTreeMap<Place, Trouble>);

impl Troubles {
    /// It failed, perhaps not for the first time.
    pub(super) fn failed(&mut self, place: Place, error: &str, now: Timestamp) {
        let waypoint = place.waypoint().cloned();
        let trouble = self.0.entry(place).or_insert_with(|| Trouble {
            waypoint,
            message: String::new(),
            since: now,
            last: now,
            failures: 0,
        });
        trouble.last = now;
        trouble.failures = trouble.failures.saturating_add(1);
        trouble.message = error.replace(['\r', '\n'], " ").chars().take(MESSAGE_LEN_MAX).collect();
    }

    /// It went well.
    pub(super) fn went_well(&mut self, place: &Place) {
        self.0.remove(place);
    }

    /// What is to be shown: troubles at places that still matter. The others are forgotten.
    pub(super) fn shown(&mut self, now: Timestamp, matters: impl Fn(&Place) -> bool) -> Vec<Trouble> {
        let worked_since = |place: &Place, t: &Trouble| {
            matches!(place, Place::Turn(..) | Place::Others(..)) && now.since(t.last) > AGENT_QUIET
        };
        self.0.retain(|place, trouble| matters(place) && !worked_since(place, trouble));
        let lasts = |(place, trouble): &(&Place, &Trouble)| {
            !matches!(place, Place::Others(..)) || now.since(trouble.since) > OTHERS_PATIENCE
        };
        self.0.iter().filter(lasts).map(|(_, trouble)| trouble.clone()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_millis(seconds * 1_000)
    }

    fn waypoint() -> WaypointId {
        "w".parse().unwrap()
    }

    #[test]
    fn repeated_failures_are_one_trouble_with_the_first_time_and_the_last_words() {
        let mut troubles = Troubles::default();
        let place = Place::Landing(waypoint());
        troubles.failed(place.clone(), "no blob", at(1));
        troubles.failed(place.clone(), "disk\nfull", at(2));
        let message = "disk full".to_owned();
        let expected = Trouble { waypoint: Some(waypoint()), message, since: at(1), last: at(2), failures: 2 };
        assert_eq!(troubles.shown(at(2), |_| true), [expected]);
        troubles.went_well(&Place::Due(None));
        assert_eq!(troubles.shown(at(2), |_| true).len(), 1, "another place went well");
        troubles.went_well(&place);
        assert_eq!(troubles.shown(at(2), |_| true), []);
    }

    #[test]
    fn what_does_not_matter_any_more_is_forgotten() {
        let mut troubles = Troubles::default();
        troubles.failed(Place::Turn(waypoint(), "t".parse().unwrap()), "disk full", at(1));
        troubles.failed(Place::Due(None), "no broker", at(1));
        let left = troubles.shown(at(2), |place| *place == Place::Due(None));
        assert_eq!(left.iter().map(|t| t.message.as_str()).collect::<Vec<_>>(), ["no broker"]);
        assert_eq!(troubles.shown(at(2), |_| true), left);
    }

    #[test]
    fn an_agent_that_does_not_fail_again_has_no_trouble_any_more() {
        let mut troubles = Troubles::default();
        troubles.failed(Place::Turn(waypoint(), "t".parse().unwrap()), "disk full", at(1));
        troubles.failed(Place::Due(None), "no broker", at(1));
        assert_eq!(troubles.shown(at(121), |_| true).len(), 2);
        assert_eq!(troubles.shown(at(122), |_| true).len(), 1);
    }

    #[test]
    fn a_turn_that_only_its_maker_asks_for_is_trouble_once_that_lasts() {
        let mut troubles = Troubles::default();
        let place = Place::Others(waypoint(), "t".parse().unwrap());
        troubles.failed(place.clone(), "b1 made the work", at(1));
        assert_eq!(troubles.shown(at(31), |_| true), [], "another agent may be busy");
        troubles.failed(place.clone(), "b1 made the work", at(32));
        assert_eq!(troubles.shown(at(32), |_| true).len(), 1);
        troubles.went_well(&place);
        assert_eq!(troubles.shown(at(33), |_| true), [], "another agent took it");
    }
}
