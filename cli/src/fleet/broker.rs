//! The one broker of a repository's local fleets, shared by all commands of its user.
//!
//! A process that starts or ends it holds `start.lock`. Every user shares `users.lock`; who can have it alone at the
//! end stops the broker. It runs detached, so that it outlives the command that happened to start it; its keeper ends it where no
//! command was left to do so.

mod room;

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use holdpoint_bus::{
    Bus, ConnectArgs,
    auth::{Authority, Credentials, SYSTEM_CREDS},
    broker::{BrokerError, LocalBroker, LocalSpec, RolesError, ServerBinary, add_roles, keep_keys},
};
use holdpoint_protocol::{
    ids::{AgentName, RoleId, role},
    streams,
};
use holdpoint_runtime::fresh;
use holdpoint_sandbox::service::Lifetime;
use tokio::time::Instant;

use super::{
    keeper,
    started::{ANSWER_TIMEOUT, POLL, StartedBroker},
};
use crate::{
    failure::{Failure, chain},
    state::{FlightRecord, Lock, StateDir, unusable},
};

pub(crate) use room::Room;

/// Bytes of a store that a server which was ended at once reads again when it starts: 64 MiB take it some 60 ms.
const REREAD_BYTES_MAX: u64 = 64 << 20;
/// How long an archivist's key counts: far longer than a command takes.
const ARCHIVIST_LIFETIME: Duration = Duration::from_secs(24 * 60 * 60);

/// A name that nobody has.
fn name(what: &str) -> AgentName {
    AgentName::try_new(format!("{what}-{}", fresh::suffix())).expect("letters and hex digits are an id")
}

fn port(url: &str) -> Option<u16> {
    url.rsplit(':').next()?.parse().ok()
}

/// The address of the repository's broker, if it runs.
pub(crate) fn known_broker(state: &StateDir) -> Option<String> {
    StartedBroker::load(state).filter(|known| known.process.alive()).map(|known| known.url)
}

/// A share in the broker. It is given back by [`BrokerLease::give_back`]; a command that dies gives it back as well, and then the
/// broker's keeper ends it.
#[derive(Debug)]
pub(crate) struct BrokerLease {
    state: StateDir,
    users: Lock,
    url: String,
    authority: Authority,
}

impl BrokerLease {
    /// Uses the broker that runs, or starts it.
    pub(crate) async fn take(state: &StateDir) -> Result<Self, Failure> {
        let _start = start_lock(state).await?;
        let users = Lock::shared(&state.path("users.lock"))?;
        let known = StartedBroker::load(state);
        let running = match &known {
            Some(known) if known.answers().await => known.clone(),
            Some(known) if known.process.alive() => {
                let message = format!("the broker at {} does not answer", known.url);
                let hint = format!(
                    "its log is broker/nats.log in {}; `kill {}` ends it",
                    state.dir().display(),
                    known.process.pid
                );
                return Err(Failure::environment("broker", message, hint));
            }
            _ => start_on(state, known.as_ref().and_then(|known| port(&known.url))).await?,
        };
        let authority = Authority::load(&keys(state))?.ok_or_else(|| no_authority(state))?;
        // Says early that the keys are whole.
        Credentials::load(&orchestrator_creds(state))?;
        Ok(Self { state: state.clone(), users, url: running.url, authority })
    }

    /// Gives the fleet the roles that are missing, each with whether its turns make work, and waits until the broker knows them.
    pub(crate) async fn add_roles(&mut self, roles: &[(RoleId, bool)]) -> Result<(), Failure> {
        let Some((last, _)) = roles.last() else { return Ok(()) };
        let _start = start_lock(&self.state).await?;
        // Another command may have added some.
        let authority = Authority::load(&keys(&self.state))?;
        self.authority = authority.ok_or_else(|| no_authority(&self.state))?;
        let changed = add_roles(self.state.dir(), &mut self.authority, roles)?;
        if changed {
            let probe = self.authority.mint_agent(last, &name("probe"), &streams::fleet_pool(), None);
            self.reload(&probe.expect("the role was added just now"), last).await?;
        }
        Ok(())
    }

    /// Credentials of an archivist, for the time of a command.
    pub(crate) async fn archivist(&mut self) -> Result<Credentials, Failure> {
        let _start = start_lock(&self.state).await?;
        let authority = Authority::load(&keys(&self.state))?;
        self.authority = authority.ok_or_else(|| no_authority(&self.state))?;
        self.authority.ensure_archivists();
        let changed = keep_keys(self.state.dir(), &self.authority)?;
        let minted = self.authority.mint_archivist(&name(role::ARCHIVIST), Some(ARCHIVIST_LIFETIME));
        let credentials = minted.expect("the key is there now");
        if changed {
            self.reload(&credentials, &role::id(role::ARCHIVIST)).await?;
        }
        Ok(credentials)
    }

