//! Honest solutions, at least as many as there are cheats: all of them are accepted and land.
//!
//! Each solution is in `honest/`, by what it touches. A rule that refuses one of these refuses work that people
//! want.
//!
//! They are flown at `strict`, which begins where `fast` ends well: what it accepts, `fast` accepts.

mod files;
mod programs;
mod steering;
mod suites;

use crate::corpus::{Case, Flown, fly};

/// Flies honest solutions and shows that every one was accepted at once, and that all of them are on the branch.
fn all_are_accepted(files: &[(&str, &str)], cases: &[Case]) -> Flown {
    let flown = fly(files, cases, "1", "strict");
    let wrong = flown.report(cases, |_, waypoint| {
        let accepted = waypoint["status"] == "complete" && waypoint["reason_code"] == "criteria_met";
        if accepted { Vec::new() } else { vec!["it was REFUSED".to_owned()] }
    });
    assert!(wrong.is_empty(), "{wrong}\n{}", flown.run.stderr);
    flown.run.expect(0);
    let flight = flown.run.json();
    let branch = flight["branch"].as_str().unwrap();
    let landed = flown.world.git(&["rev-list", "--count", &format!("main..{branch}")]);
    let unchanged = cases.iter().filter(|case| flown.run.waypoint(case.id)["commit"].is_null()).count();
    assert_eq!(landed.trim(), (cases.len() - unchanged).to_string(), "one commit for each that changed something");
    flown
}
