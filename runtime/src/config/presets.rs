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
    files: &["settings.json", "CLAUDE.md"],
    login: &[".credentials.json"],
    sessions: "projects",
};

/// What Claude Code leaves in a repository: worktrees of its own, and permissions that it was given there.
const CLAUDE_LEAVES: &[&str] = &["/.claude/worktrees/", "/.claude/settings.local.json"];

/// All presets.
pub const PRESETS: [Preset; 6] = [
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
        // It refuses to go without questions as root unless it hears that it is in a sandbox.
        env: &[("IS_SANDBOX", "1"), ("DISABLE_AUTOUPDATER", "1"), ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")],
        pass_env: &[
            "ANTHROPIC_API_KEY",
            "ANTHROPIC_AUTH_TOKEN",
            "ANTHROPIC_BASE_URL",
            "ANTHROPIC_MODEL",
            "CLAUDE_CODE_OAUTH_TOKEN",
            "CLAUDE_CODE_MAX_RETRIES",
            "HTTPS_PROXY",
            "NO_PROXY",
        ],
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
        pass_env: &["CODEX_API_KEY", "OPENAI_API_KEY", "OPENAI_BASE_URL", "HTTPS_PROXY", "NO_PROXY"],
        settings: Some(SettingsFolder {
            variable: "CODEX_HOME",
            default: ".codex",
            files: &["config.toml", "AGENTS.md"],
            login: &["auth.json"],
            sessions: "sessions",
        }),
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
        env: &[],
        pass_env: &[
            "GEMINI_API_KEY",
            "GEMINI_MODEL",
            "GOOGLE_API_KEY",
            "GOOGLE_GEMINI_BASE_URL",
            "HTTPS_PROXY",
            "NO_PROXY",
        ],
        settings: None,
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
        env: &[("IS_SANDBOX", "1"), ("DISABLE_AUTOUPDATER", "1"), ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")],
        pass_env: &[
            "ANTHROPIC_API_KEY",
            "ANTHROPIC_AUTH_TOKEN",
            "ANTHROPIC_BASE_URL",
            "ANTHROPIC_MODEL",
            "CLAUDE_CODE_OAUTH_TOKEN",
            "HTTPS_PROXY",
            "NO_PROXY",
        ],
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
            files: &["config.toml", "AGENTS.md"],
            login: &[".env"],
            sessions: "logs/session",
        }),
    },
];

