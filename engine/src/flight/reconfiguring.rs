//! Whether a flight can go on by other workflows than it was flown by so far (GATE-12).
//!
//! They are held against the same rules as those of a submission. What fewer eyes would see after it is a person's to say.

use std::collections::BTreeSet;

use holdpoint_planfile::{
    gates::{Duty, Workflow},
    plan,
    workflows::{self, ONE_GATE},
};
use holdpoint_protocol::{
    Timestamp,
    artifact::{ActCode, Reconfigure, Verb},
    checkpoint::{CheckpointCommand, CheckpointRule},
    ids::{GateId, RoleId, role},
    journal::{Cause, Record, Steered},
    plan::Mode,
    version,
    view::FlightStatus,
    workflow::{GateOrFork, GateSpec, JoinStrategy, RecordedWorkflow, WorkflowSpec, is_human},
};

use super::flight_status;
use crate::{
    state::{FlightState, Waypoints},
    waypoint::Refusal,
};

/// Configurations of one flight, at most: each is in the flight's journal for ever.
pub const CONFIGURATIONS_MAX: u32 = 100;

/// Bytes of the workflows of one reload, as JSON.
pub const RELOAD_BYTES_MAX: usize = 256 << 10;

/// Problems of a plan that a refusal lists.
const PROBLEMS_TOLD_MAX: usize = 20;

/// Takes a reload: the entry that journals it. `is_agents` says which roles the fleet has agents for.
///
/// # Errors
/// [`Refusal::Act`]: what is wrong with it. The flight goes on by what it was flown by.
pub fn reconfigure(
    flight: &FlightState,
    waypoints: &Waypoints,
    act: &Reconfigure,
    cause: &Cause,
    now: Timestamp,
    is_agents: impl Fn(&RoleId) -> bool,
) -> Result<Steered, Refusal> {
    goes_on(flight, waypoints)?;
    check_size(&act.workflows)?;
    let workflows = flown_by(flight, &act.workflows)?;
    if workflows.iter().map(|recorded| recorded.digest).eq(flight.configured.recorded().iter().map(|old| old.digest)) {
        let message = format!("flight {} is flown by exactly these workflows already", flight.submitted.flight);
        return refuse(ActCode::NothingOpen, message, "there is nothing to do");
    }
    check_plan(flight, &act.workflows)?;
    for RecordedWorkflow { workflow: new, .. } in &workflows {
        check_roles(new, flight.submitted.plan.policy.mode, &is_agents)?;
        let old = flight.configured.recorded().iter().find(|old| old.workflow.name == new.name);
        if let Some(RecordedWorkflow { workflow: old, .. }) = old {
            check_verified(old, new)?;
            if let Some(what) = loosened(old, new).filter(|_| act.watched || !is_human(&act.agent)) {
                let by = if act.watched {
                    "it came of a changed file".to_owned()
                } else {
                    format!("{} is no person's key", act.agent)
                };
                let message = format!("{what}, and {by}");
                let hint = "look at it, then reload as a person: `holdpoint org reload --as human-NAME`";
                return refuse(ActCode::HumanRequired, message, hint);
            }
        }
    }
    let record = Record { cause: Some(cause.clone()), ..Record::at(now) };
    Ok(Steered {
        schema_version: version::CURRENT,
        verb: Verb::Reconfigure,
        by: act.agent.clone(),
        workflows,
        raised: None,
        record,
    })
}

fn refuse<T>(code: ActCode, message: String, hint: &str) -> Result<T, Refusal> {
    Err(Refusal::act(code, message, hint))
}

/// Whether anything of the flight can still be flown by other workflows.
fn goes_on(flight: &FlightState, waypoints: &Waypoints) -> Result<(), Refusal> {
    let id = &flight.submitted.flight;
    if let Some((who, _)) = &flight.steering.cancelled {
        return refuse(ActCode::Over, format!("flight {id} was cancelled by {who}"), "submit the plan again");
    }
    if flight_status(flight, waypoints) == FlightStatus::Accepted {
        return refuse(ActCode::Over, format!("flight {id} is accepted"), "there is nothing left to do");
    }
    if flight.configured.newest() >= CONFIGURATIONS_MAX {
        let message =
            format!("flight {id} was given other workflows {CONFIGURATIONS_MAX} times, and that is all it takes");
        return refuse(ActCode::Invalid, message, "let it end as it is, or cancel it and submit the plan again");
    }
    Ok(())
}

fn check_size(workflows: &[WorkflowSpec]) -> Result<(), Refusal> {
    let bytes = serde_json::to_vec(workflows).map_or(usize::MAX, |json| json.len());
    if bytes > RELOAD_BYTES_MAX {
        let message = format!("the workflows have {bytes} bytes as JSON; a reload carries {RELOAD_BYTES_MAX}");
        return refuse(ActCode::Invalid, message, "shorten what their gates say");
    }
    Ok(())
}

