//! Runs that a report has from an earlier one, doctored in one place at a time.

use holdpoint_protocol::{
    Digest,
    artifact::{CheckRun, Handed, TreeTested, VerificationReport},
    facts::Verdict,
    ids::ArtifactId,
    time::Millis,
};

use super::doctored::flown;
use crate::testing::account::Account;
use crate::{audit::BrokenLink, testing::parts::oid};

fn run() -> CheckRun {
    CheckRun {
        criterion: Some("suite".parse().unwrap()),
        command: "make test".to_owned(),
        tested: TreeTested::Handoff,
        tree: oid(0x7ee),
        exit_code: Some(0),
        signal: None,
        duration: Millis(1_234),
        after: Some(Millis(5)),
        output: Digest::of(b"output"),
        output_bytes: 6,
        verdict: Verdict::Pass,
        reason: None,
        known_from: None,
    }
}

/// The reports, with what each is called.
fn reports(account: &mut Account) -> Vec<(ArtifactId, &mut VerificationReport)> {
    let bodies = account.handoffs.iter_mut().filter_map(|line| match &mut line.body {
        Ok((head, Handed::Reported(report))) => Some((head.artifact_id.clone(), report.as_mut())),
        _ => None,
    });
    bodies.collect()
}

/// The second report has a run from the first one, where it was made on another kind of tree; then it is changed.
fn citing(change: impl FnOnce(&mut CheckRun, &mut VerificationReport)) -> Account {
    let mut account = flown();
    let mut reports = reports(&mut account);
    let (first, rest) = reports.split_first_mut().unwrap();
    first.1.receipt.checks = vec![run()];
    let cited = CheckRun {
        criterion: Some("guard".parse().unwrap()),
        tested: TreeTested::Base,
        after: None,
        known_from: Some(first.0.clone()),
        ..run()
    };
    rest[0].1.receipt.checks = vec![cited];
    change(&mut rest[0].1.receipt.checks[0], first.1);
    account
}

#[test]
fn a_run_of_an_earlier_report_or_of_the_same_one_is_sound_in_another_role() {
    let audit = citing(|_, _| {}).audit();
    assert_eq!((audit.findings, audit.counts.cited_elsewhere), (vec![], 0));
    let mut account = flown();
    let (name, report) = reports(&mut account).remove(0);
    let again = CheckRun { tested: TreeTested::TestsAsOnBase, known_from: Some(name), ..run() };
    report.receipt.checks = vec![run(), again];
    assert_eq!(account.audit().findings, vec![]);
}

#[test]
fn a_run_of_a_report_on_another_flight_is_counted_and_breaks_nothing() {
    let audit = citing(|run, _| run.known_from = Some("elsewhere".parse().unwrap())).audit();
    assert_eq!((audit.findings, audit.counts.cited_elsewhere), (vec![], 1));
}

#[test]
fn a_run_that_the_named_report_does_not_have_is_named() {
    type Change = fn(&mut CheckRun, &mut VerificationReport);
    let cases: [(Change, &str); 9] = [
        (|run, _| run.tree = oid(0xbad), "is on tree"),
        (|run, _| run.command = "true".to_owned(), "is of another command"),
        (|run, _| run.output = Digest::of(b"another"), "no such run"),
        (|run, _| run.exit_code = Some(1), "ended otherwise"),
        (|run, _| run.duration = Millis(1), "ended otherwise"),
        (|_, first| first.receipt.checks[0].verdict = Verdict::Fail, "ended otherwise"),
        (|_, first| first.receipt.checks[0].tree = oid(0xbad), "is on tree"),
        (|_, first| first.receipt.checks.clear(), "no such run"),
        (|_, first| first.receipt.checks[0].known_from = Some("elsewhere".parse().unwrap()), "from report elsewhere"),
    ];
    for (n, (change, words)) in cases.into_iter().enumerate() {
        let audit = citing(change).audit();
        let found = audit.findings.first().unwrap_or_else(|| panic!("case {n} is sound"));
        assert_eq!(found.link, BrokenLink::Citation, "{found}");
        assert!(found.at.starts_with("HP_HANDOFF_VERIFIER/") && found.found.contains(words), "case {n}: {found}");
    }
}

#[test]
fn a_report_that_nobody_took_may_say_what_it_likes() {
    let mut account = citing(|run, _| run.tree = oid(0xbad));
    let is_citing = |line: &&mut crate::audit::HandoffLine| matches!(&line.body, Ok((_, Handed::Reported(report))) if report.receipt.checks.iter().any(|run| run.known_from.is_some()));
    let citing = account.handoffs.iter_mut().find(is_citing).unwrap();
    let (mut refused, mut taken) = (citing.clone(), citing.clone());
    refused.sequence = holdpoint_protocol::journal::Sequence(1);
    if let Ok((head, _)) = &mut refused.body {
        head.artifact_id = "refused".parse().unwrap();
    }
    if let Ok((_, Handed::Reported(report))) = &mut taken.body {
        report.receipt.checks.clear();
    }
    *citing = taken;
    account.handoffs.push(refused);
    assert_eq!(account.audit().findings, vec![]);
}
