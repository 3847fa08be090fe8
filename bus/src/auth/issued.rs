//! What is known of credentials that were made: everything but their seed.

use std::path::PathBuf;

use holdpoint_protocol::{
    facts::Harness,
    ids::{AgentName, PoolId, RoleId},
};
use serde::{Deserialize, Serialize};

use super::credentials::Credentials;

/// Credentials that were made. Not secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Issued {
    /// Whose.
    pub name: AgentName,
    /// What they are for.
    pub role: RoleId,
    /// Whose turns they take; of agents only.
    pub pool: Option<PoolId>,
    /// Whose harness they are for; of agents only. Earlier versions did not say: foreign.
    #[serde(default)]
    pub harness: Option<Harness>,
    /// The user's public key (`U…`).
    pub public_key: String,
    /// The signing key that they were signed with.
    pub issuer: String,
    /// Seconds since the epoch.
    pub issued_at: u64,
    /// Seconds since the epoch; none: never.
    pub expires_at: Option<u64>,
    /// Where they were written to: below the folder, or absolute. None: they were only printed.
    pub file: Option<PathBuf>,
    /// The file may not be there yet.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) pending: bool,
}

/// Whether credentials count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CredentialsStanding {
    /// They do.
    Valid,
    /// They do until their role's former signing key is dropped.
    OldKey,
    /// Their time is over.
    Expired,
    /// They were revoked.
    Revoked,
    /// Their signing key was dropped.
    Dropped,
}

impl CredentialsStanding {
    /// Whether the broker lets them in.
    #[must_use]
    pub fn counts(self) -> bool {
        matches!(self, Self::Valid | Self::OldKey)
    }

    /// For people.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Valid => "valid",
            Self::OldKey => "old key",
            Self::Expired => "expired",
            Self::Revoked => "revoked",
            Self::Dropped => "dropped",
        }
    }
}

impl Issued {
    /// These are the credentials, as they were found in the file.
    pub(super) fn taken_over(&mut self, found: &Credentials) {
        self.pending = false;
        found.issuer().clone_into(&mut self.issuer);
        self.issued_at = found.issued_at();
        self.expires_at = found.expires_at();
    }
}
