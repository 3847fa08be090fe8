//! What is checked before a flight starts: plan, configuration, repository, sandbox. Cheap and without traces.

use std::path::Path;

use holdpoint_planfile::{
    gates::Workflow,
    plan::{self, BUILT_IN_WORKFLOWS, KnownWorkflow, PlanError, PlanErrors, PlanProblems, PlanTask},
    workflows,
};
use holdpoint_protocol::{
    ids::{FlightId, GateId, RoleId, role},
    plan::Plan,
    workflow::WorkflowSpec,
};
use holdpoint_runtime::config::Config;
use holdpoint_sandbox::Sandbox;
use holdpoint_workspace::{UserRepo, WorkspaceError};

use crate::{
    args::{TaskFlags, Work},
    base_tree::BaseTree,
    bounded, branch, declared,
    failure::{Failure, chain},
    flight_id, ground, issue, output, places, program,
    project::Defaults,
    ready::{Planned, Ready},
    skills::Skills,
    state::StateDir,
};

/// The role of the one gate of work without a workflow.
const DEFAULT_ROLE: &str = "default";
/// How many criteria are warned of one by one.
const WARNINGS_MAX: usize = 10;

/// Reads what is to be flown: a plan file, or flags in place of one. `config`: the programs of the fleet, where they are known.
pub(crate) async fn read_work(work: Work<'_>, repo: &Path, config: Option<&Config>) -> Result<Planned, Failure> {
    match work {
        Work::Plan(path) => read_plan(path, repo).await,
        Work::Task(task) => read_task(task, repo, config).await,
    }
}

/// Work without a plan file: what flags say, or an issue and what flags say besides. It goes by the workflow that is named, by the
/// first one that the project declares, where there is a builder by `fly`, or by the built-in one with a single gate. One that
/// verifies has all tests of the project run.
async fn read_task(flags: &TaskFlags, repo: &Path, config: Option<&Config>) -> Result<Planned, Failure> {
    let mut task = match &flags.issue {
        Some(file) => issue::read(file)?,
        None => PlanTask { title: flags.task.clone().unwrap_or_default(), ..PlanTask::default() },
    };
    let named = match flags.workflow.clone().or(task.workflow) {
        Some(named) => Some(named),
        None => declared::first(repo).await?,
    };
    let workflow = named.unwrap_or_else(|| if builds(config) { "fly" } else { workflows::ONE_GATE }.to_owned());
    task.goal = flags.goal.clone().or(task.goal);
    task.suite = if workflow == "fly" { suite(repo).await? } else { None };
    task.workflow = Some(workflow);
    task.checks.extend(flags.checks.iter().cloned());
    task.scope.extend(flags.scope.iter().cloned());
    task.changed_tests.extend(flags.changed_tests.iter().cloned());
    task.tags.extend(flags.tags.iter().cloned());
    let hint = "a workflow that verifies needs a command that shows the work: --check CMD, or `suite: CMD` in the project.yaml of the \
                commit; --workflow NAME chooses another one; what else there is to say goes into a plan file";
    let refused = |why: String| Failure::usage("task", format!("the work cannot be flown: {why}"), hint);
    let plan = plan::of_task(&task).ok_or_else(|| refused("its texts cannot stand in a plan".to_owned()))?;
    planned(plan, repo).await?.map_err(|found| refused(found.in_a_line(WARNINGS_MAX)))
}

/// Whether the fleet builds, and has nobody for the single gate of other work.
fn builds(config: Option<&Config>) -> bool {
    let has = |role| config.and_then(|config| config.agents.program(&role::id(role))?.command.as_ref()).is_some();
    has(role::BUILDER) && !has(DEFAULT_ROLE)
}

/// The command that runs all tests of a repository.
async fn suite(repo: &Path) -> Result<Option<String>, Failure> {
    let repo = match UserRepo::open(repo).await {
        Err(WorkspaceError::NotARepository { .. }) => return Ok(None),
        opened => opened?,
    };
    let suite = Defaults::of(&repo, &repo.resolve("HEAD").await?).await?.suite;
    if let Some(suite) = &suite {
        output::err(&format!("note: its tests are run with {suite}; `suite` in project.yaml says otherwise"));
    }
    Ok(suite)
}

/// A plan that no file says, with the workflows that it names; in its place what is wrong with it.
pub(crate) async fn planned(plan: Plan, repo: &Path) -> Result<Result<Planned, PlanProblems>, Failure> {
    let workflows = declared::named(&plan, repo).await?;
    let own = workflows.iter().map(KnownWorkflow::of);
    let known: Vec<KnownWorkflow<'_>> = BUILT_IN_WORKFLOWS.iter().copied().chain(own).collect();
    let found = plan::validate(&plan, &known);
    Ok(if found.is_empty() { Ok(Planned { plan, workflows }) } else { Err(found) })
}

