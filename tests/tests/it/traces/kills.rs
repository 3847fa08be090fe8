//! What a kill costs a trace.

use std::collections::BTreeSet;

use holdpoint_otlp_sink::ReceivedSpan;
use holdpoint_tests::{collector::Collector, world::World};

use super::{attribute, the_messages_of, world};

/// A builder that waits for the file `go` in the plan's folder, and says in its home that it has begun.
fn waiting_builder(world: &World) -> String {
    let script =
        "touch \"$HOME/began\"; while [ ! -e \"$(dirname \"$0\")/go\" ]; do sleep 0.05; done; echo hello > greeting";
    world.program("builder.sh", script)
}

#[test]
fn another_orchestrator_goes_on_with_the_same_trace() {
    let (world, collector) = (world(), Collector::start());
    let builder = waiting_builder(&world);
    let run = collector.told_by(world.command(&world.run_args(&["--builder", &builder])));
    let mut running = world.start_with(run);
    // Its spans were exported, and it only waits: everything that it had to report is reported.
    running.until("the plan of the build turn", || collector.spans().named("process build_plan").pop().cloned());
    running.kill_child(&["orchestrator"]);
    world.write("plan/go", "");
    running.finish().expect(0);

    let spans = collector.spans();
    let orchestrators = spans.0.iter().filter(|span| span.service() == "holdpoint-orchestrator");
    let orchestrators: BTreeSet<_> = orchestrators.map(|s| s.resource["service.instance.id"].to_string()).collect();
    assert_eq!((orchestrators.len(), spans.traces().len()), (2, 1), "two of them, one trace");
    assert_eq!(spans.orphans(), Vec::<&ReceivedSpan>::new());
    let root = spans.one("waypoint");
    let (built, verified) = (spans.below(root, "turn build"), spans.below(root, "turn verify"));
    assert_ne!(
        spans.below(built, "send turn").resource["service.instance.id"],
        built.resource["service.instance.id"],
        "one opened the turn, the other took its answer"
    );
    the_messages_of(&spans, verified);
}

#[test]
fn a_redelivery_is_linked_to_the_delivery_that_was_lost_and_costs_that_span_alone() {
    let (world, collector) = (world(), Collector::start());
    let builder = waiting_builder(&world);
    let mut run = collector.told_by(world.command(&world.run_args(&["--builder", &builder])));
    run.env("HOLDPOINT__AGENT__ACK_WAIT", "2s");
    let mut running = world.start_with(run);
    running.until("the clone of the first delivery", || collector.spans().named("clone").pop().cloned());
    running.kill_child(&["agent", "builder"]);
    world.write("plan/go", "");
    assert_eq!(running.finish().expect(0).waypoint("hello")["attempts"], 1);

    let spans = collector.spans();
    let turn = spans.one("turn build");
    let taken = spans.below(turn, "process turn");
    assert_eq!(taken.attributes["holdpoint.delivery"], 2);
    let link = taken.links.iter().find(|link| link.attributes["holdpoint.link"] == "earlier_delivery").unwrap();
    let orphans = spans.orphans();
    assert!(!orphans.is_empty(), "what the dead builder had done by then");
    assert!(orphans.iter().all(|orphan| orphan.parent_span_id.as_ref() == Some(&link.span_id)), "{orphans:#?}");
}

#[test]
fn a_turn_that_nobody_answered_is_failed_and_the_one_after_it_leads_there() {
    let (world, collector) = (world(), Collector::start());
    let builder = waiting_builder(&world);
    world.write("faults/clock", "0");
    let mut run = collector.told_by(world.command(&world.run_args(&["--builder", &builder])));
    run.env("HOLDPOINT__AGENTS__BUILDER__WALL", "1m").env("HOLDPOINT__ORCHESTRATOR__QUEUE_GRACE", "1s");
    let mut running = world.start_with(run);
    running.until("the plan of the build turn", || collector.spans().named("process build_plan").pop().cloned());
    // An orchestrator that starts an hour later finds the turn overdue.
    world.write("faults/clock", "3600000");
    running.kill_child(&["orchestrator"]);
    running.until("the other turn", || collector.spans().named("process build_plan").get(1).map(|_| ()));
    world.write("plan/go", "");
    assert_eq!(running.finish().expect(0).waypoint("hello")["attempts"], 1);

    let spans = collector.spans();
    assert_eq!((spans.traces().len(), spans.orphans()), (1, Vec::new()));
    let turns = spans.named("turn build");
    let (failed, answered): (Vec<_>, Vec<_>) = turns.into_iter().partition(|turn| turn.error.is_some());
    let ([failed], [answered]) = (failed.as_slice(), answered.as_slice()) else { panic!("one of each") };
    assert_eq!(failed.error.as_deref(), Some("nobody answered in time"));
    assert_eq!(attribute(spans.below(failed, "process turn"), "holdpoint.settled"), "dropped");
    assert_eq!(spans.linked(spans.below(answered, "send turn"), "earlier_turn"), *failed);
}
