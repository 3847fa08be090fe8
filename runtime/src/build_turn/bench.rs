//! One turn without the broker: clone, run, capture, commit, bundle.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use holdpoint_faults::Step;
use holdpoint_protocol::{
    artifact::{Failure, Metered},
    facts,
    ids::AgentName,
    reason::ReasonCode,
    time::Millis,
    turn::{BuildRequest, Turn, TurnRequest},
};
use holdpoint_sandbox::Ended;
use holdpoint_workspace::{AgentClone, Bundle, CommitMeta, Error as GitError, HANDOFF_REF, Mirror, Oid};
use tracing::{Instrument as _, Span, field, info_span};

use super::{
    answer::{Answer, Said, answer, with_output},
    folder::{FolderError, TurnFolder, TurnFolders},
    hazards::stuck_ignore_file,
    output::evidence,
};
use crate::{
    backend::{
        Backend, BackendError, BackendResult, BackendTask,
        markers::{HelpCall, Question},
        prompt::prompt,
    },
    mirror::{diff_summary, from_wire, path_changes},
    telemetry::{self, ErrorChain, TRACE, fields},
};

/// Who commits are by.
const AUTHOR: (&str, &str) = ("Holdpoint", "holdpoint@localhost");
/// The longest first line of a commit message, in characters: titles are for people.
const SUBJECT_LEN_MAX: usize = 120;

/// What git passes on of the system's words when the machine, and not the repository, is the problem.
const MACHINE_IS_SHORT: [&str; 4] =
    ["No space left on device", "Disk quota exceeded", "Cannot allocate memory", "Input/output error"];

/// Our own failure: the turn is given back and counts as no attempt.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    /// The turn wants something that builders do not do.
    #[error("the turn asks for no build")]
    NotABuildTurn,
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

/// What came of a turn.
#[derive(Debug)]
pub enum Outcome {
    /// Ready for handoff.
    Ready(Box<Ready>),
    /// The turn failed and counts as an attempt.
    Failed(Failure),
    /// The program asks.
    Clarify(Question),
    /// The program calls for help.
    Help(HelpCall),
}

/// What is handed off.
#[derive(Debug)]
pub struct Ready {
    /// The commit on the base, and the thin bundle that brings it; `None` when nothing differs from the base.
    pub work: Option<(Oid, Bundle)>,
    /// The tree as the program left it.
    pub tree: Oid,
    /// What differs from the base.
    pub touched: Vec<facts::PathChange>,
    /// How much.
    pub diff: facts::DiffSummary,
    /// What the program says of it.
    pub said: Said,
}

/// Where turns are worked on, one after another.
#[derive(Debug)]
pub struct Workbench<B> {
    backend: B,
    folders: TurnFolders,
}

impl<B: Backend> Workbench<B> {
    /// A bench with its folders.
    #[must_use]
    pub fn new(backend: B, folders: TurnFolders) -> Self {
        Self { backend, folders }
    }

    /// Does a turn whose objects are in the mirror. When the future is dropped, the program is ended and its files go.
    ///
    /// # Errors
    /// [`BenchError`]. How the program ended and what it left is never an error.
    pub async fn run(&self, turn: &Turn, agent: &AgentName, mirror: &Mirror) -> Result<Built, BenchError> {
        let TurnRequest::Build(request) = &turn.request else { return Err(BenchError::NotABuildTurn) };
        let folder = self.folders.create(&turn.turn_id)?;
        let clone = {
            let _at = holdpoint_faults::at(Step::Clone);
            let (start, dir) = (from_wire(&request.start), folder.clone_dir());
            mirror.clone_for_agent(&start, &dir).instrument(info_span!(target: TRACE, "clone")).await?
        };
        let result = self.invoke(turn, agent, task(turn, request, &folder)?).await?;
        let output = folder.own().join("output");
        write(&output, &evidence(&result))?;
        let criteria: BTreeSet<_> = request.criteria.iter().map(|criterion| criterion.id.clone()).collect();
        let outcome = match answer(&result, &turn.waypoint, &criteria) {
            Answer::Ready(said) => {
                let capture = Capture { turn, request, agent, mirror, folder: &folder, clone };
                let captured = self.capture(&capture, said, &result);
                captured.instrument(info_span!(target: TRACE, "capture")).await?
            }
            Answer::Failed(failure) => Outcome::Failed(failure),
            Answer::Clarify(question) => Outcome::Clarify(question),
            Answer::Help(help) => Outcome::Help(help),
        };
        Ok(Built {
            outcome,
            exit_code: if let Ended::Exited(code) = result.ended { Some(code) } else { None },
            output,
            metered: metered(&result),
            command: result.command,
            _folder: folder,
        })
    }

