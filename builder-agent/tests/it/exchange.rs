//! What happens when a program's result cannot be used, with real programs in the sandbox: it is asked again in the same turn
//! and clone, and a record is kept of it.

use std::{sync::Mutex, time::Duration};

use holdpoint_harness::{
    ask::{Desk, Recording, Storing, Waited, Waiting},
    backend::question::ValidQuestion,
    build_turn::{BuildTurnOutcome, Built},
    exchange::Draft,
};
use holdpoint_protocol::{
    Digest,
    artifact::{ExchangeErrorKind, ExchangeStatus},
    reason::ReasonCode,
};

use crate::support::{Shop, agent, failure, ready};

/// Keeps what it is given, in order, and has nobody answer.
#[derive(Default)]
struct Shelf {
    records: Mutex<Vec<Draft>>,
    outputs: Mutex<Vec<String>>,
}

impl Shelf {
    fn records(&self) -> Vec<Draft> {
        self.records.lock().unwrap().clone()
    }

    fn last(&self) -> Draft {
        self.records().pop().expect("a record")
    }
}

impl Desk for Shelf {
    fn patience_max(&self) -> Duration {
        Duration::MAX
    }

    fn ask(&self, _: ValidQuestion, _: Duration) -> Waiting<'_> {
        Box::pin(std::future::ready(Waited::InVain))
    }

    fn keep(&self, output: Vec<u8>) -> Storing<'_> {
        let digest = Digest::of(&output);
        self.outputs.lock().unwrap().push(String::from_utf8(output).unwrap());
        Box::pin(std::future::ready(Some(digest)))
    }

    fn record(&self, draft: Draft) -> Recording<'_> {
        self.records.lock().unwrap().push(draft);
        Box::pin(std::future::ready(()))
    }
}

async fn run(shop: &Shop, desk: &Shelf, command: &str) -> Built {
    shop.workbench(command).await.run(&shop.turn(), &agent(), &shop.mirror, desk).await.unwrap()
}

