//! The executable: what it says when it cannot start.

use std::path::Path;

use holdpoint_sandbox::{Tool, ToolOutput};

use crate::support::SHIM;

async fn start(dir: &Path, config: &str) -> ToolOutput {
    let file = dir.join("agent.toml");
    std::fs::write(&file, config).unwrap();
    Tool::new(SHIM).arg("--config").arg(&file).env("HOME", dir).run().await.unwrap()
}

fn error(output: &ToolOutput) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[tokio::test]
async fn without_a_program_it_says_where_to_name_one() {
    let temp = tempfile::tempdir().unwrap();
    let output = start(temp.path(), "").await;
    assert_eq!(output.code, Some(2));
    assert!(error(&output).contains("set `command` in [agents.builder]"), "{}", error(&output));
}

#[tokio::test]
async fn a_write_path_that_does_not_exist_is_refused_at_start() {
    let temp = tempfile::tempdir().unwrap();
    let output = start(temp.path(), "[agents.builder]\ncommand = 'true'\nwrite_paths = ['/no/such/path']\n").await;
    assert_eq!(output.code, Some(2));
    assert!(error(&output).contains("/no/such/path"), "{}", error(&output));
}

#[tokio::test]
async fn the_sandbox_is_tried_before_the_broker_is_looked_for() {
    let temp = tempfile::tempdir().unwrap();
    let state = temp.path().join("state");
    let config = format!("[agent]\nstate_dir = '{}'\n[agents.builder]\ncommand = 'true'\n", state.display());
    let output = start(temp.path(), &config).await;
    assert_eq!(output.code, Some(2));
    assert!(error(&output).contains("nats.creds is not configured"), "{}", error(&output));
    assert!(state.join("homes/builder").is_dir() && !state.join("turns/trial").exists());
}
