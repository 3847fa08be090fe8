//! How much an agent hears of what was wrong: a turn has to fit into one message, however much a verifier wrote.
//!
//! A cut text says so, and names where the whole is. [`crate::handed`] limits what may come in at all.

use std::collections::VecDeque;

use holdpoint_protocol::{
    artifact::{Clarified, CriterionReport, Disposition, Failure},
    facts::LeftOut,
    reason::ReasonCode,
    turn::{Collision, Feedback},
};

use crate::policy::words::left_out_notes;

/// Bytes of a turn's feedback as JSON, without its answers.
pub const FEEDBACK_BYTES_MAX: usize = 2 << 20;
/// Criteria and guards that did not pass: so many are shown.
pub const FAILING_MAX: usize = 100;
/// Notes that are shown.
pub const NOTES_MAX: usize = 100;
/// Colliding paths that are shown.
const PATHS_MAX: usize = 100;
/// Colliding paths that are shown of each waypoint that landed meanwhile.
const PATHS_LANDED_MAX: usize = 10;
/// References of evidence that are shown of one criterion.
const EVIDENCE_MAX: usize = 16;
/// Answers that a turn carries.
pub const ANSWERS_MAX: usize = 200;
/// Bytes of the answers that a turn carries as they are, as JSON; older ones are shortened.
const ANSWERS_WHOLE_BYTES_MAX: usize = 512 << 10;
/// The first text of the answers where older ones are left out.
const ANSWERS_LEFT_OUT: &str = "earlier questions and answers are left out here: `holdpoint history` has all of them";

/// Feedback that no report is behind: a decision and what there is to say.
pub(crate) fn in_words(disposition: Disposition, reason_code: ReasonCode, notes: Vec<String>) -> Feedback {
    Feedback {
        disposition,
        reason_code,
        failing: Vec::new(),
        notes,
        collision: None,
        clarifications: Vec::new(),
        review: None,
    }
}

/// What a turn learns that follows a failed one: how that failed, what of its files is not there, and all that its turn said.
pub(crate) fn after_failure(told: Option<Feedback>, failure: &Failure, left_out: &[LeftOut]) -> Feedback {
    let told = told.unwrap_or_else(|| in_words(Disposition::Rework, failure.reason, Vec::new()));
    let mut notes = told.notes;
    if !notes.contains(&failure.detail) {
        notes.push(failure.detail.clone());
    }
    let besides = left_out_notes(left_out).into_iter().filter(|note| !notes.contains(note));
    notes.extend(besides.collect::<Vec<_>>());
    Feedback { disposition: Disposition::Rework, reason_code: failure.reason, notes, ..told }
}

/// Feedback on work that nothing is left to roll back with: the next turn goes on from it.
pub(crate) fn on_kept_work(told: Feedback) -> Feedback {
    match told.disposition {
        Disposition::Rollback => Feedback { disposition: Disposition::Rework, ..told },
        Disposition::Accept | Disposition::Rework | Disposition::Escalate => told,
    }
}

/// Bytes of single texts.
#[derive(Debug, Clone, Copy)]
struct Limits {
    /// A note, a command, a title, a path.
    text: usize,
    /// The end of a program's output.
    tail: usize,
}

/// What is tried first.
const WIDEST: Limits = Limits { text: 16 << 10, tail: 8 << 10 };
/// What always fits. The words that stand for what is cut fit into it, too.
const NARROWEST: usize = 256;

/// The feedback within its bound. `whole` names the handoff that has all of it. Once bounded, it stays as it is.
#[must_use]
pub fn bounded(mut feedback: Feedback, whole: Option<&str>) -> Feedback {
    feedback.clarifications = answers(feedback.clarifications);
    let mut limits = WIDEST;
    loop {
        let cut = limits.feedback(feedback.clone(), whole);
        let answers = size(&cut.clarifications);
        if size(&cut).saturating_sub(answers) <= FEEDBACK_BYTES_MAX || limits.text == NARROWEST {
            return cut;
        }
        let half = |bytes: usize| (bytes / 2).max(NARROWEST);
        limits = Limits { text: half(limits.text), tail: half(limits.tail) };
    }
}

/// The answers within their bound: the newest whole, older ones shortened, and the oldest left out.
#[must_use]
pub fn answers(mut all: Vec<Clarified>) -> Vec<Clarified> {
    let mut left_out = all.len();
    all.retain(|answered| answered.question != ANSWERS_LEFT_OUT);
    left_out -= all.len();
    let (mut kept, mut bytes) = (VecDeque::new(), 0);
    for answered in all.into_iter().rev() {
        if kept.len() == ANSWERS_MAX {
            left_out += 1;
            break;
        }
        bytes += size(&answered);
        kept.push_front(if bytes <= ANSWERS_WHOLE_BYTES_MAX { answered } else { shortened(answered) });
    }
    if left_out > 0 {
        kept.push_front(Clarified {
            question: ANSWERS_LEFT_OUT.to_owned(),
            option: None,
            text: None,
            rationale: None,
            constraints: Vec::new(),
            by: "holdpoint".to_owned(),
        });
    }
    kept.into()
}

