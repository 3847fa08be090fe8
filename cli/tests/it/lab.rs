//! A folder with a repository, a plan and a state folder of its own, and the executable run in it.

use std::{
    path::{Path, PathBuf},
    process::{Command, Output},
};

use serde_json::Value;
use tempfile::TempDir;

/// A plan without a problem.
pub(crate) const PLAN: &str = "plan: small\nwaypoints:\n  - id: one\n    title: One\n    goal: Do it\n    criteria:\n      \
                               - {id: unit, statement: It works, check: test -e made}\n";

/// What a command answered.
pub(crate) struct Answer {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Answer {
    fn of(output: Output) -> Self {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        Self { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
    }

    /// Standard output as one JSON value.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error} in {:?}", self.stdout))
    }

    /// Fails unless the exit code is this one and standard error has all these words.
    pub(crate) fn refuses(&self, code: i32, words: &[&str]) {
        assert_eq!(self.code, Some(code), "{} {}", self.stdout, self.stderr);
        for word in words {
            assert!(self.stderr.contains(word), "{word:?} in {}", self.stderr);
        }
    }
}

/// A folder that goes away with its test.
pub(crate) struct Lab {
    dir: TempDir,
}

impl Lab {
    /// With a repository of one commit in `repo/`, and `plan.yaml`.
    pub(crate) fn new() -> Self {
        let lab = Self { dir: TempDir::new().unwrap() };
        let repo = lab.path("repo");
        std::fs::create_dir(&repo).unwrap();
        std::fs::write(repo.join("file"), "x\n").unwrap();
        std::fs::write(lab.path("plan.yaml"), PLAN).unwrap();
        git(&repo, &["init", "--quiet", "--initial-branch=main"]);
        git(&repo, &["add", "file"]);
        git(&repo, &["commit", "--quiet", "--message", "Start"]);
        lab
    }

    pub(crate) fn path(&self, below: &str) -> PathBuf {
        self.dir.path().join(below)
    }

    /// Runs the executable in this folder.
    pub(crate) fn run(&self, args: &[&str]) -> Answer {
        self.run_with(args, &[])
    }

    /// As [`Lab::run`], with more variables.
    pub(crate) fn run_with(&self, args: &[&str], env: &[(&str, &Path)]) -> Answer {
        let mut command = self.command(args);
        command.envs(env.iter().copied());
        Answer::of(command.output().unwrap())
    }

    /// As [`Lab::run`], from inside the repository.
    pub(crate) fn run_inside(&self, args: &[&str]) -> Answer {
        Answer::of(self.command(args).current_dir(self.path("repo")).output().unwrap())
    }

    /// The executable with these arguments, to be run in this folder.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_holdpoint"));
        command.args(args).current_dir(self.dir.path());
        command.env("HOLDPOINT_STATE_DIR", self.path("state")).env_remove("HOLDPOINT__NATS__URL");
        command.env_remove("HOLDPOINT_TURN_SOCKET");
        command
    }
}

/// Git with a name, whatever the machine has configured.
pub(crate) fn git(dir: &Path, args: &[&str]) -> String {
    let mut command = Command::new("git");
    command.args(args).current_dir(dir).env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
    for role in ["AUTHOR", "COMMITTER"] {
        command.env(format!("GIT_{role}_NAME"), "Test").env(format!("GIT_{role}_EMAIL"), "test@localhost");
    }
    let output = command.output().unwrap();
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Writes a program.
pub(crate) fn script(path: &Path, text: &str) {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::write(path, text).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}
