//! One trace a waypoint, over all processes, as a collector gets it.

mod kills;

use std::{collections::BTreeSet, fs, net::TcpListener, path::Path};

use holdpoint_otlp_sink::ReceivedSpan;
use holdpoint_tests::{
    collector::{Collector, Spans},
    world::{Finished, World},
};
use nix::sys::signal::Signal;

/// Red until `greeting` says hello.
const PLAN: &str = r#"
plan: greet
waypoints:
  - id: hello
    title: t
    goal: g
    scope: ["greeting"]
    criteria:
      - {id: says-hello, statement: s, check: "grep -q hello greeting", red_first: true}
"#;
/// What nobody may find in a trace or a log.
const SECRET: &str = "planted-3f9a1c";

fn world() -> World {
    let world = World::new(&[("greeting", "nothing yet\n")]);
    world.plan(PLAN);
    world
}

/// Every file below the state folder that has this ending, as text.
fn files(dir: &Path, ending: &str) -> Vec<String> {
    let mut texts = Vec::new();
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        if entry.file_type().unwrap().is_dir() {
            texts.extend(files(&path, ending));
        } else if path.to_str().unwrap().ends_with(ending) {
            texts.push(String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned());
        }
    }
    texts
}

fn attribute<'a>(span: &'a ReceivedSpan, name: &str) -> &'a str {
    span.text(name).unwrap_or_else(|| panic!("no {name} in {span:?}"))
}

#[test]
fn a_flight_with_a_rework_is_one_tree() {
    let (world, collector) = (world(), Collector::start());
    let builder = world.program("builder.sh", "echo good morning > greeting");
    let repair = world.program("repair.sh", "echo hello > greeting");
    let run = world.command(&world.run_args(&["--builder", &builder, "--repair", &repair]));
    let run = world.start_with(collector.told_by(run)).finish();
    assert_eq!(run.expect(0).waypoint("hello")["attempts"], 2);

    let spans = collector.spans();
    assert_eq!(spans.traces().len(), 1, "one trace a waypoint");
    assert_eq!(spans.orphans(), Vec::<&ReceivedSpan>::new());
    let root = the_waypoint(&run, &spans);
    let baseline = spans.below(root, "turn baseline");
    let [first, second] = spans.named("turn build")[..] else { panic!("two build turns") };
    let [rejected, accepted] = spans.named("turn verify")[..] else { panic!("two verifications") };
    for turn in [baseline, first, second, rejected, accepted] {
        assert_eq!(turn.parent_span_id.as_ref(), Some(&root.span_id));
        assert_eq!((turn.service(), turn.error.as_deref()), ("holdpoint-orchestrator", None));
        the_messages_of(&spans, turn);
    }
    the_work(&spans, [baseline, first, rejected, second, accepted]);
    the_decisions(&spans, [baseline, first, rejected, second, accepted]);
    let land = spans.below(root, "land");
    assert_eq!(attribute(spans.linked(land, "opened_by"), "holdpoint.disposition"), "accept");
}

/// The root: from the submission to the landing.
fn the_waypoint<'a>(run: &Finished, spans: &'a Spans) -> &'a ReceivedSpan {
    let root = spans.one("waypoint");
    assert_eq!((root.parent_span_id.as_ref(), root.error.as_ref()), (None, None));
    let (flight, commit) = (run.json()["flight"].clone(), run.waypoint("hello")["commit"].clone());
    assert_eq!(root.attributes["holdpoint.flight"], flight);
    assert_eq!(root.attributes["holdpoint.commit"], commit);
    assert_eq!(root.attributes["holdpoint.attempts"], 2);
    for (name, value) in [("waypoint", "hello"), ("status", "complete"), ("disposition", "accept")] {
        assert_eq!(attribute(root, &format!("holdpoint.{name}")), value);
    }
    let all = |bound: fn(&ReceivedSpan) -> u64| spans.0.iter().map(bound);
    assert!(all(|span| span.start_ns).all(|start| start >= root.start_ns), "it begins with the submission");
    assert_eq!(root.events, ["opened"]);
    root
}

