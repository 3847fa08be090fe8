//! A repository with a base, changes on it, and a workbench that judges them with the real sandbox.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use holdpoint_harness::{ask::Nobody, backend::command::own_environment, environment::Environments};
use holdpoint_protocol::{
    Timestamp,
    artifact::{
        CheckRun, CriterionReport, Origin, TreeTested, VerificationPurpose, VerificationRequest,
        VerificationRequestBody,
    },
    facts::Verdict,
    ids::{ArtifactId, CriterionId, RoleId, WaypointId},
    plan::{Attention, Check, Criterion, EnvironmentSpec, EvidenceLevel, Guard},
    reason::CriterionReason,
    time::Millis,
    workflow::GateBrief,
};
use holdpoint_sandbox::Sandbox;
use holdpoint_verifier_agent::{Findings, JudgeSettings, VerifierSettings, VerifierWorkbench};
use holdpoint_workspace::{
    CommitMeta, EntryMode, FileAs, Import, InputLimits, Mirror, ObjectFormat, ObjectId, RepoPath, SNAPSHOT_REF,
    UserRepo,
};
use tempfile::TempDir;

/// The verifier's own executable is its shim.
pub(crate) const SHIM: &str = env!("CARGO_BIN_EXE_holdpoint-verifier");

/// A mirror with a base, and a workbench.
pub(crate) struct Rig {
    pub(crate) temp: TempDir,
    pub(crate) mirror: Mirror,
    pub(crate) base: ObjectId,
    pub(crate) workbench: VerifierWorkbench,
}

impl Rig {
    /// A base with these files.
    pub(crate) async fn new(files: &[(&str, &str)]) -> Self {
        Self::with(files, |_| {}).await
    }

    /// As [`Rig::new`], with other settings.
    pub(crate) async fn with(files: &[(&str, &str)], change: impl FnOnce(&mut VerifierSettings)) -> Self {
        Self::in_sandbox(files, change, Sandbox::new(SHIM)).await
    }

    /// As [`Rig::with`], in a sandbox of its own.
    pub(crate) async fn in_sandbox(
        files: &[(&str, &str)],
        change: impl FnOnce(&mut VerifierSettings),
        sandbox: Sandbox,
    ) -> Self {
        let temp = tempfile::tempdir().unwrap();
        let repo = temp.path().join("repo");
        put_all(&repo, files);
        for args in [&["init", "-q"][..], &["add", "-A"], &["commit", "-q", "-m", "base"]] {
            git(&repo, args).await;
        }
        let user = UserRepo::open(&repo).await.unwrap();
        let base = user.resolve("HEAD").await.unwrap();
        let bundle = user.snapshot(&base, &temp.path().join("snapshot.bundle")).await.unwrap();
        let mirror = Mirror::open_or_create(&temp.path().join("mirror"), ObjectFormat::Sha1, InputLimits::default())
            .await
            .unwrap();
        mirror.import(Import { bundle: &bundle.path, ref_name: SNAPSHOT_REF, base: None }).await.unwrap();
        let mut settings = settings(temp.path());
        change(&mut settings);
        let workbench = VerifierWorkbench::new(settings, sandbox).unwrap();
        Self { temp, mirror, base, workbench }
    }

    /// A commit on the base with these files written or, with `None`, removed.
    pub(crate) async fn change(&self, files: &[(&str, Option<&str>)]) -> ObjectId {
        self.change_on(&self.base, files).await
    }

