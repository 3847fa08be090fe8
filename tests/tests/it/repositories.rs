//! Repositories as people have them, and several commands on one of them: clear errors or correct work, nothing lost.

use std::{
    ffi::OsStr,
    fs,
    os::unix::{ffi::OsStrExt as _, fs::symlink},
    path::Path,
};

use holdpoint_tests::world::{World, eventually};
use nix::sys::signal::Signal;

/// One waypoint that wants a file `result`.
const PLAN: &str = "plan: small\nwaypoints:\n\
                    \x20 - {id: w, title: t, goal: g, criteria: [{id: c, statement: s, check: 'test -e result'}]}\n";

/// Git with options of the test's own; gives its answer.
fn git_in(world: &World, dir: &Path, args: &[&str]) -> String {
    let dir = dir.to_str().unwrap();
    world.git(&[&["-C", dir], args].concat())
}

/// The first line on standard error that names the flight.
fn flight_of(said: &str) -> Option<String> {
    let line = said.lines().find_map(|line| line.strip_prefix("flight "));
    line.map(|flight| flight.split_whitespace().next().unwrap_or_default().trim_end_matches(':').to_owned())
}

#[test]
fn an_odd_repository_is_flown_like_any_other() {
    let names: [&[u8]; 5] = [b"with space", b"new\nline", b"-rf", b"latin-\xe4\xff", b"quo\"te'"];
    let world = World::new(&[("plain", "text\n"), ("dos.txt", "a\r\nb\r\n"), ("readme.md", "text\n")]);
    let repo = world.path("repo");
    for name in names {
        fs::write(repo.join(OsStr::from_bytes(name)), name).unwrap();
    }
    symlink("nowhere", repo.join("dangling")).unwrap();
    symlink("/absolute", repo.join("absolute")).unwrap();
    symlink("nowhere", repo.join(".gitignore")).unwrap();
    world.write("repo/.gitattributes", "*.bin filter=lfs diff=lfs merge=lfs -text\n*.bat text eol=crlf\n");
    world.write("repo/run.bat", "a\r\n");
    let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 3\n";
    // Without the filter's program installed, git takes the pointer as it is.
    world.write("repo/big.bin", pointer);
    world.git(&["-c", "filter.lfs.required=false", "-c", "filter.lfs.clean=", "add", "--all"]);
    let head = world.git(&["rev-parse", "HEAD"]);
    world.git(&["update-index", "--add", "--cacheinfo", &format!("160000,{},sub", head.trim())]);
    world.git(&["commit", "--quiet", "--message=odd"]);
    world.plan(PLAN);
    let builder = world.program(
        "builder.sh",
        "for f in *; do case $f in *.bin|absolute|dangling|sub) ;; *) echo more >> \"./$f\";; esac; done\n\
         mv readme.md README.md\nchmod +x plain\nrm dangling\nln -s /elsewhere dangling\nmkdir -p empty/inner\n\
         echo done > result",
    );
    let run = world.fly(&builder, &[]);
    run.expect(0);
    assert!(run.stderr.contains("under the filter lfs"), "{}", run.stderr);
    let branch = run.json()["branch"].as_str().unwrap().to_owned();
    let out = world.path("out");
    world.git(&["worktree", "add", "--quiet", "--detach", "--force", out.to_str().unwrap(), &branch]);
    for name in names {
        let text = fs::read(out.join(OsStr::from_bytes(name))).unwrap();
        assert_eq!(text, [name, b"more\n"].concat(), "{:?}", String::from_utf8_lossy(name));
    }
    assert!(out.join("README.md").exists() && !out.join("readme.md").exists() && !out.join("empty").exists());
    assert_eq!(fs::read_link(out.join("dangling")).unwrap(), Path::new("/elsewhere"));
    assert_eq!(fs::read_link(out.join("absolute")).unwrap(), Path::new("/absolute"));
    assert_eq!(world.git(&["show", &format!("{branch}:dos.txt")]), "a\r\nb\r\nmore\n");
    assert_eq!(world.git(&["show", &format!("{branch}:run.bat")]), "a\nmore\n");
    assert_eq!(world.git(&["show", &format!("{branch}:big.bin")]), pointer);
    assert!(world.git(&["ls-tree", &branch, "plain"]).starts_with("100755"));
    assert!(world.git(&["ls-tree", &branch, "sub"]).starts_with("160000"));
}

