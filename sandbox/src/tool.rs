//! Running a trusted tool (git, pip, cargo) to its end, or asking a confined one again and again ([`AnsweringTool`]).
//!
//! A tool gets a cleared environment, a process group of its own, an output cap and a deadline. One that reads what
//! others made gets a [`Confinement`] too. It is *not* sandboxed: programs that are not ours go through the
//! sandbox. Our own long-lived processes are [`service`](crate::service)'s.

mod answering;
mod confined;
mod confinement;
mod error;
mod keeper;
mod pump;
#[cfg(test)]
mod tests;

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{Seek, SeekFrom};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use tokio::io::AsyncWriteExt;
use tokio::process::{Child, ChildStdin};

use crate::lookup;

pub use answering::{AnsweringTool, ToolAnswer};
pub use confinement::{Confinement, Limit};
pub use error::ToolError;

/// Time a tool gets by default: long enough for a big clone, short enough that a hung one is noticed.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(600);
/// Bytes of standard output kept by default. More than that is data that belongs in a file.
const DEFAULT_OUTPUT_CAP: usize = 64 * 1024 * 1024;
/// Bytes of standard error kept: its end, where tools say what went wrong.
const STDERR_KEPT: usize = 64 * 1024;
/// Where programs are looked for when this process has no `PATH` itself.
const DEFAULT_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// A trusted program with a cleared environment, a process group of its own, an output cap and a deadline.
///
/// The environment is `PATH` (this process's), `LANG=C.UTF-8` and what [`Tool::env`] adds; `HOME` is unset unless given.
#[derive(Debug, Clone)]
#[must_use = "a tool does nothing until it is run"]
pub struct Tool {
    program: OsString,
    args: Vec<OsString>,
    dir: Option<PathBuf>,
    env: Vec<(OsString, OsString)>,
    stdin: Input,
    /// The file that standard output is appended to.
    appends_to: Option<PathBuf>,
    timeout: Duration,
    output_cap: usize,
    confinement: Option<Confinement>,
}

/// What a tool reads.
#[derive(Debug, Clone)]
enum Input {
    Nothing,
    Bytes(Vec<u8>),
    /// A file, from this byte on.
    File(PathBuf, u64),
}

/// What a tool left behind when it ended by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolOutput {
    /// Exit code; `None` when a signal ended it.
    pub code: Option<i32>,
    /// All of its standard output.
    pub stdout: Vec<u8>,
    /// The last 64 KiB of its standard error.
    pub stderr: Vec<u8>,
}

impl ToolOutput {
    /// Whether it exited with code 0.
    #[must_use]
    pub fn success(&self) -> bool {
        self.code == Some(0)
    }
}

impl Tool {
    /// A run of `program`, which is looked up in `PATH` unless it has a slash.
    pub fn new(program: impl AsRef<OsStr>) -> Self {
        Self {
            program: program.as_ref().to_owned(),
            args: Vec::new(),
            dir: None,
            env: Vec::new(),
            stdin: Input::Nothing,
            appends_to: None,
            timeout: DEFAULT_TIMEOUT,
            output_cap: DEFAULT_OUTPUT_CAP,
            confinement: None,
        }
    }

