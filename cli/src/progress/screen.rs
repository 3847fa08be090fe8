//! Showing progress on standard error: plain lines, and on a terminal a live view of the whole flight below them.

use std::{
    collections::BTreeMap,
    io::IsTerminal as _,
    time::{Duration, Instant},
};

use holdpoint_protocol::{
    ids::{TurnId, WaypointId},
    view::{FlightView, WaypointView},
};
use holdpoint_runtime::clock;
use holdpoint_text::{live::Spoken, shown};
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};

use super::board::{self, Line, Tone};
use crate::{next::clock as as_clock, output};

/// How often the live view moves.
const TICK: Duration = Duration::from_millis(120);
/// How long the API may be away before it is said: an orchestrator that is started again is back within that.
const AWAY: Duration = Duration::from_secs(2);
/// Columns that waypoints get at least, so that lines of short and long ones are below each other.
const NAME_WIDTH: usize = 16;
/// Without a terminal, how long nothing is said before a line says how the flight stands.
const HEARTBEAT: Duration = Duration::from_secs(30);

/// Where progress goes.
pub(super) struct Screen {
    began: Instant,
    live: Option<Live>,
    said_at: Instant,
    away_since: Option<Instant>,
    away_told: bool,
}

struct Live {
    all: MultiProgress,
    /// One a line.
    bars: Vec<ProgressBar>,
    colours: bool,
    /// How the flight stood last.
    view: Option<FlightView>,
    /// What the agent of each waypoint said last, in which turn.
    said: BTreeMap<WaypointId, (TurnId, String)>,
}

impl Screen {
    /// A live view if standard error is a terminal.
    pub(super) fn for_stderr() -> Self {
        let live = std::io::stderr().is_terminal().then(|| Live {
            all: MultiProgress::new(),
            bars: Vec::new(),
            colours: wants_colours(),
            view: None,
            said: BTreeMap::new(),
        });
        let now = Instant::now();
        Self { began: now, live, said_at: now, away_since: None, away_told: false }
    }

    /// Whether open turns are shown while they are worked on.
    pub(super) fn is_live(&self) -> bool {
        self.live.is_some()
    }

    /// Whether nothing was said for a while; then the caller says that.
    pub(super) fn was_quiet(&mut self) -> bool {
        let was_quiet = self.said_at.elapsed() >= HEARTBEAT;
        if was_quiet {
            self.said_at = Instant::now();
        }
        was_quiet
    }

    /// An agent said something. The last line of a waypoint is shown with its turn.
    pub(super) fn said(&mut self, spoken: &Spoken) {
        let Some(live) = &mut self.live else { return };
        live.said.insert(spoken.from.waypoint.clone(), (spoken.line.turn.clone(), spoken.line.text.clone()));
        live.draw();
    }

    /// A line about a waypoint, or about the flight (no name).
    pub(super) fn line(&mut self, waypoint: &str, text: &str) {
        let at = as_clock(self.began.elapsed());
        self.print(&format!("[{at}] {waypoint:<NAME_WIDTH$}  {text}"));
    }

    /// A line that belongs to the one before.
    pub(super) fn detail(&mut self, text: &str) {
        self.print(&format!("          {text}"));
    }

    /// How the flight stands now: on a terminal at once, else where nothing was said for a while.
    pub(super) fn show(&mut self, view: &FlightView) {
        if let Some(live) = &mut self.live {
            live.view = Some(view.clone());
            live.draw();
        } else if self.was_quiet() {
            self.line("", &board::summary(view, clock::now()));
        }
    }

    /// Nobody answers at the moment.
    pub(super) fn reconnecting(&mut self) {
        let since = *self.away_since.get_or_insert_with(Instant::now);
        if !self.away_told && since.elapsed() > AWAY {
            self.away_told = true;
            let at = as_clock(self.began.elapsed());
            self.print(&format!("[{at}] reconnecting: the fleet does not answer"));
        }
    }

