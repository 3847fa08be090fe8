//! The worker of every role but the verifier: a turn with the broker around the workbench. The turn says whether work is
//! made or looked at.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use holdpoint_bus::{
    Bus,
    blobs::{self, BlobError},
};
use holdpoint_outline::OutlineHelper;
use holdpoint_protocol::{
    Digest,
    artifact::{BuildPlan, BuildPlanBody},
    ids::RoleId,
    turn::{BuildRequest, CompletionRequest, TurnRequest},
};
use holdpoint_sandbox::{PropertyReport, Sandbox, room::NearlyFull};
use holdpoint_workspace::InputLimits;
use tracing::{Instrument as _, info_span};

use super::{
    folder::{AgentFolderError, LeftBehind, TurnFolders},
    handoff, talk,
    workbench::{BuildError, Built, Workbench},
};
use crate::{
    agent::{Final, Job, PlanHandoff, StopReason, WorkError, Worker},
    ask::TurnDesk,
    backend::{
        Backend, BackendError, CommandBackend, CommandSettings, SettingsError, command::own_environment,
        sessions::Sessions,
    },
    complete_turn,
};
use holdpoint_runtime::{
    clock,
    config::{Config, ProgramConfig},
    mirror::{MirrorError, MirrorStore},
    process::exit,
    telemetry::{ErrorChain, TRACE},
};

/// The variable that names the state folder of a machine (contract, "Commands").
const STATE_DIR_VARIABLE: &str = "HOLDPOINT_STATE_DIR";

/// Why an agent does not start.
#[derive(Debug, thiserror::Error)]
pub enum AgentStartError {
    /// No program can do what the role does, or none is configured for it.
    #[error("no program is configured for the role {role}: set `command` in [agents.{role}]")]
    NotABuilder {
        /// The role.
        role: RoleId,
    },
    /// The configuration makes no agent.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// The state folder cannot be used.
    #[error(transparent)]
    Folder(#[from] AgentFolderError),
    /// A configured path cannot be made absolute.
    #[error("cannot use {}", path.display())]
    Io {
        /// The path.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
    /// The sandbox cannot be enforced here.
    #[error("the sandbox does not work here")]
    Sandbox(#[source] BackendError),
}

impl AgentStartError {
    /// The exit code of a process that fails with this.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Folder(error) if error.lacks_room() => exit::ENVIRONMENT,
            Self::NotABuilder { .. } | Self::Settings(_) | Self::Folder(_) | Self::Io { .. } => exit::USAGE,
            Self::Sandbox(_) => exit::ENVIRONMENT,
        }
    }
}

/// Does the turns of one role with a program.
#[derive(Debug)]
pub struct BuildWorker<B = CommandBackend> {
    pub(super) workbench: Workbench<B>,
    pub(super) mirrors: MirrorStore,
    properties: Vec<PropertyReport>,
    /// The longest that a question may wait.
    patience: Duration,
}

/// A turn that was stopped: what is returned for it is not handed off.
#[derive(Debug, thiserror::Error)]
#[error("the turn was stopped")]
struct Stopped;

impl Workbench {
    /// The workbench of a role by the configuration, and what the sandbox, which was tried, promises to its program.
    ///
    /// # Errors
    /// [`AgentStartError`].
    pub async fn of_role(
        config: &Config,
        role: &RoleId,
        sandbox: Sandbox,
    ) -> Result<(Self, Vec<PropertyReport>), AgentStartError> {
        let state_dir = absolute(&config.agent.state_dir)?;
        let own_env = own_environment();
        // Where a local fleet keeps its keys, its broker and the other agents.
        let fleet_dir = own_env.get(STATE_DIR_VARIABLE).filter(|dir| !dir.is_empty()).map(PathBuf::from);
        let hidden = [Some(&state_dir), fleet_dir.as_ref()].into_iter().flatten().chain(config.nats.secrets());
        let settings = CommandSettings {
            role: role.clone(),
            program: program(config, role)?.clone(),
            home: state_dir.join("homes").join(role.as_str()),
            sessions: Sessions::new(state_dir.join("sessions").join(role.as_str())),
            environments_dir: absolute(&config.agent.environments_dir())?,
            hidden: hidden.map(|path| absolute(path)).collect::<Result<_, _>>()?,
            own_env,
        };
        let backend = CommandBackend::try_new(
            settings,
            sandbox.waiving(config.sandbox.waive.iter().copied()).bounded(config.sandbox.bounds()),
        )?;
        let folders = TurnFolders::open(&state_dir.join("turns")).await?;
        let trial = folders.trial()?;
        let properties = backend.prove(&trial.scratch()).await.map_err(AgentStartError::Sandbox)?;
        drop(trial);
        let outline = OutlineHelper::own()
            .map_err(|error| tracing::warn!(error = %ErrorChain(&error), "maps have no symbols"))
            .ok();
        Ok((Self::new(backend, folders).outlining(outline), properties))
    }
}

impl BuildWorker {
    /// A worker by the configuration, whose sandbox was tried.
    ///
    /// # Errors
    /// [`AgentStartError`].
    pub async fn start(config: &Config, role: RoleId, sandbox: Sandbox) -> Result<Self, AgentStartError> {
        let (workbench, properties) = Workbench::of_role(config, &role, sandbox).await?;
        let mirrors = MirrorStore::new(absolute(&config.agent.state_dir)?.join("mirrors"), InputLimits::default());
        let patience = config.agent.question_patience.duration();
        Ok(Self { workbench, mirrors, properties, patience })
    }
}

impl<B: Backend> BuildWorker<B> {
    /// A worker whose programs run in this workbench, with mirrors of its own.
    #[must_use]
    pub fn at(workbench: Workbench<B>, mirrors: MirrorStore, patience: Duration) -> Self {
        Self { workbench, mirrors, properties: Vec::new(), patience }
    }

