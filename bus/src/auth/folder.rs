//! A folder with everything of one fleet's keys, changed offline: the authority, what the broker and every process have
//! to know of it, and the credentials that were made.
//!
//! ```text
//! authority/authority.json   the secret half, and what was issued (0600)
//! trust.json                 whose word counts; every process reads it
//! broker/accounts.conf       what a nats-server's configuration includes
//! <role>/<name>.creds        credentials (0600)
//! orchestrator/system/       credentials of the broker's own account (0600)
//! ```
//!
//! Every change is first written to the authority, so that one that was cut off is completed, or undone, by the next.

mod change;
#[cfg(test)]
mod tests;

use std::{
    fs::{self, DirBuilder, File},
    io,
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
};

use holdpoint_protocol::{
    facts::Harness,
    ids::{AgentName, RoleId, role},
    roles::RoleRefused,
    streams,
    workflow::is_human,
};

use super::{
    authority::{Authority, CredentialRequest, UnknownRole, now_s},
    claim,
    credentials::Credentials,
    issued::{CredentialsStanding, Issued},
    permissions,
    roots::TrustRoots,
    store::{AUTHORITY_FILE, StoreError, write_public},
};

pub use change::Rotation;

/// Where in the orchestrators' folder those credentials are with which they look after the connections of agents and people:
/// below a folder of its own, so that no orchestrator takes them for its own.
pub const SYSTEM_CREDS: &str = "system/connections.creds";

/// Whose word counts.
const TRUST_FILE: &str = "trust.json";

/// Why keys were not made or changed. Nothing was, then.
#[derive(Debug, thiserror::Error)]
pub enum KeyFolderError {
    /// There is no authority in the folder.
    #[error("there are no keys in {}", dir.display())]
    NoKeys {
        /// The folder.
        dir: PathBuf,
    },
    /// The folder has a local fleet's keys, in another arrangement.
    #[error("the keys in {} are those of a local fleet, whose commands make what they need", dir.display())]
    OfLocalFleet {
        /// The folder.
        dir: PathBuf,
    },
    /// A file could not be read or written.
    #[error("cannot keep the keys")]
    Store(#[source] StoreError),
    /// The account with the streams signs that role's credentials itself.
    #[error("there is no signing key of {role} to change: the account with the streams signs its credentials itself")]
    OfAccount {
        /// The role.
        role: RoleId,
    },
    /// The fleet does not have that role.
    #[error("there is no role {role}: the roles are {}", known.join(", "))]
    UnknownRole {
        /// The role.
        role: RoleId,
        /// Those that there are.
        known: Vec<String>,
    },
    /// The fleet cannot have that role.
    #[error("cannot add the role")]
    Role(#[from] RoleRefused),
    /// The name has credentials that count.
    #[error("{name} has credentials already, as {role}")]
    NameTaken {
        /// The name.
        name: AgentName,
        /// Of which role they are.
        role: RoleId,
    },
    /// Names of people are an operator's: an agent with one would pass for a person in org charts.
    #[error("{name} is a person's name, and {role} is a role of agents")]
    PersonsName {
        /// The name.
        name: AgentName,
        /// The role.
        role: RoleId,
    },
    /// There is a file where the credentials would be.
    #[error("{} is there already", path.display())]
    FileThere {
        /// The file.
        path: PathBuf,
    },
    /// Nothing that was issued has that name or key.
    #[error("no credentials that count have the name or public key {what}")]
    NotIssued {
        /// The name or key.
        what: String,
    },
    /// Credentials that count were signed by the key that is to be dropped.
    #[error("credentials that the old key of {role} signed are still in use: {}", names(left))]
    StillUsed {
        /// The role.
        role: RoleId,
        /// Whose they are.
        left: Vec<AgentName>,
    },
    /// The role has no former key.
    #[error("{role} has no old key")]
    NoOldKey {
        /// The role.
        role: RoleId,
    },
}

fn names(names: &[AgentName]) -> String {
    names.iter().map(AgentName::as_str).collect::<Vec<_>>().join(", ")
}

impl From<StoreError> for KeyFolderError {
    fn from(source: StoreError) -> Self {
        Self::Store(source)
    }
}

/// Where new credentials go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CredentialsDestination<'a> {
    /// `<role>/<name>.creds` in the folder.
    Folder,
    /// This file.
    File(&'a Path),
    /// Nowhere: they are handed back only.
    Nowhere,
}

/// Which parts of a running fleet have to hear of a change.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Changed {
    /// `broker/accounts.conf` is another one: brokers have to read it again.
    pub broker: bool,
    /// `trust.json` is another one: processes take it over by themselves.
    pub trust: bool,
}

/// The folder, held by this process alone.
#[derive(Debug)]
pub struct KeyFolder {
    dir: PathBuf,
    authority: Authority,
    changed: Changed,
    /// Made just now: nothing runs on it yet.
    is_new: bool,
    /// The kernel gives the lock back when this is closed.
    _lock: File,
}

impl KeyFolder {
    /// Opens a folder that has keys. Waits while another process changes them.
    ///
    /// # Errors
    /// [`KeyFolderError::NoKeys`] and [`KeyFolderError::OfLocalFleet`], and [`KeyFolderError::Store`] from the file system.
    pub fn open(dir: &Path) -> Result<Self, KeyFolderError> {
        if [AUTHORITY_FILE, TRUST_FILE].iter().all(|file| dir.join(file).is_file()) {
            return Err(KeyFolderError::OfLocalFleet { dir: dir.to_owned() });
        }
        if !dir.join("authority").is_dir() {
            return Err(KeyFolderError::NoKeys { dir: dir.to_owned() });
        }
        let lock = lock(dir)?;
        let authority = Authority::load(&dir.join("authority"))?;
        let authority = authority.ok_or_else(|| KeyFolderError::NoKeys { dir: dir.to_owned() })?;
        let mut folder = Self::new(dir, authority, lock);
        folder.look_at_files();
        Ok(folder)
    }

