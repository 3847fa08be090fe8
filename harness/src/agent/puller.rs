//! Takes one turn at a time and gives it to a runner.
//!
//! The next turn is pulled when the runner of the last one has ended, however it ended: an agent never holds a turn that
//! it does not work on.

use std::{marker::PhantomData, sync::Arc, time::Duration};

use holdpoint_bus::{
    Bus,
    signals::{SignalError, Signals},
    turns::{Delivery, TurnQueue},
};
use holdpoint_protocol::{
    api::ProgressNotice,
    codec::{self, CodecError, Encoding},
    ids::RoleId,
    subjects,
    turn::Turn,
};
use ractor::{Actor, ActorProcessingErr, ActorRef, SupervisionEvent};
use tokio::task::JoinSet;

use super::{
    args::AgentArgs,
    presence::CurrentTurn,
    runner::{self, Runner},
    worker::Worker,
};
use holdpoint_runtime::{
    supervise::{ActorTasks, ChildEnd, Exit, TaskFailed},
    telemetry::{ErrorChain, fields},
};

/// The pause before a turn comes again that this build does not understand: a newer agent may take it meanwhile.
const NOT_UNDERSTOOD_PAUSE: Duration = Duration::from_secs(60);
/// The pause before a turn comes again whose runner failed.
const FAILED_PAUSE: Duration = Duration::from_secs(5);

pub(super) enum Msg {
    /// The queue is open.
    Opened(Box<TurnQueue>),
    /// It cannot be opened.
    NotOpened(SignalError),
    /// A turn came.
    Pulled(Box<TurnQueue>, Box<Delivery>),
    /// Pull no more; end when the turn in hand is done, or given back after this time.
    Drain(Duration),
    /// The time to drain is over.
    DrainOver,
    /// Every delivery that no runner answers is answered.
    Answered,
    /// An orchestrator answered a plan.
    Noticed(ProgressNotice),
    /// No more of them will come.
    Deaf(Option<SignalError>),
    /// A task panicked: what is waited for never comes.
    TaskFailed(TaskFailed),
}

impl From<TaskFailed> for Msg {
    fn from(failed: TaskFailed) -> Self {
        Self::TaskFailed(failed)
    }
}

#[derive(Debug)]
pub(super) struct Args<W> {
    pub(super) agent: AgentArgs<W>,
    pub(super) current: CurrentTurn,
}

pub(super) struct Puller<W>(PhantomData<fn() -> W>);

impl<W> Puller<W> {
    pub(super) fn new() -> Self {
        Self(PhantomData)
    }
}

pub(super) struct State<W> {
    args: Args<W>,
    phase: Phase,
    draining: bool,
    /// Opening, pulling: ends with the actor.
    pulling: ActorTasks,
    /// Answers to deliveries that no runner gives.
    answering: JoinSet<()>,
    /// Listening for answers to plans: ends with the actor.
    _listening: ActorTasks,
}

enum Phase {
    /// A queue or a turn is waited for.
    Pulling,
    /// A runner has the turn; it ends when the turn is answered.
    Running { runner: ActorRef<runner::Msg>, delivery: Arc<Delivery>, queue: Box<TurnQueue> },
}

impl<W: Worker> Actor for Puller<W> {
    type Msg = Msg;
    type State = State<W>;
    type Arguments = Args<W>;

    async fn pre_start(&self, myself: ActorRef<Msg>, args: Args<W>) -> Result<State<W>, ActorProcessingErr> {
        args.current.set(None);
        let mut pulling = ActorTasks::default();
        let AgentArgs { bus, role, pool, trust, worker, .. } = args.agent.clone();
        pulling.run(&myself, "open the queue", async move {
            worker.up(&bus, &role).await;
            match TurnQueue::open(&bus, &role, &pool, trust).await {
                Ok(queue) => Msg::Opened(Box::new(queue)),
                Err(error) => Msg::NotOpened(error),
            }
        });
        let AgentArgs { bus, role, .. } = &args.agent;
        let mut listening = ActorTasks::default();
        listening.run(&myself, "listen", listen(myself.clone(), bus.clone(), role.clone()));
        let (phase, answering) = (Phase::Pulling, JoinSet::new());
        Ok(State { args, phase, draining: false, pulling, answering, _listening: listening })
    }

    async fn handle(
        &self,
        myself: ActorRef<Msg>,
        message: Msg,
        state: &mut State<W>,
    ) -> Result<(), ActorProcessingErr> {
        match message {
            Msg::Opened(queue) => {
                let AgentArgs { role, pool, bus, .. } = &state.args.agent;
                tracing::info!({ fields::ROLE } = %role, { fields::POOL } = %pool, { fields::AGENT } = %bus.name(), "ready");
                state.pull(&myself, queue);
                Ok(())
            }
            Msg::NotOpened(error) | Msg::Deaf(Some(error)) => Err(error.into()),
            Msg::Deaf(None) => Err("the connection was closed".into()),
            Msg::Noticed(notice) => {
                if let Phase::Running { runner, .. } = &state.phase {
                    // Fails only when it has ended.
                    let _ = runner.cast(runner::Msg::Noticed(notice));
                }
                Ok(())
            }
            Msg::TaskFailed(failed) => Err(failed.into()),
            Msg::Answered => {
                myself.stop(None);
                Ok(())
            }
            Msg::Pulled(queue, delivery) => state.pulled(&myself, queue, *delivery).await,
            Msg::Drain(deadline) => {
                state.drain(&myself, deadline);
                Ok(())
            }
            Msg::DrainOver => {
                if let Phase::Running { runner, .. } = &state.phase {
                    // Fails only when it has ended.
                    let _ = runner.cast(runner::Msg::Shutdown);
                }
                Ok(())
            }
        }
    }

