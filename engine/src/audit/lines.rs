//! What an audit looks at: entries and handoffs as they were stored, decoded, with what is known of their makers.

use holdpoint_protocol::{
    Digest,
    artifact::{CheckRun, Handed, HandedHead, VerificationReport},
    export::Message,
    facts::{Harness, Verdict},
    headers,
    journal::{Entry, Sequence},
    streams,
    subjects::{self, HandedSubject, JournalKey},
};
use holdpoint_text::chain::ErrorChain;

use crate::waypoint;

/// One entry of a journal.
#[derive(Debug, Clone, PartialEq)]
pub struct EntryLine {
    /// The journal.
    pub journal: JournalKey,
    /// Its place in the stream.
    pub sequence: Sequence,
    /// The digest of its payload.
    pub digest: Digest,
    /// Whether an orchestrator signed it.
    pub signed: bool,
    /// What it says, or why it cannot be read.
    pub entry: Result<Entry, String>,
}

impl EntryLine {
    /// Reads a stored message as an entry; `None` if its subject is none's.
    #[must_use]
    pub fn read(message: &Message, signed: bool) -> Option<Self> {
        let content_type = message.header(headers::CONTENT_TYPE);
        let entry = Entry::decode(&message.subject, &message.payload, content_type);
        Some(Self {
            journal: subjects::parse_journal(&message.subject)?,
            sequence: message.sequence,
            digest: Digest::of(&message.payload),
            signed,
            entry: entry.map_err(|error| ErrorChain(&error).to_string()),
        })
    }

    /// How it is referred to.
    #[must_use]
    pub fn reference(&self) -> String {
        reference(self.sequence)
    }
}

/// How an entry is referred to.
#[must_use]
pub fn reference(sequence: Sequence) -> String {
    format!("{}/{}", streams::JOURNAL, sequence.0)
}

/// One handoff.
#[derive(Debug, Clone, PartialEq)]
pub struct HandoffLine {
    /// The stream it is stored in.
    pub stream: String,
    /// Its place there.
    pub sequence: Sequence,
    /// What its subject says.
    pub subject: HandedSubject,
    /// The digest of its payload.
    pub digest: Digest,
    /// Whether it is its agent's, of the subject's role, and whose harness that agent's key is for; else why not.
    pub sender: Result<Harness, String>,
    /// What it says, or why it cannot be read.
    pub body: Result<(HandedHead, Handed), String>,
}

impl HandoffLine {
    /// Reads a stored message as a handoff; `None` if its subject is none's. Its sender was not looked at.
    #[must_use]
    pub fn read(message: &Message) -> Option<Self> {
        let subject = subjects::parse_handed(&message.subject)?;
        let content_type = message.header(headers::CONTENT_TYPE);
        let head = HandedHead::decode(&message.payload, content_type).map_err(|error| ErrorChain(&error).to_string());
        let body = head.and_then(|head| {
            let body = Handed::decode(&subject.kind, &message.payload, content_type)
                .map_err(|error| ErrorChain(&error).to_string())?;
            Ok((head, body))
        });
        Some(Self {
            stream: message.stream.clone(),
            sequence: message.sequence,
            subject,
            digest: Digest::of(&message.payload),
            sender: Err("nobody looked at its signature".to_owned()),
            body,
        })
    }

    /// How it is referred to.
    #[must_use]
    pub fn reference(&self) -> String {
        format!("{}/{}", self.stream, self.sequence.0)
    }

    /// A report that it is, with what its sender's key says of the receipt in place of what the receipt says of itself.
    pub(super) fn report(&self) -> Option<VerificationReport> {
        let Ok((_, Handed::Reported(report))) = &self.body else { return None };
        let mut report = report.as_ref().clone();
        report.receipt.foreign = self.sender.as_ref().map_or(true, |harness| harness.is_foreign());
        Some(report)
    }

    /// The digests of the evidence it names; the flag: something is passed by it, so that it has to be there.
    #[must_use]
    pub fn evidence(&self) -> Vec<(Digest, bool)> {
        let Ok((_, Handed::Reported(report))) = &self.body else { return Vec::new() };
        let mut named = Vec::new();
        for judged in report.verdicts() {
            let passes = judged.result.verdict == Verdict::Pass;
            named.extend(judged.result.evidence.iter().map(|digest| (*digest, passes)));
        }
        named.extend(report.receipt.checks.iter().map(|run| (run.output, false)));
        named
    }

    /// Leaves out what no rule looks at, so that many fit into memory.
    #[must_use]
    pub(super) fn trimmed(mut self) -> Self {
        match &mut self.body {
            Ok((_, Handed::Built(artifact))) => {
                artifact.touched = Vec::new();
                artifact.ledger = Vec::new();
                artifact.claims = Vec::new();
                artifact.completion_claim = None;
                artifact.last_words = None;
                artifact.markers_ignored = Vec::new();
            }
            Ok((_, Handed::Reported(report))) => {
                for judged in report.criteria.iter_mut().chain(&mut report.guards) {
                    judged.output_tail = String::new();
                    judged.command = None;
                    judged.note = None;
                }
                // Of an agent that checked itself the rules look at its runs on the work.
                let kept = waypoint::runs_on_work(report).filter(|_| report.self_checked);
                report.receipt.checks = kept.map(|run| CheckRun { command: String::new(), ..run.clone() }).collect();
                // What is noted of a command goes into decisions.
                for judged in report.checkpoints.iter_mut().map(|one| &mut one.report) {
                    judged.output_tail = String::new();
                    judged.command = None;
                }
            }
            Ok(_) | Err(_) => {}
        }
        self
    }
}
