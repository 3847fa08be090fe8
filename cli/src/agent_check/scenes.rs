//! The scenes an agent is led through, and what is noted of each.

use std::time::Duration;

use holdpoint_protocol::{Timestamp, names, plan::Priority, refusal::RefusalCode, turn::Turn};
use holdpoint_runtime::clock;
use tokio::time::Instant;

use super::{
    candidate::Candidate,
    fixture::What,
    handed::Handed,
    manners,
    rules::{Notes, Rule},
    stage::{ACK_WAIT, Stage},
    witness::{Answer, Event},
};
use crate::{failure::Failure, output};

/// How long a corrected handoff and an orderly end are waited for.
const SOON: Duration = Duration::from_secs(30);
/// How long what an agent sent before it ended may take to come here.
const HEARD: Duration = Duration::from_secs(5);
/// How often it is looked whether what was published is stored.
const STORED_POLL: Duration = Duration::from_millis(50);
/// How often it is looked whether the program still runs.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// From this long a turn on, a heartbeat and a question about progress have to have been there.
const LONG: Duration = Duration::from_secs(5);

/// The run of all scenes.
pub(super) struct Run<'a> {
    stage: &'a Stage,
    candidate: &'a mut Candidate,
    /// How long one turn is waited for.
    patience: Duration,
    pub(super) notes: Notes,
    /// When the agent was started last.
    started: Timestamp,
}

/// A turn that was opened.
struct Opened {
    turn: Turn,
    sequence: u64,
}

/// How a delivery was answered in the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Ended {
    delivery: u64,
    answer: Answer,
    /// How many events there were before.
    at: usize,
}

impl<'a> Run<'a> {
    /// Nothing was done yet.
    pub(super) fn new(stage: &'a Stage, candidate: &'a mut Candidate, patience: Duration) -> Self {
        Self { stage, candidate, patience, notes: Notes::default(), started: clock::now() }
    }

    /// All scenes, in order.
    pub(super) async fn all(&mut self) -> Result<(), Failure> {
        // Both are there before the agent is: what it takes first says how it pulls.
        let stopped = self.open("told-to-stop", Priority::Low, What::Long).await?;
        self.stage.stop(&stopped.turn);
        let urgent = self.open("whole", Priority::Critical, What::Long).await?;
        self.start()?;
        if !self.arrives().await {
            return Ok(());
        }
        self.say("a whole turn");
        self.whole(&urgent, &stopped).await?;
        self.say("a turn that is not wanted any more");
        self.stopped(&stopped).await?;
        self.say("a handoff that is refused");
        self.refused().await?;
        self.say("a turn whose repository is not there");
        self.unready().await?;
        if self.candidate.is_ours() {
            self.say("killed in a turn, which comes again");
            self.killed("killed", false).await?;
            self.say("killed in a turn that is superseded meanwhile");
            self.killed("superseded", true).await?;
            self.say("asked to end in a turn");
            self.ends().await?;
        } else {
            let why = "only a program that agent-check starts is killed and asked to end: give its command after `--`";
            for rule in [Rule::TakesRedelivery, Rule::LeavesSuperseded, Rule::EndsInOrder] {
                self.notes.without(rule, why);
            }
        }
        manners::note(self.stage, &mut self.notes);
        Ok(())
    }

    fn start(&mut self) -> Result<(), Failure> {
        self.started = clock::now();
        self.candidate.start()
    }

    fn say(&self, scene: &str) {
        output::err(&format!("scene: {scene}"));
    }

    async fn open(&self, waypoint: &str, priority: Priority, what: What) -> Result<Opened, Failure> {
        let turn = self.stage.looker.fixture.turn(&self.stage.role, waypoint, what);
        let sequence = self.stage.open(&turn, priority).await?;
        Ok(Opened { turn, sequence })
    }

