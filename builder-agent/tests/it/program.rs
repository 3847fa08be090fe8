//! What a program gets, and what its end means.

use std::time::Duration;

use holdpoint_harness::{ask::Nobody, build_turn::BuildTurnOutcome};
use holdpoint_protocol::{
    plan::TurnBudget,
    reason::ReasonCode,
    time::Millis,
    turn::{Feedback, Turn},
};

use crate::support::{Shop, agent, failure, feedback, left, make_executable, ready};

#[tokio::test]
async fn a_program_gets_the_contracts_environment_and_nothing_else() {
    let shop = Shop::new().await;
    let built = shop.run("env > env.txt; pwd > pwd.txt; echo x > \"$TMPDIR/x\"; echo x > \"$HOME/x\"").await;
    let env = shop.text(&ready(&built).tree, "env.txt").await.unwrap();
    for line in ["HOLDPOINT_FLIGHT=flight1", "HOLDPOINT_WAYPOINT=w1", "HOLDPOINT_ROLE=builder", "HOLDPOINT_ATTEMPT=1"] {
        assert!(env.lines().any(|found| found == line), "{line} in {env}");
    }
    assert!(env.contains(&format!("HOME={}\n", shop.path("state/homes/builder").display())), "{env}");
    assert!(!env.contains("leaked") && !env.contains("HOLDPOINT_FEEDBACK_FILE") && !env.contains("NATS"), "{env}");
    let pwd = shop.text(&ready(&built).tree, "pwd.txt").await.unwrap();
    assert_eq!(pwd.trim_end(), "/hold/w1");
}

#[tokio::test]
async fn the_turn_is_a_file_outside_the_clone_that_cannot_be_changed() {
    let shop = Shop::new().await;
    let built = shop.run("cat \"$HOLDPOINT_TURN_FILE\" > turn.json; ! echo x >> \"$HOLDPOINT_TURN_FILE\"").await;
    let text = shop.text(&ready(&built).tree, "turn.json").await.unwrap();
    let turn: Turn = serde_json::from_str(&text).unwrap();
    assert_eq!(turn, shop.turn());
}

#[tokio::test]
async fn feedback_is_a_file_and_in_the_prompt_when_there_is_one() {
    let shop = Shop::new().await;
    let command = "cat > prompt.md; cat \"$HOLDPOINT_FEEDBACK_FILE\" > feedback.json";
    let turn = shop.turn_with(|request| request.feedback = Some(feedback()));
    let built = shop.workbench(command).await.run(&turn, &agent(), &shop.mirror, &Nobody).await.unwrap();
    let text = shop.text(&ready(&built).tree, "feedback.json").await.unwrap();
    assert_eq!(serde_json::from_str::<Feedback>(&text).unwrap(), feedback());
    let prompt = shop.text(&ready(&built).tree, "prompt.md").await.unwrap();
    assert!(prompt.contains("Make it so.") && prompt.contains("the unit test is red"), "{prompt}");
}

#[tokio::test]
async fn a_program_is_read_from_its_own_folder_wherever_that_is() {
    let shop = Shop::new().await;
    let tools = shop.path("my tools");
    std::fs::create_dir(&tools).unwrap();
    std::fs::write(tools.join("part.sh"), "echo two >> a.txt\n").unwrap();
    std::fs::write(tools.join("agent.sh"), "#!/bin/sh\n. \"$(dirname \"$0\")/part.sh\"\n").unwrap();
    std::fs::write(tools.join("agent.py"), "open('a.txt', 'a').write('two\\n')\n").unwrap();
    make_executable(&tools.join("agent.sh"));
    let at = tools.display();
    for command in [format!("'{at}/agent.sh'"), format!("sh \"{at}/agent.sh\""), format!("python3 '{at}/agent.py'")] {
        let built = shop.run(&command).await;
        assert_eq!(shop.text(&ready(&built).tree, "a.txt").await.unwrap(), "one\ntwo\n", "{command}");
    }
}

#[tokio::test]
async fn the_users_toolchains_work_with_a_home_of_the_agents_own() {
    let shop = Shop::new().await;
    let command = "export CARGO_TARGET_DIR=\"$TMPDIR/target\"
        cargo init --quiet --vcs none --name sample . && cargo clippy --quiet --offline && cargo fmt --check
        python3 -c 'print(1)' && git log --oneline > log.txt";
    let built = shop.run(command).await;
    let ready = ready(&built);
    assert!(shop.text(&ready.tree, "Cargo.lock").await.is_some());
    assert!(shop.text(&ready.tree, "log.txt").await.unwrap().ends_with(" first\n"));
}

