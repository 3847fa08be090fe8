//! The secret half: makes accounts and users by signing. Nothing of it is needed by a running fleet. `minting` makes the users.

mod minting;

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    time::{SystemTime, UNIX_EPOCH},
};

use holdpoint_protocol::{
    ids::{RoleId, role},
    roles::{RoleRefused, Roles},
};
pub use minting::CredentialRequest;
use nkeys::KeyPair;
use serde_json::Value;

use super::{
    accounts,
    credentials::Credentials,
    issued::{CredentialsStanding, Issued},
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
        matches!(role.as_str(), role::BUILDER | role::REPAIR | role::SOLO) || self.makers.contains(role)
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

    /// Whether credentials count; `now_s` in seconds since the epoch.
    pub(super) fn standing(&self, issued: &Issued, now_s: u64) -> CredentialsStanding {
        if self.roots.revoked.contains_key(&issued.public_key) {
            return CredentialsStanding::Revoked;
        }
        let signed_by = self.signing_key(&issued.role).map(KeyPair::public_key).unwrap_or_default();
        let by_former = self.former_key(&issued.role) == Some(&issued.issuer);
        if signed_by != issued.issuer && !by_former {
            return CredentialsStanding::Dropped;
        }
        if issued.expires_at.is_some_and(|end| end <= now_s) {
            return CredentialsStanding::Expired;
        }
        if by_former { CredentialsStanding::OldKey } else { CredentialsStanding::Valid }
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

/// Seconds since the epoch: keys are made at human pace, by the clock of the machine.
pub(super) fn now_s() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
