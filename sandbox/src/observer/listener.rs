//! The harness's side: hears of the runs that observers watch while a command runs in the sandbox.
//!
//! Anything in the sandbox can connect. So one run is heard at a time, in the order in which they begin; what connects
//! meanwhile is refused and counted. Bytes, lines and connections are bounded.

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

use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::{UnixListener, UnixStream},
    time::timeout,
};

use super::{CHILD, OURS, PROGRAM, REFUSED, SEEN, SOCKET, WELCOME};
use crate::{Command, Ended, Sandbox};

/// Runs that are heard of one command.
const RUNS_MAX: usize = 64;
/// Refused connections that are noted.
const REFUSED_MAX: usize = 64;
/// Bytes that one run may say: those of 300,000 tests with long names. What goes over is heard to no end.
const RUN_BYTES_MAX: u64 = 64 << 20;
/// How long a name may take to come, and what was said last to be read once the command has ended.
const MOMENT: Duration = Duration::from_secs(10);
/// Only this user may reach the socket at all.
const PRIVATE: u32 = 0o700;

/// A folder with the observer's program and a socket, for one command.
#[derive(Debug)]
pub struct Listener {
    dir: PathBuf,
    executable: PathBuf,
    socket: UnixListener,
}

/// What was heard of one run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Told {
    /// What the starter calls the watched program. Empty, with nothing else, where the connection was refused.
    pub name: String,
    /// What the program said, message by message.
    pub said: Vec<String>,
    /// How it ended, if the observer came to say so.
    pub ended: Option<Ended>,
}

impl Listener {
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
        Ok(Self { dir: dir.to_owned(), executable, socket: UnixListener::bind(short)? })
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
    pub async fn during<T>(self, run: impl Future<Output = T>) -> (T, Vec<Told>) {
        tokio::pin!(run);
        let mut told = Vec::new();
        let mut heard = None;
        let result = loop {
            tokio::select! {
                // What has ended is noted before the next one is let in.
                biased;
                one = next(&mut heard) => {
                    told.push(one);
                    heard = None;
                }
                result = &mut run => break result,
                connected = self.socket.accept() => {
                    let Ok((stream, _)) = connected else { continue };
                    if heard.is_none() && told.len() < RUNS_MAX {
                        heard = Some(Box::pin(hear(stream)));
                        continue;
                    }
                    refuse(&stream);
                    if told.len() < RUNS_MAX + REFUSED_MAX {
                        told.push(Told::default());
                    }
                }
            }
        };
        if heard.is_some() {
            let last = timeout(MOMENT, next(&mut heard)).await;
            // A run that never said how it ended is none that may be forgotten.
            told.push(last.unwrap_or_else(|_| Told { name: PROGRAM.to_owned(), ..Told::default() }));
        }
        (result, told)
    }
}

/// The run that is heard, at its end; never, where there is none.
async fn next<F: Future<Output = Told> + Unpin>(heard: &mut Option<F>) -> Told {
    match heard {
        Some(heard) => heard.await,
        None => std::future::pending().await,
    }
}

/// Says no without waiting. Who does not even take that in sees the end of the connection.
fn refuse(stream: &UnixStream) {
    let _ = stream.try_write(&[REFUSED]);
}

/// One run, to the end of its connection or of its room.
async fn hear(mut stream: UnixStream) -> Told {
    let (reader, mut writer) = stream.split();
    let mut lines = BufReader::new(reader.take(RUN_BYTES_MAX)).lines();
    let mut told = Told::default();
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