    /// A commit on the base with a file of these bytes.
    pub(crate) async fn add_bytes(&self, name: &str, bytes: &[u8]) -> ObjectId {
        let dir = tempfile::tempdir_in(self.temp.path()).unwrap();
        self.mirror.checkout(&self.base, dir.path()).await.unwrap();
        let file = dir.path().join(name);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, bytes).unwrap();
        self.commit(&self.base, dir.path()).await
    }

    /// A commit on the base with a file that its ignore files name.
    pub(crate) async fn add_ignored(&self, name: &str, bytes: &[u8]) -> ObjectId {
        let oid = self.mirror.write_blob(bytes.to_vec()).await.unwrap();
        let file = FileAs { mode: EntryMode::Executable, oid };
        let path = RepoPath::new(name.as_bytes()).unwrap();
        let base = self.mirror.tree_of(&self.base).await.unwrap();
        let tree = self.mirror.compose_tree(&base, &[(path, Some(file))]).await.unwrap();
        self.mirror.commit_on(&self.base, &tree, &meta()).await.unwrap()
    }

    /// A commit on `parent`.
    pub(crate) async fn change_on(&self, parent: &ObjectId, files: &[(&str, Option<&str>)]) -> ObjectId {
        let dir = tempfile::tempdir_in(self.temp.path()).unwrap();
        self.mirror.checkout(parent, dir.path()).await.unwrap();
        for (name, text) in files {
            match text {
                Some(text) => put_all(dir.path(), &[(name, text)]),
                None => std::fs::remove_file(dir.path().join(name)).unwrap(),
            }
        }
        self.commit(parent, dir.path()).await
    }

    async fn commit(&self, parent: &ObjectId, dir: &Path) -> ObjectId {
        let tree = self.mirror.capture(dir, parent).await.unwrap();
        self.mirror.commit_on(parent, &tree, &meta()).await.unwrap()
    }

    /// A request to judge a commit on the base.
    pub(crate) async fn request(&self, commit: &ObjectId, criteria: Vec<Criterion>) -> VerificationRequest {
        let origin = Origin {
            artifact_id: ArtifactId::try_new("request").unwrap(),
            waypoint_id: WaypointId::try_new("waypoint").unwrap(),
            produced_by_role: RoleId::try_new("orchestrator").unwrap(),
            produced_at: Timestamp::from_millis(0),
            source_refs: Vec::new(),
        };
        VerificationRequest::new(
            origin,
            VerificationRequestBody {
                suspicious: Attention::Hold,
                judged: Vec::new(),
                purpose: VerificationPurpose::Handoff,
                base: self.base.as_str().parse().unwrap(),
                commit: commit.as_str().parse().unwrap(),
                tree: self.mirror.tree_of(commit).await.unwrap().as_str().parse().unwrap(),
                bundles: Vec::new(),
                criteria,
                guards: Vec::new(),
                checkpoints: Vec::new(),
                evidence: Vec::new(),
                environment: EnvironmentSpec::default(),
                // Everything, and bounded: a scope that is open is a doubt.
                scope: vec!["*".to_owned(), "*/**".to_owned()],
                new_tests: Vec::new(),
                changed_tests: Vec::new(),
                protected: Vec::new(),
                covenant: "AGENTS.md".to_owned(),
                clarifications: Vec::new(),
                tests: Vec::new(),
                gate: GateBrief::default(),
            },
        )
    }

    /// Judges, and checks what holds for all findings.
    pub(crate) async fn verify(&self, request: &VerificationRequest) -> Findings {
        let findings = self.workbench.verify("turn-1", request, &self.mirror, &|_| {}, &Nobody);
        let findings = Box::pin(findings).await.unwrap();
        let stored: Vec<_> = findings.evidence.iter().map(|evidence| evidence.digest).collect();
        for report in findings.criteria.iter().chain(&findings.guards) {
            assert!(!report.result.evidence.is_empty(), "{report:?}");
            assert!(report.result.evidence.iter().all(|digest| stored.contains(digest)), "{report:?}");
        }
        assert!(findings.receipt.checks.iter().all(|run| stored.contains(&run.output)));
        wait_until_empty(&self.temp.path().join("state/turns"));
        findings
    }

    /// Judges a commit by one check.
    pub(crate) async fn check(&self, commit: &ObjectId, command: &str) -> Findings {
        self.verify(&self.request(commit, vec![criterion("only", check(command))]).await).await
    }

    /// Judges the base itself by one check: nothing changed, so there is one run.
    pub(crate) async fn check_base(&self, check: Check) -> CriterionReport {
        let findings = self.verify(&self.request(&self.base, vec![criterion("only", check)]).await).await;
        findings.criteria.into_iter().next().unwrap()
    }
}

