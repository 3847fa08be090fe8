//! Control groups: a limit on memory and processes of the whole tree, kept by the kernel.
//!
//! The outer stage makes a group below its own (or next to it), puts the inner stage into it before the program starts,
//! and removes it when the tree has ended. No group of anybody else is changed. Where groups cannot be made, others keep
//! the limits: see `limits` and `watch`.

mod place;

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use nix::unistd::Pid;

use super::Failure;
use crate::wire::{Budget, GroupVersion, Groups, Step};
use place::{Controller, Place};

/// Groups of ours are called this, the number of our process namespace, and that of the outer stage.
const PREFIX: &str = "holdpoint-";
/// The kernel needs a moment to let go of the last process.
const REMOVE_LIMIT: Duration = Duration::from_secs(1);
const PAUSE: Duration = Duration::from_millis(1);

/// The groups of one run. They are removed when this is dropped.
#[derive(Debug, Default)]
pub(super) struct Made {
    memory: Option<Group>,
    processes: Option<Group>,
}

#[derive(Debug, Clone)]
struct Group {
    dir: PathBuf,
    version: GroupVersion,
}

impl Made {
    /// Makes the wanted groups, without limits.
    pub(super) fn make(wanted: Groups) -> Result<Self, Failure> {
        let mut made = Self::default();
        if wanted.memory {
            made.memory = Some(make(Controller::Memory, None).map_err(Failure::at(Step::MemoryGroup, "make"))?);
        }
        if wanted.processes {
            let group = make(Controller::Processes, made.memory.as_ref());
            made.processes = Some(group.map_err(Failure::at(Step::ProcessGroup, "make"))?);
        }
        Ok(made)
    }

    /// Gives the groups that there are their limits.
    pub(super) fn limit(&self, budget: &Budget) -> Result<(), Failure> {
        if let Some(bytes) = budget.memory_bytes {
            self.limit_memory(bytes).map_err(Failure::at(Step::MemoryGroup, "limit"))?;
        }
        if let Some(processes) = budget.processes {
            self.limit_processes(processes).map_err(Failure::at(Step::ProcessGroup, "limit"))?;
        }
        Ok(())
    }

    fn limit_memory(&self, bytes: u64) -> std::io::Result<()> {
        let Some(group) = &self.memory else { return Ok(()) };
        match group.version {
            GroupVersion::V1 => {
                group.set("memory.limit_in_bytes", bytes)?;
                // Only there where the kernel counts swapped pages.
                let _ = group.set("memory.memsw.limit_in_bytes", bytes);
            }
            GroupVersion::V2 => {
                group.set("memory.max", bytes)?;
                // Neither is there on every kernel. Without the second one process goes, and the supervisor ends the rest.
                let _ = group.set("memory.swap.max", 0);
                let _ = group.set("memory.oom.group", 1);
            }
        }
        Ok(())
    }

    fn limit_processes(&self, processes: u64) -> std::io::Result<()> {
        self.processes.as_ref().map_or(Ok(()), |group| group.set("pids.max", processes))
    }

    /// Which groups there are.
    pub(super) fn versions(&self) -> (Option<GroupVersion>, Option<GroupVersion>) {
        let version = |group: &Option<Group>| group.as_ref().map(|group| group.version);
        (version(&self.memory), version(&self.processes))
    }

    /// Puts a process into the groups, and with it all that it starts from now on.
    pub(super) fn join(&self, process: Pid) -> Result<(), Failure> {
        for (group, step) in [(&self.memory, Step::MemoryGroup), (&self.processes, Step::ProcessGroup)] {
            let Some(group) = group else { continue };
            let pid = u64::from(process.as_raw().unsigned_abs());
            group.set("cgroup.procs", pid).map_err(Failure::at(step, "join"))?;
        }
        Ok(())
    }

    /// Lets the processes of the group start no more, so that they can be ended however fast they fork.
    pub(super) fn stop_forks(&self) {
        if let Some(group) = &self.processes {
            // A group that is gone has no processes.
            let _ = group.set("pids.max", 0);
        }
    }

    /// Whether the kernel ended a process of the group for want of memory.
    pub(super) fn ran_out_of_memory(&self) -> bool {
        let Some(group) = &self.memory else { return false };
        let file = match group.version {
            GroupVersion::V1 => "memory.oom_control",
            GroupVersion::V2 => "memory.events",
        };
        std::fs::read_to_string(group.dir.join(file)).is_ok_and(|text| place::killed(&text) > 0)
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        let start = Instant::now();
        for group in [self.memory.take(), self.processes.take()].into_iter().flatten() {
            while group.dir.exists() && std::fs::remove_dir(&group.dir).is_err() && start.elapsed() < REMOVE_LIMIT {
                std::thread::sleep(PAUSE);
            }
        }
    }
}

impl Group {
    fn set(&self, file: &str, value: u64) -> std::io::Result<()> {
        std::fs::write(self.dir.join(file), value.to_string())
    }
}

/// Makes a group for a controller. In the second version one group is for all controllers, so `other` may do.
fn make(controller: Controller, other: Option<&Group>) -> std::io::Result<Group> {
    let own = std::fs::read_to_string("/proc/self/cgroup")?;
    let mounts = std::fs::read_to_string("/proc/self/mountinfo")?;
    let places = place::places(controller, &own, &mounts);
    let has = |place: &&Place| {
        place.version == GroupVersion::V1
            || std::fs::read_to_string(place.dir.join("cgroup.subtree_control"))
                .is_ok_and(|text| text.split_whitespace().any(|name| name == controller.name()))
    };
    let Some(place) = places.iter().find(has) else {
        return Err(std::io::Error::new(std::io::ErrorKind::NotFound, "no group with this controller is ours"));
    };
    if let Some(other) = other.filter(|other| other.version == GroupVersion::V2 && place.version == GroupVersion::V2) {
        return Ok(other.clone());
    }
    let namespace = std::fs::read_link("/proc/self/ns/pid")?.display().to_string();
    let namespace: String = namespace.chars().filter(char::is_ascii_digit).collect();
    remove_leftovers(&place.dir, &namespace);
    let dir = place.dir.join(format!("{PREFIX}{namespace}-{}", std::process::id()));
    DirBuilder::new().mode(0o755).create(&dir)?;
    Ok(Group { dir, version: place.version })
}

/// Removes groups whose outer stage was killed before it could. One that still has processes stays.
fn remove_leftovers(place: &Path, namespace: &str) {
    let prefix = format!("{PREFIX}{namespace}-");
    for entry in place.read_dir().into_iter().flatten().flatten() {
        let name = entry.file_name();
        let Some(pid) = name.to_str().and_then(|name| name.strip_prefix(&prefix)) else { continue };
        if !Path::new("/proc").join(pid).exists() {
            let _ = std::fs::remove_dir(entry.path());
        }
    }
}
