//! Which handoffs of one role and partition an orchestrator works on, and which wait, are superseded or are hopeless.
//!
//! A sender with valid keys may send as many handoffs as it likes. Three rules keep it from holding up the others: no sender
//! and no flight has all places; of one agent's answers on a turn one is in work and the newest waits; and what refers
//! to blobs that nobody stores is refused after a while.
//!
//! The sender has been shown before: this module believes what it is given. It neither reads messages nor answers
//! them.

use std::{
    collections::{HashMap, hash_map::Entry},
    hash::Hash,
    time::Duration,
};

use holdpoint_protocol::{
    Timestamp,
    ids::{AgentName, FlightId, TurnId},
    journal::Sequence,
};

/// Handoffs of one role and partition in work at once. Those of different flights are worked on in parallel, and the rest
/// waits in the broker.
pub const PLACES: usize = 64;
/// Places that one flight may have: the others keep a quarter, whatever is sent for this one.
pub const FLIGHT_PLACES: usize = PLACES / 4 * 3;
/// Places that one sender may have: an agent has one turn at a time, and its newest answers need no more.
pub const SENDER_PLACES: usize = PLACES / 2;
/// Places for handoffs whose sender is still to be looked up: that reads the broker for any sender.
pub const UNKNOWN_PLACES: usize = PLACES / 8;
/// Lanes whose newest handoff is remembered. Past that all are forgotten, which costs a second look at older handoffs.
const LANES_REMEMBERED: usize = 4_096;
/// The first pause of a handoff for which there is no place. It doubles with each delivery, up to 16 s.
const PAUSE_MIN: Duration = Duration::from_millis(500);
/// How often that pause doubles at most.
const PAUSE_DOUBLINGS_MAX: u32 = 5;
/// How often missing blobs are looked for at least, however late the first look is: an orchestrator may have been away.
const LOOKS_MIN: u64 = 3;

/// A handoff that arrived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arrived {
    /// Its flight.
    pub flight: FlightId,
    /// Who signed it; `None`: not known yet.
    pub sender: Option<AgentName>,
    /// The turn that it answers; `None` for what answers nothing (plans, turns given back, acts of people).
    pub answers: Option<TurnId>,
    /// Its place in its stream: the order in which the broker stored what was sent.
    pub sequence: Sequence,
}

/// What is done with a handoff.
#[derive(Debug, PartialEq, Eq)]
pub enum Admission<M> {
    /// Work on it; [`IntakeDesk::settled`] gives the place back.
    Work(HandoffPlace, M),
    /// It waits here behind an older one of its lane. What waited before it is superseded.
    Kept {
        /// What waited before.
        superseded: Option<M>,
    },
    /// Its sender sent a newer one on the same turn.
    Superseded(M),
    /// It is in work or waits here already: a redelivery.
    InHand(M),
    /// Its sender or its flight has its share of the places: it comes again later.
    Full(M),
}

/// Answers of one agent on one turn. Branches of a fork have turns of their own.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Lane {
    flight: FlightId,
    turn: TurnId,
    agent: AgentName,
}

/// The place of a handoff that is worked on.
#[derive(Debug, PartialEq, Eq)]
pub struct HandoffPlace {
    flight: FlightId,
    sender: Option<AgentName>,
    lane: Option<Lane>,
}

/// A lane with a handoff in work.
#[derive(Debug)]
struct Busy<M> {
    sequence: Sequence,
    waits: Option<(Sequence, M)>,
}

/// The handoffs of one role and partition that are in hand. `M` is whatever stands for one of them.
#[derive(Debug)]
pub struct IntakeDesk<M> {
    flights: HashMap<FlightId, usize>,
    senders: HashMap<Option<AgentName>, usize>,
    busy: HashMap<Lane, Busy<M>>,
    newest: HashMap<Lane, Sequence>,
}

