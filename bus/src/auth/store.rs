//! Keeping an authority in a folder, readable by its owner only.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    io::{self, Write as _},
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
};

use holdpoint_protocol::ids::RoleId;
use nkeys::KeyPair;
use serde::{Deserialize, Serialize};

use super::{
    authority::{Authority, now_s},
    credentials::InvalidCredentials,
    issued::Issued,
    roots::TrustRoots,
};

/// The secret file: all seeds, and the trust roots they belong to.
pub(super) const AUTHORITY_FILE: &str = "authority.json";

/// Why keys or credentials could not be kept or read.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The file system refused.
    #[error("cannot read or write {}", path.display())]
    Io {
        /// Which file or folder.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The file is not what it has to be.
    #[error("{} is damaged", path.display())]
    Damaged {
        /// Which file.
        path: PathBuf,
        /// What was wrong.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Saved {
    operator: String,
    system: String,
    holdpoint: String,
    agents: String,
    orchestrators: String,
    #[serde(default)]
    former_orchestrators: Option<String>,
    roles: BTreeMap<RoleId, String>,
    #[serde(default)]
    makers: BTreeSet<RoleId>,
    roots: TrustRoots,
    #[serde(default = "now_s")]
    created_at: u64,
    #[serde(default = "now_s")]
    changed_at: u64,
    #[serde(default)]
    issued: Vec<Issued>,
}

impl Authority {
    /// Writes all keys into `dir`, which is made if need be (mode 0700, files 0600).
    ///
    /// # Errors
    /// [`StoreError::Io`] from the file system.
    pub fn save(&self, dir: &Path) -> Result<(), StoreError> {
        let seed = |key: &KeyPair| key.seed().expect("an authority's keys have their seeds");
        let saved = Saved {
            operator: seed(&self.operator),
            system: seed(&self.system),
            holdpoint: seed(&self.holdpoint),
            agents: seed(&self.agents),
            orchestrators: seed(&self.orchestrators),
            former_orchestrators: self.former_orchestrators.clone(),
            roles: self.roles.iter().map(|(role, key)| (role.clone(), seed(key))).collect(),
            makers: self.makers.clone(),
            roots: self.roots.clone(),
            created_at: self.created_at,
            changed_at: self.changed_at,
            issued: self.issued.clone(),
        };
        let bytes = serde_json::to_vec_pretty(&saved).expect("plain data with text keys");
        write_secret(&dir.join(AUTHORITY_FILE), &bytes)
    }

    /// Reads the keys back; `None` if there are none in `dir`.
    ///
    /// # Errors
    /// The file cannot be read, or is damaged.
    pub fn load(dir: &Path) -> Result<Option<Self>, StoreError> {
        let path = dir.join(AUTHORITY_FILE);
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(StoreError::Io { path, source }),
        };
        Self::from_saved(&bytes).map(Some).map_err(|source| StoreError::Damaged { path, source })
    }

    fn from_saved(bytes: &[u8]) -> Result<Self, Box<dyn std::error::Error + Send + Sync>> {
        let saved: Saved = serde_json::from_slice(bytes)?;
        let mut roles = BTreeMap::new();
        for (role, seed) in saved.roles {
            roles.insert(role, KeyPair::from_seed(&seed)?);
        }
        Ok(Self {
            operator: KeyPair::from_seed(&saved.operator)?,
            system: KeyPair::from_seed(&saved.system)?,
            holdpoint: KeyPair::from_seed(&saved.holdpoint)?,
            agents: KeyPair::from_seed(&saved.agents)?,
            orchestrators: KeyPair::from_seed(&saved.orchestrators)?,
            former_orchestrators: saved.former_orchestrators,
            roles,
            makers: saved.makers,
            roots: saved.roots,
            created_at: saved.created_at,
            changed_at: saved.changed_at,
            issued: saved.issued,
        })
    }
}

impl super::Credentials {
    /// Writes a `.creds` file (mode 0600; its folder is made if need be, 0700).
    ///
    /// # Errors
    /// [`StoreError::Io`] from the file system.
    pub fn save(&self, path: &Path) -> Result<(), StoreError> {
        write_secret(path, self.to_text().as_bytes())
    }

    /// Reads a `.creds` file.
    ///
    /// # Errors
    /// The file cannot be read, or holds no credentials.
    pub fn load(path: &Path) -> Result<Self, StoreError> {
        let text = fs::read_to_string(path).map_err(|source| StoreError::Io { path: path.to_owned(), source })?;
        Self::parse(&text)
            .map_err(|source: InvalidCredentials| StoreError::Damaged { path: path.to_owned(), source: source.into() })
    }
}

impl TrustRoots {
    /// Reads a `trust.json`.
    ///
    /// # Errors
    /// The file cannot be read, or holds no trust roots.
    pub fn load(path: &Path) -> Result<Self, StoreError> {
        let bytes = fs::read(path).map_err(|source| StoreError::Io { path: path.to_owned(), source })?;
        serde_json::from_slice(&bytes)
            .map_err(|source| StoreError::Damaged { path: path.to_owned(), source: source.into() })
    }
}

/// Writes a file that only its owner can read, whole or not at all; its folder is made if need be.
pub(crate) fn write_secret(path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    write(path, bytes, 0o600)
}

/// Writes a file that everybody can read, whole or not at all; its folder is made if need be.
pub(super) fn write_public(path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    write(path, bytes, 0o644)
}

fn write(path: &Path, bytes: &[u8], mode: u32) -> Result<(), StoreError> {
    let io = |source| StoreError::Io { path: path.to_owned(), source };
    if let Some(dir) = path.parent() {
        // Those who may read a file may go into its folder.
        let folder_mode = mode | (mode & 0o444) >> 2;
        fs::DirBuilder::new().recursive(true).mode(folder_mode).create(dir).map_err(io)?;
    }
    let mut part = path.as_os_str().to_owned();
    part.push(".part");
    let mut file = fs::OpenOptions::new().write(true).create(true).truncate(true).mode(mode).open(&part).map_err(io)?;
    file.write_all(bytes).and_then(|()| file.sync_all()).and_then(|()| fs::rename(&part, path)).map_err(io)
}
