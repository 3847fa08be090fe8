//! In which mode of its own an agent works. Pure.
//!
//! Most begin in one in which they ask, and get what the sandbox allows. Some begin in one that only reads, say nothing and change
//! nothing: those are set to another. The table of presets knows the modes.

use holdpoint_runtime::config::presets::{ModeKind, mode_kind};
use serde_json::Value;

/// What is to be done about the mode that an opened conversation is in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ModeChoice {
    /// Nothing: it can write, or names no mode.
    Stays,
    /// It only reads, and has this one.
    Becomes(String),
    /// It only reads, and has no other that is known to write.
    Reads(String),
}

/// What to do by the answer to `session/new` or `session/load`; `asks`: a person gives permissions.
#[must_use]
pub fn choice(opened: &Value, asks: bool) -> ModeChoice {
    let now = opened.pointer("/modes/currentModeId").and_then(Value::as_str);
    let Some(now) = now.filter(|now| mode_kind(now) == Some(ModeKind::Reads)) else { return ModeChoice::Stays };
    let there = opened.pointer("/modes/availableModes").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let of_kind = |kind| {
        let mut ids = there.iter().filter_map(|mode| mode.get("id").and_then(Value::as_str));
        ids.find(|id| mode_kind(id) == Some(kind))
    };
    let free = if asks { None } else { of_kind(ModeKind::Free) };
    match free.or_else(|| of_kind(ModeKind::Asks)) {
        Some(id) => ModeChoice::Becomes(id.to_owned()),
        None => ModeChoice::Reads(now.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn of(now: &str, there: &[&str], asks: bool) -> ModeChoice {
        let there: Vec<Value> = there.iter().map(|id| json!({"id": id, "name": id})).collect();
        choice(&json!({"sessionId": "s", "modes": {"currentModeId": now, "availableModes": there}}), asks)
    }

    #[test]
    fn an_agent_that_only_reads_is_set_to_a_mode_that_writes_and_any_other_is_left_as_it_is() {
        let codex = ["read-only", "auto", "full-access"];
        assert_eq!(of("read-only", &codex, false), ModeChoice::Becomes("full-access".to_owned()));
        assert_eq!(of("read-only", &codex, true), ModeChoice::Becomes("auto".to_owned()));
        let gemini = ["default", "autoEdit", "yolo", "plan"];
        assert_eq!(of("default", &gemini, false), ModeChoice::Stays);
        assert_eq!(of("plan", &gemini, false), ModeChoice::Becomes("yolo".to_owned()));
        assert_eq!(of("plan", &["plan", "code"], false), ModeChoice::Becomes("code".to_owned()));
        assert_eq!(of("plan", &["plan", "review"], false), ModeChoice::Reads("plan".to_owned()));
        assert_eq!(choice(&json!({"sessionId": "s"}), false), ModeChoice::Stays);
        assert_eq!(
            choice(&json!({"modes": {"currentModeId": "plan", "availableModes": 7}}), false),
            ModeChoice::Reads("plan".to_owned())
        );
    }
}