#[tokio::test]
async fn the_home_persists_and_the_turns_folder_does_not() {
    let shop = Shop::new().await;
    drop(shop.run("echo kept > \"$HOME/note\"").await);
    assert!(!shop.path("state/turns/flight1~w1").exists());
    let built = shop.run("cp \"$HOME/note\" note").await;
    assert_eq!(shop.text(&ready(&built).tree, "note").await.unwrap(), "kept\n");
}

#[tokio::test]
async fn a_failing_program_fails_the_turn_with_its_last_lines() {
    let shop = Shop::new().await;
    let built = shop.run("echo two >> a.txt; echo no idea >&2; exit 3").await;
    assert_eq!((failure(&built).reason, built.exit_code), (ReasonCode::AgentFailed, Some(3)));
    assert!(failure(&built).detail.contains("no idea"));
    let built = shop.run("no-such-program").await;
    assert!(failure(&built).detail.contains("no-such-program"), "{}", failure(&built).detail);
}

#[tokio::test]
async fn a_program_is_ended_when_its_time_or_output_is_used_up() {
    let shop = Shop::new().await;
    let wall = shop.turn_with(|r| r.budget = TurnBudget { wall: Some(Millis(300)), ..TurnBudget::default() });
    let built = shop.workbench("sleep 600").await.run(&wall, &agent(), &shop.mirror, &Nobody).await.unwrap();
    assert_eq!((failure(&built).reason, built.exit_code), (ReasonCode::AgentTimeout, None));
    let output = shop.turn_with(|r| r.budget = TurnBudget { output: Some(1 << 16), ..TurnBudget::default() });
    drop(built);
    let built = shop.workbench("yes").await.run(&output, &agent(), &shop.mirror, &Nobody).await.unwrap();
    assert_eq!(failure(&built).reason, ReasonCode::OutputLimit);
    assert_eq!(built.metered.output_bytes, 1 << 16);
}

#[tokio::test]
async fn a_turn_that_fails_leaves_its_files_whatever_ended_its_program() {
    let shop = Shop::new().await;
    let turn = |wall| {
        let budget = TurnBudget { wall: Some(Millis(wall)), output: Some(1 << 16), ..TurnBudget::default() };
        shop.turn_with(|request| request.budget = budget)
    };
    let (short, ample) = (turn(1_500), turn(120_000));
    for (end, reason) in [
        ("exit 3", ReasonCode::AgentFailed),
        ("exit 137", ReasonCode::AgentFailed),
        ("kill -9 $$", ReasonCode::AgentFailed),
        ("exec sleep 600", ReasonCode::AgentTimeout),
        ("exec yes", ReasonCode::OutputLimit),
        ("echo '<execution-stage>all done</execution-stage>'", ReasonCode::HandoffInvalid),
        ("test -d tree || git worktree add -q tree; echo x > tree/x", ReasonCode::HandoffInvalid),
    ] {
        let workbench = shop.workbench(&format!("echo two > a.txt; echo new > new.txt; {end}")).await;
        let turn = if reason == ReasonCode::AgentTimeout { &short } else { &ample };
        let built = workbench.run(turn, &agent(), &shop.mirror, &Nobody).await.unwrap();
        assert_eq!(failure(&built).reason, reason, "{end}: {}", failure(&built).detail);
        assert_eq!(shop.text(left(&built), "a.txt").await.as_deref(), Some("two\n"), "{end}");
        assert_eq!(shop.text(left(&built), "new.txt").await.as_deref(), Some("new\n"), "{end}");
    }
    let built = shop.workbench("exit 3").await.run(&ample, &agent(), &shop.mirror, &Nobody).await.unwrap();
    assert!(matches!(built.outcome, BuildTurnOutcome::Failed(_, None, _)), "it changed nothing");
}

#[tokio::test]
async fn claims_without_a_completion_are_not_ready() {
    let shop = Shop::new().await;
    let built = shop.run("echo '<execution-stage>all done</execution-stage>'").await;
    assert_eq!(failure(&built).reason, ReasonCode::HandoffInvalid);
    let built = shop.run("echo '<waypoint-complete>w1</waypoint-complete>'").await;
    assert!(ready(&built).work.is_none());
    assert_eq!(ready(&built).said.completion.as_deref(), Some("w1"));
    let built = shop.run("echo '>>>HELP<<<' >&2; exit 1").await;
    assert!(matches!(built.outcome, BuildTurnOutcome::Help(..)));
}

#[tokio::test]
async fn the_output_is_kept_whole() {
    let shop = Shop::new().await;
    let built = shop.run("echo to out; echo to err >&2").await;
    let text = std::fs::read_to_string(&built.output).unwrap();
    assert!(text.starts_with("$ echo to out;") && text.contains("exit code 0"), "{text}");
    assert!(text.contains("\nto out\n") && text.contains("\nto err\n"), "{text}");
    assert!(built.metered.wall.duration() > Duration::ZERO);
}
