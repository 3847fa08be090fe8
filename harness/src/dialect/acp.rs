//! The JSON lines of `holdpoint-acp`: what an agent says over the Agent Client Protocol.
//!
//! Words come in pieces. Tokens (the protocol has them as unstable) and cost count the whole conversation, so those of one that is
//! gone on with are what is more than before. Only costs in US dollars count.

use serde_json::Value;

use super::{AgentUsage, Continuation, Said, count, failure, micro_usd, text, words};
use crate::acp::event::AcpEvent;

/// Tool calls that are remembered, so that what is reported of one twice is no second call.
const CALLS_MAX: usize = 64;

/// What is remembered between lines.
#[derive(Debug, Default)]
pub(super) struct State {
    /// What the conversation had used up before.
    before: AgentUsage,
    cost_before: u64,
    /// The conversation that is open.
    session: String,
    /// A message goes on.
    open: bool,
    calls: Vec<String>,
}

impl State {
    pub(super) fn new(before: Option<&Continuation>) -> Self {
        let Some(before) = before else { return Self::default() };
        let cost_before = before.cost_micro_usd.unwrap_or_default();
        Self { before: before.used.unwrap_or_default(), cost_before, ..Self::default() }
    }

    pub(super) fn take(&mut self, event: &Value, said: &mut Said) {
        let Ok(event) = serde_json::from_value::<AcpEvent>(event.clone()) else { return };
        if !matches!(event, AcpEvent::Message { .. }) && std::mem::take(&mut self.open) {
            words::close(&mut said.text, said.last);
        }
        match event {
            AcpEvent::Session { session, continued, .. } => {
                self.session = session;
                said.tool_calls.get_or_insert(0);
                if !continued {
                    (self.before, self.cost_before) = (AgentUsage::default(), 0);
                }
            }
            AcpEvent::Message { text, begins } => self.message(&text, begins, said),
            AcpEvent::Update { update } => self.update(&update, said),
            AcpEvent::Permission { tool, allowed: false } => said.deny(&tool),
            AcpEvent::Refused { request, .. } => said.deny(&request),
            AcpEvent::Passed { .. } => said.unread = said.unread.saturating_add(1),
            AcpEvent::Error { message, .. } => {
                said.finished = true;
                failure::failed(Some(&message), said);
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
            Some("tool_call") => {
                let id = text(update, "/toolCallId").unwrap_or_default();
                if self.calls.iter().any(|call| call == id) {
                    return;
                }
                if self.calls.len() < CALLS_MAX {
                    self.calls.push(id.chars().take(64).collect());
                }
                let tool = text(update, "/name").or_else(|| text(update, "/kind")).unwrap_or("tool");
                said.answered = true;
                said.call(tool, text(update, "/title").unwrap_or_default());
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

    fn end(&self, stop_reason: &str, usage: Option<&Value>, said: &mut Said) {
        (said.finished, said.answered) = (true, true);
        // One that was ended before it had answered is not gone on with: some agents go on with its last turn while they load it.
        said.set_session(&self.session);
        if let Some(usage) = usage {
            let total = of_usage(usage);
            said.session_usage = Some(total);
            // An agent that counts the last prompt alone names less than the conversation had before.
            let less = total.total() < self.before.total();
            said.usage = Some(if less { total } else { total.beyond(self.before) });
        }
        if stop_reason == "end_turn" {
            (said.error, said.refused) = (None, None);
        } else {
            said.set_error(&format!("the agent stopped before it was done: {stop_reason}"));
        }
    }
}

/// What is more than before; all of it where it is less, which then counts from a new start.
fn beyond(total: u64, before: u64) -> u64 {
    total.checked_sub(before).unwrap_or(total)
}

fn of_usage(usage: &Value) -> AgentUsage {
    AgentUsage {
        input: count(usage, "inputTokens"),
        output: count(usage, "outputTokens").saturating_add(count(usage, "thoughtTokens")),
        cache_read: count(usage, "cachedReadTokens"),
        cache_write: count(usage, "cachedWriteTokens"),
    }
}
