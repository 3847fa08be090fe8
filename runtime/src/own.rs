//! What a process takes for itself of what it shares with others that are started alike: credentials, and a state folder.
//!
//! Processes with `nats.creds_dir` have one configuration, and so one folder of credentials and one of states: in compose, volumes of
//! their role. Each takes the first credentials that are free ([`claim`]), and the state folder of that name. So what an agent's
//! earlier process left is there: its mirrors, and the homes of its programs, which no other agent gets. The lock on the
//! credentials keeps both for it until it ends, however it ends.

use std::{
    fs::{self, DirBuilder},
    io,
    os::unix::fs::DirBuilderExt as _,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use holdpoint_bus::auth::{ClaimError, CredentialsLock, TrustRoots, claim};
use holdpoint_protocol::ids::{AgentName, role};
use holdpoint_sandbox::tree::{remove_leftovers, remove_tree};

use crate::{
    broker::{self, BrokerConnectionError},
    config::Config,
    fresh,
    process::exit,
};

/// How long a state folder is kept whose name nobody has: a fleet that grows again finds its mirrors.
const KEPT_FOR: Duration = Duration::from_secs(7 * 24 * 3600);
/// Where folders wait for their removal, in the folder of the process that removes them. Every folder of a process has it, which tells
/// them from what else may be next to them.
const GONE: &str = ".gone";
/// What was in a state folder before its processes had folders of their own in it.
const BEFORE: [&str; 5] = ["mirrors", "turns", "homes", "sessions", "open-flights.json"];

/// Why a process has no credentials or no state folder.
#[derive(Debug, thiserror::Error)]
pub enum OwnError {
    /// There are no credentials for it.
    #[error(transparent)]
    Credentials(#[from] BrokerConnectionError),
    /// The folder, or something in it, cannot be used.
    #[error("cannot use the state folder {}: give it a volume, or name another place by HOLDPOINT_STATE_DIR", path.display())]
    State {
        /// What cannot be used.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
}

impl OwnError {
    /// The exit code of a process that fails with this.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Credentials(error) => error.exit_code(),
            Self::State { .. } => exit::ENVIRONMENT,
        }
    }
}

/// Takes credentials and a state folder for this process where it shares them with others: the configuration names them from now on,
/// and programs may see nothing of what is shared. The lock has to be kept until the process ends. `None`: what is configured is the
/// process's own.
///
/// # Errors
/// [`OwnError`].
pub fn take(config: &mut Config, role: &str) -> Result<Option<CredentialsLock>, OwnError> {
    let Some(keys) = config.nats.creds_dir.clone() else { return Ok(None) };
    let roots = broker::roots(config)?;
    let taken = claim(&keys, config.agent.name.as_ref(), &roots).map_err(BrokerConnectionError::Claim)?;
    let (credentials, lock) = taken;
    let dir = if role == role::ORCHESTRATOR { &mut config.orchestrator.state_dir } else { &mut config.agent.state_dir };
    let shared = std::path::absolute(&*dir).map_err(cannot_use(dir))?;
    let own = shared.join(credentials.name().as_str());
    tracing::info!(name = %credentials.name(), state = %own.display(), "took free credentials");
    begin(&shared, &own)?;
    dir.clone_from(&own);
    remove_unused(&shared, &own, &keys, &roots);
    config.nats.creds_dir = None;
    config.nats.creds = Some(lock.creds().to_owned());
    let hidden = [keys, shared];
    config.agents.verifier.deny_paths.extend_from_slice(&hidden);
    for (_, program) in config.agents.programs_mut() {
        program.deny_paths.extend_from_slice(&hidden);
    }
    Ok(Some(lock))
}

/// Makes the folder of a process, with what the shared one had before there were such folders.
fn begin(shared: &Path, own: &Path) -> Result<(), OwnError> {
    DirBuilder::new().recursive(true).mode(0o700).create(own).map_err(cannot_use(own))?;
    for name in BEFORE {
        let (before, now) = (shared.join(name), own.join(name));
        if now.exists() {
            continue;
        }
        match fs::rename(&before, now) {
            // Also where another process was faster.
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(cannot_use(&before)(error)),
            _ => {}
        }
    }
    Ok(())
}

/// Removes the folders of others that are not there and were not for long. That one cannot be removed is no reason not to start.
fn remove_unused(shared: &Path, own: &Path, keys: &Path, roots: &TrustRoots) {
    let gone = own.join(GONE);
    if let Err(error) = fs::create_dir_all(&gone) {
        return tracing::warn!(dir = %gone.display(), %error, "cannot remove unused state folders");
    }
    for entry in fs::read_dir(shared).into_iter().flatten().flatten().filter(|entry| entry.path() != own) {
        let name = entry.file_name().to_str().and_then(|name| name.parse::<AgentName>().ok());
        let Some(name) = name.filter(|_| entry.path().join(GONE).is_dir() && is_old(&entry.path())) else { continue };
        // Nobody begins to use it while this holds its credentials.
        let held = claim(keys, Some(&name), roots);
        if matches!(held, Ok(_) | Err(ClaimError::NoneFree { held: 0, .. })) {
            tracing::info!(dir = %entry.path().display(), "removing a state folder that nobody used for a week");
            if let Err(error) = fs::rename(entry.path(), gone.join(fresh::suffix())) {
                tracing::warn!(dir = %entry.path().display(), %error, "cannot remove an unused state folder");
            }
        }
    }
    // That may take long.
    let removal = std::thread::Builder::new().name("remove".to_owned()).spawn(move || empty(&gone));
    if let Err(error) = removal {
        tracing::warn!(%error, "unused state folders are removed at the next start");
    }
}

/// Removes what is in a folder, with what an earlier process that ended meanwhile left of it.
fn empty(dir: &Path) {
    let within = fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path());
    for removed in std::iter::once(remove_leftovers(dir)).chain(within.map(|path| remove_tree(&path))) {
        if let Err(error) = removed {
            tracing::warn!(dir = %dir.display(), %error, "cannot remove all of an unused state folder: the next start does");
        }
    }
}

