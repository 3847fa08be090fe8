//! Supervision of ractor actors: who is restarted, how often, and what happens when that does not help.
//!
//! ```text
//! Tree ── Supervisor (root)
//!         ├── child      restarted after a pause, while its budget lasts
//!         └── Supervisor  melts down to its parent when a budget of its own is used up
//! ```
//!
//! ractor restarts nothing by itself, and a supervisor that ends kills its children in the middle of whatever they
//! await. So state that matters is never an actor's alone, and an orderly end is a [`Tree::drain`]: every child is
//! asked to take no more work and to end, and only at the deadline the rest is killed.
//!
//! Work alongside an actor runs in its [`ActorTasks`], so that its panic is the actor's failure.

mod budget;
mod child;
mod end;
mod errands;
mod supervisor;
mod tasks;
#[cfg(test)]
mod tests;
mod tree;

pub use budget::{Backoff, ChildSpec, Exit, RestartBudget, RestartDecision, RestartPolicy, Restarts};
pub use child::{Child, Started};
pub use end::ChildEnd;
pub use errands::Errand;
pub use supervisor::{Meltdown, Msg, Supervisor, SupervisorArgs};
pub use tasks::{ActorTasks, TaskFailed};
pub use tree::Tree;
