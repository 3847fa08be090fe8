//! Presets: how the well-known coding agents are run by an agent of ours. The one table.
//!
//! A preset is meant where a command line is its bare name (`--builder claude`), or where `preset` says so; then it fills in what
//! the configuration leaves open. Pure: whether the program is there, and which version, is not looked at here. The
//! options are those of the versions that `docs/agents.md` names.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::{AgentsConfig, Dialect, ProgramConfig, VerifierConfig};

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
    /// Gemini CLI, over the Agent Client Protocol.
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
    /// Files with a login, which a turn gets only if it is asked for: a token that is refreshed in a copy can end the login.
    pub login: &'static [&'static str],
    /// The folder in which it keeps its conversations.
    pub sessions: &'static str,
}

/// Where Claude Code has its settings, whichever program starts it.
const CLAUDE_SETTINGS: SettingsFolder = SettingsFolder {
    variable: "CLAUDE_CONFIG_DIR",
    default: ".claude",
    within: "",
    files: &["settings.json", "CLAUDE.md"],
    login: &[".credentials.json"],
    sessions: "projects",
};

/// Where Codex has them, likewise.
const CODEX_SETTINGS: SettingsFolder = SettingsFolder {
    variable: "CODEX_HOME",
    default: ".codex",
    within: "",
    files: &["config.toml", "AGENTS.md"],
    login: &["auth.json"],
    sessions: "sessions",
};

