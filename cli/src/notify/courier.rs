//! Starting the user's command for each notification: its arguments are fixed, its environment is clean, its time is
//! limited, and there is one at a time.

use std::{
    collections::{HashMap, HashSet},
    path::PathBuf,
    time::Duration,
};

use holdpoint_core::shown;
use holdpoint_protocol::ids::FlightId;
use holdpoint_runtime::{clock, config::NotifyConfig};
use holdpoint_sandbox::Tool;
use tokio::time::Instant;

use super::{
    delivered::Delivered,
    event::{Event, ended_flight},
};
use crate::{
    failure::{Failure, chain},
    output,
    state::StateDir,
};

/// The record of what was delivered, in the state folder.
const RECORD: &str = "notified.json";
/// How often the command is started for one notification before it is given up, until the next start of `run` or `up`.
const ATTEMPTS_MAX: u32 = 5;
/// The pause after a first failure; it doubles with each.
const PAUSE: Duration = Duration::from_secs(2);
/// What the command may print. Nobody reads it, but the end of what it says when it fails.
const OUTPUT_MAX: usize = 1 << 20;

/// Delivers.
#[derive(Debug)]
pub(super) struct Courier {
    program: String,
    args: Vec<String>,
    timeout: Duration,
    record: PathBuf,
    failed: HashMap<String, Failed>,
}

/// How often a notification could not be delivered.
#[derive(Debug)]
struct Failed {
    times: u32,
    not_before: Instant,
}

impl Courier {
    /// `None` if there is no command.
    pub(super) fn new(config: &NotifyConfig, state: &StateDir) -> Result<Option<Self>, Failure> {
        let Some((program, args)) = config.command.split_first() else { return Ok(None) };
        state.ensure()?;
        Ok(Some(Self::to(program, args, config.timeout.duration(), state.path(RECORD))))
    }

    fn to(program: &str, args: &[String], timeout: Duration, record: PathBuf) -> Self {
        Self { program: program.to_owned(), args: args.to_vec(), timeout, record, failed: HashMap::new() }
    }

    /// From now on nothing is waited for: what failed is tried at once.
    pub(super) fn hurry(&mut self) {
        for failed in self.failed.values_mut() {
            failed.not_before = Instant::now();
        }
    }

    /// Takes everything for delivered where nothing ever was: what ended before there was a command is no news.
    pub(super) async fn begin_with(&self, past: &[Event]) -> Result<(), Failure> {
        if self.record.exists() {
            return Ok(());
        }
        let mut delivered = Delivered::open(self.record.clone()).await?;
        delivered.note_all(past.iter().map(Event::key), clock::now())
    }

    /// Delivers what was not yet, of everything that is so at the moment in these flights.
    pub(super) async fn deliver(&mut self, events: &[Event], flights: &[FlightId]) {
        self.failed.retain(|key, _| events.iter().any(|event| event.key() == *key));
        let due = match self.due(events, flights).await {
            Ok(due) => due,
            Err(failure) => return tracing::warn!(?failure, "cannot read what was notified"),
        };
        for event in due {
            let key = event.key();
            let now = Instant::now();
            if self.failed.get(&key).is_some_and(|failed| failed.times >= ATTEMPTS_MAX || now < failed.not_before) {
                continue;
            }
            if let Err(why) = self.deliver_one(event, &key).await {
                self.note_failure(key, &why);
            }
        }
    }

