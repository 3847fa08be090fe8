//! A world of its own for each test: a repository, a plan folder, a state folder; and `holdpoint` run in it.

use std::{
    fs,
    io::Read as _,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    thread,
    time::{Duration, Instant},
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use serde_json::Value;
use tempfile::TempDir;

/// Longer than any flight of these tests takes on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(240);

/// One test's world. Its folders go with it.
pub(crate) struct World {
    dir: TempDir,
}

/// What a finished `holdpoint` left.
pub(crate) struct Finished {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// A running `holdpoint`.
pub(crate) struct Running {
    child: Child,
    /// Its standard output, read to the end by a thread.
    stdout: Option<thread::JoinHandle<String>>,
    stderr: Option<thread::JoinHandle<String>>,
}

impl World {
    /// A world whose repository has these files in its first commit.
    pub(crate) fn new(files: &[(&str, &str)]) -> Self {
        let world = Self { dir: tempfile::Builder::new().prefix("holdpoint-test-").tempdir().unwrap() };
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
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Writes a file, with its folders.
    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Writes `plan/plan.yaml`.
    pub(crate) fn plan(&self, text: &str) -> &Self {
        self.write("plan/plan.yaml", text);
        self
    }

    /// Writes a shell program into the plan's folder and gives its command line.
    pub(crate) fn program(&self, name: &str, script: &str) -> String {
        let path = self.path(&format!("plan/{name}"));
        fs::write(&path, format!("#!/bin/sh\nset -eu\n{script}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path.to_str().unwrap().to_owned()
    }

    /// Runs git in the repository.
    pub(crate) fn git(&self, args: &[&str]) -> String {
        let mut git = Command::new("git");
        git.args(["-c", "user.name=Test", "-c", "user.email=test@localhost", "-c", "commit.gpgsign=false"]);
        let output = git.args(args).current_dir(self.path("repo")).output().unwrap();
        assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    /// A `holdpoint` command in this world.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(binary());
        command.args(args).current_dir(self.path("repo")).env("HOLDPOINT_STATE_DIR", self.path("state"));
        command.env("NO_COLOR", "1").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Runs `holdpoint` to its end.
    pub(crate) fn holdpoint(&self, args: &[&str]) -> Finished {
        self.start(args).finish()
    }

    /// Starts `holdpoint`.
    pub(crate) fn start(&self, args: &[&str]) -> Running {
        let mut child = self.command(args).spawn().unwrap();
        let stdout = child.stdout.take().map(drain);
        let stderr = child.stderr.take().map(drain);
        Running { child, stdout, stderr }
    }

    /// The arguments of `run --json` on the world's plan and repository.
    pub(crate) fn run_args<'a>(&self, more: &[&'a str]) -> Vec<&'a str> {
        let mut args = vec!["run", "../plan/plan.yaml", "--repo", ".", "--json"];
        args.extend(more);
        args
    }

    /// Runs the world's plan with this builder.
    pub(crate) fn fly(&self, builder: &str, more: &[&str]) -> Finished {
        let mut args = self.run_args(&["--builder", builder]);
        args.extend(more);
        self.holdpoint(&args)
    }
}

impl Finished {
    /// The object on standard output.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| {
            panic!("{error}\nexit {}\nstdout: {}\nstderr: {}", self.code, self.stdout, self.stderr)
        })
    }

    /// Asserts the exit code, showing everything if it is another.
    #[track_caller]
    pub(crate) fn expect(&self, code: i32) -> &Self {
        assert_eq!(self.code, code, "stdout: {}\nstderr: {}", self.stdout, self.stderr);
        self
    }

    /// A waypoint of the flight on standard output.
    #[track_caller]
    pub(crate) fn waypoint(&self, id: &str) -> Value {
        let json = self.json();
        let found = json["waypoints"].as_array().unwrap().iter().find(|w| w["id"] == id);
        found.unwrap_or_else(|| panic!("no waypoint {id} in {json}")).clone()
    }
}

impl Running {
    /// Waits for its end.
    pub(crate) fn finish(mut self) -> Finished {
        let deadline = Instant::now() + PATIENCE;
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            if Instant::now() > deadline {
                self.signal(Signal::SIGKILL);
            }
            thread::sleep(Duration::from_millis(20));
        };
        let text = |reader: Option<thread::JoinHandle<String>>| reader.unwrap().join().unwrap();
        let (stdout, stderr) = (text(self.stdout.take()), text(self.stderr.take()));
        Finished { code: status.code().unwrap_or(-1), stdout, stderr }
    }

    /// Sends it a signal.
    pub(crate) fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.child.id().cast_signed()), signal).unwrap();
    }

    /// Kills (SIGKILL) one of its own processes whose command line contains all these words.
    pub(crate) fn kill_child(&self, words: &[&str]) {
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
pub(crate) fn eventually<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
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
pub(crate) fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}

/// Copies a folder with everything in it.
pub(crate) fn copy(from: &Path, to: &Path) {
    let output: Output = Command::new("cp").arg("-R").arg(from).arg(to).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// The program under test, built beside this one.
pub(crate) fn binary() -> PathBuf {
    let own = std::env::current_exe().unwrap();
    let binary = own.parent().and_then(Path::parent).unwrap().join("holdpoint");
    assert!(binary.exists(), "{} is not built: run `cargo build --workspace --bins`", binary.display());
    binary
}

fn drain(mut from: impl std::io::Read + Send + 'static) -> thread::JoinHandle<String> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = from.read_to_end(&mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    })
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
