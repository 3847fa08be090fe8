//! The harness's end of the line: listens where one program can reach it, and hears its valid requests.
//!
//! The other end is not trusted: connections, requests, bytes and time are bounded, and requests over a bound are not
//! heard.

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

use holdpoint_sandbox::{Command, Network, Sandbox, pipe::make};
use tokio::{
    io::{AsyncBufRead, AsyncBufReadExt, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader, Interest},
    net::{
        UnixListener, UnixStream,
        unix::pipe::{self, Receiver, Sender},
    },
    task::JoinSet,
    time::{sleep, timeout},
};

use crate::{acp, over_http};

use super::{
    PATH_VARIABLE, PROGRAM, REPLY_SUFFIX, SOCKET_VARIABLE,
    message::{self, Became, REQUEST_BYTES_MAX, Reply, ValidRequest},
};

/// Requests that are heard in a turn. A program that sends more has something other in mind than asking.
const REQUESTS_MAX: usize = 64;
/// The pause before a request beyond that is refused: a program that does not stop costs next to nothing.
const OVER_PAUSE: Duration = Duration::from_secs(1);
/// Connections at once.
const CONNECTIONS_MAX: usize = 8;
/// How long a request may take to come, and a reply to go.
const REQUEST_TIME: Duration = Duration::from_secs(10);
/// How often it is looked whether an asker still waits.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// Only this user may reach the line at all.
const PRIVATE: u32 = 0o700;
/// The folder with the program, below the line's.
const BIN: &str = "bin";
/// The executable that has all commands: where it is the harness, its program finds it for `holdpoint mcp`.
const HOLDPOINT: &str = "holdpoint";
/// The socket, or the pipe for requests.
const SOCKET: &str = "turn";

/// How a program reaches the line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Access {
    dir: PathBuf,
    executable: PathBuf,
    pipes: Vec<PathBuf>,
}

/// An open line. Nobody listens any more once it is dropped.
#[derive(Debug)]
pub struct AskLine {
    access: Access,
    end: End,
    left: usize,
}

#[derive(Debug)]
enum End {
    Socket { listener: UnixListener, open: JoinSet<Option<LineRequest>> },
    Pipes { requests: BufReader<Receiver>, replies: Option<Sender> },
}

/// What was asked, and the way back to the asker.
#[derive(Debug)]
pub struct LineRequest {
    /// What was asked.
    pub call: ValidRequest,
    reached: Reached,
}

#[derive(Debug)]
struct Reached {
    id: String,
    way: Way,
}

#[derive(Debug)]
enum Way {
    Socket(BufReader<UnixStream>),
    Pipe {
        replies: Sender,
        /// Locked by the asker until it has its reply.
        requests: PathBuf,
    },
}

impl AskLine {
    /// Opens a line in the folder `dir`, which is made, for a program that gets this network in this sandbox.
    ///
    /// # Errors
    /// The file system refuses; or, as `Other`, the sandbox does not work here.
    pub async fn open(dir: &Path, sandbox: &Sandbox, network: Network) -> io::Result<Self> {
        let sockets = sandbox.unix_sockets(network).await.map_err(io::Error::other)?;
        let executable = sandbox.executable()?;
        DirBuilder::new().recursive(true).mode(PRIVATE).create(dir.join(BIN))?;
        for program in [PROGRAM, acp::PROGRAM, over_http::PROGRAM] {
            symlink(&executable, dir.join(BIN).join(program))?;
        }
        if executable.file_name().is_some_and(|name| name == HOLDPOINT) {
            symlink(&executable, dir.join(BIN).join(HOLDPOINT))?;
        }
        let path = dir.join(SOCKET);
        let mut access = Access { dir: dir.to_owned(), executable, pipes: Vec::new() };
        let end = if sockets {
            // By way of the folder: the whole path may be longer than the system takes.
            let folder = File::open(dir)?;
            let short = Path::new("/proc/self/fd").join(folder.as_raw_fd().to_string()).join(SOCKET);
            End::Socket { listener: UnixListener::bind(short)?, open: JoinSet::new() }
        } else {
            let replies = dir.join(format!("{SOCKET}{REPLY_SUFFIX}"));
            make(&path)?;
            make(&replies)?;
            // For both directions, so that neither end has to be there first and none is closed by a program's end.
            let mut both = pipe::OpenOptions::new();
            let both = both.read_write(true);
            let (requests, sender) = (both.open_receiver(&path)?, both.open_sender(&replies)?);
            access.pipes = vec![path, replies];
            End::Pipes { requests: BufReader::new(requests), replies: Some(sender) }
        };
        Ok(Self { access, end, left: REQUESTS_MAX })
    }

    /// How a program reaches it.
    #[must_use]
    pub fn access(&self) -> &Access {
        &self.access
    }

    /// Another request, while one waits for its reply. `None`: over pipes one asks at a time, so the first asker is
    /// gone.
    pub async fn another(&mut self) -> Option<LineRequest> {
        if let End::Pipes { requests, .. } = &mut self.end {
            // It stays where it is, to be heard next. The pipe is never closed.
            let _ = requests.fill_buf().await;
            return None;
        }
        Some(self.asked().await)
    }

    /// Nobody waits for a reply to this request any more: another may come.
    pub fn settled(&mut self, asked: LineRequest) {
        if let (End::Pipes { replies, .. }, Way::Pipe { replies: back, .. }) = (&mut self.end, asked.reached.way) {
            *replies = Some(back);
        }
    }

