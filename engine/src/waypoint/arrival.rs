//! Work comes to a gate (GATE-6, GATE-7b, GATE-18): whether it enters, passes over it, or is held before it.
//!
//! A condition is evaluated outside, because no engine of JavaScript is pure: a step that needs one says so
//! ([`EngineStep::Evaluate`]) and is taken again with its result, which its entry records.

use std::collections::BTreeMap;

use holdpoint_planfile::gates::{Duty, Fork, Gate, Stop};
use holdpoint_protocol::{
    Timestamp,
    ids::{AgentName, GateId, RoleId},
    journal::ConditionResult,
    plan::{Waypoint, is_open_scope},
    reason::ReasonCode,
    state::{Branch, BranchStanding, GateEntries, GateVisit, OpenFork, Outcome, Purpose, Resume, WaypointState},
};
use serde::Serialize;
use serde_json::Value;

use super::{EngineStep, Evaluate, StepContext, purposes, transition::Transition, visits};
use crate::policy::{Ruling, escalate};

/// Where work is after it came to a gate.
pub(super) enum Arrival<'a> {
    /// It enters this gate or fork: that one, or one behind it.
    At(Box<Transition<'a>>, Stop<'a>),
    /// It passed over that gate and all behind it.
    End(Box<Transition<'a>>),
    /// It is held, or a condition has to be evaluated first.
    Stopped(EngineStep),
}

/// What a gate's condition comes to.
enum Due {
    Enter,
    PassOver,
    Hold(Ruling),
    Ask(Evaluate),
}

impl<'a> Transition<'a> {
    /// Work comes to a gate or fork. It passes over those whose condition does not hold.
    pub(super) fn arrive(mut self, stop: Stop<'a>) -> Arrival<'a> {
        let mut stop = stop;
        loop {
            let due = match stop {
                Stop::Gate(gate) => self.due(gate),
                Stop::Fork(fork) => self.due_fork(fork, false),
            };
            match due {
                Due::Enter if self.is_loop(stop.id()) => {
                    return Arrival::Stopped(self.hold_before(stop, looped(stop.id())));
                }
                Due::Enter => return Arrival::At(Box::new(self), stop),
                Due::Hold(ruling) => return Arrival::Stopped(self.hold_before(stop, ruling)),
                Due::Ask(wanted) => return Arrival::Stopped(EngineStep::Evaluate(Box::new(wanted))),
                Due::PassOver => {
                    let behind = match stop {
                        Stop::Gate(gate) => self.cx.workflow.after(&gate.id),
                        Stop::Fork(fork) => self.cx.workflow.behind(fork),
                    };
                    match behind {
                        Some(next) => stop = next,
                        None => return Arrival::End(Box::new(self)),
                    }
                }
            }
        }
    }

    /// The condition that has to be evaluated before work enters a fork before which it was held. Each branch is due then that
    /// would hold the work again.
    pub(super) fn asked_anyway(&mut self, fork: &'a Fork) -> Option<Evaluate> {
        match self.due_fork(fork, true) {
            Due::Ask(wanted) => Some(wanted),
            Due::Enter | Due::PassOver | Due::Hold(_) => None,
        }
    }

    /// What the conditions of a fork and of its branches come to. Entered, each branch is due or passed over. `anyway`: a
    /// branch that would hold the work is due.
    fn due_fork(&mut self, fork: &'a Fork, anyway: bool) -> Due {
        let (cx, gates) = (self.cx, self.cx.workflow.branches(fork));
        let decides = gates.iter().any(|gate| gate.duty == Duty::Judge || gate.require_human);
        if let Some(condition) = &fork.when {
            match self.condition(&fork.id, condition) {
                Err(wanted) => return Due::Ask(wanted),
                Ok(ConditionResult { holds: true, .. }) => {}
                Ok(ConditionResult { failure: Some(failure), .. }) if decides && !anyway => {
                    return Due::Hold(failed(&fork.id, &failure));
                }
                Ok(_) if anyway => {}
                Ok(_) => return Due::PassOver,
            }
        }
        let mut branches = Vec::new();
        for gate in gates {
            let standing = match self.due(gate) {
                Due::Ask(wanted) => return Due::Ask(wanted),
                Due::Hold(ruling) if !anyway => return Due::Hold(ruling),
                Due::Enter | Due::Hold(_) => BranchStanding::Due,
                Due::PassOver => BranchStanding::Skipped,
            };
            branches.push(Branch { gate: gate.id.clone(), standing });
        }
        if branches.iter().all(|branch| branch.standing == BranchStanding::Skipped) {
            return Due::PassOver;
        }
        self.next.fork = Some(OpenFork { fork: fork.id.clone(), since: cx.now, branches });
        Due::Enter
    }

    /// What came of a condition, or that it has to be evaluated.
    fn condition(&mut self, id: &GateId, condition: &str) -> Result<ConditionResult, Evaluate> {
        let Some(result) = self.cx.conditions.iter().find(|result| result.gate == *id) else {
            let has_history = may_see_history(condition);
            let scope = scope(&self.next, self.cx.waypoint, has_history);
            return Err(Evaluate { gate: id.clone(), condition: condition.to_owned(), scope, has_history });
        };
        self.conditions.push(result.clone());
        Ok(result.clone())
    }

    fn due(&mut self, gate: &Gate) -> Due {
        // A diff that every gate has let through needs a verification of the merge, and no second approval.
        if gate.duty == Duty::Complete && self.next.cleared {
            return Due::PassOver;
        }
        let is_suspicious = || self.next.verified.as_ref().is_some_and(|verified| verified.suspicious);
        if gate.sign_off && !wants_sign_off(&self.next, is_suspicious(), self.cx) {
            return Due::PassOver;
        }
        let enters = if gate.vacant { Due::Hold(vacant(gate)) } else { Due::Enter };
        let Some(condition) = &gate.when else { return enters };
        let decides = gate.duty == Duty::Judge || gate.require_human;
        match self.condition(&gate.id, condition) {
            Err(wanted) => Due::Ask(wanted),
            Ok(ConditionResult { holds: true, .. }) => enters,
            // Nobody is passed over because a condition is wrong whose word the work depends on.
            Ok(ConditionResult { failure: Some(failure), .. }) if decides => Due::Hold(failed(&gate.id, &failure)),
            Ok(_) => {
                self.passed_over(gate);
                Due::PassOver
            }
        }
    }

    /// A visit that begins and ends now.
    fn passed_over(&mut self, gate: &Gate) {
        let (now, outcome) = (self.cx.now, Some(Outcome::Skip));
        let (gate, role) = (gate.id.clone(), gate.role.clone());
        let visit = GateVisit { gate, role, agent: None, entered: now, exited: Some(now), outcome, artifact: None };
        visits::push(&mut self.next, visit);
    }

    /// Counts that work enters a gate; whether it did so too often. Built-in workflows have bounds of their own.
    fn is_loop(&mut self, gate: &GateId) -> bool {
        let Some(most) = self.cx.workflow.entries_max else { return false };
        let entries = &mut self.next.entries;
        let place = entries.iter().position(|known| known.gate == *gate).unwrap_or_else(|| {
            entries.push(GateEntries { gate: gate.clone(), count: 0 });
            entries.len() - 1
        });
        entries.get_mut(place).is_some_and(|known| {
            known.count += 1;
            known.count > most
        })
    }

    /// Held before a gate or fork: a retry opens it.
    fn hold_before(mut self, stop: Stop<'_>, ruling: Ruling) -> EngineStep {
        match stop {
            Stop::Gate(gate) => self.hold_at(gate, ruling),
            Stop::Fork(fork) => {
                self.next.fork = None;
                self.hold(Resume::Gate { gate: fork.id.clone(), purpose: Purpose::Complete }, ruling.into())
            }
        }
    }

    /// Held before a gate: a retry opens it.
    pub(super) fn hold_at(self, gate: &Gate, ruling: Ruling) -> EngineStep {
        let untried = purposes::is_base_tried(gate, &self.next, self.cx);
        let purpose = if untried { purposes::BASELINE } else { purposes::purpose(gate) };
        self.hold(Resume::Gate { gate: gate.id.clone(), purpose }, ruling.into())
    }
}

/// Whether the plan's policy has a person sign off what a verifier passed.
pub(super) fn wants_sign_off(state: &WaypointState, is_suspicious: bool, cx: &StepContext<'_>) -> bool {
    let policy = &cx.flight.submitted.plan.policy;
    let is_made = state.work.as_ref().is_some_and(|work| work.commit.is_some());
    let is_open = is_made && is_open_scope(&cx.waypoint.scope);
    let holds = is_open && policy.open_scope.is_hold() || is_suspicious && policy.suspicious.is_hold();
    holds && !state.cleared && cx.workflow.gates().any(|gate| gate.sign_off)
}

/// Ways to say `gateHistory` in JavaScript: its name, the arguments of the function that a condition is in, code that is put
/// together from texts, and escapes in any of these.
const HISTORY: [&str; 4] = ["gateHistory", "arguments", "eval", "\\"];

/// What conditions see. Of the history only what the engine wrote: no word of an agent can make a gate disappear.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Seen<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    gate_history: Option<Vec<SeenVisit<'a>>>,
    metadata: &'a BTreeMap<String, Value>,
    tags: &'a [String],
}

