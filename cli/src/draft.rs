//! Drafting a plan: an agent writes it in a turn of its own, and it is reviewed until doing nothing would not be accepted.
//!
//! - `brief`: what the agent is asked; `turn`: as a turn that makes work; `drafter`: the turns of one command, without a broker.
//! - `review`: what is wrong with a draft; `scopes`: what a waypoint without a scope may touch; `steps`: its waypoints in order.

mod brief;
mod drafter;
mod review;
mod scopes;
mod steps;
mod turn;

pub(crate) use brief::goal;
pub(crate) use drafter::{Drafted, Drafter};
pub(crate) use review::{DraftProblem, Review};
use steps::PlannedStep;
