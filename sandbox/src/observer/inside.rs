//! The observer's side, in the sandbox: starts the program, hands on what it says, and says how it really ended.

use std::{
    fs::File,
    io::{self, PipeReader, Read, Write},
    os::{
        fd::{AsFd, AsRawFd, OwnedFd},
        unix::{ffi::OsStrExt, net::UnixStream, process::CommandExt, process::ExitStatusExt},
    },
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus},
};

use nix::{
    errno::Errno,
    poll::{PollFd, PollFlags, PollTimeout, poll},
    sys::{
        prctl,
        signal::{Signal, raise},
        socket::{AddressFamily, MsgFlags, SockFlag, SockType, recv, send, socketpair},
    },
};
use rustix::io::{FdFlags, fcntl_dupfd_cloexec, fcntl_setfd};

use super::{CARGO, CHILD, GO, OURS, PROGRAM, VARIABLE, WELCOME, below_cargo, below_go};

/// Where the child's descriptor begins: above those that programs open and count.
pub(super) const FIRST_DESCRIPTOR: i32 = 900;
/// The longest message of a child; of a longer one the rest is lost.
const MESSAGE_BYTES: usize = 4 << 10;
/// Messages that are handed on before the child's end is looked for again: more than a socket holds.
const MESSAGES_AT_ONCE: usize = 4_096;
/// Random bytes of a nonce.
const NONCE_BYTES: usize = 16;
/// Exit code where the program was not started, as shells have it: it cannot be, or nobody would hear of it.
const EXIT_NOT_STARTED: i32 = 126;
/// What shells add to the number of a signal.
const EXIT_SIGNALLED: i32 = 128;

/// Becomes the observer if this executable was started under its name; returns otherwise.
///
/// Every executable that is a verifier calls this in `main`, before any thread and any runtime.
pub fn maybe_run() {
    let mut args = std::env::args_os();
    let called = args.next().unwrap_or_default();
    if Path::new(&called).file_name().is_none_or(|name| name.as_bytes() != PROGRAM.as_bytes()) {
        return;
    }
    let (Some(socket), Some(name), Some(program)) = (args.next(), args.next(), args.next()) else {
        std::process::exit(EXIT_NOT_STARTED);
    };
    let socket = PathBuf::from(socket);
    let watched = if name == CARGO {
        below_cargo::watch(&socket, &program, &args.collect::<Vec<_>>())
    } else if name == GO {
        below_go::watch(&socket, &program, &args.collect::<Vec<_>>())
    } else {
        let mut command = Command::new(program);
        command.args(args);
        watch(&socket, &name.to_string_lossy(), command)
    };
    match watched {
        Ok(status) => end_like(status),
        Err(error) => {
            // Nobody is left to tell when standard error is gone.
            let _ = writeln!(io::stderr(), "{PROGRAM}: the program was not started: {error}");
            std::process::exit(EXIT_NOT_STARTED);
        }
    }
}

/// Ends this process as the child ended.
fn end_like(status: ExitStatus) -> ! {
    if let Some(signal) = status.signal() {
        if let Ok(signal) = Signal::try_from(signal) {
            // Returns where this process ignores the signal.
            let _ = raise(signal);
        }
        std::process::exit(EXIT_SIGNALLED + signal);
    }
    std::process::exit(status.code().unwrap_or(EXIT_NOT_STARTED))
}

fn watch(socket: &Path, name: &str, mut command: Command) -> io::Result<ExitStatus> {
    let Some(mut line) = begin(socket, name)? else { return Err(command.exec()) };
    let (ours, theirs) = socketpair(AddressFamily::Unix, SockType::SeqPacket, None, SockFlag::SOCK_CLOEXEC)?;
    let given = fcntl_dupfd_cloexec(&theirs, FIRST_DESCRIPTOR)?;
    drop(theirs);
    fcntl_setfd(&given, FdFlags::empty())?;
    let nonce = nonce()?;
    send(ours.as_raw_fd(), nonce.as_bytes(), MsgFlags::empty())?;
    let child = command.env(VARIABLE, format!("{}:{name}", given.as_raw_fd())).spawn()?;
    drop(given);
    let (ended, waiter) = wait_beside(child)?;
    relay(&ours, &nonce, &ended, &mut line);
    let status = waiter.join().map_err(|_| io::ErrorKind::Other)??;
    finish(&mut line, status);
    Ok(status)
}

