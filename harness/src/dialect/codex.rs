//! The JSON lines of `codex exec --json`.
//!
//! Seen of Codex 0.163.0: `thread.started` names the session, `item.completed` has the words (`agent_message`) and, as
//! `item.started` before, what tools do; `error` also reports what is tried again (`Reconnecting... 1/5`);
//! `turn.completed` with `usage`, or `turn.failed`, ends the run. `usage` counts the whole thread, so that of a thread
//! that is gone on with is what is more than before. There are no prices. Cached tokens are among `input_tokens`.

use serde_json::Value;

use super::{AgentUsage, Said, count, failure::failed, text, words};

/// Items that are calls of tools.
const TOOLS: [&str; 5] = ["command_execution", "mcp_tool_call", "web_search", "file_change", "collab_tool_call"];
/// Started items that are remembered, so that their end is no second call.
const OPEN_MAX: usize = 64;

/// What is remembered between lines.
#[derive(Debug)]
pub(super) struct State {
    /// What the thread had used up before.
    before: AgentUsage,
    open: Vec<String>,
}

impl State {
    pub(super) fn new(before: Option<AgentUsage>) -> Self {
        Self { before: before.unwrap_or_default(), open: Vec::new() }
    }

    pub(super) fn take(&mut self, event: &Value, said: &mut Said) {
        match text(event, "/type").unwrap_or_default() {
            "thread.started" => said.set_session(text(event, "/thread_id").unwrap_or_default()),
            "item.started" => self.started(event, said),
            "item.completed" => self.completed(event, said),
            "error" => {
                let message = text(event, "/message");
                if let Some(message) = message.filter(|message| message.starts_with("Reconnecting")) {
                    said.tries_again(message);
                }
                failed(message, None, said);
            }
            "turn.failed" => {
                said.finished = true;
                failed(text(event, "/error/message"), None, said);
            }
            "turn.completed" => {
                said.finished = true;
                answers(said);
                if let Some(usage) = event.get("usage") {
                    let total = of_usage(usage);
                    said.session_usage = Some(total);
                    said.usage = Some(total.beyond(self.before));
                }
            }
            _ => {}
        }
    }

    fn started(&mut self, event: &Value, said: &mut Said) {
        let Some(kind) = tool(event) else { return };
        said.answered = true;
        said.call(kind, detail(event));
        if let Some(id) = text(event, "/item/id").filter(|_| self.open.len() < OPEN_MAX) {
            self.open.push(id.chars().take(64).collect());
        }
    }

    fn completed(&mut self, event: &Value, said: &mut Said) {
        match text(event, "/item/type").unwrap_or_default() {
            "agent_message" => {
                answers(said);
                said.last = words::message(&mut said.text, text(event, "/item/text").unwrap_or_default());
                said.tool_calls.get_or_insert(0);
            }
            _ => {
                said.answered |= text(event, "/item/type") != Some("error");
                let Some(kind) = tool(event) else { return };
                let id = text(event, "/item/id").unwrap_or_default();
                match self.open.iter().position(|open| open == id) {
                    Some(at) => drop(self.open.swap_remove(at)),
                    None => said.call(kind, detail(event)),
                }
                if text(event, "/item/status") == Some("declined") {
                    said.deny(kind);
                }
            }
        }
    }
}

/// The provider answers: what failed before was tried again.
fn answers(said: &mut Said) {
    said.answers();
    (said.error, said.context_full) = (None, false);
}

fn tool(event: &Value) -> Option<&str> {
    text(event, "/item/type").filter(|kind| TOOLS.contains(kind))
}

fn detail(event: &Value) -> &str {
    let names = ["command", "tool", "query", "prompt"];
    let direct = names.iter().find_map(|name| event.get("item")?.get(name)?.as_str());
    direct.or_else(|| text(event, "/item/changes/0/path")).unwrap_or_default()
}

fn of_usage(usage: &Value) -> AgentUsage {
    let (cache_read, cache_write) = (count(usage, "cached_input_tokens"), count(usage, "cache_write_input_tokens"));
    let input = count(usage, "input_tokens").saturating_sub(cache_read).saturating_sub(cache_write);
    AgentUsage { input, output: count(usage, "output_tokens"), cache_read, cache_write }
}
