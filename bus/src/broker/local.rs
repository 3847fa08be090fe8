//! Everything a local fleet needs of the bus in one call: keys, broker, streams.

use std::path::{Path, PathBuf};

use holdpoint_protocol::{
    ids::{AgentName, RoleId},
    roles::RoleRefused,
};
use holdpoint_sandbox::service::Lifetime;

use super::{
    binary::ServerBinary,
    error::BrokerError,
    process::{Broker, BrokerSpec},
};
use crate::{
    auth::{self, Authority, Credentials, SYSTEM_CREDS, write_secret},
    connection::{Bus, ConnectArgs},
    topology,
};

/// Memory of the streams of a local fleet. They are all on disk; this is for the server's own small needs.
const MAX_MEMORY_BYTES: u64 = 64 << 20;
/// The orchestrators of one local fleet share one name and key.
const ORCHESTRATOR: &str = "orchestrator";

/// What the broker's configuration includes, next to it: who may log in.
const ACCOUNTS: &str = "accounts.conf";

/// Why a local fleet did not get its roles.
#[derive(Debug, thiserror::Error)]
pub enum RolesError {
    /// There cannot be such a role.
    #[error("the fleet cannot have a role of the workflow")]
    Refused(#[from] RoleRefused),
    /// The keys could not be kept or read.
    #[error("cannot keep the broker's keys")]
    Keys(#[from] auth::StoreError),
}

/// Gives the local fleet whose broker keeps its files in `dir` these roles of agents, each with whether its turns make work.
/// Whether anything changed: then a broker that runs has to read its configuration again. One caller at a time.
///
/// # Errors
/// [`RolesError`]; nothing was changed then.
pub fn add_roles(dir: &Path, authority: &mut Authority, roles: &[(RoleId, bool)]) -> Result<bool, RolesError> {
    for (role, makes) in roles {
        authority.add_role(role, *makes)?;
    }
    Ok(keep_keys(dir, authority)?)
}

/// Writes what follows from the keys of the local fleet whose broker keeps its files in `dir`. Whether anything changed: then a
/// broker that runs has to read its configuration again. One caller at a time.
///
/// # Errors
/// The file system's.
pub fn keep_keys(dir: &Path, authority: &Authority) -> Result<bool, auth::StoreError> {
    // Against the file, which a caller that was cut off may not have written.
    let accounts = authority.server_config();
    if std::fs::read(dir.join("broker").join(ACCOUNTS)).is_ok_and(|there| there == accounts.as_bytes()) {
        return Ok(false);
    }
    let keys = dir.join("keys");
    authority.save(&keys)?;
    save_roots(&keys, authority)?;
    save_accounts(dir, authority)?;
    Ok(true)
}

fn save_roots(keys: &Path, authority: &Authority) -> Result<(), auth::StoreError> {
    let roots = serde_json::to_vec_pretty(authority.trust_roots()).expect("plain data with text keys");
    write_secret(&keys.join("trust.json"), &roots)
}

fn save_accounts(dir: &Path, authority: &Authority) -> Result<(), auth::StoreError> {
    write_secret(&dir.join("broker").join(ACCOUNTS), authority.server_config().as_bytes())
}

/// What kind of local broker is wanted.
#[derive(Debug, Clone)]
pub struct LocalSpec {
    /// The program.
    pub binary: ServerBinary,
    /// The folder of keys and broker; made if need be, and used again if it was.
    pub dir: PathBuf,
    /// The port; 0 for any free one.
    pub port: u16,
    /// Whether its streams are set up. Orchestrators do so as well: a caller that starts one has no need of it.
    pub streams: bool,
    /// Whether an acknowledgement waits for the disk.
    pub sync_always: bool,
    /// Whether the broker goes on when this process ends.
    pub lifetime: Lifetime,
    /// The disk for streams, in bytes: a bound, not a reservation.
    pub disk_bytes: u64,
}

impl LocalSpec {
    /// A broker on any free port that ends with this process, with the usual disk, whose acknowledgements do not wait for it.
    #[must_use]
    pub fn bound(binary: ServerBinary, dir: PathBuf) -> Self {
        let disk_bytes = topology::DISK_BYTES;
        Self { binary, dir, port: 0, streams: true, sync_always: false, lifetime: Lifetime::Bound, disk_bytes }
    }
}

/// A broker of our own with its keys, its streams there.
#[derive(Debug)]
pub struct LocalBroker {
    /// The keys; to mint agents and operators with.
    pub authority: Authority,
    /// The process.
    pub broker: Broker,
    /// What orchestrators log in with.
    pub orchestrator: Credentials,
}

impl LocalBroker {
    /// Starts a broker in `spec.dir`, with the keys that are kept there or with fresh ones.
    ///
    /// In the folder: `keys/authority.json`, `keys/orchestrator.creds` and `keys/system/` (secret), `keys/trust.json`, `broker/`.
    ///
    /// # Errors
    /// The folder cannot be used, or the broker does not start.
    pub async fn start(spec: LocalSpec) -> Result<Self, BrokerError> {
        let keys = spec.dir.join("keys");
        let creds_file = keys.join("orchestrator.creds");
        let (authority, orchestrator) = match Authority::load(&keys).map_err(BrokerError::Keys)? {
            Some(authority) => (authority, Credentials::load(&creds_file).map_err(BrokerError::Keys)?),
            None => {
                let mut authority = Authority::create();
                let name = AgentName::try_new(ORCHESTRATOR).expect("a literal id");
                let credentials = authority.mint_orchestrator(&name);
                credentials.save(&creds_file).map_err(BrokerError::Keys)?;
                save_roots(&keys, &authority).map_err(BrokerError::Keys)?;
                // Last: an authority without the other files would not be completed by the next start.
                authority.save(&keys).map_err(BrokerError::Keys)?;
                (authority, credentials)
            }
        };
        let system = keys.join(SYSTEM_CREDS);
        if !system.exists() {
            authority.mint_connections().save(&system).map_err(BrokerError::Keys)?;
        }
        // A change of the keys that was cut off may have left another file.
        save_roots(&keys, &authority).map_err(BrokerError::Keys)?;
        save_accounts(&spec.dir, &authority).map_err(BrokerError::Keys)?;
        let broker = Broker::start(BrokerSpec {
            binary: spec.binary,
            dir: spec.dir.join("broker"),
            authority: format!("include ./{ACCOUNTS}\n"),
            port: spec.port,
            sync_always: spec.sync_always,
            max_memory_bytes: MAX_MEMORY_BYTES,
            max_file_bytes: spec.disk_bytes,
            lifetime: spec.lifetime,
        })
        .await?;
        let local = Self { authority, broker, orchestrator };
        if spec.streams {
            let bus = local.connect(&local.orchestrator).await?;
            let settings =
                topology::TopologySettings { disk_bytes: spec.disk_bytes, ..topology::TopologySettings::default() };
            topology::ensure(&bus, &settings, &local.authority.fleet_roles()).await.map_err(BrokerError::Topology)?;
        }
        Ok(local)
    }

    /// Connects with any credentials of this broker.
    ///
    /// # Errors
    /// [`BrokerError::Connect`].
    pub async fn connect(&self, credentials: &Credentials) -> Result<Bus, BrokerError> {
        let args = ConnectArgs::new(self.broker.url(), credentials.clone());
        Bus::connect(args).await.map_err(BrokerError::Connect)
    }
}
