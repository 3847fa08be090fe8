//! The upgrade: a fleet of an earlier build has flights under way in every state, and its processes are replaced one after another by
//! those of this build. Then everything goes on to its end, and the account is sound.
//!
//! `HOLDPOINT_FORMER` names the earlier program; `cargo xtask soak upgrade` builds it.

#![expect(clippy::print_stdout, reason = "a long run tells how it goes")]

use std::{
    fs,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use serde_json::Value;

use super::Terms;
use crate::{
    checker,
    fleet::TestFleet,
    world::{Finished, World, binary},
};

/// Names the program of the earlier build.
pub const FORMER: &str = "HOLDPOINT_FORMER";

/// How long the flight may take to come to where it waits, and to its end afterwards.
const PATIENCE: Duration = Duration::from_secs(120);
const POLL: Duration = Duration::from_millis(200);

/// A waypoint for each state in which an upgrade may find one.
const PLAN: &str = r#"
plan: upgrade
policy: {max_reworks: 1}
waypoints:
  - {id: landed, goal: g, criteria: [{id: c, check: "test -s landed"}]}
  - {id: building, goal: g, criteria: [{id: c, check: "test -s building"}]}
  - {id: verifying, goal: g, criteria: [{id: c, check: "test -s verifying && sleep 15"}]}
  - {id: asking, goal: g, criteria: [{id: c, check: "grep -q blue asking"}]}
  - {id: approving, goal: g, workflow: fly-approved, criteria: [{id: c, check: "test -s approving"}]}
  - {id: held, goal: g, criteria: [{id: c, check: "grep -q good held"}]}
  - {id: behind, goal: g, depends_on: [asking, building], criteria: [{id: c, check: "test -s behind"}]}
"#;

/// How each waypoint stands until people and the builder's program go on. `verifying` is on its way.
const WAITS: [(&str, &str); 6] = [
    ("landed", "complete"),
    ("building", "running"),
    ("asking", "waiting"),
    ("approving", "waiting"),
    ("held", "failed"),
    ("behind", "pending"),
];

/// Who is replaced, in this order.
const ORDERS: [[&str; 5]; 2] = [
    ["orchestrator-1", "verifier-1", "verifier-2", "builder-1", "builder-2"],
    ["builder-1", "verifier-1", "builder-2", "verifier-2", "orchestrator-1"],
];

/// What builders do: one waypoint waits for a word, one asks, and one is wrong until that word.
const BUILDER: &str = r#"
go="$(dirname "$0")/go"
case $HOLDPOINT_WAYPOINT in
  building) n=0; while [ ! -e "$go" ] && [ $n -lt 1200 ]; do sleep 0.2; n=$((n + 1)); done ;;
  asking)
    if ! grep -qs blue "${HOLDPOINT_FEEDBACK_FILE:-/nothing}"; then
      echo '{"type":"ClarificationRequest","question":"Which colour?","options":["red","blue"]}'
      exit 0
    fi
    echo blue > asking
    exit 0 ;;
  held) [ -e "$go" ] || { echo bad >> held; exit 0; } ;;
esac
echo good > "$HOLDPOINT_WAYPOINT""#;

/// Upgrades a fleet in each order.
///
/// # Errors
/// What did not go on, or is not sound.
pub fn run(_: &Terms) -> Result<(), String> {
    let Some(former) = std::env::var_os(FORMER).map(PathBuf::from) else {
        return Err(format!("{FORMER} names no program of an earlier build: `cargo xtask soak upgrade` builds one"));
    };
    println!("| replaced, one after another | entries | by the former build | s |\n|---|---|---|---|");
    for order in ORDERS {
        upgrade(&former, order)?;
    }
    Ok(())
}

fn upgrade(former: &Path, order: [&str; 5]) -> Result<(), String> {
    let begun = Instant::now();
    let mut fleet = fleet(former);
    let flight = submitted(&fleet, former)?;
    stands(&fleet, &flight, &WAITS)?;
    let before = fleet.account().lines.len();
    fleet.by(binary());
    for name in order {
        // Builders hold the turn that waits: it is delivered again.
        if name.starts_with("builder") {
            fleet.kill(name);
        } else {
            drop(fleet.end(name));
        }
        fleet.again(name);
        stands(&fleet, &flight, &WAITS)?;
    }
    fs::write(fleet.world.path("plan/go"), "").map_err(|error| error.to_string())?;
    for act in [&["answer", "asking", "--option", "blue"][..], &["approve", "approving"], &["retry", "held"]] {
        done(&fleet, &[act, &["--flight", &flight]].concat())?;
    }
    let all = WAITS.map(|(waypoint, _)| (waypoint, "complete"));
    stands(&fleet, &flight, &[&all[..], &[("verifying", "complete")]].concat())?;
    done(&fleet, &["fetch", &flight, "--repo", "."])?;
    done(&fleet, &["audit", &flight])?;
    let account = fleet.account();
    let wrong = checker::findings(&account);
    println!("| {} | {} | {before} | {} |", order.join(", "), account.lines.len(), begun.elapsed().as_secs());
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n")) }
}

/// A fleet of the earlier build.
fn fleet(former: &Path) -> TestFleet {
    let world = World::new(&[("readme", "x\n")]);
    world.plan(PLAN);
    let program = world.program("builder.sh", BUILDER);
    let mut fleet = TestFleet::new(world);
    fleet.by(former.to_owned());
    fleet.orchestrator(1);
    for n in 1..=2 {
        fleet.agent("builder", n, Some(&program));
        fleet.agent("verifier", n, None);
    }
    fleet
}

/// Submits by the earlier build; the flight.
fn submitted(fleet: &TestFleet, former: &Path) -> Result<String, String> {
    let submit = fleet.command_of(former, &["submit", "../plan/plan.yaml", "--repo", "."]).finish();
    if submit.code != 0 {
        return Err(format!("submit: {submit}\n{}", fleet.said()));
    }
    Ok(submit.stdout.trim().to_owned())
}

/// Waits until the waypoints have these statuses, as a command of this build shows them.
fn stands(fleet: &TestFleet, flight: &str, expected: &[(&str, &str)]) -> Result<(), String> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let status = fleet.command(&["status", flight, "--json"]).finish();
        let view: Value = serde_json::from_str(&status.stdout).unwrap_or_default();
        let of = |id: &str| {
            let waypoints = view["waypoints"].as_array().into_iter().flatten();
            waypoints.clone().find(|waypoint| waypoint["id"] == id).map(|waypoint| waypoint["status"].clone())
        };
        if expected.iter().all(|(id, wanted)| of(id).is_some_and(|status| status == *wanted)) {
            return Ok(());
        }
        if Instant::now() > deadline {
            return Err(format!("it does not come to {expected:?}: {status}\n{}", fleet.said()));
        }
        std::thread::sleep(POLL);
    }
}

fn done(fleet: &TestFleet, args: &[&str]) -> Result<Finished, String> {
    let finished = fleet.command(args).finish();
    if finished.code == 0 { Ok(finished) } else { Err(format!("{args:?}: {finished}\n{}", fleet.said())) }
}
