//! The command line: submits plans, shows what becomes of them, and keeps a local fleet running meanwhile.
//!
//! No decision about a flight is made here. Commands ask the orchestrators through the API and show the answer.
//!
//! - `args`: what can be typed; `failure`: what goes wrong and what to do then; `output`: where words go.
//! - `commands`: one module a command.
//! - `state`: the state folder of a repository; `fleet`: broker and processes of a local fleet.
//! - `client`: requests to the API; `target`: which broker they go to; `view`: what a flight looks like.
//! - `agent_check`: trying agents of others.
//! - `console`: the fleet as the pages of the console see it; `bridge`: the same for a folder.
//! - `places`: refusing paths that are not text; `bounded`: reading files that may be of any size; `temporary`: folders that go with
//!   their command; `typed`: commands that are printed.
//! - `archive`: a flight's account as a file, and whether it is sound.
//! - `people`: what waits for people, their keys, and their signed acts; `notify`: notifying them by a command of
//!   theirs.
//! - `issue`: issues as work without a plan file; `draft`: plans that an agent writes; `new_file`: writing files that people name.
//! - `preflight`, `ready`, `branch`, `progress`: what `run` does before, after and during a flight; `base_tree` and `skills`: what its
//!   base has for the work.

mod agent_check;
mod archive;
mod args;
mod base_tree;
mod bounded;
mod branch;
mod bridge;
mod client;
mod commands;
mod console;
mod declared;
mod documents;
mod draft;
mod failure;
mod fleet;
mod flight_id;
mod forge;
mod ground;
mod interrupt;
mod issue;
mod live;
mod new_file;
mod next;
mod notify;
mod observe;
mod output;
mod people;
mod places;
mod preflight;
mod program;
mod progress;
mod project;
mod ready;
mod rehearsal;
mod reload;
mod running_fleet;
mod skills;
mod state;
mod target;
mod temporary;
mod typed;
mod verify;
mod view;
mod workbench;

use std::{
    io::{self, Write as _},
    process::ExitCode,
};

use clap::{CommandFactory as _, FromArgMatches as _};

use failure::{Exit, Failure};
pub use fleet::maybe_keep_broker;
use holdpoint_runtime::process;

/// Reads the arguments, runs the command and gives its exit code. A sandbox shim must have been served before.
#[must_use]
pub fn main() -> ExitCode {
    let json = std::env::args_os().any(|arg| arg == "--json");
    holdpoint_sandbox::sweep();
    if let Err(failure) = places::check() {
        return failure.report(json).into();
    }
    let cli = match parsed() {
        Ok(cli) => cli,
        Err(error) => return usage(&args::unknown::explained(error), json),
    };
    let runtime = match process::runtime() {
        Ok(runtime) => runtime,
        Err(error) => {
            let failure = Failure::environment("runtime", format!("cannot start: {error}"), "close other programs");
            return failure.report(json).into();
        }
    };
    // Boxed: the future of all commands together is large.
    let ended = runtime.block_on(Box::pin(commands::run(cli.command)));
    // Reading standard input or a lock may still block a thread of the runtime; nobody waits for it.
    runtime.shutdown_background();
    match ended {
        Ok(exit) => unless_lost(exit, json),
        Err(failure) => failure.report(json),
    }
    .into()
}

/// What was typed.
fn parsed() -> Result<args::Cli, clap::Error> {
    let commands = args::Cli::command();
    let matches = commands.clone().try_get_matches()?;
    typed::remember(commands, &matches);
    args::Cli::from_arg_matches(&matches)
}

/// This exit, unless something that was printed got lost.
fn unless_lost(exit: Exit, json: bool) -> Exit {
    output::lost().map_or(exit, |error| {
        let message = format!("cannot write standard output: {error}");
        Failure::environment("output", message, "make room, or send it elsewhere").report(json)
    })
}

/// What clap has to say: help and versions are no errors.
fn usage(error: &clap::Error, json: bool) -> ExitCode {
    let printed = error.print();
    if !error.use_stderr() {
        output::noted(printed.and_then(|()| io::stdout().flush()));
        return unless_lost(Exit::Success, json).into();
    }
    if json {
        let words = error.render().to_string();
        let first = words.lines().next().unwrap_or_default().trim_start_matches("error: ").to_owned();
        let hint = "`holdpoint --help` lists the commands, and each has a `--help` of its own";
        Failure::usage("arguments", first, hint).report_json();
    }
    Exit::Usage.into()
}
