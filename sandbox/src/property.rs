//! What a sandbox promises, as a list of properties, and who keeps each promise on a platform.

use serde::{Deserialize, Serialize};

/// One promise about a sandboxed program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Property {
    /// It changes nothing outside its `write` trees.
    NoWritesOutside,
    /// It reads nothing outside its trees and the system's own.
    NoReadsOutside,
    /// It reaches no network.
    NoNetwork,
    /// It has a loopback of its own.
    Loopback,
    /// It connects to no unix socket outside its trees (docker, dbus, ssh agents).
    NoForeignSockets,
    /// It signals and traces no process outside, and reads none's memory or environment.
    NoForeignProcesses,
    /// All it started has ended when its run is over, and when we die.
    TreeEnded,
    /// It gains no right it did not start with.
    NoPrivilegeGain,
    /// System calls that ordinary programs do not need and attacks do are refused.
    NoDangerousSyscalls,
    /// Its output is capped.
    OutputCapped,
    /// Its time is limited.
    TimeLimited,
    /// The size of the files it writes is limited.
    FileSizeLimited,
    /// How many processes it has is limited.
    ProcessesLimited,
    /// How much memory all its processes have together is limited.
    MemoryLimited,
    /// How much disk space it uses up is limited.
    DiskLimited,
    /// How much address space each of its processes has is limited.
    AddressSpaceLimited,
}

impl Property {
    /// Its name in settings and reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::NoWritesOutside => "no_writes_outside",
            Self::NoReadsOutside => "no_reads_outside",
            Self::NoNetwork => "no_network",
            Self::Loopback => "loopback",
            Self::NoForeignSockets => "no_foreign_sockets",
            Self::NoForeignProcesses => "no_foreign_processes",
            Self::TreeEnded => "tree_ended",
            Self::NoPrivilegeGain => "no_privilege_gain",
            Self::NoDangerousSyscalls => "no_dangerous_syscalls",
            Self::OutputCapped => "output_capped",
            Self::TimeLimited => "time_limited",
            Self::FileSizeLimited => "file_size_limited",
            Self::ProcessesLimited => "processes_limited",
            Self::MemoryLimited => "memory_limited",
            Self::DiskLimited => "disk_limited",
            Self::AddressSpaceLimited => "address_space_limited",
        }
    }

    /// Whether a program is refused where nothing gives this property.
    ///
    /// The one that is not required is asked for by a setting only, and given wherever it is asked for.
    #[must_use]
    pub fn required(self) -> bool {
        self != Self::AddressSpaceLimited
    }
}

impl std::fmt::Display for Property {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// Who keeps one promise here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PropertyReport {
    /// The promise.
    pub property: Property,
    /// What keeps it ("mount namespace and landlock abi 7"); `None`: nothing does.
    pub mechanism: Option<String>,
    /// What is left open, or why nothing keeps it; empty when there is nothing to say.
    pub detail: String,
}

impl PropertyReport {
    /// Whether something keeps the promise.
    #[must_use]
    pub fn enforced(&self) -> bool {
        self.mechanism.is_some()
    }
}
