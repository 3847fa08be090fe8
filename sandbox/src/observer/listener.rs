//! The harness's side: hears of the runs that observers watch while a command runs in the sandbox.
//!
//! Anything in the sandbox can connect. So one run is heard at a time, in the order in which they begin, or as many as the
//! runner has processes for its tests; what connects beyond that is refused and counted. Bytes, lines and connections are
//! bounded.

use std::{
    fs::{DirBuilder, File},
    io,
    os::{
        fd::AsRawFd,
        unix::fs::{DirBuilderExt, symlink},
    },
    path::{Path, PathBuf},
    time::Duration,
};

use futures::{StreamExt as _, stream::FuturesUnordered};
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::{UnixListener, UnixStream},
    time::{timeout, timeout_at},
};

use super::{CHILD, OURS, PROGRAM, REFUSED, SEEN, SOCKET, WELCOME};
use crate::{Command, Ended, Sandbox};

/// Runs that are heard of one command, where one is heard at a time (programs of a large workspace) and where many are.
const RUNS_MAX: usize = 4_096;
const RUNS_AT_ONCE_MAX: usize = 100_000;
/// Refused connections that are noted.
const REFUSED_MAX: usize = 64;
/// Bytes that one run may say: those of 300,000 tests with long names. A run that goes over is not heard to its end.
/// Runs that are heard at once have equal parts of it.
const RUN_BYTES_MAX: u64 = 64 << 20;
/// Bytes of what is kept of all runs, after which no further one is heard.
const KEPT_BYTES_MAX: usize = 256 << 20;
/// How long a name may take to come, and what was said last to be read once the command has ended.
const MOMENT: Duration = Duration::from_secs(10);
/// Only this user may reach the socket at all.
const PRIVATE: u32 = 0o700;

/// A folder with the observer's program and a socket, for one command.
#[derive(Debug)]
pub struct ObserverListener {
    dir: PathBuf,
    executable: PathBuf,
    socket: UnixListener,
    at_once: usize,
}

/// What was heard of one run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ObserverReport {
    /// What the starter calls the watched program. Empty, with nothing else, where the connection was refused.
    pub name: String,
    /// What the program said, message by message.
    pub said: Vec<String>,
    /// How it ended, if the observer came to say so.
    pub ended: Option<Ended>,
}

impl ObserverListener {
    /// Listens in the folder `dir`, which is made. The program of the observer is the shim of `sandbox`, which calls
    /// [`maybe_run`](super::maybe_run) in its `main`.
    ///
    /// # Errors
    /// The file system refuses, or the sandbox's executable is gone.
    pub fn open(dir: &Path, sandbox: &Sandbox) -> io::Result<Self> {
        let executable = sandbox.executable()?;
        DirBuilder::new().recursive(true).mode(PRIVATE).create(dir)?;
        symlink(&executable, dir.join(PROGRAM))?;
        // By way of the folder: the whole path may be longer than the system takes.
        let folder = File::open(dir)?;
        let short = Path::new("/proc/self/fd").join(folder.as_raw_fd().to_string()).join(SOCKET);
        Ok(Self { dir: dir.to_owned(), executable, socket: UnixListener::bind(short)?, at_once: 1 })
    }

    /// Hears as many runs at once, at least one, for a runner that gives each test a process.
    #[must_use]
    pub fn at_once(self, runs: usize) -> Self {
        Self { at_once: runs.max(1), ..self }
    }

    /// The observer's program, and the socket that is its first argument.
    #[must_use]
    pub fn starts_with(&self) -> [PathBuf; 2] {
        [self.dir.join(PROGRAM), self.dir.join(SOCKET)]
    }

    /// Opens the way to the observer and to the socket to a command.
    pub fn grant(&self, command: &mut Command) {
        command.profile.read.extend([self.dir.clone(), self.executable.clone()]);
    }

    /// Hears what observers say while a command runs.
    pub async fn during<T>(self, run: impl Future<Output = T>) -> (T, Vec<ObserverReport>) {
        tokio::pin!(run);
        let (mut told, mut kept) = (Vec::new(), 0);
        let mut heard = FuturesUnordered::new();
        let room = RUN_BYTES_MAX / self.at_once as u64;
        let runs_max = if self.at_once > 1 { RUNS_AT_ONCE_MAX } else { RUNS_MAX };
        let result = loop {
            tokio::select! {
                // An ended run is noted before the next one is let in.
                biased;
                Some(one) = heard.next() => {
                    kept += bytes_of(&one);
                    told.push(one);
                }
                result = &mut run => break result,
                connected = self.socket.accept() => {
                    let Ok((stream, _)) = connected else { continue };
                    if heard.len() < self.at_once && told.len() + heard.len() < runs_max && kept < KEPT_BYTES_MAX {
                        heard.push(hear(stream, room));
                        continue;
                    }
                    refuse(&stream);
                    if told.len() < runs_max + REFUSED_MAX {
                        told.push(ObserverReport::default());
                    }
                }
            }
        };
        let last = tokio::time::Instant::now() + MOMENT;
        while !heard.is_empty() {
            let Ok(Some(one)) = timeout_at(last, heard.next()).await else { break };
            told.push(one);
        }
        // A run that never said how it ended is none that may be forgotten.
        told.extend((0..heard.len()).map(|_| ObserverReport { name: PROGRAM.to_owned(), ..ObserverReport::default() }));
        (result, told)
    }
}

/// What keeping a run takes, about.
fn bytes_of(told: &ObserverReport) -> usize {
    told.said.iter().map(|said| said.len() + size_of::<String>()).sum()
}

/// Says no without waiting. Who does not even take that in sees the end of the connection.
fn refuse(stream: &UnixStream) {
    let _ = stream.try_write(&[REFUSED]);
}

/// One run, to the end of its connection or of its room in bytes.
async fn hear(mut stream: UnixStream, room: u64) -> ObserverReport {
    let (reader, mut writer) = stream.split();
    let mut lines = BufReader::new(reader.take(room)).lines();
    let mut told = ObserverReport::default();
    let Ok(Ok(Some(name))) = timeout(MOMENT, lines.next_line()).await else { return told };
    told.name = name;
    if writer.write_all(&[WELCOME]).await.is_err() {
        return told;
    }
    while let Ok(Some(line)) = lines.next_line().await {
        if let Some(said) = line.strip_prefix(CHILD) {
            told.said.push(said.to_owned());
        } else if let Some(end) = line.strip_prefix(OURS) {
            told.ended = ending(end);
            // It ends without this as well.
            let _ = writer.write_all(&[SEEN]).await;
            break;
        }
    }
    told
}

fn ending(text: &str) -> Option<Ended> {
    let (how, number) = text.split_once(' ')?;
    let number = number.parse().ok()?;
    match how {
        "exit" => Some(Ended::Exited(number)),
        "signal" => Some(Ended::Signalled(number)),
        _ => None,
    }
}
