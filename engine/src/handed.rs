//! How large the parts of a handoff may be: it came from outside, and what it says goes into turns and entries, which
//! have to fit into one message each.
//!
//! The limits are several times what our own agents send. [`crate::feedback`] cuts what passes them.

use std::fmt;

use holdpoint_evidence::paths::VIOLATIONS_MAX;
use holdpoint_planfile::{
    gates::GATES_MAX,
    plan::{COMMAND_BYTES_MAX, CRITERIA_MAX, GUARDS_MAX, SENTENCE_BYTES_MAX},
};
use holdpoint_protocol::{
    artifact::{
        Act, BuildArtifact, ClarificationRequest, Completion, Conversation, CriterionReport, ExchangeError,
        ExchangeRecord, Handed, HelpRequest, IgnoredMarker, SESSION_BYTES_MAX, StatusUpdate, TRANSCRIPT_BYTES_MAX,
        TRANSCRIPT_PATH_BYTES_MAX, VerificationReport,
    },
    checkpoint::{CHECKPOINTS_MAX, DOCUMENT_BYTES_MAX, GateDocument},
    facts::LEFT_OUT_MAX,
};

/// Blockers of one completion.
pub const BLOCKERS_MAX: usize = 50;
/// Bytes of what a person says with an act.
pub const NOTE_BYTES_MAX: usize = 16 << 10;
/// Bytes of a question, with its options and its context: it is shown to people, and goes into the next turn.
pub const QUESTION_BYTES_MAX: usize = 64 << 10;
/// Options of one question.
pub const OPTIONS_MAX: usize = 50;
/// Bytes of why a build turn failed.
pub const FAILURE_BYTES_MAX: usize = 64 << 10;
/// Bytes of one run's output that are reported.
pub const OUTPUT_TAIL_BYTES_MAX: usize = 64 << 10;
/// References of evidence of one verdict: they are in every later entry.
pub const EVIDENCE_MAX: usize = 16;
/// Doubts of one report.
pub const DOUBTS_MAX: usize = 100;
/// Runs of one report's receipt, or of a builder's ledger.
pub const RUNS_MAX: usize = 10_000;
/// Properties of one report's receipt.
pub const PROPERTIES_MAX: usize = 100;
/// Claims of one build artifact.
pub const CLAIMS_MAX: usize = 1_000;

/// Calls for help of one run.
pub const HELP_EVENTS_MAX: usize = 16;
/// Markers of one run that said nothing.
pub const IGNORED_MAX: usize = 64;

/// Tries of one exchange.
pub const EXCHANGE_ATTEMPTS_MAX: usize = 64;
/// Missing fields of one exchange.
pub const EXCHANGE_MISSING_MAX: usize = 100;

/// What of a handoff is too large.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Oversized {
    /// The field, or a sentence about it.
    pub field: &'static str,
    /// How much there is.
    pub found: usize,
    /// How much is taken.
    pub most: usize,
    /// Of what: `bytes`, `items` or `percent`.
    pub unit: &'static str,
}

impl fmt::Display for Oversized {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { field, found, most, unit } = self;
        write!(f, "{field}: {found} {unit}, at most {most} are taken")
    }
}

/// What of a handoff is too large, with its limit; `None` for one that may be taken.
#[must_use]
pub fn oversized(handed: &Handed) -> Option<Oversized> {
    let checked = match handed {
        Handed::Reported(report) => of_report(report),
        Handed::Built(artifact) => of_build(artifact),
        Handed::Clarify(asked) => of_question(asked),
        Handed::Help(help) => of_help(help),
        Handed::Act(Act::Complete(completion)) if completion.turn.is_some() => of_completion(completion),
        Handed::Status(update) => of_status(update),
        Handed::Exchange(record) => of_exchange(record),
        // Of the others nothing is kept, or the engine says what it takes of a person.
        Handed::Plan | Handed::GivenBack | Handed::Act(_) => Ok(()),
    };
    checked.err()
}

type Checked = Result<(), Oversized>;

fn of_status(update: &StatusUpdate) -> Checked {
    sentence("summary", &update.summary)?;
    within("percent", update.percent.map_or(0, usize::from), 100, "percent")
}

fn of_exchange(record: &ExchangeRecord) -> Checked {
    sentence("exchange", &record.exchange)?;
    sentence("component", &record.component)?;
    sentence("session", record.session.as_deref().unwrap_or_default())?;
    of_exchange_error(&record.original_error)?;
    items("attempts", record.attempts.len(), EXCHANGE_ATTEMPTS_MAX)?;
    record.attempts.iter().try_for_each(|attempt| {
        text("attempts.command", &attempt.command, COMMAND_BYTES_MAX)?;
        sentence("attempts.prompt", &attempt.prompt)?;
        sentence("attempts.output_sample", &attempt.output_sample)?;
        attempt.error.as_ref().map_or(Ok(()), of_exchange_error)
    })
}

