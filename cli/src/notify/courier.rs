//! Delivering each notification once by one way, and trying again a bounded number of times. The way itself is [`super::way`].

use std::{
    collections::{HashMap, HashSet},
    path::PathBuf,
    time::Duration,
};

use holdpoint_protocol::ids::FlightId;
use holdpoint_runtime::clock;
use holdpoint_text::shown;
use tokio::time::Instant;

use super::{
    delivered::Delivered,
    event::{Event, ended_flight},
    round::{Round, Slot},
    way::Way,
};
use crate::{failure::Failure, output};

/// How often one notification is tried before it is given up, until the next start of `run` or `up`.
const ATTEMPTS_MAX: u32 = 5;
/// The pause after a first failure; it doubles with each.
const PAUSE: Duration = Duration::from_secs(2);

/// Delivers by one way.
#[derive(Debug)]
pub(super) struct Courier {
    way: Way,
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
    /// Delivers by `way`, and keeps in the file `record` what was delivered.
    pub(super) fn new(way: Way, record: PathBuf) -> Self {
        Self { way, record, failed: HashMap::new() }
    }

    /// Its way's name in messages.
    pub(super) fn way(&self) -> &'static str {
        self.way.name()
    }

    /// From now on nothing is waited for: what failed is tried at once.
    pub(super) fn hurry(&mut self) {
        for failed in self.failed.values_mut() {
            failed.not_before = Instant::now();
        }
    }

    /// Takes everything for delivered where nothing ever was: what ended before anybody was notified is no news.
    pub(super) async fn begin_with(&self, past: &[Event]) -> Result<(), Failure> {
        if self.record.exists() {
            return Ok(());
        }
        let mut delivered = Delivered::open(self.record.clone()).await?;
        delivered.note_all(past.iter().map(Event::key), clock::now())
    }

    /// Delivers what was not yet, of everything that is so at the moment, until a newer round waits in `slot`.
    pub(super) async fn deliver(&mut self, round: &Round, slot: &Slot) {
        let Round { events, flights, .. } = round;
        self.failed.retain(|key, _| events.iter().any(|event| event.key() == *key));
        let due = match self.due(events, flights).await {
            Ok(due) => due,
            Err(failure) => return tracing::warn!(?failure, "cannot read what was notified"),
        };
        slot.begins(round, &due);
        for event in due {
            if slot.is_filled() {
                return;
            }
            let key = event.key();
            let now = Instant::now();
            if self.failed.get(&key).is_some_and(|failed| failed.times >= ATTEMPTS_MAX || now < failed.not_before) {
                continue;
            }
            slot.sends(&key);
            if let Err(why) = self.deliver_one(event, &key).await {
                slot.failed(key.clone());
                // Notifications behind it wait for the next look: a way that hangs holds up nothing else.
                return self.note_failure(key, &why);
            }
            slot.tells(key);
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
        // Held meanwhile: other commands of the repository would report the same.
        let mut delivered = Delivered::open(self.record.clone()).await.map_err(|failure| failure.message())?;
        if delivered.has(key) {
            return Ok(());
        }
        self.way.send(shown::json(&event.json().to_string()).into_owned()).await?;
        delivered.note(key.to_owned(), clock::now()).map_err(|failure| failure.message())
    }

    fn note_failure(&mut self, key: String, why: &str) {
        let times = self.failed.get(&key).map_or(0, |failed| failed.times) + 1;
        let why = shown::line(why);
        let way = self.way.name();
        tracing::warn!(key, way, times, why = why.as_ref(), "a notification was not delivered");
        if times >= ATTEMPTS_MAX {
            output::err(&format!("the notification of {key} by {way} was given up after {times} attempts: {why}"));
        }
        let not_before = Instant::now() + PAUSE.saturating_mul(1 << times.min(8));
        self.failed.insert(key, Failed { times, not_before });
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt as _, path::Path};

    use holdpoint_protocol::view::FlightStatus;
    use holdpoint_runtime::webhook::Webhook;
    use serde_json::Value;
    use tempfile::TempDir;
    use tokio::{
        io::{AsyncReadExt as _, AsyncWriteExt as _},
        net::TcpListener,
    };

    use super::*;
    use crate::people::words::tests::question;

    /// A courier whose program appends its input to `told`, and its environment to `env`; it fails while there is `broken`.
    fn courier(dir: &Path) -> Courier {
        let program = dir.join("tell");
        let script =
            "#!/bin/sh\ncd \"$1\"\necho x >> began\n[ ! -e broken ] || exit 1\ncat >> told; echo >> told; env > env\n";
        fs::write(&program, script).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let (program, args) = (program.to_str().unwrap().to_owned(), vec![dir.to_str().unwrap().to_owned()]);
        Courier::new(Way::Command { program, args, timeout: Duration::from_secs(30) }, dir.join("notified.json"))
    }

    fn told(dir: &Path) -> Vec<Value> {
        let text = fs::read_to_string(dir.join("told")).unwrap_or_default();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    fn over(status: FlightStatus) -> Event {
        Event::FlightOver { flight: "f".parse().unwrap(), status }
    }

    async fn tells(courier: &mut Courier, events: &[Event]) {
        let round = Round::new(events.to_vec(), vec!["f".parse().unwrap()], false);
        courier.deliver(&round, &Slot::default()).await;
    }

    #[tokio::test]
    async fn what_waits_is_told_once_also_by_the_next_process() {
        let dir = TempDir::new().unwrap();
        let events = [Event::Waits(Box::new(question()), 0), over(FlightStatus::Incomplete)];
        tells(&mut courier(dir.path()), &events).await;
        tells(&mut courier(dir.path()), &events).await;
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
    async fn a_webhook_that_fails_gets_the_notification_again_and_then_once() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let taken = tokio::spawn(async move {
            let mut bodies = Vec::new();
            for status in [500, 500, 200] {
                let (mut stream, _) = listener.accept().await.unwrap();
                let (mut asked, end) = (String::new(), "}");
                while !asked.ends_with(end) {
                    let mut some = [0; 4096];
                    let read = stream.read(&mut some).await.unwrap();
                    asked.push_str(std::str::from_utf8(&some[..read]).unwrap());
                }
                stream.write_all(format!("HTTP/1.1 {status} X\r\n\r\n").as_bytes()).await.unwrap();
                bodies.push(asked.split_once("\r\n\r\n").unwrap().1.to_owned());
            }
            bodies
        });
        let dir = TempDir::new().unwrap();
        let webhook = Webhook::new(&url, None, Duration::from_secs(30)).unwrap();
        let mut courier = Courier::new(Way::Webhook(Box::new(webhook)), dir.path().join("notified.json"));
        let event = over(FlightStatus::Accepted);
        for attempt in 0..3 {
            assert!(!Delivered::peek(&courier.record).unwrap().contains(&event.key()), "attempt {attempt}");
            courier.hurry();
            tells(&mut courier, std::slice::from_ref(&event)).await;
        }
        let bodies = taken.await.unwrap();
        assert_eq!(bodies, vec![event.json().to_string(); 3]);
        assert!(Delivered::peek(&courier.record).unwrap().contains(&event.key()));
    }

    #[tokio::test]
    async fn a_flight_that_went_on_and_ended_again_is_news() {
        let dir = TempDir::new().unwrap();
        let mut courier = courier(dir.path());
        for events in [vec![over(FlightStatus::Incomplete)], Vec::new(), vec![over(FlightStatus::Incomplete)]] {
            tells(&mut courier, &events).await;
        }
        assert_eq!(told(dir.path()).len(), 2);
    }

    #[tokio::test]
    async fn what_ended_before_there_was_a_command_is_no_news() {
        let dir = TempDir::new().unwrap();
        let mut courier = courier(dir.path());
        let past = [over(FlightStatus::Accepted)];
        courier.begin_with(&past).await.unwrap();
        tells(&mut courier, &past).await;
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
            tells(&mut courier_here, &events).await;
        }
        let began = fs::read_to_string(dir.path().join("began")).unwrap().lines().count();
        assert_eq!(began, ATTEMPTS_MAX as usize);
        fs::remove_file(dir.path().join("broken")).unwrap();
        tells(&mut courier(dir.path()), &events).await;
        assert_eq!(told(dir.path()).len(), 1, "the next process tries again");
    }
}