#[test]
fn what_is_no_work_lands_nowhere_breaks_no_scope_and_is_named_and_a_change_in_a_submodule_is_refused_by_its_path() {
    let world = World::new(&[("src/lib.py", "x = 1\n"), (".gitmodules", "[submodule \"s\"]\n\tpath = lib\n")]);
    let head = world.git(&["rev-parse", "HEAD"]);
    world.git(&["update-index", "--add", "--cacheinfo", &format!("160000,{},lib", head.trim())]);
    world.git(&["commit", "--quiet", "--message=submodule"]);
    world.write("repo/.git/info/exclude", "*.orig\n");
    let check = "criteria: [{id: c, statement: s, check: 'test -e src/result'}]";
    let plan = format!(
        "plan: small\npolicy: {{max_reworks: 0}}\nwaypoints:\n  - {{id: clean, goal: g, scope: [src/result], {check}}}\n  \
         - {{id: linked, goal: g, depends_on: [clean], {check}}}\n"
    );
    world.plan(&plan);
    let builder = world.program(
        "builder.sh",
        "mkdir -p src/__pycache__\necho x > src/__pycache__/lib.cpython-312.pyc\necho x > src/lib.orig\necho done > src/result\n\
         if [ \"$HOLDPOINT_WAYPOINT\" = linked ]; then echo edited > lib/api.txt; fi",
    );
    let run = world.fly(&builder, &[]);
    let flight = run.json();
    assert_eq!(run.waypoint("clean")["status"], "complete", "{}", run.stderr);
    let landed = world.git(&["ls-tree", "-r", "--name-only", flight["branch"].as_str().unwrap()]);
    assert!(landed.contains("src/result") && !landed.contains("pyc") && !landed.contains("orig"), "{landed}");
    let history = world.holdpoint(&["history", "clean", "--flight", flight["flight"].as_str().unwrap()]);
    assert!(
        history.stdout.contains("left out: src/lib.orig (ignored by the flight's rule `*.orig`)"),
        "{}",
        history.stdout
    );
    assert!(history.stdout.contains("left out: src/__pycache__/ (compiled Python)"), "{}", history.stdout);
    let linked = run.waypoint("linked");
    let remedy = linked["remediation"].as_str().unwrap();
    assert!(remedy.contains("lib is a submodule, and api.txt was written there"), "{linked}");
    assert!(run.stderr.contains("lib is a submodule"), "{}", run.stderr);
}

#[test]
fn a_linked_tree_with_the_other_hash_a_detached_head_and_edits_is_no_obstacle() {
    let world = World::new(&[]);
    world.plan(PLAN);
    let (main, linked) = (world.path("other"), world.path("linked"));
    fs::create_dir(&main).unwrap();
    git_in(&world, &main, &["init", "--quiet", "--object-format=sha256"]);
    fs::write(main.join("kept"), "kept\n").unwrap();
    git_in(&world, &main, &["add", "--all"]);
    git_in(&world, &main, &["commit", "--quiet", "--message=begin"]);
    git_in(&world, &main, &["worktree", "add", "--quiet", "--detach", linked.to_str().unwrap()]);
    fs::write(linked.join("kept"), "edited\n").unwrap();
    let builder = world.program("builder.sh", "echo done > result");
    let args = ["run", "plan/plan.yaml", "--repo", "linked", "--json", "--builder", &builder];
    let mut command = world.command(&args);
    command.current_dir(world.path(""));
    let run = world.start_with(command).finish();
    run.expect(0);
    let branch = run.json()["branch"].as_str().unwrap().to_owned();
    assert_eq!(git_in(&world, &main, &["show", &format!("{branch}:result")]), "done\n");
    assert_eq!(git_in(&world, &main, &["show", &format!("{branch}:kept")]), "kept\n");
    assert_eq!(fs::read(linked.join("kept")).unwrap(), b"edited\n");
}

#[test]
fn a_bare_repository_gets_its_branch() {
    let world = World::new(&[("kept", "kept\n")]);
    world.plan(PLAN);
    let bare = world.path("bare.git");
    world.git(&["clone", "--quiet", "--bare", ".", bare.to_str().unwrap()]);
    let builder = world.program("builder.sh", "echo done > result");
    let run = world.holdpoint(&["run", "../plan/plan.yaml", "--repo", "../bare.git", "--json", "--builder", &builder]);
    run.expect(0);
    let branch = run.json()["branch"].as_str().unwrap().to_owned();
    assert_eq!(git_in(&world, &bare, &["show", &format!("{branch}:result")]), "done\n");
}

#[test]
fn two_runs_of_one_plan_at_once_both_finish_on_branches_of_their_own() {
    let world = World::new(&[("kept", "kept\n")]);
    world.plan(PLAN);
    let builder = world.program("builder.sh", "echo done > result");
    let args = world.run_args(&["--builder", &builder]);
    let (one, two) = (world.start(&args), world.start(&args));
    let branches = [one.finish(), two.finish()].map(|run| {
        run.expect(0);
        run.json()["branch"].as_str().unwrap().to_owned()
    });
    assert_ne!(branches[0], branches[1]);
    for branch in branches {
        assert_eq!(world.git(&["show", &format!("{branch}:result")]), "done\n");
    }
}

