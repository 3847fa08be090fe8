//! What can be seen of a real flight at its gates: events, work gate by gate, the reports.

use std::{fs::File, net::TcpListener, process::Command};

use holdpoint_otlp_sink::Point;
use holdpoint_tests::{
    collector::Collector,
    world::{World, eventually, scrape},
};
use nix::sys::signal::Signal;
use serde_json::{Value, json};

const PLAN: &str = r#"
plan: watched
workflow: fly-approved
waypoints:
  - {id: w, goal: g, criteria: [{id: c, check: "grep -q done result"}]}
"#;

/// Wrong at first, right after its work was sent back.
const SECOND_TIME: &str = r#"
if [ -e "$HOME/tried" ]; then echo done > result; else touch "$HOME/tried"; echo begun > result; fi"#;

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// `from→to outcome` of each transition.
fn transitions(events: &[Value]) -> Vec<String> {
    let name = |value: &Value| value.as_str().unwrap_or("-").to_owned();
    let transitions = events.iter().filter(|event| event["event"] == "gate_transition");
    transitions.map(|t| format!("{}→{} {}", name(&t["fromGate"]), name(&t["toGate"]), name(&t["outcome"]))).collect()
}

/// Of a waypoint that no flight has, and where there is no room for them.
fn events_that_cannot_be_had(world: &World, flight: &str) {
    for place in [&["events"][..], &["events", flight], &["events", flight, "--follow"]] {
        let unknown = world.holdpoint(&[place, &["--waypoint", "nobody"]].concat());
        assert!(unknown.expect(2).stderr.contains("there is no waypoint nobody in "), "{unknown}");
        assert!(unknown.stderr.contains("hint: there are: w"), "{unknown}");
    }
    let full = File::options().write(true).open("/dev/full").unwrap();
    let lost = world.command(&["events", flight]).stdout(full).output().unwrap();
    let said = String::from_utf8(lost.stderr).unwrap();
    assert!(lost.status.code() == Some(3) && said.contains("cannot write standard output"), "{said}");
}

