//! The executable: it reads its own part of the configuration.

use holdpoint_sandbox::Tool;

#[tokio::test]
async fn without_a_program_it_says_where_to_name_one() {
    let temp = tempfile::tempdir().unwrap();
    let file = temp.path().join("agent.toml");
    std::fs::write(&file, "[agents.builder]\ncommand = 'true'\n").unwrap();
    let exe = env!("CARGO_BIN_EXE_holdpoint-repair");
    let output = Tool::new(exe).arg("--config").arg(&file).env("HOME", temp.path()).run().await.unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.code, Some(2));
    assert!(error.contains("set `command` in [agents.repair]"), "{error}");
}
