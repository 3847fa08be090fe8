//! A criterion that has no check: the judge's run, and the report on it, or what it asks.

use std::time::Duration;

use holdpoint_engine::budget::metering;
use holdpoint_harness::{
    ask::{Ask, Desk, PrintListener, Recording, Storing, Waiting},
    backend::{
        command::SESSION,
        markers::{self, Contract, HelpCall},
        question::ValidQuestion,
    },
    dialect::{self, Continuation, Said},
    exchange::{
        After, Again, Draft, EndedRun, Exchange, Expected, ResultProblem, RulesError, limits, rules_at, stall::Stall,
    },
    ledger::TurnLedger,
    live::Live,
    meter::{self, RunMeter},
};
use holdpoint_planfile::exchange::HandoffRules;
use holdpoint_protocol::{
    Digest,
    artifact::{CriterionReport, ExchangeErrorKind, PersonVerdict, TreeTested},
    facts::CriterionResult,
    ids::CriterionId,
    plan::Criterion,
};
use holdpoint_runtime::{
    mirror::{from_wire, to_wire},
    set_aside::set_aside,
    telemetry::{TRACE, fields},
};
use holdpoint_sandbox::{Ended, RunOutcome};
use tracing::{Instrument as _, field, info_span};

use crate::{
    criterion::{Subject, report_of_setup},
    error::VerifyError,
    evidence::{self, Evidence},
    judge::{self, Came, Judged, Question},
    place::Allowed,
    runs::{Program, Runs, Tree, exit_code},
    settings::JudgeSettings,
};

/// The verdict of a person on a criterion without a check. The words are its evidence: nothing was run for it.
pub(crate) fn by_person(runs: &mut Runs<'_>, criterion: &Criterion, given: &PersonVerdict) -> CriterionReport {
    let judged = Judged::by_person(given);
    let evidence = Evidence::of_person(judged.note.as_deref().unwrap_or_default());
    report_of_judge(runs, criterion, judged, evidence)
}

