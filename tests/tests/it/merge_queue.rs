//! The queue to the branch: what raced is integrated before it is verified, and sent back with what it collided with.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    process::Command,
};

use holdpoint_tests::world::{Finished, World};
use serde_json::Value;

/// A folder that builders may write into, besides their clones; its configuration is `plan/config.toml`.
fn place(world: &World) -> PathBuf {
    let place = world.path("place");
    std::fs::create_dir(&place).unwrap();
    world.write("plan/config.toml", &format!("[agents.builder]\nwrite_paths = [{:?}]\n", place.display().to_string()));
    place
}

/// Script lines of a builder of the waypoints `one` and `two`: both begin on the same base, and what it hears when it
/// is sent back is kept in `place`.
fn racing(place: &Path) -> String {
    let place = place.display();
    format!(
        "touch {place}/$HOLDPOINT_WAYPOINT\n\
         while [ ! -e {place}/one ] || [ ! -e {place}/two ]; do sleep 0.05; done\n\
         if [ -n \"${{HOLDPOINT_FEEDBACK_FILE:-}}\" ]; then\n\
         cp \"$HOLDPOINT_FEEDBACK_FILE\" {place}/feedback.json; cp \"$HOLDPOINT_TURN_FILE\" {place}/turn.json\n\
         cat > {place}/prompt.md\n\
         fi"
    )
}

fn fly_two(world: &World, builder: &str) -> Finished {
    let run = world.fly(builder, &["--builders", "2", "--config", "../plan/config.toml"]);
    run.expect(0);
    run
}

/// What the builder heard whose work came second: its feedback, its turn and its prompt.
fn told(place: &Path) -> (Value, Value, String) {
    let read = |name: &str| std::fs::read_to_string(place.join(name)).unwrap();
    let json = |name: &str| serde_json::from_str(&read(name)).unwrap();
    (json("feedback.json"), json("turn.json"), read("prompt.md"))
}

/// The commits of a flight after its base, oldest first, with their waypoints.
fn landings(world: &World, run: &Finished) -> Vec<(String, String)> {
    let flight = run.json();
    let range = format!("{}..{}", flight["base"].as_str().unwrap(), flight["branch"].as_str().unwrap());
    let format = "--format=%H %(trailers:key=Holdpoint-Waypoint,valueonly,separator=%x2C)";
    let log = world.git(&["log", "--reverse", "--first-parent", format, &range]);
    log.lines()
        .map(|line| line.split_once(' ').map(|(commit, id)| (commit.to_owned(), id.trim().to_owned())).unwrap())
        .collect()
}

/// Checks out a commit and runs these checks in it, as a person who trusts nobody would.
fn green(world: &World, commit: &str, checks: &[String]) {
    let dir = world.path("checked-out");
    world.git(&["worktree", "add", "--quiet", "--detach", dir.to_str().unwrap(), commit]);
    for check in checks {
        let output = Command::new("sh").args(["-c", check]).current_dir(&dir).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{check} is red on {commit}: {said}");
    }
    world.git(&["worktree", "remove", "--force", dir.to_str().unwrap()]);
}

const CALLS: &str = ". ./lib.sh; for call in calls/*; do . \"./$call\" || exit 1; done";

