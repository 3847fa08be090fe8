//! One run of the shim: its socket, its output, its time.

use std::net::Shutdown;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::process::Child;

use super::Ended;
use super::drain::{Allowance, OutputStream, Tap, drain};
use super::standby::Shim;
use crate::error::SandboxError;
use crate::profile::RunLimits;
use crate::wire::{Event, Excess, Frame, GroupVersion, Spec, Step};

/// Time for the shim to end a tree once asked to: its own limit for that, and some.
const END_LIMIT: Duration = Duration::from_secs(15);
/// Time for output to reach its end after the shim's: longer only if something escaped with the pipes in hand.
const OUTPUT_GRACE: Duration = Duration::from_secs(2);

/// What came out of a run.
pub(super) struct Run {
    pub(super) ended: Ended,
    pub(super) stdout: Vec<u8>,
    pub(super) stderr: Vec<u8>,
    pub(super) duration: Duration,
    pub(super) tree_ended: bool,
}

/// Runs a program through a shim at the spec's stage.
pub(super) async fn run(
    shim: Shim,
    spec: &Spec,
    stdin: &[u8],
    limits: &RunLimits,
    tap: Option<&Tap>,
    end: impl Future<Output = ()>,
) -> Result<Run, SandboxError> {
    let start = Instant::now();
    let Shim { mut child, socket, .. } = shim;
    let (reader, stop) = split(socket)?;
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let allowance = Allowance::new(limits.output_bytes);
    let over = || stop.because(Ended::OutputLimit);
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let output = async {
        tokio::try_join!(
            drain(stdout, OutputStream::Stdout, &mut out, &allowance, tap, over),
            drain(stderr, OutputStream::Stderr, &mut err, &allowance, tap, over)
        )
        .map(drop)
    };
    let events = async {
        let sent = stop.send(&Frame::encode(spec, stdin)?).await;
        let events = follow(reader, start).await;
        // A shim that failed early closes its end: what it reported says more than the broken pipe.
        if events.is_empty() { sent.map(|()| events) } else { Ok(events) }
    };
    let result = watched(events, output, limits.wall, end, &stop).await;
    finish(child, &stop).await;
    let events = result?;
    let (ended, duration) = events.program(spec, stop.reason(), start.elapsed())?;
    Ok(Run { ended, stdout: out, stderr: err, duration, tree_ended: events.tree_ended })
}

/// Only sets up, and says how far that went.
pub(super) async fn set_up(shim: Shim, spec: &Spec) -> Result<Events, SandboxError> {
    let Shim { child, socket, .. } = shim;
    let (reader, stop) = split(socket)?;
    let events = async {
        let sent = stop.send(&Frame::encode(spec, &[])?).await;
        let events = follow(reader, Instant::now()).await;
        if events.is_empty() { sent.map(|()| events) } else { Ok(events) }
    };
    let events = watched(events, std::future::ready(Ok(())), END_LIMIT, std::future::pending(), &stop).await;
    finish(child, &stop).await;
    events
}

/// Sees the shim off. It ends by itself once the socket is closed; one that does not is stuck in the kernel.
async fn finish(mut child: Child, stop: &Stop) {
    stop.close();
    if tokio::time::timeout(END_LIMIT, child.wait()).await.is_err() {
        let _ = child.start_kill();
    }
}

/// Follows both to their ends, or ends the tree at the deadline or once `end` is there.
async fn watched(
    events: impl Future<Output = std::io::Result<Events>>,
    output: impl Future<Output = std::io::Result<()>>,
    wall: Duration,
    end: impl Future<Output = ()>,
    stop: &Stop,
) -> Result<Events, SandboxError> {
    let deadline = async {
        let why = tokio::select! {
            () = tokio::time::sleep(wall) => Ended::TimedOut,
            () = end => Ended::Signalled(Signal::SIGKILL as i32),
        };
        stop.because(why);
        tokio::time::sleep(END_LIMIT).await;
    };
    tokio::pin!(events, output, deadline);
    let mut output_done = false;
    let events = loop {
        tokio::select! {
            events = &mut events => break events?,
            result = &mut output, if !output_done => {
                result?;
                output_done = true;
            }
            () = &mut deadline => return Err(SandboxError::ShimLost),
        }
    };
    if !output_done {
        // What still holds the pipes after that has escaped, and `tree_ended` says so.
        let _ = tokio::time::timeout(OUTPUT_GRACE, output).await;
    }
    Ok(events)
}

fn split(socket: std::os::unix::net::UnixStream) -> std::io::Result<(OwnedReadHalf, Stop)> {
    let again = socket.try_clone()?;
    let (reader, writer) = UnixStream::from_std(socket)?.into_split();
    Ok((reader, Stop::new(writer, again)))
}

