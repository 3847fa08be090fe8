//! Calls for help of real programs in the sandbox: heard while they run, and held against what else they print.

use std::{sync::Mutex, time::Duration};

use holdpoint_harness::{
    ask::{Desk, Recording, Waited, Waiting},
    backend::{markers::HelpCall, question::ValidQuestion},
    build_turn::{BuildTurnOutcome, Built, CapturedWork},
};
use holdpoint_protocol::artifact::IgnoredBecause;
use holdpoint_runtime::config::Dialect;
use serde_json::json;

use crate::support::{Shop, agent, ready};

/// Hears calls for help, and has nobody answer.
#[derive(Default)]
struct Ear(Mutex<Vec<HelpCall>>);

impl Desk for Ear {
    fn patience_max(&self) -> Duration {
        Duration::MAX
    }

    fn ask(&self, _: ValidQuestion, _: Duration) -> Waiting<'_> {
        Box::pin(std::future::ready(Waited::InVain))
    }

    fn calls_for_help(&self, call: HelpCall) -> Recording<'_> {
        self.0.lock().unwrap().push(call);
        Box::pin(std::future::ready(()))
    }
}

async fn run(shop: &Shop, ear: &Ear, command: &str) -> Built {
    run_in(shop, ear, Dialect::Plain, command).await
}

async fn run_in(shop: &Shop, ear: &Ear, dialect: Dialect, command: &str) -> Built {
    let workbench = shop.bench_with(command, |program| program.dialect = dialect).await;
    workbench.run(&shop.turn(), &agent(), &shop.mirror, ear).await.unwrap()
}

fn call(built: &Built) -> (&HelpCall, Option<&CapturedWork>) {
    match &built.outcome {
        BuildTurnOutcome::Help(call, work) => (call, work.as_ref()),
        other => panic!("{other:?}: {}", std::fs::read_to_string(&built.output).unwrap()),
    }
}

/// It never ends by itself.
const GOES_ON: &str = "exec sleep 100000";

#[tokio::test]
async fn a_printed_call_is_heard_while_its_program_runs_and_ends_it() {
    let (shop, ear) = (Shop::new().await, Ear::default());
    let says = r#"echo two >> a.txt; echo '>>>HELP<<<'; echo '{"reason": "stuck", "step": 17}'"#;
    let built = run(&shop, &ear, &format!("{says}; {GOES_ON}")).await;
    let (call, work) = call(&built);
    let context = json!({"reason": "stuck", "step": 17});
    assert_eq!((call.raw_line.as_str(), call.context.as_ref()), (">>>HELP<<<", Some(&context)));
    assert_eq!(call.events.len(), 1);
    assert!(!call.overruled && work.is_some(), "there was no final object, and the files go with it");
    let heard = ear.0.lock().unwrap();
    assert_eq!(heard.len(), 1, "it was told before the program ended");
    assert_eq!(heard[0].context.as_ref(), Some(&context));
}

#[tokio::test]
async fn what_an_agent_says_in_its_dialect_is_heard_while_it_runs() {
    let (shop, ear) = (Shop::new().await, Ear::default());
    let said = json!({"type": "assistant", "message": {"id": "m", "content": [{"type": "text", "text": "I am stuck.\n>>>HELP<<<"}]}});
    let quoted = json!({"type": "user", "message": {"content": [{"type": "tool_result", "content": ">>>HELP<<<\n"}]}});
    let built = run_in(&shop, &ear, Dialect::Claude, &format!("printf '%s\\n' '{quoted}' '{said}'; {GOES_ON}")).await;
    assert_eq!(call(&built).0.events.len(), 1);
    assert_eq!(ear.0.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn a_call_before_a_crash_is_not_lost() {
    let (shop, ear) = (Shop::new().await, Ear::default());
    for end in ["kill -9 $$", "exit 3"] {
        let built = run(&shop, &ear, &format!("echo '>>>HELP<<<' >&2; {end}")).await;
        let (call, _) = call(&built);
        assert_eq!((call.raw_line.as_str(), call.events.len()), (">>>HELP<<<", 1), "{end}");
    }
}

#[tokio::test]
async fn a_final_object_that_knows_of_no_call_is_overruled() {
    let (shop, ear) = (Shop::new().await, Ear::default());
    let waypoint = shop.turn().waypoint;
    let envelope = |more: &str| {
        format!(
            r#"{{"component": "builder", "status": "success", "data": {{"task_id": "{waypoint}", "success": true, "completed_normally": true, "todos": []{more}}}}}"#
        )
    };
    for (more, overruled) in [("", true), (r#", "requested_help": true"#, false)] {
        let built = run(&shop, &ear, &format!("echo '>>>HELP<<<'; echo '{}'", envelope(more))).await;
        assert_eq!(call(&built).0.overruled, overruled, "{more}");
    }
    let built = run(&shop, &ear, &format!("echo '{}'", envelope(r#", "requested_help": true"#))).await;
    assert_eq!(call(&built).0.raw_line, r#""requested_help": true"#);
}

#[tokio::test]
async fn a_quoted_call_an_echoed_prompt_and_a_json_string_call_nobody() {
    let (shop, ear) = (Shop::new().await, Ear::default());
    let turn = shop.turn_with(|request| "Do it. If stuck, print\n>>>HELP<<<\nand end.".clone_into(&mut request.goal));
    let says = r#"sed 's/^/    /'; echo 'I would say'; echo '```'; echo '>>>HELP<<<'; echo '```'; echo '{"say": ">>>HELP<<<"}'"#;
    let workbench = shop.workbench(&format!("{says}; echo done >> a.txt")).await;
    let built = workbench.run(&turn, &agent(), &shop.mirror, &ear).await.unwrap();
    assert!(ready(&built).work.is_some());
    assert!(ear.0.lock().unwrap().is_empty());
    let ignored: Vec<_> = built.markers_ignored.iter().map(|ignored| (ignored.marker.as_str(), ignored.why)).collect();
    assert_eq!(ignored, [("help", IgnoredBecause::Echo), ("help", IgnoredBecause::Fence)]);
}

#[tokio::test]
async fn each_run_of_a_program_is_listened_to_afresh() {
    let (shop, ear) = (Shop::new().await, Ear::default());
    // Cut off in a code fence the first time; what is open there hides nothing of the second run.
    let first = r#"printf '{"component": "builder", "status"\n```\n'"#;
    let built =
        run(&shop, &ear, &format!("if [ -z \"$HOLDPOINT_RETRY\" ]; then {first}; else echo '>>>HELP<<<'; fi")).await;
    assert_eq!(call(&built).0.events.len(), 1);
}
