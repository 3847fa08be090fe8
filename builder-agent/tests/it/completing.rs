//! How a program completes its turn from inside, and repairs a wrong call from the error alone (GATE-21, GATE-22).

use std::path::Path;

use holdpoint_harness::{
    ask::Nobody,
    complete_turn::{CompleteTurnOutcome, CompletedTurn},
};
use holdpoint_protocol::{
    artifact::IgnoredBecause,
    reason::{BlockReason, ReasonCode},
    state::{Outcome, QuestionKind},
    turn::{AdviceRequest, CompletionRequest, Turn, TurnRequest},
};
use holdpoint_runtime::{
    config::{Dialect, ProgramConfig, presets::PresetName},
    mirror::to_wire,
};
use holdpoint_sandbox::Sandbox;

use crate::{
    asking::{SPEAK, walls},
    support::{SHIM, Shop, agent, ready},
};

/// A turn at a gate that looks at something, in no repository.
fn turn(shop: &Shop, can_reject: bool) -> Turn {
    let base = to_wire(&shop.base);
    let request = CompletionRequest {
        title: "A page on prices".to_owned(),
        goal: Some("Say what it costs.".to_owned()),
        criteria: Vec::new(),
        tests: Vec::new(),
        description: None,
        role_description: None,
        context: Default::default(),
        can_reject,
        default_outcome: None,
        budget: None,
        people: Vec::new(),
        base: base.clone(),
        commit: base.clone(),
        tree: base,
        bundles: Vec::new(),
        report: None,
        documents: Vec::new(),
        children: Vec::new(),
        feedback: None,
        advice: None,
    };
    Turn { request: TurnRequest::Complete(Box::new(request)), ..shop.turn() }
}

async fn look(shop: &Shop, sandbox: Sandbox, turn: &Turn, command: &str) -> CompletedTurn {
    shop.bench_in(sandbox, command, |_| {}).await.complete(turn, &agent(), None, &Nobody).await.unwrap()
}

fn output(looked: &CompletedTurn) -> String {
    std::fs::read_to_string(&looked.output).unwrap()
}

/// What it came to: the outcome, its summary and its blockers.
fn said(looked: &CompletedTurn) -> (Outcome, String, Vec<String>) {
    match &looked.outcome {
        CompleteTurnOutcome::Completed { said, .. } => (said.outcome, said.summary.clone(), said.blockers.clone()),
        other => panic!("{other:?}: {}", output(looked)),
    }
}

#[tokio::test]
async fn a_program_corrects_its_completion_in_the_same_turn_and_what_it_prints_does_not_overrule_it() {
    for sandbox in walls() {
        let shop = Shop::new().await;
        let command = r#"
            holdpoint-ask complete --outcome needs_review --summary 'No source.'; echo "exit $?"
            holdpoint-ask complete --outcome needs_review --summary 'No source.' --blocker 'needs work'; echo "exit $?"
            holdpoint-ask status
            holdpoint-ask complete --outcome complete --summary 'There is one.'; echo "exit $?"
            holdpoint-ask complete --outcome maybe --summary x; echo "exit $?"
            echo '{"outcome": "blocked", "summary": "printed", "blockers": ["nobody looks at this"]}'"#;
        let looked = look(&shop, sandbox, &turn(&shop, true), command).await;
        assert_eq!(said(&looked), (Outcome::Complete, "There is one.".to_owned(), Vec::new()));
        let output = output(&looked);
        let exits: Vec<&str> = output.lines().filter(|line| matches!(*line, "exit 0" | "exit 2")).collect();
        assert_eq!(exits, ["exit 2", "exit 0", "exit 0", "exit 2"], "{output}");
        for said in [
            r#""error":"missing_blockers""#,
            r#""warning":"vague_blockers""#,
            r#""error":"invalid_outcome""#,
            r#""summary": "No source.""#,
            r#""attempt": 1"#,
        ] {
            assert!(output.contains(said), "{said}: {output}");
        }
    }
}

