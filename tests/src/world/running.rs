//! A `holdpoint` that runs, or ran: what it says, and its processes.

use std::{
    fmt, fs,
    io::{Read as _, Write as _},
    process::{Child, Command},
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

use super::{PATIENCE, eventually};

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
pub struct RunningProcess {
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

impl RunningProcess {
    /// Starts it; the command has pipes for both outputs.
    pub(super) fn of(mut command: Command) -> Self {
        let mut child = command.spawn().unwrap();
        let stdout = Said::by(child.stdout.take().unwrap());
        let stderr = Said::by(child.stderr.take().unwrap());
        Self { child, stdout, stderr }
    }

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

    /// Writes a line to its standard input, which has to be a pipe.
    pub fn tell(&mut self, line: &str) {
        writeln!(self.child.stdin.as_mut().unwrap(), "{line}").unwrap();
    }

    /// Closes its standard input.
    pub fn close_input(&mut self) {
        drop(self.child.stdin.take());
    }

    /// What it has said on standard error so far.
    pub fn said(&self) -> String {
        self.stderr.so_far()
    }

    /// What it has printed on standard output so far.
    pub fn printed(&self) -> String {
        self.stdout.so_far()
    }

    /// Looks until something is there, which has to be before the end of this command.
    #[track_caller]
    pub fn until<T>(&mut self, what: &str, mut look: impl FnMut() -> Option<T>) -> T {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let ended = !self.is_running();
            if let Some(found) = look() {
                return found;
            }
            assert!(!ended, "ended before {what}: {}\n{}", self.stdout.whole(), self.stderr.whole());
            assert!(Instant::now() < deadline, "waited in vain for {what}, with this said so far:\n{}", self.said());
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// Looks until it has said this on standard error.
    #[track_caller]
    pub fn until_said(&mut self, text: &str) {
        self.until_said_one_of(&[text]);
    }

    /// Looks until it has said one of these on standard error.
    #[track_caller]
    pub fn until_said_one_of(&mut self, texts: &[&str]) {
        let stderr = self.stderr.clone();
        let said = || {
            let said = stderr.so_far();
            texts.iter().any(|text| said.contains(text)).then_some(())
        };
        self.until(&texts.join(" or "), said);
    }

    /// Looks until it has said this so many times on standard error.
    #[track_caller]
    pub fn until_said_times(&mut self, text: &str, times: usize) {
        let stderr = self.stderr.clone();
        self.until(&format!("{times} times {text}"), || (stderr.so_far().matches(text).count() >= times).then_some(()));
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

impl Drop for RunningProcess {
    fn drop(&mut self) {
        // A failed test leaves no flight behind; its own processes end with it.
        if let Ok(None) = self.child.try_wait() {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
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
