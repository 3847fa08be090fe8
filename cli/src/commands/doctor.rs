//! `doctor`: what this machine has of what is needed, part by part, and what to do about the rest.

pub(super) mod agents;

use std::{
    path::Path,
    time::{Duration, Instant, SystemTime},
};

use holdpoint_bus::broker::FLOOR;
use holdpoint_console::Condition;
use holdpoint_evidence::environment::Project;
use holdpoint_harness::{
    backend::command::own_environment,
    environment::{Environments, TreeMechanism},
};
use holdpoint_runtime::config::Config;
use holdpoint_sandbox::{PropertyReport, Sandbox};
use holdpoint_workspace::{GIT_FLOOR, UserRepo, require_git};
use serde::Serialize;

use crate::{
    args::DoctorArgs,
    failure::{Exit, Failure, chain},
    fleet::{find_server, known_broker},
    output, project,
    state::{self, StateDir},
    temporary,
};

/// How far the clocks of day and of time passed may drift apart while doctor looks: more means that one is being set.
const DRIFT_MAX: Duration = Duration::from_millis(500);
/// Before this the clock of day was never set (seconds after 1970: start of 2024).
const CLOCK_MIN_S: u64 = 1_704_067_200;

/// The whole report; its JSON form is what `--json` prints.
#[derive(Debug, Serialize)]
struct Report {
    /// Whether flights can be flown here.
    ok: bool,
    broker: Part,
    git: Part,
    sandbox: SandboxPart,
    clock: Part,
    state: Part,
    /// What the repository is; `null`: that could not be read.
    project: Option<ProjectPart>,
    /// Coding agents; none has to be here.
    agents: Vec<agents::AgentPart>,
}

/// One part of the machine.
#[derive(Debug, Serialize)]
struct Part {
    ok: bool,
    /// Where it is.
    found: Option<String>,
    version: Option<String>,
    /// The oldest version that will do.
    floor: Option<String>,
    /// What is wrong.
    problem: Option<String>,
    hint: Option<String>,
    /// Where the repository's broker runs, if it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    running: Option<String>,
}

/// What a repository is by its last commit. None of it keeps flights from being flown.
#[derive(Debug, Serialize)]
struct ProjectPart {
    /// In words; `null`: it was not recognised.
    kind: Option<String>,
    /// The command that sets its dependencies up; `null`: no lock file names any.
    setup: Option<String>,
    /// Whether that was done for this state of the lock files.
    set_up: bool,
    /// By what the trees of checks are kept apart.
    trees_by: &'static str,
}

#[derive(Debug, Serialize)]
struct SandboxPart {
    ok: bool,
    properties: Vec<PropertyLine>,
    problem: Option<String>,
    hint: Option<String>,
}

#[derive(Debug, Serialize)]
struct PropertyLine {
    property: String,
    enforced: bool,
    /// By what; `null`: by nothing.
    by: Option<String>,
    /// What is left open, or why nothing enforces it.
    detail: String,
    /// Whether programs are refused without it.
    required: bool,
    /// Whether the configuration does without it.
    waived: bool,
}

/// Looks at everything, also when something is wrong.
pub(super) async fn doctor(args: DoctorArgs) -> Result<Exit, Failure> {
    if !args.repo.is_dir() {
        let message = format!("there is no folder {}", args.repo.display());
        return Err(Failure::usage("not_a_repository", message, "--repo DIR names a repository, or leave it out"));
    }
    let config = Config::load(None, Vec::new())?;
    let mut report = look(&config, &args.repo).await;
    if report.sandbox.ok {
        report.agents = agents::look(&config).await;
    }
    if args.json {
        output::json(&report);
    } else {
        print(&report);
    }
    Ok(if report.ok { Exit::Success } else { Exit::Environment })
}

/// Looks at all but the agents.
async fn look(config: &Config, repo: &Path) -> Report {
    let began = (Instant::now(), SystemTime::now());
    let git = git().await;
    let repo = if git.ok { UserRepo::open(repo).await.ok() } else { None };
    let state = repo.as_ref().and_then(|repo| StateDir::of(repo).ok());
    let broker = broker(state.as_ref()).await;
    let sandbox = sandbox(config).await;
    let folder = state_folder(state.as_ref());
    let clock = clock(began);
    let ok = broker.ok && git.ok && sandbox.ok && clock.ok && folder.ok;
    let project = match (repo, state) {
        (Some(repo), Some(state)) if sandbox.ok => project(config, &repo, &state).await,
        _ => None,
    };
    Report { ok, broker, git, sandbox, clock, state: folder, project, agents: Vec::new() }
}