/// A turn is sent, taken, answered by a plan and a handoff, and everything is settled.
fn the_messages_of(spans: &Spans, turn: &ReceivedSpan) {
    let (plan, handoff) = if attribute(turn, "holdpoint.purpose") == "build" {
        ("build_plan", "build_artifact")
    } else {
        ("verification_plan", "verification_report")
    };
    let (sent, taken) = (spans.below(turn, "send turn"), spans.below(turn, "process turn"));
    assert_eq!((sent.kind.as_str(), taken.kind.as_str()), ("producer", "consumer"));
    assert_eq!(spans.linked(taken, "sent"), sent);
    assert_eq!(spans.linked(sent, "opened_by").name, "decide");
    assert_eq!(taken.service(), format!("holdpoint-{}", attribute(turn, "holdpoint.role")));
    assert_eq!(attribute(taken, "holdpoint.agent"), attribute(turn, "holdpoint.agent"));
    assert_eq!((&taken.attributes["holdpoint.delivery"], attribute(taken, "holdpoint.settled")), (&1.into(), "done"));
    let queued = spans.below(turn, "queue turn");
    assert!(queued.start_ns >= turn.start_ns && queued.end_ns <= taken.end_ns, "{queued:?} {taken:?}");
    let settled = spans.below(taken, "settle turn");
    assert_eq!((settled.kind.as_str(), attribute(settled, "messaging.operation.name")), ("client", "ack"));
    for kind in [plan, handoff] {
        let sent = spans.below(taken, &format!("send {kind}"));
        let processed = spans.below(turn, &format!("process {kind}"));
        assert_eq!((sent.kind.as_str(), processed.kind.as_str()), ("producer", "consumer"));
        assert_eq!(spans.linked(processed, "sent"), sent);
        assert_eq!(processed.service(), "holdpoint-orchestrator");
        assert_eq!(attribute(processed, "messaging.system"), "nats");
        assert_eq!(attribute(processed, "messaging.destination.name"), attribute(sent, "messaging.destination.name"));
        assert_eq!(attribute(processed, "holdpoint.settled"), "taken");
        assert_eq!(attribute(processed, "holdpoint.turn"), attribute(turn, "holdpoint.turn"));
        assert_eq!(spans.below(processed, &format!("settle {kind}")).kind, "client");
    }
}

/// What the agents did in their turns.
fn the_work(spans: &Spans, [baseline, first, rejected, second, accepted]: [&ReceivedSpan; 5]) {
    for (turn, agent, attempt) in [(first, "builder-1", 1), (second, "repair-1", 2)] {
        let taken = spans.below(turn, "process turn");
        let invoked = spans.below(taken, &format!("invoke_agent {agent}"));
        assert_eq!(attribute(invoked, "gen_ai.operation.name"), "invoke_agent");
        assert_eq!((attribute(invoked, "gen_ai.agent.name"), attribute(invoked, "gen_ai.agent.id")), (agent, agent));
        assert_eq!((&invoked.attributes["process.exit.code"], invoked.error.as_ref()), (&0.into(), None));
        assert_eq!(turn.attributes["holdpoint.attempt"], attempt);
        for step in ["fetch", "clone", "capture", "store"] {
            spans.below(taken, step);
        }
    }
    let checks = [(baseline, "base", "fail", None), (rejected, "handoff", "fail", Some("the check is red"))];
    for (turn, tested, verdict, error) in checks.into_iter().chain([(accepted, "handoff", "pass", None)]) {
        let check = spans.below(spans.below(turn, "process turn"), "check");
        assert_eq!(attribute(check, "holdpoint.criterion"), "says-hello");
        assert_eq!((attribute(check, "holdpoint.tested"), attribute(check, "holdpoint.verdict")), (tested, verdict));
        assert_eq!(check.error.as_deref(), error, "red on the base is what is wanted there");
    }
}

/// Which turn came of which decision.
fn the_decisions(spans: &Spans, [baseline, first, rejected, second, accepted]: [&ReceivedSpan; 5]) {
    let decided_in = |turn: &ReceivedSpan, kind: &str| {
        let processed = spans.below(turn, &format!("process {kind}"));
        spans.below(processed, "decide").clone()
    };
    let opened_by = |turn: &ReceivedSpan| spans.linked(spans.below(turn, "send turn"), "opened_by").clone();
    assert_eq!(opened_by(first), decided_in(baseline, "verification_report"));
    assert_eq!(opened_by(rejected), decided_in(first, "build_artifact"));
    let rework = decided_in(rejected, "verification_report");
    assert_eq!((attribute(&rework, "holdpoint.disposition"), opened_by(second)), ("rework", rework.clone()));
    assert_eq!(attribute(&rework, "holdpoint.reason_code"), "criteria_failed");
    assert_eq!(spans.linked(second, "opened_by"), &rework, "the retry leads to the failing report's decision");
    assert_eq!(opened_by(accepted), decided_in(second, "build_artifact"));
    let accept = decided_in(accepted, "verification_report");
    assert_eq!((attribute(&accept, "holdpoint.disposition"), &accept.error), ("accept", &None));
}

