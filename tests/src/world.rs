//! A world of its own for each test: a repository, a plan folder, a state folder; and `holdpoint` run in it.

mod running;

use std::{
    fs,
    io::{Read as _, Write as _},
    net::{SocketAddr, TcpStream},
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    thread,
    time::{Duration, Instant},
};

use holdpoint_sandbox::ProcessId;
pub use running::{Finished, RunningProcess};
use serde_json::Value;
use tempfile::TempDir;

/// Longer than any flight of these tests takes on a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(480);
/// How the folder of a world begins; the number of the process that made it follows.
const PREFIX: &str = "holdpoint-test-";

/// One test's world. Its folders go with it.
pub struct World {
    dir: TempDir,
}

impl World {
    /// A world whose repository has these files in its first commit.
    pub fn new(files: &[(&str, &str)]) -> Self {
        sweep();
        let prefix = format!("{PREFIX}{}-", std::process::id());
        let world = Self { dir: tempfile::Builder::new().prefix(&prefix).tempdir().unwrap() };
        for folder in ["repo", "plan", "state", "home"] {
            fs::create_dir(world.path(folder)).unwrap();
        }
        for (name, text) in files {
            world.write(&format!("repo/{name}"), text);
        }
        world.git(&["init", "--quiet", "--initial-branch=main"]);
        world.git(&["add", "--all"]);
        world.git(&["commit", "--quiet", "--allow-empty", "--message=begin"]);
        world
    }

    /// A path in the world.
    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Writes a file, with its folders.
    pub fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Writes `plan/plan.yaml`.
    pub fn plan(&self, text: &str) -> &Self {
        self.write("plan/plan.yaml", text);
        self
    }

    /// Writes a shell program into the plan's folder and gives its command line.
    pub fn program(&self, name: &str, script: &str) -> String {
        let path = self.path(&format!("plan/{name}"));
        fs::write(&path, format!("#!/bin/sh\nset -eu\n{script}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path.to_str().unwrap().to_owned()
    }

    /// Runs git in the repository.
    pub fn git(&self, args: &[&str]) -> String {
        let mut git = Command::new("git");
        git.args(["-c", "user.name=Test", "-c", "user.email=test@localhost", "-c", "commit.gpgsign=false"]);
        // What is installed on the machine, such as filters, is none of the test's.
        git.env("GIT_CONFIG_NOSYSTEM", "1");
        let output = git.args(args).current_dir(self.path("repo")).output().unwrap();
        assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    /// A `holdpoint` command in this world.
    pub fn command(&self, args: &[&str]) -> Command {
        self.command_of(&binary(), args)
    }

    /// A command of another build of `holdpoint` in this world.
    pub fn command_of(&self, program: &Path, args: &[&str]) -> Command {
        let mut command = Command::new(program);
        command.args(args).current_dir(self.path("repo")).env("HOLDPOINT_STATE_DIR", self.path("state"));
        command.env_remove("HOLDPOINT_TURN_SOCKET");
        command.env("NO_COLOR", "1").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        if self.path("faults").is_dir() {
            command.env(holdpoint_faults::FOLDER, self.path("faults"));
        }
        command
    }

    /// Runs `holdpoint` to its end.
    pub fn holdpoint(&self, args: &[&str]) -> Finished {
        self.start(args).finish()
    }

    /// The state folder of the repository, once there is one.
    pub fn state_folder(&self) -> Option<PathBuf> {
        state_folder(self.dir.path())
    }

    /// The broker, which outlives the command that started it; `None` when it does not run.
    pub fn broker(&self) -> Option<ProcessId> {
        broker_in(self.dir.path())
    }

    /// Starts `holdpoint`.
    pub fn start(&self, args: &[&str]) -> RunningProcess {
        self.start_with(self.command(args))
    }

    /// Starts a command of this world.
    pub fn start_with(&self, command: Command) -> RunningProcess {
        RunningProcess::of(command)
    }

    /// The arguments of `run --json` on the world's plan and repository.
    pub fn run_args<'a>(&self, more: &[&'a str]) -> Vec<&'a str> {
        let mut args = vec!["run", "../plan/plan.yaml", "--repo", ".", "--json"];
        args.extend(more);
        args
    }

    /// Runs the world's plan with this builder.
    pub fn fly(&self, builder: &str, more: &[&str]) -> Finished {
        let mut args = self.run_args(&["--builder", builder]);
        args.extend(more);
        self.holdpoint(&args)
    }
}

/// Names a folder: there the exports of all flights of every world are kept (CONTRIBUTING.md, "Recorded flights").
const RECORD: &str = "HOLDPOINT_RECORD";

