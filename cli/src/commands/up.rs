//! `up`: a fleet in the foreground that serves several flights.

mod log;

use std::{io::IsTerminal as _, sync::Arc};

use holdpoint_protocol::streams;
use holdpoint_runtime::{config::Config, fresh};
use holdpoint_sandbox::ProcessId;
use holdpoint_workspace::UserRepo;
use serde_json::json;
use tempfile::TempPath;

use super::run::{BUILDERS_DEFAULT, advisors};
use log::Log;

use crate::{
    args::UpArgs,
    console::{Plans, beside::Beside},
    declared,
    failure::{Exit, Failure},
    fleet::{Crew, Fleet},
    ground,
    interrupt::Interrupts,
    notify::Notifier,
    output,
    people::key,
    preflight, program,
    reload::{Files, Watcher},
    running_fleet::RunningFleet,
    state::StateDir,
    typed::in_text,
};

/// Keeps a fleet running until it is interrupted.
pub(super) async fn up(args: UpArgs) -> Result<Exit, Failure> {
    let mut config = Config::load(args.commands.config.as_deref(), args.commands.overrides())?;
    args.commands.for_all(&mut config);
    preflight::check_builder(&config)?;
    let repo = UserRepo::open(&args.repo).await?;
    program::anchor_all(&mut config, &repo.places().await?);
    program::check_there(&config, &repo, None).await?;
    // A command that submits to this fleet from elsewhere need not know what it has.
    config.orchestrator.repair = config.agents.repair.command.is_some();
    config.orchestrator.judge = config.agents.verifier.judge.is_some();
    config.orchestrator.advisors = advisors(&config);
    declared::check_sections(&config, &args.commands, &args.repo).await?;
    preflight::check_sandbox(&config).await?;
    let state = ground::state(&repo).await?;
    if RunningFleet::find(&state).is_some() {
        output::err("warning: another `holdpoint up` serves this repository already; turns go to the agents of both");
    }
    let mut interrupts = Interrupts::listen()?;
    let roles = declared::agents(&config, &repo).await?;
    let mut fleet = Fleet::attach(&state, &format!("up-{}", fresh::suffix()), &roles).await?;
    let result = tokio::select! {
        failure = serve(&mut fleet, &args, &config, &repo, &state) => Err(failure),
        () = interrupts.next() => Ok(Exit::Success),
    };
    output::err("stopping; Ctrl-C again stops at once");
    fleet.stop(interrupts.next()).await;
    result
}

/// Returns when the fleet cannot be kept running.
async fn serve(fleet: &mut Fleet, args: &UpArgs, config: &Config, repo: &UserRepo, state: &StateDir) -> Failure {
    match begin(fleet, args, config, repo, state).await {
        Err(failure) => failure,
        Ok(_there) => fleet.failed().await,
    }
}

/// Its address lets anybody act in the user's name: unasked it is for a terminal, not for the log of a script.
fn serves_console(args: &UpArgs) -> bool {
    args.console || !args.no_console && !args.json && std::io::stdout().is_terminal()
}

/// What is there as long as the fleet runs.
struct There {
    _announced: Option<TempPath>,
    _notifier: Option<Notifier>,
    _watcher: Watcher,
    _console: Option<Beside>,
    _log: Option<Log>,
}

async fn begin(
    fleet: &mut Fleet,
    args: &UpArgs,
    config: &Config,
    repo: &UserRepo,
    state: &StateDir,
) -> Result<There, Failure> {
    let client = fleet.client().await?;
    fleet.start_orchestrator(config)?;
    let builders = args.commands.builders.or(config.agents.builder.count).unwrap_or(BUILDERS_DEFAULT);
    let deny = repo.places().await?;
    let declared = config.agents.declared.keys().cloned().collect();
    let pool = streams::fleet_pool();
    let (config_of_crew, verifiers) = (config.clone(), args.commands.verifiers);
    let crew = Crew { config: config_of_crew, pool, builders, verifiers, declared, read: Vec::new(), deny };
    fleet.start_crew(Arc::new(crew))?;
    tokio::select! {
        there = client.somebody_there() => there?,
        failure = fleet.failed() => return Err(failure),
    }
    let running = ProcessId::current().map(|process| RunningFleet {
        process,
        repair: config.agents.repair.command.is_some(),
        judge: config.agents.verifier.judge.is_some(),
        network: config.orchestrator.verifier_network,
        advisors: advisors(config),
    });
    let announced = running.map(|running| running.announce(state)).transpose()?;
    let (url, creds) = (fleet.url(), fleet.operator_file()?);
    let plans = Some(Plans::on(args.repo.clone(), false));
    let owner = fleet.client_of(&key::default_name()).await?;
    let console = Beside::start_if(serves_console(args), &owner, plans, state).await?;
    if args.json {
        let mut places = json!({"url": url, "creds": creds, "state": state.dir()});
        if let Some(console) = &console {
            places["console"] = console.address.as_str().into();
        }
        output::json(&places);
    } else {
        if let Some(console) = &console {
            output::out(&format!("console      {}", console.address));
        }
        output::out(&format!(
            "broker       {url}\ncredentials  {}\nstate        {}",
            creds.display(),
            state.dir().display()
        ));
    }
    let notifier = Notifier::start(&client, &config.notify, state, None)?;
    let files = Files::of(&args.repo, None, None).await?;
    let before = files.digest();
    let watcher = Watcher::start(&client, (files, before), None, Some(fleet.recruiter()));
    if !args.json {
        let logs = state.path("logs");
        output::err(&format!("serves {} with builders: {builders}, until Ctrl-C", repo.dir().display()));
        output::err(&in_text("next:  `holdpoint submit PLAN`, then `holdpoint watch FLIGHT`"));
        output::err(&format!("logs:  {}/{}", logs.display(), fleet.run()));
    }
    let log = if args.json { None } else { Some(Log::start(&client).await?) };
    Ok(There { _announced: announced, _notifier: notifier, _watcher: watcher, _console: console, _log: log })
}
