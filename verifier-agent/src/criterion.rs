//! One criterion or guard: the runs that settle it, and the report on it.
//!
//! Which run says what is decided by `holdpoint_core::checks`; this makes the runs that can still change the verdict,
//! and no others.

use holdpoint_core::{
    checks::{self, CriterionJudgement},
    runners,
};
use holdpoint_protocol::{
    artifact::{CriterionReport, TreeTested},
    facts::{CriterionResult, Oid, Verdict},
    ids::{CriterionId, WaypointId},
    plan::{Check, EvidenceLevel},
    reason::CriterionReason,
};
use holdpoint_workspace::Mirror;
use regex::Regex;

use crate::{
    base_runs::{BaseRun, BaseRuns, Key},
    canary,
    changes::Changes,
    error::VerifyError,
    evidence::Evidence,
    heard,
    judge::About,
    runs::{CheckArgs, Ran, Record, Runs, Tree},
};

/// Bytes of an expression once compiled: the default of its crate, against expressions that use up the memory.
const EXPECT_BYTES_MAX: usize = 10 << 20;

/// What is judged, and against what.
pub(crate) struct Subject<'a> {
    pub(crate) waypoint: &'a WaypointId,
    pub(crate) tree: &'a Oid,
    pub(crate) base_tree: &'a Oid,
    pub(crate) changes: &'a Changes,
    pub(crate) mirror: &'a Mirror,
    pub(crate) base_runs: &'a BaseRuns,
    pub(crate) prepare: Option<&'a str>,
    pub(crate) about: About<'a>,
}

/// A named check: of a criterion or a guard.
#[derive(Clone, Copy)]
pub(crate) struct Named<'a> {
    pub(crate) id: &'a CriterionId,
    pub(crate) check: &'a Check,
}

impl<'a> Named<'a> {
    /// A run of it on a tree.
    pub(crate) fn on(self, expect: Option<&'a Regex>, tree: Tree<'a>) -> CheckArgs<'a> {
        CheckArgs { id: self.id, check: self.check, expect, tree, watch: None }
    }
}

/// The verdict of one plain run, compared with nothing: what a baseline asks.
pub(crate) async fn plain(
    runs: &mut Runs<'_>,
    subject: &Subject<'_>,
    named: Named<'_>,
) -> Result<CriterionReport, VerifyError> {
    let expect = expect_of(named)?;
    let tree = Tree::new(subject.base_tree, TreeTested::Base);
    let ran = runs.check(named.on(expect.as_ref(), tree)).await?;
    keep(runs, subject, named, &ran);
    Ok(report_alone(named, &ran))
}

/// A report, and the runs behind a pass that further ones can be compared with.
pub(crate) struct Judged {
    pub(crate) report: CriterionReport,
    pub(crate) first: Ran,
    pub(crate) base: Option<Ran>,
}

