//! Whether a green check changed files that it has to leave alone: of its tree, of its dependencies, or new ones that git does not
//! ignore. What it does on the base as well is the project's way.

use holdpoint_protocol::{facts::Verdict, reason::CriterionReason};

use crate::{
    criterion::{Judged, Named, Subject, base_run, expect_of},
    error::VerifyError,
    runs::Runs,
};

/// Makes a green check red that changed such files on the tree under review and not on the base.
pub(crate) async fn tried(
    runs: &mut Runs<'_>,
    subject: &Subject<'_>,
    named: Named<'_>,
    judged: &mut Judged,
) -> Result<(), VerifyError> {
    let changed = judged.first.changed.clone();
    let changed = if named.check.writes_tree { changed.of_dependencies() } else { changed };
    if judged.report.result.verdict != Verdict::Pass || subject.tree == subject.base_tree || changed.is_empty() {
        return Ok(());
    }
    let on_base = match &judged.base {
        Some(base) => base.changed.clone(),
        None => Box::pin(base_run(runs, subject, named, expect_of(named)?.as_ref())).await?.changed,
    };
    let changed = changed.besides(&on_base);
    if !changed.is_empty() {
        let result = &mut judged.report.result;
        (result.verdict, result.reason) = (Verdict::Fail, Some(CriterionReason::TreeChanged));
        judged.report.note = Some(changed.note());
    }
    Ok(())
}
