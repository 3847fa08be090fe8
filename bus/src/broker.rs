//! A broker process of our own: found, configured, started, restarted, stopped.
//!
//! The topology decides what it holds, and the authority who may log in. A broker that others run needs none of
//! this: a [`crate::Bus`] only wants its address.

mod binary;
mod error;
mod local;
mod process;
mod version;

pub use binary::ServerBinary;
pub use error::BrokerError;
pub use local::{LocalBroker, LocalSpec, RolesError, add_roles, keep_keys};
pub use process::{Broker, BrokerSpec};
pub use version::{FLOOR, ServerVersion};
