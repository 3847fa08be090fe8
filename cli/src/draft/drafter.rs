//! An agent's turns that draft, in this process: the harness's workbench does them, without a broker.

use std::{convert::Infallible, time::Duration};

use holdpoint_harness::{
    ask::{Desk, Nobody, Waiting},
    backend::question::ValidQuestion,
    build_turn::{AgentStartError, BuildTurnOutcome, Workbench},
    live::Live,
};
use holdpoint_planfile::plan;
use holdpoint_protocol::{
    Timestamp,
    artifact::Failure as TurnFailure,
    facts::LeftOut,
    ids::{AgentName, role},
    reason::ReasonCode,
};
use holdpoint_runtime::{clock, fresh};
use holdpoint_sandbox::{Sandbox, TemporaryFolder};
use holdpoint_text::shown;
use holdpoint_workspace::{Import, InputLimits, Mirror, ObjectId, SNAPSHOT_REF};

use super::{
    brief::FILE,
    review::DraftProblem,
    turn::{Errand, Named},
};
use crate::{
    failure::{Exit, Failure, chain},
    next, output,
    preflight::Cleared,
    temporary,
};

/// The most bytes of it that are read: one more than a plan may have shows that it is too large.
const FILE_BYTES_MAX: usize = plan::FILE_BYTES_MAX + 1;
/// The name of the agent.
const AGENT: &str = "drafter";

/// What came of a turn.
pub(crate) enum Drafted {
    /// The file, as the agent left it.
    Plan(Vec<u8>),
    /// There is none, because of this.
    Nothing(DraftProblem),
    /// The agent asks, and cannot go on without an answer.
    Asks(String),
}

/// An agent that drafts.
pub(crate) struct Drafter {
    workbench: Workbench,
    mirror: Mirror,
    agent: AgentName,
    errand: Errand,
    /// Where its last turn ended.
    start: ObjectId,
    began: Timestamp,
    _folder: TemporaryFolder,
}

impl Drafter {
    /// An agent that runs the builder's program. Everything that it leaves goes with it.
    pub(crate) async fn start(cleared: &Cleared, goal: String) -> Result<Self, Failure> {
        let Cleared { ready, config, flight, state } = cleared;
        let folder = temporary::folder()?;
        let bundle = ready.repo.snapshot(&ready.base, &folder.path().join("snapshot.bundle")).await?;
        let mirror = folder.path().join("mirror");
        let mirror = Mirror::open_or_create(&mirror, ready.repo.object_format(), InputLimits::default()).await?;
        mirror.import(Import { bundle: &bundle.path, ref_name: SNAPSHOT_REF, base: None }).await?;
        let mut config = config.clone();
        config.agent.state_dir = folder.path().join("agent");
        std::fs::create_dir_all(&config.agent.state_dir).map_err(|error| cannot_run(&error))?;
        let deny = ready.repo.places().await?.into_iter().chain([state.root().to_owned()]);
        config.agents.builder.deny_paths.extend(deny);
        let started = Workbench::of_role(&config, &role::id(role::BUILDER), Sandbox::of_this_executable()).await;
        let (workbench, _) = started.map_err(|error| cannot_start(&error))?;
        let (seed, base) = (ready.plan.clone(), ready.base.clone());
        Ok(Self {
            workbench,
            mirror,
            agent: AgentName::try_new(AGENT).expect("a literal id"),
            start: base.clone(),
            errand: Errand { flight: flight.clone(), seed, goal, base },
            began: clock::now(),
            _folder: folder,
        })
    }

    /// Has it draft, from where its last turn ended and with what was wrong then. What it says meanwhile is on standard error.
    pub(crate) async fn draft(&mut self, round: u32, problems: &[DraftProblem]) -> Result<Drafted, Failure> {
        let named = Named { turn: fresh::turn(), artifact: fresh::artifact(), at: clock::now() };
        let turn = self.errand.turn(named, &self.start, (round, problems));
        let desk = DraftDesk(Live::of(turn.turn_id.clone()));
        let built = tokio::select! {
            built = self.workbench.run(&turn, &self.agent, &self.mirror, &desk) => built,
            never = self.show(&desk.0) => match never {},
        };
        let built = built.map_err(|error| cannot_run(&error))?;
        if let Some((commit, _)) = built.outcome.work() {
            self.start = commit.clone();
        }
        self.read(&built.outcome).await
    }

