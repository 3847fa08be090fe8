//! The machine as a whole: tables of single transitions, and properties over random histories.

mod adopting;
mod advising;
mod agents;
mod arrivals;
mod building;
mod courses;
mod dead;
pub(crate) mod desk;
mod escalating;
pub(crate) mod fixture;
mod folding;
mod forks;
pub(crate) mod histories;
mod invariants;
mod judging;
mod landing;
mod listing;
mod makers;
mod migrating;
mod opening;
pub(crate) mod parts;
mod people;
mod reached;
mod revising;
mod sizes;
mod stale;
mod train;
