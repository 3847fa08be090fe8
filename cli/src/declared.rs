//! What a repository declares on a commit, and looking at declarations with the engine that evaluates conditions.
//!
//! The rules are the reader's (`planfile`); nothing is read from a working tree here.

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
    io::ErrorKind,
    path::Path,
};

use holdpoint_conditions::{ConditionAnswer, ConditionHelper, ConditionHelperError};
use holdpoint_planfile::{
    declared::{self, CheckedDeclarations, DeclaredFile, ProjectDefaults},
    gates::Workflow,
    plan::{PlanError, PlanErrors, closest},
    workflows,
};
use holdpoint_protocol::{
    ids::{AgentName, RoleId, role},
    org::Plane,
    plan::Plan,
    workflow::WorkflowSpec,
};
use holdpoint_runtime::config::Config;
use holdpoint_workspace::{ObjectId, RepoPath, UserRepo, WorkspaceError};

use crate::{
    args::CommandFlags,
    bounded,
    failure::{Failure, chain},
    output,
};

/// Where a project declares its workflows.
pub(crate) const PROJECT: &str = "project.yaml";
/// Where it declares who has which role.
pub(crate) const ORG: &str = "org.yaml";

/// Files that were read, each with its name.
#[derive(Debug, Default)]
pub(crate) struct Declarations {
    /// Files of workflows.
    pub(crate) projects: Vec<(String, Vec<u8>)>,
    /// The org chart that they share.
    pub(crate) org: Option<(String, Vec<u8>)>,
}

impl Declarations {
    /// The workflows of the current commit, or of a folder without a repository.
    async fn of(place: &Path) -> Result<Self, Failure> {
        match UserRepo::open(place).await {
            Err(WorkspaceError::NotARepository { dir }) => Self::in_folder(&dir),
            opened => {
                let repo = opened?;
                let head = repo.resolve("HEAD").await?;
                Self::at(&repo, &head).await
            }
        }
    }

    /// The workflows on a commit.
    async fn at(repo: &UserRepo, commit: &ObjectId) -> Result<Self, Failure> {
        let read = async |name: &str| {
            let path = RepoPath::new(name.as_bytes()).expect("a literal path");
            let file = repo.file_at(commit, &path, declared::FILE_BYTES_MAX + 1).await?;
            Ok::<_, Failure>(file.map(|bytes| (name.to_owned(), bytes)))
        };
        Ok(Self { projects: read(PROJECT).await?.into_iter().collect(), org: read(ORG).await? })
    }

    /// The workflows in a folder that is in no repository.
    fn in_folder(dir: &Path) -> Result<Self, Failure> {
        let read = |name: &str| match bounded::read(&dir.join(name), declared::FILE_BYTES_MAX) {
            Ok(bytes) => Ok(Some((name.to_owned(), bytes))),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(unreadable(dir, name, &error)),
        };
        Ok(Self { projects: read(PROJECT)?.into_iter().collect(), org: read(ORG)? })
    }

    /// Looks at all of it; conditions are read by the engine that evaluates them. `keys` are the names that agents and people
    /// have keys for; without them everybody is taken to exist.
    pub(crate) async fn check(&self, keys: Option<&BTreeSet<AgentName>>) -> Result<CheckedDeclarations, Failure> {
        let seen = RefCell::new(Vec::new());
        self.check_with(keys, &|condition| {
            seen.borrow_mut().push(condition.to_owned());
            Ok(())
        });
        let conditions = seen.into_inner();
        let answers = match ConditionHelper::own() {
            Ok(helper) => helper.parse(&conditions).await,
            Err(error) => Err(error),
        };
        let answers: BTreeMap<String, ConditionAnswer> =
            conditions.into_iter().zip(answers.map_err(unusable)?).collect();
        Ok(self.check_with(keys, &|condition| match answers.get(condition) {
            Some(ConditionAnswer::Failed(failure)) => Err(failure.to_string()),
            _ => Ok(()),
        }))
    }

