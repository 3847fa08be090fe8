//! Keeping a flight: its export on the disk, compressed, synced, read back and audited. Only then may anything of it be deleted.

use std::{
    collections::HashSet,
    fs::{self, File},
    io::{self, BufRead as _, BufWriter, Write as _},
    path::{Path, PathBuf},
};

use super::references;
use flate2::{Compression, write::GzEncoder};
use holdpoint_bus::auth::TrustRoots;
use holdpoint_protocol::{
    Digest, Timestamp,
    export::{Line, Seal},
    ids::FlightId,
    streams,
};
use holdpoint_runtime::clock;
use sha2::{Digest as _, Sha256};

use super::{
    check::check,
    read,
    write::{Wants, write},
};
use crate::{
    client::Client,
    failure::{Exit, Failure},
    output,
};

/// Where the archive of a local fleet is, in its state folder.
pub(crate) const FOLDER: &str = "archive";
/// How the files of an archive are called, behind the flight.
const ENDING: &str = ".export.jsonl.gz";

/// How many flights are archived in a folder.
pub(crate) fn exports(dir: &Path) -> usize {
    // Where there is no folder, none is.
    let files = fs::read_dir(dir).into_iter().flatten().flatten();
    files.filter(|file| file.file_name().to_str().is_some_and(|name| name.ends_with(ENDING))).count()
}

/// An export that is safe to rely on, in a file of another name. That file goes unless [`Kept::place`] is called.
#[derive(Debug)]
pub(crate) struct Kept {
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
    entries: HashSet<Digest>,
    part: Part,
    path: PathBuf,
}

/// A file that is being made.
#[derive(Debug)]
struct Part(PathBuf);

impl Drop for Part {
    fn drop(&mut self) {
        // The rest of it is of no use; the error that counts is reported. One that was placed is not there.
        let _ = fs::remove_file(&self.0);
    }
}

/// Writes the export of a flight into a folder, and checks what is on the disk then.
pub(crate) async fn keep(
    client: &Client,
    flight: &FlightId,
    (dir, evidence): (&Path, bool),
    trust: Option<TrustRoots>,
) -> Result<Kept, Failure> {
    let _at = holdpoint_faults::at(holdpoint_faults::Step::KeepExport);
    let path = dir.join(format!("{flight}{ENDING}"));
    let part = Part(dir.join(format!("{flight}{ENDING}.part")));
    let messages = write_synced(client, flight, &part.0, evidence).await?;
    let Looked { digest, bytes, seal, named, last, entries } = checked(flight, &part.0, trust)?;
    Ok(Kept { digest, bytes, seal, messages, named, last, entries, part, path })
}

impl Kept {
    /// Gives the file its name, and says which that is. An earlier one is replaced if all of its entries are in this one. Otherwise the
    /// flight went on differently since, as after a restore from an older backup: the earlier one gets another name.
    pub(crate) fn place(&self) -> Result<&Path, Failure> {
        let failed = |error: io::Error| unwritable(&self.path, &error);
        if self.path.exists() {
            let earlier = look(&self.path);
            if !earlier.as_ref().is_ok_and(|earlier| earlier.entries.is_subset(&self.entries)) {
                let at = clock::now().as_millis();
                let aside = self.path.with_extension(format!("before-{at}.gz"));
                fs::rename(&self.path, &aside).map_err(failed)?;
                output::err(&format!(
                    "an earlier archive of the flight that has other entries is now {}",
                    aside.display()
                ));
            }
        }
        fs::rename(&self.part.0, &self.path).map_err(failed)?;
        let dir = self.path.parent().unwrap_or_else(|| Path::new("."));
        File::open(dir).and_then(|dir| dir.sync_all()).map_err(failed)?;
        Ok(&self.path)
    }
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
    /// The digests of the journals' entries.
    entries: HashSet<Digest>,
}

/// Reads it once more, as it is on the disk.
fn look(path: &Path) -> io::Result<Looked> {
    let (mut lines, mut hasher, mut bytes) = (read::open(path)?, Sha256::new(), Vec::new());
    let (mut seal, mut named, mut last) = (None, HashSet::new(), Timestamp::from_millis(0));
    let mut entries = HashSet::new();
    while lines.read_until(b'\n', &mut bytes)? > 0 {
        hasher.update(&bytes);
        match serde_json::from_slice(&bytes)? {
            Line::Export(head) => seal = Some(head.seal),
            Line::Message(message) => {
                named.extend(references::named(&message.payload));
                last = last.max(message.time);
                if message.stream == streams::JOURNAL {
                    entries.insert(Digest::of(&message.payload));
                }
            }
            Line::Blob(_) | Line::Missing(_) | Line::End(_) => {}
        }
        bytes.clear();
    }
    let seal = seal.ok_or_else(|| io::Error::from(io::ErrorKind::UnexpectedEof))?;
    Ok(Looked { digest: Digest::of_hash(hasher), bytes: fs::metadata(path)?.len(), seal, named, last, entries })
}
