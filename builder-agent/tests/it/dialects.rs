//! Programs that print what real agents print: recorded streams, from inside the sandbox.

use std::{
    fs,
    path::{Path, PathBuf},
};

use holdpoint_harness::{ask::Nobody, build_turn::BuildTurnOutcome};
use holdpoint_protocol::{
    artifact::TokenUsage,
    budget::{Allowance, Limits, Unmetered},
    reason::ReasonCode,
    turn::Turn,
};
use holdpoint_runtime::config::{Dialect, ProgramConfig, presets::PresetName};

use crate::support::{Shop, agent, failure, ready};

/// Streams of the real programs.
fn recorded() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../harness/fixtures").canonicalize().unwrap()
}

fn speaks(dialect: Dialect) -> impl FnOnce(&mut ProgramConfig) {
    move |program| {
        program.dialect = dialect;
        program.read_paths.push(recorded());
    }
}

#[tokio::test]
async fn what_an_agent_says_in_its_dialect_is_read_and_metered() {
    let shop = Shop::new().await;
    for (dialect, stream, cost) in
        [(Dialect::Claude, "claude-done", Some(10_960)), (Dialect::Codex, "codex-done", None)]
    {
        let command = format!("printf hello > made.txt; cat {}/{stream}.jsonl", recorded().display());
        let workbench = shop.bench_with(&command, speaks(dialect)).await;
        let turn = Turn { turn_id: stream.parse().unwrap(), ..shop.turn() };
        let built = workbench.run(&turn, &agent(), &shop.mirror, &Nobody).await.unwrap();
        assert_eq!(ready(&built).said.completion.as_deref(), Some("w1"));
        let metered = &built.metered;
        assert_eq!((metered.tokens, metered.tool_calls, metered.cost_micro_usd), (Some(2468), Some(1), cost));
        assert_eq!(metered.usage, Some(TokenUsage { input: 2400, output: 68, ..TokenUsage::default() }));
        let stored = fs::read_to_string(&built.output).unwrap();
        assert!(
            stored.contains("waypoint-complete") && stored.contains("\"type\":"),
            "the stream itself is the evidence"
        );
    }
}

#[tokio::test]
async fn a_program_that_reaches_its_limit_is_ended_and_what_is_there_is_handed_over() {
    let shop = Shop::new().await;
    // It says what it uses up while it works, and would go on for ever.
    let line = r#"{"type":"assistant","message":{"id":"m","model":"x","usage":{"input_tokens":900,"output_tokens":200},"content":[{"type":"text","text":"half way"}]}}"#;
    let command = format!("printf half > made.txt; echo '{line}'; sleep 600; printf whole > made.txt");
    let workbench = shop.bench_with(&command, speaks(Dialect::Claude)).await;
    let limits = Limits { tokens: Some(1_000), ..Limits::default() };
    let mut turn = shop.turn();
    turn.allowance = Some(Allowance { limits, ..Allowance::default() });
    let built = workbench.run(&turn, &agent(), &shop.mirror, &Nobody).await.unwrap();
    let BuildTurnOutcome::Failed(reached, Some((commit, _)), _) = &built.outcome else { panic!("{:?}", built.outcome) };
    assert_eq!(reached.reason, ReasonCode::BudgetExhausted);
    assert!(reached.detail.contains("1100 of 1000 tokens"), "{}", reached.detail);
    assert_eq!(built.metered.tokens, Some(1_100));
    assert_ne!(commit, &shop.base);
    // One that can report nothing is not run where that is refused.
    turn.allowance = Some(Allowance { limits, unmetered: Unmetered::Refuse, ..Allowance::default() });
    drop((built, workbench));
    let workbench = shop.bench_with("printf ran > made.txt", speaks(Dialect::Plain)).await;
    let built = workbench.run(&turn, &agent(), &shop.mirror, &Nobody).await.unwrap();
    assert_eq!((failure(&built).reason, built.command.as_str()), (ReasonCode::Unsupported, ""));
}

#[tokio::test]
async fn a_turn_that_has_to_be_cheaper_is_done_by_the_cheaper_command() {
    let shop = Shop::new().await;
    let workbench = shop.bench_with("printf dear > made.txt", |program| {
        program.cheaper = Some("printf cheap > made.txt".to_owned());
    });
    let workbench = workbench.await;
    for (degraded, made) in [(false, "dear"), (true, "cheap")] {
        let mut turn = shop.turn();
        turn.allowance = Some(Allowance { degraded, ..Allowance::default() });
        let built = workbench.run(&turn, &agent(), &shop.mirror, &Nobody).await.unwrap();
        assert_eq!(shop.text(&ready(&built).tree, "made.txt").await.as_deref(), Some(made));
    }
}

