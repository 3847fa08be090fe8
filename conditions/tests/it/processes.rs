//! Which process evaluates what, and when one is replaced.

use std::{
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use holdpoint_conditions::{ConditionAnswer, ConditionFailure, ConditionHelper, Scope};
use holdpoint_sandbox::ProcessId;

/// A helper that no other test has, so that its processes can be found.
struct Own {
    helper: ConditionHelper,
    program: PathBuf,
    _folder: tempfile::TempDir,
}

impl Own {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().canonicalize().unwrap().join("helper");
        std::fs::copy(env!("CARGO_BIN_EXE_holdpoint-conditions-helper"), &program).unwrap();
        Self { helper: ConditionHelper::at(&program), program, _folder: folder }
    }

    /// Each with a scope of its own, so that nothing is remembered.
    async fn answer(&self, owner: &str, condition: &str) -> ConditionAnswer {
        static ASKED: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
        let scope = format!(r#"{{"n": {}}}"#, ASKED.fetch_add(1, std::sync::atomic::Ordering::Relaxed));
        let scope = Scope { json: &scope, recurs: true };
        self.helper.evaluate(owner, &[condition.to_owned()], scope).await.unwrap().remove(0)
    }

    fn processes(&self) -> Vec<ProcessId> {
        running(&self.program)
    }
}

fn running(program: &Path) -> Vec<ProcessId> {
    let all = std::fs::read_dir("/proc").unwrap().flatten().filter_map(|entry| {
        let pid: u32 = entry.file_name().to_str()?.parse().ok()?;
        (std::fs::read_link(entry.path().join("exe")).ok()? == program).then_some(pid)
    });
    all.filter_map(ProcessId::of).collect()
}

async fn soon(condition: impl Fn() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < Duration::from_secs(20));
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

#[tokio::test]
async fn a_process_evaluates_many_conditions_of_one_owner_and_none_of_anothers() {
    let own = Own::new();
    assert_eq!(own.answer("one", "n >= 0").await, ConditionAnswer::Holds);
    let first = own.processes();
    assert_eq!(first.len(), 1);
    for condition in ["n < 0", "n === n", "missing.of.this"] {
        own.answer("one", condition).await;
    }
    assert_eq!(own.processes(), first, "what throws is no reason to end a process");
    own.answer("another", "true").await;
    assert_eq!(own.processes().len(), 2);
}

#[tokio::test]
async fn nothing_that_a_condition_leaves_behind_is_seen_by_the_next() {
    let own = Own::new();
    let leaves = "(globalThis.left = 1, Object.prototype.left = 2, Array.prototype.includes = () => true, true)";
    assert_eq!(own.answer("one", leaves).await, ConditionAnswer::Holds);
    let first = own.processes();
    let clean = "globalThis.left === undefined && ({}).left === undefined && ![1].includes(2)";
    assert_eq!(own.answer("one", clean).await, ConditionAnswer::Holds);
    assert_eq!(own.processes(), first);
}

#[tokio::test]
async fn a_process_in_which_a_condition_went_over_its_bounds_evaluates_nothing_more() {
    let own = Own::new();
    own.answer("one", "true").await;
    for (condition, failure) in [
        ("(() => { while (true) {} })()", ConditionFailure::Time),
        (
            "(() => { const all = [], part = 'x'.repeat(1000); while (true) all.push(part.repeat(100) + all.length) })()",
            ConditionFailure::Memory,
        ),
    ] {
        let before = own.processes();
        assert_eq!(own.answer("one", condition).await, ConditionAnswer::Failed(failure), "{condition}");
        soon(|| before.iter().all(|process| !process.alive())).await;
        assert_eq!(own.answer("one", "n >= 0").await, ConditionAnswer::Holds);
    }
}

#[tokio::test]
async fn a_process_that_ended_meanwhile_is_replaced_and_all_end_with_their_helper() {
    let own = Own::new();
    own.answer("one", "true").await;
    let [first] = own.processes()[..] else { unreachable!() };
    first.kill().unwrap();
    soon(|| !first.alive()).await;
    assert_eq!(own.answer("one", "n < 0").await, ConditionAnswer::DoesNotHold);
    let left = own.processes();
    assert_eq!(left.len(), 1);
    drop(own.helper);
    soon(|| left.iter().all(|process| !process.alive())).await;
}

#[tokio::test]
async fn a_process_that_nobody_asks_ends_after_a_while_and_another_one_answers_then() {
    let own = Own::new();
    let own = Own { helper: own.helper.clone().kept_for(Duration::from_millis(50)), ..own };
    for _ in 0..2 {
        assert_eq!(own.answer("one", "n >= 0").await, ConditionAnswer::Holds);
        assert_eq!(own.answer("another", "n >= 0").await, ConditionAnswer::Holds);
        soon(|| own.processes().is_empty()).await;
    }
}

#[tokio::test]
async fn what_recurs_is_answered_without_a_process_and_what_does_not_is_evaluated_each_time() {
    let own = Own::new();
    let gone = async || {
        for process in own.processes() {
            process.kill().unwrap();
        }
        soon(|| own.processes().is_empty()).await;
    };
    for recurs in [true, false] {
        let scope = Scope { json: r#"{"n": 1}"#, recurs };
        let asked = async || own.helper.evaluate("one", &["n > 0".to_owned()], scope).await.unwrap().remove(0);
        assert_eq!(asked().await, ConditionAnswer::Holds);
        gone().await;
        assert_eq!(asked().await, ConditionAnswer::Holds);
        assert_eq!(own.processes().is_empty(), recurs, "a process was there for it");
        gone().await;
    }
}

#[tokio::test]
async fn however_many_ask_at_the_same_time_few_processes_live_and_everybody_is_answered() {
    let own = std::sync::Arc::new(Own::new());
    let many: Vec<_> = (0..24)
        .map(|n| {
            let own = own.clone();
            tokio::spawn(async move { own.answer(&format!("flight-{n}"), "n >= 0").await })
        })
        .collect();
    let mut most = 0;
    while !many.iter().all(tokio::task::JoinHandle::is_finished) {
        most = most.max(own.processes().len());
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    for one in many {
        assert_eq!(one.await.unwrap(), ConditionAnswer::Holds);
    }
    // Four that evaluate, four that stay; and those that were killed are there for a moment, on a busy machine for longer.
    assert!((1..=12).contains(&most), "{most} at the same time");
    soon(|| own.processes().len() <= 4).await;
}
