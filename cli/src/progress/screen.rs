//! Showing progress on standard error: plain lines, and on a terminal a live view of the open turns below them.

use std::{
    collections::BTreeMap,
    io::IsTerminal as _,
    time::{Duration, Instant},
};

use holdpoint_core::{live::Spoken, shown};
use holdpoint_protocol::{
    ids::{TurnId, WaypointId},
    state::Status,
    view::{FlightView, WaypointView},
};
use holdpoint_runtime::clock;
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};

use super::news::activity;
use crate::{output, people::words, view::asks_in_turn};

/// How often the live view moves.
const TICK: Duration = Duration::from_millis(120);
/// How long the API may be away before it is said: an orchestrator that is started again is back within that.
const AWAY: Duration = Duration::from_secs(2);
/// Columns that waypoints get at least, so that lines of short and long ones are below each other.
const NAME_WIDTH: usize = 16;

/// Where progress goes.
pub(super) struct Screen {
    began: Instant,
    live: Option<Live>,
    away_since: Option<Instant>,
    away_told: bool,
}

struct Live {
    all: MultiProgress,
    bars: BTreeMap<WaypointId, ProgressBar>,
    /// What each waypoint does, and what its agent said last.
    doing: BTreeMap<WaypointId, Doing>,
}

/// What is shown of a waypoint whose turn is open.
#[derive(Debug, Default)]
struct Doing {
    text: String,
    /// The turn that is open, and the last line of it.
    said: Option<(TurnId, String)>,
}

impl Screen {
    /// A live view if standard error is a terminal.
    pub(super) fn for_stderr() -> Self {
        let live = std::io::stderr().is_terminal().then(|| Live {
            all: MultiProgress::new(),
            bars: BTreeMap::new(),
            doing: BTreeMap::new(),
        });
        Self { began: Instant::now(), live, away_since: None, away_told: false }
    }

    /// Whether open turns are shown while they are worked on.
    pub(super) fn is_live(&self) -> bool {
        self.live.is_some()
    }

    /// An agent said something. The last line of a waypoint stands with its turn.
    pub(super) fn said(&mut self, spoken: &Spoken) {
        let Some(live) = &mut self.live else { return };
        let waypoint = &spoken.from.waypoint;
        let doing = live.doing.entry(waypoint.clone()).or_default();
        doing.said = Some((spoken.line.turn.clone(), spoken.line.text.clone()));
        if let Some(bar) = live.bars.get(waypoint) {
            bar.set_message(doing.message(waypoint));
        }
    }

    /// A line about a waypoint, or about the flight (no name).
    pub(super) fn line(&mut self, waypoint: &str, text: &str) {
        let at = minutes(self.began.elapsed());
        self.print(&format!("[{at}] {waypoint:<NAME_WIDTH$}  {text}"));
    }

    /// A line that belongs to the one before.
    pub(super) fn detail(&mut self, text: &str) {
        self.print(&format!("          {text}"));
    }

    /// The open turns, if this is a terminal.
    pub(super) fn show(&mut self, view: &FlightView) {
        let Some(live) = &mut self.live else { return };
        let now = clock::now();
        for waypoint in &view.waypoints {
            let text = match &waypoint.turn {
                _ if waypoint.status == Status::Waiting || asks_in_turn(waypoint) => waits(view, waypoint),
                Some(turn) => format!("{}  {}", activity(waypoint, turn), minutes(now.since(turn.opened_at))),
                None => {
                    if let Some(bar) = live.bars.remove(&waypoint.id) {
                        bar.finish_and_clear();
                    }
                    live.doing.remove(&waypoint.id);
                    continue;
                }
            };
            let doing = live.doing.entry(waypoint.id.clone()).or_default();
            doing.now(waypoint, text);
            let bar = live.bars.entry(waypoint.id.clone()).or_insert_with(|| spinner(&live.all));
            bar.set_message(doing.message(&waypoint.id));
        }
    }

    /// Nobody answers at the moment.
    pub(super) fn reconnecting(&mut self) {
        let since = *self.away_since.get_or_insert_with(Instant::now);
        if !self.away_told && since.elapsed() > AWAY {
            self.away_told = true;
            let at = minutes(self.began.elapsed());
            self.print(&format!("[{at}] reconnecting: the fleet does not answer"));
        }
    }

