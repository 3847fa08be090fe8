//! The content of the pages: pure functions from what was read to markup.
//!
//! Text of others goes through `parts::word` or `parts::lines`; ids, digests and numbers are checked where they are read.

mod board;
mod changes;
mod document;
mod editor;
mod fleet;
mod flight;
mod flights;
mod forms;
mod frame;
mod graph;
mod inbox;
mod paint;
mod parts;
mod report;
mod side;
mod submit;
mod text;
mod timeline;
mod waterfall;
mod waypoint;

pub(crate) use document::document;
pub(crate) use editor::{Asked, edited, revised};
pub(crate) use fleet::{Crew, fleet};
pub(crate) use flight::flight;
pub(crate) use flights::{PER_PAGE, Summary, flights};
pub(crate) use frame::{Frame, problem, whole};
pub(crate) use inbox::inbox;
pub(crate) use submit::{looked, submit, submitted};
pub(crate) use text::{evidence, patch};
pub(crate) use waypoint::{Parts, waypoint};

#[cfg(test)]
mod tests;
