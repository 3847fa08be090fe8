//! The benchmarks at full size, in a release build: the protocol, up to 100,000 open waypoints, git work,
//! verdicts.
//!
//! They need a quiet machine: a target that is not met is a finding, and other work on the machine makes findings.

#![expect(clippy::print_stdout, reason = "its table is what a long run is for")]

use std::{
    env,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use super::Terms;

/// Each benchmark at full size.
const BENCHMARKS: [&[&str]; 5] = [
    &["handoff", "--waypoints", "10000"],
    &["scale", "--open", "1000,10000,100000"],
    &["workspace"],
    &["verdict"],
    &["flights", "--flights", "10000", "--rounds", "10"],
];
/// How a table says that a target was missed.
const MISSED: &str = "NOT MET";
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// Runs every benchmark and prints its table.
///
/// # Errors
/// One could not be built or run, did not end in time, or missed a target.
pub fn run(terms: &Terms) -> Result<(), String> {
    let holdpoint = build()?;
    let deadline = Instant::now() + terms.time;
    let mut missed = Vec::new();
    for args in BENCHMARKS {
        println!("\nholdpoint bench {}\n", args.join(" "));
        let table = bench(&holdpoint, args, deadline)?;
        print!("{table}");
        if table.contains(MISSED) {
            missed.push(args[0]);
        }
    }
    if missed.is_empty() { Ok(()) } else { Err(format!("targets were missed by {}", missed.join(", "))) }
}

fn build() -> Result<PathBuf, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().ok_or("this crate is below the root")?;
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let built =
        Command::new(cargo).args(["build", "--release", "--locked", "--bin", "holdpoint"]).current_dir(root).status();
    match built {
        Ok(status) if status.success() => Ok(root.join("target/release/holdpoint")),
        Ok(status) => Err(format!("the release build failed: {status}")),
        Err(error) => Err(format!("cannot run cargo: {error}")),
    }
}

/// The table of one benchmark. One that is not through at the deadline is ended in order, as by Ctrl-C.
fn bench(holdpoint: &Path, args: &[&str], deadline: Instant) -> Result<String, String> {
    let mut command = Command::new(holdpoint);
    command.arg("bench").args(args).stdin(Stdio::null()).stdout(Stdio::piped());
    let mut child = command.spawn().map_err(|error| format!("cannot start {}: {error}", holdpoint.display()))?;
    loop {
        match child.try_wait() {
            Ok(Some(_)) => break,
            Ok(None) if Instant::now() < deadline => thread::sleep(LOOK_EVERY),
            Ok(None) => {
                let pid = i32::try_from(child.id()).map_err(|error| error.to_string())?;
                let pid = nix::unistd::Pid::from_raw(pid);
                nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGINT).map_err(|error| error.to_string())?;
                break;
            }
            Err(error) => return Err(format!("lost a benchmark: {error}")),
        }
    }
    // A table is far smaller than a pipe: nothing was lost, and nobody waited for a reader.
    let output = child.wait_with_output().map_err(|error| format!("lost a benchmark: {error}"))?;
    if !output.status.success() {
        return Err(format!("bench {} ended with {}", args[0], output.status));
    }
    String::from_utf8(output.stdout).map_err(|error| error.to_string())
}
