//! One delivery of one turn, as a worker sees it.

use std::sync::{Mutex, OnceLock, PoisonError};

use holdpoint_bus::Bus;
use holdpoint_engine::waypoint;
use holdpoint_protocol::{
    artifact::Origin,
    ids::{AgentName, RoleId},
    live::LiveKind,
    turn::Turn,
};
use holdpoint_runtime::{clock, fresh};

use super::{stop::StopSignal, talk::TurnTalk};
use crate::live::Live;

/// The longest note, in characters. It is one line in a live view.
const NOTE_LEN_MAX: usize = 200;

/// A turn in the hands of this agent.
#[derive(Debug)]
pub struct Job {
    /// The turn, as an orchestrator signed it.
    pub turn: Turn,
    /// The journal entry that opened it, as this agent saw it: `HP_JOURNAL/<sequence>@<digest>`.
    pub turn_ref: String,
    /// Which delivery of the turn, from 1.
    pub delivery: u32,
    /// This agent.
    pub agent: AgentName,
    /// Its role.
    pub role: RoleId,
    /// The broker.
    pub bus: Bus,
    /// Says when to stop. A result after that is not handed off.
    pub stop: StopSignal,
    /// W3C trace context of this turn, for what the worker publishes itself.
    pub traceparent: Option<String>,
    plan_ref: OnceLock<String>,
    note: Mutex<String>,
    talk: TurnTalk,
    live: Live,
}

/// What a job is made of.
pub struct JobArgs {
    /// See [`Job::turn`].
    pub turn: Turn,
    /// See [`Job::turn_ref`].
    pub turn_ref: String,
    /// See [`Job::delivery`].
    pub delivery: u32,
    /// See [`Job::agent`].
    pub agent: AgentName,
    /// See [`Job::role`].
    pub role: RoleId,
    /// See [`Job::bus`].
    pub bus: Bus,
    /// See [`Job::stop`].
    pub stop: StopSignal,
    /// See [`Job::traceparent`].
    pub traceparent: Option<String>,
}

impl Job {
    /// A job whose plan is not published yet.
    #[must_use]
    pub fn new(args: JobArgs) -> Self {
        let JobArgs { turn, turn_ref, delivery, agent, role, bus, stop, traceparent } = args;
        let (plan_ref, note) = (OnceLock::new(), Mutex::new(String::new()));
        let (talk, live) = (TurnTalk::default(), Live::of(turn.turn_id.clone()));
        Self { turn, turn_ref, delivery, agent, role, bus, stop, traceparent, plan_ref, note, talk, live }
    }

    /// What was asked and answered in it.
    #[must_use]
    pub fn talk(&self) -> &TurnTalk {
        &self.talk
    }

    /// Where is said what its program says while it runs.
    #[must_use]
    pub fn live(&self) -> &Live {
        &self.live
    }

    /// The turn as it stands: with what was answered since it was opened.
    #[must_use]
    pub fn turn_as_it_stands(&self) -> Turn {
        let mut turn = self.turn.clone();
        self.talk.answers().iter().for_each(|answer| waypoint::reply(&mut turn, answer));
        turn
    }

    /// The digest of the plan handoff; `None` before it is published.
    #[must_use]
    pub fn plan_ref(&self) -> Option<&str> {
        self.plan_ref.get().map(String::as_str)
    }

    /// What an artifact of this turn is made from: the turn's entry and, once published, the plan.
    #[must_use]
    pub fn source_refs(&self) -> Vec<String> {
        let mut refs = vec![self.turn_ref.clone()];
        refs.extend(self.plan_ref().map(str::to_owned));
        refs
    }

    /// The six fields that every artifact of this turn begins with: with a fresh id, made now.
    #[must_use]
    pub fn origin(&self) -> Origin {
        Origin {
            artifact_id: fresh::artifact(),
            waypoint_id: self.turn.waypoint.clone(),
            produced_by_role: self.role.clone(),
            produced_at: clock::now(),
            source_refs: self.source_refs(),
        }
    }

    /// Says in one line what is being done; people see it in the live view.
    pub fn note(&self, text: &str) {
        let line: String = text.lines().next().unwrap_or_default().chars().take(NOTE_LEN_MAX).collect();
        self.live.say(LiveKind::Doing, &line);
        *self.note.lock().unwrap_or_else(PoisonError::into_inner) = line;
    }

    pub(super) fn current_note(&self) -> String {
        self.note.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The first one stays: a plan is published once.
    pub(super) fn set_plan_ref(&self, reference: String) {
        let _ = self.plan_ref.set(reference);
    }
}
