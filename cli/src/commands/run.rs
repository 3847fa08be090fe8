//! `run`: from a plan to the branch with what was accepted, on a fleet of one's own ([`local`]) or on one elsewhere.

mod local;

use std::io::IsTerminal as _;

use holdpoint_planfile::plan::ADVISORS_MAX;
use holdpoint_protocol::{
    Digest, Timestamp,
    ids::{FlightId, role},
    journal::Fleet,
    streams,
    view::{FlightStatus, FlightView},
};
use holdpoint_runtime::{clock, config::Config};
use holdpoint_workspace::UserRepo;
use serde_json::json;

use super::cost;
use crate::{
    args::{CommandFlags, RunArgs, Work},
    branch,
    client::Client,
    failure::{Exit, Failure},
    ground,
    interrupt::Interrupts,
    next,
    notify::Notifier,
    output,
    people::find,
    preflight, progress,
    reload::{Files, Watcher},
    state::StateDir,
    target::Remote,
    view,
};

/// Builders of a local fleet unless the user says otherwise.
pub(super) const BUILDERS_DEFAULT: u32 = 1;

/// Flies a plan, or goes on with a flight.
pub(crate) async fn run(args: RunArgs) -> Result<Exit, Failure> {
    let remote = Remote::named(&args.place)?;
    if remote.is_some() {
        refuse_own_fleet(&args.commands)?;
    }
    let flown = match (remote, &args.resume, Work::named(args.plan.as_ref(), &args.task)) {
        (Some(remote), Some(flight), _) => Box::pin(resume_elsewhere(&args, &remote, flight)).await?,
        (Some(remote), None, Some(work)) => Box::pin(fly_elsewhere(&args, &remote, work)).await?,
        (None, Some(flight), _) => Box::pin(local::resume(&args, flight)).await?,
        (None, None, Some(work)) => Box::pin(local::fly(&args, work)).await?,
        (_, None, None) => return Err(nothing_named()),
    };
    let Flown { view, cost, ended } = flown;
    if args.json_events {
        print_last_event(&view);
    } else {
        print(&view, args.json);
    }
    if !args.json && !args.json_events {
        next::lines(&view, cost.as_deref(), &args.place.repo, ended).iter().for_each(|line| output::out(line));
    }
    Ok(view::exit(&view))
}

/// A flight that was flown until only people can move it on.
struct Flown {
    view: FlightView,
    /// What it used up, for people; `None` where nobody asks, or that cannot be read.
    cost: Option<String>,
    /// When it came to its end; `None` where it had before.
    ended: Option<Timestamp>,
}

/// Neither a plan nor a task was named.
pub(super) fn nothing_named() -> Failure {
    let hint = "name a plan file, or the work itself: --task TITLE or --issue FILE; `run --resume FLIGHT` goes on with a flight";
    Failure::usage("arguments", "there is no plan", hint)
}

/// Prints a flight's result as the last of its events.
pub(super) fn print_last_event(view: &FlightView) {
    output::json_line(&json!({"event": "end", "at": clock::now(), "result": view::Shown::from(view)}));
}

/// Prints a flight's result.
pub(super) fn print(view: &FlightView, json: bool) {
    if json {
        output::json(&view::Shown::from(view));
    } else {
        output::out(&view::table(view));
    }
}

/// Refuses flags about a fleet of one's own along with the name of another.
pub(super) fn refuse_own_fleet(commands: &CommandFlags) -> Result<(), Failure> {
    let given = commands.given();
    if given.is_empty() {
        return Ok(());
    }
    let message = format!("{} cannot be used with a fleet elsewhere (--nats)", given.join(", "));
    Err(Failure::usage("remote_fleet", message, "that fleet has its own agents; leave them out, or leave --nats out"))
}

/// How many advisors a round asks: as many as the fleet has.
pub(super) fn advisors(config: &Config) -> u32 {
    let program = config.agents.program(&role::id(role::ADVISOR));
    let count = program.filter(|program| program.command.is_some()).map(|program| program.count.unwrap_or(1));
    count.unwrap_or_default().min(ADVISORS_MAX)
}

/// What is recorded of the fleet with the flight.
pub(super) fn facts(config: &Config, pool: holdpoint_protocol::ids::PoolId, parallel: Option<u32>) -> Fleet {
    Fleet {
        pool,
        repair: config.agents.repair.command.is_some(),
        judge: config.agents.verifier.judge.is_some(),
        advisors: advisors(config),
        parallel,
        queue_grace: config.orchestrator.queue_grace.duration().into(),
        build_wall: config.agents.builder.wall.duration().max(config.agents.repair.wall.duration()).into(),
        dead_after: config.orchestrator.dead_after,
    }
}

/// Whether there is something to write a branch for; an accepted flight has one also if nothing had to change.
pub(super) fn anything_landed(view: &FlightView) -> bool {
    view.status == FlightStatus::Accepted || !view.landings.is_empty()
}

/// In which form a result is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wanted {
    /// Words, for people.
    Words,
    /// One JSON object.
    Json,
    /// What happens as JSON, one object a line.
    Events,
}

impl Wanted {
    fn by(args: &RunArgs) -> Self {
        match (args.json, args.json_events) {
            (true, _) => Self::Json,
            (false, true) => Self::Events,
            (false, false) => Self::Words,
        }
    }
}

