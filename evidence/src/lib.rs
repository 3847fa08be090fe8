//! What a repository and its checks show: which files decide, what a run of tests reports, and what a change does to them.
//!
//! Read [`checks`] first (how the end of a check is read), then [`runners`] (what test runners print) and [`paths`] (which files
//! decide what is shown). [`canary`], [`mutants`] and [`written`] ask whether tests would notice; [`environment`] is what a project
//! depends on, [`map`] what a turn begins with, [`telling`] what people see of a red result.

pub mod canary;
pub mod checks;
pub mod environment;
pub mod map;
pub mod mutants;
pub mod over_http;
pub mod paths;
pub mod runners;
pub mod telling;
pub mod written;
