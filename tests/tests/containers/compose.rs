//! `compose.yaml` as a user starts it, with every Compose that there is: `docker compose`, `docker-compose`, and the version 2 that
//! `cargo xtask test` gets.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    process::{Command, Output},
};

use holdpoint_tests::{
    visitor::Visitor,
    world::{Finished, World, copy, eventually, root},
};
use serde_json::Value;

use crate::{
    engine::{Engine, PROJECT, TAG, docker, free_port, logs, say, succeeds, until_healthy},
    flight::{Door, Shape, Site, args},
};

/// Every service that stays.
const SERVICES: [&str; 7] = ["nats", "orchestrator", "builder", "repair", "verifier", "reviewer", "traces"];
/// What it is made of: with a role that the fleet adds.
const FILES: &str = "compose.yaml:deploy/compose.reviewer.yaml";
const BUILDERS: usize = 8;

/// One project of one Compose. It goes down with its volumes.
struct Project {
    program: Vec<String>,
    env: Vec<(&'static str, String)>,
}

impl Project {
    /// With every Compose that there is; at least one has to be.
    fn all() -> Vec<Self> {
        let ours = root().join("target/tools/compose/docker-compose").display().to_string();
        let programs = [vec!["docker", "compose"], vec!["docker-compose"], vec![ours.as_str()]];
        // One of each version.
        let mut found: BTreeMap<String, Self> = BTreeMap::new();
        for program in programs {
            let tried = Command::new(program[0]).args(&program[1..]).args(["version", "--short"]).output();
            let Some(output) = tried.ok().filter(|output| output.status.success()) else { continue };
            let version = String::from_utf8_lossy(&output.stdout).trim().to_owned();
            found.entry(version).or_insert_with(|| Self::of(program.into_iter().map(str::to_owned).collect()));
        }
        assert!(
            !found.is_empty(),
            "there is an engine and no Compose: install `docker-compose` or the plugin of `docker`"
        );
        found.into_values().collect()
    }

    fn of(program: Vec<String>) -> Self {
        let name = format!("{PROJECT}{}", std::process::id());
        let env = vec![
            ("COMPOSE_PROJECT_NAME", name),
            ("COMPOSE_FILE", FILES.to_owned()),
            ("HOLDPOINT_TAG", TAG.to_owned()),
            ("HOLDPOINT_TRACES_IMAGE", format!("holdpoint/otlp-sink:{TAG}")),
            ("HOLDPOINT_PORT", free_port().to_string()),
            ("HOLDPOINT_PORT_2", free_port().to_string()),
            ("HOLDPOINT_PORT_3", free_port().to_string()),
            ("HOLDPOINT_TRACES_PORT", free_port().to_string()),
            ("HOLDPOINT_CONSOLE_PORT", free_port().to_string()),
        ];
        Self { program, env }
    }

    fn output(&self, args: &[&str]) -> Output {
        let mut command = Command::new(&self.program[0]);
        command.args(&self.program[1..]).args(args).current_dir(root()).envs(self.env.iter().cloned());
        command.output().unwrap()
    }

