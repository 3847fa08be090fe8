//! A tool that stays and is asked.

use std::time::Duration;

use super::super::{AnsweringTool, Limit, ToolAnswer, ToolError};
use super::confined::limits;
use super::{sh, soon};
use crate::process::ProcessId;

async fn started(line: &str) -> AnsweringTool {
    let dir = tempfile::tempdir().unwrap();
    let tool = sh(line).confined(limits(dir.path())).timeout(Duration::from_secs(30)).output_cap(1_000);
    tool.answering().await.unwrap()
}

async fn line(tool: &mut AnsweringTool, asked: &str) -> String {
    match tool.ask(asked.as_bytes()).await.unwrap() {
        ToolAnswer::Line(line) => String::from_utf8(line).unwrap(),
        ToolAnswer::Ended => "ended".to_owned(),
    }
}

#[tokio::test]
async fn each_line_that_is_sent_is_answered_by_a_line_of_the_same_process() {
    let mut tool = started("while read -r line; do echo \"$$ $line\"; done").await;
    let first = line(&mut tool, "a").await;
    let pid: u32 = first.strip_suffix(" a").unwrap().parse().unwrap();
    assert_eq!(line(&mut tool, "b").await, format!("{pid} b"));
    drop(tool);
    soon(|| ProcessId::of(pid).is_none()).await;
}

#[tokio::test]
async fn the_end_of_a_process_is_no_answer_and_a_limit_is_named() {
    let mut tool = started("read -r line; exit 0").await;
    assert_eq!(line(&mut tool, "a").await, "ended");
    let mut tool = started("read -r line; ulimit -S -t 1; while :; do :; done").await;
    let ended = tool.ask(b"a").await;
    assert!(matches!(ended, Err(ToolError::OverLimit { limit: Limit::ProcessorTime(_), .. })), "{ended:?}");
}

#[tokio::test]
async fn an_answer_that_is_too_long_or_was_not_asked_for_is_an_error() {
    let mut tool = started("read -r line; head -c 2000 /dev/zero; sleep 600").await;
    let ended = tool.ask(b"a").await;
    assert!(matches!(ended, Err(ToolError::OutputLimit { limit: 1_000, .. })), "{ended:?}");
    let mut tool = started("read -r line; printf 'one\\ntwo\\n'; sleep 600").await;
    assert_eq!(line(&mut tool, "a").await, "one");
    assert!(matches!(tool.ask(b"b").await, Err(ToolError::Io { .. })));
}

#[tokio::test]
async fn only_a_confined_tool_stays() {
    let started = sh("cat").answering().await;
    assert!(matches!(started, Err(ToolError::Confine { .. })), "{started:?}");
}