    /// Somebody answers.
    pub(super) fn connected(&mut self) {
        self.away_since = None;
        if std::mem::take(&mut self.away_told) {
            let at = minutes(self.began.elapsed());
            self.print(&format!("[{at}] connected again"));
        }
    }

    /// Takes the live view away.
    pub(super) fn close(&mut self) {
        if let Some(live) = self.live.take() {
            for bar in live.bars.values() {
                bar.finish_and_clear();
            }
        }
    }

    fn print(&mut self, line: &str) {
        let line = shown::lines(line).replace('\n', " ");
        match &self.live {
            // A terminal that is gone has nobody who reads.
            Some(live) => drop(live.all.println(line)),
            None => output::err(&line),
        }
    }
}

impl Doing {
    /// What the waypoint does at this look. What was said in a turn that is over goes with it.
    fn now(&mut self, waypoint: &WaypointView, text: String) {
        self.text = text;
        let branches = waypoint.branches.iter().filter_map(|branch| branch.turn.as_ref());
        let is_open = |said: &TurnId| waypoint.turn.iter().chain(branches.clone()).any(|turn| turn.turn == *said);
        self.said.take_if(|(turn, _)| !is_open(turn));
    }

    /// Its line in the live view, which is cut where the terminal ends.
    fn message(&self, waypoint: &WaypointId) -> String {
        let said = self.said.as_ref().map(|(_, text)| format!("  · {}", shown::line(text)));
        format!("{:<NAME_WIDTH$}  {}{}", waypoint.as_str(), self.text, said.unwrap_or_default())
    }
}

/// Also when following is cut short.
impl Drop for Screen {
    fn drop(&mut self) {
        self.close();
    }
}

/// That a waypoint waits for people, with the first command that moves it on.
fn waits(view: &FlightView, waypoint: &WaypointView) -> String {
    let command = waypoint.actions.first().map(|verb| words::command(*verb, &view.flight, &waypoint.id));
    format!("waits for a person: {}", command.unwrap_or_else(|| "holdpoint inbox".to_owned()))
}

fn spinner(all: &MultiProgress) -> ProgressBar {
    let style =
        ProgressStyle::with_template("{spinner} {wide_msg}").unwrap_or_else(|_| ProgressStyle::default_spinner());
    let bar = all.add(ProgressBar::new_spinner().with_style(style));
    bar.enable_steady_tick(TICK);
    bar
}

/// `01:07`, or `1:00:07`.
fn minutes(span: Duration) -> String {
    let seconds = span.as_secs();
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    if hours > 0 { format!("{hours}:{minutes:02}:{seconds:02}") } else { format!("{minutes:02}:{seconds:02}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_of_an_open_turn_stands_with_its_waypoint_and_goes_with_the_turn() {
        let mut waypoint = crate::view::tests::flight().waypoints.remove(0);
        let turn = serde_json::from_value(serde_json::json!({"turn": "turn-1", "role": "builder", "purpose": "build",
            "opened_at": "2026-01-01T00:00:00.000Z", "deadline": "2026-01-01T01:00:00.000Z", "agent": "builder-1"}));
        waypoint.turn = Some(turn.unwrap());
        let mut doing =
            Doing { said: Some(("turn-1".parse().unwrap(), "Edit src/lib.rs".to_owned())), ..Doing::default() };
        doing.now(&waypoint, "building".to_owned());
        assert!(doing.message(&waypoint.id).ends_with("  building  · Edit src/lib.rs"));
        waypoint.turn.as_mut().unwrap().turn = "turn-2".parse().unwrap();
        doing.now(&waypoint, "verifying".to_owned());
        assert!(doing.message(&waypoint.id).ends_with("  verifying"));
    }

    #[test]
    fn spans_are_minutes_and_seconds() {
        assert_eq!(minutes(Duration::from_millis(5_999)), "00:05");
        assert_eq!(minutes(Duration::from_secs(3_607)), "1:00:07");
    }
}
