//! The checker of journals finds what it looks for: the sound account of a real flight, doctored in one place at a time.

use holdpoint_engine::audit::{EntryLine, HandoffLine};
use holdpoint_protocol::{
    artifact::{Disposition, Handed, Verb, VerificationReport},
    facts::Verdict,
    ids::role,
    journal::{Entry, Sequence},
    state::Phase,
    streams,
};
use holdpoint_tests::{
    account::SoakAccount,
    cell::{CellWorld, Flight},
    checker,
};

/// A way to doctor an account, and a part of what has to be found.
type Case = (&'static str, fn(&mut SoakAccount), &'static str);

const CASES: [Case; 14] = [
    ("a lost entry", |a| drop(remove(a, |l| matches!(l.entry, Ok(Entry::Turn(_))))), "lost, changed or moved"),
    ("a lost decision", |a| drop(remove_last(a, is_accept)), "no final decision"),
    ("a second decision", |a| again(a, is_accept), "took it already"),
    ("a second taking of an answer", |a| at_once(a, is_rework), "took it already"),
    ("a turn opened twice", |a| again(a, |l| matches!(l.entry, Ok(Entry::Turn(_)))), "opened it already"),
    ("a second landing", |a| again(a, is_landing), "has landed 2 times and not 1"),
    ("a lost landing", |a| drop(remove_last(a, is_landing)), "has landed 0 times and not 1"),
    ("landings in another order", swap_landings, "it is not due"),
    ("a lost report", |a| a.handoffs.clear(), "no such handoff"),
    (
        "a report on another commit",
        |a| each_report(a, |report| report.commit = report.tree.clone()),
        "accepts another commit",
    ),
    ("a report that fails", |a| each_report(a, fail), "does not pass"),
    ("a report of another turn", |a| each_report(a, |r| r.turn = "another".parse().unwrap()), "which is not open"),
    ("a report of a stranger", |a| a.handoffs.iter_mut().for_each(|h| h.sender = Err("no JWT".to_owned())), "no JWT"),
    ("an entry of a stranger", |a| a.lines[1].signed = false, "an orchestrator's signature"),
];

/// The same of a flight in which people had a part.
const PEOPLES_CASES: [Case; 5] = [
    ("a question nobody answered", |a| a.handoffs.retain(|h| !is_act(h, Verb::Answer)), "without an act of a person"),
    ("work nobody approved", |a| a.handoffs.retain(|h| !is_act(h, Verb::Approve)), "nobody approved it"),
    ("an act of a stranger", |a| a.handoffs.iter_mut().for_each(|h| h.sender = Err("no JWT".to_owned())), "no JWT"),
    ("an act that was taken twice", |a| again(a, is_approved), "once more"),
    ("a question that is still open", only_asked, "its question is still open"),
];

fn is_act(handoff: &HandoffLine, verb: Verb) -> bool {
    matches!(&handoff.body, Ok((_, Handed::Act(act))) if act.verb() == verb)
}

/// What was accepted by another's act than a report.
fn is_approved(line: &EntryLine) -> bool {
    let cause = line.entry.as_ref().ok().and_then(|entry| entry.record().cause.as_ref());
    is_accept(line) && cause.is_some_and(|cause| cause.stream == streams::handoff(&role::id(role::OPERATOR)))
}

/// Nothing is left behind the entry that a question waits in.
fn only_asked(account: &mut SoakAccount) {
    let waits = |line: &EntryLine| {
        let state = line.entry.as_ref().ok().and_then(|entry| entry.record().state.as_ref());
        state.is_some_and(|state| matches!(state.phase, Phase::Waiting(_)))
    };
    let at = account.lines.iter().position(waits).unwrap();
    let journal = account.lines[at].journal.clone();
    let mut behind = account.lines.split_off(at + 1);
    behind.retain(|line| line.journal != journal);
    account.lines.append(&mut behind);
}

fn is_accept(line: &EntryLine) -> bool {
    matches!(&line.entry, Ok(Entry::Decided(decided)) if decided.decision.disposition == Disposition::Accept)
}

fn is_rework(line: &EntryLine) -> bool {
    let decision = line.entry.as_ref().ok().and_then(Entry::decision);
    decision.is_some_and(|decision| decision.disposition == Disposition::Rework)
}

fn is_landing(line: &EntryLine) -> bool {
    matches!(line.entry, Ok(Entry::Landed(_)))
}

fn remove(account: &mut SoakAccount, which: fn(&EntryLine) -> bool) -> EntryLine {
    let at = account.lines.iter().position(which).unwrap();
    account.lines.remove(at)
}

fn remove_last(account: &mut SoakAccount, which: fn(&EntryLine) -> bool) -> EntryLine {
    let at = account.lines.iter().rposition(which).unwrap();
    account.lines.remove(at)
}

/// The last such entry is there twice, the second one chained to the last of its journal as if an orchestrator had
/// appended it.
fn again(account: &mut SoakAccount, which: fn(&EntryLine) -> bool) {
    let at = account.lines.iter().rposition(which).unwrap();
    let mut copy = account.lines[at].clone();
    let last = account.lines.iter().rfind(|line| line.journal == copy.journal).unwrap().digest;
    copy.sequence = Sequence(account.lines.last().unwrap().sequence.0 + 1);
    copy.entry.as_mut().unwrap().record_mut().previous = Some(last);
    account.lines.push(copy);
}

/// The last such entry is there twice, one right behind the other.
fn at_once(account: &mut SoakAccount, which: fn(&EntryLine) -> bool) {
    let at = account.lines.iter().rposition(which).unwrap();
    let mut copy = account.lines[at].clone();
    copy.entry.as_mut().unwrap().record_mut().previous = Some(copy.digest);
    account.lines.insert(at + 1, copy);
}

fn swap_landings(account: &mut SoakAccount) {
    let places: Vec<usize> = (0..account.lines.len()).filter(|at| is_landing(&account.lines[*at])).collect();
    account.lines.swap(places[0], places[1]);
}

fn each_report(account: &mut SoakAccount, change: fn(&mut VerificationReport)) {
    for line in &mut account.handoffs {
        if let Ok((_, Handed::Reported(report))) = &mut line.body {
            change(report);
        }
    }
}

fn fail(report: &mut VerificationReport) {
    for criterion in &mut report.criteria {
        criterion.result.verdict = Verdict::Fail;
    }
}

#[test]
fn every_way_to_doctor_a_journal_is_found() {
    each_is_found(Flight::Alone, &CASES);
}

#[test]
fn every_way_to_doctor_what_people_did_is_found() {
    each_is_found(Flight::People, &PEOPLES_CASES);
}

fn each_is_found(flight: Flight, cases: &[Case]) {
    let place = CellWorld::new(flight, None);
    place.fly_to_the_end().unwrap().expect(0);
    let sound = SoakAccount::of(&place.world);
    assert_eq!(checker::findings(&sound), Vec::<String>::new());
    for (name, doctor, expected) in cases {
        let mut doctored = sound.clone();
        doctor(&mut doctored);
        let found = checker::findings(&doctored);
        assert!(found.iter().any(|what| what.contains(expected)), "{name}: {expected:?} is not in {found:#?}");
    }
}
