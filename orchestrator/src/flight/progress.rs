//! What the holder of a turn hears: whether it is wanted, and what was answered in it.

use std::time::Instant;

use holdpoint_bus::{Stored, signals};
use holdpoint_engine::waypoint;
use holdpoint_protocol::{
    api::{GivenAnswer, Going, Progress, ProgressAnswer, ProgressNotice},
    artifact::HandedHead,
    codec::{self, Encoding},
    headers,
    ids::{AgentName, TurnId},
    state::{QuestionStanding, WaypointState},
    subjects::{self, HandoffSubject},
};
use holdpoint_runtime::{clock, telemetry::ErrorChain};

use super::{ApiFailure, Place, State, failure};
use crate::books::BooksError;

/// Bytes of the answers in one reply, besides the first: an agent with more to hear asks again.
const ANSWERS_BYTES_MAX: usize = 256 << 10;

impl State {
    /// A failure is no answer: agents begin nothing without one, and go on with what they have begun.
    pub(super) async fn on_progress(
        &mut self,
        progress: &Progress,
        agent: AgentName,
    ) -> Result<ProgressAnswer, ApiFailure> {
        let is_current = match progress.newest {
            true => self.fresh_books().await.map(|books| is_open(&books.state(&progress.waypoint), progress)),
            false => self.is_current(&progress.waypoint, &progress.turn).await,
        };
        if !is_current.map_err(|error| failure(&error))? {
            let state = self.books().await.map_err(|error| failure(&error))?.state(&progress.waypoint);
            let reason = waypoint::why_over(&state);
            // Anybody of the role may ask, about any turn.
            if self.shell.may_log_of("turns that are over", agent.as_str()) {
                tracing::info!(waypoint = %progress.waypoint, turn = %progress.turn, %agent, reason, "a turn is over: its agent stops");
            }
            return Ok(ProgressAnswer::Stop { reason, give_back: false });
        }
        if progress.delivery == 0 {
            return Ok(ProgressAnswer::Continue(Going::default()));
        }
        let books = self.books().await.map_err(|error| failure(&error))?;
        let state = books.state(&progress.waypoint);
        let planned = books.flight.planned(&progress.waypoint);
        let workflow = planned.and_then(|planned| books.flight.workflow_of(planned, &state));
        let others = Place::Others(progress.waypoint.clone(), progress.turn.clone());
        let unlisted =
            planned.and_then(|planned| waypoint::unlisted(&state, &progress.turn, &agent, &books.flight, planned));
        if let Some(why) = unlisted {
            self.troubles.failed(others, &lacks_listed(&state, &progress.turn, &why), clock::now());
            return Ok(ProgressAnswer::Stop { reason: why, give_back: true });
        }
        let why = workflow.and_then(|workflow| waypoint::is_for_others(&state, &progress.turn, &agent, workflow));
        if let Some(why) = why {
            self.troubles.failed(others, &lacks_another(&state, &progress.turn, &agent), clock::now());
            return Ok(ProgressAnswer::Stop { reason: why.to_owned(), give_back: true });
        }
        self.troubles.went_well(&others);
        self.heard.heard(&progress.waypoint, &progress.turn, agent.clone(), Instant::now());
        let place = Place::Turn(progress.waypoint.clone(), progress.turn.clone());
        match &progress.trouble {
            Some(trouble) => self.troubles.failed(place, &format!("{agent}: {trouble}"), clock::now()),
            None => self.took(&progress.waypoint, &progress.turn, (progress.delivery, agent)),
        }
        let going = self.going(progress).await.map_err(|error| failure(&error))?;
        Ok(ProgressAnswer::Continue(going))
    }

