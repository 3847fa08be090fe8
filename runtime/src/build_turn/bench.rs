//! One turn without the broker: clone, run, capture, commit, bundle.

use std::path::{Path, PathBuf};

use holdpoint_faults::Step;
use holdpoint_protocol::{
    artifact::{Failure, Metered},
    ids::AgentName,
    turn::{BuildRequest, Turn, TurnRequest},
};
use holdpoint_sandbox::Ended;
use holdpoint_workspace::{Error as GitError, Mirror};
use tracing::{Instrument as _, Span, field, info_span};

use super::{
    answer::{Answer, Wanted, answer},
    capture::{Capture, Files, Ready, Work},
    folder::{FolderError, TurnFolder, TurnFolders},
    output::evidence,
    task::{Brief, task},
};
use crate::{
    ask::{self, Ask, Desk, Heard},
    backend::{
        Backend, BackendError, BackendResult, BackendTask, markers::HelpCall, prompt::prompt, question::Question,
    },
    mirror::from_wire,
    telemetry::{self, TRACE, fields},
};

/// Our own failure: the turn is given back and counts as no attempt.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    /// The turn wants something else.
    #[error("the turn asks for nothing that this agent does")]
    NotOurs,
    /// The turn's folders cannot be used.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// A file of the turn cannot be written.
    #[error("cannot write {}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
    /// The program could not be run.
    #[error(transparent)]
    Backend(#[from] BackendError),
    /// Git failed us.
    #[error("git failed")]
    Git(#[from] GitError),
}

/// A turn that came to its end. Its files live as long as this.
#[derive(Debug)]
pub struct Built {
    /// What came of it.
    pub outcome: Outcome,
    /// The command line that was run.
    pub command: String,
    /// Its exit code; `None` when a signal or a limit ended it.
    pub exit_code: Option<i32>,
    /// The file with the whole output.
    pub output: PathBuf,
    /// What was metered.
    pub metered: Metered,
    _folder: TurnFolder,
}

/// What came of a turn. With a question and a call for help goes what there was then.
#[derive(Debug)]
pub enum Outcome {
    /// Ready for handoff.
    Ready(Box<Ready>),
    /// The turn failed and counts as an attempt.
    Failed(Failure),
    /// The program asks.
    Clarify(Question, Option<Work>),
    /// The program calls for help.
    Help(HelpCall, Option<Work>),
}

/// Where turns are worked on, one after another.
#[derive(Debug)]
pub struct Workbench<B> {
    backend: B,
    pub(crate) folders: TurnFolders,
}

impl<B: Backend> Workbench<B> {
    /// A bench with its folders.
    #[must_use]
    pub fn new(backend: B, folders: TurnFolders) -> Self {
        Self { backend, folders }
    }

    /// Does a turn whose objects are in the mirror. Questions that wait do so at the desk. When the future is dropped, the program is ended and its files go.
    ///
    /// # Errors
    /// [`BenchError`]. How the program ended and what it left is never an error.
    pub async fn run(
        &self,
        turn: &Turn,
        agent: &AgentName,
        mirror: &Mirror,
        desk: &dyn Desk,
    ) -> Result<Built, BenchError> {
        let TurnRequest::Build(request) = &turn.request else { return Err(BenchError::NotOurs) };
        let folder = self.folders.create(&turn.turn_id)?;
        let clone = {
            let _at = holdpoint_faults::at(Step::Clone);
            let (start, dir) = (from_wire(&request.start), folder.clone_dir());
            mirror.clone_for_agent(&start, &dir).instrument(info_span!(target: TRACE, "clone")).await?
        };
        // Boxed, as the program's run is large.
        let keep = async {
            let (from, to) = (folder.clone_dir(), copied(&folder));
            std::fs::create_dir(&to).is_ok() && self.backend.copy(&from, &to).await
        };
        let brief = Brief {
            feedback: request.feedback.as_ref(),
            prompt: prompt(turn, request),
            budget: request.budget.clone(),
            looks: false,
            diff_file: None,
        };
        let task = task(turn, &folder, brief)?;
        let (result, heard) = Box::pin(self.attended(turn, agent, task, &folder, keep, desk)).await?;
        let output = folder.own().join("output");
        write(&output, &evidence(&result))?;
        let (said, files) = match heard {
            Some(Heard { ask, kept }) => (said_over_the_line(ask), kept.then(|| Files::Copy(copied(&folder)))),
            None => (answer(&result, &wanted(turn, request)), None),
        };
        let files = files.unwrap_or(Files::Clone(&clone));
        let settled = result.tree_ended || matches!(files, Files::Copy(_));
        let capture = Capture { turn, request, agent, mirror, folder: &folder, files };
        let outcome = Box::pin(outcome(&capture, said, &result, settled));
        let outcome = outcome.instrument(info_span!(target: TRACE, "capture")).await?;
        Ok(Built {
            outcome,
            exit_code: if let Ended::Exited(code) = result.ended { Some(code) } else { None },
            output,
            metered: metered(&result),
            command: result.command,
            _folder: folder,
        })
    }

    /// Runs the program and listens to what it asks meanwhile. What there is when it asks is kept before it hears of it, so
    /// that nothing it does later counts.
    pub(crate) async fn attended(
        &self,
        turn: &Turn,
        agent: &AgentName,
        task: BackendTask,
        folder: &TurnFolder,
        keep: impl Future<Output = bool>,
        desk: &dyn Desk,
    ) -> Result<(BackendResult, Option<Heard>), BenchError> {
        let mut line = self.backend.line(&folder.line()).await?;
        let task = BackendTask { line: Some(line.access().clone()), ..task };
        let (ending, end) = ask::ending();
        let (result, heard) = ask::attend(&mut line, desk, keep, ending, self.invoke(turn, agent, task, end)).await;
        Ok((result?, heard))
    }

    /// Runs the program.
    async fn invoke(
        &self,
        turn: &Turn,
        agent: &AgentName,
        task: BackendTask,
        end: impl Future<Output = ()> + Send,
    ) -> Result<BackendResult, BenchError> {
        let _at = holdpoint_faults::at(Step::RunProgram);
        let span = invoke_agent(turn, agent);
        let ran = self.backend.run(task, end).instrument(span.clone()).await;
        match &ran {
            Ok(BackendResult { ended: Ended::Exited(code), .. }) => {
                span.record(fields::EXIT_CODE, *code);
                if *code != 0 {
                    telemetry::fail(&span, "the program failed");
                }
            }
            Ok(_) => telemetry::fail(&span, "a signal or a limit ended the program"),
            Err(_) => telemetry::fail(&span, "the program could not be run"),
        }
        Ok(ran?)
    }
}

/// Where the copy is that was made when the program asked.
fn copied(folder: &TurnFolder) -> PathBuf {
    folder.own().join("copy")
}

fn wanted<'a>(turn: &'a Turn, request: &BuildRequest) -> Wanted<'a> {
    let criteria = request.criteria.iter().map(|criterion| criterion.id.clone()).collect();
    Wanted { waypoint: &turn.waypoint, criteria, ask_below: request.ask_below }
}

