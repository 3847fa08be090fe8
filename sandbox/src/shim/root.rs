//! A root of its own for the program: an empty one in memory, with only what was granted mounted into it.
//!
//! Anything not mounted does not exist inside: no file of it can be read, no socket in it connected.

use std::ffi::{OsStr, OsString};
use std::fs::{DirBuilder, File, OpenOptions};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, symlink};
use std::path::{Path, PathBuf};

use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::unistd::{chdir, pivot_root};

use super::Failure;
use crate::layout::{Grant, Kind, Layout};
use crate::profile::Overlaid;
use crate::wire::Step;

mod device;
mod table;

/// Where the new root is put together; any folder that is there on every system would do.
const STAGE: &str = "/tmp";
const OLD: &str = "/old";
const NEW: &str = "/new";
/// A private folder is in memory. Builds go to the scratch tree; this is for small things and sockets.
const PRIVATE_OPTIONS: &str = "mode=1777,size=512m";
/// The new root itself, and what stands in for hidden folders, hold nothing but empty folders.
const EMPTY_OPTIONS: &str = "mode=0755,size=1m";
/// Stands in for hidden files: empty, and not even its owner may open it.
const NOTHING: &str = "/nothing";
/// The list of users (passwd(5)), and where ours is put together.
const USERS: &str = "/etc/passwd";
const OWN_USERS: &str = "/users";
const NONE: Option<&str> = None;

/// Replaces this process's root. Needs to be root of a user namespace that owns the mount and process namespace.
/// The program's user has this line in the list of users, if any.
pub(super) fn build(layout: &Layout, own_proc: bool, account: &str) -> Result<(), Failure> {
    stage().map_err(Failure::at(Step::FileSystem, "stage"))?;
    for grant in layout.grants.iter().filter(|grant| !grant.path.starts_with("/dev")) {
        place(grant).map_err(Failure::at(Step::FileSystem, grant.path.display()))?;
    }
    place_account(account).map_err(Failure::at(Step::FileSystem, USERS))?;
    device::place().map_err(Failure::at(Step::FileSystem, "/dev"))?;
    for grant in layout.grants.iter().filter(|grant| grant.path.starts_with("/dev")) {
        place(grant).map_err(Failure::at(Step::FileSystem, grant.path.display()))?;
    }
    for (link, target) in &layout.links {
        place_link(link, target).map_err(Failure::at(Step::FileSystem, link.display()))?;
    }
    make_folder(&new(Path::new("/proc"))).map_err(Failure::at(Step::FileSystem, "/proc"))?;
    table::close(&layout.grants).map_err(Failure::at(Step::FileSystem, "make read-only"))?;
    place_proc(own_proc).map_err(Failure::at(Step::ProcessFileSystem, "mount"))?;
    enter().map_err(Failure::at(Step::FileSystem, "enter"))
}

/// An empty file system as root, with the old root in one folder and the new one in another.
fn stage() -> std::io::Result<()> {
    let private = MsFlags::MS_REC | MsFlags::MS_PRIVATE;
    mount(NONE, "/", NONE, private, NONE)?;
    let safe = MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
    mount(Some("tmpfs"), STAGE, Some("tmpfs"), safe, Some(EMPTY_OPTIONS))?;
    let (old, new) = (format!("{STAGE}{OLD}"), format!("{STAGE}{NEW}"));
    std::fs::create_dir(&old)?;
    std::fs::create_dir(&new)?;
    mount(Some("tmpfs"), new.as_str(), Some("tmpfs"), safe, Some(EMPTY_OPTIONS))?;
    pivot_root(STAGE, old.as_str())?;
    chdir("/")?;
    OpenOptions::new().write(true).create_new(true).mode(0o000).open(NOTHING)?;
    Ok(())
}

/// Where a path of the old root is now.
fn old(path: &Path) -> PathBuf {
    below(OLD, path)
}

/// Where a path of the new root is for now.
fn new(path: &Path) -> PathBuf {
    below(NEW, path)
}

fn below(root: &str, path: &Path) -> PathBuf {
    Path::new(root).join(path.strip_prefix("/").unwrap_or(path))
}

