//! Attempts to use up the machine, and to leave something behind. The limits are small ones: see `arena`.

use holdpoint_sandbox::Property::{
    DiskLimited, FileSizeLimited, MemoryLimited, NoWritesOutside, OutputCapped, ProcessesLimited, TimeLimited,
};

use super::case::Case;

pub(super) const CASES: &[Case] = &[
    Case::new("fork-bomb", ProcessesLimited, "while True:\n  try: fork()\n  except OSError: time.sleep(0.2)").forks()
    .ends("timed out"),
    Case::new("thread-bomb", ProcessesLimited, "import threading\ntry:\n  for _ in range(1000): threading.Thread(target=time.sleep, args=(60,), daemon=True).start()\nexcept RuntimeError: raise OSError(1, 'no more')"),
    Case::new("memory-of-one", MemoryLimited, "a = []\nwhile True: a.append(bytearray(8 << 20))").ends("memory limit"),
    Case::new("memory-of-many", MemoryLimited, "for _ in range(64): child(lambda: (bytearray(16 << 20), time.sleep(60)) if False else (lambda a: time.sleep(60))(bytearray(16 << 20)))\ntime.sleep(60)")
        .ends("memory limit"),
    Case::new("memory-files", MemoryLimited, "for i in range(64): os.write(os.memfd_create(str(i)), bytes(16 << 20))\ntime.sleep(60)").ends("memory limit"),
    Case::new("disk-many-files", DiskLimited, "i = 0\nwhile True:\n  i += 1; open(f'{SCRATCH}/{i}', 'wb').write(bytes(4 << 20))").ends("disk limit"),
    Case::new("disk-nameless-file", DiskLimited, "fs = []\nwhile True:\n  fs.append(open(SCRATCH + '/gone', 'wb')); os.unlink(SCRATCH + '/gone'); fs[-1].write(bytes(8 << 20)); fs[-1].flush()")
        .ends("disk limit"),
    Case::new("big-file", FileSizeLimited, "os.chdir(SCRATCH); signal.signal(signal.SIGXFSZ, signal.SIG_DFL); os.execv('/bin/sh', ['sh', '-c', 'exec head -c 100000000 /dev/zero > big'])")
        .ends("signalled 25"),
    Case::new("output", OutputCapped, "os.execv('/usr/bin/yes', ['yes'])").ends("output limit"),
    Case::new("output-of-a-daemon", OutputCapped, "child(lambda: (os.setsid(), os.execv('/usr/bin/yes', ['yes']))); time.sleep(60)").ends("output limit"),
    Case::new("open-files", FileSizeLimited, "fs = []\ntry:\n  while len(fs) < 100000: fs.append(os.open('/dev/null', os.O_RDONLY))\nexcept OSError: raise OSError(1, len(fs))"),
    Case::new("busy-for-ever", TimeLimited, "for _ in range(4): child(lambda: sum(iter(int, 1)))\nwhile True: pass").ends("timed out"),
    Case::new("deaf-for-ever", TimeLimited, "for s in range(1, 32):\n  if s not in (9, 19): signal.signal(s, signal.SIG_IGN)\nwhile True: time.sleep(60)").ends("timed out"),
    Case::new("stopped-for-ever", TimeLimited, "os.kill(os.getpid(), signal.SIGSTOP)").ends("timed out"),
    Case::new("shared-memory-left", NoWritesOutside, "key = int(WORD) ; call(29, key, 4096, 0o1600); call(64, key, 1, 0o1600); call(68, key, 0o1600)").harmless(),
    Case::new("message-queue-left", NoWritesOutside, "call(240, WORD.encode(), 0o102, 0o600, 0)").harmless(),
    Case::new("file-watches-left", NoWritesOutside, "libc.inotify_init1(0)\nfor _ in range(100): libc.inotify_add_watch(libc.inotify_init1(0), SCRATCH.encode(), 0xfff)").harmless(),
    Case::new("terminals-left", NoWritesOutside, "[os.openpty() for _ in range(100)]").harmless(),
];
