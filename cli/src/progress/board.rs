//! How a whole flight looks at one moment: a line that counts, and a line for each waypoint that is not through. Pure.

use holdpoint_account::words::status_mark;
use holdpoint_protocol::{
    Timestamp,
    ids::WaypointId,
    state::Status,
    view::{FlightView, TurnView, WaypointView},
};
use holdpoint_text::shown;

use super::news::activity;
use crate::{
    next::clock,
    people::words,
    typed::typed,
    view::{IN_QUEUE, behind},
};

/// Lines of waypoints that are shown.
const LINES_MAX: usize = 20;
/// Columns of a waypoint's name: the longest one decides, within these.
const NAME_WIDTH: (usize, usize) = (8, 24);

/// A line, and what it is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Line {
    /// How it is coloured.
    pub(super) tone: Tone,
    /// The words. Never with a sequence that moves a cursor.
    pub(super) text: String,
}

/// What a line says at a glance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tone {
    /// The whole flight.
    Head,
    /// An agent works on it.
    Works,
    /// It waits for its turn.
    Rests,
    /// A person has to look.
    Asks,
    /// It did not come through.
    Wrong,
}

/// The flight in one line: `3/6 landed  01:07  2 at work  1 queued  1 to come`.
pub(super) fn summary(view: &FlightView, now: Timestamp) -> String {
    let count = |is: &dyn Fn(&&WaypointView) -> bool| view.waypoints.iter().filter(is).count();
    let (done, all) = view.progress();
    let mut parts = vec![format!("{done}/{all} landed")];
    parts.extend(view.submitted_at.map(|since| clock(now.since(since))));
    let turns = || view.waypoints.iter().filter(|w| w.status == Status::Running).flat_map(WaypointView::open_turns);
    let numbers = [
        (turns().filter(|turn| turn.agent.is_some()).count(), "at work"),
        (turns().filter(|turn| turn.agent.is_none()).count(), "queued"),
        (count(&|w| w.status == Status::Pending), "to come"),
        (count(&|w| (w.status == Status::Waiting && w.needs_people()) || w.asks_in_turn()), "for people"),
        (count(&|w| is_wrong(w.status)), "held"),
    ];
    parts.extend(numbers.iter().filter(|(number, _)| *number > 0).map(|(number, what)| format!("{number} {what}")));
    if view.paused {
        parts.push("paused".to_owned());
    }
    parts.join("  ")
}

/// The flight, then its waypoints that are not through: those that move, those to come, and at the end what went wrong.
/// `said` is the last line of an agent.
pub(super) fn lines(view: &FlightView, now: Timestamp, said: impl Fn(&WaypointView) -> Option<String>) -> Vec<Line> {
    let mut shown: Vec<&WaypointView> = view.waypoints.iter().filter(|w| w.status != Status::Complete).collect();
    shown.sort_by_key(|waypoint| order(waypoint));
    let left_out = shown.len().saturating_sub(LINES_MAX);
    // Failures stay in sight.
    let rest = shown.iter().filter(|w| w.status == Status::Pending).count();
    let mut to_cut = left_out;
    shown.retain(|waypoint| {
        let goes = to_cut > 0 && rest > 0 && waypoint.status == Status::Pending;
        to_cut -= usize::from(goes);
        !goes
    });
    shown.truncate(LINES_MAX);
    let (min, max) = NAME_WIDTH;
    let longest = shown.iter().map(|w| w.id.as_str().chars().count()).max().unwrap_or_default();
    let width = longest.clamp(min, max);
    let mut lines = vec![Line { tone: Tone::Head, text: summary(view, now) }];
    lines.extend(shown.into_iter().map(|waypoint| line(view, waypoint, now, width, said(waypoint))));
    if left_out > 0 {
        lines.push(Line { tone: Tone::Rests, text: format!("and {left_out} more") });
    }
    lines
}

