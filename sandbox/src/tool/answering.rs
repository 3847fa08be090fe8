//! A confined tool that stays, and answers a line for each line that it is sent.
//!
//! Its caller decides which questions may go to the same process, and when one is replaced: nothing here looks at what
//! is asked and answered.

use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout};

use super::{Confinement, GroupGuard, Limit, Tool, ToolError, confined, exceeded};

/// A tool that was started to be asked. Dropping it kills it and what it started.
///
/// A caller that gets no answer, or an error, drops it: what it says next may belong to an earlier question.
#[derive(Debug)]
#[must_use = "it is killed when it is dropped"]
pub struct AnsweringTool {
    program: String,
    child: Child,
    group: GroupGuard,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    confinement: Confinement,
    answer_cap: usize,
    patience: Duration,
}

/// How a question went that has no error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolAnswer {
    /// The line that it said, without its end.
    Line(Vec<u8>),
    /// It ended without an answer, and within its limits.
    Ended,
}

impl Tool {
    /// Starts it to be asked more than once. Its standard input is a pipe, whatever was given; standard error goes nowhere.
    /// [`Tool::timeout`] and [`Tool::output_cap`] bound each answer, and the confinement the process in its whole life.
    ///
    /// # Errors
    /// It is not confined, cannot be, or does not start.
    pub async fn answering(self) -> Result<AnsweringTool, ToolError> {
        let program = self.name();
        let Some(confinement) = self.confinement.clone() else {
            return Err(ToolError::Confine { program, reason: "only a confined tool stays".to_owned() });
        };
        let mut child = self.spawn(Stdio::piped(), Stdio::piped(), Stdio::null()).await?;
        let group = GroupGuard::of(&child);
        let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(ToolError::Io { program, source: std::io::ErrorKind::BrokenPipe.into() });
        };
        let (answer_cap, patience) = (self.output_cap, self.wall_time());
        Ok(AnsweringTool {
            program,
            child,
            group,
            stdin,
            stdout: BufReader::new(stdout),
            confinement,
            answer_cap,
            patience,
        })
    }
}

impl AnsweringTool {
    /// Sends a line and waits for the answer, one line. `line` has no line end in it. Of all confined tools of this process only
    /// some work at once; one that is not asked takes no such place.
    ///
    /// # Errors
    /// It went over a limit, said too much or more than one line, took too long, or its pipes failed.
    pub async fn ask(&mut self, line: &[u8]) -> Result<ToolAnswer, ToolError> {
        let _place = confined::place().await;
        let patience = self.patience;
        match tokio::time::timeout(patience, self.talk(line)).await {
            Err(_) => Err(ToolError::OverLimit { program: self.program.clone(), limit: Limit::WallTime(patience) }),
            Ok(answered) => answered,
        }
    }

    async fn talk(&mut self, line: &[u8]) -> Result<ToolAnswer, ToolError> {
        let failed = |program: &str, source| ToolError::Io { program: program.to_owned(), source };
        if !self.stdout.buffer().is_empty() {
            let unasked = std::io::Error::other("it spoke without being asked");
            return Err(failed(&self.program, unasked));
        }
        // Both at once: an answer may begin before the question was read to its end.
        let (stdin, stdout) = (&mut self.stdin, &mut self.stdout);
        let mut said = Vec::new();
        // Its end with it: two writes would wake the reader twice.
        let line = [line, b"\n"].concat();
        let send = async {
            let sent = async {
                stdin.write_all(&line).await?;
                stdin.flush().await
            };
            match sent.await {
                // It has ended: how, is seen below.
                Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
                other => other,
            }
        };
        let cap = u64::try_from(self.answer_cap).unwrap_or(u64::MAX).saturating_add(1);
        let mut bounded = stdout.take(cap);
        let receive = bounded.read_until(b'\n', &mut said);
        tokio::try_join!(send, receive).map_err(|source| failed(&self.program, source))?;
        if said.pop_if(|last| *last == b'\n').is_some() {
            return Ok(ToolAnswer::Line(said));
        }
        if said.len() > self.answer_cap {
            return Err(ToolError::OutputLimit { program: self.program.clone(), limit: self.answer_cap });
        }
        let status = self.child.wait().await.map_err(|source| failed(&self.program, source))?;
        self.group.reaped();
        match exceeded(&self.confinement, status) {
            Some(limit) => Err(ToolError::OverLimit { program: self.program.clone(), limit }),
            None => Ok(ToolAnswer::Ended),
        }
    }
}