async fn project(config: &Config, repo: &UserRepo, state: &StateDir) -> Option<ProjectPart> {
    let base = repo.resolve("HEAD").await.ok()?;
    let Project { kind, environment, .. } = project::of_base(repo, &base).await.ok()?;
    let trial = holdpoint_sandbox::TemporaryFolder::new().ok()?;
    let sandbox = Sandbox::of_this_executable().waiving(config.sandbox.waive.iter().copied());
    let overlay = sandbox.overlays_in(trial.path()).await.ok()?;
    let mechanism = if overlay { TreeMechanism::Overlay } else { TreeMechanism::Copy };
    let dir = config.agent.environments_dir.clone().unwrap_or_else(|| state.environments());
    let environments = Environments::new(dir, &own_environment());
    let entries = repo.list_tree(&base).await.ok()?;
    let set_up = environments.is_set_up(&environment, mechanism, &entries);
    Some(ProjectPart { kind, setup: environment.setup, set_up, trees_by: mechanism.name() })
}

/// The same as the console shows it, a line a part.
pub(crate) async fn conditions(repo: &Path) -> Vec<Condition> {
    let report = match Config::load(None, Vec::new()) {
        Ok(config) => look(&config, repo).await,
        Err(error) => {
            let (says, hint) = words(&error.into());
            return vec![Condition { name: "configuration".to_owned(), ok: false, says: format!("{says}; {hint}") }];
        }
    };
    let Report { broker, git, sandbox, clock, state, .. } = report;
    let parts = [("broker", broker), ("git", git), ("clock", clock), ("state", state)];
    let says = |found: Vec<Option<String>>| found.into_iter().flatten().collect::<Vec<_>>().join(" ");
    let mut conditions: Vec<Condition> = parts
        .map(|(name, part)| {
            let Part { ok, found, version, problem, hint, .. } = part;
            Condition { name: name.to_owned(), ok, says: says(vec![version, found, problem, hint]) }
        })
        .into();
    let lacks = sandbox.properties.iter().filter(|line| !line.enforced).map(|line| line.property.as_str());
    let lacks: Vec<&str> = lacks.collect();
    let lacking = (!lacks.is_empty()).then(|| format!("not enforced: {}", lacks.join(", ")));
    let enforced = sandbox.problem.is_none().then(|| {
        format!("{} of {} properties enforced", sandbox.properties.len() - lacks.len(), sandbox.properties.len())
    });
    let sandbox_says = says(vec![enforced, lacking, sandbox.problem, sandbox.hint]);
    conditions.push(Condition { name: "sandbox".to_owned(), ok: sandbox.ok, says: sandbox_says });
    conditions
}

impl Part {
    fn good(found: Option<String>, version: Option<String>, floor: Option<String>) -> Self {
        Self { ok: true, found, version, floor, problem: None, hint: None, running: None }
    }

    fn bad(failure: &Failure, floor: Option<String>) -> Self {
        let (problem, hint) = words(failure);
        Self { ok: false, found: None, version: None, floor, problem: Some(problem), hint: Some(hint), running: None }
    }
}

fn words(failure: &Failure) -> (String, String) {
    match failure {
        Failure::Other { message, hint, .. } => (message.clone(), hint.clone()),
        Failure::Plan(errors) => (errors.to_string(), String::new()),
        Failure::Act(refused) => (refused.message.clone(), refused.hint.clone()),
    }
}

async fn broker(state: Option<&StateDir>) -> Part {
    let floor = Some(FLOOR.to_string());
    let mut part = match find_server().await {
        Ok(server) => Part::good(Some(server.path().display().to_string()), Some(server.version().to_string()), floor),
        Err(error) => Part::bad(&error.into(), floor),
    };
    part.running = state.and_then(known_broker);
    part
}

async fn git() -> Part {
    let floor = Some(GIT_FLOOR.to_string());
    match require_git().await {
        Ok(version) => Part::good(Some("git".to_owned()), Some(version.to_string()), floor),
        Err(error) => Part::bad(&error.into(), floor),
    }
}

