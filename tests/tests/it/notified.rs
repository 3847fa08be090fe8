//! Who hears of stuck work, by a webhook, through real processes.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpListener,
    sync::mpsc,
    thread,
};

use holdpoint_tests::world::World;
use serde_json::{Value, json};

const PROJECT: &str = "owner: human-ann
stakeholders: [human-bob]
workflow:
  name: papers
  gates:
    - {id: look, role: clerk, when: metadata.case.number > 1}
    - {id: file, role: clerk}
";
const ORG: &str = "roles:
  clerk: {agents: [clerk-1]}
  lead: {agents: [human-ann, human-bob]}
";
const PLAN: &str = "plan: papers\nworkflow: papers\nwaypoints:\n  - {id: w, goal: File it.}\n";
const BLOCKED: &str =
    r#"cat > /dev/null; echo '{"outcome": "blocked", "summary": "The drawer is locked.", "blockers": ["no key"]}'"#;

/// Takes everything that is posted to it: the URL, and the bodies.
fn listener() -> (String, mpsc::Receiver<Value>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/hook", listener.local_addr().unwrap());
    let (tell, told) = mpsc::channel();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = BufReader::new(stream.unwrap());
            let mut length = 0;
            loop {
                let mut line = String::new();
                stream.read_line(&mut line).unwrap();
                if let Some(said) = line.to_lowercase().strip_prefix("content-length: ") {
                    length = said.trim().parse().unwrap();
                }
                if line.trim().is_empty() {
                    break;
                }
            }
            let mut body = vec![0; length];
            stream.read_exact(&mut body).unwrap();
            stream.get_mut().write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").unwrap();
            if tell.send(serde_json::from_slice(&body).unwrap()).is_err() {
                return;
            }
        }
    });
    (url, told)
}

#[test]
fn a_webhook_gets_who_is_concerned_by_stuck_work_and_by_a_gate_that_was_left_out_by_mistake() {
    let (url, told) = listener();
    let world = World::new(&[]);
    world.write("desk/project.yaml", PROJECT);
    world.write("desk/org.yaml", ORG);
    world.write("desk/plan.yaml", PLAN);
    world.write("desk/holdpoint.toml", &format!("[notify]\nwebhook = {url:?}\n"));
    let clerk = format!("clerk={}", world.program("clerk.sh", BLOCKED));
    let holdpoint = |args: &[&str]| {
        let mut command = world.command(args);
        command.current_dir(world.path("desk"));
        world.start_with(command).finish()
    };
    let run = holdpoint(&["run", "plan.yaml", "--json", "--config", "holdpoint.toml", "--agent", &clerk]);
    let flight = run.expect(1).json()["flight"].as_str().unwrap().to_owned();

    let held = holdpoint(&["inbox", "--json"]).expect(0).json()["items"][0].clone();
    assert_eq!((&held["kind"], &held["to"]), (&json!("held"), &json!(["human-ann", "human-bob"])), "{held}");
    let shown = holdpoint(&["inbox"]);
    assert!(shown.expect(0).stdout.contains("\n    for human-ann, human-bob\n"), "{shown}");

    let mut told: Vec<Value> = told.try_iter().collect();
    told.sort_by_key(|one| one["kind"].to_string());
    let [over, skipped, stuck] = <[Value; 3]>::try_from(told).unwrap();
    assert_eq!(over, json!({"kind": "flight_over", "flight": flight, "status": "incomplete"}));
    assert_eq!(stuck, held, "the item of the inbox");
    let events = holdpoint(&["events", &flight, "--type", "gate_condition_error"]);
    let event: Value = serde_json::from_str(events.expect(0).stdout.trim()).unwrap();
    let expected = json!({
        "kind": "gate_condition_error", "flight": flight, "waypoint": "w", "gate": "look", "at": event["timestamp"],
        "expression": "metadata.case.number > 1", "error": event["error"], "to": ["human-ann", "human-bob"],
        "ref": event["ref"],
    });
    assert_eq!(skipped, expected);
    assert!(skipped["error"].as_str().is_some_and(|error| !error.is_empty()), "{skipped}");

    let notices = holdpoint(&["inbox", "--json", "--notices", "--flight", &flight]).expect(0).json()["notices"].clone();
    assert_eq!(notices, json!([over, skipped]), "what was sent and waits for nobody");
    let shown = holdpoint(&["inbox", "--notices"]);
    assert!(shown.expect(0).stdout.contains(&format!("\nover  {flight}: incomplete\n")), "{shown}");
}
