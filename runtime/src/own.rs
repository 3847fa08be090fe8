//! A state folder for each of several processes that are started alike.
//!
//! Processes that take their credentials out of one folder (`nats.creds_dir`) share a configuration, and so a state folder: in
//! compose, a volume of their role. Each takes the first folder in it that no other process holds (`1`, `2`, …), and works with
//! what an earlier one left there: mirrors and caches are filled when a container is made again.
//!
//! A process holds its folder by an advisory lock (`flock`) until it ends, however it ends. Processes of one kernel see it, as
//! those of [`holdpoint_bus::auth::claim`]. It does not depend on which credentials a process takes.

use std::{
    fs::{self, DirBuilder, File, OpenOptions, TryLockError},
    io,
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use holdpoint_protocol::ids::role;

use crate::{
    config::Config,
    put_away::{GONE, put_away},
};

/// How many processes may share a state folder.
const SHARERS_MAX: u32 = 1024;
/// How long a folder that nobody uses is kept: a fleet that grows again finds its mirrors.
const KEPT_FOR: Duration = Duration::from_secs(7 * 24 * 3600);

/// Why a process has no state folder.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    /// The folder, or something in it, cannot be used.
    #[error("cannot use the state folder {}", path.display())]
    Io {
        /// What cannot be used.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// All folders are held.
    #[error("{SHARERS_MAX} processes use {} already: give this one another state folder", dir.display())]
    Full {
        /// The folder that they share.
        dir: PathBuf,
    },
}

/// Holds a process's state folder for as long as it is there.
#[derive(Debug)]
pub struct StateLock {
    _file: File,
}

/// Where processes of this role share a state folder, takes one in it for this process: the configuration names it from now on,
/// and programs may not see the shared one. `None`: the configured folder is the process's own.
///
/// # Errors
/// [`StateError`].
pub fn take_own(config: &mut Config, role: &str) -> Result<Option<StateLock>, StateError> {
    if config.nats.creds_dir.is_none() {
        return Ok(None);
    }
    let dir = if role == role::ORCHESTRATOR { &mut config.orchestrator.state_dir } else { &mut config.agent.state_dir };
    let shared = std::path::absolute(&*dir).map_err(cannot_use(dir))?;
    let (own, lock) = take(&shared)?;
    tracing::info!(dir = %own.display(), "took a free state folder");
    *dir = own;
    config.agents.verifier.deny_paths.push(shared.clone());
    for (_, program) in config.agents.programs_mut() {
        program.deny_paths.push(shared.clone());
    }
    Ok(Some(lock))
}

/// Takes the first free folder in this one, and removes free ones behind it that were not used for long.
fn take(shared: &Path) -> Result<(PathBuf, StateLock), StateError> {
    create(shared)?;
    for number in 1..=SHARERS_MAX {
        let Some(lock) = hold(shared, number)? else { continue };
        let own = shared.join(number.to_string());
        create(&own)?;
        remove_unused(shared, number);
        return Ok((own, lock));
    }
    Err(StateError::Full { dir: shared.to_owned() })
}

/// `None`: another process holds it.
fn hold(shared: &Path, number: u32) -> Result<Option<StateLock>, StateError> {
    let path = shared.join(format!("{number}.lock"));
    let opened = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(&path);
    let file = opened.map_err(cannot_use(&path))?;
    match file.try_lock() {
        Ok(()) => Ok(Some(StateLock { _file: file })),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(cannot_use(&path)(error)),
    }
}

/// Locks stay: somebody may be about to take one. That a folder cannot be removed is no reason not to start.
fn remove_unused(shared: &Path, behind: u32) {
    let Some(unused) = SystemTime::now().checked_sub(KEPT_FOR) else { return };
    for entry in fs::read_dir(shared).into_iter().flatten().flatten() {
        let (path, name) = (entry.path(), entry.file_name().into_string().unwrap_or_default());
        let _lock = match name.parse() {
            Ok(number) if number > behind && last_used(&path).is_some_and(|last| last < unused) => {
                let Ok(Some(lock)) = hold(shared, number) else { continue };
                tracing::info!(dir = %path.display(), "removing a state folder that nobody used for a week");
                Some(lock)
            }
            // What a process that ended early left of one.
            Err(_) if name.starts_with(GONE) => None,
            _ => continue,
        };
        if let Err(error) = put_away(&path) {
            tracing::warn!(dir = %path.display(), %error, "cannot remove an unused state folder");
        }
    }
}

/// When something was last made or removed in the folder or in those in it: each turn and each flight does that.
fn last_used(dir: &Path) -> Option<SystemTime> {
    let within = fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path());
    let changed = |path: PathBuf| fs::symlink_metadata(path).and_then(|about| about.modified()).ok();
    within.chain([dir.to_owned()]).filter_map(changed).max()
}

