//! Making mounts read-only: each single one, because the flag does not reach the mounts below it.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::mount::{MsFlags, mount};

use super::{NEW, NONE, OLD};
use crate::layout::{Grant, Kind};

/// Fields of a line of the mount table: mount point and its options (proc(5)).
const POINT_FIELD: usize = 4;
const OPTIONS_FIELD: usize = 5;

struct Mount {
    /// In the new root.
    point: PathBuf,
    flags: MsFlags,
}

/// Closes every mount of the new root that is not in a tree that may be written, the root itself included.
pub(super) fn close(grants: &[Grant]) -> std::io::Result<()> {
    for entry in &mounts()? {
        let rules = grants.iter().rev().find(|grant| entry.point.starts_with(&grant.path)).map(|grant| grant.kind);
        // Devices that are not in a grant are our own small choice, and must stay usable.
        if rules.is_none() && entry.point.starts_with("/dev") {
            continue;
        }
        let writable = matches!(rules, Some(Kind::Write | Kind::Private));
        let more = if writable { MsFlags::empty() } else { MsFlags::MS_RDONLY };
        remount(entry, more | MsFlags::MS_NOSUID | MsFlags::MS_NODEV)?;
    }
    Ok(())
}

/// Closes a mount and all below it. `at`: where it is now.
pub(super) fn close_all_below(at: &Path) -> std::io::Result<()> {
    for entry in mounts()?.iter().filter(|entry| super::new(&entry.point).starts_with(at)) {
        remount(entry, MsFlags::MS_RDONLY)?;
    }
    Ok(())
}

/// The mounts of the new root. A path mounted over twice occurs once: only the upper one can be reached.
fn mounts() -> std::io::Result<Vec<Mount>> {
    let text = std::fs::read_to_string(format!("{OLD}/proc/self/mountinfo"))?;
    let mut mounts: Vec<Mount> = text.lines().filter_map(parse).collect();
    mounts.sort_by(|a, b| a.point.cmp(&b.point));
    mounts.dedup_by(|later, earlier| {
        let same = later.point == earlier.point;
        if same {
            earlier.flags = later.flags;
        }
        same
    });
    Ok(mounts)
}

fn parse(line: &str) -> Option<Mount> {
    let mut fields = line.split(' ');
    let point = unescape(fields.nth(POINT_FIELD)?);
    let options = fields.nth(OPTIONS_FIELD - POINT_FIELD - 1)?;
    let point = Path::new("/").join(point.strip_prefix(NEW).ok()?);
    Some(Mount { point, flags: options.split(',').map(flag).collect() })
}

/// Flags that may not be dropped on a mount that came from outside.
fn flag(option: &str) -> MsFlags {
    match option {
        "ro" => MsFlags::MS_RDONLY,
        "nosuid" => MsFlags::MS_NOSUID,
        "nodev" => MsFlags::MS_NODEV,
        "noexec" => MsFlags::MS_NOEXEC,
        "noatime" => MsFlags::MS_NOATIME,
        "nodiratime" => MsFlags::MS_NODIRATIME,
        "relatime" => MsFlags::MS_RELATIME,
        _ => MsFlags::empty(),
    }
}

/// Blanks and their like are in the table as a backslash and three octal digits.
fn unescape(field: &str) -> PathBuf {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field.as_bytes();
    while let Some((first, tail)) = rest.split_first() {
        let code = tail.get(..3).filter(|_| *first == b'\\').and_then(|digits| std::str::from_utf8(digits).ok());
        match code.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = tail.get(3..).unwrap_or_default();
            }
            None => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    PathBuf::from(OsString::from_vec(bytes))
}

fn remount(entry: &Mount, more: MsFlags) -> std::io::Result<()> {
    let flags = MsFlags::MS_REMOUNT | MsFlags::MS_BIND | entry.flags | more;
    match mount(NONE, &super::new(&entry.point), NONE, flags, NONE) {
        // Another user's private mount: a process that cannot get at it to change its flags cannot get at its files
        // either.
        Ok(()) | Err(Errno::EACCES) => Ok(()),
        Err(error) => {
            Err(std::io::Error::new(std::io::Error::from(error).kind(), format!("{}: {error}", entry.point.display())))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_of_the_mount_table_is_read() {
        let line = "36 35 98:0 /mnt1 /new/usr/a\\040b ro,nosuid,relatime shared:1 - ext4 /dev/root rw";
        let entry = parse(line).unwrap();
        assert_eq!(entry.point, Path::new("/usr/a b"));
        assert_eq!(entry.flags, MsFlags::MS_RDONLY | MsFlags::MS_NOSUID | MsFlags::MS_RELATIME);
    }

    #[test]
    fn mount_of_the_old_root_is_left_alone() {
        assert!(parse("36 35 98:0 / /old/usr rw - ext4 /dev/root rw").is_none());
    }
}
