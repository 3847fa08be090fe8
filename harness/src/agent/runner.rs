//! One turn, from its plan to its acknowledgement.
//!
//! ```text
//! (asking) → planning → (planned) → working → handing off → answering
//!     └─────────┴───────────┴──────────┴─ stopping ─────────────┘
//! ```
//!
//! The broker delivers turns that were answered long ago, to a pool that is new to them as their first delivery. So work
//! begins only when an orchestrator has said that the turn is open, however long that takes. A turn that has just opened
//! is planned first, and its plan asks, which costs nothing; any other is planned after the answer. Work begins with its
//! plan in the broker, which is what says that this agent has the turn.
//!
//! Handlers only start tasks; their outcomes come back as messages. There is one runner per turn, so what comes late
//! comes to nobody, and timers need no generation. All tasks end with the actor.

mod handing_off;
mod planning;
mod updates;

use std::{marker::PhantomData, sync::Arc, time::Duration};

use holdpoint_bus::turns::Delivery;
use holdpoint_protocol::{
    Digest,
    api::{ProgressAnswer, ProgressNotice},
    journal::EntryRef,
    turn::Turn,
};
use holdpoint_runtime::{
    clock, fresh, metrics,
    supervise::{ActorTasks, TaskFailed},
    telemetry::{self, ErrorChain, TraceContext, WaypointTrace, fields},
};
use holdpoint_text::lines::{LineCounts, LineFate};
use ractor::{Actor, ActorProcessingErr, ActorRef};
use tokio::task::JoinSet;
use tracing::{Instrument as _, Span};

use self::{handing_off::has_files, planning::SentPlan, updates::Updates};
use super::{
    args::AgentArgs,
    handoff::HandoffError,
    job::{Job, JobArgs},
    progress::{self, ProgressError},
    reply::{Reply, give_back, retry_pause},
    stop::{StopReason, Stopper, stop_signal},
    trace,
    worker::{Final, WorkError, Worker},
};

/// Heartbeats per acknowledgement wait: two may get lost.
const HEARTBEATS_PER_WAIT: u32 = 3;
/// How long a worker may take to stop when it is asked to, before it is dropped.
const STOP_GRACE: Duration = Duration::from_secs(2);
/// The same where the turn is over: the worker ends its program, and keeps the files.
const KEEP_GRACE: Duration = Duration::from_secs(10);
/// For how long a turn counts as just opened: nearly always it is open still.
const JUST_OPENED: Duration = Duration::from_secs(3);

pub(super) enum Msg {
    /// Time for a heartbeat.
    Heartbeat,
    /// Time to ask whether the turn is still wanted.
    AskProgress,
    /// The answer to that.
    Progress(Result<ProgressAnswer, ProgressError>),
    /// An orchestrator answered a plan.
    Noticed(ProgressNotice),
    /// The plan is sent.
    Planned(Result<Box<SentPlan>, HandoffError>),
    /// The worker returned.
    Worked(Box<Result<Final, WorkError>>),
    /// The final handoff is stored.
    HandedOff(Result<(), HandoffError>),
    /// This process ends: give the turn back.
    Shutdown,
    /// The worker had its time to stop.
    GraceOver,
    /// The delivery is acknowledged or given back, as far as possible.
    Answered,
    /// A task panicked: what is waited for never comes.
    TaskFailed(TaskFailed),
}

impl From<TaskFailed> for Msg {
    fn from(failed: TaskFailed) -> Self {
        Self::TaskFailed(failed)
    }
}

pub(super) struct Args<W> {
    pub(super) agent: AgentArgs<W>,
    pub(super) delivery: Arc<Delivery>,
    pub(super) turn: Turn,
}

pub(super) struct Runner<W>(PhantomData<fn() -> W>);

impl<W> Runner<W> {
    pub(super) fn new() -> Self {
        Self(PhantomData)
    }
}

