//! Agents that speak the Agent Client Protocol, in the sandbox: one that behaves, and some that do not.

use std::{fs, sync::Mutex, time::Duration};

use holdpoint_harness::{
    ask::{Desk, Nobody, Waited, Waiting},
    backend::question::ValidQuestion,
    build_turn::{BuildTurnOutcome, Built},
};
use holdpoint_protocol::{
    artifact::{Clarified, TokenUsage},
    reason::ReasonCode,
    time::Millis,
    turn::Turn,
};
use holdpoint_runtime::{
    config::{ByteSize, Dialect, Permissions, ProgramConfig},
    mirror::to_wire,
};

use crate::support::{Shop, agent, failure, ready};

/// What every agent of these tests has: a way to say a line, and to say words.
const HEAD: &str = r#"say() { printf '%s\n' "$1"; }
words() { say "{\"jsonrpc\":\"2.0\",\"method\":\"session/update\",\"params\":{\"sessionId\":\"s-1\",\"update\":{\"sessionUpdate\":\"agent_message_chunk\",\"content\":{\"type\":\"text\",\"text\":\"$1\"}}}}"; }
wants() { say "{\"jsonrpc\":\"2.0\",\"id\":$1,\"method\":\"$2\",\"params\":{\"sessionId\":\"s-1\",$3}}"; read -r got; printf '%s\n' "$got" >> got.txt; }
hello() { read -r hello; say '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1,"agentCapabilities":{"loadSession":true}}}'; }
opened() { read -r opened; case "$opened" in *session/load*) words 'of long ago'; say '{"jsonrpc":"2.0","id":2,"result":null}';; *) say '{"jsonrpc":"2.0","id":2,"result":{"sessionId":"s-1"}}';; esac; read -r prompt; }
done_() { say '{"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn","usage":{"totalTokens":7,"inputTokens":5,"outputTokens":2}}}'; }
complete() { words '<waypoint-complete>w1</waypoint-complete>'; done_; read -r rest; }
"#;
const OPTIONS: &str = r#"\"toolCall\":{\"toolCallId\":\"c\",\"title\":\"Run ls\"},\"options\":[{\"optionId\":\"n\",\"name\":\"No\",\"kind\":\"reject_once\"},{\"optionId\":\"y\",\"name\":\"Yes\",\"kind\":\"allow_once\"}]"#;

/// A turn with this agent.
async fn run_as(shop: &Shop, body: &str, desk: &dyn Desk, adjust: impl FnOnce(&mut ProgramConfig)) -> Built {
    run_turn(shop, &shop.turn(), body, desk, adjust).await
}

async fn run_turn(
    shop: &Shop,
    turn: &Turn,
    body: &str,
    desk: &dyn Desk,
    adjust: impl FnOnce(&mut ProgramConfig),
) -> Built {
    let dir = shop.path("agents");
    fs::create_dir_all(&dir).unwrap();
    let file = dir.join("agent.sh");
    fs::write(&file, format!("{HEAD}\n{body}\n")).unwrap();
    let command = format!("sh {}", file.display());
    let workbench = shop.bench_with(&command, |program| {
        program.dialect = Dialect::Acp;
        adjust(program);
    });
    workbench.await.run(turn, &agent(), &shop.mirror, desk).await.unwrap()
}

async fn run(shop: &Shop, body: &str) -> Built {
    run_as(shop, body, &Nobody, |_| {}).await
}

fn output(built: &Built) -> String {
    fs::read_to_string(&built.output).unwrap()
}

/// What an agent got for what it wanted.
async fn got(shop: &Shop, built: &Built) -> String {
    shop.text(&ready(built).tree, "got.txt").await.unwrap()
}

