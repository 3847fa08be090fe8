//! What `up` says of the flights of its fleet: that one begins, waits for people, goes on, or is over.

use std::{collections::BTreeMap, time::Duration};

use holdpoint_protocol::{api::FlightLine, ids::FlightId, view::FlightStatus};
use tokio::task::JoinHandle;

use crate::{client::Client, console::Crew, failure::Failure, output, typed::in_text};

/// How often it is looked while a flight runs, as seldom as the console does.
const RUNNING: Duration = Duration::from_secs(5);
/// How often where none does: agents that take a turn are heard of at once.
const QUIET: Duration = Duration::from_secs(60);
/// How soon after an agent was heard of it is looked: one seldom comes alone.
const AFTER_HINT: Duration = Duration::from_millis(500);

/// Says it as long as this lives.
pub(super) struct Log {
    saying: JoinHandle<()>,
}

impl Drop for Log {
    fn drop(&mut self) {
        self.saying.abort();
    }
}

impl Log {
    /// Of this fleet.
    pub(super) async fn start(client: &Client) -> Result<Self, Failure> {
        let crew = Crew::listen(client).await?;
        let client = client.clone();
        let saying = tokio::spawn(async move {
            let mut known = None;
            loop {
                // What cannot be had now is had the next time: what keeps the fleet from running is said elsewhere.
                if let Ok(lines) = client.flights_now().await {
                    for line in news(&mut known, &lines) {
                        output::err(&line);
                    }
                }
                let runs = known.iter().flatten().any(|(_, status)| *status == FlightStatus::Running);
                tokio::select! {
                    () = crew.changed() => tokio::time::sleep(AFTER_HINT).await,
                    () = tokio::time::sleep(if runs { RUNNING } else { QUIET }) => {}
                }
            }
        });
        Ok(Self { saying })
    }
}

/// What is new, a line each. What is there at the first look is not.
fn news(known: &mut Option<BTreeMap<FlightId, FlightStatus>>, lines: &[FlightLine]) -> Vec<String> {
    let now: BTreeMap<FlightId, FlightStatus> = lines.iter().map(|line| (line.flight.clone(), line.status)).collect();
    let says = |flight: &FlightId, status: FlightStatus| {
        in_text(&match status {
            FlightStatus::Running => format!("{flight}: running"),
            FlightStatus::Waiting => {
                format!("{flight}: waits for people; `holdpoint inbox --flight {flight}` says for what")
            }
            FlightStatus::Accepted => format!("{flight}: accepted; `holdpoint fetch {flight}` writes its branch"),
            FlightStatus::Incomplete => format!("{flight}: incomplete; `holdpoint status {flight}` says why"),
        })
    };
    let told = match known.as_ref() {
        None => Vec::new(),
        Some(before) => {
            let changed = now.iter().filter(|(flight, status)| before.get(*flight) != Some(*status));
            changed.map(|(flight, status)| says(flight, *status)).collect()
        }
    };
    *known = Some(now);
    told
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn line(flight: &str, status: &str) -> FlightLine {
        let line = json!({"flight": flight, "plan": "p", "status": status, "submitted_at": "2026-11-22T10:00:00Z"});
        serde_json::from_value(line).unwrap()
    }

    #[test]
    fn only_what_changes_after_the_first_look_is_said() {
        let mut known = None;
        assert_eq!(news(&mut known, &[line("a-1", "accepted")]), Vec::<String>::new());
        let begun = [line("a-1", "accepted"), line("b-2", "running")];
        assert_eq!(news(&mut known, &begun), ["b-2: running"]);
        assert_eq!(news(&mut known, &begun), Vec::<String>::new());
        let over = news(&mut known, &[line("a-1", "accepted"), line("b-2", "incomplete")]);
        assert!(over.len() == 1 && over[0].contains("holdpoint status b-2"), "{over:?}");
    }
}
