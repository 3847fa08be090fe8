//! Flights that this orchestrator saw to be over: a scan has nothing to read of one to which nothing was appended since. And those
//! that the last checkpoint took for open without a look, because they were in memory: the next one looks.
//!
//! A memory of what the journals say, bounded and never needed: what is not in it is read.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::{Mutex, MutexGuard, PoisonError},
};

use holdpoint_protocol::{
    ids::{FlightId, WaypointId},
    journal::Sequence,
};

/// Journals whose ends are remembered, at most: more than come to an end between two checkpoints.
const JOURNALS_MAX: usize = 200_000;

/// Where journals of one flight end; its own is `None`.
pub(crate) type Ends = BTreeMap<Option<WaypointId>, Sequence>;

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Ended(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    flights: HashMap<FlightId, Ends>,
    journals: usize,
    believed: HashSet<FlightId>,
}

impl Ended {
    /// It is over, or gone, by its journals up to these ends.
    pub(crate) fn saw(&self, flight: &FlightId, ends: Ends) {
        let mut known = self.known();
        if let Some(before) = known.flights.remove(flight) {
            known.journals -= before.len();
        }
        if known.journals + ends.len() <= JOURNALS_MAX {
            known.journals += ends.len();
            known.flights.insert(flight.clone(), ends);
        }
    }

    /// Whether it is known to be over, where these of its journals end there and the others have nothing new.
    pub(crate) fn is_over(&self, flight: &FlightId, ends: &Ends) -> bool {
        let known = self.known();
        let seen = |known: &Ends| ends.iter().all(|(of, end)| known.get(of).is_some_and(|seen| seen >= end));
        !ends.is_empty() && known.flights.get(flight).is_some_and(seen)
    }

    /// Whether the last checkpoint took it for open without a look.
    pub(crate) fn is_believed(&self, flight: &FlightId) -> bool {
        self.known().believed.contains(flight)
    }

    /// These journals are others than before: nothing is known of them.
    pub(crate) fn forget(&self) {
        *self.known() = Known::default();
    }

    /// A checkpoint says as much of what was appended up to there, and took these flights for open without a look.
    pub(crate) fn noted(&self, until: Sequence, believed: HashSet<FlightId>) {
        let mut known = self.known();
        known.believed = believed;
        known.flights.retain(|_, ends| ends.values().any(|end| *end > until));
        known.flights.shrink_to_fit();
        known.journals = known.flights.values().map(BTreeMap::len).sum();
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(name: &str) -> FlightId {
        name.parse().unwrap()
    }

    fn ends(journals: &[(Option<&str>, u64)]) -> Ends {
        journals.iter().map(|(of, end)| (of.map(|of| of.parse().unwrap()), Sequence(*end))).collect()
    }

    #[test]
    fn a_flight_is_over_until_something_is_appended_to_one_of_its_journals() {
        let ended = Ended::default();
        let seen = ends(&[(None, 9), (Some("a"), 7), (Some("b"), 8)]);
        assert!(!ended.is_over(&id("f"), &seen));
        ended.saw(&id("f"), seen.clone());
        assert!(ended.is_over(&id("f"), &seen) && ended.is_over(&id("f"), &ends(&[(Some("a"), 7)])));
        let went_on = ends(&[(None, 9), (Some("b"), 10)]);
        assert!(!ended.is_over(&id("f"), &went_on), "a person had it go on");
        // By another orchestrator, and before the last entry that was seen here.
        assert!(!ended.is_over(&id("f"), &ends(&[(Some("c"), 8)])));
        assert!(!ended.is_over(&id("f"), &Ends::new()) && !ended.is_over(&id("g"), &seen));
    }

    #[test]
    fn what_a_checkpoint_says_as_well_is_forgotten() {
        let ended = Ended::default();
        let (before, since) = (ends(&[(None, 3), (Some("w"), 7)]), ends(&[(None, 4), (Some("w"), 8)]));
        ended.saw(&id("before"), before.clone());
        ended.saw(&id("since"), since.clone());
        ended.noted(Sequence(7), HashSet::from([id("here")]));
        assert!(!ended.is_over(&id("before"), &before) && ended.is_over(&id("since"), &since));
        assert_eq!(ended.known().journals, 2);
        assert!(ended.is_believed(&id("here")) && !ended.is_believed(&id("since")));
        ended.forget();
        assert!(!ended.is_over(&id("since"), &since) && !ended.is_believed(&id("here")));
    }

    #[test]
    fn what_is_beyond_the_bound_is_not_remembered() {
        let ended = Ended::default();
        let long: Vec<String> = (0..JOURNALS_MAX).map(|n| format!("w{n}")).collect();
        let long: Vec<(Option<&str>, u64)> = long.iter().map(|name| (Some(name.as_str()), 1)).collect();
        let short = ends(&[(None, 2)]);
        ended.saw(&id("short"), short.clone());
        ended.saw(&id("long"), ends(&long));
        assert!(!ended.is_over(&id("long"), &ends(&long[..1])) && ended.is_over(&id("short"), &short));
    }
}
