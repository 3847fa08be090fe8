//! The `command` backend: any program that takes a prompt on standard input becomes an agent.
//!
//! It runs `sh -c` in the sandbox: a program that makes work may write its clone, scratch, home and configured paths; a
//! program that looks at work may write its scratch alone, in which it also has its home, so that it keeps nothing from one
//! turn to the next but, as an advisor, its conversation. Both read the system, toolchains and their own folder, and reach neither the state folder nor keys.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    time::Duration,
};

use holdpoint_engine::budget::price::Price;
use holdpoint_protocol::{
    ids::{FlightId, RoleId, WaypointId},
    plan::EnvironmentSpec,
};
use holdpoint_runtime::{
    config::{
        Permissions, ProgramConfig,
        presets::{Preset, PresetName, SettingsFolder},
    },
    telemetry::ErrorChain,
};
use holdpoint_sandbox::{
    Command, Ended, Network, Profile, ProgramInput, PropertyReport, RunLimits, Sandbox, ShownTree, Standby,
    ToolchainPaths, toolchain_paths,
};
use holdpoint_workspace::{Mirror, ObjectId};

use super::{
    Backend, BackendError, BackendResult, BackendTask, CheckedCommand,
    environment::{Sources, environment},
    installed::{readable_of, with_targets},
    login,
    own_settings::{SettingsCopy, lay_out},
    program::{program_files, readable},
    sessions::Sessions,
    transcript::{self, Transcript},
};
use crate::{
    acp,
    ask::AskLine,
    dialect::{self, Continuation, Dialect, Said},
    environment::{Environments, SetUp, TreeMechanism, Underlay},
    tail::last_lines,
};

/// Copies a working tree without its git folder.
const COPY: &str = "find . -mindepth 1 -maxdepth 1 ! -name .git -exec cp -a -t \"$TO\" -- {} +";
/// The most that a working tree may hold to be copied, and the longest that it may take. A program that asks waits for it.
const COPY_BYTES_MAX: u64 = 4 << 30;
const COPY_TIME: Duration = Duration::from_secs(60);
/// What is in the names of variables with secrets.
const SECRET_NAMES: [&str; 4] = ["KEY", "TOKEN", "SECRET", "PASSWORD"];
/// The placeholder in `resume`, and in a judge's, for the id of the session.
pub const SESSION: &str = "{session}";
/// How long a program may take to say its version.
const VERSION_TIME: Duration = Duration::from_secs(30);
/// Under which a program finds the tree of its turn: the same path in every turn of a waypoint, on every machine. Programs know their
/// conversations by the folder they were in.
const PLACES: &str = "/hold";
/// The home of a program that looks, in its scratch folder.
const HOME_OF_LOOKING: &str = "home";

