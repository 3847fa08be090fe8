//! What people do to a flight in memory, and what agents ask them.

use holdpoint_protocol::{
    artifact::{
        Cancel, CancelBody, ClarificationResponse, ClarificationResponseBody, Completion, CompletionBody, Origin,
        Retry, RetryBody, Verb,
    },
    ids::{AgentName, role},
    journal::{Cause, Entry},
    state::{Outcome, Phase, QuestionKind, Resume},
    turn::{Feedback, Turn},
};

use super::fixture::{Fixture, Taken};
use crate::{
    engine::{Act, Answering, Asked, Commit, Input, Refusal, Retrying, reference},
    flight,
};

/// A person of the fleet.
pub(crate) const ADA: &str = "human-ada";

/// The options of every question.
pub(crate) const OPTIONS: [&str; 2] = ["red", "blue"];

pub(crate) fn person(name: &str) -> AgentName {
    name.parse().unwrap()
}

impl Fixture {
    /// Where an act stands, and what every act begins with.
    pub(crate) fn act_of(&mut self, name: &str) -> (Cause, Origin) {
        let cause = self.cause(&role::id(role::OPERATOR));
        let origin = Origin {
            artifact_id: cause.artifact.clone(),
            waypoint_id: name.parse().unwrap(),
            produced_by_role: role::id(role::OPERATOR),
            produced_at: self.now,
            source_refs: Vec::new(),
        };
        (cause, origin)
    }

    /// A question of the open turn's agent, as the orchestrator gives it to the machine.
    pub(crate) fn question(&mut self, name: &str, kind: QuestionKind, question: &str, work: Option<Commit>) -> Input {
        let turn = Box::new(self.turn(name));
        let options = if kind == QuestionKind::Help { Vec::new() } else { OPTIONS.map(str::to_owned).to_vec() };
        let asked = Asked { kind, question: question.to_owned(), options, work, turn };
        Input::Asked(self.handoff(name, Box::new(asked)))
    }

    pub(crate) fn ask(&mut self, name: &str, question: &str) -> Taken {
        let input = self.question(name, QuestionKind::Clarification, question, None);
        self.feed(name, input)
    }

    /// The turn that was opened last.
    pub(crate) fn last_turn(&self, name: &str) -> Option<Box<Turn>> {
        self.journal(name).iter().rev().find_map(|stored| match stored.read() {
            Entry::Turn(turn) => Some(turn),
            _ => None,
        })
    }

    pub(crate) fn answer_act(
        &mut self,
        name: &str,
        by: &str,
        change: impl FnOnce(&mut ClarificationResponse),
    ) -> Input {
        let (cause, origin) = self.act_of(name);
        let request = match self.state(name).phase {
            Phase::Waiting(question) => Some(question.asked.artifact),
            _ => None,
        };
        let asked = self.trace.iter().rev().find_map(|t| match &t.input {
            Input::Asked(asked) if t.waypoint.as_str() == name => Some(asked.body.clone()),
            _ => None,
        });
        let (question, options) = asked.map(|asked| (asked.question, asked.options)).unwrap_or_default();
        let option = options.first().cloned();
        let body = ClarificationResponseBody {
            agent: person(by),
            request,
            text: option.is_none().then(|| "as you like".to_owned()),
            option,
            rationale: None,
            updated_constraints: Vec::new(),
        };
        let mut response = ClarificationResponse::new(origin, body);
        change(&mut response);
        let turn = self.last_turn(name);
        let body = Answering { response, question, options, turn };
        Input::Answered(Act { by: person(by), cause, body: Box::new(body) })
    }

    pub(crate) fn answer(&mut self, name: &str) -> Taken {
        let act = self.answer_act(name, ADA, |_| {});
        self.feed(name, act)
    }

    pub(crate) fn completion(&mut self, name: &str, by: &str, outcome: Outcome) -> Input {
        let (cause, origin) = self.act_of(name);
        let blockers = if outcome == Outcome::Complete { Vec::new() } else { vec!["name it better".to_owned()] };
        // What waits for nobody has no name.
        let on = reference(&self.state(name)).or_else(|| Some("gone".to_owned()));
        let summary = "looked at".to_owned();
        let body = CompletionBody { agent: person(by), on, outcome, summary, blockers };
        Input::Completed(Act { by: person(by), cause, body: Box::new(Completion::new(origin, body)) })
    }

    pub(crate) fn complete(&mut self, name: &str, outcome: Outcome) -> Taken {
        let act = self.completion(name, ADA, outcome);
        self.feed(name, act)
    }

    pub(crate) fn retry_act(&mut self, name: &str, change: impl FnOnce(&mut Retry)) -> Input {
        let (cause, origin) = self.act_of(name);
        let on = reference(&self.state(name));
        let body = RetryBody { agent: person(ADA), on, from: None, reworks: 0, note: None };
        let mut retry = Retry::new(origin, body);
        change(&mut retry);
        let (turn, feedback) = self.kept(name);
        let body = Box::new(Retrying { retry, turn, feedback });
        Input::Retried(Act { by: person(ADA), cause, body })
    }

    /// What held work goes on with, as the orchestrator finds it in the journal.
    fn kept(&self, name: &str) -> (Option<Box<Turn>>, Option<Box<Feedback>>) {
        let Phase::Held(held) = self.state(name).phase else { return (None, None) };
        if let Resume::Turn(_) = held.resume {
            return (self.last_turn(name), None);
        }
        match self.journal(name).last().map(super::fixture::Stored::read) {
            Some(Entry::Decided(decided)) => (None, decided.feedback),
            _ => (None, None),
        }
    }

    pub(crate) fn retry(&mut self, name: &str, change: impl FnOnce(&mut Retry)) -> Taken {
        let act = self.retry_act(name, change);
        self.feed(name, act)
    }

    pub(crate) fn cancel_act(&mut self, name: &str) -> Input {
        let (cause, origin) = self.act_of(name);
        let cancel = Cancel::new(origin, CancelBody { agent: person(ADA), reason: None });
        Input::Cancelled(Act { by: person(ADA), cause, body: Some(Box::new(cancel)) })
    }

    pub(crate) fn cancel(&mut self, name: &str) -> Taken {
        let act = self.cancel_act(name);
        self.feed(name, act)
    }

    /// A person acts on the whole flight.
    pub(crate) fn steer(&mut self, verb: Verb) -> Result<(), Refusal> {
        let flight = self.flight.submitted.flight.clone();
        let (cause, _) = self.act_of(flight.as_str());
        let mut steered = flight::steer(&self.flight, &self.waypoints, verb, &person(ADA), &cause, self.now)?;
        steered.record.previous =
            self.log.iter().rev().find(|logged| logged.waypoint.is_none()).map(|logged| logged.digest);
        self.log_own(Entry::Steered(Box::new(steered.clone())));
        self.flight.steering.take(&steered);
        Ok(())
    }

    /// What the end of the whole flight does to one of its waypoints.
    pub(crate) fn end_with_flight(&mut self, name: &str) -> Taken {
        let (by, cause) = self.flight.steering.cancelled.clone().expect("the flight was cancelled");
        self.feed(name, Input::Cancelled(Act { by, cause, body: None }))
    }
}
