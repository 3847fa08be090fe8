//! What happens to turns in a flight in memory: people take them over and hand them in, agents die of them, time passes.

use std::time::Duration;

use holdpoint_protocol::{
    artifact::GivenVerdict,
    facts::Verdict,
    journal::{Cause, Death},
};

use super::{
    desk::person,
    fixture::{Fed, Fixture},
};
use crate::waypoint::{BuildOutcome, Died, HandingIn, Input, PersonAct, Releasing, Taking, reference};

impl Fixture {
    /// A person takes over the open turn, having looked at it.
    pub fn take_act(&mut self, name: &str, by: &str) -> Input {
        let (cause, _) = self.act_of(name);
        let on = self.open_turn(name).map(|open| open.turn.to_string());
        let body = Box::new(Taking { on, turn: self.last_turn(name) });
        Input::Taken(PersonAct { by: person(by), cause, overtaken: false, body })
    }

    /// A person gives a turn back.
    pub fn release_act(&mut self, name: &str, by: &str) -> Input {
        let (cause, on): (Cause, _) = (self.act_of(name).0, reference(&self.state(name), &self.phase(name)));
        let body = Box::new(Releasing { on, turn: self.last_turn(name) });
        Input::Released(PersonAct { by: person(by), cause, overtaken: false, body })
    }

    /// A person hands work in.
    pub fn hand_in_act(&mut self, name: &str, by: &str, outcome: BuildOutcome) -> Input {
        let (cause, on): (Cause, _) = (self.act_of(name).0, reference(&self.state(name), &self.phase(name)));
        let body = Box::new(HandingIn { on, outcome, verdicts: Vec::new(), turn: self.last_turn(name) });
        Input::HandedIn(PersonAct { by: person(by), cause, overtaken: false, body })
    }

    /// A person gives the same verdict on these criteria.
    pub fn judge_act(&mut self, name: &str, by: &str, ids: &[&str], verdict: Verdict) -> Input {
        let (cause, on) = (self.act_of(name).0, reference(&self.state(name), &self.phase(name)));
        let note = || "looked at every line".to_owned();
        let given = |id: &&str| GivenVerdict { criterion: id.parse().unwrap(), verdict, note: note() };
        let verdicts = ids.iter().map(given).collect();
        let outcome = BuildOutcome::Work { commit: None, violations: Vec::new() };
        let body = Box::new(HandingIn { on, outcome, verdicts, turn: self.last_turn(name) });
        Input::HandedIn(PersonAct { by: person(by), cause, overtaken: false, body })
    }

    /// Seconds pass.
    pub fn wait(&mut self, seconds: u64) {
        self.now = self.now.after(Duration::from_secs(seconds));
    }

    /// So many agents die of the open turn.
    pub fn die(&mut self, name: &str, count: u32) -> Fed {
        let open = self.open_turn(name).unwrap();
        let cause = self.cause(&open.role);
        let deaths = (1..=count).map(|delivery| Death { delivery, agent: "agent-1".parse().unwrap() }).collect();
        self.feed(name, Input::Died(Died { turn: open.turn, cause, deaths }))
    }
}
