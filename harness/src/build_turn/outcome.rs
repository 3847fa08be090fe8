//! What came of a turn, with the files as they are: every end of a turn keeps them.

use std::time::Duration;

use holdpoint_engine::impact;
use holdpoint_protocol::{
    artifact::{Confidence, Failure},
    checkpoint::GateDocument,
    facts::LeftOut,
    reason::{BlockReason, ReasonCode},
    turn::BuildRequest,
};
use holdpoint_runtime::telemetry::TRACE;
use holdpoint_workspace::WorkspaceError;
use tracing::{Instrument as _, info_span};

use super::{
    answer::{AnswerRules, ProgramAnswer, answer, with_output},
    capture::{Capture, CapturedWork, Ready},
    checkpoints::{Checkpoints, Established},
    exchanged::{Came, Read, RunReader},
    workbench::BuildError,
};
use crate::{
    ask::{Ask, Completed, ProgramAsks},
    backend::{Backend, BackendResult, markers::HelpCall, question::ValidQuestion},
    exchange::{Expected, ResultProblem, Unready, envelope::Before},
};

/// What came of a turn. With all but a finished work goes what there was then, where that differs from the base.
#[derive(Debug)]
pub enum BuildTurnOutcome {
    /// Ready for handoff.
    Ready(Box<Ready>),
    /// The turn failed and counts as an attempt. What its clone had besides the files that are kept is named.
    Failed(Failure, Option<CapturedWork>, Vec<LeftOut>),
    /// The program asks.
    Clarify(ValidQuestion, Option<CapturedWork>),
    /// The program calls for help.
    Help(HelpCall, Option<CapturedWork>),
}

impl BuildTurnOutcome {
    /// The same, of a program that was asked again for the sake of checkpoints; and the document that did not meet them.
    pub(super) fn after(mut self, unready: Unready) -> (Self, Option<Box<GateDocument>>) {
        match &mut self {
            Self::Ready(ready) => {
                if let Some(document) = &mut ready.document {
                    unready.say_in(document);
                }
                (self, None)
            }
            _ => (self, unready.into_document()),
        }
    }

    /// The commit of the files that go with it.
    #[must_use]
    pub fn work(&self) -> Option<&CapturedWork> {
        match self {
            Self::Ready(ready) => ready.work.as_ref(),
            Self::Failed(_, work, _) | Self::Clarify(_, work) | Self::Help(_, work) => work.as_ref(),
        }
    }
}

/// What a program came to that can be used.
pub(super) enum WorkAnswer {
    /// Work that is ready for handoff.
    Ready(Box<Ready>),
    /// A question.
    Clarify(ValidQuestion),
    /// A call for help.
    Help(HelpCall),
}

/// Reads what a program that makes work came to: what it says, and then the files that it left.
pub(super) struct WorkReader<'a, B> {
    pub(super) capture: &'a Capture<'a>,
    pub(super) expected: &'a Expected,
    /// Where the gate's commands are run.
    pub(super) checkpoints: Checkpoints<'a, B>,
    /// An end before this, with nothing changed, is none.
    pub(super) quick: Option<Duration>,
}

impl<B: Backend> RunReader for WorkReader<'_, B> {
    type Good = WorkAnswer;

    async fn read(
        &self,
        result: &BackendResult,
        before: Before<'_>,
        _: Option<&Completed>,
    ) -> Result<Read<WorkAnswer>, BuildError> {
        let Capture { turn, request, .. } = self.capture;
        let wanted =
            AnswerRules { waypoint: &turn.waypoint, expected: self.expected, before, ask_below: request.ask_below };
        let said = match answer(result, &wanted) {
            ProgramAnswer::Ready(said) => said,
            ProgramAnswer::Failed(failure) => return Ok(Read::Failed(failure)),
            ProgramAnswer::Unusable(problem) => return Ok(Read::Bad(problem)),
            ProgramAnswer::Clarify(question) => return Ok(Read::Good(WorkAnswer::Clarify(question))),
            ProgramAnswer::Help(call) => return Ok(Read::Good(WorkAnswer::Help(call))),
        };
        let finished = self.capture.finished(said).instrument(info_span!(target: TRACE, "capture"));
        Ok(match finished.await? {
            Ok(ready) if ready.work.is_none() && self.quick.is_some_and(|least| result.duration < least) => {
                let milliseconds = result.duration.as_millis();
                let what = format!("quit_too_quickly: the program ended after {milliseconds} ms and changed nothing");
                Read::Failed(Failure { reason: ReasonCode::AgentFailed, detail: with_output(&what, result) })
            }
            Ok(ready) if ready.work.is_none() && result.said.refused.is_some() => {
                let what = "the program ended and changed nothing, since its model's provider refuses";
                Read::Failed(Failure { reason: ReasonCode::AgentFailed, detail: with_output(what, result) })
            }
            Ok(ready) if let Some(question) = impact(request, &ready) => Read::Good(WorkAnswer::Clarify(question)),
            Ok(ready) => match Box::pin(self.checkpoints.establish(&ready.touched)).await? {
                Established::Ready(document) => {
                    Read::Good(WorkAnswer::Ready(Box::new(Ready { document: document.map(Box::new), ..ready })))
                }
                Established::Unready(problem) => Read::Bad(problem),
                Established::Blocked(question) => Read::Good(WorkAnswer::Clarify(question)),
            },
            Err(wrong) => Read::Bad(ResultProblem::of_files(wrong)),
        })
    }

    fn calls_for_help(answer: &WorkAnswer) -> bool {
        matches!(answer, WorkAnswer::Help(_))
    }
}

/// What a person is asked before this work is handed off (FLY-21).
fn impact(request: &BuildRequest, ready: &Ready) -> Option<ValidQuestion> {
    let answered = request.feedback.as_ref().map(|told| told.clarifications.as_slice()).unwrap_or_default();
    let question = impact::question(request.ask_before_removing, &ready.touched, answered)?;
    Some(ValidQuestion {
        question,
        decision_context: ready.said.completion.clone().unwrap_or_default(),
        confidence: Confidence::Low,
        options: impact::OPTIONS.map(str::to_owned).to_vec(),
        block_reason: BlockReason::NeedsHumanInput,
    })
}

/// What came of the turn. Files that may still change (`settled` is false) go with nothing.
pub(super) async fn outcome(
    capture: &Capture<'_>,
    came: Came<WorkAnswer>,
    settled: bool,
) -> Result<BuildTurnOutcome, WorkspaceError> {
    let unfinished = async || {
        if !settled {
            return Ok((None, Vec::new()));
        }
        capture.unfinished().instrument(info_span!(target: TRACE, "capture")).await
    };
    Ok(match came {
        Came::Asked(ProgramAsks { ask: Ask::Question(question), .. }) | Came::Good(WorkAnswer::Clarify(question)) => {
            BuildTurnOutcome::Clarify(question, unfinished().await?.0)
        }
        Came::Asked(ProgramAsks { ask: Ask::Help(call), .. }) | Came::Good(WorkAnswer::Help(call)) => {
            BuildTurnOutcome::Help(call, unfinished().await?.0)
        }
        Came::Good(WorkAnswer::Ready(ready)) => BuildTurnOutcome::Ready(ready),
        Came::Failed(failure) => {
            let (work, left_out) = unfinished().await?;
            BuildTurnOutcome::Failed(failure, work, left_out)
        }
    })
}