pub(super) struct State<W> {
    worker: Arc<W>,
    delivery: Arc<Delivery>,
    job: Arc<Job>,
    stopper: Stopper,
    phase: Phase,
    /// An orchestrator said that the turn is open.
    open: bool,
    /// It said so in answer to the plan, which it had from the broker.
    plan_seen: bool,
    /// The plan, once it was sent.
    plan: Option<Box<SentPlan>>,
    /// What an answer to the plan has to name.
    nonce: String,
    /// What log lines show.
    span: Span,
    /// What is exported.
    trace: Span,
    tasks: ActorTasks,
    heartbeats: JoinSet<()>,
    /// What is said of how far the work is, once it has begun.
    updates: Option<Updates>,
    /// How many log lines others caused.
    lines: LineCounts,
}

#[derive(Debug, PartialEq, Eq)]
enum Phase {
    /// Is it wanted at all?
    Asking,
    Planning,
    /// The plan is sent, and nobody has said yet that the turn is open.
    Planned,
    Working,
    HandingOff,
    /// The worker was asked to stop.
    Stopping,
    Answering,
}

impl<W: Worker> Actor for Runner<W> {
    type Msg = Msg;
    type State = State<W>;
    type Arguments = Args<W>;

    async fn pre_start(&self, myself: ActorRef<Msg>, args: Args<W>) -> Result<State<W>, ActorProcessingErr> {
        let heartbeat = args.agent.ack_wait / HEARTBEATS_PER_WAIT;
        let mut state = State::new(args);
        myself.send_interval(heartbeat, || Msg::Heartbeat);
        myself.send_interval(progress::EVERY, || Msg::AskProgress);
        let span = state.span.clone();
        span.in_scope(|| state.begin(&myself));
        Ok(state)
    }

    async fn handle(
        &self,
        myself: ActorRef<Msg>,
        message: Msg,
        state: &mut State<W>,
    ) -> Result<(), ActorProcessingErr> {
        let span = state.span.clone();
        span.in_scope(|| state.on(&myself, message)).map_err(ActorProcessingErr::from)
    }
}

impl<W: Worker> State<W> {
    fn new(args: Args<W>) -> Self {
        let Args { agent, delivery, turn } = args;
        let number = u32::try_from(delivery.number).unwrap_or(u32::MAX);
        let context = delivery.stored.traceparent.as_deref().and_then(TraceContext::read);
        let context = context.unwrap_or_else(|| WaypointTrace::of(&turn.flight, &turn.waypoint).turn(&turn.turn_id));
        if number == 1 {
            trace::of_queue(&context, &turn, delivery.stored.time);
        }
        let (span, trace) = trace::of_delivery(&context, &agent, &turn, number);
        let (stopper, stop) = stop_signal();
        let seen = EntryRef { sequence: delivery.stored.sequence, digest: Some(Digest::of(&delivery.stored.payload)) };
        let job = Job::new(JobArgs {
            turn,
            turn_ref: seen.to_string(),
            delivery: number,
            agent: agent.bus.name().clone(),
            role: agent.role,
            bus: agent.bus,
            stop,
            // Where no spans are exported, the sender's context is passed on.
            traceparent: Some(telemetry::context_of(&trace).unwrap_or(context).traceparent()),
        });
        let (job, phase) = (Arc::new(job), Phase::Planning);
        Self {
            worker: agent.worker,
            delivery,
            job,
            stopper,
            phase,
            open: false,
            plan_seen: false,
            plan: None,
            nonce: fresh::nonce(),
            span,
            trace,
            tasks: ActorTasks::default(),
            heartbeats: JoinSet::new(),
            updates: None,
            lines: LineCounts::default(),
        }
    }

    /// The plan of a turn that was just opened asks whether it is. Clocks decide only what is done first, and without an
    /// answer it is asked at the usual time.
    fn begin(&mut self, myself: &ActorRef<Msg>) {
        tracing::info!("turn taken");
        metrics::turn("taken");
        if self.job.delivery == 1 && clock::now().since(self.job.turn.record.at) < JUST_OPENED {
            self.send_plan(myself);
        } else {
            self.phase = Phase::Asking;
            self.ask_progress(myself);
        }
    }

