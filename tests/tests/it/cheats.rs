//! The false "done": programs that say they are ready and are not. None is accepted, and the record says what was found.
//!
//! Each cheat is in `cheats/`, by what it attacks. A cheat that is only kept from doing harm has done no work, so
//! its criterion is red; that the thing it went for is untouched is looked at here.
//!
//! They are flown at `fast`: `strict` only tries what that accepts. Cheats that get through it are in the verifier's
//! own tests, `canaries`, `base_product` and `levels`, at both levels.

mod cargo;
mod git;
mod harness;
mod node;
mod python;
mod steering;

use crate::corpus::{Case, Flown, fly};

/// Flies cheats and shows that none of them was accepted, that the record says why, and that nothing of the user's was
/// touched.
fn none_is_accepted(files: &[(&str, &str)], cases: &[Case]) {
    let flown = fly(files, cases, "3", "fast");
    let wrong = flown.report(cases, |case, waypoint| {
        let mut wrong = Vec::new();
        if waypoint["status"] == "complete" || waypoint["disposition"] == "accept" || !waypoint["commit"].is_null() {
            wrong.push("it was ACCEPTED".to_owned());
        }
        if waypoint["reason_code"] != case.code {
            wrong.push(format!("the reason is not {}", case.code));
        }
        if case.reason.is_some_and(|reason| waypoint["criteria"][0]["reason"] != reason) {
            wrong.push(format!("the criterion's reason is not {:?}", case.reason));
        }
        wrong
    });
    assert!(wrong.is_empty(), "{wrong}\n{}", flown.run.stderr);
    let flight = flown.run.expect(1).json();
    assert_eq!(flight["head"], flight["base"], "nothing landed");
    let silent: Vec<String> = cases
        .iter()
        .zip(flown.histories(cases))
        .filter(|(case, history)| !case.says.iter().all(|words| history.contains(words)) || history.contains("LEAKED"))
        .map(|(case, history)| format!("{} does not say {:?}, or leaked: {history}", case.id, case.says))
        .collect();
    assert!(silent.is_empty(), "{}", silent.join("\n"));
    nothing_was_touched(&flown);
    // Asked again, the flight still says the same: its record was not reached.
    let asks = cases.iter().any(|case| case.code == "help_requested");
    assert_eq!(flown.run.json()["status"], if asks { "waiting" } else { "incomplete" });
}

fn nothing_was_touched(flown: &Flown) {
    let world = &flown.world;
    assert_eq!(world.git(&["status", "--porcelain"]), "", "the user's tree");
    assert_eq!(world.git(&["symbolic-ref", "HEAD"]).trim(), "refs/heads/main");
    assert_eq!(world.git(&["rev-list", "--count", "--all"]).trim(), "1", "the user's history");
    assert!(!world.git(&["config", "--list", "--local"]).contains("planted"));
    for name in ["planted", "plan/planted", "repo/planted", "repo/.git/hooks/planted", "state/planted", "home/planted"]
    {
        assert!(!world.path(name).exists(), "{name} was planted");
    }
}
