//! The actor that starts children and restarts them while their budgets last.

use std::{
    sync::{Arc, OnceLock},
    time::{Duration, Instant},
};

use ractor::{Actor, ActorId, ActorProcessingErr, ActorRef, SupervisionEvent};

use super::{
    budget::{Exit, RestartDecision, Restarts},
    child::{Child, Started},
    end::ChildEnd,
};
use crate::telemetry::{ErrorChain, fields};

/// What a child may take beyond the deadline it was given, for giving back what is not done. With the 20 s of a process
/// it stays below the 30 s that container platforms wait.
const DRAIN_GRACE: Duration = Duration::from_secs(5);

/// A child's restarts are used up.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{child} keeps ending; the last time: {cause}")]
pub struct Meltdown {
    /// The child.
    pub child: &'static str,
    /// How it ended the last time.
    pub cause: String,
}

/// Messages to a supervisor.
#[derive(Debug)]
pub enum Msg {
    /// Start this child, unless it runs.
    Start(usize),
    /// Take no more work, let the children end, and end. The time they are given.
    Drain(Duration),
    /// The time to drain is over.
    DrainOver,
}

/// What a supervisor starts with.
#[derive(Debug)]
pub struct SupervisorArgs {
    /// The children, started in this order.
    pub children: Vec<Child>,
    /// Where a melt-down is written for those who wait for the tree's end.
    pub meltdown: Arc<OnceLock<Meltdown>>,
}

/// See the module.
#[derive(Debug)]
pub struct Supervisor;

#[derive(Debug)]
struct Slot {
    child: Child,
    restarts: Restarts,
    phase: Phase,
}

#[derive(Debug)]
enum Phase {
    /// A message or timer to start it is under way.
    Starting,
    Running(Started),
    Ended,
}

/// The children as they are.
#[derive(Debug)]
pub struct SupervisorState {
    slots: Vec<Slot>,
    draining: bool,
    meltdown: Arc<OnceLock<Meltdown>>,
}

impl Actor for Supervisor {
    type Msg = Msg;
    type State = SupervisorState;
    type Arguments = SupervisorArgs;

    async fn pre_start(
        &self,
        myself: ActorRef<Msg>,
        args: SupervisorArgs,
    ) -> Result<SupervisorState, ActorProcessingErr> {
        for index in 0..args.children.len() {
            myself.cast(Msg::Start(index))?;
        }
        let slot = |child| Slot { child, restarts: Restarts::default(), phase: Phase::Starting };
        let slots = args.children.into_iter().map(slot).collect();
        Ok(SupervisorState { slots, draining: false, meltdown: args.meltdown })
    }

    async fn handle(
        &self,
        myself: ActorRef<Msg>,
        message: Msg,
        state: &mut SupervisorState,
    ) -> Result<(), ActorProcessingErr> {
        match message {
            Msg::Start(index) => state.start(&myself, index).await,
            Msg::Drain(deadline) => {
                state.drain(&myself, deadline);
                Ok(())
            }
            Msg::DrainOver => {
                state.kill_rest();
                Ok(())
            }
        }
    }

    async fn handle_supervisor_evt(
        &self,
        myself: ActorRef<Msg>,
        event: SupervisionEvent,
        state: &mut SupervisorState,
    ) -> Result<(), ActorProcessingErr> {
        match ChildEnd::of(&event) {
            Some(ChildEnd { actor, exit, cause }) => state.ended(&myself, actor, exit, &cause),
            None => Ok(()),
        }
    }
}

impl SupervisorState {
    async fn start(&mut self, myself: &ActorRef<Msg>, index: usize) -> Result<(), ActorProcessingErr> {
        let draining = self.draining;
        let Some(slot) = self.slots.get_mut(index) else { return Ok(()) };
        if draining || !matches!(slot.phase, Phase::Starting) {
            return Ok(());
        }
        match (slot.child.start)(myself.get_cell()).await {
            Ok(started) => {
                tracing::debug!({ fields::CHILD } = slot.child.spec.name, "started");
                slot.phase = Phase::Running(started);
                Ok(())
            }
            Err(error) => self.after_exit(myself, index, Exit::Failed, &ErrorChain(&error).to_string()),
        }
    }

    fn drain(&mut self, myself: &ActorRef<Msg>, deadline: Duration) {
        if self.draining {
            return;
        }
        self.draining = true;
        for slot in &mut self.slots {
            match &slot.phase {
                Phase::Running(started) => (started.drain)(deadline),
                Phase::Starting => slot.phase = Phase::Ended,
                Phase::Ended => {}
            }
        }
        myself.send_after(deadline + DRAIN_GRACE, || Msg::DrainOver);
        self.stop_when_done(myself);
    }

    /// One by one, because ractor spares a draining child when its supervisor ends. Their ends come back as events.
    fn kill_rest(&self) {
        for slot in &self.slots {
            if let Phase::Running(started) = &slot.phase {
                tracing::warn!({ fields::CHILD } = slot.child.spec.name, "does not end in time: killed");
                started.cell.kill();
            }
        }
    }

    fn ended(
        &mut self,
        myself: &ActorRef<Msg>,
        actor: ActorId,
        exit: Exit,
        cause: &str,
    ) -> Result<(), ActorProcessingErr> {
        let is_it = |slot: &Slot| matches!(&slot.phase, Phase::Running(started) if started.cell.get_id() == actor);
        match self.slots.iter().position(is_it) {
            Some(index) => self.after_exit(myself, index, exit, cause),
            None => Ok(()),
        }
    }

    fn after_exit(
        &mut self,
        myself: &ActorRef<Msg>,
        index: usize,
        exit: Exit,
        cause: &str,
    ) -> Result<(), ActorProcessingErr> {
        let Some(slot) = self.slots.get_mut(index) else { return Ok(()) };
        slot.phase = Phase::Ended;
        if !self.draining {
            let child = slot.child.spec.name;
            match slot.restarts.on_exit(&slot.child.spec, exit, Instant::now()) {
                RestartDecision::Restart { after } => {
                    tracing::warn!({ fields::CHILD } = child, cause, after_ms = after.as_millis(), "restarting");
                    slot.phase = Phase::Starting;
                    myself.send_after(after, move || Msg::Start(index));
                }
                RestartDecision::Forget => tracing::debug!({ fields::CHILD } = child, cause, "ended"),
                RestartDecision::MeltDown => {
                    let meltdown = Meltdown { child, cause: cause.to_owned() };
                    tracing::error!({ fields::CHILD } = child, cause, "restarts are used up");
                    // A tree has one root; the first melt-down is the one that ended it.
                    let _ = self.meltdown.set(meltdown.clone());
                    return Err(meltdown.into());
                }
            }
        }
        self.stop_when_done(myself);
        Ok(())
    }

    /// A supervisor without children has nothing left to do.
    fn stop_when_done(&self, myself: &ActorRef<Msg>) {
        if self.slots.iter().all(|slot| matches!(slot.phase, Phase::Ended)) {
            myself.stop(None);
        }
    }
}
