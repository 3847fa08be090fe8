//! What the harness and the two stages of the shim say to each other over a socket.
//!
//! Towards the program's side go a stage, which may come long before there is anything to run, and one frame: a JSON spec
//! and the bytes of standard input. Each part has its length before it. After that the socket stays open and silent: its
//! end means that the harness is gone. Back come events, one JSON object a line. Both ends are the same executable, so
//! there are no versions.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::layout::Layout;

/// A stage is a few words.
const STAGE_BYTES_MAX: u64 = 1 << 10;
/// A spec is some hundred paths and an environment; more is a mistake.
const SPEC_BYTES_MAX: u64 = 16 << 20;
/// Standard input is a prompt. It is held in memory on its way.
pub(crate) const STDIN_BYTES_MAX: u64 = 256 << 20;

/// What the shim sets up before it knows what to run, so that this can be done ahead of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Stage {
    /// Use user, mount, process, IPC and host name namespaces.
    pub(crate) namespaces: bool,
    /// Use a network namespace.
    pub(crate) own_network: bool,
    /// Which parts of the budget control groups shall keep.
    pub(crate) groups: Groups,
}

/// What the shim shall set up and run.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Spec {
    /// The stage that it was started with.
    pub(crate) stage: Stage,
    /// Mount a process file system of its own, instead of showing the one outside.
    pub(crate) own_proc: bool,
    /// User and group of the harness: the program sees these, unless they are root's.
    pub(crate) user: u32,
    pub(crate) group: u32,
    /// Which sockets may be made.
    pub(crate) sockets: Sockets,
    /// The Landlock version that promises were made on; with an older one in force nothing is run.
    pub(crate) landlock_abi: Option<u32>,
    /// The program's home, for those who ask the system for it.
    pub(crate) home: Option<PathBuf>,
    /// What is reachable.
    pub(crate) layout: Layout,
    pub(crate) limits: Rlimits,
    pub(crate) budget: Budget,
    /// What to run; `None`: only set up, for a probe.
    pub(crate) program: Option<Program>,
}

/// Which sockets a program may make.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Sockets {
    /// Internet, netlink and unix.
    All,
    /// Internet and netlink: unix sockets could reach other programs by path.
    Internet,
    /// None (pairs still work).
    None,
}

/// Which limits control groups keep.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct Groups {
    pub(crate) memory: bool,
    pub(crate) processes: bool,
}

/// The two kinds of control groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum GroupVersion {
    V1,
    V2,
}

/// What the whole tree may use up.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Budget {
    pub(crate) memory_bytes: Option<u64>,
    pub(crate) processes: Option<u64>,
    pub(crate) disk_bytes: Option<u64>,
}

/// Limits that the kernel keeps, per process but for `processes`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Rlimits {
    pub(crate) file_size_bytes: u64,
    pub(crate) open_files: u64,
    pub(crate) processes: Option<u64>,
    pub(crate) address_space_bytes: Option<u64>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Program {
    pub(crate) argv: Vec<String>,
    pub(crate) dir: PathBuf,
    pub(crate) env: BTreeMap<String, String>,
    pub(crate) stdin: Stdin,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum Stdin {
    Empty,
    /// The bytes that follow the spec.
    Frame,
    File(PathBuf),
}

/// What the shim reports.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum Event {
    /// Which control groups were made; comes first.
    Grouped { memory: Option<GroupVersion>, processes: Option<GroupVersion> },
    /// All is set up; the program starts once [`GO`] has come.
    Ready {
        /// The Landlock version in force; `None`: not in force.
        landlock_abi: Option<u32>,
        /// Whether the process namespace has the asked for limit of processes.
        processes_limited: bool,
        /// Whether the kernel binds this user to a limit of processes; tried in a probe only.
        processes_bound: bool,
    },
    /// A step of the set-up failed. Nothing was run.
    SetUpFailed { step: Step, reason: String },
    /// The program could not be started.
    NotStarted { errno: i32 },
    /// The program exited by itself.
    Exited { code: i32 },
    /// A signal ended the program.
    Signalled { signal: i32 },
    /// The tree has used up too much and is ended.
    Exceeded { what: Excess },
    /// Last event: whether everything the program started has ended.
    TreeEnded { ended: bool },
}

/// What a tree has used up too much of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Excess {
    Memory,
    Disk,
}

/// What the outer stage sends after the frame, once the inner stage is in its control groups.
pub(crate) const GO: u8 = 1;

/// A step of the set-up that platforms may refuse.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Step {
    Control,
    MemoryGroup,
    ProcessGroup,
    Namespaces,
    Loopback,
    FileSystem,
    ProcessFileSystem,
    Limits,
    Landlock,
    Seccomp,
}

/// A spec and the bytes of standard input.
pub(crate) struct Frame {
    pub(crate) spec: Spec,
    pub(crate) stdin: Vec<u8>,
}

impl Stage {
    /// The bytes on the wire.
    pub(crate) fn encode(&self) -> std::io::Result<Vec<u8>> {
        Ok(part(&serde_json::to_vec(self)?))
    }

    /// Reads it; an error when the other side goes before it is whole.
    pub(crate) fn read(from: &mut impl Read) -> std::io::Result<Self> {
        Ok(serde_json::from_slice(&read_part(from, STAGE_BYTES_MAX)?)?)
    }
}

impl Frame {
    /// The bytes on the wire.
    pub(crate) fn encode(spec: &Spec, stdin: &[u8]) -> std::io::Result<Vec<u8>> {
        let mut bytes = part(&serde_json::to_vec(spec)?);
        bytes.extend(part(stdin));
        Ok(bytes)
    }

    /// Reads one frame; an error when the other side goes before it is whole.
    pub(crate) fn read(from: &mut impl Read) -> std::io::Result<Self> {
        let spec = serde_json::from_slice(&read_part(from, SPEC_BYTES_MAX)?)?;
        let stdin = read_part(from, STDIN_BYTES_MAX)?;
        Ok(Self { spec, stdin })
    }
}

/// Some bytes with their length before them.
fn part(bytes: &[u8]) -> Vec<u8> {
    [&(bytes.len() as u64).to_le_bytes(), bytes].concat()
}

fn read_part(from: &mut impl Read, max: u64) -> std::io::Result<Vec<u8>> {
    let mut length = [0; 8];
    from.read_exact(&mut length)?;
    let length = u64::from_le_bytes(length);
    if length > max {
        return Err(std::io::ErrorKind::FileTooLarge.into());
    }
    let mut bytes = Vec::new();
    let count = from.take(length).read_to_end(&mut bytes)? as u64;
    if count < length {
        return Err(std::io::ErrorKind::UnexpectedEof.into());
    }
    Ok(bytes)
}

impl Event {
    /// Writes it as one line.
    pub(crate) fn write(&self, to: &mut impl Write) -> std::io::Result<()> {
        let mut line = serde_json::to_vec(self)?;
        line.push(b'\n');
        to.write_all(&line)
    }
}
