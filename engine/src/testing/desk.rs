//! What people do to a flight in memory, and what agents ask them.

use std::time::Duration;

use holdpoint_protocol::{
    artifact::{
        Cancel, CancelBody, ClarificationRequest, ClarificationRequestBody, ClarificationResponse,
        ClarificationResponseBody, Completion, CompletionBody, Confidence, HelpRequest, HelpRequestBody, Origin,
        Reconfigure, ReconfigureBody, Retry, RetryBody, Revise, ReviseBody, Verb,
    },
    checkpoint::GateDocument,
    ids::{AgentName, TurnId, role},
    journal::{Cause, Entry},
    reason::BlockReason,
    state::{Held, Outcome, Phase, QuestionKind, Resume},
    turn::{Feedback, Turn},
    workflow::WorkflowSpec,
};

use super::fixture::{Fed, Fixture, StoredEntry};
use crate::{
    flight,
    waypoint::{
        Advised, AgentQuestion, BundledCommit, Ends, Handoff, Input, Migrating, PersonAct, PersonAnswer, Refusal,
        Retrying, reference, reply,
    },
};

/// A person of the fleet.
pub const ADA: &str = "human-ada";

/// Another one.
pub const BOB: &str = "human-bob";

/// The options of every question.
pub const OPTIONS: [&str; 2] = ["red", "blue"];

/// A person whose command watches the files.
pub const WATCH: &str = "human-watch";

pub fn person(name: &str) -> AgentName {
    name.parse().unwrap()
}

