//! What a verification found.

use holdpoint_engine::handed::DOUBTS_MAX;
use holdpoint_harness::backend::markers::IGNORED_MAX;
use holdpoint_outline::ChangeFinding;
use holdpoint_protocol::{
    artifact::{
        ChecklistReceipt, CheckpointReport, CriterionReport, Doubt, IgnoredMarker, Metered, VerificationRequest,
    },
    facts::{DiffSummary, Violation},
    ids::ArtifactId,
};
use holdpoint_runtime::fresh;

use crate::{
    by_judge::JudgeAsks,
    changes::Changes,
    criterion::not_run,
    evidence::Evidence,
    known_runs::KnownRuns,
    runs::{EndedRuns, Record},
    workbench::asked,
};

/// What a verification found: everything of a report but who, when and for which turn.
#[derive(Debug, Clone, PartialEq)]
pub struct Findings {
    /// What its report is called: later ones cite its runs by that.
    pub report: ArtifactId,
    /// One for each criterion asked, in that order; for a baseline, for each that has to be red first.
    pub criteria: Vec<CriterionReport>,
    /// One for each guard asked, in that order.
    pub guards: Vec<CriterionReport>,
    /// One for each command of a checkpoint asked, in that order.
    pub checkpoints: Vec<CheckpointReport>,
    /// Broken path rules.
    pub violations: Vec<Violation>,
    /// How much changed.
    pub diff: DiffSummary,
    /// What could not be settled, and what a person should see.
    pub doubts: Vec<Doubt>,
    /// Suspicious places of the change, each of which is a doubt too.
    pub suspects: Vec<ChangeFinding>,
    /// What was run.
    pub receipt: ChecklistReceipt,
    /// What the judge asks instead of judging; then the turn ends with that, and nothing else here counts.
    pub asks: Option<JudgeAsks>,
    /// Whether runs of a check on one tree differed; a doubt says which.
    pub flaky: bool,
    /// What the judge used up.
    pub metered: Option<Metered>,
    /// Markers in the judge's output that say nothing where they are.
    pub markers_ignored: Vec<IgnoredMarker>,
    /// What has to be stored before the report is handed off: every digest in it names one of these.
    pub evidence: Vec<Evidence>,
    /// Runs that later reports may cite.
    pub(crate) known: KnownRuns,
}

/// What was judged so far.
#[derive(Default)]
pub(crate) struct Verdicts {
    pub(crate) criteria: Vec<CriterionReport>,
    pub(crate) guards: Vec<CriterionReport>,
    pub(crate) checkpoints: Vec<CheckpointReport>,
    pub(crate) doubts: Vec<Doubt>,
    pub(crate) suspects: Vec<ChangeFinding>,
    pub(crate) asks: Option<JudgeAsks>,
}

impl Findings {
    /// Findings on something that cannot even be looked at, such as a commit that is not on its base: nothing was run,
    /// and a doubt says why.
    #[must_use]
    pub fn refused(request: &VerificationRequest, why: &str) -> Self {
        let mut record = Record::default();
        let criteria = asked(request).map(|c| not_run(&mut record, &c.id, c.check.as_ref(), why)).collect();
        let guards = request.guards.iter().map(|g| not_run(&mut record, &g.id, Some(&g.check), why)).collect();
        let commands = request.checkpoints.iter().map(|asked| CheckpointReport {
            gate: asked.gate.clone(),
            report: not_run(&mut record, &asked.id, Some(&asked.command.check), why),
        });
        let checkpoints = commands.collect();
        let doubts = vec![Doubt::blocking(why.to_owned())];
        let ended = EndedRuns { report: fresh::artifact(), record, known: KnownRuns::default(), metered: None };
        let verdicts = Verdicts { criteria, guards, checkpoints, doubts, ..Verdicts::default() };
        Self::of(verdicts, Changes::default(), ended)
    }

    /// Findings on these verdicts.
    pub(crate) fn of(verdicts: Verdicts, changes: Changes, ended: EndedRuns) -> Self {
        let EndedRuns { report, mut record, known, metered } = ended;
        let Verdicts { criteria, guards, checkpoints, doubts, suspects, asks } = verdicts;
        let flaky = std::mem::take(&mut record.flaky);
        let is_flaky = !flaky.is_empty();
        let mut doubts: Vec<Doubt> = flaky.into_iter().chain(doubts).collect();
        // A judge may have any number of them; the one below has its place.
        doubts.truncate(DOUBTS_MAX - 1);
        if record.left_running > 0 {
            let text = format!("after {} runs, programs could not be shown to have ended", record.left_running);
            doubts.push(Doubt::blocking(text));
        }
        let mut markers_ignored = std::mem::take(&mut record.markers_ignored);
        markers_ignored.truncate(IGNORED_MAX);
        let (receipt, evidence) = record.into_parts();
        let (violations, diff) = (changes.violations, changes.summary);
        Self {
            report,
            criteria,
            guards,
            checkpoints,
            violations,
            diff,
            doubts,
            suspects,
            receipt,
            asks,
            flaky: is_flaky,
            metered,
            markers_ignored,
            evidence,
            known,
        }
    }
}
