//! Where groups of ours may be made, read from the kernel's tables. Pure.

use std::path::{Path, PathBuf};

use crate::wire::GroupVersion;

/// What a group limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Controller {
    Memory,
    Processes,
}

impl Controller {
    /// The kernel's name.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Processes => "pids",
        }
    }
}

/// A folder in which a group may be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) dir: PathBuf,
    pub(super) version: GroupVersion,
}

/// The places for a controller, best first: our own group, and in the second version also the one above it, because a
/// group with processes in it may have none below it that is limited.
pub(super) fn places(controller: Controller, own: &str, mounts: &str) -> Vec<Place> {
    let name = controller.name();
    for line in mounts.lines() {
        let Some((root, point, kind, options)) = mount(line) else { continue };
        if kind == "cgroup" && options.split(',').any(|option| option == name) {
            let path = own_path(own, |controllers| controllers.split(',').any(|found| found == name));
            let dir = path.and_then(|path| below(&point, &root, &path));
            return dir.map(|dir| Place { dir, version: GroupVersion::V1 }).into_iter().collect();
        }
    }
    let Some((root, point, ..)) = mounts.lines().filter_map(mount).find(|(_, _, kind, _)| *kind == "cgroup2") else {
        return Vec::new();
    };
    let path = own_path(own, str::is_empty);
    let Some(dir) = path.and_then(|path| below(&point, &root, &path)) else { return Vec::new() };
    let above = dir.parent().filter(|above| above.starts_with(&point)).map(Path::to_owned);
    [Some(dir.clone()), above].into_iter().flatten().map(|dir| Place { dir, version: GroupVersion::V2 }).collect()
}

/// Processes of a group that the kernel ended for want of memory: the line is the same in both versions.
pub(super) fn killed(text: &str) -> u64 {
    text.lines().find_map(|line| line.strip_prefix("oom_kill ")?.trim().parse().ok()).unwrap_or(0)
}

/// Root within its file system, mount point, type and options of the file system (proc(5), "mountinfo").
fn mount(line: &str) -> Option<(PathBuf, PathBuf, &str, &str)> {
    let (before, after) = line.split_once(" - ")?;
    let mut before = before.split(' ').skip(3);
    let (root, point) = (before.next()?, before.next()?);
    let mut after = after.split(' ');
    let (kind, options) = (after.next()?, after.nth(1)?);
    Some((root.into(), point.into(), kind, options))
}

/// The path of our group in the hierarchy whose controllers are the right ones.
fn own_path(own: &str, right: impl Fn(&str) -> bool) -> Option<PathBuf> {
    own.lines().find_map(|line| {
        let (_, rest) = line.split_once(':')?;
        let (controllers, path) = rest.split_once(':')?;
        right(controllers).then(|| PathBuf::from(path))
    })
}

/// A mount may show a part of the hierarchy only, as in a container.
fn below(point: &Path, root: &Path, path: &Path) -> Option<PathBuf> {
    path.strip_prefix(root).ok().map(|rest| point.join(rest).components().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const V1: &str = "30 25 0:26 / /sys/fs/cgroup/memory rw,relatime shared:9 - cgroup cgroup rw,memory\n\
                      31 25 0:27 / /sys/fs/cgroup/pids rw,relatime - cgroup cgroup rw,pids\n\
                      32 25 0:28 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw,nsdelegate";
    const V2: &str = "32 25 0:28 / /sys/fs/cgroup rw,relatime - cgroup2 cgroup2 rw,nsdelegate";

    fn dirs(controller: Controller, own: &str, mounts: &str) -> Vec<String> {
        places(controller, own, mounts).iter().map(|place| place.dir.display().to_string()).collect()
    }

    #[test]
    fn first_version_has_a_hierarchy_for_each_controller() {
        let own = "8:pids:/\n4:memory:/user/a\n0::/";
        assert_eq!(dirs(Controller::Memory, own, V1), ["/sys/fs/cgroup/memory/user/a"]);
        assert_eq!(dirs(Controller::Processes, own, V1), ["/sys/fs/cgroup/pids"]);
    }

    #[test]
    fn second_version_has_one_hierarchy_and_the_group_above_will_do() {
        let own = "0::/user.slice/app.slice/shell.scope\n";
        let expected = ["/sys/fs/cgroup/user.slice/app.slice/shell.scope", "/sys/fs/cgroup/user.slice/app.slice"]
            .map(String::from);
        assert_eq!(dirs(Controller::Memory, own, V2), expected);
        assert_eq!(dirs(Controller::Memory, "0::/", V2), ["/sys/fs/cgroup"]);
    }

    #[test]
    fn container_shows_its_part_of_the_hierarchy_only() {
        let mounts = "30 25 0:26 /docker/abc /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory";
        assert_eq!(dirs(Controller::Memory, "4:memory:/docker/abc", mounts), ["/sys/fs/cgroup/memory"]);
        assert!(dirs(Controller::Memory, "4:memory:/elsewhere", mounts).is_empty());
    }

    #[test]
    fn kills_for_want_of_memory_are_counted_in_both_versions() {
        assert_eq!(killed("oom_kill_disable 0\nunder_oom 0\noom_kill 2\n"), 2);
        assert_eq!(killed("low 0\nhigh 0\nmax 7\noom 1\noom_kill 1\noom_group_kill 1\n"), 1);
        assert_eq!(killed("max 7\n"), 0);
    }
}
