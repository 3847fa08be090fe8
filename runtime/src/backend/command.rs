//! The `command` backend: any program that takes a prompt on standard input becomes an agent.
//!
//! It runs `sh -c` in the sandbox, with the builder's rights: its clone (to read only, where it looks at work of others), scratch, home and configured paths to write,
//! the system, toolchains and its own folder to read, and neither the state folder nor keys.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    time::Duration,
};

use holdpoint_protocol::ids::RoleId;
use holdpoint_sandbox::{
    Command, Ended, Input, Limits, Network, Profile, PropertyReport, Sandbox, ToolchainPaths, toolchain_paths,
};

use super::{
    Backend, BackendError, BackendResult, BackendTask,
    environment::{Sources, environment},
    program::{program_files, readable},
};
use crate::{ask::Line, config::ProgramConfig, telemetry::ErrorChain};

/// Copies a working tree without its git folder.
const COPY: &str = "find . -mindepth 1 -maxdepth 1 ! -name .git -exec cp -a -t \"$TO\" -- {} +";
/// The most that a working tree may hold to be copied, and the longest that it may take. A program that asks waits for it.
const COPY_BYTES_MAX: u64 = 4 << 30;
const COPY_TIME: Duration = Duration::from_secs(60);

/// What the backend of one role is made of.
#[derive(Debug, Clone)]
pub struct CommandSettings {
    /// The role.
    pub role: RoleId,
    /// The configured program and its rights.
    pub program: ProgramConfig,
    /// The agent home. It persists, and is made where it does not exist.
    pub home: PathBuf,
    /// What the program never reaches, beside what is configured: state folder and credentials.
    pub hidden: Vec<PathBuf>,
    /// The harness's own environment, of which some is passed on.
    pub own_env: BTreeMap<String, String>,
}

/// Why a configuration makes no agent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    /// No program is configured.
    #[error("no program is configured for the role {role}: set `command` in [agents.{role}]")]
    NoCommand {
        /// The role.
        role: RoleId,
    },
    /// A configured path is not absolute.
    #[error("the path {} in [agents.{role}] is not absolute", path.display())]
    NotAbsolute {
        /// The role.
        role: RoleId,
        /// The path.
        path: PathBuf,
    },
    /// A path to be written does not exist.
    #[error("the path {} in `write_paths` of [agents.{role}] does not exist", path.display())]
    NothingToWrite {
        /// The role.
        role: RoleId,
        /// The path.
        path: PathBuf,
    },
}

/// Runs one configured command line for every turn.
#[derive(Debug)]
pub struct CommandBackend {
    settings: CommandSettings,
    command: String,
    toolchains: ToolchainPaths,
    sandbox: Sandbox,
}

impl CommandBackend {
    /// Checks the settings. Nothing is run yet.
    ///
    /// # Errors
    /// [`SettingsError`].
    pub fn try_new(settings: CommandSettings, sandbox: Sandbox) -> Result<Self, SettingsError> {
        let CommandSettings { role, program, .. } = &settings;
        let command = program.command.clone().filter(|command| !command.trim().is_empty());
        let command = command.ok_or_else(|| SettingsError::NoCommand { role: role.clone() })?;
        let paths = program.read_paths.iter().chain(&program.write_paths).chain(&program.deny_paths);
        if let Some(path) = paths.into_iter().find(|path| !path.is_absolute()) {
            return Err(SettingsError::NotAbsolute { role: role.clone(), path: path.clone() });
        }
        if let Some(path) = program.write_paths.iter().find(|path| !path.exists()) {
            return Err(SettingsError::NothingToWrite { role: role.clone(), path: path.clone() });
        }
        let var = |name: &str| settings.own_env.get(name).map(String::as_str).unwrap_or_default();
        let toolchains = toolchain_paths(var("PATH").as_ref(), real_home(&settings.own_env));
        Ok(Self { settings, command, toolchains, sandbox })
    }

    /// Runs nothing under the program's own rules, with `dir` to write: proves that the sandbox can be enforced here.
    ///
    /// # Errors
    /// [`BackendError::Sandbox`] with what is missing.
    pub async fn prove(&self, dir: &Path) -> Result<Vec<PropertyReport>, BackendError> {
        self.make_home()?;
        let profile = self.profile(vec![], vec![dir.to_owned()], self.limits(None, None));
        let mut nothing = Command::shell(":", dir, profile);
        nothing.env.insert("PATH".to_owned(), "/usr/bin:/bin".to_owned());
        Ok(self.sandbox.run(&nothing, None).await?.properties)
    }

