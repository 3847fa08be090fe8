//! A world of its own for each test: a repository, a plan folder, a state folder; and `holdpoint` run in it.

use std::{
    fmt, fs,
    io::Read as _,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    sync::{Arc, Mutex},
    thread,
    time::{Duration, Instant},
};

use holdpoint_sandbox::ProcessId;
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use serde_json::Value;
use tempfile::TempDir;

/// Longer than any flight of these tests takes on a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(240);
/// How the folder of a world begins; the number of the process that made it follows.
const PREFIX: &str = "holdpoint-test-";

/// One test's world. Its folders go with it.
pub struct World {
    dir: TempDir,
}

/// What a finished `holdpoint` left.
pub struct Finished {
    /// Its exit code; -1 after a signal.
    pub code: i32,
    /// All of its standard output.
    pub stdout: String,
    /// All of its standard error.
    pub stderr: String,
}

/// A running `holdpoint`.
pub struct Running {
    child: Child,
    stdout: Said,
    stderr: Said,
}

/// What a process has said so far; a thread reads it.
#[derive(Clone, Default)]
struct Said {
    bytes: Arc<Mutex<Vec<u8>>>,
    /// Held by the reader until its end.
    reader: Arc<Mutex<()>>,
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
        let output = git.args(args).current_dir(self.path("repo")).output().unwrap();
        assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    /// A `holdpoint` command in this world.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(binary());
        command.args(args).current_dir(self.path("repo")).env("HOLDPOINT_STATE_DIR", self.path("state"));
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
    pub fn start(&self, args: &[&str]) -> Running {
        self.start_with(self.command(args))
    }

    /// Starts a command of this world.
    pub fn start_with(&self, mut command: Command) -> Running {
        let mut child = command.spawn().unwrap();
        let stdout = Said::by(child.stdout.take().unwrap());
        let stderr = Said::by(child.stderr.take().unwrap());
        Running { child, stdout, stderr }
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

impl Drop for World {
    fn drop(&mut self) {
        // What a failed test left; after a good one nobody is there.
        end_broker(self.dir.path());
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

/// Ends everything that was started with a path in this world: commands, their processes, brokers.
fn end_all(world: &Path) {
    let world = world.display().to_string();
    for pid in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let line = fs::read(pid.path().join("cmdline")).unwrap_or_default();
        let number = pid.file_name().to_str().and_then(|name| name.parse().ok());
        if let Some(process) =
            number.filter(|_| String::from_utf8_lossy(&line).contains(&world)).and_then(ProcessId::of)
        {
            // It may end by itself at this moment.
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
    serde_json::from_value::<ProcessId>(kept["process"].clone()).ok().filter(ProcessId::alive)
}

fn end_broker(world: &Path) {
    if let Some(broker) = broker_in(world) {
        // Fails only when it is somebody else's.
        let _ = broker.kill();
    }
}

impl fmt::Display for Finished {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { code, stdout, stderr } = self;
        write!(f, "exit {code}\nstdout: {stdout}\nstderr: {stderr}")
    }
}

impl Finished {
    /// The object on standard output.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| {
            panic!("{error}\nexit {}\nstdout: {}\nstderr: {}", self.code, self.stdout, self.stderr)
        })
    }

    /// Asserts the exit code, showing everything if it is another.
    #[track_caller]
    pub fn expect(&self, code: i32) -> &Self {
        assert_eq!(self.code, code, "stdout: {}\nstderr: {}", self.stdout, self.stderr);
        self
    }

    /// A waypoint of the flight on standard output.
    #[track_caller]
    pub fn waypoint(&self, id: &str) -> Value {
        let json = self.json();
        let found = json["waypoints"].as_array().unwrap().iter().find(|w| w["id"] == id);
        found.unwrap_or_else(|| panic!("no waypoint {id} in {json}")).clone()
    }
}

impl Running {
    /// Waits for its end; kills it if that does not come.
    pub fn finish(self) -> Finished {
        self.finish_by(Instant::now() + PATIENCE).unwrap_or_else(|killed| killed)
    }

