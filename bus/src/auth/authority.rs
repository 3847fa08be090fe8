//! The secret half: makes accounts and users by signing. Nothing of it is needed by a running fleet.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use holdpoint_protocol::{
    facts::Harness,
    ids::{AgentName, PoolId, RoleId, role},
    roles::{RoleRefused, Roles},
};
use nkeys::KeyPair;
use serde_json::Value;

use super::{
    accounts,
    credentials::Credentials,
    folder::Issued,
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

/// The name of the user that looks after connections.
const CONNECTIONS: &str = "connections";

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

/// How long a migrator's key counts unless it is said: a migration is done once.
const MIGRATOR_LIFETIME: Duration = Duration::from_secs(24 * 60 * 60);

/// Operator, accounts and signing keys of one broker. Secret: its `Debug` form shows the operator's public key only.
pub struct Authority {
    pub(super) operator: KeyPair,
    pub(super) system: KeyPair,
    pub(super) holdpoint: KeyPair,
    pub(super) agents: KeyPair,
    pub(super) orchestrators: KeyPair,
    /// The orchestrators' signing key before that one, until it is dropped.
    pub(super) former_orchestrators: Option<String>,
    pub(super) roles: BTreeMap<RoleId, KeyPair>,
    /// The declared roles whose turns make work: they do not see how it is judged.
    pub(super) makers: BTreeSet<RoleId>,
    pub(super) roots: TrustRoots,
    /// Seconds since the epoch. The broker does not take another operator in while it runs, so its claims never change.
    pub(super) created_at: u64,
    /// When the accounts' claims were last changed: equal keys have an equal configuration.
    pub(super) changed_at: u64,
    /// What a key folder knows of credentials; nothing where none is kept.
    pub(super) issued: Vec<Issued>,
}

impl Authority {
    /// Fresh keys for everything, from the operating system's randomness.
    #[must_use]
    pub fn create() -> Self {
        let agents = KeyPair::new_account();
        let roles: BTreeMap<RoleId, KeyPair> = role::AGENTS
            .into_iter()
            .chain([role::OPERATOR, role::ARCHIVIST])
            .map(|name| (role::id(name), KeyPair::new_account()))
            .collect();
        let roots = TrustRoots {
            agents_account: agents.public_key(),
            roles: roles.iter().map(|(role, key)| (role.clone(), key.public_key())).collect(),
            former: BTreeMap::new(),
            orchestrators: Vec::new(),
            revoked: BTreeMap::new(),
        };
        let now = now_s();
        Self {
            operator: KeyPair::new_operator(),
            system: KeyPair::new_account(),
            holdpoint: KeyPair::new_account(),
            agents,
            orchestrators: KeyPair::new_account(),
            former_orchestrators: None,
            roles,
            makers: BTreeSet::new(),
            roots,
            created_at: now,
            changed_at: now,
            issued: Vec::new(),
        }
    }

    /// What every process has to know to decide whose word counts.
    #[must_use]
    pub fn trust_roots(&self) -> &TrustRoots {
        &self.roots
    }

    /// The roles of the fleet.
    #[must_use]
    pub fn fleet_roles(&self) -> Roles {
        self.roots.fleet_roles()
    }

    /// Gives the fleet a role of agents, with a signing key of its own. `makes`: its turns make work, as a builder's do, so
    /// that it does not see how work is judged. Of a role that is there, only this changes.
    ///
    /// # Errors
    /// [`RoleRefused`]; built-in roles are there, and as they are.
    pub fn add_role(&mut self, role: &RoleId, makes: bool) -> Result<(), RoleRefused> {
        let roles = self.fleet_roles();
        roles.accepts(role)?;
        if role::AGENTS.contains(&role.as_str()) || self.roles.contains_key(role) && self.makes(role) == makes {
            return Ok(());
        }
        if !self.roles.contains_key(role) {
            self.add_key(role);
        }
        if makes {
            self.makers.insert(role.clone())
        } else {
            self.makers.remove(role)
        };
        self.changed_at = now_s();
        Ok(())
    }

    /// Whether the role's turns make work.
    #[must_use]
    pub fn makes(&self, role: &RoleId) -> bool {
        matches!(role.as_str(), role::BUILDER | role::REPAIR) || self.makers.contains(role)
    }

    /// The part of the server's configuration that says who is who. Not secret. The same for the same keys.
    #[must_use]
    pub fn server_config(&self) -> String {
        let (system, holdpoint, agents) =
            (self.system.public_key(), self.holdpoint.public_key(), self.agents.public_key());
        let signed = |name: &str, key: &str, issued_at: u64, nats: Value| {
            let subject = Subject { name, public_key: key, issued_at, expires_at: None };
            jwt::encode(subject, nats, &self.operator)
        };
        let (created_at, changed_at) = (self.created_at, self.changed_at);
        let operator = signed("holdpoint", &self.operator.public_key(), created_at, accounts::operator(&system));
        let TrustRoots { revoked, roles, former, .. } = &self.roots;
        let system_jwt = signed("SYS", &system, changed_at, accounts::system(revoked));
        let archivist = role::id(role::ARCHIVIST);
        let own_keys = std::iter::once(self.orchestrators.public_key()).chain(self.former_orchestrators.clone());
        let own_keys: Vec<String> =
            own_keys.chain([roles, former].into_iter().filter_map(|keys| keys.get(&archivist).cloned())).collect();
        let fleet = self.fleet_roles();
        let holdpoint_claims = accounts::holdpoint(&agents, &fleet, &own_keys, revoked);
        let holdpoint_jwt = signed("HOLDPOINT", &holdpoint, changed_at, holdpoint_claims);
        let scope = |(role, key)| {
            let key: &String = key;
            (role, key.as_str(), permissions::template(role, self.makes(role)))
        };
        let of_roles: Vec<_> = roles.iter().chain(former).filter(|(role, _)| **role != archivist).map(scope).collect();
        let agents_claims = accounts::agents(&holdpoint, &fleet, &of_roles, revoked);
        let agents_jwt = signed("AGENTS", &agents, changed_at, agents_claims);
        format!(
            "operator: {operator}\nsystem_account: {system}\nresolver: MEMORY\nresolver_preload: {{\n  \
             {system}: {system_jwt}\n  {holdpoint}: {holdpoint_jwt}\n  {agents}: {agents_jwt}\n}}\n"
        )
    }

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

    /// Gives an authority of before there were archivists a signing key for them; whether it did. Save it then, and have the broker
    /// read what follows from it.
    pub fn ensure_archivists(&mut self) -> bool {
        let role = role::id(role::ARCHIVIST);
        let is_new = !self.roles.contains_key(&role);
        if is_new {
            self.add_key(&role);
        }
        is_new
    }

    /// Gives a role a signing key.
    fn add_key(&mut self, role: &RoleId) {
        let key = KeyPair::new_account();
        self.roots.roles.insert(role.clone(), key.public_key());
        self.roles.insert(role.clone(), key);
        self.changed_at = now_s();
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

    /// Takes a user's credentials back. Counts for every process that has the new trust roots, and for a broker that
    /// has the new configuration.
    pub fn revoke(&mut self, public_key: &str) {
        let now = now_s();
        self.roots.revoked.entry(public_key.to_owned()).or_insert(now);
        self.changed_at = now;
    }

    /// Gives a role a new signing key. What the key before it signed counts until [`Authority::drop_former`]; while that
    /// is not done, this changes nothing. The seed of the former key is gone.
    ///
    /// # Errors
    /// [`UnknownRole`] when nobody of that role has credentials.
    pub fn rotate(&mut self, role: &RoleId) -> Result<(), UnknownRole> {
        if self.former_key(role).is_some() {
            return Ok(());
        }
        let former = self.signing_key(role)?.public_key();
        let fresh = KeyPair::new_account();
        if role.as_str() == role::ORCHESTRATOR {
            self.orchestrators = fresh;
            self.former_orchestrators = Some(former);
        } else {
            self.roots.roles.insert(role.clone(), fresh.public_key());
            self.roots.former.insert(role.clone(), former);
            self.roles.insert(role.clone(), fresh);
        }
        self.changed_at = now_s();
        Ok(())
    }

    /// From now on what the role's former signing key signed does not count; that key, if there is one.
    pub fn drop_former(&mut self, role: &RoleId) -> Option<String> {
        let dropped = match role.as_str() {
            role::ORCHESTRATOR => self.former_orchestrators.take(),
            _ => self.roots.former.remove(role),
        };
        if dropped.is_some() {
            self.changed_at = now_s();
        }
        dropped
    }

    /// The role's former signing key, if it still counts.
    #[must_use]
    pub fn former_key(&self, role: &RoleId) -> Option<&str> {
        let former = match role.as_str() {
            role::ORCHESTRATOR => self.former_orchestrators.as_ref(),
            _ => self.roots.former.get(role),
        };
        former.map(String::as_str)
    }

    /// The public half of the key that signs a role's credentials.
    #[must_use]
    pub fn public_signing_key(&self, role: &RoleId) -> Option<String> {
        self.signing_key(role).ok().map(KeyPair::public_key)
    }

    /// The key that signs a role's credentials.
    pub(super) fn signing_key(&self, role: &RoleId) -> Result<&KeyPair, UnknownRole> {
        match role.as_str() {
            role::ORCHESTRATOR => Ok(&self.orchestrators),
            role::MIGRATOR => Ok(&self.holdpoint),
            _ => self.roles.get(role).ok_or_else(|| UnknownRole { role: role.clone() }),
        }
    }

    /// The same credentials, signed by the role's present key.
    pub(super) fn renew(&self, role: &RoleId, credentials: &Credentials) -> Result<Credentials, UnknownRole> {
        let claims = jwt::parse::<Value>(credentials.jwt()).expect("credentials hold a JWT").claims;
        let subject = Subject {
            name: credentials.name().as_str(),
            public_key: credentials.public_key(),
            issued_at: now_s(),
            expires_at: claims.exp,
        };
        let signed = jwt::encode(subject, claims.nats, self.signing_key(role)?);
        Ok(Credentials::new(signed, credentials.seed().to_owned()).expect("JWT and seed are the same user's"))
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

/// Seconds since the epoch: keys are made at human pace, by the clock of the machine.
pub(super) fn now_s() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