fn meta() -> CommitMeta {
    CommitMeta {
        name: "Builder".to_owned(),
        email: "b@localhost".to_owned(),
        epoch_seconds: 1_700_000_000,
        message: "trust me, all of it works\n".to_owned(),
    }
}

pub(crate) fn settings(temp: &Path) -> VerifierSettings {
    VerifierSettings {
        here: None,
        state_dir: temp.join("state"),
        environments: Environments::new(temp.join("environments"), &own_environment()),
        path: std::env::var("PATH").unwrap(),
        home: std::env::var_os("HOME").map(PathBuf::from).unwrap(),
        check_env: BTreeMap::new(),
        read_paths: Vec::new(),
        deny_paths: Vec::new(),
        judge: None,
        fresh: false,
        helper: None,
    }
}

pub(crate) fn with_judge(settings: &mut VerifierSettings, command: &str) {
    settings.judge = Some(JudgeSettings {
        resume: None,
        price: None,
        prompt: holdpoint_runtime::config::PROMPT_DEFAULT,
        dialect: holdpoint_runtime::config::Dialect::Plain,
        command: command.to_owned(),
        env: BTreeMap::new(),
        read_paths: Vec::new(),
        network: false,
    });
}

pub(crate) fn check(command: &str) -> Check {
    Check {
        command: command.to_owned(),
        expect: None,
        red_first: false,
        timeout: Millis(300_000),
        network: false,
        writes_tree: false,
        evidence: EvidenceLevel::Fast,
        mutants: None,
    }
}

pub(crate) fn criterion(id: &str, check: Check) -> Criterion {
    Criterion { id: id.parse().unwrap(), statement: format!("{id} holds"), check: Some(check) }
}

pub(crate) fn judged(id: &str) -> Criterion {
    Criterion { id: id.parse().unwrap(), statement: format!("{id} holds"), check: None }
}

pub(crate) fn guard(id: &str, check: Check) -> Guard {
    Guard { id: CriterionId::try_new(id).unwrap(), check }
}

/// Verdict and reason of the only criterion.
pub(crate) fn only(findings: &Findings) -> (Verdict, Option<CriterionReason>) {
    assert_eq!(findings.criteria.len(), 1);
    of(&findings.criteria[0])
}

pub(crate) fn of(report: &CriterionReport) -> (Verdict, Option<CriterionReason>) {
    (report.result.verdict, report.result.reason)
}

/// On which kinds of tree checks ran, in order.
pub(crate) fn tested(findings: &Findings) -> Vec<TreeTested> {
    findings.receipt.checks.iter().map(|run| run.tested).collect()
}

/// The evidence of a run, as text.
pub(crate) fn shown(findings: &Findings, run: &CheckRun) -> String {
    let evidence = findings.evidence.iter().find(|evidence| evidence.digest == run.output).unwrap();
    String::from_utf8(evidence.bytes.clone()).unwrap()
}

fn put_all(dir: &Path, files: &[(&str, &str)]) {
    for (name, text) in files {
        let file = dir.join(name);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    }
}

async fn git(dir: &Path, args: &[&str]) {
    let mut tool = holdpoint_sandbox::Tool::new("git").dir(dir).args(args).env("GIT_CONFIG_GLOBAL", "/dev/null");
    for role in ["AUTHOR", "COMMITTER"] {
        tool = tool.env(format!("GIT_{role}_NAME"), "Somebody").env(format!("GIT_{role}_EMAIL"), "s@localhost");
    }
    tool.run_ok().await.unwrap();
}

/// Waits until nothing is in a folder: folders that are put away are removed in parallel.
pub(crate) fn wait_until_empty(dir: &Path) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while std::fs::read_dir(dir).unwrap().count() > 0 {
        assert!(Instant::now() < deadline, "{} is not emptied", dir.display());
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// An environment of a command that sees these files.
pub(crate) fn environment(setup: &str, inputs: &[&str]) -> EnvironmentSpec {
    let inputs = inputs.iter().map(|input| (*input).to_owned()).collect();
    EnvironmentSpec { setup: Some(setup.to_owned()), inputs, ..EnvironmentSpec::default() }
}