    /// Runs a script of `deploy/`: whether it succeeds, and what it says.
    fn script(&self, name: &str, word: &str, folder: &Path) -> (bool, String) {
        let mut script = Command::new("sh");
        script.arg(format!("deploy/{name}")).arg(word).arg(folder).current_dir(root()).envs(self.env.iter().cloned());
        let output = script.env("COMPOSE", self.program.join(" ")).output().unwrap();
        (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
    }

    /// From now on it has three brokers.
    fn as_cluster(&mut self) {
        self.made_of(&format!("{FILES}:deploy/compose.cluster.yaml"));
    }

    fn made_of(&mut self, files: &str) {
        self.env.retain(|(name, _)| *name != "COMPOSE_FILE");
        self.env.push(("COMPOSE_FILE", files.to_owned()));
    }

    #[track_caller]
    fn run(&self, args: &[&str]) -> String {
        let output = self.output(args);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{:?} {args:?}: {said}", self.program);
        String::from_utf8(output.stdout).unwrap()
    }

    /// The containers of a service.
    fn containers(&self, service: &str) -> Vec<String> {
        self.run(&["ps", "--quiet", service]).lines().map(str::to_owned).collect()
    }

    /// Brings it up and waits until everybody is well.
    fn up(&self, more: &[&str]) {
        self.run(&[&["up", "-d"], more].concat());
        for service in SERVICES {
            let containers = eventually(service, || Some(self.containers(service)).filter(|found| !found.is_empty()));
            containers.iter().for_each(|container| until_healthy(container));
        }
    }

    /// What the documentation says gives the host its credentials.
    fn door(&self, world: &World) -> Door {
        let creds = self.run(&["run", "--rm", "-T", "keys", "operator"]);
        world.write("operator.creds", &creds);
        let port = &self.env.iter().find(|(name, _)| *name == "HOLDPOINT_PORT").unwrap().1;
        Door { url: format!("nats://127.0.0.1:{port}"), operator: world.path("operator.creds") }
    }
}

impl Drop for Project {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let logs = self.output(&["logs", "--tail", "30"]);
            say(&String::from_utf8_lossy(&logs.stdout));
        }
        // With all that it ever had.
        self.as_cluster();
        self.output(&["--profile", "console", "down", "--volumes", "--remove-orphans", "--timeout", "1"]);
    }
}

#[test]
fn compose_up_brings_a_fleet_up_that_flies_the_first_flight() {
    let Some(_engine) = Engine::take() else { return };
    for mut project in Project::all() {
        project.up(&[]);
        let world = World::new(&[]);
        let example = root().join("examples/first-flight");
        copy(&example.join("repo/."), &world.path("repo"));
        world.git(&["add", "--all"]);
        world.git(&["commit", "--quiet", "--message=the example"]);
        let door = project.door(&world);
        let plan = example.join("plan.yaml");
        let run = world.holdpoint(&args(&door, &["run", plan.to_str().unwrap(), "--repo", ".", "--json"]));
        run.expect(0);
        assert_eq!(run.waypoint("layovers")["attempts"], 2, "the repair agent mends the first attempt: {run}");

        let traces = &project.containers("traces")[0];
        let spans_of_the_flight = ["exec", traces, "grep", "--quiet", "layovers", "/tmp/spans.jsonl"];
        eventually("the flight's spans in the sink", || succeeds(&spans_of_the_flight).then_some(()));

        an_agent_of_an_added_role_completes_its_gate(&world, &door);
        the_console_shows_the_flight(&project, run.json()["flight"].as_str().unwrap());

        // A plan that wants a network is refused before anything is built.
        world.plan("plan: p\nprepare: make fetch\nwaypoints: [{id: w, title: t, goal: g, criteria: [{id: c, statement: s, check: make}]}]\n");
        let refused = world.holdpoint(&args(&door, &["run", "../plan/plan.yaml", "--repo", "."]));
        refused.expect(2);
        assert!(refused.stderr.contains("prepare") && refused.stderr.contains("egress"), "{refused}");

        hardened(&project);
        a_fleet_that_was_saved_comes_back_with_keys_and_flights(&project, &world, &door, &run);
        a_fleet_moves_to_three_brokers_and_back(&mut project, &world, &door, &plan);
    }
}

