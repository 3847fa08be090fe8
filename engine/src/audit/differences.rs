//! Where an entry and what the rules make of it differ. Texts for people are not compared: they quote what no journal has, and a later
//! version may word them otherwise.

use holdpoint_protocol::{journal::Entry, turn::TurnRequest};
use serde_json::{Value, json};

/// Why an entry is not what the rules make of it: what they make, and what is there.
pub(super) type Difference = (String, String);

/// The longest part of an entry that is shown.
const SHOWN_MAX: usize = 200;

/// A text for people.
const REMEDIATION: &str = "/decision/remediation";

/// Names of fields that earlier versions did not record: an entry without them is none the worse.
const UNRECORDED: [&str; 4] = ["artifact", "artifacts", "interventions", "rollbacks"];

/// What of an entry is compared.
pub(super) fn facts(entry: &Entry) -> Value {
    let mut state = json!(entry.record().state);
    if let Some(words) = state.pointer_mut(REMEDIATION).filter(|words| !words.is_null()) {
        *words = json!("…");
    }
    if let Some(written) = &entry.record().state {
        // Earlier versions did not record it; everybody reads that as foreign.
        state["foreign_receipt"] = json!(written.foreign_receipt.unwrap_or(true));
    }
    let decision = entry.decision().map(|decision| {
        let mut facts = json!({
            "disposition": decision.disposition,
            "reason_code": decision.reason_code,
            "status": decision.status,
            "source_refs": decision.source_refs,
        });
        if !decision.artifacts.is_empty() {
            facts["artifacts"] = json!(decision.artifacts);
        }
        facts
    });
    let answer = match entry {
        Entry::Answered(answered) => json!({"turn": answered.turn, "words": answered.words, "answer": answered.answer}),
        _ => Value::Null,
    };
    let turn = match entry {
        Entry::Turn(turn) => json!({
            "role": turn.role, "gate": turn.gate, "attempt": turn.attempt, "request": request(&turn.request),
        }),
        _ => Value::Null,
    };
    json!({"entry": entry.schema_name(), "decision": decision, "turn": turn, "answer": answer, "state": state})
}

fn request(request: &TurnRequest) -> Value {
    match request {
        TurnRequest::Build(build) => json!({"wanted": "build", "base": build.base, "start": build.start}),
        TurnRequest::Verify(verify) => json!({
            "wanted": "verify", "purpose": verify.purpose, "base": verify.base, "commit": verify.commit,
            "tree": verify.tree, "judged": verify.judged,
        }),
        TurnRequest::Complete(complete) => json!({
            "wanted": "complete", "base": complete.base, "commit": complete.commit, "tree": complete.tree,
        }),
    }
}

/// The first place where two values differ.
pub(super) fn unlike(made: &Value, there: &Value) -> Option<Difference> {
    fn search(path: &str, made: &Value, there: &Value) -> Option<Difference> {
        match (made, there) {
            (Value::Object(one), Value::Object(other)) => {
                let none = Value::Null;
                let recorded = |key: &&String| other.contains_key(*key) || !UNRECORDED.contains(&key.as_str());
                let keys = one.keys().filter(recorded).chain(other.keys().filter(|key| !one.contains_key(*key)));
                let mut keys = keys.map(|key| (format!("{path}{key}."), one.get(key), other.get(key)));
                keys.find_map(|(path, one, other)| search(&path, one.unwrap_or(&none), other.unwrap_or(&none)))
            }
            (Value::Array(one), Value::Array(other)) if one.len() == other.len() => {
                let mut pairs = one.iter().zip(other).enumerate();
                pairs.find_map(|(at, (one, other))| search(&format!("{path}{at}."), one, other))
            }
            (one, other) if one == other => None,
            (one, other) => {
                let path = path.trim_end_matches('.');
                Some((format!("{path} {}", shown(one)), shown(other)))
            }
        }
    }
    search("", made, there)
}

fn shown(value: &Value) -> String {
    let text = value.to_string();
    if text.chars().count() <= SHOWN_MAX { text } else { text.chars().take(SHOWN_MAX).chain("…".chars()).collect() }
}
