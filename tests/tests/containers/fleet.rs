//! A fleet whose every process is a container with the settings of `compose.yaml`, started by testcontainers.
//!
//! Networks and volumes are made by the engine's command line, which labels them and connects a container to several.

use std::{collections::BTreeMap, fs, path::PathBuf};

use holdpoint_tests::{
    account::{Keys, SoakAccount},
    world::root,
};
use testcontainers::{
    ContainerAsync, ContainerRequest, GenericImage, ImageExt as _,
    core::{AccessMode, Mount, WaitFor, wait::ExitWaitStrategy},
    runners::AsyncRunner as _,
};

use crate::{
    engine::{LABEL, TAG, docker, free_port, logs, say, succeeds, until_healthy},
    flight::{Door, Site},
};

/// Silence after which a turn goes to another agent: what a lost one costs.
const ACK_WAIT: &str = "4s";
/// The same for handoffs and orchestrators.
const HANDOFF_ACK_WAIT: &str = "2s";
/// Networks without a way out.
const INTERNAL: [&str; 2] = ["control", "judging"];
/// Networks with one.
const OPEN: [&str; 2] = ["building", "edge"];
/// The volumes of keys, with where they are in the container that makes them.
const KEYS: [(&str, &str); 8] = [
    ("trust", "/keys"),
    ("authority", "/keys/authority"),
    ("broker", "/keys/broker"),
    ("orchestrator", "/keys/orchestrator"),
    ("builder", "/keys/builder"),
    ("verifier", "/keys/verifier"),
    ("repair", "/keys/repair"),
    ("operator", "/keys/operator"),
];

/// The roles whose containers share a volume for their state.
const STATEFUL: [&str; 3] = ["orchestrator", "builder", "verifier"];

/// How many of each.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Size {
    /// 1, or 3 in a cluster.
    pub(crate) brokers: u16,
    pub(crate) orchestrators: u16,
    pub(crate) builders: u16,
    pub(crate) verifiers: u16,
}

/// A running fleet. All of it goes with it.
pub(crate) struct Fleet {
    /// What every name begins with.
    id: String,
    size: Size,
    members: BTreeMap<String, ContainerAsync<GenericImage>>,
    volumes: Vec<String>,
    pub(crate) door: Door,
    ports: Vec<u16>,
}

impl Fleet {
    /// Starts it; its builders run `/agents/builder.sh` of the site.
    pub(crate) async fn start(size: Size, site: &Site) -> Self {
        let id = format!("hp{}", std::process::id());
        let ports: Vec<u16> = (0..size.brokers).map(|_| free_port()).collect();
        let door = Door {
            url: format!("nats://127.0.0.1:{}", ports.first().unwrap()),
            operator: site.world.path("operator.creds"),
        };
        let mut fleet = Self { id, size, members: BTreeMap::new(), volumes: Vec::new(), door, ports };
        fleet.surroundings();
        fleet.keys(site).await;
        fleet.brokers().await;
        for number in 1..=size.orchestrators {
            fleet.process("orchestrator", number, "control", None).await;
        }
        for (role, count, network) in [("builder", size.builders, "building"), ("verifier", size.verifiers, "judging")]
        {
            for number in 1..=count {
                fleet.process(role, number, network, Some(site.agents())).await;
            }
        }
        let members: Vec<String> = fleet.members.keys().cloned().collect();
        members.iter().for_each(|member| fleet.until_healthy(member));
        fleet
    }

    /// The name of the container of this member: `orchestrator-1`, `nats-2`, `builder-1`, …
    pub(crate) fn container(&self, member: &str) -> String {
        format!("{}-{member}", self.id)
    }

    /// Ends a container the hard way.
    pub(crate) fn kill(&self, member: &str) {
        docker(&["kill", &self.container(member)]);
    }

    /// Starts a container that has ended, and waits until it is well.
    pub(crate) async fn revive(&self, member: &str) {
        self.members[member].start().await.unwrap();
        self.until_healthy(member);
    }

    /// Ends a container in order, as a new version of it would be brought in, and starts it again.
    pub(crate) async fn restart(&self, member: &str) {
        self.members[member].stop_with_timeout(Some(30)).await.unwrap();
        self.revive(member).await;
    }

    /// Cuts a container off from a network.
    pub(crate) fn cut(&self, network: &str, member: &str) {
        docker(&["network", "disconnect", &self.named(network), &self.container(member)]);
    }

