//! Showing progress on standard error: plain lines, and on a terminal a live view of the open turns below them.

use std::{
    collections::BTreeMap,
    io::IsTerminal as _,
    time::{Duration, Instant},
};

use holdpoint_core::shown;
use holdpoint_protocol::{
    ids::WaypointId,
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
}

impl Screen {
    /// A live view if standard error is a terminal.
    pub(super) fn for_stderr() -> Self {
        let live = std::io::stderr().is_terminal().then(|| Live { all: MultiProgress::new(), bars: BTreeMap::new() });
        Self { began: Instant::now(), live, away_since: None, away_told: false }
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
                    continue;
                }
            };
            let bar = live.bars.entry(waypoint.id.clone()).or_insert_with(|| spinner(&live.all));
            bar.set_message(format!("{:<NAME_WIDTH$}  {text}", waypoint.id.as_str()));
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
    fn spans_are_minutes_and_seconds() {
        assert_eq!(minutes(Duration::from_millis(5_999)), "00:05");
        assert_eq!(minutes(Duration::from_secs(3_607)), "1:00:07");
    }
}
