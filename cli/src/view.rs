//! A flight as it is printed: the contract's JSON object, and a table for people.

use std::fmt::Write as _;

use holdpoint_account::words::{status_mark, verdict_mark, why};
use holdpoint_evidence::telling;
use holdpoint_planfile::checkpoints;
use holdpoint_protocol::{
    Timestamp,
    api::FlightLine,
    artifact::Disposition,
    facts::{Oid, Verdict},
    ids::{FlightId, GateId, WaypointId},
    reason::ReasonCode,
    state::{Outcome, Status},
    view::{BranchStatus, BranchView, FlightStatus, FlightView, Trouble, WaypointView},
};
use holdpoint_text::{
    shown,
    units::{counted, seconds},
};
use serde::Serialize;

use crate::{failure::Exit, typed::in_text};

/// The word for a running flight that nobody flies at the moment.
const INTERRUPTED: &str = "interrupted";

/// The contract's object ("With `--json`"). Its fields beyond the contract may grow.
#[derive(Debug, Serialize)]
pub(crate) struct Shown<'a> {
    flight: &'a FlightId,
    plan: &'a str,
    status: FlightStatus,
    base: &'a Oid,
    branch: &'a str,
    head: &'a Oid,
    paused: bool,
    /// Nobody flies it at the moment.
    interrupted: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    submitted_at: Option<Timestamp>,
    waypoints: &'a [WaypointView],
    trouble: &'a [Trouble],
    trouble_left_out: u64,
}

impl<'a> From<&'a FlightView> for Shown<'a> {
    fn from(view: &'a FlightView) -> Self {
        let FlightView {
            flight,
            plan,
            status,
            base,
            branch,
            head,
            paused,
            submitted_at,
            waypoints,
            next: _,
            landings: _,
            brought_by: _,
            trouble,
            trouble_left_out,
            workflows: _,
        } = view;
        let (status, paused, submitted_at, trouble_left_out) = (*status, *paused, *submitted_at, *trouble_left_out);
        let interrupted = false;
        Self {
            flight,
            plan,
            status,
            base,
            branch,
            head,
            paused,
            interrupted,
            submitted_at,
            waypoints,
            trouble,
            trouble_left_out,
        }
    }
}

impl Shown<'_> {
    /// The same of a flight that nobody flies at the moment, or that somebody does.
    pub(crate) fn interrupted(self, interrupted: bool) -> Self {
        Self { interrupted, ..self }
    }
}

/// The exit code of a flight that has this status.
pub(crate) fn exit(view: &FlightView) -> Exit {
    if view.status == FlightStatus::Accepted { Exit::Success } else { Exit::Incomplete }
}

/// The flight for people.
pub(crate) fn table(view: &FlightView) -> String {
    table_of(view, false)
}

/// The same of a flight that nobody flies at the moment, or that somebody does.
pub(crate) fn table_of(view: &FlightView, interrupted: bool) -> String {
    let mut text = String::new();
    let tree = tree(&view.waypoints);
    let width = tree.iter().map(|(depth, w)| depth + w.id.as_str().len()).max().unwrap_or_default();
    // Writing into a string cannot fail.
    let paused = if view.paused { ", and paused" } else { "" };
    let _ = writeln!(
        text,
        "flight {} is {}{paused}",
        view.flight,
        if interrupted { INTERRUPTED } else { view.status.as_str() }
    );
    for (depth, waypoint) in tree {
        let (mark, id, rest) = (status_mark(waypoint.status), waypoint.id.as_str(), width - depth);
        let _ = writeln!(text, "  {:depth$}{mark} {id:<rest$}  {}", "", summary(waypoint));
        for red in reds(waypoint).chain(scores(waypoint)) {
            let _ = writeln!(text, "    {:<width$}  {red}", "");
        }
        if let Some(remediation) = waypoint.remediation.as_deref().filter(|_| waypoint.needs_people()) {
            let _ = writeln!(text, "    {:<width$}  {}", "", in_text(&shown::line(remediation)));
        }
    }
    for trouble in &view.trouble {
        let of = trouble.waypoint.as_ref().map(|id| format!(" with {id}")).unwrap_or_default();
        let (message, since) = (shown::line(&trouble.message), seconds(trouble.since));
        let _ = writeln!(text, "trouble{of} since {since}, tried {} times: {message}", trouble.failures);
    }
    if view.trouble_left_out > 0 {
        let _ = writeln!(text, "and {} more troubles", view.trouble_left_out);
    }
    let landed = view.waypoints.iter().filter(|w| w.commit.is_some()).count();
    if landed > 0 {
        let commits = counted(landed, "commit");
        let _ = writeln!(text, "branch {} at {} ({commits} on {})", view.branch, view.head.short(), view.base.short());
    }
    text.truncate(text.trim_end().len());
    text
}

/// The waypoints in the plan's order, children below their parents, each with how far it is indented.
fn tree(waypoints: &[WaypointView]) -> Vec<(usize, &WaypointView)> {
    let roots = waypoints.iter().filter(|one| one.parent.is_none());
    let children = |of: &WaypointView| {
        let id = of.id.clone();
        waypoints.iter().filter(move |one| one.parent.as_ref() == Some(&id)).map(|child| (2, child))
    };
    roots.flat_map(|one| std::iter::once((0, one)).chain(children(one))).collect()
}

