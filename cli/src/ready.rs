//! A plan that can be submitted, with the repository and the commit that it starts from.

use std::path::Path;

use holdpoint_bus::{api::ApiError, blobs};
use holdpoint_planfile::{checkpoints, plan, workflows};
use holdpoint_protocol::{
    api::Submit,
    checkpoint::CheckpointSpec,
    facts::{BlobRef, BundleRef},
    ids::{FlightId, role},
    journal::Fleet,
    plan::{EnvironmentSpec, Plan},
    workflow::WorkflowSpec,
};
use holdpoint_runtime::mirror::{to_wire, wire_path};
use holdpoint_workspace::{ObjectId, RepoPath, UserRepo};

use crate::{client::Client, failure::Failure, ground, output, project::Defaults, temporary};

/// What the orchestrator answers when a flight cannot begin now: one of this id is there already, or a bound is reached.
const NOT_NOW: u16 = 409;
/// What it answers when there is no such flight.
const NOT_THERE: u16 = 404;

/// The covenant's place unless the plan says otherwise.
pub(crate) const COVENANT: &str = "AGENTS.md";

/// A plan and the commit that it starts from.
#[derive(Debug)]
pub(crate) struct Ready {
    /// The plan.
    pub(crate) plan: Plan,
    /// The declared workflows that it names.
    pub(crate) workflows: Vec<WorkflowSpec>,
    /// The repository.
    pub(crate) repo: UserRepo,
    /// The commit.
    pub(crate) base: ObjectId,
}

/// A plan with the declared workflows that it names.
#[derive(Debug)]
pub(crate) struct Planned {
    /// The plan.
    pub(crate) plan: Plan,
    /// The workflows of the repository that it names.
    pub(crate) workflows: Vec<WorkflowSpec>,
}

impl Ready {
    /// Finds the repository and the plan's base in it.
    pub(crate) async fn check(Planned { plan, workflows }: Planned, repo: &Path) -> Result<Self, Failure> {
        let repo = ground::stand(repo, &plan, &workflows).await?;
        let base = repo.resolve(&plan.base).await?;
        repo.check_complete()?;
        Self::on(Planned { plan, workflows }, repo, base).await
    }

    /// The same on a base that was found, of which no snapshot is needed.
    pub(crate) async fn on(planned: Planned, repo: UserRepo, base: ObjectId) -> Result<Self, Failure> {
        let ready = Self::settled(planned, repo, base).await?;
        ready.say_notes().await?;
        Ok(ready)
    }

    /// The same, without the notes on the repository.
    pub(crate) async fn settled(
        Planned { plan, workflows }: Planned,
        repo: UserRepo,
        base: ObjectId,
    ) -> Result<Self, Failure> {
        let mut plan = with_tests(plan, &repo, &base).await?;
        plan.checks = checks(&plan, &workflows, &repo, &base).await?;
        if plan.environment.is_none() {
            plan.environment = Some(environment(&repo, &base).await?);
        }
        // The plan's own come last: they are the stronger ones.
        let mut rules = repo.ignore_rules().await;
        rules.retain(|rule| !plan.ignore.contains(rule));
        plan.ignore.splice(0..0, rules);
        Ok(Self { plan, workflows, repo, base })
    }

    /// What its user should know of the repository.
    async fn say_notes(&self) -> Result<(), Failure> {
        let Self { repo, base, .. } = self;
        for filter in repo.filters(base).await? {
            let note = format!(
                "note: files of this repository are under the filter {filter} (.gitattributes): agents and checks get them as git stores \
                 them, and work that changes them otherwise is refused"
            );
            output::err(&note);
        }
        if let Some(note) = uncommitted(repo, base).await {
            output::err(&format!("note: {note}"));
        }
        Ok(())
    }

