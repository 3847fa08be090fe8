//! `migrate`: what can be typed.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::Place;

/// Most copies of a message: more than five make writes slower and nothing safer.
const REPLICAS_MAX: i64 = 5;

/// `migrate`
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    holdpoint keys add migrator mover --dir keys --out mover.creds\n  \
    holdpoint migrate save moved --nats nats://127.0.0.1:4222 --creds mover.creds\n  \
    holdpoint migrate load moved --nats nats://one:4222,nats://two:4222,nats://three:4222 --creds mover.creds\n\n\
    Stop orchestrators and agents first, and start them when `load` is done; only the broker runs meanwhile. Keys stay as they \
    are. Every message keeps its place, its time and its headers, and every consumer its position: agents and orchestrators go on \
    where they were. Nothing is deleted on either side. A fleet in containers moves by `sh deploy/migrate.sh`, which calls these.")]
pub(crate) struct MigrateArgs {
    /// The command
    #[command(subcommand)]
    pub(crate) command: MigrateCommand,
}

/// The commands of `migrate`.
#[derive(Debug, Subcommand)]
pub(crate) enum MigrateCommand {
    /// Copy everything that a broker keeps into a folder
    Save(SaveArgs),
    /// Put such a copy into a broker that keeps nothing yet, and compare
    Load(LoadArgs),
}

/// `migrate save`
#[derive(Debug, Args)]
#[command(
    after_help = "In DIR: a snapshot per stream, and `migration.json`, which is written last and has their digests. \
    The files hold all that agents stored: keep them as you keep the broker's disk."
)]
pub(crate) struct SaveArgs {
    /// The folder, which has to be empty or not there
    #[arg(value_name = "DIR")]
    pub(crate) dir: PathBuf,
    /// Which fleet
    #[command(flatten)]
    pub(crate) place: Place,
    /// Print what was copied as one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// `migrate load`
#[derive(Debug, Args)]
#[command(
    after_help = "The files are compared with their digests first, then each stream with what was saved, message by message. \
    A command that was interrupted is called again: streams that are there whole are left as they are. A stream with anything else \
    in it ends the command, and nothing is written over."
)]
pub(crate) struct LoadArgs {
    /// The folder that `migrate save` wrote
    #[arg(value_name = "DIR")]
    pub(crate) dir: PathBuf,
    /// How many servers keep each message [default: 3 in a cluster, else 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=REPLICAS_MAX))]
    pub(crate) replicas: Option<u8>,
    /// Which fleet
    #[command(flatten)]
    pub(crate) place: Place,
    /// Print what was loaded as one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}