/// What docs/deploy.md says of one broker and three, by the script that it names. A flight is begun on each side, and one waits for a
/// person all the time.
#[track_caller]
fn a_fleet_moves_to_three_brokers_and_back(project: &mut Project, world: &World, door: &Door, plan: &Path) {
    world.write("signed/org.yaml", "roles: {lead: {agents: [human-ann], requireHuman: true}}\n");
    world.write("signed/project.yaml", "workflow: {name: sign, gates: [{id: sign, role: lead, requireHuman: true}]}\n");
    world.write("signed/plan.yaml", "plan: sign\nworkflow: sign\nwaypoints: [{id: w, goal: Sign it}]\n");
    let submitted = world.holdpoint(&args(door, &["submit", "../signed/plan.yaml", "--repo", "../signed"]));
    let open = submitted.expect(0).stdout.trim().to_owned();
    let fly = || {
        let run = world.holdpoint(&args(door, &["run", plan.to_str().unwrap(), "--repo", ".", "--json"]));
        run.expect(0).json()["flight"].as_str().unwrap().to_owned()
    };
    let flights = || {
        let status = world.holdpoint(&args(door, &["status", "--json"])).expect(0).json();
        status
            .as_array()
            .unwrap()
            .iter()
            .map(|line| line["flight"].as_str().unwrap().to_owned())
            .collect::<BTreeSet<_>>()
    };
    let mut expected = flights();
    let (moved, said) = project.script("migrate.sh", "cluster", &world.path("three"));
    assert!(moved && said.contains("COMPOSE_FILE="), "{said}");
    project.as_cluster();
    assert_eq!(flights(), expected);
    expected.insert(fly());
    let archived = expected.iter().find(|flight| **flight != open).unwrap().clone();
    a_flight_is_archived(project, world, door, &archived);
    expected.remove(&archived);
    assert_eq!(flights(), expected);
    let (again, said) = project.script("migrate.sh", "cluster", &world.path("four"));
    assert!(!again && said.contains("already"), "{said}");

    let (moved, said) = project.script("migrate.sh", "single", &world.path("one"));
    assert!(moved, "{said}");
    project.made_of(FILES);
    assert_eq!(flights(), expected);
    assert!(project.output(&["ps", "--quiet", "nats-2"]).stdout.is_empty());

    let (back, said) = project.script("migrate.sh", "undo", &world.path("one"));
    assert!(back, "{said}");
    project.as_cluster();
    eventually("the fleet that is back", || (flights() == expected).then_some(()));
    let status = world.holdpoint(&args(door, &["status", &open, "--json"]));
    assert_eq!(status.expect(0).json()["status"], "waiting", "{status}");
    fly();
}

/// What docs/operations.md says of archives, by a key that the fleet's authority makes.
#[track_caller]
fn a_flight_is_archived(project: &Project, world: &World, door: &Door, flight: &str) {
    let keeper = project.run(&["run", "--rm", "-T", "keys", "add", "archivist", "keeper", "--out", "-"]);
    world.write("keeper.creds", &keeper);
    let (keeper, archive) = (world.path("keeper.creds"), world.path("archive"));
    let by = ["--nats", &door.url, "--creds", keeper.to_str().unwrap(), "--json"];
    let wanted = ["archive", flight, "--to", archive.to_str().unwrap(), "--grace", "1s"];
    let archived = world.holdpoint(&[&wanted[..], &by].concat());
    let file = archived.expect(0).json()["archived"][0]["file"].as_str().unwrap().to_owned();
    world.holdpoint(&["audit", &file]).expect(0);
    let status = world.holdpoint(&args(door, &["status", flight, "--json"]));
    assert_eq!(status.expect(2).json()["error"]["code"], "archived", "{status}");
}

/// What docs/operations.md says of backups, by the script that it names.
#[track_caller]
fn a_fleet_that_was_saved_comes_back_with_keys_and_flights(
    project: &Project,
    world: &World,
    door: &Door,
    run: &Finished,
) {
    let backup = |word: &str| project.script("backup.sh", word, &world.path("saved"));
    let (saved, said) = backup("save");
    assert!(saved, "{said}");
    let (again, said) = backup("restore");
    assert!(!again && said.contains("not empty"), "what is there is not written over: {said}");
    project.run(&["down", "--volumes", "--timeout", "10"]);
    let (restored, said) = backup("restore");
    assert!(restored, "{said}");
    project.up(&[]);
    // The operator's credentials are those from before: the authority is the same.
    let flight = run.json()["flight"].as_str().unwrap().to_owned();
    let status = world.holdpoint(&args(door, &["status", &flight, "--json"]));
    assert_eq!(status.expect(0).json()["status"], run.json()["status"], "{status}");
    let history = world.holdpoint(&args(door, &["history", "layovers", "--flight", &flight, "--json"]));
    history.expect(0);
}

