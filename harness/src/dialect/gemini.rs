//! The JSON lines of `gemini --yolo -o stream-json`.
//!
//! Seen of Gemini CLI 0.61.0: `init` names the session; `message` lines of the `assistant` have its words, in pieces where `delta` is
//! set; `tool_use` and `tool_result` are its tool calls; `result` ends the run with its `stats`, which count this run alone, also in a
//! session that is gone on with. There are no prices. Cached tokens are among `input_tokens`, and thoughts in `total_tokens` only.

use serde_json::Value;

use super::{AgentUsage, Said, count, failure::failed, text, words};

/// What is remembered between lines.
#[derive(Debug, Default)]
pub(super) struct State {
    /// A message goes on.
    open: bool,
}

impl State {
    pub(super) fn take(&mut self, event: &Value, said: &mut Said) {
        let kind = text(event, "/type").unwrap_or_default();
        if kind != "message" {
            self.close(said);
        }
        match kind {
            "init" => {
                said.set_session(text(event, "/session_id").unwrap_or_default());
                said.tool_calls.get_or_insert(0);
            }
            "message" if text(event, "/role") == Some("assistant") => self.message(event, said),
            "tool_use" => {
                said.answers();
                said.call(text(event, "/tool_name").unwrap_or_default(), detail(event));
            }
            "error" if text(event, "/severity") == Some("error") => failed(text(event, "/message"), None, said),
            "result" => result(event, said),
            _ => {}
        }
    }

    fn message(&mut self, event: &Value, said: &mut Said) {
        said.answers();
        let is_piece = event.get("delta").and_then(Value::as_bool) == Some(true);
        if !is_piece {
            self.close(said);
        }
        if !std::mem::replace(&mut self.open, true) {
            said.last = words::begin(&mut said.text);
        }
        said.text.extend_from_slice(text(event, "/content").unwrap_or_default().as_bytes());
        if !is_piece {
            self.close(said);
        }
    }

    fn close(&mut self, said: &mut Said) {
        if std::mem::take(&mut self.open) {
            words::close(&mut said.text, said.last);
        }
    }
}

fn result(event: &Value, said: &mut Said) {
    said.finished = true;
    if let Some(stats) = event.get("stats") {
        said.usage = Some(of_stats(stats));
        let calls = said.tool_calls.unwrap_or_default().max(count(stats, "tool_calls"));
        said.tool_calls = Some(calls);
    }
    if text(event, "/status") == Some("error") {
        failed(text(event, "/error/message"), None, said);
    } else {
        (said.error, said.refused) = (None, None);
    }
}

fn of_stats(stats: &Value) -> AgentUsage {
    let (input, cache_read) = (count(stats, "input_tokens"), count(stats, "cached"));
    let thought = count(stats, "total_tokens").saturating_sub(input);
    let output = count(stats, "output_tokens").max(thought);
    AgentUsage { input: input.saturating_sub(cache_read), output, cache_read, cache_write: 0 }
}

/// What a tool call is about: the first of the inputs that people know tools by.
fn detail(event: &Value) -> &str {
    let names = ["command", "file_path", "absolute_path", "path", "pattern", "url", "query", "description"];
    names.iter().find_map(|name| event.get("parameters")?.get(name)?.as_str()).unwrap_or_default()
}
