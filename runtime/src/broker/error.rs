//! Why there is no connection to the broker.

use holdpoint_bus::{
    ConnectError,
    auth::{ClaimError, StoreError},
};
use holdpoint_protocol::ids::{AgentName, RoleId};

use crate::process::exit;

/// Why a process has no connection to the broker, or has lost it for good.
#[derive(Debug, thiserror::Error)]
pub enum BrokerConnectionError {
    /// A setting that every process needs is not there.
    #[error("{key} is not configured: every process needs it")]
    Missing {
        /// The key. Instead of `nats.creds` there may be `nats.creds_dir`.
        key: &'static str,
    },
    /// The credentials cannot be used.
    #[error("nats.creds cannot be used")]
    Credentials(#[source] StoreError),
    /// No credentials of a folder are free.
    #[error("nats.creds_dir cannot be used")]
    Claim(#[source] ClaimError),
    /// The trust roots cannot be read.
    #[error("nats.trust cannot be used")]
    Trust(#[source] StoreError),
    /// The configured name is not that of the credentials.
    #[error("agent.name is {configured}, but the credentials are those of {found}")]
    OtherName {
        /// The name in the configuration.
        configured: AgentName,
        /// The name in the credentials.
        found: AgentName,
    },
    /// The credentials are for another role than the process.
    #[error("the credentials of {name} are for the role {found}, and this is a process of {expected}")]
    OtherRole {
        /// Whose credentials.
        name: AgentName,
        /// The role of the process.
        expected: RoleId,
        /// The role they are for.
        found: RoleId,
    },
    /// There is no connection.
    #[error("cannot connect")]
    Connect(#[source] ConnectError),
    /// The connection ended for good while the process ran.
    #[error(
        "the broker does not accept the credentials of {name} any more: they were revoked, have expired or were replaced"
    )]
    Gone {
        /// Whose credentials.
        name: AgentName,
    },
}

impl BrokerConnectionError {
    /// The exit code.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Missing { .. }
            | Self::Credentials(_)
            | Self::Trust(_)
            | Self::OtherName { .. }
            | Self::OtherRole { .. }
            | Self::Claim(ClaimError::Folder { .. }) => exit::USAGE,
            Self::Claim(ClaimError::NoneFree { .. }) | Self::Connect(_) | Self::Gone { .. } => exit::ENVIRONMENT,
        }
    }
}