    /// What the sandbox promises to the program, and who keeps it here.
    #[must_use]
    pub fn properties(&self) -> &[PropertyReport] {
        &self.properties
    }

    async fn complete(&self, job: &Job, request: &CompletionRequest) -> Result<Final, WorkError> {
        // Between rounds of advice.
        tokio::time::sleep(complete_turn::pause(request, clock::now())).await;
        let _standby = self.workbench.backend.stand_by().await;
        let mirror = if request.bundles.is_empty() {
            None
        } else {
            job.note("fetching the repository");
            let fetched = self.mirrors.ensure(&job.bus, &job.turn.flight, &request.bundles);
            let fetched = fetched.instrument(info_span!(target: TRACE, "fetch")).await;
            Some(fetched.map_err(|error: MirrorError| WorkError::new("fetch the repository", error))?)
        };
        job.note("the agent's program runs");
        let (turn, desk) = (job.turn_as_it_stands(), TurnDesk::new(job, self.patience));
        let looked = self.workbench.complete(&turn, &job.agent, mirror.as_ref(), &desk).await;
        let looked = looked.map_err(|error: BuildError| WorkError::new("do the turn", error))?;
        job.note("storing the output");
        let stored = blobs::put_file(&job.bus, &job.role, &looked.output);
        let stored = stored.instrument(info_span!(target: TRACE, "store")).await;
        let output = stored.map_err(|error| WorkError::new("store the output", error))?;
        let came = (looked.outcome, looked.markers_ignored);
        Ok(complete_turn::handoff::of(job, came, (output, Some(looked.metered))))
    }

