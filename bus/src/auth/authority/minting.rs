//! Making credentials: a user of one account for each person, agent and process.

use std::time::Duration;

use holdpoint_protocol::{
    facts::Harness,
    ids::{AgentName, PoolId, RoleId, role},
};
use nkeys::KeyPair;
use serde_json::Value;

use super::{Authority, UnknownRole, now_s};
use crate::auth::{
    accounts,
    credentials::Credentials,
    jwt::{self, Subject},
    permissions,
};

/// The name of the user that looks after connections.
const CONNECTIONS: &str = "connections";

/// How long a migrator's key counts unless it is said: a migration is done once.
const MIGRATOR_LIFETIME: Duration = Duration::from_secs(24 * 60 * 60);

/// Whom credentials are for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CredentialRequest {
    /// An agent's role, `operator`, `orchestrator`, `archivist` or `migrator`.
    pub role: RoleId,
    /// The name, which no other user may have: a user's inbox is named by it.
    pub name: AgentName,
    /// Whose turns it takes; of agents only.
    pub pool: PoolId,
    /// Whose harness works under them; of agents only.
    pub harness: Harness,
    /// How long they count; none: for good, but a migrator's for a day.
    pub lifetime: Option<Duration>,
}

impl Authority {
    /// Credentials for anybody. An orchestrator's key is named by the trust roots from now on: save and hand out both.
    ///
    /// # Errors
    /// [`UnknownRole`] when nobody of that role has credentials.
    pub fn mint(&mut self, order: &CredentialRequest) -> Result<Credentials, UnknownRole> {
        let CredentialRequest { role, name, lifetime, .. } = order;
        match role.as_str() {
            role::ORCHESTRATOR => Ok(self.mint_orchestrator_for(name, *lifetime)),
            role::OPERATOR => self.mint_user(role, name, &[], *lifetime),
            role::ARCHIVIST => {
                self.ensure_archivists();
                self.mint_archivist(name, *lifetime)
            }
            role::MIGRATOR => Ok(self.mint_migrator(name, *lifetime)),
            _ => self.mint_ordered(order),
        }
    }

    /// Credentials of an orchestrator, with a fresh key that the trust roots name from now on: save and hand out both.
    #[must_use]
    pub fn mint_orchestrator(&mut self, name: &AgentName) -> Credentials {
        self.mint_orchestrator_for(name, None)
    }

    fn mint_orchestrator_for(&mut self, name: &AgentName, lifetime: Option<Duration>) -> Credentials {
        let key = KeyPair::new_user();
        self.roots.orchestrators.push(key.public_key());
        let nats = accounts::orchestrator(&self.holdpoint.public_key());
        mint(name, &key, nats, &self.orchestrators, lifetime)
    }

    /// Credentials of an archivist, for good or for `lifetime`.
    ///
    /// # Errors
    /// [`UnknownRole`]: the authority is of before there were archivists. [`Authority::ensure_archivists`] gives it their key.
    pub fn mint_archivist(&self, name: &AgentName, lifetime: Option<Duration>) -> Result<Credentials, UnknownRole> {
        let nats = accounts::archivist(&self.holdpoint.public_key(), name);
        Ok(mint(name, &KeyPair::new_user(), nats, self.signing_key(&role::id(role::ARCHIVIST))?, lifetime))
    }

    /// Credentials of a migrator, for a day or for `lifetime`. The account with the streams signs them itself, so that no broker has to
    /// be told.
    #[must_use]
    pub fn mint_migrator(&self, name: &AgentName, lifetime: Option<Duration>) -> Credentials {
        let lifetime = lifetime.or(Some(MIGRATOR_LIFETIME));
        mint(name, &KeyPair::new_user(), accounts::migrator(name), &self.holdpoint, lifetime)
    }

    /// Credentials of an agent that takes the turns of `pool`, for good or for `lifetime`. Its harness is not Holdpoint's: what
    /// a verifier reports under them is recorded as foreign.
    ///
    /// # Errors
    /// [`UnknownRole`] when the role has no signing key here, or is not an agent's.
    pub fn mint_agent(
        &self,
        role: &RoleId,
        name: &AgentName,
        pool: &PoolId,
        lifetime: Option<Duration>,
    ) -> Result<Credentials, UnknownRole> {
        let (role, name, pool) = (role.clone(), name.clone(), pool.clone());
        self.mint_ordered(&CredentialRequest { role, name, pool, harness: Harness::Foreign, lifetime })
    }

    /// As [`Authority::mint_agent`], for a process of Holdpoint's own.
    ///
    /// # Errors
    /// [`UnknownRole`] when the role has no signing key here, or is not an agent's.
    pub fn mint_own_agent(&self, role: &RoleId, name: &AgentName, pool: &PoolId) -> Result<Credentials, UnknownRole> {
        let (role, name, pool) = (role.clone(), name.clone(), pool.clone());
        self.mint_ordered(&CredentialRequest { role, name, pool, harness: Harness::Holdpoint, lifetime: None })
    }

    /// An agent's.
    fn mint_ordered(&self, order: &CredentialRequest) -> Result<Credentials, UnknownRole> {
        let CredentialRequest { role, name, pool, harness, lifetime } = order;
        if !permissions::takes_turns(role) {
            return Err(UnknownRole { role: role.clone() });
        }
        self.mint_user(role, name, &permissions::agent_tags(pool, *harness), *lifetime)
    }

    /// Credentials of a person or a script that goes through the API.
    #[must_use]
    pub fn mint_operator(&self, name: &AgentName) -> Credentials {
        self.mint_user(&role::id(role::OPERATOR), name, &[], None).expect("every authority has a key for operators")
    }

    /// Credentials with which an orchestrator looks at the connections of agents and people, and ends them: of the broker's
    /// own account, and for nothing else.
    #[must_use]
    pub fn mint_connections(&self) -> Credentials {
        let name = AgentName::try_new(CONNECTIONS).expect("a literal id");
        let nats = accounts::connections(&self.agents.public_key(), &name);
        mint(&name, &KeyPair::new_user(), nats, &self.system, None)
    }

    fn mint_user(
        &self,
        role: &RoleId,
        name: &AgentName,
        tags: &[String],
        lifetime: Option<Duration>,
    ) -> Result<Credentials, UnknownRole> {
        let nats = accounts::scoped_user(&self.agents.public_key(), tags);
        Ok(mint(name, &KeyPair::new_user(), nats, self.signing_key(role)?, lifetime))
    }
}

fn mint(name: &AgentName, key: &KeyPair, nats: Value, issuer: &KeyPair, lifetime: Option<Duration>) -> Credentials {
    let issued_at = now_s();
    let subject = Subject {
        name: name.as_str(),
        public_key: &key.public_key(),
        issued_at,
        expires_at: lifetime.map(|span| issued_at + span.as_secs()),
    };
    let seed = key.seed().expect("a fresh key has its seed");
    Credentials::new(jwt::encode(subject, nats, issuer), seed).expect("JWT and seed were made for each other")
}
