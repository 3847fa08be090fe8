//! `run`: from a plan to the branch with what was accepted, on a fleet of one's own or on one elsewhere.

use std::path::Path;

use holdpoint_protocol::{
    ids::FlightId,
    journal::Fleet as FleetFacts,
    streams,
    view::{FlightStatus, FlightView},
};
use holdpoint_runtime::{config::Config, fresh};
use holdpoint_workspace::UserRepo;

use crate::{
    args::RunArgs,
    branch,
    client::Client,
    failure::{Exit, Failure},
    fleet::{self, Crew, Fleet},
    flight_id,
    interrupt::Interrupts,
    output,
    preflight::{self, Ready},
    program, progress,
    state::{FlightRecord, StateDir},
    target::Remote,
    view,
};

/// Builders of a local fleet unless the user says otherwise.
pub(super) const BUILDERS_DEFAULT: u32 = 1;

/// Flies a plan, or goes on with a flight.
pub(crate) async fn run(args: RunArgs) -> Result<Exit, Failure> {
    let remote = Remote::named(&args.place)?;
    if remote.is_some() {
        refuse_own_fleet(&args)?;
    }
    let view = match (remote, &args.resume, &args.plan) {
        (Some(remote), Some(flight), _) => Box::pin(resume_elsewhere(&args, &remote, flight)).await?,
        (Some(remote), None, Some(plan)) => Box::pin(fly_elsewhere(&args, &remote, plan)).await?,
        (None, Some(flight), _) => Box::pin(resume(&args, flight)).await?,
        (None, None, Some(plan)) => Box::pin(fly(&args, plan)).await?,
        (_, None, None) => {
            return Err(Failure::usage(
                "arguments",
                "there is no plan",
                "holdpoint run PLAN, or holdpoint run --resume FLIGHT",
            ));
        }
    };
    print(&view, args.json);
    Ok(view::exit(&view))
}

/// Prints a flight's result.
pub(super) fn print(view: &FlightView, json: bool) {
    if json {
        output::json(&view::Shown::from(view));
    } else {
        output::out(&view::table(view));
    }
}

fn refuse_own_fleet(args: &RunArgs) -> Result<(), Failure> {
    let given = args.commands.given();
    if given.is_empty() {
        return Ok(());
    }
    let message = format!("{} cannot be used with a fleet elsewhere (--nats)", given.join(", "));
    Err(Failure::usage("remote_fleet", message, "that fleet has its own agents; leave them out, or leave --nats out"))
}

/// A new flight on a fleet of its own.
async fn fly(args: &RunArgs, plan_file: &Path) -> Result<FlightView, Failure> {
    let plan = preflight::read_plan(plan_file)?;
    let mut config = Config::load(args.commands.config.as_deref(), args.commands.overrides())?;
    preflight::check_builder(&config)?;
    let ready = Ready::check(plan, &args.place.repo).await?;
    program::anchor_all(&mut config, &ready.repo.places().await?);
    program::check_in_clone(&config, &ready).await?;
    let flight = flight_id::fresh(&ready.plan.plan);
    branch::check(&ready.repo, &flight).await?;
    preflight::check_sandbox(&config).await?;
    let state = StateDir::of(&ready.repo)?;
    let record = FlightRecord {
        flight: flight.clone(),
        plan: std::path::absolute(plan_file).unwrap_or_else(|_| plan_file.to_owned()),
        builders: args.commands.builders.unwrap_or(BUILDERS_DEFAULT),
        config: config.to_toml(),
    };
    let local = Local { state, repo: ready.repo.clone(), record, config };
    local.fly(Some(ready)).await
}

/// The same fleet again for a flight that was interrupted.
async fn resume(args: &RunArgs, flight: &FlightId) -> Result<FlightView, Failure> {
    let repo = UserRepo::open(&args.place.repo).await?;
    let state = StateDir::of(&repo)?;
    let record = FlightRecord::load(&state, flight)?.ok_or_else(|| {
        let message = format!("no flight {flight} was begun here with `holdpoint run`");
        Failure::usage(
            "not_found",
            message,
            "`holdpoint status` lists the flights; --repo DIR names another repository",
        )
    })?;
    branch::check(&repo, flight).await?;
    let config = remembered(&record)?;
    preflight::check_sandbox(&config).await?;
    Local { state, repo, record, config }.fly(None).await
}

/// The configuration as it was; the environment of today has no say.
fn remembered(record: &FlightRecord) -> Result<Config, Failure> {
    let damaged = |error: std::io::Error| crate::state::unusable("read", &record.plan, &error);
    let file = tempfile::NamedTempFile::new().map_err(damaged)?;
    std::fs::write(file.path(), &record.config).map_err(damaged)?;
    Ok(Config::load_from(Some(file.path()), std::collections::BTreeMap::new(), Vec::new())?)
}

/// A flight with a fleet of its own.
struct Local {
    state: StateDir,
    repo: UserRepo,
    record: FlightRecord,
    config: Config,
}

