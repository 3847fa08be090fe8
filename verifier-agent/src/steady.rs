//! Runs that are made again: of a check that was green before and is red now, and of a base whose names of tests speak
//! against the work.
//!
//! `holdpoint_evidence::checks` decides when, and what two runs say that do not agree.

use holdpoint_evidence::checks;
use holdpoint_protocol::{
    artifact::{Doubt, TreeTested},
    plan::EvidenceLevel,
};
use regex::Regex;

use crate::{
    criterion::{AskedBy, Named, Subject, expect_of},
    error::VerifyError,
    runs::{Ran, Runs, Takes, Tree},
};

/// Runs a check on a tree. A guard was green before, so its red runs again before it decides; where the runs differ the record
/// says so.
pub(crate) async fn run(
    runs: &mut Runs<'_>,
    named: Named<'_>,
    expect: Option<&Regex>,
    tree: Tree<'_>,
) -> Result<Ran, VerifyError> {
    let mut args = named.on(expect, tree);
    let mut ran = runs.check(args).await?;
    args.takes = Takes::Nothing;
    let mut ends = vec![ran.read.outcome];
    let mut red = Vec::new();
    while named.by == AskedBy::Guard && !ran.not_set_up && checks::is_run_again(&ends) && has_time(runs, named, &ran) {
        red.push(ran.run.output);
        ran = runs.check(args).await?;
        ends.push(ran.read.outcome);
    }
    if let Some(flaky) = checks::flaky(&ends, place(tree.tested)) {
        // What asks for more than a green takes none that another run of the same work does not give.
        let blocking = named.check.evidence == EvidenceLevel::Strict && tree.tested != TreeTested::Base;
        runs.record.flaky.push(Doubt { blocking, suspicious: false, text: format!("{} {flaky}", named.id) });
    }
    Ok(Ran { red_before: red, ..ran })
}

/// The run of a base whose names spoke against the work, with those alone that another run of it has as well. Also how many it
/// has not. `None`: it was looked at before, or there is no time for another run.
pub(crate) async fn base_again(
    runs: &mut Runs<'_>,
    subject: &Subject<'_>,
    named: Named<'_>,
    base: &Ran,
) -> Result<Option<(Ran, usize)>, VerifyError> {
    if base.is_steady || !has_time(runs, named, base) {
        return Ok(None);
    }
    let expect = expect_of(named)?;
    let mut args = named.on(expect.as_ref(), Tree::new(subject.base_tree, TreeTested::Base));
    args.takes = Takes::Nothing;
    let again = runs.check(args).await?;
    let (read, unsteady) = base.read.steadied(&again.read);
    Ok(Some((Ran { read, is_steady: true, ..base.clone() }, unsteady.len())))
}

/// Whether one more run of a check like this one fits into the time that its turn has for it.
fn has_time(runs: &Runs<'_>, named: Named<'_>, ran: &Ran) -> bool {
    let spent = runs.record.spent(named.id).saturating_add(ran.run.duration.duration());
    spent <= named.check.timeout.duration().saturating_mul(checks::RUNS_PER_CHECK)
}

fn place(tested: TreeTested) -> &'static str {
    match tested {
        TreeTested::Base => "on the base",
        TreeTested::TestsAsOnBase => "on the tree under review with the tests as on the base",
        _ => "on the tree under review",
    }
}
