//! One criterion or guard: the runs that settle it, and the report on it.
//!
//! Which run says what is decided by `holdpoint_evidence::checks`; this makes the runs that can still change the verdict,
//! and no others.

mod report;

use holdpoint_evidence::{
    checks::{self, JudgedRun},
    runners,
};
use holdpoint_protocol::{
    artifact::{CriterionReport, TreeTested},
    facts::{CriterionResult, Oid, Verdict},
    ids::{CriterionId, WaypointId},
    plan::{Check, EvidenceLevel},
};
use holdpoint_workspace::Mirror;
use regex::Regex;

pub(crate) use report::{NAMES_SHOWN, NO_TESTS, report_of_setup};
use report::{report, report_alone, report_of_run};

use crate::{
    canary,
    changes::Changes,
    error::VerifyError,
    evidence::Evidence,
    heard,
    judge::About,
    runs::{CheckArgs, Ran, Record, Runs, Takes, Tree},
    steady,
};

/// What is judged, and against what.
pub(crate) struct Subject<'a> {
    pub(crate) waypoint: &'a WaypointId,
    pub(crate) tree: &'a Oid,
    pub(crate) base_tree: &'a Oid,
    pub(crate) changes: &'a Changes,
    pub(crate) mirror: &'a Mirror,
    pub(crate) about: About<'a>,
}

/// What asks for a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AskedBy {
    /// A criterion: it has to show something.
    Criterion,
    /// A guard: green on every base.
    Guard,
    /// A checkpoint of a gate.
    Checkpoint,
}

/// A named check.
#[derive(Clone, Copy)]
pub(crate) struct Named<'a> {
    pub(crate) id: &'a CriterionId,
    pub(crate) check: &'a Check,
    pub(crate) by: AskedBy,
}

impl<'a> Named<'a> {
    /// A run of it on a tree. A red that speaks against the work, or against what was green before, is not taken from what is known.
    pub(crate) fn on(self, expect: Option<&'a Regex>, tree: Tree<'a>) -> CheckArgs<'a> {
        let of_work = matches!(tree.tested, TreeTested::Handoff | TreeTested::TestsAsOnBase);
        let takes = if of_work || self.by == AskedBy::Guard { Takes::Green } else { Takes::Any };
        CheckArgs { id: self.id, check: self.check, expect, tree, watch: None, takes }
    }
}

/// The verdict of one plain run, compared with nothing: what a baseline asks.
pub(crate) async fn plain(
    runs: &mut Runs<'_>,
    subject: &Subject<'_>,
    named: Named<'_>,
) -> Result<CriterionReport, VerifyError> {
    let expect = expect_of(named)?;
    let ran = steady::run(runs, named, expect.as_ref(), Tree::new(subject.base_tree, TreeTested::Base)).await?;
    Ok(report_alone(named, &ran))
}

/// The verdict of one run on the base.
pub(crate) async fn probed(
    runs: &mut Runs<'_>,
    subject: &Subject<'_>,
    named: Named<'_>,
) -> Result<CriterionReport, VerifyError> {
    let ran = runs.check(named.on(None, Tree::new(subject.base_tree, TreeTested::Base))).await?;
    Ok(report_alone(named, &ran))
}