    /// Adds one argument.
    pub fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.args.push(arg.as_ref().to_owned());
        self
    }

    /// Adds arguments.
    pub fn args<I, S>(mut self, args: I) -> Self
    where
        I: IntoIterator<Item = S>,
        S: AsRef<OsStr>,
    {
        self.args.extend(args.into_iter().map(|arg| arg.as_ref().to_owned()));
        self
    }

    /// Runs in `dir` instead of this process's directory.
    pub fn dir(mut self, dir: impl AsRef<Path>) -> Self {
        self.dir = Some(dir.as_ref().to_owned());
        self
    }

    /// Sets one variable; the last setting of a name wins.
    pub fn env(mut self, key: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.env.push((key.as_ref().to_owned(), value.as_ref().to_owned()));
        self
    }

    /// Gives these bytes as standard input (default: none).
    pub fn stdin(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.stdin = Input::Bytes(bytes.into());
        self
    }

    /// Gives a file as standard input, from the byte at `from` on. The tool reads it itself, whatever its size, and can see
    /// that it is a file.
    pub fn stdin_file(mut self, path: impl AsRef<Path>, from: u64) -> Self {
        self.stdin = Input::File(path.as_ref().to_owned(), from);
        self
    }

    /// Appends its standard output to a file that is there, whatever its size. The tool writes to it itself, so that a confined
    /// one needs no right to the folder; [`Confinement::file_bytes`] bounds it. [`ToolOutput::stdout`] is empty then.
    pub fn appends_to(mut self, path: impl AsRef<Path>) -> Self {
        self.appends_to = Some(path.as_ref().to_owned());
        self
    }

    /// Kills it after this time (default 10 minutes). A confined tool gets the time twice, because a machine with other
    /// work may leave it too little the first time.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Kills it when it writes more than this many bytes to standard output (default 64 MiB).
    pub fn output_cap(mut self, bytes: usize) -> Self {
        self.output_cap = bytes;
        self
    }

    /// Limits what it may use and reach, for input that is not trusted. It ends when this process does, however that
    /// ends. Of all confined tools of this process only some run at once; waiting does not count as the tool's time.
    pub fn confined(mut self, confinement: Confinement) -> Self {
        self.confinement = Some(confinement);
        self
    }

    /// Runs it to its end. A non-zero exit is a normal result here.
    ///
    /// When the future is dropped, the tool's process group is killed.
    ///
    /// # Errors
    /// The tool is not there, does not start, takes too long, writes too much, or its pipes fail; it cannot be confined, or
    /// went over a limit of its confinement.
    pub async fn run(mut self) -> Result<ToolOutput, ToolError> {
        let _place = if self.confinement.is_some() { confined::place().await } else { None };
        let io = |source| ToolError::Io { program: self.name(), source };
        let (stdin, stdout) = (self.stdin.open().map_err(io)?, self.stdout().map_err(io)?);
        let mut child = self.spawn(stdin, stdout, Stdio::piped()).await?;
        let mut guard = GroupGuard::of(&child);
        let stdin = child.stdin.take();
        let bytes = match std::mem::replace(&mut self.stdin, Input::Nothing) {
            Input::Bytes(bytes) => bytes,
            Input::Nothing | Input::File(..) => Vec::new(),
        };
        let stdout = child.stdout.take();
        let stderr = child.stderr.take();
        let work = async {
            let ((), stdout, stderr) = tokio::try_join!(
                feed(stdin, bytes),
                pump::all(stdout, self.output_cap),
                pump::tail(stderr, STDERR_KEPT)
            )?;
            let status = child.wait().await?;
            Ok::<_, pump::Error>((status, ToolOutput { code: status.code(), stdout, stderr }))
        };
        match tokio::time::timeout(self.wall_time(), work).await {
            Err(_) => Err(self.took_too_long()),
            Ok(Err(pump::Error::OverCap)) => {
                Err(ToolError::OutputLimit { program: self.name(), limit: self.output_cap })
            }
            Ok(Err(pump::Error::Io(source))) => Err(ToolError::Io { program: self.name(), source }),
            Ok(Ok((status, output))) => {
                guard.reaped();
                let limit = self.confinement.as_ref().and_then(|confinement| exceeded(confinement, status));
                match limit {
                    Some(limit) => Err(ToolError::OverLimit { program: self.name(), limit }),
                    None => Ok(output),
                }
            }
        }
    }

    /// Runs it to its end and demands exit code 0.
    ///
    /// # Errors
    /// As [`Tool::run`], and [`ToolError::Failed`] for any other exit.
    pub async fn run_ok(self) -> Result<ToolOutput, ToolError> {
        let (program, args) = (self.name(), error::summary(&self.args));
        let output = self.run().await?;
        if output.success() {
            return Ok(output);
        }
        Err(ToolError::Failed { program, args, code: output.code, stderr: error::last_lines(&output.stderr) })
    }

    fn wall_time(&self) -> Duration {
        if self.confinement.is_some() { self.timeout.saturating_mul(2) } else { self.timeout }
    }

    /// The input of a confined tool is not trusted, so its time is a limit like the others: the same input would take
    /// as long again.
    fn took_too_long(&self) -> ToolError {
        let (program, after) = (self.name(), self.wall_time());
        match &self.confinement {
            Some(_) => ToolError::OverLimit { program, limit: Limit::WallTime(after) },
            None => ToolError::TimedOut { program, after },
        }
    }

    fn stdout(&self) -> std::io::Result<Stdio> {
        match &self.appends_to {
            Some(path) => Ok(File::options().append(true).open(path)?.into()),
            None => Ok(Stdio::piped()),
        }
    }

    async fn spawn(&self, stdin: Stdio, stdout: Stdio, stderr: Stdio) -> Result<Child, ToolError> {
        let path = std::env::var_os("PATH").unwrap_or_else(|| DEFAULT_PATH.into());
        let mut command = tokio::process::Command::new(lookup::to_start(&self.program, &path));
        command.args(&self.args).env_clear().env("PATH", path);
        command.env("LANG", "C.UTF-8").envs(self.env.iter().map(|(key, value)| (key, value)));
        if let Some(dir) = &self.dir {
            command.current_dir(dir);
        }
        command.stdin(stdin).stdout(stdout).stderr(stderr).process_group(0).kill_on_drop(true);
        let spawned = match &self.confinement {
            Some(confinement) => confined::spawn(&self.program, command, confinement).await?,
            None => command.spawn(),
        };
        spawned.map_err(|source| self.spawn_error(source))
    }

    /// "No such file" is said of a missing program and of a missing directory alike; users need to know which.
    fn spawn_error(&self, source: std::io::Error) -> ToolError {
        let dir_there = self.dir.as_ref().is_none_or(|dir| dir.is_dir());
        if source.kind() == std::io::ErrorKind::NotFound && dir_there {
            return ToolError::NotFound { program: self.name() };
        }
        ToolError::Start { program: self.name(), source }
    }

    fn name(&self) -> String {
        self.program.to_string_lossy().into_owned()
    }
}

