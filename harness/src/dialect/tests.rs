use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::backend::markers;

mod refused;

/// What real programs printed, trimmed.
macro_rules! recorded {
    ($name:literal) => {
        include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/", $name, ".jsonl")).as_slice()
    };
}
use recorded;

fn claude(stdout: &[u8]) -> Said {
    read(Dialect::Claude, stdout, None)
}

fn codex(stdout: &[u8]) -> Said {
    read(Dialect::Codex, stdout, None)
}

fn words(said: &Said) -> &str {
    std::str::from_utf8(&said.text).unwrap()
}

fn tokens(input: u64, output: u64) -> Option<AgentUsage> {
    Some(AgentUsage { input, output, ..AgentUsage::default() })
}

#[test]
fn the_costs_of_a_runs_sessions_add_up_and_a_later_total_of_one_replaces_its_earlier_one() {
    let total = |session: &str, dollars: f64| {
        format!("{{\"type\":\"result\",\"session_id\":\"{session}\",\"total_cost_usd\":{dollars}}}\n")
    };
    let cost = |lines: &[String]| claude(lines.concat().as_bytes()).cost_micro_usd;
    assert_eq!(cost(&[total("a", 0.25), total("a", 0.5)]), Some(500_000));
    assert_eq!(cost(&[total("a", 0.25), total("b", 0.5)]), Some(750_000));
    assert_eq!(cost(&[total("a", 0.25), total("b", 0.5), total("a", 0.75)]), Some(1_250_000));
    let unnamed = "{\"type\":\"result\",\"session_id\":\"b\"}\n".to_owned();
    assert_eq!(cost(&[total("a", 0.25), unnamed]), Some(250_000));
}

#[test]
fn both_agents_say_the_same_of_the_same_work() {
    let (one, other) = (claude(recorded!("claude-done")), codex(recorded!("codex-done")));
    for said in [&one, &other] {
        assert_eq!(words(said), "Done.\n\n<waypoint-complete>w1</waypoint-complete>\n");
        assert_eq!((said.usage, said.tool_calls), (tokens(2400, 68), Some(1)));
        assert!(said.finished && said.error.is_none() && said.refused.is_none() && said.unread == 0);
        let markers = markers::read(&said.text, b"", "", markers::Contract::default()).markers;
        assert_eq!(markers.completions[0].text, "w1");
    }
    assert_eq!(one.session.as_deref(), Some("8260d20e-d484-4adb-8634-935a09630c37"));
    assert_eq!(other.session.as_deref(), Some("01a210c5-8d3e-7132-b243-854cb4426604"));
    assert_eq!((one.cost_micro_usd, other.cost_micro_usd), (Some(10_960), None));
    assert_eq!(one.doing.as_deref(), Some("Bash printf hello > made.txt; cat made.txt"));
}

#[test]
fn a_session_that_is_gone_on_with_is_metered_for_its_last_run_only() {
    let said = claude(recorded!("claude-resumed"));
    assert_eq!((said.usage, said.cost_micro_usd), (tokens(1200, 34), Some(5_480)));
    let before = codex(recorded!("codex-done")).continuation().unwrap();
    let said = read(Dialect::Codex, recorded!("codex-resumed"), Some(&before));
    assert_eq!((said.usage, said.session_usage), (tokens(1200, 34), tokens(3600, 102)));
    assert_eq!(said.session.as_deref(), Some(before.session.as_str()));
}

#[test]
fn words_that_come_in_pieces_calls_and_tokens_of_gemini_are_read() {
    let gemini = |bytes: &[u8]| read(Dialect::Gemini, bytes, None);
    let said = gemini(recorded!("gemini-done"));
    assert_eq!(words(&said), "I make it.\n\nDone.\n\n<waypoint-complete>w1</waypoint-complete>\n");
    assert_eq!(said.answer(), b"Done.\n\n<waypoint-complete>w1</waypoint-complete>\n");
    assert_eq!(said.usage, Some(AgentUsage { input: 2_000, output: 68, cache_read: 400, cache_write: 0 }));
    assert_eq!((said.tool_calls, said.doing.as_deref()), (Some(1), Some("run_shell_command printf hello > made.txt")));
    assert_eq!(said.session.as_deref(), Some("48a3c75b-e647-4223-b8c8-dc875e57a9ee"));
    assert!(said.finished && said.error.is_none() && said.refused.is_none());
    let killed = gemini(&recorded!("gemini-done")[..700]);
    assert!(!killed.finished && killed.tool_calls.is_some(), "{killed:?}");
}

