//! A command of the test's in a process group of its own, and the end of what it prints.

use std::{
    collections::VecDeque,
    io::{self, Read as _},
    process::{ChildStdout, ExitStatus},
    sync::{
        Arc, Mutex, PoisonError,
        mpsc::{self, Receiver},
    },
    time::Duration,
};

use holdpoint_evidence::over_http::{LOG_BYTES_MAX, PORT_VARIABLE, word};
use holdpoint_sandbox::beside::{Beside, Pipes};

/// How long the last of an output may take to come once the group was killed. A process that left the group may hold the pipe for longer.
const LAST_WORDS: Duration = Duration::from_secs(1);
/// Bytes that are read at once.
const PIPE_BYTES: usize = 64 << 10;

/// A running command; it and its group are killed when this goes.
#[derive(Debug)]
pub(super) struct Attached {
    beside: Beside,
    ended: Option<ExitStatus>,
    printed: Arc<Mutex<Printed>>,
    /// Nothing comes over it; it ends with the output.
    output: Receiver<()>,
}

impl Attached {
    /// Starts a command with this port, below a shell that is the one its parent: signals of the command to its parent, and to
    /// its group, do not come here.
    pub(super) fn start(command: &str, port: u16) -> io::Result<Self> {
        let line = format!(
            "exec </dev/null 2>&1; {PORT_VARIABLE}={port}; export {PORT_VARIABLE}; sh -c {}; exit $?",
            word(command)
        );
        let (beside, Pipes { stdin, stdout }) = Beside::start_apart(&line)?;
        drop(stdin);
        let printed = Arc::<Mutex<Printed>>::default();
        let kept = Arc::clone(&printed);
        let (reading, output) = mpsc::channel();
        std::thread::spawn(move || {
            read(stdout, &kept);
            drop(reading);
        });
        Ok(Self { beside, ended: None, printed, output })
    }

    /// How it ended, if it has.
    pub(super) fn ended(&mut self) -> Option<ExitStatus> {
        self.ended_within(Duration::ZERO)
    }

    /// How it ended, if it does within this time.
    pub(super) fn ended_within(&mut self, time: Duration) -> Option<ExitStatus> {
        if self.ended.is_none() {
            self.ended = self.beside.ended_within(time);
        }
        self.ended
    }

    /// Ends it and its group: the end of what it printed, and the number of bytes before.
    pub(super) fn end(self) -> (String, u64) {
        let Self { beside, printed, output, .. } = self;
        drop(beside);
        // It ends, or its time is over: both are an error here.
        let _ = output.recv_timeout(LAST_WORDS);
        let printed = printed.lock().unwrap_or_else(PoisonError::into_inner);
        printed.text()
    }
}

fn read(mut output: ChildStdout, kept: &Mutex<Printed>) {
    let mut bytes = vec![0; PIPE_BYTES];
    loop {
        match output.read(&mut bytes) {
            Ok(0) => return,
            Ok(count) => {
                let bytes = bytes.get(..count).unwrap_or_default();
                kept.lock().unwrap_or_else(PoisonError::into_inner).keep(bytes);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return,
        }
    }
}

/// The end of an output, of a bounded size.
#[derive(Debug, Default)]
struct Printed {
    end: VecDeque<u8>,
    before: u64,
}

impl Printed {
    fn keep(&mut self, bytes: &[u8]) {
        self.end.extend(bytes);
        let over = self.end.len().saturating_sub(LOG_BYTES_MAX);
        self.end.drain(..over);
        self.before += over as u64;
    }

    /// Its whole lines, where something before them is left out.
    fn text(&self) -> (String, u64) {
        let bytes: Vec<u8> = self.end.iter().copied().collect();
        let first = bytes.iter().position(|byte| *byte == b'\n').filter(|_| self.before > 0).map_or(0, |at| at + 1);
        let text = String::from_utf8_lossy(bytes.get(first..).unwrap_or_default()).into_owned();
        (text, self.before + first as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_long_output_the_last_whole_lines_are_kept() {
        let mut printed = Printed::default();
        printed.keep(b"a\nb");
        assert_eq!(printed.text(), ("a\nb".to_owned(), 0));
        let line = format!("{}\n", "x".repeat(999));
        for _ in 0..1_000 {
            printed.keep(line.as_bytes());
            assert!(printed.end.len() <= LOG_BYTES_MAX);
        }
        let (text, before) = printed.text();
        assert_eq!(text, line.repeat(65));
        assert_eq!(before, 3 + 935_000);
    }

    #[test]
    fn a_command_gets_its_port_and_signals_itself_alone() {
        let mut attached =
            Attached::start("echo \"port $PORT\"; echo beside >&2; kill -9 $PPID; sleep 600", 4_711).unwrap();
        assert!(attached.ended_within(Duration::from_secs(30)).is_some_and(|status| !status.success()));
        assert_eq!(attached.end(), ("port 4711\nbeside\n".to_owned(), 0));
    }
}