    /// Stores the snapshot and begins the flight.
    pub(crate) async fn submit(self, client: &Client, flight: &FlightId, fleet: Fleet) -> Result<(), Failure> {
        let dir = temporary::folder()?;
        let bundle = self.repo.snapshot(&self.base, &dir.path().join("snapshot.bundle")).await?;
        let operator = role::id(role::OPERATOR);
        let digest = blobs::put_file(client.bus(), &operator, &bundle.path).await?;
        let base = to_wire(&self.base);
        let submit = Submit {
            flight: flight.clone(),
            covenant: self.plan.covenant.clone().unwrap_or_else(|| COVENANT.to_owned()),
            plan: self.plan,
            base: base.clone(),
            snapshot: BundleRef {
                blob: BlobRef { role: operator, digest, bytes: bundle.bytes },
                tip: base,
                index: None,
            },
            fleet,
            workflows: self.workflows,
        };
        let _at = holdpoint_faults::at(holdpoint_faults::Step::Submit);
        let refused = match client.submit(&submit).await {
            Err(refused) if is_refused(&refused, NOT_NOW) => refused,
            other => return Ok(other.map(drop)?),
        };
        match client.status(flight).await {
            // An earlier try had got through, and the flight went on before its answer came: ids are random.
            Ok(_) => Ok(()),
            Err(error) if is_refused(&error, NOT_THERE) => Err(refused.into()),
            Err(error) => Err(error.into()),
        }
    }
}

/// What gates with `checks: auto` check: what the plan says, else what follows from it and the root of its base.
async fn checks(
    plan: &Plan,
    declared: &[WorkflowSpec],
    repo: &UserRepo,
    base: &ObjectId,
) -> Result<Vec<CheckpointSpec>, Failure> {
    let specs = workflows::specs(plan, declared);
    let Some(gate) = workflows::check_by_plan(&specs).next().filter(|_| plan.checks.is_empty()) else {
        return Ok(plan.checks.clone());
    };
    let files = repo.list_tree(base).await?;
    let paths: Vec<_> = files.iter().map(|entry| wire_path(&entry.path)).collect();
    let root: Vec<&str> = paths.iter().map(String::as_str).filter(|path| !path.contains('/')).collect();
    checkpoints::auto(plan, &root).map_err(|several| {
        let message = format!("gate {gate} has `checks: auto`, and {several}");
        let hint = "say `checks: rust`, `python` or `node` in the plan, or name commands there";
        Failure::usage("no_checks", message, hint)
    })
}

/// The environment of a plan that says nothing of it: what the project declares on its base, else what follows from its lock files.
async fn environment(repo: &UserRepo, base: &ObjectId) -> Result<EnvironmentSpec, Failure> {
    let defaults = Defaults::of(repo, base).await?;
    if let Some(words) = defaults.in_words() {
        let elsewhere = "`environment` in project.yaml or the plan says otherwise";
        output::err(&format!("note: its environment is set up with {words}; {elsewhere}"));
    }
    if let Some(note) = &defaults.note {
        output::err(&format!("note: {note}"));
    }
    Ok(defaults.environment)
}

/// The plan with the specs of the files that its waypoints name, as they stand on its base.
async fn with_tests(mut plan: Plan, repo: &UserRepo, base: &ObjectId) -> Result<Plan, Failure> {
    for waypoint in &mut plan.waypoints {
        let Some(file) = &waypoint.tests_file else { continue };
        let path = RepoPath::new(file.as_bytes()).ok();
        let found = match &path {
            Some(path) => repo.file_at(base, path, plan::FILE_BYTES_MAX + 1).await?,
            None => None,
        };
        let Some(bytes) = found else {
            let message = format!("the file of tests of waypoint {}, {file}, is not in {base}", waypoint.id);
            let hint = "`testsFile` is a path in the repository, and agents work on that commit: commit the file";
            return Err(Failure::usage("tests_file_missing", message, hint));
        };
        let service = plan.service.as_ref();
        let tests = plan::read_tests(&bytes, file, service)?;
        waypoint.criteria.extend(plan::criteria_over_http(service, &tests, waypoint.tests.len() + 1));
        waypoint.tests.extend(tests);
    }
    Ok(plan)
}

/// Whether the orchestrator refused something with this code.
fn is_refused(error: &ApiError, code: u16) -> bool {
    matches!(error, ApiError::Refused { failure, .. } if failure.code == code)
}

/// A note on what of the working tree nobody will see: the flight starts from a commit.
async fn uncommitted(repo: &UserRepo, base: &ObjectId) -> Option<String> {
    // Not worth an error, nor where the flight starts from elsewhere.
    let here = repo.resolve("HEAD").await.ok().filter(|head| head == base);
    let paths = repo.uncommitted().await.ok().filter(|paths| here.is_some() && *paths > 0)?;
    let (noun, them) = if paths == 1 { ("path is", "it") } else { ("paths are", "them") };
    Some(format!("{paths} {noun} not committed: agents and checks start from {base}, and do not see {them}"))
}
