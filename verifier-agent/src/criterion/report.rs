//! The report on one criterion, from the runs that settled it: verdict, evidence, and one sentence for people. Pure.

use holdpoint_evidence::{checks::CriterionJudgement, runners, telling};
use holdpoint_protocol::{
    artifact::CriterionReport,
    facts::{CriterionResult, Verdict},
    ids::CriterionId,
    reason::CriterionReason,
};

use super::{AskedBy, Named};
use crate::{heard, runs::Ran};

/// The report where one run decided, compared with nothing. A check that has to be red on the base is so by its report
/// as well; what others report there is the project's way.
pub(super) fn report_alone(named: Named<'_>, ran: &Ran) -> CriterionReport {
    let mut report = report_of_run(named, ran);
    if named.by == AskedBy::Criterion && !ran.not_set_up {
        let by_report = named.check.red_first;
        let says = if by_report { ran.read.alone() } else { ran.read.showing() };
        (report.result.verdict, report.result.reason) = says;
        match report.result.reason {
            Some(CriterionReason::ReportRed) => report.note = Some(REPORT_RED.to_owned()),
            Some(CriterionReason::NoTests) => report.note = Some(NO_TESTS.to_owned()),
            Some(reason) => report.note = heard::explained(reason, ran).or(report.note),
            None => {}
        }
    }
    report
}

/// What [`CriterionReason::ReportRed`] means.
const REPORT_RED: &str = "it ended with exit code 0, but its test runner reports failures";

/// What [`CriterionReason::NoTests`] means.
pub(crate) const NO_TESTS: &str = "it ran no test, so it shows nothing";

/// The report where one run decided.
pub(super) fn report_of_run(named: Named<'_>, ran: &Ran) -> CriterionReport {
    if ran.not_set_up {
        return report_of_setup(named.id, ran);
    }
    let note = match ran.run.reason {
        None => None,
        Some(CriterionReason::ExpectUnmatched) => {
            let expect = named.check.expect.as_deref().unwrap_or_default();
            Some(format!("the check ended well, but its output does not match `{expect}`"))
        }
        Some(CriterionReason::Timeout) => {
            Some(format!("the check did not end within {} s", named.check.timeout.duration().as_secs()))
        }
        Some(_) if ran.lacks.is_some() => ran.lacks.clone(),
        Some(_) if !ran.red_before.is_empty() => Some(format!(
            "the check was red in each of {} runs on the same tree: {}",
            ran.red_before.len() + 1,
            ran.ending
        )),
        Some(_) => Some(match ran.run.exit_code.filter(|code| telling::shells_give(*code).is_some()) {
            Some(code) => format!("the check {}", telling::exited(code)),
            None => format!("the check ended with: {}", ran.ending),
        }),
    };
    CriterionReport {
        result: CriterionResult {
            id: named.id.clone(),
            verdict: ran.run.verdict,
            reason: ran.run.reason,
            evidence: std::iter::once(ran.run.output).chain(ran.red_before.iter().copied()).collect(),
        },
        command: Some(named.check.command.clone()),
        exit_code: ran.run.exit_code,
        output_tail: ran.tail.clone(),
        note,
    }
}

pub(crate) fn report_of_setup(id: &CriterionId, ran: &Ran) -> CriterionReport {
    CriterionReport {
        result: CriterionResult {
            id: id.clone(),
            verdict: ran.run.verdict,
            reason: ran.run.reason,
            evidence: vec![ran.run.output],
        },
        command: Some(ran.run.command.clone()),
        exit_code: ran.run.exit_code,
        output_tail: ran.tail.clone(),
        note: Some(format!(
            "the environment could not be set up, so the check was not run ({})",
            ran.lacks.as_ref().unwrap_or(&ran.ending)
        )),
    }
}