    fn profile(&self, read: Vec<PathBuf>, write: Vec<PathBuf>, limits: Limits) -> Profile {
        let CommandSettings { program, home, hidden, own_env, .. } = &self.settings;
        let mut profile =
            Profile { read, write, deny: self.toolchains.deny.clone(), network: network(program), limits };
        profile.read.extend(self.toolchains.read.iter().chain(&program.read_paths).cloned());
        profile.read.extend(readable(&with_targets(program_files(&self.command)), real_home(own_env)));
        profile.write.push(home.clone());
        profile.write.extend(program.write_paths.iter().cloned());
        profile.deny.extend(hidden.iter().chain(&program.deny_paths).cloned());
        profile
    }

    fn limits(&self, wall: Option<Duration>, output_bytes: Option<u64>) -> Limits {
        let program = &self.settings.program;
        Limits {
            wall: wall.unwrap_or_else(|| program.wall.duration()),
            output_bytes: usize::try_from(output_bytes.unwrap_or_else(|| program.output.bytes())).unwrap_or(usize::MAX),
            ..Limits::default()
        }
    }

    fn make_home(&self) -> Result<(), BackendError> {
        let home = &self.settings.home;
        std::fs::create_dir_all(home).map_err(|source| BackendError::Io { path: home.clone(), source })
    }

    fn command(&self, task: &BackendTask) -> Command {
        let inputs = [Some(&task.turn_file), task.feedback_file.as_ref(), task.diff_file.as_ref()];
        let mut read: Vec<PathBuf> = inputs.into_iter().flatten().cloned().collect();
        let mut write = vec![task.scratch.clone()];
        if task.looks { &mut read } else { &mut write }.push(task.clone.clone());
        let profile = self.profile(read, write, self.limits(task.wall, task.output_bytes));
        let mut command = Command::shell(&self.command, &task.clone, profile);
        let sources = Sources {
            home: &self.settings.home,
            own: &self.settings.own_env,
            toolchains: &self.toolchains.env,
            pass_env: &self.settings.program.pass_env,
            env: &self.settings.program.env.0,
        };
        command.env = environment(task, &sources);
        if let Some(line) = &task.line {
            line.grant(&mut command);
        }
        command.stdin = Input::Bytes(task.prompt.clone().into_bytes());
        command
    }
}

impl Backend for CommandBackend {
    async fn run(
        &self,
        task: BackendTask,
        end: impl Future<Output = ()> + Send,
    ) -> Result<BackendResult, BackendError> {
        self.make_home()?;
        let outcome = self.sandbox.run_until(&self.command(&task), None, end).await?;
        Ok(BackendResult {
            command: self.command.clone(),
            ended: outcome.ended,
            stdout: outcome.stdout,
            stderr: outcome.stderr,
            duration: outcome.duration,
            tree_ended: outcome.tree_ended,
        })
    }

    async fn line(&self, dir: &Path) -> Result<Line, BackendError> {
        let opened = Line::open(dir, &self.sandbox, network(&self.settings.program)).await;
        opened.map_err(|source| BackendError::Io { path: dir.to_owned(), source })
    }

    async fn copy(&self, from: &Path, to: &Path) -> bool {
        let limits = Limits { wall: COPY_TIME, disk_bytes: Some(COPY_BYTES_MAX), ..Limits::default() };
        let profile = Profile {
            read: vec![from.to_owned()],
            write: vec![to.to_owned()],
            deny: self.settings.hidden.clone(),
            network: Network::Loopback,
            limits,
        };
        let mut command = Command::shell(COPY, from, profile);
        command.env.insert("PATH".to_owned(), "/usr/bin:/bin".to_owned());
        command.env.insert("TO".to_owned(), to.display().to_string());
        match self.sandbox.run(&command, None).await {
            Ok(outcome) => outcome.ended == Ended::Exited(0) && outcome.tree_ended,
            Err(error) => {
                tracing::warn!(error = %ErrorChain(&error), "cannot copy what an agent's program has done so far");
                false
            }
        }
    }
}

fn network(program: &ProgramConfig) -> Network {
    if program.network { Network::Host } else { Network::Loopback }
}

/// The user's home, whose toolchains may be read and whose secrets may not. Without one, a path that nothing is in.
fn real_home(own_env: &BTreeMap<String, String>) -> &Path {
    Path::new(own_env.get("HOME").filter(|home| home.starts_with('/')).map_or("/nonexistent", String::as_str))
}

/// The files, and what they lead to where they are links: a program finds its parts next to its real self.
fn with_targets(files: Vec<PathBuf>) -> Vec<PathBuf> {
    let targets: Vec<PathBuf> = files.iter().filter_map(|file| file.canonicalize().ok()).collect();
    files.into_iter().chain(targets).collect()
}

/// The environment of this process, as far as it is text.
#[must_use]
pub fn own_environment() -> BTreeMap<String, String> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect()
}
