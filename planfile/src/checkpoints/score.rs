//! The score of a gate: how many of its checkpoints pass, of those that were tried (SDLC-3).

use holdpoint_protocol::{
    checkpoint::{CheckpointResult, CheckpointStatus, GateCheckpoints, GateDemands, SCORE_MAX},
    ids::GateId,
};
use holdpoint_text::shown;

use super::GateValidation;

/// Bytes of why nobody tried a checkpoint, in a state: it rides in every entry.
const SKIPPED_BYTES_MAX: usize = 200;

/// How many checkpoints passed, and how many were tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Score {
    /// They hold.
    pub passed: usize,
    /// They were tried.
    pub run: usize,
}

impl Score {
    /// That of these results; what nobody tried does not count.
    #[must_use]
    pub fn of(results: &[CheckpointResult]) -> Self {
        let count = |wanted: CheckpointStatus| results.iter().filter(|result| result.status == wanted).count();
        let passed = count(CheckpointStatus::Pass);
        Self { passed, run: passed + count(CheckpointStatus::Fail) }
    }

    /// Of 100, rounded; 0 where nothing was tried.
    #[must_use]
    pub fn of_100(self) -> u8 {
        let most = usize::from(SCORE_MAX);
        let doubled = (2 * most * self.passed + self.run).checked_div(2 * self.run);
        doubled.and_then(|score| u8::try_from(score).ok()).unwrap_or_default()
    }
}

/// What a state keeps of the validation of a gate: each checkpoint with its status, and of one that nobody tried why. Whatever else there
/// is to say stands in the report.
#[must_use]
pub fn gate_checkpoints(gate: &GateId, demands: &GateDemands, validation: &GateValidation) -> GateCheckpoints {
    let kept = |result: &CheckpointResult| {
        let is_skipped = result.status == CheckpointStatus::Skip;
        let most = if is_skipped { SKIPPED_BYTES_MAX } else { 0 };
        let message = result.message.get(..result.message.floor_char_boundary(most)).unwrap_or_default().to_owned();
        CheckpointResult { message, ..result.clone() }
    };
    GateCheckpoints {
        gate: gate.clone(),
        score: demands.threshold.map(|_| validation.score.of_100()),
        checkpoints: validation.checkpoints.iter().map(kept).collect(),
    }
}

/// The checkpoints of a gate line by line, the score first where the gate has one.
#[must_use]
pub fn lines(gate: &GateCheckpoints) -> Vec<String> {
    let Score { passed, run } = Score::of(&gate.checkpoints);
    let score = gate.score.map(|score| format!("score {score} at gate {}: {passed} of {run} that ran pass", gate.gate));
    let head = score.unwrap_or_else(|| format!("checkpoints of gate {}", gate.gate));
    let line = |result: &CheckpointResult| {
        let why = if result.message.is_empty() { String::new() } else { format!(": {}", shown::line(&result.message)) };
        format!("{} {}{why}", result.status.as_str(), result.name)
    };
    std::iter::once(head).chain(gate.checkpoints.iter().map(line)).collect()
}
