//! Everything that starts another program.
//!
//! This is the only crate of the workspace that starts processes. It knows nothing of flights, turns or the broker.
//!
//! - [`tool`]: a trusted tool (git, pip, cargo), run to its end without the sandbox, but within a [`Confinement`] where its
//!   input is not trusted; or a confined one that stays and is asked ([`AnsweringTool`]).
//! - [`service`]: our own long-lived processes; [`process`]: naming one safely.
//! - [`Sandbox`]: programs that are not ours, under a [`Profile`]; [`Property`]: what that promises.
//! - [`shim`]: the side of the sandbox that runs in between; every executable that is its own shim calls
//!   [`shim::maybe_run`] first.
//! - [`observer`]: watching one program of a sandboxed command, and hearing how it really ended.
//! - [`toolchain_paths`]: what of its caller's toolchains a program must be able to read.
//! - [`beside`]: a program that one of ours speaks with inside the sandbox.
//! - [`room`]: whether a disk is nearly full.
//! - [`tree`]: removing the folders that such programs wrote; [`TemporaryFolder`]: one that goes with its owner; [`pipe`]: talking to
//!   one that may make no sockets.

pub mod beside;
mod error;
mod layout;
mod lookup;
pub mod observer;
pub mod pipe;
mod platform;
pub mod process;
mod profile;
mod property;
pub mod room;
mod sandbox;
pub mod service;
pub mod shim;
mod temporary;
pub mod tool;
mod toolchain;
pub mod tree;
mod wire;

pub use error::SandboxError;
pub use process::ProcessId;
pub use profile::{Bounds, Command, Network, Overlaid, Profile, ProgramInput, RunLimits, ShownTree};
pub use property::{Property, PropertyReport};
pub use sandbox::{Ended, OutputStream, RunOutcome, Sandbox, Standby, Tap};
pub use temporary::{TemporaryFolder, sweep};
pub use tool::{AnsweringTool, Confinement, Limit, Tool, ToolAnswer, ToolError, ToolOutput};
pub use toolchain::{ToolchainPaths, tidy_variables, toolchain_paths};
