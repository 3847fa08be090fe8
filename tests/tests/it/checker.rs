//! The checker of journals finds what it looks for: a sound account, doctored in one place at a time.

use holdpoint_protocol::{
    artifact::Disposition,
    facts::Verdict,
    journal::{Entry, Sequence},
};
use holdpoint_tests::{
    account::{Account, Line, Report},
    cell::CellWorld,
    checker,
};

/// A way to doctor an account, and a part of what has to be found.
type Case = (&'static str, fn(&mut Account), &'static str);

const CASES: [Case; 14] = [
    ("a lost entry", |a| drop(remove(a, |l| matches!(l.entry, Entry::Turn(_)))), "lost or changed an entry"),
    ("a lost decision", |a| drop(remove_last(a, is_accept)), "no final decision"),
    ("a second decision", |a| again(a, is_accept), "accepted outside a verifier's turn"),
    ("a handoff taken twice", |a| again(a, is_accept), "was taken twice"),
    ("a turn answered twice", |a| again(a, is_accept), "was answered by the entries"),
    ("a turn opened twice", |a| again(a, |l| matches!(l.entry, Entry::Turn(_))), "was opened twice"),
    ("a second landing", |a| again(a, is_landing), "has landed 2 times and not 1"),
    ("a lost landing", |a| drop(remove_last(a, is_landing)), "has landed 0 times and not 1"),
    ("landings in another order", swap_landings, "stands on"),
    ("a lost report", |a| a.reports.clear(), "accepts without a report"),
    (
        "a report on another commit",
        |a| each_report(a, |r| r.report.commit = r.report.tree.clone()),
        "accepts another commit",
    ),
    ("a report that fails", |a| each_report(a, fail), "by a report that does not pass"),
    ("a report of another turn", other_turn, "which is not open"),
    ("an entry of a stranger", |a| a.lines[1].signed = false, "is not an orchestrator's"),
];

fn is_accept(line: &Line) -> bool {
    matches!(&line.entry, Entry::Decided(decided) if decided.decision.disposition == Disposition::Accept)
}

fn is_landing(line: &Line) -> bool {
    matches!(line.entry, Entry::Landed(_))
}

fn remove(account: &mut Account, which: fn(&Line) -> bool) -> Line {
    let at = account.lines.iter().position(which).unwrap();
    account.lines.remove(at)
}

fn remove_last(account: &mut Account, which: fn(&Line) -> bool) -> Line {
    let at = account.lines.iter().rposition(which).unwrap();
    account.lines.remove(at)
}

/// The last such entry stands there twice, the second one chained to the first as if somebody had appended it.
fn again(account: &mut Account, which: fn(&Line) -> bool) {
    let at = account.lines.iter().rposition(which).unwrap();
    let mut copy = account.lines[at].clone();
    copy.sequence = Sequence(account.lines.last().unwrap().sequence.0 + 1);
    copy.entry.record_mut().previous = Some(copy.digest);
    account.lines.insert(at + 1, copy);
}

fn swap_landings(account: &mut Account) {
    let places: Vec<usize> = (0..account.lines.len()).filter(|at| is_landing(&account.lines[*at])).collect();
    account.lines.swap(places[0], places[1]);
}

fn each_report(account: &mut Account, change: fn(&mut Report)) {
    account.reports.values_mut().for_each(change);
}

fn fail(report: &mut Report) {
    for criterion in &mut report.report.criteria {
        criterion.result.verdict = Verdict::Fail;
    }
}

fn other_turn(account: &mut Account) {
    each_report(account, |report| report.report.turn = "another".parse().unwrap());
}

#[test]
fn every_way_to_doctor_a_journal_is_found() {
    let place = CellWorld::new(None);
    place.fly("2").finish().expect(0);
    let sound = Account::of(&place.world);
    assert_eq!(checker::findings(&sound), Vec::<String>::new());
    for (name, doctor, expected) in CASES {
        let mut doctored = sound.clone();
        doctor(&mut doctored);
        let found = checker::findings(&doctored);
        assert!(found.iter().any(|what| what.contains(expected)), "{name}: {expected:?} is not in {found:#?}");
    }
}