    /// Whether the agent pulls at all.
    async fn arrives(&mut self) -> bool {
        let pulled = |events: &[Event]| events.iter().any(|event| matches!(event, Event::Pulled { .. })).then_some(());
        let deadline = Instant::now() + self.patience;
        let (here, seen) = loop {
            if self.stage.witness.until(LOOK_EVERY, pulled).await.is_some() {
                break (true, String::new());
            }
            if let Some(status) = self.candidate.ended() {
                break (false, format!("it ended ({status}) before it pulled anything"));
            }
            if Instant::now() > deadline {
                break (false, format!("nothing was pulled in {} s", self.patience.as_secs()));
            }
        };
        self.notes.note(Rule::Connects, here, seen);
        if !here {
            self.stage.violations().into_iter().for_each(|violation| self.notes.wrong(Rule::StaysInItsRole, violation));
        }
        here
    }

    async fn whole(&mut self, urgent: &Opened, other: &Opened) -> Result<(), Failure> {
        let name = urgent.turn.waypoint.to_string();
        let ended = self.ended(urgent, 1).await?;
        let events = self.stage.witness.events();
        let first = events.iter().find_map(|event| match event {
            Event::HandedOff { waypoint, .. } => Some(waypoint.clone()),
            _ => None,
        });
        if let Some(first) = first {
            let urgent_first = first == name && first != other.turn.waypoint.as_str();
            self.notes.note(
                Rule::UrgentFirst,
                urgent_first,
                format!("the turn {first} was taken before a critical one"),
            );
        }
        let handed = self.handed(urgent).await?;
        match ended {
            None => {
                let seen = format!("the turn was not answered in {} s", self.patience.as_secs());
                self.notes.wrong(Rule::AcknowledgesLast, seen);
            }
            Some(ended) => self.settled(&events, &name, ended, &handed),
        }
        self.on_delivery(urgent, ended.map_or(1, |ended| ended.delivery), &handed).await;
        Ok(())
    }

    /// What a turn's answer says, with what was published before it.
    fn settled(&mut self, events: &[Event], waypoint: &str, ended: Ended, handed: &[Handed]) {
        let published = |event: &Event| match event {
            Event::HandedOff { waypoint: of, kind } if of == waypoint => Some(kind.clone()),
            _ => None,
        };
        let before: Vec<String> = events.iter().take(ended.at).filter_map(published).collect();
        let planned = before.first().is_some_and(|kind| kind.ends_with("_plan"));
        let first = before.first().map_or("an answer", String::as_str);
        self.notes.note(Rule::PlansFirst, planned, format!("{first} came before any plan"));
        match ended.answer {
            Answer::Done => {
                let finals = before.iter().filter(|kind| names::answers_turn(kind)).count();
                self.notes.note(Rule::AcknowledgesLast, finals > 0, "+ACK came before the final handoff was stored");
            }
            Answer::GivenBack => self.notes.wrong(Rule::HandsOff, "the turn was given back with -NAK"),
            Answer::Working | Answer::Other => {
                self.notes.wrong(Rule::AcknowledgesLast, "the delivery was answered with something else than +ACK");
            }
        }
        let finals =
            handed.iter().filter(|handed| handed.is_final() && handed.delivery() == Some(ended.delivery)).count();
        self.notes.note(Rule::HandsOff, finals == 1, format!("{finals} final handoffs on one delivery"));
    }

    /// Looks at everything of one delivery.
    async fn on_delivery(&mut self, opened: &Opened, delivery: u64, handed: &[Handed]) {
        let of_it: Vec<&Handed> =
            handed.iter().filter(|handed| handed.delivery().is_none_or(|n| n == delivery)).collect();
        for handed in &of_it {
            self.stage.looker.look(&mut self.notes, &opened.turn, delivery, handed).await;
        }
        let Some(end) = of_it.iter().find(|handed| handed.is_final()) else { return };
        // Without a plan it began when the agent did: all turns that are looked at so closely are its first.
        let began = of_it.iter().find(|handed| handed.is_plan()).map_or(self.started, |plan| plan.stored.time);
        let took = end.stored.time.since(began);
        let events = self.stage.witness.events();
        let beats = events.iter().any(|event| {
            matches!(event, Event::Answered { sequence, answer: Answer::Working, .. } if *sequence == opened.sequence)
        });
        if beats || took >= LONG {
            let seen = format!("no +WPI in {} s, the acknowledgement wait is {} s", took.as_secs(), ACK_WAIT.as_secs());
            self.notes.note(Rule::Heartbeats, beats, seen);
        }
        let asked = self.stage.asked(&opened.turn) > 0;
        if asked || took >= LONG {
            let tried = events.contains(&Event::Asked);
            let seen = if tried {
                "requests about progress were not let through: they have to be signed, with Hp-Jwt, and of the schema"
            } else {
                "progress was not asked during a turn of several seconds"
            };
            self.notes.note(Rule::AsksProgress, asked, seen);
        }
    }

