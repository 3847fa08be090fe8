//! What came of a turn, with the files as they are: every end of a turn keeps them.

use std::time::Duration;

use holdpoint_protocol::{artifact::Failure, reason::ReasonCode};
use holdpoint_workspace::WorkspaceError;

use super::{
    answer::{ProgramAnswer, with_output},
    capture::{Capture, CapturedWork, Ready},
};
use crate::backend::{BackendResult, markers::HelpCall, question::ValidQuestion};

/// Files that are named because they cannot be kept.
const LEFT_OUT_NAMED_MAX: usize = 20;

/// What came of a turn. With all but a finished work goes what there was then, where that differs from the base.
#[derive(Debug)]
pub enum BuildTurnOutcome {
    /// Ready for handoff.
    Ready(Box<Ready>),
    /// The turn failed and counts as an attempt.
    Failed(Failure, Option<CapturedWork>),
    /// The program asks.
    Clarify(ValidQuestion, Option<CapturedWork>),
    /// The program calls for help.
    Help(HelpCall, Option<CapturedWork>),
}

impl BuildTurnOutcome {
    /// The commit of the files that go with it.
    #[must_use]
    pub fn work(&self) -> Option<&CapturedWork> {
        match self {
            Self::Ready(ready) => ready.work.as_ref(),
            Self::Failed(_, work) | Self::Clarify(_, work) | Self::Help(_, work) => work.as_ref(),
        }
    }
}

/// How the program ended.
pub(super) struct EndedTurn<'a> {
    /// Its last run.
    pub(super) result: &'a BackendResult,
    /// Nothing changes the files any more.
    pub(super) settled: bool,
    /// A program that ends earlier than this, and changed nothing, has failed.
    pub(super) quick: Option<Duration>,
}

/// What came of the turn. Files that may still change go with nothing.
pub(super) async fn outcome(
    capture: &Capture<'_>,
    said: ProgramAnswer,
    ended: EndedTurn<'_>,
) -> Result<BuildTurnOutcome, WorkspaceError> {
    let EndedTurn { result, settled, quick } = ended;
    let unfinished = async || if settled { capture.unfinished().await } else { Ok((None, Vec::new())) };
    let failure = match said {
        ProgramAnswer::Ready(said) => match capture.finished(said, result).await? {
            Ok(ready) if ready.work.is_none() && quick.is_some_and(|least| result.duration < least) => {
                let milliseconds = result.duration.as_millis();
                let what = format!("quit_too_quickly: the program ended after {milliseconds} ms and changed nothing");
                Failure { reason: ReasonCode::AgentFailed, detail: with_output(&what, result) }
            }
            Ok(ready) => return Ok(BuildTurnOutcome::Ready(Box::new(ready))),
            Err(failure) => failure,
        },
        ProgramAnswer::Unusable(problem) => {
            Failure { reason: ReasonCode::HandoffInvalid, detail: with_output(&problem.details, result) }
        }
        ProgramAnswer::Failed(failure) => failure,
        ProgramAnswer::Clarify(question) => return Ok(BuildTurnOutcome::Clarify(question, unfinished().await?.0)),
        ProgramAnswer::Help(call) => return Ok(BuildTurnOutcome::Help(call, unfinished().await?.0)),
    };
    let (work, left_out) = unfinished().await?;
    Ok(BuildTurnOutcome::Failed(naming(failure, &left_out), work))
}

/// The failure, which says below its first line what of the files could not be kept.
fn naming(failure: Failure, left_out: &[String]) -> Failure {
    if left_out.is_empty() {
        return failure;
    }
    let (first, rest) = failure.detail.split_once('\n').unwrap_or((&failure.detail, ""));
    let mut detail = format!("{first}\nits files were kept, but for these:");
    for why in left_out.iter().take(LEFT_OUT_NAMED_MAX) {
        detail.push_str(&format!("\n- {why}"));
    }
    let more = left_out.len().saturating_sub(LEFT_OUT_NAMED_MAX);
    if more > 0 {
        detail.push_str(&format!("\n- {more} more"));
    }
    if !rest.is_empty() {
        detail.push_str(&format!("\n{rest}"));
    }
    Failure { detail, ..failure }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(detail: &str, left_out: &[String]) -> String {
        naming(Failure { reason: ReasonCode::AgentFailed, detail: detail.to_owned() }, left_out).detail
    }

    #[test]
    fn a_failure_names_what_could_not_be_kept_between_its_reason_and_the_output() {
        assert_eq!(named("it failed\n--- output ---\nbye", &[]), "it failed\n--- output ---\nbye");
        let one = ["x is a git repository".to_owned()];
        let kept = "its files were kept, but for these:\n- x is a git repository";
        assert_eq!(named("it failed", &one), format!("it failed\n{kept}"));
        assert_eq!(named("it failed\nbye", &one), format!("it failed\n{kept}\nbye"));
        let many: Vec<String> = (0..50).map(|n| n.to_string()).collect();
        assert!(named("it failed", &many).ends_with("\n- 19\n- 30 more"));
    }
}
