//! Following a flight: what happens to each waypoint, as it happens, until nothing can move on by itself.

mod board;
pub(crate) mod evidence;
mod news;
mod screen;
mod told;
mod trouble;
mod written;

use std::time::Duration;

use holdpoint_bus::api::ApiError;
use holdpoint_protocol::{
    api::{HistoryLine, InboxItem, Standing},
    facts::LeftOutKind,
    ids::{FlightId, WaypointId},
    view::{FlightStatus, FlightView},
};
use holdpoint_runtime::clock;
use holdpoint_text::shown;
use holdpoint_workspace::UserRepo;
use news::{Gap, News, Tracker};
use screen::Screen;
use tokio::time::Instant;
use trouble::Troubles;
use written::Written;

use crate::{
    branch,
    client::{Client, is_passing},
    failure::Failure,
    live::Listening,
    output,
    people::words,
    reload::Watcher,
};

/// How often it is asked how the flight stands, and how seldom at most.
const LOOK_EVERY: Duration = Duration::from_millis(300);
const LOOK_SELDOM: Duration = Duration::from_secs(3);
/// How much longer a pause is than the look before it: looking at a plan of thousands must not cost what flying it needs.
const PAUSE_TO_LOOK: u32 = 10;
/// Reports that are read for one look, and doubts of each that are shown; `holdpoint history` has all of them.
const REPORTS_MAX: usize = 16;
const DOUBTS_SHOWN: usize = 10;
/// Things left out that are shown of one handoff.
const LEFT_OUT_SHOWN: usize = 5;
/// How long "no such flight" is not believed: an orchestrator that is just stopping says the same.
const DISBELIEF: Duration = Duration::from_secs(20);

/// How a flight is followed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct How<'a> {
    /// Also while a question or an approval is open.
    pub(crate) stays: bool,
    /// Whether what happens is printed as JSON.
    pub(crate) events: bool,
    /// Where its branch is written when something has landed.
    pub(crate) repo: Option<&'a UserRepo>,
    /// What reloads its workflows meanwhile: the last look has to be newer than the last reload.
    pub(crate) watcher: Option<&'a Watcher>,
}

/// Shows a flight on standard error until only people can move it on, and gives its last view. The history of its work
/// before `begun` is not reported: only how it stands.
pub(crate) async fn follow(
    client: &Client,
    flight: &FlightId,
    begun: Option<&FlightView>,
    How { stays, events, repo, watcher }: How<'_>,
) -> Result<FlightView, Failure> {
    let mut screen = Screen::for_stderr();
    let mut tracker = Tracker::since(begun);
    let mut troubles = Troubles::default();
    let mut pauses = Pauses::default();
    let mut refused_since = None;
    let mut written = Written::default();
    let mut live = if screen.is_live() { Listening::open(client, flight, None).await.ok() } else { None };
    loop {
        let (since, reloads) = (Instant::now(), watcher.and_then(Watcher::reloads));
        let looked = look(client, flight, &tracker).await;
        let pause = match &looked {
            Ok(_) => (since.elapsed() * PAUSE_TO_LOOK).clamp(LOOK_EVERY, LOOK_SELDOM),
            Err(_) => LOOK_EVERY,
        };
        match looked {
            Ok((view, missed)) => {
                refused_since = None;
                screen.connected();
                if let Some(why) = write_branch(client, repo, &view, &mut written).await {
                    screen.line("", &why);
                }
                let missed = missed.into_iter().flat_map(|(gap, history)| tracker.fill(&gap, history));
                let mut all: Vec<News> = missed.collect();
                all.extend(tracker.update(&view, clock::now()));
                let mut reports_left = REPORTS_MAX;
                if events {
                    all.iter().for_each(|news| output::json_line(&told::transition(&view, news, clock::now())));
                }
                if events && screen.was_quiet() {
                    output::json_line(&told::heartbeat(&view, clock::now()));
                }
                for news in all {
                    tell(client, &mut screen, flight, &news, &mut reports_left).await;
                }
                if let Some(text) = pauses.update(&view) {
                    screen.line("", text);
                }
                for told in troubles.update(&view, Instant::now()) {
                    screen.line(told.waypoint.as_ref().map_or("", WaypointId::as_str), &told.text);
                }
                hear(live.as_mut(), &mut screen, &view);
                screen.show(&view);
                let goes_on = match view.status {
                    FlightStatus::Running => true,
                    FlightStatus::Waiting => stays,
                    FlightStatus::Accepted | FlightStatus::Incomplete => false,
                };
                if !goes_on && watcher.is_none_or(|watcher| watcher.end(reloads)) {
                    screen.close();
                    return Ok(view);
                }
                troubles.give_up_on(&view, Instant::now())?;
            }
            Err(error) if is_passing(&error) => screen.reconnecting(),
            Err(error) => {
                let since = *refused_since.get_or_insert_with(Instant::now);
                if !is_doubtful(&error) || since.elapsed() > DISBELIEF {
                    screen.close();
                    return Err(error.into());
                }
            }
        }
        listen(live.as_mut(), &mut screen, pause).await;
    }
}

