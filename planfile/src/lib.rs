//! What people write, read strictly: every problem at once, each with its place.
//!
//! From below: `yaml` makes of a file a tree with places, and knows no kind of file. [`plan`] and [`declared`] say what is in a plan,
//! a project file and an org chart. `rules` has what is wrong with these, as findings with places; entry points that read a whole
//! file stand above both, as `read` and `check` of the two. [`gates`] is how a workflow moves and [`workflows`] those that are built in.
//!
//! [`checkpoints`] and [`proposal`] are what a gate demands, [`document`] what was handed over as people read it, [`exchange`] what a
//! project asks of results, [`guides`] and [`skills`] which documents a turn gets.

pub mod checkpoints;
pub mod declared;
pub mod document;
pub mod exchange;
pub mod gates;
pub mod guides;
pub mod plan;
pub mod proposal;
mod rules;
pub mod skills;
pub mod workflows;
mod yaml;