    fn on(&mut self, myself: &ActorRef<Msg>, message: Msg) -> Result<(), TaskFailed> {
        match message {
            Msg::TaskFailed(failed) => return Err(failed),
            Msg::Heartbeat => self.heartbeat(),
            Msg::AskProgress => self.ask_progress(myself),
            Msg::Progress(answer) => self.on_progress(myself, answer),
            // Another slot of this agent planned for it.
            Msg::Noticed(notice) if notice.turn != self.job.turn.turn_id => {}
            Msg::Noticed(notice) => match progress::noticed(&self.job, &self.nonce, notice) {
                Some(answer) => {
                    self.plan_seen = true;
                    self.on_progress(myself, Ok(answer));
                }
                // Others of its role can have the broker send as many as they like.
                None => match self.lines.next("answers", clock::now()) {
                    LineFate::Written { left_out } => {
                        tracing::warn!(left_out, "an answer to no plan of this turn: ignored");
                    }
                    LineFate::LeftOut => {}
                },
            },
            Msg::Planned(planned) => self.on_planned(myself, planned),
            Msg::Worked(result) => self.on_worked(myself, *result),
            Msg::HandedOff(result) => self.on_handed_off(myself, result),
            Msg::Shutdown => self.stop(myself, StopReason::Shutdown),
            Msg::GraceOver => {
                if self.phase == Phase::Stopping {
                    tracing::warn!("the worker does not stop in time: dropped");
                    self.answer_stopped(myself);
                }
            }
            Msg::Answered => myself.stop(None),
        }
        Ok(())
    }

    fn heartbeat(&mut self) {
        let delivery = self.delivery.clone();
        self.heartbeats.spawn(async move {
            if let Err(error) = delivery.heartbeat().await {
                tracing::warn!(error = %ErrorChain(&error), "no heartbeat");
            }
        });
        if let Some(updates) = self.updates.as_mut().filter(|_| self.phase == Phase::Working)
            && let Some(update) = updates.next(&self.job)
        {
            self.heartbeats.spawn(update);
        }
        // Reaps what is done, here because this comes again and again.
        while self.heartbeats.try_join_next().is_some() {}
    }

    fn ask_progress(&mut self, myself: &ActorRef<Msg>) {
        // Answers that others got in the turn before go with the work.
        let (job, newest) = (self.job.clone(), !self.open && self.job.delivery > 1);
        self.spawn(myself, "ask", async move { Msg::Progress(progress::ask(&job, None, newest).await) });
    }

    fn on_progress(&mut self, myself: &ActorRef<Msg>, answer: Result<ProgressAnswer, ProgressError>) {
        match answer {
            Ok(ProgressAnswer::Stop { reason, give_back: false }) => self.stop(myself, StopReason::Told { reason }),
            Ok(ProgressAnswer::Stop { reason, give_back: true }) => self.stop(myself, StopReason::ForOthers { reason }),
            Ok(ProgressAnswer::Continue(_)) => {
                self.open = true;
                self.proceed(myself);
            }
            Err(error) if self.awaits_word() && !error.is_passing() => {
                self.fail(myself, "cannot learn whether the turn is open", &error);
            }
            Err(error) => tracing::debug!(error = %ErrorChain(&error), "no answer on the turn"),
        }
    }

    /// Whether work waits for the first word of an orchestrator.
    fn awaits_word(&self) -> bool {
        !self.open && matches!(self.phase, Phase::Asking | Phase::Planning | Phase::Planned)
    }

    fn work(&mut self, myself: &ActorRef<Msg>) {
        self.phase = Phase::Working;
        self.updates = Some(Updates::begin());
        self.heartbeats.spawn(self.job.live().publish(&self.job));
        let (worker, job) = (self.worker.clone(), self.job.clone());
        // A task of its own, so that a panic comes back as an error.
        let mut work = JoinSet::new();
        work.spawn(self.within(async move { worker.work(job).await }));
        self.spawn(myself, "work", async move {
            let result = work.join_next().await.expect("one task was spawned");
            let panicked = |error| Err(WorkError::new("work on the turn to the end", error));
            Msg::Worked(Box::new(result.unwrap_or_else(panicked)))
        });
    }

    fn on_worked(&mut self, myself: &ActorRef<Msg>, result: Result<Final, WorkError>) {
        match (&self.phase, result) {
            (Phase::Working, Ok(artifact)) => {
                self.phase = Phase::HandingOff;
                self.hand_off(myself, &artifact);
            }
            (Phase::Working, Err(error)) => self.fail(myself, "cannot work on the turn", &error),
            // Nothing is decided by what comes after the end of its turn, and its files can still be had.
            (Phase::Stopping, Ok(artifact)) if self.is_over() && has_files(&artifact) => {
                self.hand_off(myself, &artifact);
            }
            // A worker's result after a request to stop may come of the stopping itself.
            (Phase::Stopping, _) => self.answer_stopped(myself),
            _ => {}
        }
    }

