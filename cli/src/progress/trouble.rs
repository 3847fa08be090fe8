//! What holds a flight up: reported when it begins and when it is over, and not waited for without end.

use std::{collections::BTreeMap, time::Duration};

use holdpoint_protocol::{
    Timestamp,
    ids::WaypointId,
    view::{FlightView, Trouble, WaypointView},
};
use holdpoint_text::shown;
use tokio::time::Instant;

use crate::failure::Failure;

/// How long a flight in trouble may stall before a command that waits for it ends.
const PATIENCE: Duration = Duration::from_secs(10 * 60);
/// A trouble whose cause changes is reported again, at most this often: what it says may be different each time.
const AGAIN: Duration = Duration::from_secs(30);

/// One line.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Told {
    /// What it is about; `None`: the flight.
    pub(super) waypoint: Option<WaypointId>,
    /// The words.
    pub(super) text: String,
}

/// Remembers what was reported, and since when nothing moves.
#[derive(Debug, Default)]
pub(super) struct Troubles {
    told: BTreeMap<(Option<WaypointId>, Timestamp), Words>,
    waypoints: Vec<WaypointView>,
    still_since: Option<Instant>,
}

/// What was said of a trouble last, and when.
#[derive(Debug)]
struct Words {
    message: String,
    at: Instant,
}

impl Troubles {
    /// What is new since the last view.
    pub(super) fn update(&mut self, view: &FlightView, now: Instant) -> Vec<Told> {
        let mut before = std::mem::take(&mut self.told);
        let mut begun = Vec::new();
        for trouble in &view.trouble {
            let key = (trouble.waypoint.clone(), trouble.since);
            let words = before.remove(&key);
            let again = words.as_ref().map(|said| said.message != trouble.message && now >= said.at + AGAIN);
            let begins = match again {
                None => "trouble, trying again: ",
                Some(true) => "still in trouble: ",
                Some(false) => "",
            };
            if !begins.is_empty() {
                let text = format!("{begins}{}", shown::line(&trouble.message));
                begun.push(Told { waypoint: trouble.waypoint.clone(), text });
            }
            let said = words.filter(|_| begins.is_empty());
            self.told.insert(key, said.unwrap_or_else(|| Words { message: trouble.message.clone(), at: now }));
        }
        let over = before.into_keys().map(|(waypoint, _)| Told { waypoint, text: "the trouble is over".to_owned() });
        over.chain(begun).collect()
    }

    /// Fails when the flight has been in trouble for long and nothing has moved meanwhile.
    pub(super) fn give_up_on(&mut self, view: &FlightView, now: Instant) -> Result<(), Failure> {
        let moved = self.waypoints != view.waypoints;
        let Some(trouble) = view.trouble.first().filter(|_| !moved) else {
            self.waypoints.clone_from(&view.waypoints);
            self.still_since = None;
            return Ok(());
        };
        let still_since = *self.still_since.get_or_insert(now);
        if now.duration_since(still_since) < PATIENCE { Ok(()) } else { Err(held_up(view, trouble)) }
    }
}

fn held_up(view: &FlightView, trouble: &Trouble) -> Failure {
    let message = format!("the flight {} does not get on: {}", view.flight, trouble.message);
    let hint = format!(
        "fix the cause; the flight goes on by itself while its fleet runs, or with `holdpoint run --resume {}`",
        view.flight
    );
    Failure::environment("trouble", message, hint)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{failure::Exit, view::tests::flight};

    fn trouble(message: &str, since: i64) -> Trouble {
        let (since, last) = (Timestamp::from_millis(since), Timestamp::from_millis(since + 5));
        Trouble { waypoint: Some("one".parse().unwrap()), message: message.to_owned(), since, last, failures: 2 }
    }

    fn texts(troubles: &mut Troubles, view: &FlightView) -> Vec<String> {
        troubles.update(view, Instant::now()).into_iter().map(|told| told.text).collect()
    }

    #[test]
    fn a_trouble_is_told_once_and_so_is_its_end() {
        let (mut troubles, mut view) = (Troubles::default(), flight());
        view.trouble = vec![trouble("disk\u{1b}[2J\nfull", 1)];
        assert_eq!(texts(&mut troubles, &view), ["trouble, trying again: disk\\u{1b}[2J\\nfull"]);
        view.trouble[0].failures += 1;
        assert!(texts(&mut troubles, &view).is_empty());
        view.trouble = vec![trouble("no blob", 9)];
        assert_eq!(texts(&mut troubles, &view), ["the trouble is over", "trouble, trying again: no blob"]);
        view.trouble.clear();
        assert_eq!(texts(&mut troubles, &view), ["the trouble is over"]);
    }

    #[test]
    fn a_trouble_whose_cause_changes_is_told_again_after_a_while() {
        let (mut troubles, mut view, begin) = (Troubles::default(), flight(), Instant::now());
        view.trouble = vec![trouble("git failed", 1)];
        assert_eq!(troubles.update(&view, begin).len(), 1);
        view.trouble[0].message = "disk full".to_owned();
        assert_eq!(troubles.update(&view, begin + AGAIN / 2), []);
        let said = troubles.update(&view, begin + AGAIN);
        assert_eq!(said.iter().map(|told| told.text.as_str()).collect::<Vec<_>>(), ["still in trouble: disk full"]);
        assert_eq!(troubles.update(&view, begin + 3 * AGAIN), [], "it says the same");
    }

    #[test]
    fn a_flight_in_trouble_that_stands_still_is_given_up_on_after_a_while() {
        let (mut troubles, mut view, begin) = (Troubles::default(), flight(), Instant::now());
        assert!(troubles.give_up_on(&view, begin).is_ok());
        view.trouble = vec![trouble("disk full", 1)];
        assert!(troubles.give_up_on(&view, begin).is_ok());
        view.waypoints[0].attempts += 1;
        let moved = begin + PATIENCE;
        assert!(troubles.give_up_on(&view, moved).is_ok(), "something moved");
        assert!(troubles.give_up_on(&view, moved + Duration::from_secs(1)).is_ok());
        let failure = troubles.give_up_on(&view, moved + Duration::from_secs(1) + PATIENCE).unwrap_err();
        assert_eq!(failure.exit(), Exit::Environment);
    }
}
