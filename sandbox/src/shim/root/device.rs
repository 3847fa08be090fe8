//! A small `/dev`: harmless devices, and terminals of its own.

use std::os::unix::fs::symlink;
use std::path::Path;

use nix::mount::{MsFlags, mount};

use super::{EMPTY_OPTIONS, bind, make_folder, new, old};
use crate::layout::DEVICES;

const LINKS: [(&str, &str); 5] = [
    ("/dev/fd", "/proc/self/fd"),
    ("/dev/stdin", "/proc/self/fd/0"),
    ("/dev/stdout", "/proc/self/fd/1"),
    ("/dev/stderr", "/proc/self/fd/2"),
    ("/dev/ptmx", "pts/ptmx"),
];
const TERMINALS: &str = "/dev/pts";

pub(super) fn place() -> std::io::Result<()> {
    let dev = new(Path::new("/dev"));
    make_folder(&dev)?;
    mount(Some("tmpfs"), &dev, Some("tmpfs"), MsFlags::MS_NOSUID, Some(EMPTY_OPTIONS))?;
    for node in DEVICES.map(Path::new).iter().filter(|node| old(node).exists()) {
        bind(&old(node), &new(node))?;
    }
    for (link, target) in LINKS {
        symlink(target, new(Path::new(link)))?;
    }
    let terminals = new(Path::new(TERMINALS));
    make_folder(&terminals)?;
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NOEXEC;
    mount(Some("devpts"), &terminals, Some("devpts"), flags, Some("newinstance,ptmxmode=0666,mode=620"))?;
    Ok(())
}
