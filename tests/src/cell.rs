//! One cell of the failure matrix: a small flight in which one process is stopped at one step, and then one of four
//! things happens. The outcome has to be that of a flight in which nothing happened.
//!
//! - `flights`: what is flown, and what it comes to; `person`: what people do meanwhile.

mod flights;
mod person;

use std::{
    collections::BTreeMap,
    fmt, fs,
    process::Command,
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

use holdpoint_faults::{FaultOrder, ORDER, PASSED, STOPPED, Step, When};
use holdpoint_protocol::Digest;
use holdpoint_sandbox::ProcessId;
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};

pub use flights::Flight;

use crate::{
    account::SoakAccount,
    checker,
    world::{Finished, RunningProcess, World},
};

/// How long a silent process keeps its turn or handoff in these worlds.
const ACK_WAIT: &str = "2s";
/// How long a stopped process sleeps: two acknowledgement waits and a half, so that others have what it had.
const SLEEP: Duration = Duration::from_secs(5);
/// How long a flight may take before it is stuck.
const STUCK: Duration = Duration::from_secs(200);
/// How long it may take until a step is passed.
const REACHED: Duration = Duration::from_secs(90);
const POLL: Duration = Duration::from_millis(5);

/// What happens while a process is stopped at a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Victim {
    /// The process itself is killed.
    Itself,
    /// It sleeps until others have moved on, then wakes.
    Asleep,
    /// The broker is killed; the process goes on at once.
    Broker,
    /// Another process is killed; this one goes on at once.
    Bystander,
}

impl Victim {
    /// All of them, in the order of the matrix.
    pub const ALL: [Self; 4] = [Self::Itself, Self::Asleep, Self::Broker, Self::Bystander];

    /// Its column in the matrix.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Itself => "killed",
            Self::Asleep => "stopped, woken",
            Self::Broker => "broker killed",
            Self::Bystander => "other killed",
        }
    }
}

/// One cell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cell {
    /// What is flown.
    pub flight: Flight,
    /// Who is stopped, and where.
    pub order: FaultOrder,
    /// What happens then.
    pub victim: Victim,
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{} / {}", self.flight.prefix(), self.order, self.victim.name())
    }
}

/// Every process of every role, before and after every step of each flight, with every victim.
#[must_use]
pub fn all() -> Vec<Cell> {
    let mut cells = Vec::new();
    for flight in Flight::ALL {
        for (step, role) in flight.steps() {
            for when in When::BOTH {
                for victim in Victim::ALL {
                    let order = FaultOrder { role: role.to_owned(), step, when, nth: 1 };
                    cells.push(Cell { flight, order, victim });
                }
            }
        }
    }
    cells
}

/// The world of a cell, with the commands that agents run in it.
pub struct CellWorld {
    /// The world.
    pub world: World,
    flight: Flight,
    /// The options that name its agents' programs.
    agents: Vec<String>,
}

impl CellWorld {
    /// A world for this flight, in which this order holds, or none.
    #[must_use]
    pub fn new(flight: Flight, order: Option<&FaultOrder>) -> Self {
        let world = World::new(&[("shared", "base\n"), ("project.yaml", flight.project())]);
        world.plan(flight.plan());
        fs::create_dir(world.path("faults")).unwrap();
        world.write(&format!("faults/{PASSED}"), "");
        if let Some(order) = order {
            world.write(&format!("faults/{ORDER}"), &order.to_string());
        }
        let builder = world.program("builder.sh", flight.builder());
        let repair = world.program("repair.sh", flights::REPAIR);
        let mut agents = ["--builder", &builder, "--repair", &repair].map(str::to_owned).to_vec();
        if let Some(analyst) = flight.analyst() {
            agents.extend(["--agent".to_owned(), format!("analyst={}", world.program("analyst.sh", analyst))]);
        }
        Self { world, flight, agents }
    }

    /// Starts the flight.
    #[must_use]
    pub fn fly(&self, builders: &str) -> RunningProcess {
        let mut more: Vec<&str> = self.agents.iter().map(String::as_str).collect();
        more.extend(["--builders", builders]);
        self.start(&self.world.run_args(&more))
    }

    /// Flies to the end, while people do their part.
    ///
    /// # Errors
    /// They could not.
    pub fn fly_to_the_end(&self) -> Result<Finished, String> {
        self.attended(|| Ok(self.fly(self.flight.builders()).finish()))
    }