#[test]
fn events_gates_and_reports_tell_of_a_flight_and_events_follow_it_to_its_end() {
    let world = World::new(&[("readme", "x\n")]);
    world.plan(PLAN);
    assert_eq!(world.holdpoint(&["events"]).expect(0).stdout, "", "nothing was flown yet");
    world.holdpoint(&["events", "nothing-1"]).expect(2);
    let builder = world.program("builder.sh", SECOND_TIME);
    let run = world.fly(&builder, &[]);
    assert_eq!(run.expect(1).json()["status"], "waiting", "for an approval");
    let flight = run.json()["flight"].as_str().unwrap().to_owned();

    let events = world.holdpoint(&["events", &flight]);
    let events = lines(&events.expect(0).stdout);
    let expected = [
        "-→build -",
        "build→verify complete",
        "verify→build needs_review",
        "build→verify complete",
        "verify→approve complete",
    ];
    assert_eq!(transitions(&events), expected);
    let rejections = world.holdpoint(&["events", "--type", "gate_rejection", "--waypoint", "w", "--json"]);
    let [rejection] = lines(&rejections.expect(0).stdout).try_into().unwrap();
    assert_eq!((&rejection["gate"], &rejection["targetGate"]), (&json!("verify"), &json!("build")));
    assert!(rejection["blockers"][0].as_str().unwrap().starts_with("c fail (exit_code)"), "{rejection}");
    assert!(rejection["agent"].as_str().unwrap().starts_with("verifier"), "{rejection}");
    events_that_cannot_be_had(&world, &flight);
    world.holdpoint(&["events", "--type", "gate_party"]).expect(2);

    let task = world.holdpoint(&["task", "w", "--json"]).expect(0).json();
    assert_eq!((&task["status"], &task["gate"]["current"]), (&json!("in_progress"), &json!("approve")));
    let visits: Vec<_> = task["gateHistory"].as_array().unwrap().iter().map(|visit| visit["gate"].clone()).collect();
    assert_eq!(visits, ["build", "verify", "build", "verify"]);
    assert!(world.holdpoint(&["task", "w"]).expect(0).stdout.starts_with("---\nid: \"w\"\n"));
    world.holdpoint(&["task", "nobody"]).expect(2);

    let gates = world.holdpoint(&["gates", "--json"]).expect(0).json();
    let of = |gate: &str| gates["gates"].as_array().unwrap().iter().find(|found| found["gate"] == gate).unwrap();
    let now = &of("approve")["now"][0];
    assert_eq!((&now["waits_for"], &now["waypoint"], &now["flight"]), (&json!("person"), &json!("w"), &json!(flight)));
    assert_eq!((&of("build")["dwell"]["count"], &of("verify")["rejections"]), (&json!(2), &json!(1)));
    assert_eq!(gates["passes"]["mean"], json!(2.0));
    let shown = world.holdpoint(&["gates", &flight]);
    assert!(shown.expect(0).stdout.contains(&format!("w of {flight} waits for a person")), "{shown}");

    let follow = world.start(&["events", &flight, "--follow", "--type", "gate_transition"]);
    eventually("what was there before", || follow.printed().contains("approve").then_some(()));
    world.holdpoint(&["approve", "w", "--summary", "looks right"]).expect(0);
    world.holdpoint(&["run", "--resume", &flight]).expect(0);
    let followed = follow.finish();
    let followed = lines(&followed.expect(0).stdout);
    assert_eq!(transitions(&followed).last().unwrap(), "approve→- complete");
    assert_eq!(followed.last().unwrap()["summary"], "looks right");
    assert!(followed.last().unwrap()["agent"].as_str().unwrap().starts_with("human-"));
    assert_eq!(followed.len(), expected.len() + 1, "each once");

    let report = world.holdpoint(&["report", "--by-agent", "--dora", "--json"]).expect(0).json();
    let agents = report["agents"].as_array().unwrap();
    let builder = agents.iter().find(|agent| agent["roles"] == json!(["builder"])).unwrap();
    assert_eq!(
        (&builder["turns"], &builder["rejected"], &builder["landed"]),
        (&json!(2), &json!(1), &json!(1)),
        "{builder}"
    );
    assert_eq!((&report["dora"]["landed"], &report["dora"]["failed"]), (&json!(1), &json!(0)));
    let shown = world.holdpoint(&["report"]);
    assert!(shown.expect(0).stdout.contains("lead time for changes"), "{shown}");
    assert!(shown.stdout.contains("too few turns in one of the spans to compare"), "{shown}");
    let trend = world.holdpoint(&["report", "--trend", "--days", "2", "--json"]).expect(0).json();
    assert_eq!((&trend["trend"]["days"], &trend["agents"]), (&json!(2), &Value::Null));
    let verify = trend["trend"]["gates"].as_array().unwrap().iter().find(|gate| gate["gate"] == "verify").unwrap();
    assert_eq!((&verify["now"]["rejection_percent"], &verify["before"]["left"]), (&json!(50), &json!(0)), "{verify}");
    assert_eq!(verify["rejections"], "too_few");
}

#[test]
fn the_orchestrator_of_a_local_fleet_serves_metrics_and_other_commands_leave_it_its_port() {
    let world = World::new(&[("readme", "x\n")]);
    world.plan(PLAN);
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let measured = |args: &[&str]| -> Command {
        let mut command = world.command(args);
        command.env("HOLDPOINT__METRICS__LISTEN", address.to_string());
        command
    };
    let builder = world.program("builder.sh", "echo done > result");
    let mut up = world.start_with(measured(&["up", "--builder", &builder]));
    eventually("the fleet", || up.printed().contains("nats://").then_some(()));
    let text = up.until("the metrics", || scrape(address));
    assert!(text.contains("holdpoint_build_info{process=\"orchestrator\""), "{text}");
    let run = world.start_with(measured(&["submit", "../plan/plan.yaml", "--json"])).finish();
    let flight = run.expect(0).json()["flight"].as_str().unwrap().to_owned();
    up.until("the approval", || {
        let waits = "workflow=\"fly-approved\",gate=\"approve\",kind=\"person\"} 1";
        scrape(address).filter(|text| text.contains(waits))
    });
    world.start_with(measured(&["gates", &flight])).finish().expect(0);
    up.signal(Signal::SIGINT);
    up.finish();
}

