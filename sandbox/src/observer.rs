//! Watching one program of a sandboxed command from a process that the program cannot touch.
//!
//! ```text
//! harness: Listener ── unix socket ── observer (in the sandbox, cannot be read or traced) ── its child, the program
//!                                         └── pair of sockets: what the child says, each message with a nonce
//! ```
//!
//! A starter in the sandbox runs [`PROGRAM`] with the program to watch. The observer hands on what its child says and, in
//! the end, the status with which the kernel says that it ended. Only the observer has the connection: it is closed in
//! the child, sockets cannot be opened through `/proc`, and the observer cannot be traced. So a program can say what it
//! likes and open connections of its own, but it can neither take back that it was begun nor say how it ended.
//!
//! As cargo's runner ([`CARGO`]) it watches programs of libtest's, which say nothing over sockets: it reads their list of tests
//! and their log, and says itself what became of each. As the program of `go test -exec` ([`GO`]) it reads their list, and
//! whether they came to their end.

mod below_cargo;
mod below_go;
mod inside;
mod listener;
mod writing;

pub use below_cargo::runner_variables;
pub use inside::maybe_run;
pub use listener::{ObserverListener, ObserverReport};

/// What the observer is called, and the name under which an executable of ours becomes it. Its arguments: the socket, a
/// name for what is watched, the program, and the program's arguments.
pub const PROGRAM: &str = "holdpoint-observe";
/// Names to the child the descriptor that it speaks over, and what is watched: `<descriptor>:<name>`. The first message
/// on it is for the child: the nonce that its own messages begin with.
pub const VARIABLE: &str = "HOLDPOINT_OBSERVER";

/// The name with which cargo's runner starts the observer: what a program is it finds out itself.
pub const CARGO: &str = "cargo";
/// What the observer calls a program of libtest's that `cargo test` starts.
pub const LIBTEST: &str = "libtest";
/// What it calls one test of a program of libtest's, in the process that nextest gives it.
pub const NEXTEST: &str = "nextest";
/// What it calls a test program of a project's own (`harness = false`), of which it hears the end alone.
pub const OWN_PROGRAM: &str = "program";
/// The name with which go starts the observer, and what it calls a test program of go's.
pub const GO: &str = "go";

/// The socket in the listener's folder.
const SOCKET: &str = "observed";
/// The listener hears this run.
const WELCOME: u8 = b'+';
/// The listener hears another run, or has heard enough.
const REFUSED: u8 = b'-';
/// The listener has it all.
const SEEN: u8 = b'.';
/// Begins what the child says.
const CHILD: &str = "c ";
/// Begins what the observer says of the child's end: `exit <code>` or `signal <number>`.
const OURS: &str = "s ";