    /// Waits for its end until then.
    ///
    /// # Errors
    /// It had to be killed.
    pub fn finish_by(mut self, deadline: Instant) -> Result<Finished, Finished> {
        let mut killed = false;
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            if Instant::now() > deadline {
                killed = true;
                self.signal(Signal::SIGKILL);
            }
            thread::sleep(Duration::from_millis(20));
        };
        let (stdout, stderr) = (self.stdout.whole(), self.stderr.whole());
        let finished = Finished { code: status.code().unwrap_or(-1), stdout, stderr };
        if killed { Err(finished) } else { Ok(finished) }
    }

    /// What it has said on standard error so far.
    pub fn said(&self) -> String {
        self.stderr.so_far()
    }

    /// Looks until something is there, which has to be before the end of this command.
    #[track_caller]
    pub fn until<T>(&mut self, what: &str, mut look: impl FnMut() -> Option<T>) -> T {
        eventually(what, || {
            let ended = !self.is_running();
            let found = look();
            assert!(!ended || found.is_some(), "ended before {what}: {}\n{}", self.stdout.whole(), self.stderr.whole());
            found
        })
    }

    /// Looks until it has said this on standard error.
    #[track_caller]
    pub fn until_said(&mut self, text: &str) {
        let stderr = self.stderr.clone();
        self.until(text, || stderr.so_far().contains(text).then_some(()));
    }

    /// Whether it has not ended yet.
    pub fn is_running(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// Its process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// One of its own processes whose command line contains all these words, if there is one.
    pub fn child(&self, words: &[&str]) -> Option<ProcessId> {
        child_with(self.child.id(), words).and_then(ProcessId::of)
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.child.id().cast_signed()), signal).unwrap();
    }

    /// Kills (SIGKILL) one of its own processes whose command line contains all these words.
    pub fn kill_child(&self, words: &[&str]) {
        let pid = eventually("the process to kill", || child_with(self.child.id(), words));
        kill(Pid::from_raw(pid.cast_signed()), Signal::SIGKILL).unwrap();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // A failed test leaves no flight behind; its own processes end with it.
        if let Ok(None) = self.child.try_wait() {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

/// Looks until something is there.
#[track_caller]
pub fn eventually<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < deadline, "waited in vain for {what}");
        thread::sleep(Duration::from_millis(20));
    }
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

/// The program under test, built beside this one.
pub fn binary() -> PathBuf {
    let own = std::env::current_exe().unwrap();
    // A test is one folder below the programs, the soak is beside them.
    let folder = own.parent().unwrap();
    let folder = if folder.ends_with("deps") { folder.parent().unwrap() } else { folder };
    let binary = folder.join("holdpoint");
    assert!(binary.exists(), "{} is not built: run `cargo build --workspace --bins`", binary.display());
    binary
}

impl Said {
    fn by(mut from: impl std::io::Read + Send + 'static) -> Self {
        let said = Self::default();
        let (bytes, reader) = (said.bytes.clone(), said.reader.clone());
        let (began, begun) = std::sync::mpsc::channel();
        thread::spawn(move || {
            let _reading = reader.lock().unwrap();
            began.send(()).unwrap();
            let mut buffer = [0; 4096];
            while let Ok(len @ 1..) = from.read(&mut buffer) {
                bytes.lock().unwrap().extend_from_slice(&buffer[..len]);
            }
        });
        begun.recv().unwrap();
        said
    }

    fn so_far(&self) -> String {
        String::from_utf8_lossy(&self.bytes.lock().unwrap()).into_owned()
    }

    /// Waits for the end.
    fn whole(&self) -> String {
        drop(self.reader.lock().unwrap());
        self.so_far()
    }
}

fn child_with(parent: u32, words: &[&str]) -> Option<u32> {
    let children = children(parent)?;
    children.split_whitespace().filter_map(|pid| pid.parse::<u32>().ok()).find(|pid| {
        let mut line = String::new();
        let read = fs::File::open(format!("/proc/{pid}/cmdline")).and_then(|mut f| f.read_to_string(&mut line));
        let line = line.replace('\0', " ");
        read.is_ok() && words.iter().all(|word| line.contains(word))
    })
}

/// The children of every thread: a runtime spawns from any of them.
fn children(parent: u32) -> Option<String> {
    let mut all = String::new();
    for task in fs::read_dir(format!("/proc/{parent}/task")).ok()? {
        all.push_str(&fs::read_to_string(task.ok()?.path().join("children")).unwrap_or_default());
        all.push(' ');
    }
    Some(all)
}
