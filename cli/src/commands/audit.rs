//! `audit`: is the account of a flight sound?

use std::{
    fs::File,
    io::BufWriter,
    path::{Path, PathBuf},
};

use holdpoint_bus::auth::TrustRoots;
use holdpoint_engine::audit::{AuditCounts, BrokenLink};
use holdpoint_protocol::ids::FlightId;
use holdpoint_text::{shown, units};

use crate::{
    archive::{self, Checked, Wants},
    args::{Place, audit::AuditArgs},
    client::Client,
    failure::{Exit, Failure},
    ground, output,
    people::find,
    target::{Remote, Target},
    temporary,
};

/// Checks a file, or exports flights and checks what came of that.
pub(super) async fn audit(args: AuditArgs) -> Result<Exit, Failure> {
    let Some(what) = &args.what else { return all(&args).await };
    let path = Path::new(what);
    let checked = if path.is_file() {
        let trust = args.trust.as_deref().map(trust).transpose()?;
        let named = trust.is_none();
        let checked = archive::check(path, trust)?;
        if named {
            output::err("note: trusting the keys that the file itself names; --trust FILE names those that count");
        }
        checked
    } else {
        let flight: FlightId = what.parse().map_err(|_| {
            let message = format!("{what} is neither a file nor the id of a flight");
            Failure::usage("not_found", message, "`holdpoint status` lists the flights")
        })?;
        // A person who mistyped a file's name is not helped by hearing of flights only.
        let there = format!("there is no file {flight} either");
        // There is such a flight.
        let is_known = |failure: &Failure| failure.is("archived") || failure.is("no_trust");
        let also = |failure: Failure| if is_known(&failure) { failure } else { failure.also(&there) };
        one(&args, &flight).await.map_err(also)?
    };
    if args.json {
        output::json(&checked);
    } else {
        output::out(&readable(&checked));
    }
    Ok(exit(checked.sound))
}

async fn one(args: &AuditArgs, flight: &FlightId) -> Result<Checked, Failure> {
    let (trust, target) = (trusted(args).await?, Target::existing(&args.place).await?);
    target
        .serve(async |client| {
            let flight = find::known(client, flight).await?.flight;
            exported(client, &flight, trust).await
        })
        .await
}

/// Checks every flight of the fleet. One that cannot be exported is named, and the others are checked.
async fn all(args: &AuditArgs) -> Result<Exit, Failure> {
    let (trust, target) = (trusted(args).await?, Target::existing(&args.place).await?);
    let work = async |client: &Client| {
        let (mut checked, mut failed) = (Vec::new(), 0);
        for line in client.flights().await? {
            match exported(client, &line.flight, trust.clone()).await {
                Ok(one) => {
                    if !args.json {
                        output::out(&readable(&one));
                    }
                    checked.push(one);
                }
                Err(failure) => {
                    output::err(&format!("{} cannot be audited: {}", line.flight, failure.message()));
                    failed += 1;
                }
            }
        }
        Ok((checked, failed))
    };
    let (checked, failed): (Vec<Checked>, u32) = target.serve(work).await?;
    let broken = checked.iter().filter(|one| !one.sound).count();
    if args.json {
        output::json(&checked);
    } else {
        output::out(&format!(
            "{} audited, {broken} broken; {failed} could not be audited",
            units::counted(checked.len(), "flight")
        ));
    }
    Ok(exit(broken == 0 && failed == 0))
}

fn exit(sound: bool) -> Exit {
    if sound { Exit::Success } else { Exit::Incomplete }
}

/// The keys that count: those that are named, or the caller's own.
async fn trusted(args: &AuditArgs) -> Result<Option<TrustRoots>, Failure> {
    match &args.trust {
        Some(path) => Ok(Some(trust(path)?)),
        None => own_trust(&args.place).await,
    }
}

async fn exported(client: &Client, flight: &FlightId, trust: Option<TrustRoots>) -> Result<Checked, Failure> {
    let no_room = |error: std::io::Error| {
        let message = format!("no room for the export: {error}");
        Failure::environment("export", message, "set TMPDIR to another folder")
    };
    let dir = temporary::folder()?;
    let path = dir.path().join("export.jsonl");
    let file = File::create(&path).map_err(no_room)?;
    archive::write(client, flight, Wants { evidence: true, work: false }, &mut BufWriter::new(&file)).await?;
    archive::check(&path, trust)
}

/// The keys that count for the caller: those of the local fleet, or those that the configuration names.
pub(super) async fn own_trust(place: &Place) -> Result<Option<TrustRoots>, Failure> {
    let path: Option<PathBuf> = match Remote::named(place)? {
        Some(remote) => remote.trust().cloned(),
        // Nothing was flown here yet: the caller has no fleet.
        None => Some(ground::state(&ground::find(&place.repo).await?).await?.path("keys/trust.json"))
            .filter(|path| path.is_file()),
    };
    path.map(|path| trust(&path)).transpose()
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
    let AuditCounts { entries, handoffs, answered, decisions, landings, evidence, cited_elsewhere } = audit.counts;
    let bytes = if checked.evidence_bytes { "with their bytes" } else { "by their digests only" };
    let elsewhere = match cited_elsewhere {
        0 => String::new(),
        runs => format!(", runs known from reports of other flights, which cannot be looked at here {runs}"),
    };
    let looked = format!(
        "entries {entries}, handoffs {handoffs} (answered {answered}), decisions taken again {decisions}, landings {landings}, \
         pieces of evidence {evidence} {bytes}{elsewhere}"
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
    let unsigned = audit.findings.iter().filter(|finding| finding.link == BrokenLink::Signature).count() as u64;
    if entries > 0 && unsigned == entries {
        text.push_str("  not one signature fits: are these keys (--trust) those of the flight's fleet?\n");
    }
    let more = audit.findings.len() - 1;
    if more > 0 {
        text.push_str(&format!("  and {more} more (--json shows all)\n"));
    }
    text.push_str(&format!("  looked at {looked}"));
    text
}
