//! The table of presets.

use super::{Dialect, ModeKind, Preset, PresetName, SettingsFolder, UnflownAgent};

/// Where Claude Code has its settings, whichever program starts it.
const CLAUDE_SETTINGS: SettingsFolder = SettingsFolder {
    variable: "CLAUDE_CONFIG_DIR",
    default: ".claude",
    within: "",
    files: &["settings.json", "CLAUDE.md"],
    instead: &[],
    login: &[".credentials.json"],
    logs_in: "claude",
    sessions: "projects",
};

/// Where Codex has them, likewise.
const CODEX_SETTINGS: SettingsFolder = SettingsFolder {
    variable: "CODEX_HOME",
    default: ".codex",
    within: "",
    files: &["config.toml", "AGENTS.md"],
    instead: &[],
    login: &["auth.json"],
    logs_in: "codex login",
    sessions: "sessions",
};

/// Variables that programs around Claude Code are given, and those of the user that they get.
const CLAUDE_ENV: &[(&str, &str)] =
    // It refuses to go without questions as root unless it hears that it is in a sandbox.
    &[("IS_SANDBOX", "1"), ("DISABLE_AUTOUPDATER", "1"), ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")];
/// Adapters say nothing of requests that are tried again, ten times for three minutes: what still fails then is waited for here.
const CLAUDE_ADAPTER_ENV: &[(&str, &str)] = &[
    ("IS_SANDBOX", "1"),
    ("DISABLE_AUTOUPDATER", "1"),
    ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
    ("CLAUDE_CODE_MAX_RETRIES", "3"),
];
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

/// The modes of Claude Code, and of Gemini CLI and what was made of it.
const CLAUDE_MODES: &[(&str, ModeKind)] =
    &[("plan", ModeKind::Reads), ("default", ModeKind::Asks), ("bypassPermissions", ModeKind::Free)];
const GEMINI_MODES: &[(&str, ModeKind)] =
    &[("plan", ModeKind::Reads), ("default", ModeKind::Asks), ("yolo", ModeKind::Free)];
/// Modes that other agents have, as the protocol's documentation names them.
pub(super) const COMMON_MODES: &[(&str, ModeKind)] =
    &[("ask", ModeKind::Reads), ("architect", ModeKind::Reads), ("code", ModeKind::Asks), ("agent", ModeKind::Asks)];

/// Agents without a preset: none of them was flown here.
pub const UNFLOWN: [UnflownAgent; 6] = [
    UnflownAgent { program: "goose", command: "goose acp", dialect: Some(Dialect::Acp), key: Some("GOOSE_PROVIDER") },
    UnflownAgent { program: "copilot", command: "copilot --acp", dialect: Some(Dialect::Acp), key: Some("GH_TOKEN") },
    UnflownAgent {
        program: "cursor-agent",
        command: "cursor-agent acp",
        dialect: Some(Dialect::Acp),
        key: Some("CURSOR_API_KEY"),
    },
    UnflownAgent {
        program: "amp",
        command: "amp --execute --stream-json --dangerously-allow-all",
        dialect: Some(Dialect::Claude),
        key: Some("AMP_API_KEY"),
    },
    UnflownAgent {
        program: "crush",
        command: "crush run --quiet",
        dialect: Some(Dialect::Plain),
        key: Some("ANTHROPIC_API_KEY"),
    },
    UnflownAgent { program: "vibe", command: "vibe-acp", dialect: None, key: None },
];

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
        guidance: &["CLAUDE.md"],
        modes: &[],
        counts_conversations_as: None,
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
        guidance: &["AGENTS.md"],
        modes: &[],
        counts_conversations_as: None,
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
        guidance: &[],
        modes: &[],
        counts_conversations_as: None,
    },
    Preset {
        name: PresetName::Gemini,
        program: "gemini",
        dialect: Dialect::Gemini,
        // Over the Agent Client Protocol it goes on with no conversation, and asks for a login on its input.
        command: "gemini --yolo -o stream-json",
        resume: Some("gemini --yolo -o stream-json --resume {session}"),
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
            // Without it a key counts for nothing where a gateway is named as well.
            instead: &[("settings.json", "{\"security\":{\"auth\":{\"selectedType\":\"gemini-api-key\"}}}\n")],
            login: &["oauth_creds.json", "google_accounts.json"],
            logs_in: "gemini",
            sessions: "tmp",
        }),
        guidance: &["GEMINI.md"],
        modes: GEMINI_MODES,
        counts_conversations_as: None,
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
        env: CLAUDE_ADAPTER_ENV,
        pass_env: CLAUDE_PASSES,
        settings: Some(CLAUDE_SETTINGS),
        guidance: &["CLAUDE.md"],
        modes: CLAUDE_MODES,
        counts_conversations_as: None,
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
            instead: &[],
            login: &[".env"],
            logs_in: "vibe --setup",
            sessions: "logs/session",
        }),
        guidance: &["AGENTS.md"],
        modes: &[("plan", ModeKind::Reads), ("default", ModeKind::Asks), ("auto-approve", ModeKind::Free)],
        counts_conversations_as: None,
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
        env: CLAUDE_ADAPTER_ENV,
        pass_env: CLAUDE_PASSES,
        settings: Some(CLAUDE_SETTINGS),
        guidance: &["CLAUDE.md"],
        modes: CLAUDE_MODES,
        counts_conversations_as: None,
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
        guidance: &["AGENTS.md"],
        modes: &[("read-only", ModeKind::Reads), ("auto", ModeKind::Asks), ("full-access", ModeKind::Free)],
        counts_conversations_as: None,
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
            instead: &[],
            login: &["oauth_creds.json"],
            logs_in: "qwen",
            sessions: "projects",
        }),
        guidance: &["QWEN.md"],
        modes: GEMINI_MODES,
        counts_conversations_as: None,
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
        guidance: &["AGENTS.md"],
        modes: &[("plan", ModeKind::Reads)],
        counts_conversations_as: Some("OpenCode"),
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
        // Ten tries by default, two minutes each time: what still fails after these is waited for here.
        env: &[
            ("MSWEA_CONFIGURED", "true"),
            ("MSWEA_COST_TRACKING", "ignore_errors"),
            ("MSWEA_MODEL_RETRY_STOP_AFTER_ATTEMPT", "3"),
        ],
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
        guidance: &[],
        modes: &[],
        counts_conversations_as: None,
    },
];