    /// An orchestrator answers.
    pub(super) fn connected(&mut self) {
        self.away_since = None;
        if std::mem::take(&mut self.away_told) {
            let at = as_clock(self.began.elapsed());
            self.print(&format!("[{at}] connected again"));
        }
    }

    /// Takes the live view away.
    pub(super) fn close(&mut self) {
        if let Some(live) = self.live.take() {
            live.bars.iter().for_each(ProgressBar::finish_and_clear);
        }
    }

    fn print(&mut self, line: &str) {
        self.said_at = Instant::now();
        let line = shown::lines(line).replace('\n', " ");
        match &self.live {
            // A terminal that is gone has nobody who reads.
            Some(live) => drop(live.all.println(line)),
            None => output::err(&line),
        }
    }
}

impl Live {
    /// Brings the lines up to date. Each is cut where the terminal ends.
    fn draw(&mut self) {
        let Some(view) = &self.view else { return };
        self.said.retain(|waypoint, (turn, _)| is_open(view, waypoint, turn));
        let said = |waypoint: &WaypointView| self.said.get(&waypoint.id).map(|(_, text)| text.clone());
        let lines = board::lines(view, clock::now(), said);
        while self.bars.len() > lines.len() {
            self.bars.pop().into_iter().for_each(|bar| {
                bar.finish_and_clear();
                self.all.remove(&bar);
            });
        }
        while self.bars.len() < lines.len() {
            self.bars.push(bar(&self.all, self.bars.is_empty()));
        }
        for (bar, line) in self.bars.iter().zip(&lines) {
            bar.set_message(coloured(line, self.colours));
        }
    }
}

/// Also when following is cut short.
impl Drop for Screen {
    fn drop(&mut self) {
        self.close();
    }
}

fn is_open(view: &FlightView, waypoint: &WaypointId, turn: &TurnId) -> bool {
    let mut of_this = view.waypoints.iter().filter(|one| one.id == *waypoint);
    of_this.any(|waypoint| waypoint.open_turns().any(|open| open.turn == *turn))
}

/// A user who says so gets none (https://no-color.org).
fn wants_colours() -> bool {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    set("NO_COLOR").is_none() && set("TERM").is_some_and(|terminal| terminal != "dumb")
}

fn coloured(line: &Line, colours: bool) -> String {
    let code = match line.tone {
        Tone::Head => "1",
        Tone::Works => "36",
        Tone::Rests => "2",
        Tone::Asks => "33",
        Tone::Wrong => "31",
    };
    if colours { format!("\u{1b}[{code}m{}\u{1b}[0m", line.text) } else { line.text.clone() }
}

/// The first line moves: it shows that the view does.
fn bar(all: &MultiProgress, first: bool) -> ProgressBar {
    let template = if first { "{spinner} {wide_msg}" } else { "  {wide_msg}" };
    let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_spinner());
    let bar = all.add(ProgressBar::new_spinner().with_style(style));
    if first {
        bar.enable_steady_tick(TICK);
    }
    bar
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_coloured_by_what_it_says_and_only_where_colours_are_wanted() {
        let line = Line { tone: Tone::Wrong, text: "✗ two".to_owned() };
        assert_eq!(coloured(&line, true), "\u{1b}[31m✗ two\u{1b}[0m");
        assert_eq!(coloured(&line, false), "✗ two");
    }

    #[test]
    fn what_was_said_in_a_turn_that_is_over_is_not_shown_any_more() {
        let mut view = crate::view::tests::flight();
        let waypoint = view.waypoints[0].id.clone();
        let turn = serde_json::from_value(
            serde_json::json!({"turn": "turn-1", "role": "builder", "attempt": 1, "purpose": "build",
            "opened_at": "2026-01-01T00:00:00.000Z", "deadline": "2026-01-01T01:00:00.000Z", "agent": "builder-1"}),
        );
        view.waypoints[0].turn = Some(turn.unwrap());
        assert!(is_open(&view, &waypoint, &"turn-1".parse().unwrap()));
        assert!(!is_open(&view, &waypoint, &"turn-2".parse().unwrap()));
    }
}