fn line(view: &FlightView, waypoint: &WaypointView, now: Timestamp, width: usize, said: Option<String>) -> Line {
    let since = |turn: &TurnView| clock(now.since(turn.opened_at));
    let (tone, mut text) = match (&waypoint.turn, waypoint.status) {
        (_, Status::Waiting) if waypoint.is_delegated() => {
            let children: Vec<&str> = waypoint.waits_for.iter().map(WaypointId::as_str).collect();
            (Tone::Rests, format!("waits for {}", children.join(", ")))
        }
        (_, Status::Waiting) => (Tone::Asks, waits(view, waypoint)),
        _ if waypoint.asks_in_turn() => (Tone::Asks, waits(view, waypoint)),
        (Some(turn), _) if turn.agent.is_some() => (Tone::Works, format!("{}  {}", activity(view, turn), since(turn))),
        // Its agent speaks: who that is comes with a later look.
        (Some(turn), _) if said.is_some() => (Tone::Works, format!("a {} has it  {}", turn.role, since(turn))),
        (Some(turn), _) => (Tone::Rests, format!("{}  {}", activity(view, turn), since(turn))),
        (None, Status::Running) => (Tone::Works, branches(waypoint)),
        (None, other) if is_wrong(other) => {
            let reason = waypoint.reason_code.map(|reason| format!(" ({reason})")).unwrap_or_default();
            (Tone::Wrong, format!("{other}{reason}"))
        }
        (None, other) => (Tone::Rests, other.to_string()),
    };
    if let Some(said) = said {
        text = format!("{text}  · {}", shown::line(&said));
    }
    Line { tone, text: format!("{} {:<width$}  {text}", status_mark(waypoint.status), waypoint.id.as_str()) }
}

/// The branches of a fork, or how far work is on its way to the branch.
fn branches(waypoint: &WaypointView) -> String {
    let open = waypoint.branches.iter().filter(|branch| branch.turn.is_some()).map(|branch| branch.gate.as_str());
    let open: Vec<&str> = open.collect();
    if !open.is_empty() {
        return format!("open: {}", open.join(", "));
    }
    let waits = waypoint.gate.is_some() && waypoint.branches.is_empty();
    let what = if waits { IN_QUEUE } else { "is landing" };
    behind(waypoint).map_or_else(|| what.to_owned(), |ahead| format!("{what}, {ahead}"))
}

/// That a waypoint waits for people, with the first command that moves it on.
fn waits(view: &FlightView, waypoint: &WaypointView) -> String {
    let command = waypoint.actions.first().map(|verb| words::command(*verb, &view.flight, &waypoint.id));
    format!("waits for a person: {}", command.unwrap_or_else(|| typed("holdpoint inbox")))
}

fn is_wrong(status: Status) -> bool {
    matches!(status, Status::Blocked | Status::Failed)
}

/// Those that move first, those that went wrong last; within that as in the plan.
fn order(waypoint: &WaypointView) -> u8 {
    match (waypoint.status, &waypoint.turn) {
        (Status::Running, Some(turn)) if turn.agent.is_none() => 1,
        (Status::Running, _) => 0,
        (Status::Waiting, _) => 2,
        (Status::Pending | Status::Complete, _) => 3,
        (Status::Blocked | Status::Failed | Status::Cancelled, _) => 4,
    }
}

#[cfg(test)]
mod tests {
    use holdpoint_protocol::view::FlightStatus;

    use super::*;
    use crate::view::tests::flight;

