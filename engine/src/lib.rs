//! The engine: every decision about a flight, as pure functions from journals and inputs to the next entry.
//!
//! Read in this order: [`policy`] (the decision table), [`waypoint`] (the machine of one waypoint), [`flight`] (what orders several),
//! [`budget`] (what they may use up). [`completion`], [`handed`] and [`feedback`] bound and explain what agents send and hear,
//! [`impact`] says which work people see first, and [`audit`] checks a journal afterwards.

pub mod audit;
pub mod budget;
pub mod completion;
pub mod feedback;
pub mod flight;
pub mod handed;
pub mod impact;
pub mod policy;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod waypoint;
