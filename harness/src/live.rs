//! What a program says while it runs, for people who watch: core messages on the agent's own `log` subject, which are not stored
//! and which no other agent can listen to. Nothing waits for them, and what does not fit the pace is left out.

use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use holdpoint_bus::signals;
use holdpoint_protocol::{
    ids::TurnId,
    live::{LiveKind, LiveLine},
    subjects,
};
use holdpoint_runtime::{clock, telemetry::ErrorChain};
use holdpoint_sandbox::{OutputStream, Tap};
use holdpoint_text::live::{self, Outbox, Taken};
use tokio::{
    sync::Notify,
    time::{Instant, sleep},
};

use crate::{
    agent::Job,
    dialect::{Dialect, DialectListener},
};

/// What one turn's program says; cheap to clone. The default one is heard by nobody.
#[derive(Debug, Clone, Default)]
pub struct Live(Option<Arc<Turn>>);

#[derive(Debug)]
struct Turn {
    id: TurnId,
    began: Instant,
    outbox: Mutex<Outbox>,
    more: Notify,
}

impl Live {
    /// Of this turn. It is heard once it is [published](Self::publish).
    #[must_use]
    pub fn of(id: TurnId) -> Self {
        let (began, outbox, more) = (Instant::now(), Mutex::default(), Notify::new());
        Self(Some(Arc::new(Turn { id, began, outbox, more })))
    }

    /// Says a line. Never waits.
    pub fn say(&self, kind: LiveKind, text: &str) {
        let Some(turn) = &self.0 else { return };
        let Some(text) = live::line(text) else { return };
        turn.lock().put(LiveLine { turn: turn.id.clone(), at: clock::now(), kind, text, left_out: 0 });
        turn.more.notify_one();
    }

    /// What hears one run of a program of this dialect; `None`: nobody would hear of it.
    #[must_use]
    pub fn tap(&self, dialect: Dialect) -> Option<Tap> {
        self.0.as_ref()?;
        let (live, listener) = (self.clone(), Mutex::new(DialectListener::new(dialect)));
        Some(Tap::new(move |stream, bytes| {
            let mut listener = listener.lock().unwrap_or_else(PoisonError::into_inner);
            match stream {
                OutputStream::Stdout => listener.push(bytes, |kind, text| live.say(kind, text)),
                OutputStream::Stderr => listener.push_aside(bytes, |kind, text| live.say(kind, text)),
            }
        }))
    }

    /// Publishes what is said in the job's name, for as long as it is polled.
    pub fn publish(&self, job: &Job) -> impl Future<Output = ()> + Send + use<> {
        let subject = subjects::log(&job.role, &job.agent, &job.turn.flight, &job.turn.waypoint);
        let (live, bus) = (self.clone(), job.bus.clone());
        async move {
            while let Some(line) = live.next().await {
                let payload = Bytes::from(serde_json::to_vec(&line).expect("plain data with text keys"));
                if let Err(error) = signals::tell(&bus, subject.clone(), payload).await {
                    tracing::debug!(error = %ErrorChain(&error), "nobody hears what the program says");
                }
            }
        }
    }

    /// The next line, once its pace allows it; `None`: nobody hears it. Safe to cancel.
    pub async fn next(&self) -> Option<LiveLine> {
        let turn = self.0.as_ref()?;
        loop {
            let taken = turn.lock().take(turn.began.elapsed());
            match taken {
                Taken::Line(line) => return Some(line),
                Taken::Later(pause) => sleep(pause).await,
                Taken::Nothing => turn.more.notified().await,
            }
        }
    }
}

impl Turn {
    fn lock(&self) -> std::sync::MutexGuard<'_, Outbox> {
        self.outbox.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
