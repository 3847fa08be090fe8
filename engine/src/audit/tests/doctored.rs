//! A sound account, doctored in one place at a time by a person who has the file but no keys, or by a broker that lost
//! something: the first finding names the place and the link.

use holdpoint_protocol::{
    artifact::{Handed, VerificationReport},
    facts::{Harness, Verdict},
    ids::{ArtifactId, role},
    journal::{Entry, EntryRef, Sequence},
    streams,
};

use crate::testing::account::{Account, cut, decided, nothing};
use crate::{
    audit::{BrokenLink, Bytes},
    testing::{
        fixture::Fixture,
        parts::{self, fleet, plan, waypoint},
    },
};

/// Two waypoints: `a` is reworked once and lands, `b` is accepted on the older head, merged, verified again and lands.
pub(super) fn flown() -> Account {
    let mut fixture = Fixture::new(plan(vec![waypoint("a", &[]), waypoint("b", &[])]), fleet());
    fixture.feed("a", crate::waypoint::Input::Open);
    fixture.accept("b");
    fixture.build_ok("a").turn();
    fixture.report("a", |r| r.criteria[0].result.verdict = Verdict::Fail).turn();
    fixture.build_ok("a").turn();
    fixture.report("a", |_| {}).decided();
    fixture.land("a");
    fixture.merge("b", true).turn();
    fixture.report("b", |_| {}).decided();
    fixture.land("b");
    Account::of(&fixture)
}

fn at(account: &Account, which: impl Fn(&crate::audit::EntryLine) -> bool) -> usize {
    account.entries.iter().position(which).unwrap()
}

fn last(account: &Account, which: impl Fn(&crate::audit::EntryLine) -> bool) -> usize {
    account.entries.iter().rposition(which).unwrap()
}

fn of<'a>(waypoint: &'a str) -> impl Fn(&crate::audit::EntryLine) -> bool + 'a {
    move |line| line.journal.waypoint.as_ref().is_some_and(|w| w.as_str() == waypoint)
}

/// The first finding: which link, where, and all of its words.
#[track_caller]
fn first(account: &Account) -> (BrokenLink, String, String) {
    let audit = account.audit();
    let first = audit.findings.first().expect("something is found");
    (first.link, first.at.clone(), first.to_string())
}

fn entry(n: usize) -> String {
    format!("HP_JOURNAL/{n}")
}

#[test]
fn a_sound_account_has_no_findings() {
    let audit = flown().audit();
    assert_eq!(audit.findings, vec![]);
    assert_eq!((audit.counts.landings, audit.counts.answered), (2, 7));
    assert!(audit.counts.evidence > 0 && audit.counts.decisions == 10, "{:?}", audit.counts);
}

#[test]
fn an_entry_that_no_orchestrator_signed_is_named() {
    for n in 0..flown().entries.len() {
        let mut account = flown();
        account.entries[n].signed = false;
        assert_eq!(first(&account).0, BrokenLink::Signature);
        assert_eq!(first(&account).1, entry(n + 1));
    }
}

#[test]
fn an_entry_that_cannot_be_read_is_named() {
    let mut account = flown();
    account.entries[2].entry = Err("payload does not have the expected shape".to_owned());
    let (link, place, words) = first(&account);
    assert_eq!((link, place), (BrokenLink::Entry, entry(3)));
    assert!(words.contains("expected shape"), "{words}");
}

#[test]
fn a_lost_entry_is_named_by_the_one_behind_it() {
    let mut account = flown();
    let lost = at(&account, of("a")) + 1;
    let lost = lost + account.entries[lost..].iter().position(of("a")).unwrap();
    let journal = account.entries[lost].journal.clone();
    account.entries.remove(lost);
    let behind = account.entries[lost..].iter().find(|line| line.journal == journal).unwrap().reference();
    let (link, place, words) = first(&account);
    assert_eq!((link, place), (BrokenLink::Chain, behind));
    assert!(words.contains("an entry was lost"), "{words}");
}

#[test]
fn a_tail_that_is_cut_off_the_file_is_named_by_the_seal() {
    for waypoint in ["a", "b"] {
        let mut account = flown();
        let end = last(&account, of(waypoint));
        let lost = account.entries.remove(end).reference();
        let audit = account.audit();
        let sealed = audit.findings.iter().find(|finding| finding.link == BrokenLink::Seal).unwrap();
        assert_eq!(sealed.at, lost);
        assert!(sealed.found.contains("a tail was lost"), "{sealed}");
    }
    let mut account = flown();
    account.entries.pop();
    assert_eq!(first(&account).0, BrokenLink::Seal, "the last landing");
}

