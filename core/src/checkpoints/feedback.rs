//! What a maker hears whose checkpoints do not hold, and what people read of it (DOC-6).

use std::fmt::Write;

use holdpoint_protocol::checkpoint::{CheckpointResult, CheckpointStatus, GateDemands};

use super::all;

/// The feedback document, heading by heading as the source has it. `retry` is the number of the try that it asks for.
#[must_use]
pub fn feedback(demands: &GateDemands, results: &[CheckpointResult], retry: u32) -> String {
    let mut text = String::from("## Validation Failed\n");
    let unmet: Vec<_> = unmet(demands, results).collect();
    for result in &unmet {
        let _ = write!(text, "\n### Checkpoint: {}\n**Status**: {}\n", result.0, result.1.as_str().to_uppercase());
        let _ = writeln!(text, "**Reason**: {}", result.2);
    }
    text.push_str("\n### What to Fix\n");
    for (at, (name, _, why)) in unmet.iter().enumerate() {
        let _ = writeln!(text, "{}. {name}: {why}", at + 1);
    }
    let _ = write!(text, "\n### Retry Attempt: {retry} of {}\n", demands.retries());
    text
}

/// The required checkpoints that do not pass, in one line; empty where all do.
#[must_use]
pub fn in_one_line(demands: &GateDemands, results: &[CheckpointResult]) -> String {
    let unmet: Vec<String> =
        unmet(demands, results).map(|(name, status, why)| format!("{name} ({}): {why}", status.as_str())).collect();
    unmet.join("; ")
}

fn unmet(
    demands: &GateDemands,
    results: &[CheckpointResult],
) -> impl Iterator<Item = (String, CheckpointStatus, String)> {
    all(demands).filter(|spec| spec.required).filter_map(|spec| {
        let result = results.iter().find(|result| result.name == spec.name)?;
        let why = match result.status {
            CheckpointStatus::Pass => return None,
            _ if !result.message.trim().is_empty() => result.message.split_whitespace().collect::<Vec<_>>().join(" "),
            CheckpointStatus::Skip => "it was skipped, and this gate requires it".to_owned(),
            CheckpointStatus::Fail => "the agent says that it does not hold".to_owned(),
        };
        Some((spec.name.to_string(), result.status, why))
    })
}
