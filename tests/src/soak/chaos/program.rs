//! The program: hands over what its case says, in this process and in no sandbox.

use std::{
    fs,
    io::Write as _,
    os::unix::net::UnixStream,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use holdpoint_harness::{
    ask::{Access, AskLine, SOCKET_VARIABLE},
    backend::{Backend, BackendError, BackendResult, BackendTask, CheckedCommand},
    dialect::{self, Continuation, Dialect},
};
use holdpoint_sandbox::{Command, Ended, Network, OutputStream, Profile, RunLimits, Sandbox};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::{book::Book, case::Fault};

/// What the runs of a turn may use up.
const WALL: Duration = Duration::from_secs(3);
const OUTPUT_BYTES: u64 = 64 << 10;
/// The summary of a completion, and the content of a file, that is right or not.
pub(super) const RIGHT: &str = "right";
pub(super) const WRONG: &str = "wrong";
/// SIGKILL.
const KILLED: i32 = 9;

/// Where a build puts its work.
pub(super) fn work_of(waypoint: &str) -> String {
    format!("work/{waypoint}")
}

/// See the module.
#[derive(Debug)]
pub(super) struct Chaos {
    /// What each case does.
    pub(super) book: Arc<Book>,
    /// For the line over which programs ask.
    pub(super) sandbox: Sandbox,
}

/// How a run ended, and what it printed.
struct Printed {
    ended: Ended,
    stdout: Vec<u8>,
    stderr: &'static str,
}

impl Printed {
    fn well(stdout: impl Into<Vec<u8>>) -> Self {
        Self { ended: Ended::Exited(0), stdout: stdout.into(), stderr: "" }
    }

    fn badly(ended: Ended, stderr: &'static str) -> Self {
        Self { ended, stdout: b"working\n".to_vec(), stderr }
    }
}

impl Backend for Chaos {
    async fn check(&self, _: &BackendTask, command: &str, _: Duration) -> Result<CheckedCommand, BackendError> {
        unreachable!("no gate of these flights has checkpoints, and {command:?} is one's command")
    }

    async fn run(
        &self,
        task: BackendTask,
        end: impl Future<Output = ()> + Send,
    ) -> Result<BackendResult, BackendError> {
        let begun = Instant::now();
        let (fault, number) = self.book.run(&task.waypoint);
        if !task.looks {
            write_work(&task, if fault.is_none() { RIGHT } else { WRONG })?;
        }
        let (wall, bytes) = self.limits(&task);
        let answer = |summary: &str| answer(&task, summary).to_string();
        let printed = match fault {
            None => Printed::well(answer(RIGHT)),
            Some(Fault::Corrupt) => Printed::well(corrupted(&answer(WRONG), number)),
            Some(Fault::Truncate) => Printed::well(truncated(&answer(WRONG), number)),
            Some(Fault::Stall) => {
                tokio::select! {
                    () = end => Printed::badly(Ended::Signalled(KILLED), ""),
                    () = tokio::time::sleep(wall) => Printed::badly(Ended::TimedOut, ""),
                }
            }
            Some(Fault::Crash) if number.is_multiple_of(2) => Printed::badly(Ended::Signalled(KILLED), ""),
            Some(Fault::Crash) => Printed::badly(Ended::Exited(3), "Traceback (most recent call last)"),
            Some(Fault::Lie) => Printed::well(lie(&task, number).to_string()),
            Some(Fault::Flood) => {
                let flood = b"and so on\n".iter().copied().cycle().take(usize::try_from(bytes).unwrap_or(usize::MAX));
                Printed { ended: Ended::OutputLimit, stdout: flood.collect(), stderr: "" }
            }
            Some(Fault::Network) => Printed::badly(Ended::Exited(1), "API Error: Request timed out."),
            Some(Fault::Mcp) => {
                task.line.iter().for_each(calls_malformed);
                Printed::well("")
            }
        };
        if let Some(tap) = &task.tap {
            tap.see(OutputStream::Stdout, &printed.stdout);
        }
        Ok(BackendResult {
            command: "chaos".to_owned(),
            prompt: task.prompt,
            said: dialect::read(Dialect::Plain, &printed.stdout, None),
            went_on: false,
            ended: printed.ended,
            stdout: printed.stdout,
            stderr: printed.stderr.as_bytes().to_vec(),
            help_events: Vec::new(),
            duration: begun.elapsed(),
            tree_ended: true,
        })
    }

    fn limits(&self, task: &BackendTask) -> (Duration, u64) {
        (task.wall.map_or(WALL, |wall| wall.min(WALL)), task.output_bytes.map_or(OUTPUT_BYTES, |b| b.min(OUTPUT_BYTES)))
    }

    fn dialect(&self) -> Dialect {
        Dialect::Plain
    }

    fn resumes(&self) -> bool {
        false
    }

    fn conversation(&self, _: &BackendTask) -> Option<Continuation> {
        None
    }

    async fn line(&self, dir: &Path) -> Result<AskLine, BackendError> {
        let opened = AskLine::open(dir, &self.sandbox, Network::Host).await;
        opened.map_err(|source| BackendError::Io { path: dir.to_owned(), source })
    }

    async fn copy(&self, _: &Path, _: &Path) -> bool {
        false
    }
}

fn write_work(task: &BackendTask, text: &str) -> Result<(), BackendError> {
    let path = task.clone.join(work_of(task.waypoint.as_str()));
    let io = |source| BackendError::Io { path: path.clone(), source };
    fs::create_dir_all(path.parent().unwrap_or(&task.clone)).map_err(io)?;
    fs::write(&path, text).map_err(io)
}

/// An envelope that can be used.
fn answer(task: &BackendTask, summary: &str) -> Value {
    let data = if task.looks {
        json!({"outcome": "complete", "summary": summary})
    } else {
        json!({"task_id": task.waypoint, "success": true, "completed_normally": true, "todos": [], "summary": summary})
    };
    json!({"version": "1.0", "component": task.role, "status": "success", "data": data})
}

/// One that is well formed and not true: about something else, or about work that is not done.
fn lie(task: &BackendTask, number: u64) -> Value {
    let mut answer = answer(task, WRONG);
    match (number % 3, task.looks) {
        (0, _) => answer["component"] = json!("somebody"),
        (1, true) => answer["data"]["outcome"] = json!("needs_review"),
        (_, true) => answer["data"] = json!({"outcome": "blocked", "summary": WRONG}),
        (1, false) => answer["data"]["task_id"] = json!("another"),
        // The file is wrong, which only a verifier can see.
        (_, false) => {}
    }
    answer
}

/// A result without one of the characters that hold it together.
pub(super) fn corrupted(text: &str, number: u64) -> String {
    let inside = text.char_indices().skip(1).filter(|(_, c)| matches!(c, '"' | ':' | ','));
    let places: Vec<usize> = inside.map(|(at, _)| at).collect();
    let at = places[usize::try_from(number).unwrap_or_default() % places.len()];
    format!("{}{}", &text[..at], &text[at + 1..])
}

/// A result that breaks off before its end.
pub(super) fn truncated(text: &str, number: u64) -> String {
    let at = 1 + usize::try_from(number).unwrap_or_default() % (text.len() - 2);
    text[..text.floor_char_boundary(at)].to_owned()
}

/// Calls the tool that completes the turn, in ways that are no call. Whether anybody listens is no matter.
fn calls_malformed(access: &Access) {
    let endless = vec![b'x'; 200 << 10];
    let calls: [&[u8]; 4] = [
        b"{\"id\": \"1\", \"ask\": \"complete\", \"completion\": {\"outcome\": \"complete\"\n",
        b"{\"jsonrpc\": \"2.0\", \"id\": 1, \"result\": {\"content\": \"complete\"}}\n",
        b"\xff\xfe\n",
        &endless,
    ];
    for call in calls {
        if let Ok(mut stream) = UnixStream::connect(socket(access)) {
            let _ = stream.set_write_timeout(Some(Duration::from_secs(1)));
            let _ = stream.write_all(call);
        }
    }
}

fn socket(access: &Access) -> PathBuf {
    let profile =
        Profile { read: vec![], write: vec![], deny: vec![], network: Network::Host, limits: RunLimits::default() };
    let mut command = Command::shell(":", Path::new("/"), profile);
    access.grant(&mut command);
    command.env.get(SOCKET_VARIABLE).map(PathBuf::from).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_corrupted_or_breaks_off_is_no_json_any_more() {
        let text = json!({"component": "builder", "status": "success", "data": {"outcome": "complete"}}).to_string();
        for number in 0..500 {
            for bad in [corrupted(&text, number), truncated(&text, number)] {
                assert!(serde_json::from_str::<Value>(&bad).is_err(), "{bad}");
            }
        }
    }
}