#[test]
fn a_tail_that_the_broker_lost_is_named_by_what_refers_to_it() {
    let mut account = flown();
    // The last turn of `b`, its decision and its landing; the verifier's report on it is still there.
    let turn = last(&account, |line| of("b")(line) && matches!(line.entry, Ok(Entry::Turn(_))));
    account.entries.truncate(turn);
    account.cut = cut(&account.entries);
    let (link, place, words) = first(&account);
    let report = account.handoffs.last().unwrap();
    assert_eq!((link, place), (BrokenLink::Tail, report.reference()));
    assert!(words.contains("waypoint b") && words.contains("was lost"), "{words}");
}

#[test]
fn a_handoff_that_came_while_the_export_was_made_is_no_lost_tail() {
    let mut account = flown();
    let turn = last(&account, |line| of("b")(line) && matches!(line.entry, Ok(Entry::Turn(_))));
    account.entries.truncate(turn);
    account.cut = cut(&account.entries);
    let verifier = streams::handoff(&role::id(role::VERIFIER));
    let report = account.handoffs.last().unwrap().sequence;
    let end = account.cut.handoffs.iter_mut().find(|end| end.stream == verifier).unwrap();
    end.known = Sequence(report.0 - 1);
    assert_eq!(account.audit().findings, vec![]);
}

#[test]
fn a_turn_that_was_changed_after_its_agent_saw_it_is_named() {
    for (digest, sequence, expected) in [(Some(nothing()), None, "it was changed"), (None, Some(99), "it stands at")] {
        let mut account = flown();
        let (turn, line) = account
            .entries
            .iter()
            .find_map(|line| match &line.entry {
                Ok(Entry::Turn(turn)) => Some((turn.turn_id.clone(), line)),
                _ => None,
            })
            .unwrap();
        let seen = EntryRef { sequence: sequence.map_or(line.sequence, Sequence), digest };
        let handoff = account
            .handoffs
            .iter_mut()
            .find(|h| h.body.as_ref().is_ok_and(|(head, _)| head.turn.as_ref() == Some(&turn)));
        let Ok((head, _)) = &mut handoff.unwrap().body else { unreachable!() };
        head.source_refs.push(seen.to_string());
        let (link, _, words) = first(&account);
        assert_eq!(link, BrokenLink::Tail);
        assert!(words.contains(expected), "{words}");
    }
}

#[test]
fn two_entries_that_changed_places_are_named() {
    let mut account = flown();
    let one = at(&account, of("b"));
    let other = one + 1 + account.entries[one + 1..].iter().position(of("b")).unwrap();
    account.entries.swap(one, other);
    let (link, place, _) = first(&account);
    assert_eq!((link, place), (BrokenLink::Chain, account.entries[one].reference()));
}

#[test]
fn a_handoff_of_another_key_or_role_is_named_by_the_entry_that_answers_it() {
    let mut account = flown();
    account.handoffs[0].sender = Err("the signature does not fit the agent's key".to_owned());
    let (link, _, words) = first(&account);
    assert_eq!(link, BrokenLink::Sender);
    assert!(words.contains("does not fit the agent's key"), "{words}");

    let mut account = flown();
    let report = account.handoffs.iter_mut().find(|h| h.subject.role.as_str() == role::VERIFIER).unwrap();
    report.subject.role = role::id(role::BUILDER);
    let (link, _, words) = first(&account);
    assert_eq!(link, BrokenLink::Cause);
    assert!(words.contains("by role builder"), "{words}");
}

#[test]
fn a_foreign_verifiers_receipt_is_recorded_as_foreign_whatever_it_claims() {
    let mut fixture = Fixture::opened(|_, _| {});
    fixture.build_ok("w").turn();
    // As the orchestrator gives it to the machine: with what the sender's key says.
    fixture.report("w", |r| r.receipt.foreign = true).decided();
    assert_eq!(fixture.state("w").foreign_receipt, Some(true));
    let mut account = Account::of(&fixture);
    let claims = |account: &mut Account, foreign: bool| {
        let Some(Ok((_, Handed::Reported(report)))) = account.handoffs.last_mut().map(|line| &mut line.body) else {
            panic!("the last handoff is the report")
        };
        report.receipt.foreign = foreign;
    };
    claims(&mut account, false);
    assert_eq!(account.audit().findings, vec![]);

    // What an earlier version wrote says nothing of it, and is read as foreign.
    let silent = |account: &mut Account| {
        let entry = account.entries.last_mut().unwrap().entry.as_mut().unwrap();
        entry.record_mut().state.as_mut().unwrap().foreign_receipt = None;
    };
    silent(&mut account);
    assert_eq!(account.audit().findings, vec![]);
    account.handoffs.last_mut().unwrap().sender = Ok(Harness::Holdpoint);
    assert_eq!(first(&account).0, BrokenLink::Decision);
}

