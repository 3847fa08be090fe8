//! The clock of our processes jumps by an hour, one way or the other, while a builder is at work.

use holdpoint_faults::CLOCK;
use holdpoint_protocol::journal::Entry;
use holdpoint_tests::{
    account::SoakAccount,
    checker,
    world::{Finished, RunningProcess, World},
};

/// Less than the jump, as is the deadline of every turn.
const BUDGET: &str = "budget: {wall: 30m}\n";
const PLAN: &str = r#"
plan: late
waypoints:
  - {id: w, goal: g, criteria: [{id: c, check: "grep -q done result"}]}
"#;
/// Leaves a mark each time it begins, and waits for leave.
const BUILDER: &str = "mktemp \"$HOME/began.XXXXXX\" > /dev/null\n\
                       while [ ! -e \"$(dirname \"$0\")/go\" ]; do sleep 0.05; done\necho done > result";
const HOUR_MS: i64 = 3_600_000;

fn start(plan: &str) -> (World, RunningProcess) {
    let world = World::new(&[("kept", "as it was\n")]);
    world.plan(plan);
    world.write("faults/clock", "0");
    let builder = world.program("builder.sh", BUILDER);
    let mut command = world.command(&world.run_args(&["--builder", &builder]));
    command.env("HOLDPOINT__AGENTS__BUILDER__WALL", "1m").env("HOLDPOINT__ORCHESTRATOR__QUEUE_GRACE", "1s");
    let mut running = world.start_with(command);
    begun(&world, &mut running, 1);
    (world, running)
}

/// Waits until the builder's program has begun so often.
fn begun(world: &World, running: &mut RunningProcess, times: usize) {
    let home = || world.state_folder().map(|folder| folder.join("agents/builder-1/homes/builder"));
    running.until("the builder's program", || {
        let marks = std::fs::read_dir(home()?).ok()?.flatten();
        let marks = marks.filter(|entry| entry.file_name().to_string_lossy().starts_with("began."));
        (marks.count() >= times).then_some(())
    });
}

fn jump(world: &World, millis: i64) {
    // Whole at once: the clock is read at any moment.
    world.write("faults/clock.part", &millis.to_string());
    std::fs::rename(world.path("faults/clock.part"), world.path(&format!("faults/{CLOCK}"))).unwrap();
}

/// How often a builder was asked.
fn build_turns(world: &World, finished: &Finished) -> usize {
    finished.expect(0);
    assert_eq!(finished.waypoint("w")["attempts"], 1, "{finished}");
    let account = SoakAccount::of(world);
    assert_eq!(checker::findings(&account), Vec::<String>::new());
    let asked = |entry: &Entry| matches!(entry, Entry::Turn(turn) if turn.role.as_str() == "builder");
    account.lines.iter().filter(|line| line.entry.as_ref().is_ok_and(asked)).count()
}

#[test]
fn a_clock_that_jumps_ends_no_turn_and_uses_up_no_budget() {
    for millis in [HOUR_MS, -HOUR_MS] {
        let (world, running) = start(&PLAN.replace("waypoints", &format!("{BUDGET}waypoints")));
        jump(&world, millis);
        world.write("plan/go", "");
        assert_eq!(build_turns(&world, &running.finish()), 1, "off by {millis} ms");
    }
}

#[test]
fn an_orchestrator_that_starts_an_hour_ahead_asks_again_and_no_attempt_is_lost() {
    let (world, mut running) = start(PLAN);
    jump(&world, HOUR_MS);
    running.kill_child(&["orchestrator"]);
    // Its successor believes the system: the turn is long overdue, and is reopened.
    begun(&world, &mut running, 2);
    world.write("plan/go", "");
    assert_eq!(build_turns(&world, &running.finish()), 2);
}
