//! What a fleet of Compose stands still for, by the scripts that the documentation names: a backup that comes back, and a move to three
//! brokers and back. Each with one version of Compose; with every one where `HOLDPOINT_EVERY_COMPOSE` is set.

use std::collections::BTreeSet;

use holdpoint_tests::world::{World, eventually, root};

use crate::{
    engine::Engine,
    flight::{Door, args},
    project::{Project, example},
};

/// Flies the first flight's example, and gives its id.
#[track_caller]
fn fly(world: &World, door: &Door) -> String {
    let plan = root().join("examples/first-flight/plan.yaml");
    let run = world.holdpoint(&args(door, &["run", plan.to_str().unwrap(), "--repo", ".", "--json"]));
    run.expect(0).json()["flight"].as_str().unwrap().to_owned()
}

/// What docs/operations.md says of backups.
#[test]
fn a_fleet_that_was_saved_comes_back_with_keys_and_flights() {
    let Some(_engine) = Engine::take() else { return };
    for project in Project::with_the_oldest() {
        project.up(&[]);
        let world = example();
        let door = project.door(&world);
        let flight = fly(&world, &door);
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
        let status = world.holdpoint(&args(&door, &["status", &flight, "--json"]));
        assert_eq!(status.expect(0).json()["status"], "accepted", "{status}");
        let history = world.holdpoint(&args(&door, &["history", "layovers", "--flight", &flight, "--json"]));
        history.expect(0);
    }
}

/// The flights that the fleet shows.
#[track_caller]
fn flights(world: &World, door: &Door) -> BTreeSet<String> {
    let status = world.holdpoint(&args(door, &["status", "--json"])).expect(0).json();
    status.as_array().unwrap().iter().map(|line| line["flight"].as_str().unwrap().to_owned()).collect()
}

/// What docs/deploy.md says of one broker and three. A flight is flown on each side, and one waits for a person all the time.
#[test]
fn a_fleet_moves_to_three_brokers_and_back() {
    let Some(_engine) = Engine::take() else { return };
    for mut project in Project::with_the_newest() {
        project.up(&[]);
        let world = example();
        let door = project.door(&world);
        let flown = fly(&world, &door);
        let open = a_flight_that_waits(&world, &door);
        let mut expected = BTreeSet::from([flown.clone(), open.clone()]);
        assert_eq!(flights(&world, &door), expected);

        let (moved, said) = project.script("migrate.sh", "cluster", &world.path("three"));
        assert!(moved && said.contains("COMPOSE_FILE="), "{said}");
        project.as_cluster();
        assert_eq!(flights(&world, &door), expected);
        expected.insert(fly(&world, &door));
        a_flight_is_archived(&project, &world, &door, &flown);
        expected.remove(&flown);
        assert_eq!(flights(&world, &door), expected);
        let (again, said) = project.script("migrate.sh", "cluster", &world.path("four"));
        assert!(!again && said.contains("already"), "{said}");

        let (moved, said) = project.script("migrate.sh", "single", &world.path("one"));
        assert!(moved, "{said}");
        project.as_single();
        assert_eq!(flights(&world, &door), expected);
        assert!(project.output(&["ps", "--quiet", "nats-2"]).stdout.is_empty());

        let (back, said) = project.script("migrate.sh", "undo", &world.path("one"));
        assert!(back, "{said}");
        project.as_cluster();
        eventually("the fleet that is back", || (flights(&world, &door) == expected).then_some(()));
        let status = world.holdpoint(&args(&door, &["status", &open, "--json"]));
        assert_eq!(status.expect(0).json()["status"], "waiting", "{status}");
        fly(&world, &door);
    }
}

/// Begins a flight that waits for a person, and gives its id.
#[track_caller]
fn a_flight_that_waits(world: &World, door: &Door) -> String {
    world.write("signed/org.yaml", "roles: {lead: {agents: [human-ann], requireHuman: true}}\n");
    world.write("signed/project.yaml", "workflow: {name: sign, gates: [{id: sign, role: lead, requireHuman: true}]}\n");
    world.write("signed/plan.yaml", "plan: sign\nworkflow: sign\nwaypoints: [{id: w, goal: Sign it}]\n");
    let submitted = world.holdpoint(&args(door, &["submit", "../signed/plan.yaml", "--repo", "../signed"]));
    submitted.expect(0).stdout.trim().to_owned()
}

/// What docs/operations.md says of archives, by a key that the fleet's authority makes.
#[track_caller]
fn a_flight_is_archived(project: &Project, world: &World, door: &Door, flight: &str) {
    project.step("archive");
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