#[test]
fn a_provider_that_refuses_for_the_time_being_is_told_from_other_failures() {
    let status = |said: &Said| said.refused.and_then(|limited| limited.status);
    for (said, expected, error) in [
        (claude(recorded!("claude-rate-limited")), Some(429), Some("API Error: Request rejected (429) · rate limited")),
        (claude(recorded!("claude-overloaded-then-done")), None, None),
        (
            codex(recorded!("codex-rate-limited")),
            Some(429),
            Some("exceeded retry limit, last status: 429 Too Many Requests"),
        ),
        (
            codex(recorded!("codex-overloaded")),
            Some(503),
            Some("unexpected status 503 Service Unavailable: overloaded, url: http://127.0.0.1:8080/v1/responses"),
        ),
        (
            codex(recorded!("codex-stream-cut")),
            None,
            Some("stream disconnected before completion: stream closed before response.completed"),
        ),
    ] {
        assert_eq!((status(&said), said.error.as_deref()), (expected, error));
        assert!(said.finished);
    }
    let said = claude(recorded!("claude-stream-cut"));
    assert!(said.refused.is_none() && said.error.unwrap().contains("stream_truncated") && said.text.is_empty());
    let rejected = br#"{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":1800000000},"session_id":"s"}"#;
    let until = Some(1_800_000_000);
    let lasting = |status, until| Some(ProviderRefusal { kind: RefusalKind::Lasting, status, until });
    assert_eq!(claude(rejected).refused, lasting(Some(429), until));
    let quota = "{\"type\":\"turn.failed\",\"error\":{\"message\":\"You\u{2019}ve hit your usage limit.\"}}";
    assert_eq!(codex(quota.as_bytes()).refused, lasting(None, None));
}

#[test]
fn a_conversation_that_is_too_long_is_seen() {
    for said in [claude(recorded!("claude-context-full")), codex(recorded!("codex-context-full"))] {
        assert!(said.context_full && said.finished && said.refused.is_none(), "{said:?}");
    }
    assert!(!claude(recorded!("claude-done")).context_full);
}

#[test]
fn a_run_that_was_killed_has_what_there_was_and_no_end() {
    let said = claude(recorded!("claude-killed"));
    assert_eq!((said.usage, said.tool_calls, said.finished), (tokens(1200, 1), Some(1), false));
    assert!(said.session.is_some());
    let said = codex(recorded!("codex-killed"));
    assert_eq!((said.usage, said.tool_calls, said.finished), (None, Some(1), false));
    let cut = recorded!("claude-done");
    let said = claude(&cut[..cut.len() - 40]);
    assert_eq!((said.finished, said.unread), (false, 1));
}

#[test]
fn a_tool_that_was_not_allowed_is_named() {
    assert_eq!(claude(recorded!("claude-denied")).permission, ["Bash"]);
    let declined =
        br#"{"type":"item.completed","item":{"id":"i","type":"command_execution","command":"rm","status":"declined"}}"#;
    let said = codex(declined);
    assert_eq!((said.permission.as_slice(), said.tool_calls), (["command_execution".to_owned()].as_slice(), Some(1)));
}

#[test]
fn words_of_sub_agents_and_tools_are_not_the_agents() {
    let line = |parent: &str, text: &str| {
        format!(
            "{{\"type\":\"assistant\",\"parent_tool_use_id\":{parent},\"message\":{{\"id\":\"m\",\"content\":[{{\"type\":\"text\",\"text\":\"{text}\"}}]}}}}\n"
        )
    };
    let tool =
        "{\"type\":\"user\",\"message\":{\"content\":[{\"type\":\"tool_result\",\"content\":\">>>HELP<<<\"}]}}\n";
    let said = claude(format!("{}{tool}{}", line("\"t\"", ">>>HELP<<<"), line("null", "mine")).as_bytes());
    assert_eq!(words(&said), "mine\n");
    assert_eq!(markers::read(&said.text, b"", "", markers::Contract::default()).help, None);
}

