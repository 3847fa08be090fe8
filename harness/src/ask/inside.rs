//! What a program can ask about the turn that it is in, and the completion that it gives there (GATE-21, GATE-22).
//!
//! Pure: what is in the turn and what was said in it. A completion is held against the rule by which orchestrators take
//! one, so that its program corrects it in the same turn.

use std::path::PathBuf;

use holdpoint_engine::completion::{self, ValidCompletion};
use holdpoint_protocol::{
    artifact::Clarified,
    turn::{CompletionRequest, Turn, TurnRequest},
};
use serde_json::{Map, Value};

use super::{
    desk::Desk,
    message::{Became, DeclaredPlan, InForce, Recorded, TurnStanding, ValidRequest},
};
use crate::{complete_turn, context::pull::Repository, exchange::document};

/// What ends a turn that makes work.
const MAKES: (&str, &str) = (
    "makes work",
    "End your program with exit code 0 when the files in the current directory are as they should be: they are what is handed \
     in, and a verifier judges them. Where you cannot go on, ask: `holdpoint-ask question` or `holdpoint-ask help`.",
);
/// What ends the turn of a judge.
const JUDGES: (&str, &str) = (
    "judges one criterion",
    "Print your verdict as your input says, and end your program with exit code 0. Where a decision is missing, ask: \
     `holdpoint-ask question` or `holdpoint-ask help`.",
);
/// What ends a turn that is completed.
const COMPLETES: &str =
    "Complete it with `holdpoint-ask complete`, or print the completion; then end your program with exit code 0.";

/// The summary of a completion that is only tried.
const UNSAID: &str = "not said yet";
/// How often one run of a program may say what it means to do.
const PLANS_MAX: u32 = 8;

/// A completion that was recorded.
#[derive(Debug, Clone, PartialEq)]
pub struct Completed {
    /// What it says.
    pub said: ValidCompletion,
    /// Whether it names its outcome itself.
    pub named: bool,
}

/// The turn of one run of a program, as its line sees it.
pub struct Inside<'a> {
    turn: Option<&'a Turn>,
    repository: Option<&'a Repository<'a>>,
    desk: &'a dyn Desk,
    answered: Vec<Clarified>,
    completed: Option<Completed>,
    plans: u32,
    document_file: Option<PathBuf>,
}

impl<'a> Inside<'a> {
    /// A program in this turn, whose questions wait at the desk.
    #[must_use]
    pub fn of(turn: &'a Turn, desk: &'a dyn Desk) -> Self {
        Self { turn: Some(turn), ..Self::judge(desk) }
    }

    /// A judge, which is asked about one criterion in a verifier's turn and sees nothing else of it.
    #[must_use]
    pub fn judge(desk: &'a dyn Desk) -> Self {
        let (answered, completed, plans, document_file) = (Vec::new(), None, 0, None);
        Self { turn: None, repository: None, desk, answered, completed, plans, document_file }
    }

    /// With a repository that the program may look into.
    #[must_use]
    pub fn looking_into(self, repository: Option<&'a Repository<'a>>) -> Self {
        Self { repository, ..self }
    }

    /// With the file that is the document of its gate.
    #[must_use]
    pub fn writing(self, document_file: Option<PathBuf>) -> Self {
        Self { document_file, ..self }
    }

    /// The last completion that was recorded.
    #[must_use]
    pub fn into_completed(self) -> Option<Completed> {
        self.completed
    }

    /// Whether a completion was recorded.
    pub(super) fn is_completed(&self) -> bool {
        self.completed.is_some()
    }

