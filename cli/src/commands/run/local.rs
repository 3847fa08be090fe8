//! A flight on a fleet of one's own: begun, kept going until only people can move it on, and taken up again after an
//! interruption. The plan and its fleet are remembered before any process of it is started: whatever was begun can
//! be resumed.

use std::{collections::BTreeMap, sync::Arc};

use holdpoint_bus::api::ApiError;
use holdpoint_planfile::workflows;
use holdpoint_protocol::{
    ids::{FlightId, RoleId, role},
    plan::Mode,
    streams,
    view::{FlightView, FlownWorkflow},
    workflow::RecordedWorkflow,
};
use holdpoint_runtime::{
    config::Config,
    fresh,
    mirror::{from_wire, to_wire},
};
use holdpoint_workspace::UserRepo;

use super::{BUILDERS_DEFAULT, Flown, Following, Wanted, advisors, facts};
use crate::{
    args::{CommandFlags, RunArgs, Work},
    branch,
    client::Client,
    console::beside::Beside,
    declared,
    failure::{Exit, Failure},
    fleet::{self, Crew, Fleet, Recruiter},
    ground,
    interrupt::Interrupts,
    notify::Notifier,
    output,
    people::{find, key},
    preflight::{self, Cleared},
    program,
    ready::Ready,
    reload::{Files, Watcher, flown},
    state::{FlightRecord, Lock, StateDir, Submission},
    typed::typed,
};

/// What the orchestrator answers about a flight that it does not know.
const NOT_FOUND: u16 = 404;

/// A new flight.
pub(super) async fn fly(args: &RunArgs, work: Work<'_>) -> Result<Flown, Failure> {
    let mut config = Config::load(args.commands.config.as_deref(), args.commands.overrides())?;
    args.commands.for_all(&mut config);
    let plan = preflight::read_work(work, &args.place.repo, Some(&config)).await?;
    if preflight::needs_builder(&plan) {
        preflight::check_builder(&config)?;
    }
    preflight::alone(&mut config, &plan.plan, args.commands.builders);
    let Cleared { ready, config, flight, state } =
        Box::pin(preflight::clear(plan, work.file(), config, &args.place.repo)).await?;
    preflight::warn(&preflight::unjudged(&ready.plan, config.agents.verifier.judge.is_some(), work.file()));
    preflight::warn(&preflight::loose(&ready.plan, work.file()));
    preflight::warn(&preflight::base_warnings(&ready, work.file()).await?);
    declared::check_sections(&config, &args.commands, &args.place.repo).await?;
    let claim = FlightRecord::claim(&state, &flight)?;
    let record = FlightRecord {
        flight,
        plan: work.file().map(|file| std::path::absolute(file).unwrap_or_else(|_| file.to_owned())),
        builders: args.commands.builders.or(config.agents.builder.count).unwrap_or(BUILDERS_DEFAULT),
        // An agent alone checks its own work.
        verifiers: if ready.plan.policy.mode.is_single() { Some(0) } else { args.commands.verifiers },
        config: config.to_toml(),
        submission: Some(Submission {
            plan: ready.plan.clone(),
            workflows: ready.workflows.clone(),
            base: to_wire(&ready.base),
        }),
    };
    let specs = workflows::specs(&ready.plan, &ready.workflows);
    preflight::check_agents(&config, &workflows::declared_roles(&specs, ready.plan.policy.mode))?;
    if let Some(failure) = preflight::lacks_second(&config, record.builders, &ready.plan, &ready.workflows) {
        return Err(failure);
    }
    preflight::warn(&preflight::crowded(&config, &specs));
    let files = Files::of(&args.place.repo, None, None).await?;
    let local = Local {
        state,
        repo: ready.repo.clone(),
        record,
        config,
        files,
        result: Wanted::by(args),
        console: args.console,
        _claim: claim,
    };
    Box::pin(local.fly(Some(ready))).await
}

/// The same fleet again for a flight that was interrupted.
pub(super) async fn resume(args: &RunArgs, flight: &FlightId) -> Result<Flown, Failure> {
    let repo = ground::find(&args.place.repo).await?;
    let state = ground::state(&repo).await?;
    let flight = &find::begun_here(flight, &FlightRecord::all(&state))?;
    let record = FlightRecord::load(&state, flight)?.ok_or_else(|| {
        let message = format!("no flight {flight} was begun here with `holdpoint run`");
        Failure::usage(
            "not_found",
            message,
            "`holdpoint status` lists the flights; --repo DIR names another repository",
        )
    })?;
    let claim = FlightRecord::claim(&state, flight)?;
    branch::check(&repo, flight).await?;
    let mut config = remembered(&record, &args.commands, &repo).await?;
    args.commands.for_all(&mut config);
    if let Some(Submission { plan, .. }) = &record.submission {
        preflight::alone(&mut config, plan, args.commands.builders);
    }
    let record = FlightRecord { config: config.to_toml(), ..record };
    if let Some(Submission { base, .. }) = &record.submission {
        program::check_there(&config, &repo, Some(&from_wire(base))).await?;
    }
    preflight::check_sandbox(&config).await?;
    let files = Files::of(&args.place.repo, None, None).await?;
    let local =
        Local { state, repo, record, config, files, result: Wanted::by(args), console: args.console, _claim: claim };
    Box::pin(local.fly(None)).await
}