#[test]
fn what_an_earlier_version_did_not_record_of_a_decision_is_no_difference_and_what_is_wrong_is() {
    let mut fixture = Fixture::opened(|_, _| {});
    fixture.build_ok("w").turn();
    fixture.report("w", |_| {}).decided();
    let mut account = Account::of(&fixture);
    let last = |account: &mut Account, artifacts: Option<ArtifactId>| {
        let entry = account.entries.last_mut().unwrap().entry.as_mut().unwrap();
        let Entry::Decided(decided) = entry else { panic!("the last entry decides") };
        decided.decision.artifacts = artifacts.into_iter().collect();
        for visit in &mut decided.record.state.as_mut().unwrap().history {
            visit.artifact = None;
        }
    };
    last(&mut account, None);
    assert_eq!(account.audit().findings, vec![]);
    last(&mut account, Some("another".parse().unwrap()));
    assert_eq!(first(&account).0, BrokenLink::Decision);
}

#[test]
fn a_refused_handoff_breaks_nothing() {
    let mut account = flown();
    let mut junk = account.handoffs[0].clone();
    junk.sequence = Sequence(1);
    junk.sender = Err("no credentials".to_owned());
    account.handoffs.push(junk);
    assert_eq!(account.audit().findings, vec![]);
}

#[test]
fn a_missing_or_changed_handoff_is_named_by_the_entry_that_answers_it() {
    let mut account = flown();
    let lost = account.handoffs.remove(0).reference();
    let (link, _, words) = first(&account);
    assert_eq!(link, BrokenLink::Cause);
    assert!(words.contains(&lost) && words.contains("no such handoff"), "{words}");

    let mut account = flown();
    account.handoffs[0].digest = nothing();
    let (link, _, words) = first(&account);
    assert_eq!(link, BrokenLink::Cause);
    assert!(words.contains(&nothing().to_string()), "{words}");
}

fn each_report(account: &mut Account, change: fn(&mut VerificationReport)) {
    for line in &mut account.handoffs {
        if let Ok((_, Handed::Reported(report))) = &mut line.body {
            change(report);
        }
    }
}

#[test]
fn an_acceptance_that_its_report_does_not_carry_is_named() {
    type Change = fn(&mut VerificationReport);
    let cases: [(Change, &str); 3] = [
        (|report| report.commit = parts::oid(0xbad), "accepts another commit"),
        (|report| report.criteria[0].result.verdict = Verdict::Inconclusive, "does not pass"),
        (|report| report.turn = "another".parse().unwrap(), "which is not open"),
    ];
    for (change, expected) in cases {
        let mut account = flown();
        each_report(&mut account, change);
        let audit = account.audit();
        let accept = account.entries.iter().find(|line| decided(line)).unwrap().reference();
        let found = audit.findings.iter().find(|f| f.link == BrokenLink::Report && f.at == accept);
        let found = found.unwrap_or_else(|| panic!("{:#?}", audit.findings)).to_string();
        assert!(found.contains(expected), "{found}");
    }
}

#[test]
fn missing_and_changed_evidence_is_named() {
    let account = flown();
    let whole = account.bytes();
    let (digest, _) = whole.iter().next().unwrap();
    let mut missing = whole.clone();
    missing.remove(digest);
    let mut changed = whole.clone();
    changed.insert(*digest, Err("its bytes have another digest".to_owned()));
    for (bytes, expected) in [(missing, "not there"), (changed, "another digest"), (Bytes::new(), "not there")] {
        let audit = account.audit_with(Some(&bytes));
        let first = &audit.findings[0];
        assert_eq!(first.link, BrokenLink::Evidence);
        assert!(first.at.starts_with("HP_HANDOFF_VERIFIER/"), "{first}");
        assert!(first.expected.contains("sha256:") && first.found.contains(expected), "{first}");
    }
    assert_eq!(account.audit_with(None).findings, vec![], "digests alone");
}
