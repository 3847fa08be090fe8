//! The storm: kills every second over many waypoints, of any process; then the journal is read.
//!
//! A command that gives up, because its processes died too often, is called again: that is what its user would do.

#![expect(clippy::print_stdout, reason = "a long run tells how it goes")]

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    time::{Duration, Instant},
};

use holdpoint_sandbox::ProcessId;
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};

use super::{Terms, dice::Dice};
use crate::{
    account::SoakAccount,
    checker,
    world::{Finished, RunningProcess, World},
};

/// The waypoints of the long one.
const WAYPOINTS: u32 = 200;
/// The time between two strikes.
const EVERY: Duration = Duration::from_secs(1);
/// How long a stopped process sleeps: longer than the acknowledgement waits of the storm.
const SLEEP: Duration = Duration::from_secs(3);
const ACK_WAIT: &str = "2s";
/// How often a command that gave up is called again.
const RESUMES_MAX: u32 = 50;
/// Whom a strike can hit, by words in the command line; the broker is none of the command's own processes.
const ROLES: [(&str, &[&str]); 5] = [
    ("orchestrator", &["orchestrator"]),
    ("builder", &["agent", "builder"]),
    ("verifier", &["agent", "verifier"]),
    ("repair", &["agent", "repair"]),
    ("broker", &[]),
];
/// How one is hit.
const STRIKES: [Strike; 3] = [Strike::Kill, Strike::Kill, Strike::Sleep];

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Strike {
    Kill,
    Sleep,
}

