//! `cargo xtask`: the project's own chores, the same on every machine and in CI.
//!
//! It gets what is missing, runs the checks, and runs the example flights. It holds no product code, depends on no
//! crate of the product, and leaves nothing outside `target/` but a demo's state, in a temporary folder.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command line tool talks to a person")]

mod check;
mod corpus;
mod demo;
mod dist;
mod files;
mod images;
mod layout;
mod process;
mod screenshots;
mod soak;
mod tools;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::images::Build;
use crate::layout::Layout;

/// Chores of the Holdpoint workspace.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Find or get what builds and tests need: git, a nats-server of an accepted version, a Python with NATS, go
    ///
    /// The server is taken from HOLDPOINT_NATS_SERVER (a path), else from PATH, else from target/tools, else it is
    /// downloaded with pip into target/tools, as are go and what the Python agents in examples/ use. A second run downloads
    /// nothing.
    Tools,
    /// Run every check of the project: format, lints, build, documentation, tests
    ///
    /// Stops at the first failure. CI runs exactly this.
    Test {
        /// Leave out the tests that run whole flights in separate processes
        #[arg(long)]
        fast: bool,
    },
    /// Build the images of the fleet, with the program built on this machine
    ///
    /// Where the images below them cannot be pulled, they are made: the base with debootstrap (as root), the broker from
    /// the nats-server of `tools`. Without a Jaeger image, `.env` lets compose start a sink of ours in its place.
    Images {
        /// From a debug build, tagged `debug`: what the tests use
        #[arg(long)]
        debug: bool,
    },
    /// Make what installs Holdpoint without a compiler: a wheel, an archive and a Debian package
    ///
    /// They are put into target/dist. The wheel depends on a nats-server of the Python package index. Zig, from there too, links the
    /// program for glibc 2.17; where it cannot be had, the program needs the glibc of this machine. docs/install.md says how each
    /// is installed.
    Dist {
        /// From the debug build that is there, into target/dist-debug: what the tests use
        #[arg(long)]
        debug: bool,
    },
    /// Run the example flights on a broker and a fleet of their own, with live progress
    ///
    /// Works on copies below target/demo; each run makes new ones. Ends with where to look, and with exit code 1 if a
    /// flight was not accepted.
    Demo,
    /// Take the pictures of the console that the documentation shows, of a flight that is flown for them
    Screenshots,
    /// Fly the corpora of cheats and of honest work at both levels of evidence, and count what became of them
    ///
    /// Ends with a table of what was refused, held for a person, accepted with a warning and accepted silently, by kind.
    Corpus,
    /// Run the long tests: all of them, or the named parts
    ///
    /// Not part of `test`. Each part is bounded in time and ends with a table; `soak -- --help` lists them.
    Soak {
        /// Passed on: parts, `--seed N`, `--minutes N`
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match run(&arguments.command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("\nxtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(command: &Command) -> anyhow::Result<()> {
    let layout = Layout::find()?;
    match command {
        Command::Tools => tools::prepare_for_tests(&layout).map(drop),
        Command::Test { fast } => check::run(&layout, *fast),
        Command::Images { debug } => images::run(&layout, build(*debug)),
        Command::Dist { debug } => dist::run(&layout, build(*debug)),
        Command::Demo => demo::run(&layout),
        Command::Screenshots => screenshots::run(&layout),
        Command::Corpus => corpus::run(&layout),
        Command::Soak { arguments } => soak::run(&layout, arguments),
    }
}

fn build(debug: bool) -> Build {
    if debug { Build::Debug } else { Build::Release }
}