    /// Does `work`, a flight, while people do their part of it.
    fn attended(&self, work: impl FnOnce() -> Result<Finished, String>) -> Result<Finished, String> {
        if self.flight.acts().is_empty() {
            return work();
        }
        let over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let people = scope.spawn(|| person::act(self, &over));
            let done = work();
            over.store(true, Ordering::Relaxed);
            let acted = people.join().unwrap_or_else(|_| Err("people panicked".to_owned()));
            match (done, acted) {
                (Ok(done), Ok(())) => Ok(done),
                (Err(error), Ok(())) => Err(error),
                (Ok(done), Err(error)) => Err(format!("{error}\n{}", told(self, &done))),
                (Err(one), Err(other)) => Err(format!("{other}\n{one}")),
            }
        })
    }

    fn start(&self, args: &[&str]) -> RunningProcess {
        self.world.start_with(self.command(args))
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = self.world.command(args);
        command.env("HOLDPOINT__AGENT__ACK_WAIT", ACK_WAIT);
        command.env("HOLDPOINT__ORCHESTRATOR__HANDOFF_ACK_WAIT", ACK_WAIT);
        command
    }

    /// How often each role passed each side of each step.
    #[must_use]
    pub fn passed(&self) -> BTreeMap<(String, Step, When), u32> {
        let text = fs::read_to_string(self.world.path(&format!("faults/{PASSED}"))).unwrap_or_default();
        let mut counts = BTreeMap::new();
        for line in text.lines() {
            let mut words = line.split(' ');
            let (Some(process), Some(when), Some(step)) = (words.next(), words.next(), words.next()) else { continue };
            let role = process.split('-').next().unwrap_or_default().to_owned();
            let when = if when == When::Before.name() { When::Before } else { When::After };
            let step = Step::named(step).unwrap_or_else(|| panic!("a step is called {step:?}"));
            *counts.entry((role, step, when)).or_default() += 1;
        }
        counts
    }

    /// Waits until a process is stopped at the step of the order, and gives it; `None` when the flight ended before.
    fn stopped(&self, running: &mut RunningProcess) -> Option<ProcessId> {
        let deadline = Instant::now() + REACHED;
        while Instant::now() < deadline {
            let text = fs::read_to_string(self.world.path(&format!("faults/{STOPPED}"))).unwrap_or_default();
            if let Some(pid) = text.parse().ok().filter(|pid| stands(*pid)) {
                return ProcessId::of(pid);
            }
            if !running.is_running() {
                return None;
            }
            std::thread::sleep(POLL);
        }
        None
    }
}

/// Whether the kernel says that a process is stopped.
fn stands(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('T'))
}

fn signal(process: ProcessId, signal: Signal) {
    // It may have been ended by its own supervisor meanwhile.
    let _ = kill(Pid::from_raw(process.pid), signal);
}

/// Flies a cell.
///
/// # Errors
/// What is wrong with how it went, and everything that was said.
pub fn fly(cell: &Cell) -> Result<Duration, String> {
    let begun = Instant::now();
    let place = CellWorld::new(cell.flight, Some(&cell.order));
    let finished = place.attended(|| flown(&place, cell))?;
    let problems = problems(&place, &finished);
    if problems.is_empty() {
        return Ok(begun.elapsed());
    }
    Err(format!("{}\n{}", problems.join("\n"), told(&place, &finished)))
}

/// The flight of a cell, with what happens in it.
fn flown(place: &CellWorld, cell: &Cell) -> Result<Finished, String> {
    // Four builders have two verifiers, of which one can sleep.
    let builders =
        if cell.victim == Victim::Asleep && cell.order.role == "verifier" { "4" } else { place.flight.builders() };
    let mut running = place.fly(builders);
    let Some(process) = place.stopped(&mut running) else {
        let finished = running.finish();
        return Err(format!("nobody was stopped at this step\n{}", told(place, &finished)));
    };
    let struck = strike(place, cell, &mut running, process);
    // A sleeping process does not see that its command has ended.
    signal(process, Signal::SIGCONT);
    struck?;
    finish(place, cell, running)
}

/// Does to the victim what the cell says.
fn strike(place: &CellWorld, cell: &Cell, running: &mut RunningProcess, process: ProcessId) -> Result<(), String> {
    match cell.victim {
        Victim::Itself => signal(process, Signal::SIGKILL),
        Victim::Asleep => {
            sleep(place, cell, running)?;
            signal(process, Signal::SIGCONT);
        }
        Victim::Broker => {
            let broker = place.world.broker().ok_or("there is no broker to kill")?;
            signal(broker, Signal::SIGKILL);
            signal(process, Signal::SIGCONT);
        }
        Victim::Bystander => {
            let words: &[&str] =
                if cell.order.role == "orchestrator" { &["agent", "verifier"] } else { &["orchestrator"] };
            if let Some(bystander) = running.child(words) {
                signal(bystander, Signal::SIGKILL);
            }
            signal(process, Signal::SIGCONT);
        }
    }
    Ok(())
}

/// Others go on while it sleeps. An orchestrator's place is taken by that of another command, which flies the flight to
/// its end; the sleeper wakes in a flight that is over.
fn sleep(place: &CellWorld, cell: &Cell, running: &mut RunningProcess) -> Result<(), String> {
    // These are passed before there is a flight that another one could fly.
    let first = matches!((cell.order.step, cell.order.when), (Step::Fetch, _) | (Step::AppendSubmitted, When::Before));
    if cell.order.role == "orchestrator"
        && !first
        && let Some(flight) = begun(place)
    {
        return watch(place, &flight);
    }
    let until = Instant::now() + SLEEP;
    while Instant::now() < until && running.is_running() {
        std::thread::sleep(POLL);
    }
    Ok(())
}

