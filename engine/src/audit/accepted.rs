//! What an acceptance rests on, and what a landing does: stated again outside the engine, because everything else is
//! there for their sake.

use holdpoint_protocol::{
    artifact::{Handed, VerificationReport},
    facts::Verdict,
    ids::WaypointId,
    journal::{Entry, Landed},
    state::{Phase, WaypointState},
};

use super::{Auditor, BrokenLink, EntryLine};
use crate::state::FlightState;

impl Auditor {
    /// A verification that passes is a report on the open turn, or the one that was kept, about the commit and tree that the waypoint keeps, with
    /// nothing but passes. That an acceptance rests on one is an invariant of the fold.
    pub(super) fn verified(&mut self, line: &EntryLine, entry: &Entry, waypoint: &WaypointId, before: &WaypointState) {
        let record = entry.record();
        let after = record.state.as_ref();
        let verified = after.and_then(|state| state.verified.as_ref());
        if verified.is_none() || verified == before.verified.as_ref() {
            return;
        }
        let cause = record.cause.as_ref().and_then(|c| self.handoffs.get(&(c.stream.clone(), c.sequence)));
        let report = cause.and_then(|known| match &known.line.body {
            Ok((_, Handed::Reported(report))) => Some(report.as_ref()),
            _ => None,
        });
        let wrong = match report {
            None => Some(("a verification that answers a report".to_owned(), "it passes without a report".to_owned())),
            Some(report) => unsupported(report, after, before),
        };
        if let Some((expected, found)) = wrong {
            self.broken(BrokenLink::Report, line.reference(), Some(waypoint.clone()), expected, found);
        }
    }

    /// What lands is the accepted tree, on the head, on the parent that it was verified on, once.
    pub(super) fn landing(&mut self, line: &EntryLine, landed: &Landed) {
        self.counts.landings += 1;
        let Some(flight) = &self.state else { return };
        let name = &landed.waypoint;
        let state = self.waypoint_state(name);
        let work = state.work.as_ref().filter(|work| work.commit.is_some());
        let mut wrong = Vec::new();
        if landed.parent != *flight.head() {
            let found = format!("the landing of {name} stands on {}", landed.parent);
            wrong.push((format!("a landing on {}, the head", flight.head()), found));
        }
        if let Some(on) = &landed.bundle_on
            && flight.tree_of(on).is_none()
        {
            let expected = "a bundle on an earlier commit of the branch".to_owned();
            wrong.push((expected, format!("that of {name} builds on {on}")));
        }
        match (&state.phase, work, &state.verified) {
            (Phase::Accepted { .. }, Some(work), Some(verified)) => {
                if landed.tree != work.tree {
                    let expected = format!("the tree {}, which was verified", work.tree);
                    wrong.push((expected, format!("{} landed", landed.tree)));
                }
                if landed.report != verified.report {
                    let expected = format!("a landing by the report {}", verified.report);
                    wrong.push((expected, format!("by {}", landed.report)));
                }
                wrong.extend(misplaced(landed, &state, flight));
            }
            _ => wrong.push((format!("{name} to be accepted with a commit before it lands"), "it is not".to_owned())),
        }
        if !self.landed.insert(name.clone()) {
            wrong.push((format!("{name} to land once"), "it lands again".to_owned()));
        }
        for (expected, found) in wrong {
            self.broken(BrokenLink::Landing, line.reference(), Some(name.clone()), expected, found);
        }
    }
}

/// Where a landing does not stand on what its work was verified on: that commit, or one with the same tree.
fn misplaced(landed: &Landed, state: &WaypointState, flight: &FlightState) -> Option<(String, String)> {
    let name = &landed.waypoint;
    let base = state.base.as_ref().map_or("none", |base| base.as_str());
    let Some(stacked) = &state.stacked else {
        let stands = state.base.as_ref() == Some(&landed.parent) && landed.verified_on.is_none();
        let found = format!("{name} landed on {}", landed.parent);
        return (!stands).then(|| (format!("a landing on {base}, on which it was verified"), found));
    };
    if landed.verified_on != state.base {
        let found = landed.verified_on.as_ref().map_or("none", |on| on.as_str()).to_owned();
        return Some((format!("a landing that names {base}, on which it was verified"), found));
    }
    let tree = flight.tree_of(&landed.parent);
    (tree != Some(&stacked.base_tree)).then(|| {
        let expected = format!("a landing on the tree {}, on which it was verified", stacked.base_tree);
        (expected, format!("{name} landed on {}", tree.map_or("another one", |tree| tree.as_str())))
    })
}

/// Where a report does not carry the acceptance.
fn unsupported(
    report: &VerificationReport,
    after: Option<&WaypointState>,
    before: &WaypointState,
) -> Option<(String, String)> {
    let is_kept = match &before.phase {
        Phase::Queued(queued) => queued.kept.as_ref().is_some_and(|kept| kept.turn.turn == report.turn),
        _ => false,
    };
    if before.open_turn(&report.turn).is_none() && !is_kept {
        let found = format!("it accepts by a report on turn {}, which is not open", report.turn);
        return Some(("a report on the open turn".to_owned(), found));
    }
    let work = after.and_then(|state| state.work.as_ref());
    let commit = work.and_then(|work| work.commit.as_ref()).or_else(|| after.and_then(|state| state.base.as_ref()));
    if commit != Some(&report.commit) || work.map(|work| &work.tree) != Some(&report.tree) {
        let accepted = commit.map_or("none", |commit| commit.as_str());
        let found = format!("it accepts another commit, {accepted}");
        return Some((format!("commit {} with tree {}, which was verified", report.commit, report.tree), found));
    }
    let failing = report.criteria.iter().chain(&report.guards).find(|one| one.result.verdict != Verdict::Pass);
    failing.map(|one| {
        let found = format!("it accepts by a report that does not pass {}", one.result.id);
        ("a report in which everything passes".to_owned(), found)
    })
}
