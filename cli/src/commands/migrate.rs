//! `migrate`: a fleet's streams from one broker to another, by way of a folder.

mod folder;

use std::time::Duration;

use folder::{Folder, Saved, Snapshot};
use holdpoint_bus::migrator::{MigrateError, Migrator, StreamContent, StreamShape};
use holdpoint_protocol::Digest;
use holdpoint_text::units;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::{
    args::{
        Place,
        migrate::{LoadArgs, MigrateArgs, MigrateCommand, SaveArgs},
    },
    failure::{Exit, Failure},
    output,
    target::{Holds, Remote},
};

/// How long a cluster may take to choose its leader.
const PATIENCE: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(500);

/// Runs one of the commands.
pub(super) async fn migrate(args: MigrateArgs) -> Result<Exit, Failure> {
    match args.command {
        MigrateCommand::Save(args) => save(&args).await,
        MigrateCommand::Load(args) => load(&args).await,
    }
}

async fn save(args: &SaveArgs) -> Result<Exit, Failure> {
    let (own, streams) = stopped_fleet(&args.place).await?;
    let folder = Folder::begin(&args.dir)?;
    if streams.is_empty() {
        let hint = "check --nats and --creds: the broker of a fleet has its streams from its first start";
        return Err(Failure::usage("nothing_there", "the broker keeps nothing", hint));
    }
    let mut snapshots = Vec::new();
    for name in streams {
        let content = own.content(&name).await?;
        let (file_bytes, file_digest, shape) = copied(&own, &folder, &name).await?;
        say(args.json, &name, &content, &units::roughly(file_bytes));
        snapshots.push(Snapshot { name, file_bytes, file_digest, shape, content });
    }
    for Snapshot { name, content, .. } in &snapshots {
        if own.standing(name).await? != (content.messages, content.last) {
            let message = format!("the stream {name} changed while it was copied");
            let hint = "stop every orchestrator and agent, empty the folder, and call the command again";
            return Err(Failure::environment("fleet_runs", message, hint));
        }
    }
    let saved = folder.conclude(own.account(), snapshots)?;
    conclude(args.json, &saved, &format!("all of it is in {}", args.dir.display()));
    Ok(Exit::Success)
}

/// Copies a stream into the folder. A cluster that was just started has no leader for some of its consumers yet, and cuts the snapshot off
/// in the midst: then from the beginning.
async fn copied(own: &Migrator, folder: &Folder, name: &str) -> Result<(u64, Digest, StreamShape), Failure> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let (mut file, path) = folder.create(name).await?;
        match own.snapshot(name, &mut file).await {
            Ok(shape) => {
                let (bytes, digest) = folder.finish(name, file, &path).await?;
                return Ok((bytes, digest, shape));
            }
            Err(MigrateError::CutOff { why, .. }) if Instant::now() < deadline => {
                output::err(&format!("{name}: copied again, as the broker did not end it: {why}"));
                folder.discard(&path).await?;
                tokio::time::sleep(PAUSE).await;
            }
            Err(error) => return Err(error.into()),
        }
    }
}

async fn load(args: &LoadArgs) -> Result<Exit, Failure> {
    let (folder, saved) = Folder::open(&args.dir)?;
    let (own, there) = stopped_fleet(&args.place).await?;
    if own.account() != saved.account {
        let message = "this is another fleet's broker: its account is not the one of the copy";
        let hint = "the broker and --creds have to be of the keys that the fleet had when it was saved";
        return Err(Failure::usage("other_fleet", message, hint));
    }
    let replicas = replicas(args, &own)?;
    let whole = already_whole(&own, &saved, &there).await?;
    for snapshot in &saved.streams {
        let Snapshot { name, shape, content, .. } = snapshot;
        if whole.contains(&name) {
            say(args.json, name, content, "there already");
            continue;
        }
        own.restore(name, shape, replicas, &mut folder.read(name).await?).await?;
        if own.content(name).await? != *content {
            let message = format!("the stream {name} is not what was saved");
            let hint = "do not start the fleet on it: empty the broker's store and call the command again";
            return Err(Failure::environment("migration", message, hint));
        }
        say(args.json, name, content, &format!("{replicas} copies"));
    }
    conclude(args.json, &saved, "every message is as it was saved. Start orchestrators and agents now");
    Ok(Exit::Success)
}

/// How many servers keep each message: as many as are wanted, where the broker is a cluster.
fn replicas(args: &LoadArgs, own: &Migrator) -> Result<usize, Failure> {
    let wanted = args.replicas.map_or_else(|| own.replicas(), usize::from);
    if wanted > 1 && own.replicas() == 1 {
        let message = format!("--replicas {wanted} wants a cluster, and this broker is a single server");
        let hint = "load with --replicas 1, or start the broker as a cluster of at least so many servers first";
        return Err(Failure::usage("not_clustered", message, hint));
    }
    Ok(wanted)
}

/// The streams of a broker that nobody works on.
async fn stopped_fleet(place: &Place) -> Result<(Migrator, Vec<String>), Failure> {
    let Some(remote) = Remote::named(place)? else {
        let message = "a local fleet has one broker, which its commands start";
        return Err(Failure::usage("arguments", message, "name the fleet's broker with --nats URL"));
    };
    let client = remote.connect_as(Holds::Migrator).await?;
    let own = Migrator::open(client.bus())?;
    let deadline = Instant::now() + PATIENCE;
    let streams = loop {
        match own.streams().await {
            // A cluster that starts has no leader for some seconds.
            Err(MigrateError::List(_)) if Instant::now() < deadline => tokio::time::sleep(PAUSE).await,
            listed => break listed?,
        }
    };
    if own.is_orchestrated().await? {
        let hint = "stop every orchestrator and agent of the fleet; only its broker runs meanwhile";
        return Err(Failure::usage("fleet_runs", "an orchestrator of this fleet still runs", hint));
    }
    Ok((own, streams))
}

/// The streams that an earlier command loaded whole. Anything else that is there ends this one.
async fn already_whole<'a>(own: &Migrator, saved: &'a Saved, there: &[String]) -> Result<Vec<&'a String>, Failure> {
    let mut whole = Vec::new();
    for name in there {
        let known = saved.streams.iter().find(|snapshot| snapshot.name == *name);
        match known {
            Some(snapshot) if own.content(name).await? == snapshot.content => whole.push(&snapshot.name),
            _ => {
                let message = format!("the broker keeps a stream {name} already, with other messages than the copy");
                let hint = "load into a broker with an empty store, before any orchestrator was started on it";
                return Err(Failure::usage("not_empty", message, hint));
            }
        }
    }
    Ok(whole)
}

/// With `--json` standard output is for the object.
fn say(json: bool, name: &str, content: &StreamContent, more: &str) {
    let line = format!("{name:<24} {:>9} messages, {more}", content.messages);
    if json { output::err(&line) } else { output::out(&line) }
}

fn conclude(json: bool, saved: &Saved, done: &str) {
    if json {
        let streams: Vec<Value> = saved
            .streams
            .iter()
            .map(|Snapshot { name, file_bytes, content, .. }| {
                json!({"name": name, "file_bytes": file_bytes, "content": content})
            })
            .collect();
        output::json(&json!({"account": saved.account, "streams": streams}));
    } else {
        output::out(&format!("{} streams: {done}", saved.streams.len()));
    }
}
