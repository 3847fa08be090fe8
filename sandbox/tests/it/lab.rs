//! A place to run programs in: a scratch tree, and the sandbox with and without namespaces.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use holdpoint_sandbox::{Command, Ended, Network, Profile, Property, RunLimits, RunOutcome, Sandbox};

pub(crate) const SHIM: &str = env!("CARGO_BIN_EXE_holdpoint-sandbox-shim");
const DEADLINE: Duration = Duration::from_secs(20);

pub(crate) struct Lab {
    pub(crate) sandbox: Sandbox,
    pub(crate) profile: Profile,
    root: tempfile::TempDir,
}

impl Lab {
    /// Everything this platform gives; nothing is waived.
    pub(crate) fn full() -> Self {
        Self::with(Sandbox::new(SHIM))
    }

    /// As on a platform that refuses namespaces. A root user keeps their capabilities there, which has to be waived.
    pub(crate) fn plain() -> Self {
        let waived =
            [Property::Loopback, Property::NoPrivilegeGain, Property::NoForeignProcesses, Property::ProcessesLimited];
        Self::with(Sandbox::new(SHIM).without_namespaces().waiving(waived))
    }

    /// For what has to hold either way.
    pub(crate) fn both() -> [Self; 2] {
        [Self::full(), Self::plain()]
    }

    /// The same where no control group is lent to us.
    pub(crate) fn both_without_groups() -> [Self; 2] {
        Self::both().map(|lab| Self { sandbox: lab.sandbox.without_control_groups(), ..lab })
    }

    fn with(sandbox: Sandbox) -> Self {
        let root = tempfile::tempdir().unwrap();
        for folder in ["scratch", "tree", "outside"] {
            std::fs::create_dir(root.path().join(folder)).unwrap();
        }
        let limits = RunLimits { wall: Duration::from_secs(120), ..RunLimits::default() };
        let profile = Profile {
            read: vec![root.path().join("tree")],
            write: vec![root.path().join("scratch")],
            deny: Vec::new(),
            network: Network::Loopback,
            limits,
        };
        Self { sandbox, profile, root }
    }

    /// Where the program may write.
    pub(crate) fn scratch(&self) -> PathBuf {
        self.root.path().join("scratch")
    }

    /// What the program may only read.
    pub(crate) fn tree(&self) -> PathBuf {
        self.root.path().join("tree")
    }

    /// What is none of the program's business.
    pub(crate) fn outside(&self) -> PathBuf {
        self.root.path().join("outside")
    }

    pub(crate) fn command(&self, line: &str) -> Command {
        let mut command = Command::shell(line, self.scratch(), self.profile.clone());
        command.env.insert("PATH".to_owned(), "/usr/local/bin:/usr/bin:/bin".to_owned());
        command
    }

    pub(crate) async fn run(&self, line: &str) -> RunOutcome {
        let outcome = self.sandbox.run(&self.command(line), None).await.unwrap();
        assert!(outcome.tree_ended, "{line}");
        outcome
    }

    /// What keeps a promise to this lab's programs.
    pub(crate) async fn by(&self, property: Property) -> String {
        let reports = self.sandbox.properties(&self.profile).await.unwrap();
        let report = reports.into_iter().find(|report| report.property == property).unwrap();
        report.mechanism.unwrap_or_else(|| "nothing".to_owned())
    }

    /// Removes what a program left in its scratch tree.
    pub(crate) fn empty_scratch(&self) {
        std::fs::remove_dir_all(self.scratch()).unwrap();
        std::fs::create_dir(self.scratch()).unwrap();
    }

    /// Runs a line that must succeed; its output.
    pub(crate) async fn ok(&self, line: &str) -> String {
        let outcome = self.run(line).await;
        assert_eq!(outcome.ended, Ended::Exited(0), "{line}: {}", text(&outcome.stderr));
        text(&outcome.stdout)
    }

    /// Runs a line that must fail by itself.
    pub(crate) async fn refused(&self, line: &str) {
        let outcome = self.run(line).await;
        assert!(matches!(outcome.ended, Ended::Exited(code) if code != 0), "{line}: {:?}", outcome.ended);
    }
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Waits for something that has to happen soon.
pub(crate) async fn soon(what: &str, condition: impl Fn() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < DEADLINE, "not soon enough: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Whether a process with this word in its command line runs on this machine.
pub(crate) fn runs(word: &str) -> bool {
    let entries = Path::new("/proc").read_dir().unwrap().flatten();
    entries.map(|entry| entry.path().join("cmdline")).any(|file| {
        let line = std::fs::read(file).unwrap_or_default();
        line.split(|byte| *byte == 0).any(|argument| argument == word.as_bytes())
    })
}
