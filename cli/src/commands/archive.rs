//! `archive`: taking flights that are over off the broker, into files.

use std::{
    collections::{BTreeSet, HashSet},
    path::{Path, PathBuf},
    time::Duration,
};

use holdpoint_bus::{archivist::Archivist, auth::TrustRoots};
use holdpoint_protocol::{
    Digest,
    api::FlightLine,
    codec::{self, Encoding},
    export::HandoffsEnd,
    ids::FlightId,
    journal::Sequence,
    retire::{RetireAnswer, RetireQuery, Retired},
    time::Millis,
    view::{FlightStatus, FlightView},
};
use holdpoint_runtime::clock;
use holdpoint_text::units;
use serde::Serialize;

use super::audit::own_trust;
use crate::{
    archive::{self, Kept, Swept},
    args::archive::ArchiveArgs,
    client::Client,
    failure::{Exit, Failure, chain},
    ground,
    interrupt::Interrupts,
    output,
    people::find,
    state::{FlightRecord, Lock, StateDir},
    target::{Remote, Target},
};

/// The longest grace period: the key of a local fleet's command counts for a day.
const GRACE_MAX: Duration = Duration::from_secs(12 * 60 * 60);
/// The file that a command holds in the folder of the exports.
const LOCK: &str = "archive.lock";
/// How often a command that waits says so.
const SAY_EVERY: Duration = Duration::from_secs(60);

/// Archives, and says what it did.
pub(super) async fn archive(args: ArchiveArgs) -> Result<Exit, Failure> {
    if args.grace.duration() > GRACE_MAX {
        let message = format!("--grace is longer than {}", units::written(Millis::from(GRACE_MAX)));
        return Err(Failure::usage("arguments", message, "leave the blobs for another time with --keep-blobs"));
    }
    let (state, trust) = (local(&args).await?, own_trust(&args.place).await?);
    let dir = match (&args.to, &state) {
        (Some(dir), _) => dir.clone(),
        (None, Some(state)) => state.path(archive::FOLDER),
        (None, None) => {
            let message = "a fleet elsewhere has no folder for archives here";
            return Err(Failure::usage("arguments", message, "name the folder for the exports with --to DIR"));
        }
    };
    let target = Target::for_archivist(&args.place).await?;
    let report = target
        .serve_to_the_end(async |client| Run { args: &args, client, dir: &dir, trust, state }.run().await)
        .await?;
    if args.json {
        output::json(&report);
    }
    Ok(if report.failed.is_empty() { Exit::Success } else { Exit::Incomplete })
}

/// The state folder, for a local fleet.
async fn local(args: &ArchiveArgs) -> Result<Option<StateDir>, Failure> {
    match Remote::named(&args.place)? {
        Some(_) => Ok(None),
        None => Ok(Some(ground::state(&ground::find(&args.place.repo).await?).await?)),
    }
}

/// What was done.
#[derive(Debug, Default, Serialize)]
struct Report {
    archived: Vec<Archived>,
    /// Flights that were asked for by their age and are not over.
    left: Vec<FlightId>,
    /// Flights that could not be archived, with why.
    failed: Vec<Failed>,
    /// With `--dry-run`: what would be archived.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    would_archive: Vec<FlightId>,
    blobs_deleted: usize,
    blobs_spared: usize,
    /// What the broker's streams held before and after, in bytes.
    bytes_before: u64,
    /// Absent with `--dry-run`.
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes_after: Option<u64>,
}

/// One flight that stays.
#[derive(Debug, Serialize)]
struct Failed {
    flight: FlightId,
    message: String,
}

/// One flight that left.
#[derive(Debug, Serialize)]
struct Archived {
    flight: FlightId,
    file: PathBuf,
    file_bytes: u64,
    digest: Digest,
    messages: u64,
    deleted: u64,
}

struct Run<'a> {
    args: &'a ArchiveArgs,
    client: &'a Client,
    dir: &'a Path,
    trust: Option<TrustRoots>,
    state: Option<StateDir>,
}