/// Follows the flight with another command. Half of its questions go to the sleeper, who does not answer: then it is
/// called again, as its user would.
fn watch(place: &CellWorld, flight: &str) -> Result<(), String> {
    let until = Instant::now() + STUCK;
    loop {
        let watcher = place.start(&["watch", flight, "--json"]).finish_by(until);
        let watcher = watcher.map_err(|said| format!("another orchestrator did not take over\n{said}"))?;
        match watcher.code {
            0 => return Ok(()),
            3 if watcher.stderr.contains("no answer") => {}
            _ => return Err(format!("the other orchestrator: {watcher}")),
        }
    }
}

/// The flight that was begun in this world, as its command noted it.
fn begun(place: &CellWorld) -> Option<String> {
    let flights = fs::read_dir(place.world.state_folder()?.join("flights")).ok()?;
    let names = flights.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    names.filter_map(|name| Some(name.strip_suffix(".json")?.to_owned())).next()
}

/// Waits for the flight's end. A command that was killed is called again, as its user would.
fn finish(place: &CellWorld, cell: &Cell, running: RunningProcess) -> Result<Finished, String> {
    let until = Instant::now() + STUCK;
    let finished = running.finish_by(until).map_err(|said| format!("stuck\n{said}\n{}", logs(place)))?;
    if cell.order.role != "run" || cell.victim != Victim::Itself {
        return Ok(finished);
    }
    let flights = place.start(&["status", "--json"]).finish();
    let known = flights.json().as_array().and_then(|all| Some(all.first()?["flight"].as_str()?.to_owned()));
    let again = match &known {
        Some(flight) => place.start(&["run", "--resume", flight, "--json"]),
        None => place.fly(place.flight.builders()),
    };
    again.finish_by(until).map_err(|said| format!("stuck after it was called again\n{said}\n{}", logs(place)))
}

/// Where the flight differs from one in which nothing happened, and what is wrong with its journal.
#[must_use]
pub fn problems(place: &CellWorld, finished: &Finished) -> Vec<String> {
    if finished.code != 0 {
        return vec![format!("exit code {}", finished.code)];
    }
    let mut wrong = Vec::new();
    let flight = finished.json();
    let branch = flight["branch"].as_str().unwrap_or_default();
    let world = &place.world;
    let files = world.git(&["ls-tree", "-r", "--name-only", branch]);
    let waypoints = place.flight.attempts();
    let texts: Vec<String> =
        waypoints.iter().map(|(name, _)| world.git(&["show", &format!("{branch}:{name}")])).collect();
    if files != place.flight.files() || texts.iter().any(|text| text != "good\n") {
        wrong.push(format!("the branch has {files:?} with {texts:?}"));
    }
    for (id, attempts) in waypoints {
        let found = finished.waypoint(id)["attempts"].as_u64();
        if found != Some(*attempts) {
            wrong.push(format!("{id} took {found:?} attempts and not {attempts}: a crash of ours is none"));
        }
    }
    let account = SoakAccount::of(world);
    wrong.extend(checker::findings(&account));
    let id = flight["flight"].as_str().unwrap_or_default().parse().expect("a flight's id");
    let landed: Vec<String> = checker::landed(&account, &id).iter().map(ToString::to_string).collect();
    let range = format!("{}..{branch}", flight["base"].as_str().unwrap_or_default());
    let commits = world.git(&["rev-list", "--reverse", "--first-parent", &range]);
    if commits.lines().ne(landed.iter().map(String::as_str)) || landed.len() != waypoints.len() {
        wrong.push(format!("the branch has the commits {commits:?}, the journal {landed:?}"));
    }
    let documents = checker::documents(&account, &id);
    let wanted = place.flight.documents().iter().map(|(gate, text)| (*gate, Digest::of(text.as_bytes())));
    if documents.iter().map(|(gate, digest)| (gate.as_str(), *digest)).ne(wanted) {
        wrong.push(format!("the journal has the documents {documents:?}"));
    }
    let acts = checker::acts(&account, &id);
    if acts.iter().map(|(waypoint, verb)| (waypoint.as_str(), *verb)).ne(place.flight.acts().iter().copied()) {
        wrong.push(format!("the journal has the acts {acts:?}, each of which people did once"));
    }
    wrong
}

fn told(place: &CellWorld, finished: &Finished) -> String {
    let Finished { code, stdout, stderr } = finished;
    format!("exit {code}\nstdout: {stdout}\nstderr: {stderr}\n{}", logs(place))
}

/// The logs of every process of the world.
fn logs(place: &CellWorld) -> String {
    let mut text = String::new();
    let runs = place.world.state_folder().and_then(|folder| fs::read_dir(folder.join("logs")).ok());
    for run in runs.into_iter().flatten().flatten() {
        for log in fs::read_dir(run.path()).into_iter().flatten().flatten() {
            let said = fs::read_to_string(log.path()).unwrap_or_default();
            text.push_str(&format!("--- {}\n{said}", log.path().display()));
        }
    }
    text
}