#[test]
fn what_is_green_alone_and_red_together_is_mended_on_the_merge() {
    let world = World::new(&[("lib.sh", "greet() { echo hello; }\n"), ("calls/first", "greet\n")]);
    let place = place(&world);
    // `one` gives a function another name, with all its callers; `two` adds a caller by the old name.
    world.plan(&format!(
        "plan: race\nguards: [{{id: suite, check: '{CALLS}'}}]\nwaypoints:\n\
         \x20 - {{id: one, title: Salute, goal: g, scope: [lib.sh, 'calls/**'], criteria: [{{id: renamed, statement: s, check: 'grep -q salute lib.sh'}}]}}\n\
         \x20 - {{id: two, title: Another call, goal: g, scope: ['calls/**'], criteria: [{{id: called, statement: s, check: 'test -e calls/second'}}]}}\n"
    ));
    let script = "if [ -n \"${HOLDPOINT_FEEDBACK_FILE:-}\" ]; then\n\
                  # Both are in the merge that it starts from.\n\
                  grep -q salute lib.sh; grep -q greet calls/second; sed -i s/greet/salute/ calls/*; exit 0\nfi\n\
                  case $HOLDPOINT_WAYPOINT in\none) sed -i s/greet/salute/ lib.sh calls/*;;\n\
                  two) echo greet > calls/second;;\nesac";
    let run = fly_two(&world, &world.program("builder.sh", &format!("{}\n{script}", racing(&place))));

    let landings = landings(&world, &run);
    let [(commit, first), (head, second)] = landings.as_slice() else { panic!("{landings:?}") };
    let (feedback, turn, prompt) = told(&place);
    assert_eq!((&feedback["reason_code"], &feedback["disposition"]), (&"regression".into(), &"rework".into()));
    let attempts = |waypoint: &str| run.waypoint(waypoint)["attempts"].clone();
    assert_eq!((attempts(first), attempts(second)), (1.into(), 2.into()), "work that is red on what landed is its own");
    let collision = &feedback["collision"];
    assert_eq!((&collision["kind"], &collision["paths"]), (&"red_merge".into(), &serde_json::json!([])));
    assert_eq!(
        (&collision["landed"][0]["waypoint"], &collision["landed"][0]["commit"]),
        (&first.as_str().into(), &commit.as_str().into())
    );
    let failing = &feedback["failing"];
    assert_eq!((failing.as_array().unwrap().len(), &failing[0]["result"]["id"]), (1, &"suite".into()), "{failing}");
    assert!(!failing[0]["result"]["evidence"].as_array().unwrap().is_empty(), "{failing}");
    assert!(failing[0]["output_tail"].as_str().unwrap().contains("greet"), "{failing}");
    // Its base is what landed, and its work so far the merge.
    assert_eq!((&turn["waypoint"], &turn["request"]["base"]), (&second.as_str().into(), &commit.as_str().into()));
    assert_ne!(turn["request"]["start"], turn["request"]["base"]);
    for part in ["collided", first, commit, "`suite`: fail", "You start from the merge"] {
        assert!(prompt.contains(part), "{part} in {prompt}");
    }
    for commit in [commit, head] {
        green(&world, commit, &[CALLS.to_owned()]);
    }
    assert_eq!(world.git(&["show", &format!("{head}:calls/second")]), "salute\n");
}

#[test]
fn a_conflict_tells_who_landed_what_and_where_both_changed_the_same() {
    let world = World::new(&[("shared", "base\n"), ("other", "base\n")]);
    let place = place(&world);
    let waypoint = |id: &str| {
        format!(
            "  - {{id: {id}, title: Adds {id}, goal: g, criteria: [{{id: c, statement: s, check: 'grep -q {id} shared'}}]}}\n"
        )
    };
    world.plan(&format!("plan: race\nwaypoints:\n{}{}", waypoint("one"), waypoint("two")));
    let script = "echo $HOLDPOINT_WAYPOINT >> shared; echo $HOLDPOINT_WAYPOINT > $HOLDPOINT_WAYPOINT";
    let run = fly_two(&world, &world.program("builder.sh", &format!("{}\n{script}", racing(&place))));

    let landings = landings(&world, &run);
    let [(commit, first), (head, second)] = landings.as_slice() else { panic!("{landings:?}") };
    let (feedback, turn, prompt) = told(&place);
    for waypoint in ["one", "two"] {
        assert_eq!(run.waypoint(waypoint)["attempts"], 1, "a landing conflict is no attempt");
    }
    let landed = serde_json::json!([
        {"waypoint": first, "title": format!("Adds {first}"), "commit": commit, "paths": ["shared"]}
    ]);
    let collision = serde_json::json!(
        {"kind": "conflict", "paths": ["shared"], "paths_more": 0, "landed": landed, "landed_more": 0}
    );
    assert_eq!((&feedback["reason_code"], &feedback["collision"]), (&"merge_conflict".into(), &collision));
    let request = &turn["request"];
    assert_eq!(
        (&turn["waypoint"], &request["base"], &request["start"]),
        (&second.as_str().into(), &commit.as_str().into(), &commit.as_str().into())
    );
    for part in ["Both changed:\n\n```\nshared\n```", first, commit, "You start from what landed"] {
        assert!(prompt.contains(part), "{part} in {prompt}");
    }
    assert_eq!(world.git(&["show", &format!("{head}:shared")]), format!("base\n{first}\n{second}\n"));
    let collided = world.holdpoint(&["diff", second, "--attempt", "1"]);
    let shown = &collided.expect(0).stdout;
    assert!(shown.contains(&format!("\n+{second}\n")) && !shown.contains(&format!("\n {first}\n")), "{shown}");
}

