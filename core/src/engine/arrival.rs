//! Work comes to a gate (GATE-6, GATE-7b, GATE-18): whether it enters, passes over it, or is held before it.
//!
//! A condition is evaluated outside, because no engine of JavaScript is pure: a step that needs one says so
//! ([`Step::Evaluate`]) and is taken again with its result, which its entry records.

use holdpoint_protocol::{
    ids::GateId,
    journal::ConditionResult,
    reason::ReasonCode,
    state::{GateEntries, GateVisit, Outcome, Resume, WaypointState},
};
use serde_json::{Value, json};

use super::{Step, opening, transition::Transition, turns, visits};
use crate::{
    gates::{Duty, Gate},
    policy::{Ruling, escalate},
};

/// A condition that has to be evaluated before the step can be taken.
#[derive(Debug, Clone, PartialEq)]
pub struct Evaluate {
    /// The gate that work came to.
    pub gate: GateId,
    /// Its condition.
    pub condition: String,
    /// What the condition sees: a JSON object of `tags`, `metadata` and `gateHistory`. Nothing in it was written by an agent.
    pub scope: Value,
}

/// Where work is after it came to a gate.
pub(super) enum Arrival<'a> {
    /// It enters this gate: that one, or one behind it.
    At(Box<Transition<'a>>, &'a Gate),
    /// It passed over that gate and all behind it.
    End(Box<Transition<'a>>),
    /// It is held, or a condition has to be evaluated first.
    Stopped(Step),
}

/// What a gate's condition comes to.
enum Due {
    Enter,
    PassOver,
    Hold(Ruling),
    Ask(Evaluate),
}