impl Fixture {
    /// Where an act is, and what every act begins with.
    pub fn act_of(&mut self, name: &str) -> (Cause, Origin) {
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
    pub fn question(&mut self, name: &str, kind: QuestionKind, question: &str, work: Option<BundledCommit>) -> Input {
        let turn = Box::new(self.turn(name));
        let (_, origin) = self.act_of(name);
        let (turn_id, agent) = (turn.turn_id.clone(), person("agent-1"));
        let asked = if kind == QuestionKind::Help {
            let raw_line = question.to_owned();
            let body = HelpRequestBody {
                turn: turn_id,
                delivery: 1,
                agent,
                raw_line,
                context: None,
                work: None,
                help_events: Vec::new(),
                overruled: false,
                running: false,
                markers_ignored: Vec::new(),
                metered: None,
                conversation: None,
            };
            AgentQuestion::help(&HelpRequest::new(origin, body), work, turn)
        } else {
            let body = ClarificationRequestBody {
                turn: turn_id,
                delivery: 1,
                agent,
                question: question.to_owned(),
                decision_context: String::new(),
                confidence: Confidence::Low,
                options: OPTIONS.map(str::to_owned).to_vec(),
                block_reason: BlockReason::default(),
                work: None,
                waits_until: None,
                waited: false,
                metered: None,
                conversation: None,
            };
            AgentQuestion::question(&ClarificationRequest::new(origin, body), work, turn)
        };
        Input::Asked(self.handoff(name, Box::new(asked)))
    }

    /// A question that its agent waits for in the open turn.
    pub fn waiting_question(&mut self, name: &str, question: &str) -> Input {
        let until = self.now.after(Duration::from_secs(60));
        self.question_that(name, question, Ends::NotBefore(until))
    }

    /// A question of the open turn that ends it, or not yet.
    pub fn question_that(&mut self, name: &str, question: &str, ends: Ends) -> Input {
        let Input::Asked(mut asked) = self.question(name, QuestionKind::Clarification, question, None) else {
            unreachable!("a question is asked")
        };
        asked.body.ends = ends;
        Input::Asked(asked)
    }

    pub fn ask(&mut self, name: &str, question: &str) -> Fed {
        let input = self.question(name, QuestionKind::Clarification, question, None);
        self.feed(name, input)
    }

    /// The turn that was opened last, as it stands.
    pub fn last_turn(&self, name: &str) -> Option<Box<Turn>> {
        let opened = self.journal(name).iter().rev().find_map(|stored| match stored.read() {
            Entry::Turn(turn) => Some(turn.turn_id),
            _ => None,
        });
        self.turn_of(name, &opened?)
    }

    /// A turn as it stands.
    pub fn turn_of(&self, name: &str, turn: &TurnId) -> Option<Box<Turn>> {
        let journal = self.journal(name);
        // From the end: a long journal is not read again for each turn.
        let opens = |stored: &StoredEntry| matches!(stored.read(), Entry::Turn(opened) if opened.turn_id == *turn);
        let (opened, later) = journal.get(journal.iter().rposition(opens)?..)?.split_first()?;
        let Entry::Turn(mut found) = opened.read() else { return None };
        for stored in later {
            if let Entry::Answered(answered) = stored.read()
                && answered.turn == *turn
            {
                reply(&mut found, &answered.answer);
            }
        }
        Some(found)
    }

    pub fn answer_act(&mut self, name: &str, by: &str, change: impl FnOnce(&mut ClarificationResponse)) -> Input {
        let (cause, origin) = self.act_of(name);
        let request = match self.state(name).phase {
            Phase::Waiting(question) => Some(question.asked.artifact),
            Phase::InTurn(open) => open.asking().map(|question| question.asked.artifact.clone()),
            _ => None,
        };
        let asked = self.trace.iter().rev().find_map(|t| match &t.input {
            Input::Asked(asked)
                if t.waypoint.as_str() == name && request.as_ref().is_none_or(|open| asked.cause.artifact == *open) =>
            {
                Some(asked.body.clone())
            }
            _ => None,
        });
        let (question, options, conversation) =
            asked.map(|asked| (asked.question, asked.options, asked.conversation)).unwrap_or_default();
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
        let turn = self.phase(name).turn().and_then(|open| self.turn_of(name, &open.turn));
        let body = PersonAnswer { response, question, options, conversation, turn };
        Input::Answered(PersonAct { by: person(by), cause, overtaken: false, body: Box::new(body) })
    }

    pub fn answer(&mut self, name: &str) -> Fed {
        let act = self.answer_act(name, ADA, |_| {});
        self.feed(name, act)
    }

    pub fn completion(&mut self, name: &str, by: &str, outcome: Outcome) -> Input {
        let (cause, origin) = self.act_of(name);
        let blockers = if outcome == Outcome::Complete { Vec::new() } else { vec!["name it better".to_owned()] };
        // A waypoint that waits for nobody has no name.
        let on = reference(&self.state(name), &self.phase(name)).or_else(|| Some("gone".to_owned()));
        let summary = "looked at".to_owned();
        let body = CompletionBody { summary, blockers, ..CompletionBody::of_person(person(by), on, outcome) };
        Input::Completed(PersonAct {
            by: person(by),
            cause,
            overtaken: false,
            body: Box::new(Completion::new(origin, body)),
        })
    }

    /// The completion of an agent on the open turn, changed by `change`.
    pub fn fulfilment(&mut self, name: &str, change: impl FnOnce(&mut Completion)) -> Input {
        let (_, origin) = self.act_of(name);
        let handoff = Handoff { agent: person(self.agent), ..self.handoff(name, ()) };
        let body = CompletionBody {
            outcome: Some(Outcome::Complete),
            summary: "looked at".to_owned(),
            ..CompletionBody::of_agent(handoff.agent.clone(), handoff.turn.clone(), 1)
        };
        let mut completion = Completion::new(origin, body);
        change(&mut completion);
        Input::Fulfilled(handoff.with(Box::new(completion)))
    }

    /// What an advisor hands off on the open turn, changed by `change`.
    pub fn advice(&mut self, name: &str, change: impl FnOnce(&mut Completion)) -> Input {
        let turn = self.turn(name);
        self.advice_on(name, turn, change)
    }

    /// The same on a turn that is open or was.
    pub fn advice_on(&mut self, name: &str, turn: Turn, change: impl FnOnce(&mut Completion)) -> Input {
        let (_, origin) = self.act_of(name);
        let (agent, cause) = (person("agent-1"), self.cause(&turn.role));
        let body = CompletionBody {
            outcome: Some(Outcome::Complete),
            summary: "look there".to_owned(),
            ..CompletionBody::of_agent(agent.clone(), turn.turn_id.clone(), 1)
        };
        let mut completion = Completion::new(origin, body);
        change(&mut completion);
        let (turn_id, role) = (turn.turn_id.clone(), turn.role.clone());
        let body = Box::new(Advised { completion, turn: Box::new(turn) });
        let metered = self.metered.clone();
        Input::Advised(Handoff { turn: turn_id, role, agent, cause, told: None, metered, left_out: Vec::new(), body })
    }

    pub fn fulfil(&mut self, name: &str, change: impl FnOnce(&mut Completion)) -> Fed {
        let input = self.fulfilment(name, change);
        self.feed(name, input)
    }

    pub fn complete(&mut self, name: &str, outcome: Outcome) -> Fed {
        let act = self.completion(name, ADA, outcome);
        self.feed(name, act)
    }

    pub fn retry_act(&mut self, name: &str, change: impl FnOnce(&mut Retry)) -> Input {
        let (cause, origin) = self.act_of(name);
        let on = reference(&self.state(name), &self.phase(name));
        let body = RetryBody { agent: person(ADA), on, from: None, reworks: 0, note: None };
        let mut retry = Retry::new(origin, body);
        change(&mut retry);
        let (turn, feedback) = self.kept(name);
        let body = Box::new(Retrying { retry, turn, feedback });
        Input::Retried(PersonAct { by: person(ADA), cause, overtaken: false, body })
    }

    /// What held work goes on with, as the orchestrator finds it in the journal.
    fn kept(&self, name: &str) -> (Option<Box<Turn>>, Option<Box<Feedback>>) {
        match self.state(name).phase {
            Phase::Held(Held { resume: Resume::Turn(open), .. }) => return (self.turn_of(name, &open.turn), None),
            Phase::Waiting(question) => return (self.turn_of(name, &question.turn.turn), None),
            Phase::Held(_) => {}
            _ => return (None, None),
        }
        let mut entries = self.journal(name).iter().rev().map(super::fixture::StoredEntry::read);
        match entries.find(|entry| !matches!(entry, Entry::Revised(_))) {
            Some(Entry::Decided(decided)) => (None, decided.feedback),
            _ => (None, None),
        }
    }

    /// A person edits the document of a gate that this reference names.
    pub fn revision(&mut self, name: &str, of: &str, change: impl FnOnce(&mut Revise)) -> Input {
        let (cause, origin) = self.act_of(name);
        let document = Box::new(GateDocument { text: "# Impact\n\nSmall.\n".to_owned(), ..GateDocument::default() });
        let body = ReviseBody { agent: person(ADA), gate: "draft".parse().unwrap(), document };
        let mut revise = Revise { source_refs: vec![of.to_owned()], ..Revise::new(origin, body) };
        change(&mut revise);
        Input::Revised(PersonAct { by: revise.agent.clone(), cause, overtaken: false, body: Box::new(revise) })
    }

    pub fn retry(&mut self, name: &str, change: impl FnOnce(&mut Retry)) -> Fed {
        let act = self.retry_act(name, change);
        self.feed(name, act)
    }

    pub fn cancel_act(&mut self, name: &str) -> Input {
        let (cause, origin) = self.act_of(name);
        let cancel = Cancel::new(origin, CancelBody { agent: person(ADA), reason: None });
        Input::Cancelled(PersonAct { by: person(ADA), cause, overtaken: false, body: Some(Box::new(cancel)) })
    }

    pub fn cancel(&mut self, name: &str) -> Fed {
        let act = self.cancel_act(name);
        self.feed(name, act)
    }

    /// A person acts on the whole flight.
    pub fn steer(&mut self, verb: Verb) -> Result<(), Refusal> {
        let flight = self.flight.submitted.flight.clone();
        let (cause, _) = self.act_of(flight.as_str());
        let mut steered = flight::steer(&self.flight, &self.waypoints, verb, &person(ADA), &cause, self.now)?;
        steered.record.previous =
            self.log.iter().rev().find(|logged| logged.waypoint.is_none()).map(|logged| logged.digest);
        self.log_own(Entry::Steered(Box::new(steered.clone())));
        self.flight.take(&Entry::Steered(Box::new(steered.clone())));
        Ok(())
    }

    /// A person has the flight go on by these workflows.
    pub fn reload(&mut self, by: &str, workflows: &[WorkflowSpec]) -> Result<(), Refusal> {
        let flight = self.flight.submitted.flight.clone();
        let (cause, origin) = self.act_of(flight.as_str());
        let act = Reconfigure::new(
            origin,
            ReconfigureBody { agent: person(by), workflows: workflows.to_vec(), watched: by == WATCH },
        );
        let mut steered = flight::reconfigure(&self.flight, &self.waypoints, &act, &cause, self.now, |role| {
            role.as_str() != "nobody"
        })?;
        steered.record.previous =
            self.log.iter().rev().find(|logged| logged.waypoint.is_none()).map(|logged| logged.digest);
        self.log_own(Entry::Steered(Box::new(steered.clone())));
        self.flight.take(&Entry::Steered(Box::new(steered.clone())));
        Ok(())
    }

    /// What a reload does to a waypoint.
    pub fn migrate(&mut self, name: &str) -> Fed {
        let (by, cause) = self.flight.configured.by().expect("the flight was reloaded").clone();
        let turn = match self.state(name).phase {
            Phase::Held(held) if !matches!(held.resume, Resume::Turn(_)) => None,
            _ => self.last_turn(name),
        };
        let feedback = match self.journal(name).last().map(super::fixture::StoredEntry::read) {
            Some(Entry::Decided(decided)) => decided.feedback,
            _ => None,
        };
        let body = Box::new(Migrating { turn, feedback });
        self.feed(name, Input::Reconfigured(PersonAct { by, cause, overtaken: false, body }))
    }

    /// What the end of the whole flight does to one of its waypoints.
    pub fn end_with_flight(&mut self, name: &str) -> Fed {
        let (by, cause) = self.flight.steering.cancelled.clone().expect("the flight was cancelled");
        self.feed(name, Input::Cancelled(PersonAct { by, cause, overtaken: false, body: None }))
    }
}
