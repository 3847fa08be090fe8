//! `holdpoint-soak [PART…]`: the long runs. `cargo xtask soak` builds what they need and calls this.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command line tool talks to a person")]

use std::{process::ExitCode, time::Duration};

use clap::Parser;
use holdpoint_tests::soak::{PARTS, SoakPart, Terms};

/// Long runs of whole flights: faults, storms, big repositories.
#[derive(Parser)]
struct Arguments {
    /// Which parts to run; all without one
    #[arg(value_parser = PARTS.iter().map(|part| part.name).collect::<Vec<_>>())]
    parts: Vec<String>,
    /// What random choices are made from; without it a new one, which is printed
    #[arg(long)]
    seed: Option<u64>,
    /// No part begins a new round after this many minutes
    #[arg(long, default_value_t = 20)]
    minutes: u64,
    /// Only the cells of the walk, or the flights of `repositories`, whose name has this in it, as `orchestrator after
    /// append-submitted` or `2 GB`
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
    /// Print the names of the parts that would run, and run none
    #[arg(long, overrides_with = "list")]
    list: bool,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let seed = arguments.seed.unwrap_or_else(|| u64::from(std::process::id()));
    let terms = Terms { seed, time: Duration::from_secs(arguments.minutes * 60), only: arguments.only.clone() };
    let chosen = |part: &&SoakPart| arguments.parts.is_empty() || arguments.parts.iter().any(|name| name == part.name);
    if arguments.list {
        PARTS.iter().filter(chosen).for_each(|part| println!("{}", part.name));
        return ExitCode::SUCCESS;
    }
    let mut failed = false;
    for part in PARTS.iter().filter(chosen) {
        println!("\n== {}: {} (seed {seed})", part.name, part.about);
        if let Err(error) = (part.run)(&terms) {
            eprintln!("{}: {error}", part.name);
            failed = true;
        }
    }
    if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