/// The configuration as it was, with the programs that are named now; the environment of today has no say.
async fn remembered(record: &FlightRecord, programs: &CommandFlags, repo: &UserRepo) -> Result<Config, Failure> {
    let place = record.plan.clone().unwrap_or_default();
    let damaged = |error: std::io::Error| crate::state::unusable("read", &place, &error);
    let file = tempfile::NamedTempFile::new().map_err(damaged)?;
    std::fs::write(file.path(), &record.config).map_err(damaged)?;
    let mut before = Config::load_from(Some(file.path()), BTreeMap::new(), Vec::new())?;
    before.agents.programs_mut().filter(|(role, _)| programs.names(role)).for_each(|(_, program)| program.leave());
    std::fs::write(file.path(), before.to_toml()).map_err(damaged)?;
    let mut config = Config::load_from(Some(file.path()), BTreeMap::new(), programs.overrides())?;
    program::anchor_all(&mut config, &repo.places().await?);
    Ok(config)
}

/// How a flight stands when its fleet begins.
enum Stands {
    /// Still to be submitted.
    New(Box<Ready>),
    /// As this says.
    Begun(Box<FlightView>),
}

impl Stands {
    /// The workflows that it goes by today.
    fn workflows(&self) -> Vec<FlownWorkflow> {
        match self {
            Self::Begun(view) => view.workflows.clone(),
            Self::New(ready) => workflows::specs(&ready.plan, &ready.workflows)
                .into_iter()
                .map(|spec| FlownWorkflow::from(&RecordedWorkflow::from(spec)))
                .collect(),
        }
    }
}

/// A flight with a fleet of its own. It is remembered, and nobody else flies it.
struct Local {
    state: StateDir,
    repo: UserRepo,
    record: FlightRecord,
    config: Config,
    /// Where its workflows are declared.
    files: Files,
    /// In which form its result is wanted.
    result: Wanted,
    /// Whether a console is served meanwhile; the command then stays while something waits for people.
    console: bool,
    _claim: Lock,
}

impl Local {
    /// Submits the flight if it is new, and stays until only people can move it on.
    async fn fly(self, new: Option<Ready>) -> Result<Flown, Failure> {
        // From here on Ctrl-C ends things in order.
        let mut interrupts = Interrupts::listen()?;
        let run = format!("{}-{}", self.record.flight, fresh::suffix());
        let roles = self.roles();
        let mut fleet = tokio::select! {
            fleet = Fleet::attach(&self.state, &run, &roles) => fleet?,
            () = interrupts.next() => return Err(self.interrupted()),
        };
        let result = tokio::select! {
            // Boxed: it holds a whole flight.
            result = Box::pin(self.keep(&mut fleet, new)) => result,
            () = interrupts.next() => Err(self.interrupted()),
        };
        let interrupted = matches!(&result, Err(failure) if failure.exit() == Exit::Interrupted);
        if interrupted {
            output::err("stopping; Ctrl-C again stops at once");
        }
        fleet.stop(interrupts.next()).await;
        result
    }

    /// The roles that the flight needs besides the built-in ones.
    fn roles(&self) -> Vec<(RoleId, bool)> {
        let of_gates = |Submission { plan, workflows, .. }: &Submission| {
            workflows::declared_roles(&workflows::specs(plan, workflows), plan.policy.mode)
        };
        let mut roles = self.record.submission.as_ref().map(of_gates).unwrap_or_default();
        let advisor = role::id(role::ADVISOR);
        if advisors(&self.config) > 0 && !roles.iter().any(|(known, _)| *known == advisor) {
            roles.push((advisor, false));
        }
        roles
    }

    /// The roles that a flight which goes by `today` has got since it was submitted, or would get by the files as they stand, as far as
    /// they have a program. Anybody may have it go on by these files, at any time: the roles need keys before that.
    async fn later_roles(&self, today: &[FlownWorkflow]) -> Vec<(RoleId, bool)> {
        // Files that are wrong are refused when they are to be reloaded.
        let declared = self.files.workflows_again().await.unwrap_or_default();
        let mut roles = workflows::declared_roles(&flown(today, &declared), Mode::Team);
        let gates = today.iter().flat_map(|workflow| &workflow.gates);
        for role in gates.map(|gate| &gate.role) {
            if !roles.iter().any(|(known, _)| known == role) {
                // A flight goes by it, so that its key is there, and says what its turns are.
                roles.push((role.clone(), false));
            }
        }
        roles.retain(|(role, _)| self.config.agents.declared.contains_key(role));
        roles
    }

