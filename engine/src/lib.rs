//! The engine: every decision about a flight, as pure functions from journals and inputs to the next entry.
//!
//! Read in this order, each on those before it: [`policy`] (the decision table), [`budget`] (what turns may use up), [`state`] (what a
//! flight's journal says), [`waypoint`] (the machine of one waypoint), [`flight`] (what orders several). [`completion`], [`handed`] and
//! [`feedback`] bound and explain what agents send and hear,
//! [`impact`] says which work people see first, and [`audit`] checks a journal afterwards.

pub mod audit;
pub mod budget;
pub mod completion;
pub mod feedback;
pub mod flight;
pub mod handed;
pub mod impact;
pub mod policy;
pub mod state;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod waypoint;
