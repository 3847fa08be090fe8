//! `audit`: is the account of a flight sound?

use std::{
    fs::File,
    io::BufWriter,
    path::{Path, PathBuf},
};

use holdpoint_bus::auth::TrustRoots;
use holdpoint_core::{audit::AuditCounts, shown};
use holdpoint_protocol::ids::FlightId;

use crate::{
    archive::{self, Checked, Wants},
    args::{Place, audit::AuditArgs},
    failure::{Exit, Failure},
    ground, output,
    state::StateDir,
    target::{Remote, Target},
};

/// Checks a file, or exports a flight and checks that.
pub(super) async fn audit(args: AuditArgs) -> Result<Exit, Failure> {
    let path = Path::new(&args.what);
    let checked = if path.is_file() {
        let trust = args.trust.as_deref().map(trust).transpose()?;
        let named = trust.is_none();
        let checked = archive::check(path, trust)?;
        if named {
            output::err("note: trusting the keys that the file itself names; --trust FILE names those that count");
        }
        checked
    } else {
        let flight: FlightId = args.what.parse().map_err(|_| {
            let message = format!("{} is neither a file nor the id of a flight", args.what);
            Failure::usage("not_found", message, "`holdpoint status` lists the flights")
        })?;
        // A person who mistyped a file's name is not helped by hearing of flights only.
        exported(&args, &flight).await.map_err(|failure| failure.also(&format!("there is no file {flight} either")))?
    };
    if args.json {
        output::json(&checked);
    } else {
        output::out(&readable(&checked));
    }
    Ok(if checked.sound { Exit::Success } else { Exit::Incomplete })
}

async fn exported(args: &AuditArgs, flight: &FlightId) -> Result<Checked, Failure> {
    let trust = match &args.trust {
        Some(path) => Some(trust(path)?),
        None => own_trust(&args.place).await?,
    };
    let dir = tempfile::tempdir().map_err(|error| {
        Failure::environment("export", format!("no room for the export: {error}"), "set TMPDIR to another folder")
    })?;
    let path = dir.path().join("export.jsonl");
    let file = File::create(&path);
    let file = file.map_err(|error| Failure::environment("export", format!("no room for the export: {error}"), ""))?;
    let target = Target::existing(&args.place).await?;
    target
        .serve(async |client| {
            archive::write(client, flight, Wants { evidence: true, work: false }, &mut BufWriter::new(&file)).await
        })
        .await?;
    archive::check(&path, trust)
}

/// The keys that count for the caller: those of the local fleet, or those that the configuration names.
pub(super) async fn own_trust(place: &Place) -> Result<Option<TrustRoots>, Failure> {
    let path: Option<PathBuf> = match Remote::named(place)? {
        Some(remote) => remote.trust().cloned(),
        None => Some(StateDir::of(&ground::find(&place.repo).await?)?.path("keys/trust.json")),
    };
    path.filter(|path| path.is_file()).map(|path| trust(&path)).transpose()
}

fn trust(path: &Path) -> Result<TrustRoots, Failure> {
    let read = std::fs::read(path).map_err(|error| error.to_string());
    let roots = read.and_then(|bytes| serde_json::from_slice(&bytes).map_err(|error| error.to_string()));
    roots.map_err(|error| {
        let message = format!("cannot read the trusted keys in {}: {error}", path.display());
        Failure::usage("no_trust", message, "--trust names a trust.json")
    })
}

fn readable(checked: &Checked) -> String {
    let audit = &checked.audit;
    let AuditCounts { entries, handoffs, answered, decisions, landings, evidence } = audit.counts;
    let bytes = if checked.evidence_bytes { "with their bytes" } else { "by their digests only" };
    let looked = format!(
        "{entries} entries, {handoffs} handoffs ({answered} answered), {decisions} decisions taken again, \
         {landings} landings, {evidence} pieces of evidence {bytes}"
    );
    let Some(first) = audit.findings.first() else { return format!("{}: sound\n  {looked}", audit.flight) };
    let waypoint = first.waypoint.as_ref().map(|waypoint| format!(" (waypoint {waypoint})")).unwrap_or_default();
    let mut text = format!(
        "{}: BROKEN at {}{waypoint}\n  link:     {}\n  expected: {}\n  found:    {}\n",
        audit.flight,
        first.at,
        serde_json::to_value(first.link).ok().and_then(|link| link.as_str().map(str::to_owned)).unwrap_or_default(),
        shown::line(&first.expected),
        shown::line(&first.found),
    );
    let more = audit.findings.len() - 1;
    if more > 0 {
        text.push_str(&format!("  and {more} more (--json shows all)\n"));
    }
    text.push_str(&format!("  looked at {looked}"));
    text
}