#[test]
fn a_quotation_that_one_message_leaves_open_does_not_hide_the_next() {
    let say = |text: &str| {
        let item = serde_json::json!({"type": "item.completed", "item": {"type": "agent_message", "text": text}});
        format!("{item}\n")
    };
    let said = codex(format!("{}{}", say("see\n````\n>>>HELP<<<"), say(">>>HELP<<<\n{\"a\": 1}")).as_bytes());
    let help = markers::read(&said.text, b"", "", markers::Contract::default()).help.unwrap();
    assert_eq!(help.context, Some(serde_json::json!({"a": 1})));
    assert_eq!(said.answer(), b">>>HELP<<<\n{\"a\": 1}\n");
    let quoted = codex(say("```\n>>>HELP<<<\n```").as_bytes());
    assert_eq!(markers::read(&quoted.text, b"", "", markers::Contract::default()).help, None);
}

#[test]
fn what_a_script_around_the_program_prints_is_said_too() {
    let said = claude(b"starting\n{\n  \"outcome\": \"complete\"\n}\n{\"summary\": \"s\"}\n{\"duration_ms\": 3, \"ty");
    assert_eq!(words(&said), "starting\n{\n  \"outcome\": \"complete\"\n}\n{\"summary\": \"s\"}\n");
    assert_eq!(said.unread, 1);
}

#[test]
fn hostile_output_stays_within_bounds() {
    let long = format!("{{\"type\":\"x\",\"y\":\"{}\"}}\nplain\n", "z".repeat(lines::LINE_BYTES_MAX));
    let said = codex(long.as_bytes());
    assert_eq!((said.unread, words(&said)), (1, "plain\n"));
    for session in ["--dangerous", "a b", "$(reboot)", "", "a/../b", &"a".repeat(200)] {
        let line = serde_json::json!({"type": "thread.started", "thread_id": session}).to_string();
        assert_eq!(codex(line.as_bytes()).session, None, "{session}");
    }
    let error =
        serde_json::json!({"type": "error", "message": format!("\u{1b}[2J{}", "e".repeat(1 << 20))}).to_string();
    let error = codex(error.as_bytes()).error.unwrap();
    assert!(error.len() <= 2 << 10 && !error.contains('\u{1b}'));
    let cost = |dollars: &str| {
        let line =
            format!("{{\"type\":\"result\",\"total_cost_usd\":{dollars},\"usage\":{{\"input_tokens\":{}}}}}", u64::MAX);
        claude(format!("{line}\n{line}\n").as_bytes())
    };
    assert_eq!((cost("-1").cost_micro_usd, cost("1e300").cost_micro_usd), (None, None));
    assert_eq!(cost("0.25").usage.unwrap().total(), u64::MAX);
    let denied: Vec<_> = (0..100).map(|n| serde_json::json!({"tool_name": format!("t{n}")})).collect();
    let line = serde_json::json!({"type": "result", "permission_denials": denied}).to_string();
    assert_eq!(claude(line.as_bytes()).permission.len(), 16);
}

#[test]
fn a_plain_program_says_what_it_prints() {
    let said = read(Dialect::Plain, b"{\"type\":\"result\"}\n\xff", None);
    assert_eq!(
        (said.text.as_slice(), said.answer()),
        (b"{\"type\":\"result\"}\n\xff".as_slice(), said.text.as_slice())
    );
    assert!(said.finished && said.usage.is_none() && said.tool_calls.is_none());
}

proptest! {
    #[test]
    fn how_a_stream_is_cut_makes_no_difference(cuts in prop::collection::vec(1usize..400, 1..40), which in 0usize..5) {
        let (dialect, bytes) = [
            (Dialect::Claude, recorded!("claude-done")),
            (Dialect::Claude, recorded!("claude-context-full")),
            (Dialect::Codex, recorded!("codex-done")),
            (Dialect::Gemini, recorded!("gemini-done")),
            (Dialect::Plain, recorded!("codex-overloaded")),
        ][which];
        let mut reader = DialectReader::new(dialect, None);
        let mut rest = bytes;
        for cut in cuts.iter().cycle() {
            if rest.is_empty() {
                break;
            }
            let (piece, after) = rest.split_at((*cut).min(rest.len()));
            reader.push(piece);
            rest = after;
        }
        prop_assert_eq!(reader.finish(), read(dialect, bytes, None));
    }

    #[test]
    fn no_output_breaks_a_reader(lines in prop::collection::vec("(\\{\"type\": ?\"(assistant|result|error|item.completed|system|message|tool_use)\"[ -~]{0,60}|[ -~]{0,40})\n", 0..20)) {
        for dialect in [Dialect::Claude, Dialect::Codex, Dialect::Gemini] {
            let said = read(dialect, lines.concat().as_bytes(), None);
            prop_assert!(said.text.len() <= 4 * lines.concat().len() + 8);
        }
    }
}

