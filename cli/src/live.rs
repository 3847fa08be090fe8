//! Hearing what agents' programs say while they run. Nothing of it is stored: a command that does not listen misses it.

use holdpoint_bus::signals::{SignalError, Signals};
use holdpoint_protocol::{
    ids::{FlightId, WaypointId},
    subjects,
    view::FlightView,
};
use holdpoint_runtime::clock;
use holdpoint_text::live::{Ears, LiveMessage, Spoken};

use crate::client::Client;

/// Listens to the agents of a flight, or of one waypoint. Safe to cancel.
#[derive(Debug)]
pub(crate) struct Listening {
    signals: Signals,
    ears: Ears,
    warned: (u64, u64),
}

impl Listening {
    /// Listens from now on.
    pub(crate) async fn open(
        client: &Client,
        flight: &FlightId,
        waypoint: Option<&WaypointId>,
    ) -> Result<Self, SignalError> {
        let signals = Signals::listen(client.bus(), subjects::logs_on(flight, waypoint)).await?;
        Ok(Self { signals, ears: Ears::default(), warned: (0, 0) })
    }

    /// Takes in which turns are open. Lines that came before that was known come back.
    pub(crate) fn learn(&mut self, view: &FlightView) -> Vec<Spoken> {
        self.ears.learn(view, clock::now())
    }

    /// The next line of an agent that has the turn.
    pub(crate) async fn next(&mut self) -> Spoken {
        loop {
            // The caller notices a closed connection: it asks the API as well.
            let Some(signal) = self.signals.next().await else { return std::future::pending().await };
            let Some(from) = subjects::parse_log(&signal.subject) else { continue };
            if let LiveMessage::Line(spoken) = self.ears.hear(from, &signal.payload, clock::now()) {
                return spoken;
            }
        }
    }

    /// How many lines are left out; said of the first, the second, the fourth and so on.
    pub(crate) fn warning(&mut self) -> Option<String> {
        let grown =
            |before: &mut u64, now: u64| now > 0 && now.ilog2() >= before.checked_ilog2().map_or(0, |log| log + 1);
        let (foreign, too_many) = (self.ears.foreign(), self.ears.too_many());
        let is_new = grown(&mut self.warned.0, foreign) || grown(&mut self.warned.1, too_many);
        if !is_new {
            return None;
        }
        self.warned = (foreign, too_many);
        Some(format!(
            "live lines left out so far: {foreign} that no agent with the turn sent, {too_many} beyond what an agent may say in a minute"
        ))
    }
}