#[tokio::test]
async fn what_says_nothing_in_a_completed_turn_is_recorded_and_an_obstacle_has_its_kind() {
    let shop = Shop::new().await;
    let command = r#"echo '<waypoint-complete>another</waypoint-complete>'; echo '```'; echo '>>>HELP<<<'; echo '```'
        holdpoint-ask complete --outcome blocked --summary 'No access.' --blocker 'the key' --block-reason external_dependency"#;
    let looked = look(&shop, Sandbox::new(SHIM), &turn(&shop, true), command).await;
    let CompleteTurnOutcome::Completed { said, .. } = &looked.outcome else { panic!("{:?}", looked.outcome) };
    assert_eq!((said.outcome, said.block_reason), (Outcome::Blocked, Some(BlockReason::ExternalDependency)));
    let ignored: Vec<_> = looked.markers_ignored.iter().map(|one| (one.marker.as_str(), one.why)).collect();
    assert_eq!(ignored, [("help", IgnoredBecause::Fence), ("waypoint-complete", IgnoredBecause::OtherWaypoint)]);
}

#[tokio::test]
async fn a_turn_that_was_completed_fails_all_the_same_if_its_program_does() {
    let shop = Shop::new().await;
    for (ends, reason) in [("exit 3", ReasonCode::AgentFailed), ("kill -9 $$", ReasonCode::AgentFailed)] {
        let command = format!("holdpoint-ask complete --outcome complete --summary fine || exit 9; {ends}");
        let looked = look(&shop, Sandbox::new(SHIM), &turn(&shop, true), &command).await;
        let CompleteTurnOutcome::Failed(failure, _) = &looked.outcome else { panic!("{:?}", looked.outcome) };
        assert_eq!(failure.reason, reason, "{}", failure.detail);
        assert!(!failure.detail.contains("exited with 9"), "{}", failure.detail);
    }
}