impl<M> Default for IntakeDesk<M> {
    fn default() -> Self {
        Self { flights: HashMap::new(), senders: HashMap::new(), busy: HashMap::new(), newest: HashMap::new() }
    }
}

impl<M> IntakeDesk<M> {
    /// Admits a handoff, or says why not.
    pub fn arrives(&mut self, arrived: Arrived, message: M) -> Admission<M> {
        let Arrived { flight, sender, answers, sequence } = arrived;
        let lane = answers.zip(sender.clone()).map(|(turn, agent)| Lane { flight: flight.clone(), turn, agent });
        if let Some(lane) = &lane {
            if self.busy.get(lane).is_some_and(|busy| busy.has(sequence)) {
                return Admission::InHand(message);
            }
            if self.newest.get(lane).is_some_and(|newest| *newest > sequence) {
                return Admission::Superseded(message);
            }
            self.remember(lane.clone(), sequence);
            if let Some(busy) = self.busy.get_mut(lane) {
                let superseded = busy.waits.replace((sequence, message)).map(|(_, message)| message);
                return Admission::Kept { superseded };
            }
        }
        let of_sender = if sender.is_some() { SENDER_PLACES } else { UNKNOWN_PLACES };
        if count(&self.flights, &flight) >= FLIGHT_PLACES || count(&self.senders, &sender) >= of_sender {
            return Admission::Full(message);
        }
        *self.flights.entry(flight.clone()).or_default() += 1;
        *self.senders.entry(sender.clone()).or_default() += 1;
        if let Some(lane) = &lane {
            self.busy.insert(lane.clone(), Busy { sequence, waits: None });
        }
        Admission::Work(HandoffPlace { flight, sender, lane }, message)
    }

    /// A handoff was settled, or given back to the broker. What waited behind it takes its place.
    #[must_use]
    pub fn settled(&mut self, place: HandoffPlace) -> Option<(HandoffPlace, M)> {
        if let Some(lane) = &place.lane
            && let Some(busy) = self.busy.get_mut(lane)
        {
            if let Some((sequence, message)) = busy.waits.take() {
                busy.sequence = sequence;
                return Some((place, message));
            }
            self.busy.remove(lane);
        }
        release(&mut self.flights, place.flight);
        release(&mut self.senders, place.sender);
        None
    }

    fn remember(&mut self, lane: Lane, sequence: Sequence) {
        if self.newest.len() >= LANES_REMEMBERED && !self.newest.contains_key(&lane) {
            self.newest.clear();
        }
        self.newest.insert(lane, sequence);
    }
}

impl<M> Busy<M> {
    /// Whether this message is in work or waits.
    fn has(&self, sequence: Sequence) -> bool {
        self.sequence == sequence || self.waits.as_ref().is_some_and(|(waits, _)| *waits == sequence)
    }
}

fn count<K: Hash + Eq>(counts: &HashMap<K, usize>, key: &K) -> usize {
    counts.get(key).copied().unwrap_or_default()
}

fn release<K: Hash + Eq>(counts: &mut HashMap<K, usize>, key: K) {
    if let Entry::Occupied(mut count) = counts.entry(key) {
        *count.get_mut() -= 1;
        if *count.get() == 0 {
            count.remove();
        }
    }
}

/// How long a handoff for which there is no place stays in the broker, by how often it was delivered.
#[must_use]
pub fn pause(deliveries: u64) -> Duration {
    let doublings = u32::try_from(deliveries.saturating_sub(1)).unwrap_or(u32::MAX).min(PAUSE_DOUBLINGS_MAX);
    PAUSE_MIN * 2_u32.pow(doublings)
}

/// Whether a handoff that refers to missing blobs is given up, by when the broker stored it and how often it was delivered.
#[must_use]
pub fn is_hopeless(stored: Timestamp, now: Timestamp, deliveries: u64, wait: Duration) -> bool {
    deliveries >= LOOKS_MIN && now.since(stored) >= wait
}

#[cfg(test)]
mod tests;
