use std::path::Path;
use std::time::Duration;

use super::{Lifetime, RunningService, Service, ServiceError, ServiceSpec};
use crate::process::ProcessId;

const LIMIT: Duration = Duration::from_secs(10);

fn spawn(dir: &Path, line: &str, lifetime: Lifetime) -> RunningService {
    let spec = ServiceSpec {
        program: "sh".into(),
        args: vec!["-c".into(), line.into()],
        env: vec![("GIVEN".into(), "yes".into())],
        dir: Some(dir.to_owned()),
        log: dir.join("log"),
        lifetime,
    };
    Service::spawn(&spec).unwrap()
}

async fn ends(id: ProcessId) {
    let gone = async {
        while id.alive() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(LIMIT, gone).await.expect("the process ends");
}

#[tokio::test]
async fn output_goes_to_the_log_and_environment_is_small() {
    let dir = tempfile::tempdir().unwrap();
    let mut running = spawn(dir.path(), "echo out; echo err >&2; env | cut -d= -f1", Lifetime::Bound);
    assert!(running.wait().await.unwrap().success());
    let log = std::fs::read_to_string(dir.path().join("log")).unwrap();
    assert!(log.contains("out\nerr\n") && log.contains("GIVEN"), "{log}");
    assert!(!log.contains("CARGO"), "{log}");
}

#[tokio::test]
async fn terminate_asks_and_wait_tells() {
    let dir = tempfile::tempdir().unwrap();
    let mut running = spawn(dir.path(), "exec sleep 600", Lifetime::Bound);
    assert!(running.try_wait().unwrap().is_none());
    running.terminate();
    let status = tokio::time::timeout(LIMIT, running.wait()).await.unwrap().unwrap();
    assert!(!status.success());
}

#[tokio::test]
async fn drop_ends_a_bound_service() {
    let dir = tempfile::tempdir().unwrap();
    let running = spawn(dir.path(), "exec sleep 600", Lifetime::Bound);
    let id = running.id().unwrap();
    drop(running);
    ends(id).await;
}

#[tokio::test]
async fn detached_service_survives_the_drop() {
    let dir = tempfile::tempdir().unwrap();
    let running = spawn(dir.path(), "exec sleep 600", Lifetime::Detached);
    let id = running.id().unwrap();
    drop(running);
    assert!(id.alive());
    assert!(id.kill().unwrap());
    ends(id).await;
}

#[tokio::test]
async fn closed_control_pipe_is_seen_as_end_of_input() {
    let dir = tempfile::tempdir().unwrap();
    let mut running = spawn(dir.path(), "cat; exit 7", Lifetime::BoundByPipe);
    assert!(running.try_wait().unwrap().is_none());
    running.close_control();
    let status = tokio::time::timeout(LIMIT, running.wait()).await.unwrap().unwrap();
    assert_eq!(status.code(), Some(7));
}

#[tokio::test]
async fn missing_program_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let spec = ServiceSpec {
        program: "holdpoint-no-such-service".into(),
        args: Vec::new(),
        env: Vec::new(),
        dir: None,
        log: dir.path().join("log"),
        lifetime: Lifetime::Bound,
    };
    assert!(matches!(Service::spawn(&spec), Err(ServiceError::NotFound { .. })));
}