/// Whether workflows that the project declares can change how this is flown: those that it names, and the first one where it
/// began without any.
pub(crate) fn may_reload(plan: &Plan, declared: &[WorkflowSpec]) -> bool {
    !declared.is_empty() || workflows::used(plan).contains(&workflows::ONE_GATE)
}

/// Reads a plan file; all its problems at once. It may name what the repository declares on the commit that it stands on.
async fn read_plan(path: &Path, repo: &Path) -> Result<Planned, Failure> {
    // Where it really is: its folder is opened to agents.
    places::check_path("the plan's path", &path.canonicalize().unwrap_or_else(|_| path.to_owned()))?;
    let bytes = bounded::read(path, plan::FILE_BYTES_MAX).map_err(|error| {
        let message = format!("cannot read the plan {}: {error}", path.display());
        Failure::usage("plan_unreadable", message, "PLAN is the path of a YAML file")
    })?;
    read_text(&bytes, &path.display().to_string(), repo).await
}

/// Reads a plan under the name of its file.
pub(crate) async fn read_text(bytes: &[u8], name: &str, repo: &Path) -> Result<Planned, Failure> {
    let workflows = match plan::glance(bytes) {
        Some(plan) => declared::named(&plan, repo).await?,
        None => Vec::new(),
    };
    let own = workflows.iter().map(KnownWorkflow::of);
    let known: Vec<KnownWorkflow<'_>> = BUILT_IN_WORKFLOWS.iter().copied().chain(own).collect();
    let plan = plan::read_bytes(bytes, name, &known)?;
    Ok(Planned { plan, workflows })
}

/// What a flight on a fleet of one's own needs, looked at: nothing was written or started yet.
pub(crate) struct Cleared {
    /// The plan and its base.
    pub(crate) ready: Ready,
    /// The fleet's configuration, its commands anchored in the user's current folder.
    pub(crate) config: Config,
    /// The flight's id.
    pub(crate) flight: FlightId,
    /// Where the repository's state is kept; not made yet.
    pub(crate) state: StateDir,
}

/// Looks at everything that a flight on a fleet of one's own needs, but for who builds.
pub(crate) async fn clear(
    plan: Planned,
    file: Option<&Path>,
    mut config: Config,
    repo: &Path,
) -> Result<Cleared, Failure> {
    check_programs(&plan.plan, file)?;
    check_network(&plan.plan, config.orchestrator.verifier_network, file)?;
    let (ready, flight) = clear_elsewhere(plan, repo).await?;
    program::anchor_all(&mut config, &ready.repo.places().await?);
    program::check_in_clone(&config, &ready).await?;
    program::check_there(&config, &ready.repo, Some(&ready.base)).await?;
    check_sandbox(&config).await?;
    let state = ground::state(&ready.repo).await?;
    Ok(Cleared { ready, config, flight, state })
}

/// Looks at what a flight on a fleet that runs already needs of this side: the plan's base, and the branch.
pub(crate) async fn clear_elsewhere(plan: Planned, repo: &Path) -> Result<(Ready, FlightId), Failure> {
    let flight = flight_id::fresh(&plan.plan.plan);
    Ok((clear_as(plan, repo, &flight).await?, flight))
}

/// The same of a flight that has its id.
pub(crate) async fn clear_as(plan: Planned, repo: &Path, flight: &FlightId) -> Result<Ready, Failure> {
    let ready = Ready::check(plan, repo).await?;
    branch::check(&ready.repo, flight).await?;
    Ok(ready)
}

/// A warning for each criterion that nobody can decide because there is no judge, with its line where there is a file; of
/// many only the first.
pub(crate) fn unjudged(plan: &Plan, judge: bool, file: Option<&Path>) -> Vec<String> {
    let found = if judge { PlanProblems::default() } else { plan::without_check(plan) };
    let (total, mut warnings) = (found.problems.len() + found.more, placed(found, file));
    warnings.truncate(WARNINGS_MAX);
    if total > warnings.len() {
        warnings.push(format!("{} more criteria have no `check` either", total - warnings.len()));
    }
    warnings
}

/// What of a plan's base is worth a warning: patterns that protect nothing, and documents and skills that nobody gets.
pub(crate) async fn base_warnings(ready: &Ready, file: Option<&Path>) -> Result<Vec<String>, Failure> {
    let tree = BaseTree::of(ready).await?;
    let mut warnings = of_base(&tree, &ready.plan, file);
    warnings.extend(Skills::of(&tree).await.problems);
    Ok(warnings)
}