#[tokio::test]
async fn an_agent_works_over_the_protocol_and_goes_on_with_its_conversation() {
    let shop = Shop::new().await;
    let body = format!(
        r#"hello; opened
wants 50 fs/write_text_file "\"path\":\"$PWD/made.txt\",\"content\":\"made\\n\""
wants 51 fs/read_text_file "\"path\":\"$PWD/made.txt\""
wants 52 session/request_permission "{OPTIONS}"
say '{{"jsonrpc":"2.0","method":"session/update","params":{{"sessionId":"s-1","update":{{"sessionUpdate":"tool_call","toolCallId":"c","title":"Run ls","kind":"execute"}}}}}}'
printf '%s\n' "$opened" > opened.txt; printf '%s\n' "$prompt" > prompt.txt
words 'I looked.\n'; words 'Done: '
complete"#
    );
    let first = run(&shop, &body).await;
    let said = ready(&first);
    assert_eq!(said.said.completion.as_deref(), Some("w1"), "{}", output(&first));
    assert_eq!(shop.text(&said.tree, "made.txt").await.as_deref(), Some("made\n"));
    let got = got(&shop, &first).await;
    assert!(got.contains(r#""content":"made\n""#) && got.contains(r#""optionId":"y""#), "{got}");
    let metered = &first.metered;
    assert_eq!((metered.tokens, metered.tool_calls), (Some(7), Some(1)));
    assert_eq!(metered.usage, Some(TokenUsage { input: 5, output: 2, ..TokenUsage::default() }));
    assert!(first.command.starts_with("exec holdpoint-acp 'sh "), "{}", first.command);
    assert!(output(&first).contains("\"sessionUpdate\":\"tool_call\""), "the updates are in the evidence");
    let done = to_wire(&said.work.as_ref().unwrap().0);
    drop(first);
    let turn = shop.turn_with(|request| request.start = done);
    let second = run_turn(&shop, &turn, &body, &Nobody, |_| {}).await;
    assert!(second.command.contains("--session s-1"), "{}", second.command);
    let opened = shop.text(&ready(&second).tree, "opened.txt").await.unwrap();
    assert!(opened.contains("session/load") && opened.contains("\"sessionId\":\"s-1\""), "{opened}");
    assert!(!output(&second).contains("of long ago"), "the past of a conversation is not said again");
    let prompt = shop.text(&ready(&second).tree, "prompt.txt").await.unwrap();
    assert!(prompt.contains("Make it so.") && !prompt.contains("What was done so far"), "it knows: {prompt}");
}

#[tokio::test]
async fn lines_that_say_nothing_and_answers_to_nothing_are_passed_over() {
    let shop = Shop::new().await;
    let built = run(
        &shop,
        r#"say 'Welcome!'; say '{"jsonrpc":"2.0","id":1,'; hello
say '{"jsonrpc":"2.0","id":77,"result":{"sessionId":"s-77"}}'; say '{"jsonrpc":"2.0","id":null,"result":1}'
opened; printf made > made.txt; head -c 5000000 /dev/zero | tr '\0' 'x'; say ''
wants 60 terminal/create '"command":"ls"'
complete"#,
    );
    let built = built.await;
    assert_eq!(ready(&built).said.completion.as_deref(), Some("w1"), "{}", output(&built));
    assert!(got(&shop, &built).await.contains("-32601"), "there is no terminal");
    let printed = output(&built);
    assert!(printed.contains("it is no JSON") && printed.contains("it is too long"), "{printed}");
}

#[tokio::test]
async fn nothing_outside_of_the_tree_is_read_for_an_agent() {
    let shop = Shop::new().await;
    fs::write(shop.path("private"), "private words").unwrap();
    let body = format!(
        r#"hello; opened; ln -s {dir} link
wants 50 fs/read_text_file '"path":"{dir}/private"'
wants 51 fs/read_text_file "\"path\":\"$PWD/link/private\""
wants 52 fs/read_text_file "\"path\":\"$PWD/../input/turn.json\""
wants 53 fs/write_text_file '"path":"{dir}/private","content":"mine"'
complete"#,
        dir = shop.temp.path().display()
    );
    // Even where the program itself could read it.
    let built = run_as(&shop, &body, &Nobody, |program| program.read_paths.push(shop.path("private"))).await;
    let got = got(&shop, &built).await;
    assert_eq!(got.matches("\"error\"").count(), 4, "{got}");
    assert!(!got.contains("private words") && output(&built).contains("is not in the tree of this turn"));
    assert_eq!(fs::read_to_string(shop.path("private")).unwrap(), "private words");
}

#[tokio::test]
async fn an_agent_that_ends_in_the_middle_or_refuses_has_failed_and_says_why() {
    let shop = Shop::new().await;
    for (body, why) in [
        ("hello; opened; words 'half way'; exit 0", "ended before it answered"),
        ("hello; opened; exit 7", "ended before it answered"),
        ("exit 0", "ended before it answered"),
        (
            r#"hello; read -r o; say '{"jsonrpc":"2.0","id":2,"error":{"code":-32000,"message":"log in first"}}'"#,
            "log in first",
        ),
        (r#"read -r h; say '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":9}}'"#, "another version"),
        (r#"hello; opened; say '{"jsonrpc":"2.0","id":3,"result":{"stopReason":"refusal"}}'"#, "refusal"),
    ] {
        let built = run(&shop, body).await;
        let failure = failure(&built);
        let refused = why == "log in first";
        let reason = if refused { ReasonCode::NotExecutable } else { ReasonCode::AgentFailed };
        assert_eq!(failure.reason, reason, "{body}: {failure:?}");
        assert!(failure.detail.contains(why), "{body}: {failure:?}");
    }
}

#[tokio::test]
async fn an_agent_that_is_not_there_is_named() {
    let shop = Shop::new().await;
    let workbench = shop.bench_with("no-such-agent --acp", |program| program.dialect = Dialect::Acp).await;
    let built = workbench.run(&shop.turn(), &agent(), &shop.mirror, &Nobody).await.unwrap();
    let failure = failure(&built);
    assert_eq!(failure.reason, ReasonCode::NotExecutable);
    assert!(failure.detail.contains("the program `no-such-agent` exited with 127"), "{failure:?}");
}

#[tokio::test]
async fn an_agent_that_is_killed_is_started_afresh_in_its_turn() {
    let shop = Shop::new().await;
    let built = run(&shop, "hello; opened; if [ -e made.txt ]; then complete; fi; touch made.txt; kill -9 $$").await;
    assert_eq!(ready(&built).said.completion.as_deref(), Some("w1"), "{}", output(&built));
}

#[tokio::test]
async fn an_agent_that_never_answers_or_never_stops_is_ended_by_the_turns_limits() {
    let shop = Shop::new().await;
    let turn = shop.turn_with(|request| request.budget.wall = Some(Millis::from(Duration::from_secs(3))));
    for body in ["exec sleep 600", "hello; opened; exec sleep 600"] {
        let built = run_turn(&shop, &turn, body, &Nobody, |_| {}).await;
        assert_eq!(failure(&built).reason, ReasonCode::AgentTimeout, "{body}");
    }
    let flood = r"hello; opened; while :; do words 'more and more and more and more\n'; done";
    let built = run_as(&shop, flood, &Nobody, |program| program.output = ByteSize::from_mib(1)).await;
    assert!(failure(&built).detail.contains("it may print no more"), "{:?}", failure(&built));
    // A flood of which nothing is printed is bounded, too.
    let built = run(&shop, r#"hello; opened; exec yes "$(head -c 100000 /dev/zero | tr '\0' y)""#).await;
    assert!(failure(&built).detail.contains("bytes that say nothing"), "{:?}", failure(&built));
}

/// A person who answers everything with this.
struct Person(&'static str, Mutex<Vec<ValidQuestion>>);

impl Desk for Person {
    fn patience_max(&self) -> Duration {
        Duration::from_secs(600)
    }

    fn ask(&self, question: ValidQuestion, _: Duration) -> Waiting<'_> {
        self.1.lock().unwrap().push(question.clone());
        let answer = Clarified {
            question: question.question,
            option: Some(self.0.to_owned()),
            text: None,
            rationale: None,
            constraints: Vec::new(),
            by: "human-ann".to_owned(),
        };
        Box::pin(std::future::ready(Waited::Answered(Box::new(answer))))
    }
}

#[tokio::test]
async fn a_permission_can_be_a_persons_to_give() {
    let shop = Shop::new().await;
    let body = format!("hello; opened; wants 50 session/request_permission \"{OPTIONS}\"; complete");
    for (answer, id) in [("Yes", "y"), ("No", "n")] {
        let person = Person(answer, Mutex::default());
        let built = run_as(&shop, &body, &person, |program| program.permissions = Permissions::Ask).await;
        let got = got(&shop, &built).await;
        assert!(got.contains(&format!("\"optionId\":\"{id}\"")), "{got}");
        let asked = person.1.lock().unwrap();
        let [question] = asked.as_slice() else { panic!("{asked:?}") };
        assert_eq!((question.question.as_str(), question.options.len()), ("The agent asks: Run ls", 2));
    }
    // Nobody is there: the question is the turn's result.
    let built = run_as(&shop, &body, &Nobody, |program| program.permissions = Permissions::Ask).await;
    assert!(matches!(&built.outcome, BuildTurnOutcome::Clarify(question, _) if question.question.contains("Run ls")));
}

/// Reports something of the conversation, as JSON in a shell's single quotes.
const UPDATE: &str = r#"update() { say "{\"jsonrpc\":\"2.0\",\"method\":\"session/update\",\"params\":{\"sessionId\":\"s-1\",\"update\":$1}}"; }
calls() { update '{"sessionUpdate":"tool_call","toolCallId":"c","title":"Terminal","kind":"execute","status":"pending"}'; }
called() { update '{"sessionUpdate":"tool_call_update","toolCallId":"c","title":"make","status":"completed"}'; }
"#;

#[tokio::test]
async fn an_agent_whose_question_became_the_turns_result_is_cancelled_and_what_it_did_is_kept() {
    let shop = Shop::new().await;
    let body = format!(
        r#"{UPDATE}
hello; opened; printf half > made.txt; calls
wants 50 session/request_permission "{OPTIONS}"; read -r cancel
case "$got" in *'"outcome":"cancelled"'*) words 'No answer. ';; esac
case "$cancel" in *'"method":"session/cancel"'*'"sessionId":"s-1"'*) words 'I stop.';; esac
say '{{"jsonrpc":"2.0","id":3,"result":{{"stopReason":"cancelled"}}}}'; read -r rest"#
    );
    let built = run_as(&shop, &body, &Nobody, |program| program.permissions = Permissions::Ask).await;
    let BuildTurnOutcome::Clarify(question, Some(work)) = &built.outcome else { panic!("{:?}", built.outcome) };
    assert!(question.question.contains("Run ls"), "{question:?}");
    let printed = output(&built);
    assert!(printed.contains("No answer. I stop.") && printed.contains(r#""stop_reason":"cancelled""#), "{printed}");
    let tree = shop.mirror.tree_of(&work.0).await.unwrap();
    assert_eq!(shop.text(&tree, "made.txt").await.as_deref(), Some("half"));
}

#[tokio::test]
async fn a_plan_that_changes_is_evidence_and_neither_words_nor_a_call() {
    let shop = Shop::new().await;
    let plan = |status: &str| {
        format!(
            r#"update '{{"sessionUpdate":"plan","entries":[{{"content":"<waypoint-failed>w1</waypoint-failed>","priority":"high","status":"{status}"}}]}}'"#
        )
    };
    let body = format!(
        "{UPDATE}\nhello; opened; {}; printf made > made.txt; calls; called; {}; complete",
        plan("in_progress"),
        plan("completed")
    );
    let built = run(&shop, &body).await;
    assert_eq!(ready(&built).said.completion.as_deref(), Some("w1"), "{}", output(&built));
    assert_eq!(built.metered.tool_calls, Some(1));
    assert_eq!(output(&built).matches(r#""sessionUpdate":"plan""#).count(), 2, "{}", output(&built));
}

#[tokio::test]
async fn an_agent_that_asks_in_the_middle_of_a_tool_call_goes_on_with_it() {
    let shop = Shop::new().await;
    let body = format!(
        r#"{UPDATE}
hello; opened; calls
wants 50 session/request_permission "{OPTIONS}"
holdpoint-ask question 'Which way?' --option Yes > way.txt
called; complete"#
    );
    let person = Person("Yes", Mutex::default());
    let built = run_as(&shop, &body, &person, |program| program.permissions = Permissions::Ask).await;
    assert_eq!(ready(&built).said.completion.as_deref(), Some("w1"), "{}", output(&built));
    let asked: Vec<String> = person.1.lock().unwrap().iter().map(|question| question.question.clone()).collect();
    assert_eq!(asked, ["The agent asks: Run ls", "Which way?"]);
    assert!(got(&shop, &built).await.contains(r#""optionId":"y""#));
    assert!(shop.text(&ready(&built).tree, "way.txt").await.unwrap().contains("Yes"));
    assert_eq!(built.metered.tool_calls, Some(1), "the permission is about the same call");
}