    /// Brings it back.
    pub(crate) fn heal(&self, network: &str, member: &str) {
        self.connect(network, member);
    }

    pub(crate) fn until_healthy(&self, member: &str) {
        until_healthy(&self.container(member));
    }

    /// Everything that its broker holds.
    pub(crate) async fn account(&self, site: &Site) -> SoakAccount {
        let keys = Keys { creds: site.world.path("orchestrator.creds"), trust: site.world.path("trust.json") };
        SoakAccount::at(&self.door.url, &keys).await
    }

    /// The member whose process has these credentials, by what its log says of its name.
    pub(crate) fn member_named(&self, role: &str, agent: &str) -> String {
        let sign = |member: &&String| docker(&["exec", &self.container(member), "cat", "/run/holdpoint/sign"]);
        let of_role = self.members.keys().filter(|member| member.starts_with(role));
        let found = of_role.into_iter().find(|member| sign(member).contains(&format!("\"{agent}\"")));
        found.unwrap_or_else(|| panic!("nobody is {agent}")).clone()
    }

    fn named(&self, thing: &str) -> String {
        format!("{}-{thing}", self.id)
    }

    fn label() -> String {
        format!("{LABEL}={}", std::process::id())
    }

    fn surroundings(&mut self) {
        let label = Self::label();
        for network in INTERNAL {
            docker(&["network", "create", "--internal", "--label", &label, &self.named(network)]);
        }
        for network in OPEN {
            docker(&["network", "create", "--label", &label, &self.named(network)]);
        }
        let stores = (1..=self.size.brokers).map(|number| format!("store-{number}"));
        let states = STATEFUL.map(|role| format!("state-{role}"));
        for volume in KEYS.iter().map(|(name, _)| format!("keys-{name}")).chain(stores).chain(states) {
            let volume = self.named(&volume);
            docker(&["volume", "create", "--label", &label, &volume]);
            self.volumes.push(volume);
        }
    }

    /// Makes the keys, and takes out what the host needs of them.
    async fn keys(&self, site: &Site) {
        let mounts = KEYS.map(|(name, place)| Mount::volume_mount(self.named(&format!("keys-{name}")), place));
        let made = image("keys").with_wait_for(WaitFor::exit(ExitWaitStrategy::new().with_exit_code(0)));
        let mut request = self.hardened(made.into(), "keys").with_network("none");
        for mount in mounts {
            request = request.with_mount(mount);
        }
        let keys = request.start().await.unwrap();
        for (from, to) in [
            ("/keys/operator/operator-1.creds", "operator.creds"),
            ("/keys/orchestrator/orchestrator-4.creds", "orchestrator.creds"),
            ("/keys/trust.json", "trust.json"),
        ] {
            let to = site.world.path(to);
            docker(&["cp", &format!("{}:{from}", keys.id()), to.to_str().unwrap()]);
        }
        keys.rm().await.unwrap();
    }

    async fn brokers(&mut self) {
        let clustered = self.size.brokers > 1;
        for number in 1..=self.size.brokers {
            let name = format!("nats-{number}");
            let port = self.ports[usize::from(number) - 1];
            let file = if clustered { "nats-cluster.conf" } else { "nats.conf" };
            let request = self
                .hardened(image("broker").into(), &name)
                .with_network(self.named("edge"))
                .with_cmd(["--config", &format!("/etc/nats/{file}")])
                .with_env_var("NATS_NAME", &name)
                .with_env_var("NATS_DISK", "20GiB")
                .with_mount(Mount::volume_mount(self.named(&format!("store-{number}")), "/data"))
                .with_mount(read_only(Mount::volume_mount(self.named("keys-broker"), "/etc/nats/keys")))
                .with_host_config_modifier(move |host| {
                    let binding = testcontainers::bollard::models::PortBinding {
                        host_ip: Some("127.0.0.1".to_owned()),
                        host_port: Some(port.to_string()),
                    };
                    host.publish_all_ports = Some(false);
                    host.port_bindings = Some([("4222/tcp".to_owned(), Some(vec![binding]))].into());
                });
            self.members.insert(name.clone(), request.start().await.unwrap());
            for network in ["control", "judging", "building"] {
                self.connect(network, &name);
            }
        }
        (1..=self.size.brokers).for_each(|number| self.until_healthy(&format!("nats-{number}")));
    }