    fn new(dir: &Path, authority: Authority, lock: File) -> Self {
        Self { dir: dir.to_owned(), authority, changed: Changed::default(), is_new: false, _lock: lock }
    }

    /// What changed since it was opened, for those who knew it before.
    #[must_use]
    pub fn changed(&self) -> Changed {
        if self.is_new { Changed::default() } else { self.changed }
    }

    /// Opens the folder, and makes keys if there are none.
    ///
    /// # Errors
    /// [`KeyFolderError::Store`] from the file system.
    pub fn open_or_create(dir: &Path) -> Result<Self, KeyFolderError> {
        match Self::open(dir) {
            Err(KeyFolderError::NoKeys { .. }) => {
                let mut folder = Self::new(dir, Authority::create(), lock(dir)?);
                // Another process may have been faster.
                let is_new = Authority::load(&folder.dir.join("authority"))?.is_none();
                if is_new {
                    folder.save()?;
                }
                drop(folder);
                Ok(Self { is_new, ..Self::open(dir)? })
            }
            opened => opened,
        }
    }

    /// The keys.
    #[must_use]
    pub fn authority(&self) -> &Authority {
        &self.authority
    }

    /// Everything that was issued, in that order, and whether it counts.
    #[must_use]
    pub fn issued(&self) -> Vec<(&Issued, CredentialsStanding)> {
        let now_s = now_s();
        self.authority.issued.iter().map(|issued| (issued, self.authority.standing(issued, now_s))).collect()
    }

    /// Gives the fleet a role, as [`Authority::add_role`].
    ///
    /// # Errors
    /// [`KeyFolderError::Role`], and [`KeyFolderError::Store`] from the file system.
    pub fn add_role(&mut self, role: &RoleId, makes: bool) -> Result<(), KeyFolderError> {
        self.authority.add_role(role, makes)?;
        self.save()
    }

    /// The error of a role that this fleet does not have.
    fn unknown(&self, UnknownRole { role }: UnknownRole) -> KeyFolderError {
        let own = role::OWN.map(str::to_owned);
        let known = self.authority.fleet_roles().agents().iter().map(ToString::to_string).chain(own).collect();
        KeyFolderError::UnknownRole { role, known }
    }

