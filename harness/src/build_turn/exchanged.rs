//! The runs of one turn's program: one, or as many as the exchange takes.

use std::time::{Duration, Instant};

use holdpoint_engine::budget::metering;
use holdpoint_evidence::telling;
use holdpoint_protocol::{
    artifact::{ExchangeErrorKind, Failure, Metered},
    ids::AgentName,
    reason::ReasonCode,
    turn::Turn,
};
use holdpoint_runtime::clock;
use holdpoint_sandbox::{Ended, room::NearlyFull};

use super::{
    answer::with_output,
    folder::TurnFolder,
    output::evidence,
    workbench::{BuildError, Workbench},
};
use crate::{
    ask::{Ask, Completed, Desk, Inside, ProgramAsks},
    backend::{Backend, BackendResult, BackendTask},
    context::pull::Repository,
    exchange::{
        After, Again, EndedRun, Exchange, ExchangeEnd, Expected, ResultProblem, Unready,
        envelope::Before,
        limits,
        stall::{Patiently, Stall},
    },
    meter::{self, RunMeter},
};

/// What a run of a program comes to.
pub(crate) enum Read<A> {
    /// A request over the line ended it.
    Asked(ProgramAsks),
    /// It can be used.
    Good(A),
    /// It cannot, because of this.
    Bad(ResultProblem),
    /// The program ended badly, or says that it failed.
    Failed(Failure),
}

impl<A> Read<A> {
    /// Whether nothing can be done with it.
    fn is_unusable(&self) -> bool {
        matches!(self, Self::Bad(_) | Self::Failed(_))
    }
}

/// Reads what an ended program came to.
pub(crate) trait RunReader: Sync {
    /// Something that can be used.
    type Good: Send;

    /// Reads it by its end and output, by what it left, and by what was completed over the line so far.
    fn read(
        &self,
        result: &BackendResult,
        before: Before<'_>,
        recorded: Option<&Completed>,
    ) -> impl Future<Output = Result<Read<Self::Good>, BuildError>> + Send;

    /// Whether it is a call for help.
    fn calls_for_help(good: &Self::Good) -> bool;
}

/// What came of all runs of a turn's program.
pub(crate) struct Exchanged<A> {
    /// The last run.
    pub(crate) result: BackendResult,
    /// What it came to.
    pub(crate) came: Came<A>,
    /// The output of all runs, one after another.
    pub(crate) output: Vec<u8>,
    /// What all runs used up.
    pub(crate) metered: Metered,
    /// What came of running it again for the sake of checkpoints.
    pub(crate) unready: Unready,
}

/// What the last run came to.
pub(crate) enum Came<A> {
    /// A request over the line ended the turn.
    Asked(ProgramAsks),
    /// What it handed over.
    Good(A),
    /// Nothing more is tried.
    Failed(Failure),
}

impl<A> Came<A> {
    /// The same of a program that was run again because of its files: where that failed, they are still the reason.
    fn after(self, unusable_files: Option<&ResultProblem>) -> Self {
        match (self, unusable_files) {
            (Self::Failed(failure), Some(problem)) if failure.reason == ReasonCode::AgentFailed => {
                let (left, then) = (&problem.details, failure.detail);
                let detail =
                    format!("what the program left cannot be handed off: {left}\n--- it was run again ---\n{then}");
                Self::Failed(Failure { reason: ReasonCode::HandoffInvalid, detail })
            }
            (came, _) => came,
        }
    }

    /// Whether it is a call for help.
    fn calls(&self, calls_for_help: impl Fn(&A) -> bool) -> bool {
        match self {
            Self::Asked(heard) => matches!(heard.ask, Ask::Help(_)),
            Self::Good(good) => calls_for_help(good),
            Self::Failed(_) => false,
        }
    }
}

/// One turn's program, and what it has to hand over.
pub(crate) struct Course<'a> {
    pub(crate) turn: &'a Turn,
    pub(crate) agent: &'a AgentName,
    pub(crate) desk: &'a dyn Desk,
    pub(crate) folder: &'a TurnFolder,
    /// What the program may look into.
    pub(crate) repository: Option<&'a Repository<'a>>,
    pub(crate) expected: &'a Expected,
    /// What else ends the turn well, in a sentence.
    pub(crate) instead: &'a str,
}