/// What the backend of one role is made of.
#[derive(Debug, Clone)]
pub struct CommandSettings {
    /// The role.
    pub role: RoleId,
    /// The configured program and its rights.
    pub program: ProgramConfig,
    /// The agent home. It persists, and is made where it does not exist.
    pub home: PathBuf,
    /// Its conversations.
    pub sessions: Sessions,
    /// Where environments are kept, which processes of a machine share.
    pub environments_dir: PathBuf,
    /// What the program never reaches, besides what is configured: state folder and credentials.
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
    /// Where the program is installed.
    installed: Vec<PathBuf>,
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
        let installed = readable_of(&command, var("PATH"), real_home(&settings.own_env));
        Ok(Self { settings, command, toolchains, installed, sandbox })
    }

    /// Runs nothing under the program's own rules, with `dir` to write: proves that the sandbox can be enforced here.
    ///
    /// # Errors
    /// [`BackendError::Sandbox`] with what is missing.
    pub async fn prove(&self, dir: &Path) -> Result<Vec<PropertyReport>, BackendError> {
        make(&self.settings.home)?;
        let write = vec![dir.to_owned(), self.settings.home.clone()];
        let profile = self.profile(vec![], write, false, self.limits(None, None));
        let mut nothing = Command::shell(":", dir, profile);
        nothing.env.insert("PATH".to_owned(), "/usr/bin:/bin".to_owned());
        Ok(self.sandbox.run(&nothing, None).await?.properties)
    }

    /// The environments of this machine. Their setups see the toolchains and nothing else that is configured.
    fn environments(&self) -> Environments {
        let CommandSettings { environments_dir, hidden, own_env, .. } = &self.settings;
        let mut environments = Environments::new(environments_dir.clone(), own_env);
        environments.deny.clone_from(hidden);
        environments
    }

    /// The rights of a program with these trees; one that `looks` only reads what is configured to be written.
    fn profile(&self, read: Vec<PathBuf>, write: Vec<PathBuf>, looks: bool, limits: RunLimits) -> Profile {
        let CommandSettings { program, hidden, own_env, .. } = &self.settings;
        let mut profile =
            Profile { read, write, deny: self.toolchains.deny.clone(), network: network(program), limits };
        profile.read.extend(self.toolchains.read.iter().chain(&program.read_paths).cloned());
        profile.read.extend(readable(&with_targets(program_files(&self.command)), real_home(own_env)));
        profile.read.extend(self.installed.iter().cloned());
        profile.deny.extend(program.settings_dir.clone());
        let open = if looks { &mut profile.read } else { &mut profile.write };
        open.extend(program.write_paths.iter().cloned());
        profile.deny.extend(hidden.iter().chain(&program.deny_paths).cloned());
        profile
    }

    fn limits(&self, wall: Option<Duration>, output_bytes: Option<u64>) -> RunLimits {
        let program = &self.settings.program;
        RunLimits {
            wall: wall.unwrap_or_else(|| program.wall.duration()),
            output_bytes: usize::try_from(output_bytes.unwrap_or_else(|| program.output.bytes())).unwrap_or(usize::MAX),
            ..RunLimits::default()
        }
    }

    /// The home of a turn's program: the agent's, or for one that looks a folder that goes with the turn.
    fn home(&self, task: &BackendTask) -> PathBuf {
        if task.looks { task.scratch.join(HOME_OF_LOOKING) } else { self.settings.home.clone() }
    }

    /// Has the program say its version, under its own rules and with `dir` to write: whether it is there and starts in the sandbox.
    ///
    /// # Errors
    /// What a person needs to know: it is not there, or how it ended, with its last lines.
    pub async fn version(&self, preset: &Preset, dir: &Path) -> Result<String, String> {
        make(&self.settings.home).map_err(|error| ErrorChain(&error).to_string())?;
        let limits = self.limits(Some(VERSION_TIME), None);
        let profile = self.profile(vec![], vec![dir.to_owned(), self.settings.home.clone()], false, limits);
        let mut command = Command::shell(format!("{} {}", preset.program, preset.version), dir, profile);
        let path = self.settings.own_env.get("PATH").cloned().unwrap_or_default();
        let home = self.settings.home.display().to_string();
        command.env.extend([("PATH".to_owned(), path), ("HOME".to_owned(), home)]);
        command.env.insert("TMPDIR".to_owned(), dir.display().to_string());
        let outcome = self.sandbox.run(&command, None).await.map_err(|error| ErrorChain(&error).to_string())?;
        let said = |bytes: &[u8]| last_lines(bytes).lines().next_back().unwrap_or_default().to_owned();
        match outcome.ended {
            Ended::Exited(0) => Ok(said(&outcome.stdout)),
            ended => Err(format!("it does not start in the sandbox ({ended:?}): {}", said(&outcome.stderr))),
        }
    }

    /// Where the program's own settings are, if its preset knows.
    fn settings_folder(&self) -> Option<&'static SettingsFolder> {
        self.settings.program.preset.map(PresetName::preset)?.settings.as_ref()
    }

    /// Whether its conversations can go on elsewhere. How agents that speak ACP keep theirs is their own affair.
    fn moves(&self) -> bool {
        self.settings_folder().is_some() && self.settings.program.resume.is_some()
    }

    /// Lays out the program's own settings, and says where its conversations are kept, if they are.
    fn own_settings(&self, task: &BackendTask) -> Result<Option<PathBuf>, BackendError> {
        let Some(folder) = self.settings_folder() else { return Ok(None) };
        let CommandSettings { program, sessions, .. } = &self.settings;
        let io = |source| BackendError::Io { path: task.settings.clone(), source };
        let kept = (self.resumes() && task.keeps).then(|| sessions.folder(&task.flight));
        let kept = kept.transpose().map_err(io)?;
        let from = program.settings_dir.as_deref();
        let wanted = SettingsCopy { folder, from, with_login: program.with_login, sessions: kept.as_deref() };
        lay_out(wanted, &task.settings).map_err(io)?;
        Ok(kept)
    }

    /// What must not go along with a conversation: the login, as it was copied and as its program left it, and keys in variables.
    fn secrets(&self, copied: &Path) -> Vec<String> {
        let ProgramConfig { settings_dir, pass_env, env, .. } = &self.settings.program;
        let (login, within) = self.settings_folder().map_or((&[][..], ""), |folder| (folder.login, folder.within));
        let folders = [settings_dir.clone(), Some(copied.join(within))];
        let files = folders.into_iter().flatten().flat_map(|folder| login.iter().map(move |name| folder.join(name)));
        let own = pass_env.iter().filter_map(|name| self.settings.own_env.get_key_value(name));
        let keys = own.chain(&env.0).filter(|(name, _)| SECRET_NAMES.iter().any(|part| name.contains(part)));
        files.flat_map(|file| transcript::secrets_of(&file)).chain(keys.map(|(_, value)| value.clone())).collect()
    }

    /// The command line, and whether it goes on with the task's conversation. A session's id is a plain word.
    fn command_line(&self, task: &BackendTask) -> (String, bool) {
        let ProgramConfig { resume, cheaper, dialect, permissions, .. } = &self.settings.program;
        let cheaper = cheaper.as_ref().filter(|_| task.degraded);
        if *dialect == Dialect::Acp {
            let go_on = task.go_on.as_ref().filter(|_| cheaper.is_none());
            let session = go_on.map(|go_on| go_on.session.as_str());
            let asks = *permissions == Permissions::Ask;
            return (acp::command_line(cheaper.unwrap_or(&self.command), session, asks), go_on.is_some());
        }
        if let Some(cheaper) = cheaper {
            return (cheaper.clone(), false);
        }
        match (resume, &task.go_on) {
            (Some(resume), Some(go_on)) => (resume.replace(SESSION, &go_on.session), true),
            _ => (self.command.clone(), false),
        }
    }

    fn command(&self, task: &BackendTask, sessions: Option<&Path>) -> Command {
        let BackendTask { feedback_file, diff_file, map_file, documents, .. } = task;
        let inputs = [feedback_file, diff_file, map_file, documents].into_iter().flatten();
        let mut read: Vec<PathBuf> = inputs.chain([&task.turn_file]).cloned().collect();
        let home = self.home(task);
        let mut write = vec![task.scratch.clone(), home.clone()];
        let folder = self.settings_folder();
        if folder.is_some() {
            write.push(task.settings.clone());
            write.extend(sessions.map(Path::to_owned));
        }
        if task.looks { &mut read } else { &mut write }.push(task.clone.clone());
        write.extend(task.underlay.iter().flat_map(Underlay::write));
        let profile = self.profile(read, write, task.looks, self.limits(task.wall, task.output_bytes));
        let mut command = Command::shell(&self.command_line(task).0, &task.clone, profile);
        command.shown = task.underlay.as_ref().map_or_else(
            || {
                let at = Path::new(PLACES).join(task.waypoint.as_str());
                vec![ShownTree { tree: task.clone.clone(), at, over: None }]
            },
            |underlay| underlay.shown(&task.clone),
        );
        let sources = Sources {
            home: &home,
            own: &self.settings.own_env,
            toolchains: &self.toolchains.env,
            pass_env: &self.settings.program.pass_env,
            env: &self.settings.program.env.0,
        };
        command.env = environment(task, &sources);
        if let Some(folder) = folder {
            command.env.insert(folder.variable.to_owned(), task.settings.display().to_string());
        }
        if let Some(line) = &task.line {
            line.grant(&mut command);
        }
        command.stdin = ProgramInput::Bytes(task.prompt.clone().into_bytes());
        command
    }
}