    /// Makes credentials for `<role>-1` to `<role>-<count>`, for good and for Holdpoint's own processes, but for names that were
    /// issued before; what was made.
    /// Files that follow from the keys are rewritten where they differ, and [`SYSTEM_CREDS`] are made where they are
    /// missing.
    ///
    /// # Errors
    /// [`KeyFolderError::UnknownRole`], and [`KeyFolderError::Store`] from the file system.
    pub fn ensure(&mut self, counts: &[(RoleId, u32)]) -> Result<Vec<Issued>, KeyFolderError> {
        let mut wanted = Vec::new();
        for (role, count) in counts {
            for number in 1..=*count {
                let name = AgentName::try_new(format!("{role}-{number}")).expect("a role and a number are an id");
                if !self.authority.issued.iter().any(|issued| issued.name == name) {
                    let file = self.default_file(role, &name);
                    let order = CredentialRequest {
                        role: role.clone(),
                        name,
                        pool: streams::fleet_pool(),
                        harness: Harness::Holdpoint,
                        lifetime: None,
                    };
                    wanted.push((order, Some(file)));
                }
            }
        }
        let made = self.issue(wanted)?.into_iter().map(|(issued, _)| issued).collect();
        let system = self.dir.join(role::ORCHESTRATOR).join(SYSTEM_CREDS);
        if !system.exists() {
            self.authority.mint_connections().save(&system)?;
        }
        Ok(made)
    }

    fn default_file(&self, role: &RoleId, name: &AgentName) -> PathBuf {
        self.dir.join(role.as_str()).join(format!("{name}.creds"))
    }

    /// Makes credentials.
    ///
    /// # Errors
    /// The role or name cannot be had, there is a file already, or [`KeyFolderError::Store`].
    pub fn add(
        &mut self,
        order: CredentialRequest,
        place: CredentialsDestination<'_>,
    ) -> Result<(Issued, Credentials), KeyFolderError> {
        if is_human(&order.name) && order.role.as_str() != role::OPERATOR {
            return Err(KeyFolderError::PersonsName { name: order.name, role: order.role });
        }
        let now_s = now_s();
        let holder = self
            .authority
            .issued
            .iter()
            .find(|issued| issued.name == order.name && self.authority.standing(issued, now_s).counts());
        if let Some(holder) = holder {
            return Err(KeyFolderError::NameTaken { name: order.name, role: holder.role.clone() });
        }
        let file = match place {
            CredentialsDestination::Folder => Some(self.default_file(&order.role, &order.name)),
            CredentialsDestination::File(path) => {
                Some(std::path::absolute(path).map_err(|source| io_error(path, source))?)
            }
            CredentialsDestination::Nowhere => None,
        };
        // Revoked or expired credentials make room for their successors.
        if let Some(path) = file.as_ref().filter(|path| path.exists() && !self.is_of_no_use(path)) {
            return Err(KeyFolderError::FileThere { path: path.clone() });
        }
        let mut made = self.issue(vec![(order, file)])?;
        Ok(made.pop().expect("one order is one user"))
    }

    /// Whether a file was written here, and nothing counts that was written to it.
    fn is_of_no_use(&self, path: &Path) -> bool {
        let issued = self.issued();
        let mut written = issued.iter().filter(|(issued, _)| self.path_of(issued).as_deref() == Some(path)).peekable();
        written.peek().is_some() && !written.any(|(_, standing)| standing.counts())
    }

