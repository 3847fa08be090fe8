//! The names of workflows that a plan or a project has to know, below what reads and flies them.

/// Those that no project declares for itself: plans without a word about workflows go by them. One of a project goes before any other
/// of its name.
const RESERVED: [&str; 3] = ["fly", "fly-approved", ONE_GATE];

/// The workflow of work without a plan in a project without workflows (GATE-11). A workflow that the project declares later
/// adopts what is under way by it.
pub const ONE_GATE: &str = "one-gate";

/// Whether no project can declare a workflow of this name.
#[must_use]
pub fn is_reserved(name: &str) -> bool {
    RESERVED.contains(&name)
}
