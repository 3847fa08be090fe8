//! Decisions that were overtaken before anybody looked, and why work was sent back that could not be judged. A view shows
//! the last decision of a waypoint only, and of that the verdicts; the rest is read from the waypoint's history. Pure.

use holdpoint_protocol::{
    api::{HistoryLine, Standing},
    artifact::{Disposition, OrchestratorDecision},
    facts::CriterionResult,
    ids::WaypointId,
    reason::ReasonCode,
    state::WaypointState,
    turn::{Turn, TurnRequest},
    view::{FlightView, WaypointView},
};
use holdpoint_text::shown;

use super::{Decision, News, Told, Tracker, all_red, decision, news, next_turn};

/// The most waypoints whose history is read for one look; the others are for the next.
const GAPS_MAX: usize = 16;
/// The most lines about one decision.
const NOTES_SHOWN: usize = 5;

/// A waypoint whose work was sent back more often than a view shows, or for more reasons.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Gap {
    /// The waypoint.
    pub(crate) waypoint: WaypointId,
    /// How often its work had been sent back at the last look.
    told: u32,
    /// And how often now.
    now: u32,
    /// The last decision as the view shows it, if it sent the work back.
    shown: Option<Decision>,
    /// The view says all there is to say of it.
    shown_whole: bool,
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

    /// What is to be read before this view is reported.
    pub(crate) fn gaps(&self, view: &FlightView) -> Vec<Gap> {
        let nothing = Told::default();
        let gap = |waypoint: &WaypointView| gap(self.told.get(&waypoint.id).unwrap_or(&nothing), waypoint);
        view.waypoints.iter().filter_map(gap).take(GAPS_MAX).collect()
    }

    /// The missed decisions, out of the waypoint's history. That may know more than the view: later decisions are
    /// reported with the next. Decisions that it does not know are not reported.
    pub(crate) fn fill(&mut self, gap: &Gap, history: Vec<HistoryLine>) -> Vec<News> {
        let turns: Vec<Turn> = history.into_iter().filter_map(turn).collect();
        let told = self.told.entry(gap.waypoint.clone()).or_default();
        told.sent_back = gap.now;
        // The view's own may have been reported without its history.
        let is_told = gap.shown.is_some() && told.decision == gap.shown;
        let missed = turns.iter().filter_map(sent).filter(|sent| gap.covers(sent.state, is_told));
        let tell = |Sent { turn, decision, state }: Sent<'_>| {
            // The same decision again, after this one, is another one; the one that the view shows is reported with
            // this.
            told.decision = gap.shown.clone().filter(|_| state.counters.sent_back() == gap.now);
            let results: Vec<CriterionResult> = state.criteria.iter().chain(&state.guards).cloned().collect();
            let text = format!("{} ({}){}", decision.disposition, decision.reason_code, next_turn(&turn.role));
            let red = all_red(told, Some(decision.reason_code), results);
            let unchanged = decision.reason_code == ReasonCode::NoChange;
            News { red, unchanged, notes: notes(turn), ..news(&gap.waypoint, text) }
        };
        missed.map(tell).collect()
    }
}

impl Gap {
    fn covers(&self, state: &WaypointState, last_is_told: bool) -> bool {
        let sent_back = state.counters.sent_back();
        let to_tell = self.now - u32::from(self.shown_whole || last_is_told);
        self.told < sent_back && sent_back <= to_tell
    }
}

/// What the view of a waypoint does not show of what became of it since it was last reported.
pub(super) fn gap(told: &Told, waypoint: &WaypointView) -> Option<Gap> {
    let (told, now) = (told.sent_back, waypoint.sent_back);
    let shown = decision(waypoint).filter(|decision| sends_back(decision.disposition));
    let shown_whole = shown.is_some() && waypoint.reason_code.is_some_and(is_about_verdicts);
    let missed = now.saturating_sub(told) > u32::from(shown_whole);
    missed.then(|| Gap { waypoint: waypoint.id.clone(), told, now, shown, shown_whole })
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

/// Whether the red criteria say everything about a decision. Of any other, the turn that it opened says more than a view.
fn is_about_verdicts(reason: ReasonCode) -> bool {
    matches!(reason, ReasonCode::CriteriaFailed | ReasonCode::Regression | ReasonCode::EvidenceMissing)
}

/// The end of what the agent hears besides the criteria.
fn notes(turn: &Turn) -> Vec<String> {
    let TurnRequest::Build(build) = &turn.request else { return Vec::new() };
    let feedback = build.feedback.iter().filter(|feedback| !is_about_verdicts(feedback.reason_code));
    let mut lines: Vec<String> =
        feedback.flat_map(|feedback| &feedback.notes).flat_map(|note| shown::quoted(note)).collect();
    lines.split_off(lines.len().saturating_sub(NOTES_SHOWN))
}

/// Whether a decision sends work back.
pub(super) fn sends_back(disposition: Disposition) -> bool {
    matches!(disposition, Disposition::Rework | Disposition::Rollback)
}

fn turn(line: HistoryLine) -> Option<Turn> {
    let is_turn = line.kind == "turn" && line.standing != Some(Standing::Unsigned);
    is_turn.then(|| serde_json::from_value(line.artifact).ok()).flatten()
}
