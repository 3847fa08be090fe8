//! One turn without the broker: checkout, patch, run, answer.

use std::path::PathBuf;

use holdpoint_engine::completion::ValidCompletion;
use holdpoint_planfile::exchange::HandoffRules;
use holdpoint_protocol::{
    artifact::{Failure, IgnoredMarker, Metered},
    checkpoint::GateDocument,
    ids::AgentName,
    turn::{CompletionRequest, Turn, TurnRequest},
};
use holdpoint_runtime::{clock, mirror::from_wire, set_aside::set_aside, telemetry::TRACE};
use holdpoint_workspace::Mirror;
use tracing::{Instrument as _, info_span};

use super::{
    answer::{Answer, Held, answer},
    prompt::{Shown, prompt},
};
use crate::{
    ask::{Ask, Completed, Desk},
    backend::{Backend, BackendResult},
    build_turn::{
        BuildError, TurnFolder, Workbench,
        answer::said_nothing,
        documents::Documents,
        exchanged::{Came, Course, Exchanged, Read, RunReader},
        task::{Brief, task},
        workbench::{rules, write},
    },
    context::pull::Repository,
    exchange::{Expected, Unready, document, envelope::Before},
    meter,
};

/// The longest patch that is made, in bytes: more than this nobody reads.
const PATCH_BYTES_MAX: usize = 8 << 20;

/// What completes a gate besides an envelope.
const COMPLETION: &str = "Or call `holdpoint-ask complete`, or print the completion by itself: an object with `outcome`, `summary` and `blockers`.";

/// A turn that came to its end. Its files live as long as this.
#[derive(Debug)]
pub struct CompletedTurn {
    /// What came of it.
    pub outcome: CompleteTurnOutcome,
    /// The file with the whole output.
    pub output: PathBuf,
    /// What was metered.
    pub metered: Metered,
    /// Markers in its output that say nothing where they are.
    pub markers_ignored: Vec<IgnoredMarker>,
    _folder: TurnFolder,
}

/// What came of a turn.
#[derive(Debug)]
pub enum CompleteTurnOutcome {
    /// The gate is completed.
    Completed {
        /// What the program says.
        said: ValidCompletion,
        /// Whether it named the outcome itself.
        named: bool,
    },
    /// The turn failed; with the document that did not meet its gate, where that is why.
    Failed(Failure, Option<Box<GateDocument>>),
    /// The program asks, or calls for help.
    Asks(Ask),
}

impl CompleteTurnOutcome {
    /// The same, of a program that was asked again so often for the sake of checkpoints.
    fn after(mut self, unready: Unready) -> Self {
        if let Self::Completed { said: ValidCompletion { document: Some(document), .. }, .. } = &mut self {
            unready.say_in(document);
        }
        self
    }
}