impl World {
    /// Exports the flights of the local fleet that works in a folder of the world.
    fn record(&self, folder: &str, dir: &Path) {
        let run = |args: &[&str]| {
            let mut command = self.command(args);
            command.current_dir(self.path(folder));
            self.start_with(command).finish()
        };
        let flights = run(&["status", "--json"]);
        if flights.code != 0 {
            return;
        }
        for line in flights.json().as_array().into_iter().flatten() {
            let flight = line["flight"].as_str().unwrap();
            let file = dir.join(format!("{flight}.jsonl"));
            run(&["export", flight, "--with-evidence", "--out", file.to_str().unwrap()]);
        }
    }
}

impl Drop for World {
    fn drop(&mut self) {
        if let Some(dir) = std::env::var_os(RECORD)
            && !std::thread::panicking()
        {
            let folders = ["repo", "desk"].into_iter().filter(|folder| self.path(folder).is_dir());
            folders.for_each(|folder| self.record(folder, Path::new(&dir)));
        }
        // What a failed test left; after a good one nobody is there.
        end_all(self.dir.path());
    }
}

/// Ends what runs in worlds whose test was killed, and removes these worlds.
fn sweep() {
    for entry in fs::read_dir(std::env::temp_dir()).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let maker = name.to_str().and_then(|name| name.strip_prefix(PREFIX)?.split('-').next()?.parse().ok());
        if maker.is_some_and(|pid: u32| ProcessId::of(pid).is_none()) {
            end_all(&entry.path());
            // Another test may sweep the same folder at this moment.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// Ends everything that was started with a path in this world, and its broker.
fn end_all(world: &Path) {
    if let Some(broker) = broker_in(world) {
        // It may end by itself at this moment.
        let _ = broker.kill();
    }
    // Processes get the real path.
    let world = world.canonicalize().unwrap_or_else(|_| world.to_owned()).display().to_string();
    for pid in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let number = pid.file_name().to_str().and_then(|name| name.parse().ok());
        // First, so that another process that gets the number meanwhile is not meant.
        let Some(process) = number.and_then(ProcessId::of) else { continue };
        let line = fs::read(pid.path().join("cmdline")).unwrap_or_default();
        if String::from_utf8_lossy(&line).contains(&world) {
            let _ = process.kill();
        }
    }
}

fn state_folder(world: &Path) -> Option<PathBuf> {
    let mut entries = fs::read_dir(world.join("state")).ok()?.flatten();
    entries.find(|entry| entry.path().join("keys").is_dir()).map(|entry| entry.path())
}

fn broker_in(world: &Path) -> Option<ProcessId> {
    let kept: Value = serde_json::from_slice(&fs::read(state_folder(world)?.join("broker.json")).ok()?).ok()?;
    let process = serde_json::from_value::<ProcessId>(kept["process"].clone()).ok().filter(ProcessId::alive)?;
    if kept["ending"] == true {
        eventually("the broker's end", || (!process.alive()).then_some(()));
        return None;
    }
    Some(process)
}

/// Looks until something is there.
#[track_caller]
pub fn eventually<T>(what: &str, look: impl FnMut() -> Option<T>) -> T {
    eventually_every(Duration::from_millis(20), what, look)
}

/// Looks so often until something is there: for looks that cost something themselves.
#[track_caller]
pub fn eventually_every<T>(pause: Duration, what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < deadline, "waited in vain for {what}");
        thread::sleep(pause);
    }
}

/// What a process serves to Prometheus there; `None`: nothing yet.
pub fn scrape(address: SocketAddr) -> Option<String> {
    let mut stream = TcpStream::connect(address).ok()?;
    stream.write_all(b"GET /metrics HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").ok()?;
    let mut text = String::new();
    stream.read_to_string(&mut text).ok()?;
    Some(text)
}

/// The repository's root.
pub fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}

/// Copies a folder with everything in it.
pub fn copy(from: &Path, to: &Path) {
    let output: Output = Command::new("cp").arg("-R").arg(from).arg(to).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// The program under test, built next to this one.
pub fn binary() -> PathBuf {
    let own = std::env::current_exe().unwrap();
    // A test is one folder below the programs, the soak is next to them.
    let folder = own.parent().unwrap();
    let folder = if folder.ends_with("deps") { folder.parent().unwrap() } else { folder };
    let binary = folder.join("holdpoint");
    assert!(binary.exists(), "{} is not built: run `cargo build --workspace --bins`", binary.display());
    binary
}
