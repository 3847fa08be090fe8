//! The JSON lines of `claude -p --output-format stream-json --verbose`.
//!
//! Seen of Claude Code 2.1.331: `system/init` names the session; `assistant` lines have the words and tool calls, those of
//! sub-agents with a `parent_tool_use_id`, and errors of the API as words of a `<synthetic>` model; `system/api_retry`
//! reports each request that is tried again; `result` ends the run. In a session that is gone on with, `total_cost_usd`
//! and `modelUsage` count the whole session, `model_usage_since_last_result` and `usage` this run.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{
    AgentUsage, ProviderRefusal, RefusalKind, Said, count,
    failure::{is_refusing, refusal},
    micro_usd, text, words,
};

/// The model of words that are the program's own.
const SYNTHETIC: &str = "<synthetic>";
/// Why a run ended whose conversation is too long, and what the program says then.
const TOO_LONG: [&str; 2] = ["prompt_too_long", "Prompt is too long"];

/// What is remembered between lines.
#[derive(Debug, Default)]
pub(super) struct State {
    /// The message whose tokens were counted last, and what of them was.
    counted: Option<(String, AgentUsage)>,
    /// Results so far, of a run that has several.
    results: Option<AgentUsage>,
    /// What each session of the run has cost.
    costs: BTreeMap<String, u64>,
}

impl State {
    pub(super) fn take(&mut self, event: &Value, said: &mut Said) {
        if let Some(session) = text(event, "/session_id") {
            said.set_session(session);
        }
        match text(event, "/type").unwrap_or_default() {
            "system" => system(event, said),
            "assistant" => self.assistant(event, said),
            "rate_limit_event" => rate_limit(event, said),
            "result" => self.result(event, said),
            _ => {}
        }
    }

    fn assistant(&mut self, event: &Value, said: &mut Said) {
        let is_error = event.get("is_api_error_message").and_then(Value::as_bool) == Some(true);
        let blocks = event.pointer("/message/content").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        if is_error || text(event, "/message/model") == Some(SYNTHETIC) {
            if is_error && let Some(error) = blocks.iter().find_map(|block| text(block, "/text")) {
                said.set_error(error);
                said.context_full |= TOO_LONG.contains(&error);
            }
            return;
        }
        said.answers();
        self.tokens(event, said);
        let of_sub_agent = event.get("parent_tool_use_id").is_some_and(|parent| !parent.is_null());
        for block in blocks {
            match text(block, "/type") {
                Some("text") if !of_sub_agent => {
                    said.last = words::message(&mut said.text, text(block, "/text").unwrap_or_default());
                }
                Some("tool_use" | "server_tool_use") => {
                    said.call(text(block, "/name").unwrap_or_default(), detail(block));
                }
                _ => {}
            }
        }
        said.tool_calls.get_or_insert(0);
    }

    /// Counts as messages come, for a run that does not come to its result. Blocks of one message repeat its tokens.
    fn tokens(&mut self, event: &Value, said: &mut Said) {
        let Some(usage) = event.pointer("/message/usage") else { return };
        let (id, usage) = (text(event, "/message/id").unwrap_or_default(), of_usage(usage));
        let before = match &self.counted {
            Some((counted, of_it)) if counted == id => *of_it,
            _ => AgentUsage::default(),
        };
        let total = said.usage.unwrap_or_default().plus(usage.beyond(before));
        said.usage = Some(total);
        self.counted = Some((id.chars().take(64).collect(), usage));
    }

    fn result(&mut self, event: &Value, said: &mut Said) {
        said.finished = true;
        let (usage, cost) = spent(event);
        if let Some(usage) = usage {
            let total = self.results.unwrap_or_default().plus(usage);
            self.results = Some(total);
            said.usage = Some(total);
        }
        if let Some(cost) = cost {
            let session = text(event, "/session_id").unwrap_or_default();
            let of_session = self.costs.entry(session.to_owned()).or_default();
            *of_session = match cost {
                Cost::Since(cost) => of_session.saturating_add(cost),
                Cost::Total(cost) => cost,
            };
            said.cost_micro_usd = Some(self.costs.values().fold(0, |sum, cost| sum.saturating_add(*cost)));
        }
        for denied in event.get("permission_denials").and_then(Value::as_array).into_iter().flatten() {
            said.deny(text(denied, "/tool_name").unwrap_or_default());
        }
        let result = text(event, "/result");
        if event.get("is_error").and_then(Value::as_bool) == Some(true) {
            let subtype = text(event, "/subtype").filter(|subtype| *subtype != "success");
            said.set_error(result.or(subtype).unwrap_or("the run ended with an error"));
            said.context_full |= text(event, "/terminal_reason").is_some_and(|reason| TOO_LONG.contains(&reason));
            let by_words = said.error.as_deref().and_then(|error| refusal(error, status_in(event, "api_error_status")));
            refuses(by_words, said);
        } else {
            (said.error, said.context_full, said.refused) = (None, false, None);
            // The answer is there already, unless the program does not print messages.
            if let Some(result) = result.filter(|_| said.text.is_empty()) {
                said.last = words::message(&mut said.text, result);
            }
        }
    }
}

