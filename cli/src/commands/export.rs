//! `export`: everything about a flight in one file.

use std::{
    fs::{self, File},
    io::{self, BufWriter},
    path::Path,
};

use holdpoint_protocol::ids::FlightId;
use holdpoint_text::units::counted;
use serde_json::json;

use crate::{
    archive::{self, NOBODY_READS, Wants, Written},
    args::audit::ExportArgs,
    client::Client,
    documents::{self, Exported, FileState},
    failure::{Exit, Failure},
    output,
    people::find,
    target::Target,
};

/// Writes the file.
pub(super) async fn export(args: ExportArgs) -> Result<Exit, Failure> {
    let target = Target::existing(&args.place).await?;
    if let Some(folder) = &args.folder {
        let written = target.serve(async |client| documents::export(client, &args.flight, folder).await).await?;
        return Ok(say(&written, args.json));
    }
    if args.out.as_ref().is_some_and(|out| out.as_os_str() == "-") {
        let written = target.serve(async |client| {
            let flight = find::flight(client, &args.flight).await?;
            archive::write(client, &flight, wants(&args), &mut output::json_lines()).await
        });
        match written.await {
            // As with every other result: who has seen enough is owed no error.
            Err(failure) if failure.is(NOBODY_READS) => {}
            written => warn(&written?),
        }
        return Ok(Exit::Success);
    }
    let work = async |client: &Client| {
        let flight = find::flight(client, &args.flight).await?;
        let path = args.out.clone().unwrap_or_else(|| format!("{flight}.export.jsonl").into());
        free(&path, args.force)?;
        let written = to_file(client, &args, &flight, &path).await?;
        Ok((flight, path, written))
    };
    let (flight, path, written) = target.serve(work).await?;
    warn(&written);
    if args.json {
        output::json(&json!({
            "flight": flight, "file": path, "messages": written.messages, "blobs": written.blobs,
            "missing": written.missing,
        }));
    } else {
        let evidence = match (args.with_evidence, args.with_work) {
            (false, false) => String::new(),
            (true, false) => format!(" and {} pieces of evidence", written.blobs),
            (false, true) => format!(" and {} pieces of work", written.blobs),
            (true, true) => format!(" and {} pieces of evidence and work", written.blobs),
        };
        output::err(&format!(
            "{} messages{evidence}; check them with: holdpoint audit {}",
            written.messages,
            path.display()
        ));
        output::out(&path.display().to_string());
    }
    Ok(Exit::Success)
}

/// Says what was written as documents.
fn say(written: &Exported, json: bool) -> Exit {
    for left in &written.left_out {
        output::err(&format!("warning: {} has no document: {}", left.reference, left.why));
    }
    for file in written.files.iter().filter(|file| file.state == FileState::Edited) {
        output::err(&format!("{} was edited, and is left alone; move it away to have it written", file.file));
    }
    if json {
        output::json(written);
    } else {
        let count = |state| written.files.iter().filter(|file| file.state == state).count();
        let (new, updated) = (count(FileState::New), count(FileState::Updated));
        let all = counted(written.files.len(), "document");
        output::err(&format!("{all}: {new} new, {updated} changed; `holdpoint artifact REF --markdown` prints one"));
        output::out(&written.folder.display().to_string());
    }
    Exit::Success
}

/// Whether the file may be put there: in the place of another one if that is asked for, and of nothing else.
fn free(path: &Path, force: bool) -> Result<(), Failure> {
    let Ok(there) = fs::symlink_metadata(path) else { return Ok(()) };
    if !there.is_file() {
        let message = format!("{} is there already, and no plain file", path.display());
        return Err(Failure::usage("exists", message, "--out FILE names another place, --out - standard output"));
    }
    if !force {
        let message = format!("{} is there already", path.display());
        return Err(Failure::usage("exists", message, "--force writes over it; --out FILE names another place"));
    }
    Ok(())
}

fn wants(args: &ExportArgs) -> Wants {
    Wants { evidence: args.with_evidence, work: args.with_work }
}

/// Writes next to the place, so that a file with this name is a whole one.
async fn to_file(client: &Client, args: &ExportArgs, flight: &FlightId, path: &Path) -> Result<Written, Failure> {
    let mut part = path.as_os_str().to_owned();
    part.push(".part");
    let part = Path::new(&part);
    let unwritable = |error: io::Error| {
        let message = format!("cannot write {}: {error}", path.display());
        Failure::environment("export", message, "name another place with --out FILE")
    };
    let mut out = BufWriter::new(File::create(part).map_err(unwritable)?);
    let written = archive::write(client, flight, wants(args), &mut out).await;
    let done = written.and_then(|written| fs::rename(part, path).map(|()| written).map_err(unwritable));
    if done.is_err() {
        // The rest of it is of no use; the error that counts is reported.
        let _ = fs::remove_file(part);
    }
    done
}

fn warn(written: &Written) {
    for digest in &written.missing {
        output::err(&format!("warning: the blob {digest} is not stored any more; an audit will name it"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_files_are_written_over_and_those_only_if_that_is_asked_for() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        fs::write(path("file"), "").unwrap();
        std::os::unix::fs::symlink(path("nowhere"), path("link")).unwrap();
        free(&path("new"), false).unwrap();
        free(&path("file"), true).unwrap();
        assert!(free(&path("file"), false).is_err());
        for other in [path("link"), dir.path().to_owned(), "/dev/null".into()] {
            assert!(free(&other, true).is_err(), "{}", other.display());
        }
    }
}
