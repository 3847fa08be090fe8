//! The workflows that a plan may name, as far as its rules have to know them.

use holdpoint_protocol::{ids::role, workflow::WorkflowSpec};

use crate::workflows::names::ONE_GATE;

/// A workflow that a plan may name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KnownWorkflow<'a> {
    /// Its name.
    pub name: &'a str,
    /// Whether one of its gates judges criteria: then a waypoint without any is refused.
    pub has_verifier: bool,
}

impl<'a> KnownWorkflow<'a> {
    /// What a plan has to know of a declared one.
    #[must_use]
    pub fn of(spec: &'a WorkflowSpec) -> Self {
        let has_verifier = spec.all_gates().any(|gate| gate.role.as_str() == role::VERIFIER);
        Self { name: &spec.name, has_verifier }
    }
}

/// The workflows of a project that declares none.
pub const BUILT_IN_WORKFLOWS: &[KnownWorkflow<'static>] = &[
    KnownWorkflow { name: "fly", has_verifier: true },
    KnownWorkflow { name: "fly-approved", has_verifier: true },
    KnownWorkflow { name: ONE_GATE, has_verifier: false },
    KnownWorkflow { name: "stages", has_verifier: true },
    KnownWorkflow { name: "sdlc", has_verifier: false },
    KnownWorkflow { name: "sdlc-task", has_verifier: true },
];
