//! The machine as a whole: tables of single transitions, and properties over random histories.

mod agents;
mod arrivals;
mod building;
mod courses;
mod dead;
pub(crate) mod desk;
pub(crate) mod fixture;
mod folding;
pub(crate) mod histories;
mod invariants;
mod judging;
mod landing;
mod opening;
pub(crate) mod parts;
mod people;
mod reached;
mod stale;
