//! Keeping a flight: its export on the disk, compressed, synced, read back and audited. Only then may anything of it be deleted.

use std::{
    collections::HashSet,
    fs::{self, File},
    io::{self, BufRead as _, BufWriter, Write as _},
    path::{Path, PathBuf},
};

use flate2::{Compression, write::GzEncoder};
use holdpoint_bus::auth::TrustRoots;
use holdpoint_core::references;
use holdpoint_protocol::{
    Digest, Timestamp,
    export::{Line, Seal},
    ids::FlightId,
};
use sha2::{Digest as _, Sha256};

use super::{
    check::check,
    read,
    write::{Wants, write},
};
use crate::{
    client::Client,
    failure::{Exit, Failure},
};

/// An export that is safe to rely on.
#[derive(Debug)]
pub(crate) struct Kept {
    /// The file.
    pub(crate) path: PathBuf,
    /// The digest of its lines, without compression.
    pub(crate) digest: Digest,
    /// Its length on the disk, in bytes.
    pub(crate) bytes: u64,
    /// Its seal.
    pub(crate) seal: Seal,
    /// Journal entries and handoffs in it.
    pub(crate) messages: u64,
    /// Every digest that they name.
    pub(crate) named: HashSet<Digest>,
    /// When the last of them was stored.
    pub(crate) last: Timestamp,
}

/// Writes the export of a flight into a folder, and checks what is on the disk then. It takes the place of an earlier one once it is
/// known to be sound.
pub(crate) async fn keep(
    client: &Client,
    flight: &FlightId,
    (dir, evidence): (&Path, bool),
    trust: Option<TrustRoots>,
) -> Result<Kept, Failure> {
    let _at = holdpoint_faults::at(holdpoint_faults::Step::KeepExport);
    let path = dir.join(format!("{flight}.export.jsonl.gz"));
    let part = dir.join(format!("{flight}.export.jsonl.gz.part"));
    let kept = match write_synced(client, flight, &part, evidence).await {
        Ok(messages) => checked(flight, &part, trust).map(|looked| (messages, looked)),
        Err(failure) => Err(failure),
    };
    let kept = kept.and_then(|kept| {
        let placed = fs::rename(&part, &path).and_then(|()| File::open(dir)?.sync_all());
        placed.map(|()| kept).map_err(|error| unwritable(&path, &error))
    });
    let (messages, Looked { digest, bytes, seal, named, last }) = kept.inspect_err(|_| {
        // The rest of it is of no use; the error that counts is reported.
        let _ = fs::remove_file(&part);
    })?;
    Ok(Kept { path, digest, bytes, seal, messages, named, last })
}

fn unwritable(path: &Path, error: &io::Error) -> Failure {
    let message = format!("cannot write {}: {error}", path.display());
    Failure::environment("archive", message, "name another folder with --to DIR; nothing was deleted")
}

/// Writes it, until it is on the disk; how many messages are in it.
async fn write_synced(client: &Client, flight: &FlightId, path: &Path, evidence: bool) -> Result<u64, Failure> {
    let failed = |error: io::Error| unwritable(path, &error);
    let file = File::create(path).map_err(failed)?;
    let mut out = GzEncoder::new(BufWriter::new(file), Compression::default());
    let written = write(client, flight, Wants { evidence, work: true }, &mut out).await?;
    let mut file = out.finish().map_err(failed)?;
    file.flush().and_then(|()| file.get_ref().sync_all()).map_err(failed)?;
    Ok(written.messages)
}

/// Audits what is on the disk.
fn checked(flight: &FlightId, path: &Path, trust: Option<TrustRoots>) -> Result<Looked, Failure> {
    let checked = check(path, trust)?;
    if let Some(first) = checked.audit.findings.first() {
        let what = format!("expected {}, found {}", first.expected, first.found);
        let message = format!("the export of {flight} is not sound, so nothing was deleted: at {}: {what}", first.at);
        let hint = format!("`holdpoint audit {flight}` shows all of it");
        return Err(Failure::Other { exit: Exit::Incomplete, code: "unsound", message, hint });
    }
    look(path).map_err(|error| {
        let message = format!("cannot read {} back: {error}", path.display());
        Failure::environment("archive", message, "nothing was deleted; name another folder with --to DIR")
    })
}

/// What is in a file.
struct Looked {
    digest: Digest,
    bytes: u64,
    seal: Seal,
    named: HashSet<Digest>,
    last: Timestamp,
}

/// Reads it once more, as it is on the disk.
fn look(path: &Path) -> io::Result<Looked> {
    let (mut lines, mut hasher, mut bytes) = (read::open(path)?, Sha256::new(), Vec::new());
    let (mut seal, mut named, mut last) = (None, HashSet::new(), Timestamp::from_millis(0));
    while lines.read_until(b'\n', &mut bytes)? > 0 {
        hasher.update(&bytes);
        match serde_json::from_slice(&bytes)? {
            Line::Export(head) => seal = Some(head.seal),
            Line::Message(message) => {
                named.extend(references::named(&message.payload));
                last = last.max(message.time);
            }
            Line::Blob(_) | Line::Missing(_) | Line::End(_) => {}
        }
        bytes.clear();
    }
    let seal = seal.ok_or_else(|| io::Error::from(io::ErrorKind::UnexpectedEof))?;
    Ok(Looked { digest: Digest::of_hash(hasher), bytes: fs::metadata(path)?.len(), seal, named, last })
}