#[test]
fn what_is_said_over_the_agent_client_protocol_is_read_and_metered() {
    let lines = [
        json!({"type": "session", "session": "s-1", "continued": true}),
        json!({"type": "message", "text": "I look.\n```sh\n", "begins": true}),
        json!({"type": "message", "text": "ls", "begins": false}),
        json!({"type": "update", "update": {"sessionUpdate": "tool_call", "toolCallId": "c1", "title": "Run ls", "kind": "execute"}}),
        json!({"type": "update", "update": {"sessionUpdate": "tool_call", "toolCallId": "c1", "title": "Run ls", "kind": "execute"}}),
        json!({"type": "update", "update": {"sessionUpdate": "usage_update", "used": 10, "size": 100, "cost": {"amount": 0.5, "currency": "USD"}}}),
        json!({"type": "thought", "text": ">>>HELP<<<\n"}),
        json!({"type": "permission", "tool": "Run rm", "allowed": false}),
        json!({"type": "message", "text": "Done.", "begins": true}),
        json!({"type": "end", "stop_reason": "end_turn", "usage": {"inputTokens": 30, "outputTokens": 4, "thoughtTokens": 1, "cachedReadTokens": 7}}),
    ];
    let output: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let before = Continuation { session: "s-1".to_owned(), used: None, cost_micro_usd: Some(200_000) };
    let whole = read(Dialect::Acp, output.as_bytes(), Some(&before));
    assert_eq!(String::from_utf8_lossy(&whole.text), "I look.\n```sh\nls\n```\n\nDone.\n");
    assert_eq!(whole.answer(), b"Done.\n");
    assert_eq!(whole.usage, Some(AgentUsage { input: 30, output: 5, cache_read: 7, cache_write: 0 }));
    assert_eq!((whole.cost_micro_usd, whole.tool_calls), (Some(500_000), Some(1)));
    assert_eq!(whole.doing.as_deref(), Some("execute Run ls"));
    assert_eq!(whole.permission, ["Run rm"]);
    assert!(whole.finished && whole.error.is_none());
    let next = whole.continuation().unwrap();
    assert_eq!((next.session.as_str(), next.cost_micro_usd), ("s-1", Some(500_000)));
    for piece in [1, 7, 100] {
        let mut reader = DialectReader::new(Dialect::Acp, Some(&before));
        output.as_bytes().chunks(piece).for_each(|bytes| reader.push(bytes));
        assert_eq!(reader.finish(), whole);
    }
    // One agent is known to count what the conversation cost before, unless it had to begin a new one.
    let counting = output.replace("\"session\":\"s-1\"", "\"agent\":\"OpenCode 1.18\",\"session\":\"s-1\"");
    let of = |output: &str| read(Dialect::Acp, output.as_bytes(), Some(&before)).cost_micro_usd;
    assert_eq!(of(&counting), Some(300_000));
    assert_eq!(of(&counting.replace("\"continued\":true", "\"continued\":false")), Some(500_000));
}