impl PresetName {
    /// What is known of it.
    #[must_use]
    pub fn preset(self) -> &'static Preset {
        let [claude, codex, aider, gemini, claude_code_acp, vibe_acp] = &PRESETS;
        match self {
            Self::Claude => claude,
            Self::Codex => codex,
            Self::Aider => aider,
            Self::Gemini => gemini,
            Self::ClaudeCodeAcp => claude_code_acp,
            Self::VibeAcp => vibe_acp,
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
        let named = variable(folder.variable).filter(|path| path.starts_with('/')).map(PathBuf::from);
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
mod tests {
    use super::*;

    fn filled(adjust: impl FnOnce(&mut ProgramConfig)) -> ProgramConfig {
        let mut agents = AgentsConfig::default();
        adjust(&mut agents.builder);
        apply(&mut agents, |name| match name {
            "HOME" => Some("/home/u".to_owned()),
            "CODEX_HOME" => Some("/srv/codex".to_owned()),
            _ => None,
        });
        agents.builder
    }

    fn command(line: &str) -> ProgramConfig {
        filled(|program| program.command = Some(line.to_owned()))
    }

    #[test]
    fn every_preset_is_found_by_its_name_and_is_whole() {
        for preset in &PRESETS {
            assert_eq!(preset.name.preset(), preset);
            assert_eq!(PresetName::of_command(preset.program), Some(preset.name));
            assert!(preset.command.starts_with(preset.program) && !preset.command.contains("  "));
            let resumes =
                preset.resume.is_none_or(|resume| resume.contains("{session}") && resume.starts_with(preset.program));
            assert!(resumes && preset.resume.is_none_or(|_| preset.settings.is_some()));
            let files = preset.settings.iter().flat_map(|folder| folder.files.iter().chain(folder.login));
            assert!(files.into_iter().all(|file| !file.contains('/')), "names of files, and no paths");
        }
    }

    #[test]
    fn a_bare_name_is_a_preset_and_everything_else_stays_a_command_line() {
        let claude = command(" claude ");
        assert_eq!(claude.command.as_deref(), Some(PRESETS[0].command));
        assert_eq!((claude.dialect, claude.preset), (Dialect::Claude, Some(PresetName::Claude)));
        assert_eq!(claude.settings_dir.as_deref(), Some(std::path::Path::new("/home/u/.claude")));
        assert_eq!(command("aider").ignore, ["/.aider.tags.cache.v*"]);
        assert_eq!(command("codex").settings_dir.as_deref(), Some(std::path::Path::new("/srv/codex")));
        for other in ["./claude", "claude -p", "/usr/bin/claude", "sh -c claude"] {
            let program = command(other);
            assert_eq!(
                (program.command.as_deref(), program.dialect, program.preset),
                (Some(other), Dialect::Plain, None)
            );
        }
    }

    #[test]
    fn what_the_configuration_says_goes_before_the_preset() {
        let program = filled(|program| {
            program.preset = Some(PresetName::Claude);
            program.command = Some("claude -p --model x".to_owned());
            program.env.0.insert("IS_SANDBOX".to_owned(), "0".to_owned());
            program.pass_env = vec!["MINE".to_owned(), "ANTHROPIC_API_KEY".to_owned()];
        });
        assert_eq!((program.command.as_deref(), program.resume), (Some("claude -p --model x"), None));
        assert_eq!((program.env.0["IS_SANDBOX"].as_str(), program.dialect), ("0", Dialect::Claude));
        assert_eq!(program.pass_env.iter().filter(|name| *name == "ANTHROPIC_API_KEY").count(), 1);
        assert!(program.pass_env.contains(&"MINE".to_owned()));
    }

    #[test]
    fn another_program_of_the_role_gets_nothing_of_the_first_ones_preset() {
        let mut agents = AgentsConfig { builder: command("claude"), ..AgentsConfig::default() };
        agents.builder.pass_env.push("MINE".to_owned());
        agents.builder.network = false;
        agents.builder.leave();
        assert_eq!((agents.builder.pass_env.as_slice(), agents.builder.network), (&["MINE".to_owned()][..], false));
        agents.builder.command = Some("codex".to_owned());
        apply(&mut agents, |_| None);
        let codex = PresetName::Codex.preset();
        assert_eq!((agents.builder.dialect, agents.builder.resume.as_deref()), (codex.dialect, codex.resume));
        assert!(!agents.builder.pass_env.contains(&"ANTHROPIC_API_KEY".to_owned()));
    }

    #[test]
    fn filling_in_twice_changes_nothing() {
        for preset in &PRESETS {
            let once = command(preset.program);
            assert_eq!(filled(|program| *program = once.clone()), once);
        }
    }

    #[test]
    fn a_judge_does_without_the_settings_of_the_tree() {
        let mut agents = AgentsConfig::default();
        agents.verifier.judge = Some("claude".to_owned());
        apply(&mut agents, |_| None);
        let VerifierConfig { judge, judge_resume, judge_dialect, judge_pass_env, pass_env, .. } = agents.verifier;
        let (judge, resume) = (judge.unwrap(), judge_resume.unwrap());
        assert!(judge.starts_with("IS_SANDBOX=1 DISABLE_AUTOUPDATER=1 "));
        assert_eq!(resume, format!("{judge} --resume {{session}}"), "the same walls in the same conversation");
        assert_eq!(judge_dialect, Dialect::Claude);
        assert!(judge_pass_env.contains(&"ANTHROPIC_API_KEY".to_owned()) && pass_env.is_empty());
    }
}
