//! Where declared workflows differ from those that a flight is flown by (GATE-12).

use std::collections::BTreeSet;

use holdpoint_planfile::workflows::ONE_GATE;
use holdpoint_protocol::{
    Digest,
    ids::{GateId, RoleId},
    view::{FlownGate, FlownMembers, FlownWorkflow},
    workflow::{RecordedWorkflow, WorkflowSpec},
};
use serde::Serialize;

/// A workflow that is declared otherwise than a flight is flown by it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Drift {
    /// Its name.
    pub workflow: String,
    /// The digest of what is flown.
    pub flown: Digest,
    /// The digest of what is declared; `None`: it is not declared any more.
    pub declared: Option<Digest>,
    /// Gates that are declared and not flown.
    pub added: Vec<GateId>,
    /// Gates that are flown and not declared any more.
    pub removed: Vec<GateId>,
    /// Gates that are another role's.
    pub rerouted: Vec<Rerouted>,
    /// Roles that others have than in the flight.
    pub members: Vec<Regrouped>,
    /// The declared workflow that takes in what began before the project had one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub adopted_by: Option<String>,
}

/// A gate that is another role's than it was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Rerouted {
    /// The gate.
    pub gate: GateId,
    /// Whose it is in the flight.
    pub from: RoleId,
    /// Whose it is declared to be.
    pub to: RoleId,
}

/// A role that others have than it was: people, or the agents whom the org chart lists.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Regrouped {
    /// The role.
    pub role: RoleId,
    /// How many have it in the flight; absent: none is named there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<u32>,
    /// How many have it in the files.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<u32>,
}

/// Where the declared workflows, with what their org chart says, differ from these.
#[must_use]
pub fn drift(flown: &[FlownWorkflow], declared: &[WorkflowSpec]) -> Vec<Drift> {
    let of = |flown: &FlownWorkflow| {
        if flown.name == ONE_GATE {
            return declared.first().map(|adopting| adoption(flown, adopting));
        }
        let declared = declared.iter().find(|spec| spec.name == flown.name).cloned().map(RecordedWorkflow::from);
        let digest = declared.as_ref().map(|recorded| recorded.digest);
        if digest == Some(flown.digest) {
            return None;
        }
        let files = declared.as_ref().map(FlownWorkflow::from);
        let members = files.as_ref().map(|files| regrouped(&flown.members, &files.members)).unwrap_or_default();
        let gates = files.map(|files| files.gates).unwrap_or_default();
        let is_in = |gates: &[FlownGate], gate: &FlownGate| gates.iter().any(|other| other.gate == gate.gate);
        let without = |of: &[FlownGate], others: &[FlownGate]| {
            of.iter().filter(|gate| !is_in(others, gate)).map(|gate| gate.gate.clone()).collect()
        };
        let rerouted = flown.gates.iter().filter_map(|old| {
            let new = gates.iter().find(|new| new.gate == old.gate && new.role != old.role)?;
            Some(Rerouted { gate: old.gate.clone(), from: old.role.clone(), to: new.role.clone() })
        });
        Some(Drift {
            workflow: flown.name.clone(),
            flown: flown.digest,
            declared: digest,
            added: without(&gates, &flown.gates),
            removed: without(&flown.gates, &gates),
            rerouted: rerouted.collect(),
            members,
            adopted_by: None,
        })
    };
    flown.iter().filter_map(of).collect()
}

/// The roles that others have, or that an agent or a person is named for in one of the two only.
fn regrouped(flown: &[FlownMembers], files: &[FlownMembers]) -> Vec<Regrouped> {
    let of = |all: &[FlownMembers], role: &RoleId| all.iter().find(|members| members.role == *role).cloned();
    let roles: BTreeSet<&RoleId> = flown.iter().chain(files).map(|members| &members.role).collect();
    let differing = roles.into_iter().filter_map(|role| {
        let (from, to) = (of(flown, role), of(files, role));
        let count = |members: Option<FlownMembers>| members.map(|members| members.count);
        (from != to).then(|| Regrouped { role: role.clone(), from: count(from), to: count(to) })
    });
    differing.collect()
}