    /// Answers a plan that asks whether its turn is open. An agent that hears nothing asks by a request.
    pub(super) async fn notify(&mut self, plan: &Stored, subject: &HandoffSubject, head: &HandedHead, turn: &TurnId) {
        let Some(nonce) = plan.nonce.clone().filter(|nonce| nonce.len() <= headers::NONCE_LEN_MAX) else { return };
        let progress = Progress {
            flight: subject.flight.clone(),
            waypoint: subject.waypoint.clone(),
            turn: turn.clone(),
            delivery: head.delivery,
            note: None,
            trouble: None,
            answers: 0,
            newest: false,
        };
        let Ok(answer) = self.on_progress(&progress, head.agent.clone()).await else { return };
        let Ok(payload) = codec::encode(&ProgressNotice { turn: progress.turn, nonce, answer }, Encoding::Json) else {
            return;
        };
        let to = subjects::progress(&subject.role, &head.agent);
        if let Err(error) = signals::tell(&self.shell.bus, to, payload.into()).await {
            tracing::debug!(error = %ErrorChain(&error), "a plan is not answered");
        }
    }

    async fn going(&mut self, progress: &Progress) -> Result<Going, BooksError> {
        let shell = self.shell.clone();
        let books = self.books().await?;
        let state = books.state(&progress.waypoint);
        let most = books.flight.submitted.plan.policy.max_clarifications;
        let has = usize::try_from(progress.answers).unwrap_or(usize::MAX);
        // The journal is read only for who lacks something.
        let answers = if answered(&state, &progress.turn) > has {
            let all = books.answers(&shell, &progress.waypoint, &progress.turn).await?;
            bounded(all.into_iter().skip(has))
        } else {
            Vec::new()
        };
        Ok(Going { answers, questions_left: Some(waypoint::questions_left(&state, &progress.turn, most)) })
    }
}

fn is_open(state: &WaypointState, progress: &Progress) -> bool {
    waypoint::is_current(state, &progress.turn)
}

/// What people read who wonder why nobody takes a turn.
fn lacks_another(state: &WaypointState, turn: &TurnId, agent: &AgentName) -> String {
    let Some(open) = state.open_turn(turn) else { return String::new() };
    let (gate, role) = (&open.gate, &open.role);
    format!(
        "gate {gate} waits for an agent of role {role} other than {agent}, who may not take its turn: start another one"
    )
}

/// The same, where only agents that the org chart does not name ask for it.
fn lacks_listed(state: &WaypointState, turn: &TurnId, why: &str) -> String {
    let gate = state.open_turn(turn).map(|open| open.gate.as_str()).unwrap_or_default();
    format!("gate {gate} waits for an agent whom the org chart names: {why}")
}

/// How many questions were answered in the open turn.
fn answered(state: &WaypointState, turn: &TurnId) -> usize {
    let Some(open) = state.open_turn(turn) else { return 0 };
    open.questions.iter().filter(|question| matches!(question.standing, QuestionStanding::Answered { .. })).count()
}

/// The first of them, and those that fit after it.
fn bounded(answers: impl Iterator<Item = GivenAnswer>) -> Vec<GivenAnswer> {
    let mut bytes = 0;
    let mut first = true;
    let fits = |given: &GivenAnswer| {
        bytes += serde_json::to_vec(given).map_or(usize::MAX, |json| json.len());
        std::mem::take(&mut first) || bytes <= ANSWERS_BYTES_MAX
    };
    answers.take_while(fits).collect()
}

#[cfg(test)]
mod tests {
    use holdpoint_protocol::{Digest, artifact::Clarified};

    use super::*;

    fn given(bytes: usize) -> GivenAnswer {
        let answer = Clarified {
            question: "which?".to_owned(),
            option: None,
            text: Some("x".repeat(bytes)),
            rationale: None,
            constraints: Vec::new(),
            by: "policy".to_owned(),
        };
        GivenAnswer { words: Digest::of(b"words"), answer }
    }

    #[test]
    fn a_reply_has_one_answer_at_least_and_no_more_than_fit() {
        let lengths = |sizes: &[usize]| bounded(sizes.iter().map(|size| given(*size))).len();
        assert_eq!(lengths(&[]), 0);
        assert_eq!(lengths(&[ANSWERS_BYTES_MAX * 2, 1]), 1);
        assert_eq!(lengths(&[1, 1, ANSWERS_BYTES_MAX, 1]), 2);
    }
}
