//! The ground on which attempts are made: a machine in small, and a look at what became of it.

use std::collections::BTreeMap;
use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::Duration;

use holdpoint_sandbox::{Command, Network, Profile, RunLimits};

use super::case::{Case, Must};
use crate::lab::runs;

const SECRET: &str = "hush-7f3a";
const PRELUDE: &str = include_str!("prelude.py");

/// Whose rights the attempt is made with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    Builder,
    Verifier,
}

pub(crate) struct Arena {
    root: tempfile::TempDir,
    /// A number that no process of another test has as an argument.
    word: String,
    /// A process of the same user that is none of the attempt's business.
    target: Child,
    tcp: TcpListener,
    udp: UdpSocket,
    sockets: (UnixListener, UnixListener, UnixDatagram),
    before: BTreeMap<PathBuf, String>,
}

impl Arena {
    pub(crate) fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        // Of a real path, and reachable: what keeps the attempt out shall be the sandbox.
        let at = |path: &str| root.path().join(path);
        for folder in [
            "state/turns/mine/scratch",
            "state/turns/mine/tree",
            "state/turns/other",
            "state/flights/f",
            "repo/.git/hooks",
            "repo/folder",
            "home/.ssh",
            "home/.cargo/bin",
            "run",
        ] {
            std::fs::create_dir_all(at(folder)).unwrap();
        }
        for file in [
            "state/key",
            "state/turns/other/notes",
            "state/flights/f/other-waypoint",
            "repo/victim",
            "repo/.git/config",
            "home/.ssh/id_ed25519",
            "home/.cargo/credentials.toml",
        ] {
            std::fs::write(at(file), SECRET).unwrap();
        }
        std::fs::write(at("state/turns/mine/tree/file"), "open").unwrap();
        std::fs::write(at("home/.cargo/bin/tool"), "open").unwrap();
        symlink(at("state"), at("alias")).unwrap();
        let word = format!("9{:09}", u64::from(std::process::id()) * 1_000 % 900_000_000 + next());
        let abstract_name = SocketAddr::from_abstract_name(&word).unwrap();
        let sockets = (
            UnixListener::bind(at("run/engine.sock")).unwrap(),
            UnixListener::bind_addr(&abstract_name).unwrap(),
            UnixDatagram::bind(at("run/datagram.sock")).unwrap(),
        );
        sockets.2.set_nonblocking(true).unwrap();
        let (tcp, udp) = (TcpListener::bind("127.0.0.1:0").unwrap(), UdpSocket::bind("127.0.0.1:0").unwrap());
        tcp.set_nonblocking(true).unwrap();
        udp.set_nonblocking(true).unwrap();
        let mut target = std::process::Command::new("/bin/sleep");
        target.arg("600").env("TOKEN", SECRET).current_dir(at("repo")).stdin(Stdio::null());
        let target = std::os::unix::process::CommandExt::process_group(&mut target, 0).spawn().unwrap();
        let before = look(root.path());
        Self { root, word, target, tcp, udp, sockets, before }
    }

    fn at(&self, path: &str) -> PathBuf {
        self.root.path().join(path)
    }

    pub(crate) fn root(&self) -> &Path {
        self.root.path()
    }

    /// The attempt with the rights of a role, as the product grants them.
    pub(crate) fn command(&self, cases: &[&Case], role: Role, above: bool) -> Command {
        let (scratch, tree) = (self.at("state/turns/mine/scratch"), self.at("state/turns/mine/tree"));
        let without_network = cases.iter().any(|case| case.without_network);
        let network = if role == Role::Builder && !without_network { Network::Host } else { Network::Loopback };
        let profile = Profile {
            read: vec![self.at("home/.cargo"), tree],
            write: vec![scratch.clone()],
            deny: ["state", "home/.ssh", "home/.cargo/credentials.toml"].map(|path| self.at(path)).into(),
            network,
            limits: limits(cases),
        };
        self.with(cases, profile, scratch, above)
    }

    /// The attempt with everything granted: here it has to get through.
    pub(crate) fn control(&self, case: &Case) -> Command {
        let profile = Profile {
            read: Vec::new(),
            write: vec![self.root().to_owned()],
            deny: Vec::new(),
            network: Network::Host,
            limits: limits(&[case]),
        };
        self.with(&[case], profile, self.at("state/turns/mine/scratch"), false)
    }

    fn with(&self, cases: &[&Case], profile: Profile, dir: PathBuf, above: bool) -> Command {
        let text = |path: &str| self.at(path).display().to_string();
        let port = |address: std::net::SocketAddr| address.port().to_string();
        let pid = |pid: u32| if above { "above".to_owned() } else { pid.to_string() };
        let env = [
            ("OUT", text("repo")),
            ("STATE", text("state")),
            ("SCRATCH", text("state/turns/mine/scratch")),
            ("TREE", text("state/turns/mine/tree")),
            ("HOME_OF_USER", text("home")),
            ("TOOLS", text("home/.cargo")),
            ("ALIAS", text("alias")),
            ("SOCK", text("run/engine.sock")),
            ("DGRAM", text("run/datagram.sock")),
            ("ABSTRACT", self.word.clone()),
            ("WORD", self.word.clone()),
            ("TCP", port(self.tcp.local_addr().unwrap())),
            ("UDP", port(self.udp.local_addr().unwrap())),
            ("HARNESS", pid(std::process::id())),
            ("TARGET", pid(self.target.id())),
            ("PATH", "/usr/bin:/bin:/usr/sbin:/sbin".to_owned()),
        ];
        let bodies: Vec<&str> = cases.iter().map(|case| case.body).collect();
        let bodies = serde_json::to_string(&bodies).unwrap();
        let argv = ["/usr/bin/python3", "-S", "-E", "-c", PRELUDE, &bodies, &self.word].map(str::to_owned);
        Command {
            argv: argv.into(),
            dir,
            shown: Vec::new(),
            env: env.into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
            stdin: holdpoint_sandbox::ProgramInput::Empty,
            profile,
        }
    }

    /// Whether a text has a secret in it.
    pub(crate) fn told(text: &str) -> bool {
        text.contains(SECRET)
    }

    /// What is not as it was, in words.
    pub(crate) fn harm(&mut self) -> Vec<String> {
        let mut harm = Vec::new();
        let after = look(self.root());
        for path in self.before.keys().chain(after.keys()) {
            if self.before.get(path) != after.get(path) {
                harm.push(format!("{} was changed", path.display()));
            }
        }
        for file in files(&self.at("state/turns/mine/scratch")) {
            let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let small = file.symlink_metadata().is_ok_and(|found| found.is_file() && found.len() < 10_000);
            if name.starts_with("core")
                || small && std::fs::read(&file).is_ok_and(|b| Self::told(&String::from_utf8_lossy(&b)))
            {
                harm.push(format!("{name} was left"));
            }
        }
        if !matches!(self.target.try_wait(), Ok(None)) || state(self.target.id()) != Some('S') {
            harm.push("the target does not run any more".to_owned());
        }
        if runs(&self.word) {
            harm.push("something outlived the run".to_owned());
        }
        let mut byte = [0];
        if self.tcp.accept().is_ok() || self.udp.recv(&mut byte).is_ok() || self.sockets.2.recv(&mut byte).is_ok() {
            harm.push("a socket outside was reached".to_owned());
        }
        let left = ["/tmp/", "/dev/shm/"].map(|folder| PathBuf::from(format!("{folder}{}", self.word)));
        let tables = ["shm", "sem", "msg"].map(|kind| std::fs::read_to_string(format!("/proc/sysvipc/{kind}")));
        if left.iter().any(|path| path.exists()) || tables.into_iter().flatten().any(|table| table.contains(&self.word))
        {
            harm.push("something was left with the machine".to_owned());
        }
        harm
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        let _ = self.target.kill();
        let _ = self.target.wait();
    }
}