/// Says that a run begins. From here on the program cannot read, change or trace this process, nor look at its descriptors.
/// `None`: nobody hears this run.
pub(super) fn begin(socket: &Path, name: &str) -> io::Result<Option<UnixStream>> {
    let mut line = connect(socket)?;
    line.write_all(format!("{name}\n").as_bytes())?;
    let mut answer = [0];
    line.read_exact(&mut answer)?;
    if answer != [WELCOME] {
        return Ok(None);
    }
    prctl::set_dumpable(false)?;
    Ok(Some(line))
}

/// Says what the program said, or what was seen of it, in one message.
pub(super) fn tell(line: &mut UnixStream, message: &str) {
    let message = message.replace(char::is_control, " ");
    // A listener that has heard enough reads no more; the program goes on all the same.
    let _ = line.write_all(format!("{CHILD}{message}\n").as_bytes());
}

/// Says how the program ended.
pub(super) fn finish(line: &mut UnixStream, status: ExitStatus) {
    let end = match status.signal() {
        Some(signal) => format!("{OURS}signal {signal}\n"),
        None => format!("{OURS}exit {}\n", status.code().unwrap_or(EXIT_NOT_STARTED)),
    };
    let _ = line.write_all(end.as_bytes());
    // So that this run is over for the listener before the next one can begin.
    let _ = line.read(&mut [0]);
}

/// By way of the folder: the whole path may be longer than the system takes.
fn connect(socket: &Path) -> io::Result<UnixStream> {
    let folder = File::open(socket.parent().unwrap_or_else(|| Path::new("/")))?;
    let name = socket.file_name().unwrap_or_default();
    UnixStream::connect(Path::new("/proc/self/fd").join(folder.as_raw_fd().to_string()).join(name))
}

fn nonce() -> io::Result<String> {
    let mut bytes = [0; NONCE_BYTES];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

pub(super) type Waiter = std::thread::JoinHandle<io::Result<ExitStatus>>;

/// Waits for a child in a thread; the pipe is closed once it has ended.
pub(super) fn wait_beside(mut child: Child) -> io::Result<(PipeReader, Waiter)> {
    let (reader, writer) = io::pipe()?;
    let waiter = std::thread::spawn(move || {
        let status = child.wait();
        drop(writer);
        status
    });
    Ok((reader, waiter))
}

/// Hands on what the child says until it has ended. A process that it leaves running may hold its descriptor for
/// longer, and says nothing any more.
fn relay(child: &OwnedFd, nonce: &str, ended: &PipeReader, line: &mut UnixStream) {
    let mut closed = false;
    loop {
        let said = if closed { PollFlags::empty() } else { PollFlags::POLLIN };
        let mut watched = [PollFd::new(ended.as_fd(), PollFlags::POLLIN), PollFd::new(child.as_fd(), said)];
        match poll(&mut watched, PollTimeout::NONE) {
            Ok(_) => {}
            Err(Errno::EINTR) => continue,
            // Nothing more is heard, and so no end.
            Err(_) => return,
        }
        let over = watched.first().and_then(PollFd::any).unwrap_or(true);
        closed = closed || hand_on(child, nonce, line);
        if over {
            return;
        }
    }
}

/// Hands on the messages that are there, up to a bound, so that nobody who keeps talking keeps it from seeing an end.
/// Whether no more can come.
fn hand_on(child: &OwnedFd, nonce: &str, line: &mut UnixStream) -> bool {
    let mut bytes = [0; MESSAGE_BYTES];
    for _ in 0..MESSAGES_AT_ONCE {
        let count = match recv(child.as_raw_fd(), &mut bytes, MsgFlags::MSG_DONTWAIT) {
            Ok(count) if count > 0 => count,
            Err(Errno::EAGAIN) => return false,
            Err(Errno::EINTR) => continue,
            Ok(_) | Err(_) => return true,
        };
        let text = String::from_utf8_lossy(bytes.get(..count).unwrap_or_default());
        if let Some(text) = text.strip_prefix(nonce) {
            tell(line, text.trim_start());
        }
    }
    false
}
