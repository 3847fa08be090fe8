//! A repository, its mirror, and a workbench whose program is a shell command line.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use holdpoint_harness::{
    ask::Nobody,
    backend::{CommandBackend, CommandSettings, command::own_environment, sessions::Sessions},
    build_turn::{BuildTurnOutcome, Built, Ready, TurnFolders, Workbench},
};
use holdpoint_protocol::{
    Digest, Timestamp,
    artifact::{Disposition, Failure, GuidancePacket, GuidancePacketBody, Origin},
    ids::{AgentName, role},
    journal::Record,
    plan::{EnvironmentSpec, TurnBudget},
    reason::ReasonCode,
    turn::{BuildRequest, Feedback, Turn, TurnRequest},
    version,
};
use holdpoint_runtime::{config::ProgramConfig, mirror::to_wire};
use holdpoint_sandbox::{Sandbox, Tool};
use holdpoint_workspace::{Import, InputLimits, Mirror, ObjectId, UserRepo};
use tempfile::TempDir;

/// The shim: the builder's own executable.
pub(crate) const SHIM: &str = env!("CARGO_BIN_EXE_holdpoint-builder");

pub(crate) struct Shop {
    pub(crate) temp: TempDir,
    pub(crate) mirror: Mirror,
    pub(crate) base: ObjectId,
}

impl Shop {
    /// A repository with `a.txt`, `run.sh` (executable), `.gitignore` (`*.log`), and a mirror that has it.
    pub(crate) async fn new() -> Self {
        Self::with_files(&[]).await
    }

    /// The same with one more file.
    pub(crate) async fn with_file(name: &str, text: &str) -> Self {
        Self::with_files(&[(name, text)]).await
    }