/// Whether nothing was made or removed for long in the folder and in those in it: each turn and each flight does that.
fn is_old(dir: &Path) -> bool {
    let within = fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path());
    let changed = |path: PathBuf| fs::symlink_metadata(path).and_then(|about| about.modified()).ok();
    let last = within.chain([dir.to_owned()]).filter_map(changed).max();
    last.and_then(|last| SystemTime::now().duration_since(last).ok()).is_some_and(|since| since > KEPT_FOR)
}

fn cannot_use(path: &Path) -> impl FnOnce(io::Error) -> OwnError {
    let path = path.to_owned();
    |source| OwnError::State { path, source }
}

#[cfg(test)]
mod tests {
    use std::{fs::File, time::Instant};

    use holdpoint_bus::auth::KeyFolder;
    use holdpoint_protocol::ids::role;

    use super::*;

    /// Processes that share keys and states.
    struct Shared {
        dir: tempfile::TempDir,
    }

    impl Shared {
        fn new() -> Self {
            let dir = tempfile::tempdir().unwrap();
            let mut keys = KeyFolder::open_or_create(&dir.path().join("keys")).unwrap();
            keys.ensure(&[(role::id(role::BUILDER), 4), (role::id(role::ORCHESTRATOR), 1)]).unwrap();
            Self { dir }
        }

        fn path(&self, name: &str) -> PathBuf {
            self.dir.path().join(name)
        }

        fn config(&self, role: &str) -> Config {
            let mut config = Config::default();
            config.nats.creds_dir = Some(self.path("keys").join(role));
            config.nats.trust = Some(self.path("keys/trust.json"));
            config.agent.state_dir = self.path("agent");
            config.orchestrator.state_dir = self.path("orchestrator");
            config
        }

        /// A builder: its state folder, as long as it has it.
        fn builder(&self) -> (PathBuf, CredentialsLock) {
            let mut config = self.config(role::BUILDER);
            let lock = take(&mut config, role::BUILDER).unwrap().unwrap();
            (config.agent.state_dir, lock)
        }
    }