/// What a person set besides is in the turn's guidance.
fn shortened(answered: Clarified) -> Clarified {
    let start = |text: String| start_of(text, NARROWEST, "`holdpoint history`");
    Clarified {
        question: start(answered.question),
        option: answered.option.map(start),
        text: answered.text.map(start),
        rationale: answered.rationale.map(start),
        constraints: Vec::new(),
        by: answered.by,
    }
}

impl Limits {
    fn feedback(self, feedback: Feedback, whole: Option<&str>) -> Feedback {
        let all_of_it = whole.map_or_else(|| "`holdpoint history`".to_owned(), artifact);
        let mut notes = feedback.notes;
        let more = feedback.failing.len().saturating_sub(FAILING_MAX);
        if more > 0 {
            notes.insert(0, format!("and {more} more criteria did not pass: {all_of_it} lists them"));
        }
        let failing = feedback.failing.into_iter().take(FAILING_MAX);
        Feedback {
            failing: failing.map(|report| self.report(report, &all_of_it)).collect(),
            notes: few(notes, &all_of_it).into_iter().map(|note| middle_cut(note, self.text, &all_of_it)).collect(),
            collision: feedback.collision.map(|collision| self.collision(collision, &all_of_it)),
            ..feedback
        }
    }

    fn report(self, mut report: CriterionReport, all_of_it: &str) -> CriterionReport {
        let stored = report.result.evidence.first().map(|digest| artifact(&digest.to_string()));
        let output = stored.as_deref().unwrap_or(all_of_it);
        report.output_tail = end_of(report.output_tail, self.tail, output);
        report.command = report.command.map(|command| start_of(command, self.text, all_of_it));
        report.note = report.note.map(|note| start_of(note, self.text, all_of_it));
        report.result.evidence.truncate(EVIDENCE_MAX);
        report
    }

    fn collision(self, mut collision: Collision, all_of_it: &str) -> Collision {
        let more = collision.paths.len().saturating_sub(PATHS_MAX);
        collision.paths_more = collision.paths_more.saturating_add(u32::try_from(more).unwrap_or(u32::MAX));
        let paths = |paths: Vec<String>, most: usize| {
            paths.into_iter().take(most).map(|path| middle_cut(path, self.text, all_of_it)).collect()
        };
        collision.paths = paths(collision.paths, PATHS_MAX);
        for landed in &mut collision.landed {
            landed.paths = paths(std::mem::take(&mut landed.paths), PATHS_LANDED_MAX);
            landed.title = start_of(std::mem::take(&mut landed.title), self.text, all_of_it);
        }
        collision
    }
}

/// The first and the last of too many notes: the last ones are a person's.
fn few(mut notes: Vec<String>, all_of_it: &str) -> Vec<String> {
    let more = notes.len().saturating_sub(NOTES_MAX);
    if more > 0 {
        let first = NOTES_MAX / 2;
        notes.splice(first..=first + more, [format!("and {} more notes: {all_of_it} has them", more + 1)]);
    }
    notes
}

fn artifact(reference: &str) -> String {
    format!("`holdpoint artifact {reference}`")
}

/// The start of a text.
fn start_of(text: String, most: usize, all_of_it: &str) -> String {
    cut(text, most, all_of_it, |room| (room, 0))
}

/// The end of a text.
fn end_of(text: String, most: usize, all_of_it: &str) -> String {
    cut(text, most, all_of_it, |room| (0, room))
}

/// The start and the end of a text: where both say something.
fn middle_cut(text: String, most: usize, all_of_it: &str) -> String {
    cut(text, most, all_of_it, |room| (room - room / 2, room / 2))
}

/// Leaves the middle of a text out, so that it has `most` bytes together with the words for it. `share` divides the room
/// that is left between its start and its end.
fn cut(text: String, most: usize, all_of_it: &str, share: impl Fn(usize) -> (usize, usize)) -> String {
    if text.len() <= most {
        return text;
    }
    let words = format!("\n[{} bytes in all, cut here: {all_of_it} has the whole]\n", text.len());
    let (before, after) = share(most.saturating_sub(words.len()));
    let start = (0..=before).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    let end = (text.len() - after..text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len());
    format!("{}{words}{}", &text[..start], &text[end..])
}

fn size<T: serde::Serialize>(value: &T) -> usize {
    serde_json::to_vec(value).map_or(usize::MAX, |bytes| bytes.len())
}

#[cfg(test)]
mod tests;