    async fn keep(&self, fleet: &mut Fleet, new: Option<Ready>) -> Result<Flown, Failure> {
        // First of all: from here on the flight can be resumed, whatever happens, and with the programs that it got now.
        self.record.save(&self.state)?;
        let client = fleet.client().await?;
        // The user who runs it acts in it, and is its owner where none is declared.
        let owner = fleet.client_of(&key::default_name()).await?;
        let pool = streams::flight_pool(&self.record.flight);
        let mut config = self.config.clone();
        config.orchestrator.serves = pool.clone();
        fleet.start_orchestrator(&config)?;
        let stands = match new {
            None => self.or_trouble(fleet, Box::pin(self.look_again(&client))).await?,
            Some(ready) => Stands::New(Box::new(ready)),
        };
        let deny = self.repo.places().await?;
        let read = self.record.plan.as_ref().map(|plan| fleet::plan_folder(plan, &deny)).unwrap_or_default();
        let declared = self.roles().into_iter().map(|(role, _)| role).collect();
        let (builders, verifiers) = (self.record.builders, self.record.verifiers);
        let crew = Crew { config: self.config.clone(), pool, builders, verifiers, declared, read, deny };
        fleet.start_crew(Arc::new(crew))?;
        fleet.take_up(&self.later_roles(&stands.workflows()).await).await?;
        let recruiter = fleet.recruiter();
        let console = Beside::start_if(self.console, &owner, None, &self.state).await?;
        if let Some(console) = &console {
            output::err(&format!("console {}", console.address));
        }
        self.or_trouble(fleet, Box::pin(self.mission(&client, &owner, stands, recruiter))).await
    }

    /// Does `work` unless the fleet falls apart meanwhile.
    async fn or_trouble<T>(
        &self,
        fleet: &mut Fleet,
        work: impl Future<Output = Result<T, Failure>>,
    ) -> Result<T, Failure> {
        tokio::select! {
            result = work => result,
            failure = fleet.failed() => {
                let flight = &self.record.flight;
                output::err(&format!("the flight {flight} can be resumed: {}", resume_command(flight)));
                Err(failure)
            }
        }
    }

    /// How a flight stands that is resumed. Refuses a branch that could not be written in the end, before anybody works
    /// for it.
    async fn look_again(&self, client: &Client) -> Result<Stands, Failure> {
        let flight = &self.record.flight;
        match client.status(flight).await {
            Ok(view) => {
                branch::check_fits(&self.repo, &view).await?;
                Ok(Stands::Begun(Box::new(view)))
            }
            Err(ApiError::Refused { failure, .. }) if failure.code == NOT_FOUND => {
                let Some(Submission { plan, workflows, base }) = self.record.submission.clone() else {
                    let message = format!("the flight {flight} was interrupted before it was submitted");
                    return Err(Failure::usage("not_submitted", message, "begin a new one: holdpoint run PLAN"));
                };
                output::err(&format!("flight {flight} was interrupted before it was submitted: it begins now"));
                Ok(Stands::New(Box::new(Ready { plan, workflows, repo: self.repo.clone(), base: from_wire(&base) })))
            }
            Err(error) => Err(error.into()),
        }
    }

    async fn mission(
        &self,
        client: &Client,
        owner: &Client,
        stands: Stands,
        recruiter: Recruiter,
    ) -> Result<Flown, Failure> {
        let flight = &self.record.flight;
        let before = self.files.digest();
        let begun = match stands {
            Stands::Begun(view) => Some(view),
            Stands::New(ready) => {
                let facts = facts(&self.config, streams::flight_pool(flight), Some(self.record.builders));
                ready.submit(owner, flight, facts).await?;
                output::err(&format!("flight {flight}"));
                None
            }
        };
        let notifier = Notifier::start(client, &self.config.notify, &self.state, Some(flight))?;
        let submission = self.record.submission.as_ref();
        let declares = submission.is_some_and(|one| preflight::may_reload(&one.plan, &one.workflows));
        let files = (self.files.clone(), before);
        let watcher = declares.then(|| Watcher::start(client, files, Some(flight), Some(recruiter)));
        let mut following = Following::of(client, &self.repo, flight, self.result, notifier, watcher);
        following.stays |= self.console;
        following.conclude(begun.as_deref()).await
    }

    fn interrupted(&self) -> Failure {
        let begun = FlightRecord::load(&self.state, &self.record.flight).is_ok_and(|record| record.is_some());
        if !begun {
            let (message, hint) = ("interrupted before the flight began".to_owned(), String::new());
            return Failure::Other { exit: Exit::Interrupted, code: "interrupted", message, hint };
        }
        let message = format!("interrupted; the flight {} can be resumed", self.record.flight);
        Failure::Other {
            exit: Exit::Interrupted,
            code: "interrupted",
            message,
            hint: resume_command(&self.record.flight),
        }
    }
}

/// The command that takes a flight up again.
fn resume_command(flight: &FlightId) -> String {
    typed(&format!("holdpoint run --resume {flight}"))
}
