//! What the folder shows of the journal besides tasks: lineage and results of gates. Writing it again is harmless. Pure.

use std::collections::BTreeMap;

use holdpoint_core::checkpoints::Score;
use holdpoint_protocol::{
    api::{HistoryLine, Standing},
    artifact::{BuildArtifact, Completion, VerificationPurpose, VerificationReport},
    checkpoint::{CheckpointResult, CheckpointStatus},
    facts::Verdict,
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
    /// Of the checks of a gate.
    #[must_use]
    pub fn of(gate: &str, checks: Vec<GateCheck>) -> Self {
        let count = |status: CheckpointStatus| checks.iter().filter(|check| check.status == status).count();
        let passed = count(CheckpointStatus::Pass);
        let score = Score { passed, run: passed + count(CheckpointStatus::Fail) };
        Self { gate: gate.to_owned(), score: score.of_100(), checks }
    }

    /// Its path.
    #[must_use]
    pub fn path(&self, task: &WaypointId) -> String {
        format!("state/gates/{task}_{}.json", self.gate)
    }
}

/// The newest result of each gate of a waypoint.
#[must_use]
pub fn gate_scores(history: &[HistoryLine]) -> Vec<GateScore> {
    let mut gates: BTreeMap<TurnId, (WaypointId, GateId)> = BTreeMap::new();
    let mut newest: BTreeMap<&'static str, GateScore> = BTreeMap::new();
    for line in history {
        if line.kind == "turn" && line.standing.is_none() {
            if let Ok(turn) = serde_json::from_value::<Turn>(line.artifact.clone()) {
                gates.insert(turn.turn_id, (turn.waypoint, turn.gate));
            }
        } else if line.standing == Some(Standing::Taken)
            && let Some((turn, checks)) = checks(line)
            && let Some(number) = gates.get(&turn).and_then(|(waypoint, gate)| number(waypoint, gate))
            && !checks.is_empty()
        {
            newest.insert(number, GateScore::of(number, checks));
        }
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

/// What a handoff says of checks, with its turn.
fn checks(line: &HistoryLine) -> Option<(TurnId, Vec<GateCheck>)> {
    let of_document = |results: Vec<CheckpointResult>| results.into_iter().map(of_checkpoint).collect();
    let artifact = line.artifact.clone();
    Some(match line.kind.as_str() {
        "completion" => {
            let said: Completion = serde_json::from_value(artifact).ok()?;
            let results = said.document.as_ref().map(|document| document.checkpoints.clone());
            (said.turn.clone()?, of_document(results.unwrap_or_default()))
        }
        "build_artifact" => {
            let built: BuildArtifact = serde_json::from_value(artifact).ok()?;
            let results = built.document.as_ref().map(|document| document.checkpoints.clone());
            (built.turn.clone(), of_document(results.unwrap_or_default()))
        }
        "verification_report" => {
            let report: VerificationReport = serde_json::from_value(artifact).ok()?;
            if report.purpose == VerificationPurpose::Baseline {
                return None;
            }
            (report.turn.clone(), of_report(&report))
        }
        _ => return None,
    })
}

fn of_checkpoint(result: CheckpointResult) -> GateCheck {
    GateCheck { name: result.name.to_string(), status: result.status, message: result.message }
}

fn of_report(report: &VerificationReport) -> Vec<GateCheck> {
    let one = |criterion: &holdpoint_protocol::artifact::CriterionReport| GateCheck {
        name: criterion.result.id.to_string(),
        status: match criterion.result.verdict {
            Verdict::Pass => CheckpointStatus::Pass,
            Verdict::Fail => CheckpointStatus::Fail,
            Verdict::Inconclusive => CheckpointStatus::Skip,
        },
        message: criterion.note.clone().unwrap_or_default(),
    };
    report.criteria.iter().chain(&report.guards).map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(status: CheckpointStatus) -> GateCheck {
        GateCheck { name: "c".to_owned(), status, message: String::new() }
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
            let checks = statuses.iter().copied().map(check).collect();
            assert_eq!(GateScore::of("4", checks).score, score, "{statuses:?}");
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
        let score = GateScore::of("4", vec![check(CheckpointStatus::Pass)]);
        assert_eq!(keys(serde_json::to_value(&score).unwrap()), ["checks", "gate", "score"]);
        assert_eq!(score.path(&lineage.id), "state/gates/login_01_4.json");
    }
}
