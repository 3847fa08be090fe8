//! What is looked at before anything is built.

use holdpoint_tests::world::World;

fn flown(plan: &str) -> serde_json::Value {
    let world = World::new(&[("greeting", "hello\n")]);
    world.plan(plan);
    let builder = world.program("builder.sh", "echo changed > greeting");
    let waypoint = world.fly(&builder, &[]).expect(1).waypoint("w");
    assert_eq!((&waypoint["status"], &waypoint["disposition"]), (&"blocked".into(), &"escalate".into()), "{waypoint}");
    assert_eq!(waypoint["attempts"], 0);
    waypoint
}

#[test]
fn a_guard_that_is_red_on_the_base_keeps_everything_from_being_built() {
    let waypoint = flown(
        "plan: p\nguards: [{id: g, check: 'false'}]\nwaypoints:\n  - {id: w, title: t, goal: g, criteria: [{id: c, statement: s, check: 'true'}]}\n",
    );
    assert_eq!(waypoint["reason_code"], "guard_red");
}

#[test]
fn a_check_that_is_green_before_any_work_shows_nothing() {
    let waypoint = flown(
        "plan: p\nwaypoints:\n  - {id: w, title: t, goal: g, criteria: [{id: c, statement: s, check: 'grep hello greeting', red_first: true}]}\n",
    );
    assert_eq!(waypoint["reason_code"], "not_red");
}

#[test]
fn a_criterion_that_nobody_can_judge_is_a_persons_matter_at_once() {
    let waypoint =
        flown("plan: p\nwaypoints:\n  - {id: w, title: t, goal: g, criteria: [{id: c, statement: It reads well}]}\n");
    assert_eq!(waypoint["reason_code"], "judge_missing");
}

#[test]
fn a_guard_that_turns_red_rolls_the_work_back_to_the_base() {
    let world = World::new(&[("greeting", "hello\n"), ("kept", "kept\n")]);
    world.plan(
        "plan: p\nguards: [{id: g, check: 'grep -q kept kept'}]\nwaypoints:\n  - {id: w, title: t, goal: g, criteria: [{id: c, statement: s, check: 'grep -q bye greeting', red_first: true}]}\n",
    );
    // The second turn starts from the base again: the file is back although the first turn deleted it.
    let builder = world.program("builder.sh", "if [ $HOLDPOINT_ATTEMPT = 1 ]; then rm kept; fi; test $HOLDPOINT_ATTEMPT = 1 || grep -q hello greeting; echo bye > greeting");
    let run = world.fly(&builder, &[]);
    run.expect(0);
    assert_eq!(run.waypoint("w")["attempts"], 2);
    assert!(run.stderr.contains("regression"), "{}", run.stderr);
}

#[test]
fn a_judge_decides_where_there_is_no_check() {
    let world = World::new(&[("greeting", "hello\n")]);
    world.plan("plan: p\npolicy: {max_reworks: 0}\nwaypoints:\n  - {id: w, title: t, goal: g, criteria: [{id: c, statement: It is polite}]}\n");
    let builder = world.program("builder.sh", "echo please > greeting");
    let kind = world.program(
        "kind.sh",
        "grep -q please greeting; echo '{\"verdict\": \"pass\", \"evidence\": [\"greeting:1\"], \"doubts\": []}'",
    );
    world.fly(&builder, &["--judge", &kind]).expect(0);
    let idle = world.program("idle.sh", "echo '{\"verdict\": \"pass\", \"evidence\": [], \"doubts\": []}'");
    let run = world.fly(&builder, &["--judge", &idle]);
    assert_eq!(run.expect(1).waypoint("w")["criteria"][0]["reason"], "judge_without_evidence");
}
