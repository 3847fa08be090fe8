//! Why a sandboxed program gave no outcome at all. How a program ended is never an error.

use std::path::PathBuf;

use crate::property::Property;

/// Why a sandboxed program was not run, or its run was lost.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    /// Nothing on this platform gives these required properties; nothing was run.
    #[error("the sandbox cannot enforce {} here", names(properties))]
    NotEnforceable {
        /// What is missing.
        properties: Vec<Property>,
    },
    /// The platform gives too little to set up even the weakest sandbox.
    #[error("no sandbox works here: {reason}")]
    NoSandbox {
        /// The last refusal.
        reason: String,
    },
    /// A path of the profile is not absolute, is the root, or (for one to be written) does not exist.
    #[error("path {} of the profile {problem}", path.display())]
    BadPath {
        /// The path as given.
        path: PathBuf,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// The command has no program, or its words cannot be passed on.
    #[error("the command {problem}")]
    BadCommand {
        /// What is wrong with it.
        problem: &'static str,
    },
    /// The program was not started: it is missing, not executable, or its directory is out of reach.
    #[error("start {program} in the sandbox")]
    NotStarted {
        /// The program as asked for.
        program: String,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
    /// A step of the set-up failed that works here otherwise; nothing was run.
    #[error("set up the sandbox: {step}: {reason}")]
    SetUp {
        /// The step.
        step: String,
        /// What the system said.
        reason: String,
    },
    /// The shim could not be started.
    #[error("start the sandbox shim {}", shim.display())]
    Shim {
        /// The executable.
        shim: PathBuf,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
    /// The shim ended without saying how the program ended.
    #[error("the sandbox shim was lost")]
    ShimLost,
    /// Talking to the shim failed.
    #[error("talk to the sandbox shim")]
    Io(#[from] std::io::Error),
}

fn names(properties: &[Property]) -> String {
    properties.iter().map(|property| property.name()).collect::<Vec<_>>().join(", ")
}
