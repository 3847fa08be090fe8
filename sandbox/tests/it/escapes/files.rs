//! Attempts to change what is not the program's own.

use holdpoint_sandbox::Property::NoWritesOutside;

use super::case::Case;

const fn case(id: &'static str, body: &'static str) -> Case {
    Case::new(id, NoWritesOutside, body)
}

pub(super) const CASES: &[Case] = &[
    case("write", "write(VICTIM)").controlled(),
    case("append", "write(VICTIM, os.O_WRONLY | os.O_APPEND)").controlled(),
    case("write-and-read", "write(VICTIM, os.O_RDWR)").controlled(),
    case("create", "write(OUT + '/new', os.O_WRONLY | os.O_CREAT | os.O_EXCL)").controlled(),
    case("create-nameless", "os.open(OUT, os.O_WRONLY | os.O_TMPFILE, 0o600)").controlled(),
    case("truncate", "os.truncate(VICTIM, 0)").controlled(),
    case("truncate-by-open", "os.open(VICTIM, os.O_WRONLY | os.O_TRUNC)").controlled(),
    case("truncate-readable", "every(lambda: os.truncate(TREE + '/file', 0), lambda: write(TREE + '/file'))")
        .controlled(),
    case("rename", "os.rename(VICTIM, OUT + '/renamed')").controlled(),
    case("rename-into-own", "os.rename(VICTIM, SCRATCH + '/taken')").controlled(),
    case("rename-over", "open(SCRATCH + '/mine', 'w'); os.rename(SCRATCH + '/mine', VICTIM)").controlled(),
    case(
        "exchange",
        // renameat2 with RENAME_EXCHANGE
        "open(SCRATCH + '/mine', 'w'); call(316, -100, (SCRATCH + '/mine').encode(), -100, VICTIM.encode(), 2)",
    )
    .controlled(),
    case("rename-folder", "os.rename(OUT + '/folder', OUT + '/other')").controlled(),
    case("unlink", "os.unlink(VICTIM)").controlled(),
    case("remove-folder", "os.rmdir(OUT + '/folder')").controlled(),
    case("make-folder", "os.mkdir(OUT + '/made')").controlled(),
    case("make-pipe", "os.mkfifo(OUT + '/pipe')").controlled(),
    case("hard-link-to-own", "os.link(VICTIM, SCRATCH + '/linked'); write(SCRATCH + '/linked')").controlled(),
    case("hard-link-from-own", "open(SCRATCH + '/mine', 'w'); os.link(SCRATCH + '/mine', OUT + '/linked')")
        .controlled(),
    case("symlink-followed", "os.symlink(VICTIM, SCRATCH + '/link'); write(SCRATCH + '/link')").controlled(),
    case(
        "symlink-folder-swapped",
        "os.mkdir(SCRATCH + '/d'); os.rmdir(SCRATCH + '/d'); os.symlink(OUT, SCRATCH + '/d')\n\
         write(SCRATCH + '/d/new', os.O_WRONLY | os.O_CREAT)",
    )
    .controlled(),
    case("symlink-planted", "os.symlink('/etc/passwd', OUT + '/link')").controlled(),
    case("chmod", "os.chmod(VICTIM, 0o777)").controlled().open_without_mounts(),
    case("chmod-by-file", "os.fchmod(os.open(TREE + '/file', os.O_RDONLY), 0o777)").controlled().open_without_mounts(),
    case("chown", "os.chown(VICTIM, 65534, 65534)").open_without_mounts(),
    case("utimes", "os.utime(VICTIM, (1, 1))").controlled().open_without_mounts(),
    case("utimes-by-file", "os.utime(os.open(TREE + '/file', os.O_RDONLY), (1, 1))").controlled().open_without_mounts(),
    case(
        "attributes",
        "every(lambda: os.setxattr(VICTIM, 'user.a', b'b'), lambda: os.setxattr(TREE + '/file', 'user.a', b'b'))",
    ),
    case(
        "reopen-path-file",
        "fd = os.open(VICTIM, os.O_PATH)\n\
         every(lambda: write(f'/proc/self/fd/{fd}'), lambda: os.truncate(f'/proc/self/fd/{fd}', 0))",
    )
    .controlled(),
    case("reopen-read-only-file", "fd = os.open(TREE + '/file', os.O_RDONLY); write(f'/proc/self/fd/{fd}', os.O_RDWR)")
        .controlled(),
    case("map-read-only-file", "mmap.mmap(os.open(TREE + '/file', os.O_RDONLY), 4, mmap.MAP_SHARED, mmap.PROT_WRITE)"),
    case("dots", "write(SCRATCH + '/' + os.path.relpath(VICTIM, SCRATCH))").controlled(),
    case(
        "relative-to-root-file",
        "root = os.open('/', os.O_PATH); fd = os.open('..' + VICTIM, os.O_WRONLY, dir_fd=root); os.write(fd, b'taken')",
    )
    .controlled(),
    case("through-own-root", "write('/proc/self/root' + VICTIM)").controlled(),
    case(
        "through-harness-root",
        "every(*[lambda p=p: write(f'/proc/{p}/root' + VICTIM) for p in (1, SUPERVISOR, someone('HARNESS'))])",
    ),
    case("through-harness-folder", "every(lambda: write(f'/proc/{someone(\"TARGET\")}/cwd/victim'))"),
    case("state-folder", "write(STATE + '/key')").controlled(),
    case("other-turn", "write(STATE + '/turns/other/notes')").controlled(),
    case("git-hook", "write(OUT + '/.git/hooks/post-checkout', os.O_WRONLY | os.O_CREAT)").controlled(),
    case("git-configuration", "write(OUT + '/.git/config')").controlled(),
    case("toolchain", "write(E['TOOLS'] + '/bin/tool')").controlled(),
    case(
        "system-program",
        "every(lambda: write('/usr/bin/env'), lambda: os.unlink('/usr/bin/env'), lambda: os.rename('/usr/bin/env', '/usr/bin/e'))",
    ),
    case("preload-for-all", "write('/etc/ld.so.preload', os.O_WRONLY | os.O_CREAT)"),
    case(
        "shim-executable",
        "every(*[lambda p=p: write(f'/proc/{p}/exe') for p in ('1', SUPERVISOR, parent(SUPERVISOR) or 1)])",
    ),
    // Below a private folder there may be one of the same name, which is nobody else's.
    case("state-folder-new", "write(STATE + '/new', os.O_WRONLY | os.O_CREAT)").harmless(),
    case(
        "temporary-folder",
        "write('/tmp/' + WORD, os.O_WRONLY | os.O_CREAT); write('/dev/shm/' + WORD, os.O_WRONLY | os.O_CREAT)",
    )
    .harmless(),
];