/// A workflow of one gate, whose role has its agent in a container of its own. Nothing is built, so that no repository is needed.
#[track_caller]
fn an_agent_of_an_added_role_completes_its_gate(world: &World, door: &Door) {
    world.write("desk/project.yaml", "workflow: {name: look, gates: [{id: look, role: reviewer}]}\n");
    let run = world.holdpoint(&args(door, &["run", "--task", "Look at it", "--repo", "../desk", "--json"]));
    assert_eq!(run.expect(0).json()["status"], "accepted", "{run}");
    let task = world.holdpoint(&args(door, &["task", "look-at-it", "--repo", "../desk", "--json"])).expect(0).json();
    assert_eq!(task["gateHistory"][0]["agent"], "reviewer-1", "{task}");
}

/// The service that is started only where it is asked for: its pages are on the port that is published on the loopback.
#[track_caller]
fn the_console_shows_the_flight(project: &Project, flight: &str) {
    project.run(&["--profile", "console", "up", "-d", "console"]);
    let container = project.run(&["--profile", "console", "ps", "--quiet", "console"]).trim().to_owned();
    let visitor = Visitor::enter(|| logs(&container));
    visitor.page("/", flight);
    let page = visitor.page(&format!("/flight/{flight}"), "accepted");
    assert!(page.contains("layovers") && page.contains("as operator-1"), "{page}");
    let port = &project.env.iter().find(|(name, _)| *name == "HOLDPOINT_CONSOLE_PORT").unwrap().1;
    assert!(docker(&["port", &container]).ends_with(&format!("127.0.0.1:{port}")), "on the loopback alone");
    let (status, said) = visitor.act(&format!("verb=pause&flight={flight}"));
    assert!(status == 409 && said.contains("is accepted"), "it is over: {status} {said}");
}

/// No engine is needed for this.
#[test]
fn compose_can_read_each_file_that_the_fleet_can_be_joined_with() {
    let program = "docker-compose";
    if Command::new(program).arg("version").output().is_err() {
        return say("NOT RUN: there is no docker-compose");
    }
    let files = std::fs::read_dir(root().join("deploy")).unwrap().map(|entry| entry.unwrap().file_name());
    let overlays: Vec<String> = files
        .map(|name| name.into_string().unwrap())
        .filter(|name| name.starts_with("compose.") && name.ends_with(".yaml"))
        .collect();
    assert!(overlays.len() >= 4, "{overlays:?}");
    for overlay in overlays {
        let overlay = format!("deploy/{overlay}");
        let read = Command::new(program)
            .args(["-f", "compose.yaml", "-f", &overlay, "config", "--quiet"])
            .current_dir(root())
            .output()
            .unwrap();
        assert!(read.status.success(), "{overlay}: {}", String::from_utf8_lossy(&read.stderr));
    }
}