    /// Signs, and writes in an order in which nothing is lost by a crash: the authority knows of credentials before they
    /// are there, and forgets them at the next start if they are not.
    fn issue(
        &mut self,
        wanted: Vec<(CredentialRequest, Option<PathBuf>)>,
    ) -> Result<Vec<(Issued, Credentials)>, KeyFolderError> {
        let mut made = Vec::new();
        for (order, file) in wanted {
            let credentials = self.authority.mint(&order).map_err(|error| self.unknown(error))?;
            let kept = file.as_ref().map(|file| file.strip_prefix(&self.dir).unwrap_or(file).to_owned());
            self.authority.issued.push(pending(&order, &credentials, kept));
            made.push((credentials, file));
        }
        self.save()?;
        let first = self.authority.issued.len() - made.len();
        for (index, (credentials, file)) in made.iter().enumerate() {
            if let Some(file) = file {
                credentials.save(file)?;
                claim::prepare(file)?;
            }
            self.authority.issued[first + index].pending = false;
        }
        if !made.is_empty() {
            self.save()?;
        }
        let issued = self.authority.issued[first..].iter().cloned();
        Ok(issued.zip(made).map(|(issued, (credentials, _))| (issued, credentials)).collect())
    }

    /// Where the credentials were written to.
    #[must_use]
    pub fn path_of(&self, issued: &Issued) -> Option<PathBuf> {
        issued.file.as_ref().map(|file| self.dir.join(file))
    }

    /// Writes the authority, then what follows from it.
    fn save(&mut self) -> Result<(), KeyFolderError> {
        self.authority.save(&self.dir.join("authority"))?;
        let roots: &TrustRoots = self.authority.trust_roots();
        let roots = serde_json::to_vec_pretty(roots).expect("plain data with text keys");
        self.changed.trust |= write_changed(&self.dir.join(TRUST_FILE), &roots)?;
        let accounts = self.authority.server_config();
        self.changed.broker |= write_changed(&self.dir.join("broker/accounts.conf"), accounts.as_bytes())?;
        Ok(())
    }

    /// Takes over what the files say: a change that was cut off is in some of them and not in others.
    fn look_at_files(&mut self) {
        let mut issued = std::mem::take(&mut self.authority.issued);
        for line in &mut issued {
            let Some(path) = self.path_of(line) else { continue };
            if let Ok(found) = Credentials::load(&path)
                && found.public_key() == line.public_key
            {
                line.taken_over(&found);
            }
        }
        // Never handed out: nobody has the seed.
        let roots = &mut self.authority.roots;
        roots.orchestrators.retain(|key| !issued.iter().any(|line| line.pending && line.public_key == *key));
        issued.retain(|line| !line.pending);
        self.authority.issued = issued;
    }
}

/// Makes the folder and holds it against other processes.
fn lock(dir: &Path) -> Result<File, KeyFolderError> {
    let make = |dir: &Path, mode| {
        DirBuilder::new().recursive(true).mode(mode).create(dir).map_err(|source| io_error(dir, source))
    };
    make(dir, 0o755)?;
    make(&dir.join("authority"), 0o700)?;
    let path = dir.join("authority/lock");
    let file = fs::OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(&path);
    let file = file.map_err(|source| io_error(&path, source))?;
    file.lock().map_err(|source| io_error(&path, source))?;
    Ok(file)
}

/// What is kept of credentials whose file may not be there yet.
fn pending(order: &CredentialRequest, credentials: &Credentials, file: Option<PathBuf>) -> Issued {
    Issued {
        name: order.name.clone(),
        role: order.role.clone(),
        pool: permissions::takes_turns(&order.role).then(|| order.pool.clone()),
        harness: permissions::takes_turns(&order.role).then_some(order.harness),
        public_key: credentials.public_key().to_owned(),
        issuer: credentials.issuer().to_owned(),
        issued_at: credentials.issued_at(),
        expires_at: credentials.expires_at(),
        file,
        pending: true,
    }
}

/// Writes what differs from what is there; whether it did. A watcher of a file sees no change where there is none.
fn write_changed(path: &Path, bytes: &[u8]) -> Result<bool, StoreError> {
    if fs::read(path).is_ok_and(|there| there == bytes) {
        return Ok(false);
    }
    write_public(path, bytes).map(|()| true)
}

fn io_error(path: &Path, source: io::Error) -> KeyFolderError {
    KeyFolderError::Store(StoreError::Io { path: path.to_owned(), source })
}
