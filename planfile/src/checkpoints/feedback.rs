//! What a maker hears whose checkpoints do not hold, and what people read of it (DOC-6).

use std::fmt::Write;

use holdpoint_protocol::checkpoint::{CheckpointResult, CheckpointStatus, GateDemands};

use super::{Score, all};

/// The feedback document, heading by heading as the source has it. `retry` is the number of the try that it asks for, and `of` how many
/// there are.
#[must_use]
pub fn feedback(demands: &GateDemands, results: &[CheckpointResult], (retry, of): (u32, u32)) -> String {
    let mut text = String::from("## Validation Failed\n");
    let unmet: Vec<_> = unmet(demands, results).collect();
    for result in &unmet {
        let _ = write!(text, "\n### Checkpoint: {}\n**Status**: {}\n", result.0, result.1.as_str().to_uppercase());
        let _ = writeln!(text, "**Reason**: {}", result.2);
    }
    if let Some(short) = short(demands, results) {
        let _ = writeln!(text, "\n### Score\n{short}");
    }
    text.push_str("\n### What to Fix\n");
    for (at, (name, _, why)) in unmet.iter().enumerate() {
        let _ = writeln!(text, "{}. {name}: {why}", at + 1);
    }
    let _ = write!(text, "\n### Retry Attempt: {retry} of {of}\n");
    text
}

/// What keeps a gate from being ready, in one line; empty where it is.
#[must_use]
pub fn in_one_line(demands: &GateDemands, results: &[CheckpointResult]) -> String {
    let unmet = unmet(demands, results).map(|(name, status, why)| format!("{name} ({}): {why}", status.as_str()));
    short(demands, results).into_iter().chain(unmet).collect::<Vec<_>>().join("; ")
}

/// Whether all that keeps a gate from being ready is that nobody could try it.
#[must_use]
pub fn are_untried(demands: &GateDemands, results: &[CheckpointResult]) -> bool {
    unmet(demands, results).all(|(_, status, _)| status == CheckpointStatus::Skip)
}

/// How the score falls short of what the gate waits for.
fn short(demands: &GateDemands, results: &[CheckpointResult]) -> Option<String> {
    let least = demands.threshold?;
    let score = Score::of(results);
    (score.of_100() < least).then(|| {
        let Score { passed, run } = score;
        format!("the score is {} and has to be {least}: {passed} of {run} checkpoints that ran pass", score.of_100())
    })
}

/// The checkpoints that keep a gate from being ready, each with its status and why: required ones that do not pass, and where the score falls
/// short all that fail.
fn unmet(
    demands: &GateDemands,
    results: &[CheckpointResult],
) -> impl Iterator<Item = (String, CheckpointStatus, String)> {
    let is_short = short(demands, results).is_some();
    all(demands).filter_map(move |spec| {
        let result = results.iter().find(|result| result.name == spec.name)?;
        let counts = spec.required || (is_short && result.status == CheckpointStatus::Fail);
        let why = match result.status {
            CheckpointStatus::Pass => return None,
            _ if !counts => return None,
            _ if !result.message.trim().is_empty() => result.message.split_whitespace().collect::<Vec<_>>().join(" "),
            CheckpointStatus::Skip => "it was skipped, and this gate requires it".to_owned(),
            CheckpointStatus::Fail => "the agent says that it does not hold".to_owned(),
        };
        Some((spec.name.to_string(), result.status, why))
    })
}
