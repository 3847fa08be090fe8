//! File locks between the commands of one user. The kernel gives them back when a process ends, however it ends.

use std::{
    fs::{File, OpenOptions, TryLockError},
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
};

use super::unusable;
use crate::failure::Failure;

/// A lock that is held until it is dropped.
#[derive(Debug)]
pub(crate) struct Lock {
    file: File,
    path: PathBuf,
}

impl Lock {
    fn open(path: &Path) -> Result<Self, Failure> {
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(path);
        let file = file.map_err(|source| unusable("open", path, &source))?;
        Ok(Self { file, path: path.to_owned() })
    }

    /// Waits until nobody else holds it.
    pub(crate) async fn exclusive(path: &Path) -> Result<Self, Failure> {
        let lock = Self::open(path)?;
        let wait = tokio::task::spawn_blocking(move || {
            let taken = lock.file.lock();
            taken.map(|()| lock)
        });
        let taken = wait.await.expect("waiting for a lock does not panic");
        taken.map_err(|source| unusable("lock", path, &source))
    }

    /// Takes it if nobody holds it.
    pub(crate) fn try_exclusive(path: &Path) -> Result<Option<Self>, Failure> {
        let lock = Self::open(path)?;
        Ok(lock.try_upgrade()?.then_some(lock))
    }

    /// Whether somebody holds it alone. Those who ask do not see each other.
    pub(crate) fn is_held(path: &Path) -> Result<bool, Failure> {
        let lock = Self::open(path)?;
        match lock.file.try_lock_shared() {
            Ok(()) => Ok(false),
            Err(TryLockError::WouldBlock) => Ok(true),
            Err(TryLockError::Error(source)) => Err(unusable("lock", &lock.path, &source)),
        }
    }

    /// Holds it together with others that share it.
    pub(crate) fn shared(path: &Path) -> Result<Self, Failure> {
        let lock = Self::open(path)?;
        lock.file.lock_shared().map_err(|source| unusable("lock", path, &source))?;
        Ok(lock)
    }

    /// Makes a shared lock an exclusive one if nobody else shares it. A shared lock may be lost by trying.
    pub(crate) fn try_upgrade(&self) -> Result<bool, Failure> {
        match self.file.try_lock() {
            Ok(()) => Ok(true),
            Err(TryLockError::WouldBlock) => Ok(false),
            Err(TryLockError::Error(source)) => Err(unusable("lock", &self.path, &source)),
        }
    }

    /// The locked file.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_last_who_shares_can_have_it_alone() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lock");
        let (one, other) = (Lock::shared(&path).unwrap(), Lock::shared(&path).unwrap());
        assert!(!one.try_upgrade().unwrap());
        drop(one);
        assert!(other.try_upgrade().unwrap());
        assert!(Lock::try_exclusive(&path).unwrap().is_none());
        drop(other);
        assert!(Lock::try_exclusive(&path).unwrap().is_some());
    }
}
