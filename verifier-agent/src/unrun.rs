//! Changed lines that no test ran, as a doubt: one more run of a green check of Python's, watched.

use holdpoint_evidence::{
    checks::unrun::{self, LinesByFile},
    runners::{self, Runner},
};
use holdpoint_protocol::{artifact::TreeTested, facts::Verdict, plan::EvidenceLevel};
use holdpoint_runtime::fresh;

use crate::{
    criterion::{Judged, Named, Subject, expect_of},
    error::VerifyError,
    runs::{CheckArgs, Runs, Tree},
    work::Work,
};

/// What a run is watched for.
#[derive(Debug)]
pub(crate) struct Watch {
    /// What each process begins its lines with.
    pub(crate) mark: String,
    /// The lines.
    pub(crate) lines: LinesByFile,
}

/// Watches a green check for changed lines of Python that run, where the plan asks for it and the line names a runner plainly.
/// Gives a doubt; the run itself counts for nothing.
pub(crate) async fn doubt(
    runs: &mut Runs<'_>,
    subject: &Subject<'_>,
    named: Named<'_>,
    judged: &Judged,
) -> Result<Option<String>, VerifyError> {
    let green = judged.report.result.verdict == Verdict::Pass && subject.tree != subject.base_tree;
    let runner = runners::silent(&named.check.command, None);
    let plain = matches!(runner, Some(Runner::Pytest | Runner::Unittest));
    if named.check.evidence != EvidenceLevel::Strict || !green || !plain {
        return Ok(None);
    }
    let lines = Work::read(subject).await?.lines_of_python();
    if lines.is_empty() {
        return Ok(None);
    }
    let watch = Watch { mark: format!("holdpoint-{}", fresh::nonce()), lines };
    let expect = expect_of(named)?;
    let tree = Tree::new(subject.tree, TreeTested::Watched);
    let ran = runs.check(CheckArgs { watch: Some(&watch), ..named.on(expect.as_ref(), tree) }).await?;
    // A red run did not get to all of its tests.
    if ran.not_set_up || ran.run.verdict != Verdict::Pass {
        return Ok(None);
    }
    Ok(unrun::told(&unrun::unrun(&watch.mark, &runs.printed(&ran))))
}