/// Small ones, so that floods end soon.
fn limits(cases: &[&Case]) -> RunLimits {
    let wall = if cases.iter().any(|case| case.must == Must::End("timed out")) { 1_000 } else { 50_000 };
    RunLimits {
        wall: Duration::from_millis(wall),
        output_bytes: 1 << 20,
        file_size_bytes: 32 << 20,
        processes: Some(310),
        memory_bytes: Some(256 << 20),
        disk_bytes: Some(64 << 20),
        ..RunLimits::default()
    }
}

/// A number for each arena of this process.
fn next() -> u64 {
    static NEXT: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
    NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed)
}

/// Every file that is not in the scratch tree, with all that can be changed about it.
fn look(root: &Path) -> BTreeMap<PathBuf, String> {
    let scratch = root.join("state/turns/mine/scratch");
    let describe = |path: PathBuf| {
        let found = path.symlink_metadata().unwrap();
        let content = if found.is_file() { std::fs::read(&path).unwrap_or_default() } else { Vec::new() };
        let times = (found.mtime(), found.mtime_nsec());
        let text = format!(
            "{:o} {} {} {} {times:?} {content:?}",
            found.permissions().mode(),
            found.uid(),
            found.gid(),
            found.nlink()
        );
        (path, text)
    };
    files(root).into_iter().filter(|path| !path.starts_with(&scratch)).map(describe).collect()
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = vec![folder.to_owned()];
    for entry in folder.read_dir().into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            found.extend(files(&entry.path()));
        } else {
            found.push(entry.path());
        }
    }
    found
}

fn state(pid: u32) -> Option<char> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(')')?.1.trim().chars().next()
}
