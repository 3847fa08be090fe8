//! Logs what an orchestrator found wrong with a handoff of this agent. The turn stays open, and its deadline decides.
//! What no orchestrator signed is passed over. Others of its role can cause refusals in its name: the log has a bound.

use holdpoint_bus::{
    Bus,
    auth::Trust,
    signals::{Forged, SignalError, Signals},
};
use holdpoint_protocol::{api::RefusedHandoff, ids::RoleId, subjects};
use holdpoint_runtime::clock;
use holdpoint_text::lines::{LINES_A_MINUTE, LineCounts, LineFate};
use ractor::{Actor, ActorProcessingErr, ActorRef};
use tokio::task::JoinSet;

/// The most that is logged of a refusal, in characters.
const SHOWN_LEN_MAX: usize = 2_000;

#[derive(Debug)]
pub(super) enum Msg {
    /// A refusal came, of a handoff of this agent or of one that only claims to be.
    Refused { text: String, claimed: bool },
    /// None will come any more.
    Deaf(Option<SignalError>),
}

#[derive(Debug)]
pub(super) struct Args {
    pub(super) bus: Bus,
    pub(super) role: RoleId,
    pub(super) trust: Trust,
}

#[derive(Debug)]
pub(super) struct Refusals;

#[derive(Debug)]
pub(super) struct State {
    /// The task that listens, which ends with the actor.
    _listening: JoinSet<()>,
    lines: LineCounts,
}

impl Actor for Refusals {
    type Msg = Msg;
    type State = State;
    type Arguments = Args;

    async fn pre_start(&self, myself: ActorRef<Msg>, args: Args) -> Result<State, ActorProcessingErr> {
        let mut tasks = JoinSet::new();
        tasks.spawn(listen(myself, args));
        Ok(State { _listening: tasks, lines: LineCounts::default() })
    }

    async fn handle(&self, _: ActorRef<Msg>, message: Msg, state: &mut State) -> Result<(), ActorProcessingErr> {
        match message {
            Msg::Refused { text, claimed } => {
                say(&mut state.lines, &text, claimed);
                Ok(())
            }
            Msg::Deaf(Some(error)) => Err(error.into()),
            Msg::Deaf(None) => Err("the connection was closed".into()),
        }
    }
}

/// Logs a refusal, as often in a minute as one kind of them may be.
fn say(lines: &mut LineCounts, text: &str, claimed: bool) {
    let kind = if claimed { "claimed" } else { "own" };
    let LineFate::Written { left_out } = lines.next(kind, clock::now()) else { return };
    if left_out > 0 {
        tracing::warn!(kind, left_out, "refusals were left out of this log: more than {LINES_A_MINUTE} in a minute");
    }
    if claimed {
        tracing::warn!(
            refusal = text,
            "an orchestrator refuses a handoff in the name of this agent that its key did not sign"
        );
    } else {
        tracing::error!(refusal = text, "an orchestrator refuses a handoff of this agent");
    }
}

async fn listen(myself: ActorRef<Msg>, args: Args) {
    let subject = subjects::refused(&args.role, args.bus.name());
    let deaf = match Signals::listen(&args.bus, subject).await {
        Ok(mut signals) => {
            let mut forged = Forged::default();
            while let Some(signal) = signals.next().await {
                if !signal.is_orchestrators(&args.trust.roots(), clock::now()) {
                    forged.count(&signal);
                    continue;
                }
                let refusal = serde_json::from_slice::<RefusedHandoff>(&signal.payload);
                let claimed = refusal.is_ok_and(|refusal| refusal.claimed);
                let text = String::from_utf8_lossy(&signal.payload).chars().take(SHOWN_LEN_MAX).collect();
                let _ = myself.cast(Msg::Refused { text, claimed });
            }
            None
        }
        Err(error) => Some(error),
    };
    // Fails only when this actor has ended.
    let _ = myself.cast(Msg::Deaf(deaf));
}