impl Local {
    /// Submits the flight if it is new, and stays until only people can move it on.
    async fn fly(self, new: Option<Ready>) -> Result<FlightView, Failure> {
        // From here on Ctrl-C ends things in order.
        let mut interrupts = Interrupts::listen()?;
        let run = format!("{}-{}", self.record.flight, fresh::suffix());
        let mut fleet = Fleet::attach(&self.state, &run).await?;
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

    async fn keep(&self, fleet: &mut Fleet, new: Option<Ready>) -> Result<FlightView, Failure> {
        let client = fleet.client().await?;
        let flight = &self.record.flight;
        let mut config = self.config.clone();
        config.orchestrator.serves = streams::flight_pool(flight);
        fleet.start_orchestrator(&config)?;
        let deny = self.repo.places().await?;
        let read = fleet::plan_folder(&self.record.plan, &deny);
        let crew = Crew { config: &self.config, builders: self.record.builders, read, deny };
        fleet.start_crew(&crew, &streams::flight_pool(flight))?;
        tokio::select! {
            view = Box::pin(self.mission(&client, new)) => view,
            failure = fleet.failed() => {
                output::err(&format!("the flight {flight} can be resumed: {}", self.resume_command()));
                Err(failure)
            }
        }
    }

    async fn mission(&self, client: &Client, new: Option<Ready>) -> Result<FlightView, Failure> {
        let flight = &self.record.flight;
        if let Some(ready) = new {
            // First: a flight that was submitted can be resumed, whatever happens then.
            self.record.save(&self.state)?;
            let facts = facts(&self.config, streams::flight_pool(flight), Some(self.record.builders));
            ready.submit(client, flight, facts).await?;
            output::err(&format!("flight {flight}"));
        }
        conclude(client, &self.repo, flight).await
    }

    fn interrupted(&self) -> Failure {
        let flight = &self.record.flight;
        let begun = FlightRecord::load(&self.state, flight).is_ok_and(|record| record.is_some());
        if !begun {
            let (message, hint) = ("interrupted before the flight began".to_owned(), String::new());
            return Failure::Other { exit: Exit::Interrupted, code: "interrupted", message, hint };
        }
        let message = format!("interrupted; the flight {flight} can be resumed");
        Failure::Other { exit: Exit::Interrupted, code: "interrupted", message, hint: self.resume_command() }
    }

    fn resume_command(&self) -> String {
        resume_command(&self.record.flight, self.repo.dir())
    }
}

fn resume_command(flight: &FlightId, repo: &Path) -> String {
    let here = std::env::current_dir().is_ok_and(|dir| dir == repo);
    let place = if here { String::new() } else { format!(" --repo {}", repo.display()) };
    format!("holdpoint run --resume {flight}{place}")
}

/// What is recorded of the fleet with the flight.
pub(super) fn facts(config: &Config, pool: holdpoint_protocol::ids::PoolId, parallel: Option<u32>) -> FleetFacts {
    FleetFacts {
        pool,
        repair: config.agents.repair.command.is_some(),
        judge: config.agents.verifier.judge.is_some(),
        parallel,
        queue_grace: config.orchestrator.queue_grace.duration().into(),
        build_wall: config.agents.builder.wall.duration().max(config.agents.repair.wall.duration()).into(),
    }
}

/// Whether there is something to write a branch for; an accepted flight has one also if nothing had to change.
pub(super) fn anything_landed(view: &FlightView) -> bool {
    view.status == FlightStatus::Accepted || !view.landings.is_empty()
}

/// Follows a flight to its end and writes its branch.
async fn conclude(client: &Client, repo: &UserRepo, flight: &FlightId) -> Result<FlightView, Failure> {
    let view = progress::follow(client, flight).await?;
    if anything_landed(&view) {
        branch::write(client, repo, &view).await?;
    }
    Ok(view)
}

/// A new flight on a fleet elsewhere.
async fn fly_elsewhere(args: &RunArgs, remote: &Remote, plan_file: &Path) -> Result<FlightView, Failure> {
    let plan = preflight::read_plan(plan_file)?;
    let config = Config::load(args.commands.config.as_deref(), Vec::new())?;
    let ready = Ready::check(plan, &args.place.repo).await?;
    let flight = flight_id::fresh(&ready.plan.plan);
    branch::check(&ready.repo, &flight).await?;
    let repo = ready.repo.clone();
    let client = remote.connect().await?;
    let work = async {
        ready.submit(&client, &flight, facts(&config, streams::fleet_pool(), None)).await?;
        output::err(&format!("flight {flight}"));
        conclude(&client, &repo, &flight).await
    };
    or_interrupted(work, &flight).await
}

/// Waits for a flight of a fleet elsewhere again.
async fn resume_elsewhere(args: &RunArgs, remote: &Remote, flight: &FlightId) -> Result<FlightView, Failure> {
    let repo = UserRepo::open(&args.place.repo).await?;
    branch::check(&repo, flight).await?;
    let client = remote.connect().await?;
    or_interrupted(conclude(&client, &repo, flight), flight).await
}

async fn or_interrupted(
    work: impl Future<Output = Result<FlightView, Failure>>,
    flight: &FlightId,
) -> Result<FlightView, Failure> {
    let mut interrupts = Interrupts::listen()?;
    tokio::select! {
        result = work => result,
        () = interrupts.next() => {
            let message = format!("interrupted; the flight {flight} goes on without this command");
            let hint = format!("holdpoint run --resume {flight}, with the same --nats and --creds, waits for it again");
            Err(Failure::Other { exit: Exit::Interrupted, code: "interrupted", message, hint })
        }
    }
}
