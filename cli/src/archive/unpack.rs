//! Taking what landed out of a file: the bundles of a flight's landings, in order.

use std::{
    collections::HashMap,
    fs::{File, OpenOptions},
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use holdpoint_bus::auth::TrustRoots;
use holdpoint_engine::{audit::EntryLine, flight};
use holdpoint_protocol::{
    Digest,
    export::{BlobPart, Line},
    facts::Oid,
    ids::FlightId,
    journal::Entry,
    streams,
};
use holdpoint_sandbox::TemporaryFolder;

use super::{
    check::check,
    read::{Archive, Read},
};
use crate::{
    failure::{Exit, Failure},
    temporary,
};

/// What landed in a flight, as files.
#[derive(Debug)]
pub(crate) struct Unpacked {
    /// The flight.
    pub(crate) flight: FlightId,
    /// Its branch.
    pub(crate) branch: String,
    /// The commit of its last landing.
    pub(crate) head: Oid,
    /// What brings it, each building on those before it.
    pub(crate) bundles: Vec<PathBuf>,
    /// Where they are.
    _dir: TemporaryFolder,
}

/// Audits a file, and takes out what landed.
pub(crate) fn unpack(path: &Path, trust: Option<TrustRoots>) -> Result<Unpacked, Failure> {
    let checked = check(path, trust)?;
    if !checked.sound {
        let message = format!("{} is not sound: nothing was written", path.display());
        let hint = format!("`holdpoint audit {}` shows what is wrong with it", path.display());
        return Err(Failure::Other { exit: Exit::Incomplete, code: "unsound", message, hint });
    }
    let mut archive = Archive::open(path)?;
    let flight = archive.head.flight.clone();
    if !archive.head.work {
        let message = format!("{} does not have the work of {flight}", path.display());
        return Err(Failure::usage("no_work", message, "`archive` and `export --with-work` put it in"));
    }
    let broken = |error: io::Error| {
        Failure::environment("export", format!("cannot unpack {}: {error}", path.display()), "look at TMPDIR")
    };
    let dir = temporary::folder()?;
    let (landed, mut files) = (landings(&mut archive).map_err(broken)?, HashMap::new());
    for (number, (digest, _)) in landed.iter().enumerate() {
        files.insert(*digest, dir.path().join(format!("{number}.bundle")));
    }
    let Some((_, head)) = landed.last().cloned() else {
        return Err(Failure::usage("nothing_landed", format!("nothing of the flight {flight} has landed"), ""));
    };
    archive.rewind().map_err(broken)?;
    while let Some((_, line)) = archive.next().map_err(broken)? {
        if let Ok(Line::Blob(part)) = line
            && let Some(file) = files.get(&part.digest)
        {
            append(file, &part).map_err(broken)?;
        }
    }
    let bundles = landed.iter().map(|(digest, _)| files[digest].clone()).collect();
    Ok(Unpacked { branch: flight::branch(&flight), flight, head, bundles, _dir: dir })
}

/// The bundle and the commit of each landing, in order.
fn landings(archive: &mut Archive) -> io::Result<Vec<(Digest, Oid)>> {
    let mut landed = Vec::new();
    while let Some((_, line)) = archive.next()? {
        if let Some(landing) = landing(line) {
            landed.push(landing);
        }
    }
    Ok(landed)
}

fn landing(line: Read) -> Option<(Digest, Oid)> {
    let Ok(Line::Message(message)) = line else { return None };
    let entry = EntryLine::read(&message, true).filter(|_| message.stream == streams::JOURNAL)?;
    let Ok(Entry::Landed(landed)) = entry.entry else { return None };
    Some((landed.bundle.blob.digest, landed.commit))
}

/// The parts of a blob stand one after another.
fn append(file: &Path, part: &BlobPart) -> io::Result<()> {
    if part.offset == 0 {
        return File::create(file)?.write_all(&part.data);
    }
    OpenOptions::new().append(true).open(file)?.write_all(&part.data)
}
