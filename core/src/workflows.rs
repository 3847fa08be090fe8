//! The built-in workflows: YAML files in `core/workflows/`, read like any other. And which workflows a plan is flown by, and whose
//! agents they need.
//!
//! How a workflow moves is [`crate::gates`].

use std::sync::LazyLock;

use holdpoint_protocol::{ids::RoleId, plan::Plan, roles::Roles, workflow::WorkflowSpec};

use crate::{
    declared,
    gates::{Duty, Workflow},
};

/// The name of each, and the file it is declared in.
const BUILT_IN: [(&str, &str); 2] =
    [("fly", include_str!("../workflows/fly.yaml")), ("fly-approved", include_str!("../workflows/fly-approved.yaml"))];

/// Each as it is declared: read once, because every submission asks for one.
static SPECS: LazyLock<Vec<WorkflowSpec>> = LazyLock::new(|| {
    let read = |(name, text): (&str, &str)| {
        declared::read(text, name).expect("the built-in workflows can be read: a test does")
    };
    BUILT_IN.into_iter().flat_map(read).collect()
});

/// The built-in workflow of this name, as it is declared.
#[must_use]
pub fn built_in(name: &str) -> Option<WorkflowSpec> {
    SPECS.iter().find(|spec| spec.name == name).cloned()
}

/// Every built-in workflow, as it is declared.
#[must_use]
pub fn all_built_in() -> &'static [WorkflowSpec] {
    &SPECS
}

/// Whether a workflow of this name is built in. No other one can have its name.
#[must_use]
pub fn is_built_in(name: &str) -> bool {
    BUILT_IN.iter().any(|(built_in, _)| *built_in == name)
}

/// The names of the workflows that a plan's waypoints use, each once.
#[must_use]
pub fn used(plan: &Plan) -> Vec<&str> {
    let mut names: Vec<&str> =
        plan.waypoints.iter().map(|waypoint| waypoint.workflow.as_deref().unwrap_or(&plan.workflow)).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// The workflows that a plan is flown by: built-in ones, and of the declared ones those that it names. One that is not sound
/// is left out.
pub fn flown(plan: &Plan, declared: &[WorkflowSpec]) -> impl Iterator<Item = Workflow> {
    let find = |name: &str| built_in(name).or_else(|| declared.iter().find(|spec| spec.name == name).cloned());
    used(plan).into_iter().filter_map(move |name| Workflow::try_new(&find(name)?).ok())
}

/// The roles of agents that these workflows name besides the built-in ones, each with whether its turns make work.
#[must_use]
pub fn declared_roles(workflows: &[WorkflowSpec]) -> Vec<(RoleId, bool)> {
    let flown: Vec<Workflow> = workflows.iter().filter_map(|spec| Workflow::try_new(spec).ok()).collect();
    let named = || flown.iter().flat_map(Workflow::agent_roles);
    let roles = Roles::with_all(named().map(|(role, _)| role));
    let makes = |role: &RoleId| named().any(|(other, duty)| other == role && duty == Duty::Make);
    roles.declared().map(|role| (role.clone(), makes(role))).collect()
}

#[cfg(test)]
mod tests {
    use holdpoint_protocol::{
        ids::role,
        org::Plane,
        workflow::{GateOrFork, GateSpec},
    };

    use super::*;
    use crate::plan;

    fn gate(id: &str, role_name: &'static str, can_reject: bool) -> GateOrFork {
        GateSpec { can_reject, ..GateSpec::new(id.parse().unwrap(), role::id(role_name)) }.into()
    }

    #[test]
    fn every_built_in_workflow_is_sound_and_has_its_own_name() {
        for (name, _) in BUILT_IN {
            let spec = built_in(name).unwrap();
            assert_eq!(spec.name, name);
            Workflow::try_new(&spec).unwrap();
        }
        assert_eq!(built_in("deploy"), None);
        let known: Vec<&str> = plan::BUILT_IN_WORKFLOWS.iter().map(|known| known.name).collect();
        assert_eq!(known, BUILT_IN.map(|(name, _)| name), "plans may name exactly these");
    }

    #[test]
    fn fly_is_recorded_in_the_same_bytes_whatever_else_may_be_declared() {
        let recorded = serde_json::to_string(&built_in("fly").unwrap()).unwrap();
        let gates = r#"[{"id":"build","role":"builder"},{"id":"verify","role":"verifier","canReject":true}]"#;
        assert_eq!(
            recorded,
            format!(r#"{{"name":"fly","description":"Build, then verify by evidence","gates":{gates}}}"#)
        );
    }

    #[test]
    fn fly_is_build_then_verify() {
        let gates = vec![gate("build", role::BUILDER, false), gate("verify", role::VERIFIER, true)];
        assert_eq!(built_in("fly").unwrap().gates, gates);
    }

    fn declared(name: &str, gates: Vec<GateOrFork>) -> WorkflowSpec {
        WorkflowSpec { name: name.to_owned(), gates, ..built_in("fly").unwrap() }
    }

    #[test]
    fn a_plan_is_flown_by_the_workflows_that_it_names_and_a_built_in_one_is_never_replaced() {
        let plan = "plan: p\nworkflow: papers\nwaypoints:\n  - {id: a, title: t, goal: g}\n  \
                    - {id: b, title: t, goal: g, workflow: fly}\n  - {id: c, title: t, goal: g, workflow: broken}\n  \
                    - {id: d, title: t, goal: g, workflow: nowhere}\n";
        let plan = plan::glance(plan.as_bytes()).unwrap();
        let draft = || vec![gate("draft", "writer", false)];
        let all = [
            declared("papers", draft()),
            declared("unused", draft()),
            declared("fly", draft()),
            declared("broken", Vec::new()),
        ];
        let flown: Vec<Workflow> = flown(&plan, &all).collect();
        let names: Vec<&str> = flown.iter().map(|workflow| workflow.name.as_str()).collect();
        assert_eq!(names, ["fly", "papers"]);
        assert!(flown[0].needs_builder());
        assert!(!flown[1].needs_builder());
    }

    #[test]
    fn declared_roles_are_those_without_built_in_agents_and_one_that_makes_work_anywhere_does() {
        let verify = || gate("verify", role::VERIFIER, true);
        let makes = || {
            let code = GateSpec::new("code".parse().unwrap(), role::id("backend"));
            GateSpec { plane: Some(Plane::Build), ..code }.into()
        };
        let all = [
            built_in("fly").unwrap(),
            declared("talk", vec![gate("plan", "backend", false), gate("draft", "writer", false)]),
            declared("code", vec![makes(), verify()]),
            declared("broken", Vec::new()),
        ];
        assert_eq!(declared_roles(&all), [(role::id("backend"), true), (role::id("writer"), false)]);
        assert_eq!(declared_roles(&all[..1]), []);
    }
}
