//! One turn without the broker: clone, run, capture, commit, bundle.

use std::path::{Path, PathBuf};

use holdpoint_bus::blobs::BlobError;
use holdpoint_faults::Step;
use holdpoint_outline::OutlineHelper;
use holdpoint_planfile::exchange::HandoffRules;
use holdpoint_protocol::{
    artifact::{Failure, IgnoredMarker, Metered},
    checkpoint::GateDocument,
    facts::Oid,
    ids::AgentName,
    reason::ReasonCode,
    turn::{BuildRequest, Turn, TurnRequest},
};
use holdpoint_runtime::{
    clock,
    mirror::{from_wire, to_wire},
    telemetry::{self, TRACE, fields},
};
use holdpoint_sandbox::{Ended, room};
use holdpoint_workspace::{AgentClone, IgnoreRules, Mirror, ObjectId, WorkspaceError};
use tracing::{Instrument as _, Span, field, info_span};

use super::{
    answer::{said_nothing, settled},
    capture::{Capture, Files},
    checkpoints::Checkpoints,
    documents::Documents,
    exchanged::{Came, Course, Exchanged},
    folder::{AgentFolderError, LeftBehind, TurnFolder, TurnFolders},
    outcome::{BuildTurnOutcome, WorkReader, outcome},
    output::last_words,
    so_far::SoFar,
    standing::StandingRefusal,
    task::{Brief, task},
};
use crate::{
    ask::{self, Desk, Inside, PrintListener, ProgramAsks, parts::MAP_FILE},
    backend::{
        Backend, BackendError, BackendResult, BackendTask, CommandBackend, Transcript,
        prompt::{prompt, sections::Worth},
    },
    context::{RepositoryContext, TurnSubject},
    dialect::Continuation,
    exchange::{Expected, RulesError, rules_at, stall::Stall},
    meter,
};

/// What ends a turn that makes work besides an envelope.
const MARKER: &str = "Or print the marker `waypoint-complete` with the waypoint's id in it, and name in `acceptance-criterion` only criteria that exist.";

