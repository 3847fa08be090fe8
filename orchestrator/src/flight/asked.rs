//! Taking a question or a call for help: what is in the working tree is looked at first, then the engine decides.

use holdpoint_engine::waypoint::{BuildOutcome, BundledCommit, Handoff, HandoffFacts, Input, InputParts};
use holdpoint_protocol::{
    artifact::{Handed, WorkInProgress},
    refusal::RefusalCode,
    subjects::HandoffSubject,
};
use ractor::ActorRef;

use super::{ApplyError, Msg, State, handoff::give_back};
use crate::{
    examine::{self, ExamineError},
    intake::Taken,
};

/// The work in progress of a question was looked at.
pub(crate) struct Looked {
    received: Box<Taken>,
    subject: HandoffSubject,
    handoff: Handoff<()>,
    body: Handed,
    work: Result<Option<BundledCommit>, ExamineError>,
}

impl State {
    pub(super) async fn on_question(
        &mut self,
        myself: &ActorRef<Msg>,
        received: Box<Taken>,
        subject: HandoffSubject,
        (handoff, body): (Handoff<()>, Handed),
    ) {
        let work =
            body.commit().map(|(commit, bundle)| WorkInProgress { commit: commit.clone(), bundle: bundle.clone() });
        let looked = Looked { received, subject, handoff, body, work: Ok(None) };
        let Some(work) = work else { return Box::pin(self.on_question_looked_at(myself, looked)).await };
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
        Box::pin(self.on_question_looked_at(myself, looked)).await;
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
            Ok(Some(input)) => {
                self.settle(myself, &looked.received, &looked.subject, input).await;
            }
            Ok(None) => {}
            Err(error) => self.not_now(&looked, &error).await,
        }
    }

    /// The question with the turn that it is asked in. One on a turn that is over is refused by the engine.
    async fn question(&mut self, looked: &Looked, commit: Option<BundledCommit>) -> Result<Option<Input>, ApplyError> {
        let Looked { subject, handoff, body, .. } = looked;
        let shell = self.shell.clone();
        let turn = self.books().await?.turn(&shell, &subject.waypoint, &handoff.turn).await?.map(Box::new);
        let facts = HandoffFacts::Work(BuildOutcome::Work { commit, violations: Vec::new() });
        Ok(Input::handed(handoff.clone(), body.clone(), facts, InputParts { turn, ..InputParts::default() }))
    }

    async fn not_now(&mut self, looked: &Looked, error: &(dyn std::error::Error + Sync)) {
        self.handoff_failed(&looked.subject.waypoint, error);
        give_back(&looked.received, &looked.subject).await;
    }
}
