//! The public half of an authority, given to every process: whose word counts.

use std::collections::BTreeMap;

use holdpoint_protocol::{
    Timestamp,
    facts::Harness,
    ids::{AgentName, RoleId, role},
    roles::Roles,
};
use nkeys::{KeyPair, KeyPairType};
use serde::{Deserialize, Serialize};

use super::{credentials::Credentials, jwt, permissions, signer::verify_signature};

/// Public keys that are trusted, and those that no longer are. Not secret; what is changed in it changes who is
/// believed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrustRoots {
    /// The public key of the account of agents and people.
    pub agents_account: String,
    /// The public half of each role's signing key.
    pub roles: BTreeMap<RoleId, String>,
    /// The signing keys that roles had before, which count until they are dropped.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub former: BTreeMap<RoleId, String>,
    /// The public keys of the orchestrators: who may write a journal.
    pub orchestrators: Vec<String>,
    /// Public keys of users whose credentials no longer count, and since when (seconds since the epoch).
    pub revoked: BTreeMap<String, u64>,
}

/// A user whose JWT was checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerifiedUser {
    /// Its name.
    pub name: AgentName,
    /// The role whose signing key issued the JWT.
    pub role: RoleId,
    /// The key that its signatures are checked with.
    pub public_key: String,
    /// The tags of the JWT, the pool among them (`pool:<pool>`).
    pub tags: Vec<String>,
}

impl VerifiedUser {
    /// Whose harness works under this user's key.
    #[must_use]
    pub fn harness(&self) -> Harness {
        permissions::harness(&self.tags)
    }

    /// This user, if it is of that role.
    pub(super) fn of(self, role: &RoleId) -> Result<Self, JwtRefusal> {
        if self.role == *role {
            Ok(self)
        } else {
            Err(JwtRefusal::WrongRole { expected: role.clone(), found: self.role })
        }
    }
}

/// A JWT that its issuer signed.
#[derive(Debug, Clone)]
pub(super) struct Checked {
    pub(super) user: VerifiedUser,
    pub(super) issuer: String,
    /// Seconds since the epoch; none: never.
    pub(super) expires_at: Option<u64>,
}

/// Why a JWT is not believed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JwtRefusal {
    /// It is not a user's JWT in the ecosystem's format.
    #[error("not a user's JWT")]
    Malformed,
    /// Its issuer is no role's signing key.
    #[error("issued by an unknown key")]
    UnknownIssuer,
    /// Its issuer is the signing key of another role.
    #[error("issued for the role {found}, not {expected}")]
    WrongRole {
        /// The role it had to be for.
        expected: RoleId,
        /// The role it is for.
        found: RoleId,
    },
    /// Its signature is not its issuer's.
    #[error("the signature is not its issuer's")]
    BadSignature,
    /// Its key was revoked.
    #[error("revoked")]
    Revoked,
    /// Its time is over.
    #[error("expired")]
    Expired,
}

#[derive(Debug, Deserialize)]
struct UserPart {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    issuer_account: String,
    #[serde(default)]
    tags: Vec<String>,
}

impl TrustRoots {
    /// The roles of the fleet: those that have a signing key.
    #[must_use]
    pub fn fleet_roles(&self) -> Roles {
        Roles::with_all(self.roles.keys())
    }

    /// Checks a user's JWT, whatever its role.
    ///
    /// # Errors
    /// [`JwtRefusal`] says what is wrong with it.
    pub fn verify_jwt(&self, jwt: &str, now: Timestamp) -> Result<VerifiedUser, JwtRefusal> {
        let checked = self.check_jwt(jwt)?;
        self.still_counts(&checked, now)?;
        Ok(checked.user)
    }

    /// Whose credentials these are, if they count. That the orchestrators' signing key made those of an orchestrator is
    /// the broker's to check: only its user's key is known here.
    ///
    /// # Errors
    /// [`JwtRefusal`] says why they do not count.
    pub fn check_credentials(&self, credentials: &Credentials, now: Timestamp) -> Result<RoleId, JwtRefusal> {
        if !self.orchestrators.iter().any(|key| key == credentials.public_key()) {
            return self.verify_jwt(credentials.jwt(), now).map(|user| user.role);
        }
        self.lasts(credentials.public_key(), credentials.expires_at(), now)?;
        Ok(role::id(role::ORCHESTRATOR))
    }

