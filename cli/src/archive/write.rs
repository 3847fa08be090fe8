//! Writing: a message or a part of a blob at a time, however large the flight is.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::{self, Read as _, Write},
};

use holdpoint_bus::blobs;
use holdpoint_engine::audit::{EntryLine, HandoffLine};
use holdpoint_protocol::{
    Digest,
    artifact::{Artifact as _, VerificationReport},
    export::{BLOB_PART_LEN, BlobPart, Cut, End, ExportPlace, FORMAT, Head, Line, Message, MessageQuery, MissingBlob},
    ids::{FlightId, role},
    journal::{Entry, Sequence},
    streams,
};
use serde::Serialize;

use super::pages::each_message;
use crate::{
    client::Client,
    failure::{Failure, chain},
};

/// The most bytes of one piece of evidence. The output of a check is capped far below it.
const EVIDENCE_BYTES_MAX: u64 = 256 << 20;

/// The code of a failure that comes of a reader who has gone.
pub(crate) const NOBODY_READS: &str = "nobody_reads";

/// Which bytes are put in besides the messages.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Wants {
    /// Of evidence that reports name.
    pub(crate) evidence: bool,
    /// Of what landed.
    pub(crate) work: bool,
}

/// What was written.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Written {
    /// Journal entries and handoffs.
    pub(crate) messages: u64,
    /// Pieces of evidence and of work with their bytes.
    pub(crate) blobs: u64,
    /// Evidence and work that could not be got.
    pub(crate) missing: Vec<Digest>,
}

/// Writes a flight, with the bytes that are wanted.
pub(crate) async fn write(
    client: &Client,
    flight: &FlightId,
    wants: Wants,
    out: &mut (impl Write + Send),
) -> Result<Written, Failure> {
    let begun = client.cut(flight).await?;
    let cut: Cut = serde_json::from_slice(&begun.seal.payload).map_err(|error| {
        Failure::environment("orchestrator", format!("what the export begins with cannot be read: {error}"), "")
    })?;
    let Wants { evidence, work } = wants;
    let (format, trust, seal) = (FORMAT.to_owned(), begun.trust, begun.seal);
    let head = Head { format, flight: flight.clone(), evidence, work, trust, seal };
    let (evidence, work) = (evidence.then(BTreeSet::new), work.then(BTreeMap::new));
    let mut writer = Writer { client, flight, out, written: Written::default(), evidence, work };
    writer.line(&Line::Export(Box::new(head)))?;
    let journal = cut.journals.iter().map(|end| end.sequence).max().unwrap_or_default();
    writer.stream(streams::JOURNAL, journal).await?;
    for end in &cut.handoffs {
        writer.stream(&end.stream, end.until).await?;
    }
    writer.all_blobs().await?;
    let End { messages, blobs } = End { messages: writer.written.messages, blobs: writer.written.blobs };
    writer.line(&Line::End(End { messages, blobs }))?;
    writer.out.flush().map_err(|error| unwritable(&error))?;
    Ok(writer.written)
}

struct Writer<'a, W> {
    client: &'a Client,
    flight: &'a FlightId,
    out: &'a mut W,
    written: Written,
    /// What reports name so far, if that is wanted.
    evidence: Option<BTreeSet<Digest>>,
    /// What landings name so far, each with its length, if that is wanted.
    work: Option<BTreeMap<Digest, u64>>,
}

impl<W: Write + Send> Writer<'_, W> {
    fn line(&mut self, line: &Line) -> Result<(), Failure> {
        let mut bytes = serde_json::to_vec(line).expect("plain data with text keys");
        bytes.push(b'\n');
        self.out.write_all(&bytes).map_err(|error| unwritable(&error))
    }

    /// Everything of the flight in one stream, up to the message at a place.
    async fn stream(&mut self, stream: &str, until: Sequence) -> Result<(), Failure> {
        let after = ExportPlace::default();
        let query = MessageQuery { flight: self.flight.clone(), stream: stream.to_owned(), after, until };
        let mut last = Sequence(0);
        each_message(self.client, query, |message| {
            last = message.sequence;
            self.message(message)
        })
        .await?;
        if last == until {
            return Ok(());
        }
        let message = format!("{stream} has no message {} any more: the flight leaves the broker now", until.0);
        Err(Failure::environment("cut_short", message, "look whether it was archived: `holdpoint status`"))
    }

    fn message(&mut self, message: Message) -> Result<(), Failure> {
        if let Some(evidence) = &mut self.evidence
            && message.subject.ends_with(VerificationReport::KIND)
            && let Some(line) = HandoffLine::read(&message)
        {
            evidence.extend(line.evidence().into_iter().map(|(digest, _)| digest));
        }
        if let Some(work) = &mut self.work
            && message.stream == streams::JOURNAL
            && let Some(EntryLine { entry: Ok(Entry::Landed(landed)), .. }) = EntryLine::read(&message, true)
        {
            work.insert(landed.bundle.blob.digest, landed.bundle.blob.bytes);
        }
        self.written.messages += 1;
        self.line(&Line::Message(message))
    }

    async fn all_blobs(&mut self) -> Result<(), Failure> {
        let dir = holdpoint_sandbox::TemporaryFolder::new().map_err(|error| unwritable(&error))?;
        let path = dir.path().join("blob");
        // What a judge cites may be a builder's. What landed is an orchestrator's.
        let roles = role::SHOWN.map(role::id);
        let evidence = self.evidence.take().unwrap_or_default().into_iter().map(|digest| (digest, EVIDENCE_BYTES_MAX));
        let wanted = evidence.chain(self.work.take().unwrap_or_default());
        for (digest, most) in wanted.collect::<BTreeMap<_, _>>() {
            let bus = self.client.bus();
            match blobs::get_to_file(bus, digest, &roles, most, &path).await {
                Ok(()) => self.blob(digest, &path).map_err(|error| unwritable(&error))?,
                Err(error @ (blobs::BlobError::NotFound { .. } | blobs::BlobError::Corrupt { .. })) => {
                    self.written.missing.push(digest);
                    self.line(&Line::Missing(MissingBlob { digest, error: chain(&error) }))?;
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    fn blob(&mut self, digest: Digest, path: &std::path::Path) -> io::Result<()> {
        let file = std::fs::File::open(path)?;
        let len = file.metadata()?.len();
        let mut rest = io::BufReader::new(file);
        let mut offset = 0;
        loop {
            let mut data = Vec::new();
            rest.by_ref().take(BLOB_PART_LEN as u64).read_to_end(&mut data)?;
            let end = offset + data.len() as u64;
            let part = BlobPart { digest, offset, last: end >= len, data };
            let last = part.last;
            let mut bytes = serde_json::to_vec(&Line::Blob(part))?;
            bytes.push(b'\n');
            self.out.write_all(&bytes)?;
            if last {
                self.written.blobs += 1;
                return Ok(());
            }
            offset = end;
        }
    }
}

fn unwritable(error: &io::Error) -> Failure {
    let code = if error.kind() == io::ErrorKind::BrokenPipe { NOBODY_READS } else { "export" };
    Failure::environment(code, format!("cannot write the export: {error}"), "name another place with --out FILE")
}