    /// One complete waypoint, one held, one that is built, two in the verifier's queue, and so many to come.
    fn busy(to_come: usize) -> FlightView {
        let mut view = flight();
        view.status = FlightStatus::Running;
        view.submitted_at = Some(Timestamp::from_millis(0));
        let turn = |role: &str, agent: Option<&str>, at: i64| {
            let at = Timestamp::from_millis(at).to_string();
            let text = serde_json::json!({"turn": format!("turn-{role}-{at}").to_lowercase().replace([':', '.'], "-"),
                "role": role, "attempt": 1, "purpose": if role == "builder" { serde_json::json!("build") } else { serde_json::json!({"verify": "handoff"}) },
                "opened_at": at, "deadline": at, "agent": agent});
            Some(serde_json::from_value(text).unwrap())
        };
        let mut add = |id: &str, status, turn| {
            let mut waypoint = flight().waypoints.remove(0);
            (waypoint.id, waypoint.status, waypoint.turn, waypoint.attempts) = (id.parse().unwrap(), status, turn, 0);
            waypoint.commit = None;
            view.waypoints.push(waypoint);
        };
        add("queued-b", Status::Running, turn("verifier", None, 40_000));
        add("queued-a", Status::Running, turn("verifier", None, 30_000));
        add("built", Status::Running, turn("builder", Some("builder-1"), 20_000));
        for number in 0..to_come {
            add(&format!("later-{number}"), Status::Pending, None);
        }
        view
    }

    fn texts(view: &FlightView) -> Vec<String> {
        let said = |waypoint: &WaypointView| (waypoint.id.as_str() == "built").then(|| "Edit\u{1b}[2J a.py".to_owned());
        lines(view, Timestamp::from_millis(67_000), said).into_iter().map(|line| line.text).collect()
    }

    #[test]
    fn a_flight_is_counted_in_a_line_and_each_waypoint_stands_with_its_state_and_since_when() {
        let expected = [
            "1/6 landed  01:07  1 at work  2 queued  1 to come  1 held",
            "… built     building  attempt 1  builder-1  00:47  · Edit\\u{1b}[2J a.py",
            "… queued-b  waits for a verifier, 2 of 2 in the queue  00:27",
            "… queued-a  waits for a verifier, 1 of 2 in the queue  00:37",
            "· later-0   pending",
            "✗ two       blocked (not_red)",
        ];
        assert_eq!(texts(&busy(1)), expected);
        assert!(expected.iter().all(|line| line.chars().count() <= 76));
    }

    #[test]
    fn work_that_no_verifier_has_yet_waits_and_only_accepted_work_lands() {
        let mut view = busy(0);
        let at = view.waypoints.iter().position(|waypoint| waypoint.id.as_str() == "queued-a").unwrap();
        view.waypoints[at].turn = None;
        view.waypoints[at].waits_for = vec!["built".parse().unwrap()];
        for (gate, said) in [(Some("verify"), "waits in the queue to the branch"), (None, "is landing")] {
            view.waypoints[at].gate = gate.map(|gate| gate.parse().unwrap());
            let shown = texts(&view);
            assert!(shown.contains(&format!("… queued-a  {said}, behind built")), "{shown:?}");
        }
    }

    #[test]
    fn work_that_its_children_do_waits_for_them_and_for_no_person() {
        let mut view = busy(0);
        let at = view.waypoints.iter().position(|waypoint| waypoint.id.as_str() == "built").unwrap();
        (view.waypoints[at].status, view.waypoints[at].turn) = (Status::Waiting, None);
        view.waypoints[at].waits_for = vec!["queued-a".parse().unwrap()];
        let shown = texts(&view);
        assert!(shown.iter().any(|line| line.starts_with("? built     waits for queued-a")), "{shown:?}");
        assert!(!shown[0].contains("for people"), "{}", shown[0]);
    }

    #[test]
    fn of_many_waypoints_those_to_come_give_way_to_what_went_wrong() {
        let shown = texts(&busy(50));
        assert_eq!(shown.len(), LINES_MAX + 2);
        assert_eq!(&shown[LINES_MAX..], ["✗ two       blocked (not_red)", "and 34 more"]);
    }

    #[test]
    fn a_question_counts_for_the_person_and_names_its_command() {
        let mut view = busy(0);
        view.waypoints[2].status = Status::Waiting;
        let shown = texts(&view);
        assert!(shown[0].contains("1 for people"), "{shown:?}");
        assert!(
            shown.iter().any(|line| line.starts_with("? queued-b") && line.contains("waits for a person")),
            "{shown:?}"
        );
    }
}
