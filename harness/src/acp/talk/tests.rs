use proptest::prelude::*;

use super::*;

fn settings(session: Option<&str>, asks: bool) -> AcpSettings {
    let (prompt, tree) = ("Do it.".to_owned(), PathBuf::from("/tree"));
    AcpSettings { prompt, tree, session: session.map(str::to_owned), asks }
}

/// What is sent of all this.
fn sent(done: &[Do]) -> Vec<&Value> {
    done.iter().filter_map(|done| if let Do::Send(message) = done { Some(message) } else { None }).collect()
}

fn printed(done: &[Do]) -> Vec<&AcpEvent> {
    done.iter().filter_map(|done| if let Do::Print(event) = done { Some(event) } else { None }).collect()
}

fn ends(done: &[Do]) -> Option<bool> {
    done.iter().find_map(|done| if let Do::End { well } = done { Some(*well) } else { None })
}

impl AcpConversation {
    fn says(&mut self, message: &Value) -> Vec<Do> {
        self.hear(Some(message.to_string().as_bytes()))
    }

    fn result(&mut self, result: &Value) -> Vec<Do> {
        let id = self.id;
        self.says(&json!({"jsonrpc": "2.0", "id": id, "result": result}))
    }

    fn refuses(&mut self, code: i64, message: &str) -> Vec<Do> {
        let id = self.id;
        self.says(&json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}}))
    }

    fn updates(&mut self, session: &str, update: &Value) -> Vec<Do> {
        self.says(&wire::notice("session/update", &json!({"sessionId": session, "update": update})))
    }

    fn wants(&mut self, method: &str, params: &Value) -> Vec<Do> {
        self.says(&wire::request(900, method, params))
    }
}

/// A conversation in which the agent has its task.
fn prompted(settings: AcpSettings) -> AcpConversation {
    let (mut talk, _) = AcpConversation::begin(settings);
    let _ = talk.result(&json!({"protocolVersion": 1}));
    let _ = talk.result(&json!({"sessionId": "s-1"}));
    assert_eq!(talk.patience(), None);
    talk
}

/// One in which it loads an earlier one.
fn loading() -> AcpConversation {
    let (mut talk, _) = AcpConversation::begin(settings(Some("s-0"), false));
    let _ = talk.result(&json!({"protocolVersion": 1, "agentCapabilities": {"loadSession": true}}));
    talk
}

fn chunk(text: &str) -> Value {
    json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}})
}

#[test]
fn an_agent_is_greeted_asked_for_a_conversation_and_prompted() {
    let (mut talk, first) = AcpConversation::begin(settings(None, false));
    let hello = sent(&first)[0];
    assert_eq!((&hello["method"], &hello["params"]["protocolVersion"]), (&json!("initialize"), &json!(1)));
    assert_eq!(hello["params"]["clientCapabilities"]["terminal"], false);
    let done = talk.result(&json!({"protocolVersion": 1, "agentInfo": {"name": "a", "version": "2"}}));
    assert_eq!(sent(&done)[0]["method"], "session/new");
    assert_eq!(sent(&done)[0]["params"], json!({"cwd": "/tree", "mcpServers": []}));
    let done = talk.result(&json!({"sessionId": "s-1"}));
    let session = AcpEvent::Session { session: "s-1".to_owned(), agent: Some("a 2".to_owned()), continued: false };
    assert_eq!(printed(&done), [&session]);
    assert_eq!(sent(&done)[0]["params"]["prompt"], json!([{"type": "text", "text": "Do it."}]));
    let mut words = talk.updates("s-1", &chunk("Do"));
    words.extend(talk.updates("s-1", &chunk("ne.")));
    assert_eq!(words, []);
    let done = talk.result(&json!({"stopReason": "end_turn", "usage": {"inputTokens": 3}}));
    let message = AcpEvent::Message { text: "Done.".to_owned(), begins: true };
    let end = AcpEvent::End { stop_reason: "end_turn".to_owned(), usage: Some(json!({"inputTokens": 3})) };
    assert_eq!(printed(&done), [&message, &end]);
    assert_eq!(ends(&done), Some(true));
    assert_eq!(talk.says(&json!({"jsonrpc": "2.0", "method": "x"})), [], "it is over");
}