    /// The next valid request. Others are refused, and their askers hear why. Never, if none comes. Over pipes none
    /// comes before the last one is settled.
    pub async fn asked(&mut self) -> LineRequest {
        match &mut self.end {
            End::Socket { listener, open } => loop {
                let free = open.len() < CONNECTIONS_MAX;
                tokio::select! {
                    Some(heard) = open.join_next() => if let Ok(Some(asked)) = heard {
                        return asked;
                    },
                    connected = listener.accept(), if free => {
                        let hears = self.left > 0;
                        self.left = self.left.saturating_sub(1);
                        if let Ok((stream, _)) = connected {
                            open.spawn(hear_once(stream, hears));
                        }
                    }
                    () = std::future::pending() => {}
                }
            },
            End::Pipes { requests, replies } => {
                while let Some(way) = replies.as_mut() {
                    let Ok(line) = request(requests).await else { break };
                    let hears = self.left > 0;
                    self.left = self.left.saturating_sub(1);
                    let (id, asked) = heard(&line, hears).await;
                    match asked {
                        Ok(call) => {
                            let Some(replies) = replies.take() else { break };
                            let way = Way::Pipe { replies, requests: self.access.dir.join(SOCKET) };
                            return LineRequest { call, reached: Reached { id, way } };
                        }
                        Err(why) => reply(way, id, Became::Refused(why)).await,
                    }
                }
                std::future::pending().await
            }
        }
    }
}

impl LineRequest {
    /// Answers the asker with what became of its request.
    pub async fn became(&mut self, became: Became) {
        let id = self.reached.id.clone();
        match &mut self.reached.way {
            Way::Socket(stream) => reply(stream, id, became).await,
            Way::Pipe { replies, .. } => reply(replies, id, became).await,
        }
    }

    /// Completes when the asker is gone without its reply.
    pub async fn gone(&self) {
        loop {
            sleep(LOOK_EVERY).await;
            let gone = match &self.reached.way {
                // Ready at once, and also when the other end has closed both directions. One that only says no more waits.
                Way::Socket(stream) => match stream.get_ref().ready(Interest::WRITABLE).await {
                    Ok(ready) => ready.is_write_closed(),
                    Err(_) => true,
                },
                Way::Pipe { requests, .. } => is_unlocked(requests),
            };
            if gone {
                return;
            }
        }
    }
}

/// Whether nobody holds the lock that an asker holds until it has its reply.
fn is_unlocked(requests: &Path) -> bool {
    // For both directions, so that opening does not wait for another end. The lock goes with the file.
    let opened = File::options().read(true).write(true).open(requests);
    opened.is_ok_and(|requests| requests.try_lock().is_ok())
}

impl Access {
    /// Opens the line to a program: its rights, the variable that names it, and `holdpoint-ask`, `holdpoint-acp` and `holdpoint-http` in its `PATH`;
    /// there also is `holdpoint`, where that is the harness.
    pub fn grant(&self, command: &mut Command) {
        let profile = &mut command.profile;
        profile.read.extend([self.dir.clone(), self.executable.clone()]);
        profile.write.extend(self.pipes.iter().cloned());
        let socket = self.dir.join(SOCKET).display().to_string();
        command.env.insert(SOCKET_VARIABLE.to_owned(), socket);
        let path = command.env.entry("PATH".to_owned()).or_default();
        *path = format!("{}:{path}", self.dir.join(BIN).display());
        let path = path.clone();
        command.env.insert(PATH_VARIABLE.to_owned(), path);
    }
}

/// One request over a connection of its own.
async fn hear_once(stream: UnixStream, hears: bool) -> Option<LineRequest> {
    let mut stream = BufReader::new(stream);
    let line = timeout(REQUEST_TIME, request(&mut stream)).await.ok()?.ok()?;
    let (id, asked) = heard(&line, hears).await;
    match asked {
        Ok(call) => Some(LineRequest { call, reached: Reached { id, way: Way::Socket(stream) } }),
        Err(why) => {
            reply(&mut stream, id, Became::Refused(why)).await;
            None
        }
    }
}

/// What is wanted, or why it is not heard. A request over the bound is answered after a pause.
async fn heard(line: &[u8], hears: bool) -> (String, Result<ValidRequest, String>) {
    let (id, asked) = message::read(line);
    if hears {
        return (id, asked);
    }
    sleep(OVER_PAUSE).await;
    (id, Err(format!("a turn hears {REQUESTS_MAX} requests, and this one is over that: end your program")))
}

/// The next line, up to the bound. An error where there is none.
async fn request(from: &mut (impl AsyncBufRead + Unpin)) -> io::Result<Vec<u8>> {
    let mut line = Vec::new();
    let most = REQUEST_BYTES_MAX as u64 + 1;
    match from.take(most).read_until(b'\n', &mut line).await? {
        0 => Err(io::ErrorKind::UnexpectedEof.into()),
        _ => Ok(line),
    }
}

/// Sends a reply. An asker that does not read it is none any more.
async fn reply(to: &mut (impl AsyncWrite + Unpin), id: String, became: Became) {
    let Ok(mut line) = serde_json::to_vec(&Reply { id, became }) else { return };
    line.push(b'\n');
    let sent = timeout(REQUEST_TIME, async {
        to.write_all(&line).await?;
        to.flush().await
    });
    if let Ok(Err(error)) = sent.await {
        tracing::debug!(%error, "a reply to an agent's program was not taken");
    }
}
