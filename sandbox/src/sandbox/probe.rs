//! Finding out what the platform gives by really setting it up, in a child that runs nothing.

use std::path::Path;

use nix::unistd::geteuid;

use super::session;
use super::spec;
use super::standby::Shim;
use crate::error::SandboxError;
use crate::layout::Layout;
use crate::platform::Platform;
use crate::profile::{Bounds, Network, Profile, RunLimits};
use crate::wire::{GroupVersion, Step};

/// The platform's gifts. Tries everything first, and does without what fails until the rest works.
pub(super) async fn probe(shim: &Path, namespaces: bool, groups: bool) -> Result<Platform, SandboxError> {
    let tried = groups.then_some(GroupVersion::V1);
    let mut platform = Platform {
        namespaces,
        own_proc: namespaces,
        own_network: namespaces,
        landlock_abi: None,
        process_namespace_limit: false,
        processes_bound: false,
        memory_group: tried,
        process_group: tried,
        machine_memory: machine_memory(),
        root: geteuid().is_root(),
    };
    loop {
        let profile = Profile {
            read: Vec::new(),
            write: Vec::new(),
            deny: Vec::new(),
            network: Network::Loopback,
            limits: RunLimits::default(),
        };
        // With limits, so that what keeps them is tried too.
        let profile = Bounds::default().complete(&profile);
        let layout = Layout::of(&profile, platform.namespaces)?;
        let spec = spec(&platform, &profile, layout, None);
        let events = session::set_up(Shim::start(shim, spec.stage)?, &spec).await?;
        if let Some((step, reason)) = events.failure() {
            tracing::debug!(?step, reason, "the platform refuses a part of the sandbox");
            platform = without(platform, *step).ok_or_else(|| SandboxError::NoSandbox { reason: reason.clone() })?;
            continue;
        }
        let ready = events.ready.ok_or(SandboxError::ShimLost)?;
        return Ok(Platform {
            landlock_abi: ready.landlock_abi,
            process_namespace_limit: ready.processes_limited,
            processes_bound: ready.processes_bound,
            memory_group: events.groups.0,
            process_group: events.groups.1,
            ..platform
        });
    }
}

/// The platform without the part that a step is for; `None` when nothing can be left out.
fn without(platform: Platform, step: Step) -> Option<Platform> {
    match step {
        Step::MemoryGroup if platform.memory_group.is_some() => Some(Platform { memory_group: None, ..platform }),
        Step::ProcessGroup if platform.process_group.is_some() => Some(Platform { process_group: None, ..platform }),
        Step::Loopback if platform.own_network => Some(Platform { own_network: false, ..platform }),
        Step::ProcessFileSystem if platform.own_proc => Some(Platform { own_proc: false, ..platform }),
        Step::Control | Step::MemoryGroup | Step::ProcessGroup | Step::Limits | Step::Seccomp => None,
        _ if platform.namespaces => {
            Some(Platform { namespaces: false, own_proc: false, own_network: false, ..platform })
        }
        _ => None,
    }
}

/// Bytes of memory of the machine, or of the virtual one that this is.
fn machine_memory() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}
