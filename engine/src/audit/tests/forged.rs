//! Entries that an attacker with an orchestrator's key wrote: signed and chained, and still not what the rules make.

use holdpoint_protocol::{
    Digest, Timestamp,
    artifact::Disposition,
    facts::{Harness, Verdict},
    ids::role,
    journal::{Basis, Entry, Happened, Record, Sequence},
    reason::ReasonCode,
    retire::Retired,
    state::{Held, Phase, Resume, Status, Verified},
    turn::TurnRequest,
    version,
};

use super::doctored::flown;
use crate::testing::account::{Account, cut, nothing};
use crate::{
    audit::{BrokenLink, EntryLine, HandoffLine},
    testing::parts::oid,
};

/// Signs everything again: digests and chain fit what the entries say now.
fn reseal(account: &mut Account) {
    let mut last = std::collections::BTreeMap::new();
    for (n, line) in account.entries.iter_mut().enumerate() {
        line.sequence = Sequence(n as u64 + 1);
        let Ok(entry) = &mut line.entry else { unreachable!() };
        entry.record_mut().previous = last.get(&line.journal).copied();
        line.digest = Digest::of(format!("{entry:?}").as_bytes());
        last.insert(line.journal.clone(), line.digest);
    }
    account.cut = cut(&account.entries);
}

/// The flight leaves the broker behind `n` entries, and its account ends there.
fn retired_behind(n: usize) -> Account {
    let mut account = flown();
    account.entries.truncate(n);
    let own = account.entries.iter().find(|line| line.journal.waypoint.is_none()).unwrap().clone();
    let entry = Entry::Retired(Box::new(Retired {
        schema_version: version::CURRENT,
        flight: own.journal.flight.clone(),
        by: "archivist".parse().unwrap(),
        export: Digest::of(b"export"),
        handoffs: Vec::new(),
        record: Record::at(Timestamp::from_millis(0)),
    }));
    account.entries.push(EntryLine { entry: Ok(entry), ..own });
    reseal(&mut account);
    account
}

#[test]
fn a_flight_that_leaves_when_it_is_over_is_sound_and_one_that_leaves_before_is_named() {
    let whole = flown().entries.len();
    assert_eq!(retired_behind(whole).audit().findings, vec![]);
    let early = retired_behind(whole - 1).audit();
    let found = early.findings.iter().find(|finding| finding.link == BrokenLink::Entry).unwrap();
    assert_eq!((found.at.as_str(), found.found.as_str()), (&*format!("HP_JOURNAL/{whole}"), "b can still go on"));
}

/// The entry that `which` finds first, to be changed.
fn find(account: &mut Account, which: fn(&Entry) -> bool) -> &mut Entry {
    let line = account.entries.iter_mut().find(|line| line.entry.as_ref().is_ok_and(which));
    line.unwrap().entry.as_mut().unwrap()
}

fn accepts(entry: &Entry) -> bool {
    entry.decision().is_some_and(|decision| decision.disposition == Disposition::Accept)
}

fn reworks(entry: &Entry) -> bool {
    entry.decision().is_some_and(|decision| decision.disposition == Disposition::Rework)
}

fn verifies(entry: &Entry) -> bool {
    matches!(entry, Entry::Turn(turn) if matches!(turn.request, TurnRequest::Verify(_)))
}

fn builds(entry: &Entry) -> bool {
    matches!(entry, Entry::Turn(turn) if matches!(turn.request, TurnRequest::Build(_)))
}

fn lands(entry: &Entry) -> bool {
    matches!(entry, Entry::Landed(_))
}

fn state(entry: &mut Entry) -> &mut holdpoint_protocol::state::WaypointState {
    entry.record_mut().state.as_mut().unwrap()
}

/// The first report.
fn verifier(account: &mut Account) -> &mut HandoffLine {
    let mut handoffs = account.handoffs.iter_mut();
    handoffs.find(|line| line.subject.role.as_str() == role::VERIFIER).unwrap()
}

/// What is forged, how, which link is broken, and a part of the words.
type Case = (&'static str, fn(&mut Account), BrokenLink, &'static str);

