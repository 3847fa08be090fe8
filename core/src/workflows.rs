//! The built-in workflows: YAML files in `core/workflows/`, read like any other.
//!
//! How a workflow moves is [`crate::gates`].

use std::sync::LazyLock;

use holdpoint_protocol::{plan::Plan, workflow::WorkflowSpec};

use crate::declared;

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

#[cfg(test)]
mod tests {
    use holdpoint_protocol::{
        ids::role,
        workflow::{GateOrFork, GateSpec},
    };

    use super::*;
    use crate::{gates::Workflow, plan};

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
}