#[test]
fn the_same_change_made_twice_lands_once() {
    let world = World::new(&[("shared", "base\n")]);
    let place = place(&world);
    let waypoint = |id: &str| {
        format!(
            "  - {{id: {id}, title: t, goal: g, criteria: [{{id: c, statement: s, check: 'grep -q same shared', red_first: true}}]}}\n"
        )
    };
    world.plan(&format!("plan: race\nwaypoints:\n{}{}", waypoint("one"), waypoint("two")));
    let run = fly_two(&world, &world.program("builder.sh", &format!("{}\necho same > shared", racing(&place))));
    let landings = landings(&world, &run);
    let [(commit, first)] = landings.as_slice() else { panic!("{landings:?}") };
    let second = if first == "one" { "two" } else { "one" };
    let (first, second) = (run.waypoint(first), run.waypoint(second));
    assert_eq!((&first["commit"], &second["commit"]), (&commit.as_str().into(), &Value::Null));
    assert_eq!((&second["status"], &second["reason_code"]), (&"complete".into(), &"criteria_met".into()));
    assert_eq!(run.json()["status"], "accepted");
}

#[test]
fn a_merge_that_carries_a_change_out_of_its_scope_is_sent_back() {
    let world = World::new(&[("src/a", "1\n2\n3\n4\n5\n6\n7\n8\n9\n")]);
    let place = place(&world);
    // `one` moves the file that `two` changes: merged, the change is where `two` has no business. `three` begins when
    // `one` has landed, and until then `two` is at work.
    world.plan(
        "plan: race\nwaypoints:\n\
         \x20 - {id: one, title: t, goal: g, criteria: [{id: c, statement: s, check: 'test -e moved/a'}]}\n\
         \x20 - {id: two, title: t, goal: g, scope: ['src/**'], criteria: [{id: c, statement: s, check: 'cat src/* moved/* | grep -q nine'}]}\n\
         \x20 - {id: three, title: t, goal: g, depends_on: [one], criteria: [{id: c, statement: s, check: 'test -e three'}]}\n",
    );
    let wait = format!("while [ ! -e {0}/three ]; do sleep 0.05; done", place.display());
    let script = format!(
        "if [ -n \"${{HOLDPOINT_FEEDBACK_FILE:-}}\" ]; then\n\
         git checkout -q HEAD~1 -- moved; mkdir -p src; echo nine > src/b; exit 0\nfi\n\
         case $HOLDPOINT_WAYPOINT in\none) mkdir moved; git mv src/a moved/a;;\n\
         two) sed -i s/9/nine/ src/a; {wait};;\nthree) touch {}/three three; git add three;;\nesac",
        place.display()
    );
    let run = fly_two(&world, &world.program("builder.sh", &format!("{}\n{script}", racing(&place))));
    let landings = landings(&world, &run);
    assert_eq!(landings.iter().map(|(_, id)| id.as_str()).collect::<Vec<_>>(), ["one", "three", "two"]);
    let (feedback, ..) = told(&place);
    assert!(feedback["notes"].to_string().contains("moved/a"), "{feedback}");
    assert_eq!(feedback["collision"]["kind"], "red_merge");
    let head = &landings[2].0;
    assert_eq!(world.git(&["ls-tree", "-r", "--name-only", head]), "moved/a\nsrc/b\nthree\n");
    assert_eq!(world.git(&["show", &format!("{head}:moved/a")]), "1\n2\n3\n4\n5\n6\n7\n8\n9\n");
}