#[test]
fn a_conversation_is_gone_on_with_by_what_the_agent_can_and_its_past_is_not_said_again() {
    for (can, method) in [
        (json!({"loadSession": true, "sessionCapabilities": {"resume": {}}}), "session/load"),
        (json!({"sessionCapabilities": {"resume": {}}}), "session/resume"),
    ] {
        let (mut talk, _) = AcpConversation::begin(settings(Some("s-0"), false));
        let done = talk.result(&json!({"protocolVersion": 1, "agentCapabilities": can}));
        assert_eq!(
            (&sent(&done)[0]["method"], &sent(&done)[0]["params"]["sessionId"]),
            (&json!(method), &json!("s-0"))
        );
        assert_eq!(talk.updates("s-0", &chunk("an old answer\n")), []);
        let done = talk.result(&Value::Null);
        let session = AcpEvent::Session { session: "s-0".to_owned(), agent: None, continued: true };
        assert_eq!(printed(&done), [&session]);
        assert_eq!(sent(&done)[0]["params"]["prompt"][0]["text"], "Do it.");
    }
}

#[test]
fn where_a_conversation_is_lost_a_new_one_hears_where_its_task_is() {
    let mut all = Vec::new();
    // The agent cannot go on with any, or not with this one.
    let (mut talk, _) = AcpConversation::begin(settings(Some("s-0"), false));
    let _ = talk.result(&json!({"protocolVersion": 1}));
    all.push(talk);
    let mut talk = loading();
    let had = talk.patience().unwrap();
    assert_eq!(sent(&talk.refuses(-32_002, "not found"))[0]["method"], "session/new");
    assert!(talk.patience().is_some_and(|has| has.request != had.request), "its time begins now");
    all.push(talk);
    for mut talk in all {
        let done = talk.result(&json!({"sessionId": "s-1"}));
        assert!(matches!(printed(&done)[0], AcpEvent::Session { continued: false, .. }));
        let text = sent(&done)[0]["params"]["prompt"][0]["text"].as_str().unwrap().to_owned();
        assert!(text.contains("HOLDPOINT_TURN_FILE") && text.ends_with("Do it."), "{text}");
    }
}

#[test]
fn permissions_are_given_by_policy_or_by_a_person() {
    let options = json!([{"optionId": "y", "name": "Yes", "kind": "allow_once"}, {"optionId": "n", "name": "No", "kind": "reject_once"}]);
    let request = json!({"sessionId": "s-1", "toolCall": {"toolCallId": "c", "title": "Run ls"}, "options": options});
    let method = "session/request_permission";
    let mut talk = prompted(settings(None, false));
    let done = talk.wants(method, &request);
    assert_eq!(sent(&done)[0]["result"]["outcome"]["optionId"], "y");
    assert_eq!(printed(&done).last(), Some(&&AcpEvent::Permission { tool: "Run ls".to_owned(), allowed: true }));

    let mut talk = prompted(settings(None, true));
    let done = talk.wants(method, &request);
    let [_, Do::Ask(id, asked)] = done.as_slice() else { panic!("{done:?}") };
    let yes = talk.answered(id, asked, Some("Yes"), false);
    assert_eq!(sent(&yes)[0]["result"]["outcome"]["optionId"], "y");
    let no = talk.answered(id, asked, None, false);
    assert_eq!(sent(&no)[0]["result"]["outcome"]["optionId"], "n");
    // The question became the turn's result.
    let done = talk.answered(id, asked, None, true);
    assert_eq!(sent(&done)[0]["result"]["outcome"]["outcome"], "cancelled");
    assert_eq!(sent(&done)[1]["method"], "session/cancel");
    assert_eq!(talk.patience().map(|patience| patience.time), Some(CANCEL_TIME));
    assert_eq!(ends(&talk.late()), Some(true));
}