/// Our own failure: the turn is given back and counts as no attempt.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// The turn wants something else.
    #[error("the turn asks for nothing that this agent does")]
    NotOurs,
    /// The turn's folders cannot be used.
    #[error(transparent)]
    Folder(#[from] AgentFolderError),
    /// A file of the turn cannot be written.
    #[error("cannot write {}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
    /// A document of an earlier gate cannot be fetched.
    #[error("cannot fetch a document of an earlier gate")]
    Document(#[source] BlobError),
    /// The disk that the program works on is full, which is no fault of its own.
    #[error("its program found no room")]
    NoRoom(#[source] std::io::Error),
    /// The program could not be run.
    #[error(transparent)]
    Backend(#[from] BackendError),
    /// Git failed us.
    #[error("git failed")]
    Git(#[from] WorkspaceError),
}

impl BuildError {
    pub(crate) fn no_room() -> Self {
        Self::NoRoom(room::none_left())
    }
}

/// A turn that came to its end. Its files live as long as this.
#[derive(Debug)]
pub struct Built {
    /// What came of it.
    pub outcome: BuildTurnOutcome,
    /// The document that did not meet its gate, of a turn that failed because of that.
    pub unready: Option<Box<GateDocument>>,
    /// The command line that was run.
    pub command: String,
    /// Its exit code; `None` when a signal or a limit ended it.
    pub exit_code: Option<i32>,
    /// The file with the whole output.
    pub output: PathBuf,
    /// What was metered.
    pub metered: Metered,
    /// The agent's last words.
    pub last_words: Option<String>,
    /// Markers of its last run that said nothing.
    pub markers_ignored: Vec<IgnoredMarker>,
    /// The conversation of a program that asked, and its transcript, where it can go along.
    pub talk: Option<(Continuation, Transcript)>,
    folder: TurnFolder,
}

impl Built {
    /// What came of the turn is stored: its files go with this.
    pub(super) fn over(&self) {
        self.folder.over();
    }
}

/// Where turns are worked on, one after another.
#[derive(Debug)]
pub struct Workbench<B = CommandBackend> {
    pub(crate) backend: B,
    pub(crate) folders: TurnFolders,
    /// What the provider of its program's model refused with last.
    pub(crate) refusal: StandingRefusal,
    outline: Option<OutlineHelper>,
}

impl<B: Backend> Workbench<B> {
    /// A workbench with its folders.
    #[must_use]
    pub fn new(backend: B, folders: TurnFolders) -> Self {
        Self { backend, folders, refusal: StandingRefusal::default(), outline: None }
    }

    /// With a helper that outlines source files for the map of the repository.
    #[must_use]
    pub fn outlining(self, outline: Option<OutlineHelper>) -> Self {
        Self { outline, ..self }
    }

    /// Does a turn whose objects are in the mirror. Questions that wait do so at the desk. When the future is dropped, or fails after the
    /// program began, the program is ended, and the next delivery of the turn starts from its files.
    ///
    /// # Errors
    /// [`BuildError`]. How the program ended and what it left is never an error.
    pub async fn run(
        &self,
        turn: &Turn,
        agent: &AgentName,
        mirror: &Mirror,
        desk: &dyn Desk,
    ) -> Result<Built, BuildError> {
        let built = Box::pin(self.run_to_store(turn, agent, mirror, desk, None)).await?;
        built.over();
        Ok(built)
    }

    /// As [`Workbench::run`]; the files stay for another delivery until the caller says that the turn is [over](Built::over). With a
    /// note of the turn, they can be handed over where it has no other delivery here.
    pub(super) async fn run_to_store(
        &self,
        turn: &Turn,
        agent: &AgentName,
        mirror: &Mirror,
        desk: &dyn Desk,
        note: Option<&LeftBehind>,
    ) -> Result<Built, BuildError> {
        let TurnRequest::Build(request) = &turn.request else { return Err(BuildError::NotOurs) };
        let begins_with = begins_with(turn, request);
        let folder = self.folders.create_again(&turn.flight, &turn.waypoint, &begins_with)?;
        if let Some(failure) = self.refusal.speaks_for(turn.record.at, clock::now()) {
            return refused(folder, failure);
        }
        let request =
            &BuildRequest { start: self.start((turn, request), agent, mirror, &folder).await, ..*request.clone() };
        let (clone, context) = self.lay_out(mirror, request, &folder).await?;
        if let Some(note) = note {
            folder.note(note)?;
        }
        folder.begin(&begins_with)?;
        let keep = || async {
            let (from, to) = (folder.clone_dir(), copied(&folder));
            std::fs::create_dir(&to).is_ok() && self.backend.copy(&from, &to).await
        };
        let so_far = SoFar::of(mirror, request, &folder).await?;
        let documents = Documents::lay_out(&request.documents, desk, &folder).await?;
        let brief = Brief {
            feedback: request.feedback.as_ref(),
            prompt: String::new(),
            budget: request.budget.clone(),
            looks: false,
            keeps: true,
            diff_file: so_far.file(),
            documents: documents.folder(),
        };
        let mut task = task(turn, &folder, brief)?;
        task.go_on = self.backend.conversation(&task);
        let mut sections = prompt(turn, request, &context);
        documents.add_to(&mut sections);
        if task.go_on.is_none() {
            sections.add(Worth::SoFar, |text| so_far.push_section(text));
        }
        task.prompt = sections.within(self.backend.prompt_bytes_max());
        let repository = context.repository(mirror, from_wire(&request.start));
        let metered = meter::can_be_metered(turn.allowance.as_ref(), (self.backend.dialect(), self.backend.price()));
        let rules = match rules(mirror, &request.base).await?.and_then(|rules| metered.map(|()| rules)) {
            Ok(rules) => rules,
            Err(failure) => return refused(folder, failure),
        };
        let criteria = request.criteria.iter().map(|criterion| criterion.id.clone()).collect();
        let expected = Expected::work(&turn.role, &turn.waypoint, criteria, &rules).demanding(&request.context.demands);
        let repository = Some(&repository);
        let course = Course { turn, agent, desk, folder: &folder, repository, expected: &expected, instead: MARKER };
        let mut ignored = request.ignore.clone();
        let start = from_wire(&request.start);
        task.underlay = self.backend.underlay(&request.environment, (mirror, &start), &folder.own()).await?;
        if let Some(underlay) = &task.underlay {
            let under = |source| BuildError::Write { path: underlay.dir.clone(), source };
            let entries = mirror.list_tree(&start).await?;
            let tracked = entries.iter().filter_map(|entry| entry.path.as_str()).collect();
            ignored.extend(underlay.ignored(&tracked).map_err(under)?);
            underlay.lay(&folder.clone_dir()).map_err(under)?;
        }
        let mirror = &self.ignoring(mirror, &start, ignored);
        let bundle = folder.own().join("handoff.bundle");
        let files = Files::Clone(&clone, folder.clone_dir());
        let capture = Capture { turn, request, agent, mirror, bundle, files };
        let quick = rules.settings.quit_too_quickly_below;
        let checkpoints = Checkpoints { demands: &request.context.demands, backend: &self.backend, task: &task };
        let reader = WorkReader { capture: &capture, expected: &expected, checkpoints, quick };
        let exchanged = Box::pin(self.exchanged(&course, &task, keep, &reader)).await?;
        let Exchanged { result, came, output: printed, metered, unready } = exchanged;
        let output = folder.own().join("output");
        write(&output, &printed)?;
        // Files that something still runs on may change while they are read, but for a copy of them.
        let is_copied = matches!(&came, Came::Asked(ProgramAsks { kept: true, .. }));
        let is_copied = is_copied || (!result.tree_ended && keep().await);
        let files = if is_copied { Files::Copy(copied(&folder)) } else { capture.files };
        let settled = result.tree_ended || matches!(files, Files::Copy(_));
        let capture = Capture { files, ..capture };
        let (outcome, unready) = Box::pin(outcome(&capture, came, settled)).await?.after(unready);
        let asks = matches!(outcome, BuildTurnOutcome::Clarify(..) | BuildTurnOutcome::Help(..)) && result.tree_ended;
        let talk = asks.then(|| self.backend.conversation(&task)).flatten();
        let talk = talk.and_then(|talk| self.backend.transcript(&task, &talk).map(|transcript| (talk, transcript)));
        Ok(Built {
            outcome,
            unready,
            exit_code: if let Ended::Exited(code) = result.ended { Some(code) } else { None },
            output,
            metered,
            last_words: last_words(result.said.answer()),
            markers_ignored: said_nothing(&result, &turn.waypoint),
            command: result.command,
            talk,
            folder,
        })
    }

    /// The repository whose captures leave out what is no work here. What earlier attempts handed off is, whatever this program leaves
    /// for itself.
    pub(super) fn ignoring(&self, mirror: &Mirror, start: &ObjectId, flight: Vec<String>) -> Mirror {
        mirror.ignoring(IgnoreRules { program: self.backend.ignored().to_vec(), flight }, start)
    }

    /// Where the turn starts: from the files of a delivery of it that was interrupted here, where there are any.
    async fn start(
        &self,
        (turn, request): (&Turn, &BuildRequest),
        agent: &AgentName,
        mirror: &Mirror,
        folder: &TurnFolder,
    ) -> Oid {
        let start = request.start.clone();
        let Some(left) = folder.left() else { return start };
        let mirror = &self.ignoring(mirror, &from_wire(&request.start), request.ignore.clone());
        let bundle = folder.own().join("left.bundle");
        let left = Capture { turn, request, agent, mirror, bundle, files: Files::Copy(left) };
        match left.unfinished().await {
            Ok((Some((commit, _)), _)) => to_wire(&commit),
            Ok((None, _)) => start,
            Err(error) => {
                tracing::warn!(error = %telemetry::ErrorChain(&error), "the files of an interrupted delivery cannot be read");
                start
            }
        }
    }

    /// Makes the clone, and meanwhile what its program learns of it beforehand.
    async fn lay_out(
        &self,
        mirror: &Mirror,
        request: &BuildRequest,
        folder: &TurnFolder,
    ) -> Result<(AgentClone, RepositoryContext), BuildError> {
        let (start, dir, subject) = (from_wire(&request.start), folder.clone_dir(), TurnSubject::from(request));
        let clone = async {
            let _at = holdpoint_faults::at(Step::Clone);
            mirror.clone_for_agent(&start, &dir).await
        };
        let context = RepositoryContext::of(mirror, &subject, self.outline.as_ref());
        let (clone, context) = tokio::join!(
            clone.instrument(info_span!(target: TRACE, "clone")),
            context.instrument(info_span!(target: TRACE, "context")),
        );
        let (clone, context) = (clone?, context?);
        write(&folder.input().join(MAP_FILE), context.map.as_bytes())?;
        Ok((clone, context))
    }

    /// Runs the program and listens to what it asks meanwhile. The tree at the time of its request is kept before it
    /// hears of it, so that nothing it does later counts. A program that is stuck is ended, with everything it started.
    pub(crate) async fn attended(
        &self,
        turn: &Turn,
        agent: &AgentName,
        task: BackendTask,
        keep: impl Future<Output = bool>,
        inside: &mut Inside<'_>,
        (dir, stall): (PathBuf, &Stall),
    ) -> Result<(BackendResult, Option<ProgramAsks>), BuildError> {
        let mut line = self.backend.line(&dir).await?;
        let printed = PrintListener::of(self.backend.dialect(), task.go_on.as_ref(), &task.prompt);
        let tap = Some(printed.tap(Some(stall.tap(task.tap.clone()))));
        let task = BackendTask { line: Some(line.access().clone()), tap, ..task };
        let (ending, end) = ask::ending();
        let (stuck, desk) = (stall.clone().over(), inside.desk());
        let end = async {
            tokio::select! {
                () = end => {}
                () = stuck => {}
                _ = desk.over() => {}
            }
        };
        let run = self.invoke(turn, agent, task, end);
        let (result, heard) = ask::attend(&mut line, inside, &printed, keep, ending, run).await;
        let result = BackendResult { help_events: printed.end(), ..result? };
        let heard = heard.map(|heard| ProgramAsks { ask: settled(heard.ask, &result, &turn.waypoint), ..heard });
        Ok((result, heard))
    }

    /// Runs the program.
    async fn invoke(
        &self,
        turn: &Turn,
        agent: &AgentName,
        task: BackendTask,
        end: impl Future<Output = ()> + Send,
    ) -> Result<BackendResult, BuildError> {
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

/// What a turn starts from, in words that only a delivery of the same attempt from the same commits has.
fn begins_with(turn: &Turn, BuildRequest { base, start, .. }: &BuildRequest) -> String {
    format!("{} {base} {start}", turn.attempt)
}

/// Where the copy is that was made when the program asked.
fn copied(folder: &TurnFolder) -> PathBuf {
    folder.own().join("copy")
}

/// What the project asks of exchanges; the inner error is the project's own.
pub(crate) async fn rules(mirror: &Mirror, base: &Oid) -> Result<Result<HandoffRules, Failure>, BuildError> {
    match rules_at(mirror, &from_wire(base)).await {
        Ok(rules) => Ok(Ok(rules)),
        Err(RulesError::Git(error)) => Err(error.into()),
        Err(wrong @ (RulesError::Wrong(_) | RulesError::TooLarge)) => {
            Ok(Err(Failure { reason: ReasonCode::Unsupported, detail: format!("no program was run: {wrong}") }))
        }
    }
}

/// A turn in which nothing was run.
fn refused(folder: TurnFolder, failure: Failure) -> Result<Built, BuildError> {
    let output = folder.own().join("output");
    write(&output, failure.detail.as_bytes())?;
    Ok(Built {
        outcome: BuildTurnOutcome::Failed(failure, None, Vec::new()),
        unready: None,
        command: String::new(),
        exit_code: None,
        output,
        metered: meter::nothing(),
        last_words: None,
        markers_ignored: Vec::new(),
        talk: None,
        folder,
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

pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<(), BuildError> {
    std::fs::write(path, bytes).map_err(|source| BuildError::Write { path: path.to_owned(), source })
}