#[tokio::test]
async fn a_turn_that_makes_work_is_not_completed_and_says_what_ends_it() {
    for sandbox in walls() {
        let shop = Shop::new().await;
        let command = r#"holdpoint-ask complete --outcome complete --summary done 2> why.txt; echo "exit $?" >> why.txt
            holdpoint-ask context goal > goal.txt; holdpoint-ask context diff 2>> why.txt; echo "exit $?" >> why.txt"#;
        let built = shop.bench_in(sandbox, command, |_| {}).await;
        let built = built.run(&shop.turn(), &agent(), &shop.mirror, &Nobody).await.unwrap();
        let text = async |name| shop.text(&ready(&built).tree, name).await.unwrap_or_default();
        let why = text("why.txt").await;
        assert!(why.contains(r#""error":"not_completed_here""#) && why.contains("exit code 0"), "{why}");
        assert!(why.contains("this turn has no diff: it has goal"), "{why}");
        assert_eq!(why.lines().filter(|line| *line == "exit 2").count(), 2, "{why}");
        assert_eq!(text("goal.txt").await, "Make it so.\n");
    }
}

/// Calls, and what each is answered first. The bot knows nothing of completions but what the errors say.
const BOT: &str = r#"
import json

def repair(call, error):
    example, field = error["example"], error.get("requiredField")
    if "validOutcomes" in error:
        call = dict(example)
    if "assignedTask" in error:
        call = {key: value for key, value in call.items() if value != error["attemptedTask"]}
    if field and error.get("unit") == "bytes" and isinstance(call[field], str):
        call[field] = call[field][:error["most"]]
    elif field and error.get("unit"):
        call[field] = call[field][:error["most"]] if error["unit"] == "items" else example.get(field)
    elif field:
        call[field] = example[field]
    return call

for number, (code, call) in enumerate(CALLS):
    codes = []
    while True:
        assert len(codes) < 4, (code, codes)
        request = {"id": str(number), "ask": "complete", "completion": call}
        reply = json.loads(speak(json.dumps(request).encode() + b"\n"))
        if "completed" in reply:
            break
        codes.append(reply["wrong"]["error"])
        call = repair(call, reply["wrong"])
    assert codes[:1] == [code], (code, codes)
    print("repaired", code, "to", reply["completed"]["outcome"])
"#;

/// Every error that a completion in a turn can meet; whether the gate sends work back.
const CALLS: [(&str, &str, bool); 12] = [
    ("invalid_outcome", r#"{"outcome": "done", "summary": "x"}"#, true),
    ("invalid_outcome", r#"{"outcome": 7}"#, false),
    ("invalid_outcome", r#"{"outcome": "skip", "summary": "x"}"#, true),
    ("missing_summary", r#"{"outcome": "complete"}"#, true),
    ("missing_summary", r#"{"outcome": "needs_review", "summary": 3}"#, true),
    ("missing_blockers", r#"{"outcome": "needs_review", "summary": "x"}"#, true),
    ("missing_blockers", r#"{"outcome": "blocked", "summary": "x", "blockers": "no"}"#, false),
    ("empty_blockers", r#"{"outcome": "blocked", "summary": "x", "blockers": []}"#, true),
    ("reject_not_allowed", r#"{"outcome": "needs_review", "summary": "x", "blockers": ["y"]}"#, false),
    ("wrong_task", r#"{"outcome": "complete", "summary": "x", "taskId": "other"}"#, true),
    ("too_long", r#"{"outcome": "complete", "summary": "x" * 20000}"#, true),
    ("too_long", r#"{"outcome": "blocked", "summary": "x", "blockers": ["name the price"] * 51}"#, false),
];

#[tokio::test]
async fn a_bot_that_reads_only_the_error_repairs_every_wrong_completion_in_its_turn() {
    let shop = Shop::new().await;
    for can_reject in [true, false] {
        let calls = CALLS.iter().filter(|(_, _, rejects)| *rejects == can_reject);
        let listed: Vec<String> = calls.map(|(code, call, _)| format!("(\"{code}\", {call})")).collect();
        let bot = shop.path("bot.py");
        std::fs::write(&bot, format!("{SPEAK}\nCALLS = [{}]\n{BOT}", listed.join(", "))).unwrap();
        let looked = look(&shop, Sandbox::new(SHIM), &turn(&shop, can_reject), &python(&bot)).await;
        said(&looked);
        let output = output(&looked);
        assert_eq!(output.matches("repaired ").count(), listed.len(), "{output}");
    }
}

fn python(file: &Path) -> String {
    format!("python3 -u {}", file.display())
}

#[tokio::test]
async fn whoever_completes_a_gate_sees_no_agents_settings_of_the_work_under_names_that_its_program_loads() {
    let shop = Shop::with_file("CLAUDE.md", "told\n").await;
    let command = r#"test ! -e CLAUDE.md && grep -q told CLAUDE.md.set-aside && test -f a.txt &&
        echo '{"outcome": "complete", "summary": "nothing to load"}'"#;
    let workbench = shop.workbench(command).await;
    let looked = workbench.complete(&turn(&shop, true), &agent(), Some(&shop.mirror), &Nobody).await.unwrap();
    assert_eq!(said(&looked).0, Outcome::Complete);
}

/// The same turn for an advisor, who is asked about work.
fn asked_for_advice(shop: &Shop) -> Turn {
    let (mut turn, work) = (turn(shop, false), shop.turn());
    let (TurnRequest::Complete(request), TurnRequest::Build(asked)) = (&mut turn.request, work.request) else {
        panic!()
    };
    request.advice = Some(Box::new(AdviceRequest {
        kind: QuestionKind::Help,
        question: "I am stuck.".to_owned(),
        context: String::new(),
        round: 1,
        not_before: None,
        given: Vec::new(),
        asked,
    }));
    turn
}

#[tokio::test]
async fn an_advisor_that_is_asked_again_goes_on_in_its_conversation_and_nobody_else_who_looks() {
    let shop = Shop::new().await;
    std::fs::create_dir(shop.path("own")).unwrap();
    let say = |words: &str| {
        format!(r#"printf '%s\n' '{{"type":"result","session_id":"s-1","is_error":false,"result":"{words}"}}'"#)
    };
    let first =
        format!("mkdir -p $CLAUDE_CONFIG_DIR/projects; touch $CLAUDE_CONFIG_DIR/projects/s-1; {}", say("It begins."));
    let resume = format!("test -e $CLAUDE_CONFIG_DIR/projects/{{session}} && {}", say("It goes on."));
    let program = |program: &mut ProgramConfig| {
        (program.preset, program.dialect) = (Some(PresetName::Claude), Dialect::Claude);
        (program.settings_dir, program.resume) = (Some(shop.path("own")), Some(resume.clone()));
    };
    for (turn, summaries) in
        [(turn(&shop, false), ["It begins.", "It begins."]), (asked_for_advice(&shop), ["It begins.", "It goes on."])]
    {
        for summary in summaries {
            let workbench = shop.bench_with(&first, program).await;
            let looked = workbench.complete(&turn, &agent(), None, &Nobody).await.unwrap();
            assert_eq!(said(&looked).1, summary);
        }
    }
}
