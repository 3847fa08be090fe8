//! The runs of one turn's program: one, or as many as the exchange takes.

use std::time::Duration;

use holdpoint_core::budget::metering;
use holdpoint_protocol::{
    artifact::{ExchangeErrorKind, Failure, Metered},
    ids::AgentName,
    reason::ReasonCode,
    turn::Turn,
};
use holdpoint_sandbox::Ended;

use super::{
    answer::{bad_end, with_output},
    folder::TurnFolder,
    output::evidence,
    workbench::{BuildError, Workbench},
};
use crate::{
    ask::{Ask, Completed, Desk, Inside, ProgramAsks},
    backend::{Backend, BackendResult, BackendTask},
    context::pull::Repository,
    exchange::{
        After, Again, EndedRun, Exchange, ExchangeEnd, Expected, ResultProblem,
        envelope::Before,
        stall::{Patiently, Stall},
    },
    meter::{self, RunMeter},
};

/// What a program comes to by its output.
pub(crate) enum Read<A> {
    /// It can be used.
    Good(A),
    /// It cannot, because of this.
    Bad(ResultProblem),
    /// The program ended badly, or says that it failed.
    Failed(Failure),
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
    /// Runs the program until its result can be used or nothing more is tried. `keep` keeps what is there when it asks; `read`
    /// reads an ended run, with what was completed over the line so far; `calls_for_help` says whether that is a call for help.
    pub(crate) async fn exchanged<A, K: Future<Output = bool>>(
        &self,
        course: &Course<'_>,
        first: &BackendTask,
        keep: impl Fn() -> K,
        (read, calls_for_help): (
            impl Fn(&BackendResult, Before<'_>, Option<&Completed>) -> Read<A>,
            impl Fn(&A) -> bool,
        ),
    ) -> Result<Exchanged<A>, BuildError> {
        let Course { turn, agent, desk, folder, repository, expected, instead } = *course;
        let allowance = turn.allowance.as_ref();
        let limits = self.backend.limits(first);
        let exchange = Exchange::begin(desk, expected, instead, &first.prompt, limits);
        let mut exchange = exchange.resuming(self.backend.resumes());
        let stall_limit = expected.settings.stuck_after.limit(self.backend.streams());
        let (mut output, mut metered, mut recorded) = (Vec::new(), Metered::default(), None);
        // More than retries: waiting for a provider is none.
        let (mut task, mut runs) = (first.clone(), 0);
        loop {
            let may_use = metering::left(allowance, &metered);
            let meter = RunMeter::new((self.backend.dialect(), self.backend.price()), task.go_on.as_ref(), may_use);
            let shown = desk.live().tap(self.backend.dialect());
            let stall = Stall::new(stall_limit).metered(meter).showing(shown);
            let patient = Patiently { desk, stall: stall.clone() };
            let mut inside = Inside::of(turn, &patient).looking_into(repository);
            let line = folder.line(runs);
            runs += 1;
            let attended = self.attended(turn, agent, task.clone(), keep(), &mut inside, (line, &stall));
            let (result, heard) = Box::pin(attended).await?;
            recorded = inside.into_completed().or(recorded);
            let whole = evidence(&result);
            output.extend_from_slice(&whole);
            metered = metering::plus(metered, of_run(&result));
            let read = read(&result, exchange.before(), recorded.as_ref());
            let is_good = matches!(read, Read::Good(_));
            if !is_good && let Some(why) = is_over(desk).await {
                let detail = with_output(&format!("the program was ended, because its turn was over: {why}"), &result);
                let came = Came::Failed(Failure { reason: ReasonCode::AgentFailed, detail });
                return Ok(Exchanged { result, came, output, metered });
            }
            let reached = stall.has_reached_limit() || metering::has_reached(allowance, &metered);
            if reached && heard.is_none() && !is_good {
                let came = Came::Failed(metering::reached(allowance, &metered));
                return Ok(Exchanged { result, came, output, metered });
            }
            if heard.is_none() && is_limited(&read, &result) {
                let waited = tokio::select! {
                    waited = exchange.waits(result.duration, result.said.rate_limited) => waited,
                    _ = desk.over() => true,
                };
                if !waited {
                    return Err(BuildError::RateLimited);
                }
                let (wall, bytes) = exchange.left();
                task = BackendTask { wall: Some(wall), output_bytes: Some(bytes), ..task };
                continue;
            }
            let (problem, can_start) = match (&heard, &read) {
                (Some(_), _) | (None, Read::Good(_)) => (None, false),
                (None, Read::Bad(_) | Read::Failed(_)) if result.said.context_full => (Some(is_full()), false),
                (None, Read::Bad(problem)) => (Some(problem.clone()), false),
                (None, Read::Failed(failure)) => of_bad_end(failure, &result, stall.is_stuck()),
            };
            let tried = EndedRun {
                command: &result.command,
                output: if result.stdout.is_empty() { &result.stderr } else { &result.stdout },
                evidence: &whole,
                duration: result.duration,
                printed: (result.stdout.len() + result.stderr.len()) as u64,
                session: result.said.session.as_deref(),
                can_start,
            };
            let came = match (exchange.after(&tried, problem.as_ref()).await, heard) {
                (After::Again(again), None) => {
                    task = retried(first, again, exchange.left(), &result);
                    continue;
                }
                (_, Some(heard)) => Came::Asked(heard),
                (After::Over(end), None) => came(read, end, &result, &stall),
            };
            if came.calls(calls_for_help) {
                exchange.called_for_help();
            }
            return Ok(Exchanged { result, came, output, metered });
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

/// Whether the provider of the program's model refused for the time being, and the program came to nothing because of that.
fn is_limited<A>(read: &Read<A>, result: &BackendResult) -> bool {
    result.said.rate_limited.is_some() && !matches!(read, Read::Good(_))
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
        Read::Good(good) => Came::Good(good),
        Read::Failed(_) if stall.is_stuck() => {
            let seconds = stall.limit().unwrap_or_default().as_secs();
            let what = format!("the program was ended: it printed nothing for {seconds} s (stuck_after); {why}");
            Came::Failed(Failure { reason: ReasonCode::AgentTimeout, detail: with_output(&what, result) })
        }
        Read::Failed(failure) => Came::Failed(failure),
        Read::Bad(problem) => {
            let what = format!("what the program handed over cannot be used ({why}): {}", problem.details);
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

/// Why a program that ended badly has failed.
pub(crate) fn failed_by_end(result: &BackendResult) -> Option<Failure> {
    let (reason, what) = bad_end(result)?;
    Some(Failure { reason, detail: with_output(&what, result) })
}