fn of_exchange_error(error: &ExchangeError) -> Checked {
    sentence("error.details", &error.details)?;
    items("error.missing", error.missing.len(), EXCHANGE_MISSING_MAX)?;
    error.missing.iter().try_for_each(|field| sentence("error.missing", field))?;
    sentence("error.output_sample", &error.output_sample)
}

fn of_report(report: &VerificationReport) -> Checked {
    items("criteria", report.criteria.len(), CRITERIA_MAX)?;
    items("guards", report.guards.len(), GUARDS_MAX)?;
    items("checkpoints", report.checkpoints.len(), CHECKPOINTS_MAX * GATES_MAX)?;
    report.verdicts().try_for_each(of_verdict)?;
    items("violations", report.violations.len(), VIOLATIONS_MAX)?;
    report.violations.iter().try_for_each(|violation| sentence("violations.path", &violation.path))?;
    items("doubts", report.doubts.len(), DOUBTS_MAX)?;
    report.doubts.iter().try_for_each(|doubt| sentence("doubts.text", &doubt.text))?;
    items("receipt.checks", report.receipt.checks.len(), RUNS_MAX)?;
    items("receipt.properties", report.receipt.properties.len(), PROPERTIES_MAX)?;
    ignored(&report.markers_ignored)
}

fn of_verdict(report: &CriterionReport) -> Checked {
    items("evidence", report.result.evidence.len(), EVIDENCE_MAX)?;
    text("output_tail", &report.output_tail, OUTPUT_TAIL_BYTES_MAX)?;
    text("command", report.command.as_deref().unwrap_or_default(), COMMAND_BYTES_MAX)?;
    sentence("note", report.note.as_deref().unwrap_or_default())
}

fn of_build(artifact: &BuildArtifact) -> Checked {
    let detail = artifact.failure.as_ref().map_or("", |failure| failure.detail.as_str());
    text("failure.detail", detail, FAILURE_BYTES_MAX)?;
    items("ledger", artifact.ledger.len(), RUNS_MAX)?;
    items("claims", artifact.claims.len(), CLAIMS_MAX)?;
    items("left_out", artifact.left_out.len(), LEFT_OUT_MAX)?;
    artifact.left_out.iter().try_for_each(|one| {
        sentence("left_out.what", &one.what)?;
        sentence("left_out.why", &one.why)
    })?;
    artifact.document.as_deref().map_or(Ok(()), of_document)?;
    ignored(&artifact.markers_ignored)
}

fn of_completion(completion: &Completion) -> Checked {
    text("summary", &completion.summary, NOTE_BYTES_MAX)?;
    items("blockers", completion.blockers.len(), BLOCKERS_MAX)?;
    bytes("blockers", completion.blockers.iter().map(String::len).sum(), NOTE_BYTES_MAX)?;
    text("rejection_notes", completion.rejection_notes.as_deref().unwrap_or_default(), NOTE_BYTES_MAX)?;
    let metadata = serde_json::to_vec(&completion.metadata).map_or(usize::MAX, |metadata| metadata.len());
    bytes("metadata", metadata, NOTE_BYTES_MAX)?;
    let detail = completion.failure.as_ref().map_or("", |failure| failure.detail.as_str());
    text("failure.detail", detail, FAILURE_BYTES_MAX)?;
    completion.document.as_deref().map_or(Ok(()), of_document)?;
    ignored(&completion.markers_ignored)
}

fn of_document(document: &GateDocument) -> Checked {
    bytes("document.text", document.text.len(), DOCUMENT_BYTES_MAX)?;
    bytes("document.title", document.title.as_ref().map_or(0, String::len), SENTENCE_BYTES_MAX)?;
    // One more than a gate has: that its document is there.
    items("document.checkpoints", document.checkpoints.len(), CHECKPOINTS_MAX + 1)?;
    document.checkpoints.iter().try_for_each(|one| sentence("document.checkpoints.message", &one.message))?;
    bytes("document.last_failure", document.last_failure.as_ref().map_or(0, String::len), FAILURE_BYTES_MAX)
}

fn of_question(asked: &ClarificationRequest) -> Checked {
    let options: usize = asked.options.iter().map(String::len).sum();
    let all = asked.question.len() + asked.decision_context.len() + options;
    bytes("question, decision_context and options", all, QUESTION_BYTES_MAX)?;
    items("options", asked.options.len(), OPTIONS_MAX)?;
    asked.conversation.as_ref().map_or(Ok(()), of_conversation)
}