    fn make_old(path: &Path) {
        for path in fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()).chain([path.to_owned()]) {
            File::open(path).unwrap().set_modified(SystemTime::now() - KEPT_FOR - Duration::from_secs(1)).unwrap();
        }
    }

    #[test]
    fn each_process_takes_the_folder_of_its_name_and_a_later_one_finds_what_it_left() {
        let shared = Shared::new();
        let (one, held) = shared.builder();
        fs::write(one.join("left"), "").unwrap();
        let (two, _two) = shared.builder();
        assert_eq!([&one, &two], [&shared.path("agent/builder-1"), &shared.path("agent/builder-2")]);
        drop(held);
        let (again, _again) = shared.builder();
        assert!(again == one && again.join("left").exists());
    }

    #[test]
    fn the_configuration_names_what_was_taken_and_programs_see_nothing_of_the_others() {
        let shared = Shared::new();
        let mut config = shared.config(role::BUILDER);
        let _lock = take(&mut config, role::BUILDER).unwrap();
        let keys = shared.path("keys/builder");
        assert_eq!((config.nats.creds, config.nats.creds_dir), (Some(keys.join("builder-1.creds")), None));
        let hidden = vec![keys, shared.path("agent")];
        assert_eq!(config.agents.verifier.deny_paths, hidden);
        assert_eq!(config.agents.builder.deny_paths, hidden);
    }

    #[test]
    fn an_orchestrator_has_its_own_state_folder() {
        let shared = Shared::new();
        let mut config = shared.config(role::ORCHESTRATOR);
        let _lock = take(&mut config, role::ORCHESTRATOR).unwrap();
        assert_eq!(config.orchestrator.state_dir, shared.path("orchestrator/orchestrator-1"));
        assert_eq!(config.agent.state_dir, shared.path("agent"));
    }

    #[test]
    fn with_credentials_of_its_own_a_process_has_the_configured_folder() {
        let shared = Shared::new();
        let mut config = shared.config(role::BUILDER);
        config.nats.creds_dir = None;
        assert!(take(&mut config, role::BUILDER).unwrap().is_none());
        assert_eq!(config.agent.state_dir, shared.path("agent"));
    }

    #[test]
    fn what_was_there_before_such_folders_goes_to_the_first_process() {
        let shared = Shared::new();
        fs::create_dir_all(shared.path("agent/mirrors/of-a-flight")).unwrap();
        let (one, _held) = shared.builder();
        assert!(one.join("mirrors/of-a-flight").exists() && !shared.path("agent/mirrors").exists());
    }

    #[test]
    fn folders_that_nobody_used_for_a_week_are_removed_and_those_in_use_stay() {
        let shared = Shared::new();
        let mut held: Vec<_> = (0..4).map(|_| shared.builder()).collect();
        let [one, two, three, four] = [0, 1, 2, 3].map(|number| held[number].0.clone());
        for own in [&one, &two, &three, &four] {
            fs::create_dir_all(own.join("mirrors")).unwrap();
            make_old(own);
        }
        // Something was done in it.
        fs::create_dir(three.join("turns")).unwrap();
        let _in_use = held.remove(1);
        drop(held);
        let (own, _lock) = shared.builder();
        assert_eq!(own, one);
        assert_eq!([&one, &two, &three, &four].map(|own| own.exists()), [true, true, true, false]);
        let until = Instant::now() + Duration::from_secs(60);
        while one.join(GONE).read_dir().unwrap().next().is_some() {
            assert!(Instant::now() < until, "what is removed leaves nothing behind");
            std::thread::yield_now();
        }
    }

    #[test]
    fn what_no_process_made_is_never_removed() {
        let shared = Shared::new();
        let other = shared.path("agent/keys");
        fs::create_dir_all(other.join("of-somebody")).unwrap();
        make_old(&other);
        let _builder = shared.builder();
        assert!(other.join("of-somebody").exists());
    }

    #[test]
    fn what_an_earlier_removal_left_is_removed() {
        // Of no process: its own thread would remove it at the same time.
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("abc/mirrors")).unwrap();
        empty(dir.path());
        assert_eq!(dir.path().read_dir().unwrap().count(), 0);
    }

    #[test]
    fn a_folder_that_cannot_be_made_is_named() {
        let shared = Shared::new();
        fs::write(shared.path("agent"), "").unwrap();
        let error = take(&mut shared.config(role::BUILDER), role::BUILDER).unwrap_err();
        assert!(error.to_string().contains(&shared.path("agent").display().to_string()), "{error}");
    }
}
