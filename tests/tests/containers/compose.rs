//! `compose.yaml` as a user starts it, with every Compose that there is.

use std::{collections::BTreeSet, process::Command};

use holdpoint_tests::{
    visitor::Visitor,
    world::{World, eventually, root},
};
use serde_json::Value;

use crate::{
    engine::{Engine, PROJECT, docker, logs, say, succeeds},
    flight::{Door, Shape, Site, args},
    project::{Project, SERVICES, example},
};

const BUILDERS: usize = 8;

#[test]
fn compose_up_brings_a_fleet_up_that_flies_the_first_flight() {
    let Some(_engine) = Engine::take() else { return };
    for project in Project::with_every_compose() {
        project.up(&[]);
        let world = example();
        let door = project.door(&world);
        let plan = root().join("examples/first-flight/plan.yaml");
        let run = world.holdpoint(&args(&door, &["run", plan.to_str().unwrap(), "--repo", ".", "--json"]));
        run.expect(0);
        assert_eq!(run.waypoint("layovers")["attempts"], 2, "the repair agent mends the first attempt: {run}");

        let traces = &project.containers("traces")[0];
        let spans_of_the_flight = ["exec", traces, "grep", "--quiet", "layovers", "/tmp/spans.jsonl"];
        eventually("the flight's spans in the sink", || succeeds(&spans_of_the_flight).then_some(()));

        an_agent_of_an_added_role_completes_its_gate(&world, &door);
        the_console_shows_the_flight(&project, run.json()["flight"].as_str().unwrap());

        // A plan that wants a network is refused before anything is built.
        world.plan("plan: p\nenvironment: {setup: make fetch, inputs: [Makefile]}\nwaypoints: [{id: w, title: t, goal: g, criteria: [{id: c, statement: s, check: make}]}]\n");
        let refused = world.holdpoint(&args(&door, &["run", "../plan/plan.yaml", "--repo", "."]));
        refused.expect(2);
        assert!(refused.stderr.contains("environment") && refused.stderr.contains("egress"), "{refused}");

        hardened(&project);
    }
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
    let port = project.variable("HOLDPOINT_CONSOLE_PORT");
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
    for mut project in Project::with_the_oldest() {
        let site = Site::new();
        project.set("HOLDPOINT_AGENTS", site.agents().to_str().unwrap());
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
}