    /// Runs the program.
    async fn invoke(&self, turn: &Turn, agent: &AgentName, task: BackendTask) -> Result<BackendResult, BenchError> {
        let _at = holdpoint_faults::at(Step::RunProgram);
        let span = invoke_agent(turn, agent);
        let ran = self.backend.run(task).instrument(span.clone()).await;
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

    /// The files as the program left them, or why they cannot be handed off.
    async fn capture(&self, capture: &Capture<'_>, said: Said, result: &BackendResult) -> Result<Outcome, BenchError> {
        let invalid = |why: &dyn std::fmt::Display| {
            let what = format!("what the program left cannot be handed off: {why}");
            let detail = with_output(&what, result);
            Ok(Outcome::Failed(Failure { reason: ReasonCode::HandoffInvalid, detail }))
        };
        let clone = capture.folder.clone_dir();
        let looked = tokio::task::spawn_blocking(move || stuck_ignore_file(&clone)).await;
        match looked.map_err(std::io::Error::other).flatten() {
            Ok(None) => {}
            Ok(Some(path)) => return invalid(&format!("{} is neither a file nor a link", path.display())),
            Err(error) => return invalid(&format!("its files cannot be listed: {error}")),
        }
        match capture.ready(said).await {
            Ok(ready) => Ok(Outcome::Ready(Box::new(ready))),
            Err(error) if blames_the_files(&error) => invalid(&ErrorChain(&error)),
            Err(error) => Err(error.into()),
        }
    }
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

struct Capture<'a> {
    turn: &'a Turn,
    request: &'a BuildRequest,
    agent: &'a AgentName,
    mirror: &'a Mirror,
    folder: &'a TurnFolder,
    clone: AgentClone,
}

impl Capture<'_> {
    async fn ready(&self, said: Said) -> Result<Ready, GitError> {
        let _at = holdpoint_faults::at(Step::Capture);
        let base = from_wire(&self.request.base);
        let tree = self.mirror.capture_clone(&self.clone, &base).await?;
        let base_tree = self.mirror.tree_of(&base).await?;
        if tree == base_tree {
            return Ok(Ready { work: None, tree, touched: Vec::new(), diff: facts::DiffSummary::default(), said });
        }
        let touched = path_changes(&self.mirror.diff(&base_tree, &tree).await?);
        let diff = diff_summary(&self.mirror.diff_summary(&base_tree, &tree).await?);
        let commit = self.mirror.commit_on(&base, &tree, &self.meta()).await?;
        let file = self.folder.own().join("handoff.bundle");
        let bundle = self.mirror.thin_bundle(&base, &commit, HANDOFF_REF, &file).await?;
        Ok(Ready { work: Some((commit, bundle)), tree, touched, diff, said })
    }

    /// The date is the turn's, so that every delivery of the same result gives the same commit but for the agent's name.
    fn meta(&self) -> CommitMeta {
        let Turn { waypoint, role, record, .. } = self.turn;
        let title = self.request.title.split_whitespace().collect::<Vec<_>>().join(" ");
        let subject: String = format!("{waypoint}: {title}").chars().take(SUBJECT_LEN_MAX).collect();
        let agent = self.agent;
        CommitMeta {
            name: AUTHOR.0.to_owned(),
            email: AUTHOR.1.to_owned(),
            epoch_seconds: u64::try_from(record.at.as_seconds()).unwrap_or_default(),
            message: format!("{}\n\nCo-authored-by: {role} {agent} <{agent}@localhost>\n", subject.trim_end()),
        }
    }
}

/// Writes the turn's input files and says what the program has to do.
fn task(turn: &Turn, request: &BuildRequest, folder: &TurnFolder) -> Result<BackendTask, BenchError> {
    let turn_file = folder.input().join("turn.json");
    write(&turn_file, &json(turn))?;
    let mut feedback_file = None;
    if let Some(feedback) = &request.feedback {
        let file = folder.input().join("feedback.json");
        write(&file, &json(feedback))?;
        feedback_file = Some(file);
    }
    Ok(BackendTask {
        flight: turn.flight.clone(),
        waypoint: turn.waypoint.clone(),
        role: turn.role.clone(),
        attempt: turn.attempt,
        clone: folder.clone_dir(),
        scratch: folder.scratch(),
        turn_file,
        feedback_file,
        prompt: prompt(turn, request),
        wall: request.budget.wall.map(Millis::duration),
        output_bytes: request.budget.output,
    })
}

fn json(value: &impl serde::Serialize) -> Vec<u8> {
    serde_json::to_vec_pretty(value).expect("plain data with text keys has a JSON form")
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), BenchError> {
    std::fs::write(path, bytes).map_err(|source| BenchError::Write { path: path.to_owned(), source })
}

fn metered(result: &BackendResult) -> Metered {
    let output_bytes = (result.stdout.len() + result.stderr.len()) as u64;
    Metered { wall: result.duration.into(), output_bytes, tokens: None, cost_usd: None, tool_calls: None }
}

/// Whether the program's files are at fault and not our machine: trying the same again would give the same.
fn blames_the_files(error: &GitError) -> bool {
    let about_git = matches!(error, GitError::Git { .. } | GitError::Unexpected { .. }) && !error.is_retryable();
    error.is_refusal() || (about_git && !is_short_of_something(error))
}

/// Whether git says that the machine has no room left.
fn is_short_of_something(error: &GitError) -> bool {
    let text = ErrorChain(error).to_string();
    MACHINE_IS_SHORT.iter().any(|words| text.contains(words))
}
