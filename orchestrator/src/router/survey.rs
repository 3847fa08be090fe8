//! Finding the flights that are not over: by their submissions, or by the last checkpoint and what was appended since.

use std::{
    collections::{BTreeMap, HashSet},
    path::Path,
};

use holdpoint_bus::journal::ReadError;
use holdpoint_protocol::{ids::FlightId, journal::Sequence};

use super::scans::Reach;
use crate::{
    catalog::{self, Catalog, FOLDS_BYTES_MAX, OpenFlight, Touched, Wanted},
    checkpoint::Checkpoint,
    ended::Ended,
    shell::Shell,
};

/// Where a flight may have been submitted of which nothing can be read.
const FIRST: Sequence = Sequence(1);

/// The flights that are not over, and were not known.
pub(crate) struct Scan {
    pub(super) open: Vec<OpenFlight>,
    pub(super) until: Sequence,
}

/// Reads as far as it has to. Of flights that are `known` here, nothing is read.
pub(super) async fn survey(
    shell: &Shell,
    dir: &Path,
    reach: Reach,
    known: &HashSet<FlightId>,
) -> Result<Scan, ReadError> {
    match reach {
        Reach::After(sequence) => submitted_after(shell, sequence, known).await,
        Reach::Everything => checkpoint(shell, dir, Known { here: known, untouched: false }).await,
        Reach::Checkpoint => checkpoint(shell, dir, Known { here: known, untouched: true }).await,
    }
}

async fn submitted_after(shell: &Shell, after: Sequence, known: &HashSet<FlightId>) -> Result<Scan, ReadError> {
    let (mut found, until) = catalog::submissions(shell, after).await?;
    found.retain(|(flight, _)| !known.contains(flight));
    let Some((_, first)) = found.first() else { return Ok(Scan { open: Vec::new(), until }) };
    let wanted = found.iter().map(|(flight, _)| flight.clone()).collect();
    let catalog = catalog::read(shell, before(*first), &Wanted::Open(&wanted), FOLDS_BYTES_MAX).await?;
    Ok(Scan { open: catalog.into_open(), until })
}

async fn checkpoint(shell: &Shell, dir: &Path, known: Known<'_>) -> Result<Scan, ReadError> {
    let roots = shell.trust.roots();
    let last = Checkpoint::load(shell, dir, &roots).await?;
    if last == Checkpoint::default() {
        shell.ended.forget();
    }
    let (touched, until) = catalog::touched(shell, last.until).await?;
    let Reading { mut open, believed, together, after, singly } = reading(last, touched, known, &shell.ended);
    let is_read = |flight: &FlightId| together.contains(flight) || singly.contains(flight);
    let mut catalog = if together.is_empty() {
        Catalog::default()
    } else {
        catalog::read(shell, after, &Wanted::Open(&together), FOLDS_BYTES_MAX).await?
    };
    catalog.read_singly(shell, singly.clone()).await?;
    open.retain(|flight, _| !is_read(flight) || catalog.is_left(flight));
    let begun = |(flight, submitted): (FlightId, Option<Sequence>)| {
        let submitted = submitted.or_else(|| catalog.begun(&flight));
        (flight, submitted.unwrap_or(FIRST))
    };
    Checkpoint { until, open: open.into_iter().map(begun).collect() }.keep(shell, dir, &roots).await;
    shell.ended.noted(until, believed);
    Ok(Scan { open: catalog.into_open(), until })
}

/// Which flights need not be read to be known as open.
#[derive(Clone, Copy)]
struct Known<'a> {
    /// These: they are in memory here, or sleep.
    here: &'a HashSet<FlightId>,
    /// Those that were open at the last checkpoint, and to which nothing was appended since: they are open still.
    untouched: bool,
}

/// What has to be read for the next checkpoint.
#[derive(Debug, PartialEq, Eq)]
struct Reading {
    /// The flights that are open, or may be, and where each was submitted.
    open: BTreeMap<FlightId, Option<Sequence>>,
    /// Of these, the ones that are taken for open because they are here. They may be over when they are not any more.
    believed: HashSet<FlightId>,
    /// Of the others, those that are read in one go, from there on.
    together: HashSet<FlightId>,
    after: Sequence,
    /// And those that were submitted long before, each by itself.
    singly: HashSet<FlightId>,
}