    /// Has the broker read its keys again, and waits until it lets in whom these credentials of a role are for.
    async fn reload(&self, probe: &Credentials, role: &RoleId) -> Result<(), Failure> {
        let Some(known) = StartedBroker::load(&self.state) else { return Ok(()) };
        known.process.reload().map_err(|source| unusable("reload the broker of", self.state.dir(), &source))?;
        let deadline = Instant::now() + ANSWER_TIMEOUT;
        loop {
            match Bus::connect(ConnectArgs::new(self.url.clone(), probe.clone())).await {
                Ok(_) => return Ok(()),
                Err(_) if Instant::now() < deadline => tokio::time::sleep(POLL).await,
                Err(error) => {
                    let message = format!("the broker does not know the role {role} yet: {}", chain(&error));
                    let hint =
                        "a broker that an earlier version started does not take roles: end its other commands first";
                    return Err(Failure::environment("roles", message, hint));
                }
            }
        }
    }

    /// Where it is.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// The keys.
    pub(crate) fn authority(&self) -> &Authority {
        &self.authority
    }

    /// The orchestrators' credentials.
    pub(crate) fn orchestrator_creds(&self) -> PathBuf {
        orchestrator_creds(&self.state)
    }

    /// The credentials with which connections are looked after.
    pub(crate) fn system_creds(&self) -> PathBuf {
        keys(&self.state).join(SYSTEM_CREDS)
    }

    /// The file that says whose signatures count.
    pub(crate) fn trust(&self) -> PathBuf {
        keys(&self.state).join("trust.json")
    }

    /// The room on the broker's disk.
    pub(crate) fn room(&self) -> Room {
        Room::new(self.state.path("broker"))
    }

    /// Starts the broker again if it has ended, or its disk was full. The fleet calls it at each look.
    pub(crate) async fn keep(&self, room: &mut Room) -> Result<(), Failure> {
        if room.is_there_again().await
            && let Some(known) = StartedBroker::load(&self.state)
        {
            // It stores nothing more after a write that failed. Fails only when it has ended by itself.
            let _ = known.process.kill();
        }
        if known_broker(&self.state).is_some() { Ok(()) } else { self.start_again().await }
    }

