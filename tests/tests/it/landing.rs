//! Several waypoints: what builds on what, and what is written into the user's repository.

use holdpoint_tests::world::World;

#[test]
fn a_waypoint_builds_on_what_its_dependencies_landed() {
    let world = World::new(&[("a", "1\n")]);
    world.plan(
        "plan: chain\nwaypoints:\n\
         \x20 - {id: second, title: t, goal: g, depends_on: [first], criteria: [{id: c, statement: s, check: 'grep -q 2 a && grep -q 3 b', red_first: true}]}\n\
         \x20 - {id: first, title: t, goal: g, criteria: [{id: c, statement: s, check: 'grep -q 2 a', red_first: true}]}\n",
    );
    let builder = world.program(
        "builder.sh",
        "case $HOLDPOINT_WAYPOINT in first) echo 2 > a;; second) grep -q 2 a; echo 3 > b;; esac",
    );
    let run = world.fly(&builder, &[]);
    run.expect(0);
    let branch = run.json()["branch"].as_str().unwrap().to_owned();
    let log =
        world.git(&["log", "--format=%(trailers:key=Holdpoint-Waypoint,valueonly,separator=%x2C)", &branch, "-2"]);
    assert_eq!(log.split_whitespace().collect::<Vec<_>>(), ["second", "first"]);
}

#[test]
fn dependants_of_failed_work_stay_pending_and_what_landed_before_is_fetched() {
    let world = World::new(&[("a", "1\n")]);
    world.plan(
        "plan: halves\npolicy: {max_reworks: 0}\nwaypoints:\n\
         \x20 - {id: good, title: t, goal: g, criteria: [{id: c, statement: s, check: 'test -e good', red_first: true}]}\n\
         \x20 - {id: bad, title: t, goal: g, depends_on: [good], criteria: [{id: c, statement: s, check: 'test -e bad', red_first: true}]}\n\
         \x20 - {id: after, title: t, goal: g, depends_on: [bad], criteria: [{id: c, statement: s, check: 'test -e after', red_first: true}]}\n",
    );
    let builder = world.program("builder.sh", "touch good; git add good");
    let run = world.fly(&builder, &[]);
    run.expect(1);
    let status = |id: &str| run.waypoint(id)["status"].clone();
    assert_eq!(
        (status("good"), status("bad"), status("after")),
        ("complete".into(), "failed".into(), "pending".into())
    );
    let branch = run.json()["branch"].as_str().unwrap().to_owned();
    assert_eq!(world.git(&["ls-tree", "--name-only", &branch]), "a\ngood\n");
}
