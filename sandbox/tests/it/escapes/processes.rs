//! Attempts on other processes, and to outlive the run.

use holdpoint_sandbox::Property::{NoForeignProcesses, NoPrivilegeGain, TreeEnded};

use super::case::Case;

const fn case(id: &'static str, body: &'static str) -> Case {
    Case::new(id, NoForeignProcesses, body)
}

const fn left(id: &'static str, body: &'static str) -> Case {
    Case::new(id, TreeEnded, body).harmless()
}

const fn right(id: &'static str, body: &'static str) -> Case {
    Case::new(id, NoPrivilegeGain, body)
}

pub(super) const CASES: &[Case] = &[
    case("signal", "every(lambda: os.kill(someone('HARNESS'), 0), lambda: os.kill(someone('TARGET'), signal.SIGTERM))"),
    case("signal-stop", "os.kill(someone('TARGET'), signal.SIGSTOP)"),
    case("signal-group", "os.killpg(os.getpgid(someone('TARGET')), signal.SIGKILL)"),
    case("signal-by-handle", "signal.pidfd_send_signal(os.pidfd_open(someone('TARGET')), signal.SIGKILL)"),
    case("signal-everybody", "os.kill(-1, signal.SIGTERM)").harmless().only_with_namespaces(),
    case(
        "trace",
        "pid = someone('TARGET'); every(lambda: call(101, 16, pid, 0, 0), lambda: call(101, 0x4206, pid, 0, 0))",
    ),
    case(
        "read-memory",
        "pid = someone('TARGET'); b = ctypes.create_string_buffer(64); v = struct.pack('QQ', ctypes.addressof(b), 64)\nevery(lambda: call(310, pid, v, 1, v, 1, 0), lambda: open(f'/proc/{pid}/mem', 'rb').read(1), lambda: read(f'/proc/{pid}/maps'))",
    ),
    case(
        "write-memory",
        "pid = someone('TARGET'); b = ctypes.create_string_buffer(64); v = struct.pack('QQ', ctypes.addressof(b), 64)\nevery(lambda: call(311, pid, v, 1, v, 1, 0), lambda: os.open(f'/proc/{pid}/mem', os.O_RDWR))",
    ),
    case(
        "read-environment",
        "pid = someone('TARGET'); every(lambda: read(f'/proc/{pid}/environ'), lambda: read(f'/proc/{someone(\"HARNESS\")}/environ'))",
    ),
    case(
        "read-open-files",
        "pid = someone('TARGET'); every(lambda: os.readlink(f'/proc/{pid}/fd/0'), lambda: open(f'/proc/{pid}/fd/0', 'rb'), lambda: os.readlink(f'/proc/{pid}/cwd'), lambda: os.readlink(f'/proc/{pid}/exe'))",
    ),
    case("take-open-file", "call(438, os.pidfd_open(someone('TARGET')), 0, 0)"),
    case(
        "enter-namespaces",
        "pid = someone('TARGET'); every(*[lambda n=n: call(308, os.open(f'/proc/{pid}/ns/{n}', os.O_RDONLY), 0) for n in ('mnt', 'net', 'pid', 'user')])",
    ),
    case("limits-of-others", "pid = someone('TARGET'); call(302, pid, 0, struct.pack('QQ', 1, 1), 0)"),
    case(
        "priority-of-others",
        "pid = someone('TARGET'); every(lambda: os.setpriority(os.PRIO_PROCESS, pid, 19), lambda: os.sched_setscheduler(pid, os.SCHED_BATCH, os.sched_param(0)))",
    ),
    case(
        "first-to-go",
        "every(lambda: open('/proc/self/oom_score_adj', 'w').write('0'), lambda: open(f'/proc/{someone(\"TARGET\")}/oom_score_adj', 'w').write('1000'))",
    ),
    case(
        "inherited-files",
        "if not [n for n in range(3, 1024) if os.path.exists(f'/proc/self/fd/{n}')]: raise OSError(1, 'none')",
    ),
    left("daemon", "child(lambda: (os.setsid(), child(stay)))"),
    left("daemon-with-pipes", "child(lambda: (os.setsid(), os.dup2(1, 9), child(stay)))"),
    left("stopped-children", "for _ in range(3): os.kill(child(lambda: (time.sleep(0.05), stay())), signal.SIGSTOP)"),
    left(
        "deaf-children",
        "[signal.signal(s, signal.SIG_IGN) for s in (1, 2, 3, 15, 18, 20)]\nfor _ in range(3): child(stay)",
    ),
    left(
        "many-generations",
        "def run():\n  while True:\n    if fork(): os._exit(0)\nchild(lambda: (os.setsid(), run())); time.sleep(0.1)",
    )
    .forks(),
    left(
        "forks-faster-than-killed",
        "def run():\n  while True:\n    try: fork()\n    except OSError: time.sleep(0.2)\nchild(run); time.sleep(0.3)",
    )
    .forks(),
    left(
        "end-of-the-supervisor",
        "for p in (SUPERVISOR, 1):\n  try: os.kill(p, signal.SIGKILL)\n  except OSError: pass\nchild(stay)",
    ),
    right(
        "become-root",
        "for change in (os.setuid, os.setgid, os.seteuid):\n  try: change(0)\n  except OSError: pass\nif 0 not in os.getresuid() + os.getresgid(): raise OSError(1, 'still plain')",
    ),
    right(
        "raise-capabilities",
        "every(lambda: call(126, struct.pack('II', 0x20080522, 0), struct.pack('IIIIII', *[2**32 - 1] * 6)), lambda: call(157, 47, 2, 21, 0, 0))",
    ),
    right(
        "user-namespace",
        "every(lambda: call(272, 0x10000000), lambda: call(56, 0x10000000 | 17, 0, 0, 0, 0), lambda: call(435, struct.pack('Q' * 8, 0x10000000, 0, 0, 0, 17, 0, 0, 0), 64))",
    ),
    right(
        "map-users",
        "every(lambda: open('/proc/self/uid_map', 'w').write('0 0 1'), lambda: open('/proc/self/setgroups', 'w').write('allow'))",
    ),
    right(
        "planted-set-user-id",
        "p = SCRATCH + '/id'; open(p, 'wb').write(open('/usr/bin/id', 'rb').read())\nevery(lambda: os.chmod(p, 0o4755), lambda: os.fchmod(os.open(p, os.O_RDONLY), 0o6755), lambda: os.open(p + '2', os.O_CREAT | os.O_WRONLY, 0o4755), lambda: os.mknod(p + '3', 0o104755), lambda: call(437, -100, (p + '4').encode(), struct.pack('QQQ', 0o101, 0o4755, 0), 24))",
    ),
    right(
        "set-user-id-programs",
        "def root(line):\n  if os.popen(line + ' </dev/null 2>&1').read().strip() != '0': raise OSError(1, line)\nevery(lambda: root('su root -c \"id -u\"'), lambda: root('sudo -n id -u'), lambda: root('newgrp root -c \"id -u\"'), lambda: root('pkexec id -u'))",
    ),
];