/// A visit, without the words that ended it.
#[derive(Serialize)]
struct SeenVisit<'a> {
    gate: &'a GateId,
    role: &'a RoleId,
    agent: Option<&'a AgentName>,
    outcome: Option<Outcome>,
    entered: Timestamp,
    exited: Option<Timestamp>,
    /// In milliseconds.
    duration: Option<i64>,
}

impl<'a> SeenVisit<'a> {
    fn of(visit: &'a GateVisit) -> Self {
        let GateVisit { gate, role, agent, entered, exited, outcome, .. } = visit;
        let duration = exited.map(|exited| exited.as_millis() - entered.as_millis());
        Self { gate, role, agent: agent.as_ref(), outcome: *outcome, entered: *entered, exited: *exited, duration }
    }
}

/// Whether a condition can name the history.
fn may_see_history(condition: &str) -> bool {
    HISTORY.iter().any(|word| condition.contains(word))
}

fn scope(state: &WaypointState, waypoint: &Waypoint, has_history: bool) -> String {
    let history = has_history.then(|| state.history.iter().map(SeenVisit::of).collect());
    let seen = Seen { gate_history: history, metadata: &waypoint.metadata, tags: &waypoint.tags };
    serde_json::to_string(&seen).expect("names, numbers and JSON have a JSON form")
}

fn failed(gate: &GateId, failure: &str) -> Ruling {
    let text = format!(
        "the condition of gate {gate} cannot be evaluated ({failure}), and work passes over no such gate because of that: \
         `holdpoint retry` opens the gate"
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

fn looped(gate: &GateId) -> Ruling {
    let text = format!(
        "work came to gate {gate} again and again: look at what its gates say of it (`holdpoint history`), then \
         `holdpoint retry`, or cancel it"
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