    async fn stopped(&mut self, opened: &Opened) -> Result<(), Failure> {
        let ended = self.ended(opened, 1).await?;
        if self.stage.asked(&opened.turn) == 0 {
            // It was done before the agent asked; whether it asks at all is noted of the whole turn.
            return Ok(());
        }
        let finals = self.handed(opened).await?.iter().filter(|handed| handed.is_final()).count();
        self.notes.note(Rule::ObeysStop, finals == 0, "it handed off after it heard that it should stop");
        let done = ended.is_some_and(|ended| ended.answer == Answer::Done);
        self.notes.note(
            Rule::ObeysStop,
            done,
            "it did not acknowledge the delivery after it heard that it should stop",
        );
        Ok(())
    }

    async fn refused(&mut self) -> Result<(), Failure> {
        let opened = self.open("refused", Priority::High, What::Short).await?;
        let Some(first) = self.finals(&opened, 1, self.patience).await? else {
            self.notes.wrong(Rule::SurvivesRefusal, "no final handoff came that could be refused");
            return Ok(());
        };
        let what = "this is a trial: the handoff is in order, hand it off again";
        self.stage.refuse(&first[0], RefusalCode::WrongShape, what).await?;
        let again = self.finals(&opened, 2, SOON).await?;
        let seen = format!("no second handoff, under another message id, in {} s", SOON.as_secs());
        self.notes.note(Rule::Corrects, again.is_some(), seen);
        let next = self.open("after-a-refusal", Priority::High, What::Short).await?;
        let goes_on = self.finals(&next, 1, self.patience).await?.is_some();
        self.notes.note(Rule::SurvivesRefusal, goes_on, "after a refusal it finished no other turn");
        Ok(())
    }

    async fn unready(&mut self) -> Result<(), Failure> {
        let opened = self.open("without-repository", Priority::High, What::WithoutRepository).await?;
        let ended = self.ended(&opened, 1).await?;
        // It comes again later; then it is not wanted any more.
        self.stage.stop(&opened.turn);
        let finals = self.handed(&opened).await?.iter().filter(|handed| handed.is_final()).count();
        self.notes.note(Rule::GivesBack, finals == 0, "it handed off, which counts as an attempt at the work");
        if let Some(status) = self.candidate.revive()? {
            self.notes.wrong(Rule::GivesBack, format!("it ended ({status})"));
        } else {
            let back = ended.is_some_and(|ended| ended.answer == Answer::GivenBack);
            self.notes.note(Rule::GivesBack, back, "the delivery was not answered with -NAK");
        }
        Ok(())
    }

    /// Kills the agent when it has planned for a turn, and starts it again.
    async fn killed(&mut self, waypoint: &str, superseded: bool) -> Result<(), Failure> {
        let opened = self.open(waypoint, Priority::High, What::Long).await?;
        if !self.planned(&opened).await {
            return Ok(());
        }
        self.candidate.kill().await;
        if superseded {
            self.stage.stop(&opened.turn);
        }
        self.start()?;
        let ended = self.ended(&opened, 2).await?;
        let handed = self.handed(&opened).await?;
        let again = handed.iter().filter(|handed| handed.delivery() == Some(2)).count();
        let finals = handed.iter().filter(|handed| handed.is_final() && handed.delivery() == Some(2)).count();
        let Some(ended) = ended else {
            let seen = format!("the redelivered turn was not answered in {} s", self.patience.as_secs());
            self.notes.wrong(if superseded { Rule::LeavesSuperseded } else { Rule::TakesRedelivery }, seen);
            return Ok(());
        };
        if superseded {
            self.notes.note(Rule::LeavesSuperseded, finals == 0, "it handed off a turn that was superseded");
            let done = ended.answer == Answer::Done;
            self.notes.note(Rule::LeavesSuperseded, done, "it did not acknowledge a turn that was superseded");
        } else {
            let seen = format!("{again} handoffs name delivery {}, of which {finals} are final", ended.delivery);
            self.notes.note(Rule::TakesRedelivery, finals == 1 && again >= 2, seen);
            self.on_delivery(&opened, 2, &handed).await;
        }
        Ok(())
    }