#[tokio::test]
async fn a_failure_shows_what_the_agent_said_and_not_the_stream() {
    let shop = Shop::new().await;
    let command = format!("cat {}/codex-stream-cut.jsonl; exit 1", recorded().display());
    let workbench = shop.bench_with(&command, speaks(Dialect::Codex)).await;
    let built = workbench.run(&shop.turn(), &agent(), &shop.mirror, &Nobody).await.unwrap();
    let failure = failure(&built);
    assert_eq!(failure.reason, ReasonCode::NotExecutable, "its model answered nothing");
    assert!(failure.detail.contains("stream disconnected") && !failure.detail.contains("thread_id"), "{failure:?}");
}

#[tokio::test]
async fn a_login_that_is_missing_is_no_attempt_and_no_program_is_run_again_for_turns_that_were_open_then() {
    let shop = Shop::new().await;
    let runs = shop.path("runs");
    fs::create_dir(&runs).unwrap();
    let refused = r#"{"type":"result","subtype":"success","is_error":true,"result":"Not logged in. Please run /login","session_id":"s-1"}"#;
    let command = format!("mktemp -p {} > /dev/null; echo '{refused}'; exit 1", runs.display());
    let workbench = shop.bench_with(&command, |program| {
        program.dialect = Dialect::Claude;
        program.write_paths.push(runs.clone());
    });
    let workbench = workbench.await;
    let runs = || fs::read_dir(&runs).unwrap().count();
    let (mut turn, limits) = (shop.turn(), Limits { cost_micro_usd: Some(1_000_000), ..Limits::default() });
    turn.allowance = Some(Allowance { limits, ..Allowance::default() });
    for (turn, runs_by_then) in [(turn.clone(), 1), (turn.clone(), 1)] {
        let built = workbench.run(&turn, &agent(), &shop.mirror, &Nobody).await.unwrap();
        let failure = failure(&built);
        assert_eq!((failure.reason, runs()), (ReasonCode::NotExecutable, runs_by_then));
        assert!(failure.detail.contains("Please run /login"), "{}", failure.detail);
        assert_eq!(built.metered.cost_micro_usd, Some(0), "nothing was used up");
    }
    // One that is opened later may meet a login.
    turn.record.at = holdpoint_runtime::clock::now();
    workbench.run(&turn, &agent(), &shop.mirror, &Nobody).await.unwrap();
    assert_eq!(runs(), 2);
}