    fn check_with(
        &self,
        keys: Option<&BTreeSet<AgentName>>,
        conditions: declared::Conditions<'_>,
    ) -> CheckedDeclarations {
        fn source((file, bytes): &(String, Vec<u8>)) -> DeclaredFile<'_> {
            DeclaredFile { file, bytes }
        }
        let projects: Vec<DeclaredFile<'_>> = self.projects.iter().map(source).collect();
        declared::check(&projects, self.org.as_ref().map(source), keys, conditions)
    }
}

/// The workflows of sound declarations, with what the org chart says of their roles; else everything that is wrong. Prints the
/// warnings.
pub(crate) async fn sound(found: &Declarations) -> Result<Vec<WorkflowSpec>, Failure> {
    let (workflows, warnings) = with_warnings(found).await?;
    for warning in &warnings {
        output::err(warning.render("warning: ").trim_end());
    }
    Ok(workflows)
}

/// As [`sound`], with the warnings that it would print.
pub(crate) async fn with_warnings(found: &Declarations) -> Result<(Vec<WorkflowSpec>, Vec<PlanError>), Failure> {
    let checked = found.check(None).await?;
    if !checked.errors.is_empty() {
        return Err(PlanErrors { errors: checked.errors }.into());
    }
    let all = checked.projects.into_iter().flatten();
    Ok((all.map(|spec| declared::resolve(spec, checked.chart.as_ref())).collect(), checked.warnings))
}

/// What to do where a workflow file is not there.
pub(crate) const NAME_WORKFLOW: &str =
    "name a workflow file, or begin one: holdpoint workflow new review --out project.yaml";
/// The same of an org chart.
pub(crate) const NAME_ORG: &str = "name an org chart, or begin one: holdpoint workflow new review --org --out org.yaml";

/// A file's name and bytes; of a file that is too large only as many as show it. `hint` is for one that is not there.
pub(crate) fn read(path: &Path, hint: &str) -> Result<(String, Vec<u8>), Failure> {
    let bytes = bounded::read(path, declared::FILE_BYTES_MAX).map_err(|error| {
        let message = format!("cannot read {}: {error}", path.display());
        Failure::usage("workflow_unreadable", message, hint)
    })?;
    Ok((path.display().to_string(), bytes))
}

/// The name of the first workflow that a project declares, on the current commit or in a folder without a repository; `None`: it
/// declares none.
pub(crate) async fn first(place: &Path) -> Result<Option<String>, Failure> {
    let found = Declarations::of(place).await?;
    if found.projects.is_empty() {
        return Ok(None);
    }
    let checked = found.check(None).await?;
    if !checked.errors.is_empty() {
        return Err(PlanErrors { errors: checked.errors }.into());
    }
    Ok(checked.projects.into_iter().flatten().next().map(|spec| spec.name))
}

/// What the project file of a commit declares for plans that say nothing of it.
pub(crate) async fn defaults(repo: &UserRepo, base: &ObjectId) -> Result<ProjectDefaults, Failure> {
    let found = Declarations::at(repo, base).await?;
    let Some((file, bytes)) = found.projects.first() else { return Ok(ProjectDefaults::default()) };
    Ok(declared::defaults(DeclaredFile { file, bytes })?)
}

/// The declared workflows that a plan names, and those of children, from the commit that it stands on; none where it names only those that no
/// project declares.
///
/// Sound ones that this version cannot run are refused by what they say.
pub(crate) async fn named(plan: &Plan, repo: &Path) -> Result<Vec<WorkflowSpec>, Failure> {
    let named: Vec<&str> = workflows::used(plan).into_iter().filter(|name| !workflows::is_reserved(name)).collect();
    if named.is_empty() {
        return Ok(Vec::new());
    }
    let (found, place) = match UserRepo::open(repo).await {
        Err(WorkspaceError::NotARepository { dir }) => {
            (Declarations::in_folder(&dir)?, format!("{PROJECT} of {}", dir.display()))
        }
        opened => {
            let repo = opened?;
            let base = repo.resolve(&plan.base).await?;
            let place =
                format!("{PROJECT} of {} ({base}); what the working tree has counts once it is committed", plan.base);
            (Declarations::at(&repo, &base).await?, place)
        }
    };
    let mut found = sound(&found).await?;
    let is_there = |name: &str| workflows::named(name, &found).is_some();
    if let Some(name) = named.iter().find(|name| !is_there(name)) {
        output::err(&format!("note: workflow {name} is not in {place}"));
    }
    let flown = workflows::specs(plan, &found);
    found.retain(|spec| flown.iter().any(|one| one.name == spec.name));
    for spec in &found {
        Workflow::try_new(spec).map_err(|error| {
            let message = format!("workflow {} of {PROJECT} cannot be flown: {}", spec.name, chain(&error));
            Failure::usage("workflow_not_runnable", message, "`holdpoint workflow show` lists what this version runs")
        })?;
    }
    Ok(found)
}

