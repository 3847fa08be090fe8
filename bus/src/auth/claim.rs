//! Taking credentials out of a folder that several processes share: each gets its own, and nobody hands them out.
//!
//! A process that has them holds an advisory lock (`flock`) for the life of its process, however that ends. The lock is
//! on a file next to the credentials, which stays the same when they are signed again. It is seen by processes of one
//! kernel: on containers of one machine that share a volume, not over a network.

use std::{
    fs::{self, File, TryLockError},
    io,
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
};

use holdpoint_protocol::{Timestamp, ids::AgentName};

use super::{authority::now_s, credentials::Credentials, roots::TrustRoots, store::StoreError};

/// What ends the names of credentials, and of the locks next to them.
const CREDS: &str = "creds";
const LOCK: &str = "lock";

/// Why no credentials could be taken.
#[derive(Debug, thiserror::Error)]
pub enum ClaimError {
    /// The folder cannot be read.
    #[error("cannot read the credentials in {}", dir.display())]
    Folder {
        /// The folder.
        dir: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// Nothing is left.
    #[error(
        "no free credentials in {}: {held} in use, {useless} that do not count; \
         `holdpoint keys add ROLE NAME` makes more, `holdpoint keys list` shows them", dir.display()
    )]
    NoneFree {
        /// The folder.
        dir: PathBuf,
        /// How many other processes hold.
        held: usize,
        /// How many are damaged, expired or revoked.
        useless: usize,
    },
}

/// The lock on credentials, held for as long as it is there.
#[derive(Debug)]
pub struct CredentialsLock {
    creds: PathBuf,
    _file: File,
}

impl CredentialsLock {
    /// The file with the credentials.
    #[must_use]
    pub fn creds(&self) -> &Path {
        &self.creds
    }
}

/// Takes the first credentials in `dir` that no other process holds and that count, by the order of their names; if there is a
/// `name`, its only.
///
/// # Errors
/// [`ClaimError`].
pub fn claim(
    dir: &Path,
    name: Option<&AgentName>,
    roots: &TrustRoots,
) -> Result<(Credentials, CredentialsLock), ClaimError> {
    let files = files(dir).map_err(|source| ClaimError::Folder { dir: dir.to_owned(), source })?;
    let (mut held, mut useless) = (0, 0);
    for path in files {
        if name.is_some_and(|name| path.file_stem().is_none_or(|stem| stem != name.as_str())) {
            continue;
        }
        let locked = lock(&path).map_err(|source| ClaimError::Folder { dir: dir.to_owned(), source })?;
        let Some(lock) = locked else {
            held += 1;
            continue;
        };
        // Read under the lock: they may have been taken back meanwhile.
        match Credentials::load(&path) {
            Ok(credentials) if counts(&credentials, roots) => {
                return Ok((credentials, CredentialsLock { creds: path, _file: lock }));
            }
            Ok(_) => {}
            Err(error) => tracing::warn!(file = %path.display(), %error, "credentials cannot be read: passed over"),
        }
        useless += 1;
    }
    Err(ClaimError::NoneFree { dir: dir.to_owned(), held, useless })
}

/// Makes the lock next to credentials: a process that may only read the folder cannot.
pub(super) fn prepare(creds: &Path) -> Result<(), StoreError> {
    let path = creds.with_extension(LOCK);
    let made = fs::OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(&path);
    made.map(drop).map_err(|source| StoreError::Io { path, source })
}

/// All credentials, in the order in which people count: 2 before 10.
fn files(dir: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(dir)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == CREDS) {
            files.push(path);
        }
    }
    files.sort_by_cached_key(|path| (path.as_os_str().len(), path.clone()));
    Ok(files)
}

/// `None`: another process holds it.
fn lock(creds: &Path) -> io::Result<Option<File>> {
    let path = creds.with_extension(LOCK);
    let file = match File::open(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let made =
                fs::OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(&path);
            // A folder that cannot be written, filled by hand: all who share it see the same.
            made.or_else(|_| File::open(creds))
        }
        opened => opened,
    };
    let file = match file {
        // Taken back since the folder was read.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        file => file?,
    };
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

fn counts(credentials: &Credentials, roots: &TrustRoots) -> bool {
    let now_ms = i64::try_from(now_s().saturating_mul(1_000)).unwrap_or(i64::MAX);
    match roots.check_credentials(credentials, Timestamp::from_millis(now_ms)) {
        Ok(_) => true,
        Err(refusal) => {
            tracing::warn!(name = %credentials.name(), %refusal, "credentials do not count: passed over");
            false
        }
    }
}