/// A flight that was over at the last checkpoint, or when it was last looked at here, and to which nothing was appended
/// since, is over still.
fn reading(last: Checkpoint, touched: BTreeMap<FlightId, Touched>, known: Known<'_>, ended: &Ended) -> Reading {
    let Checkpoint { until, open } = last;
    let looked_at = |flight: &&FlightId| !known.untouched || ended.is_believed(flight);
    let mut unread: HashSet<FlightId> = open.keys().filter(looked_at).cloned().collect();
    let mut open: BTreeMap<FlightId, Option<Sequence>> =
        open.into_iter().map(|(flight, submitted)| (flight, Some(submitted))).collect();
    for (flight, Touched { submitted, ends }) in touched {
        if ended.is_over(&flight, &ends) {
            open.remove(&flight);
            unread.remove(&flight);
            continue;
        }
        unread.insert(flight.clone());
        open.entry(flight).or_insert(submitted);
    }
    let submitted = |flight: &FlightId| open.get(flight).copied().flatten();
    let is_believed = |flight: &FlightId| submitted(flight).is_some() && known.here.contains(flight);
    let (believed, unread): (HashSet<_>, HashSet<_>) = unread.into_iter().partition(is_believed);
    let is_new = |flight: &FlightId| !known.untouched || submitted(flight).is_some_and(|at| at > until);
    let (together, singly): (HashSet<_>, HashSet<_>) = unread.into_iter().partition(is_new);
    // Of a flight that was reopened, the first entry that is read is not its submission: it is read by itself as well.
    let first = together.iter().filter_map(submitted).min();
    let after = first.map_or(until, |first| before(first).min(until));
    Reading { open, believed, together, after, singly }
}

fn before(sequence: Sequence) -> Sequence {
    Sequence(sequence.0.saturating_sub(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ended::Ends;

    fn id(name: &str) -> FlightId {
        name.parse().unwrap()
    }

    fn ids(names: &[&str]) -> HashSet<FlightId> {
        names.iter().map(|name| id(name)).collect()
    }

    /// A checkpoint at 100, with these flights open, and where each was submitted.
    fn at_100(open: &[(&str, u64)]) -> Checkpoint {
        Checkpoint { until: Sequence(100), open: open.iter().map(|(name, at)| (id(name), Sequence(*at))).collect() }
    }

    /// Flights with a new entry at this place, and where those were submitted that are new.
    fn touched(flights: &[(&str, u64, Option<u64>)]) -> BTreeMap<FlightId, Touched> {
        let of = |(name, end, submitted): &(&str, u64, Option<u64>)| {
            (id(name), Touched { submitted: submitted.map(Sequence), ends: Ends::from([(None, Sequence(*end))]) })
        };
        flights.iter().map(of).collect()
    }

    fn open_of(reading: &Reading) -> HashSet<FlightId> {
        reading.open.keys().cloned().collect()
    }

    #[test]
    fn a_start_reads_all_that_may_be_open_from_the_submission_of_the_first() {
        let known = Known { here: &HashSet::new(), untouched: false };
        let touched = touched(&[("new", 130, Some(120)), ("reopened", 110, None)]);
        let reading = reading(at_100(&[("held", 40)]), touched, known, &Ended::default());
        assert_eq!(open_of(&reading), ids(&["held", "new", "reopened"]));
        assert_eq!((reading.together, reading.after), (ids(&["held", "new", "reopened"]), Sequence(39)));
        assert_eq!((reading.singly, reading.believed), (ids(&[]), ids(&[])));
    }

    #[test]
    fn a_checkpoint_reads_nothing_of_flights_that_are_held_or_known_or_were_seen_to_end() {
        let ended = Ended::default();
        for (name, end) in [("over", 140), ("went-on", 150), ("was-open", 160)] {
            ended.saw(&id(name), Ends::from([(None, Sequence(end))]));
        }
        let known = Known { here: &ids(&["here"]), untouched: true };
        let last = at_100(&[("held", 40), ("was-open", 50), ("here", 60), ("asked", 70)]);
        let touched = touched(&[
            ("here", 170, None),
            ("over", 140, Some(120)),
            ("went-on", 151, Some(121)),
            ("was-open", 160, None),
            ("elsewhere", 180, Some(122)),
            ("asked", 190, None),
        ]);
        let reading = reading(last, touched, known, &ended);
        assert_eq!(open_of(&reading), ids(&["held", "here", "went-on", "elsewhere", "asked"]));
        assert_eq!((reading.together, reading.after), (ids(&["went-on", "elsewhere"]), Sequence(100)));
        assert_eq!((reading.singly, reading.believed), (ids(&["asked"]), ids(&["here"])));
    }

    #[test]
    fn a_flight_that_was_taken_for_open_because_it_was_here_is_looked_at_once_it_is_not() {
        let ended = Ended::default();
        ended.noted(Sequence(100), ids(&["left", "stays"]));
        let known = Known { here: &ids(&["stays"]), untouched: true };
        let last = at_100(&[("left", 40), ("stays", 50), ("held", 60)]);
        let reading = reading(last, touched(&[]), known, &ended);
        assert_eq!((reading.singly, reading.believed), (ids(&["left"]), ids(&["stays"])));
        assert_eq!((reading.together, reading.after), (ids(&[]), Sequence(100)));
    }

    #[test]
    fn a_flight_that_is_here_and_was_reopened_is_read_for_where_it_was_submitted() {
        let known = Known { here: &ids(&["here"]), untouched: true };
        let reading = reading(at_100(&[]), touched(&[("here", 110, None)]), known, &Ended::default());
        assert_eq!((reading.together, reading.singly), (ids(&[]), ids(&["here"])));
    }
}
