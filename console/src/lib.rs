//! The console: pages on the loopback that show a fleet, and let a person act on what waits.
//!
//! Pages are pure functions from what the API answers to markup. Nothing of agents, plans or repositories is markup: maud
//! escapes every text, and what a reader could not see is written out by [`shown`](holdpoint_text::shown). All reads go
//! through [`ConsoleFleet`], which the command implements: this crate knows no broker and no file.
//!
//! - [`fleet`]: what the console asks for; `account`: what the journal of a flight says, as pages show it.
//! - `view`: which page an address means; `pages`: the content of each; `wanted`: what a form asks for.
//! - `access`: who gets an answer at all; `connections`: how many, and how long each may be silent; `cache`: answers of the
//!   fleet, shared by all pages; `server`: all of it behind an address, and what open pages get.

mod access;
mod account;
mod cache;
mod connections;
pub mod fleet;
mod pages;
mod problem;
mod server;
mod slots;
mod view;
mod wanted;

pub use account::{FlightAccount, TurnLine};
pub use fleet::{Condition, ConsoleFleet, HeardOf, Mistake, Patch, PlanInspection};
pub use problem::ConsoleProblem;
pub use server::{Console, ConsoleSettings};
pub use wanted::{ActKind, WantedAct};