/// A line for each pattern of `protected` that protects nothing, and for each document that the plan counts on and nobody gets.
pub(crate) fn of_base(tree: &BaseTree, plan: &Plan, file: Option<&Path>) -> Vec<String> {
    let mut warnings = placed(plan::that_protect_nothing(plan, &tree.paths()), file);
    warnings.extend(tree.lost(plan));
    if let Some(more) = warnings.len().checked_sub(WARNINGS_MAX).filter(|more| *more > 0) {
        warnings.truncate(WARNINGS_MAX);
        warnings.push(format!("{more} more patterns protect nothing, or documents are not there"));
    }
    warnings
}

/// A warning for each waypoint that certainly would be accepted if its agent did nothing, and for each whose work may change anything,
/// with its line where there is a file; of many only the first.
pub(crate) fn loose(plan: &Plan, file: Option<&Path>) -> Vec<String> {
    let found = [plan::that_nothing_fulfils(plan), plan::that_are_open(plan)];
    found.into_iter().flat_map(|found| placed(found, file).into_iter().take(WARNINGS_MAX)).collect()
}

/// What was found in a plan, each in a line; with its place where the plan is a file.
fn placed(found: PlanProblems, file: Option<&Path>) -> Vec<String> {
    match file.and_then(|file| in_file(&found, file)) {
        Some(errors) => errors.errors.iter().map(PlanError::in_a_line).collect(),
        None => found.problems.into_iter().map(|problem| format!("{}; {}", problem.message, problem.hint)).collect(),
    }
}

/// At its lines in a file that was read before.
fn in_file(found: &PlanProblems, file: &Path) -> Option<PlanErrors> {
    let text = String::from_utf8(bounded::read(file, plan::FILE_BYTES_MAX).ok()?).ok()?;
    let errors = plan::located(&text, &file.display().to_string(), found.clone());
    (!errors.errors.is_empty()).then_some(errors)
}

/// Refuses checks whose program certainly is not on this machine, where a fleet of one's own runs them: they would end with
/// exit code 127, whatever agents do.
pub(crate) fn check_programs(plan: &Plan, file: Option<&Path>) -> Result<(), Failure> {
    refuse(plan::that_lack(plan, program::lacking_in_path), "check_not_executable", file)
}

/// Refuses what runs with a network where the fleet's verifiers reach none, as its orchestrator would.
pub(crate) fn check_network(plan: &Plan, reached: bool, file: Option<&Path>) -> Result<(), Failure> {
    if reached { Ok(()) } else { refuse(plan::that_want_network(plan), "no_network", file) }
}

/// Refuses what was found, at its lines where the plan is a file.
fn refuse(found: PlanProblems, code: &'static str, file: Option<&Path>) -> Result<(), Failure> {
    let Some(first) = found.problems.first() else { return Ok(()) };
    match file.and_then(|file| in_file(&found, file)) {
        Some(errors) => Err(errors.into()),
        None => Err(Failure::usage(code, found.in_a_line(WARNINGS_MAX), first.hint.clone())),
    }
}

/// Refuses what the fleet of this machine cannot run of a plan whose text is at hand.
pub(crate) fn check_text(plan: &Plan, network: bool, name: &str, text: &str) -> Result<(), Failure> {
    let lacking = plan::that_lack(plan, program::lacking_in_path);
    let found = if lacking.is_empty() && !network { plan::that_want_network(plan) } else { lacking };
    if found.is_empty() { Ok(()) } else { Err(plan::located(text, name, found).into()) }
}

/// Says warnings on standard error.
pub(crate) fn warn(warnings: &[String]) {
    for warning in warnings {
        output::err(&format!("warning: {warning}"));
    }
}

/// Whether a workflow of the plan has turns for builders.
pub(crate) fn needs_builder(Planned { plan, workflows }: &Planned) -> bool {
    workflows::flown(plan, workflows).any(|workflow| workflow.needs_builder())
}

/// In a plan of one agent alone the builder's program is the agent's, so many at once as there would be builders. A program for
/// repairs or for judging has nothing to do there.
pub(crate) fn alone(config: &mut Config, plan: &Plan, builders: Option<u32>) {
    if !plan.policy.mode.is_single() {
        return;
    }
    let unused = [("repairs", config.agents.repair.command.take()), ("judging", config.agents.verifier.judge.take())];
    for (what, _) in unused.into_iter().filter(|(_, command)| command.is_some()) {
        output::err(&format!(
            "note: the plan is of `mode: single`: its one agent does all, and the program for {what} has no work"
        ));
    }
    let builder = std::mem::take(&mut config.agents.builder);
    let solo = config.agents.declared.entry(role::id(role::SOLO)).or_default();
    if builder.command.is_some() {
        *solo = builder;
    }
    solo.count = builders.or(solo.count);
}