impl Run<'_> {
    async fn run(self) -> Result<Report, Failure> {
        let _alone = if self.args.dry_run { None } else { Some(self.alone().await?) };
        let own = Archivist::open(self.client.bus()).await?;
        let mut report = Report { bytes_before: own.bytes().await?, ..Report::default() };
        let gone = if self.args.dry_run { BTreeSet::new() } else { self.go_on(&own).await? };
        let (flights, left) = self.wanted(&gone).await?;
        report.left = left;
        if self.args.dry_run {
            flights.iter().for_each(|flight| self.say(&format!("would archive {flight}")));
            report.would_archive = flights;
            return Ok(report);
        }
        let mut named = HashSet::new();
        for flight in flights {
            match self.one(&own, &flight, &mut named).await {
                Ok(archived) => report.archived.extend(archived),
                // The next one would fail as well.
                Err(failure) if failure.exit() == Exit::Environment => return Err(failure),
                Err(failure) => {
                    let message = failure.message();
                    output::err(&format!("{flight} stays: {message}"));
                    report.failed.push(Failed { flight, message });
                }
            }
        }
        if !self.args.keep_blobs {
            let Swept { deleted, spared } = self.sweep(&own, &named).await?;
            (report.blobs_deleted, report.blobs_spared) = (deleted, spared);
        }
        let bytes_after = own.bytes().await?;
        report.bytes_after = Some(bytes_after);
        self.conclude(&report, bytes_after);
        Ok(report)
    }

    /// Holds the folder: another command would write to the same files.
    async fn alone(&self) -> Result<Lock, Failure> {
        let unusable = |error: std::io::Error| {
            let message = format!("cannot use {}: {error}", self.dir.display());
            Failure::environment("archive", message, "name another folder with --to DIR; nothing was deleted")
        };
        std::fs::create_dir_all(self.dir).map_err(unusable)?;
        let lock = self.dir.join(LOCK);
        if let Some(taken) = Lock::try_exclusive(&lock)? {
            return Ok(taken);
        }
        self.say(&format!("another command archives into {}: waiting until it has ended", self.dir.display()));
        Lock::exclusive(&lock).await
    }

    /// The flights to archive besides those that are gone, and those of the age that are not over.
    async fn wanted(&self, gone: &BTreeSet<FlightId>) -> Result<(Vec<FlightId>, Vec<FlightId>), Failure> {
        let Some(age) = self.args.older_than else {
            let named = BTreeSet::from_iter(&self.args.flights);
            let flights: Vec<FlightId> = named.into_iter().filter(|flight| !gone.contains(flight)).cloned().collect();
            let mut here = Vec::new();
            for flight in flights {
                match self.open(&flight).await {
                    Ok((flight, None)) => here.push(flight),
                    Ok((flight, Some(open))) => {
                        let hint = format!("end what is held with `holdpoint cancel {flight}`, then archive it");
                        return Err(Failure::usage("not_over", format!("flight {flight} is not over: {open}"), hint));
                    }
                    // A command that was cut off is called again with all of them.
                    Err(Failure::Other { code: "archived", message, .. }) if self.args.flights.len() > 1 => {
                        self.say(&message);
                    }
                    Err(failure) => return Err(failure),
                }
            }
            return Ok((here, Vec::new()));
        };
        let (mut over, mut left) = (Vec::new(), Vec::new());
        let now = clock::now();
        let old = |line: &FlightLine| now.since(line.submitted_at) >= age.duration();
        for line in self.client.flights().await?.into_iter().filter(old) {
            let is_over = match line.status {
                FlightStatus::Accepted => true,
                FlightStatus::Incomplete => self.open(&line.flight).await?.1.is_none(),
                FlightStatus::Running | FlightStatus::Waiting => false,
            };
            if is_over { &mut over } else { &mut left }.push(line.flight);
        }
        Ok((over, left))
    }

    /// The flight that a name means, and some waypoint of it that can still go on.
    async fn open(&self, named: &FlightId) -> Result<(FlightId, Option<String>), Failure> {
        let FlightView { flight, waypoints, .. } = find::known(self.client, named).await?;
        let open = waypoints.into_iter().find(|waypoint| !waypoint.status.is_over());
        Ok((flight, open.map(|waypoint| format!("{} can still go on", waypoint.id))))
    }

    /// Deletes what an earlier command did not come to; the flights.
    async fn go_on(&self, own: &Archivist) -> Result<BTreeSet<FlightId>, Failure> {
        let unfinished = own.unfinished().await?;
        for flight in &unfinished {
            let Some(stored) = own.retirement(flight).await? else { continue };
            let encoding = Encoding::from_content_type(stored.content_type.as_deref());
            let retired: Result<Retired, _> = encoding.and_then(|encoding| codec::decode(&stored.payload, encoding));
            let retired = retired.map_err(|error| {
                let message = format!("cannot read how {flight} was retired: {}", chain(&error));
                Failure::environment("archive", message, "use the version that archived it, or a later one")
            })?;
            let deleted = self.delete(own, flight, stored.sequence, &retired.handoffs).await?;
            self.say(&format!("{flight} was archived before: {deleted} messages that were left are deleted"));
        }
        Ok(unfinished.into_iter().collect())
    }

    /// Deletes the messages of a flight that is retired, and what is remembered of it here.
    async fn delete(
        &self,
        own: &Archivist,
        flight: &FlightId,
        entry: Sequence,
        handoffs: &[HandoffsEnd],
    ) -> Result<u64, Failure> {
        let deleted = own.delete_flight(flight, entry, handoffs).await?;
        if let Some(state) = &self.state {
            FlightRecord::remove(state, flight)?;
        }
        Ok(deleted)
    }

    /// Archives a flight, unless something happened in it lately.
    async fn one(
        &self,
        own: &Archivist,
        flight: &FlightId,
        named: &mut HashSet<Digest>,
    ) -> Result<Option<Archived>, Failure> {
        let kept = archive::keep(self.client, flight, (self.dir, self.args.evidence), self.trust.clone()).await?;
        if self.args.older_than.is_some_and(|age| clock::now().since(kept.last) < age.duration()) {
            // It is complete and stays on the broker; the copy would only be out of date soon.
            return Ok(None);
        }
        let path = kept.place()?.to_owned();
        let Kept { digest, bytes, messages, .. } = kept;
        let query = RetireQuery { flight: flight.clone(), seal: kept.seal, export: digest };
        let RetireAnswer { entry, handoffs } = self.client.retire(&query).await?;
        let deleted = self.delete(own, flight, entry, &handoffs).await?;
        named.extend(kept.named);
        self.say(&format!("archived {flight}: {messages} messages in {}", path.display()));
        Ok(Some(Archived { flight: flight.clone(), file: path, file_bytes: bytes, digest, messages, deleted }))
    }

    async fn sweep(&self, own: &Archivist, named: &HashSet<Digest>) -> Result<Swept, Failure> {
        let mut interrupts = Interrupts::listen()?;
        let grace = self.args.grace.duration();
        let wait = async |blobs: usize| {
            self.say(&format!(
                "{blobs} blobs are named by no message: they are deleted if nobody uploads or names them for {} \
                 (Ctrl-C leaves them for another time)",
                units::written(Millis::from(grace))
            ));
            tokio::select! {
                () = self.countdown(grace) => Some(()),
                () = interrupts.next() => {
                    self.say("the blobs are left for another time");
                    None
                }
            }
        };
        Ok(archive::sweep(own, named, clock::now(), wait).await?)
    }

    async fn countdown(&self, grace: Duration) {
        let mut rest = grace;
        while rest > SAY_EVERY {
            tokio::time::sleep(SAY_EVERY).await;
            rest -= SAY_EVERY;
            self.say(&format!("{} left", units::written(Millis::from(rest))));
        }
        tokio::time::sleep(rest).await;
    }

    fn conclude(&self, report: &Report, bytes_after: u64) {
        let Report { archived, left, blobs_deleted, blobs_spared, bytes_before, .. } = report;
        if !left.is_empty() {
            let older = units::counted(left.len(), "older flight");
            self.say(&format!("left where they are, not over yet: {older} (`holdpoint status`)"));
        }
        if *blobs_spared > 0 {
            let blobs = units::counted(*blobs_spared, "blob");
            self.say(&format!("uploaded or named meanwhile, and left: {blobs}"));
        }
        self.say(&format!(
            "{} archived, {} deleted: the broker holds {}, {} before. Its disk follows when it has synced",
            units::counted(archived.len(), "flight"),
            units::counted(*blobs_deleted, "blob"),
            units::roughly(bytes_after),
            units::roughly(*bytes_before),
        ));
    }

    /// With `--json` standard output is for the object.
    fn say(&self, line: &str) {
        if self.args.json { output::err(line) } else { output::out(line) }
    }
}
