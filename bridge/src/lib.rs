//! The file bridge: an agent and an operator of a fleet whose program is a folder (SDLC-4 to SDLC-9).
//!
//! - [`name`], [`moves`], [`text`], [`lock`], [`message`], [`projection`], [`proposal`]: pure; names of tasks, the table of moves, and what
//!   files say.
//! - [`folder`]: files beneath one folder that others write; [`desk`]: its layout; [`task`]: one open turn in it.
//! - [`agent`]: the turns; [`keeper`]: requests, answers, and what the folder shows of the journal.

pub mod agent;
pub mod desk;
pub mod folder;
pub mod keeper;
pub mod lock;
pub mod message;
pub mod moves;
pub mod name;
pub mod projection;
pub mod proposal;
pub mod task;
pub mod text;
