//! `mcp`: what is refused before a client is heard, and what goes to standard output.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    path::Path,
    process::Stdio,
};

use serde_json::{Value, json};

use crate::lab::Lab;

#[test]
fn mcp_refuses_flags_that_do_not_go_together_before_it_speaks() {
    let lab = Lab::new();
    let refused = lab.run(&["mcp", "--creds", "ann.creds"]);
    refused.refuses(2, &["--nats"]);
    assert_eq!(refused.stdout, "");
    lab.run(&["mcp", "--nats", "nats://127.0.0.1:1", "--as", "human-ann"]).refuses(2, &["--as cannot be used"]);
    let line = [("HOLDPOINT_TURN_SOCKET", Path::new("/nowhere/turn"))];
    for keys in [&["--as", "human-ann"][..], &["--flight", "f"], &["--nats", "nats://127.0.0.1:1", "--creds", "c"]] {
        let refused = lab.run_with(&[&["mcp"], keys].concat(), &line);
        refused.refuses(2, &["cannot be used in an agent's turn"]);
        assert_eq!(refused.stdout, "");
    }
}

#[test]
fn mcp_says_nothing_and_ends_well_when_its_client_goes_and_its_help_teaches() {
    let lab = Lab::new();
    let gone = lab.run(&["mcp", "--repo", "repo"]);
    assert_eq!((gone.code, gone.stdout.as_str(), gone.stderr.as_str()), (Some(0), "", ""));
    let help = lab.run(&["mcp", "--help"]).stdout;
    for word in ["Examples:", "holdpoint mcp --as", "get_task", "complete", "status", "HOLDPOINT_TURN_SOCKET"] {
        assert!(help.contains(word), "{word} in {help}");
    }
}

#[test]
fn mcp_answers_a_message_that_is_too_long_under_its_id_and_goes_on() {
    let lab = Lab::new();
    let mut command = lab.command(&["mcp", "--repo", "repo"]);
    let mut server = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let (mut stdin, mut stdout) = (server.stdin.take().unwrap(), BufReader::new(server.stdout.take().unwrap()));
    let mut ask = |message: &Value| writeln!(stdin, "{message}").unwrap();
    let mut answer = || {
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        serde_json::from_str::<Value>(&line).unwrap()
    };
    let client =
        json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    ask(&json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": client}));
    assert_eq!(answer()["id"], 1);
    ask(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    let arguments = json!({"name": "status", "arguments": {"flight": "x".repeat(2 << 20)}});
    ask(&json!({"method": "tools/call", "params": arguments, "jsonrpc": "2.0", "zid": 0, "id": "long"}));
    let refused = answer();
    assert_eq!(refused["id"], "long");
    assert!(refused["error"]["message"].as_str().unwrap().contains("at most 1048576 bytes"), "{refused}");
    ask(&json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"}));
    let listed = answer();
    assert_eq!((&listed["id"], listed["result"]["tools"].as_array().map(Vec::len)), (&json!(2), Some(3)));
    drop(stdin);
    assert!(server.wait().unwrap().success());
}