impl<'a> Transition<'a> {
    /// Work comes to a gate. It passes over gates whose condition does not hold.
    pub(super) fn arrive(mut self, gate: &'a Gate) -> Arrival<'a> {
        let mut gate = gate;
        loop {
            match self.due(gate) {
                Due::Enter if gate.vacant => return Arrival::Stopped(self.hold_at(gate, vacant(gate))),
                Due::Enter if self.is_loop(gate) => return Arrival::Stopped(self.hold_at(gate, looped(gate))),
                Due::Enter => return Arrival::At(Box::new(self), gate),
                Due::Hold(ruling) => return Arrival::Stopped(self.hold_at(gate, ruling)),
                Due::Ask(wanted) => return Arrival::Stopped(Step::Evaluate(Box::new(wanted))),
                Due::PassOver => match self.cx.workflow.after(&gate.id) {
                    Some(next) => gate = next,
                    None => return Arrival::End(Box::new(self)),
                },
            }
        }
    }

    fn due(&mut self, gate: &Gate) -> Due {
        // A diff that every gate has let through needs a verification of the merge, and no second approval.
        if gate.duty == Duty::Complete && self.next.cleared {
            return Due::PassOver;
        }
        let Some(condition) = &gate.when else { return Due::Enter };
        let Some(result) = self.cx.conditions.iter().find(|result| result.gate == gate.id) else {
            let scope = scope(&self.next, self.cx.waypoint);
            return Due::Ask(Evaluate { gate: gate.id.clone(), condition: condition.clone(), scope });
        };
        self.conditions.push(result.clone());
        let decides = gate.duty == Duty::Judge || gate.require_human;
        match result {
            ConditionResult { holds: true, .. } => Due::Enter,
            // Nobody is passed over because a condition is wrong whose word the work depends on.
            ConditionResult { failure: Some(failure), .. } if decides => Due::Hold(failed(gate, failure)),
            ConditionResult { .. } => {
                self.passed_over(gate);
                Due::PassOver
            }
        }
    }

    /// A visit that begins and ends now.
    fn passed_over(&mut self, gate: &Gate) {
        let (now, outcome) = (self.cx.now, Some(Outcome::Skip));
        let (gate, role) = (gate.id.clone(), gate.role.clone());
        let visit = GateVisit { gate, role, agent: None, entered: now, exited: Some(now), outcome };
        visits::push(&mut self.next, visit);
    }

    /// Counts that work enters a gate; whether it did so too often. Built-in workflows have bounds of their own.
    fn is_loop(&mut self, gate: &Gate) -> bool {
        let Some(most) = self.cx.workflow.entries_max else { return false };
        let entries = &mut self.next.entries;
        let place = entries.iter().position(|known| known.gate == gate.id).unwrap_or_else(|| {
            entries.push(GateEntries { gate: gate.id.clone(), count: 0 });
            entries.len() - 1
        });
        entries.get_mut(place).is_some_and(|known| {
            known.count += 1;
            known.count > most
        })
    }

    /// Held before a gate: a retry opens it.
    pub(super) fn hold_at(self, gate: &Gate, ruling: Ruling) -> Step {
        let untried = opening::is_base_tried(gate, &self.next, self.cx);
        let purpose = if untried { opening::BASELINE } else { turns::purpose(gate) };
        self.hold(Resume::Gate { gate: gate.id.clone(), purpose }, ruling.into())
    }
}

/// What conditions see. Of the history only what the engine wrote: no word of an agent can make a gate disappear.
fn scope(state: &WaypointState, waypoint: &holdpoint_protocol::plan::Waypoint) -> Value {
    let visit = |visit: &GateVisit| {
        let duration = visit.exited.map(|exited| exited.as_millis() - visit.entered.as_millis());
        json!({
            "gate": visit.gate, "role": visit.role, "agent": visit.agent, "outcome": visit.outcome,
            "entered": visit.entered, "exited": visit.exited, "duration": duration,
        })
    };
    let history: Vec<Value> = state.history.iter().map(visit).collect();
    json!({"tags": waypoint.tags, "metadata": waypoint.metadata, "gateHistory": history})
}

fn failed(gate: &Gate, failure: &str) -> Ruling {
    let text = format!(
        "the condition of gate {} cannot be evaluated ({failure}), and work passes over no such gate because of that: \
         `holdpoint retry` opens the gate",
        gate.id
    );
    escalate(ReasonCode::ConditionFailed, &text)
}

fn vacant(gate: &Gate) -> Ruling {
    let text = format!(
        "no agents for role {} of gate {}: the org chart lists nobody; once somebody takes its turns, `holdpoint retry` opens \
         the gate",
        gate.role, gate.id
    );
    escalate(ReasonCode::NoAgents, &text)
}

fn looped(gate: &Gate) -> Ruling {
    let text = format!(
        "work came to gate {} again and again: look at what its gates say of it (`holdpoint history`), then \
         `holdpoint retry`, or cancel it",
        gate.id
    );
    escalate(ReasonCode::GateLoop, &text)
}

/// Every condition left the work out: nothing was done and nothing can be complete (GATE-7b).
pub(super) fn nothing_entered() -> Ruling {
    let text = "no gate's condition holds for this waypoint: change its tags or metadata, or name another workflow, and \
                fly the plan again";
    escalate(ReasonCode::GatesSkipped, text)
}

/// Work was made, and the conditions of all verifiers' gates left it out (invariant 4).
pub(super) fn not_verified(gate: &Gate) -> Ruling {
    let text = format!(
        "the work passed over gate {}, and what nobody verified does not land: `holdpoint retry` opens that gate",
        gate.id
    );
    escalate(ReasonCode::NotVerified, &text)
}

/// Whether work entered any gate, of those that the state names.
pub(super) fn entered_any(state: &WaypointState) -> bool {
    state.earlier_visits.is_some() || state.history.iter().any(|visit| visit.outcome != Some(Outcome::Skip))
}

/// Whether work entered this gate, as far as the state names its visits.
pub(super) fn was_entered(state: &WaypointState, gate: &GateId) -> bool {
    state.history.iter().any(|visit| visit.gate == *gate && visit.outcome != Some(Outcome::Skip))
}