    async fn ends(&mut self) -> Result<(), Failure> {
        let opened = self.open("asked-to-end", Priority::High, What::Long).await?;
        if !self.planned(&opened).await {
            return Ok(());
        }
        match self.candidate.end(SOON).await {
            None => {
                self.notes.wrong(Rule::EndsInOrder, format!("it did not end in {} s after SIGTERM", SOON.as_secs()));
            }
            Some(status) => self.notes.note(Rule::EndsInOrder, status.success(), format!("it ended with {status}")),
        }
        let answer = |events: &[Event]| end_of(events, opened.sequence, 1);
        let answered = self.stage.witness.until(HEARD, answer).await.is_some();
        self.notes.note(Rule::EndsInOrder, answered, "it left with a turn in its hands and did not give it back");
        Ok(())
    }

    /// Waits until the agent says that it holds a turn.
    async fn planned(&mut self, opened: &Opened) -> bool {
        let name = opened.turn.waypoint.to_string();
        let planned = |events: &[Event]| {
            let plan = |event: &Event| matches!(event, Event::HandedOff { waypoint, .. } if *waypoint == name);
            events.iter().any(plan).then_some(())
        };
        let planned = self.stage.witness.until(self.patience, planned).await.is_some();
        if !planned {
            self.notes.wrong(Rule::PlansFirst, format!("no plan for the turn {name} came"));
        }
        planned
    }

    /// Waits until a delivery, this one or a later one, is answered for good. An agent that ended is started again.
    async fn ended(&mut self, opened: &Opened, from: u64) -> Result<Option<Ended>, Failure> {
        let ended = self.stage.witness.until(self.patience, |events| end_of(events, opened.sequence, from)).await;
        if ended.is_none() {
            self.candidate.revive()?;
        }
        Ok(ended)
    }

    async fn handed(&self, opened: &Opened) -> Result<Vec<Handed>, Failure> {
        self.stage.looker.handed(&opened.turn).await.map_err(|error| self.stage.gone(&error))
    }

    /// Waits until there are so many final handoffs.
    async fn finals(&self, opened: &Opened, count: usize, patience: Duration) -> Result<Option<Vec<Handed>>, Failure> {
        let deadline = Instant::now() + patience;
        let name = opened.turn.waypoint.to_string();
        let seen = |events: &[Event]| {
            let is_final = |event: &&Event| matches!(event, Event::HandedOff { waypoint, kind } if *waypoint == name && names::answers_turn(kind));
            (events.iter().filter(is_final).count() >= count).then_some(())
        };
        if self.stage.witness.until(deadline - Instant::now(), seen).await.is_none() {
            return Ok(None);
        }
        // A published message is seen a moment before it is stored.
        loop {
            let handed = self.handed(opened).await?.into_iter();
            let finals: Vec<Handed> = handed.filter(|handed| handed.is_final()).collect();
            if finals.len() >= count {
                return Ok(Some(finals));
            }
            if Instant::now() > deadline {
                return Ok(None);
            }
            tokio::time::sleep(STORED_POLL).await;
        }
    }
}

/// The first answer for good to a delivery of this turn, from the `from`th on.
fn end_of(events: &[Event], turn: u64, from: u64) -> Option<Ended> {
    events.iter().enumerate().find_map(|(at, event)| match event {
        Event::Answered { sequence, delivery, answer }
            if *sequence == turn && *delivery >= from && *answer != Answer::Working =>
        {
            Some(Ended { delivery: *delivery, answer: *answer, at })
        }
        _ => None,
    })
}
