use holdpoint_protocol::{
    Digest, Timestamp,
    journal::{EntryKind, Record},
    retire::Retired,
    version,
};

use super::*;
use crate::books::tests::{World, landing, submitted};

fn id(number: u64) -> FlightId {
    format!("f{number}").parse().unwrap()
}

/// The submission of a flight, at the place of its number.
fn submission(world: &World, number: u64) -> Checked {
    let mut submitted = submitted();
    submitted.flight = id(number);
    world.checked(&id(number), number, &EntryKind::Submitted, &Entry::Submitted(Box::new(submitted)))
}

/// A catalog with room for the folds of `folds` flights that has read the submissions of `all`.
fn catalog(world: &World, folds: usize, all: u64) -> Catalog {
    let one = Books::begin(&id(1), submission(world, 1)).unwrap().unwrap().bytes();
    let mut catalog = Catalog::new(folds * one);
    (1..=all).for_each(|number| catalog.take(submission(world, number), &Wanted::All));
    assert!(one > 0 && catalog.bytes <= folds * one);
    catalog
}

fn folded(catalog: &Catalog) -> Vec<u64> {
    (1..=9).filter(|number| catalog.books(&id(*number)).is_some()).collect()
}

#[test]
fn of_more_flights_than_there_is_room_for_those_are_folded_whose_entries_came_last() {
    let catalog = catalog(&World::new(), 4, 9);
    assert_eq!(folded(&catalog), [7, 8, 9], "the fifth fold and the eighth make room by half");
    assert!((1..=9).all(|number| catalog.is_open(&id(number)) && catalog.begun(&id(number)) == Some(Sequence(number))));
    let mut open = catalog.into_open();
    open.sort_by_key(OpenFlight::begun);
    let counted: Vec<_> = open.iter().map(|open| (open.id().clone(), open.counted().waypoints)).collect();
    assert_eq!(counted, (1..=9).map(|number| (id(number), 1)).collect::<Vec<_>>());
}

#[test]
fn a_flight_without_its_fold_has_the_line_that_it_had_with_it() {
    let world = World::new();
    let lines = catalog(&world, 9, 4).lines();
    assert_eq!((catalog(&world, 2, 4).lines(), lines.len()), (lines, 4));
}

#[test]
fn what_goes_on_without_its_fold_is_read_by_itself() {
    let world = World::new();
    let mut catalog = catalog(&world, 4, 5);
    assert_eq!(folded(&catalog), [4, 5]);
    catalog.take(world.checked(&id(1), 6, &EntryKind::Landed, &landing(b"before")), &Wanted::All);
    assert_eq!((catalog.unfolded.clone(), catalog.is_open(&id(1))), (HashSet::from([id(1)]), false));
    assert!(catalog.unreadable.is_empty() && catalog.is_open(&id(2)));
}

#[test]
fn a_flight_that_left_is_neither_open_nor_over_also_without_its_fold() {
    let world = World::new();
    let mut catalog = catalog(&world, 4, 5);
    let retired = Retired {
        schema_version: version::CURRENT,
        flight: id(1),
        by: "keeper".parse().unwrap(),
        export: Digest::of(b"export"),
        handoffs: Vec::new(),
        record: Record::at(Timestamp::from_millis(0)),
    };
    catalog.take(world.checked(&id(1), 6, &EntryKind::Retired, &Entry::Retired(Box::new(retired))), &Wanted::All);
    assert!(!catalog.is_open(&id(1)) && !catalog.is_left(&id(1)) && catalog.unfolded.is_empty());
    assert_eq!(catalog.lines().len(), 4);
}
