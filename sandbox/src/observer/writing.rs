//! What a program below the observer writes: its list of tests, and what it writes where it is said to.

use std::{
    io::{self, PipeReader, Read as _},
    os::fd::{AsFd as _, AsRawFd as _, OwnedFd},
    process::{Command, ExitStatus, Stdio},
};

use nix::{
    errno::Errno,
    poll::{PollFd, PollFlags, PollTimeout, poll},
};
use rustix::io::{FdFlags, fcntl_dupfd_cloexec, fcntl_setfd};

use super::inside::{FIRST_DESCRIPTOR, wait_beside};

/// Bytes of a list of tests: what is longer is no list.
const LIST_BYTES_MAX: u64 = 64 << 20;
/// Bytes that are read at once, and after the program's end: as much as a pipe holds.
const PIPE_BYTES: usize = 64 << 10;

/// What a program prints that lists its tests. What did not end well is no list.
pub(super) fn printed(mut command: Command) -> io::Result<Option<Vec<u8>>> {
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
    let mut bytes = Vec::new();
    if let Some(output) = child.stdout.take() {
        output.take(LIST_BYTES_MAX).read_to_end(&mut bytes)?;
    }
    let status = child.wait()?;
    Ok(status.success().then_some(bytes))
}

/// A pipe that a program is given, to be written to as if it were a file.
pub(super) struct Given {
    reader: PipeReader,
    writer: OwnedFd,
}

impl Given {
    pub(super) fn new() -> io::Result<Self> {
        let (reader, writer) = io::pipe()?;
        let writer = fcntl_dupfd_cloexec(&writer, FIRST_DESCRIPTOR)?;
        fcntl_setfd(&writer, FdFlags::empty())?;
        Ok(Self { reader, writer })
    }

    /// What the program knows it by.
    pub(super) fn path(&self) -> String {
        format!("/proc/self/fd/{}", self.writer.as_raw_fd())
    }

    /// Runs the program, and takes what it writes, to its end.
    pub(super) fn written(self, mut command: Command, take: impl FnMut(&[u8])) -> io::Result<ExitStatus> {
        let child = command.spawn()?;
        drop(self.writer);
        let (ended, waiter) = wait_beside(child)?;
        relay(self.reader, &ended, take);
        waiter.join().map_err(|_| io::ErrorKind::Other)?
    }
}

/// Hands on what a program writes until it has ended. What it leaves running may hold its end of the pipe for longer, and says
/// nothing any more.
fn relay(mut log: PipeReader, ended: &PipeReader, mut take: impl FnMut(&[u8])) {
    let mut bytes = vec![0; PIPE_BYTES];
    let (mut closed, mut left) = (false, PIPE_BYTES);
    loop {
        let wanted = if closed { PollFlags::empty() } else { PollFlags::POLLIN };
        let mut watched = [PollFd::new(ended.as_fd(), PollFlags::POLLIN), PollFd::new(log.as_fd(), wanted)];
        match poll(&mut watched, PollTimeout::NONE) {
            Ok(_) => {}
            Err(Errno::EINTR) => continue,
            // Nothing more is heard, and so no end.
            Err(_) => return,
        }
        let [over, said] = watched.map(|one| one.any().unwrap_or(true));
        let mut count = 0;
        if said && !closed {
            count = log.read(&mut bytes).unwrap_or_default();
            closed = count == 0;
            take(bytes.get(..count).unwrap_or_default());
        }
        if over {
            left = left.saturating_sub(count);
            if count == 0 || left == 0 {
                return;
            }
        }
    }
}