    fn stop(&mut self, myself: &ActorRef<Msg>, reason: StopReason) {
        match self.phase {
            Phase::Asking | Phase::Planning | Phase::Planned => {
                self.stopper.stop(reason);
                self.answer_stopped(myself);
            }
            Phase::Working => {
                tracing::info!(?reason, "stopping the work");
                self.stopper.stop(reason);
                self.phase = Phase::Stopping;
                let grace = if self.is_over() { KEEP_GRACE } else { STOP_GRACE };
                myself.send_after(grace, || Msg::GraceOver);
            }
            // The result is on its way: it is wanted, or refused as a conflict.
            Phase::HandingOff | Phase::Stopping | Phase::Answering => {}
        }
    }

    /// A turn that is not wanted is done; one that another agent has to do is given back.
    fn answer_stopped(&mut self, myself: &ActorRef<Msg>) {
        let reply = match self.job.stop.reason() {
            Some(StopReason::Told { reason }) => {
                tracing::info!(reason, "turn dropped");
                Reply::Dropped
            }
            Some(StopReason::ForOthers { reason }) => {
                tracing::info!(reason, "turn given back");
                Reply::PassOn
            }
            Some(StopReason::Shutdown) | None => {
                tracing::info!("turn given back");
                Reply::GiveBack
            }
        };
        self.answer(myself, reply);
    }

    /// Gives the turn back after a failure of ours.
    fn fail(&mut self, myself: &ActorRef<Msg>, what: &str, error: &(dyn std::error::Error + 'static)) {
        self.answer(myself, Reply::Failed(format!("{what}: {}", ErrorChain(error))));
    }

    fn answer(&mut self, myself: &ActorRef<Msg>, reply: Reply) {
        self.phase = Phase::Answering;
        metrics::turn(reply.word());
        // Aborts them.
        self.tasks = ActorTasks::default();
        self.heartbeats.abort_all();
        let (delivery, job) = (self.delivery.clone(), self.job.clone());
        let pause = retry_pause(job.delivery);
        self.trace.record(fields::SETTLED, reply.word());
        if let Reply::Failed(_) = &reply {
            // Why is in the log: errors may quote what a program said.
            telemetry::fail(&self.trace, "given back after a failure of ours");
        }
        self.spawn(myself, "answer", async move {
            give_back(&job, &reply).await;
            let span = trace::of_settling(reply.operation());
            let answered = async {
                match &reply {
                    Reply::Done | Reply::Dropped => delivery.finish().await,
                    Reply::GiveBack => delivery.nak(Duration::ZERO).await,
                    Reply::PassOn => delivery.pass_on(pause).await,
                    Reply::Failed(_) => delivery.nak(pause).await,
                }
            };
            if let Err(error) = answered.instrument(span.clone()).await {
                telemetry::fail(&span, "not acknowledged");
                tracing::warn!(error = %ErrorChain(&error), "the turn may be delivered again");
            }
            drop(span);
            if let Reply::Failed(trouble) = reply {
                tracing::error!(trouble, pause_s = pause.as_secs(), "turn given back");
                if let Err(error) = progress::ask(&job, Some(trouble), false).await {
                    tracing::debug!(error = %ErrorChain(&error), "the trouble reaches nobody");
                }
            }
            Msg::Answered
        });
    }

    /// Starts a task whose outcome comes back as a message.
    fn spawn(&mut self, myself: &ActorRef<Msg>, name: &'static str, task: impl Future<Output = Msg> + Send + 'static) {
        let task = self.within(task);
        self.tasks.run(myself, name, task);
    }

    /// Log lines of `work` name the turn, and its spans are below the turn's.
    fn within<F: Future + Send>(&self, work: F) -> impl Future<Output = F::Output> + Send + use<W, F> {
        work.instrument(self.trace.clone()).instrument(self.span.clone())
    }
}
