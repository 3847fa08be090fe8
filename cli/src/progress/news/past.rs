//! Decisions that were overtaken before anybody looked. A view shows the last decision of a waypoint only; what sent its
//! work back before that is read from the waypoint's history. Pure.

use holdpoint_protocol::{
    api::{HistoryLine, Standing},
    artifact::{Disposition, OrchestratorDecision},
    facts::CriterionResult,
    ids::WaypointId,
    state::WaypointState,
    turn::Turn,
    view::{FlightView, WaypointView},
};

use super::{News, Told, Tracker, all_red, news, next_turn};

/// The most waypoints whose history is read for one look; the others are for the next.
const GAPS_MAX: usize = 16;

/// A waypoint whose work was sent back more often than a view shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Gap {
    /// The waypoint.
    pub(crate) waypoint: WaypointId,
    /// How often its work had been sent back at the last look.
    told: u32,
    /// And how often now.
    now: u32,
    /// The last time is shown by the view itself.
    last_is_shown: bool,
}

impl Tracker {
    /// Begins with what is new since `view`; `None`: with everything.
    pub(crate) fn since(view: Option<&FlightView>) -> Self {
        let mut tracker = Self::default();
        for waypoint in view.map(|view| view.waypoints.as_slice()).unwrap_or_default() {
            tracker.told.entry(waypoint.id.clone()).or_default().sent_back = waypoint.sent_back;
        }
        tracker
    }

    /// What is to be read before this view is told.
    pub(crate) fn gaps(&self, view: &FlightView) -> Vec<Gap> {
        let nothing = Told::default();
        let gap = |waypoint: &WaypointView| gap(self.told.get(&waypoint.id).unwrap_or(&nothing), waypoint);
        view.waypoints.iter().filter_map(gap).take(GAPS_MAX).collect()
    }

    /// The missed decisions, out of the waypoint's history. That may know more than the view: what came after it is told
    /// with the next. What it does not know stays untold.
    pub(crate) fn fill(&mut self, gap: &Gap, history: Vec<HistoryLine>) -> Vec<News> {
        let turns: Vec<Turn> = history.into_iter().filter_map(turn).collect();
        let told = self.told.entry(gap.waypoint.clone()).or_default();
        told.sent_back = gap.now;
        let missed = turns.iter().filter_map(sent).filter(|sent| gap.covers(sent.state));
        let tell = |Sent { turn, decision, state }: Sent<'_>| {
            // The same decision again, after this one, is another one.
            told.decision = None;
            let results: Vec<CriterionResult> = state.criteria.iter().chain(&state.guards).cloned().collect();
            let text = format!("{} ({}){}", decision.disposition, decision.reason_code, next_turn(&turn.role));
            News { red: all_red(told, Some(decision.reason_code), results), ..news(&gap.waypoint, text) }
        };
        missed.map(tell).collect()
    }
}

impl Gap {
    fn covers(&self, state: &WaypointState) -> bool {
        let sent_back = state.counters.sent_back();
        let to_tell = if self.last_is_shown { self.now.saturating_sub(1) } else { self.now };
        self.told < sent_back && sent_back <= to_tell
    }
}

/// What the view of a waypoint does not show of what became of it since it was told of last.
pub(super) fn gap(told: &Told, waypoint: &WaypointView) -> Option<Gap> {
    let (told, now) = (told.sent_back, waypoint.sent_back);
    let last_is_shown = waypoint.disposition.is_some_and(sends_back);
    let missed = now.saturating_sub(told) > u32::from(last_is_shown);
    missed.then(|| Gap { waypoint: waypoint.id.clone(), told, now, last_is_shown })
}

/// A turn that a decision opened which sent the work back.
struct Sent<'a> {
    turn: &'a Turn,
    decision: &'a OrchestratorDecision,
    state: &'a WaypointState,
}

fn sent(turn: &Turn) -> Option<Sent<'_>> {
    let decision = turn.decision.as_ref().filter(|decision| sends_back(decision.disposition))?;
    Some(Sent { turn, decision, state: turn.record.state.as_ref()? })
}

/// Whether a decision sends work back.
pub(super) fn sends_back(disposition: Disposition) -> bool {
    matches!(disposition, Disposition::Rework | Disposition::Rollback)
}

fn turn(line: HistoryLine) -> Option<Turn> {
    let is_turn = line.kind == "turn" && line.standing != Some(Standing::Unsigned);
    is_turn.then(|| serde_json::from_value(line.artifact).ok()).flatten()
}
