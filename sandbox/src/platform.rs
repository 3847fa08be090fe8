//! What this platform gives, and which promise each part of it keeps. Decides; does not try anything itself.

#[cfg(test)]
mod tests;

use crate::layout::Layout;
use crate::profile::{Network, Profile, RunLimits};
use crate::property::{Property, PropertyReport};
use crate::wire::{Budget, GroupVersion, Groups, Sockets, Stage};

/// Landlock handles truncation from here on; before, a file outside could be emptied.
const LANDLOCK_TRUNCATE: u32 = 3;
/// Landlock keeps signals and abstract sockets inside from here on.
const LANDLOCK_SCOPES: u32 = 6;

/// How much of the machine's memory a program may have where nothing else is said.
const MEMORY_PART: (u64, u64) = (3, 4);

/// What was found to work when it was tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Platform {
    /// User, mount, process, IPC and host name namespaces.
    pub(crate) namespaces: bool,
    /// A process file system of its own in the process namespace.
    pub(crate) own_proc: bool,
    /// A network namespace with its loopback up.
    pub(crate) own_network: bool,
    pub(crate) landlock_abi: Option<u32>,
    /// Process numbers can be limited per namespace (Linux 6.14).
    pub(crate) process_namespace_limit: bool,
    /// Control groups that can be made.
    pub(crate) memory_group: Option<GroupVersion>,
    pub(crate) process_group: Option<GroupVersion>,
    /// Bytes of memory that the machine has.
    pub(crate) machine_memory: Option<u64>,
    /// The kernel binds the user to a limit of processes, which it does not do for root.
    pub(crate) processes_bound: bool,
    /// We are root.
    pub(crate) root: bool,
}

impl Platform {
    /// Whether a program with this profile gets a network namespace.
    pub(crate) fn uses_own_network(&self, network: Network) -> bool {
        network == Network::Loopback && self.namespaces && self.own_network
    }

    /// Which sockets a program with this profile may make.
    pub(crate) fn sockets(&self, network: Network) -> Sockets {
        let own_network = self.uses_own_network(network);
        if network == Network::Loopback && !own_network {
            return Sockets::None;
        }
        // By path, sockets outside are hidden by the mounts; abstract ones by the network namespace or Landlock.
        let unix_is_inside = self.namespaces && (own_network || self.landlock_at_least(LANDLOCK_SCOPES));
        if unix_is_inside { Sockets::All } else { Sockets::Internet }
    }

    /// The memory that a program with this limit may have.
    pub(crate) fn memory_bytes(&self, limit: Option<u64>) -> Option<u64> {
        limit.or_else(|| self.machine_memory.map(|bytes| bytes / MEMORY_PART.1 * MEMORY_PART.0))
    }

    /// What a whole tree with these limits may use up.
    pub(crate) fn budget(&self, limits: &RunLimits) -> Budget {
        let memory_bytes = self.memory_bytes(limits.memory_bytes);
        Budget { memory_bytes, processes: limits.processes, disk_bytes: limits.disk_bytes }
    }

    /// What is set up for a program with this network and budget before all of it is known.
    pub(crate) fn stage(&self, network: Network, budget: &Budget) -> Stage {
        let groups = self.groups();
        let groups = Groups {
            memory: groups.memory && budget.memory_bytes.is_some(),
            processes: groups.processes && budget.processes.is_some(),
        };
        Stage { namespaces: self.namespaces, own_network: self.uses_own_network(network), groups }
    }

    /// The control groups to be made. Where the process namespace limits processes already, a group would only cost time.
    fn groups(&self) -> Groups {
        let namespace = self.namespaces && self.process_namespace_limit;
        Groups { memory: self.memory_group.is_some(), processes: self.process_group.is_some() && !namespace }
    }

    fn landlock_at_least(&self, abi: u32) -> bool {
        self.landlock_abi.is_some_and(|found| found >= abi)
    }

    /// Who keeps each promise to a program with this profile.
    pub(crate) fn reports(&self, profile: &Profile, layout: &Layout) -> Vec<PropertyReport> {
        let mut reports = vec![
            self.writes(layout),
            self.reads(layout),
            self.foreign_sockets(profile.network),
            self.foreign_processes(),
            self.tree(),
            self.privileges(),
            report(Property::NoDangerousSyscalls, Some("seccomp".to_owned()), ""),
            report(Property::OutputCapped, Some("supervisor".to_owned()), ""),
            report(Property::TimeLimited, Some("supervisor".to_owned()), ""),
            report(Property::FileSizeLimited, Some("rlimit".to_owned()), "per file"),
            self.processes(),
            self.memory(profile.limits.memory_bytes),
            disk(),
        ];
        if profile.network == Network::Loopback {
            reports.extend(self.network());
        }
        if profile.limits.address_space_bytes.is_some() {
            let detail = "per process, not in sum";
            reports.push(report(Property::AddressSpaceLimited, Some("rlimit".to_owned()), detail));
        }
        reports
    }

