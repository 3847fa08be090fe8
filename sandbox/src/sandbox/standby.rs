//! Shims that were started before there was a program for them: two processes, their namespaces and control groups take the
//! kernel longer than most checks run. At most one waits per sandbox, and only as long as its [`Standby`] lives.

use std::io::Write as _;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::Stdio;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::process::{Child, Command};

use crate::error::SandboxError;
use crate::shim;
use crate::wire::Stage;

/// A shim at its stage, without a program. It ends by itself once its socket is closed.
#[derive(Debug)]
pub(super) struct Shim {
    stage: Stage,
    pub(super) child: Child,
    pub(super) socket: UnixStream,
}

impl Shim {
    pub(super) fn start(executable: &Path, stage: Stage) -> Result<Self, SandboxError> {
        let (mut socket, theirs) = UnixStream::pair()?;
        // A new socket has room for it.
        socket.write_all(&stage.encode()?)?;
        socket.set_nonblocking(true)?;
        let mut command = Command::new(executable);
        command.args(shim::args()).env_clear().current_dir("/");
        command.stdin(Stdio::from(OwnedFd::from(theirs))).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = command.spawn().map_err(|source| SandboxError::Shim { shim: executable.to_owned(), source })?;
        Ok(Self { stage, child, socket })
    }

    fn lives(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }
}

/// The place of the shim that waits.
#[derive(Debug, Default)]
pub(super) struct Slot(Mutex<Option<Shim>>);

impl Slot {
    /// The shim that waits at this stage, if it still lives.
    pub(super) fn take(&self, stage: Stage) -> Option<Shim> {
        let mut shim = self.shim().take_if(|shim| shim.stage == stage)?;
        shim.lives().then_some(shim)
    }

    fn shim(&self) -> MutexGuard<'_, Option<Shim>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Keeps a shim waiting for the next program. See [`Sandbox::stand_by`](super::Sandbox::stand_by).
#[derive(Debug)]
#[must_use = "what waits ends when this is dropped"]
pub struct Standby<'a> {
    slot: &'a Slot,
    /// The number of its process; `None`: it began none.
    pid: Option<u32>,
}

impl<'a> Standby<'a> {
    pub(super) fn of(slot: &'a Slot) -> Self {
        Self { slot, pid: None }
    }

    pub(super) fn begin(&mut self, executable: &Path, stage: Stage) {
        let mut waits = self.slot.shim();
        if waits.as_mut().is_some_and(Shim::lives) {
            return;
        }
        // What fails here fails with words where the program is to run.
        *waits = Shim::start(executable, stage).ok();
        self.pid = waits.as_ref().and_then(|shim| shim.child.id());
    }

    /// The process that this set up and that waits still.
    #[must_use]
    pub fn waits(&self) -> Option<u32> {
        let id = self.slot.shim().as_ref()?.child.id();
        id.filter(|_| id == self.pid)
    }
}

impl Drop for Standby<'_> {
    fn drop(&mut self) {
        drop(self.slot.shim().take_if(|shim| self.pid.is_some() && shim.child.id() == self.pid));
    }
}
