//! The list of flights that further pages are cut from, so that not every page reads all journals.

use crate::{
    Timestamp,
    api::{FlightLine, Flights},
    ids::FlightId,
};

use super::of_flights;

/// How long a list is kept, in seconds: who asks for page after page asks for the next one at once.
const KEPT_S: u64 = 60;

/// The last list that did not fit on its page.
#[derive(Debug, Default)]
pub struct KeptFlights(Option<(Timestamp, Vec<FlightLine>)>);

impl KeptFlights {
    /// A page of a list that was just read, from behind one of its flights; `None` if that is not among them. The list is kept
    /// if there is more of it.
    pub fn page(&mut self, lines: Vec<FlightLine>, after: Option<&FlightId>, now: Timestamp) -> Option<Flights> {
        let page = of_flights(lines.clone(), after)?;
        if page.next.is_some() {
            self.0 = Some((now, lines));
        }
        Some(page)
    }

    /// The page behind a flight of the list that is kept. The list is forgotten with its last page, and in time.
    pub fn behind(&mut self, after: &FlightId, now: Timestamp) -> Option<Flights> {
        let (_, lines) = self.0.as_ref().filter(|(read, _)| now.since(*read).as_secs() < KEPT_S)?;
        let at = lines.iter().position(|line| line.flight == *after)?;
        let page = of_flights(lines.get(at + 1..)?.to_vec(), None)?;
        if page.next.is_none() {
            self.0 = None;
        }
        Some(page)
    }
}

#[cfg(test)]
mod tests {
    use crate::view::FlightStatus;

    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_millis(seconds * 1_000)
    }

    fn lines(count: usize) -> Vec<FlightLine> {
        let line = |number: usize| FlightLine {
            flight: format!("f{number}").parse().unwrap(),
            plan: "p".repeat(4_000),
            submitted_at: at(0),
            status: FlightStatus::Running,
            paused: false,
        };
        (0..count).map(line).collect()
    }

    #[test]
    fn further_pages_come_from_the_list_that_was_read_for_the_first() {
        let (mut kept, all) = (KeptFlights::default(), lines(1_000));
        let mut page = kept.page(all.clone(), None, at(0)).unwrap();
        let mut read = page.flights;
        while let Some(next) = page.next {
            page = kept.behind(&next, at(59)).unwrap();
            read.extend(page.flights);
        }
        assert_eq!(read, all);
        assert_eq!(kept.behind(&"f1".parse().unwrap(), at(59)), None, "it was forgotten with its last page");
    }

    #[test]
    fn an_old_list_and_one_that_is_whole_are_read_again() {
        let mut kept = KeptFlights::default();
        let next = kept.page(lines(1_000), None, at(0)).unwrap().next.unwrap();
        assert_eq!(kept.behind(&"other".parse().unwrap(), at(1)), None);
        assert_eq!(kept.behind(&next, at(60)), None);
        let mut kept = KeptFlights::default();
        assert_eq!(kept.page(lines(2), None, at(0)).unwrap().next, None);
        assert_eq!(kept.behind(&"f0".parse().unwrap(), at(0)), None);
        assert_eq!(kept.page(lines(2), Some(&"none".parse().unwrap()), at(0)), None);
    }
}