impl<B: Backend> Workbench<B> {
    /// Does a turn that is completed. Without a mirror there is nothing to look at: the program's folder is empty. Questions
    /// that wait do so at the desk. When the future is dropped, the program is ended and its files go.
    ///
    /// # Errors
    /// [`BuildError`]. How the program ended and what it said is never an error.
    pub async fn complete(
        &self,
        turn: &Turn,
        agent: &AgentName,
        mirror: Option<&Mirror>,
        desk: &dyn Desk,
    ) -> Result<CompletedTurn, BuildError> {
        let TurnRequest::Complete(request) = &turn.request else { return Err(BuildError::NotOurs) };
        let folder = self.folders.create(&turn.flight, &turn.waypoint)?;
        let shown = match mirror {
            Some(mirror) => lay_out(mirror, request, &folder).instrument(info_span!(target: TRACE, "checkout")).await?,
            None => {
                let dir = folder.clone_dir();
                std::fs::create_dir(&dir).map_err(|source| BuildError::Write { path: dir, source })?;
                Shown::Nothing
            }
        };
        let documents = Documents::lay_out(&request.documents, desk, &folder).await?;
        let mut sections = prompt(turn, request, &shown);
        documents.add_to(&mut sections);
        let brief = Brief {
            feedback: request.feedback.as_ref(),
            prompt: sections.within(self.backend.prompt_bytes_max()),
            budget: request.budget.clone().unwrap_or_default(),
            looks: true,
            // An advisor that is asked again knows what it said. Everybody else judges work as if for the first time.
            keeps: request.advice.is_some(),
            diff_file: shown.into_file(),
            documents: documents.folder(),
        };
        let mut task = task(turn, &folder, brief)?;
        task.go_on = self.backend.conversation(&task);
        let repository = mirror.map(|mirror| Repository::new(mirror, from_wire(&request.commit), &[]));
        let output = folder.own().join("output");
        let rules = match mirror {
            Some(mirror) => rules(mirror, &request.base).await?,
            None => Ok(HandoffRules::default()),
        };
        let can_be = meter::can_be_metered(turn.allowance.as_ref(), (self.backend.dialect(), self.backend.price()));
        let stands = self.refusal.speaks_for(turn.record.at, clock::now()).map_or(Ok(()), Err);
        let rules = match rules.and_then(|rules| can_be.and(stands).map(|()| rules)) {
            Ok(rules) => rules,
            Err(failure) => {
                write(&output, failure.detail.as_bytes())?;
                let metered = meter::nothing();
                return Ok(CompletedTurn {
                    outcome: CompleteTurnOutcome::Failed(failure, None),
                    output,
                    metered,
                    markers_ignored: Vec::new(),
                    _folder: folder,
                });
            }
        };
        let expected = Expected::decision(&turn.role, &turn.waypoint, &rules).demanding(&request.context.demands);
        let repository = repository.as_ref();
        let course =
            Course { turn, agent, desk, folder: &folder, repository, expected: &expected, instead: COMPLETION };
        // There is nothing of the program's to keep.
        let keep = || std::future::ready(true);
        let document_file = task.document_file.clone();
        let reader = CompletionReader { turn, request, expected: &expected, document_file };
        let exchanged = Box::pin(self.exchanged(&course, &task, keep, &reader)).await?;
        let Exchanged { result, came, output: printed, metered, unready } = exchanged;
        write(&output, &printed)?;
        let outcome = match came {
            Came::Asked(heard) => CompleteTurnOutcome::Asks(heard.ask),
            Came::Good(outcome) => outcome.after(unready),
            Came::Failed(failure) => CompleteTurnOutcome::Failed(failure, unready.into_document()),
        };
        let markers_ignored = said_nothing(&result, &turn.waypoint);
        Ok(CompletedTurn { outcome, output, metered, markers_ignored, _folder: folder })
    }
}

/// Reads what the program of such a turn came to.
struct CompletionReader<'a> {
    turn: &'a Turn,
    request: &'a CompletionRequest,
    expected: &'a Expected,
    document_file: Option<PathBuf>,
}

impl RunReader for CompletionReader<'_> {
    type Good = CompleteTurnOutcome;

    async fn read(
        &self,
        result: &BackendResult,
        before: Before<'_>,
        recorded: Option<&Completed>,
    ) -> Result<Read<CompleteTurnOutcome>, BuildError> {
        let Self { turn, request, expected, document_file } = self;
        let _at =
            (!request.context.demands.is_empty()).then(|| holdpoint_faults::at(holdpoint_faults::Step::Establish));
        let document = document_file.as_deref().and_then(document::written);
        let held = Held { turn, request, expected, before, document: document.as_deref() };
        Ok(match answer(result, held, recorded) {
            Answer::Completed { said, named } => Read::Good(CompleteTurnOutcome::Completed { said, named }),
            Answer::Asks(ask) => Read::Good(CompleteTurnOutcome::Asks(ask)),
            Answer::Unusable(problem) => Read::Bad(problem),
            Answer::Failed(failure) => Read::Failed(failure),
        })
    }

    fn calls_for_help(outcome: &CompleteTurnOutcome) -> bool {
        matches!(outcome, CompleteTurnOutcome::Asks(Ask::Help(_)))
    }
}

/// Writes the tree under review, and what was changed in it.
async fn lay_out(mirror: &Mirror, request: &CompletionRequest, folder: &TurnFolder) -> Result<Shown, BuildError> {
    // Its program would load the work's settings, and run its hooks with this agent's keys.
    let tree = set_aside(mirror, &from_wire(&request.tree)).await?;
    mirror.checkout(&tree, &folder.clone_dir()).await?;
    let (base, commit) = (from_wire(&request.base), from_wire(&request.commit));
    if base == commit {
        return Ok(Shown::Tree);
    }
    let Some(patch) = mirror.patch(&base, &commit, PATCH_BYTES_MAX).await? else { return Ok(Shown::LargeWork) };
    let file = folder.input().join("diff.patch");
    write(&file, &patch)?;
    Ok(Shown::Work { patch: String::from_utf8_lossy(&patch).into_owned(), file })
}