/// All flights for people. Of each it is asked whether nobody flies it at the moment.
pub(crate) fn list(flights: &[FlightLine], is_interrupted: impl Fn(&FlightLine) -> bool) -> String {
    let width = flights.iter().map(|line| line.flight.as_str().len()).max().unwrap_or_default();
    let line = |line: &FlightLine| {
        let status = match line.status {
            FlightStatus::Running | FlightStatus::Waiting if line.paused => "paused",
            FlightStatus::Running if is_interrupted(line) => INTERRUPTED,
            status => status.as_str(),
        };
        format!("{:<width$}  {status:<11}  {}", line.flight.as_str(), seconds(line.submitted_at))
    };
    flights.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// The criteria and guards that are not green, each with why, of a waypoint that has not come through.
fn reds(waypoint: &WaypointView) -> impl Iterator<Item = String> {
    let sent_back = matches!(waypoint.disposition, Some(Disposition::Rework | Disposition::Rollback));
    // Where a check is green before any work, the red ones are as they should be.
    let told = (sent_back || waypoint.needs_people()) && waypoint.reason_code != Some(ReasonCode::NotRed);
    let results = waypoint.criteria.iter().chain(&waypoint.guards).filter(move |_| told);
    results.filter(|result| result.verdict != Verdict::Pass).map(|result| {
        let why = why(result, None).map(|why| format!(": {why}")).unwrap_or_default();
        format!("{} {}{why}", verdict_mark(result.verdict), result.id)
    })
}

/// What came of the checkpoints of gates that wait for a score, line by line.
fn scores(waypoint: &WaypointView) -> impl Iterator<Item = String> {
    waypoint.checkpoints.iter().filter(|gate| gate.score.is_some()).flat_map(checkpoints::lines)
}

/// What is said of work that no verifier has yet, and nobody else.
pub(crate) const IN_QUEUE: &str = "waits in the queue to the branch";

/// Which works land before one that is on its way.
pub(crate) fn behind(waypoint: &WaypointView) -> Option<String> {
    let ahead: Vec<&str> = waypoint.waits_for.iter().map(WaypointId::as_str).collect();
    (waypoint.status == Status::Running && !ahead.is_empty()).then(|| format!("behind {}", ahead.join(", ")))
}

/// Everything that a waypoint has come to, in one line.
fn summary(waypoint: &WaypointView) -> String {
    let mut parts = vec![waypoint.status.to_string()];
    if !waypoint.branches.is_empty() {
        parts.push(branches(waypoint));
    } else if let Some(turn) = &waypoint.turn {
        let holder = turn.agent.as_ref().map(|agent| format!(" ({agent})")).unwrap_or_default();
        parts.push(format!("turn of {}{holder}", turn.role));
        match turn.overdue {
            0 => {}
            1 => parts.push("overdue once".to_owned()),
            times => parts.push(format!("overdue {times} times")),
        }
    } else if waypoint.is_delegated() {
        let children: Vec<&str> = waypoint.waits_for.iter().map(WaypointId::as_str).collect();
        parts.push(format!("for its children {}", children.join(", ")));
    } else if waypoint.status == Status::Running && waypoint.gate.is_some() {
        parts.push(IN_QUEUE.to_owned());
    } else if let Some(reason) = waypoint.reason_code.filter(|_| waypoint.status != Status::Complete) {
        parts.push(reason.to_string());
    }
    parts.extend(behind(waypoint));
    if waypoint.attempts > 0 {
        parts.push(counted(waypoint.attempts as usize, "attempt"));
    }
    let passed = waypoint.criteria.iter().filter(|c| c.verdict == Verdict::Pass).count();
    if !waypoint.criteria.is_empty() {
        let foreign = if waypoint.foreign_receipt == Some(true) { " by a foreign receipt" } else { "" };
        parts.push(format!("{passed} of {} criteria pass{foreign}", waypoint.criteria.len()));
    }
    if waypoint.self_checked {
        parts.push(telling::SELF_CHECKED.to_owned());
    }
    match &waypoint.commit {
        Some(commit) => parts.push(format!("commit {}", commit.short())),
        None if waypoint.status == Status::Complete => parts.push("nothing had to change".to_owned()),
        None => {}
    }
    parts.join(", ")
}

/// How the branches of the fork stand that a waypoint is in.
fn branches(waypoint: &WaypointView) -> String {
    let word = |branch: &BranchView| match (branch.standing, branch.outcome) {
        (BranchStatus::Voted, Some(Outcome::NeedsReview)) => "rejected",
        (BranchStatus::Voted, _) => "complete",
        (BranchStatus::Due, _) => "due",
        (BranchStatus::Skipped, _) => "skipped",
        (BranchStatus::Running, _) => "open",
        (BranchStatus::Waiting, _) => "waits for a person",
    };
    let all = waypoint.branches.iter().map(|branch| format!("{} {}", branch.gate, word(branch)));
    let fork = waypoint.gate.as_ref().map_or("fork", GateId::as_str);
    format!("fork {fork} ({})", all.collect::<Vec<_>>().join("; "))
}

#[cfg(test)]
pub(crate) mod tests;