    /// What was not delivered. A flight that goes on again is forgotten: its next end is news.
    async fn due<'a>(&self, events: &'a [Event], flights: &[FlightId]) -> Result<Vec<&'a Event>, Failure> {
        let current: HashSet<String> = events.iter().map(Event::key).collect();
        let watched: HashSet<&str> = flights.iter().map(FlightId::as_str).collect();
        let mut delivered = Delivered::open(self.record.clone()).await?;
        delivered.forget(|key| ended_flight(key).is_some_and(|of| watched.contains(of)) && !current.contains(key))?;
        Ok(events.iter().filter(|event| !delivered.has(&event.key())).collect())
    }

    async fn deliver_one(&self, event: &Event, key: &str) -> Result<(), String> {
        // Held while the command runs: other commands of the repository would tell the same.
        let mut delivered = Delivered::open(self.record.clone()).await.map_err(|failure| failure.message())?;
        if delivered.has(key) {
            return Ok(());
        }
        let mut tool = Tool::new(&self.program)
            .args(&self.args)
            .dir("/")
            .stdin(shown::json(&event.json().to_string()).into_owned().into_bytes())
            .timeout(self.timeout)
            .output_cap(OUTPUT_MAX);
        if let Some(home) = std::env::var_os("HOME") {
            tool = tool.env("HOME", home);
        }
        tool.run_ok().await.map_err(|error| chain(&error))?;
        delivered.note(key.to_owned(), clock::now()).map_err(|failure| failure.message())
    }

    fn note_failure(&mut self, key: String, why: &str) {
        let times = self.failed.get(&key).map_or(0, |failed| failed.times) + 1;
        let why = shown::line(why);
        tracing::warn!(key, times, why = why.as_ref(), "a notification was not delivered");
        if times >= ATTEMPTS_MAX {
            output::err(&format!("the notification of {key} was given up after {times} attempts: {why}"));
        }
        let not_before = Instant::now() + PAUSE.saturating_mul(1 << times.min(8));
        self.failed.insert(key, Failed { times, not_before });
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt as _, path::Path};

    use holdpoint_protocol::view::FlightStatus;
    use serde_json::Value;
    use tempfile::TempDir;

    use super::*;
    use crate::people::words::tests::question;

    /// A courier whose program appends its input to `told`, and its environment to `env`; it fails while there is `broken`.
    fn courier(dir: &Path) -> Courier {
        let program = dir.join("tell");
        let script =
            "#!/bin/sh\ncd \"$1\"\necho x >> began\n[ ! -e broken ] || exit 1\ncat >> told; echo >> told; env > env\n";
        fs::write(&program, script).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let args = [dir.to_str().unwrap().to_owned()];
        Courier::to(program.to_str().unwrap(), &args, Duration::from_secs(30), dir.join(RECORD))
    }

    fn told(dir: &Path) -> Vec<Value> {
        let text = fs::read_to_string(dir.join("told")).unwrap_or_default();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    fn over(status: FlightStatus) -> Event {
        Event::FlightOver { flight: "f".parse().unwrap(), status }
    }

    fn flights() -> Vec<FlightId> {
        vec!["f".parse().unwrap()]
    }

    #[tokio::test]
    async fn what_waits_is_told_once_also_by_the_next_process() {
        let dir = TempDir::new().unwrap();
        let events = [Event::Waits(Box::new(question())), over(FlightStatus::Incomplete)];
        courier(dir.path()).deliver(&events, &flights()).await;
        courier(dir.path()).deliver(&events, &flights()).await;
        let told = told(dir.path());
        assert_eq!(told.len(), 2, "{told:?}");
        assert_eq!((&told[0]["kind"], &told[0]["ref"]), (&"question".into(), &"q1".into()));
        assert_eq!(told[0]["question"], question().question.unwrap(), "exactly");
        let text = fs::read_to_string(dir.path().join("told")).unwrap();
        assert_eq!(text.lines().find_map(shown::first_hidden), None, "{text}");
        assert_eq!(told[1], serde_json::json!({"kind": "flight_over", "flight": "f", "status": "incomplete"}));
        let environment = fs::read_to_string(dir.path().join("env")).unwrap();
        assert!(!environment.contains("CARGO") && environment.contains("HOME="), "{environment}");
    }

    #[tokio::test]
    async fn a_flight_that_went_on_and_ended_again_is_news() {
        let dir = TempDir::new().unwrap();
        let mut courier = courier(dir.path());
        for events in [vec![over(FlightStatus::Incomplete)], Vec::new(), vec![over(FlightStatus::Incomplete)]] {
            courier.deliver(&events, &flights()).await;
        }
        assert_eq!(told(dir.path()).len(), 2);
    }

    #[tokio::test]
    async fn what_ended_before_there_was_a_command_is_no_news() {
        let dir = TempDir::new().unwrap();
        let mut courier = courier(dir.path());
        let past = [over(FlightStatus::Accepted)];
        courier.begin_with(&past).await.unwrap();
        courier.deliver(&past, &flights()).await;
        assert_eq!(told(dir.path()), Vec::<Value>::new());
    }

    #[tokio::test]
    async fn a_command_that_fails_is_tried_again_and_given_up_after_a_bound() {
        let dir = TempDir::new().unwrap();
        fs::write(dir.path().join("broken"), "").unwrap();
        let events = [over(FlightStatus::Accepted)];
        let mut courier_here = courier(dir.path());
        for _ in 0..ATTEMPTS_MAX + 3 {
            courier_here.hurry();
            courier_here.deliver(&events, &flights()).await;
        }
        let began = fs::read_to_string(dir.path().join("began")).unwrap().lines().count();
        assert_eq!(began, ATTEMPTS_MAX as usize);
        fs::remove_file(dir.path().join("broken")).unwrap();
        courier(dir.path()).deliver(&events, &flights()).await;
        assert_eq!(told(dir.path()).len(), 1, "the next process tries again");
    }
}
