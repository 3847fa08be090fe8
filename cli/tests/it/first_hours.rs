//! What somebody meets who begins with Holdpoint, and who leaves it again.

use std::fs;

use crate::lab::{Lab, PLAN, git};

#[test]
fn a_check_leaves_nothing_in_the_temporary_folder_and_removes_what_a_killed_one_left() {
    let lab = Lab::new();
    let tmp = lab.path("tmp");
    fs::create_dir_all(tmp.join("holdpoint-00000000000000aa/t/repo")).unwrap();
    for folder in 0..20 {
        let folder = lab.path(&format!("repo/{folder}"));
        fs::create_dir(&folder).unwrap();
        (0..40).for_each(|file| fs::write(folder.join(file.to_string()), "x\n").unwrap());
    }
    git(&lab.path("repo"), &["add", "."]);
    git(&lab.path("repo"), &["commit", "--quiet", "--message", "More"]);
    fs::write(lab.path("plan.yaml"), format!("guards: [{{id: g, check: test -e file}}]\n{PLAN}")).unwrap();
    let args = ["check", "plan.yaml", "--repo", "repo", "--builder", "true"];
    let answer = lab.run_with(&args, &[("TMPDIR", &tmp)]);
    assert_eq!(answer.code, Some(0), "{}", answer.stderr);
    let left: Vec<_> = fs::read_dir(&tmp).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn a_plan_that_doing_nothing_fulfils_is_warned_of_whether_it_shows_or_is_tried() {
    let lab = Lab::new();
    let warned = "all checks of waypoint one are green before any work";
    let checked = |check: &str| {
        let plan = PLAN.replace("test -e made", check);
        fs::write(lab.path("plan.yaml"), plan).unwrap();
        let answer = lab.run(&["check", "plan.yaml", "--repo", "repo", "--builder", "true"]);
        assert_eq!(answer.code, Some(0), "{}", answer.stderr);
        answer.stderr
    };
    assert!(!checked("test -e made").contains(warned));
    assert!(checked("'true'").contains(&format!("plan.yaml:7:7: {warned}")), "{}", checked("'true'"));
    let tried = checked("test -e file");
    assert!(tried.contains(warned) && tried.contains("red_first: true"), "{tried}");
}

#[test]
fn the_plan_that_init_writes_is_refused_until_its_placeholders_are_replaced() {
    let lab = Lab::new();
    assert_eq!(lab.run(&["init", "--repo", "repo", "--force", "--out", "plan.yaml"]).code, Some(0));
    let answer = lab.run(&["check", "plan.yaml", "--repo", "repo", "--builder", "true"]);
    answer.refuses(
        2,
        &["`goal` is still a placeholder: <what is wanted", "`check` is still a placeholder", "write in its"],
    );
}

#[test]
fn a_misspelled_agent_or_section_is_refused_with_the_one_that_was_meant() {
    let lab = Lab::new();
    lab.run(&["check", "plan.yaml", "--repo", "repo", "--builder", "cluade"]).refuses(2, &["did you mean `claude`?"]);
    fs::write(lab.path("odd.toml"), "[agents.bulider]\ncommand = 'true'\n").unwrap();
    for command in [["check", "plan.yaml"].as_slice(), &["run", "plan.yaml"], &["up"]] {
        let args = [command, &["--repo", "repo", "--builder", "true", "--config", "odd.toml"]].concat();
        lab.run(&args).refuses(2, &["[agents.bulider] in the configuration", "did you mean [agents.builder]?"]);
    }
    let org = "roles:\n  scribe: {agents: [agent-1]}\n";
    fs::write(lab.path("repo/org.yaml"), org).unwrap();
    git(&lab.path("repo"), &["add", "org.yaml"]);
    git(&lab.path("repo"), &["commit", "--quiet", "--message", "Roles"]);
    fs::write(lab.path("odd.toml"), "[agents.scribe]\ncommand = 'true'\n").unwrap();
    let known = ["check", "plan.yaml", "--repo", "repo", "--builder", "true", "--config", "odd.toml"];
    assert_eq!(lab.run(&known).code, Some(0), "{}", lab.run(&known).stderr);
}

#[test]
fn an_org_chart_to_begin_with_names_the_person_who_will_approve() {
    let lab = Lab::new();
    let mut command = lab.command(&["workflow", "new", "review", "--org"]);
    let output = command.env("USER", "ann.lee").output().unwrap();
    assert!(String::from_utf8(output.stdout).unwrap().contains("- human-ann_lee #"));
}

#[test]
fn a_disk_without_room_is_said_before_anything_begins() {
    let lab = Lab::new();
    for args in [["doctor", "--repo", "repo"].as_slice(), &["check", "plan.yaml", "--repo", "repo", "--no-try"]] {
        // No file may have 1 MiB: to the process that is as if its disk were full.
        let script = "trap '' XFSZ; ulimit -f 100; exec \"$@\"";
        let mut command = std::process::Command::new("sh");
        command.args(["-c", script, "sh", env!("CARGO_BIN_EXE_holdpoint")]).args(args).current_dir(lab.path("."));
        let output = command.env("HOLDPOINT_STATE_DIR", lab.path("state")).output().unwrap();
        let said = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap()).concat();
        assert_eq!(output.status.code(), Some(3), "{said}");
        assert!(said.contains("make room"), "{said}");
    }
}

