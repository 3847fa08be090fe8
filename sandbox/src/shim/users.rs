//! User namespaces: root inside the first one to set things up, a plain user without any capability in the second.

use std::fs::File;
use std::io::Write;
use std::os::fd::OwnedFd;
use std::path::Path;

use nix::fcntl::{OFlag, open, openat};
use nix::sched::{CloneFlags, unshare};
use nix::sys::stat::Mode;
use nix::unistd::{getegid, geteuid};

/// What a program sees as its user and group where we are root: with 0 it would get all capabilities of the namespace.
const PLAIN_ID: u32 = 1000;

/// User and group of this process.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ids {
    user: u32,
    group: u32,
}

impl Ids {
    /// Outside; to be read before the namespace is made.
    pub(super) fn outside() -> Self {
        Self { user: geteuid().as_raw(), group: getegid().as_raw() }
    }

    /// The user's line in the list of users (passwd(5)), with this home; empty where it cannot be written there.
    pub(super) fn account(self, home: Option<&Path>) -> String {
        let home = home.and_then(Path::to_str).filter(|home| !home.contains([':', '\n']));
        home.map(|home| format!("holdpoint:x:{}:{}::{home}:/bin/sh\n", self.user, self.group)).unwrap_or_default()
    }
}

/// Makes this process root of its new user namespace.
pub(super) fn map_as_root(outside: Ids) -> std::io::Result<()> {
    write_maps(&this_process()?, Ids { user: 0, group: 0 }, outside)
}

/// This process's folder in the process file system that is mounted now. It stays usable when that is gone.
pub(super) fn this_process() -> std::io::Result<OwnedFd> {
    Ok(open("/proc/self", OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC, Mode::empty())?)
}

/// Moves this process into a second user namespace as a plain user. All rights over the mounts are gone with that; its
/// own capabilities end with the next exec, because its user is not root.
pub(super) fn become_plain(this_process: &OwnedFd, looks_like: Ids) -> std::io::Result<()> {
    unshare(CloneFlags::CLONE_NEWUSER)?;
    write_maps(this_process, looks_like, Ids { user: 0, group: 0 })
}

/// The ids a program shall see, given those that the harness has.
pub(super) fn plain(user: u32, group: u32) -> Ids {
    let not_root = |id| if id == 0 { PLAIN_ID } else { id };
    Ids { user: not_root(user), group: not_root(group) }
}

fn write_maps(process: &OwnedFd, inside: Ids, outside: Ids) -> std::io::Result<()> {
    let write = |name: &str, line: String| -> std::io::Result<()> {
        let file = openat(process, name, OFlag::O_WRONLY | OFlag::O_CLOEXEC, Mode::empty())?;
        File::from(file).write_all(line.as_bytes())
    };
    write("uid_map", format!("{} {} 1", inside.user, outside.user))?;
    // The kernel wants this before a group may be mapped without privileges.
    write("setgroups", "deny".to_owned())?;
    write("gid_map", format!("{} {} 1", inside.group, outside.group))
}