/// Refuses a configuration without a builder.
pub(crate) fn check_builder(config: &Config) -> Result<(), Failure> {
    if config.agents.builder.command.is_some() {
        return Ok(());
    }
    let hint = "say what builds: --builder 'CMD', or `command` below [agents.builder] in the file of --config";
    Err(Failure::usage("no_builder", "no builder is configured", hint))
}

/// Those of these roles for which no program is configured.
pub(crate) fn lacking<'a>(config: &Config, roles: &'a [(RoleId, bool)]) -> impl Iterator<Item = &'a RoleId> {
    let has_program = |role: &RoleId| config.agents.program(role).is_some_and(|program| program.command.is_some());
    roles.iter().map(|(role, _)| role).filter(move |role| !has_program(role))
}

/// The flag that names the program of a role which is not built in.
pub(crate) fn flag(role: &RoleId) -> String {
    match role.as_str() {
        role::SOLO => "--builder 'CMD'".to_owned(),
        _ => format!("--agent {role}='CMD'"),
    }
}

/// Refuses a configuration without a program for one of these roles, and says which of its programs none of them needs.
pub(crate) fn check_agents(config: &Config, roles: &[(RoleId, bool)]) -> Result<(), Failure> {
    let lacking: Vec<&RoleId> = lacking(config, roles).collect();
    if let Some(first) = lacking.first() {
        let (named, flags): (Vec<String>, Vec<String>) =
            lacking.iter().map(|role| (role.to_string(), flag(role))).unzip();
        let (roles, flags) = (named.join(", "), flags.join(" "));
        let message =
            format!("no program is configured for agents whose gates the workflow has, of the roles: {roles}");
        let hint = format!(
            "say what they run: {flags}, or `command` below [agents.{first}] and so on in the file of --config"
        );
        return Err(Failure::usage("no_agents", message, hint));
    }
    let has_gates = |role: &RoleId| roles.iter().any(|(named, _)| named == role);
    // Advisors have turns without a gate.
    let waits = |role: &&RoleId| role.as_str() != role::ADVISOR && !has_gates(role);
    for unused in config.agents.declared.keys().filter(waits) {
        output::err(&format!(
            "note: no workflow of this flight has gates of the role {unused}: its agents have no work before a reload brings one"
        ));
    }
    Ok(())
}

/// What is wrong where one agent alone has a role whose gates look at the role's own work; else `None`.
pub(crate) fn lacks_second(config: &Config, builders: u32, plan: &Plan, declared: &[WorkflowSpec]) -> Option<Failure> {
    let of_role = |role: &RoleId| match role.as_str() {
        role::BUILDER => builders,
        _ => config.agents.program(role).and_then(|program| program.count).unwrap_or(1),
    };
    let flown: Vec<Workflow> = workflows::flown(plan, declared).collect();
    let (gate, role) = flown.iter().flat_map(workflows::inspections).find(|(_, role)| of_role(role) < 2)?;
    let message = format!("gate {gate} has a second agent of role {role} look at the work, and there is only one");
    let hint = match role.as_str() {
        role::BUILDER => "nobody looks at their own work: --builders 2".to_owned(),
        _ => format!("nobody looks at their own work: `count = 2` below [agents.{role}] in the file of --config"),
    };
    Some(Failure::usage("no_second_agent", message, hint))
}

/// A warning for each fork that has more branches of a role than agents that are to be started.
pub(crate) fn crowded(config: &Config, specs: &[WorkflowSpec]) -> Vec<String> {
    let members = |role: &RoleId| config.agents.declared.get(role).map(|program| program.count.unwrap_or(1));
    let words = |(fork, role, count): (&GateId, &RoleId, u32)| {
        format!(
            "fork {fork} has {count} branches of the role {role}, an agent votes in one of them, and fewer agents are started: give \
             it `count = {count}` below [agents.{role}] in the file of --config"
        )
    };
    specs.iter().flat_map(|spec| workflows::crowded(spec, members)).map(words).collect()
}

/// Refuses a machine whose sandbox lacks a promise that the configuration does not waive.
pub(crate) async fn check_sandbox(config: &Config) -> Result<(), Failure> {
    let hint = "`holdpoint doctor` shows which property is enforced by what; `waive` below [sandbox] in the \
                configuration does without one, and every report says so";
    let unusable = |message| Failure::environment("sandbox", message, hint);
    let reports = Sandbox::of_this_executable().probe().await.map_err(|error| unusable(chain(&error)))?;
    let waived = &config.sandbox.waive;
    let missing: Vec<String> = reports
        .iter()
        .filter(|report| report.property.required() && !report.enforced() && !waived.contains(&report.property))
        .map(|report| format!("{} ({})", report.property, report.detail))
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    Err(unusable(format!("the sandbox cannot be enforced here: nothing gives {}", missing.join(", "))))
}
