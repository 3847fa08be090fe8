//! Landed work goes to the user's forge: pushed with their git, and opened by the forge's own program, of which a stand-in keeps what
//! it was called with.

use std::{fs, process::Command};

use holdpoint_tests::world::{Finished, World};

const PLAN: &str = "plan: p\nwaypoints:\n  \
    - {id: a, title: First | of two, goal: Make a, scope: [a], criteria: [{id: there, check: test -f a, red_first: true}]}\n  \
    - {id: b, title: Second, goal: Make b, depends_on: [a], scope: [b], criteria: [{id: there, check: test -f b, red_first: true}]}\n";
const BUILDER: &str = "case $HOLDPOINT_WAYPOINT in a) echo 1 > a ;; b) echo 2 > b ;; esac";
/// Keeps its arguments, a line each, and its input.
const STAND_IN: &str = "printf '%s\\n' \"$@\" >> \"$0.args\"\ncat >> \"$0.input\"\necho https://forge.example/1";

/// A world with a flight that landed, and a remote.
fn flown(address: &str) -> World {
    let world = World::new(&[("README.md", "x\n")]);
    world.plan(PLAN);
    let builder = world.program("builder.sh", BUILDER);
    world.fly(&builder, &[]).expect(0);
    let bare = world.path(address);
    world.git(&["init", "--quiet", "--bare", bare.to_str().unwrap()]);
    world.git(&["remote", "add", "origin", bare.to_str().unwrap()]);
    world
}

/// `pr` with these programs in front of the others.
fn pr(world: &World, args: &[&str]) -> Finished {
    let mut command = world.command(&[&["pr", "latest"], args].concat());
    let path = std::env::var("PATH").unwrap();
    command.env("PATH", format!("{}:{path}", world.path("plan").display()));
    world.start_with(command).finish()
}

fn read(world: &World, name: &str) -> String {
    fs::read_to_string(world.path(&format!("plan/{name}"))).unwrap_or_default()
}

#[test]
fn a_flight_becomes_one_request_with_what_was_wanted_and_shown() {
    let world = flown("github.git");
    world.program("gh", STAND_IN);
    let opened = pr(&world, &["--draft", "--into", "main"]);
    assert_eq!(opened.expect(0).stdout.trim(), "https://forge.example/1", "{opened}");
    let branch = world.git(&["branch", "--list", "--format=%(refname:short)", "holdpoint/*"]);
    let args = read(&world, "gh.args");
    let expected =
        format!("pr\ncreate\n--title\np: 2 of 2 waypoints\n--body-file\n-\n--head\n{branch}--base\nmain\n--draft\n");
    assert_eq!(args, expected);
    let body = read(&world, "gh.input");
    for says in [
        "### a: First \\| of two (`",
        "> Make b\n",
        "| criterion there | ✓ pass | test -f a | `sha256:",
        "holdpoint audit p-",
    ] {
        assert!(body.contains(says), "{says}\n{body}");
    }
    let pushed = world.git(&["ls-remote", "origin"]);
    assert_eq!(pushed, format!("{}\trefs/heads/{branch}", world.git(&["rev-parse", branch.trim()]).trim()));
}

#[test]
fn each_waypoint_becomes_a_request_on_the_one_before_it() {
    let world = flown("gitlab.git");
    world.program("glab", STAND_IN);
    pr(&world, &["--per", "waypoint"]).expect(0);
    let args = read(&world, "glab.args");
    let calls: Vec<&str> = args.split("mr\ncreate\n").skip(1).collect();
    assert_eq!(calls.len(), 2, "{args}");
    assert!(calls[0].contains("--title\nFirst | of two\n") && !calls[0].contains("--target-branch"), "{args}");
    assert!(calls[1].contains("--b\n--target-branch\nholdpoint/") && calls[1].trim_end().ends_with("--a"), "{args}");
    assert_eq!(world.git(&["ls-remote", "origin"]).lines().count(), 2);
}

#[test]
fn without_the_program_title_and_text_are_printed_and_without_a_remote_nothing_is_pushed() {
    let world = flown("github.git");
    let dry = pr(&world, &["--dry-run"]);
    assert!(dry.expect(0).stdout.starts_with("p: 2 of 2 waypoints\n\n"), "{dry}");
    assert_eq!(world.git(&["ls-remote", "origin"]), "", "nothing was pushed");
    // Somebody reads the branch meanwhile.
    let branch = world.git(&["branch", "--list", "--format=%(refname:short)", "holdpoint/*"]);
    world.git(&["checkout", "--quiet", branch.trim()]);
    pr(&world, &["--dry-run"]).expect(0);
    // A PATH with git alone.
    let git = Command::new("sh").args(["-c", "command -v git"]).output().unwrap();
    std::os::unix::fs::symlink(String::from_utf8(git.stdout).unwrap().trim(), world.path("plan/git")).unwrap();
    let mut alone = world.command(&["pr", "latest"]);
    alone.env("PATH", world.path("plan"));
    let printed = world.start_with(alone).finish();
    assert!(printed.expect(0).stdout.contains("### b: Second"), "{printed}");
    assert!(printed.stderr.contains("gh is not on PATH"), "{printed}");
    assert_ne!(world.git(&["ls-remote", "origin"]), "");
    let unknown = pr(&world, &["--remote", "nowhere"]);
    assert!(unknown.expect(2).stderr.contains("no remote nowhere"), "{unknown}");
}