/// The verdict of one run on the tree under review, compared with nothing.
pub(crate) async fn once(
    runs: &mut Runs<'_>,
    subject: &Subject<'_>,
    named: Named<'_>,
) -> Result<CriterionReport, VerifyError> {
    let expect = expect_of(named)?;
    let ran = steady::run(runs, named, expect.as_ref(), Tree::new(subject.tree, TreeTested::Handoff)).await?;
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
    let first = steady::run(runs, named, expect, Tree::new(subject.tree, TreeTested::Handoff)).await?;
    if first.not_set_up || first.run.verdict != Verdict::Pass || subject.tree == subject.base_tree {
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
        Some(steady::run(runs, named, expect, Tree::new(&tree, TreeTested::TestsAsOnBase)).await?)
    } else {
        None
    };
    if let Some(failed) = composed.as_ref().filter(|composed| composed.not_set_up && !changes.tests_named()) {
        return Ok(Judged { report: report_of_run(named, failed), first, base });
    }
    if counted && base.is_none() && asks_base(&first, composed.as_ref()) {
        base = Some(base_run(runs, subject, named, expect).await?);
    }
    let mut report = compared(runs, subject, named, (&first, &mut base, composed.as_ref())).await?;
    if report.result.verdict == Verdict::Pass && named.check.evidence == EvidenceLevel::Strict {
        heard::note_silence(&first, &mut report);
        // Where tests were put back, that run speaks: nothing in it was written by who wrote the product.
        let speaks = |composed: &&Ran| composed.run.verdict == Verdict::Pass && !composed.read.ran_no_test();
        let put_back = composed.as_ref().filter(speaks);
        let green = put_back.filter(|_| !changes.tests_named()).unwrap_or(&first);
        // On the base's own tree nobody but the base could answer for the tests.
        if &green.run.tree != subject.base_tree {
            Box::pin(canary::ask(runs, subject, named, expect, green, &mut report)).await?;
        }
    }
    Ok(Judged { report, first, base })
}

/// The report on a green run by what the others have against it. Of the base it leaves what can be compared: names that only one of
/// its runs has are taken out.
async fn compared(
    runs: &mut Runs<'_>,
    subject: &Subject<'_>,
    named: Named<'_>,
    (first, base, composed): (&Ran, &mut Option<Ran>, Option<&Ran>),
) -> Result<CriterionReport, VerifyError> {
    let changes = subject.changes;
    let uncounted = base.as_ref().is_some_and(|base| base.not_set_up);
    *base = base.take().filter(|base| !base.not_set_up);
    let (on_base, put_back) = (base.as_ref().map(|ran| &ran.read), composed.map(|ran| &ran.read));
    let nothing_there = named.by != AskedBy::Guard
        && checks::only_new_tests(&first.read, on_base, put_back, changes.tests_only_added());
    let judge = |base: Option<&JudgedRun>| {
        checks::judge_criterion(checks::Runs {
            first: &first.read,
            base,
            composed: composed.map(|ran| &ran.read).filter(|_| !nothing_there),
            named: changes.named(),
            only_added: changes.tests_only_added(),
            red_first: named.check.red_first,
            may_run_none: named.by != AskedBy::Criterion,
            softened: &changes.softened,
        })
        .allowing(&changes.changed_names)
    };
    let mut judgement = judge(base.as_ref().map(|base| &base.read));
    let mut unsteady = 0;
    let by_names = |base: &&Ran| checks::rests_on_names(&judgement, &base.read, |base| judge(Some(base)));
    if let Some(once) = base.as_ref().filter(by_names)
        && let Some((steady, names)) = steady::base_again(runs, subject, named, once).await?
    {
        judgement = judge(Some(&steady.read));
        (*base, unsteady) = (Some(steady), names);
    }
    let mut report = report(named, &judgement, first, base.as_ref(), composed);
    if report.note.is_none() {
        report.note = if uncounted {
            Some("the environment of the base cannot be set up, so the tests that ran were not compared with those on it".to_owned())
        } else if nothing_there {
            Some("the base has no test that this check runs: only the added ones speak for it".to_owned())
        } else {
            (unsteady > 0).then(|| {
                format!("{unsteady} names of tests differ between two runs of the base, so they were counted and not compared")
            })
        };
    }
    Ok(report)
}

/// Whether the base can say something where every changed test may change: of a green run with the tests as on the
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
    checks::expect_of(named.check).map_err(|source| VerifyError::Expect { id: named.id.clone(), source })
}

/// The run on the base.
pub(crate) async fn base_run(
    runs: &mut Runs<'_>,
    subject: &Subject<'_>,
    named: Named<'_>,
    expect: Option<&Regex>,
) -> Result<Ran, VerifyError> {
    steady::run(runs, named, expect, Tree::new(subject.base_tree, TreeTested::Base)).await
}
