//! What a person can do once a flight has come to its end, and what it took to get there. Pure.

use std::{path::Path, time::Duration};

use holdpoint_protocol::{
    Timestamp,
    state::Status,
    view::{FlightStatus, FlightView},
};

use crate::typed::{quoted, typed};

/// The lines behind the result of a flight. `cost` says what it used up; `repo` is where its branch is; `ended` is when it came
/// to its end, where that was seen.
pub(crate) fn lines(view: &FlightView, cost: Option<&str>, repo: &Path, ended: Option<Timestamp>) -> Vec<String> {
    let mut lines: Vec<String> = took(view, cost, ended).into_iter().collect();
    let mut steps: Vec<String> = Vec::new();
    let FlightView { flight, branch, base, .. } = view;
    if view.status != FlightStatus::Accepted {
        let held =
            view.waypoints.iter().filter(|w| matches!(w.status, Status::Blocked | Status::Failed)).collect::<Vec<_>>();
        if let Some(first) = held.first() {
            let history = typed(&format!("holdpoint history {} --flight {flight}", first.id));
            steps.push(format!("{history}    # every attempt, with its verdict"));
        }
        if !held.is_empty() || view.status == FlightStatus::Waiting {
            let inbox = typed(&format!("holdpoint inbox --flight {flight}"));
            steps.push(format!("{inbox}    # what waits for people, and the commands for it"));
        }
        if view.paused {
            steps.push(format!("{}    # a person paused it", typed(&format!("holdpoint resume {flight}"))));
        }
        if !view.waypoints.iter().all(|waypoint| waypoint.status.is_over()) {
            let resume = typed(&format!("holdpoint run --resume {flight}"));
            steps.push(format!("{resume}    # goes on once you have"));
        }
    }
    if view.waypoints.iter().any(|waypoint| waypoint.commit.is_some()) {
        // The current folder needs no word.
        let git = if repo == Path::new(".") {
            "git".to_owned()
        } else {
            format!("git -C {}", quoted(&repo.to_string_lossy()))
        };
        steps.push(format!("{git} diff {}..{branch}", base.short()));
        steps.push(format!("{git} merge {branch}"));
    }
    let head = std::iter::once("next:  ").chain(std::iter::repeat("       "));
    lines.extend(head.zip(steps).map(|(head, step)| format!("{head}{step}")));
    lines
}

/// `2 of 3 landed in 03:12; $1.25, 42000 tokens, …`
fn took(view: &FlightView, cost: Option<&str>, ended: Option<Timestamp>) -> Option<String> {
    let (done, all) = view.progress();
    // Where nobody makes work, nothing lands.
    let landed = done == 0 || view.waypoints.iter().any(|waypoint| waypoint.commit.is_some());
    let word = if landed { "landed" } else { "complete" };
    let time = ended.zip(view.submitted_at).map(|(ended, since)| format!(" in {}", clock(ended.since(since))));
    let (time, cost) = (time.unwrap_or_default(), cost.map(|cost| format!("; {cost}")).unwrap_or_default());
    (!view.waypoints.is_empty()).then(|| format!("{done} of {all} {word}{time}{cost}"))
}

/// `01:07`, or `1:00:07`.
pub(crate) fn clock(span: Duration) -> String {
    let seconds = span.as_secs();
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    if hours > 0 { format!("{hours}:{minutes:02}:{seconds:02}") } else { format!("{minutes:02}:{seconds:02}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::tests::flight;

    fn of(view: &FlightView, repo: &str) -> String {
        lines(view, Some("$0.00, 42 tokens"), Path::new(repo), Some(Timestamp::from_millis(68_000))).join("\n")
    }

    #[test]
    fn an_accepted_flight_ends_with_what_it_took_and_how_to_take_it() {
        let mut view = flight();
        view.waypoints.truncate(1);
        view.status = FlightStatus::Accepted;
        view.submitted_at = Some(Timestamp::from_millis(1_000));
        assert_eq!(
            of(&view, "."),
            "1 of 1 landed in 01:07; $0.00, 42 tokens\nnext:  git diff aaaaaaaaaa..holdpoint/p-00000000\n       git merge \
             holdpoint/p-00000000"
        );
        assert!(of(&view, "../client").contains("git -C ../client merge"));
        let mut parent = view.waypoints[0].clone();
        parent.id = "whole".parse().unwrap();
        view.waypoints[0].parent = Some(parent.id.clone());
        view.waypoints.push(parent);
        assert!(of(&view, ".").starts_with("1 of 1 landed"), "nothing of a parent's own lands");
        view.waypoints.pop();
        view.waypoints[0].commit = None;
        assert_eq!(lines(&view, None, Path::new("."), None), ["1 of 1 complete"], "over before anybody looked");
    }

    #[test]
    fn a_flight_that_did_not_come_through_says_where_to_look_and_how_to_go_on() {
        let text = of(&flight(), "../client");
        let steps =
            ["history two --flight p-00000000", "inbox --flight p-00000000", "--resume p-00000000    #", "diff"];
        for step in steps {
            assert!(text.contains(step), "{step} in {text}");
        }
        assert!(text.starts_with("1 of 2 landed; ") && !text.contains("holdpoint resume"), "{text}");
        let mut paused = flight();
        paused.paused = true;
        assert!(of(&paused, ".").contains("holdpoint resume p-00000000    # a person paused it\n"));
        let mut cancelled = flight();
        cancelled.waypoints.iter_mut().for_each(|waypoint| waypoint.status = Status::Cancelled);
        assert!(!of(&cancelled, ".").contains("--resume"), "nothing goes on");
    }

    #[test]
    fn spans_are_minutes_and_seconds() {
        assert_eq!(clock(Duration::from_millis(5_999)), "00:05");
        assert_eq!(clock(Duration::from_secs(3_607)), "1:00:07");
    }
}
