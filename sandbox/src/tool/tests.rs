mod answering;
mod confined;

use std::time::{Duration, Instant};

use super::{Tool, ToolError};
use crate::process::ProcessId;

fn sh(line: &str) -> Tool {
    Tool::new("sh").args(["-c", line])
}

#[tokio::test]
async fn output_and_exit_code_are_reported() {
    let output = sh("printf out; printf err >&2; exit 3").run().await.unwrap();
    assert_eq!((output.code, output.stdout.as_slice(), output.stderr.as_slice()), (Some(3), &b"out"[..], &b"err"[..]));
}

#[tokio::test]
async fn environment_is_cleared_but_for_path_and_lang() {
    let output = Tool::new("env").env("ONLY", "this").run_ok().await.unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let mut names: Vec<_> = text.lines().filter_map(|line| line.split('=').next()).collect();
    names.sort_unstable();
    assert_eq!(names, ["LANG", "ONLY", "PATH"]);
}

#[tokio::test]
async fn input_reaches_the_program_and_is_closed() {
    let input = vec![b'x'; 1024 * 1024];
    let output = Tool::new("cat").stdin(input.clone()).run_ok().await.unwrap();
    assert_eq!(output.stdout, input);
}

#[tokio::test]
async fn a_file_is_read_from_where_it_is_told() {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), "not thisbut this").unwrap();
    let output = Tool::new("cat").stdin_file(file.path(), 8).run_ok().await.unwrap();
    assert_eq!(output.stdout, b"but this");
    let gone = Tool::new("cat").stdin_file("/nowhere/at/all", 0).run_ok().await;
    assert!(matches!(gone, Err(ToolError::Io { .. })), "{gone:?}");
}

#[tokio::test]
async fn standard_output_is_appended_to_a_file_past_the_cap_of_what_is_kept() {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), "begin ").unwrap();
    let output = Tool::new("echo").arg("a long answer").output_cap(1).appends_to(file.path()).run_ok().await.unwrap();
    assert_eq!(
        (output.stdout, std::fs::read_to_string(file.path()).unwrap()),
        (Vec::new(), "begin a long answer\n".to_owned())
    );
    let gone = Tool::new("echo").appends_to("/nowhere/at/all").run_ok().await;
    assert!(matches!(gone, Err(ToolError::Io { .. })), "{gone:?}");
}

#[tokio::test]
async fn unread_input_is_no_error() {
    sh("exit 0").stdin(vec![b'x'; 1024 * 1024]).run_ok().await.unwrap();
}

#[tokio::test]
async fn missing_program_and_missing_directory_are_told_apart() {
    let program = Tool::new("holdpoint-no-such-tool").run().await.unwrap_err();
    assert!(matches!(program, ToolError::NotFound { .. }));
    let dir = sh("true").dir("/no/such/dir").run().await.unwrap_err();
    assert!(matches!(dir, ToolError::Start { .. }));
}

#[tokio::test]
async fn failure_carries_code_arguments_and_last_lines() {
    let error = sh("echo why >&2; exit 9").run_ok().await.unwrap_err();
    let ToolError::Failed { code, args, stderr, .. } = error else { panic!("{error}") };
    assert_eq!((code, stderr.as_str()), (Some(9), "why"));
    assert!(args.starts_with("-c echo"));
}

#[tokio::test]
async fn flood_is_stopped_at_the_cap() {
    let error = Tool::new("yes").output_cap(100_000).run().await.unwrap_err();
    assert!(matches!(error, ToolError::OutputLimit { limit: 100_000, .. }));
}

#[tokio::test]
async fn deadline_ends_the_run() {
    let error = sh("sleep 600").timeout(Duration::from_millis(100)).run().await.unwrap_err();
    assert!(matches!(error, ToolError::TimedOut { .. }));
}

#[tokio::test]
async fn run_that_is_given_up_ends_the_whole_group() {
    let dir = tempfile::tempdir().unwrap();
    let note = dir.path().join("pid");
    let line = format!("sleep 600 & echo $! > {0}.new; mv {0}.new {0}; wait", note.display());
    {
        let run = sh(&line).run();
        tokio::pin!(run);
        tokio::select! {
            _ = &mut run => panic!("it ended by itself"),
            () = soon(|| note.exists()) => {}
        }
    }
    let pid = std::fs::read_to_string(&note).unwrap().trim().parse().unwrap();
    soon(|| ProcessId::of(pid).is_none()).await;
}

async fn soon(condition: impl Fn() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < Duration::from_secs(20));
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}
