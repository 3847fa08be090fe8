//! Finding the flights that are not over: by their submissions, or by the last checkpoint and what was appended since.

use std::{
    collections::{BTreeMap, HashSet},
    path::Path,
};

use holdpoint_bus::journal::ReadError;
use holdpoint_protocol::{ids::FlightId, journal::Sequence};

use super::scans::Reach;
use crate::{
    books::Books,
    catalog::{self, Catalog, Wanted},
    checkpoint::Checkpoint,
    shell::Shell,
};

/// Where a flight may have been submitted of which nothing can be read.
const FIRST: Sequence = Sequence(1);

/// The flights that are not over, and were not known.
pub(crate) struct Scan {
    pub(super) open: Vec<Books>,
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
        Reach::Everything | Reach::Checkpoint => everything(shell, dir, known).await,
    }
}

async fn submitted_after(shell: &Shell, after: Sequence, known: &HashSet<FlightId>) -> Result<Scan, ReadError> {
    let (mut found, until) = catalog::submissions(shell, after).await?;
    found.retain(|(flight, _)| !known.contains(flight));
    let Some((_, first)) = found.first() else { return Ok(Scan { open: Vec::new(), until }) };
    let wanted = found.iter().map(|(flight, _)| flight.clone()).collect();
    let catalog = catalog::read(shell, before(*first), &Wanted::Open(&wanted)).await?;
    Ok(Scan { open: catalog.open.into_values().collect(), until })
}

/// A flight that was over at the last checkpoint, and of which nothing was appended since, is over still.
async fn everything(shell: &Shell, dir: &Path, known: &HashSet<FlightId>) -> Result<Scan, ReadError> {
    let roots = shell.trust.roots();
    let last = Checkpoint::load(shell, dir, &roots).await?;
    let (touched, until) = catalog::touched(shell, last.until).await?;
    // Of a flight that was reopened, the first entry that is read is not its submission: it is read by itself.
    let first = last.open.values().copied().chain(touched.values().flatten().copied()).min();
    let after = first.map_or(last.until, |first| before(first).min(last.until));
    let mut open: BTreeMap<FlightId, Option<Sequence>> =
        last.open.into_iter().map(|(flight, submitted)| (flight, Some(submitted))).collect();
    for (flight, submitted) in touched {
        open.entry(flight).or_insert(submitted);
    }
    let unknown = open.iter().filter(|(flight, submitted)| submitted.is_none() || !known.contains(*flight));
    let wanted: HashSet<FlightId> = unknown.map(|(flight, _)| flight.clone()).collect();
    let catalog = if wanted.is_empty() {
        Catalog::default()
    } else {
        catalog::read(shell, after, &Wanted::Open(&wanted)).await?
    };
    open.retain(|flight, _| known.contains(flight) || catalog.is_left(flight));
    let begun = |(flight, submitted): (FlightId, Option<Sequence>)| {
        let submitted = submitted.or_else(|| catalog.open.get(&flight).map(Books::begun));
        (flight, submitted.unwrap_or(FIRST))
    };
    Checkpoint { until, open: open.into_iter().map(begun).collect() }.keep(shell, dir, &roots).await;
    Ok(Scan { open: catalog.open.into_values().collect(), until })
}

fn before(sequence: Sequence) -> Sequence {
    Sequence(sequence.0.saturating_sub(1))
}