/// The report where several runs were compared.
pub(super) fn report(
    named: Named<'_>,
    judgement: &CriterionJudgement,
    first: &Ran,
    base: Option<&Ran>,
    composed: Option<&Ran>,
) -> CriterionReport {
    let deciding = match judgement.reason {
        Some(CriterionReason::TestsWeakened) => composed.unwrap_or(first),
        _ => first,
    };
    let mut evidence = vec![deciding.run.output];
    let others = [Some(first), base, composed].into_iter().flatten();
    let others = others.flat_map(|ran| ran.red_before.iter().copied().chain([ran.run.output]));
    evidence.extend(others.filter(|output| *output != deciding.run.output));
    evidence.dedup();
    CriterionReport {
        result: CriterionResult {
            id: named.id.clone(),
            verdict: judgement.verdict,
            reason: judgement.reason,
            evidence,
        },
        command: Some(named.check.command.clone()),
        exit_code: deciding.run.exit_code,
        output_tail: deciding.tail.clone(),
        note: difference(judgement, first, base, composed),
    }
}

/// What the comparisons had against the first run, in one sentence.
fn difference(
    judgement: &CriterionJudgement,
    first: &Ran,
    base: Option<&Ran>,
    composed: Option<&Ran>,
) -> Option<String> {
    let total = |ran: &Ran| ran.read.counts.as_ref().map(runners::TestCounts::total).unwrap_or_default();
    let (now, then) = (total(first), base.map(total).unwrap_or_default());
    let lost = some_names(judgement);
    let reason = judgement.difference?;
    if let Some(text) = heard::explained(reason, first) {
        return Some(text);
    }
    let text = match reason {
        CriterionReason::FewerTests if judgement.ended_early => {
            let ran = if base.is_some() {
                format!(" ({} tests ran, {} on the base)", now.run, then.run)
            } else {
                String::new()
            };
            format!("it ended well, but its test runner did not come to its end: the code under test ended it{ran}")
        }
        CriterionReason::FewerTests if judgement.in_text => {
            format!("tests that stood in product files are written in none of the changed files: {lost}")
        }
        CriterionReason::MoreSkipped if judgement.in_text => {
            "tests are skipped, and product code has words that skip them; the base could not collect its own"
                .to_owned()
        }
        CriterionReason::TestsWeakened if judgement.in_text => {
            format!(
                "in product files, tests were emptied, given a condition or another outcome, or macros that they assert with were replaced: {lost}"
            )
        }
        CriterionReason::FewerTests if now.run < then.run => {
            let which = if lost.is_empty() { lost } else { format!("; missing: {lost}") };
            format!("{} tests ran, {} on the base{which}", now.run, then.run)
        }
        CriterionReason::FewerTests if lost.is_empty() => {
            let whole = composed.map(total).unwrap_or_default();
            format!("{} tests ran, {} with the tests as on the base", now.run, whole.run)
        }
        CriterionReason::NoTests => NO_TESTS.to_owned(),
        CriterionReason::ReportRed if lost.is_empty() => REPORT_RED.to_owned(),
        CriterionReason::ReportRed => format!("{REPORT_RED}: {lost}"),
        CriterionReason::FewerTests => format!("tests of the base that did not run: {lost}"),
        CriterionReason::MoreSkipped if now.skipped > then.skipped && !base.is_some_and(uncollected) => {
            format!("{} tests were skipped, {} on the base", now.skipped, then.skipped)
        }
        CriterionReason::MoreSkipped => "tests are skipped that are not with the tests as on the base".to_owned(),
        _ if lost.is_empty() => "it is not green with the tests as on the base".to_owned(),
        _ => format!("not green with the tests as on the base: {lost}"),
    };
    let counts = judgement.verdict == Verdict::Pass;
    Some(if counts { format!("`changed_tests` names these tests, so this does not count: {text}") } else { text })
}

fn uncollected(ran: &Ran) -> bool {
    ran.read.counts.as_ref().is_none_or(|counts| counts.total().uncollected)
}

/// The first of the tests that a judgement is about.
fn some_names(judgement: &CriterionJudgement) -> String {
    let names: Vec<&str> = judgement.lost.iter().map(String::as_str).take(NAMES_SHOWN).collect();
    let more = if judgement.lost.len() > NAMES_SHOWN { ", …" } else { "" };
    format!("{}{more}", names.join(", "))
}

/// Names of tests, or files, that a note shows.
pub(crate) const NAMES_SHOWN: usize = 5;
