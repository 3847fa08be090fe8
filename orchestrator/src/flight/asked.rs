//! Taking a question or a call for help: what is in the working tree is looked at first, then the engine decides.

use holdpoint_engine::waypoint::{AgentQuestion, BundledCommit, Handoff, Input};
use holdpoint_protocol::{
    artifact::{ClarificationRequest, HelpRequest, WorkInProgress},
    refusal::RefusalCode,
    subjects::HandoffSubject,
};
use ractor::ActorRef;

use super::{ApplyError, Msg, State, handoff::give_back};
use crate::{
    examine::{self, ExamineError},
    intake::Taken,
};

/// What an agent sent.
pub(super) enum Asks {
    Clarify(Box<ClarificationRequest>),
    Help(Box<HelpRequest>),
}

impl Asks {
    fn work(&self) -> Option<&WorkInProgress> {
        match self {
            Self::Clarify(asked) => asked.work.as_ref(),
            Self::Help(help) => help.work.as_ref(),
        }
    }
}

/// The work in progress of a question was looked at.
pub(crate) struct Looked {
    received: Box<Taken>,
    subject: HandoffSubject,
    handoff: Handoff<()>,
    asks: Asks,
    work: Result<Option<BundledCommit>, ExamineError>,
}

impl State {
    pub(super) async fn on_question(
        &mut self,
        myself: &ActorRef<Msg>,
        received: Box<Taken>,
        subject: HandoffSubject,
        handoff: Handoff<()>,
        asks: Asks,
    ) {
        let work = asks.work().cloned();
        let looked = Looked { received, subject, handoff, asks, work: Ok(None) };
        let Some(work) = work else { return self.on_question_looked_at(myself, looked).await };
        let against = match self.against(&looked.subject.waypoint, None).await {
            Ok(against) => against,
            Err(error) => return self.not_now(&looked, &error).await,
        };
        self.slow += 1;
        let shell = self.shell.clone();
        self.tasks.run(myself, "look at work in progress", async move {
            let work = examine::in_progress(&shell, &against, &work).await;
            Msg::Asked(Box::new(Looked { work, ..looked }))
        });
    }

    pub(super) async fn on_looked(&mut self, myself: &ActorRef<Msg>, looked: Looked) {
        self.slow = self.slow.saturating_sub(1);
        self.on_question_looked_at(myself, looked).await;
    }

    async fn on_question_looked_at(&mut self, myself: &ActorRef<Msg>, mut looked: Looked) {
        let work = match std::mem::replace(&mut looked.work, Ok(None)) {
            Ok(work) => work,
            Err(error @ ExamineError::NotStored(_)) => {
                let what = "cannot fetch the work that comes with the question";
                return self.lacks(&looked.received, &looked.subject, RefusalCode::WorkMissing, what, &error).await;
            }
            Err(error) => return self.not_now(&looked, &error).await,
        };
        match self.question(&looked, work).await {
            Ok(input) => {
                self.settle(myself, &looked.received, &looked.subject, input).await;
            }
            Err(error) => self.not_now(&looked, &error).await,
        }
    }

    /// The question with the turn that it is asked in. One on a turn that is over is refused by the engine.
    async fn question(&mut self, looked: &Looked, work: Option<BundledCommit>) -> Result<Input, ApplyError> {
        let Looked { subject, handoff, asks, .. } = looked;
        let shell = self.shell.clone();
        let turn = self.books().await?.turn(&shell, &subject.waypoint, &handoff.turn).await?;
        let handoff = handoff.clone();
        let Some(turn) = turn.map(Box::new) else {
            // Nobody ever opened it: no input fits, and the engine says so.
            let body = holdpoint_engine::waypoint::BuildOutcome::Work { commit: None, violations: Vec::new() };
            return Ok(Input::Built(handoff.with(body)));
        };
        let body = match asks {
            Asks::Clarify(asked) => AgentQuestion::question(asked, work, turn),
            Asks::Help(call) => AgentQuestion::help(call, work, turn),
        };
        Ok(Input::Asked(handoff.with(Box::new(body))))
    }

    async fn not_now(&mut self, looked: &Looked, error: &(dyn std::error::Error + Sync)) {
        self.handoff_failed(&looked.subject.waypoint, error);
        give_back(&looked.received, &looked.subject).await;
    }
}