async fn sandbox(config: &Config) -> SandboxPart {
    let waived = &config.sandbox.waive;
    let line = |report: PropertyReport| PropertyLine {
        property: report.property.to_string(),
        enforced: report.enforced(),
        required: report.property.required(),
        waived: waived.contains(&report.property),
        by: report.mechanism,
        detail: report.detail,
    };
    match Sandbox::of_this_executable().bounded(config.sandbox.bounds()).probe().await {
        Ok(reports) => {
            let properties: Vec<PropertyLine> = reports.into_iter().map(line).collect();
            let ok = properties.iter().all(|line| line.enforced || line.waived || !line.required);
            let hint = (!ok).then(|| {
                "HOLDPOINT__SANDBOX__WAIVE=name,… or `waive` below [sandbox] does without a property; reports say so".to_owned()
            });
            SandboxPart { ok, properties, problem: None, hint }
        }
        Err(error) => SandboxPart {
            ok: false,
            properties: Vec::new(),
            problem: Some(chain(&error)),
            hint: Some("Holdpoint needs Linux with Landlock or user namespaces".to_owned()),
        },
    }
}

/// Deadlines are times of day: a clock that was never set, or is set while work goes on, ends turns too early.
fn clock((since, at): (Instant, SystemTime)) -> Part {
    let now = SystemTime::now();
    let by_day = now.duration_since(at).unwrap_or_default();
    let drift = by_day.abs_diff(since.elapsed());
    let unix_s = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs();
    let hint = "let the system keep its clock, with NTP for example";
    if unix_s < CLOCK_MIN_S {
        return Part::bad(&Failure::environment("clock", "the clock was never set", hint), None);
    }
    if now < at || drift > DRIFT_MAX {
        let message = format!("the clock jumped by {drift:?} while it was looked at");
        return Part::bad(&Failure::environment("clock", message, hint), None);
    }
    Part::good(Some(holdpoint_runtime::clock::now().to_string()), None, None)
}

fn state_folder(state: Option<&StateDir>) -> Part {
    // Outside of a repository only the root is known, and it may not be there yet.
    let tried = match state {
        Some(state) => state.ensure().map(|()| state.dir().to_owned()),
        None => state::root(),
    };
    let tried = tried.and_then(|dir| state::writable(&dir).and_then(|()| temporary::usable()).map(|()| dir));
    match tried {
        Ok(dir) => Part::good(Some(dir.display().to_string()), None, None),
        Err(failure) => Part::bad(&failure, None),
    }
}

fn print(report: &Report) {
    for (name, part) in [("broker", &report.broker), ("git", &report.git)] {
        print_part(name, part);
    }
    output::out(&format!("{} sandbox", mark(report.sandbox.ok)));
    for line in &report.sandbox.properties {
        let by = line.by.as_deref().unwrap_or(if line.waived { "nothing (waived)" } else { "nothing" });
        let detail = if line.detail.is_empty() { String::new() } else { format!(" ({})", line.detail) };
        output::out(&format!("    {} {:<22} {by}{detail}", mark(line.enforced), line.property));
    }
    print_problem(report.sandbox.problem.as_deref(), report.sandbox.hint.as_deref());
    for (name, part) in [("clock", &report.clock), ("state", &report.state)] {
        print_part(name, part);
    }
    if let Some(ProjectPart { kind, setup, set_up, trees_by }) = &report.project {
        let kind = kind.as_deref().unwrap_or("not recognised");
        output::out(&format!("  project  {kind}; checks have trees of their own by {trees_by}"));
        let is_there = if *set_up { "set up" } else { "not set up yet" };
        setup.iter().for_each(|setup| output::out(&format!("    environment: {setup} ({is_there})")));
    }
    if !report.agents.is_empty() {
        output::out("  agents that `--builder NAME` knows");
        report.agents.iter().flat_map(agents::lines).for_each(|line| output::out(&line));
    }
}

fn print_part(name: &str, part: &Part) {
    let mut words = vec![format!("{} {name:<8}", mark(part.ok))];
    words.extend(part.version.clone());
    words.extend(part.found.clone());
    words.extend(part.floor.as_ref().map(|floor| format!("({floor} or newer is needed)")));
    words.extend(part.running.as_ref().map(|url| format!("running at {url}")));
    output::out(&words.join(" "));
    print_problem(part.problem.as_deref(), part.hint.as_deref());
}

fn print_problem(problem: Option<&str>, hint: Option<&str>) {
    for words in [problem.map(str::to_owned), hint.map(|hint| format!("hint: {hint}"))].into_iter().flatten() {
        output::out(&format!("    {words}"));
    }
}

fn mark(ok: bool) -> &'static str {
    if ok { "✓" } else { "✗" }
}