/// The verdict on the tree under review.
pub(crate) async fn judged(
    runs: &mut Runs<'_>,
    subject: &Subject<'_>,
    named: Named<'_>,
) -> Result<Judged, VerifyError> {
    let expect = expect_of(named)?;
    let expect = expect.as_ref();
    let first = runs.check(named.on(expect, Tree::new(subject.tree, TreeTested::Handoff))).await?;
    if first.unprepared || first.run.verdict != Verdict::Pass || subject.tree == subject.base_tree {
        return Ok(Judged { report: report_alone(named, &first), first, base: None });
    }
    let changes = subject.changes;
    let counted = first.read.counts.is_some() || runners::may_run_tests(&named.check.command);
    let mut base = None;
    if counted && !changes.tests_named() {
        base = Some(base_run(runs, subject, named, expect).await?);
    }
    let composed = if changes.tests_changed() {
        let tree = changes.with_tests_of_base(subject.mirror, subject.tree).await?;
        Some(runs.check(named.on(expect, Tree::new(&tree, TreeTested::TestsAsOnBase))).await?)
    } else {
        None
    };
    if let Some(failed) = composed.as_ref().filter(|composed| composed.unprepared && !changes.tests_named()) {
        return Ok(Judged { report: report_of_run(named, failed), first, base });
    }
    if counted && base.is_none() && asks_base(&first, composed.as_ref()) {
        base = Some(base_run(runs, subject, named, expect).await?);
    }
    let uncounted = base.as_ref().is_some_and(|base| base.unprepared);
    let base = base.filter(|base| !base.unprepared);
    let nothing_there = changes.tests_only_added() && no_base_tests(&first, base.as_ref(), composed.as_ref());
    let judgement = checks::judge_criterion(checks::Runs {
        first: &first.read,
        base: base.as_ref().map(|ran| &ran.read),
        composed: composed.as_ref().map(|ran| &ran.read).filter(|_| !nothing_there),
        named: changes.named(),
        only_added: changes.tests_only_added(),
        red_first: named.check.red_first,
        softened: &changes.softened,
    });
    let mut report = report(named, &judgement, &first, base.as_ref(), composed.as_ref());
    if report.note.is_none() {
        let note = if uncounted {
            Some("prepare fails on the base, so the tests that ran were not compared with those on it")
        } else {
            nothing_there.then_some("the base has no test that this check runs: only the added ones speak for it")
        };
        report.note = note.map(str::to_owned);
    }
    if report.result.verdict == Verdict::Pass && named.check.evidence == EvidenceLevel::Strict {
        heard::note_silence(&first, &mut report);
        // Where tests were put back, that run speaks: nothing in it was written by who wrote the product.
        let put_back = composed.as_ref().filter(|composed| composed.run.verdict == Verdict::Pass);
        let green = put_back.filter(|_| !changes.tests_named()).unwrap_or(&first);
        // On the base's own tree nobody but the base could answer for the tests.
        if &green.run.tree != subject.base_tree {
            Box::pin(canary::ask(runs, subject, named, expect, green, &mut report)).await?;
        }
    }
    Ok(Judged { report, first, base })
}

/// Whether the base can say something where the scope names every changed test: of a green run with the tests as on the
/// base, or of a first run whose runner did not come to its end or reports failures.
fn asks_base(first: &Ran, composed: Option<&Ran>) -> bool {
    let green = composed.is_some_and(|composed| composed.run.verdict == Verdict::Pass);
    let early = first.read.counts.as_ref().is_some_and(|counts| runners::ended_early(None, counts));
    let heard = first.read.observed.as_ref().is_some_and(|heard| heard.is_odd());
    green || early || heard || first.read.red || first.read.silent.is_some()
}

/// The report on a criterion for which nothing could be run.
pub(crate) fn not_run(record: &mut Record, id: &CriterionId, check: Option<&Check>, why: &str) -> CriterionReport {
    let evidence = record.keep(Evidence::of_reason(why));
    CriterionReport {
        result: CriterionResult {
            id: id.clone(),
            verdict: Verdict::Inconclusive,
            reason: None,
            evidence: vec![evidence],
        },
        command: check.map(|check| check.command.clone()),
        exit_code: None,
        output_tail: String::new(),
        note: Some(format!("nothing was run: {why}")),
    }
}

pub(crate) fn expect_of(named: Named<'_>) -> Result<Option<Regex>, VerifyError> {
    let compile = |text: &String| regex::RegexBuilder::new(text).size_limit(EXPECT_BYTES_MAX).build();
    let expect = named.check.expect.as_ref().map(compile).transpose();
    expect.map_err(|source| VerifyError::Expect { id: named.id.clone(), source })
}

/// The run on the base, from an earlier turn if there was one.
pub(crate) async fn base_run(
    runs: &mut Runs<'_>,
    subject: &Subject<'_>,
    named: Named<'_>,
    expect: Option<&Regex>,
) -> Result<Ran, VerifyError> {
    if let Some(known) = subject.base_runs.get(&key(subject, named)) {
        let run =
            holdpoint_protocol::artifact::CheckRun { criterion: Some(named.id.clone()), after: None, ..known.run };
        runs.record.ran(run.clone(), known.evidence);
        return Ok(Ran { run, read: known.read, tail: String::new(), ending: String::new(), unprepared: false });
    }
    let ran = runs.check(named.on(expect, Tree::new(subject.base_tree, TreeTested::Base))).await?;
    keep(runs, subject, named, &ran);
    Ok(ran)
}