fn system(event: &Value, said: &mut Said) {
    match text(event, "/subtype") {
        Some("api_retry") => {
            said.tries_again(&again(event));
            refuses(refusal("", status_in(event, "error_status")), said);
        }
        Some("permission_denied") => said.deny(text(event, "/tool_name").unwrap_or_default()),
        _ => {}
    }
}

/// What is said of a request that is tried again.
fn again(event: &Value) -> String {
    let number = |name: &str| event.get(name).and_then(Value::as_u64);
    let why = [number("error_status").map(|status| status.to_string()), text(event, "/error").map(str::to_owned)];
    let why = why.into_iter().flatten().collect::<Vec<_>>().join(" ");
    let of = number("max_retries").map(|most| format!(" of {most}")).unwrap_or_default();
    let retry = number("attempt").map(|retry| format!(", retry {retry}{of}")).unwrap_or_default();
    format!("trying again: {why}{retry}")
}

/// What a plan of a subscription says: `rejected` until a time.
fn rate_limit(event: &Value, said: &mut Said) {
    if text(event, "/rate_limit_info/status") == Some("rejected") {
        let until = event.pointer("/rate_limit_info/resetsAt").and_then(Value::as_i64);
        said.refused = Some(ProviderRefusal { kind: RefusalKind::Lasting, status: Some(429), until });
    }
}

/// The provider refuses; a time that it named before stays.
fn refuses(refusal: Option<ProviderRefusal>, said: &mut Said) {
    let Some(refusal) = refusal.filter(|_| !said.context_full) else { return };
    let before = said.refused;
    let until = refusal.until.or_else(|| before?.until);
    let status = refusal.status.or_else(|| before?.status);
    let kind = before.map_or(refusal.kind, |before| refusal.kind.or_that(before.kind));
    said.refused = Some(ProviderRefusal { kind, status, until });
}

/// A status by which a provider refuses.
fn status_in(event: &Value, name: &str) -> Option<u16> {
    let status = event.get(name).and_then(Value::as_u64);
    status.and_then(|status| u16::try_from(status).ok()).filter(|status| is_refusing(*status))
}

/// The cost that a result names, in millionths of a dollar.
enum Cost {
    /// Since the result before.
    Since(u64),
    /// Of the whole session.
    Total(u64),
}

/// What a result says was used up, by the most exact of its accounts.
fn spent(event: &Value) -> (Option<AgentUsage>, Option<Cost>) {
    if let Some(models) = event.get("model_usage_since_last_result").and_then(Value::as_object) {
        let usage = models.values().map(of_model).fold(AgentUsage::default(), AgentUsage::plus);
        let dollars = models.values().filter_map(|model| model.get("costUSD")?.as_f64()).sum();
        return (Some(usage), micro_usd(dollars).map(Cost::Since));
    }
    let total = event.get("total_cost_usd").and_then(Value::as_f64).and_then(micro_usd).map(Cost::Total);
    (event.get("usage").map(of_usage), total)
}

fn of_usage(usage: &Value) -> AgentUsage {
    AgentUsage {
        input: count(usage, "input_tokens"),
        output: count(usage, "output_tokens"),
        cache_read: count(usage, "cache_read_input_tokens"),
        cache_write: count(usage, "cache_creation_input_tokens"),
    }
}

fn of_model(model: &Value) -> AgentUsage {
    AgentUsage {
        input: count(model, "inputTokens"),
        output: count(model, "outputTokens"),
        cache_read: count(model, "cacheReadInputTokens"),
        cache_write: count(model, "cacheCreationInputTokens"),
    }
}

/// What a tool call is about: the first of the inputs that people know tools by.
fn detail(block: &Value) -> &str {
    let names = ["command", "file_path", "path", "pattern", "url", "query", "description"];
    names.iter().find_map(|name| block.get("input")?.get(name)?.as_str()).unwrap_or_default()
}
