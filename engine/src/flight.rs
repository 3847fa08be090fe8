//! A flight: the rules that order several waypoints. How it stands, what is due, and what people may do to it.
//!
//! What its journal says so far is [`crate::state`]. One waypoint's life is [`crate::waypoint`].

mod acting;
mod children;
mod consequence;
mod doubts;
mod drift;
mod due;
mod halting;
mod inbox;
mod merge_queue;
mod passed;
mod raising;
mod reconfiguring;
mod refused;
mod retiring;
mod sharing;
mod status;
mod view;

pub use acting::{Course, takes};
pub(crate) use children::of_families;
pub use children::{add, remediation};
pub use consequence::Due;
pub use doubts::{doubts, is_first_of_work};
pub use drift::{Drift, Regrouped, Rerouted, drift};
pub use due::{due, due_in, migrates, next_deadline, rests_until};
pub use halting::steer;
pub use inbox::{OpenQuestion, Waits, actions, waits};
pub use merge_queue::{DEPTH_MAX, QueueContext, QueueTail, QueueWindow, is_first, tail};
pub use passed::Passed;
pub use raising::{RAISES_MAX, raise};
pub use reconfiguring::{CONFIGURATIONS_MAX, RELOAD_BYTES_MAX, loosened, reconfigure};
pub use retiring::{NotOver, retirable};
pub use sharing::{committed, reserve};
pub use status::status;
pub use view::{attempt_branch, branch, flight_status, view};

pub use crate::state::{Budgets, Configurations, FlightState, Landings, Reservation, Steering, Waypoints};

#[cfg(test)]
mod tests;
