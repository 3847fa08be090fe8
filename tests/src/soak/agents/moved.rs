//! A question of a real agent: its machine loses the agent's conversations, and the turn of the answer goes on in the one in which it was
//! asked, because that went along with the question.

use std::{
    fs,
    os::unix::fs::symlink,
    path::Path,
    process::Command,
    time::{Duration, Instant},
};

use super::{Agent, DONE, FLIGHT_MAX, PLAN, RIGHT, model::Model};
use crate::world::{Finished, World};

/// The flight.
pub(super) const FLIGHT: &str = "asks, and goes on on another machine";
/// Asks, and is ended in the middle of it.
const ASK: &str = "run holdpoint-ask question 'Hello or hullo?' --option hello --option hullo --patience 0s; sleep 600";

/// Flies it, and prints its line.
pub(super) fn fly(agent: &Agent, program: &Path) -> Result<(), String> {
    let world = World::new(&[("kept", "kept\n")]);
    world.plan(PLAN);
    fs::create_dir(world.path("bin")).map_err(|error| error.to_string())?;
    symlink(program, world.path("bin").join(agent.preset)).map_err(|error| error.to_string())?;
    let model = Model::start(&[ASK, RIGHT, DONE], &world.path("requests.jsonl"))?;
    let begun = Instant::now();
    let call = |args: &[&str]| {
        let mut command = world.command(args);
        let path = std::env::var("PATH").unwrap_or_default();
        command.env("PATH", format!("{}:{path}", world.path("bin").display())).env("SOAK_MODEL_KEY", "none");
        (agent.configure)(&mut command, &world, model.port());
        finished(&world, command, begun + FLIGHT_MAX)
    };
    let asked = call(&world.run_args(&["--builder", agent.preset, "--pass-env", "SOAK_MODEL_KEY"]))?;
    if asked.code != 1 || asked.json()["status"] != "waiting" {
        return Err(asked.to_string());
    }
    let flight = asked.json()["flight"].as_str().unwrap_or_default().to_owned();
    let lost = lose(&world.state_folder().ok_or("no state folder")?)?;
    if lost == 0 {
        return Err("no conversation was kept on the machine that asked".to_owned());
    }
    let answered = world.holdpoint(&["answer", "w1", "--option", "hello"]);
    if answered.code != 0 {
        return Err(answered.to_string());
    }
    let run = call(&["run", "--resume", &flight, "--json"])?;
    let requests = model.requests()?;
    let came_to = run.json()["status"].as_str().unwrap_or_default().to_owned();
    let attempts = run.waypoint("w1")["attempts"].as_u64().unwrap_or_default();
    let (preset, took) = (agent.preset, begun.elapsed().as_secs_f64());
    println!("  {preset:<16} {FLIGHT:<40} {came_to:<10} {attempts:>8} {:>8} {took:>10.1}", requests.len());
    let messages = |at: usize| requests.get(at).map_or(0, |request| request.messages);
    if run.code != 0 || attempts != 1 {
        return Err(format!("{run}\n{requests:?}"));
    }
    if messages(1) <= messages(0) + 1 {
        return Err(format!("the turn of the answer began a new conversation: {requests:?}"));
    }
    Ok(())
}

fn finished(world: &World, command: Command, deadline: Instant) -> Result<Finished, String> {
    let left = deadline.saturating_duration_since(Instant::now());
    let run = world.start_with(command).finish_by(deadline);
    run.map_err(|_| format!("no end within {:?}", left.max(Duration::from_secs(1))))
}

/// Removes all conversations of agents below a state folder, and says how many flights had some.
fn lose(folder: &Path) -> Result<usize, String> {
    let mut lost = 0;
    for entry in fs::read_dir(folder).map_err(|error| error.to_string())?.flatten() {
        let path = entry.path();
        if !path.is_dir() || path.is_symlink() {
            continue;
        }
        if path.file_name().is_some_and(|name| name == "sessions") {
            fs::remove_dir_all(&path).map_err(|error| error.to_string())?;
            lost += 1;
        } else {
            lost += lose(&path)?;
        }
    }
    Ok(lost)
}