const CASES: [Case; 19] = [
    (
        "an acceptance without a handoff",
        |a| find(a, accepts).record_mut().cause = None,
        BrokenLink::Report,
        "without a report",
    ),
    (
        "an acceptance of a failing report",
        |a| {
            let line = a.entries.iter_mut().position(|l| l.entry.as_ref().is_ok_and(reworks)).unwrap();
            let cause = a.entries[line].entry.as_ref().unwrap().record().cause.clone();
            let at = state(a.entries[line].entry.as_mut().unwrap()).clone();
            let mut forged = a.entries.iter().find(|l| l.entry.as_ref().is_ok_and(accepts)).unwrap().clone();
            let entry = forged.entry.as_mut().unwrap();
            entry.record_mut().cause = cause;
            let accepted = state(entry).phase.clone();
            let verdicts = state(entry).criteria.clone();
            *state(entry) = at.clone();
            let (work, base) = (at.work.unwrap(), at.base.unwrap());
            let report = entry.record().cause.as_ref().unwrap().digest;
            state(entry).phase = accepted;
            state(entry).verified = Some(Verified { report, tree: work.tree, base, suspicious: false });
            state(entry).criteria = verdicts;
            forged.journal = a.entries[line].journal.clone();
            a.entries[line] = forged;
        },
        BrokenLink::Report,
        "does not pass",
    ),
    ("another reason", |a| reason(find(a, reworks)), BrokenLink::Decision, "criteria_failed"),
    (
        "attempts that are not counted",
        |a| state(find(a, reworks)).counters.attempts = 0,
        BrokenLink::Decision,
        "attempts",
    ),
    ("a rework that costs nothing", |a| state(find(a, reworks)).counters.reworks = 0, BrokenLink::Decision, "reworks"),
    (
        "verdicts of nobody",
        |a| state(find(a, reworks)).criteria[0].verdict = Verdict::Pass,
        BrokenLink::Decision,
        "criteria",
    ),
    (
        "a foreign verifier's receipt passed off as ours",
        |a| verifier(a).sender = Ok(Harness::Foreign),
        BrokenLink::Decision,
        "foreign_receipt true; found false",
    ),
    (
        "our verifier's receipt passed off as foreign",
        |a| state(find(a, reworks)).foreign_receipt = Some(true),
        BrokenLink::Decision,
        "foreign_receipt false; found true",
    ),
    ("broken rules left out of a request", |a| request(find(a, verifies)), BrokenLink::Decision, "commit"),
    ("a base that was never a head", |a| state(find(a, builds)).base = Some(oid(0xbad)), BrokenLink::Decision, "base"),
    (
        "a decision by entries that are not there",
        |a| basis(find(a, builds)).read = 9,
        BrokenLink::Decision,
        "by 9 entries",
    ),
    ("work that nobody handed off", |a| commit(find(a, verifies)), BrokenLink::Decision, "which was handed off"),
    ("a turn for another role", |a| other_role(find(a, builds)), BrokenLink::Decision, "role"),
    ("a turn that may take for ever", |a| deadline(find(a, builds)), BrokenLink::Decision, "deadline"),
    ("an end that nobody decided", |a| halt(find(a, accepts)), BrokenLink::Decision, "phase"),
    ("a landing on another parent", |a| landed(find(a, lands)).parent = oid(0xbad), BrokenLink::Landing, "stands on"),
    ("a landing of another tree", |a| landed(find(a, lands)).tree = oid(0xbad), BrokenLink::Landing, "was verified"),
    (
        "a landing by another report",
        |a| landed(find(a, lands)).report = nothing(),
        BrokenLink::Landing,
        "by the report",
    ),
    (
        "a second landing",
        |a| {
            let again: EntryLine = a.entries.iter().find(|l| l.entry.as_ref().is_ok_and(lands)).unwrap().clone();
            a.entries.push(again);
        },
        BrokenLink::Landing,
        "lands again",
    ),
];

fn reason(entry: &mut Entry) {
    let Entry::Turn(turn) = entry else { unreachable!() };
    turn.decision.as_mut().unwrap().reason_code = ReasonCode::EvidenceMissing;
}

fn request(entry: &mut Entry) {
    let Entry::Turn(turn) = entry else { unreachable!() };
    let TurnRequest::Verify(request) = &mut turn.request else { unreachable!() };
    request.commit = oid(0xbad);
}

fn basis(entry: &mut Entry) -> &mut Basis {
    entry.record_mut().basis.as_mut().unwrap()
}

fn commit(entry: &mut Entry) {
    let Happened::Work { commit: Some(work), .. } = &mut basis(entry).what else { unreachable!() };
    work.commit = oid(0xbad);
}

fn deadline(entry: &mut Entry) {
    let Phase::InTurn(open) = &mut state(entry).phase else { unreachable!() };
    open.deadline = open.deadline.after(std::time::Duration::from_secs(1));
}

fn other_role(entry: &mut Entry) {
    let Entry::Turn(turn) = entry else { unreachable!() };
    turn.role = role::id(role::REPAIR);
    let Phase::InTurn(open) = &mut turn.record.state.as_mut().unwrap().phase else { unreachable!() };
    open.role = role::id(role::REPAIR);
}

fn halt(entry: &mut Entry) {
    state(entry).phase = Phase::Held(Held {
        status: Status::Blocked,
        since: Timestamp::from_millis(0),
        resume: Resume::Beginning,
        block_reason: None,
    });
}

fn landed(entry: &mut Entry) -> &mut holdpoint_protocol::journal::Landed {
    let Entry::Landed(landed) = entry else { unreachable!() };
    landed
}

#[test]
fn what_the_rules_do_not_make_is_found_although_it_is_signed_and_chained() {
    let mut untouched = flown();
    reseal(&mut untouched);
    assert_eq!(untouched.audit().findings, vec![]);
    for (name, forge, link, expected) in CASES {
        let mut account = flown();
        forge(&mut account);
        reseal(&mut account);
        let audit = account.audit();
        let found = audit.findings.iter().any(|f| f.link == link && f.to_string().contains(expected));
        assert!(found, "{name}: {expected:?} is not in {:#?}", audit.findings);
    }
}

#[test]
fn an_entry_is_judged_by_the_handoff_it_names_and_not_by_another() {
    let mut account = flown();
    let reported: Vec<_> = account
        .entries
        .iter()
        .filter_map(|line| line.entry.as_ref().ok()?.record().cause.clone())
        .filter(|cause| cause.stream.ends_with("VERIFIER"))
        .collect();
    find(&mut account, accepts).record_mut().cause = reported.last().cloned();
    reseal(&mut account);
    let audit = account.audit();
    assert_eq!(audit.findings[0].link, BrokenLink::Turn, "{}", audit.findings[0]);
}
