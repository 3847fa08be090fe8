//! Sees everything that an agent does at the broker, in its order.

use holdpoint_bus::{
    Bus,
    signals::{Signal, SignalError, Signals},
};
use holdpoint_protocol::{streams, subjects};
use serde_json::Value;
use tokio::{
    sync::watch,
    task::JoinSet,
    time::{Duration, timeout},
};

/// One thing that was seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Event {
    /// A pull of a consumer: how many turns it asks for, and whether it stays in the broker until they come.
    Pulled { consumer: String, batch: u64, waits: bool },
    /// A delivery was answered: the turn's place in the journal, which delivery, and how.
    Answered { sequence: u64, delivery: u64, answer: Answer },
    /// Something was published for a waypoint.
    HandedOff { waypoint: String, kind: String },
    /// A request about progress, from any sender.
    Asked,
    /// The agent says that it is there.
    Present,
}

/// How a delivery is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Answer {
    Done,
    Working,
    GivenBack,
    Other,
}

/// All events so far.
#[derive(Debug)]
pub(super) struct Witness {
    events: watch::Receiver<Vec<Event>>,
    /// The task that listens, which ends with this.
    _listening: JoinSet<()>,
}

impl Witness {
    /// Begins to look. The connection is an orchestrator's: it sees its whole account.
    pub(super) async fn begin(bus: &Bus) -> Result<Self, SignalError> {
        let mut signals = Signals::listen(bus, ">".to_owned()).await?;
        let (sender, events) = watch::channel(Vec::new());
        let mut listening = JoinSet::new();
        listening.spawn(async move {
            while let Some(signal) = signals.next().await {
                if let Some(event) = read(&signal) {
                    sender.send_modify(|events| events.push(event));
                }
            }
        });
        Ok(Self { events, _listening: listening })
    }

    /// What was seen so far.
    pub(super) fn events(&self) -> Vec<Event> {
        self.events.borrow().clone()
    }

    /// Waits until this can be said of the events, and no longer than `patience`.
    pub(super) async fn until<T>(&self, patience: Duration, look: impl Fn(&[Event]) -> Option<T>) -> Option<T> {
        let mut events = self.events.clone();
        let seen = async {
            loop {
                let found = look(&events.borrow_and_update());
                if found.is_some() || events.changed().await.is_err() {
                    return found;
                }
            }
        };
        timeout(patience, seen).await.ok().flatten()
    }
}

fn read(signal: &Signal) -> Option<Event> {
    let subject = signal.subject.as_str();
    let pull = format!("$JS.API.CONSUMER.MSG.NEXT.{}.", streams::JOURNAL);
    if let Some(consumer) = subject.strip_prefix(&pull) {
        return Some(pulled(consumer, &signal.payload));
    }
    if subject.starts_with("$JS.ACK.") {
        return answered(subject, &signal.payload);
    }
    if subject == subjects::api(holdpoint_protocol::api::PROGRESS) {
        return Some(Event::Asked);
    }
    if subject.starts_with(&format!("{}.presence.", subjects::ROOT)) {
        return Some(Event::Present);
    }
    // Also what is on a wrong partition: it is judged when it is read.
    let rest = subject.strip_prefix(subjects::ROOT)?.strip_prefix(".handoff.")?;
    let tokens: Vec<&str> = rest.split('.').collect();
    let [_, _, _, waypoint, kind] = tokens.as_slice() else { return None };
    Some(Event::HandedOff { waypoint: (*waypoint).to_owned(), kind: (*kind).to_owned() })
}

/// A pull without content asks for one message and waits.
fn pulled(consumer: &str, payload: &[u8]) -> Event {
    let text = String::from_utf8_lossy(payload);
    let asked: Value = serde_json::from_slice(payload).unwrap_or(Value::Null);
    let batch = asked["batch"].as_u64().or_else(|| text.trim().parse().ok()).unwrap_or(1);
    let waits = asked["no_wait"] != Value::Bool(true);
    Event::Pulled { consumer: consumer.to_owned(), batch, waits }
}

/// `$JS.ACK.<stream>.<consumer>.<delivered>.<stream sequence>.…`, or with domain and account before the stream.
fn answered(subject: &str, payload: &[u8]) -> Option<Event> {
    let tokens: Vec<&str> = subject.split('.').collect();
    let at = tokens.iter().position(|token| *token == streams::JOURNAL)?;
    let number = |offset: usize| tokens.get(at + offset)?.parse().ok();
    let answer = match payload {
        b"" | b"+ACK" => Answer::Done,
        b"+WPI" => Answer::Working,
        other if other.starts_with(b"-NAK") => Answer::GivenBack,
        _ => Answer::Other,
    };
    Some(Event::Answered { delivery: number(2)?, sequence: number(3)?, answer })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(subject: &str, payload: &str) -> Option<Event> {
        let payload = payload.as_bytes().to_vec().into();
        read(&Signal { subject: subject.to_owned(), payload, traceparent: None, signature: None })
    }

    #[test]
    fn both_forms_of_acknowledgements_are_read() {
        let done = Event::Answered { sequence: 7, delivery: 2, answer: Answer::Done };
        assert_eq!(event("$JS.ACK.HP_JOURNAL.builder_low_fleet.2.7.3.1.0", "+ACK"), Some(done.clone()));
        assert_eq!(event("$JS.ACK._.hash.HP_JOURNAL.builder_low_fleet.2.7.3.1.0", "+ACK"), Some(done));
        let nak = event("$JS.ACK.HP_JOURNAL.c.1.9.3.1.0", "-NAK {\"delay\":1}");
        assert_eq!(nak, Some(Event::Answered { sequence: 9, delivery: 1, answer: Answer::GivenBack }));
        assert_eq!(event("$JS.ACK.HP_BLOB_BUILDER.c.1.9.3.1.0", "+ACK"), None);
    }

    #[test]
    fn a_pull_says_how_many_and_whether_it_waits() {
        let pull = |payload| event("$JS.API.CONSUMER.MSG.NEXT.HP_JOURNAL.builder_low_fleet", payload);
        let pulled = |batch, waits| Some(Event::Pulled { consumer: "builder_low_fleet".to_owned(), batch, waits });
        assert_eq!(pull("{\"batch\":1,\"no_wait\":true}"), pulled(1, false));
        assert_eq!(pull("{\"batch\":10,\"expires\":5000}"), pulled(10, true));
        assert_eq!(pull("5"), pulled(5, true));
        assert_eq!(pull(""), pulled(1, true));
    }
}
