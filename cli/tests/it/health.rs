//! What a container's health check gets.

use crate::lab::Lab;

const FILE: &str = "HOLDPOINT__HEALTH__FILE";

#[test]
fn health_answers_for_a_process_that_has_said_nothing_or_stopped() {
    let lab = Lab::new();
    lab.run(&["health"]).refuses(2, &["health.file", "HOLDPOINT__HEALTH__FILE"]);

    let file = lab.path("sign");
    let silent = lab.run_with(&["health"], &[(FILE, &file)]);
    assert_eq!(silent.code, Some(1), "{}", silent.stdout);
    assert!(silent.stdout.contains("no sign of life"), "{}", silent.stdout);

    std::fs::write(&file, r#"{"name":"b1","pid":1,"connected":true,"at":"2026-01-01T00:00:00Z"}"#).unwrap();
    let stale = lab.run_with(&["health", "--json"], &[(FILE, &file)]);
    assert_eq!((stale.code, &stale.json()["well"]), (Some(1), &false.into()));
}
