//! Calls for help in what a program prints, heard while it runs (RETRY-10).
//!
//! In the dialect `plain` its standard output is read as it is; in the others what the agent says there, as far as whole lines
//! of it have come. Standard error is read as it is.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use holdpoint_engine::handed::HELP_EVENTS_MAX;
use holdpoint_protocol::artifact::HelpEvent;
use holdpoint_runtime::clock;
use holdpoint_sandbox::{OutputStream, Tap};
use tokio::sync::Notify;

use crate::{
    backend::markers::{HelpCall, Listening},
    dialect::{Continuation, Dialect, DialectReader},
};

/// How long the line after a call is waited for, which may be its context.
const CONTEXT_TIME: Duration = Duration::from_millis(100);

/// Listens to one run of a program; cheap to clone.
#[derive(Debug, Clone)]
pub struct PrintListener(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    heard: Mutex<Heard>,
    more: Notify,
}

#[derive(Debug)]
struct Heard {
    /// What the agent says in a dialect, and how much of it was listened to.
    said: Option<(DialectReader, usize)>,
    out: Listening,
    err: Listening,
    calls: Vec<Call>,
}

/// A call, and where it was heard.
#[derive(Debug)]
struct Call {
    stream: OutputStream,
    /// Which call of its stream, from 0.
    number: usize,
    event: HelpEvent,
}

impl PrintListener {
    /// Listens to a run of a program that got `prompt` and goes on in this conversation, if in any.
    #[must_use]
    pub fn of(dialect: Dialect, before: Option<&Continuation>, prompt: &str) -> Self {
        let said = (!dialect.is_plain()).then(|| (DialectReader::new(dialect, before), 0));
        let heard = Heard { said, out: Listening::of(prompt), err: Listening::of(prompt), calls: Vec::new() };
        Self(Arc::new(Shared { heard: Mutex::new(heard), more: Notify::new() }))
    }

    /// What sees the program's output, and shows it to another tap as well.
    #[must_use]
    pub fn tap(&self, other: Option<Tap>) -> Tap {
        let listener = self.clone();
        Tap::new(move |stream, bytes| {
            listener.hear(stream, bytes);
            if let Some(other) = &other {
                other.see(stream, bytes);
            }
        })
    }

    /// Comes back with the first call for help, and its context if that follows within a tenth of a second.
    pub async fn called(&self) -> HelpCall {
        loop {
            let more = self.0.more.notified();
            if let (Some(_), awaits_context) = self.first() {
                if awaits_context {
                    let _ = tokio::time::timeout(CONTEXT_TIME, self.no_more_context()).await;
                }
                return self.first().0.expect("calls are never taken back");
            }
            more.await;
        }
    }

    /// All calls of a run that is over, oldest first.
    #[must_use]
    pub fn end(&self) -> Vec<HelpEvent> {
        let mut heard = self.lock();
        heard.end();
        heard.events()
    }

    /// The first call of a run that is over.
    #[must_use]
    pub fn last_word(&self) -> Option<HelpCall> {
        self.lock().end();
        self.first().0
    }

    async fn no_more_context(&self) {
        loop {
            let more = self.0.more.notified();
            if !self.first().1 {
                return;
            }
            more.await;
        }
    }

    /// The first call so far, and whether its context may come.
    fn first(&self) -> (Option<HelpCall>, bool) {
        let heard = self.lock();
        let awaits = heard.calls.len() == 1 && (heard.out.awaits_context() || heard.err.awaits_context());
        let first = heard.calls.first().map(|Call { event, .. }| HelpCall {
            context: event.context.clone(),
            events: heard.events(),
            ..HelpCall::of_line(event.raw_line.clone())
        });
        (first, awaits)
    }

    fn hear(&self, stream: OutputStream, bytes: &[u8]) {
        self.lock().hear(stream, bytes);
        // One waits, and looks again by itself.
        self.0.more.notify_one();
    }

    fn lock(&self) -> MutexGuard<'_, Heard> {
        self.0.heard.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Heard {
    fn events(&self) -> Vec<HelpEvent> {
        self.calls.iter().map(|call| call.event.clone()).collect()
    }

    fn hear(&mut self, stream: OutputStream, bytes: &[u8]) {
        match (stream, &mut self.said) {
            (OutputStream::Stderr, _) => self.err.push(bytes),
            (OutputStream::Stdout, None) => self.out.push(bytes),
            (OutputStream::Stdout, Some((reader, listened))) => {
                reader.push(bytes);
                let text = &reader.said().text;
                self.out.push(text.get(*listened..).unwrap_or_default());
                *listened = text.len();
            }
        }
        self.note();
    }

    /// Takes what came last as whole lines.
    fn end(&mut self) {
        if let Some((reader, listened)) = self.said.take() {
            self.out.push(reader.finish().text.get(listened..).unwrap_or_default());
        }
        self.out.end();
        self.err.end();
        self.note();
    }

    /// Notes calls that are new, and contexts that came behind their calls.
    fn note(&mut self) {
        let Self { out, err, calls, .. } = self;
        for (stream, listening) in [(OutputStream::Stdout, &*out), (OutputStream::Stderr, &*err)] {
            for (number, HelpCall { raw_line, context, .. }) in listening.calls().iter().enumerate() {
                if let Some(known) = calls.iter_mut().find(|call| call.stream == stream && call.number == number) {
                    known.event.context.clone_from(context);
                } else if calls.len() < HELP_EVENTS_MAX {
                    let (raw_line, context) = (raw_line.clone(), context.clone());
                    let event = HelpEvent { timestamp: clock::now(), raw_line, context };
                    calls.push(Call { stream, number, event });
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