#[test]
fn a_flight_is_flown_by_one_command_and_others_can_take_its_branch() {
    let world = World::new(&[("kept", "kept\n")]);
    world.plan(PLAN);
    let go = world.path("plan/go");
    let script = format!("while [ ! -e '{}' ]; do sleep 0.05; done\necho done > result", go.display());
    let builder = world.program("builder.sh", &script);
    let running = world.start(&world.run_args(&["--builder", &builder]));
    let flight = eventually("the flight's name", || flight_of(&running.said()));
    let second = world.holdpoint(&["run", "--resume", &flight, "--json"]);
    second.expect(2);
    assert!(second.stderr.contains("holdpoint watch"), "{}", second.stderr);
    assert_eq!(second.json()["error"]["code"], "flight_in_use");
    fs::write(go, "").unwrap();
    let first = running.finish();
    first.expect(0);
    let takers = [0, 1].map(|_| world.start(&["fetch", &flight, "--json"]));
    for taker in takers {
        taker.finish().expect(0);
    }
    let again = world.holdpoint(&["run", "--resume", &flight, "--json"]);
    again.expect(0);
    assert_eq!(again.json()["head"], first.json()["head"]);
}

#[test]
fn a_branch_with_commits_of_its_own_is_refused_before_the_flight_goes_on() {
    let world = World::new(&[("kept", "kept\n")]);
    world.plan(PLAN);
    let builder = world.program("builder.sh", "sleep 600");
    let running = world.start(&world.run_args(&["--builder", &builder]));
    let flight = eventually("the flight's name", || flight_of(&running.said()));
    running.signal(Signal::SIGINT);
    running.finish().expect(130);
    // The program is read again at each turn.
    world.program("builder.sh", "echo done > result");
    let branch = format!("holdpoint/{flight}");
    let tree = world.git(&["write-tree"]);
    let own = world.git(&["commit-tree", "-p", "HEAD", "-m", "mine", tree.trim()]);
    world.git(&["branch", &branch, own.trim()]);
    let refused = world.holdpoint(&["run", "--resume", &flight, "--json"]);
    refused.expect(2);
    assert_eq!(refused.json()["error"]["code"], "branch_diverged");
    assert_eq!(world.git(&["rev-parse", &branch]), own);
    world.git(&["branch", "--move", &branch, "mine"]);
    // One that is only behind is in nobody's way.
    world.git(&["branch", &branch, "HEAD"]);
    let resumed = world.holdpoint(&["run", "--resume", &flight, "--json"]);
    resumed.expect(0);
    assert_eq!(world.git(&["show", &format!("{branch}:result")]), "done\n");
    assert_eq!(world.git(&["rev-parse", "mine"]), own);
}

#[test]
fn a_flight_interrupted_before_it_was_submitted_begins_when_it_is_resumed() {
    let world = World::new(&[("kept", "kept\n")]);
    world.plan(PLAN);
    let builder = world.program("builder.sh", "echo done > result");
    let run = world.fly(&builder, &[]);
    run.expect(0);
    let flight = run.json()["flight"].as_str().unwrap().to_owned();
    // What a command leaves that was killed between remembering its flight and submitting it.
    let records = world.state_folder().unwrap().join("flights");
    let record = fs::read_to_string(records.join(format!("{flight}.json"))).unwrap();
    fs::write(records.join("small-later.json"), record.replace(&flight, "small-later")).unwrap();
    fs::remove_file(world.path("plan/plan.yaml")).unwrap();
    let resumed = world.holdpoint(&["run", "--resume", "small-later", "--json"]);
    resumed.expect(0);
    assert!(resumed.stderr.contains("begins now"), "{}", resumed.stderr);
    assert_eq!(resumed.json()["branch"], "holdpoint/small-later");
    assert_eq!(world.git(&["show", "holdpoint/small-later:result"]), "done\n");
}

#[test]
fn a_plan_of_two_thousand_waypoints_is_taken_and_shown() {
    let world = World::new(&[("kept", "kept\n")]);
    let mut plan = "plan: large\nwaypoints:\n".to_owned();
    for n in 0..2000 {
        let before = if n == 0 { String::new() } else { format!(", depends_on: [w{}]", n - 1) };
        let check = "criteria: [{id: c, statement: It is done, check: 'test -e result'}]";
        plan.push_str(&format!("  - {{id: w{n}, title: Waypoint {n}, goal: Do number {n}{before}, {check}}}\n"));
    }
    world.plan(&plan);
    let builder = world.program("builder.sh", "sleep 600");
    let mut fleet = world.start(&["up", "--builder", &builder]);
    fleet.until_said("serves");
    let submitted = world.holdpoint(&["submit", "../plan/plan.yaml", "--json"]);
    let flight = submitted.expect(0).json()["flight"].as_str().unwrap().to_owned();
    let status = world.holdpoint(&["status", &flight, "--json"]);
    status.expect(0);
    assert_eq!(status.json()["waypoints"].as_array().unwrap().len(), 2000);
    let listed = world.holdpoint(&["status"]);
    assert!(listed.expect(0).stdout.contains(&flight), "{}", listed.stdout);
    fleet.signal(Signal::SIGINT);
    fleet.finish();
}
