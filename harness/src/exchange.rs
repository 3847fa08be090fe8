//! The exchange: a program hands its result to its harness, and what happens when that fails (RETRY-1 to RETRY-8).
//!
//! It runs inside one turn, in the same clone and wall time, and knows nothing of orchestrators. Everything that is decided is
//! pure: [`envelope`] reads what was printed, [`problem`] is what is wrong with it, [`prompt`] what the program hears
//! next, [`course`] whether it is asked again, [`salvage`] what is kept of an object that was cut off, [`book`] the
//! debug record. [`drive`] waits, stores and counts. The turn decides who runs the program, and what a good result
//! means.

pub mod book;
pub mod component;
pub mod course;
pub mod document;
pub mod drive;
pub mod envelope;
pub mod limits;
pub mod problem;
pub mod prompt;
pub mod rules;
pub mod salvage;
pub mod stall;

pub use book::Draft;
pub use component::Expected;
pub use course::{ExchangeCourse, ExchangeEnd, Next, Unready};
pub use drive::{After, Again, EndedRun, Exchange};
pub use problem::ResultProblem;
pub use rules::{RulesError, rules_at};