    /// Checks a user's JWT that has to be of one role.
    ///
    /// # Errors
    /// As [`TrustRoots::verify_jwt`], and [`JwtRefusal::WrongRole`].
    pub fn verify_jwt_of(&self, role: &RoleId, jwt: &str, now: Timestamp) -> Result<VerifiedUser, JwtRefusal> {
        self.verify_jwt(jwt, now)?.of(role)
    }

    /// What about a JWT never changes: its shape, its issuer, its signature.
    pub(super) fn check_jwt(&self, jwt: &str) -> Result<Checked, JwtRefusal> {
        let parsed = jwt::parse::<UserPart>(jwt).ok_or(JwtRefusal::Malformed)?;
        let claims = &parsed.claims;
        let is_user_key =
            KeyPair::from_public_key(&claims.sub).is_ok_and(|key| key.key_pair_type() == KeyPairType::User);
        let role = self.role_of(&claims.iss);
        // Archivists are users of the account with the streams.
        let is_archivist = role.is_some_and(|role| role.as_str() == role::ARCHIVIST);
        let is_outside = claims.nats.issuer_account == self.agents_account;
        if claims.nats.kind != "user" || !(is_outside || is_archivist) || !is_user_key {
            return Err(JwtRefusal::Malformed);
        }
        let role = role.ok_or(JwtRefusal::UnknownIssuer)?;
        if !parsed.is_signed_by_issuer() {
            return Err(JwtRefusal::BadSignature);
        }
        let user = VerifiedUser {
            name: claims.name.parse().map_err(|_| JwtRefusal::Malformed)?,
            role: role.clone(),
            public_key: claims.sub.clone(),
            tags: claims.nats.tags.clone(),
        };
        Ok(Checked { user, issuer: claims.iss.clone(), expires_at: claims.exp })
    }

    /// What about a JWT may change: its issuer was dropped, its key was revoked, its time is over.
    pub(super) fn still_counts(&self, checked: &Checked, now: Timestamp) -> Result<(), JwtRefusal> {
        if self.role_of(&checked.issuer) != Some(&checked.user.role) {
            return Err(JwtRefusal::UnknownIssuer);
        }
        self.lasts(&checked.user.public_key, checked.expires_at, now)
    }

    fn lasts(&self, public_key: &str, expires_at: Option<u64>, now: Timestamp) -> Result<(), JwtRefusal> {
        if self.revoked.contains_key(public_key) {
            return Err(JwtRefusal::Revoked);
        }
        let now_s = u64::try_from(now.as_seconds()).unwrap_or(0);
        if expires_at.is_some_and(|end| end <= now_s) { Err(JwtRefusal::Expired) } else { Ok(()) }
    }

    /// The role whose signing key this is, or was until it is dropped.
    pub(super) fn role_of(&self, signing_key: &str) -> Option<&RoleId> {
        self.roles.iter().chain(&self.former).find(|(_, key)| *key == signing_key).map(|(role, _)| role)
    }

    /// Whether an orchestrator signed these bytes for this subject. `at` is when the broker stored them: what an
    /// orchestrator wrote before its key was revoked goes on counting, or a journal would lose its past with the key.
    #[must_use]
    pub fn is_orchestrators(&self, subject: &str, payload: &[u8], signature: &str, at: Timestamp) -> bool {
        self.orchestrators_at(at).any(|key| verify_signature(key, subject, payload, signature))
    }

    /// The public keys of the orchestrators whose word counted when the broker stored something.
    pub(crate) fn orchestrators_at(&self, at: Timestamp) -> impl Iterator<Item = &str> {
        self.orchestrators.iter().map(String::as_str).filter(move |key| !self.was_revoked(key, at))
    }

    /// Whether a key was revoked before that time.
    pub(super) fn was_revoked(&self, key: &str, at: Timestamp) -> bool {
        let at_s = u64::try_from(at.as_seconds()).unwrap_or(0);
        self.revoked.get(key).is_some_and(|since| at_s > *since)
    }
}