/// Every container has the settings that docs/deploy.md promises, and the sandbox lacks nothing in the agents'.
#[track_caller]
fn hardened(project: &Project) {
    for service in SERVICES {
        let container = &project.containers(service)[0];
        let found: Value = serde_json::from_str(&docker(&["inspect", container])).unwrap();
        let (host, config) = (&found[0]["HostConfig"], &found[0]["Config"]);
        assert_eq!((&host["ReadonlyRootfs"], &host["Privileged"]), (&true.into(), &false.into()), "{service}");
        assert_eq!(host["CapDrop"], serde_json::json!(["ALL"]), "{service}");
        assert_eq!(config["User"], "10001:10001", "{service}");
        for limit in ["Memory", "PidsLimit"] {
            assert!(host[limit].as_i64() > Some(0), "{service} has no {limit}: {}", host[limit]);
        }
        let options = host["SecurityOpt"].to_string();
        assert!(options.contains("no-new-privileges"), "{service}: {options}");
        let mounts = found[0]["Mounts"].to_string();
        assert!(!mounts.contains("docker.sock"), "{service}: {mounts}");
        for mount in found[0]["Mounts"].as_array().unwrap().iter().filter(|mount| mount["Type"] == "volume") {
            let name = mount["Name"].as_str().unwrap();
            assert!(name.starts_with(PROJECT), "{service}: `down` would leave a volume without a name: {mount}");
        }
        let own_keys = mounts.matches("-keys").count() <= 2 * mounts.matches(&format!("{service}-keys")).count();
        assert!(own_keys, "{service} has keys of others: {mounts}");
    }
    for service in ["builder", "repair", "verifier", "reviewer"] {
        let container = &project.containers(service)[0];
        // Doctor ends with 3: there is no nats-server here, and none is needed.
        let script = "holdpoint doctor --json || test $? = 3";
        let doctor: Value = serde_json::from_str(&docker(&["exec", container, "sh", "-c", script])).unwrap();
        let sandbox = &doctor["sandbox"];
        assert_eq!(sandbox["ok"], true, "{service}: {sandbox}");
        let property = |name: &str| {
            let properties = sandbox["properties"].as_array().unwrap();
            properties.iter().find(|property| property["property"] == name).unwrap().clone()
        };
        assert_eq!(property("loopback")["by"], "network namespace", "{service}");
        assert_eq!(property("no_reads_outside")["waived"], false, "{service}");
    }
    reaches_the_broker_only(project);
}

/// The verifier is on internal networks alone: it comes to the broker by them, and not by the broker's other addresses.
#[track_caller]
fn reaches_the_broker_only(project: &Project) {
    let (verifier, broker) = (&project.containers("verifier")[0], &project.containers("nats")[0]);
    let networks = |container: &str| -> Value {
        serde_json::from_str(&docker(&["inspect", "--format", "{{json .NetworkSettings.Networks}}", container]))
            .unwrap()
    };
    for network in networks(verifier).as_object().unwrap().keys() {
        assert_eq!(docker(&["network", "inspect", "--format", "{{.Internal}}", network]), "true", "{network}");
    }
    let reaches = |host: &str| {
        let script = format!("timeout 3 bash -c 'exec 3<>/dev/tcp/{host}/4222'");
        succeeds(&["exec", verifier, "sh", "-c", &script])
    };
    assert!(reaches("nats"), "the verifier does not reach the broker");
    for (name, network) in networks(broker).as_object().unwrap() {
        let address = network["IPAddress"].as_str().unwrap();
        assert_eq!(reaches(address), name.ends_with("_judging"), "{name} at {address}");
    }
}

#[test]
fn scaled_builders_share_the_work() {
    let Some(_engine) = Engine::take() else { return };
    let site = Site::new();
    let mut project = Project::all().remove(0);
    project.env.push(("HOLDPOINT_AGENTS", site.agents().display().to_string()));
    project.up(&["--scale", &format!("builder={BUILDERS}")]);
    assert_eq!(project.containers("builder").len(), BUILDERS);

    let door = project.door(&site.world);
    let waypoints = ["a", "b", "c", "d", "e", "f", "g", "h"];
    assert_eq!(waypoints.len(), BUILDERS);
    let flight = site.begin(&door, Shape::AllAtOnce, &waypoints);
    // None is let go before all are held: by as many builders, because each takes one turn at a time.
    let holders: BTreeSet<String> = waypoints.iter().map(|waypoint| flight.until_held(waypoint)).collect();
    assert_eq!(holders.len(), BUILDERS, "{holders:?}");
    waypoints.iter().for_each(|waypoint| flight.open(waypoint));
    flight.lands_as_if_nothing_had_happened(&waypoints);
}