#[test]
fn a_person_who_is_asked_for_a_permission_reads_what_the_call_was_reported_to_be() {
    let mut talk = prompted(settings(None, true));
    let call =
        json!({"sessionUpdate": "tool_call", "toolCallId": "c", "title": "bash: ls", "rawInput": {"command": "ls"}});
    let _ = talk.updates("s-1", &call);
    let options = json!([{"optionId": "y", "name": "Yes", "kind": "allow_once"}]);
    let request = json!({"sessionId": "s-1", "toolCall": {"toolCallId": "c"}, "options": options});
    let done = talk.wants("session/request_permission", &request);
    let [Do::Ask(_, asked)] = done.as_slice() else { panic!("{done:?}") };
    assert_eq!((asked.tool.as_str(), asked.details.as_str()), ("bash: ls", r#"{"command":"ls"}"#));
}

#[test]
fn a_permission_reports_its_call_where_nothing_else_did_and_no_call_twice() {
    let options = json!([{"optionId": "y", "name": "Yes", "kind": "allow_once"}]);
    let call = json!({"toolCallId": "c", "title": "echo x", "kind": "execute"});
    let request = json!({"sessionId": "s-1", "toolCall": call, "options": options});
    let mut talk = prompted(settings(None, false));
    let done = talk.wants("session/request_permission", &request);
    let [AcpEvent::Update { update }, AcpEvent::Permission { .. }] = printed(&done)[..] else { panic!("{done:?}") };
    assert_eq!((&update["sessionUpdate"], &update["title"]), (&json!("tool_call"), &json!("echo x")));
    let again = talk.wants("session/request_permission", &request);
    assert!(matches!(printed(&again)[..], [AcpEvent::Permission { .. }]), "{again:?}");
}

#[test]
fn an_agent_that_only_reads_is_set_to_a_mode_that_writes_before_it_is_prompted_or_that_is_said() {
    let modes = json!([{"id": "read-only"}, {"id": "auto"}, {"id": "full-access"}]);
    let opened = json!({"sessionId": "s-1", "modes": {"currentModeId": "read-only", "availableModes": modes}});
    let opening = || {
        let (mut talk, _) = AcpConversation::begin(settings(None, false));
        let _ = talk.result(&json!({"protocolVersion": 1}));
        let done = talk.result(&opened);
        let wanted = (sent(&done)[0]["method"].clone(), sent(&done)[0]["params"].clone());
        assert_eq!(wanted, (json!("session/set_mode"), json!({"sessionId": "s-1", "modeId": "full-access"})));
        assert!(talk.patience().is_some());
        talk
    };
    let done = opening().result(&json!({}));
    assert!(matches!(printed(&done)[..], [AcpEvent::Session { continued: false, .. }]), "{done:?}");
    assert_eq!(sent(&done)[0]["method"], "session/prompt");
    let done = opening().refuses(-32_602, "not in this folder");
    assert!(matches!(printed(&done)[0], AcpEvent::Reads { mode } if mode == "not in this folder"), "{done:?}");
    assert_eq!(sent(&done)[0]["method"], "session/prompt");
}

#[test]
fn tokens_are_read_wherever_an_agent_says_them() {
    for place in
        [json!({"usage": {"inputTokens": 3}}), json!({"_meta": {"quota": {"token_count": {"inputTokens": 3}}}})]
    {
        let mut result = json!({"stopReason": "end_turn"});
        result.as_object_mut().unwrap().extend(place.as_object().unwrap().clone());
        let done = prompted(settings(None, false)).result(&result);
        let end = AcpEvent::End { stop_reason: "end_turn".to_owned(), usage: Some(json!({"inputTokens": 3})) };
        assert_eq!(printed(&done), [&end]);
    }
    let mut chunk = chunk("");
    chunk["_meta"] = json!({"usage": {"inputTokens": 3}});
    let done = prompted(settings(None, false)).updates("s-1", &chunk);
    let [AcpEvent::Update { update }] = printed(&done)[..] else { panic!("{done:?}") };
    assert_eq!(*update, json!({"sessionUpdate": "request_usage", "usage": {"inputTokens": 3}}));
}

#[test]
fn only_so_many_permissions_wait_for_a_person() {
    let options = json!([{"optionId": "y", "name": "Yes", "kind": "allow_once"}]);
    let request = json!({"sessionId": "s-1", "toolCall": {}, "options": options});
    let mut talk = prompted(settings(None, true));
    for _ in 0..ASKED_MAX {
        assert!(matches!(talk.wants("session/request_permission", &request).as_slice(), [Do::Ask(..)]));
    }
    let done = talk.wants("session/request_permission", &request);
    assert_eq!(sent(&done)[0]["result"]["outcome"]["outcome"], "cancelled");
}

#[test]
fn what_a_client_cannot_do_is_refused_and_the_conversation_goes_on() {
    let mut talk = prompted(settings(None, false));
    let session = json!({"sessionId": "s-1", "command": "ls"});
    for (method, params, code) in [
        ("terminal/create", &session, NO_METHOD),
        ("_vendor/thing", &session, NO_METHOD),
        ("fs/read_text_file", &json!({"sessionId": "another", "path": "/tree/a"}), BAD_PARAMS),
        ("fs/read_text_file", &session, BAD_PARAMS),
        ("session/request_permission", &session, BAD_PARAMS),
    ] {
        let done = talk.wants(method, params);
        assert_eq!(sent(&done)[0]["error"]["code"], code, "{method}");
        assert_eq!(ends(&done), None);
    }
    let done = talk.wants("fs/read_text_file", &json!({"sessionId": "s-1", "path": "/tree/a"}));
    assert!(matches!(done.as_slice(), [Do::File(..)]));
}

#[test]
fn what_says_nothing_is_passed_over_and_bounded() {
    let mut talk = prompted(settings(None, false));
    let mut told = 0;
    for n in 0..100 {
        told += printed(&talk.hear(Some(b"Welcome to the agent!"))).len();
        told += printed(&talk.says(&json!({"jsonrpc": "2.0", "id": 4_000 + n, "result": {}}))).len();
        told += printed(&talk.hear(None)).len();
        if talk.stage == Stage::Over {
            break;
        }
    }
    assert!(told <= usize::try_from(PASSED_MAX).unwrap() + 1, "{told}");
    assert_eq!(talk.stage, Stage::Over, "lines that are too long count in full");
    let mut talk = prompted(settings(None, false));
    assert_eq!(talk.updates("another", &chunk("not ours\n")), []);
}

#[test]
fn failures_name_what_happened() {
    let why = |done: &[Do]| {
        assert_eq!(ends(done), Some(false));
        let [AcpEvent::Error { message, .. }] = printed(done)[..] else { panic!("{done:?}") };
        message.clone()
    };
    let begun = || AcpConversation::begin(settings(None, false)).0;
    assert!(why(&begun().gone()).contains("ended before it answered"));
    assert!(why(&begun().late()).contains("`initialize` in 60 s"));
    assert!(why(&begun().deaf()).contains("does not read"));
    assert!(why(&begun().result(&json!({"protocolVersion": 7}))).contains("another version of the protocol than 1: 7"));
    assert!(why(&begun().refuses(-32_000, "Authentication required")).contains("Authentication required"));
    assert!(why(&loading().late()).contains("load its conversation in 60 s"));
    let mut opening = begun();
    let _ = opening.result(&json!({"protocolVersion": 1}));
    assert!(why(&opening.late()).contains("open a conversation in 120 s"));
    let mut opening = begun();
    let _ = opening.result(&json!({"protocolVersion": 1}));
    assert!(why(&opening.result(&json!({}))).contains("without an id"));
    let mut refused = prompted(settings(None, false));
    assert_eq!(ends(&refused.result(&json!({"stopReason": "refusal"}))), Some(false));
}

/// Lines that are hostile, and lines that are nearly right.
fn any_line() -> impl Strategy<Value = Vec<u8>> {
    let words = ["initialize", "session/update", "session/request_permission", "fs/read_text_file", "s-1", "end_turn"];
    let value = prop_oneof![
        Just(json!(null)),
        any::<i64>().prop_map(|number| json!(number)),
        proptest::sample::select(words.to_vec()).prop_map(|word| json!(word)),
        ".{0,40}".prop_map(|text| json!(text)),
        Just(json!({"sessionUpdate": "agent_message_chunk", "content": {"text": "x"}})),
        Just(json!([{"optionId": "y", "name": "Yes", "kind": "allow_once"}])),
    ];
    let names = [
        "id",
        "method",
        "params",
        "result",
        "error",
        "sessionId",
        "update",
        "options",
        "toolCall",
        "path",
        "stopReason",
    ];
    let object = proptest::collection::vec((proptest::sample::select(names.to_vec()), value), 0..6);
    let message = (object.clone(), object).prop_map(|(outer, inner)| {
        let of = |pairs: Vec<(&str, Value)>| -> serde_json::Map<String, Value> {
            pairs.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
        };
        let mut outer = of(outer);
        outer.insert("jsonrpc".to_owned(), json!("2.0"));
        outer.entry("params").or_insert(Value::Object(of(inner)));
        Value::Object(outer).to_string().into_bytes()
    });
    prop_oneof![4 => message, 1 => proptest::collection::vec(any::<u8>(), 0..80)]
}

proptest! {
    #[test]
    fn whatever_an_agent_says_the_conversation_ends_once_and_little_follows_from_it(
        lines in proptest::collection::vec(any_line(), 0..40), asks in any::<bool>(), begun in any::<bool>(),
    ) {
        let settings = settings(begun.then_some("s-0"), asks);
        let mut talk = if begun { AcpConversation::begin(settings).0 } else { prompted(settings) };
        let mut ended = 0;
        for line in lines {
            let done = talk.hear(Some(&line));
            prop_assert!(done.len() <= 5);
            let bytes: usize = printed(&done).iter().map(|event| serde_json::to_string(event).unwrap().len()).sum();
            prop_assert!(bytes <= 6 * line.len() + 4_000, "{bytes} of {}", line.len());
            ended += usize::from(ends(&done).is_some());
        }
        ended += usize::from(ends(&talk.gone()).is_some());
        prop_assert_eq!(ended, 1);
        prop_assert!(talk.gone().is_empty() && talk.asked.len() <= ASKED_MAX);
    }
}
