//! Attempts on the kernel: its machinery, mounts, devices and settings. Calls have the numbers of x86-64.

use holdpoint_sandbox::Property::{NoDangerousSyscalls, NoPrivilegeGain, NoWritesOutside};

use super::case::Case;

const fn case(id: &'static str, body: &'static str) -> Case {
    Case::new(id, NoDangerousSyscalls, body)
}

/// Changes what files there are, or where.
const fn mount(id: &'static str, body: &'static str) -> Case {
    Case::new(id, NoPrivilegeGain, body)
}

/// Writes a file that belongs to the machine.
const fn setting(id: &'static str, body: &'static str) -> Case {
    Case::new(id, NoWritesOutside, body)
}

pub(super) const CASES: &[Case] = &[
    mount("mount-over", "call(165, b'none', OUT.encode(), b'tmpfs', 0, 0)"),
    mount("bind-into-own", "call(165, OUT.encode(), SCRATCH.encode(), 0, 4096, 0)"),
    mount("remount-writable", "every(*[lambda p=p: call(165, 0, p.encode(), 0, 0x1020, 0) for p in (TREE, '/usr', '/', '/proc')])"),
    mount("unmount-what-hides", "every(*[lambda p=p, f=f: call(166, p.encode(), f) for p in ('/', '/etc', '/etc/shadow', TREE, '/proc') for f in (0, 2)])"),
    mount("pivot-root", "every(lambda: call(155, SCRATCH.encode(), SCRATCH.encode()), lambda: os.chroot(SCRATCH))"),
    mount("new-mount-calls", "every(lambda: call(428, -100, OUT.encode(), 1), lambda: call(430, b'tmpfs', 0), lambda: call(433, -100, TREE.encode(), 0), lambda: call(442, -100, TREE.encode(), 0, struct.pack('QQQQ', 0, 1, 0, 0), 32), lambda: call(429, 0, b'', -100, SCRATCH.encode(), 4))"),
    mount("mount-as-own-root", "def inside():\n  call(272, 0x10020000)\n  call(165, b'none', OUT.encode(), b'tmpfs', 0, 0)\ninside()"),
    mount("open-by-handle", "h = struct.pack('II', 8, 1) + bytes(8); fd = os.open('/usr', os.O_RDONLY)\nevery(lambda: call(304, fd, h, 0), lambda: call(303, -100, VICTIM.encode(), struct.pack('II', 128, 0) + bytes(128), bytes(8), 0))"),
    mount("make-device", "p = SCRATCH + '/disk'\ndef disk():\n  os.mknod(p, 0o60600, os.makedev(254, 0)); open(p, 'rb').read(1)\nevery(disk, lambda: (os.mknod(p + 'm', 0o20600, os.makedev(1, 1)), open(p + 'm', 'rb').read(1)))"),
    case("keyring", "every(lambda: call(248, b'user', b'hp', b'x', 1, -3), lambda: call(250, 1, b'hp'), lambda: call(249, b'user', b'hp', 0, -3), lambda: call(250, 0, -3, 1))"),
    case("bpf", "call(321, 5, bytes(64), 64)"),
    case("perf-events", "call(298, struct.pack('II', 1, 112) + bytes(104), 0, -1, -1, 0)"),
    case("io-uring", "every(lambda: call(425, 4, bytes(120)), lambda: call(426, 0, 0, 0, 0, 0, 0), lambda: call(427, 0, 0, 0, 0))"),
    case("page-faults", "call(323, 1)"),
    case("modules", "every(lambda: call(175, b'', 0, b''), lambda: call(313, 0, b'', 0), lambda: call(176, b'none', 0))"),
    case("another-kernel", "every(lambda: call(246, 0, 0, 0, 0), lambda: call(320, 0, 0, 0, b'', 0), lambda: call(169, 0xfee1dead, 672274793, 0, 0))"),
    case("swap", "open(SCRATCH + '/s', 'wb').write(bytes(65536)); every(lambda: call(167, (SCRATCH + '/s').encode(), 0), lambda: call(168, b'/none'))"),
    case("kernel-log", "every(lambda: call(103, 10, 0, 0), lambda: call(103, 3, ctypes.create_string_buffer(64), 64))"),
    case("clock", "t = struct.pack('qq', int(time.time()), 0)\nevery(lambda: call(227, 0, t), lambda: call(164, t, 0), lambda: call(159, bytes(208)))"),
    case("host-name", "name = os.uname().nodename.encode(); every(lambda: call(170, name, len(name)), lambda: call(171, name, len(name)))"),
    case("accounting", "every(lambda: call(163, 0), lambda: call(179, 0x800001, b'/', 0, 0))"),
    case("ports", "every(lambda: call(172, 3), lambda: call(173, 0x60, 4, 1))"),
    case("watch-whole-disks", "call(300, 0, 0)"),
    case("other-memory-policy", "every(lambda: call(279, SUPERVISOR, 0, 0, 0, 0, 0), lambda: call(256, SUPERVISOR, 0, 0, 0))"),
    case("terminal-input", "import fcntl, termios\ndef typed():\n  m, s = os.openpty(); fcntl.ioctl(s, termios.TIOCSTI, b'x')\nevery(typed, lambda: os.open('/dev/tty', os.O_RDWR), lambda: os.open('/dev/console', os.O_RDWR))"),
    case("x32-calls", "every(lambda: call(0x40000000 + 250, 1, b'hp'), lambda: call(0x40000000 + 272, 0x10000000), lambda: call(0x40000000 + 521, 16, SUPERVISOR, 0, 0), lambda: call(0x40000000 + 539, SUPERVISOR, 0, 0, 0, 0, 0))"),
    case("i386-calls", "m = mmap.mmap(-1, 4096, prot=7); m.write(bytes.fromhex('b814000000cd80c3'))\nctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(m)))()")
        .ends("signalled 31"),
    setting("core-pattern", "every(*[lambda p=p: write('/proc/sys/kernel/' + p) for p in ('core_pattern', 'hostname', 'modprobe', 'pid_max', 'hotplug', 'ns_last_pid')])"),
    setting("emergency-keys", "write('/proc/sysrq-trigger')"),
    setting("network-settings", "every(lambda: write('/proc/sys/net/ipv4/ip_forward'), lambda: write('/proc/sys/net/ipv4/ping_group_range'))"),
    setting("sys-files", "every(lambda: write('/sys/kernel/uevent_helper'), lambda: write('/sys/power/state'), lambda: write('/sys/kernel/debug/x', os.O_WRONLY | os.O_CREAT))"),
    setting("control-group-escape", "every(*[lambda p=p: write(p, os.O_WRONLY | os.O_CREAT) for p in ('/sys/fs/cgroup/cgroup.procs', '/sys/fs/cgroup/memory/cgroup.procs', '/sys/fs/cgroup/pids/tasks', '/sys/fs/cgroup/memory/release_agent')], lambda: os.mkdir('/sys/fs/cgroup/' + WORD), lambda: call(165, b'none', SCRATCH.encode(), b'cgroup2', 0, 0))"),
    setting("kernel-devices", "every(*[lambda p=p: write(p) for p in ('/dev/kmsg', '/dev/mem', '/dev/vda', '/dev/sda', '/dev/loop0', '/dev/loop-control', '/dev/fuse', '/dev/net/tun')])"),
    setting("core-file", "os.chdir(SCRATCH); os.abort()").ends("signalled 6"),
];