/// Ends the tree by closing our sending end of the socket. The first reason for that is the one that counts.
struct Stop {
    writer: tokio::sync::Mutex<OwnedWriteHalf>,
    /// The same socket, to be shut down while a sender may hold `writer`.
    socket: std::os::unix::net::UnixStream,
    reason: OnceLock<Ended>,
}

impl Stop {
    fn new(writer: OwnedWriteHalf, socket: std::os::unix::net::UnixStream) -> Self {
        Self { writer: tokio::sync::Mutex::new(writer), socket, reason: OnceLock::new() }
    }

    async fn send(&self, bytes: &[u8]) -> std::io::Result<()> {
        self.writer.lock().await.write_all(bytes).await
    }

    fn because(&self, ended: Ended) {
        let _ = self.reason.set(ended);
        self.close();
    }

    fn close(&self) {
        // Fails only when the other side is gone already.
        let _ = self.socket.shutdown(Shutdown::Write);
    }

    fn reason(&self) -> Option<Ended> {
        self.reason.get().copied()
    }
}

/// What the shim reported.
#[derive(Default)]
pub(super) struct Events {
    /// For memory and for processes.
    pub(super) groups: (Option<GroupVersion>, Option<GroupVersion>),
    pub(super) ready: Option<Ready>,
    failed: Option<(Step, String)>,
    not_started: Option<i32>,
    ended: Option<(Ended, Duration)>,
    exceeded: Option<Ended>,
    tree_ended: bool,
}

/// What is in force once all is set up.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ready {
    pub(super) landlock_abi: Option<u32>,
    pub(super) processes_limited: bool,
    pub(super) processes_bound: bool,
}

/// Reads events until the shim closes its end.
async fn follow(reader: OwnedReadHalf, start: Instant) -> Events {
    let mut events = Events::default();
    let mut lines = BufReader::new(reader).lines();
    // A broken socket ends the reading like a closed one: what is missing then is missing from the events.
    while let Ok(Some(line)) = lines.next_line().await {
        match serde_json::from_str(&line) {
            Ok(event) => events.take(event, start.elapsed()),
            Err(error) => tracing::debug!(%error, "unreadable event of the sandbox shim"),
        }
    }
    events
}

impl Events {
    fn take(&mut self, event: Event, after: Duration) {
        match event {
            Event::Grouped { memory, processes } => self.groups = (memory, processes),
            Event::Exceeded { what: Excess::Memory } => self.exceeded = Some(Ended::MemoryLimit),
            Event::Exceeded { what: Excess::Disk } => self.exceeded = Some(Ended::DiskLimit),
            Event::Ready { landlock_abi, processes_limited, processes_bound } => {
                self.ready = Some(Ready { landlock_abi, processes_limited, processes_bound });
            }
            Event::SetUpFailed { step, reason } => self.failed = Some((step, reason)),
            Event::NotStarted { errno } => self.not_started = Some(errno),
            Event::Exited { code } => self.ended = Some((Ended::Exited(code), after)),
            Event::Signalled { signal } => self.ended = Some((Ended::Signalled(signal), after)),
            Event::TreeEnded { ended } => self.tree_ended = ended,
        }
    }

    fn is_empty(&self) -> bool {
        self.ready.is_none() && self.failed.is_none()
    }

    /// The step that failed and why.
    pub(super) fn failure(&self) -> Option<&(Step, String)> {
        self.failed.as_ref()
    }

    /// How the program ended, and when.
    fn program(&self, spec: &Spec, stopped: Option<Ended>, after: Duration) -> Result<(Ended, Duration), SandboxError> {
        if let Some((step, reason)) = &self.failed {
            return Err(SandboxError::SetUp { step: format!("{step:?}"), reason: reason.clone() });
        }
        if let Some(errno) = self.not_started {
            let program = spec.program.as_ref().and_then(|program| program.argv.first()).cloned().unwrap_or_default();
            return Err(SandboxError::NotStarted { program, source: std::io::Error::from_raw_os_error(errno) });
        }
        if let Some(reason) = stopped.or(self.exceeded) {
            return Ok((reason, self.ended.map_or(after, |(_, when)| when)));
        }
        match self.ended {
            Some(ended) => Ok(ended),
            // The inner stage was killed after it started the program: by the program, or for want of memory.
            None if self.ready.is_some() && self.tree_ended => Ok((Ended::Signalled(Signal::SIGKILL as i32), after)),
            None => Err(SandboxError::ShimLost),
        }
    }
}
