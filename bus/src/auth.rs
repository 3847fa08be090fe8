//! Who may say what: keys, credentials, the accounts of the broker, and what is signed.
//!
//! The broker runs in operator mode: an [`Authority`] holds the operator's and accounts' keys and one *scoped* signing
//! key per role, so that an agent is added by signing offline, without touching the broker. Every process knows the
//! public half, [`TrustRoots`]. Nothing here talks to a broker, and nothing here knows what is signed.

mod accounts;
mod authority;
mod claim;
mod credentials;
mod dsse;
mod folder;
mod issued;
mod jwt;
mod known;
mod past;
mod permissions;
mod roots;
mod signer;
mod store;
#[cfg(test)]
mod tests;
mod trust;

pub use authority::{Authority, CredentialRequest, UnknownRole};
pub use claim::{ClaimError, CredentialsLock, claim};
pub use credentials::{Credentials, Holder, InvalidCredentials};
pub use dsse::{EnvelopeError, open_envelope};
pub use folder::{Changed, CredentialsDestination, KeyFolder, KeyFolderError, Rotation, SYSTEM_CREDS};
pub use issued::{CredentialsStanding, Issued};
pub use known::KnownUsers;
pub use past::{PastSenders, SignedMessage};
pub use roots::{JwtRefusal, TrustRoots, VerifiedUser};
pub(crate) use signer::{SignedInput, verify_all};
pub use signer::{Signer, raw_public_key, verify_signature};
pub use store::StoreError;
pub use trust::{Trust, WatchedTrust};

pub(crate) use accounts::CONNECTIONS_MAX;
pub(crate) use permissions::{OF_AGENTS, PROGRESS, may_call};
pub(crate) use store::write_secret;
