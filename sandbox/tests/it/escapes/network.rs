//! Attempts to reach anybody over a socket.

use holdpoint_sandbox::Property::{NoForeignSockets, NoNetwork};

use super::case::Case;

const fn case(id: &'static str, body: &'static str) -> Case {
    Case::new(id, NoNetwork, body).without_network()
}

const fn unix(id: &'static str, body: &'static str) -> Case {
    Case::new(id, NoForeignSockets, body)
}

pub(super) const CASES: &[Case] = &[
    case("tcp", "socket.create_connection(('127.0.0.1', int(E['TCP'])), 2)").controlled(),
    case("tcp-any-address", "socket.create_connection(('0.0.0.0', int(E['TCP'])), 2)").controlled(),
    case("tcp-six", "socket.create_connection(('::ffff:127.0.0.1', int(E['TCP'])), 2)").controlled(),
    case("tcp-fast-open", "socket.socket().sendto(b'x', 0x20000000, ('127.0.0.1', int(E['TCP'])))").controlled(),
    case("udp", "s = socket.socket(type=socket.SOCK_DGRAM); s.connect(('127.0.0.1', int(E['UDP']))); s.send(b'x'); s.send(b'x')")
        .controlled(),
    case("other-machine", "every(lambda: socket.create_connection(('198.51.100.1', 80), 2), lambda: socket.socket(type=socket.SOCK_DGRAM).sendto(b'x', ('198.51.100.1', 53)))"),
    case("raw", "every(lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1), lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 3))"),
    case("change-interfaces", "import fcntl\ndef down(): fcntl.ioctl(socket.socket(), 0x8914, struct.pack('16sH14s', b'lo', 0, b''))\ndef link():\n  s = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0); s.send(struct.pack('=IHHIIBxHiII', 32, 16, 5, 1, 0, 0, 0, 1, 0, 1))\n  error = -struct.unpack('i', s.recv(1024)[16:20])[0]\n  if error: raise OSError(error, 'netlink')\nevery(down, link)"),
    unix("odd-families", "every(*[lambda f=f: socket.socket(f, t) for f, t in ((40, 1), (38, 5), (31, 3), (29, 3), (44, 3), (30, 1), (15, 3), (16, 3))[:7] for t in (t,)])"),
    unix("unix-path", "socket.socket(socket.AF_UNIX).connect(E['SOCK'])").controlled(),
    unix("unix-path-by-symlink", "os.symlink(E['SOCK'], SCRATCH + '/s'); socket.socket(socket.AF_UNIX).connect(SCRATCH + '/s')").controlled(),
    unix("unix-path-by-rename", "os.rename(E['SOCK'], SCRATCH + '/s'); socket.socket(socket.AF_UNIX).connect(SCRATCH + '/s')").controlled(),
    unix("unix-path-by-root", "every(*[lambda p=p: socket.socket(socket.AF_UNIX).connect(f'/proc/{p}/root' + E['SOCK']) for p in ('self', 1, SUPERVISOR)])"),
    unix("unix-datagram", "socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b'x', E['DGRAM'])").controlled(),
    unix("unix-abstract", "socket.socket(socket.AF_UNIX).connect('\\0' + E['ABSTRACT'])"),
    unix("unix-bind-outside", "socket.socket(socket.AF_UNIX).bind(OUT + '/bound')").controlled(),
    unix("machine-services", "every(*[lambda p=p: socket.socket(socket.AF_UNIX).connect(p) for p in ('/var/run/docker.sock', '/run/docker.sock', '/run/containerd/containerd.sock', '/run/dbus/system_bus_socket', '/run/systemd/private', '/run/systemd/journal/socket', '/run/nscd/socket', '/run/podman/podman.sock')])"),
];
