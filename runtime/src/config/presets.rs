//! Presets: how the well-known coding agents are run by an agent of ours. [`PRESETS`] is the one table.
//!
//! A preset is meant where a command line is its bare name (`--builder claude`), or where `preset` says so; then it fills in what
//! the configuration leaves open. Pure: whether the program is there, and which version, is not looked at here. The
//! options are those of the versions that `docs/agents.md` names.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

mod table;

use super::{AgentsConfig, Dialect, ProgramConfig, VerifierConfig};

use table::COMMON_MODES;
pub use table::{PRESETS, UNFLOWN};

/// A coding agent that Holdpoint knows how to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PresetName {
    /// Claude Code.
    Claude,
    /// Codex.
    Codex,
    /// Aider.
    Aider,
    /// Gemini CLI.
    Gemini,
    /// Claude Code behind an adapter to the Agent Client Protocol.
    #[serde(rename = "claude-code-acp")]
    ClaudeCodeAcp,
    /// Mistral Vibe, over the Agent Client Protocol.
    #[serde(rename = "vibe-acp")]
    VibeAcp,
    /// The adapter that took the place of `claude-code-acp`.
    #[serde(rename = "claude-agent-acp")]
    ClaudeAgentAcp,
    /// Codex behind an adapter to the Agent Client Protocol.
    #[serde(rename = "codex-acp")]
    CodexAcp,
    /// Qwen Code, over the Agent Client Protocol.
    Qwen,
    /// OpenCode, over the Agent Client Protocol.
    Opencode,
    /// mini-swe-agent.
    Mini,
}

/// How it is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Preset {
    /// Its name, and that of its program.
    pub name: PresetName,
    /// The program.
    pub program: &'static str,
    /// The form of its output.
    pub dialect: Dialect,
    /// The command line of a program that makes work: the prompt on standard input.
    pub command: &'static str,
    /// The same in a conversation that goes on, `{session}` being its id.
    pub resume: Option<&'static str>,
    /// The command line of a judge: without the settings of the tree that it judges, which would run with the judge's keys.
    pub judge: Option<&'static str>,
    /// The same in a conversation that goes on, `{session}` being its id.
    pub judge_resume: Option<&'static str>,
    /// Arguments by which it says its version.
    pub version: &'static str,
    /// What it leaves among its work and is none, as patterns of gitignore(5).
    pub ignore: &'static [&'static str],
    /// Variables that are set.
    pub env: &'static [(&'static str, &'static str)],
    /// Variables of the user that it gets, where they are set.
    pub pass_env: &'static [&'static str],
    /// Where its own settings are, if in a folder.
    pub settings: Option<SettingsFolder>,
    /// Files of a repository that it reads as guidance.
    pub guidance: &'static [&'static str],
    /// The modes of its own in which it works over the Agent Client Protocol, and in which it only reads.
    pub modes: &'static [(&'static str, ModeKind)],
    /// The name that it gives itself over that protocol, if what it says of costs is of the whole conversation, also where another process
    /// began it. All others count from the beginning of the process, or of the prompt.
    pub counts_conversations_as: Option<&'static str>,
}

/// What an agent does in a mode of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModeKind {
    /// It only reads.
    Reads,
    /// It asks before it writes.
    Asks,
    /// It works without asking.
    Free,
}

/// A coding agent that people know by a name which alone opens a terminal: how it is run here, by its documentation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnflownAgent {
    /// The name.
    pub program: &'static str,
    /// Its command line for programs.
    pub command: &'static str,
    /// What it speaks then; `None`: the command line is that of a preset.
    pub dialect: Option<Dialect>,
    /// The variable with its key.
    pub key: Option<&'static str>,
}

impl UnflownAgent {
    /// The agent that a command line names and nothing else.
    #[must_use]
    pub fn of_command(command: &str) -> Option<&'static Self> {
        UNFLOWN.iter().find(|agent| agent.program == command.trim())
    }

    /// What to type instead, where this flag names the program.
    #[must_use]
    pub fn instead(&self, flag: &str) -> String {
        let flag = if flag.ends_with('=') { flag.to_owned() } else { format!("{flag} ") };
        let quoted = if self.command.contains(' ') { format!("'{}'", self.command) } else { self.command.to_owned() };
        let dialect = self.dialect.map(|dialect| format!(" --dialect {}", dialect.as_str())).unwrap_or_default();
        let key = self.key.map(|key| format!(" --pass-env {key}")).unwrap_or_default();
        format!("{flag}{quoted}{dialect}{key}")
    }
}

/// What an agent does in a mode with this id; `None`: nobody here knows.
#[must_use]
pub fn mode_kind(id: &str) -> Option<ModeKind> {
    let known = PRESETS.iter().flat_map(|preset| preset.modes).chain(COMMON_MODES);
    known.into_iter().find(|(known, _)| *known == id).map(|(_, kind)| *kind)
}

/// Whether costs of the agent that calls itself this are those of whole conversations.
#[must_use]
pub fn counts_conversations(name: &str) -> bool {
    PRESETS.iter().any(|preset| preset.counts_conversations_as == Some(name))
}

