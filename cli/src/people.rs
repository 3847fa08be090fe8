//! People in a flight: what waits for them, whose key signs what they do, and doing it.
//!
//! - `find`: which flight the name of a waypoint means, and what waits there; `naming`: which of several things a name means.
//! - `key`: whose key signs; `act`: storing a signed act, and hearing what became of it.
//! - `words`: what waits, and what follows from an act, for people to read.
//!
//! Whether an act is allowed, and what it leads to, is decided by the orchestrators.

pub(crate) mod act;
pub(crate) mod attempts;
pub(crate) mod clones;
pub(crate) mod desk_note;
pub(crate) mod find;
pub(crate) mod key;
mod naming;
pub(crate) mod retry;
pub(crate) mod turn;
pub(crate) mod words;
pub(crate) mod works;