/// The value of a series as it is served: the metric's name with its suffix, and words of its labels.
fn served(text: &str, name: &str, labels: &[&str]) -> Option<f64> {
    let is_it = |line: &&str| {
        let rest = line.strip_prefix(name);
        rest.is_some_and(|rest| rest.starts_with('{') && labels.iter().all(|label| rest.contains(label)))
    };
    text.lines().find(is_it)?.rsplit(' ').next()?.parse().ok()
}

/// The last series of this name with these labels that a service sent.
fn sent(points: &[Point], service: &str, name: &str, labels: &[(&str, &str)]) -> Option<Point> {
    let is_it = |point: &&Point| {
        let has = |(label, value): &(&str, &str)| point.attributes.get(*label).is_some_and(|found| found == value);
        point.name == name && point.resource["service.name"] == service && labels.iter().all(has)
    };
    points.iter().rfind(is_it).cloned()
}

#[test]
fn the_metrics_of_each_process_arrive_over_otlp_with_the_values_that_are_served() {
    const ORCHESTRATOR: &str = "holdpoint-orchestrator";
    let (world, collector) = (World::new(&[("readme", "x\n")]), Collector::start());
    world.plan(PLAN);
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let builder = world.program("builder.sh", "echo done > result");
    let mut command = collector.told_by(world.command(&["up", "--builder", &builder]));
    command.env("HOLDPOINT__METRICS__LISTEN", address.to_string());
    command.env("HOLDPOINT__METRICS__OTLP", "true").env("HOLDPOINT__METRICS__OTLP_INTERVAL", "1s");
    let mut up = world.start_with(command);
    eventually("the fleet", || up.printed().contains("nats://").then_some(()));
    world.holdpoint(&["submit", "../plan/plan.yaml"]).expect(0);
    let person = [("gate", "approve"), ("kind", "person")];
    let gauge = up.until("the approval", || {
        let sent = sent(&collector.points(), ORCHESTRATOR, "holdpoint_gate_waiting_waypoints", &person);
        sent.filter(|point| point.value > 0.0)
    });
    assert_eq!(gauge.kind, "gauge");
    // The served metrics and those sent last are read together: either may be the older one until nothing moves any
    // more.
    let mut both = |name: &str, suffix: &str, labels: &[(&str, &str)]| {
        let quoted: Vec<String> = labels.iter().map(|(label, value)| format!("{label}=\"{value}\"")).collect();
        let quoted: Vec<&str> = quoted.iter().map(String::as_str).collect();
        up.until(&format!("{name} as it is served"), || {
            let text = scrape(address)?;
            let value = served(&text, &format!("{name}{suffix}"), &quoted).filter(|value| *value > 0.0)?;
            let sent = sent(&collector.points(), ORCHESTRATOR, name, labels)?;
            (sent.value == value).then_some((sent, text))
        })
    };
    both("holdpoint_gate_waiting_waypoints", "", &person);
    let built = [("from_gate", "build"), ("to_gate", "verify"), ("outcome", "complete")];
    let (counter, _) = both("holdpoint_gate_transitions", "_total", &built);
    assert_eq!(counter.kind, "counter");
    assert!(counter.start_ns > 0 && counter.start_ns < counter.time_ns, "{counter:?}");

    let left = [("gate", "build"), ("outcome", "complete")];
    let (duration, text) = both("holdpoint_gate_duration_seconds", "_count", &left);
    let labels = ["gate=\"build\"", "outcome=\"complete\""];
    assert_eq!(duration.kind, "histogram");
    assert_eq!(duration.sum, served(&text, "holdpoint_gate_duration_seconds_sum", &labels));
    assert_eq!(duration.buckets.iter().sum::<u64>() as f64, duration.value);
    assert_eq!(duration.buckets.len(), duration.bounds.len() + 1);

    // Agents serve nothing here, and send what they count all the same.
    let turns = up.until("a builder's turn", || {
        sent(&collector.points(), "holdpoint-builder", "holdpoint_agent_turns", &[("outcome", "done")])
    });
    assert_eq!((turns.value, turns.resource["service.instance.id"].as_str()), (1.0, Some("builder-1")));
    up.signal(Signal::SIGINT);
    up.finish();
}