/// The workflows that the flight's plan names, as it goes on by them: each there once, and sound.
fn flown_by(flight: &FlightState, sent: &[WorkflowSpec]) -> Result<Vec<RecordedWorkflow>, Refusal> {
    for (n, workflow) in sent.iter().enumerate() {
        let name = &workflow.name;
        let earlier = sent.iter().take(n).any(|other| other.name == *name);
        if earlier || workflows::is_reserved(name) {
            let message = format!("workflow {name} is built in, or is there twice");
            return refuse(ActCode::Invalid, message, "give it another name");
        }
    }
    let recorded = |name: &str| {
        let Some(spec) = workflows::named(name, sent) else {
            let message = format!("the flight goes by workflow {name}, and it is not declared any more");
            return refuse(ActCode::Invalid, message, "declare it again: running work cannot change to another one");
        };
        match Workflow::try_new(&spec) {
            Ok(_) => Ok(spec),
            Err(error) => {
                let message = format!("workflow {name} cannot be flown: {error}");
                refuse(ActCode::Invalid, message, "`holdpoint workflow check` shows everything that is wrong")
            }
        }
    };
    let nested = |name: &str| {
        let message = format!("workflow {name} is that of children, and has children itself");
        Refusal::act(ActCode::Invalid, message, "fly children by a workflow that has none")
    };
    // What adopts goes first: that is how the flight knows it again.
    let adopting = adopting(flight, sent);
    let used = workflows::used(&flight.submitted.plan).into_iter().map(str::to_owned);
    let is_adopted = |name: &String| adopting.is_some() && name == ONE_GATE;
    // Also by which children are flown that there are already.
    let of_children = flight.all_planned().filter_map(|waypoint| waypoint.workflow.clone());
    let names = adopting.iter().cloned().chain(used.chain(of_children).filter(|name| !is_adopted(name)));
    let all = workflows::with_children(names.collect::<Vec<_>>(), recorded, nested)?;
    Ok(all.into_iter().map(RecordedWorkflow::from).collect())
}

/// The workflow that takes in what began before the project had any: the first one that is sent, and from then on the same
/// (GATE-11). `None`: nothing of the flight began so.
fn adopting(flight: &FlightState, sent: &[WorkflowSpec]) -> Option<String> {
    let began_without = workflows::used(&flight.submitted.plan).contains(&ONE_GATE);
    let first = || sent.first().map(|spec| spec.name.as_str());
    let name = flight.configured.adopting().or_else(first).filter(|_| began_without);
    name.map(str::to_owned)
}

/// The plan has to be one that could be submitted with these workflows.
fn check_plan(flight: &FlightState, sent: &[WorkflowSpec]) -> Result<(), Refusal> {
    let adopting = adopting(flight, sent);
    let known = sent.iter().map(plan::KnownWorkflow::of);
    let adopts = known.clone().find(|known| Some(known.name) == adopting.as_deref());
    let one_gate = adopts.map(|known| plan::KnownWorkflow { name: ONE_GATE, ..known });
    let built_in = plan::BUILT_IN_WORKFLOWS.iter().copied();
    let built_in = built_in.filter(|known| one_gate.is_none() || known.name != ONE_GATE);
    let known: Vec<_> = built_in.chain(one_gate).chain(known).collect();
    let specs = workflows::specs(&flight.submitted.plan, sent);
    if let Some(gate) = workflows::check_by_plan(&specs).next().filter(|_| flight.submitted.plan.checks.is_empty()) {
        let message = format!("gate {gate} has `checks: auto`, and the flight was submitted without checks");
        return refuse(ActCode::Invalid, message, "name the preset at the gate, such as `checks: rust`");
    }
    let found = plan::validate(&flight.submitted.plan, &known);
    if found.is_empty() {
        return Ok(());
    }
    let message = format!("the plan cannot be flown by them: {}", found.in_a_line(PROBLEMS_TOLD_MAX));
    refuse(ActCode::Invalid, message, "declare workflows that the plan can be flown by")
}

fn check_roles(new: &WorkflowSpec, mode: Mode, is_agents: impl Fn(&RoleId) -> bool) -> Result<(), Refusal> {
    let Ok(workflow) = Workflow::try_new(new).map(|workflow| workflow.under(mode)) else { return Ok(()) };
    let Some((role, _)) = workflow.agent_roles().find(|(role, _)| !is_agents(role)) else { return Ok(()) };
    let message = format!("workflow {} has gates of the role {role}, and this fleet has no such agents", new.name);
    let hint = format!(
        "in a local fleet give it a program: `--agent {role}=CMD` to `holdpoint up` or `holdpoint run --resume`; in a fleet of your \
         own `holdpoint keys role add {role}` and reload the broker; then reload again"
    );
    refuse(ActCode::Invalid, message, &hint)
}