/// What `run` does with a flight that was submitted.
struct Following<'a> {
    client: &'a Client,
    repo: &'a UserRepo,
    flight: &'a FlightId,
    /// Whether it stays while something waits for people.
    stays: bool,
    /// In which form its result is wanted.
    result: Wanted,
    /// Who is notified meanwhile.
    notifier: Option<Notifier>,
    /// What reloads its workflows meanwhile.
    watcher: Option<Watcher>,
}

impl<'a> Following<'a> {
    /// Follows it as far as the reader of the result wants.
    fn of(
        client: &'a Client,
        repo: &'a UserRepo,
        flight: &'a FlightId,
        result: Wanted,
        notifier: Option<Notifier>,
        watcher: Option<Watcher>,
    ) -> Self {
        Self { client, repo, flight, stays: stays(result != Wanted::Words), result, notifier, watcher }
    }

    /// Follows the flight to its end and writes its branch.
    async fn conclude(self, begun: Option<&FlightView>) -> Result<Flown, Failure> {
        let (stays, events, watcher) = (self.stays, self.result == Wanted::Events, self.watcher.as_ref());
        let how = progress::How { stays, events, repo: Some(self.repo), watcher };
        let view = progress::follow(self.client, self.flight, begun, how).await?;
        let ended = (!begun.is_some_and(|view| view.status.is_over())).then(clock::now);
        if anything_landed(&view) {
            branch::write(self.client, self.repo, &view).await?;
            branch::left_behind(self.repo, &view).await?.iter().for_each(|note| output::err(note));
        }
        let for_people = self.result == Wanted::Words;
        let cost = if for_people { cost::in_a_line(self.client, self.flight).await } else { None };
        if let Some(notifier) = self.notifier {
            notifier.finish().await;
        }
        Ok(Flown { view, cost, ended })
    }
}

/// Whether a command that shows a flight stays while something waits for people: where one can see it and go to another
/// terminal. A person who waits for the end of the command learns by it.
pub(super) fn stays(json: bool) -> bool {
    !json && std::io::stderr().is_terminal()
}

/// A new flight on a fleet elsewhere.
async fn fly_elsewhere(args: &RunArgs, remote: &Remote, work: Work<'_>) -> Result<Flown, Failure> {
    let plan = preflight::read_work(work, &args.place.repo, None).await?;
    let config = Config::load(args.commands.config.as_deref(), Vec::new())?;
    let (ready, flight) = preflight::clear_elsewhere(plan, &args.place.repo).await?;
    preflight::warn(&preflight::unjudged(&ready.plan, config.agents.verifier.judge.is_some(), work.file()));
    preflight::warn(&preflight::loose(&ready.plan, work.file()));
    preflight::warn(&preflight::base_warnings(&ready, work.file()).await?);
    let (repo, declares) = (ready.repo.clone(), preflight::may_reload(&ready.plan, &ready.workflows));
    let client = remote.connect().await?;
    let work = async {
        let watched = watched(args, declares).await?;
        ready.submit(&client, &flight, facts(&config, streams::fleet_pool(), None)).await?;
        output::err(&format!("flight {flight}"));
        let watcher = watched.map(|files| Watcher::start(&client, files, Some(&flight), None));
        let notifier = notifier(&client, &config, &repo, &flight)?;
        let following = Following::of(&client, &repo, &flight, Wanted::by(args), notifier, watcher);
        following.conclude(None).await
    };
    or_interrupted(work, &flight).await
}

/// Waits for a flight of a fleet elsewhere again.
async fn resume_elsewhere(args: &RunArgs, remote: &Remote, flight: &FlightId) -> Result<Flown, Failure> {
    let repo = ground::find(&args.place.repo).await?;
    let config = Config::load(None, Vec::new())?;
    let client = remote.connect().await?;
    let flight = &find::flight(&client, flight).await?;
    branch::check(&repo, flight).await?;
    let work = async {
        let begun = client.status(flight).await?;
        branch::check_fits(&repo, &begun).await?;
        let watched = watched(args, !begun.workflows.is_empty()).await?;
        let watcher = watched.map(|files| Watcher::start(&client, files, Some(flight), None));
        let notifier = notifier(&client, &config, &repo, flight)?;
        let following = Following::of(&client, &repo, flight, Wanted::by(args), notifier, watcher);
        following.conclude(Some(&begun)).await
    };
    or_interrupted(work, flight).await
}

/// The files of a flight that is flown by workflows of theirs, and their contents now.
async fn watched(args: &RunArgs, declares: bool) -> Result<Option<(Files, Option<Digest>)>, Failure> {
    if !declares {
        return Ok(None);
    }
    let files = Files::of(&args.place.repo, None, None).await?;
    let before = files.digest();
    Ok(Some((files, before)))
}

/// Notifies of a flight elsewhere. Delivered notifications are remembered in the state folder of the repository here.
fn notifier(client: &Client, config: &Config, repo: &UserRepo, flight: &FlightId) -> Result<Option<Notifier>, Failure> {
    if !config.notify.notifies() {
        return Ok(None);
    }
    Notifier::start(client, &config.notify, &StateDir::of(repo)?, Some(flight))
}

async fn or_interrupted(
    work: impl Future<Output = Result<Flown, Failure>>,
    flight: &FlightId,
) -> Result<Flown, Failure> {
    let mut interrupts = Interrupts::listen()?;
    tokio::select! {
        result = work => result,
        () = interrupts.next() => {
            let message = format!("interrupted; the flight {flight} goes on without this command");
            let hint = format!("`holdpoint run --resume {flight}` waits for it again");
            Err(Failure::Other { exit: Exit::Interrupted, code: "interrupted", message, hint })
        }
    }
}
