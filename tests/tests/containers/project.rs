//! A fleet that Compose runs from `compose.yaml`, under a project name of its own.

use std::{
    collections::BTreeMap,
    path::Path,
    process::{Command, Output},
    time::Instant,
};

use holdpoint_tests::world::{World, copy, eventually, root};

use crate::{
    engine::{PROJECT, TAG, free_port, say, until_healthy},
    flight::Door,
};

/// Every service that stays.
pub(crate) const SERVICES: [&str; 7] = ["nats", "orchestrator", "builder", "repair", "verifier", "reviewer", "traces"];
/// What it is made of: with a role that the fleet adds.
pub(crate) const FILES: &str = "compose.yaml:deploy/compose.reviewer.yaml";
/// Set, the tests that take one Compose run with every version there is.
const EVERY: &str = "HOLDPOINT_EVERY_COMPOSE";

/// One project of one Compose. It goes down with its volumes.
pub(crate) struct Project {
    program: Vec<String>,
    env: Vec<(&'static str, String)>,
    since: Instant,
}

/// How each Compose that there is is started, one per version, the oldest first: `docker compose`, `docker-compose`, and the version 2
/// that `cargo xtask test` gets.
fn programs() -> Vec<Vec<String>> {
    let ours = root().join("target/tools/compose/docker-compose").display().to_string();
    let programs = [vec!["docker", "compose"], vec!["docker-compose"], vec![ours.as_str()]];
    let mut found = BTreeMap::new();
    for program in programs {
        let tried = Command::new(program[0]).args(&program[1..]).args(["version", "--short"]).output();
        let Some(output) = tried.ok().filter(|output| output.status.success()) else { continue };
        let version = String::from_utf8_lossy(&output.stdout).into_owned();
        let numbers = version.split(|c: char| !c.is_ascii_digit()).filter_map(|number| number.parse().ok());
        found.entry(numbers.collect::<Vec<u32>>()).or_insert_with(|| program.into_iter().map(str::to_owned).collect());
    }
    assert!(!found.is_empty(), "there is an engine and no Compose: install `docker-compose` or the plugin of `docker`");
    found.into_values().collect()
}

/// How many of so many versions of Compose a test takes that needs one.
fn taken(all: usize) -> usize {
    if std::env::var_os(EVERY).is_some() { all } else { 1 }
}

impl Project {
    /// With each Compose after the other.
    pub(crate) fn with_every_compose() -> impl Iterator<Item = Self> {
        programs().into_iter().map(Self::of)
    }

    /// With the oldest Compose.
    pub(crate) fn with_the_oldest() -> impl Iterator<Item = Self> {
        let programs = programs();
        let taken = taken(programs.len());
        programs.into_iter().take(taken).map(Self::of)
    }

    /// With the newest Compose.
    pub(crate) fn with_the_newest() -> impl Iterator<Item = Self> {
        let programs = programs();
        let passed_over = programs.len() - taken(programs.len());
        programs.into_iter().skip(passed_over).map(Self::of)
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
        Self { program, env, since: Instant::now() }
    }

    /// Says what begins, so that the output of a test that did not end tells where it was.
    pub(crate) fn step(&self, what: &str) {
        say(&format!("{:>6.1} s  {}: {what}", self.since.elapsed().as_secs_f64(), self.program.join(" ")));
    }

    pub(crate) fn set(&mut self, variable: &'static str, value: &str) {
        self.env.retain(|(name, _)| *name != variable);
        self.env.push((variable, value.to_owned()));
    }

    /// The value of one of its variables.
    pub(crate) fn variable(&self, variable: &str) -> &str {
        &self.env.iter().find(|(name, _)| *name == variable).unwrap().1
    }

    pub(crate) fn output(&self, args: &[&str]) -> Output {
        let mut command = Command::new(&self.program[0]);
        command.args(&self.program[1..]).args(args).current_dir(root()).envs(self.env.iter().cloned());
        command.output().unwrap()
    }

    /// Runs a script of `deploy/`: whether it succeeds, and what it says.
    pub(crate) fn script(&self, name: &str, word: &str, folder: &Path) -> (bool, String) {
        self.step(&format!("{name} {word}"));
        let mut script = Command::new("sh");
        script.arg(format!("deploy/{name}")).arg(word).arg(folder).current_dir(root()).envs(self.env.iter().cloned());
        let output = script.env("COMPOSE", self.program.join(" ")).output().unwrap();
        (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
    }

    /// From now on it has three brokers.
    pub(crate) fn as_cluster(&mut self) {
        self.set("COMPOSE_FILE", &format!("{FILES}:deploy/compose.cluster.yaml"));
    }

    /// From now on it has one.
    pub(crate) fn as_single(&mut self) {
        self.set("COMPOSE_FILE", FILES);
    }

    #[track_caller]
    pub(crate) fn run(&self, args: &[&str]) -> String {
        let output = self.output(args);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{:?} {args:?}: {said}", self.program);
        String::from_utf8(output.stdout).unwrap()
    }

    /// The containers of a service.
    pub(crate) fn containers(&self, service: &str) -> Vec<String> {
        self.run(&["ps", "--quiet", service]).lines().map(str::to_owned).collect()
    }

    /// Brings it up and waits until everybody is well.
    pub(crate) fn up(&self, more: &[&str]) {
        self.step("up");
        self.run(&[&["up", "-d"], more].concat());
        for service in SERVICES {
            let containers = eventually(service, || Some(self.containers(service)).filter(|found| !found.is_empty()));
            containers.iter().for_each(|container| until_healthy(container));
        }
        self.step("everybody is healthy");
    }

    /// What the documentation says gives the host its credentials.
    pub(crate) fn door(&self, world: &World) -> Door {
        let creds = self.run(&["run", "--rm", "-T", "keys", "operator"]);
        world.write("operator.creds", &creds);
        let port = self.variable("HOLDPOINT_PORT");
        Door { url: format!("nats://127.0.0.1:{port}"), operator: world.path("operator.creds") }
    }
}

impl Drop for Project {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let logs = self.output(&["logs", "--tail", "30"]);
            say(&String::from_utf8_lossy(&logs.stdout));
        }
        self.step("down");
        // With all that it ever had.
        self.as_cluster();
        self.output(&["--profile", "console", "down", "--volumes", "--remove-orphans", "--timeout", "1"]);
    }
}

/// The repository of the first flight's example, on the host.
pub(crate) fn example() -> World {
    let world = World::new(&[]);
    copy(&root().join("examples/first-flight/repo/."), &world.path("repo"));
    world.git(&["add", "--all"]);
    world.git(&["commit", "--quiet", "--message=the example"]);
    world
}
