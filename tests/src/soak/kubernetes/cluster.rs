//! A cluster by kubectl, and the chart as a release in a namespace of its own, which goes with it.

use std::{
    ffi::OsStr,
    fs,
    io::{Read as _, Write as _},
    net::TcpStream,
    path::PathBuf,
    process::{Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use serde_json::Value;

use crate::{
    ports::free_port,
    world::{World, eventually, root},
};

/// How long all pods of a set may take to be ready, or to go.
const READY: &str = "--timeout=300s";
/// How often the way to the broker is tried.
const PAUSE: Duration = Duration::from_secs(1);
/// How long its first word may take.
const ANSWER: Duration = Duration::from_secs(5);
/// What keeps two brokers off one node, in the chart; and what lets them share the only one.
const APART: (&str, &str) = ("whenUnsatisfiable: DoNotSchedule", "whenUnsatisfiable: ScheduleAnyway");
/// What the chart says of disruptions and of jobs, and what a cluster before 1.21 calls these.
const RENAMED: [(&str, &str); 2] = [
    ("apiVersion: policy/v1\n", "apiVersion: policy/v1beta1\n"),
    ("apiVersion: batch/v1\n", "apiVersion: batch/v1beta1\n"),
];
/// Where the daemon set of the seccomp profile is.
const INSTALLERS: &str = "kube-system";

/// A cluster that kubectl reaches.
pub(super) struct Cluster {
    config: PathBuf,
    pub(super) nodes: usize,
    pub(super) version: String,
    is_current: bool,
}

impl Cluster {
    /// The one that `kubeconfig` names. `copy` is where its configuration is kept meanwhile.
    pub(super) fn at(kubeconfig: &OsStr, copy: PathBuf) -> Result<Self, String> {
        let mut cluster = Self { config: kubeconfig.into(), nodes: 0, version: String::new(), is_current: false };
        // Whole: it may name other files from where it is.
        let whole = cluster.kubectl(&["config", "view", "--raw", "--flatten"])?;
        fs::write(&copy, whole).map_err(|error| format!("cannot write {}: {error}", copy.display()))?;
        cluster.config = copy;
        let nodes = cluster.kubectl(&["get", "nodes", "--output=json"])?;
        let nodes: Value = serde_json::from_str(&nodes).map_err(|error| format!("the nodes are no JSON: {error}"))?;
        let nodes = nodes["items"].as_array().map_or(&[][..], Vec::as_slice);
        cluster.nodes = nodes.iter().filter(|node| takes_pods(node)).count();
        let version = nodes.first().and_then(|node| node["status"]["nodeInfo"]["kubeletVersion"].as_str());
        cluster.version = version.unwrap_or("none").to_owned();
        cluster.is_current = cluster.kubectl(&["api-versions"])?.lines().any(|line| line == "policy/v1");
        Ok(cluster)
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new("kubectl");
        command.args(args).env("KUBECONFIG", &self.config);
        command
    }

    /// What kubectl prints.
    fn kubectl(&self, args: &[&str]) -> Result<String, String> {
        output(&mut self.command(args), "")
    }

    /// Has the cluster make what this text describes.
    fn apply(&self, text: &str) -> Result<String, String> {
        // An older cluster does not know all fields; that there are no others is what `xtask/tests/kubernetes` looks at.
        output(&mut self.command(&["apply", "--validate=false", "--filename=-"]), text)
    }

    /// What the chart renders, as this cluster can take it.
    fn fitting(&self, text: &str) -> String {
        let text = if self.nodes < 3 { text.replace(APART.0, APART.1) } else { text.to_owned() };
        let earlier = RENAMED.iter().filter(|_| !self.is_current);
        earlier.fold(text, |text, (now, then)| text.replace(now, then))
    }
}

/// Whether pods go to a node that do not ask for it by name.
fn takes_pods(node: &Value) -> bool {
    let mut taints = node["spec"]["taints"].as_array().into_iter().flatten();
    !taints.any(|taint| taint["effect"] == "NoSchedule")
}

/// A release of the chart.
pub(super) struct Release<'a> {
    cluster: &'a Cluster,
    name: String,
    brokers: u32,
    operator: PathBuf,
}

/// The way to a release's broker from this machine; another one is made where it leads nowhere any more.
pub(super) struct Door {
    url: String,
    operator: String,
    closed: Arc<AtomicBool>,
    keeper: Option<JoinHandle<()>>,
}

impl<'a> Release<'a> {
    /// Installs it as docs/kubernetes.md has it, and waits until every pod is ready.
    pub(super) fn install(cluster: &'a Cluster, world: &World, brokers: u32, values: &Value) -> Result<Self, String> {
        let name = format!("soak-{}-{brokers}", std::process::id());
        let operator = world.path("keys/operator/operator-1.creds");
        cluster.kubectl(&["create", "namespace", &name])?;
        let release = Self { cluster, name, brokers, operator };
        let name = release.name.as_str();
        cluster.kubectl(&["label", "namespace", name, "pod-security.kubernetes.io/enforce=restricted"])?;
        cluster.kubectl(&["config", "set-context", "--current", "--namespace", name])?;
        let folder = world.path("keys").display().to_string();
        succeeds(world, &["keys", "init", "--dir", &folder])?;
        let count = brokers.to_string();
        let secrets = succeeds(world, &["keys", "secrets", "--dir", &folder, "--name", name, "--brokers", &count])?;
        output(&mut cluster.command(&["apply", "--server-side", "--filename=-"]), &secrets)?;
        let programs = format!("--from-file={}", world.path("plan/builder.sh").display());
        cluster.kubectl(&["create", "configmap", &format!("{name}-programs"), &programs])?;
        let chart = rendered(name, values)?;
        cluster.apply(&cluster.fitting(&chart))?;
        release.ready().map_err(|error| format!("{error}\n{}", release.said()))?;
        Ok(release)
    }

    /// Waits until every pod of every set is ready, and of the newest revision.
    pub(super) fn ready(&self) -> Result<(), String> {
        for set in self.sets()? {
            self.cluster.kubectl(&["rollout", "status", &set, READY])?;
        }
        Ok(())
    }

    fn sets(&self) -> Result<Vec<String>, String> {
        Ok(self.cluster.kubectl(&["get", "statefulsets", "--output=name"])?.lines().map(str::to_owned).collect())
    }

    /// Opens a way to the broker, and waits until the broker speaks at its end.
    pub(super) fn door(&self) -> Door {
        let port = free_port();
        let pods = (0..self.brokers).map(|n| format!("{}-nats-{n}", self.name));
        let ports = format!("{port}:4222");
        let ways: Vec<Command> = pods.map(|pod| quiet(self.cluster.command(&["port-forward", &pod, &ports]))).collect();
        let closed = Arc::new(AtomicBool::new(false));
        let keeper = thread::spawn({
            let closed = Arc::clone(&closed);
            move || keep(ways, port, &closed)
        });
        let (url, operator) = (format!("nats://127.0.0.1:{port}"), self.operator.display().to_string());
        let door = Door { url, operator, closed, keeper: Some(keeper) };
        eventually("a way to the broker", || speaks(port).then_some(()));
        door
    }

    /// Deletes the first pod with this label, which comes again.
    pub(super) fn delete(&self, label: &str, how: &[&str]) -> Result<(), String> {
        let found = self.cluster.kubectl(&["get", "pods", "--selector", label, "--output=name"])?;
        let pod = found.lines().next().ok_or_else(|| format!("there is no pod with {label}"))?;
        self.cluster.kubectl(&[&["delete", pod][..], how].concat()).map(drop)
    }

    /// Has every set replace its pods, one after another.
    pub(super) fn replace_all(&self) -> Result<(), String> {
        self.sets()?.iter().try_for_each(|set| self.cluster.kubectl(&["rollout", "restart", set]).map(drop))
    }

    /// Gives the archive its key as docs/kubernetes.md has it, and has its job run once.
    pub(super) fn archive(&self, world: &World) -> Result<(), String> {
        let (folder, key) = (world.path("keys").display().to_string(), world.path("archivist.creds"));
        let out = key.display().to_string();
        succeeds(world, &["keys", "add", "archivist", "keeper", "--dir", &folder, "--out", &out])?;
        let (secret, job) = (format!("{}-archivist", self.name), format!("{}-archive", self.name));
        let file = format!("--from-file=archivist.creds={out}");
        self.cluster.kubectl(&["create", "secret", "generic", &secret, &file])?;
        self.cluster.kubectl(&["create", "job", "archive-now", &format!("--from=cronjob/{job}")])?;
        let ended = self.cluster.kubectl(&["wait", "--for=condition=complete", "job/archive-now", READY]);
        ended.map(drop).map_err(|error| {
            let said = self.cluster.kubectl(&["logs", "job/archive-now"]);
            format!("{error}\n{}", said.unwrap_or_else(|error| error))
        })
    }

    /// How the pods stand, and what they said last.
    pub(super) fn said(&self) -> String {
        let pods = self.cluster.kubectl(&["get", "pods", "--output=wide"]);
        let events = self.cluster.kubectl(&["get", "events", "--sort-by=.lastTimestamp"]);
        let selector = format!("--selector=app.kubernetes.io/instance={}", self.name);
        let logs = self.cluster.kubectl(&["logs", &selector, "--prefix", "--tail=10"]);
        [pods, events, logs].map(|part| part.unwrap_or_else(|error| error)).join("\n")
    }
}

impl Drop for Release<'_> {
    fn drop(&mut self) {
        let installer = format!("{}-seccomp", self.name);
        for kind in ["daemonset", "configmap"] {
            let _ =
                self.cluster.kubectl(&["delete", kind, &installer, "--namespace", INSTALLERS, "--ignore-not-found"]);
        }
        let _ = self.cluster.kubectl(&["delete", "namespace", &self.name, READY]);
    }
}

