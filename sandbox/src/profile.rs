//! What a program that is not ours may do. Pure data: nothing here touches the system.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Which network a program gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Network {
    /// The machine's.
    Host,
    /// None but a loopback of its own: it can reach what it starts itself and nothing else.
    Loopback,
}

/// How much a program may use up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RunLimits {
    /// Time from its start until it is ended.
    pub wall: Duration,
    /// Bytes of standard output and standard error together; one more ends it.
    pub output_bytes: usize,
    /// Bytes of the biggest file it may write.
    pub file_size_bytes: u64,
    /// Files open at once, per process.
    pub open_files: u64,
    /// Processes and threads at once; `None`: what [`Bounds`] say.
    pub processes: Option<u64>,
    /// Bytes of memory of all its processes together; more ends it. `None`: what [`Bounds`] say.
    pub memory_bytes: Option<u64>,
    /// Bytes of disk that files which it changes may take up, in all its `write` trees together; more ends it. `None`:
    /// what [`Bounds`] say.
    pub disk_bytes: Option<u64>,
    /// Bytes of address space, per process; `None`: not limited (many runtimes reserve far more than they use).
    pub address_space_bytes: Option<u64>,
}

impl Default for RunLimits {
    /// Ten minutes, 10 MiB of output, files of 4 GiB (debug builds have big ones); the rest as the bounds say.
    fn default() -> Self {
        Self {
            wall: Duration::from_secs(600),
            output_bytes: 10 << 20,
            file_size_bytes: 4 << 30,
            open_files: 8_192,
            processes: None,
            memory_bytes: None,
            disk_bytes: None,
            address_space_bytes: None,
        }
    }
}

/// What every program of a sandbox may use up where its own [`RunLimits`] say nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// Processes and threads at once.
    pub processes: u64,
    /// Bytes of memory in sum; `None`: three quarters of the machine's.
    pub memory_bytes: Option<u64>,
    /// Bytes of disk in sum.
    pub disk_bytes: u64,
}

impl Default for Bounds {
    /// 4,096 processes and threads (a parallel build of a big project takes some hundreds), three quarters of the
    /// memory, 32 GiB of disk (a debug build of some hundred crates takes a tenth of it).
    fn default() -> Self {
        Self { processes: 4_096, memory_bytes: None, disk_bytes: 32 << 30 }
    }
}

impl Bounds {
    /// The profile with every limit that it leaves to the bounds.
    pub(crate) fn complete(&self, profile: &Profile) -> Profile {
        let mut profile = profile.clone();
        let limits = &mut profile.limits;
        limits.processes = limits.processes.or(Some(self.processes));
        limits.memory_bytes = limits.memory_bytes.or(self.memory_bytes);
        limits.disk_bytes = limits.disk_bytes.or(Some(self.disk_bytes));
        profile
    }
}

/// What a program may do.
///
/// The most specific path rules: a `write` tree below a `deny` path is reachable, a `deny` path below a `read` tree is
/// not. Paths are absolute. `deny` and `read` paths that do not exist when the program starts are left out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// Trees and files it may read and execute, besides the system's own (`/usr`, `/etc`, …).
    #[serde(default)]
    pub read: Vec<PathBuf>,
    /// Trees and files it may read, execute and change. They must exist.
    #[serde(default)]
    pub write: Vec<PathBuf>,
    /// What it never reaches, even below a `read` tree.
    #[serde(default)]
    pub deny: Vec<PathBuf>,
    /// Its network.
    pub network: Network,
    /// How much it may use up.
    #[serde(default)]
    pub limits: RunLimits,
}

/// A tree that a program finds at one path, wherever it is on the machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShownTree {
    /// Where it is. It, or a tree above it, is in the profile.
    pub tree: PathBuf,
    /// Where the program finds it. Absolute, and in no other tree of the profile but one that is shown before it.
    pub at: PathBuf,
    /// Trees that show through it, and then have to be there: only namespaces can do that.
    #[serde(default)]
    pub over: Option<Overlaid>,
}

/// Trees below one that takes all changes: it keeps what was changed, and they stay as they are. What is run later with the same trees
/// below finds the changes; no two programs may have them at once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Overlaid {
    /// The topmost first.
    pub trees: Vec<PathBuf>,
    /// An empty folder for the kernel, on the disk of the tree above.
    pub work: PathBuf,
}

/// What a program gets as standard input.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProgramInput {
    /// Nothing: end of input at once.
    #[default]
    Empty,
    /// These bytes.
    Bytes(Vec<u8>),
    /// The content of a file that the program's own profile lets it read.
    File(PathBuf),
}

/// One program to run in the sandbox.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Command {
    /// The program and its arguments. It is looked up in the `PATH` of `env` unless it has a slash.
    pub argv: Vec<String>,
    /// Its directory; absolute, and in one of the trees of the profile.
    pub dir: PathBuf,
    /// Trees of the profile that the program finds at paths of their own. Where the platform gives no namespaces, each is where
    /// it is.
    #[serde(default)]
    pub shown: Vec<ShownTree>,
    /// Its environment: exactly this.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// Its standard input.
    #[serde(default)]
    pub stdin: ProgramInput,
    /// What it may do.
    pub profile: Profile,
}

impl Command {
    /// A shell command line, run as `sh -c`.
    #[must_use]
    pub fn shell(line: impl Into<String>, dir: impl Into<PathBuf>, profile: Profile) -> Self {
        Self {
            argv: vec!["sh".to_owned(), "-c".to_owned(), line.into()],
            dir: dir.into(),
            shown: Vec::new(),
            env: BTreeMap::new(),
            stdin: ProgramInput::Empty,
            profile,
        }
    }
}