/// Waypoints of the big race.
const MANY: usize = 24;
/// Works in the queue at once, unless it is configured.
const DEPTH: usize = 8;
/// No two items have the same number.
const UNIQUE: &str = "test -z \"$(cat numbers/* | sort | uniq -d)\"";

#[test]
fn eight_builders_leave_the_branch_green_at_every_commit() {
    let lines: String = (0..MANY).map(|n| format!("{n}\nbetween\nbetween\nbetween\n")).collect();
    let world = World::new(&[("numbers/first", "0\n"), ("shared", &lines)]);
    let mut plan = format!("plan: many\nguards: [{{id: unique, check: '{UNIQUE}'}}]\nwaypoints:\n");
    let mut checks = BTreeMap::new();
    for n in 0..MANY {
        let id = format!("w{n:02}");
        // Each third builds on the one two before it; each eighth is urgent.
        let on = if n % 3 == 2 { format!(", depends_on: [w{:02}]", n - 2) } else { String::new() };
        let needs = if n % 3 == 2 { format!("test -e items/w{:02} && ", n - 2) } else { String::new() };
        let priority = if n % 8 == 7 { "high" } else { "medium" };
        let check = format!("{needs}test -e items/{id} && grep -qx \"{n} {id}\" shared");
        plan.push_str(&format!(
            "  - {{id: {id}, title: t, goal: g, priority: {priority}{on}, criteria: [{{id: c, statement: s, check: '{check}'}}]}}\n"
        ));
        checks.insert(id, check);
    }
    world.plan(&plan);
    // Every sixth takes the next free number: two that do so at once are green alone and red together.
    let script = "id=$HOLDPOINT_WAYPOINT; n=$(echo $id | sed 's/w0*//'); n=${n:-0}\n\
                  mkdir -p items; touch items/$id; echo x > items/$id\n\
                  sed -i \"s/^$n\\$/$n $id/\" shared\n\
                  if [ $((n % 6)) = 0 ]; then rm -f numbers/$id; echo $(($(cat numbers/* | sort -n | tail -1) + 1)) > numbers/$id; fi";
    let run = world.fly(&world.program("builder.sh", script), &["--builders", "8"]);
    run.expect(0);

    let landings = landings(&world, &run);
    let landed: BTreeSet<&String> = landings.iter().map(|(_, id)| id).collect();
    assert_eq!((landings.len(), landed.len()), (MANY, MANY), "one commit a waypoint");
    let mut so_far = vec![UNIQUE.to_owned()];
    for (commit, id) in &landings {
        so_far.push(checks[id].clone());
        green(&world, commit, &so_far);
    }
    let flight = run.json()["flight"].as_str().unwrap().to_owned();
    let counted: Vec<_> = landings.iter().map(|(_, id)| (id, verified(&world, &flight, id))).collect();
    // Work that leaves the queue has those behind it verified again; nothing else does.
    let left: usize = counted.iter().map(|(_, (_, left))| left).sum();
    for (id, (verified, _)) in &counted {
        assert!(*verified <= left + 1, "{id} was verified {verified} times, and work left the queue {left} times");
    }
    let verified: usize = counted.iter().map(|(_, (verified, _))| verified).sum();
    assert!(verified <= MANY + left * DEPTH, "{verified} verifications, and work left the queue {left} times");
    println!("{verified} verifications for {MANY} waypoints, work left the queue {left} times");
}

/// How often a waypoint's work was verified, and how often it left the queue: it was sent back.
fn verified(world: &World, flight: &str, waypoint: &str) -> (usize, usize) {
    let history = world.holdpoint(&["history", waypoint, "--flight", flight, "--json"]);
    let lines: Vec<Value> = history.expect(0).stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let turns = lines.iter().filter(|line| line["kind"] == "turn").map(|line| &line["artifact"]);
    let verified =
        turns.filter(|turn| ["handoff", "merge"].iter().any(|purpose| turn["request"]["purpose"] == *purpose));
    let sent_back = |line: &&Value| line["artifact"]["decision"]["disposition"] == "rework";
    (verified.count(), lines.iter().filter(sent_back).count())
}
