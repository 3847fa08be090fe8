//! What people write, read strictly: every problem at once, each with its place.
//!
//! `yaml` makes of a file a tree with places. [`plan`] reads plans, [`declared`] what a project or an organisation declares, [`gates`] how a workflow moves and
//! [`workflows`] those that are built in. [`checkpoints`] and [`proposal`] are what a gate demands, [`exchange`] what a project asks
//! of results, [`guides`] and [`skills`] which documents a turn gets.

pub mod checkpoints;
pub mod declared;
pub mod document;
pub mod exchange;
pub mod gates;
pub mod guides;
pub mod plan;
pub mod proposal;
pub mod skills;
pub mod workflows;
mod yaml;