    fn writes(&self, layout: &Layout) -> PropertyReport {
        if self.namespaces {
            return report(Property::NoWritesOutside, Some(self.mounts()), "");
        }
        self.landlock_only(Property::NoWritesOutside, LANDLOCK_TRUNCATE, layout, "does not stop chmod and utimes")
    }

    fn reads(&self, layout: &Layout) -> PropertyReport {
        if self.namespaces {
            return report(Property::NoReadsOutside, Some(self.mounts()), "");
        }
        self.landlock_only(Property::NoReadsOutside, 1, layout, "does not hide names and sizes of files")
    }

    fn mounts(&self) -> String {
        match self.landlock_abi {
            Some(abi) => format!("mount namespace and landlock abi {abi}"),
            None => "mount namespace".to_owned(),
        }
    }

    fn landlock_only(&self, property: Property, abi: u32, layout: &Layout, open: &str) -> PropertyReport {
        if layout.takes_back_below_write() {
            let detail = "a path below a writable tree is to be closed, which needs a mount namespace";
            return report(property, None, detail);
        }
        match self.landlock_abi {
            Some(found) if found >= abi => report(property, Some(format!("landlock abi {found}")), open),
            _ => report(property, None, &format!("needs namespaces, or landlock abi {abi}")),
        }
    }

    fn network(&self) -> [PropertyReport; 2] {
        if self.namespaces && self.own_network {
            let by = || Some("network namespace".to_owned());
            return [report(Property::NoNetwork, by(), ""), report(Property::Loopback, by(), "")];
        }
        [
            report(Property::NoNetwork, Some("seccomp".to_owned()), ""),
            report(Property::Loopback, None, "needs a network namespace"),
        ]
    }

    fn foreign_sockets(&self, network: Network) -> PropertyReport {
        let by = match self.sockets(network) {
            Sockets::None | Sockets::Internet => "seccomp",
            Sockets::All if self.uses_own_network(network) => "mount and network namespace",
            Sockets::All => "mount namespace and landlock",
        };
        report(Property::NoForeignSockets, Some(by.to_owned()), "")
    }

    fn foreign_processes(&self) -> PropertyReport {
        let property = Property::NoForeignProcesses;
        if self.namespaces && self.own_proc {
            return report(property, Some("process namespace".to_owned()), "");
        }
        let open = "command lines of other processes can be seen, and how many files they have open";
        if self.namespaces {
            return report(property, Some("process and user namespace".to_owned()), open);
        }
        if self.root {
            return report(property, None, "root's capabilities read other processes' environment; needs namespaces");
        }
        if self.landlock_at_least(LANDLOCK_SCOPES) {
            let abi = self.landlock_abi.unwrap_or_default();
            return report(property, Some(format!("landlock abi {abi} and seccomp")), open);
        }
        report(property, None, &format!("needs namespaces, or landlock abi {LANDLOCK_SCOPES}"))
    }

    fn tree(&self) -> PropertyReport {
        let by = if self.namespaces { "process namespace" } else { "subreaper" };
        report(Property::TreeEnded, Some(by.to_owned()), "")
    }

    fn privileges(&self) -> PropertyReport {
        let by = if self.namespaces { "no new privileges and user namespace" } else { "no new privileges" };
        if self.root && !self.namespaces {
            let detail = "the program would run as root with its capabilities";
            return report(Property::NoPrivilegeGain, None, detail);
        }
        report(Property::NoPrivilegeGain, Some(by.to_owned()), "")
    }

    fn processes(&self) -> PropertyReport {
        let property = Property::ProcessesLimited;
        if self.namespaces && self.process_namespace_limit {
            return report(property, Some("process namespace".to_owned()), "");
        }
        if let Some(version) = self.process_group {
            return report(property, Some(group(version)), "");
        }
        if !self.processes_bound {
            return report(
                property,
                None,
                "needs Linux 6.14 with namespaces, a control group, or another user than root",
            );
        }
        if self.namespaces {
            return report(property, Some("rlimit in the user namespace".to_owned()), "");
        }
        report(property, Some("rlimit of the user".to_owned()), "counted with all that its user runs")
    }

    fn memory(&self, limit: Option<u64>) -> PropertyReport {
        let property = Property::MemoryLimited;
        if self.memory_bytes(limit).is_none() {
            return report(property, None, "the machine does not say how much it has: set a limit");
        }
        match self.memory_group {
            Some(version) => report(property, Some(group(version)), ""),
            None => report(property, Some("supervisor".to_owned()), "what it takes between two looks comes on top"),
        }
    }
}

fn disk() -> PropertyReport {
    let detail = "what it writes between two looks comes on top; it also ends when a disk is nearly full";
    report(Property::DiskLimited, Some("supervisor".to_owned()), detail)
}

fn group(version: GroupVersion) -> String {
    match version {
        GroupVersion::V1 => "control group v1".to_owned(),
        GroupVersion::V2 => "control group v2".to_owned(),
    }
}

fn report(property: Property, mechanism: Option<String>, detail: &str) -> PropertyReport {
    PropertyReport { property, mechanism, detail: detail.to_owned() }
}
