//! How an agent's program asks while it runs: `holdpoint-ask` in its sandbox, and the harness's end of the line.
//!
//! The line is a unix socket in a folder that only this one program is granted. Where a program may make no sockets,
//! because nothing would keep it from all others, it is a pair of named pipes at the same place. A question waits for its
//! answer in the open turn, as long as its asker does; then it becomes the turn's result. A turn that is completed can be
//! completed over the line as well, and a wrong completion is answered there.
//!
//! - [`arguments`], [`message`]: pure; what can be typed, and what goes over the line. [`parts`]: the named parts of a turn, which
//!   the program reads from its turn's files.
//! - [`inside`]: pure; what is answered about the turn, and the completion that is given in it.
//! - [`client`]: the program `holdpoint-ask`, a personality of every executable of ours that runs agents.
//! - [`line`](mod@line): the harness's end; [`attend`](mod@attend): a program's run with an ear at it; [`desk`]: where a
//!   question waits; [`printed`]: calls for help in what it prints; [`handoff`]: what becomes of it.

pub mod arguments;
pub mod attend;
pub mod client;
pub mod desk;
mod handoff;
pub mod inside;
pub mod line;
pub mod message;
pub mod parts;
pub mod printed;

pub use attend::{Ending, ProgramAsks, attend, ending};
pub use client::maybe_run;
pub use desk::{Desk, Nobody, Planning, Recording, Storing, TurnDesk, TurnEnding, Waited, Waiting};
pub use handoff::handoff;
pub use inside::{Completed, Inside};
pub use line::{Access, AskLine};
pub use message::{Ask, DeclaredPlan};
pub use printed::PrintListener;

/// What the program is called, and the name under which an executable of ours becomes it.
pub const PROGRAM: &str = "holdpoint-ask";
/// Names the line to the program.
pub const SOCKET_VARIABLE: &str = "HOLDPOINT_TURN_SOCKET";
/// The `PATH` of the turn, for login shells that set their own.
pub const PATH_VARIABLE: &str = "HOLDPOINT_PATH";
/// What is behind the line's path where it is a pair of pipes: the one for replies has it added to its name.
const REPLY_SUFFIX: &str = ".reply";