/// What clients of five agents printed of the same turn: a prompt, one call of a shell tool, two requests to the model of 1,200 and 34
/// tokens each, and an answer.
#[test]
fn tokens_calls_and_commands_of_each_agent_of_the_protocol_are_read() {
    let update = |update: serde_json::Value| json!({"type": "update", "update": update});
    let usage =
        |input: u64, output: u64| json!({"inputTokens": input, "outputTokens": output, "totalTokens": input + output});
    let request = || update(json!({"sessionUpdate": "request_usage", "usage": usage(1_200, 34)}));
    let call = |fields: serde_json::Value| {
        let mut call = json!({"sessionUpdate": "tool_call", "toolCallId": "c1", "kind": "execute"});
        call.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        update(call)
    };
    let end = |usage: serde_json::Value| json!({"type": "end", "stop_reason": "end_turn", "usage": usage});
    let allowed = || json!({"type": "permission", "tool": "echo x", "allowed": true});
    let later = |fields| {
        let mut later = call(fields);
        later["update"]["sessionUpdate"] = json!("tool_call_update");
        later
    };
    let done = || later(json!({"status": "completed"}));
    for (agent, said, tokens) in [
        // The permission is the first that is heard of a call.
        (
            "gemini-cli 0.61",
            vec![
                call(json!({"title": "echo x"})),
                allowed(),
                done(),
                end(json!({"input_tokens": 2_400, "output_tokens": 68})),
            ],
            2_468,
        ),
        (
            "qwen-code 0.15",
            vec![request(), call(json!({"title": "echo x"})), allowed(), done(), request(), end(json!(null))],
            2_468,
        ),
        (
            "OpenCode 1.18",
            vec![call(json!({"title": "bash"})), later(json!({"title": "echo x"})), done(), end(usage(1_200, 34))],
            1_234,
        ),
        (
            "claude-agent-acp 0.49",
            vec![
                call(json!({"title": "Terminal", "rawInput": {}})),
                later(json!({"title": "echo x"})),
                allowed(),
                done(),
                end(usage(2_400, 68)),
            ],
            2_468,
        ),
        ("codex-acp 0.16", vec![call(json!({"title": "echo x"})), done(), end(json!(null))], 0),
        // Nothing but the update of a call.
        (
            "another 1.0",
            vec![later(json!({"rawInput": {"command": "echo x"}})), done(), request(), end(usage(600, 10))],
            1_234,
        ),
    ] {
        let session = json!({"type": "session", "session": "s-1", "agent": agent, "continued": true});
        let output: String = std::iter::once(session).chain(said).map(|line| format!("{line}\n")).collect();
        let mut before = None;
        // Its second turn is metered like its first one.
        for turn in 1..=2 {
            let read = read(Dialect::Acp, output.as_bytes(), before.as_ref());
            let total = read.usage.map_or(0, |usage| usage.total());
            assert_eq!((total, read.tool_calls), (tokens, Some(1)), "{agent} in turn {turn}");
            assert_eq!(read.doing.as_deref(), Some("execute echo x"), "{agent}");
            before = read.continuation();
        }
    }
}

#[test]
fn calls_beyond_those_that_are_remembered_count_once_each_and_a_mode_that_only_reads_is_named() {
    let mut output = format!("{}\n", json!({"type": "session", "session": "s", "continued": false}));
    for call in 0..200 {
        for kind in ["tool_call", "tool_call_update", "tool_call_update"] {
            let update = json!({"sessionUpdate": kind, "toolCallId": format!("c{call}"), "title": "ls"});
            output += &format!("{}\n", json!({"type": "update", "update": update}));
        }
    }
    output += &format!("{}\n", json!({"type": "reads", "mode": "plan"}));
    let said = read(Dialect::Acp, output.as_bytes(), None);
    assert_eq!(said.tool_calls, Some(200));
    assert_eq!(said.permission, ["any tool that writes: its mode is plan"]);
}

#[test]
fn failures_over_the_agent_client_protocol_are_told_apart() {
    let of = |line: serde_json::Value| read(Dialect::Acp, format!("{line}\n").as_bytes(), None);
    let overloaded = of(json!({"type": "error", "message": "429 Too Many Requests"}));
    assert!(overloaded.refused.is_some() && overloaded.error.is_some() && overloaded.finished);
    assert!(of(json!({"type": "error", "message": "the input exceeds the context window"})).context_full);
    let refusal = of(json!({"type": "end", "stop_reason": "refusal"}));
    assert_eq!(refusal.error.as_deref(), Some("the agent stopped before it was done: refusal"));
    let full = of(json!({"type": "update", "update": {"sessionUpdate": "usage_update", "used": 9, "size": 9}}));
    assert!(full.context_full);
    let euros = of(
        json!({"type": "update", "update": {"sessionUpdate": "usage_update", "used": 1, "size": 9, "cost": {"amount": 1.0, "currency": "EUR"}}}),
    );
    assert_eq!(euros.cost_micro_usd, None);
    assert_eq!(of(json!({"type": "passed", "why": "it is no JSON", "line": "hi"})).unread, 1);
    assert_eq!(of(json!({"type": "message"})), Said { finished: false, ..Said::default() });
}