impl<B: Backend> Workbench<B> {
    /// Runs the program until its result can be used or nothing more is tried. `keep` keeps what is there when it asks.
    pub(crate) async fn exchanged<R: RunReader, K: Future<Output = bool>>(
        &self,
        course: &Course<'_>,
        first: &BackendTask,
        keep: impl Fn() -> K,
        reader: &R,
    ) -> Result<Exchanged<R::Good>, BuildError> {
        let Course { turn, agent, desk, folder, repository, expected, instead } = *course;
        let allowance = turn.allowance.as_ref();
        let limits = self.backend.limits(first);
        let exchange = Exchange::begin(desk, expected, instead, &first.prompt, limits);
        let mut exchange = exchange.resuming(self.backend.resumes());
        let stall_limit = expected.settings.stuck_after.limit(self.backend.streams());
        let (mut output, mut recorded) = (Vec::new(), None);
        let mut ledger = self.folders.ledger(&turn.turn_id);
        // More than retries: waiting for a provider is none.
        let (mut task, mut runs) = (first.clone(), 0);
        let mut unusable_files: Option<ResultProblem> = None;
        loop {
            let may_use = metering::left(allowance, &ledger.used);
            let meter = RunMeter::new((self.backend.dialect(), self.backend.price()), task.go_on.as_ref(), may_use);
            let shown = desk.live().tap(self.backend.dialect());
            let stall = Stall::new(stall_limit).metered(meter.clone()).showing(shown);
            let patient = Patiently { desk, stall: stall.clone() };
            let mut inside = Inside::of(turn, &patient).looking_into(repository).writing(first.document_file.clone());
            let line = folder.line(runs);
            runs += 1;
            if NearlyFull::at(&folder.own()).is_some_and(|disk| disk.is_full()) {
                return Err(BuildError::no_room());
            }
            let noted = ledger.begin();
            noted.map_err(|source| BuildError::Write { path: ledger.path().to_owned(), source })?;
            let attended = self.attended(turn, agent, task.clone(), keep(), &mut inside, (line, &stall));
            let (result, heard) = tokio::select! {
                attended = Box::pin(attended) => attended?,
                never = ledger.keep(&meter) => match never {},
            };
            recorded = inside.into_completed().or(recorded);
            let whole = evidence(&result);
            output.extend_from_slice(&whole);
            ledger.end(of_run(&result));
            let metered = ledger.used.clone();
            let reading = Instant::now();
            let read = match heard {
                Some(heard) => Read::Asked(heard),
                None => reader.read(&result, exchange.before(), recorded.as_ref()).await?,
            };
            if !matches!(read, Read::Good(_))
                && let Some(why) = is_over(desk).await
            {
                let detail = with_output(&format!("the program was ended, because its turn was over: {why}"), &result);
                let came = Came::Failed(Failure { reason: ReasonCode::AgentFailed, detail });
                return Ok(Exchanged { result, came, output, metered, unready: exchange.unready() });
            }
            let reached = stall.has_reached_limit() || metering::has_reached(allowance, &metered);
            if reached && read.is_unusable() {
                let came = Came::Failed(metering::reached(allowance, &metered));
                return Ok(Exchanged { result, came, output, metered, unready: exchange.unready() });
            }
            if read.is_unusable()
                && let Some(disk) = NearlyFull::at(&folder.own())
                && disk.explains(result.ended, telling::says_no_room(&String::from_utf8_lossy(&whole)))
            {
                return Err(BuildError::no_room());
            }
            // The provider of its model refused, and it came to nothing because of that.
            if let Some(refusal) = result.said.refusal(result.went_on).filter(|_| read.is_unusable()) {
                let waited = tokio::select! {
                    waited = exchange.waits(result.duration, refusal, result.said.why()) => waited,
                    _ = desk.over() => true,
                };
                if waited {
                    let (wall, bytes) = exchange.left();
                    task = BackendTask { wall: Some(wall), output_bytes: Some(bytes), ..task };
                    continue;
                }
                let failure = limits::refused(refusal, result.said.why(), self.backend.login().as_deref());
                self.refusal.note(&failure, clock::now());
                let failure = Failure { detail: with_output(&failure.detail, &result), ..failure };
                let came = Came::Failed(failure);
                return Ok(Exchanged { result, came, output, metered, unready: exchange.unready() });
            }
            let (problem, can_start) = match &read {
                Read::Asked(_) | Read::Good(_) => (None, false),
                Read::Bad(problem) if problem.of_files || !result.said.context_full => (Some(problem.clone()), false),
                Read::Bad(_) => (Some(is_full()), false),
                Read::Failed(_) if result.said.context_full => (Some(is_full()), false),
                Read::Failed(failure) => of_bad_end(failure, &result, stall.is_stuck()),
            };
            let tried = EndedRun {
                command: &result.command,
                output: if result.stdout.is_empty() { &result.stderr } else { &result.stdout },
                evidence: &whole,
                // Commands of the gate are run while it is read.
                duration: result.duration + reading.elapsed(),
                printed: (result.stdout.len() + result.stderr.len()) as u64,
                session: result.said.session.as_deref(),
                can_start,
            };
            let came = match exchange.after(&tried, problem.as_ref()).await {
                After::Again(again) => {
                    unusable_files = problem.filter(|problem| problem.of_files).or(unusable_files);
                    task = retried(first, again, exchange.left(), &result);
                    continue;
                }
                After::Over(end) => came(read, end, &result, &stall).after(unusable_files.as_ref()),
            };
            if came.calls(R::calls_for_help) {
                exchange.called_for_help();
            }
            return Ok(Exchanged { result, came, output, metered, unready: exchange.unready() });
        }
    }
}