impl Backend for CommandBackend {
    async fn run(
        &self,
        task: BackendTask,
        end: impl Future<Output = ()> + Send,
    ) -> Result<BackendResult, BackendError> {
        let home = self.home(&task);
        make(&home)?;
        login::keep_path(&home);
        let sessions = self.own_settings(&task)?;
        let keeps = self.resumes() && task.keeps;
        if keeps && sessions.is_none() {
            // What is noted of the conversation goes there; the program keeps it in its home.
            let made = self.settings.sessions.folder(&task.flight);
            made.map_err(|source| BackendError::Io { path: task.settings.clone(), source })?;
        }
        let (command, went_on) = self.command_line(&task);
        let running = self.command(&task, sessions.as_deref());
        let outcome = self.sandbox.run_until(&running, task.tap.as_ref(), end).await?;
        let before = task.go_on.as_ref().filter(|_| went_on);
        let said = dialect::read(self.settings.program.dialect, &outcome.stdout, before);
        let said = said.and_printed(&outcome.stderr).priced(self.price());
        if keeps {
            let last = said.continuation().filter(|_| can_go_on(&said, went_on));
            self.settings.sessions.remember(&task.flight, &task.waypoint, last.as_ref());
        }
        Ok(BackendResult {
            command,
            prompt: task.prompt,
            said,
            went_on,
            ended: outcome.ended,
            stdout: outcome.stdout,
            stderr: outcome.stderr,
            help_events: Vec::new(),
            duration: outcome.duration,
            tree_ended: outcome.tree_ended,
        })
    }