fn of_conversation(talk: &Conversation) -> Checked {
    bytes("conversation.session", talk.session.len(), SESSION_BYTES_MAX)?;
    bytes("conversation.path", talk.path.len(), TRANSCRIPT_PATH_BYTES_MAX)?;
    let size = usize::try_from(talk.transcript.bytes).unwrap_or(usize::MAX);
    bytes("conversation.transcript", size, usize::try_from(TRANSCRIPT_BYTES_MAX).unwrap_or(usize::MAX))
}

fn of_help(help: &HelpRequest) -> Checked {
    let size = |context: Option<&serde_json::Value>| context.map_or(0, |context| context.to_string().len());
    bytes("raw_line and context", help.raw_line.len() + size(help.context.as_ref()), QUESTION_BYTES_MAX)?;
    items("help_events", help.help_events.len(), HELP_EVENTS_MAX)?;
    let events = help.help_events.iter().map(|event| event.raw_line.len() + size(event.context.as_ref())).sum();
    bytes("help_events", events, QUESTION_BYTES_MAX)?;
    help.conversation.as_ref().map_or(Ok(()), of_conversation)?;
    ignored(&help.markers_ignored)
}

fn ignored(markers: &[IgnoredMarker]) -> Checked {
    items("markers_ignored", markers.len(), IGNORED_MAX)?;
    markers.iter().try_for_each(|ignored| {
        sentence("markers_ignored.marker", &ignored.marker)?;
        sentence("markers_ignored.line", &ignored.line)
    })
}

fn sentence(field: &'static str, value: &str) -> Checked {
    text(field, value, SENTENCE_BYTES_MAX)
}

fn text(field: &'static str, value: &str, most: usize) -> Checked {
    bytes(field, value.len(), most)
}

fn bytes(field: &'static str, found: usize, most: usize) -> Checked {
    within(field, found, most, "bytes")
}

fn items(field: &'static str, found: usize, most: usize) -> Checked {
    within(field, found, most, "items")
}

fn within(field: &'static str, found: usize, most: usize, unit: &'static str) -> Checked {
    if found <= most { Ok(()) } else { Err(Oversized { field, found, most, unit }) }
}

#[cfg(test)]
mod tests {
    use holdpoint_protocol::artifact::Doubt;

    use super::*;
    use crate::testing::{fixture::Fixture, parts::sound_report};

    fn refused(change: impl FnOnce(&mut VerificationReport)) -> Option<String> {
        let mut fixture = Fixture::opened(|_, _| {});
        fixture.build_ok("w").turn();
        let mut report = sound_report(&fixture.turn("w"));
        change(&mut report);
        oversized(&Handed::Reported(Box::new(report))).map(|size| size.to_string())
    }

    #[test]
    fn a_report_that_is_too_long_anywhere_is_refused_by_the_name_of_its_limit() {
        assert_eq!(refused(|_| {}), None);
        assert_eq!(refused(|r| r.criteria[0].output_tail = "x".repeat(OUTPUT_TAIL_BYTES_MAX)), None);
        type Change = fn(&mut VerificationReport);
        let table: [(&str, Change); 8] = [
            ("output_tail: 65537 bytes, at most 65536", |r| r.criteria[0].output_tail = "x".repeat((64 << 10) + 1)),
            ("note:", |r| r.criteria[0].note = Some("x".repeat(SENTENCE_BYTES_MAX + 1))),
            ("command:", |r| r.criteria[0].command = Some("x".repeat(COMMAND_BYTES_MAX + 1))),
            ("evidence: 17 items, at most 16", |r| {
                let digest = r.criteria[0].result.evidence[0];
                r.criteria[0].result.evidence = vec![digest; EVIDENCE_MAX + 1];
            }),
            ("criteria: 501 items, at most 500", |r| r.criteria = vec![r.criteria[0].clone(); CRITERIA_MAX + 1]),
            ("guards:", |r| r.guards = vec![r.criteria[0].clone(); GUARDS_MAX + 1]),
            ("doubts:", |r| r.doubts = vec![Doubt::blocking(String::new()); DOUBTS_MAX + 1]),
            ("doubts.text:", |r| {
                r.doubts.push(Doubt::note("x".repeat(SENTENCE_BYTES_MAX + 1)));
            }),
        ];
        for (expected, change) in table {
            let what = refused(change).unwrap_or_default();
            assert!(what.starts_with(expected), "{expected}: {what:?}");
        }
    }
}