    /// Where questions wait.
    pub(crate) fn desk(&self) -> &'a dyn Desk {
        self.desk
    }

    /// A question was answered. The line hears a bounded number of requests.
    pub(super) fn learn(&mut self, answer: &Clarified) {
        self.answered.push(answer.clone());
    }

    /// Answers what is asked about the turn or its repository, and takes its plan and its completion.
    pub(super) async fn reply(&mut self, call: &ValidRequest) -> Became {
        let (slice, name) = match call {
            ValidRequest::Pull(slice, name) => (slice, name),
            ValidRequest::Plan(plan) => return self.plan(plan).await,
            call => return self.answer(call),
        };
        let Some(repository) = self.repository else {
            return Became::Refused("there is no repository to look into in this turn".to_owned());
        };
        repository.pull(*slice, name).await.map_or_else(Became::Refused, Became::Pulled)
    }

    /// Hands off what the program means to do: it takes the place of the plan that its harness wrote (FLY-15), and decides nothing.
    async fn plan(&mut self, plan: &DeclaredPlan) -> Became {
        let Some(Turn { request: TurnRequest::Build(request), .. }) = self.turn else {
            return Became::Refused("only a turn that makes work has a plan".to_owned());
        };
        let is_known = |id: &&String| request.criteria.iter().any(|criterion| criterion.id.as_str() == id.as_str());
        if let Some(unknown) = plan.coverage.iter().find(|id| !is_known(id)) {
            let known: Vec<&str> = request.criteria.iter().map(|criterion| criterion.id.as_str()).collect();
            return Became::Refused(format!(
                "{unknown:?} is no criterion of this waypoint: there are {}",
                known.join(", ")
            ));
        }
        if self.plans >= PLANS_MAX {
            return Became::Refused(format!("a program says at most {PLANS_MAX} times what it means to do"));
        }
        self.plans += 1;
        if self.desk.plan(plan).await {
            Became::Planned
        } else {
            Became::Refused("the plan could not be handed off: go on without it".to_owned())
        }
    }

    fn answer(&mut self, call: &ValidRequest) -> Became {
        match call {
            ValidRequest::Complete(object) => match self.judged(object) {
                Ok((completed, recorded)) => {
                    tracing::info!(outcome = ?recorded.outcome, "the program completed its turn");
                    self.completed = Some(completed);
                    Became::Completed(Box::new(recorded))
                }
                Err(wrong) => Became::Wrong(wrong),
            },
            ValidRequest::Validate(object) => {
                // Its words come last, and nothing depends on them.
                let mut object = object.clone();
                object.entry("summary").or_insert_with(|| UNSAID.into());
                let judged = self.judged(&object);
                judged.map_or_else(Became::Wrong, |(_, recorded)| Became::Valid(Box::new(recorded)))
            }
            ValidRequest::Status => Became::Status(Box::new(self.standing())),
            ValidRequest::Ask(_) | ValidRequest::Plan(_) | ValidRequest::Pull(..) => {
                Became::Refused("this is not about the turn".to_owned())
            }
        }
    }

    /// What a completion would come to if the program ended well now.
    fn judged(&self, object: &Map<String, Value>) -> Result<(Completed, Recorded), Value> {
        let Some((turn, request)) = self.completes() else {
            let (turn, ends_with) = if self.turn.is_some() { MAKES } else { JUDGES };
            return Err(completion::elsewhere(turn, ends_with).to_json());
        };
        let completed = {
            let document = self.document_file.as_deref().and_then(document::written);
            complete_turn::completed(object, (turn, request), document.as_deref()).map_err(|lesson| lesson.to_json())?
        };
        let recorded =
            Recorded { outcome: completed.said.outcome, warning: completion::warning(&completed.said.blockers) };
        Ok((completed, recorded))
    }

    fn completes(&self) -> Option<(&'a Turn, &'a CompletionRequest)> {
        let turn = self.turn?;
        if let TurnRequest::Complete(request) = &turn.request { Some((turn, request)) } else { None }
    }

    fn standing(&self) -> TurnStanding {
        let Some(turn) = self.turn else {
            return TurnStanding {
                ends_with: JUDGES.1.to_owned(),
                answered: self.answered.clone(),
                ..TurnStanding::default()
            };
        };
        let (feedback, ends_with) = match &turn.request {
            TurnRequest::Build(request) => (request.feedback.as_ref(), MAKES.1),
            TurnRequest::Complete(request) => (request.feedback.as_ref(), COMPLETES),
            TurnRequest::Verify(_) => (None, JUDGES.1),
        };
        let earlier = feedback.map_or(&[][..], |feedback| &feedback.clarifications);
        let in_force = |Completed { said, .. }: &Completed| InForce {
            outcome: said.outcome,
            summary: said.summary.clone(),
            blockers: said.blockers.clone(),
        };
        TurnStanding {
            flight: Some(turn.flight.clone()),
            waypoint: Some(turn.waypoint.clone()),
            gate: Some(turn.gate.clone()),
            role: Some(turn.role.clone()),
            attempt: Some(turn.attempt),
            deadline: Some(turn.deadline),
            ends_with: ends_with.to_owned(),
            answered: earlier.iter().chain(&self.answered).cloned().collect(),
            completion: self.completed.as_ref().map(in_force),
        }
    }
}

#[cfg(test)]
mod tests;
