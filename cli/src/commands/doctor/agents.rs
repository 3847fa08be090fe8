//! Which coding agents are here, and whether they start where turns run: in the sandbox.
//!
//! An agent that is missing makes no machine unfit. Whether its provider answers is not tried.

use holdpoint_harness::backend::{
    CommandBackend, CommandSettings, command::own_environment, installed, sessions::Sessions,
};
use holdpoint_protocol::ids::role;
use holdpoint_runtime::config::{
    AgentsConfig, Config, ProgramConfig,
    presets::{PRESETS, Preset, UNFLOWN, UnflownAgent, apply},
};
use holdpoint_sandbox::Sandbox;
use serde::Serialize;

use crate::program::login::Login;

/// One coding agent.
#[derive(Debug, Serialize)]
pub(super) struct AgentPart {
    /// The name of its preset.
    pub(super) name: &'static str,
    /// Where its program is.
    pub(super) found: Option<String>,
    /// What it says its version is, from inside the sandbox.
    pub(super) version: Option<String>,
    /// Whether it starts in the sandbox; `null` where it is not here.
    pub(super) starts: Option<bool>,
    /// How it logs in where turns run; `null` where nobody here knows.
    pub(super) login: Option<Login>,
    /// Which variables with keys and the like would be passed on: names only.
    pub(super) passes: Vec<String>,
    /// Why it does not start.
    pub(super) problem: Option<String>,
    /// How it is named where it has no preset.
    pub(super) named: Option<String>,
}

impl AgentPart {
    /// What a person should know of its login.
    fn login_problem(&self) -> Option<String> {
        let preset = PRESETS.iter().find(|preset| preset.program == self.name)?;
        self.login?.problem(preset)
    }
}

/// Looks at every preset.
pub(super) async fn look(config: &Config) -> Vec<AgentPart> {
    let mut parts = Vec::new();
    for preset in &PRESETS {
        parts.push(part(config, preset).await);
    }
    parts.extend(UNFLOWN.iter().map(unflown));
    parts
}

/// An agent without a preset: whether it is here, and how it is named.
fn unflown(agent: &UnflownAgent) -> AgentPart {
    let path = own_environment().get("PATH").cloned().unwrap_or_default();
    AgentPart {
        name: agent.program,
        found: installed::find(agent.program, &path).map(|file| file.display().to_string()),
        version: None,
        starts: None,
        login: None,
        passes: Vec::new(),
        problem: None,
        named: Some(agent.instead("--builder")),
    }
}

async fn part(config: &Config, preset: &Preset) -> AgentPart {
    let own_env = own_environment();
    let passes = preset.pass_env.iter().filter(|name| own_env.contains_key(**name)).map(|name| (*name).to_owned());
    let path = own_env.get("PATH").map(String::as_str).unwrap_or_default();
    let found = installed::find(preset.program, path);
    let mut part = AgentPart {
        name: preset.program,
        found: found.as_ref().map(|file| file.display().to_string()),
        version: None,
        starts: None,
        login: Login::of(preset, &configured(preset), &own_env),
        passes: passes.collect(),
        problem: None,
        named: None,
    };
    if found.is_none() {
        return part;
    }
    match Box::pin(version(config, preset)).await {
        Ok(version) => (part.version, part.starts) = (Some(version), Some(true)),
        Err(problem) => (part.problem, part.starts) = (Some(problem), Some(false)),
    }
    part
}

/// The preset as a builder has it.
fn configured(preset: &Preset) -> ProgramConfig {
    let builder = ProgramConfig { command: Some(preset.program.to_owned()), ..ProgramConfig::default() };
    let mut agents = AgentsConfig { builder, ..AgentsConfig::default() };
    let own_env = own_environment();
    apply(&mut agents, |name| own_env.get(name).cloned());
    agents.builder
}

/// Has the program of a preset say its version in the sandbox.
pub(in crate::commands) async fn version(config: &Config, preset: &Preset) -> Result<String, String> {
    let own_env = own_environment();
    let dir = holdpoint_sandbox::TemporaryFolder::new()
        .map_err(|error| format!("cannot make a folder to try it in: {error}"))?;
    let turn = dir.path().join("turn");
    std::fs::create_dir(&turn).map_err(|error| format!("cannot make a folder to try it in: {error}"))?;
    let settings = CommandSettings {
        role: role::id(role::BUILDER),
        program: configured(preset),
        home: dir.path().join("home"),
        sessions: Sessions::new(dir.path().join("sessions")),
        environments_dir: dir.path().join("environments"),
        hidden: Vec::new(),
        own_env,
    };
    let sandbox = Sandbox::of_this_executable().waiving(config.sandbox.waive.iter().copied());
    let backend = CommandBackend::try_new(settings, sandbox.bounded(config.sandbox.bounds()));
    backend.map_err(|error| error.to_string())?.version(preset, &turn).await
}

/// The part as lines for people.
pub(super) fn lines(part: &AgentPart) -> Vec<String> {
    let AgentPart { name, found, version, problem, passes, named, .. } = part;
    let Some(found) = found else { return vec![format!("    - {name:<8} not in PATH")] };
    if let Some(named) = named {
        return vec![format!("    - {name:<8} {found}: no preset; {named}")];
    }
    let mark = super::mark(problem.is_none());
    let mut lines = vec![format!("    {mark} {name:<8} {} {found}", version.as_deref().unwrap_or_default())];
    lines.extend(problem.as_ref().map(|problem| format!("      {problem}")));
    let keys = if passes.is_empty() { "none".to_owned() } else { passes.join(", ") };
    lines.push(format!("      variables it gets from yours: {keys}"));
    lines.extend(part.login_problem().map(|problem| format!("      {problem}")));
    lines
}
