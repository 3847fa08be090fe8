//! Reading journals back: what is lost, changed or cannot be raises an alarm.

use holdpoint_protocol::{
    Digest,
    facts::Verdict,
    journal::{Entry, Sequence},
    state::{Phase, Status},
};

use super::fixture::{Fixture, Stored};
use crate::engine::{Alarm, Folded, invariants};

fn fold(journal: &[Stored]) -> Result<Folded, Alarm> {
    let mut folded = Folded::default();
    for (n, stored) in journal.iter().enumerate() {
        folded.take(Sequence(n as u64 + 1), Digest::of(&stored.bytes), &stored.read())?;
    }
    Ok(folded)
}

fn finished() -> Fixture {
    let mut fixture = Fixture::opened(|_, _| {});
    fixture.build_ok("w");
    fixture.report("w", |r| r.criteria[0].result.verdict = Verdict::Fail).turn();
    fixture.build_ok("w");
    fixture.report("w", |_| {}).decided();
    fixture
}

#[test]
fn a_journal_folds_to_the_state_it_left() {
    let fixture = finished();
    assert_eq!(fold(fixture.journal("w")), Ok(fixture.folded("w")));
}

#[test]
fn a_lost_a_changed_or_a_moved_entry_breaks_the_chain() {
    let fixture = finished();
    let journal = fixture.journal("w");
    assert_eq!(journal.len(), 5);
    for at in 0..journal.len() - 1 {
        let mut lost = journal.to_vec();
        lost.remove(at);
        assert_eq!(fold(&lost), Err(Alarm::ChainBroken { sequence: Sequence(at as u64 + 1) }), "lost {at}");

        let mut swapped = journal.to_vec();
        swapped.swap(at, at + 1);
        assert_eq!(fold(&swapped), Err(Alarm::ChainBroken { sequence: Sequence(at as u64 + 1) }), "moved {at}");

        let mut changed = journal.to_vec();
        // A space at the end of JSON changes the bytes and nothing else.
        changed[at].bytes.push(b' ');
        assert_eq!(fold(&changed), Err(Alarm::ChainBroken { sequence: Sequence(at as u64 + 2) }), "changed {at}");
    }
}

#[test]
fn an_alarm_leaves_the_fold_as_it_was() {
    let fixture = finished();
    let mut folded = Folded::default();
    let entry = fixture.journal("w")[1].read();
    assert!(folded.take(Sequence(1), Digest::of(b"x"), &entry).is_err());
    assert_eq!(folded, Folded::default());
}

#[test]
fn an_entry_without_state_is_an_alarm() {
    let fixture = finished();
    let mut entry = fixture.journal("w")[0].read();
    entry.record_mut().state = None;
    let taken = Folded::default().take(Sequence(1), Digest::of(b"x"), &entry);
    assert_eq!(taken, Err(Alarm::NoState { sequence: Sequence(1) }));
}

#[test]
fn each_broken_invariant_is_named() {
    type Forge = fn(&mut Entry);
    let state = |e: &mut Entry| e.record_mut().state.clone().unwrap();
    let table: &[(&str, Forge)] = &[
        ("a decision without references", |e| {
            let Entry::Decided(d) = e else { panic!() };
            d.decision.source_refs.clear();
        }),
        ("a counter went down", |e| e.record_mut().state.as_mut().unwrap().counters.attempts = 0),
        ("accepted without evidence", |e| e.record_mut().state.as_mut().unwrap().criteria[0].evidence.clear()),
        ("accepted without evidence", |e| e.record_mut().state.as_mut().unwrap().criteria.clear()),
        ("accepted without evidence", |e| {
            e.record_mut().state.as_mut().unwrap().criteria[0].verdict = Verdict::Inconclusive;
        }),
        ("halted with status Complete", |e| {
            e.record_mut().state.as_mut().unwrap().phase = Phase::Halted { status: Status::Complete };
        }),
        ("does not fit the entry", |e| e.record_mut().state.as_mut().unwrap().phase = Phase::Pending),
    ];
    let fixture = finished();
    let last = fixture.trace.last().unwrap();
    for (expected, forge) in table {
        let mut entry = last.entry.clone();
        forge(&mut entry);
        let after = state(&mut entry);
        let what = invariants(&last.before, &after, &entry).expect("a broken invariant");
        assert!(what.contains(expected), "{what}");
    }
    assert_eq!(invariants(&last.before, &last.after, &last.entry), None);
}

#[test]
fn work_is_accepted_only_out_of_a_verifiers_turn_on_it() {
    let fixture = finished();
    let last = fixture.trace.last().unwrap();
    for before in fixture.trace.iter().map(|t| &t.before) {
        let judged = matches!(&before.phase, Phase::InTurn(open) if open.role.as_str() == "verifier");
        let what = invariants(before, &last.after, &last.entry);
        assert_eq!(what.is_none(), judged, "{what:?}");
    }
    assert_eq!(
        invariants(&last.after, &last.after, &last.entry).as_deref(),
        Some("accepted outside a verifier's turn"),
        "and only once"
    );
}

#[test]
fn what_was_halted_stays_halted_and_a_flights_entry_is_not_a_waypoints() {
    let mut fixture = Fixture::opened(|_, _| {});
    let opened = fixture.trace[0].clone();
    fixture.feed("w", crate::engine::Input::BudgetExhausted).decided();
    let halted = fixture.state("w");
    assert_eq!(invariants(&halted, &opened.after, &opened.entry).as_deref(), Some("a halted waypoint moved on"));
    let submitted = Entry::Submitted(Box::new(fixture.flight.submitted.clone()));
    assert!(invariants(&opened.before, &opened.after, &submitted).unwrap().contains("flight's journal"));
}