#[test]
fn a_repository_that_was_moved_keeps_its_state_which_purge_lists_and_removes_but_for_branches() {
    let lab = Lab::new();
    assert_eq!(lab.run(&["doctor", "--repo", "repo"]).code, Some(0));
    git(&lab.path("repo"), &["branch", "holdpoint/small-0a1b2c3d"]);
    let purge = |repo: &str, more: &[&str]| {
        let answer = lab.run(&[&["purge", "--repo", repo, "--json"], more].concat());
        assert_eq!(answer.code, Some(0), "{}", answer.stderr);
        answer.json()
    };
    let before = purge("repo", &["--dry-run"]);
    fs::rename(lab.path("repo"), lab.path("moved")).unwrap();
    let moved = purge("moved", &["--dry-run"]);
    assert_eq!(moved["state"], before["state"]);
    assert_eq!(moved["branches"], serde_json::json!(["holdpoint/small-0a1b2c3d"]));
    let state = std::path::PathBuf::from(moved["state"].as_str().unwrap());
    assert!(state.is_dir() && moved["removed"] == false);
    assert_eq!(purge("moved", &[])["removed"], true);
    assert!(!state.exists());
    assert!(git(&lab.path("moved"), &["branch"]).contains("holdpoint/small-0a1b2c3d"), "work that landed stays");
    let said = lab.run(&["purge", "--repo", "moved"]).stdout;
    assert!(
        said.starts_with("nothing is kept in") && said.contains("git branch -D holdpoint/small-0a1b2c3d"),
        "{said}"
    );
}

/// As if a flight had been flown from a repository: its state folder.
fn flown(lab: &Lab, repo: &str) -> std::path::PathBuf {
    assert_eq!(lab.run(&["doctor", "--repo", repo]).code, Some(0));
    let answer = lab.run(&["purge", "--repo", repo, "--dry-run", "--json"]);
    let state = std::path::PathBuf::from(answer.json()["state"].as_str().unwrap());
    let base = git(&lab.path(repo), &["rev-parse", "HEAD"]);
    let golden = fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/../protocol/golden/submit.json")).unwrap();
    let plan = serde_json::from_slice::<serde_json::Value>(&golden).unwrap()["plan"].clone();
    let submission = serde_json::json!({"plan": plan, "base": base.trim()});
    let record = serde_json::json!({"flight": "small-0a1b2c3d", "builders": 1, "config": "", "submission": submission});
    fs::write(state.join("flights/small-0a1b2c3d.json"), record.to_string()).unwrap();
    state
}

fn copy(lab: &Lab, from: &str, to: &str) {
    let copied = std::process::Command::new("cp").arg("-a").args([lab.path(from), lab.path(to)]).status();
    assert!(copied.unwrap().success());
}

/// Where the flights of a repository are kept, and what is said of it.
fn kept(lab: &Lab, repo: &str) -> (std::path::PathBuf, String) {
    let answer = lab.run(&["purge", "--repo", repo, "--dry-run", "--json"]);
    (answer.json()["state"].as_str().unwrap().into(), answer.stderr)
}

#[test]
fn a_copy_that_is_used_before_its_moved_original_says_where_the_flights_are_and_the_original_has_them() {
    let lab = Lab::new();
    let state = flown(&lab, "repo");
    copy(&lab, "repo", "copy");
    fs::rename(lab.path("repo"), lab.path("moved")).unwrap();
    let (of_copy, said) = kept(&lab, "copy");
    assert_ne!(of_copy, state);
    let old = lab.path("repo").display().to_string();
    assert!(said.contains(&format!("`holdpoint adopt {old}")), "{said}");
    assert_eq!(kept(&lab, "moved").0, state, "it is the same folder");
    lab.run(&["adopt", &old, "--repo", "copy"]).refuses(2, &["no flights are kept"]);
}

#[test]
fn a_repository_on_another_disk_takes_its_flights_over_once_its_user_says_that_it_is_the_same() {
    let lab = Lab::new();
    let state = flown(&lab, "repo");
    copy(&lab, "repo", "other");
    let old = lab.path("repo").display().to_string();
    lab.run(&["adopt", &old, "--repo", "other"]).refuses(2, &["is there, and its flights are its own"]);
    fs::remove_dir_all(lab.path("repo")).unwrap();
    assert_ne!(kept(&lab, "other").0, state);
    let adopted = lab.run(&["adopt", &old, "--repo", "other"]);
    assert_eq!(adopted.code, Some(0), "{}", adopted.stderr);
    assert_eq!(kept(&lab, "other"), (state, String::new()));
    lab.run(&["adopt", &old, "--repo", "other"]).refuses(2, &["no flights are kept"]);
}