    /// Shows what the agent says, for as long as it is polled.
    async fn show(&self, live: &Live) -> Infallible {
        while let Some(line) = live.next().await {
            let text = format!("[{}] {}", next::clock(line.at.since(self.began)), line.text);
            output::err(&shown::line(&text));
        }
        std::future::pending().await
    }

    async fn read(&self, outcome: &BuildTurnOutcome) -> Result<Drafted, Failure> {
        let ready = match outcome {
            BuildTurnOutcome::Ready(ready) => ready,
            BuildTurnOutcome::Failed(failure, ..) => return failed(failure),
            BuildTurnOutcome::Clarify(question, _) => {
                let options: Vec<String> = question.options.iter().map(|option| format!("\n- {option}")).collect();
                return Ok(Drafted::Asks(format!("{}{}", question.question, options.concat())));
            }
            BuildTurnOutcome::Help(call, _) => return Ok(Drafted::Asks(call.raw_line.clone())),
        };
        let is_written = ready.touched.iter().any(|change| change.path == FILE);
        let file = if is_written { self.file().await? } else { None };
        Ok(file.map_or_else(|| Drafted::Nothing(missing(&ready.left_out)), Drafted::Plan))
    }

    async fn file(&self) -> Result<Option<Vec<u8>>, Failure> {
        let entries = self.mirror.list_tree(&self.start).await?;
        match entries.iter().find(|entry| entry.path.as_str() == Some(FILE) && entry.mode.is_file()) {
            Some(entry) => Ok(Some(self.mirror.read_blob(&entry.oid, FILE_BYTES_MAX).await?)),
            None => Ok(None),
        }
    }
}

/// Nobody answers, and its user sees what the agent says.
struct DraftDesk(Live);

impl Desk for DraftDesk {
    fn patience_max(&self) -> Duration {
        Nobody.patience_max()
    }

    fn ask(&self, question: ValidQuestion, patience: Duration) -> Waiting<'_> {
        Nobody.ask(question, patience)
    }

    fn live(&self) -> Live {
        self.0.clone()
    }
}

/// A program that cannot work is not asked again.
fn failed(TurnFailure { reason, detail }: &TurnFailure) -> Result<Drafted, Failure> {
    let message = format!("the agent's program failed ({reason}): {detail}");
    if *reason == ReasonCode::NotExecutable {
        return Err(Failure::environment("agent", message, "`holdpoint doctor` says which agents can work here"));
    }
    Ok(Drafted::Nothing(DraftProblem::new(message, format!("end with exit code 0 once `{FILE}` is written"))))
}

/// No plan, although the program ended well.
fn missing(left_out: &[LeftOut]) -> DraftProblem {
    match left_out.iter().find(|one| one.what == FILE) {
        Some(LeftOut { why, .. }) => DraftProblem::new(
            format!("`{FILE}` is left out: {why}"),
            "this repository cannot have its plan drafted as long as git ignores the file",
        ),
        None => DraftProblem::new(
            format!("there is no new `{FILE}` in the current directory"),
            format!("write the plan into `{FILE}`"),
        ),
    }
}

fn cannot_start(error: &AgentStartError) -> Failure {
    let exit = Exit::of(error.exit_code());
    let hint = "correct [agents.builder] in the configuration; `holdpoint doctor` looks at this machine".to_owned();
    Failure::Other { exit, code: "agent", message: format!("the agent cannot start: {}", chain(error)), hint }
}

fn cannot_run(error: &dyn std::error::Error) -> Failure {
    let message = format!("cannot run the agent: {}", chain(error));
    Failure::environment("agent", message, "`holdpoint doctor` looks at this machine")
}
