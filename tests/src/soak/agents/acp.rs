//! An agent made with the Agent Client Protocol's own crate (`tests/acp-agent`) through a flight: it is wrong, then right, in one
//! conversation.

use std::{
    env, fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::Command,
    time::Instant,
};

use super::{FLIGHT_MAX, PLAN};
use crate::world::World;

/// The flight, and its name with the agent's.
pub(super) const FLIGHT: &str = "wrong, then right, in one conversation";
pub(super) const NAME: &str = "acp wrong, then right, in one conversation";
/// What the agent is called.
const PROGRAM: &str = "acp-agent";

/// Flies it. It refuses to go on by itself where a permission, a file or a refusal is not as the protocol has it.
pub(super) fn fly() -> Result<(), String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().ok_or("no workspace around this crate")?;
    let program = build(root)?;
    let world = World::new(&[("kept", "kept\n")]);
    world.plan(PLAN);
    fs::create_dir(world.path("bin")).map_err(|error| error.to_string())?;
    symlink(program, world.path("bin").join(PROGRAM)).map_err(|error| error.to_string())?;
    let args = world.run_args(&["--builder", PROGRAM, "--dialect", "acp", "--pass-env", "ACP_AGENT_STEPS"]);
    let mut command = world.command(&args);
    let path = env::var("PATH").unwrap_or_default();
    command.env("PATH", format!("{}:{path}", world.path("bin").display())).env("ACP_AGENT_STEPS", "hullo hello");
    let begun = Instant::now();
    let run = world.start_with(command).finish_by(begun + FLIGHT_MAX);
    let run = run.map_err(|_| format!("no end after {FLIGHT_MAX:?}"))?;
    let took = begun.elapsed();
    if run.code != 0 {
        return Err(run.to_string());
    }
    let attempts = run.waypoint("w1")["attempts"].as_u64().unwrap_or_default();
    let came_to = run.json()["status"].as_str().unwrap_or_default().to_owned();
    println!("  {:<16} {FLIGHT:<40} {came_to:<10} {attempts:>8} {:>8} {:>10.1}", "acp", "-", took.as_secs_f64());
    // In a new conversation it would begin with its first answer again.
    if attempts == 2 { Ok(()) } else { Err(format!("{attempts} attempts, and not 2:\n{run}")) }
}

/// Builds the agent. Its workspace is its own, and so is its target.
fn build(root: &Path) -> Result<PathBuf, String> {
    let work = root.join("target/acp-agent");
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(["build", "--locked", "--manifest-path"]).arg(root.join("tests/acp-agent/Cargo.toml"));
    let status = command.env("CARGO_TARGET_DIR", &work).status();
    if !status.map_err(|error| format!("cannot run cargo: {error}"))?.success() {
        return Err("the agent of tests/acp-agent cannot be built".to_owned());
    }
    Ok(work.join("debug/holdpoint-acp-agent"))
}
