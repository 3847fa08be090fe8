//! Slow work of a flight actor: it runs in a task, and its outcome is cast back.

use holdpoint_engine::waypoint::{BuildOutcome, Handoff, HandoffFacts, Input, InputParts};
use holdpoint_planfile::checkpoints;
use holdpoint_protocol::{
    artifact::{BuildArtifact, BuildStatus, Clarified, Handed},
    checkpoint::GateDemands,
    facts::{Harness, Oid},
    ids::{AgentName, WaypointId},
    plan::Waypoint,
    refusal::RefusalCode,
    state::Purpose,
    subjects::HandoffSubject,
    turn::Turn,
};
use holdpoint_runtime::{handed_commit::handed_commit, telemetry};
use ractor::ActorRef;

use super::{ApplyError, Msg, State, handoff::give_back, planned, rules};
use crate::{
    books::Books,
    examine::{self, Against, ExamineError, Stated},
    intake::Taken,
    refusals,
};

/// A build handoff was examined.
pub(crate) struct Examined {
    received: Box<Taken>,
    subject: HandoffSubject,
    handoff: Handoff<()>,
    artifact: Box<BuildArtifact>,
    outcome: Result<BuildOutcome, ExamineError>,
}

/// What is wrong with work that its sender took for good.
fn refused_work(status: BuildStatus, outcome: &BuildOutcome) -> Option<String> {
    match outcome {
        BuildOutcome::Failed(failure, _) if status == BuildStatus::Ok => Some(failure.detail.clone()),
        BuildOutcome::Failed(..) | BuildOutcome::Work { .. } => None,
    }
}

/// What the gate demands whose turn makes the work.
fn demands(books: &Books, planned: &Waypoint) -> Option<GateDemands> {
    let state = books.state(&planned.id);
    let workflow = books.flight.workflow_of(planned, &state)?;
    let open = state.open_turns().find(|open| open.purpose == Purpose::Build)?;
    let demands = &workflow.gate(&open.gate)?.context.demands;
    Some(checkpoints::in_plan(demands, &books.flight.submitted.plan))
}

/// How the commit of the open turn's work is written.
fn stated(books: &Books, planned: &Waypoint, agent: &AgentName, harness: Harness) -> Option<Stated> {
    let state = books.state(&planned.id);
    let open = state.open_turns().find(|open| open.purpose == Purpose::Build)?;
    let meta = handed_commit(&planned.id, &planned.title, (&open.role, agent), open.opened_at);
    Some(Stated { meta, harness })
}

impl State {
    /// Fetches and examines handed-off work.
    pub(super) async fn begin_examine(
        &mut self,
        myself: &ActorRef<Msg>,
        received: Box<Taken>,
        subject: HandoffSubject,
        handoff: Handoff<()>,
        artifact: Box<BuildArtifact>,
    ) -> Result<(), ApplyError> {
        if !self.is_current(&subject.waypoint, &handoff.turn).await? {
            // The engine says whether it is a repetition or late; the work itself does not matter any more.
            let body = Handed::Built(artifact);
            if let Some(late) = Input::handed(handoff, body, HandoffFacts::Nothing, InputParts::default()) {
                self.settle(myself, &received, &subject, late).await;
            }
            return Ok(());
        }
        let shell = self.shell.clone();
        let impact = self.impact(&subject, &handoff).await?;
        let against = self.against(&subject.waypoint, Some((&handoff.agent, received.harness))).await?;
        let against = Against { impact, ..against };
        self.slow += 1;
        self.tasks.run(myself, "examine", async move {
            let begun = telemetry::now();
            let outcome = examine::examine(&shell, &against, &artifact).await;
            if let Some(processing) = &received.processing {
                processing.did("examine", begun, outcome.is_err().then_some("cannot be examined now"));
            }
            // An actor that is gone leaves the handoff unacknowledged: it comes again.
            Msg::Examined(Box::new(Examined { received, subject, handoff, artifact, outcome }))
        });
        Ok(())
    }

    /// Before how many removed files a person is asked, and what was answered in this turn.
    async fn impact(
        &mut self,
        subject: &HandoffSubject,
        handoff: &Handoff<()>,
    ) -> Result<Option<(u32, Vec<Clarified>)>, ApplyError> {
        let Some(most) = self.books().await?.flight.submitted.plan.policy.ask_before_removing else { return Ok(None) };
        let opened = self.opened(subject, &handoff.turn).await?;
        let told = opened.as_ref().and_then(Turn::told);
        Ok(Some((most, told.map(|told| told.clarifications.clone()).unwrap_or_default())))
    }

    /// What handed-off work is held against. `by`: its maker, and whose harness the key is for; `None` of work that is for no verifier.
    pub(super) async fn against(
        &mut self,
        waypoint: &WaypointId,
        by: Option<(&AgentName, Harness)>,
    ) -> Result<Against, ApplyError> {
        let books = self.books().await?;
        let planned = planned(books, waypoint)?;
        let base: Oid = books.state(waypoint).base.unwrap_or_else(|| books.flight.head().clone());
        let base_tree = books.flight.tree_of(&base).unwrap_or_else(|| books.flight.head_tree()).clone();
        Ok(Against {
            flight: books.id().clone(),
            bundles: books.flight.bundles_up_to(&base),
            rules: rules(books, &planned),
            demands: demands(books, &planned).unwrap_or_default(),
            impact: None,
            stated: by.and_then(|(agent, harness)| stated(books, &planned, agent, harness)),
            base,
            base_tree,
        })
    }

    pub(super) async fn on_examined(&mut self, myself: &ActorRef<Msg>, examined: Examined) {
        self.slow = self.slow.saturating_sub(1);
        let Examined { received, subject, handoff, artifact, outcome } = examined;
        match outcome {
            Ok(outcome) => {
                let refused = refused_work(artifact.status, &outcome);
                let turn = match &outcome {
                    BuildOutcome::Failed(..) => self.opened(&subject, &handoff.turn).await,
                    BuildOutcome::Work { .. } => Ok(None),
                };
                let turn = match turn {
                    Ok(turn) => turn.map(Box::new),
                    Err(error) => {
                        self.handoff_failed(&subject.waypoint, &error);
                        return give_back(&received, &subject).await;
                    }
                };
                let (facts, parts) = (HandoffFacts::Work(outcome), InputParts { turn, ..InputParts::default() });
                let Some(input) = Input::handed(handoff, Handed::Built(artifact), facts, parts) else { return };
                if self.settle(myself, &received, &subject, input).await
                    && let Some(what) = refused
                {
                    refusals::tell(&self.shell, &received, RefusalCode::WorkRefused, &what).await;
                }
            }
            Err(error @ ExamineError::NotStored(_)) => {
                let what = "cannot fetch the handed-off work";
                self.lacks(&received, &subject, RefusalCode::WorkMissing, what, &error).await;
            }
            // Nothing else that fails is the sender's fault.
            Err(error) => {
                self.handoff_failed(&subject.waypoint, &error);
                give_back(&received, &subject).await;
            }
        }
    }
}
