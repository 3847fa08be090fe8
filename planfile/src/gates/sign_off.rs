//! The gate where a person signs off verified work about which there is something to know.
//!
//! No workflow declares it: what a plan's policy holds does not depend on the gates that its author thought of.

use holdpoint_protocol::{
    ids::{GateId, role},
    time::Millis,
    workflow::{GateContext, GateSpec},
};

use super::{Duty, Gate, Workflow};

/// What the gate is called; where a workflow has one of this name, a number follows.
const NAME: &str = "sign-off";
/// Whose turn it is there: people's, as in `fly-approved`.
const ROLE: &str = "approver";
/// How long work waits there before it is held: as in `fly-approved`, 30 days.
const TIMEOUT: Millis = Millis(30 * 24 * 60 * 60 * 1000);
const DESCRIPTION: &str = "A person signs off verified work about which there is something to know";
const EXPECTATION: &str = "Look at what the verifier doubts, and at the diff: does the work do what was wanted, and do its \
                           checks show that?";

impl Workflow {
    /// The workflow with a gate behind its last verifier's where a person signs work off. One in which people look at all
    /// verified work anyway stays as it is, and so does one without a verifier.
    #[must_use]
    pub fn with_sign_off(mut self) -> Self {
        let Some(judge) = self.gates.iter().rposition(|gate| gate.duty == Duty::Judge) else { return self };
        let place = self.place_behind(judge);
        let looks_at_all =
            |(at, gate): (usize, &Gate)| gate.require_human && gate.when.is_none() && !self.is_branch(at);
        if self.gates.iter().enumerate().skip(place).any(looks_at_all) {
            return self;
        }
        let gate = self.sign_off();
        self.gates.insert(place, gate);
        for fork in self.forks.iter_mut().filter(|fork| fork.places.start >= place) {
            fork.places = fork.places.start + 1..fork.places.end + 1;
        }
        self
    }

    fn sign_off(&self) -> Gate {
        let is_free = |id: &GateId| self.gate(id).is_none() && self.fork(id).is_none();
        let names = std::iter::once(NAME.to_owned()).chain((2..).map(|number| format!("{NAME}-{number}")));
        let id = names.filter_map(|name| name.parse().ok()).find(is_free).expect("a workflow has few gates");
        let spec = GateSpec { require_human: true, can_reject: true, ..GateSpec::new(id, role::id(ROLE)) };
        Gate {
            description: Some(DESCRIPTION.to_owned()),
            context: GateContext { expectations: vec![EXPECTATION.to_owned()], ..GateContext::default() },
            timeout: Some(TIMEOUT),
            sign_off: true,
            ..Gate::from(&spec)
        }
    }
}
