//! A criterion that has no check: the judge's run, and the report on it, or what it asks.

use std::time::Duration;

use holdpoint_protocol::{
    Digest,
    artifact::{CriterionReport, TreeTested},
    facts::CriterionResult,
    ids::CriterionId,
    plan::Criterion,
};
use holdpoint_runtime::{
    ask::{Ask, Desk, Waiting},
    backend::question::Question as AskedQuestion,
    telemetry::{TRACE, fields},
};
use tracing::{Instrument as _, field, info_span};

use crate::{
    criterion::{Subject, report_of_prepare},
    error::BenchError,
    evidence::{self, Evidence},
    judge::{self, Came, Judged, Question},
    place::Allowed,
    runs::{Program, Runs, Tree, exit_code},
    settings::JudgeSettings,
};

/// The verdict of the judge on a criterion without a check, with what it doubts.
pub(crate) async fn by_judge(
    runs: &mut Runs<'_>,
    subject: &Subject<'_>,
    criterion: &Criterion,
    judge: Option<&JudgeSettings>,
    shown: &[CriterionReport],
) -> Result<ByJudge, BenchError> {
    let tree = Tree::new(subject.tree, TreeTested::Handoff);
    let Some(judge) = judge else {
        let evidence = Evidence::of_reason("there is no judge");
        return Ok(ByJudge::open(report_of_judge(runs, criterion, Judged::nobody(), evidence)));
    };
    if let Some(failed) = runs.failed_prepare(tree).await? {
        let mut report = report_of_prepare(&criterion.id, &failed);
        report.command = None;
        return Ok(ByJudge::open(report));
    }
    let stdin = Question::new(criterion, subject.tree, shown.iter(), subject.about).to_bytes();
    let allowed =
        Allowed { network: judge.network, writes_dir: false, writes_caches: false, wall: judge::JUDGE_TIMEOUT };
    let program = Program {
        command: &judge.command,
        env: &judge.env,
        read: &judge.read_paths,
        stdin,
        allowed,
        asks: Some(&criterion.id),
        guarded: false,
        watch: None,
        observed: false,
    };
    let span = info_span!(
        target: TRACE, "invoke_agent judge", { fields::GEN_AI_OPERATION } = "invoke_agent",
        { fields::GEN_AI_AGENT_NAME } = "judge", { fields::CRITERION } = %criterion.id, { fields::VERDICT } = field::Empty,
    );
    let (outcome, ask) = runs.program(tree, program).instrument(span.clone()).await?;
    let evidence = Evidence::of_run(&judge.command, subject.tree, None, &outcome, &[]);
    let came = match ask {
        Some(ask) => Came::Asks(ask),
        None => judge::read(outcome.ended, &outcome.stdout, &outcome.stderr),
    };
    let judged = match came {
        Came::Judged(judged) => judged,
        Came::Asks(ask) => {
            let output = runs.record.keep(evidence);
            return Ok(ByJudge::Asks(JudgeAsks { criterion: criterion.id.clone(), ask, output }));
        }
    };
    span.record(fields::VERDICT, judged.verdict.as_str());
    let doubts = judged.doubts.clone();
    let mut report = report_of_judge(runs, criterion, judged, evidence);
    report.exit_code = exit_code(outcome.ended);
    report.output_tail = evidence::last_lines(&evidence::text(&outcome));
    Ok(ByJudge::Report(Box::new(report), doubts))
}

/// What came of putting a criterion to the judge.
#[derive(Debug)]
pub(crate) enum ByJudge {
    /// A report, and what the judge doubts.
    Report(Box<CriterionReport>, Vec<String>),
    /// It asks.
    Asks(JudgeAsks),
}

impl ByJudge {
    fn open(report: CriterionReport) -> Self {
        Self::Report(Box::new(report), Vec::new())
    }
}

/// A question with the criterion that it is about.
pub(crate) fn about(criterion: &CriterionId, question: AskedQuestion) -> AskedQuestion {
    let context = format!("criterion {criterion}\n{}", question.decision_context);
    AskedQuestion { decision_context: context.trim_end().to_owned(), ..question }
}

/// A desk that is told which criterion a question is about.
pub(crate) struct AboutCriterion<'a> {
    pub(crate) desk: &'a dyn Desk,
    pub(crate) criterion: &'a CriterionId,
}

impl Desk for AboutCriterion<'_> {
    fn patience_max(&self) -> Duration {
        self.desk.patience_max()
    }

    fn ask(&self, question: AskedQuestion, patience: Duration) -> Waiting<'_> {
        self.desk.ask(about(self.criterion, question), patience)
    }
}

/// What a judge asks instead of judging.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JudgeAsks {
    /// The criterion that it was to judge.
    pub criterion: CriterionId,
    /// What it asks.
    pub ask: Ask,
    /// Its whole output.
    pub output: Digest,
}

fn report_of_judge(runs: &mut Runs<'_>, criterion: &Criterion, judged: Judged, evidence: Evidence) -> CriterionReport {
    let evidence = runs.record.keep(evidence);
    CriterionReport {
        result: CriterionResult {
            id: criterion.id.clone(),
            verdict: judged.verdict,
            reason: judged.reason,
            evidence: vec![evidence],
        },
        command: None,
        exit_code: None,
        output_tail: String::new(),
        note: judged.note,
    }
}