#[tokio::test]
async fn a_turn_that_is_delivered_once_more_goes_on_with_what_is_left_of_its_allowance() {
    let shop = Shop::new().await;
    let paid = r#"{"type":"result","subtype":"success","is_error":false,"result":"done","session_id":"s","total_cost_usd":0.9,"usage":{"input_tokens":9}}"#;
    let begins = r#"{"type":"assistant","message":{"id":"m","usage":{"input_tokens":5},"content":[]}}"#;
    let workbench = shop.bench_with(&format!("echo '{paid}'"), speaks(Dialect::Claude)).await;
    let limits = Limits { cost_micro_usd: Some(1_000_000), ..Limits::default() };
    let mut turn = shop.turn();
    turn.allowance = Some(Allowance { limits, ..Allowance::default() });
    let built = workbench.run(&turn, &agent(), &shop.mirror, &Nobody).await.unwrap();
    assert_eq!((built.metered.cost_micro_usd, built.metered.incomplete), (Some(900_000), false));
    // Its result did not come through: the turn is delivered once more.
    let again = workbench.run(&turn, &agent(), &shop.mirror, &Nobody).await.unwrap();
    assert_eq!((again.metered.cost_micro_usd, again.metered.tokens), (Some(1_800_000), Some(18)));
    // A run that is broken off is noted as one whose end nobody knows.
    drop((built, again, workbench));
    let workbench = shop.bench_with(&format!("echo '{begins}'; sleep 600"), speaks(Dialect::Claude)).await;
    let other = Turn { turn_id: "turn2".parse().unwrap(), allowance: None, ..turn };
    let note = shop.path("state/turns/used-turn2");
    let noted = async {
        while !fs::read_to_string(&note).is_ok_and(|note| note.contains("\"tokens\":5")) {
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
    };
    let maker = agent();
    tokio::select! {
        _ = workbench.run(&other, &maker, &shop.mirror, &Nobody) => panic!("it ends"),
        noted = tokio::time::timeout(std::time::Duration::from_secs(60), noted) => noted.unwrap(),
    }
    drop(workbench);
    let workbench = shop.bench_with(&format!("echo '{paid}'"), speaks(Dialect::Claude)).await;
    let built = workbench.run(&other, &agent(), &shop.mirror, &Nobody).await.unwrap();
    assert_eq!((built.metered.tokens, built.metered.incomplete), (Some(14), true));
}

#[tokio::test]
async fn a_provider_that_has_no_room_is_waited_for_within_the_turn() {
    let shop = Shop::new().await;
    let streams = recorded();
    let command = format!(
        "if [ -e made.txt ]; then cat {dir}/codex-done.jsonl; else touch made.txt; cat {dir}/codex-overloaded.jsonl; exit 1; fi",
        dir = streams.display()
    );
    let workbench = shop.bench_with(&command, speaks(Dialect::Codex)).await;
    let built = workbench.run(&shop.turn(), &agent(), &shop.mirror, &Nobody).await.unwrap();
    assert_eq!(ready(&built).said.completion.as_deref(), Some("w1"));
}

#[tokio::test]
async fn a_program_goes_on_where_it_was_with_its_own_settings_and_not_its_login() {
    let shop = Shop::new().await;
    let own = shop.path("own");
    fs::create_dir(&own).unwrap();
    for (name, text) in
        [("settings.json", "{\"mine\": true}"), (".credentials.json", "login"), ("history.jsonl", "private")]
    {
        fs::write(own.join(name), text).unwrap();
    }
    // Like the real one, it knows a conversation by its id and the folder it was in.
    let say = |line: &str| format!("printf '%s\\n' '{line}'");
    let first = format!(
        "pwd > $CLAUDE_CONFIG_DIR/projects/s-1; ls -A $CLAUDE_CONFIG_DIR > seen.txt; cat {}/settings.json {}/history.jsonl >> seen.txt; {}",
        own.display(),
        own.display(),
        say(r#"{"type":"result","session_id":"s-1","is_error":false,"result":"begun"}"#)
    );
    let resume = format!(
        "test \"$(pwd)\" = \"$(cat $CLAUDE_CONFIG_DIR/projects/{{session}})\" && printf went-on > seen.txt; {}",
        say(r#"{"type":"result","session_id":"s-1","is_error":false,"result":"gone on"}"#)
    );
    let workbench = shop
        .bench_with(&first, |program| {
            program.preset = Some(PresetName::Claude);
            program.dialect = Dialect::Claude;
            program.settings_dir = Some(own.clone());
            program.resume = Some(resume);
        })
        .await;
    let turn = shop.turn();
    let mut seen = Vec::new();
    for flight in ["flight1", "flight1", "flight2"] {
        let turn = holdpoint_protocol::turn::Turn { flight: flight.parse().unwrap(), ..turn.clone() };
        let built = workbench.run(&turn, &agent(), &shop.mirror, &Nobody).await.unwrap();
        let BuildTurnOutcome::Ready(ready) = &built.outcome else { panic!("{:?}", built.outcome) };
        seen.push(shop.text(&ready.tree, "seen.txt").await.unwrap());
    }
    let [first, second, of_other_flight] = seen.as_slice() else { panic!("{seen:?}") };
    assert_eq!(
        first.lines().collect::<Vec<_>>(),
        ["projects", "settings.json"],
        "no login, and nothing of the originals"
    );
    assert_eq!(second, "went-on");
    assert_eq!(of_other_flight, first, "a conversation ends with its flight");
}

#[tokio::test]
async fn a_program_that_changed_nothing_has_last_words() {
    let shop = Shop::new().await;
    let command = format!("cat {}/codex-walled.jsonl", recorded().display());
    let workbench = shop.bench_with(&command, speaks(Dialect::Codex)).await;
    let built = workbench.run(&shop.turn(), &agent(), &shop.mirror, &Nobody).await.unwrap();
    assert!(ready(&built).work.is_none());
    assert_eq!(built.last_words.as_deref(), Some("The sandbox does not work."));
}