impl Input {
    fn open(&self) -> std::io::Result<Stdio> {
        match self {
            Self::Nothing => Ok(Stdio::null()),
            Self::Bytes(bytes) if bytes.is_empty() => Ok(Stdio::null()),
            Self::Bytes(_) => Ok(Stdio::piped()),
            Self::File(path, from) => {
                let mut file = File::open(path)?;
                file.seek(SeekFrom::Start(*from))?;
                Ok(file.into())
            }
        }
    }
}

/// Which limit ended it. Lack of memory ends no process: the tool is refused more, and says so itself.
fn exceeded(confinement: &Confinement, status: ExitStatus) -> Option<Limit> {
    match Signal::try_from(status.signal()?).ok()? {
        Signal::SIGXCPU => Some(Limit::ProcessorTime(confinement.cpu_seconds())),
        Signal::SIGXFSZ => Some(Limit::FileSize(confinement.file_bytes)),
        _ => None,
    }
}

/// Writes `bytes` and closes the pipe. A program that does not read its input to the end is no error.
async fn feed(stdin: Option<ChildStdin>, bytes: Vec<u8>) -> Result<(), pump::Error> {
    let Some(mut stdin) = stdin else { return Ok(()) };
    match stdin.write_all(&bytes).await {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        other => Ok(other?),
    }
}

/// Kills a tool's process group when the run is given up, so that its children go too.
#[derive(Debug)]
struct GroupGuard(Option<Pid>);

impl GroupGuard {
    fn of(child: &Child) -> Self {
        Self(child.id().and_then(|id| i32::try_from(id).ok()).map(Pid::from_raw))
    }

    /// The tool ended and was reaped: its number may soon be another process's.
    fn reaped(&mut self) {
        self.0 = None;
    }
}

impl Drop for GroupGuard {
    fn drop(&mut self) {
        if let Some(group) = self.0 {
            // Fails only when the whole group has ended already, which is what is wanted.
            let _ = killpg(group, Signal::SIGKILL);
        }
    }
}
