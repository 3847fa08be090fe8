//! The secret half: makes accounts and users by signing. Nothing of it is needed by a running fleet.

use std::{
    collections::BTreeMap,
    fmt,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use holdpoint_protocol::ids::{AgentName, PoolId, RoleId, role};
use nkeys::KeyPair;
use serde_json::Value;

use super::{
    accounts,
    credentials::Credentials,
    jwt::{self, Subject},
    permissions,
    roots::TrustRoots,
};

/// A role without a signing key in this authority.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no signing key for the role {role}")]
pub struct UnknownRole {
    /// The role.
    pub role: RoleId,
}

/// Operator, accounts and signing keys of one broker. Secret: its `Debug` form shows the operator's public key only.
pub struct Authority {
    pub(super) operator: KeyPair,
    pub(super) system: KeyPair,
    pub(super) holdpoint: KeyPair,
    pub(super) agents: KeyPair,
    pub(super) orchestrators: KeyPair,
    pub(super) roles: BTreeMap<RoleId, KeyPair>,
    pub(super) roots: TrustRoots,
}

impl Authority {
    /// Fresh keys for everything, from the operating system's randomness.
    #[must_use]
    pub fn create() -> Self {
        let agents = KeyPair::new_account();
        let roles: BTreeMap<RoleId, KeyPair> = role::AGENTS
            .into_iter()
            .chain([role::OPERATOR])
            .map(|name| (role::id(name), KeyPair::new_account()))
            .collect();
        let roots = TrustRoots {
            agents_account: agents.public_key(),
            roles: roles.iter().map(|(role, key)| (role.clone(), key.public_key())).collect(),
            orchestrators: Vec::new(),
            revoked: BTreeMap::new(),
        };
        Self {
            operator: KeyPair::new_operator(),
            system: KeyPair::new_account(),
            holdpoint: KeyPair::new_account(),
            agents,
            orchestrators: KeyPair::new_account(),
            roles,
            roots,
        }
    }

    /// What every process has to know to tell whose word counts.
    #[must_use]
    pub fn trust_roots(&self) -> &TrustRoots {
        &self.roots
    }

    /// The part of the server's configuration that says who is who. Not secret.
    #[must_use]
    pub fn server_config(&self) -> String {
        let iat = now_s();
        let (system, holdpoint, agents) =
            (self.system.public_key(), self.holdpoint.public_key(), self.agents.public_key());
        let by_operator = |name: &str, key: &str, nats: Value| {
            let subject = Subject { name, public_key: key, issued_at: iat, expires_at: None };
            jwt::encode(subject, nats, &self.operator)
        };
        let operator = by_operator("holdpoint", &self.operator.public_key(), accounts::operator(&system));
        let system_jwt = by_operator("SYS", &system, accounts::system());
        let revoked = &self.roots.revoked;
        let holdpoint_jwt = by_operator(
            "HOLDPOINT",
            &holdpoint,
            accounts::holdpoint(&agents, &self.orchestrators.public_key(), revoked),
        );
        let agents_jwt = by_operator("AGENTS", &agents, accounts::agents(&holdpoint, &self.roots.roles, revoked));
        format!(
            "operator: {operator}\nsystem_account: {system}\nresolver: MEMORY\nresolver_preload: {{\n  \
             {system}: {system_jwt}\n  {holdpoint}: {holdpoint_jwt}\n  {agents}: {agents_jwt}\n}}\n"
        )
    }

    /// Credentials of an orchestrator, with a fresh key that the trust roots name from now on: save and hand out both.
    #[must_use]
    pub fn mint_orchestrator(&mut self, name: &AgentName) -> Credentials {
        let key = KeyPair::new_user();
        self.roots.orchestrators.push(key.public_key());
        let nats = accounts::orchestrator(&self.holdpoint.public_key());
        mint(name, &key, nats, &self.orchestrators, None)
    }

    /// Credentials of an agent that takes the turns of `pool`, for good or for `lifetime`.
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
        if !permissions::is_agent(role) {
            return Err(UnknownRole { role: role.clone() });
        }
        self.mint_user(role, name, &permissions::agent_tags(pool), lifetime)
    }

    /// Credentials of a person or a script that goes through the API.
    #[must_use]
    pub fn mint_operator(&self, name: &AgentName) -> Credentials {
        self.mint_user(&role::id(role::OPERATOR), name, &[], None).expect("every authority has a key for operators")
    }

    fn mint_user(
        &self,
        role: &RoleId,
        name: &AgentName,
        tags: &[String],
        lifetime: Option<Duration>,
    ) -> Result<Credentials, UnknownRole> {
        let issuer = self.roles.get(role).ok_or_else(|| UnknownRole { role: role.clone() })?;
        let nats = accounts::scoped_user(&self.agents.public_key(), tags);
        Ok(mint(name, &KeyPair::new_user(), nats, issuer, lifetime))
    }

    /// Takes a user's credentials back. Counts for whoever has the new trust roots, and for a broker that is started
    /// with the new configuration.
    pub fn revoke(&mut self, public_key: &str) {
        self.roots.revoked.insert(public_key.to_owned(), now_s());
    }
}

impl fmt::Debug for Authority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Authority").field("operator", &self.operator.public_key()).finish_non_exhaustive()
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

fn now_s() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