    async fn process(&mut self, role: &str, number: u16, network: &str, agents: Option<PathBuf>) {
        let name = format!("{role}-{number}");
        let (target, command) =
            if role == "orchestrator" { (role, vec![role]) } else { ("agent", vec!["agent", role]) };
        let mut request = self
            .hardened(image(target).into(), &name)
            .with_cmd(command)
            .with_network(self.named(network))
            .with_mount(read_only(Mount::volume_mount(self.named("keys-trust"), "/trust")))
            .with_mount(read_only(Mount::volume_mount(self.named(&format!("keys-{role}")), "/keys")))
            .with_mount(Mount::volume_mount(self.named(&format!("state-{role}")), "/var/lib/holdpoint"));
        let replicas = self.size.brokers.to_string();
        for (variable, value) in [
            ("NATS__URL", self.urls()),
            ("NATS__TRUST", "/trust/trust.json".to_owned()),
            ("NATS__CREDS_DIR", "/keys".to_owned()),
            ("AGENT__ACK_WAIT", ACK_WAIT.to_owned()),
            ("ORCHESTRATOR__HANDOFF_ACK_WAIT", HANDOFF_ACK_WAIT.to_owned()),
            ("ORCHESTRATOR__REPLICAS", replicas),
            ("ORCHESTRATOR__VERIFIER_NETWORK", "false".to_owned()),
            ("AGENTS__BUILDER__COMMAND", "/agents/builder.sh".to_owned()),
        ] {
            request = request.with_env_var(format!("HOLDPOINT__{variable}"), value);
        }
        if let Some(agents) = agents.filter(|_| role == "builder") {
            request = request.with_mount(read_only(Mount::bind_mount(agents.to_str().unwrap(), "/agents")));
        }
        self.members.insert(name, request.start().await.unwrap());
    }

    /// The settings that all containers share, as in `compose.yaml`.
    fn hardened(&self, request: ContainerRequest<GenericImage>, name: &str) -> ContainerRequest<GenericImage> {
        let seccomp = fs::read_to_string(root().join("deploy/seccomp.json")).unwrap();
        request
            .with_container_name(self.named(name))
            .with_label(LABEL, std::process::id().to_string())
            .with_readonly_rootfs(true)
            .with_cap_drop("ALL")
            .with_security_opt("no-new-privileges")
            .with_security_opt(format!("seccomp={seccomp}"))
            .with_host_config_modifier(|host| {
                host.init = Some(true);
                let tmpfs =
                    [("/run/holdpoint", "uid=10001,gid=10001,mode=0700,size=1m"), ("/tmp", "exec,mode=1777,size=512m")];
                host.tmpfs = Some(tmpfs.map(|(place, options)| (place.to_owned(), options.to_owned())).into());
            })
    }

    fn urls(&self) -> String {
        let urls: Vec<String> =
            (1..=self.size.brokers).map(|number| format!("nats://{}:4222", alias(number))).collect();
        urls.join(",")
    }

    /// Connects a member to a network, a broker under the name that the others know it by.
    fn connect(&self, network: &str, member: &str) {
        let alias = member.strip_prefix("nats-").map_or_else(|| member.to_owned(), |n| alias(n.parse().unwrap()));
        docker(&["network", "connect", "--alias", &alias, &self.named(network), &self.container(member)]);
    }
}

impl Drop for Fleet {
    fn drop(&mut self) {
        if std::thread::panicking() {
            for member in self.members.keys() {
                say(&format!("--- {member}\n{}", logs(&self.container(member))));
            }
        }
        for member in self.members.keys() {
            succeeds(&["rm", "--force", "--volumes", &self.container(member)]);
        }
        for network in INTERNAL.iter().chain(&OPEN) {
            succeeds(&["network", "rm", &self.named(network)]);
        }
        for volume in &self.volumes {
            succeeds(&["volume", "rm", volume]);
        }
    }
}

/// The broker's name in compose files: `nats`, `nats-2`, `nats-3`.
fn alias(number: u16) -> String {
    if number == 1 { "nats".to_owned() } else { format!("nats-{number}") }
}

fn image(target: &str) -> GenericImage {
    GenericImage::new(format!("holdpoint/{target}"), TAG.to_owned())
}

fn read_only(mount: Mount) -> Mount {
    mount.with_access_mode(AccessMode::ReadOnly)
}