/// Whether a check runs no test of the base: its runner was understood on the tree under review, and neither the base
/// nor that tree with the tests of the base has anything for it to run (a check that names a new test file). Both came
/// to a plain end, so it is not that they were kept from running.
fn no_base_tests(first: &Ran, base: Option<&Ran>, composed: Option<&Ran>) -> bool {
    let ran_none = |ran: Option<&Ran>| {
        ran.is_some_and(|ran| {
            let none = ran.read.counts.as_ref().is_none_or(|counts| counts.total().run == 0);
            none && ran.run.reason == Some(CriterionReason::ExitCode)
        })
    };
    first.read.counts.is_some() && ran_none(base) && ran_none(composed)
}

/// Keeps a run on the base for later.
fn keep(runs: &Runs<'_>, subject: &Subject<'_>, named: Named<'_>, ran: &Ran) {
    if let (false, Some(evidence)) = (ran.unprepared, runs.record.evidence(&ran.run.output)) {
        let run = BaseRun { run: ran.run.clone(), read: ran.read.clone(), evidence: evidence.clone() };
        subject.base_runs.put(key(subject, named), run);
    }
}

fn key(subject: &Subject<'_>, named: Named<'_>) -> Key {
    Key { tree: subject.base_tree.clone(), prepare: subject.prepare.map(str::to_owned), check: named.check.clone() }
}

/// The report where one run decided, compared with nothing. A check that has to be red on the base is so by its report
/// as well; what others report there is the project's way.
fn report_alone(named: Named<'_>, ran: &Ran) -> CriterionReport {
    let mut report = report_of_run(named, ran);
    if named.check.red_first && !ran.unprepared {
        (report.result.verdict, report.result.reason) = ran.read.alone();
        match report.result.reason {
            Some(CriterionReason::ReportRed) => report.note = Some(REPORT_RED.to_owned()),
            Some(reason) => report.note = heard::explained(reason, ran).or(report.note),
            None => {}
        }
    }
    report
}

/// What [`CriterionReason::ReportRed`] means.
const REPORT_RED: &str = "it ended with exit code 0, but its test runner reports failures";

/// The report where one run decided.
fn report_of_run(named: Named<'_>, ran: &Ran) -> CriterionReport {
    if ran.unprepared {
        return report_of_prepare(named.id, ran);
    }
    let note = match ran.run.reason {
        None => None,
        Some(CriterionReason::ExpectUnmatched) => {
            let expect = named.check.expect.as_deref().unwrap_or_default();
            Some(format!("the check ended well, but its output does not match `{expect}`"))
        }
        Some(CriterionReason::NotExecutable) => Some(format!("the command could not be run ({})", ran.ending)),
        Some(CriterionReason::Timeout) => {
            Some(format!("the check did not end within {} s", named.check.timeout.duration().as_secs()))
        }
        Some(_) => Some(format!("the check ended with: {}", ran.ending)),
    };
    CriterionReport {
        result: CriterionResult {
            id: named.id.clone(),
            verdict: ran.run.verdict,
            reason: ran.run.reason,
            evidence: vec![ran.run.output],
        },
        command: Some(named.check.command.clone()),
        exit_code: ran.run.exit_code,
        output_tail: ran.tail.clone(),
        note,
    }
}

pub(crate) fn report_of_prepare(id: &CriterionId, ran: &Ran) -> CriterionReport {
    CriterionReport {
        result: CriterionResult {
            id: id.clone(),
            verdict: Verdict::Inconclusive,
            reason: None,
            evidence: vec![ran.run.output],
        },
        command: Some(ran.run.command.clone()),
        exit_code: ran.run.exit_code,
        output_tail: ran.tail.clone(),
        note: Some(format!("prepare failed, so the check was not run ({})", ran.ending)),
    }
}

/// The report where several runs were compared.
fn report(
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
    let others = [Some(first), base, composed];
    evidence
        .extend(others.into_iter().flatten().map(|ran| ran.run.output).filter(|output| *output != deciding.run.output));
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
    Some(if counts { format!("the scope names the changed tests, so this does not count: {text}") } else { text })
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