    async fn with_files(files: &[(&str, &str)]) -> Self {
        let temp = tempfile::tempdir().unwrap();
        let repo = temp.path().join("repo");
        std::fs::create_dir_all(&repo).unwrap();
        std::fs::write(repo.join("a.txt"), "one\n").unwrap();
        std::fs::write(repo.join("run.sh"), "#!/bin/sh\n").unwrap();
        std::fs::write(repo.join(".gitignore"), "*.log\n").unwrap();
        make_executable(&repo.join("run.sh"));
        for (name, text) in files {
            let path = repo.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        git(&repo, &["init", "--quiet"]).await;
        git(&repo, &["add", "--all"]).await;
        git(&repo, &["-c", "user.name=U", "-c", "user.email=u@localhost", "commit", "--quiet", "-m", "first"]).await;
        let user = UserRepo::open(&repo).await.unwrap();
        let base = user.resolve("HEAD").await.unwrap();
        let bundle = user.snapshot(&base, &temp.path().join("snapshot.bundle")).await.unwrap();
        let dir = temp.path().join("state/mirror");
        std::fs::create_dir_all(&dir).unwrap();
        let mirror = Mirror::open_or_create(&dir, base.format(), InputLimits::default()).await.unwrap();
        mirror.import(Import { bundle: &bundle.path, ref_name: &bundle.ref_name, base: None }).await.unwrap();
        std::fs::write(temp.path().join("state/secret"), "state secret\n").unwrap();
        Self { temp, mirror, base }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.temp.path().join(name)
    }

    /// A workbench for this program, which must not reach the state folder and the repository.
    pub(crate) async fn workbench(&self, command: &str) -> Workbench<CommandBackend> {
        self.bench_with(command, |_| {}).await
    }

    pub(crate) async fn bench_with(
        &self,
        command: &str,
        adjust: impl FnOnce(&mut ProgramConfig),
    ) -> Workbench<CommandBackend> {
        self.bench_in(Sandbox::new(SHIM), command, adjust).await
    }

    pub(crate) async fn bench_in(
        &self,
        sandbox: Sandbox,
        command: &str,
        adjust: impl FnOnce(&mut ProgramConfig),
    ) -> Workbench<CommandBackend> {
        let mut program = ProgramConfig { command: Some(command.to_owned()), ..ProgramConfig::default() };
        program.deny_paths.push(self.path("repo"));
        adjust(&mut program);
        let mut own_env: BTreeMap<String, String> = own_environment();
        own_env.insert("CANARY_SECRET".to_owned(), "leaked".to_owned());
        let settings = CommandSettings {
            role: role::id(role::BUILDER),
            program,
            home: self.path("state/homes/builder"),
            sessions: Sessions::new(self.path("state/sessions/builder")),
            environments_dir: self.path("environments"),
            hidden: vec![self.path("state")],
            own_env,
        };
        let backend = CommandBackend::try_new(settings, sandbox).unwrap();
        Workbench::new(backend, TurnFolders::open(&self.path("state/turns")).await.unwrap())
    }

    /// A first turn on the base.
    pub(crate) fn turn(&self) -> Turn {
        self.turn_with(|_| {})
    }

    pub(crate) fn turn_with(&self, adjust: impl FnOnce(&mut BuildRequest)) -> Turn {
        let mut request = BuildRequest {
            title: "Do it".to_owned(),
            goal: "Make it so.".to_owned(),
            criteria: Vec::new(),
            scope: Vec::new(),
            protected: Vec::new(),
            ignore: Vec::new(),
            sources: Vec::new(),
            environment: EnvironmentSpec::default(),
            covenant: "AGENTS.md".to_owned(),
            base: to_wire(&self.base),
            start: to_wire(&self.base),
            bundles: Vec::new(),
            feedback: None,
            budget: TurnBudget::default(),
            tests: Vec::new(),
            ask_below: None,
            ask_before_removing: None,
            description: None,
            role_description: None,
            context: Default::default(),
            dependencies: Vec::new(),
            documents: Vec::new(),
            conversation: None,
        };
        adjust(&mut request);
        turn(request)
    }

    /// Runs a program on a first turn.
    pub(crate) async fn run(&self, command: &str) -> Built {
        self.workbench(command).await.run(&self.turn(), &agent(), &self.mirror, &Nobody).await.unwrap()
    }

    /// The text of a file in a tree; `None` if it is not there.
    pub(crate) async fn text(&self, tree: &ObjectId, name: &str) -> Option<String> {
        let entries = self.mirror.list_tree(tree).await.unwrap();
        let entry = entries.iter().find(|entry| entry.path.to_string() == name)?;
        Some(String::from_utf8(self.mirror.read_blob(&entry.oid, 1 << 20).await.unwrap()).unwrap())
    }
}

pub(crate) fn agent() -> AgentName {
    "builder-1".parse().unwrap()
}

/// When every turn here was opened.
fn opened_at() -> Timestamp {
    Timestamp::from_millis(1_700_000_000_000)
}

fn turn(request: BuildRequest) -> Turn {
    let origin = Origin {
        artifact_id: "guidance".parse().unwrap(),
        waypoint_id: "w1".parse().unwrap(),
        produced_by_role: role::id(role::ORCHESTRATOR),
        produced_at: opened_at(),
        source_refs: Vec::new(),
    };
    let digest = Digest::of(b"");
    Turn {
        schema_version: version::CURRENT,
        turn_id: "turn1".parse().unwrap(),
        flight: "flight1".parse().unwrap(),
        waypoint: "w1".parse().unwrap(),
        gate: "build".parse().unwrap(),
        role: role::id(role::BUILDER),
        attempt: 1,
        deadline: opened_at(),
        handoff_subject: String::new(),
        guidance: GuidancePacket::new(
            origin,
            GuidancePacketBody {
                covenant_version: digest,
                policy_hash: digest,
                constraints: Vec::new(),
                stop_conditions: Vec::new(),
            },
        ),
        request: TurnRequest::Build(Box::new(request)),
        decision: None,
        for_build: None,
        allowance: None,
        record: Record::at(opened_at()),
    }
}

/// What is handed off; fails the test for any other outcome.
pub(crate) fn ready(built: &Built) -> &Ready {
    match &built.outcome {
        BuildTurnOutcome::Ready(ready) => ready,
        other => panic!("{other:?}"),
    }
}

/// Why the turn failed; fails the test for any other outcome.
pub(crate) fn failure(built: &Built) -> &Failure {
    match &built.outcome {
        BuildTurnOutcome::Failed(failure, ..) => failure,
        other => panic!("{other:?}"),
    }
}

/// The commit of the files that a failed turn left; fails the test where it left none, and for any other outcome.
pub(crate) fn left(built: &Built) -> &ObjectId {
    match &built.outcome {
        BuildTurnOutcome::Failed(_, Some((commit, _)), _) => commit,
        other => panic!("{other:?}"),
    }
}

pub(crate) fn make_executable(file: &Path) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o755)).unwrap();
}

pub(crate) async fn git(dir: &Path, args: &[&str]) -> String {
    let output = Tool::new("git").args(args).dir(dir).run_ok().await.unwrap();
    String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
}

/// Waits for a condition, with a deadline that only a hang reaches.
pub(crate) async fn wait_until(condition: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(30);
    while !condition() {
        assert!(Instant::now() < deadline, "it did not come true");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// Why there is another turn.
pub(crate) fn feedback() -> Feedback {
    Feedback {
        disposition: Disposition::Rework,
        reason_code: ReasonCode::CriteriaFailed,
        failing: Vec::new(),
        notes: vec!["the unit test is red".to_owned()],
        collision: None,
        clarifications: Vec::new(),
        review: None,
    }
}
