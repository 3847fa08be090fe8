//! `holdpoint mcp`: a client of the protocol completes a gate for people, and an agent's program asks from inside its turn.

use std::process::Stdio;

use holdpoint_tests::world::{RunningProcess, World, eventually};
use serde_json::{Value, json};

const PLAN: &str = r#"
plan: signed
workflow: fly-approved
waypoints:
  - {id: w, title: Done at last, goal: Say done., criteria: [{id: c, check: "grep -q done result"}]}
"#;

/// A client, and the server that it started.
struct Client {
    server: RunningProcess,
    id: u64,
}

/// What a tool answered.
#[derive(Debug)]
struct Called {
    text: String,
    is_error: bool,
}

impl Called {
    #[track_caller]
    fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    #[track_caller]
    fn error(&self) -> Value {
        assert!(self.is_error, "{self:?}");
        self.json()["error"].clone()
    }
}

impl Client {
    /// Starts a server and shakes hands.
    fn start(world: &World, args: &[&str]) -> Self {
        let mut command = world.command(args);
        command.stdin(Stdio::piped());
        let mut client = Self { server: world.start_with(command), id: 0 };
        let hello =
            json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
        let server = client.ask("initialize", &hello);
        assert_eq!(
            (&server["serverInfo"]["name"], &server["protocolVersion"]),
            (&json!("holdpoint"), &json!("2025-06-18"))
        );
        client.server.tell(r#"{"jsonrpc": "2.0", "method": "notifications/initialized"}"#);
        client
    }

    /// The result of a request.
    fn ask(&mut self, method: &str, params: &Value) -> Value {
        self.id += 1;
        let id = self.id;
        self.server.tell(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string());
        let printed = |server: &RunningProcess| {
            let printed = server.printed();
            // All of standard output is the protocol's, one message a line.
            let whole = printed.rsplit_once('\n').map_or("", |(whole, _)| whole);
            let messages = whole.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
            messages.into_iter().find(|message| message["id"] == id)
        };
        let reply = eventually("a reply", || printed(&self.server));
        assert!(reply["result"].is_object(), "{reply}");
        reply["result"].clone()
    }

    fn call(&mut self, tool: &str, arguments: &Value) -> Called {
        let result = self.ask("tools/call", &json!({"name": tool, "arguments": arguments}));
        let text = result["content"][0]["text"].as_str().unwrap().to_owned();
        Called { text, is_error: result["isError"] == true }
    }

    fn tools(&mut self) -> Vec<String> {
        let listed = self.ask("tools/list", &json!({}));
        let tools = listed["tools"].as_array().unwrap().iter();
        tools.map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
    }
}

#[test]
fn a_client_of_mcp_completes_a_gate_for_people_after_it_corrected_its_call() {
    let world = World::new(&[("readme", "x\n")]);
    world.plan(PLAN);
    let builder = world.program("builder.sh", "echo done >> result");
    let run = world.fly(&builder, &[]);
    assert_eq!(run.expect(1).json()["status"], "waiting");
    let flight = run.json()["flight"].as_str().unwrap().to_owned();
    let mut client = Client::start(&world, &["mcp", "--as", "human-ann", "--flight", &flight]);
    assert_eq!(client.tools(), ["get_task", "complete", "status"]);

    let task = client.call("get_task", &json!({"waypoint": "w"}));
    assert_eq!(task.text, world.holdpoint(&["task", "w"]).expect(0).stdout.trim_end());
    assert!(task.text.contains("Say done.") && task.text.contains(r#""current":"approve""#), "{task:?}");
    assert_eq!(client.call("get_task", &json!({"waypoint": "no-such"})).error()["code"], "not_found");
    let standing = client.call("status", &json!({})).json();
    assert_eq!(standing["flight"]["flight"], flight);
    assert_eq!(
        (&standing["waiting"][0]["kind"], &standing["waiting"][0]["waypoint"]),
        (&json!("approval"), &json!("w"))
    );

    let mut said = json!({"waypoint": "w", "outcome": "needs_review", "summary": "One line is too short."});
    let error = client.call("complete", &said).error();
    assert_eq!((&error["code"], &error["details"]["requiredField"]), (&json!("missing_blockers"), &json!("blockers")));
    assert!(error["hint"].as_str().unwrap().contains("Example"), "{error}");
    said["blockers"] = json!(["say it twice"]);
    let sent_back = client.call("complete", &said).json();
    assert_eq!((&sent_back["waypoint"]["status"], &sent_back["flight"]), (&json!("running"), &json!(flight)));
    assert!(sent_back["hint"].as_str().unwrap().contains("run --resume"), "{sent_back}");
    // The orchestrators' own refusal.
    let code = client.call("complete", &said).error()["code"].clone();
    assert!(["nothing_open", "answer_late"].contains(&code.as_str().unwrap()), "{code}");

    // The server stays while the flight goes on in another command.
    assert_eq!(world.holdpoint(&["run", "--resume", &flight, "--json"]).expect(1).json()["status"], "waiting");
    let done = json!({"waypoint": "w", "outcome": "complete", "summary": "Read it.", "metadata": {"minutes": 1}});
    let completed = client.call("complete", &done);
    assert!(!completed.is_error, "{completed:?}");
    client.server.close_input();
    let Client { server, .. } = client;
    assert_eq!(server.finish().expect(0).stderr, "");
    assert_eq!(world.holdpoint(&["run", "--resume", &flight, "--json"]).expect(0).json()["status"], "accepted");
    let visits = world.holdpoint(&["task", "w", "--json"]).expect(0).json()["gateHistory"].clone();
    let by_people = |visit: &&Value| visit["agent"] == "human-ann";
    let outcomes: Vec<&Value> = visits.as_array().unwrap().iter().filter(by_people).map(|v| &v["outcome"]).collect();
    assert_eq!(outcomes, ["needs_review", "complete"]);
    world.holdpoint(&["audit", &flight]).expect(0);
}

/// Speaks to a server in its turn: looks at the turn, asks, and builds with the answer. `$1` is a message, `$2` its id.
const ASKS: &str = r#"
code=0; holdpoint mcp --as human-ann < /dev/null 2> refused || code=$?
echo "exit $code" >> refused
mkfifo "$TMPDIR/in"
holdpoint mcp < "$TMPDIR/in" > "$TMPDIR/out" 2> said &
exec 3> "$TMPDIR/in"
request() { printf '%s\n' "$1" >&3; until grep -q "\"id\":$2[,}]" "$TMPDIR/out"; do sleep 0.05; done; }
request '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}' 1
printf '%s\n' '{"jsonrpc":"2.0","method":"notifications/initialized"}' >&3
request '{"jsonrpc":"2.0","id":2,"method":"tools/list"}' 2
request '{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"get_task","arguments":{}}}' 3
request '{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"ask","arguments":{"question":" "}}}' 4
request '{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"ask","arguments":{"question":"Which colour?","options":["red","blue"],"patience":600}}}' 5
request '{"jsonrpc":"2.0","id":6,"method":"tools/call","params":{"name":"complete","arguments":{"outcome":"complete","summary":"s \ud83d"}}}' 6
request '{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"status","arguments":{}}}' 7
request '{"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"name":"context","arguments":{"part":"goal"}}}' 8
request '{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"plan","arguments":{"targets":["result"]}}}' 9
exec 3>&-
wait
cp "$TMPDIR/out" replies; echo done > result"#;

#[test]
fn calls_that_a_client_sends_at_once_are_answered_in_their_order() {
    let world = World::new(&[]);
    let client = Client::start(&world, &["mcp"]);
    let call = |id: u64| {
        let params = json!({"name": "get_task", "arguments": {"waypoint": "w"}});
        json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}).to_string()
    };
    let sent: Vec<u64> = (100..130).collect();
    let Client { mut server, .. } = client;
    server.tell(&sent.iter().map(|id| call(*id)).collect::<Vec<_>>().join("\n"));
    let answered = eventually("all replies", || {
        let printed = server.printed();
        let whole = printed.rsplit_once('\n').map_or("", |(whole, _)| whole);
        let ids = whole.lines().filter_map(|line| serde_json::from_str::<Value>(line).unwrap()["id"].as_u64());
        let ids: Vec<u64> = ids.filter(|id| sent.contains(id)).collect();
        (ids.len() == sent.len()).then_some(ids)
    });
    assert_eq!(answered, sent);
}

#[test]
fn a_program_in_a_turn_asks_by_mcp_without_any_key() {
    let world = World::new(&[("readme", "x\n")]);
    world.plan(&PLAN.replace("workflow: fly-approved\n", ""));
    let builder = world.program("builder.sh", ASKS);
    let mut running = world.start(&world.run_args(&["--builder", &builder]));
    running.until("the question", || {
        let inbox = world.holdpoint(&["inbox", "--json"]).expect(0).json();
        inbox["items"].as_array().unwrap().iter().any(|item| item["question"] == "Which colour?").then_some(())
    });
    world.holdpoint(&["answer", "w", "--option", "blue"]).expect(0);
    let run = running.finish();
    assert_eq!(run.expect(0).json()["status"], "accepted", "{run}");
    let branch = run.json()["branch"].as_str().unwrap().to_owned();
    let file = |name: &str| world.git(&["show", &format!("{branch}:{name}")]);
    assert!(file("refused").contains("cannot be used in an agent's turn") && file("refused").ends_with("exit 2\n"));
    assert_eq!(file("said"), "");
    let replies: Vec<Value> = file("replies").lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let result = |id: u64| replies.iter().find(|reply| reply["id"] == id).unwrap()["result"].clone();
    let text = |id: u64| -> Value { serde_json::from_str(result(id)["content"][0]["text"].as_str().unwrap()).unwrap() };
    let tools: Vec<Value> = result(2)["tools"].as_array().unwrap().iter().map(|tool| tool["name"].clone()).collect();
    assert_eq!(tools, ["get_task", "context", "complete", "status", "plan", "ask", "help"]);
    assert_eq!((&text(3)["waypoint"], &text(3)["request"]["goal"]), (&json!("w"), &json!("Say done.")));
    assert_eq!(text(9), json!({"recorded": "plan"}));
    assert_eq!((&result(4)["isError"], &text(4)["error"]["code"]), (&json!(true), &json!("invalid_question")));
    assert_eq!((&text(5)["became"], &text(5)["answer"]["option"]), (&json!("answer"), &json!("blue")));
    assert_eq!((&result(6)["isError"], &text(6)["error"]["code"]), (&json!(true), &json!("not_completed_here")));
    let standing = text(7);
    assert_eq!((&standing["attempt"], &standing["answered"][0]["option"]), (&json!(1), &json!("blue")));
    assert_eq!(text(8)["text"], "Say done.");
}