fn said_over_the_line(ask: Ask) -> Answer {
    match ask {
        Ask::Question(question) => Answer::Clarify(question),
        Ask::Help(call) => Answer::Help(call),
    }
}

/// What came of the turn, with the files as they are. Those that may still change (`settled` is false) go with nothing.
async fn outcome(
    capture: &Capture<'_>,
    said: Answer,
    result: &BackendResult,
    settled: bool,
) -> Result<Outcome, BenchError> {
    let unfinished = async || if settled { capture.unfinished().await } else { Ok(None) };
    Ok(match said {
        Answer::Ready(said) => match capture.finished(said, result).await? {
            Ok(ready) => Outcome::Ready(Box::new(ready)),
            Err(failure) => Outcome::Failed(failure),
        },
        Answer::Failed(failure) => Outcome::Failed(failure),
        Answer::Clarify(question) => Outcome::Clarify(question, unfinished().await?),
        Answer::Help(call) => Outcome::Help(call, unfinished().await?),
    })
}

/// The span of one run of an agent's program.
fn invoke_agent(turn: &Turn, agent: &AgentName) -> Span {
    info_span!(
        target: TRACE, "invoke_agent", otel.name = format!("invoke_agent {agent}"),
        { fields::GEN_AI_OPERATION } = "invoke_agent", { fields::GEN_AI_AGENT_NAME } = %agent,
        { fields::GEN_AI_AGENT_ID } = %agent,
        { fields::GEN_AI_CONVERSATION } = format!("{}/{}", turn.flight, turn.waypoint),
        { fields::ROLE } = %turn.role, { fields::ATTEMPT } = i64::from(turn.attempt), { fields::EXIT_CODE } = field::Empty,
    )
}

pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<(), BenchError> {
    std::fs::write(path, bytes).map_err(|source| BenchError::Write { path: path.to_owned(), source })
}

fn metered(result: &BackendResult) -> Metered {
    let output_bytes = (result.stdout.len() + result.stderr.len()) as u64;
    Metered { wall: result.duration.into(), output_bytes, tokens: None, cost_usd: None, tool_calls: None }
}
