//! The outer stage: makes the namespaces, starts the inner stage, and sees to it that nothing outlives the run.
//!
//! It watches the socket to the harness. Its end, for whatever reason, ends the tree. It touches no file of anybody.

use std::io::{Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sched::{CloneFlags, unshare};
use nix::sys::prctl;
use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, setsid};

use super::group::Made;
use super::watch::Watch;
use super::{ARG, Failure, INNER, SELF, control, loopback, tree, users};
use crate::wire::{Event, Excess, Frame, GO, Stage, Step};

/// First file descriptor that is not one of the standard three.
const FIRST_STRAY: i32 = 3;

pub(super) fn run() -> Result<(), Failure> {
    close_stray_files();
    // Out of the terminal's reach: a Ctrl-C is for the harness. Fails only for a group leader, which has that already.
    let _ = setsid();
    let mut control = control()?;
    let stage = Stage::read(&mut control).map_err(Failure::at(Step::Control, "read the stage"))?;
    let result = supervise(&mut control, stage);
    if let Err(failure) = &result {
        let event = Event::SetUpFailed { step: failure.step, reason: failure.reason.clone() };
        event.write(&mut control).map_err(Failure::at(Step::Control, "report"))?;
    }
    result
}

/// Files that our starter's starter left open would otherwise reach the program.
fn close_stray_files() {
    let Ok(open) = std::fs::read_dir("/proc/self/fd") else { return };
    let open: Vec<i32> = open.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    for file in open.into_iter().filter(|file| *file >= FIRST_STRAY) {
        // The one that listed the folder is closed already.
        let _ = nix::unistd::close(file);
    }
}

fn supervise(control: &mut UnixStream, stage: Stage) -> Result<(), Failure> {
    let groups = Made::make(stage.groups)?;
    let (memory, processes) = groups.versions();
    let grouped = Event::Grouped { memory, processes };
    grouped.write(control).map_err(Failure::at(Step::Control, "report"))?;
    if stage.namespaces {
        enter_namespaces(stage)?;
    }
    prctl::set_child_subreaper(true).map_err(Failure::at(Step::Control, "become subreaper"))?;
    let (mut ours, theirs) = UnixStream::pair().map_err(Failure::at(Step::Control, "make a socket"))?;
    let inner = start_inner(theirs)?;
    // From here on the tree has to be ended, whatever fails.
    let begun = begin(control, &mut ours, &groups, inner);
    let (mut watch, begun) = begun.map_or_else(|failure| (None, Err(failure)), |watch| (watch, Ok(())));
    let excess = watch.as_mut().and_then(|watch| relay(&mut ours, control, watch).unwrap_or_default());
    groups.stop_forks();
    // It was not waited for yet, so the number is still its own.
    let _ = kill(inner, Signal::SIGKILL);
    let ended = if stage.namespaces { tree::reap(inner) } else { tree::end_descendants() };
    if let Some(what) = excess.or_else(|| watch?.at_end()) {
        let _ = Event::Exceeded { what }.write(control);
    }
    let _ = Event::TreeEnded { ended }.write(control);
    begun
}

/// Waits for the frame, hands it to the inner stage and lets the program start, with what watches it; `None` when the harness or the
/// inner stage goes before that.
fn begin<'a>(
    control: &mut UnixStream,
    ours: &mut UnixStream,
    groups: &'a Made,
    inner: Pid,
) -> Result<Option<Watch<'a>>, Failure> {
    // The kernel takes its time for moving a process: while nobody waits for it, or else while the inner stage confines itself.
    let is_wanted = is_readable(control);
    if !is_wanted {
        groups.join(inner)?;
        if !frame_comes(control, ours) {
            return Ok(None);
        }
    }
    let Ok(frame) = Frame::read(control) else { return Ok(None) };
    groups.limit(&frame.spec.budget)?;
    let watch = Watch::new(groups, &frame.spec.budget, &frame.spec.layout);
    let bytes = Frame::encode(&frame.spec, &frame.stdin).map_err(Failure::at(Step::Control, "encode"))?;
    // An error of the sockets means that one side is gone, which the relay finds.
    if ours.write_all(&bytes).is_ok() {
        if is_wanted {
            groups.join(inner)?;
        }
        let _ = ours.write_all(&[GO]);
    }
    Ok(Some(watch))
}

/// Whether there is something to read now.
fn is_readable(socket: &UnixStream) -> bool {
    poll(&mut [PollFd::new(socket.as_fd(), PollFlags::POLLIN)], PollTimeout::ZERO).is_ok_and(|ready| ready > 0)
}

/// Waits for the harness; `false` when the inner stage goes first.
fn frame_comes(control: &UnixStream, ours: &UnixStream) -> bool {
    let mut watched = [control, ours].map(|socket| PollFd::new(socket.as_fd(), PollFlags::POLLIN));
    while poll(&mut watched, PollTimeout::NONE) == Err(Errno::EINTR) {}
    let [there, _] = watched;
    there.any().unwrap_or(true)
}

fn enter_namespaces(stage: Stage) -> Result<(), Failure> {
    let ids = users::Ids::outside();
    let mut flags =
        CloneFlags::CLONE_NEWUSER | CloneFlags::CLONE_NEWPID | CloneFlags::CLONE_NEWIPC | CloneFlags::CLONE_NEWUTS;
    if stage.own_network {
        flags |= CloneFlags::CLONE_NEWNET;
    }
    unshare(flags).map_err(Failure::at(Step::Namespaces, "unshare"))?;
    users::map_as_root(ids).map_err(Failure::at(Step::Namespaces, "map users"))?;
    if stage.own_network {
        loopback::bring_up().map_err(Failure::at(Step::Loopback, "bring it up"))?;
    }
    Ok(())
}

fn start_inner(socket: UnixStream) -> Result<Pid, Failure> {
    let mut command = Command::new(SELF);
    command.args([ARG, INNER]).env_clear().stdin(Stdio::from(OwnedFd::from(socket)));
    let child = command.spawn().map_err(Failure::at(Step::Control, "start the inner stage"))?;
    let pid = i32::try_from(child.id()).map_err(Failure::at(Step::Control, "number of the inner stage"))?;
    Ok(Pid::from_raw(pid))
}

/// Hands on what the inner stage reports until it is done, until the harness closes its end, or until the tree has used
/// up too much.
///
/// One thread has to do for both: in the new process namespace the kernel lets this process have no second one.
fn relay(from: &mut UnixStream, control: &mut UnixStream, watch: &mut Watch<'_>) -> std::io::Result<Option<Excess>> {
    let mut chunk = [0; 4096];
    loop {
        let mut watched =
            [PollFd::new(from.as_fd(), PollFlags::POLLIN), PollFd::new(control.as_fd(), PollFlags::POLLIN)];
        let pause = PollTimeout::try_from(watch.pause()).unwrap_or(PollTimeout::MAX);
        match poll(&mut watched, pause) {
            Ok(0) => match watch.look() {
                None => continue,
                excess => return Ok(excess),
            },
            Ok(_) => {}
            Err(Errno::EINTR) => continue,
            Err(error) => return Err(error.into()),
        }
        let [reported, closed] = watched.map(|file| file.any().unwrap_or(true));
        if reported {
            let count = from.read(&mut chunk)?;
            if count == 0 {
                return Ok(None);
            }
            control.write_all(chunk.get(..count).unwrap_or_default())?;
        } else if closed {
            // The harness sends nothing more: what there is to read is its end.
            return Ok(None);
        }
    }
}
