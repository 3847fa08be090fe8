//! What became of the handoffs of a waypoint, by what its journal answers: the rule behind `holdpoint history`.
//!
//! Who signed what is not looked at here; entries that no orchestrator signed are marked before.

use std::collections::HashMap;

use holdpoint_protocol::{
    api::{HistoryLine, Standing},
    names::answers_turn,
    streams,
};
use serde_json::Value;

/// What a waypoint's journal says of its handoffs.
#[derive(Debug, Clone, Default)]
pub struct Answers {
    /// By the reference of a handoff that an entry answers: whether the entry records that a foreign verifier made its receipt.
    causes: HashMap<String, Option<bool>>,
    /// The turn that was opened last.
    open: Option<String>,
    /// What entries behind that answer.
    since: Vec<String>,
    /// Whether one of these is a handoff on that turn.
    is_answered: bool,
}

impl Answers {
    /// Takes in an entry of the waypoint, oldest first. One that no orchestrator signed says nothing.
    pub fn entry(&mut self, line: &HistoryLine) {
        if line.standing.is_some() {
            return;
        }
        if line.kind == "turn"
            && let Some(turn) = text(&line.artifact["turn_id"])
        {
            (self.open, self.since, self.is_answered) = (Some(turn), Vec::new(), false);
            // What it answers was handed off on a turn before it.
            if let Some(cause) = cause(line) {
                self.causes.insert(cause, recorded(line));
            }
            return;
        }
        if let Some(cause) = cause(line) {
            self.causes.insert(cause.clone(), recorded(line));
            self.since.push(cause);
        }
    }

    /// The handoffs of which [`Self::handoff`] wants to know on which turn they are.
    #[must_use]
    pub fn wanted(&self) -> &[String] {
        &self.since
    }

    /// Takes in one of [`Self::wanted`].
    pub fn handoff(&mut self, line: &HistoryLine) {
        let turn = text(&line.artifact["turn"]);
        self.is_answered |= turn.is_some() && turn == self.open && self.since.contains(&line.reference);
    }

    /// Whether nothing in the journal says who made the receipt of this report.
    #[must_use]
    pub fn lacks(&self, line: &HistoryLine) -> bool {
        line.artifact.get("receipt").is_some() && !is_entry(line) && self.recorded(line).is_none()
    }

    /// Says of a handoff what became of it, and puts what counts of who made its receipt in place of what its sender wrote:
    /// what the journal recorded, else `foreign`.
    pub fn mark(&self, line: &mut HistoryLine, foreign: bool) {
        if is_entry(line) {
            return;
        }
        let foreign = self.recorded(line).unwrap_or(foreign);
        if let Some(receipt) = line.artifact.get_mut("receipt").and_then(Value::as_object_mut) {
            receipt.insert("foreign".to_owned(), Value::Bool(foreign));
        }
        if answers_turn(&line.kind) {
            line.standing = self.standing(line);
        }
    }

    /// Of a final handoff: whether it is the one that an entry answers, or another was, or its turn is over without it.
    fn standing(&self, line: &HistoryLine) -> Option<Standing> {
        if self.causes.contains_key(&line.reference) {
            return Some(Standing::Taken);
        }
        if line.artifact["running"].as_bool() == Some(true) {
            // It was heard while its program ran, and ends nothing unless its agent dies.
            return None;
        }
        let turn = text(&line.artifact["turn"])?;
        (self.is_answered || self.open.as_ref() != Some(&turn)).then_some(Standing::Conflict)
    }

    fn recorded(&self, line: &HistoryLine) -> Option<bool> {
        self.causes.get(&line.reference).copied().flatten()
    }
}

fn is_entry(line: &HistoryLine) -> bool {
    line.reference.starts_with(streams::JOURNAL)
}

fn recorded(entry: &HistoryLine) -> Option<bool> {
    entry.artifact["record"]["state"]["foreign_receipt"].as_bool()
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

    /// Marks all lines of a waypoint, as a reader of pages does one after another.
    fn marked(mut lines: Vec<HistoryLine>, foreign: impl Fn(&str) -> bool) -> Vec<HistoryLine> {
        let mut answers = Answers::default();
        lines.iter().filter(|line| is_entry(line)).for_each(|line| answers.entry(line));
        let wanted = answers.wanted().to_vec();
        lines.iter().filter(|line| wanted.contains(&line.reference)).for_each(|line| answers.handoff(line));
        for line in &mut lines {
            let foreign = foreign(&line.reference);
            answers.mark(line, foreign);
        }
        lines
    }

    fn standings(lines: Vec<HistoryLine>) -> Vec<Option<Standing>> {
        marked(lines, |_| true).into_iter().map(|line| line.standing).collect()
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
        let lines =
            vec![report(1), took(1, 1, Some(true)), report(2), took(2, 2, Some(false)), report(3), report(4), forged];
        let lines = marked(lines, |reference| !reference.ends_with("/4"));
        let shown: Vec<_> = lines.iter().filter_map(|line| line.artifact["receipt"]["foreign"].as_bool()).collect();
        assert_eq!(shown, [true, false, true, false], "recorded, recorded, nobody's, by its key");
    }

    #[test]
    fn a_second_answer_to_the_last_turn_is_a_conflict_though_no_other_turn_was_opened() {
        let lines = vec![
            entry("turn", 1, None, Some("t1")),
            handoff("build_artifact", 1, "t1"),
            handoff("build_artifact", 2, "t1"),
            entry("decided", 2, Some(1), None),
        ];
        assert_eq!(standings(lines), [None, Some(Standing::Taken), Some(Standing::Conflict), None]);
    }

    #[test]
    fn an_entry_that_no_orchestrator_signed_answers_nothing() {
        let mut forged = entry("decided", 2, Some(1), None);
        forged.standing = Some(Standing::Unsigned);
        let lines = vec![entry("turn", 1, None, Some("t1")), handoff("build_artifact", 1, "t1"), forged];
        assert_eq!(standings(lines), [None, None, Some(Standing::Unsigned)]);
    }
}
