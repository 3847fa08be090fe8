//! Repositories that cannot be flown from are refused before anything starts; and what git work costs.

use std::path::Path;

use crate::lab::{Lab, git};

/// `run` on the repository of that name.
fn run_on(lab: &Lab, repo: &str) -> crate::lab::Answer {
    lab.run(&["run", "plan.yaml", "--repo", repo, "--builder", "true"])
}

/// Nothing of a refused flight is left.
fn without_traces(lab: &Lab) {
    assert!(!lab.path("state").exists(), "a state folder was made");
}

#[test]
fn a_shallow_clone_is_refused_before_anything_starts() {
    let lab = Lab::new();
    git(&lab.path("repo"), &["commit", "--quiet", "--allow-empty", "--message", "More"]);
    let url = format!("file://{}", lab.path("repo").display());
    git(&lab.path("repo"), &["clone", "--quiet", "--depth=1", &url, "../shallow"]);
    run_on(&lab, "shallow").refuses(2, &["shallow clone", "git fetch --unshallow"]);
    without_traces(&lab);
    git(&lab.path("shallow"), &["fetch", "--quiet", "--unshallow"]);
    let none = lab.path("none");
    let args = ["run", "plan.yaml", "--repo", "shallow", "--builder", "true"];
    lab.run_with(&args, &[("HOLDPOINT_NATS_SERVER", &none)]).refuses(3, &["no nats-server"]);
}

#[test]
fn a_folder_whose_path_is_no_text_is_refused_in_words_before_anything_starts() {
    use std::os::unix::ffi::OsStrExt as _;
    let lab = Lab::new();
    let odd = lab.path("").join(std::ffi::OsStr::from_bytes(b"caf\xe9"));
    std::fs::create_dir(&odd).unwrap();
    std::fs::rename(lab.path("repo"), odd.join("repo")).unwrap();
    std::os::unix::fs::symlink(odd.join("repo"), lab.path("repo")).unwrap();
    for command in ["check", "run"] {
        let args = [command, "plan.yaml", "--repo", "repo", "--builder", "true"];
        lab.run(&args).refuses(2, &["is not UTF-8: \"", "caf\\xE9", "rename or move the folder"]);
        without_traces(&lab);
    }
    std::fs::remove_file(lab.path("repo")).unwrap();
    std::fs::rename(odd.join("repo"), lab.path("repo")).unwrap();
    for variable in ["HOLDPOINT_STATE_DIR", "TMPDIR", "HOME", "HOLDPOINT__AGENT__STATE_DIR"] {
        let args = ["run", "plan.yaml", "--repo", "repo", "--builder", "true"];
        lab.run_with(&args, &[(variable, &odd)]).refuses(2, &[variable, "is not UTF-8: \""]);
        without_traces(&lab);
    }
    std::os::unix::fs::symlink(lab.path("plan.yaml"), odd.join("plan.yaml")).unwrap();
    let linked = lab.path("linked");
    std::os::unix::fs::symlink(&odd, &linked).unwrap();
    std::fs::rename(lab.path("plan.yaml"), odd.join("real.yaml")).unwrap();
    lab.run(&["check", "linked/real.yaml", "--repo", "repo"]).refuses(2, &["the plan's path is not UTF-8: \""]);
    // What nothing of it uses may be anything.
    std::fs::rename(odd.join("real.yaml"), lab.path("plan.yaml")).unwrap();
    lab.run_with(&["check", "plan.yaml", "--repo", "repo"], &[("LESSOPEN", &odd)]).refuses(0, &[]);
}

#[test]
fn an_unborn_branch_is_refused_and_a_named_base_is_not_needed_to_be_checked_out() {
    let lab = Lab::new();
    git(&lab.path("repo"), &["checkout", "--quiet", "--orphan", "fresh"]);
    run_on(&lab, "repo").refuses(2, &["HEAD", "base"]);
    without_traces(&lab);
}

#[test]
fn a_flight_that_was_never_begun_is_not_resumed() {
    let lab = Lab::new();
    let answer = lab.run(&["run", "--resume", "small-00000000", "--repo", "repo", "--json"]);
    answer.refuses(2, &["no flight small-00000000", "holdpoint status"]);
    assert_eq!(answer.json()["error"]["code"], "not_found");
}

#[test]
fn the_cost_of_git_work_is_measured_beside_plain_git() {
    let lab = Lab::new();
    let server = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/tools/nats-server");
    let env: Vec<(&str, &Path)> =
        if server.exists() { vec![("HOLDPOINT_NATS_SERVER", server.as_path())] } else { Vec::new() };
    let dir = lab.path("place");
    std::fs::create_dir(&dir).unwrap();
    let args = ["bench", "workspace", "--files", "20", "--commits", "5", "--json", "--dir", "place"];
    let answer = lab.run_with(&args, &env);
    assert_eq!(answer.code, Some(0), "{}", answer.stderr);
    let report = answer.json();
    assert_eq!((&report["files"], &report["commits"]), (&20.into(), &5.into()));
    for (side, step) in [("ours", "snapshot_ms"), ("ours", "handoff_ms"), ("ours", "total_ms"), ("plain", "total_ms")] {
        assert!(report[side][step].as_f64().unwrap() > 0.0, "{side} {step}");
    }
    assert!(report["ratio"].as_f64().unwrap() > 0.0);
    let traffic = &report["ours"]["traffic"];
    let bytes = |name: &str| traffic[name].as_u64().unwrap();
    // The bundle is stored once by the builder and fetched by the verifier and, to land it, by the orchestrator.
    assert!(bytes("second_waypoint_bytes") > 2 * bytes("second_handoff_bytes"), "{traffic}");
    assert!(bytes("first_waypoint_bytes") > 3 * bytes("repository_bytes"), "{traffic}");
    assert_eq!(std::fs::read_dir(dir).unwrap().count(), 0, "nothing is left");
}