/// Writes the branch where that is due: a person who reads of a commit can look at it. The end of the flight tries again what
/// fails here.
async fn write_branch(
    client: &Client,
    repo: Option<&UserRepo>,
    view: &FlightView,
    written: &mut Written,
) -> Option<String> {
    let repo = repo.filter(|_| written.is_due(view, Instant::now()))?;
    let failure = branch::write(client, repo, view).await.err()?;
    Some(format!("the branch {} cannot be written now: {}", view.branch, shown::line(&failure.message())))
}

/// Takes in which turns are open, and shows what waited for that.
fn hear(live: Option<&mut Listening>, screen: &mut Screen, view: &FlightView) {
    let Some(live) = live else { return };
    live.learn(view).iter().for_each(|spoken| screen.said(spoken));
    live.warning().into_iter().for_each(|warning| screen.line("", &warning));
}

/// Waits for so long, and shows what agents say meanwhile.
async fn listen(live: Option<&mut Listening>, screen: &mut Screen, pause: Duration) {
    let Some(live) = live else { return tokio::time::sleep(pause).await };
    let until = Instant::now() + pause;
    while let Ok(spoken) = tokio::time::timeout_at(until, live.next()).await {
        screen.said(&spoken);
    }
}

/// How the flight stands, and the history of each waypoint of which that does not show everything.
async fn look(
    client: &Client,
    flight: &FlightId,
    tracker: &Tracker,
) -> Result<(FlightView, Vec<(Gap, Vec<HistoryLine>)>), ApiError> {
    let view = client.status_now(flight).await?;
    let mut missed = Vec::new();
    for gap in tracker.gaps(&view) {
        // Not worth an error: the flight goes on, and how it stands is known.
        let history = client.history_now(flight, &gap.waypoint).await.unwrap_or_default();
        missed.push((gap, history));
    }
    Ok((view, missed))
}

fn is_doubtful(error: &ApiError) -> bool {
    matches!(error, ApiError::Refused { failure, .. } if failure.code == 404 || failure.code >= 500 || failure.is_passing())
}

async fn tell(client: &Client, screen: &mut Screen, flight: &FlightId, news: &News, reports_left: &mut usize) {
    screen.line(news.waypoint.as_str(), &news.text);
    if news.waits {
        for line in what_waits(client, flight, &news.waypoint).await {
            screen.detail(&line);
        }
    }
    let reports = news.accepted && *reports_left > 0;
    let looks_back = reports || news.unchanged || !news.red.is_empty();
    // Not worth an error: `holdpoint history` shows it, too.
    let history =
        if looks_back { client.history_now(flight, &news.waypoint).await.unwrap_or_default() } else { Vec::new() };
    if reports {
        *reports_left -= 1;
        words::doubts(&last_doubts(&history)).for_each(|doubt| screen.detail(&doubt));
    }
    if news.unchanged {
        words::last_words(&history).iter().for_each(|line| screen.detail(line));
    }
    let up_to = if news.accepted { LeftOutKind::Elsewhere } else { LeftOutKind::Ignored };
    words::left_out(&history, up_to).iter().take(LEFT_OUT_SHOWN).for_each(|line| screen.detail(line));
    for note in &news.notes {
        screen.detail(note);
    }
    for red in &news.red {
        let shown = evidence::of(client, red, &history).await;
        let why = shown.why.map(|why| format!(": {why}")).unwrap_or_default();
        screen.detail(&format!("{} {}{why}", red.mark, red.id));
        for line in shown.lines {
            screen.detail(&format!("    {line}"));
        }
    }
}

/// The question, and the commands that move the waypoint on.
async fn what_waits(client: &Client, flight: &FlightId, waypoint: &WaypointId) -> Vec<String> {
    // Not worth an error: `holdpoint inbox` shows it, too.
    let items = client.inbox_now(Some(flight)).await.unwrap_or_default();
    let item = items.into_iter().find(|item| item.waypoint == *waypoint);
    // The line before says what a person can do.
    item.map(|item| words::details(&InboxItem { remediation: None, ..item })).unwrap_or_default()
}

/// What the last reports on a waypoint doubt: that of its work, and that of the base before it.
fn last_doubts(history: &[HistoryLine]) -> Vec<String> {
    let last = |purpose: &str| {
        let is_such = |line: &&HistoryLine| line.artifact.get("purpose").is_some_and(|found| found == purpose);
        let report = history.iter().rev().find(|line| is_such(line) && line.standing == Some(Standing::Taken));
        report.map(words::doubts_of).unwrap_or_default()
    };
    let mut doubts = [last("handoff"), last("baseline")].concat();
    doubts.truncate(DOUBTS_SHOWN);
    doubts
}

/// Remembers whether the flight was paused.
#[derive(Debug, Default)]
struct Pauses(bool);

impl Pauses {
    fn update(&mut self, view: &FlightView) -> Option<&'static str> {
        let before = std::mem::replace(&mut self.0, view.paused);
        match (before, view.paused) {
            (false, true) => Some("paused: no turn opens until a person resumes it"),
            (true, false) => Some("goes on"),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::tests::flight;

    #[test]
    fn a_pause_is_told_once_and_so_is_its_end() {
        let (mut pauses, mut view) = (Pauses::default(), flight());
        assert_eq!(pauses.update(&view), None);
        view.paused = true;
        assert!(pauses.update(&view).is_some_and(|text| text.starts_with("paused")));
        assert_eq!(pauses.update(&view), None);
        view.paused = false;
        assert_eq!(pauses.update(&view), Some("goes on"));
    }
}
