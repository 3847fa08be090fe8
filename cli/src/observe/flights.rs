//! Which flights are read where none is named.

use holdpoint_protocol::{api::FlightLine, ids::FlightId};

/// Flights to read, oldest first.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Chosen {
    /// These.
    pub(crate) flights: Vec<FlightId>,
    /// Older ones that are over, and are not read.
    pub(crate) left_out: usize,
}

/// The newest of all flights, and every one that goes on or waits. `lines` are newest first.
pub(crate) fn choose(lines: Vec<FlightLine>, newest: usize) -> Chosen {
    let all = lines.len();
    let chosen = lines.into_iter().enumerate().filter(|(at, line)| *at < newest || !line.status.is_over());
    let mut flights: Vec<FlightId> = chosen.map(|(_, line)| line.flight).collect();
    flights.reverse();
    let left_out = all - flights.len();
    Chosen { flights, left_out }
}

#[cfg(test)]
mod tests {
    use holdpoint_protocol::{Timestamp, view::FlightStatus};

    use super::*;

    #[test]
    fn the_newest_flights_and_every_open_one_are_read_oldest_first() {
        let line = |(name, status): (&str, FlightStatus)| FlightLine {
            flight: name.parse().unwrap(),
            plan: "p".to_owned(),
            submitted_at: Timestamp::from_millis(0),
            status,
            paused: false,
        };
        let (over, open) = (FlightStatus::Accepted, FlightStatus::Waiting);
        let lines = || [("d", over), ("c", over), ("b", open), ("a", over)].map(line).to_vec();
        let names = |chosen: Chosen| {
            (chosen.flights.iter().map(ToString::to_string).collect::<Vec<_>>().concat(), chosen.left_out)
        };
        assert_eq!(names(choose(lines(), 1)), ("bd".to_owned(), 2));
        assert_eq!(names(choose(lines(), 9)), ("abcd".to_owned(), 0));
    }
}
