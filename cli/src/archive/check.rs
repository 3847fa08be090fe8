//! Checking: the file is read twice, handoffs and evidence first, entries then. Nothing is asked of anybody.

use std::{io, path::Path};

use holdpoint_bus::auth::{PastSenders, SignedMessage, TrustRoots};
use holdpoint_engine::audit::{Audit, Auditor, Bytes, EntryLine, HandoffLine, THE_END};
use holdpoint_protocol::{
    Digest,
    export::{BlobPart, Cut, End, Line, Message, Seal},
    headers,
    journal::{Entry, Landed},
    streams, subjects,
};
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use super::read::Archive;
use crate::failure::Failure;

/// What became of it.
#[derive(Debug, Serialize)]
pub(crate) struct Checked {
    /// Findings and how much was looked at.
    #[serde(flatten)]
    pub(crate) audit: Audit,
    /// Whether nothing is broken.
    pub(crate) sound: bool,
    /// Whether bytes of evidence were looked at, or digests only.
    pub(crate) evidence_bytes: bool,
    /// Public keys of the orchestrators that were trusted.
    pub(crate) orchestrators: Vec<String>,
}

/// Checks a file by these trust roots, or by those that it names itself.
pub(crate) fn check(path: &Path, trust: Option<TrustRoots>) -> Result<Checked, Failure> {
    let mut archive = Archive::open(path)?;
    let roots = match trust {
        Some(roots) => roots,
        None => serde_json::from_value(archive.head.trust.clone()).map_err(|error| {
            let message = format!("the keys that {} names cannot be read: {error}", path.display());
            Failure::usage("no_trust", message, "--trust FILE names the keys that count (trust.json)")
        })?,
    };
    let audit = audit(&mut archive, &roots).map_err(|error| {
        let message = format!("cannot read {} to its end: {error}", path.display());
        Failure::environment("export", message, "copy the file again and check the copy")
    })?;
    let (sound, evidence_bytes) = (audit.is_sound(), archive.head.evidence);
    Ok(Checked { audit, sound, evidence_bytes, orchestrators: roots.orchestrators })
}

fn audit(archive: &mut Archive, roots: &TrustRoots) -> io::Result<Audit> {
    let mut auditor = Auditor::new(archive.head.flight.clone());
    let mut first = First::new(roots);
    while let Some((number, line)) = archive.next()? {
        match line {
            Ok(line) => first.take(number, line, &mut auditor),
            Err(error) => auditor.damaged(&format!("line {number}"), "a line of an export", &error),
        }
    }
    first.end(&mut auditor);
    let has_work = archive.head.work;
    archive.rewind()?;
    while let Some((number, line)) = archive.next()? {
        let Ok(Line::Message(message)) = line else { continue };
        if message.stream != streams::JOURNAL {
            continue;
        }
        match EntryLine::read(&message, roots.was_orchestrators(signed(&message))) {
            Some(entry) => {
                auditor.entry(&entry);
                if let Ok(Entry::Landed(landed)) = &entry.entry
                    && has_work
                {
                    first.work(&entry, landed, &mut auditor);
                }
            }
            None => {
                let found = format!("a message on {}", message.subject);
                auditor.damaged(&format!("line {number}"), "an entry of a journal", &found);
            }
        }
    }
    let cut = cut(&archive.head.seal, roots, &mut auditor);
    Ok(auditor.finish(cut.as_ref(), archive.head.evidence.then_some(&first.bytes)))
}

/// What a message's signature is over.
pub(crate) fn signed(message: &Message) -> SignedMessage<'_> {
    SignedMessage {
        subject: &message.subject,
        payload: &message.payload,
        signature: message.header(headers::SIGNATURE),
        at: message.time,
    }
}

/// Where the journals ended, if an orchestrator says so.
fn cut(seal: &Seal, roots: &TrustRoots, auditor: &mut Auditor) -> Option<Cut> {
    let broken = |auditor: &mut Auditor, found: &str| {
        auditor.unsealed("a seal by an orchestrator's key over where the journals ended", found);
        None
    };
    let cut: Cut = match serde_json::from_slice(&seal.payload) {
        Ok(cut) => cut,
        Err(error) => return broken(auditor, &format!("it cannot be read: {error}")),
    };
    let subject = subjects::seal(&cut.flight);
    let signed =
        SignedMessage { subject: &subject, payload: &seal.payload, signature: Some(&seal.signature), at: cut.at };
    if roots.was_orchestrators(signed) { Some(cut) } else { broken(auditor, "a signature by another key, or none") }
}