/// Variables that programs around Claude Code are given, and those of the user that they get.
const CLAUDE_ENV: &[(&str, &str)] =
    // It refuses to go without questions as root unless it hears that it is in a sandbox.
    &[("IS_SANDBOX", "1"), ("DISABLE_AUTOUPDATER", "1"), ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")];
const CLAUDE_PASSES: &[&str] = &[
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "ANTHROPIC_BASE_URL",
    "ANTHROPIC_MODEL",
    "CLAUDE_CODE_OAUTH_TOKEN",
    "CLAUDE_CODE_MAX_RETRIES",
    "HTTPS_PROXY",
    "NO_PROXY",
];
/// The same of Codex.
const CODEX_PASSES: &[&str] = &["CODEX_API_KEY", "OPENAI_API_KEY", "OPENAI_BASE_URL", "HTTPS_PROXY", "NO_PROXY"];

/// What Claude Code leaves in a repository: worktrees of its own, and permissions that it was given there.
const CLAUDE_LEAVES: &[&str] = &["/.claude/worktrees/", "/.claude/settings.local.json"];

/// All presets.
pub const PRESETS: [Preset; 11] = [
    Preset {
        name: PresetName::Claude,
        program: "claude",
        dialect: Dialect::Claude,
        command: "claude -p --output-format stream-json --verbose --permission-mode bypassPermissions",
        resume: Some(
            "claude -p --output-format stream-json --verbose --permission-mode bypassPermissions --resume {session}",
        ),
        judge: Some(
            "claude -p --output-format stream-json --verbose --permission-mode bypassPermissions --setting-sources user \
             --strict-mcp-config",
        ),
        judge_resume: Some(
            "claude -p --output-format stream-json --verbose --permission-mode bypassPermissions --setting-sources user \
             --strict-mcp-config --resume {session}",
        ),
        version: "--version",
        ignore: CLAUDE_LEAVES,
        env: CLAUDE_ENV,
        pass_env: CLAUDE_PASSES,
        settings: Some(CLAUDE_SETTINGS),
    },
    Preset {
        name: PresetName::Codex,
        program: "codex",
        dialect: Dialect::Codex,
        // Its own sandbox cannot start inside ours, and ours is the fence.
        command: "codex exec --json --skip-git-repo-check --dangerously-bypass-approvals-and-sandbox -",
        resume: Some(
            "codex exec resume --json --skip-git-repo-check --dangerously-bypass-approvals-and-sandbox {session} -",
        ),
        judge: Some(
            "codex exec --json --skip-git-repo-check --dangerously-bypass-approvals-and-sandbox --ignore-rules \
             --config project_doc_max_bytes=0 -",
        ),
        judge_resume: Some(
            "codex exec resume --json --skip-git-repo-check --dangerously-bypass-approvals-and-sandbox --ignore-rules \
             --config project_doc_max_bytes=0 {session} -",
        ),
        version: "--version",
        ignore: &[],
        env: &[],
        pass_env: CODEX_PASSES,
        settings: Some(CODEX_SETTINGS),
    },
    Preset {
        name: PresetName::Aider,
        program: "aider",
        dialect: Dialect::Plain,
        // Work is captured from the files: commits of its own, and files for its history, are of no use.
        command: "aider --yes-always --no-auto-commits --no-gitignore --no-check-update --no-show-release-notes \
                  --analytics-disable --no-pretty --no-stream --chat-history-file /dev/null --input-history-file /dev/null \
                  --message-file /dev/stdin",
        resume: None,
        judge: None,
        judge_resume: None,
        version: "--version",
        ignore: &["/.aider.tags.cache.v*"],
        // Its library would fetch a list of prices at each start.
        env: &[("LITELLM_LOCAL_MODEL_COST_MAP", "True")],
        pass_env: &[
            "AIDER_MODEL",
            "ANTHROPIC_API_KEY",
            "DEEPSEEK_API_KEY",
            "GEMINI_API_KEY",
            "OPENAI_API_BASE",
            "OPENAI_API_KEY",
            "OPENROUTER_API_KEY",
            "HTTPS_PROXY",
            "NO_PROXY",
        ],
        settings: None,
    },
    Preset {
        name: PresetName::Gemini,
        program: "gemini",
        dialect: Dialect::Acp,
        command: "gemini --experimental-acp",
        resume: None,
        judge: None,
        judge_resume: None,
        version: "--version",
        ignore: &[],
        // It reads the guidance of the repository, and gets no further than its own first question otherwise.
        env: &[("GEMINI_CLI_TRUST_WORKSPACE", "true")],
        pass_env: &[
            "GEMINI_API_KEY",
            "GEMINI_MODEL",
            "GOOGLE_API_KEY",
            "GOOGLE_GEMINI_BASE_URL",
            "HTTPS_PROXY",
            "NO_PROXY",
        ],
        settings: Some(SettingsFolder {
            variable: "GEMINI_CLI_HOME",
            default: ".gemini",
            within: ".gemini",
            files: &["settings.json", "GEMINI.md"],
            login: &["oauth_creds.json", "google_accounts.json"],
            sessions: "tmp",
        }),
    },
    Preset {
        name: PresetName::ClaudeCodeAcp,
        program: "claude-code-acp",
        dialect: Dialect::Acp,
        command: "claude-code-acp",
        resume: None,
        judge: None,
        judge_resume: None,
        version: "--version",
        ignore: CLAUDE_LEAVES,
        env: CLAUDE_ENV,
        pass_env: CLAUDE_PASSES,
        settings: Some(CLAUDE_SETTINGS),
    },
    Preset {
        name: PresetName::VibeAcp,
        program: "vibe-acp",
        dialect: Dialect::Acp,
        command: "vibe-acp",
        resume: None,
        judge: None,
        judge_resume: None,
        version: "--version",
        ignore: &[],
        env: &[("VIBE_ENABLE_TELEMETRY", "false"), ("VIBE_ENABLE_UPDATE_CHECKS", "false")],
        pass_env: &["MISTRAL_API_KEY", "VIBE_ACTIVE_MODEL", "HTTPS_PROXY", "NO_PROXY"],
        settings: Some(SettingsFolder {
            variable: "VIBE_HOME",
            default: ".vibe",
            within: "",
            files: &["config.toml", "AGENTS.md"],
            login: &[".env"],
            sessions: "logs/session",
        }),
    },
    Preset {
        name: PresetName::ClaudeAgentAcp,
        program: "claude-agent-acp",
        dialect: Dialect::Acp,
        command: "claude-agent-acp",
        resume: None,
        judge: None,
        judge_resume: None,
        version: "--version",
        ignore: CLAUDE_LEAVES,
        env: CLAUDE_ENV,
        pass_env: CLAUDE_PASSES,
        settings: Some(CLAUDE_SETTINGS),
    },
    Preset {
        name: PresetName::CodexAcp,
        program: "codex-acp",
        dialect: Dialect::Acp,
        // Its own sandbox cannot start inside ours, and ours is the fence.
        command: "codex-acp -c sandbox_mode=danger-full-access -c approval_policy=never",
        resume: None,
        judge: None,
        judge_resume: None,
        version: "--version",
        ignore: &[],
        env: &[],
        pass_env: CODEX_PASSES,
        settings: Some(CODEX_SETTINGS),
    },
    Preset {
        name: PresetName::Qwen,
        program: "qwen",
        dialect: Dialect::Acp,
        command: "qwen --acp",
        resume: None,
        judge: None,
        judge_resume: None,
        version: "--version",
        ignore: &[],
        env: &[],
        pass_env: &[
            "DASHSCOPE_API_KEY",
            "OPENAI_API_KEY",
            "OPENAI_BASE_URL",
            "OPENAI_MODEL",
            "HTTPS_PROXY",
            "NO_PROXY",
        ],
        settings: Some(SettingsFolder {
            variable: "QWEN_HOME",
            default: ".qwen",
            within: "",
            files: &["settings.json", "QWEN.md"],
            login: &["oauth_creds.json"],
            sessions: "projects",
        }),
    },
    Preset {
        name: PresetName::Opencode,
        program: "opencode",
        dialect: Dialect::Acp,
        command: "opencode acp",
        resume: None,
        judge: None,
        judge_resume: None,
        version: "--version",
        ignore: &[],
        env: &[("OPENCODE_DISABLE_AUTOUPDATE", "true")],
        pass_env: &[
            "OPENCODE_CONFIG_CONTENT",
            "ANTHROPIC_API_KEY",
            "GEMINI_API_KEY",
            "OPENAI_API_KEY",
            "OPENROUTER_API_KEY",
            "HTTPS_PROXY",
            "NO_PROXY",
        ],
        settings: None,
    },
    Preset {
        name: PresetName::Mini,
        program: "mini",
        dialect: Dialect::Plain,
        // It takes its task as an argument, and asks in a terminal if it finds one.
        command: "mini -y --exit-immediately -t \"$(cat)\" </dev/null",
        resume: None,
        judge: None,
        judge_resume: None,
        version: "--help",
        ignore: &[],
        env: &[("MSWEA_CONFIGURED", "true"), ("MSWEA_COST_TRACKING", "ignore_errors")],
        pass_env: &[
            "MSWEA_MODEL_NAME",
            "ANTHROPIC_API_KEY",
            "OPENAI_API_BASE",
            "OPENAI_API_KEY",
            "OPENROUTER_API_KEY",
            "HTTPS_PROXY",
            "NO_PROXY",
        ],
        settings: None,
    },
];

impl PresetName {
    /// What is known of it.
    #[must_use]
    pub fn preset(self) -> &'static Preset {
        let [
            claude,
            codex,
            aider,
            gemini,
            claude_code_acp,
            vibe_acp,
            claude_agent_acp,
            codex_acp,
            qwen,
            opencode,
            mini,
        ] = &PRESETS;
        match self {
            Self::Claude => claude,
            Self::Codex => codex,
            Self::Aider => aider,
            Self::Gemini => gemini,
            Self::ClaudeCodeAcp => claude_code_acp,
            Self::VibeAcp => vibe_acp,
            Self::ClaudeAgentAcp => claude_agent_acp,
            Self::CodexAcp => codex_acp,
            Self::Qwen => qwen,
            Self::Opencode => opencode,
            Self::Mini => mini,
        }
    }

    fn of_command(command: &str) -> Option<Self> {
        PRESETS.iter().find(|preset| preset.program == command.trim()).map(|preset| preset.name)
    }
}

impl Preset {
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
    for (key, value) in preset.env {
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
