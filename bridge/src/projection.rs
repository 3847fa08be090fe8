//! What the folder shows of the journal besides tasks: lineage and results of gates. Writing it again is harmless. Pure.

use std::collections::BTreeMap;

use holdpoint_planfile::checkpoints::Score;
use holdpoint_protocol::{
    api::{HistoryLine, Standing},
    artifact::{BuildArtifact, Completion},
    checkpoint::{CheckpointResult, CheckpointStatus, GateDocument},
    ids::{GateId, TurnId, WaypointId},
    turn::Turn,
    view::WaypointView,
};
use serde::{Deserialize, Serialize};

use crate::moves::{AUDIT, AUDIT_NUMBER, SdlcStage};

/// `tasks/history/ID.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lineage {
    /// The task.
    pub id: WaypointId,
    /// How often it was sent back.
    pub retries: u32,
    /// The request that it is of.
    pub parent: Option<WaypointId>,
    /// The folder that it is in; `pending`: its file comes.
    pub status: String,
}

impl Lineage {
    /// Of a waypoint whose file is in this folder.
    #[must_use]
    pub fn of(view: &WaypointView, folder: Option<&str>) -> Self {
        let status = folder.unwrap_or("pending").to_owned();
        Self { id: view.id.clone(), retries: view.sent_back, parent: view.parent.clone(), status }
    }

    /// Its path.
    #[must_use]
    pub fn path(&self) -> String {
        format!("tasks/history/{}.json", self.id)
    }
}

/// `state/gates/ID_GATE.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GateScore {
    /// The source's number of the gate.
    pub gate: String,
    /// Of those that were run, how many passed, in percent; 0 where none was run.
    pub score: u8,
    /// Each of them.
    pub checks: Vec<GateCheck>,
}

/// One check of a gate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GateCheck {
    /// Its name.
    pub name: String,
    /// What came of it.
    pub status: CheckpointStatus,
    /// Why.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
}

impl GateScore {
    /// Of the checkpoints of a gate.
    #[must_use]
    pub fn of(gate: &str, results: &[CheckpointResult]) -> Self {
        let check = |result: &CheckpointResult| GateCheck {
            name: result.name.to_string(),
            status: result.status,
            message: result.message.clone(),
        };
        Self { gate: gate.to_owned(), score: Score::of(results).of_100(), checks: results.iter().map(check).collect() }
    }

    /// Its path.
    #[must_use]
    pub fn path(&self, task: &WaypointId) -> String {
        format!("state/gates/{task}_{}.json", self.gate)
    }
}

/// The newest result of each gate of a waypoint: of those whose documents its history has, and of those that verifiers judge.
#[must_use]
pub fn gate_scores(view: &WaypointView, history: &[HistoryLine]) -> Vec<GateScore> {
    let mut gates: BTreeMap<TurnId, GateId> = BTreeMap::new();
    let mut newest: BTreeMap<&'static str, GateScore> = BTreeMap::new();
    let mut found = |gate: &GateId, results: &[CheckpointResult]| {
        if let Some(number) = number(&view.id, gate).filter(|_| !results.is_empty()) {
            newest.insert(number, GateScore::of(number, results));
        }
    };
    for line in history {
        if line.kind == "turn" && line.standing.is_none() {
            if let Ok(turn) = serde_json::from_value::<Turn>(line.artifact.clone()) {
                gates.insert(turn.turn_id, turn.gate);
            }
        } else if line.standing == Some(Standing::Taken)
            && let Some((turn, document)) = document(line)
            && let Some(gate) = gates.get(&turn)
        {
            found(gate, &document.checkpoints);
        }
    }
    for judged in &view.checkpoints {
        found(&judged.gate, &judged.checkpoints);
    }
    newest.into_values().collect()
}

/// The source's number of a gate.
fn number(waypoint: &WaypointId, gate: &GateId) -> Option<&'static str> {
    match SdlcStage::of(waypoint, gate) {
        Some(row) => row.number,
        None if gate.as_str() == AUDIT => Some(AUDIT_NUMBER),
        None => None,
    }
}

/// The document of a handoff, with its turn.
fn document(line: &HistoryLine) -> Option<(TurnId, GateDocument)> {
    let artifact = line.artifact.clone();
    match line.kind.as_str() {
        "completion" => {
            let said: Completion = serde_json::from_value(artifact).ok()?;
            Some((said.turn?, *said.document?))
        }
        "build_artifact" => {
            let built: BuildArtifact = serde_json::from_value(artifact).ok()?;
            Some((built.turn, *built.document?))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use holdpoint_protocol::checkpoint::EstablishedBy;

    use super::*;

    fn result(status: CheckpointStatus) -> CheckpointResult {
        CheckpointResult { name: "c".parse().unwrap(), by: EstablishedBy::Predicate, status, message: String::new() }
    }

    #[test]
    fn a_score_is_the_rounded_share_of_what_passed_and_skips_do_not_count() {
        use CheckpointStatus::{Fail, Pass, Skip};
        for (statuses, score) in [
            (vec![], 0),
            (vec![Skip, Skip], 0),
            (vec![Pass], 100),
            (vec![Pass, Skip], 100),
            (vec![Pass, Fail], 50),
            (vec![Pass, Fail, Fail], 33),
            (vec![Pass, Pass, Fail], 67),
            (vec![Fail], 0),
        ] {
            let results: Vec<_> = statuses.iter().copied().map(result).collect();
            assert_eq!(GateScore::of("4", &results).score, score, "{statuses:?}");
        }
    }

    #[test]
    fn lineage_and_results_have_exactly_the_keys_of_the_source() {
        let lineage = Lineage {
            id: "login_01".parse().unwrap(),
            retries: 2,
            parent: Some("login".parse().unwrap()),
            status: "rejected".to_owned(),
        };
        let keys = |value: serde_json::Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
        assert_eq!(keys(serde_json::to_value(&lineage).unwrap()), ["id", "parent", "retries", "status"]);
        assert_eq!(lineage.path(), "tasks/history/login_01.json");
        let score = GateScore::of("4", &[result(CheckpointStatus::Pass)]);
        assert_eq!(keys(serde_json::to_value(&score).unwrap()), ["checks", "gate", "score"]);
        assert_eq!(score.path(&lineage.id), "state/gates/login_01_4.json");
    }
}