/// What a storm was.
#[derive(Debug, Default)]
pub struct Storm {
    /// Who was hit how often, and how.
    strikes: BTreeMap<(&'static str, Strike), u32>,
    /// How often the command was called again.
    resumes: u32,
    /// Entries of the journal.
    entries: usize,
    /// How long it took.
    took: Duration,
}

/// The long storm.
///
/// # Errors
/// What is wrong with its journal or branch, or that it does not come to its end.
pub fn run(terms: &Terms) -> Result<(), String> {
    let storm = storm(WAYPOINTS, terms)?;
    print!("{storm}");
    Ok(())
}

/// A storm over so many waypoints, a third of which take two attempts.
///
/// # Errors
/// What is wrong with its journal or branch, or that it does not come to its end.
pub fn storm(waypoints: u32, terms: &Terms) -> Result<Storm, String> {
    let begun = Instant::now();
    let world = world(waypoints);
    let mut dice = Dice::new(terms.seed);
    let mut storm = Storm::default();
    let finished = fly(&world, &mut dice, &mut storm, begun + terms.time)?;
    storm.took = begun.elapsed();
    let account = SoakAccount::of(&world);
    storm.entries = account.lines.len();
    let mut wrong = checker::findings(&account);
    wrong.extend(branch(&world, &finished, &account, waypoints));
    if wrong.is_empty() { Ok(storm) } else { Err(format!("seed {}: {}\n{finished}", terms.seed, wrong.join("\n"))) }
}

fn world(waypoints: u32) -> World {
    let world = World::new(&[("shared", "base\n")]);
    let mut plan = "plan: storm\nwaypoints:\n".to_owned();
    for n in 1..=waypoints {
        let _ = writeln!(plan, "  - {{id: w{n}, goal: g, criteria: [{{id: c, check: \"grep -q good w{n}\"}}]}}");
    }
    world.plan(&plan);
    // Every third one is wrong at first.
    world.program(
        "builder.sh",
        "n=${HOLDPOINT_WAYPOINT#w}\nif [ $((n % 3)) = 0 ]; then echo bad > w$n; else echo good > w$n; fi",
    );
    world.program("repair.sh", "echo good > $HOLDPOINT_WAYPOINT");
    world
}

fn start(world: &World, args: &[&str]) -> RunningProcess {
    let mut command = world.command(args);
    command.env("HOLDPOINT__AGENT__ACK_WAIT", ACK_WAIT).env("HOLDPOINT__ORCHESTRATOR__HANDOFF_ACK_WAIT", ACK_WAIT);
    // In a storm a turn may kill any number of agents without being to blame.
    command.env("HOLDPOINT__ORCHESTRATOR__DEAD_AFTER", "0");
    world.start_with(command)
}

/// Flies while it storms, and calls a command again that gave up.
fn fly(world: &World, dice: &mut Dice, storm: &mut Storm, until: Instant) -> Result<Finished, String> {
    let (builder, repair) = (world.path("plan/builder.sh"), world.path("plan/repair.sh"));
    let more = ["--builder", builder.to_str().unwrap(), "--repair", repair.to_str().unwrap(), "--builders", "4"];
    let mut running = start(world, &world.run_args(&more));
    loop {
        let finished = endure(world, running, dice, storm, until)?;
        if finished.code == 0 {
            return Ok(finished);
        }
        if finished.code != 3 || storm.resumes >= RESUMES_MAX {
            return Err(format!("the flight did not come to its end\n{finished}"));
        }
        storm.resumes += 1;
        let flight = finished.stderr.lines().find_map(|line| line.strip_prefix("flight ")).map(str::to_owned);
        let flight = flight.or_else(|| resumed(world)).ok_or_else(|| format!("no flight began\n{finished}"))?;
        running = start(world, &["run", "--resume", &flight, "--json"]);
    }
}

/// The flight of this world, as it was noted when it began.
fn resumed(world: &World) -> Option<String> {
    let notes = std::fs::read_dir(world.state_folder()?.join("flights")).ok()?;
    let mut names = notes.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    names.find_map(|name| name.strip_suffix(".json").map(str::to_owned))
}

/// Strikes every second until the command has ended.
fn endure(
    world: &World,
    mut running: RunningProcess,
    dice: &mut Dice,
    storm: &mut Storm,
    until: Instant,
) -> Result<Finished, String> {
    let mut asleep: Vec<(Instant, ProcessId)> = Vec::new();
    let mut next = Instant::now() + EVERY;
    while running.is_running() {
        let now = Instant::now();
        if now > until {
            return Err("the storm did not come to its end in its time".to_owned());
        }
        if now >= next {
            next = now + EVERY;
            strike(world, &running, dice, storm, &mut asleep);
        }
        asleep.retain(|(wake, process)| *wake > now || !signal(*process, Signal::SIGCONT));
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(running.finish())
}

fn strike(
    world: &World,
    running: &RunningProcess,
    dice: &mut Dice,
    storm: &mut Storm,
    asleep: &mut Vec<(Instant, ProcessId)>,
) {
    let (role, words) = dice.one_of(&ROLES);
    let how = dice.one_of(&STRIKES);
    let hit = if words.is_empty() { world.broker() } else { running.child(words) };
    // Nobody there: it is just being started again.
    let Some(process) = hit else { return };
    *storm.strikes.entry((role, how)).or_default() += 1;
    match how {
        Strike::Kill => drop(signal(process, Signal::SIGKILL)),
        Strike::Sleep => {
            signal(process, Signal::SIGSTOP);
            asleep.push((Instant::now() + SLEEP, process));
        }
    }
}

/// Always true: a process that is gone needs no signal.
fn signal(process: ProcessId, signal: Signal) -> bool {
    let _ = kill(Pid::from_raw(process.pid), signal);
    true
}

/// The branch is what the journal says, and all work is on it.
fn branch(world: &World, finished: &Finished, account: &SoakAccount, waypoints: u32) -> Vec<String> {
    let mut wrong = Vec::new();
    let flight = finished.json();
    let name = flight["branch"].as_str().unwrap();
    let range = format!("{}..{name}", flight["base"].as_str().unwrap());
    let commits = world.git(&["rev-list", "--reverse", "--first-parent", &range]);
    let id = flight["flight"].as_str().unwrap().parse().expect("a flight's id");
    let landed: Vec<String> = checker::landed(account, &id).iter().map(ToString::to_string).collect();
    if commits.lines().ne(landed.iter().map(String::as_str)) {
        wrong.push(format!("the branch is not what the journal says: {commits}"));
    }
    let good = world.git(&["grep", "-l", "good", name]).lines().count();
    if good != waypoints as usize || landed.len() != good {
        wrong.push(format!("{good} of {waypoints} waypoints are on the branch, {} landed", landed.len()));
    }
    for n in 1..=waypoints {
        let attempts = finished.waypoint(&format!("w{n}"))["attempts"].as_u64();
        let expected = if n % 3 == 0 { 2 } else { 1 };
        if attempts != Some(expected) {
            wrong.push(format!("w{n} took {attempts:?} attempts and not {expected}: a crash of ours is none"));
        }
    }
    wrong
}

impl std::fmt::Display for Storm {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(f, "| hit | killed | stopped and woken |\n|---|---|---|")?;
        for (role, _) in ROLES {
            let count = |how| self.strikes.get(&(role, how)).copied().unwrap_or(0);
            writeln!(f, "| {role} | {} | {} |", count(Strike::Kill), count(Strike::Sleep))?;
        }
        let Self { resumes, entries, took, .. } = self;
        writeln!(f, "{entries} entries in {} s; the command was called again {resumes} times", took.as_secs())
    }
}