    /// On the port it had: clients of all runs come back there.
    async fn start_again(&self) -> Result<(), Failure> {
        let _start = start_lock(&self.state).await?;
        if known_broker(&self.state).is_some() {
            return Ok(());
        }
        store_is_there(&self.state)?;
        let port = port(&self.url).unwrap_or(0);
        let deadline = Instant::now() + ANSWER_TIMEOUT;
        loop {
            match start(&self.state, port).await {
                Ok(_) => return Ok(()),
                Err(_) if Instant::now() < deadline => tokio::time::sleep(POLL).await,
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Gives the share back, and ends the broker if nobody else has one: at once, which saves what the server takes to end in order
    /// (0.6 s whatever it has). What it acknowledged is on its disk. It ends in order where something was deleted, for which
    /// that is not guaranteed, and behind a command that had agents where the store is large: the next start would read all of it again.
    pub(crate) async fn give_back(&self, had_agents: bool, deleted: bool) -> Result<(), Failure> {
        let _start = start_lock(&self.state).await?;
        if !self.users.try_upgrade()? {
            return Ok(());
        }
        let Some(known) = StartedBroker::load(&self.state) else { return Ok(()) };
        let in_order = deleted || (had_agents && is_larger(&self.state.path("broker/store"), REREAD_BYTES_MAX));
        let cannot_end = |source| unusable("end the broker of", self.state.dir(), &source);
        if in_order {
            known.process.terminate().map_err(cannot_end)?;
        } else {
            known.process.kill().map_err(cannot_end)?;
        }
        known.ended(&self.state).await
    }
}

impl From<RolesError> for Failure {
    fn from(error: RolesError) -> Self {
        let message = chain(&error);
        match error {
            RolesError::Refused(_) => Self::usage("role_refused", message, "change the gate's role in project.yaml"),
            RolesError::Keys(error) => error.into(),
        }
    }
}

/// Whether the files of a folder have more bytes than this together.
fn is_larger(dir: &Path, bytes: u64) -> bool {
    let (mut folders, mut left) = (vec![dir.to_owned()], bytes);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let Ok(about) = entry.metadata() else { continue };
            if about.is_dir() {
                folders.push(entry.path());
            } else if let Some(rest) = left.checked_sub(about.len()) {
                left = rest;
            } else {
                return true;
            }
        }
    }
    false
}

async fn start_lock(state: &StateDir) -> Result<Lock, Failure> {
    Lock::exclusive(&state.path("start.lock")).await
}

fn no_authority(state: &StateDir) -> Failure {
    unusable("read", &keys(state), &std::io::Error::from(std::io::ErrorKind::NotFound))
}

fn keys(state: &StateDir) -> PathBuf {
    state.path("keys")
}

fn orchestrator_creds(state: &StateDir) -> PathBuf {
    keys(state).join("orchestrator.creds")
}

/// Refuses to begin again where flights are remembered and what the broker kept of them is gone.
fn store_is_there(state: &StateDir) -> Result<(), Failure> {
    let store = state.path("broker/store/jetstream");
    if store.is_dir() || !state.path("broker.json").is_file() {
        return Ok(());
    }
    let flights = match FlightRecord::all(state).len() {
        0 => return Ok(()),
        1 => "1 flight that was".to_owned(),
        more => format!("{more} flights that were"),
    };
    let message = format!("{} is gone, and with it all that the broker kept of {flights} begun here", store.display());
    let hint = format!(
        "nothing was made in its place: put the folder back from a copy. If they may be forgotten, remove {} and {} (their branches stay)",
        state.path("flights").display(),
        state.path("orchestrator").display()
    );
    Err(Failure::environment("store_gone", message, hint))
}

/// Starts it on the port it had the last time, or on any other if another process has that one now.
async fn start_on(state: &StateDir, port: Option<u16>) -> Result<StartedBroker, Failure> {
    store_is_there(state)?;
    if let Some(port) = port {
        match start(state, port).await {
            Err(BrokerError::Ended { log_tail }) => tracing::debug!(port, log_tail, "taking another port"),
            other => return Ok(other?),
        }
    }
    Ok(start(state, 0).await?)
}

async fn start(state: &StateDir, port: u16) -> Result<StartedBroker, BrokerError> {
    // For what the first command uploads before its orchestrator sets them up. That one makes none where it saw some that are gone.
    let streams = !state.path("broker.json").is_file();
    let spec = LocalSpec {
        port,
        streams,
        sync_always: true,
        lifetime: Lifetime::Detached,
        ..LocalSpec::bound(find_server().await?, state.dir().to_owned())
    };
    let local = LocalBroker::start(spec).await?;
    let process = local.broker.running().id().ok_or_else(|| BrokerError::Ended { log_tail: String::new() })?;
    let known = StartedBroker { url: local.broker.url(), process };
    let unkept = |source| BrokerError::Io { path: state.path("broker.json"), source };
    let kept = known.save(state).map_err(|_| unkept(std::io::ErrorKind::WriteZero.into()));
    let kept = kept.and_then(|()| keeper::start(state).map_err(|error| unkept(std::io::Error::other(error))));
    if kept.is_err() {
        // Nobody would end it.
        let _ = process.kill();
    }
    kept.map(|()| known)
}

/// A server that will do: the one that `HOLDPOINT_NATS_SERVER` names, else the first of [`hints`] and `PATH`.
pub(crate) async fn find_server() -> Result<ServerBinary, BrokerError> {
    ServerBinary::find(&hints(&std::env::current_exe().unwrap_or_default())).await
}

/// Where a server may be that belongs to the program at this path: next to it, as a Python environment has both, and among the
/// tools of the build folder that it is in. The user's current folder is not trusted.
fn hints(own: &Path) -> Vec<PathBuf> {
    let next_to = own.parent().map(|folder| folder.join("nats-server"));
    let target = own.ancestors().find(|dir| dir.file_name().is_some_and(|name| name == "target"));
    next_to.into_iter().chain(target.map(|dir| dir.join("tools/nats-server"))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_looked_for_next_to_the_program_and_among_the_tools_of_its_build() {
        for (own, wanted) in [
            ("/home/ann/venv/bin/holdpoint", &["/home/ann/venv/bin/nats-server"][..]),
            ("/c/target/debug/holdpoint", &["/c/target/debug/nats-server", "/c/target/tools/nats-server"]),
            ("", &[]),
        ] {
            assert_eq!(hints(Path::new(own)), wanted.iter().map(PathBuf::from).collect::<Vec<_>>(), "{own}");
        }
    }

    #[test]
    fn a_store_is_as_large_as_all_files_below_it() {
        let dir = tempfile::tempdir().unwrap();
        let deep = dir.path().join("a/b");
        std::fs::create_dir_all(&deep).unwrap();
        std::fs::write(dir.path().join("one"), [0; 600]).unwrap();
        std::fs::write(deep.join("two"), [0; 400]).unwrap();
        assert!(!is_larger(dir.path(), 1_000));
        assert!(is_larger(dir.path(), 999));
        assert!(!is_larger(&dir.path().join("nowhere"), 0));
    }
}
