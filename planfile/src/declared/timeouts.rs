//! How long a turn of a gate may take where its workflow does not say (spec GATE-15).
//!
//! They count for gates that are completed: what builds or verifies has the deadlines of its fleet.

use holdpoint_protocol::{time::Millis, workflow::GateSpec};

const MINUTE: u64 = 60_000;
const HOUR: u64 = 60 * MINUTE;

/// The default for a gate: of its `metadata.kind` where that has one, else of its place.
pub(crate) fn default_timeout(gate: &GateSpec, first: bool) -> Millis {
    match gate.metadata.get("kind").and_then(serde_json::Value::as_str) {
        Some("deploy") => Millis(45 * MINUTE),
        Some("ready-check") => Millis(30 * MINUTE),
        _ if first => Millis(2 * HOUR),
        _ => Millis(HOUR),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_follow_the_kind_and_then_the_place() {
        let gate = |kind: Option<&str>| GateSpec {
            metadata: kind.map(|kind| ("kind".to_owned(), kind.into())).into_iter().collect(),
            ..GateSpec::new("g".parse().unwrap(), "r".parse().unwrap())
        };
        for (kind, first, minutes) in [
            (None, true, 120),
            (None, false, 60),
            (Some("deploy"), true, 45),
            (Some("ready-check"), false, 30),
            (Some("other"), false, 60),
        ] {
            assert_eq!(default_timeout(&gate(kind), first), Millis(minutes * MINUTE), "{kind:?} {first}");
        }
    }
}
