//! Finding out what the platform gives by really setting it up, in a child that runs nothing.

use std::path::Path;

use nix::unistd::geteuid;

use super::session;
use super::spec;
use crate::error::Error;
use crate::layout::Layout;
use crate::platform::Platform;
use crate::profile::{Limits, Network, Profile};
use crate::wire::Step;

/// The platform's gifts. Tries everything first, and does without what fails until the rest works.
pub(super) async fn probe(shim: &Path, namespaces: bool) -> Result<Platform, Error> {
    let mut platform = Platform {
        namespaces,
        own_proc: namespaces,
        own_network: namespaces,
        landlock_abi: None,
        process_namespace_limit: false,
        root: geteuid().is_root(),
    };
    loop {
        let profile = Profile {
            read: Vec::new(),
            write: Vec::new(),
            deny: Vec::new(),
            network: Network::Loopback,
            limits: Limits::default(),
        };
        let layout = Layout::of(&profile, platform.namespaces)?;
        let events = session::set_up(shim, &spec(&platform, &profile, layout, None)).await?;
        if let Some((step, reason)) = events.failure() {
            tracing::debug!(?step, reason, "the platform refuses a part of the sandbox");
            platform = without(platform, *step).ok_or_else(|| Error::NoSandbox { reason: reason.clone() })?;
            continue;
        }
        let ready = events.ready.ok_or(Error::ShimLost)?;
        return Ok(Platform {
            landlock_abi: ready.landlock_abi,
            process_namespace_limit: ready.processes_limited,
            ..platform
        });
    }
}

/// The platform without the part that a step is for; `None` when nothing can be left out.
fn without(platform: Platform, step: Step) -> Option<Platform> {
    match step {
        Step::Loopback if platform.own_network => Some(Platform { own_network: false, ..platform }),
        Step::ProcessFileSystem if platform.own_proc => Some(Platform { own_proc: false, ..platform }),
        Step::Control | Step::Limits | Step::Seccomp => None,
        _ if platform.namespaces => {
            Some(Platform { namespaces: false, own_proc: false, own_network: false, ..platform })
        }
        _ => None,
    }
}
