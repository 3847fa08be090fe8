//! Every decision of Holdpoint, as pure functions: no clock, no randomness, no network, no async.
//!
//! Read in this order: [`gates`] (how a workflow moves), [`declared`] (what may be declared), [`policy`] (the decision table), [`engine`] (one waypoint),
//! [`flight`] (what orders several), then what they lean on: [`plan`], [`paths`], [`checks`], [`runners`],
//! [`written`], [`canary`], [`mutants`], [`feedback`], [`handed`]. [`shares`] says who takes which handoffs, [`intake`]
//! which of them are worked on, [`quota`] how much one operator may have open, [`pulls`] what to do about pulls that stay in
//! the broker, [`untaken`] when to hint at turns, [`rooms`] when to say that it fills up, [`references`] which blobs messages name, [`lines`] how much of a log one sender may fill, [`standing`] says
//! what became of handoffs, [`audit`] looks at what was left behind, [`attest`] says it to people outside, and
//! [`events`] reports it gate by gate. [`environment`] says what a project depends on and what a run changed in its tree. [`guides`] and [`skills`] say which documents of a repository a turn gets. [`bom`] is what some files begin with, [`lenient`] reads JSON of others, [`shown`] is how text of others is shown, wherever that is, [`telling`] what is
//! shown of a red result, [`commit`] how it goes into commits, and [`document`] how artifacts are read and written as files.

pub mod attest;
pub mod audit;
pub mod bom;
pub mod budget;
pub mod canary;
pub mod chain;
pub mod checkpoints;
pub mod checks;
pub mod commit;
pub mod completion;
pub mod connections;
pub mod cost;
pub mod declared;
pub mod document;
pub mod engine;
pub mod environment;
pub mod events;
pub mod exchange;
pub mod feedback;
pub mod flight;
pub mod gates;
pub mod guides;
pub mod handed;
pub mod impact;
pub mod intake;
pub mod lenient;
pub mod lines;
pub mod live;
pub mod map;
pub mod mutants;
pub mod over_http;
pub mod pages;
pub mod paths;
pub mod plan;
pub mod policy;
pub mod proposal;
pub mod pulls;
pub mod quota;
pub mod rates;
pub mod references;
pub mod rooms;
pub mod runners;
pub mod shares;
pub mod shown;
pub mod skills;
pub mod standing;
pub mod store;
pub mod telling;
pub mod traffic;
pub mod units;
pub mod untaken;
pub mod workflows;
pub mod written;
