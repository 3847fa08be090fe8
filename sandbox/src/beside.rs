//! A program next to this one, with a pipe in and a pipe out: for a program of ours that runs inside the sandbox and speaks with
//! another one there. It confines nothing: both are in the same sandbox. And a person's own program, in their terminal.

use std::ffi::OsStr;
use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use nix::sys::prctl;
use nix::sys::signal::{Signal, kill, killpg, raise};
use nix::unistd::Pid;

/// How often it is looked whether the program has ended.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// A program that was started; killed when this is dropped.
#[derive(Debug)]
pub struct Beside {
    child: Child,
    /// It leads a process group of its own.
    apart: bool,
}

/// The pipes to a program: what it reads, and what it prints. Its standard error is this program's own.
#[derive(Debug)]
pub struct Pipes {
    /// Its standard input.
    pub stdin: ChildStdin,
    /// Its standard output.
    pub stdout: ChildStdout,
}

impl Beside {
    /// Starts a shell command line (`sh -c`) in this directory and with this environment.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn start(line: &str) -> io::Result<(Self, Pipes)> {
        Self::start_in(line, false)
    }

    /// As [`Self::start`], in a process group of its own: signals that it sends to its group do not come here, and the whole
    /// group is killed when this is dropped.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn start_apart(line: &str) -> io::Result<(Self, Pipes)> {
        Self::start_in(line, true)
    }

    fn start_in(line: &str, apart: bool) -> io::Result<(Self, Pipes)> {
        let mut command = Command::new("sh");
        command.args(["-c", line]).stdin(Stdio::piped()).stdout(Stdio::piped());
        if apart {
            command.process_group(0);
        }
        let mut child = command.spawn()?;
        let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(io::ErrorKind::BrokenPipe.into());
        };
        Ok((Self { child, apart }, Pipes { stdin, stdout }))
    }

    /// Asks it to end, with its group if it has one of its own, and says how it ended if it does within this time.
    #[must_use]
    pub fn asked_to_end(&mut self, time: Duration) -> Option<ExitStatus> {
        if let Ok(own) = self.child.id().try_into() {
            let own = Pid::from_raw(own);
            // One that has just ended needs no signal.
            let _ = if self.apart { killpg(own, Signal::SIGTERM) } else { kill(own, Signal::SIGTERM) };
        }
        self.ended_within(time)
    }

    /// How it ended, if it does within this time.
    #[must_use]
    pub fn ended_within(&mut self, time: Duration) -> Option<ExitStatus> {
        let deadline = Instant::now() + time;
        loop {
            match self.child.try_wait() {
                Ok(None) if Instant::now() < deadline => std::thread::sleep(LOOK_EVERY),
                Ok(status) => return status,
                Err(_) => return None,
            }
        }
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        // It may have ended already; its group has its number as long as it was not waited for, or has members left.
        if let Some(group) = self.child.id().try_into().ok().filter(|_| self.apart) {
            let _ = killpg(Pid::from_raw(group), Signal::SIGKILL);
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Runs a person's own shell command line in their terminal, with more words behind it, and waits for its end.
///
/// # Errors
/// It cannot be started.
pub fn in_terminal(line: &str, more: &[&OsStr]) -> io::Result<ExitStatus> {
    let mut command = Command::new("sh");
    command.args(["-c", &format!("{line} \"$@\""), line]).args(more);
    command.status()
}

/// From here on no program of the same user can read, change or trace this process.
///
/// # Errors
/// The system refuses.
pub fn keep_apart() -> io::Result<()> {
    Ok(prctl::set_dumpable(false)?)
}

/// Ends this process as that one ended: by the same signal, or with its exit code, and with `otherwise` where it ended well.
pub fn end_like(status: ExitStatus, otherwise: u8) -> ! {
    // A shell says of a program that a signal ended: 128 and its number.
    let by_shell = status.code().filter(|code| (129..160).contains(code)).map(|code| code - 128);
    if let Some(signal) = status.signal().or(by_shell).and_then(|number| Signal::try_from(number).ok()) {
        // The process goes on where the signal is ignored or handled.
        let _ = raise(signal);
    }
    let code = status.code().filter(|code| *code != 0);
    std::process::exit(code.unwrap_or_else(|| i32::from(otherwise)))
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};

    use super::*;

    #[test]
    fn a_program_is_spoken_with_and_its_end_is_seen() {
        let (mut beside, mut pipes) = Beside::start("read line; echo \"heard $line\"; exit 3").unwrap();
        pipes.stdin.write_all(b"this\n").unwrap();
        let mut printed = String::new();
        pipes.stdout.read_to_string(&mut printed).unwrap();
        assert_eq!(printed, "heard this\n");
        let status = beside.ended_within(Duration::from_secs(30)).unwrap();
        assert_eq!(status.code(), Some(3));
    }

    #[test]
    fn a_command_line_gets_the_words_behind_it() {
        let file = OsStr::new("a file");
        assert_eq!(in_terminal("test 'a file' =", &[file]).unwrap().code(), Some(0));
        assert_eq!(in_terminal("test other =", &[file]).unwrap().code(), Some(1));
    }

    #[test]
    fn a_program_apart_signals_its_own_group_and_takes_it_with_it() {
        let (mut apart, mut pipes) = Beside::start_apart("sleep 600 & kill -KILL 0").unwrap();
        let mut nothing = Vec::new();
        pipes.stdout.read_to_end(&mut nothing).unwrap();
        let status = apart.ended_within(Duration::from_secs(30)).unwrap();
        assert_eq!(status.signal(), Some(Signal::SIGKILL as i32), "and this process goes on");
        let (apart, mut pipes) = Beside::start_apart("sleep 600 & exec sleep 600").unwrap();
        drop(apart);
        pipes.stdout.read_to_end(&mut nothing).unwrap();
        assert!(nothing.is_empty(), "the end of both closes the pipe");
    }

    #[test]
    fn a_program_that_is_asked_to_end_may_put_its_things_away() {
        let (mut apart, mut pipes) = Beside::start_apart(
            "trap 'echo ended; exit 4' TERM; echo begun; while :; do sleep 600 >/dev/null & wait; done",
        )
        .unwrap();
        let mut begun = [0; 6];
        pipes.stdout.read_exact(&mut begun).unwrap();
        let status = apart.asked_to_end(Duration::from_secs(30)).unwrap();
        let mut said = String::new();
        pipes.stdout.read_to_string(&mut said).unwrap();
        assert_eq!((status.code(), said.as_str()), (Some(4), "ended\n"));
    }

    #[test]
    fn a_program_that_goes_on_is_not_waited_for_and_ends_with_its_owner() {
        let (mut beside, mut pipes) = Beside::start("exec sleep 600").unwrap();
        assert_eq!(beside.ended_within(Duration::from_millis(30)), None);
        drop(beside);
        let mut nothing = Vec::new();
        pipes.stdout.read_to_end(&mut nothing).unwrap();
        assert!(nothing.is_empty(), "its end closes the pipe");
    }
}