    async fn build(&self, job: &Job, request: &BuildRequest) -> Result<Final, WorkError> {
        self.hand_over_left(&job.bus, &job.role, Some(&job.turn)).await;
        let _standby = self.workbench.backend.stand_by().await;
        job.note("fetching the repository");
        let fetched = self.mirrors.ensure(&job.bus, &job.turn.flight, &request.bundles);
        let fetched = fetched.instrument(info_span!(target: TRACE, "fetch")).await;
        let mirror = fetched.map_err(|error: MirrorError| WorkError::new("fetch the repository", error))?;
        if let Some(talk) = &request.conversation {
            talk::take_up(job, talk, &self.workbench.backend).await;
        }
        job.note("the agent's program runs");
        let (turn, desk) = (job.turn_as_it_stands(), TurnDesk::new(job, self.patience));
        let note = LeftBehind { turn: job.turn.clone(), turn_ref: job.turn_ref.clone(), delivery: job.delivery };
        let built = Box::pin(self.workbench.run_to_store(&turn, &job.agent, &mirror, &desk, Some(&note))).await;
        let built = built.map_err(|error: BuildError| WorkError::new("do the turn", error))?;
        job.note("storing the result");
        let stored = store(job, &built).instrument(info_span!(target: TRACE, "store")).await;
        let (output, bundle) = stored.map_err(|error| WorkError::new("store the result", error))?;
        built.over();
        let conversation = talk::store(job, built.talk.as_ref()).await;
        Ok(handoff::final_handoff(job, built, (output, bundle), conversation))
    }
}

impl<B: Backend> Worker for BuildWorker<B> {
    async fn up(&self, bus: &Bus, role: &RoleId) {
        self.hand_over_left(bus, role, None).await;
    }

    fn plan(&self, job: &Job) -> PlanHandoff {
        match &job.turn.request {
            TurnRequest::Build(request) => PlanHandoff::Build(handoff::plan(job, request)),
            TurnRequest::Complete(_) => PlanHandoff::Complete(complete_turn::handoff::plan(job)),
            // `work` gives such a turn back.
            TurnRequest::Verify(_) => PlanHandoff::Build(empty_plan(job)),
        }
    }

    async fn work(&self, job: Arc<Job>) -> Result<Final, WorkError> {
        let done = async {
            match &job.turn.request {
                TurnRequest::Build(request) => self.build(&job, request).await,
                TurnRequest::Complete(request) => Box::pin(self.complete(&job, request)).await,
                TurnRequest::Verify(_) => Err(WorkError::new("do the turn", BuildError::NotOurs)),
            }
        };
        let disk = || NearlyFull::at(self.workbench.folders.dir());
        tokio::select! {
            result = done => result.map_err(|error| error.on(disk().as_ref())),
            // Dropping the work ends the program.
            () = dropped(&job) => Err(WorkError::new("do the turn", Stopped)),
        }
    }
}

/// Completes where the work is stopped and nothing of it is wanted. A turn that makes work and is over ends its program by itself,
/// and keeps the files.
async fn dropped(job: &Job) {
    let keeps = matches!(job.turn.request, TurnRequest::Build(_));
    match job.stop.stopped().await {
        StopReason::Told { .. } if keeps => std::future::pending().await,
        StopReason::Told { .. } | StopReason::ForOthers { .. } | StopReason::Shutdown => {}
    }
}

fn empty_plan(job: &Job) -> BuildPlan {
    BuildPlan::new(
        job.origin(),
        BuildPlanBody {
            turn: job.turn.turn_id.clone(),
            delivery: job.delivery,
            agent: job.agent.clone(),
            declared: false,
            file_targets: vec![],
            validation: vec![],
            coverage: vec![],
            budget: Default::default(),
        },
    )
}

/// Stores the output and, where there is one, the bundle.
async fn store(job: &Job, built: &Built) -> Result<(Digest, Option<Digest>), BlobError> {
    let output = blobs::put_file(&job.bus, &job.role, &built.output);
    let bundle = async {
        let Some((_, bundle)) = built.outcome.work() else { return Ok(None) };
        blobs::put_file(&job.bus, &job.role, &bundle.path).await.map(Some)
    };
    let (output, bundle) = tokio::join!(output, bundle);
    Ok((output?, bundle?))
}

fn program<'a>(config: &'a Config, role: &RoleId) -> Result<&'a ProgramConfig, AgentStartError> {
    config.agents.program(role).ok_or_else(|| AgentStartError::NotABuilder { role: role.clone() })
}

fn absolute(path: &Path) -> Result<PathBuf, AgentStartError> {
    std::path::absolute(path).map_err(|source| AgentStartError::Io { path: path.to_owned(), source })
}
