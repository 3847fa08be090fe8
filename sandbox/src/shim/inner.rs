//! The inner stage: confines itself for good, starts the program, reaps, and reports how the program ended.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{ChildStdin, Command, Stdio};

use nix::errno::Errno;
use nix::sched::{CloneFlags, unshare};
use nix::sys::prctl;
use nix::sys::signal::Signal;
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::{Pid, setsid};

use super::{Failure, control, landlock, limits, root, seccomp, users};
use crate::lookup;
use crate::wire::{Event, Frame, Program, Spec, Stdin, Step};

/// When the machine runs out of memory, what runs in a sandbox goes before anything else.
const FIRST_TO_GO: &str = "1000";

pub(super) fn run() -> Result<(), Failure> {
    die_with_parent()?;
    let mut control = control()?;
    let frame = Frame::read(&mut control).map_err(Failure::at(Step::Control, "read the spec"))?;
    let event = match confine(&frame.spec) {
        Err(failure) => Event::SetUpFailed { step: failure.step, reason: failure.reason },
        Ok(ready) => {
            ready.write(&mut control).map_err(Failure::at(Step::Control, "report"))?;
            control.read_exact(&mut [0]).map_err(Failure::at(Step::Control, "wait for the control groups"))?;
            match frame.spec.program {
                None => return Ok(()),
                Some(program) => start_and_reap(&program, frame.stdin),
            }
        }
    };
    event.write(&mut control).map_err(Failure::at(Step::Control, "report"))
}

fn die_with_parent() -> Result<(), Failure> {
    prctl::set_pdeathsig(Signal::SIGKILL).map_err(Failure::at(Step::Control, "follow the outer stage"))
}

/// What is in force afterwards, as an event.
fn confine(spec: &Spec) -> Result<Event, Failure> {
    // Fails only for a group leader, which a child of the outer stage is not.
    let _ = setsid();
    // Fails only where the harness itself is to go first already.
    let _ = std::fs::write("/proc/self/oom_score_adj", FIRST_TO_GO);
    let mut processes_limited = false;
    if spec.stage.namespaces {
        let at = |what| Failure::at(Step::Namespaces, what);
        // Not by the outer stage: it goes on seeing the machine's own root.
        unshare(CloneFlags::CLONE_NEWNS).map_err(Failure::at(Step::Namespaces, "unshare"))?;
        let process = users::this_process().map_err(at("open /proc/self"))?;
        processes_limited = limits::limit_processes_of_namespace(&spec.limits);
        let user = users::plain(spec.user, spec.group);
        root::build(&spec.layout, spec.own_proc, &user.account(spec.home.as_deref()))?;
        users::become_plain(&process, user).map_err(at("become a plain user"))?;
        // A change of credentials takes the earlier request back.
        die_with_parent()?;
    }
    limits::limit(&spec.limits, spec.stage.namespaces)?;
    // This program's allocator turned them off for itself. What it starts decides by itself.
    prctl::set_thp_disable(false).map_err(Failure::at(Step::Limits, "allow huge pages"))?;
    prctl::set_no_new_privs().map_err(Failure::at(Step::Seccomp, "no new privileges"))?;
    let landlock_abi = landlock::confine(&spec.layout.rules)?;
    if landlock_abi < spec.landlock_abi {
        return Err(Failure::new(Step::Landlock, "it gives less than was found before"));
    }
    seccomp::Filter::new(spec.sockets, spec.stage.namespaces)?.apply()?;
    let processes_bound = spec.program.is_none() && limits::processes_are_bound();
    Ok(Event::Ready { landlock_abi, processes_limited, processes_bound })
}

fn start_and_reap(program: &Program, stdin: Vec<u8>) -> Event {
    let pid = match start(program, stdin) {
        Ok(pid) => pid,
        Err(error) => return Event::NotStarted { errno: error.raw_os_error().unwrap_or(Errno::EINVAL as i32) },
    };
    loop {
        match waitpid(None::<Pid>, None) {
            Ok(WaitStatus::Exited(ended, code)) if ended == pid => return Event::Exited { code },
            Ok(WaitStatus::Signaled(ended, signal, _)) if ended == pid => {
                return Event::Signalled { signal: signal as i32 };
            }
            // An orphan, or an interruption.
            Ok(_) | Err(Errno::EINTR) => {}
            Err(error) => return Event::SetUpFailed { step: Step::Control, reason: error.to_string() },
        }
    }
}

fn start(program: &Program, bytes: Vec<u8>) -> std::io::Result<Pid> {
    let Some((name, args)) = program.argv.split_first() else { return Err(std::io::ErrorKind::InvalidInput.into()) };
    let path = program.env.get("PATH").map(OsStr::new).unwrap_or_default();
    let mut command = Command::new(lookup::to_start(OsStr::new(name), path));
    command.args(args).env_clear().envs(&program.env).current_dir(&program.dir).process_group(0);
    command.stdin(match &program.stdin {
        Stdin::Empty => Stdio::null(),
        Stdin::Frame => Stdio::piped(),
        Stdin::File(path) => Stdio::from(File::open(path)?),
    });
    let mut child = command.spawn()?;
    if let Some(pipe) = child.stdin.take() {
        std::thread::spawn(move || feed(pipe, &bytes));
    }
    Ok(Pid::from_raw(child.id().cast_signed()))
}

/// A program that does not read its input to the end is no error.
fn feed(mut pipe: ChildStdin, bytes: &[u8]) {
    let _ = pipe.write_all(bytes);
}