/// Work that is made has to be verified, also where the new workflow makes none: some may be under way (invariant 4).
fn check_verified(old: &WorkflowSpec, new: &WorkflowSpec) -> Result<(), Refusal> {
    let has = |spec: &WorkflowSpec, duty| spec.all_gates().any(|gate| Duty::of_gate(gate) == duty);
    if !has(old, Duty::Make) || has(new, Duty::Judge) {
        return Ok(());
    }
    let message = format!("workflow {} makes work, and after this reload nobody would verify it", new.name);
    refuse(ActCode::Invalid, message, "keep a gate of the role verifier, or fly the plan again by another workflow")
}

/// What of the eyes on the work would be gone: a verifier's gate or one for people that is not there any more, or lets
/// through what it did not. In words; `None`: nothing.
#[must_use]
pub fn loosened(old: &WorkflowSpec, new: &WorkflowSpec) -> Option<String> {
    let guards = || old.all_gates().filter(|gate| guards(gate));
    for gate in guards() {
        let who = if gate.require_human { "people look" } else { "a verifier looks" };
        let Some(kept) = new.all_gates().find(|other| other.id == gate.id) else {
            return Some(format!("the reload removes gate {} of workflow {}, at which {who}", gate.id, old.name));
        };
        let shares = shared(old, gate) != shared(new, kept);
        if shares || watch(gate) != watch(kept) || !made_after(new, gate).is_subset(&made_after(old, gate)) {
            return Some(format!("the reload changes who looks at gate {} of workflow {}, or when", gate.id, old.name));
        }
    }
    if run_again(old).any(|command| !run_again(new).any(|kept| kept == command)) {
        return Some(format!("the reload takes a command away that a verifier runs again in workflow {}", old.name));
    }
    if let Some(agent) = judge_added(old, new) {
        return Some(format!("the reload lets {agent} verify in workflow {}, which the org chart did not", old.name));
    }
    let outcomes = old.outcomes != new.outcomes && guards().next().is_some();
    outcomes.then(|| format!("the reload changes what outcomes lead to in workflow {}, which guards work", old.name))
}

/// Who may verify by the new chart and not by the old one, where that binds verifiers to agents whom it names.
fn judge_added(old: &WorkflowSpec, new: &WorkflowSpec) -> Option<String> {
    let listed = |spec: &'_ WorkflowSpec| spec.listed.get(&role::id(role::VERIFIER)).cloned();
    let (before, today) = (listed(old)?, listed(new));
    let Some(today) = today else { return Some("any verifier".to_owned()) };
    today.iter().find(|agent| !before.contains(agent)).map(ToString::to_string)
}

/// Whether work is only let through here by a verifier or a person.
fn guards(gate: &GateSpec) -> bool {
    gate.require_human || Duty::of_gate(gate) == Duty::Judge
}

/// The gates behind this one at which work is made: nobody looks at that here.
fn made_after<'a>(spec: &'a WorkflowSpec, gate: &GateSpec) -> BTreeSet<&'a GateId> {
    let behind = spec.all_gates().skip_while(|other| other.id != gate.id);
    behind.filter(|other| Duty::of_gate(other) == Duty::Make).map(|other| &other.id).collect()
}

/// What can let work through without this gate's vote, or past its fork; `None`: nothing can.
fn shared<'a>(spec: &'a WorkflowSpec, gate: &GateSpec) -> Option<(JoinStrategy, &'a Option<String>, usize)> {
    let fork = spec.gates.iter().find_map(|item| match item {
        GateOrFork::Fork(fork) => fork.branches.iter().any(|branch| branch.id == gate.id).then_some(fork),
        GateOrFork::Gate(_) => None,
    })?;
    let always = fork.join_strategy == JoinStrategy::All && fork.when.is_none();
    (!always).then_some((fork.join_strategy, &fork.when, fork.branches.len()))
}

/// What it takes to pass a guarded gate.
fn watch(gate: &GateSpec) -> impl PartialEq + '_ {
    let people = (gate.require_human, &gate.people, &gate.escalations);
    (people, Duty::of_gate(gate) == Duty::Judge, gate.can_reject, &gate.when, &gate.demands)
}

/// The commands at gates that make work, each of which a verifier runs again.
fn run_again(spec: &WorkflowSpec) -> impl Iterator<Item = &CheckpointCommand> {
    let makes = spec.all_gates().filter(|gate| Duty::of_gate(gate) == Duty::Make);
    makes.flat_map(|gate| &gate.demands.checkpoints).filter_map(|spec| match &spec.rule {
        Some(CheckpointRule::Command(command)) if spec.required => Some(command),
        _ => None,
    })
}

#[cfg(test)]
mod tests;
