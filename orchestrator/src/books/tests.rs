use holdpoint_bus::{
    Stored,
    auth::{Authority, Signer, TrustRoots},
};
use holdpoint_planfile::{plan, workflows};
use holdpoint_protocol::{
    Timestamp,
    facts::{BlobRef, BundleRef, Oid},
    ids::role,
    journal::{Fleet, Landed, Record},
    time::Millis,
    turn::Turn,
};

use super::*;

/// The journal of a flight as the broker has it, and a key that counts.
pub(crate) struct World {
    roots: TrustRoots,
    signer: Signer,
    books: Books,
}

fn oid(digit: char) -> Oid {
    digit.to_string().repeat(40).parse().unwrap()
}

fn record(previous: Option<Digest>) -> Record {
    Record { previous, ..Record::at(Timestamp::from_millis(0)) }
}

fn bundle(tip: char) -> BundleRef {
    let blob = BlobRef { role: role::id(role::OPERATOR), digest: Digest::of(b"bundle"), bytes: 6 };
    BundleRef { blob, tip: oid(tip), index: None }
}

/// The first entry of a flight of one waypoint, `w`.
pub(crate) fn submitted() -> Submitted {
    let text =
        "plan: p\nwaypoints:\n  - {id: w, title: t, goal: g, criteria: [{id: c, statement: s, check: 'true'}]}\n";
    Submitted {
        schema_version: version::CURRENT,
        flight: "f".parse().unwrap(),
        by: None,
        plan: plan::read(text, "plan.yaml", plan::BUILT_IN_WORKFLOWS).unwrap(),
        base: oid('a'),
        base_tree: oid('b'),
        snapshot: bundle('a'),
        covenant: "AGENTS.md".to_owned(),
        covenant_version: Digest::of(b""),
        fleet: Fleet {
            pool: streams::fleet_pool(),
            repair: false,
            judge: false,
            advisors: 0,
            parallel: None,
            queue_grace: Millis(1),
            build_wall: Millis(1),
            dead_after: 3,
        },
        workflows: vec![workflows::built_in("fly").unwrap().into()],
        record: record(None),
    }
}

/// A flight of which only the submission is there.
pub(crate) fn books() -> Books {
    Books::new(submitted(), Sequence(1), Digest::of(b"submitted"))
}

/// The landing of the only waypoint, behind an entry with this digest.
pub(crate) fn landing(previous: &[u8]) -> Entry {
    Entry::Landed(Box::new(Landed {
        verified_on: None,
        schema_version: version::CURRENT,
        waypoint: "w".parse().unwrap(),
        tree: oid('c'),
        commit: oid('d'),
        parent: oid('a'),
        bundle: bundle('d'),
        bundle_on: None,
        report: Digest::of(b"report"),
        record: record(Some(Digest::of(previous))),
    }))
}

impl World {
    /// Only the submission is there.
    pub(crate) fn new() -> Self {
        let mut authority = Authority::create();
        let signer = authority.mint_orchestrator(&"orchestrator".parse().unwrap()).signer();
        let roots = authority.trust_roots().clone();
        Self { roots, signer, books: books() }
    }

    /// The landing of the only waypoint, behind an entry with this digest.
    fn landed(&self, sequence: u64, previous: &[u8]) -> Stored {
        let entry = landing(previous);
        let outgoing = outgoing(&entry, &EntryKind::Landed, "id".to_owned(), None).unwrap();
        self.stored(sequence, outgoing.payload)
    }

    /// An entry of a flight's own journal at this place, checked.
    pub(crate) fn checked(&self, flight: &FlightId, sequence: u64, kind: &EntryKind, entry: &Entry) -> Checked {
        let outgoing = outgoing(entry, kind, "id".to_owned(), None).unwrap();
        Checked::of(&self.roots, &self.stored_as(JournalKey::flight(flight).entry(kind), sequence, outgoing.payload))
    }

    fn stored(&self, sequence: u64, payload: Bytes) -> Stored {
        self.stored_as(JournalKey::flight(self.books.id()).entry(&EntryKind::Landed), sequence, payload)
    }

    fn stored_as(&self, subject: String, sequence: u64, payload: Bytes) -> Stored {
        Stored {
            sequence: Sequence(sequence),
            signature: Some(self.signer.sign(&subject, &payload)),
            subject,
            payload,
            time: Timestamp::from_millis(0),
            jwt: None,
            schema: None,
            content_type: Some(Encoding::MsgPack.content_type().to_owned()),
            traceparent: None,
            message_id: None,
            nonce: None,
        }
    }

    fn take(&mut self, stored: &Stored) -> Result<(), BooksError> {
        self.books.take(Checked::of(&self.roots, stored))
    }

    /// What the next append to the flight's own journal would build on.
    fn end(&self) -> Sequence {
        self.books.ends[&None].sequence
    }
}

#[test]
fn a_turn_goes_into_the_queue_of_its_waypoints_priority() {
    let turn: Turn = serde_json::from_str(include_str!("../../../protocol/golden/turn_build.json")).unwrap();
    for wanted in Priority::ALL {
        let mut submitted = submitted();
        submitted.plan.waypoints[0].priority = wanted;
        let turn = Turn { waypoint: "w".parse().unwrap(), ..turn.clone() };
        let books = Books::new(submitted, Sequence(1), Digest::of(b"submitted"));
        let EntryKind::Turn { priority, .. } = books.kind(&Entry::Turn(Box::new(turn))) else { panic!("a turn") };
        assert_eq!(priority, wanted);
    }
}

#[test]
fn an_entry_that_cannot_be_read_is_never_passed_over() {
    let mut world = World::new();
    let unreadable = world.stored(5, Bytes::from_static(b"of another version"));
    for _ in 0..2 {
        let error = world.take(&unreadable).unwrap_err();
        assert!(matches!(error, BooksError::Entry { sequence: Sequence(5), .. }), "{error:?}");
        assert_eq!((world.end(), world.books.known), (Sequence(1), Sequence(1)));
    }
}

#[test]
fn a_broken_chain_is_never_passed_over() {
    let mut world = World::new();
    let broken = world.landed(5, b"another entry");
    for _ in 0..2 {
        assert!(matches!(world.take(&broken), Err(BooksError::ChainBroken { .. })));
        assert_eq!((world.end(), world.books.known), (Sequence(1), Sequence(1)));
    }
}

#[test]
fn the_flights_own_entries_add_up_and_a_waypoints_last_one_stands_for_those_before() {
    let mut books = books();
    let end = |bytes| End { sequence: Sequence(1), digest: None, bytes };
    let waypoint: Option<WaypointId> = Some("w".parse().unwrap());
    let entries = [(None, 10), (None, 5), (waypoint.clone(), 100), (waypoint, 70)];
    entries.into_iter().for_each(|(of, bytes)| books.end(of, end(bytes)));
    assert_eq!(books.bytes(), 10 + 5 + 70);
}

#[test]
fn an_entry_that_nobody_signed_counts_for_its_place_only() {
    let mut world = World::new();
    let unsigned = Stored { signature: None, ..world.landed(5, b"submitted") };
    world.take(&unsigned).unwrap();
    assert_eq!((world.end(), world.books.flight.landed.len()), (Sequence(5), 0));
    let signed = world.landed(7, b"submitted");
    world.take(&signed).unwrap();
    world.take(&signed).unwrap();
    assert_eq!((world.end(), world.books.flight.landed.len()), (Sequence(7), 1));
}