impl Door {
    /// What a command needs to get in.
    pub(super) fn args(&self) -> [&str; 4] {
        ["--nats", &self.url, "--creds", &self.operator]
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        self.closed.store(true, Ordering::SeqCst);
        let _ = self.keeper.take().map(JoinHandle::join);
    }
}

/// Keeps one of these ways open until the door is closed. Kubectl does not always notice that the pod at the other end is gone.
fn keep(mut ways: Vec<Command>, port: u16, closed: &AtomicBool) {
    let count = ways.len();
    for next in 0.. {
        let Ok(mut way) = ways[next % count].spawn() else { return };
        thread::sleep(PAUSE);
        while !closed.load(Ordering::SeqCst) && speaks(port) {
            thread::sleep(PAUSE);
        }
        let _ = way.kill();
        let _ = way.wait();
        if closed.load(Ordering::SeqCst) {
            return;
        }
    }
}

/// Whether a broker begins to speak at this port.
fn speaks(port: u16) -> bool {
    let mut begin = [0; 4];
    let read = TcpStream::connect(("127.0.0.1", port)).and_then(|mut stream| {
        stream.set_read_timeout(Some(ANSWER))?;
        stream.read_exact(&mut begin)
    });
    read.is_ok() && begin == *b"INFO"
}

fn quiet(mut command: Command) -> Command {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// The chart as a release of this name.
fn rendered(name: &str, values: &Value) -> Result<String, String> {
    let mut render = Command::new(root().join("target/tools/kubernetes/bin/python"));
    render.arg(root().join("xtask/tests/kubernetes/manifests.py")).args(["render", name]);
    output(&mut render, &values.to_string())
}

fn succeeds(world: &World, args: &[&str]) -> Result<String, String> {
    let finished = world.holdpoint(args);
    if finished.code == 0 { Ok(finished.stdout) } else { Err(format!("{args:?}: {finished}")) }
}

/// Runs a command with this on its standard input; what it prints.
fn output(command: &mut Command, input: &str) -> Result<String, String> {
    let shown = format!("{command:?}");
    let mut run = || {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
        child.stdin.take().expect("it has a pipe").write_all(input.as_bytes())?;
        child.wait_with_output()
    };
    let output = run().map_err(|error| format!("{shown} cannot run: {error}"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    Err(format!("{shown}: {}", String::from_utf8_lossy(&output.stderr)))
}
