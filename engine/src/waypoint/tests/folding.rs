//! Reading journals back: what is lost, changed or cannot be raises an alarm.

use holdpoint_protocol::{
    Digest, Timestamp,
    facts::Verdict,
    journal::{Entry, Sequence},
    state::{Held, Phase, Resume, Status, WaypointState},
};

use crate::testing::{
    fixture::{Fixture, StoredEntry},
    parts::oid,
};
use crate::waypoint::{Alarm, Folded, invariants};

fn fold(journal: &[StoredEntry]) -> Result<Folded, Alarm> {
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
        ("held with status Complete", |e| {
            let state = e.record_mut().state.as_mut().unwrap();
            let since = Timestamp::from_millis(0);
            state.phase =
                Phase::Held(Held { status: Status::Complete, since, resume: Resume::Beginning, block_reason: None });
        }),
        ("accepted without a verification", |e| e.record_mut().state.as_mut().unwrap().verified = None),
        ("another tree", |e| e.record_mut().state.as_mut().unwrap().verified.as_mut().unwrap().tree = oid(0xbad)),
        ("on another base", |e| e.record_mut().state.as_mut().unwrap().verified.as_mut().unwrap().base = oid(0xbad)),
        ("accepted by a report, without work", |e| e.record_mut().state.as_mut().unwrap().work = None),
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
fn nothing_is_accepted_while_a_question_is_open() {
    let fixture = finished();
    let last = fixture.trace.last().unwrap();
    let mut asking = Fixture::opened(|_, _| {});
    asking.ask("w", "which?").decided();
    let waiting = WaypointState { phase: asking.state("w").phase, ..last.before.clone() };
    let what = invariants(&waiting, &last.after, &last.entry);
    assert_eq!(what.as_deref(), Some("accepted while a question was open"));
}

#[test]
fn held_work_moves_only_by_an_act_and_a_flights_entry_is_not_a_waypoints() {
    let mut fixture = Fixture::opened(|_, _| {});
    let opened = fixture.trace[0].clone();
    fixture.feed("w", crate::waypoint::Input::BudgetExhausted).decided();
    let held = fixture.state("w");
    let what = invariants(&held, &WaypointState { counters: held.counters, ..opened.after.clone() }, &opened.entry);
    assert_eq!(what.as_deref(), Some("held work moved on by itself"));
    let submitted = Entry::Submitted(Box::new(fixture.flight.submitted.clone()));
    assert!(invariants(&opened.before, &opened.after, &submitted).unwrap().contains("flight's journal"));

    let mut fixture = Fixture::opened(|_, _| {});
    fixture.cancel("w").decided();
    let what = invariants(&fixture.state("w"), &opened.after, &opened.entry);
    assert_eq!(what.as_deref(), Some("a cancelled waypoint moved on"));
}
