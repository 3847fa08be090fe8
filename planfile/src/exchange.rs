//! What a project asks of the exchange between programs and their harness: settings, and what a result has to hold
//! (RETRY-1a, RETRY-8).
//!
//! [`mod@file`] reads `.holdpoint/handoff.yaml`, as plans are read: every problem at once, each with its place. [`shape`] holds
//! `data` against what is required of it. The harness decides how a failed exchange goes on.

pub mod file;
pub mod settings;
pub mod shape;

pub use file::{Component, HandoffRules};
pub use settings::{ExchangeSettings, StuckAfter};
pub use shape::{Field, JsonType, Lack, Shape};

/// Where a project says it, from its root. It is a steering file: no agent changes it.
pub const FILE: &str = ".holdpoint/handoff.yaml";
/// The largest such file, in bytes.
pub const FILE_BYTES_MAX: usize = 64 << 10;
