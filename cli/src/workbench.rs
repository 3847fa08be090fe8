//! A verifier's workbench in this process: trees are judged without a broker or a fleet.

use std::path::{Path, PathBuf};

use holdpoint_engine::waypoint::evidence_expected;
use holdpoint_harness::{ask::Nobody, backend::command::own_environment, environment::Here};
use holdpoint_protocol::{
    artifact::{Origin, VerificationPurpose, VerificationRequest, VerificationRequestBody},
    facts::Oid,
    ids::{WaypointId, role},
    plan::{Criterion, Plan, Waypoint},
    workflow::GateBrief,
};
use holdpoint_runtime::{clock, config::Config, fresh};
use holdpoint_sandbox::{Sandbox, TemporaryFolder};
use holdpoint_verifier_agent::{Findings, VerifierSettings, VerifierWorkbench};
use holdpoint_workspace::{Bundle, Import, InputLimits, Mirror, ObjectId, SNAPSHOT_REF, UserRepo};

use crate::{
    failure::{Failure, chain},
    output,
};

/// Where the environments of its trees are from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TreeEnvironment {
    /// They are set up by their plan.
    SetUp,
    /// It is what is installed in the working tree and in caches of its user.
    Here,
}

/// A workbench with a repository's objects, in a folder that goes with it.
pub(crate) struct LocalWorkbench {
    pub(crate) mirror: Mirror,
    /// The commit that was brought.
    pub(crate) tip: ObjectId,
    workbench: VerifierWorkbench,
    /// What is being done, before what is said of it.
    doing: &'static str,
    _folder: TemporaryFolder,
}

impl LocalWorkbench {
    /// A workbench with what a bundle in `folder` brings.
    pub(crate) async fn new(
        repo: &UserRepo,
        config: &Config,
        (folder, bundle): (TemporaryFolder, &Bundle),
        doing: &'static str,
        environment: TreeEnvironment,
    ) -> Result<Self, Failure> {
        let dir = folder.path();
        let mirror = Mirror::open_or_create(&dir.join("mirror"), repo.object_format(), InputLimits::default()).await?;
        let tip = mirror.import(Import { bundle: &bundle.path, ref_name: SNAPSHOT_REF, base: None }).await?;
        let deny = repo.places().await?;
        let mut settings = settings(config, dir, deny)?;
        if environment == TreeEnvironment::Here {
            settings.here = Some(here(repo, &settings.home, &dir.join("here")).await?);
        }
        let sandbox = Sandbox::of_this_executable().waiving(config.sandbox.waive.iter().copied());
        let workbench = VerifierWorkbench::new(settings, sandbox.bounded(config.sandbox.bounds()));
        let workbench = workbench.map_err(|error| cannot(&error))?;
        Ok(Self { mirror, tip, workbench, doing, _folder: folder })
    }

    /// Judges what a request names.
    pub(crate) async fn verify(&self, request: &VerificationRequest) -> Result<Findings, Failure> {
        let note = |text: &str| output::err(&format!("{}: {text}", self.doing));
        let verified = self.workbench.verify(self.doing, request, &self.mirror, &note, &Nobody).await;
        verified.map_err(|error| cannot(&error))
    }
}

fn settings(config: &Config, dir: &Path, deny: Vec<PathBuf>) -> Result<VerifierSettings, Failure> {
    let mut config = config.clone();
    config.agent.state_dir = dir.join("state");
    std::fs::create_dir_all(&config.agent.state_dir).map_err(|error| cannot(&error))?;
    config.agents.verifier.deny_paths.extend(deny);
    VerifierSettings::from_config(&config, &own_environment()).map_err(|(_, error)| cannot(&error))
}

/// What is installed in the working tree of a repository and in a home.
async fn here(repo: &UserRepo, home: &Path, dir: &Path) -> Result<Here, Failure> {
    let Some(root) = repo.working_tree().await? else {
        let hint = "name a clone with a working tree, in which the dependencies are installed, or leave --here out";
        return Err(Failure::usage(
            "no_working_tree",
            "--here needs a working tree, and the repository has none",
            hint,
        ));
    };
    let ignored = repo.ignored_paths().await?;
    Here::find(&root, &ignored, home, dir).map_err(|error| {
        let message = format!("cannot take what is installed in {}: {error}", root.display());
        Failure::environment("not_here", message, "leave --here out, and the plan's environment is set up instead")
    })
}

fn cannot(error: &dyn std::error::Error) -> Failure {
    let message = format!("cannot run the checks: {}", chain(error));
    Failure::environment("verification", message, "`holdpoint doctor` looks at this machine")
}

/// What is to be judged.
pub(crate) struct ToVerify<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) purpose: VerificationPurpose,
    pub(crate) base: Oid,
    pub(crate) commit: Oid,
    pub(crate) tree: Oid,
    pub(crate) criteria: Vec<Criterion>,
    /// Whose work it is; `None`: it is nobody's.
    pub(crate) waypoint: Option<&'a Waypoint>,
}

impl ToVerify<'_> {
    /// What a verifier's turn would ask.
    pub(crate) fn request(self) -> VerificationRequest {
        let Self { plan, purpose, base, commit, tree, criteria, waypoint } = self;
        let first = waypoint.or_else(|| plan.waypoints.first()).map(|waypoint| waypoint.id.clone());
        let origin = Origin {
            artifact_id: fresh::artifact(),
            waypoint_id: first.unwrap_or_else(|| WaypointId::try_new("none").expect("a literal id")),
            produced_by_role: role::id(role::ORCHESTRATOR),
            produced_at: clock::now(),
            source_refs: Vec::new(),
        };
        let own = |list: fn(&Waypoint) -> &Vec<String>| waypoint.map(list).cloned().unwrap_or_default();
        let protected = plan.protected.iter().filter(|_| waypoint.is_some()).cloned();
        let body = VerificationRequestBody {
            suspicious: plan.policy.suspicious,
            judged: Vec::new(),
            evidence: evidence_expected(&criteria, &plan.guards),
            purpose,
            base,
            commit,
            tree,
            bundles: Vec::new(),
            criteria,
            guards: plan.guards.clone(),
            checkpoints: Vec::new(),
            environment: plan.environment.clone().unwrap_or_default(),
            scope: own(|waypoint| &waypoint.scope),
            new_tests: own(|waypoint| &waypoint.new_tests),
            changed_tests: own(|waypoint| &waypoint.changed_tests),
            protected: protected.chain(own(|waypoint| &waypoint.protected)).collect(),
            covenant: plan.covenant.clone().unwrap_or_default(),
            clarifications: Vec::new(),
            tests: waypoint.map(|waypoint| waypoint.tests.clone()).unwrap_or_default(),
            gate: GateBrief::default(),
        };
        VerificationRequest::new(origin, body)
    }
}