#[test]
fn logs_carry_the_trace_and_nothing_carries_a_secret() {
    let (world, collector) = (world(), Collector::start());
    let builder = world.program("builder.sh", "test \"$TOKEN\" && ! env | grep OTEL_ && echo hello > greeting");
    world.write(
        "plan/fleet.toml",
        &format!("[agents.builder]\ncommand = \"{builder}\"\nenv = {{TOKEN = \"{SECRET}-1\"}}\n"),
    );
    let mut run = collector.told_by(world.command(&world.run_args(&["--config", "../plan/fleet.toml"])));
    run.env("HOLDPOINT__TELEMETRY__LOG_FORMAT", "json").env("HOLDPOINT__TELEMETRY__LOG", "debug");
    run.env("OTEL_EXPORTER_OTLP_HEADERS", format!("x-api-key={SECRET}-2"));
    run.env("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=here");
    world.start_with(run).finish().expect(0);

    let spans = collector.spans();
    let root = spans.one("waypoint");
    assert!(spans.0.iter().all(|span| span.resource["deployment.environment.name"] == "here"));
    let logs = files(&world.path("state"), ".log").concat();
    let lines = logs.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
    let said: Vec<_> = lines.filter(|line| line["trace_id"] == root.trace_id.as_str()).collect();
    for message in ["turn taken", "handed off", "decided"] {
        let line = said.iter().find(|line| line["fields"]["message"] == message);
        let span = line.unwrap_or_else(|| panic!("{message}: {logs}"))["span_id"].as_str().unwrap();
        assert!(spans.0.iter().any(|s| s.span_id == span), "{message} leads to a span");
    }

    let everything = format!("{logs}{}", serde_json::to_string(&spans.0).unwrap());
    let state = world.state_folder().unwrap();
    let keys = [files(&state, ".creds"), files(&state, ".nk"), files(&state, "authority.json")].concat().concat();
    let secrets = keys.split(|c: char| !c.is_ascii_alphanumeric() && !"-_.".contains(c));
    let secrets: BTreeSet<&str> =
        secrets.filter(|word| word.starts_with("eyJ") || (word.len() == 58 && word.starts_with('S'))).collect();
    assert!(!secrets.is_empty(), "{state:?} has keys");
    for secret in secrets.into_iter().chain([SECRET]) {
        assert!(!everything.contains(secret), "{secret} is told");
    }
}

#[test]
fn a_waypoint_that_fails_is_a_failed_trace_with_the_reason() {
    let (world, collector) = (world(), Collector::start());
    world.plan(&PLAN.replace("waypoints:", "policy: {max_reworks: 0}\nwaypoints:"));
    let builder = world.program("builder.sh", "exit 3");
    let run = collector.told_by(world.command(&world.run_args(&["--builder", &builder])));
    world.start_with(run).finish().expect(1);

    let spans = collector.spans();
    assert_eq!((spans.traces().len(), spans.orphans()), (1, Vec::new()));
    let root = spans.one("waypoint");
    assert_eq!((root.error.as_deref(), attribute(root, "holdpoint.status")), (Some("attempts_exhausted"), "failed"));
    assert_eq!(spans.below(root, "turn build").error.as_deref(), Some("agent_failed"));
    let invoked = spans.one("invoke_agent builder-1");
    assert_eq!((&invoked.attributes["process.exit.code"], invoked.error.is_some()), (&3.into(), true));
}

#[test]
fn waypoints_that_race_are_two_traces_and_what_is_merged_is_in_its_own() {
    let (world, collector) = (world(), Collector::start());
    let waypoint =
        |id: &str| format!("  - {{id: {id}, goal: g, criteria: [{{id: c, check: \"test -e {id} && sleep 0.2\"}}]}}\n");
    world.plan(&format!("plan: race\nwaypoints:\n{}{}", waypoint("one"), waypoint("two")));
    let builder = world.program("builder.sh", "touch \"$HOLDPOINT_WAYPOINT\"");
    let run = collector.told_by(world.command(&world.run_args(&["--builder", &builder, "--builders", "2"])));
    world.start_with(run).finish().expect(0);

    let spans = collector.spans();
    assert_eq!((spans.traces().len(), spans.orphans()), (2, Vec::new()));
    let roots = spans.named("waypoint");
    let ids: BTreeSet<_> = roots.iter().map(|root| attribute(root, "holdpoint.waypoint")).collect();
    assert_eq!(ids, BTreeSet::from(["one", "two"]));
    // Behind the other one, or on the head where that landed first.
    let merges = [spans.named("stack"), spans.named("merge")].concat();
    let [merge] = merges.as_slice() else { panic!("{merges:?}") };
    let verified = spans.named("turn verify").into_iter().find(|turn| turn.trace_id == merge.trace_id).unwrap();
    assert_eq!(merge.parent_span_id, verified.parent_span_id);
    let opened = spans.below(merge, "decide");
    assert_eq!(spans.linked(spans.below(verified, "send turn"), "opened_by"), opened);
    assert_eq!(spans.named("land").len(), 2);
}