/// The folder of a program's own settings. A turn gets copies of the named files and nothing else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SettingsFolder {
    /// The variable that names the folder.
    pub variable: &'static str,
    /// Where it is otherwise, in the user's home.
    pub default: &'static str,
    /// The folder in that of the variable in which the files are; empty where they are in that itself.
    pub within: &'static str,
    /// Files that a turn gets.
    pub files: &'static [&'static str],
    /// Files that a turn gets where the user has none, with their text.
    pub instead: &'static [(&'static str, &'static str)],
    /// Files with a login, which a turn gets only if it is asked for: a token that is refreshed in a copy can end the login.
    pub login: &'static [&'static str],
    /// The command line by which a person logs in.
    pub logs_in: &'static str,
    /// The folder in which it keeps its conversations.
    pub sessions: &'static str,
}

impl PresetName {
    /// What is known of it.
    #[must_use]
    pub fn preset(self) -> &'static Preset {
        // Every name has its row: a test looks.
        PRESETS.iter().find(|preset| preset.name == self).unwrap_or(&PRESETS[0])
    }

    fn of_command(command: &str) -> Option<Self> {
        PRESETS.iter().find(|preset| preset.program == command.trim()).map(|preset| preset.name)
    }
}

/// What is in the names of variables with keys.
const KEY_NAMES: [&str; 2] = ["KEY", "TOKEN"];

impl Preset {
    /// Whether a variable of this name has a key.
    #[must_use]
    pub fn is_key(name: &str) -> bool {
        KEY_NAMES.iter().any(|part| name.contains(part))
    }

    /// The variables with keys that it gets.
    #[must_use]
    pub fn keys(&self) -> Vec<&'static str> {
        self.pass_env.iter().copied().filter(|name| Self::is_key(name)).collect()
    }

    /// What its person does for a login.
    #[must_use]
    pub fn login_advice(&self) -> String {
        let keys = format!("set {}", self.keys().join(" or "));
        match &self.settings {
            Some(folder) => format!("log in with `{}` and name --with-login, or {keys}", folder.logs_in),
            None => keys,
        }
    }

    /// The variables that it needs of its user: those that it gets, and where its settings are.
    fn passed(&self) -> impl Iterator<Item = String> {
        self.pass_env.iter().map(|name| (*name).to_owned())
    }
}

/// Fills in what presets say. `variable` looks up a variable of the user.
pub fn apply(agents: &mut AgentsConfig, variable: impl Fn(&str) -> Option<String>) {
    for (_, program) in agents.programs_mut() {
        fill(program, &variable);
    }
    judge(&mut agents.verifier);
}

fn fill(program: &mut ProgramConfig, variable: &impl Fn(&str) -> Option<String>) {
    let bare = program.command.as_deref().and_then(PresetName::of_command);
    let Some(name) = bare.or(program.preset) else { return };
    let preset = name.preset();
    program.preset = Some(name);
    if bare.is_some() || program.command.is_none() {
        program.command = Some(preset.command.to_owned());
        program.resume = program.resume.take().or_else(|| preset.resume.map(str::to_owned));
    }
    if program.dialect.is_plain() {
        program.dialect = preset.dialect;
    }
    let is_own = |key: &str| preset.pass_env.contains(&key) && variable(key).is_some();
    for (key, value) in preset.env.iter().filter(|(key, _)| !is_own(key)) {
        program.env.0.entry((*key).to_owned()).or_insert_with(|| (*value).to_owned());
    }
    add(&mut program.ignore, preset.ignore.iter().map(|pattern| (*pattern).to_owned()));
    add(&mut program.pass_env, preset.passed());
    if let (None, Some(folder)) = (&program.settings_dir, &preset.settings) {
        let named = variable(folder.variable).filter(|path| path.starts_with('/'));
        let named = named.map(|path| PathBuf::from(path).join(folder.within));
        let home = || {
            variable("HOME").filter(|home| home.starts_with('/')).map(|home| PathBuf::from(home).join(folder.default))
        };
        program.settings_dir = named.or_else(home);
    }
}

fn judge(verifier: &mut VerifierConfig) {
    let Some(name) = verifier.judge.as_deref().and_then(PresetName::of_command) else { return };
    let preset = name.preset();
    let Some(command) = preset.judge else { return };
    // Checks do not get its variables, and a judge has no variables of the file: they are in its command line.
    let set: String = preset.env.iter().map(|(key, value)| format!("{key}={value} ")).collect();
    verifier.judge = Some(format!("{set}{command}"));
    let resume = preset.judge_resume.map(|resume| format!("{set}{resume}"));
    verifier.judge_resume = verifier.judge_resume.take().or(resume);
    verifier.judge_dialect = preset.dialect;
    add(&mut verifier.judge_pass_env, preset.passed());
}

fn add(list: &mut Vec<String>, names: impl Iterator<Item = String>) {
    for name in names {
        if !list.contains(&name) {
            list.push(name);
        }
    }
}

#[cfg(test)]
mod tests;
