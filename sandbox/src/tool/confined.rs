//! Starting a tool within its [`Confinement`].
//!
//! What the kernel keeps for a thread and all that it starts is put on a thread of the run's own, which starts the tool and
//! ends: no program in between, as the sandbox for other people's programs needs one, so that a call costs a fraction of a
//! millisecond more. Landlock's rules differ from run to run; the filter of system calls does not, so such threads are started by
//! one that has it. The limits of a process are set from outside right after its start: what it has used by then counts.
//! See also [`super::keeper`].

use std::ffi::OsStr;
use std::sync::mpsc::{Sender, channel};
use std::sync::{LazyLock, Mutex, PoisonError};

use nix::sys::prctl;
use rustix::process::{Pid, Resource, Rlimit, getrlimit, prlimit};
use tokio::process::{Child, Command};
use tokio::sync::{Semaphore, SemaphorePermit, oneshot};

use super::confinement::Confinement;
use super::{ToolError, keeper};
use crate::layout::Rules;
use crate::shim::{landlock, seccomp};
use crate::wire::Sockets;

/// Confined tools that run at once in this process, at least: one that takes its time must not hold up all others.
const AT_ONCE_MIN: usize = 4;
/// Files open at once: git and its like keep far below.
const OPEN_FILES: u64 = 1_024;
/// Seconds from the signal that can be caught to the one that cannot.
const CPU_GRACE_SECONDS: u64 = 1;

/// The places of tools that run; callers that wait for one are served in order.
static PLACES: LazyLock<Semaphore> = LazyLock::new(|| Semaphore::new(at_once()));

/// How many places there are: one for each core, and no fewer than [`AT_ONCE_MIN`].
pub(super) fn at_once() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from).max(AT_ONCE_MIN)
}

/// Waits for a place. It is given back when the permit is dropped.
pub(super) async fn place() -> Option<SemaphorePermit<'static>> {
    // Fails only when it was closed, which nobody does.
    PLACES.acquire().await.ok()
}

/// Starts the tool confined, with its limits.
pub(super) async fn spawn(
    program: &OsStr,
    mut command: Command,
    confinement: &Confinement,
) -> Result<std::io::Result<Child>, ToolError> {
    let failed = |reason: String| ToolError::Confine { program: program.to_string_lossy().into_owned(), reason };
    let (variable, mark) = keeper::mark().map_err(|error| failed(format!("start its keeper: {error}")))?;
    command.env(variable, mark);
    let rules = confinement.rules(program);
    let runtime = tokio::runtime::Handle::current();
    let (sender, receiver) = oneshot::channel();
    let start = move || {
        let _runtime = runtime.enter();
        // The receiver is gone when the run was given up: the tool is killed by being dropped.
        let _ = sender.send(confine(&rules).map(|()| command.spawn()));
    };
    // A starter that is gone drops it, and its sender with it.
    let _ = starter().map_err(&failed)?.send(Box::new(start));
    let started = receiver.await.map_err(|_| failed("the thread that starts it ended".to_owned()))?;
    // Here, because its own thread may not touch another process any more.
    Ok(started.map_err(&failed)?.and_then(|child| limited(child, confinement)))
}

/// What is done by a thread of its own that has the filter of system calls.
type Start = Box<dyn FnOnce() + Send>;

/// Takes what shall be done by a thread with the filter, which it gets from the thread that starts it. There is one; a
/// process that was short of threads tries again.
fn starter() -> Result<Sender<Start>, String> {
    static STARTER: Mutex<Option<Sender<Start>>> = Mutex::new(None);
    let mut starter = STARTER.lock().unwrap_or_else(PoisonError::into_inner);
    match &*starter {
        Some(sender) => Ok(sender.clone()),
        None => Ok(starter.insert(start_starter()?).clone()),
    }
}

fn start_starter() -> Result<Sender<Start>, String> {
    let filter = seccomp::Filter::new(Sockets::None, false).map_err(|failure| failure.to_string())?;
    let (sender, starts) = channel::<Start>();
    let (filtered, is_filtered) = channel();
    let run = move || {
        let _ = filtered.send(filter_this_thread(&filter));
        for start in starts {
            // Else it is dropped, which the one that waits for it sees.
            let _ = std::thread::Builder::new().spawn(start);
        }
    };
    std::thread::Builder::new().spawn(run).map_err(|error| format!("start a thread: {error}"))?;
    is_filtered.recv().map_err(|error| error.to_string())??;
    Ok(sender)
}

fn filter_this_thread(filter: &seccomp::Filter) -> Result<(), String> {
    prctl::set_no_new_privs().map_err(|error| format!("no new privileges: {error}"))?;
    filter.apply().map_err(|failure| failure.to_string())
}

/// Confines this thread for good, and what it starts. A kernel without Landlock leaves the other walls.
fn confine(rules: &Rules) -> Result<(), String> {
    landlock::confine(rules).map(drop).map_err(|failure| failure.to_string())
}

/// Resources with the limit that can be caught and the one that cannot, never more than we were given ourselves.
fn limits(confinement: &Confinement) -> [(Resource, Rlimit); 5] {
    let cpu = confinement.cpu_seconds();
    let limits = [
        (Resource::Core, 0, 0),
        (Resource::Cpu, cpu, cpu + CPU_GRACE_SECONDS),
        (Resource::As, confinement.memory_bytes, confinement.memory_bytes),
        (Resource::Fsize, confinement.file_bytes, confinement.file_bytes),
        (Resource::Nofile, OPEN_FILES, OPEN_FILES),
    ];
    limits.map(|(resource, soft, hard)| {
        let own = getrlimit(resource).maximum.unwrap_or(u64::MAX);
        (resource, Rlimit { current: Some(soft.min(own)), maximum: Some(hard.min(own)) })
    })
}

/// Sets the limits of a tool that was just started. One that cannot be limited is killed by being dropped.
fn limited(child: Child, confinement: &Confinement) -> std::io::Result<Child> {
    if let Some(pid) = child.id().and_then(|id| Pid::from_raw(id.cast_signed())) {
        for (resource, limit) in limits(confinement) {
            prlimit(Some(pid), resource, limit)?;
        }
    }
    Ok(child)
}