/// The first reading.
struct First<'a> {
    senders: PastSenders<'a>,
    bytes: Bytes,
    blob: Option<Blob>,
    messages: u64,
    blobs: u64,
    end: Option<End>,
}

/// A blob that is being read.
struct Blob {
    digest: Digest,
    hasher: Sha256,
    len: u64,
}

impl<'a> First<'a> {
    fn new(roots: &'a TrustRoots) -> Self {
        let senders = PastSenders::new(roots);
        Self { senders, bytes: Bytes::new(), blob: None, messages: 0, blobs: 0, end: None }
    }

    fn take(&mut self, number: u64, line: Line, auditor: &mut Auditor) {
        let place = format!("line {number}");
        if self.end.is_some() {
            auditor.damaged(&place, "nothing behind the end", "another line");
        }
        match line {
            Line::Export(_) => auditor.damaged(&place, "a message, evidence or the end", "another beginning"),
            Line::Message(message) => {
                self.messages += 1;
                self.message(&place, &message, auditor);
            }
            Line::Blob(part) => self.part(part),
            // Anything that rests on it is named where it is looked for.
            Line::Missing(_) => {}
            Line::End(end) => self.end = Some(end),
        }
    }

    fn message(&mut self, place: &str, message: &Message, auditor: &mut Auditor) {
        if message.stream == streams::JOURNAL {
            return;
        }
        let Some(mut line) = HandoffLine::read(message) else {
            return auditor.damaged(place, "a handoff", &format!("a message on {}", message.subject));
        };
        line.sender = match &line.body {
            Ok((head, _)) => {
                let jwt = message.header(headers::JWT);
                self.senders.verify(&line.subject.role, &head.agent, jwt, signed(message))
            }
            Err(error) => Err(error.clone()),
        };
        auditor.handoff(line);
    }

    fn part(&mut self, part: BlobPart) {
        let goes_on = self.blob.as_ref().is_some_and(|blob| blob.digest == part.digest && blob.len == part.offset);
        if !goes_on {
            self.blob = Some(Blob { digest: part.digest, hasher: Sha256::new(), len: 0 });
            if part.offset != 0 {
                self.bytes.insert(part.digest, Err("its bytes are not whole".to_owned()));
                return;
            }
        }
        let Some(blob) = &mut self.blob else { return };
        blob.hasher.update(&part.data);
        blob.len += part.data.len() as u64;
        if !part.last {
            return;
        }
        if let Some(blob) = self.blob.take() {
            self.blobs += 1;
            let found = Digest::of_hash(blob.hasher);
            let sound = if found == blob.digest { Ok(()) } else { Err(format!("bytes with the digest {found}")) };
            self.bytes.insert(blob.digest, sound);
        }
    }

    /// The bundle of a landing has to be there whole.
    fn work(&self, entry: &EntryLine, landed: &Landed, auditor: &mut Auditor) {
        let digest = landed.bundle.blob.digest;
        let found = match self.bytes.get(&digest) {
            Some(Ok(())) => return,
            Some(Err(found)) => found.clone(),
            None => "it is not in the file".to_owned(),
        };
        auditor.damaged(&entry.reference(), &format!("the bundle {digest} of what landed"), &found);
    }

    /// A file that was cut off, or from which lines were taken.
    fn end(&mut self, auditor: &mut Auditor) {
        let found = End { messages: self.messages, blobs: self.blobs };
        let say = |end: &End| format!("{} messages and {} pieces of evidence and work", end.messages, end.blobs);
        match &self.end {
            None => auditor.damaged(THE_END, "a last line", "the file is cut off"),
            Some(end) if *end != found => auditor.damaged(THE_END, &say(end), &say(&found)),
            Some(_) => {}
        }
    }
}