/// Work that began without a workflow comes to the first gate of the one that is declared first.
fn adoption(flown: &FlownWorkflow, adopting: &WorkflowSpec) -> Drift {
    let recorded = RecordedWorkflow::from(adopting.clone());
    Drift {
        workflow: flown.name.clone(),
        flown: flown.digest,
        declared: Some(recorded.digest),
        added: FlownWorkflow::from(&recorded).gates.into_iter().map(|gate| gate.gate).collect(),
        removed: flown.gates.iter().map(|gate| gate.gate.clone()).collect(),
        rerouted: Vec::new(),
        members: Vec::new(),
        adopted_by: Some(adopting.name.clone()),
    }
}

#[cfg(test)]
mod tests {
    use holdpoint_protocol::workflow::GateSpec;

    use super::*;

    fn declared(name: &str, gates: &[(&str, &str)]) -> WorkflowSpec {
        let gate = |(id, role): &(&str, &str)| GateSpec::new(id.parse().unwrap(), role.parse().unwrap());
        WorkflowSpec::new(name, gates.iter().map(gate))
    }

    #[test]
    fn drift_names_gates_that_came_went_or_changed_their_role() {
        let flown = |spec: WorkflowSpec| FlownWorkflow::from(&RecordedWorkflow::from(spec));
        let all = [
            flown(declared("own", &[("build", "builder"), ("read", "reviewer"), ("sign", "lead")])),
            flown(declared("kept", &[("sign", "lead")])),
            flown(declared("gone", &[("sign", "lead")])),
            flown(declared("words", &[("sign", "lead")])),
        ];
        let words =
            WorkflowSpec { description: Some("said otherwise".to_owned()), ..declared("words", &[("sign", "lead")]) };
        let today = [
            declared("own", &[("build", "builder"), ("sign", "po"), ("file", "lead")]),
            declared("kept", &[("sign", "lead")]),
            words,
        ];
        let found = drift(&all, &today);
        let names = |gates: &[GateId]| gates.iter().map(GateId::as_str).collect::<Vec<_>>().join(" ");
        let short = |drift: &Drift| {
            let rerouted: Vec<String> =
                drift.rerouted.iter().map(|one| format!("{}:{}>{}", one.gate, one.from, one.to)).collect();
            let (added, removed) = (names(&drift.added), names(&drift.removed));
            format!("{} +{added} -{removed} {} {}", drift.workflow, rerouted.concat(), drift.declared.is_some())
        };
        let found: Vec<String> = found.iter().map(short).collect();
        assert_eq!(found, ["own +file -read sign:lead>po true", "gone + -sign  false", "words + -  true"]);
    }

    #[test]
    fn drift_names_the_roles_that_others_have_and_no_role_that_nobody_is_named_for() {
        let people = |names: &[&str]| names.iter().map(|name| name.parse().unwrap()).collect::<Vec<_>>();
        let spec = |leads: &[&str], readers: Option<&[&str]>| {
            let mut spec = declared("own", &[("read", "reader"), ("sign", "lead")]);
            if let Some(holdpoint_protocol::workflow::GateOrFork::Gate(gate)) = spec.gates.last_mut() {
                gate.people = people(leads);
            }
            spec.listed.extend(readers.map(|names| ("reader".parse().unwrap(), people(names))));
            spec
        };
        let found = |before: WorkflowSpec, after: WorkflowSpec| {
            let before = FlownWorkflow::from(&RecordedWorkflow::from(before));
            let mut all = drift(&[before], &[after]);
            let drift = all.pop().expect("they differ");
            assert_eq!((drift.added.len(), drift.removed.len(), drift.rerouted.len()), (0, 0, 0));
            let short = |one: &Regrouped| format!("{} {:?} {:?}", one.role, one.from, one.to);
            drift.members.iter().map(short).collect::<Vec<_>>()
        };
        let ada = spec(&["human-ada"], Some(&["r1", "r2"]));
        assert_eq!(found(ada.clone(), spec(&["human-bob"], Some(&["r2", "r1"]))), ["lead Some(1) Some(1)"]);
        let both = spec(&["human-ada", "human-bob"], Some(&["r1"]));
        assert_eq!(found(ada.clone(), both), ["lead Some(1) Some(2)", "reader Some(2) Some(1)"]);
        assert_eq!(found(ada.clone(), spec(&["human-ada"], None)), ["reader Some(2) None"]);
        let words = WorkflowSpec { description: Some("said otherwise".to_owned()), ..ada.clone() };
        assert_eq!(found(ada, words), [] as [&str; 0]);
    }
}