/// The verdict of the judge on a criterion without a check, with what it doubts.
pub(crate) async fn by_judge(
    runs: &mut Runs<'_>,
    subject: &Subject<'_>,
    criterion: &Criterion,
    judge: Option<&JudgeSettings>,
    shown: &[CriterionReport],
) -> Result<ByJudge, VerifyError> {
    let Some(judge) = judge else {
        let evidence = Evidence::of_reason("there is no judge");
        return Ok(ByJudge::open(report_of_judge(runs, criterion, Judged::nobody(), evidence)));
    };
    // The judge's program would load the work's settings, and run its hooks with the judge's keys.
    let quiet = to_wire(&set_aside(subject.mirror, &from_wire(subject.tree)).await?);
    let tree = Tree::new(&quiet, TreeTested::Handoff);
    if let Some(failed) = runs.failed_setup(tree).await? {
        let mut report = report_of_setup(&criterion.id, &failed);
        report.command = None;
        return Ok(ByJudge::open(report));
    }
    let rules = match rules_at(subject.mirror, &from_wire(subject.base_tree)).await {
        Ok(rules) => rules,
        Err(RulesError::Git(error)) => return Err(error.into()),
        Err(wrong) => {
            let note = format!("the judge was not run: {wrong}");
            let evidence = Evidence::of_reason(&note);
            return Ok(ByJudge::open(report_of_judge(runs, criterion, Judged::not_run(note), evidence)));
        }
    };
    if let Err(refused) = meter::can_be_metered(runs.allowance.as_ref(), (judge.dialect, judge.price)) {
        let evidence = Evidence::of_reason(&refused.detail);
        return Ok(ByJudge::open(report_of_judge(runs, criterion, Judged::not_run(refused.detail), evidence)));
    }
    let span = info_span!(
        target: TRACE, "invoke_agent judge", { fields::GEN_AI_OPERATION } = "invoke_agent",
        { fields::GEN_AI_AGENT_NAME } = "judge", { fields::CRITERION } = %criterion.id, { fields::VERDICT } = field::Empty,
    );
    let question = Question::new(criterion, subject.tree, shown.iter(), subject.about);
    let question = question.within(usize::try_from(judge.prompt.bytes()).unwrap_or(usize::MAX));
    // Boxed, as the program's run is large.
    // Of its own while the judge runs, which notes in it how far it came.
    let mut ledger = runs.ledger.clone();
    let put = Box::pin(put(runs, &mut ledger, tree, (judge, criterion), &question, &rules));
    let put = put.instrument(span.clone()).await;
    runs.ledger = ledger;
    let Put { outcome, came, evidence, said } = put?;
    let found = markers::read(&said.text, &outcome.stderr, "", Contract::default());
    runs.record.markers_ignored.extend(found.said_nothing(subject.waypoint));
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

/// The last run of a judge, and what it came to.
struct Put {
    outcome: RunOutcome,
    came: Came,
    evidence: Evidence,
    said: Said,
}

/// Puts a question to the judge until it hands over a verdict that can be used, or nothing more is tried.
async fn put(
    runs: &mut Runs<'_>,
    ledger: &mut TurnLedger,
    tree: Tree<'_>,
    (judge, criterion): (&JudgeSettings, &Criterion),
    question: &Question<'_>,
    rules: &HandoffRules,
) -> Result<Put, VerifyError> {
    let expected = Expected::judge(rules);
    let desk = AboutCriterion { desk: runs.desk(), criterion: &criterion.id };
    let allowance = runs.allowance;
    let streams = !judge.dialect.is_plain();
    let bounds = (judge::JUDGE_TIMEOUT, u64::MAX);
    let exchange = Exchange::begin(&desk, &expected, judge::VERDICT, "the question as JSON", bounds);
    let mut exchange = exchange.resuming(judge.resume.is_some());
    // Of its own: a check may have left settings in its home, and the judge's program would load them with the judge's keys.
    let home = format!("judge-{}", criterion.id);
    let mut run = JudgeRun { command: judge.command.clone(), stdin: question.to_bytes(None), go_on: None };
    loop {
        let may_use = metering::left(allowance.as_ref(), &ledger.used);
        let go_on = run.go_on.as_ref();
        let meter = RunMeter::new((judge.dialect, judge.price), go_on, may_use);
        let shown = desk.live().tap(judge.dialect);
        let stall = Stall::new(expected.settings.stuck_after.limit(streams)).metered(meter.clone()).showing(shown);
        let printed = PrintListener::of(judge.dialect, go_on, "");
        let allowed = Allowed { network: judge.network, wall: exchange.left().0 };
        let program = Program {
            command: &run.command,
            env: &judge.env,
            read: &judge.read_paths,
            stdin: run.stdin.clone(),
            home: Some(&home),
            allowed,
            asks: Some(&criterion.id),
            stall: Some(&stall),
            printed: Some(&printed),
            guarded: None,
            watch: None,
            observed: false,
        };
        ledger.begin().map_err(VerifyError::io("note what is used up in", ledger.path()))?;
        let (outcome, ask) = tokio::select! {
            ran = Box::pin(runs.program(tree, program)) => ran?,
            never = ledger.keep(&meter) => match never {},
        };
        let evidence = Evidence::of_run(&run.command, tree.oid, None, &outcome, &[]);
        let said =
            dialect::read(judge.dialect, &outcome.stdout, go_on).and_printed(&outcome.stderr).priced(judge.price);
        let bytes = (outcome.stdout.len() + outcome.stderr.len()) as u64;
        ledger.end(meter::metered(&said, outcome.duration, bytes));
        let reached = stall.has_reached_limit() && outcome.ended != Ended::Exited(0);
        if reached && ask.is_none() {
            let note = metering::reached(allowance.as_ref(), &ledger.used).detail;
            return Ok(Put { outcome, came: Came::Judged(Judged::not_run(note)), evidence, said });
        }
        let (came, problem) = match ask {
            Some(ask) => (Came::Asks(ask), None),
            None => judge::read(outcome.ended, &said, &outcome.stderr, &expected, exchange.before()),
        };
        let came = came.with_events(printed.end());
        let stuck = stall.is_stuck();
        let problem = problem.map(|problem| behind(problem, stuck, &said));
        let refusal = said.refusal(run.go_on.is_some()).filter(|_| problem.is_some());
        if let Some(refusal) = refusal {
            if exchange.waits(outcome.duration, refusal, said.why()).await {
                continue;
            }
            let why = limits::refused(refusal, said.why(), None).detail;
            return Ok(Put { outcome, came: Came::Judged(Judged::refused(why)), evidence, said });
        }
        let tried = EndedRun {
            command: &run.command,
            output: if outcome.stdout.is_empty() { &outcome.stderr } else { &outcome.stdout },
            evidence: &evidence.bytes,
            duration: outcome.duration,
            printed: bytes,
            session: said.session.as_deref(),
            can_start: stuck || matches!(outcome.ended, Ended::Signalled(_)),
        };
        match exchange.after(&tried, problem.as_ref()).await {
            After::Over(_) => {
                if let Came::Asks(Ask::Help(_)) = came {
                    exchange.called_for_help();
                }
                return Ok(Put { outcome, came, evidence, said });
            }
            After::Again(again) => run = JudgeRun::again(judge, question, again, &said),
        }
    }
}

/// What a judge is run with.
struct JudgeRun {
    command: String,
    stdin: Vec<u8>,
    /// The conversation that it goes on with.
    go_on: Option<Continuation>,
}

impl JudgeRun {
    /// The next run: in the conversation of the last one it hears what was wrong, in a new one the whole question as well.
    fn again(judge: &JudgeSettings, question: &Question<'_>, again: Again, last: &Said) -> Self {
        let Again { prompt, same_conversation, retry } = again;
        let retry = prompt.map(|prompt| judge::Retry { number: retry, prompt });
        let go_on = last.continuation().filter(|_| same_conversation);
        match (&judge.resume, go_on, retry) {
            (Some(resume), Some(go_on), Some(retry)) => {
                let command = resume.replace(SESSION, &go_on.session);
                Self { command, stdin: retry.to_bytes(), go_on: Some(go_on) }
            }
            (_, _, retry) => Self { command: judge.command.clone(), stdin: question.to_bytes(retry), go_on: None },
        }
    }
}

/// What is behind a problem with the verdict.
fn behind(problem: ResultProblem, stuck: bool, said: &Said) -> ResultProblem {
    if stuck {
        ResultProblem::new(ExchangeErrorKind::Stuck, "it printed nothing for too long")
    } else if said.context_full {
        ResultProblem::new(ExchangeErrorKind::ContextWindow, "its conversation is full")
    } else {
        problem
    }
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
pub(crate) fn about(criterion: &CriterionId, question: ValidQuestion) -> ValidQuestion {
    let context = format!("criterion {criterion}\n{}", question.decision_context);
    ValidQuestion { decision_context: context.trim_end().to_owned(), ..question }
}

/// A desk that knows which criterion a question is about.
pub(crate) struct AboutCriterion<'a> {
    pub(crate) desk: &'a dyn Desk,
    pub(crate) criterion: &'a CriterionId,
}

impl Desk for AboutCriterion<'_> {
    fn patience_max(&self) -> Duration {
        self.desk.patience_max()
    }

    fn ask(&self, question: ValidQuestion, patience: Duration) -> Waiting<'_> {
        self.desk.ask(about(self.criterion, question), patience)
    }

    fn calls_for_help(&self, call: HelpCall) -> Recording<'_> {
        self.desk.calls_for_help(call)
    }

    fn live(&self) -> Live {
        self.desk.live()
    }

    fn keep(&self, output: Vec<u8>) -> Storing<'_> {
        self.desk.keep(output)
    }

    fn record(&self, draft: Draft) -> Recording<'_> {
        self.desk.record(Draft { criterion: Some(self.criterion.clone()), ..draft })
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
