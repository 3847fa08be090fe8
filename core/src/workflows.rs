//! The built-in workflows: YAML files in `core/workflows/`, read like any other.
//!
//! How a workflow moves is [`crate::gates`].

use std::sync::LazyLock;

use holdpoint_protocol::{plan::Plan, workflow::WorkflowSpec};

use crate::plan;

/// The name of each, and the file it is declared in.
const BUILT_IN: [(&str, &str); 2] =
    [("fly", include_str!("../workflows/fly.yaml")), ("fly-approved", include_str!("../workflows/fly-approved.yaml"))];

/// Each as it is declared: read once, because every submission asks for one.
static SPECS: LazyLock<Vec<WorkflowSpec>> = LazyLock::new(|| {
    let read = |(name, text): (&str, &str)| {
        plan::read_workflow(text, name).expect("the built-in workflows are sound: a test reads them")
    };
    BUILT_IN.map(read).into()
});

/// The built-in workflow of this name, as it is declared.
#[must_use]
pub fn built_in(name: &str) -> Option<WorkflowSpec> {
    SPECS.iter().find(|spec| spec.name == name).cloned()
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

#[cfg(test)]
mod tests {
    use holdpoint_protocol::{ids::role, workflow::GateSpec};

    use super::*;
    use crate::gates::Workflow;

    fn gate(id: &str, role_name: &'static str, can_reject: bool) -> GateSpec {
        GateSpec {
            id: id.parse().unwrap(),
            role: role::id(role_name),
            description: None,
            can_reject,
            require_human: false,
            people: Vec::new(),
            timeout: None,
        }
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
    fn fly_is_build_then_verify() {
        let gates = vec![gate("build", role::BUILDER, false), gate("verify", role::VERIFIER, true)];
        assert_eq!(built_in("fly").unwrap().gates, gates);
    }
}
