//! Attempts to read what is nobody's business, or the business of others.

use holdpoint_sandbox::Property::{NoPrivilegeGain, NoReadsOutside};

use super::case::Case;

const fn case(id: &'static str, body: &'static str) -> Case {
    Case::new(id, NoReadsOutside, body)
}

pub(super) const CASES: &[Case] = &[
    case("read-key", "read(STATE + '/key')").controlled(),
    case("read-other-turn", "read(STATE + '/turns/other/notes')").controlled(),
    case("read-other-waypoint", "read(STATE + '/flights/f/other-waypoint')").controlled(),
    case("read-repository", "read(VICTIM)").controlled(),
    case("read-ssh-key", "read(E['HOME_OF_USER'] + '/.ssh/id_ed25519')").controlled(),
    case("read-registry-token", "read(E['TOOLS'] + '/credentials.toml')").controlled(),
    case("read-by-symlink", "os.symlink(STATE + '/key', SCRATCH + '/link'); read(SCRATCH + '/link')").controlled(),
    case("read-by-hard-link", "os.link(STATE + '/key', SCRATCH + '/link'); read(SCRATCH + '/link')").controlled(),
    case("read-by-path-file", "fd = os.open(STATE + '/key', os.O_PATH); read(f'/proc/self/fd/{fd}')").controlled(),
    case("read-by-alias", "every(*[lambda p=p: read(p + '/key') for p in (E['ALIAS'], STATE + '/./../state', '//' + STATE, '/proc/self/root' + STATE, SCRATCH + '/' + os.path.relpath(STATE, SCRATCH))])")
        .controlled(),
    case("read-by-harness-root", "every(*[lambda p=p: read(f'/proc/{p}/root{STATE}/key') for p in (1, SUPERVISOR, someone('HARNESS'))])"),
    case("read-by-moving", "os.rename(STATE + '/turns/other', SCRATCH + '/moved'); read(SCRATCH + '/moved/notes')").controlled(),
    case("read-by-program", "if os.system(f'cat {STATE}/key 2>&1 || dd if={STATE}/key 2>&1'): raise OSError(1, 'both failed')").controlled(),
    case("list-state", "every(lambda: os.listdir(STATE + '/turns/other'), lambda: os.listdir(STATE + '/flights'), lambda: os.listdir(OUT))")
        .controlled(),
    case("read-passwords", "every(lambda: read('/etc/shadow'), lambda: read('/etc/gshadow'), lambda: read('/etc/sudoers'))"),
    case("read-home-of-root", "every(lambda: os.listdir('/root'), lambda: os.listdir('/home'))"),
    case("read-logs", "every(lambda: os.listdir('/var/log'), lambda: os.listdir('/var/lib'))"),
    case("read-devices", "every(*[lambda p=p: open('/dev/' + p, 'rb').read(1) for p in ('mem', 'kmsg', 'port', 'vda', 'sda', 'kvm', 'fuse')])"),
    // This holds because the program is not root.
    Case::new(
        "read-kernel-memory",
        NoPrivilegeGain,
        "every(lambda: open('/proc/kcore', 'rb').read(1), lambda: os.open('/proc/kmsg', os.O_RDONLY))",
    ),
    case("read-control-groups", "every(lambda: os.listdir('/sys/fs/cgroup'), lambda: os.listdir('/sys/kernel'))"),
    case(
        "list-hidden-names",
        // Landlock hides content; names only where there are mounts.
        "os.stat(STATE + '/key')",
    )
    .open_without_mounts(),
];
