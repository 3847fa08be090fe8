//! Users whose JWTs were checked before. A JWT's signature is checked once; its time, its issuer, and whether its key was
//! revoked, each time.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use holdpoint_protocol::{Timestamp, ids::RoleId};

use super::{
    roots::{Checked, JwtRefusal, VerifiedUser},
    trust::Trust,
};

/// JWTs that are remembered: far more than a fleet has users. Past that all are checked again.
const KNOWN_MAX: usize = 4_096;

/// Trust roots with a memory. Cheap to clone; clones share it.
#[derive(Debug, Clone)]
pub struct KnownUsers {
    trust: Trust,
    checked: Arc<Mutex<HashMap<String, Checked>>>,
}

impl KnownUsers {
    /// Knows nobody yet.
    #[must_use]
    pub fn new(trust: impl Into<Trust>) -> Self {
        Self { trust: trust.into(), checked: Arc::default() }
    }

    /// As [`super::TrustRoots::verify_jwt`].
    ///
    /// # Errors
    /// [`JwtRefusal`] says what is wrong with it.
    pub fn verify_jwt(&self, jwt: &str, now: Timestamp) -> Result<VerifiedUser, JwtRefusal> {
        let known = self.checked.lock().unwrap_or_else(PoisonError::into_inner).get(jwt).cloned();
        let roots = self.trust.roots();
        let checked = match known {
            Some(checked) => checked,
            None => roots.check_jwt(jwt)?,
        };
        roots.still_counts(&checked, now)?;
        let mut all = self.checked.lock().unwrap_or_else(PoisonError::into_inner);
        if !all.contains_key(jwt) {
            if all.len() >= KNOWN_MAX {
                all.clear();
            }
            all.insert(jwt.to_owned(), checked.clone());
        }
        Ok(checked.user)
    }

    /// As [`super::TrustRoots::verify_jwt_of`].
    ///
    /// # Errors
    /// [`JwtRefusal`] says what is wrong with it.
    pub fn verify_jwt_of(&self, role: &RoleId, jwt: &str, now: Timestamp) -> Result<VerifiedUser, JwtRefusal> {
        self.verify_jwt(jwt, now)?.of(role)
    }
}
