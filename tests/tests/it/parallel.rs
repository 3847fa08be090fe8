//! Waypoints that are flown at once: merges that are verified again, and conflicts.

use holdpoint_tests::world::World;

fn plan(checks: [&str; 2]) -> String {
    format!(
        "plan: race\nguards: [{{id: whole, check: 'test -e shared'}}]\nwaypoints:\n\
         \x20 - {{id: one, title: t, goal: g, criteria: [{{id: c, statement: s, check: '{}'}}]}}\n\
         \x20 - {{id: two, title: t, goal: g, criteria: [{{id: c, statement: s, check: '{}'}}]}}\n",
        checks[0], checks[1]
    )
}

/// Script lines that wait until the other builder is at work as well: both begin on the same base.
fn meet(world: &World) -> String {
    let place = world.path("meet");
    std::fs::create_dir(&place).unwrap();
    world.write("plan/config.toml", &format!("[agents.builder]\nwrite_paths = [{:?}]\n", place.display().to_string()));
    let place = place.display();
    format!(
        "touch {place}/$HOLDPOINT_WAYPOINT\nwhile [ ! -e {place}/one ] || [ ! -e {place}/two ]; do sleep 0.05; done"
    )
}

#[test]
fn work_that_raced_is_merged_and_the_merge_is_verified_before_it_lands() {
    let world = World::new(&[("shared", "base\n")]);
    world.plan(&plan(["test -e one", "test -e two"]));
    let builder = world.program("builder.sh", &format!("{}\necho x > $HOLDPOINT_WAYPOINT", meet(&world)));
    let run = world.fly(&builder, &["--builders", "2", "--config", "../plan/config.toml"]);
    run.expect(0);
    let flight = run.json();
    let branch = flight["branch"].as_str().unwrap();
    assert_eq!(world.git(&["ls-tree", "--name-only", branch]), "one\nshared\ntwo\n");
    assert_eq!(world.git(&["rev-list", "--count", "--first-parent", branch]).trim(), "3", "one commit a waypoint");
    assert_eq!(world.git(&["rev-list", "--count", "--merges", branch]).trim(), "0");
}

#[test]
fn a_conflict_is_built_again_on_what_landed_and_is_no_attempt() {
    let world = World::new(&[("shared", "base\n")]);
    world.plan(&plan(["grep -q one shared", "grep -q two shared"]));
    // Each adds its own line at the same place; the one that comes second has to look at what is there.
    let script = "grep -q $HOLDPOINT_WAYPOINT shared || echo $HOLDPOINT_WAYPOINT >> shared";
    let builder = world.program("builder.sh", &format!("{}\n{script}", meet(&world)));
    let run = world.fly(&builder, &["--builders", "2", "--config", "../plan/config.toml"]);
    run.expect(0);
    for waypoint in ["one", "two"] {
        assert_eq!(run.waypoint(waypoint)["attempts"], 1);
    }
    assert!(run.stderr.contains("merge_conflict"), "{}", run.stderr);
    let branch = run.json()["branch"].as_str().unwrap().to_owned();
    let text = world.git(&["show", &format!("{branch}:shared")]);
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["base", "one", "two"]);
}