    async fn handle_supervisor_evt(
        &self,
        myself: ActorRef<Msg>,
        event: SupervisionEvent,
        state: &mut State<W>,
    ) -> Result<(), ActorProcessingErr> {
        match ChildEnd::of(&event) {
            Some(ChildEnd { exit: Exit::Normal, .. }) => state.run_over(&myself),
            Some(ChildEnd { exit: Exit::Failed, cause, .. }) => state.run_failed(&myself, &cause),
            None => {}
        }
        Ok(())
    }
}

impl<W: Worker> State<W> {
    fn pull(&mut self, myself: &ActorRef<Msg>, mut queue: Box<TurnQueue>) {
        self.phase = Phase::Pulling;
        if self.draining {
            return;
        }
        // When this actor has ended meanwhile, the turn is delivered again.
        self.pulling.run(myself, "pull", async move {
            let delivery = Box::new(queue.next().await);
            Msg::Pulled(queue, delivery)
        });
    }

    async fn pulled(
        &mut self,
        myself: &ActorRef<Msg>,
        queue: Box<TurnQueue>,
        delivery: Delivery,
    ) -> Result<(), ActorProcessingErr> {
        if self.draining {
            self.give_back(myself, Arc::new(delivery), Duration::ZERO);
            return Ok(());
        }
        let turn = match decode(&delivery) {
            Ok(turn) => turn,
            Err(error) => {
                let (sequence, error) = (delivery.stored.sequence.0, ErrorChain(&error));
                tracing::error!({ fields::STREAM_SEQ } = sequence, %error, "ALARM: a turn that is not understood");
                self.give_back(myself, Arc::new(delivery), NOT_UNDERSTOOD_PAUSE);
                self.pull(myself, queue);
                return Ok(());
            }
        };
        let _at = holdpoint_faults::at(holdpoint_faults::Step::TakeTurn);
        let number = u32::try_from(delivery.number).unwrap_or(u32::MAX);
        self.args.current.set(Some((turn.turn_id.clone(), number)));
        let delivery = Arc::new(delivery);
        let args = runner::Args { agent: self.args.agent.clone(), delivery: delivery.clone(), turn };
        match Runner::spawn_linked(None, Runner::new(), args, myself.get_cell()).await {
            Ok((runner, _)) => self.phase = Phase::Running { runner, delivery, queue },
            Err(error) => {
                self.give_back(myself, delivery, FAILED_PAUSE);
                return Err(error.into());
            }
        }
        Ok(())
    }

    fn run_over(&mut self, myself: &ActorRef<Msg>) {
        self.args.current.set(None);
        match std::mem::replace(&mut self.phase, Phase::Pulling) {
            Phase::Running { .. } | Phase::Pulling if self.draining => self.stop_when_answered(myself),
            Phase::Running { mut queue, delivery, .. } => {
                queue.after(&delivery);
                self.pull(myself, queue);
            }
            Phase::Pulling => {}
        }
    }

    fn run_failed(&mut self, myself: &ActorRef<Msg>, cause: &str) {
        tracing::error!(cause, "a turn's runner failed: the turn is given back");
        if let Phase::Running { delivery, .. } = &self.phase {
            let delivery = delivery.clone();
            self.give_back(myself, delivery, FAILED_PAUSE);
        }
        self.run_over(myself);
    }

    fn drain(&mut self, myself: &ActorRef<Msg>, deadline: Duration) {
        self.draining = true;
        // A turn that is under way to us at this moment is delivered again after the acknowledgement wait.
        self.pulling = ActorTasks::default();
        match &self.phase {
            Phase::Pulling => self.stop_when_answered(myself),
            Phase::Running { runner, .. } => {
                // Of a turn that nobody wants any more the files are kept meanwhile.
                let _ = runner.cast(runner::Msg::AskProgress);
                myself.send_after(deadline, || Msg::DrainOver);
            }
        }
    }

    fn give_back(&mut self, myself: &ActorRef<Msg>, delivery: Arc<Delivery>, pause: Duration) {
        while self.answering.try_join_next().is_some() {}
        self.answering.spawn(async move {
            if let Err(error) = delivery.nak(pause).await {
                tracing::warn!(error = %ErrorChain(&error), "the turn comes again after the acknowledgement wait");
            }
        });
        if self.draining {
            self.stop_when_answered(myself);
        }
    }

    /// Ends this actor when the last answer is sent.
    fn stop_when_answered(&mut self, myself: &ActorRef<Msg>) {
        let mut answering = std::mem::take(&mut self.answering);
        self.pulling.run(myself, "answer", async move {
            while answering.join_next().await.is_some() {}
            Msg::Answered
        });
    }
}

/// Listens for answers to this agent's plans. Other messages are passed over.
async fn listen(puller: ActorRef<Msg>, bus: Bus, role: RoleId) -> Msg {
    match Signals::listen(&bus, subjects::progress(&role, bus.name())).await {
        Ok(mut signals) => {
            while let Some(signal) = signals.next().await {
                if let Ok(notice) = codec::decode(&signal.payload, Encoding::Json) {
                    // Fails only when the actor has ended.
                    let _ = puller.cast(Msg::Noticed(notice));
                }
            }
            Msg::Deaf(None)
        }
        Err(error) => Msg::Deaf(Some(error)),
    }
}

fn decode(delivery: &Delivery) -> Result<Turn, CodecError> {
    let stored = &delivery.stored;
    codec::decode(&stored.payload, Encoding::from_content_type(stored.content_type.as_deref())?)
}
