//! Agents that npm has: Gemini CLI by its JSON lines, and four over the Agent Client Protocol.

use std::process::Command;

use super::{Agent, REFUSED, SCENARIOS, Scenario};
use crate::world::World;

/// What all of them fly.
const SHORT: [Scenario; 3] = {
    let [right, rework, ..] = SCENARIOS;
    [right, rework, REFUSED]
};

pub(super) const GEMINI: Agent = Agent {
    preset: "gemini",
    variable: "HOLDPOINT_SOAK_GEMINI",
    configure: |command, _, port| {
        command.env("GOOGLE_GEMINI_BASE_URL", format!("http://127.0.0.1:{port}")).env("GEMINI_API_KEY", "none");
        command.env("GEMINI_MODEL", "gemini-soak");
    },
    overload: "fail 429 overloaded",
    scenarios: &SHORT,
    goes_on: false,
};

pub(super) const QWEN: Agent = Agent {
    preset: "qwen",
    variable: "HOLDPOINT_SOAK_QWEN",
    configure: |command, _, port| {
        command.env("OPENAI_BASE_URL", format!("http://127.0.0.1:{port}/v1")).env("OPENAI_API_KEY", "none");
        command.env("OPENAI_MODEL", "gpt-soak");
    },
    overload: "fail 503 overloaded",
    scenarios: &SHORT,
    goes_on: false,
};

pub(super) const OPENCODE: Agent = Agent {
    preset: "opencode",
    variable: "HOLDPOINT_SOAK_OPENCODE",
    configure: opencode,
    overload: "fail 503 overloaded",
    scenarios: &SHORT,
    goes_on: false,
};

pub(super) const CLAUDE_AGENT_ACP: Agent = Agent {
    preset: "claude-agent-acp",
    variable: "HOLDPOINT_SOAK_CLAUDE_AGENT_ACP",
    configure: super::claude,
    overload: "fail 529 overloaded",
    scenarios: &SHORT,
    goes_on: false,
};

pub(super) const CODEX_ACP: Agent = Agent {
    preset: "codex-acp",
    variable: "HOLDPOINT_SOAK_CODEX_ACP",
    configure: super::codex,
    overload: "fail 503 overloaded",
    scenarios: &SHORT,
    goes_on: false,
};

fn opencode(command: &mut Command, _: &World, port: u16) {
    let config = serde_json::json!({
        "provider": {"local": {
            "npm": "@ai-sdk/openai-compatible",
            "options": {"baseURL": format!("http://127.0.0.1:{port}/v1"), "apiKey": "none"},
            "models": {"gpt-soak": {"limit": {"context": 100_000, "output": 4_000}}},
        }},
        "model": "local/gpt-soak",
        "small_model": "local/gpt-soak",
        "share": "disabled",
    });
    command.env("OPENCODE_CONFIG_CONTENT", config.to_string());
}