/// The roles that the configuration has agents for besides the built-in ones, each with whether the org chart of the current commit
/// says that they build.
pub(crate) async fn agents(config: &Config, repo: &UserRepo) -> Result<Vec<(RoleId, bool)>, Failure> {
    let roles: Vec<&RoleId> = config.agents.declared.keys().collect();
    if roles.is_empty() {
        return Ok(Vec::new());
    }
    let head = repo.resolve("HEAD").await?;
    let found = Declarations { projects: Vec::new(), ..Declarations::at(repo, &head).await? };
    let checked = found.check(None).await?;
    if !checked.errors.is_empty() {
        return Err(PlanErrors { errors: checked.errors }.into());
    }
    let chart = checked.chart.unwrap_or_default();
    let builds = |role: &RoleId| chart.roles.get(role).is_some_and(|spec| spec.plane == Some(Plane::Build));
    Ok(roles.into_iter().map(|role| (role.clone(), builds(role))).collect())
}

/// Refuses agents of a role that nothing in the project names: the name of their section in the configuration is misspelled. Those
/// that a flag names may wait for a reload. Declarations that are wrong are left to the plans that need them.
pub(crate) async fn check_sections(config: &Config, flags: &CommandFlags, place: &Path) -> Result<(), Failure> {
    let asked = |role: &&RoleId| !matches!(role.as_str(), role::ADVISOR | role::SOLO) && !flags.names(role);
    let sections: Vec<&RoleId> = config.agents.declared.keys().filter(asked).collect();
    if sections.is_empty() {
        return Ok(());
    }
    let checked = Declarations::of(place).await?.check(None).await?;
    if !checked.errors.is_empty() {
        return Ok(());
    }
    let built_in = workflows::all_built_in().iter().cloned();
    let specs: Vec<WorkflowSpec> = checked.projects.into_iter().flatten().chain(built_in).collect();
    let gates = specs.iter().flat_map(WorkflowSpec::all_gates).map(|gate| gate.role.clone());
    let chart = checked.chart.into_iter().flat_map(|chart| chart.roles.into_keys());
    let known: BTreeSet<RoleId> =
        gates.chain(chart).chain(role::AGENTS.map(role::id)).chain([role::id(role::ADVISOR)]).collect();
    let Some(unknown) = sections.into_iter().find(|role| !known.contains(*role)) else { return Ok(()) };
    let meant = closest(unknown.as_str(), known.iter().map(RoleId::as_str));
    let meant = meant.map(|meant| format!("did you mean [agents.{meant}]? ")).unwrap_or_default();
    let message = format!(
        "[agents.{unknown}] in the configuration is of a role that no workflow and no org chart of the project has"
    );
    let hint = format!("{meant}Name the role in {PROJECT} or {ORG} and commit that, or remove the section");
    Err(Failure::usage("unknown_role", message, hint))
}

fn unreadable(dir: &Path, name: &str, error: &std::io::Error) -> Failure {
    let message = format!("cannot read {}: {error}", dir.join(name).display());
    Failure::usage("declaration_unreadable", message, "it has to be a file that this user can read")
}

fn unusable(error: ConditionHelperError) -> Failure {
    let hint = "conditions of gates are read by a process of this executable: is its file still there?";
    Failure::environment("conditions", chain(&error), hint)
}