/// A program that works once and prints the first text, and then only the second one. `prompt-N.txt` is its prompt.
fn program(first: &str, then: &str) -> String {
    format!(
        "cat > \"prompt-${{HOLDPOINT_RETRY:-0}}.txt\"
        if [ -z \"$HOLDPOINT_RETRY\" ]; then echo done >> a.txt; printf '%s' '{first}'; else printf '%s\\n' '{then}'; fi"
    )
}

fn envelope(shop: &Shop, data: &str) -> String {
    format!(
        "{{\"component\": \"builder\", \"status\": \"success\", \"data\": {{\"task_id\": \"{}\"{data}}}}}",
        shop.turn().waypoint
    )
}

const REST: &str = ", \"success\": true, \"completed_normally\": true, \"todos\": []";

#[tokio::test]
async fn an_envelope_that_was_cut_off_and_then_is_good_is_one_attempt_with_a_record() {
    let (shop, shelf) = (Shop::new().await, Shelf::default());
    let good = envelope(&shop, REST);
    let built = run(&shop, &shelf, &program(&good[..good.len() - 20], &good)).await;
    let ready = ready(&built);
    assert_eq!(shop.text(&ready.tree, "a.txt").await.as_deref(), Some("one\ndone\n"), "the work was done once");
    let told = shop.text(&ready.tree, "prompt-1.txt").await.unwrap();
    assert!(told.contains("was cut off") && told.contains("HOLDPOINT_TURN_FILE"), "{told}");
    // One record is there before the retry, and one after it.
    let statuses: Vec<_> = shelf.records().iter().map(|record| record.final_status).collect();
    assert_eq!(statuses, [None, Some(ExchangeStatus::Recovered)]);
    let record = shelf.last();
    assert_eq!((record.component.as_str(), record.original_error.kind), ("builder", ExchangeErrorKind::Partial));
    assert!(record.original_error.output_sample.starts_with("{\"component\""), "{record:?}");
    assert_eq!((record.attempts.len(), record.attempts[0].error.as_ref()), (1, None));
    let outputs = shelf.outputs.lock().unwrap().clone();
    assert_eq!(record.original_error.output, Some(Digest::of(outputs[0].as_bytes())), "what failed is kept whole");
    let whole = std::fs::read_to_string(&built.output).unwrap();
    assert_eq!(whole.matches("exit code 0 after").count(), 2, "{whole}");
}

#[tokio::test]
async fn three_missing_fields_are_named_in_one_prompt_and_only_they_are_asked_for() {
    let (shop, shelf) = (Shop::new().await, Shelf::default());
    let rest = format!("{{\"data\": {{{}}}}}", &REST[2..]);
    let built = run(&shop, &shelf, &program(&envelope(&shop, ""), &rest)).await;
    let told = shop.text(&ready(&built).tree, "prompt-1.txt").await.unwrap();
    for field in ["`data.completed_normally` is missing", "`data.success` is missing", "`data.todos` is missing"] {
        assert!(told.contains(field), "{field}: {told}");
    }
    assert!(!told.contains("\"task_id\""), "what is there is not asked for: {told}");
    let record = shelf.last();
    assert_eq!(record.original_error.missing.len(), 3);
    assert_eq!(record.final_status, Some(ExchangeStatus::Recovered));
}

#[tokio::test]
async fn the_same_error_twice_running_fails_the_turn_and_each_try_is_on_record() {
    let (shop, shelf) = (Shop::new().await, Shelf::default());
    let built = run(&shop, &shelf, "echo '<waypoint-complete>w1'").await;
    let failure = failure(&built);
    assert_eq!(failure.reason, ReasonCode::HandoffInvalid);
    assert!(failure.detail.contains("the same error came twice running"), "{}", failure.detail);
    let record = shelf.last();
    assert_eq!((record.final_status, record.attempts.len()), (Some(ExchangeStatus::Escalated), 1));
    assert_eq!(record.original_error.kind, ExchangeErrorKind::Partial);
}

#[tokio::test]
async fn a_program_that_is_killed_is_started_afresh_in_its_clone_and_one_that_exits_badly_is_not() {
    let (shop, shelf) = (Shop::new().await, Shelf::default());
    let killed = "cat > /dev/null; echo x >> runs.txt; [ $(wc -l < runs.txt) -ge 2 ] || kill -KILL $$";
    let built = run(&shop, &shelf, killed).await;
    assert_eq!(shop.text(&ready(&built).tree, "runs.txt").await.as_deref(), Some("x\nx\n"));
    assert_eq!(shelf.last().final_status, Some(ExchangeStatus::Recovered));
    let built = run(&shop, &shelf, "echo oh; exit 3").await;
    assert_eq!(failure(&built).reason, ReasonCode::AgentFailed);
    let record = shelf.last();
    assert_eq!((record.final_status, record.attempts.len()), (Some(ExchangeStatus::Fatal), 0));
    assert_eq!(record.original_error.kind, ExchangeErrorKind::Crashed);
}

#[tokio::test]
async fn a_program_that_says_nothing_is_ended_as_a_tree_and_started_afresh() {
    let shop =
        Shop::with_file(".holdpoint/handoff.yaml", "retry_settings: {stuck_after: 5s, json_retry_delay: 0}\n").await;
    let shelf = Shelf::default();
    let command =
        "echo x >> runs.txt; if [ $(wc -l < runs.txt) -lt 2 ]; then (trap '' TERM; sleep 600) & sleep 600; fi";
    let built = run(&shop, &shelf, command).await;
    assert_eq!(shop.text(&ready(&built).tree, "runs.txt").await.as_deref(), Some("x\nx\n"));
    let record = shelf.last();
    assert_eq!(
        (record.original_error.kind, record.final_status),
        (ExchangeErrorKind::Stuck, Some(ExchangeStatus::Recovered))
    );
}

#[tokio::test]
async fn a_handoff_file_that_is_wrong_is_refused_with_its_place_before_anything_runs() {
    let shop = Shop::with_file(".holdpoint/handoff.yaml", "retry_settings:\n  max_retries: 5\n").await;
    let built = run(&shop, &Shelf::default(), "echo ran > a.txt").await;
    let BuildTurnOutcome::Failed(failure, None, _) = &built.outcome else { panic!("{:?}", built.outcome) };
    assert_eq!(failure.reason, ReasonCode::Unsupported);
    assert!(failure.detail.contains(".holdpoint/handoff.yaml:2:3: unknown key `max_retries`"), "{}", failure.detail);
}

#[tokio::test]
async fn a_program_that_quits_too_quickly_is_reported_where_the_project_says_so() {
    let shop = Shop::with_file(".holdpoint/handoff.yaml", "retry_settings: {quit_too_quickly_below: 10m}\n").await;
    let shelf = Shelf::default();
    let built = run(&shop, &shelf, "true").await;
    assert!(failure(&built).detail.starts_with("quit_too_quickly: "), "{}", failure(&built).detail);
    // Who changed something was quick, and no more.
    assert!(ready(&run(&shop, &shelf, "echo quick > a.txt").await).work.is_some());
}

#[tokio::test]
async fn files_that_cannot_be_handed_off_are_put_right_in_the_same_turn() {
    let (shop, shelf) = (Shop::new().await, Shelf::default());
    let program = "if [ -z \"$HOLDPOINT_RETRY\" ]; then echo done >> a.txt; git init -q lib; echo x > lib/x
        else cat > prompt.txt; rm -rf lib/.git; fi";
    let built = run(&shop, &shelf, program).await;
    let ready = ready(&built);
    assert_eq!(shop.text(&ready.tree, "a.txt").await.as_deref(), Some("one\ndone\n"), "the work was done once");
    assert_eq!(shop.text(&ready.tree, "lib/x").await.as_deref(), Some("x\n"));
    let told = shop.text(&ready.tree, "prompt.txt").await.unwrap();
    assert!(
        told.contains("lib is a git repository inside the working tree") && told.contains("Put that right"),
        "{told}"
    );
    assert!(!told.contains("JSON object that begins a line"), "no result is asked for: {told}");
    let record = shelf.last();
    assert_eq!(record.original_error.kind, ExchangeErrorKind::Semantic);
    assert_eq!(record.final_status, Some(ExchangeStatus::Recovered));
}

#[tokio::test]
async fn a_program_that_fails_while_it_puts_its_files_right_fails_with_both_reasons() {
    let (shop, shelf) = (Shop::new().await, Shelf::default());
    let built = run(&shop, &shelf, "mkdir lib && git init -q lib && echo x > lib/x").await;
    let failure = failure(&built);
    assert_eq!(failure.reason, ReasonCode::HandoffInvalid);
    let first = failure.detail.lines().next().unwrap_or_default();
    assert!(first.contains("lib is a git repository inside the working tree"), "{}", failure.detail);
    assert!(failure.detail.contains("--- it was run again ---\nthe program exited with 1"), "{}", failure.detail);
}