#[test]
fn a_sampler_takes_a_trace_whole_or_not_at_all() {
    let (world, collector) = (World::new(&[]), Collector::start());
    let waypoint = |n: u32| format!("  - {{id: w{n}, goal: g, criteria: [{{id: c, check: 'true'}}]}}\n");
    world.plan(&format!("plan: many\nwaypoints:\n{}", (1..=4).map(waypoint).collect::<String>()));
    let builder = world.program("builder.sh", "true");
    let args = world.run_args(&["--builder", &builder, "--builders", "2"]);
    let fly = |sampler: &str, ratio: &str| {
        let mut run = collector.told_by(world.command(&args));
        run.env("OTEL_TRACES_SAMPLER", sampler).env("OTEL_TRACES_SAMPLER_ARG", ratio);
        world.start_with(run).finish().expect(0);
        collector.spans()
    };
    assert_eq!(fly("always_off", "").0, Vec::<ReceivedSpan>::new());
    let spans = fly("traceidratio", "0.5");
    assert_eq!(spans.orphans(), Vec::<&ReceivedSpan>::new());
    assert_eq!(spans.named("waypoint").len(), spans.traces().len(), "all processes agree which ones");
}

#[test]
fn a_collector_that_is_away_is_told_once_and_holds_up_nothing() {
    let world = world();
    // A port that nobody listens on.
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let builder = world.program("builder.sh", "echo hello > greeting");
    let mut run = world.command(&world.run_args(&["--builder", &builder]));
    run.env("OTEL_EXPORTER_OTLP_ENDPOINT", format!("http://127.0.0.1:{port}")).env("OTEL_BSP_SCHEDULE_DELAY", "100");
    // One attempt is enough to know.
    run.env("OTEL_EXPORTER_OTLP_TIMEOUT", "200");
    world.start_with(run).finish().expect(0);
    let logs = files(&world.path("state"), ".log");
    let told: Vec<usize> = logs.iter().map(|log| log.matches("traces cannot be exported").count()).collect();
    assert!(told.contains(&1) && told.iter().all(|told| *told <= 1), "{told:?} in {logs:?}");
}

#[test]
fn a_protocol_that_is_not_spoken_is_refused_with_the_one_that_is() {
    let world = world();
    let mut orchestrator = world.command(&["orchestrator"]);
    orchestrator.env("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4318");
    orchestrator.env("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf");
    let refused = world.start_with(orchestrator).finish();
    refused.expect(2);
    for word in ["OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf", "grpc"] {
        assert!(refused.stderr.contains(word), "{word} in {}", refused.stderr);
    }
}

#[test]
fn the_sink_keeps_a_flight_that_can_be_printed_as_a_tree() {
    let world = world();
    // Nobody listens on the first of all ports.
    world.holdpoint(&["otlp-sink", "--healthcheck", "--listen", "127.0.0.1:1"]).expect(3);
    let mut sink = world.start(&["otlp-sink", "--listen", "127.0.0.1:0", "--out", "../traces.jsonl"]);
    sink.until_said(" (OTLP over gRPC)");
    let said = sink.said();
    let (_, rest) = said.split_once("receiving traces on ").unwrap();
    let (listen, _) = rest.split_once(' ').unwrap();
    world.holdpoint(&["otlp-sink", "--healthcheck", "--listen", listen]).expect(0);
    let builder = world.program("builder.sh", "echo hello > greeting");
    let mut run = world.command(&world.run_args(&["--builder", &builder]));
    run.env("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", format!("http://{listen}"));
    run.env("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip");
    let run = world.start_with(run).finish();
    let flight = run.expect(0).json()["flight"].as_str().unwrap().to_owned();
    sink.signal(Signal::SIGTERM);
    sink.finish().expect(0);

    let trace = world.holdpoint(&["trace", &flight, "hello", "--from", "../traces.jsonl"]);
    let lines: Vec<&str> = trace.expect(0).stdout.lines().collect();
    assert!(
        lines[0].starts_with("trace ") && lines[1].starts_with("  waypoint  [holdpoint-orchestrator]"),
        "{lines:#?}"
    );
    for line in [
        "    turn baseline  [",
        "      process turn  [holdpoint-verifier]",
        "        invoke_agent builder-1  [",
        "    land  [",
    ] {
        assert!(lines.iter().any(|shown| shown.starts_with(line)), "{line} in {lines:#?}");
    }
    assert!(!trace.stdout.contains("not there"), "{lines:#?}");
    let last = lines.last().unwrap();
    assert!(last.starts_with("  in all ") && last.contains(" ms in queues, "), "{last}");
    world.holdpoint(&["trace", &flight, "bye", "--from", "../traces.jsonl"]).expect(1);
}
