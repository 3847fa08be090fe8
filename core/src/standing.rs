//! What became of the handoffs of a waypoint, by what its journal answers: the rule behind `holdpoint history`.
//!
//! Who signed what is not looked at here; entries that no orchestrator signed are marked before.

use std::collections::{HashMap, HashSet};

use holdpoint_protocol::{
    api::{HistoryLine, Standing},
    names::answers_turn,
    streams,
};
use serde_json::Value;

/// Puts what counts of who made a receipt in place of what its sender wrote: what the journal recorded where an entry took
/// the report, else `foreign` as it is said of a line's reference. `lines` are all of one waypoint.
pub fn vouch(lines: &mut [HistoryLine], foreign: impl Fn(&str) -> bool) {
    let entries = lines.iter().filter(|line| is_entry(line) && line.standing.is_none());
    let recorded: HashMap<String, bool> = entries
        .filter_map(|entry| Some((cause(entry)?, entry.artifact["record"]["state"]["foreign_receipt"].as_bool()?)))
        .collect();
    for line in lines.iter_mut().filter(|line| !is_entry(line)) {
        let foreign = recorded.get(&line.reference).copied().unwrap_or_else(|| foreign(&line.reference));
        if let Some(receipt) = line.artifact.get_mut("receipt").and_then(Value::as_object_mut) {
            receipt.insert("foreign".to_owned(), Value::Bool(foreign));
        }
    }
}

/// Says of each final handoff whether it is the one that an entry answers, or another was, or its turn is over without
/// it. `lines` are all of one waypoint, oldest first.
pub fn mark(lines: &mut [HistoryLine]) {
    let entries = || lines.iter().filter(|line| is_entry(line) && line.standing.is_none());
    let causes: HashSet<String> = entries().filter_map(cause).collect();
    let mut turns = entries().filter(|line| line.kind == "turn").filter_map(|line| text(&line.artifact["turn_id"]));
    let open = turns.next_back();
    let taken = lines.iter().filter(|line| causes.contains(&line.reference));
    let answered: HashSet<String> = taken.filter_map(|line| text(&line.artifact["turn"])).collect();
    for line in lines.iter_mut().filter(|line| !is_entry(line) && ends_its_turn(line)) {
        line.standing = match text(&line.artifact["turn"]) {
            _ if causes.contains(&line.reference) => Some(Standing::Taken),
            Some(turn) if answered.contains(&turn) || open.as_ref() != Some(&turn) => Some(Standing::Conflict),
            _ => None,
        };
    }
}

fn is_entry(line: &HistoryLine) -> bool {
    line.reference.starts_with(streams::JOURNAL)
}

fn ends_its_turn(line: &HistoryLine) -> bool {
    answers_turn(&line.kind)
}

/// The reference of the handoff that an entry answers.
fn cause(entry: &HistoryLine) -> Option<String> {
    let cause = &entry.artifact["record"]["cause"];
    Some(format!("{}/{}", cause["stream"].as_str()?, cause["sequence"].as_u64()?))
}

fn text(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use holdpoint_protocol::Timestamp;
    use serde_json::json;

    use super::*;

    const HANDOFFS: &str = "HP_HANDOFF_BUILDER";

    fn line(kind: &str, reference: String, artifact: Value) -> HistoryLine {
        HistoryLine { at: Timestamp::from_millis(0), kind: kind.to_owned(), reference, artifact, standing: None }
    }

    fn handoff(kind: &str, sequence: u64, turn: &str) -> HistoryLine {
        line(kind, format!("{HANDOFFS}/{sequence}"), json!({"turn": turn}))
    }

    /// An entry that answers a handoff, or nothing.
    fn entry(kind: &str, sequence: u64, answers: Option<u64>, turn: Option<&str>) -> HistoryLine {
        let cause = answers.map(|sequence| json!({"stream": HANDOFFS, "sequence": sequence}));
        let artifact = json!({"turn_id": turn, "record": {"cause": cause}});
        line(kind, format!("{}/{sequence}", streams::JOURNAL), artifact)
    }

    fn standings(mut lines: Vec<HistoryLine>) -> Vec<Option<Standing>> {
        mark(&mut lines);
        lines.into_iter().map(|line| line.standing).collect()
    }

    #[test]
    fn the_handoff_that_an_entry_answers_is_taken_and_a_second_one_is_a_conflict() {
        let lines = vec![
            entry("turn", 1, None, Some("t1")),
            handoff("build_plan", 1, "t1"),
            handoff("build_artifact", 2, "t1"),
            handoff("build_artifact", 3, "t1"),
            entry("turn", 2, Some(2), Some("t2")),
        ];
        let expected = [None, None, Some(Standing::Taken), Some(Standing::Conflict), None];
        assert_eq!(standings(lines), expected);
    }

    #[test]
    fn of_an_open_turn_nothing_is_known_yet() {
        let lines = vec![entry("turn", 1, None, Some("t1")), handoff("build_artifact", 1, "t1")];
        assert_eq!(standings(lines), [None, None]);
    }

    #[test]
    fn what_comes_after_its_turn_was_opened_anew_is_a_conflict() {
        let lines = vec![
            entry("turn", 1, None, Some("t1")),
            entry("turn", 2, None, Some("t2")),
            handoff("build_artifact", 1, "t1"),
            handoff("given_back", 2, "t1"),
            handoff("status_update", 3, "t1"),
        ];
        assert_eq!(standings(lines), [None, None, Some(Standing::Conflict), None, None]);
    }

    #[test]
    fn what_the_journal_recorded_of_a_receipt_takes_the_place_of_its_senders_word() {
        let report = |sequence| {
            let claim = json!({"turn": "t1", "receipt": {"foreign": false, "checks": []}});
            line("verification_report", format!("{HANDOFFS}/{sequence}"), claim)
        };
        let took = |sequence, answers, foreign: Option<bool>| {
            let mut entry = entry("decided", sequence, Some(answers), None);
            entry.artifact["record"]["state"] = json!({"foreign_receipt": foreign});
            entry
        };
        let mut forged = took(9, 1, Some(false));
        forged.standing = Some(Standing::Unsigned);
        let mut lines =
            vec![report(1), took(1, 1, Some(true)), report(2), took(2, 2, Some(false)), report(3), report(4), forged];
        vouch(&mut lines, |reference| !reference.ends_with("/4"));
        let shown: Vec<_> = lines.iter().filter_map(|line| line.artifact["receipt"]["foreign"].as_bool()).collect();
        assert_eq!(shown, [true, false, true, false], "recorded, recorded, nobody's, by its key");
    }

    #[test]
    fn an_entry_that_no_orchestrator_signed_answers_nothing() {
        let mut forged = entry("decided", 2, Some(1), None);
        forged.standing = Some(Standing::Unsigned);
        let lines = vec![entry("turn", 1, None, Some("t1")), handoff("build_artifact", 1, "t1"), forged];
        assert_eq!(standings(lines), [None, None, Some(Standing::Unsigned)]);
    }
}
