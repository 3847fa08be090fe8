//! The JSON lines of `holdpoint-acp`: what an agent says over the Agent Client Protocol.
//!
//! Words come in pieces. Agents count tokens (the protocol has them as unstable) for one prompt, for each request to the model, or for
//! the last one: the highest sum counts. Costs are the conversation's by the protocol, and the process's with most agents: only of agents
//! known to keep to it those of earlier turns are taken off. Only costs in US dollars count.

use std::collections::VecDeque;

use holdpoint_runtime::config::presets::counts_conversations;
use serde_json::Value;

use super::{AgentUsage, Continuation, Said, count, failure, micro_usd, text, words};
use crate::acp::event::AcpEvent;

/// Tool calls that are remembered, the last ones, so that what is reported of one twice is no second call.
const CALLS_MAX: usize = 64;

/// The protocol's code for an agent that has no login. Others use it for all that goes wrong later.
const LOGIN_REQUIRED: i64 = -32_000;

/// What is remembered between lines.
#[derive(Debug, Default)]
pub(super) struct State {
    /// What the conversation had cost before.
    cost_before: u64,
    /// Tokens of the requests that were reported one by one.
    requests: AgentUsage,
    /// The conversation that is open.
    session: String,
    /// A message goes on.
    open: bool,
    calls: VecDeque<String>,
}

impl State {
    pub(super) fn new(before: Option<&Continuation>) -> Self {
        let cost_before = before.and_then(|before| before.cost_micro_usd).unwrap_or_default();
        Self { cost_before, ..Self::default() }
    }

    pub(super) fn take(&mut self, event: &Value, said: &mut Said) {
        let Ok(event) = serde_json::from_value::<AcpEvent>(event.clone()) else { return };
        if !matches!(event, AcpEvent::Message { .. }) && std::mem::take(&mut self.open) {
            words::close(&mut said.text, said.last);
        }
        match event {
            AcpEvent::Session { session, agent, continued } => {
                self.session = session;
                said.tool_calls.get_or_insert(0);
                let name = agent.as_deref().and_then(|agent| agent.split(' ').next());
                if !continued || !name.is_some_and(counts_conversations) {
                    self.cost_before = 0;
                }
            }
            AcpEvent::Message { text, begins } => self.message(&text, begins, said),
            AcpEvent::Update { update } => self.update(&update, said),
            AcpEvent::Permission { tool, allowed: false } => said.deny(&tool),
            AcpEvent::Refused { request, .. } => said.deny(&request),
            AcpEvent::Reads { mode } => said.deny(&format!("any tool that writes: its mode is {mode}")),
            AcpEvent::Passed { .. } => said.unread = said.unread.saturating_add(1),
            AcpEvent::Error { message, code } => {
                said.finished = true;
                failure::failed(Some(&message), code.and_then(|code| status(code, said.answered)), said);
                // The client says so too where the program is not there, or crashed: that is no word of a provider.
                said.answered |= said.refused.is_none();
            }
            AcpEvent::End { stop_reason, usage } => self.end(&stop_reason, usage.as_ref(), said),
            AcpEvent::Permission { .. } | AcpEvent::Thought { .. } => {}
        }
    }

    fn message(&mut self, text: &str, begins: bool, said: &mut Said) {
        said.answers();
        if begins && std::mem::take(&mut self.open) {
            words::close(&mut said.text, said.last);
        }
        if !std::mem::replace(&mut self.open, true) {
            said.last = words::begin(&mut said.text);
        }
        said.text.extend_from_slice(text.as_bytes());
    }

    fn update(&mut self, update: &Value, said: &mut Said) {
        match text(update, "/sessionUpdate") {
            Some("tool_call" | "tool_call_update") => self.call(update, said),
            Some("request_usage") => {
                self.requests = self.requests.plus(of_usage(update.get("usage").unwrap_or(&Value::Null)));
                said.usage = Some(self.requests);
            }
            Some("usage_update") => {
                let (used, size) = (count(update, "used"), count(update, "size"));
                said.context_full = size > 0 && used >= size;
                if text(update, "/cost/currency") == Some("USD")
                    && let Some(total) = update.pointer("/cost/amount").and_then(Value::as_f64).and_then(micro_usd)
                {
                    said.session_cost_micro_usd = Some(total);
                    said.cost_micro_usd = Some(beyond(total, self.cost_before));
                }
            }
            _ => {}
        }
    }

    /// A tool call, or what becomes of one: what is known of it first is often no more than that there is one.
    fn call(&mut self, update: &Value, said: &mut Said) {
        let id: String = text(update, "/toolCallId").unwrap_or_default().chars().take(64).collect();
        let detail = text(update, "/title").or_else(|| text(update, "/rawInput/command"));
        let tool = text(update, "/name").or_else(|| text(update, "/kind")).unwrap_or("tool");
        if !self.calls.contains(&id) {
            self.calls.push_back(id);
            self.calls.drain(..self.calls.len().saturating_sub(CALLS_MAX));
            said.answered = true;
            said.call(tool, detail.unwrap_or_default());
        } else if let Some(detail) = detail {
            said.does(tool, detail);
        }
    }

    fn end(&self, stop_reason: &str, usage: Option<&Value>, said: &mut Said) {
        (said.finished, said.answered) = (true, true);
        // One that was ended before it had answered is not gone on with: some agents go on with its last turn while they load it.
        said.set_session(&self.session);
        if let Some(usage) = usage {
            let whole = of_usage(usage);
            said.usage = Some(if whole.total() < self.requests.total() { self.requests } else { whole });
        }
        if stop_reason == "end_turn" {
            (said.error, said.refused) = (None, None);
        } else {
            said.set_error(&format!("the agent stopped before it was done: {stop_reason}"));
        }
    }
}

/// The status that an error's code is. Some agents put it there.
fn status(code: i64, answered: bool) -> Option<u16> {
    match code {
        LOGIN_REQUIRED if !answered => Some(401),
        code => u16::try_from(code).ok(),
    }
}

/// What is more than before; all of it where it is less, which then counts from a new start.
fn beyond(total: u64, before: u64) -> u64 {
    total.checked_sub(before).unwrap_or(total)
}

fn of_usage(usage: &Value) -> AgentUsage {
    let count = |name, other| count(usage, name).max(count(usage, other));
    AgentUsage {
        input: count("inputTokens", "input_tokens"),
        output: count("outputTokens", "output_tokens").saturating_add(count("thoughtTokens", "thought_tokens")),
        cache_read: count("cachedReadTokens", "cached_read_tokens"),
        cache_write: count("cachedWriteTokens", "cached_write_tokens"),
    }
}