fn place(grant: &Grant) -> std::io::Result<()> {
    let (from, to) = (old(grant.real()), new(&grant.path));
    if let Some(over) = &grant.over {
        return overlay(over, &from, &to);
    }
    match grant.kind {
        Kind::Read | Kind::Write => bind(&from, &to),
        Kind::Private => {
            make_folder(&to)?;
            let safe = MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
            Ok(mount(Some("tmpfs"), &to, Some("tmpfs"), safe, Some(PRIVATE_OPTIONS))?)
        }
        Kind::Hidden if from.is_dir() => {
            let safe = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC;
            Ok(mount(Some("tmpfs"), &to, Some("tmpfs"), safe, Some(EMPTY_OPTIONS))?)
        }
        Kind::Hidden => bind(Path::new(NOTHING), &to),
    }
}

/// Shows trees of the old root at a path of the new one, with `changes` above them. Extended attributes are those of users, as
/// the user namespace may set no others. No index is kept: the changes may be those of an earlier run.
fn overlay(Overlaid { trees, work }: &Overlaid, changes: &Path, to: &Path) -> std::io::Result<()> {
    make_folder(to)?;
    let below: Vec<OsString> = trees.iter().map(|tree| escaped(&old(tree))).collect();
    let mut options = OsString::from("userxattr,index=off,lowerdir=");
    options.push(below.join(OsStr::new(":")));
    options.push(",upperdir=");
    options.push(escaped(changes));
    options.push(",workdir=");
    options.push(escaped(&old(work)));
    let safe = MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
    Ok(mount(Some("overlay"), to, Some("overlay"), safe, Some(options.as_os_str()))?)
}

/// A path in the options of an overlay.
fn escaped(path: &Path) -> OsString {
    let bytes = path.as_os_str().as_bytes();
    let special = |byte: u8| matches!(byte, b'\\' | b':' | b',');
    OsString::from_vec(
        bytes.iter().flat_map(|byte| special(*byte).then_some(b'\\').into_iter().chain([*byte])).collect(),
    )
}

/// Puts the program's user into the list of users, in place of who has that number there: Java asks it for the home.
fn place_account(account: &str) -> std::io::Result<()> {
    let to = new(Path::new(USERS));
    let Some(number) = account.split(':').nth(2).filter(|_| to.is_file() && !to.is_symlink()) else { return Ok(()) };
    let all = std::fs::read(old(Path::new(USERS)))?;
    let others = all.split_inclusive(|byte| *byte == b'\n');
    let others = others.filter(|line| line.split(|byte| *byte == b':').nth(2) != Some(number.as_bytes()));
    std::fs::write(OWN_USERS, [account.as_bytes(), &others.collect::<Vec<_>>().concat()].concat())?;
    bind(Path::new(OWN_USERS), &to)
}

/// Shows a tree of the old root at a path of the new one.
fn bind(from: &Path, to: &Path) -> std::io::Result<()> {
    if from.is_dir() {
        make_folder(to)?;
    } else if !to.exists() {
        to.parent().map_or(Ok(()), make_folder)?;
        File::create(to)?;
    }
    Ok(mount(Some(from), to, NONE, MsFlags::MS_BIND | MsFlags::MS_REC, NONE)?)
}

fn make_folder(path: &Path) -> std::io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o755).create(path)
}

fn place_link(link: &Path, target: &Path) -> std::io::Result<()> {
    let at = new(link);
    if at.is_symlink() || at.exists() {
        return Ok(());
    }
    at.parent().map_or(Ok(()), make_folder)?;
    symlink(target, at)
}

/// Read-only in any case: as root outside, a program could otherwise set what belongs to the machine.
fn place_proc(own: bool) -> std::io::Result<()> {
    let to = new(Path::new("/proc"));
    if own {
        let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC | MsFlags::MS_RDONLY;
        return Ok(mount(Some("proc"), &to, Some("proc"), flags, NONE)?);
    }
    bind(&old(Path::new("/proc")), &to)?;
    table::close_all_below(&to)
}

/// Makes the new root the root and lets go of everything else.
fn enter() -> std::io::Result<()> {
    umount2(OLD, MntFlags::MNT_DETACH)?;
    chdir(NEW)?;
    pivot_root(".", ".")?;
    umount2(".", MntFlags::MNT_DETACH)?;
    chdir("/")?;
    Ok(())
}
