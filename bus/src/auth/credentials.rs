//! `.creds` files: a user's JWT and seed, in the text form that every client of the ecosystem reads.

use std::fmt;

use holdpoint_protocol::ids::AgentName;
use nkeys::{KeyPair, KeyPairType};
use serde_json::Value;

use super::{
    jwt::{self, Claims},
    permissions,
    signer::Signer,
};

const JWT_BEGIN: &str = "-----BEGIN NATS USER JWT-----";
const JWT_END: &str = "------END NATS USER JWT------";
const SEED_BEGIN: &str = "-----BEGIN USER NKEY SEED-----";
const SEED_END: &str = "------END USER NKEY SEED------";

/// Why a text is no credentials.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidCredentials {
    /// A block of the file is missing.
    #[error("no {block} block in the credentials")]
    MissingBlock {
        /// What the block holds.
        block: &'static str,
    },
    /// The JWT does not parse.
    #[error("the JWT in the credentials is not a user's")]
    BadJwt,
    /// The user's name is not an agent name.
    #[error("the name in the credentials' JWT is not an id")]
    BadName,
    /// The seed is not one of a user's key, or of another key than the JWT's.
    #[error("the seed in the credentials does not belong to their JWT")]
    BadSeed,
}

/// Whom a JWT is made for, as far as it says so itself. Only its signature shows the role.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holder {
    /// A person or a script that goes through the API.
    Operator,
    /// An agent, which takes the turns of a pool.
    Agent,
    /// A process of the fleet: an orchestrator, an archivist, a migrator.
    Process,
}

/// A user's JWT and seed. Secret: the `Debug` form shows the name and public key only.
#[derive(Clone)]
pub struct Credentials {
    jwt: String,
    seed: String,
    name: AgentName,
    public_key: String,
    issuer: String,
    issued_at: u64,
    expires_at: Option<u64>,
    is_scoped: bool,
    is_of_account: bool,
    has_pool: bool,
}

impl Credentials {
    pub(super) fn new(jwt: String, seed: String) -> Result<Self, InvalidCredentials> {
        let claims = jwt::parse::<Value>(&jwt).ok_or(InvalidCredentials::BadJwt)?.claims;
        let key = KeyPair::from_seed(&seed).map_err(|_| InvalidCredentials::BadSeed)?;
        if !matches!(key.key_pair_type(), KeyPairType::User) || key.public_key() != claims.sub {
            return Err(InvalidCredentials::BadSeed);
        }
        let Claims { iat, exp, iss, name, sub, nats, .. } = claims;
        let name = AgentName::try_new(name).map_err(|_| InvalidCredentials::BadName)?;
        // The broker takes permissions of a user's own from no user whose key has a template.
        let is_scoped = nats.get("pub").is_none() && nats.get("sub").is_none();
        let is_of_account = nats.get("issuer_account").is_none();
        let tags = nats.get("tags").and_then(Value::as_array);
        let has_pool = tags.is_some_and(|tags| tags.iter().filter_map(Value::as_str).any(permissions::is_pool));
        let (public_key, issuer, issued_at, expires_at) = (sub, iss, iat, exp);
        Ok(Self { jwt, seed, name, public_key, issuer, issued_at, expires_at, is_scoped, is_of_account, has_pool })
    }

    /// Reads the text of a `.creds` file.
    ///
    /// # Errors
    /// A block is missing, or JWT and seed are not those of one user.
    pub fn parse(text: &str) -> Result<Self, InvalidCredentials> {
        Self::new(block(text, JWT_BEGIN, "JWT")?, block(text, SEED_BEGIN, "seed")?)
    }

    /// The text of a `.creds` file. Secret.
    #[must_use]
    pub fn to_text(&self) -> String {
        let Self { jwt, seed, .. } = self;
        format!(
            "{JWT_BEGIN}\n{jwt}\n{JWT_END}\n\n************************* IMPORTANT *************************\n\
             NKEY Seed printed below can be used to sign and prove identity.\nNKEYs are sensitive and should be treated as secrets.\n\n\
             {SEED_BEGIN}\n{seed}\n{SEED_END}\n\n*************************************************************\n"
        )
    }

    /// The user's name.
    #[must_use]
    pub fn name(&self) -> &AgentName {
        &self.name
    }

    /// The user's public key (`U…`).
    #[must_use]
    pub fn public_key(&self) -> &str {
        &self.public_key
    }

    /// The public key of the signing key that issued the JWT (`A…`).
    #[must_use]
    pub fn issuer(&self) -> &str {
        &self.issuer
    }

    /// When they were issued, in seconds since the epoch.
    #[must_use]
    pub fn issued_at(&self) -> u64 {
        self.issued_at
    }

    /// When they end, in seconds since the epoch; none: never.
    #[must_use]
    pub fn expires_at(&self) -> Option<u64> {
        self.expires_at
    }

    /// Whether its permissions are the template of its role's signing key: those of agents and operators are, an
    /// orchestrator's are in its own JWT.
    pub(crate) fn is_scoped(&self) -> bool {
        self.is_scoped
    }

    /// Whom they are made for.
    #[must_use]
    pub fn holder(&self) -> Holder {
        match (self.is_scoped && !self.is_of_account, self.has_pool) {
            (true, true) => Holder::Agent,
            (true, false) => Holder::Operator,
            (false, _) => Holder::Process,
        }
    }

    /// Whether an account signed them itself, and no signing key of a role: a migrator's.
    #[must_use]
    pub fn is_of_account(&self) -> bool {
        self.is_of_account
    }

    pub(super) fn seed(&self) -> &str {
        &self.seed
    }

    /// The user's JWT. Not secret.
    #[must_use]
    pub fn jwt(&self) -> &str {
        &self.jwt
    }

    /// Signs as this user.
    #[must_use]
    pub fn signer(&self) -> Signer {
        Signer::new(KeyPair::from_seed(&self.seed).expect("the seed was read when the credentials were made"))
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credentials").field("name", &self.name).field("public_key", &self.public_key).finish()
    }
}

/// The one line after `begin`.
fn block(text: &str, begin: &str, block: &'static str) -> Result<String, InvalidCredentials> {
    let mut lines = text.lines().map(str::trim).skip_while(|line| *line != begin).skip(1);
    lines
        .find(|line| !line.is_empty())
        .filter(|line| !line.starts_with('-'))
        .map(str::to_owned)
        .ok_or(InvalidCredentials::MissingBlock { block })
}