    async fn underlay(
        &self,
        spec: &EnvironmentSpec,
        of: (&Mirror, &ObjectId),
        dir: &Path,
    ) -> Result<Option<Underlay>, BackendError> {
        if spec.is_none() {
            return Ok(None);
        }
        let overlay = self.sandbox.overlays_in(dir).await?;
        let mechanism = if overlay { TreeMechanism::Overlay } else { TreeMechanism::Copy };
        let mut underlay = Underlay { spec: spec.clone(), layer: None, mechanism, dir: dir.join("under") };
        if spec.setup.is_some() {
            match Box::pin(self.environments().of_tree(spec, (&self.sandbox, mechanism), of)).await {
                Ok(SetUp::Ready(layer, _)) => underlay.layer = Some(layer),
                Ok(SetUp::Failed(failed)) => tracing::warn!(why = failed.why, "an agent goes without its environment"),
                Err(error) => tracing::warn!(error = %ErrorChain(&error), "an agent goes without its environment"),
            }
        }
        Ok(Some(underlay))
    }

    async fn check(&self, task: &BackendTask, command: &str, wall: Duration) -> Result<CheckedCommand, BackendError> {
        let task = BackendTask { wall: Some(wall), prompt: String::new(), line: None, ..task.clone() };
        let running = self.command(&task, None);
        let running = Command { argv: Command::shell(command, &task.clone, running.profile.clone()).argv, ..running };
        let outcome = self.sandbox.run(&running, None).await?;
        let output = [outcome.stdout, outcome.stderr].concat();
        Ok(CheckedCommand { ended: outcome.ended, output })
    }

    async fn stand_by(&self) -> Option<Standby<'_>> {
        Some(self.sandbox.stand_by(network(&self.settings.program)).await)
    }

    fn limits(&self, task: &BackendTask) -> (Duration, u64) {
        let RunLimits { wall, output_bytes, .. } = self.limits(task.wall, task.output_bytes);
        (wall, output_bytes as u64)
    }

    fn prompt_bytes_max(&self) -> usize {
        usize::try_from(self.settings.program.prompt.bytes()).unwrap_or(usize::MAX)
    }

    fn dialect(&self) -> Dialect {
        self.settings.program.dialect
    }

    fn price(&self) -> Option<Price> {
        self.settings.program.price
    }

    fn login(&self) -> Option<String> {
        self.settings.program.preset.map(|name| name.preset().login_advice())
    }

    fn ignored(&self) -> &[String] {
        &self.settings.program.ignore
    }

    fn resumes(&self) -> bool {
        let ProgramConfig { resume, dialect, .. } = &self.settings.program;
        resume.is_some() || *dialect == Dialect::Acp
    }

    fn conversation(&self, task: &BackendTask) -> Option<Continuation> {
        if !self.resumes() || !task.keeps {
            return None;
        }
        self.settings.sessions.last(&task.flight, &task.waypoint)
    }

    fn transcript(&self, task: &BackendTask, talk: &Continuation) -> Option<Transcript> {
        if !self.moves() || !task.keeps {
            return None;
        }
        let folder = self.settings.sessions.folder(&task.flight).ok()?;
        transcript::find(&folder, &talk.session, &self.secrets(&task.settings))
    }

    fn take_up(
        &self,
        (flight, waypoint): (&FlightId, &WaypointId),
        talk: &Continuation,
        transcript: &Transcript,
    ) -> std::io::Result<()> {
        if !self.moves() {
            return Ok(());
        }
        transcript::lay_out(&self.settings.sessions.folder(flight)?, &talk.session, transcript)?;
        self.settings.sessions.remember(flight, waypoint, Some(talk));
        Ok(())
    }

    async fn line(&self, dir: &Path) -> Result<AskLine, BackendError> {
        let opened = AskLine::open(dir, &self.sandbox, network(&self.settings.program)).await;
        opened.map_err(|source| BackendError::Io { path: dir.to_owned(), source })
    }

    async fn copy(&self, from: &Path, to: &Path) -> bool {
        let limits = RunLimits { wall: COPY_TIME, disk_bytes: Some(COPY_BYTES_MAX), ..RunLimits::default() };
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

/// Whether a later run can go on where this one ended: not where the conversation is full, and not where the program did
/// nothing in it because it no longer knows it.
fn can_go_on(said: &Said, went_on: bool) -> bool {
    let did_nothing = said.text.is_empty() && said.tool_calls.is_none();
    !(said.context_full || went_on && did_nothing && said.refused.is_none())
}

fn make(home: &Path) -> Result<(), BackendError> {
    std::fs::create_dir_all(home).map_err(|source| BackendError::Io { path: home.to_owned(), source })
}

fn network(program: &ProgramConfig) -> Network {
    if program.network { Network::Host } else { Network::Loopback }
}

/// The user's home, whose toolchains may be read and whose secrets may not. Without one, a path that nothing is in.
fn real_home(own_env: &BTreeMap<String, String>) -> &Path {
    Path::new(own_env.get("HOME").filter(|home| home.starts_with('/')).map_or("/nonexistent", String::as_str))
}

/// The environment of this process, as far as it is text.
#[must_use]
pub fn own_environment() -> BTreeMap<String, String> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect()
}
