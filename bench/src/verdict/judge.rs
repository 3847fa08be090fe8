//! Judges work by the verifier's own code, and runs the check alone.

use std::{
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use holdpoint_harness::{ask::Nobody, backend::command::own_environment};
use holdpoint_protocol::{
    Timestamp,
    artifact::{Origin, VerificationPurpose, VerificationRequest, VerificationRequestBody},
    facts::Verdict,
    ids::{ArtifactId, RoleId, WaypointId, role},
    plan::{Attention, CHECK_TIMEOUT_DEFAULT, Check, Criterion, EnvironmentSpec},
    workflow::GateBrief,
};
use holdpoint_runtime::{config::Config, mirror::to_wire};
use holdpoint_sandbox::{Sandbox, Tool};
use holdpoint_verifier_agent::{Findings, VerifierSettings, VerifierWorkbench};
use holdpoint_workspace::{CommitMeta, Import, InputLimits, Mirror, ObjectId, SNAPSHOT_REF, UserRepo};

use super::{
    Level,
    project::{Files, Project},
};
use crate::{BenchError, error::Doing as _, usage::Process};

/// The longest that the check alone may take.
const ALONE_TIMEOUT: Duration = Duration::from_secs(600);

/// What one verdict took.
#[derive(Debug, Clone, Copy)]
pub(super) struct Spent {
    pub(super) wall: Duration,
    pub(super) cpu: Duration,
    /// Runs of checks.
    pub(super) runs: usize,
}

/// One project with work on it, ready to be judged.
pub(super) struct Rig {
    dir: PathBuf,
    mirror: Mirror,
    base: ObjectId,
    commit: ObjectId,
    project: Project,
    reads: Vec<PathBuf>,
    judged: u32,
}

impl Rig {
    /// Makes the repository and the work below `dir`. Checks may read `reads`.
    pub(super) async fn new(dir: &Path, project: &Project, reads: Vec<PathBuf>) -> Result<Self, BenchError> {
        const ACTION: &str = "make a project";
        let repo = dir.join("repo");
        write_all(&repo, &project.base())?;
        for args in [["init", "--quiet"].as_slice(), &["add", "--all"], &["commit", "--quiet", "--message=base"]] {
            git(&repo, args).await?;
        }
        let user = UserRepo::open(&repo).await.doing(ACTION)?;
        let base = user.resolve("HEAD").await.doing(ACTION)?;
        let bundle = user.snapshot(&base, &dir.join("snapshot.bundle")).await.doing(ACTION)?;
        let mirror = Mirror::open_or_create(&dir.join("mirror"), user.object_format(), InputLimits::default()).await;
        let mirror = mirror.doing(ACTION)?;
        mirror.import(Import { bundle: &bundle.path, ref_name: SNAPSHOT_REF, base: None }).await.doing(ACTION)?;
        let work = dir.join("work");
        mirror.checkout(&base, &work).await.doing(ACTION)?;
        write_all(&work, &project.worked())?;
        let tree = mirror.capture(&work, &base).await.doing(ACTION)?;
        let meta = CommitMeta {
            name: "Bench".to_owned(),
            email: "bench@localhost".to_owned(),
            epoch_seconds: 1_700_000_000,
            message: "work\n".to_owned(),
        };
        let commit = mirror.commit_on(&base, &tree, &meta).await.doing(ACTION)?;
        Ok(Self { dir: dir.to_owned(), mirror, base, commit, project: *project, reads, judged: 0 })
    }

    /// How long the check takes on the work outside of everything, in a fresh checkout.
    pub(super) async fn check_alone(&mut self) -> Result<Duration, BenchError> {
        const ACTION: &str = "run the check alone";
        let place = self.next("alone");
        self.mirror.checkout(&self.commit, &place).await.doing(ACTION)?;
        let tool = Tool::new("sh").args(["-c", self.project.check()]).dir(&place).timeout(ALONE_TIMEOUT);
        let tool = tool.env("PYTHONDONTWRITEBYTECODE", "1").env("CARGO_TARGET_DIR", place.join("target"));
        let begun = Instant::now();
        tool.run_ok().await.doing(ACTION)?;
        let took = begun.elapsed();
        std::fs::remove_dir_all(&place).map_err(|source| BenchError::Io { path: place, source })?;
        Ok(took)
    }

    /// Judges the work as a verifier does that has just started, and has done the baseline turn where there is one.
    pub(super) async fn judge(&mut self, level: Level) -> Result<Spent, BenchError> {
        let bench = self.bench()?;
        if self.project.work.red_first() {
            let request = self.request(VerificationPurpose::Baseline, level).await?;
            let found = self.verify(&bench, &request).await?;
            expect(&found, |verdict| verdict != Verdict::Pass, "the base is green")?;
        }
        let request = self.request(VerificationPurpose::Handoff, level).await?;
        let own = Process::own("verifier");
        let cpu = || own.cpu().doing("read this process's CPU time");
        let (before, begun) = (cpu()?, Instant::now());
        let found = self.verify(&bench, &request).await?;
        let (wall, cpu) = (begun.elapsed(), cpu()?.saturating_sub(before));
        expect(&found, |verdict| verdict == Verdict::Pass, "honest work was refused")?;
        Ok(Spent { wall, cpu, runs: found.receipt.checks.len() })
    }

    /// A verifier that knows of nothing yet, set up as its agent is.
    fn bench(&mut self) -> Result<VerifierWorkbench, BenchError> {
        const ACTION: &str = "set a verifier up";
        let mut config = Config::default();
        config.agent.state_dir = self.next("verifier");
        let settings = VerifierSettings::from_config(&config, &own_environment());
        let mut settings = settings.map_err(|(path, source)| BenchError::Io { path, source })?;
        settings.read_paths.extend(self.reads.clone());
        let sandbox = Sandbox::of_this_executable().bounded(config.sandbox.bounds());
        VerifierWorkbench::new(settings, sandbox).doing(ACTION)
    }

    async fn verify(&self, bench: &VerifierWorkbench, request: &VerificationRequest) -> Result<Findings, BenchError> {
        bench.verify("turn", request, &self.mirror, &|_| {}, &Nobody).await.doing("judge the work")
    }

    async fn request(&self, purpose: VerificationPurpose, level: Level) -> Result<VerificationRequest, BenchError> {
        const ACTION: &str = "ask for a verdict";
        let commit = if purpose == VerificationPurpose::Baseline { &self.base } else { &self.commit };
        let tree = self.mirror.tree_of(commit).await.doing(ACTION)?;
        let check = Check {
            command: self.project.check().to_owned(),
            expect: None,
            red_first: self.project.work.red_first(),
            timeout: CHECK_TIMEOUT_DEFAULT,
            network: false,
            writes_tree: false,
            evidence: level.evidence,
            mutants: level.mutants,
        };
        let statement = "the suite passes".to_owned();
        let criterion = Criterion { id: "suite".parse().doing(ACTION)?, statement, check: Some(check) };
        let origin = Origin {
            artifact_id: ArtifactId::try_new("request").doing(ACTION)?,
            waypoint_id: WaypointId::try_new("waypoint").doing(ACTION)?,
            produced_by_role: RoleId::try_new(role::ORCHESTRATOR).doing(ACTION)?,
            produced_at: Timestamp::from_millis(0),
            source_refs: Vec::new(),
        };
        let body = VerificationRequestBody {
            suspicious: Attention::Hold,
            judged: Vec::new(),
            purpose,
            base: to_wire(&self.base),
            commit: to_wire(commit),
            tree: to_wire(&tree),
            bundles: Vec::new(),
            criteria: vec![criterion],
            guards: Vec::new(),
            checkpoints: Vec::new(),
            evidence: Vec::new(),
            environment: EnvironmentSpec::default(),
            scope: Vec::new(),
            new_tests: Vec::new(),
            changed_tests: Vec::new(),
            protected: Vec::new(),
            covenant: "AGENTS.md".to_owned(),
            clarifications: Vec::new(),
            tests: Vec::new(),
            gate: GateBrief::default(),
        };
        Ok(VerificationRequest::new(origin, body))
    }

    /// A folder that nothing else uses.
    fn next(&mut self, name: &str) -> PathBuf {
        self.judged += 1;
        self.dir.join(format!("{name}-{}", self.judged))
    }
}

/// Figures of another verdict than the right one would mean nothing.
fn expect(found: &Findings, right: impl Fn(Verdict) -> bool, wrong: &'static str) -> Result<(), BenchError> {
    match found.criteria.as_slice() {
        [report] if right(report.result.verdict) => Ok(()),
        criteria => Err(BenchError::Verdict { wrong, found: format!("{criteria:?}") }),
    }
}

fn write_all(dir: &Path, files: &Files) -> Result<(), BenchError> {
    for (name, text) in files {
        let path = dir.join(name);
        let parent = path.parent().unwrap_or(dir);
        let written = std::fs::create_dir_all(parent).and_then(|()| std::fs::write(&path, text));
        written.map_err(|source| BenchError::Io { path, source })?;
    }
    Ok(())
}

async fn git(dir: &Path, args: &[&str]) -> Result<(), BenchError> {
    let mut tool = Tool::new("git").args(args).dir(dir).env("GIT_CONFIG_NOSYSTEM", "1");
    for role in ["AUTHOR", "COMMITTER"] {
        tool = tool.env(format!("GIT_{role}_NAME"), "Bench").env(format!("GIT_{role}_EMAIL"), "bench@localhost");
    }
    tool.run_ok().await.doing("make a repository").map(drop)
}
