//! Environments on this machine: what projects depend on, set up once for each state of their lock files ([`holdpoint_evidence::environment`]),
//! kept as layers, and laid under the trees that agents and checks work in.
//!
//! - [`store`]: layers by key, one maker each, the least recently used ones out.
//! - [`setup`]: makes one, in the sandbox and from its inputs alone.
//! - [`host`]: what a setup has of the machine.
//! - [`touched`]: what a run left in a tree over a layer.
//! - [`underlay`]: a layer under an agent's clone.
//! - [`here`]: what somebody else set up in a checkout, in place of a layer of ours.

pub mod here;
pub mod host;
pub mod setup;
pub mod store;
pub mod touched;
pub mod underlay;

use std::path::Path;

use holdpoint_evidence::environment::WORK;
use holdpoint_protocol::plan::EnvironmentSpec;

pub use here::Here;
pub use setup::{CERTIFICATES, EnvironmentError, Environments, NotSetUp, SetUp};
pub use store::Layer;
pub use underlay::{Underlay, copy_below};

/// What goes first in `PATH`, for a tree that is at `dir`.
#[must_use]
pub fn path_in(spec: &EnvironmentSpec, dir: &Path, path: &str) -> String {
    let own = spec.path.iter().map(|folder| dir.join(folder).display().to_string());
    own.chain([path.to_owned()]).collect::<Vec<_>>().join(":")
}

/// How the trees of runs are kept apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TreeMechanism {
    /// An overlay, which takes the changes.
    Overlay,
    /// A copy of everything, where the platform gives no overlay.
    Copy,
}

impl TreeMechanism {
    /// Its name in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Overlay => "overlay",
            Self::Copy => "copy",
        }
    }

    /// Where a program finds a tree that is at `dir`.
    #[must_use]
    pub fn seen(self, dir: &Path) -> &Path {
        match self {
            Self::Overlay => Path::new(WORK),
            Self::Copy => dir,
        }
    }
}
