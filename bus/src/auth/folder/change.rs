//! Taking credentials back, and giving roles new signing keys.

use std::fs;

use holdpoint_protocol::ids::{RoleId, role};
use nkeys::{KeyPair, KeyPairType};

use super::{CredentialsStanding, Issued, KeyFolder, KeyFolderError, io_error, now_s};
use crate::auth::{claim, credentials::Credentials};

/// What became of a role's credentials when it got a new signing key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rotation {
    /// Signed again, in their files.
    pub renewed: Vec<Issued>,
    /// Not found where they were written to. They count until the old key is dropped.
    pub left: Vec<Issued>,
}

/// Refuses a role whose credentials the account with the streams signs itself.
fn has_signing_key(role: &RoleId) -> Result<(), KeyFolderError> {
    if role.as_str() == role::MIGRATOR { Err(KeyFolderError::OfAccount { role: role.clone() }) } else { Ok(()) }
}

impl KeyFolder {
    /// Takes credentials back, by their user's name or public key, and removes their file from the folder. A public key
    /// that was not issued here is taken back as well: another copy of this folder may have.
    ///
    /// # Errors
    /// [`KeyFolderError::NotIssued`], and [`KeyFolderError::Store`] from the file system.
    pub fn revoke(&mut self, name_or_key: &str) -> Result<Option<Issued>, KeyFolderError> {
        let now_s = now_s();
        let issued = self.authority.issued.iter().find(|issued| {
            let named = issued.name.as_str() == name_or_key || issued.public_key == name_or_key;
            named && self.authority.standing(issued, now_s) != CredentialsStanding::Revoked
        });
        let issued = issued.cloned();
        let is_user_key =
            || KeyPair::from_public_key(name_or_key).is_ok_and(|key| key.key_pair_type() == KeyPairType::User);
        let public_key = match &issued {
            Some(issued) => issued.public_key.clone(),
            None if is_user_key() => name_or_key.to_owned(),
            None => return Err(KeyFolderError::NotIssued { what: name_or_key.to_owned() }),
        };
        self.authority.revoke(&public_key);
        self.save()?;
        if let Some(issued) = &issued {
            self.remove(issued)?;
        }
        Ok(issued)
    }

    /// Credentials of no use any more are not left where a process would take them.
    fn remove(&self, issued: &Issued) -> Result<(), KeyFolderError> {
        let Some(path) = self.path_of(issued).filter(|path| path.starts_with(&self.dir)) else { return Ok(()) };
        let is_it = Credentials::load(&path).is_ok_and(|found| found.public_key() == issued.public_key);
        if is_it { fs::remove_file(&path).map_err(|source| io_error(&path, source)) } else { Ok(()) }
    }

    /// Gives a role a new signing key and signs its credentials again, for the same users. Until
    /// [`KeyFolder::drop_old`] both keys count, and calling this again goes on with what is left.
    ///
    /// # Errors
    /// [`KeyFolderError::UnknownRole`], and [`KeyFolderError::Store`] from the file system.
    pub fn rotate(&mut self, role: &RoleId) -> Result<Rotation, KeyFolderError> {
        has_signing_key(role)?;
        self.authority.rotate(role).map_err(|error| self.unknown(error))?;
        // A process that gets new credentials finds a broker that can hear of their key.
        self.save()?;
        let mut rotation = Rotation { renewed: Vec::new(), left: Vec::new() };
        let mut issued = std::mem::take(&mut self.authority.issued);
        let now_s = now_s();
        let mut renewed = Ok(());
        for line in issued.iter_mut().filter(|line| line.role == *role) {
            if self.authority.standing(line, now_s) != CredentialsStanding::OldKey {
                continue;
            }
            match self.renew(line) {
                Ok(true) => rotation.renewed.push(line.clone()),
                Ok(false) => rotation.left.push(line.clone()),
                Err(error) => renewed = Err(error),
            }
        }
        self.authority.issued = issued;
        renewed?;
        self.save()?;
        Ok(rotation)
    }

    /// Signs one user's credentials again, if they are where they were written to.
    fn renew(&self, line: &mut Issued) -> Result<bool, KeyFolderError> {
        let Some(path) = self.path_of(line) else { return Ok(false) };
        let Ok(old) = Credentials::load(&path) else { return Ok(false) };
        if old.public_key() != line.public_key {
            return Ok(false);
        }
        let renewed = self.authority.renew(&line.role, &old).map_err(|error| self.unknown(error))?;
        renewed.save(&path)?;
        claim::prepare(&path)?;
        line.taken_over(&renewed);
        Ok(true)
    }

    /// From now on nothing counts that the role's former key signed; whose credentials that ends.
    ///
    /// # Errors
    /// [`KeyFolderError::StillUsed`] unless `force`, [`KeyFolderError::NoOldKey`], and [`KeyFolderError::Store`].
    pub fn drop_old(&mut self, role: &RoleId, force: bool) -> Result<Vec<Issued>, KeyFolderError> {
        has_signing_key(role)?;
        let now_s = now_s();
        let of_old_key = |issued: &&Issued| {
            issued.role == *role && self.authority.standing(issued, now_s) == CredentialsStanding::OldKey
        };
        let cut: Vec<Issued> = self.authority.issued.iter().filter(of_old_key).cloned().collect();
        if !cut.is_empty() && !force {
            let left = cut.into_iter().map(|issued| issued.name).collect();
            return Err(KeyFolderError::StillUsed { role: role.clone(), left });
        }
        if self.authority.drop_former(role).is_none() {
            return Err(KeyFolderError::NoOldKey { role: role.clone() });
        }
        self.save()?;
        Ok(cut)
    }
}