/// What one run used up, by its own word as far as it is not measured.
fn of_run(result: &BackendResult) -> Metered {
    meter::metered(&result.said, result.duration, (result.stdout.len() + result.stderr.len()) as u64)
}

/// Why the turn is over already; `None`: it is not.
async fn is_over(desk: &dyn Desk) -> Option<String> {
    tokio::select! {
        biased;
        why = desk.over() => Some(why),
        () = std::future::ready(()) => None,
    }
}

fn is_full() -> ResultProblem {
    ResultProblem::new(
        ExchangeErrorKind::ContextWindow,
        "the program's conversation no longer fits into the context of its model",
    )
}

/// The problem that a bad end is to the exchange, and whether such a program may be started afresh. A failure that a program
/// reports itself is none: it was handed over as it should be.
fn of_bad_end(failure: &Failure, result: &BackendResult, stuck: bool) -> (Option<ResultProblem>, bool) {
    let details = failure.detail.lines().next().unwrap_or_default();
    let crashed = || ResultProblem::new(ExchangeErrorKind::Crashed, details);
    match result.ended {
        _ if stuck => (Some(ResultProblem::new(ExchangeErrorKind::Stuck, "it printed nothing for too long")), true),
        Ended::Signalled(_) => (Some(crashed()), true),
        Ended::TimedOut => (Some(ResultProblem::new(ExchangeErrorKind::Stuck, details)), false),
        Ended::Exited(0) if result.tree_ended => (None, false),
        Ended::Exited(_) | Ended::OutputLimit | Ended::MemoryLimit | Ended::DiskLimit => (Some(crashed()), false),
    }
}

fn came<A>(read: Read<A>, end: Option<ExchangeEnd>, result: &BackendResult, stall: &Stall) -> Came<A> {
    let why = end.map_or("", ExchangeEnd::why);
    match read {
        Read::Asked(heard) => Came::Asked(heard),
        Read::Good(good) => Came::Good(good),
        Read::Failed(_) if stall.is_stuck() => {
            let seconds = stall.limit().unwrap_or_default().as_secs();
            let what = format!("the program was ended: it printed nothing for {seconds} s (stuck_after); {why}");
            Came::Failed(Failure { reason: ReasonCode::AgentTimeout, detail: with_output(&what, result) })
        }
        Read::Failed(failure) => Came::Failed(failure),
        Read::Bad(problem) if end == Some(ExchangeEnd::CheckpointsUnmet) => {
            let what = format!("{why}: {}", problem.details);
            Came::Failed(Failure { reason: ReasonCode::CheckpointsUnmet, detail: with_output(&what, result) })
        }
        Read::Bad(problem) => {
            let left = if problem.of_files { "left cannot be handed off" } else { "handed over cannot be used" };
            let what = format!("what the program {left} ({why}): {}", problem.details);
            Came::Failed(Failure { reason: ReasonCode::HandoffInvalid, detail: with_output(&what, result) })
        }
    }
}

/// The task of another run, with what is left of the turn's time and output, in the conversation of the last run or in a new
/// one.
fn retried(first: &BackendTask, again: Again, (wall, output): (Duration, u64), last: &BackendResult) -> BackendTask {
    let Again { prompt, same_conversation, retry } = again;
    BackendTask {
        prompt: prompt.unwrap_or_else(|| first.prompt.clone()),
        retry,
        wall: Some(wall),
        output_bytes: Some(output),
        go_on: if same_conversation { last.said.continuation() } else { None },
        ..first.clone()
    }
}