fn create(dir: &Path) -> Result<(), StateError> {
    DirBuilder::new().recursive(true).mode(0o700).create(dir).map_err(cannot_use(dir))
}

fn cannot_use(path: &Path) -> impl FnOnce(io::Error) -> StateError {
    let path = path.to_owned();
    |source| StateError::Io { path, source }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sharing(dir: &Path) -> Config {
        let mut config = Config::default();
        config.nats.creds_dir = Some("/keys".into());
        config.agent.state_dir = dir.join("agent");
        config.orchestrator.state_dir = dir.join("orchestrator");
        config
    }

    fn make_old(path: &Path) {
        let file = File::open(path).unwrap();
        file.set_modified(SystemTime::now() - KEPT_FOR - Duration::from_secs(1)).unwrap();
    }

    #[test]
    fn each_process_takes_a_folder_of_its_own_and_a_free_one_is_used_again() {
        let dir = tempfile::tempdir().unwrap();
        let take = || {
            let mut config = sharing(dir.path());
            let lock = take_own(&mut config, role::BUILDER).unwrap().unwrap();
            (config.agent.state_dir, lock)
        };
        let (one, held) = take();
        fs::write(one.join("left"), "").unwrap();
        let (two, _two) = take();
        assert_eq!([&one, &two], [&dir.path().join("agent/1"), &dir.path().join("agent/2")]);
        drop(held);
        let (again, _again) = take();
        assert_eq!(again, one);
        assert!(again.join("left").exists(), "what an earlier process left is there");
    }

    #[test]
    fn programs_and_checks_do_not_see_what_processes_share() {
        let dir = tempfile::tempdir().unwrap();
        let mut config = sharing(dir.path());
        let _lock = take_own(&mut config, role::VERIFIER).unwrap();
        let shared = vec![dir.path().join("agent")];
        assert_eq!(config.agents.verifier.deny_paths, shared);
        assert_eq!(config.agents.builder.deny_paths, shared);
    }

    #[test]
    fn an_orchestrator_takes_one_of_orchestrators() {
        let dir = tempfile::tempdir().unwrap();
        let mut config = sharing(dir.path());
        let _lock = take_own(&mut config, role::ORCHESTRATOR).unwrap();
        assert_eq!(config.orchestrator.state_dir, dir.path().join("orchestrator/1"));
        assert_eq!(config.agent.state_dir, dir.path().join("agent"));
    }

    #[test]
    fn with_credentials_of_its_own_a_process_has_the_configured_folder() {
        let dir = tempfile::tempdir().unwrap();
        let mut config = sharing(dir.path());
        config.nats.creds_dir = None;
        assert!(take_own(&mut config, role::BUILDER).unwrap().is_none());
        assert_eq!(config.agent.state_dir, dir.path().join("agent"));
    }

    #[test]
    fn folders_that_nobody_used_for_a_week_are_removed_and_those_in_use_stay() {
        let dir = tempfile::tempdir().unwrap();
        let shared = dir.path().join("agent");
        let held: Vec<_> = (0..4).map(|_| take(&shared).unwrap()).collect();
        for (own, _) in &held {
            make_old(own);
        }
        // Something was done in it.
        create(&held[2].0.join("turns")).unwrap();
        make_old(&held[2].0);
        let mut held = held.into_iter();
        // The first and the third are free, the fourth too; the second is in use.
        drop(held.next());
        let _second = held.next();
        drop(held);
        let (own, _lock) = take(&shared).unwrap();
        assert_eq!(own, shared.join("1"));
        assert!([1, 2, 3].iter().all(|number| shared.join(number.to_string()).exists()));
        assert!(!shared.join("4").exists());
    }

    #[test]
    fn a_folder_that_cannot_be_made_is_named() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("agent"), "").unwrap();
        let error = take_own(&mut sharing(dir.path()), role::BUILDER).unwrap_err();
        assert!(error.to_string().contains(&format!("{}", dir.path().join("agent").display())), "{error}");
    }
}
