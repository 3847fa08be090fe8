//! Which key stores more than its share of its role's room, from what the broker says of its connections and its streams.
//!
//! Chunks of blobs carry no signature, and neither does a handoff have to: what is stored names no key. The broker counts
//! what each connection sent. What a stream grew by between two looks was sent by the keys of its role. A key is charged with
//! what it must have stored itself: the growth that all others together did not send enough for, and never more than it sent.
//! A busy key is so never charged with what others stored meanwhile, whatever they do. Keys that flood at the same time are each
//! charged with what they stored; what is sent and not stored hides as much of them.
//! A key that was charged with too much goes out, while its role has other keys to protect.
//!
//! Knows no broker and no clock, ends no connection.

mod flooders;
mod out;
mod window;

use std::{
    collections::{BTreeMap, HashMap},
    fmt,
    hash::Hash,
    time::Duration,
};

use holdpoint_protocol::{Timestamp, ids::RoleId};

pub use flooders::{Flooders, User};
use out::Outs;
pub use out::{OUT_FIRST, OUT_MAX, Term};
pub(crate) use window::Window;

/// A share of all: nothing is bounded.
pub const SHARE_OFF: u32 = 100;
/// The part of a whole room that a key may always store in a window, however little is left for others.
const LEAST_PART: u64 = 16;
/// Bytes that are stored for a message beyond those that its connection is said to have sent: subject, and the record's frame.
const STORED_BESIDES: u64 = 1_024;
/// A connection that is seen for the first time sent before what it is said to have sent, if it is older than this.
const NEW_FOR: Duration = Duration::from_secs(120);
/// Keys with a charge on a stream, far more than a fleet has. Past that all charges begin again.
const CHARGES_MAX: usize = 8_192;

/// An amount: sent, stored, or allowed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Load {
    /// Bytes.
    pub bytes: u64,
    /// Messages.
    pub messages: u64,
}

impl Load {
    fn of(self, bound: TrafficBound) -> u64 {
        match bound {
            TrafficBound::Bytes => self.bytes,
            TrafficBound::Messages => self.messages,
        }
    }

    fn plus(self, other: Self) -> Self {
        let sum = |a: u64, b: u64| a.saturating_add(b);
        Self { bytes: sum(self.bytes, other.bytes), messages: sum(self.messages, other.messages) }
    }

    fn minus(self, other: Self) -> Self {
        let left = |a: u64, b: u64| a.saturating_sub(b);
        Self { bytes: left(self.bytes, other.bytes), messages: left(self.messages, other.messages) }
    }

    /// What of a stream's growth came from those who may have stored this, when all together may have stored `all`.
    fn certainly(self, all: Self, grown: Self) -> Self {
        let least = |bound: TrafficBound| {
            let (most, all, grown) = (self.of(bound), all.of(bound), grown.of(bound));
            // A message that was sent twice, or not stored at all, may be anybody's.
            let doubtful = if all < grown { all - most } else { all - grown };
            most.saturating_sub(doubtful)
        };
        Self { bytes: least(TrafficBound::Bytes), messages: least(TrafficBound::Messages) }
    }

    /// What of a stream's growth may have come from the sender of this.
    fn at_most(self, grown: Self) -> Self {
        let stored = self.bytes.saturating_add(self.messages.saturating_mul(STORED_BESIDES));
        Self { bytes: stored.min(grown.bytes), messages: self.messages.min(grown.messages) }
    }
}

/// What is bounded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrafficBound {
    /// [`Load::bytes`]
    Bytes,
    /// [`Load::messages`]
    Messages,
}

impl fmt::Display for TrafficBound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Bytes => "bytes",
            Self::Messages => "messages",
        })
    }
}

/// A connection, and what it sent since it began.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sending<C> {
    /// Which one.
    pub connection: C,
    /// When it began.
    pub since: Timestamp,
    /// Whose it is.
    pub key: String,
    /// The role of that key; `None`: not known, so it may have written to any stream.
    pub role: Option<RoleId>,
    /// Since it began.
    pub sent: Load,
}

/// A stream that keys of one role write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrittenStream {
    /// Its name.
    pub name: String,
    /// Whose keys write it.
    pub role: RoleId,
    /// What is stored in it.
    pub held: Load,
    /// What may be.
    pub room: Load,
}

/// A key that stored too much.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Over {
    /// The key.
    pub key: String,
    /// Into which stream.
    pub stream: String,
    /// Too much of what.
    pub bound: TrafficBound,
    /// How much in the last hour.
    pub stored: u64,
    /// How much it might.
    pub most: u64,
    /// How long it stays out.
    pub term: Term,
}

/// What each key sent between two looks, and its role.
type Sent = HashMap<String, (Option<RoleId>, Load)>;

/// What was seen so far. `C` names a connection.
#[derive(Debug)]
pub struct TrafficMeter<C> {
    share: u32,
    /// What each connection had sent, and when it was last looked at.
    connections: HashMap<C, (Load, Timestamp)>,
    /// What each key sent between the last two looks and was not charged with: it may have been stored after the second.
    late: HashMap<String, Load>,
    streams: HashMap<String, Load>,
    /// By stream and key.
    charges: BTreeMap<(String, String), Window>,
    outs: Outs,
}

impl<C: Eq + Hash> TrafficMeter<C> {
    /// Each key may store so many hundredths of what its role's room has left, in an hour.
    #[must_use]
    pub fn new(share: u32) -> Self {
        Self {
            share,
            connections: HashMap::new(),
            late: HashMap::new(),
            streams: HashMap::new(),
            charges: BTreeMap::new(),
            outs: Outs::default(),
        }
    }

    /// Whether the connections are to be looked at: a stream has grown by enough since that was last done.
    #[must_use]
    pub fn is_due(&self, streams: &[WrittenStream]) -> bool {
        streams.iter().any(|stream| {
            let grown = self.grown(stream);
            let part = |bound| grown.of(bound) > stream.room.of(bound) / (LEAST_PART * 4);
            part(TrafficBound::Bytes) || part(TrafficBound::Messages)
        })
    }

    /// Takes in a look at everything: which keys stored too much, one of each stream at most. They are out from now on.
    /// `streams` were looked at before the connections: what is stored was sent.
    pub fn look(
        &mut self,
        now: Timestamp,
        streams: &[WrittenStream],
        sending: impl IntoIterator<Item = Sending<C>>,
    ) -> Vec<Over> {
        let sent = self.sent_since(now, sending);
        let (mut over, mut late) = (Vec::new(), HashMap::new());
        for stream in streams {
            self.charge(now, stream, &sent, &mut late);
            over.extend(self.judge(now, stream, &sent));
            self.streams.insert(stream.name.clone(), stream.held);
        }
        self.late = late;
        over
    }

    /// Whether a key is out. Its connections are ended.
    #[must_use]
    pub fn is_out(&self, key: &str, now: Timestamp) -> bool {
        self.outs.is_out(key, now)
    }

    /// Whether any key is.
    #[must_use]
    pub fn is_any_out(&self, now: Timestamp) -> bool {
        self.outs.is_any(now)
    }

    /// Puts a key out that did too much of something else; `None`: it is out.
    pub fn put_out(&mut self, key: &str, now: Timestamp) -> Option<Term> {
        (!self.is_out(key, now)).then(|| self.outs.put(key, now))
    }

    /// What each key sent since the last look.
    fn sent_since(&mut self, now: Timestamp, sending: impl IntoIterator<Item = Sending<C>>) -> Sent {
        let mut sent = Sent::new();
        let mut connections = HashMap::new();
        for Sending { connection, since, key, role, sent: total } in sending {
            // One that ended between the two questions about connections is there twice.
            let seen =
                connections.get(&connection).or_else(|| self.connections.get(&connection)).map(|(load, _)| *load);
            let new = match seen {
                Some(before) => total.minus(before),
                None if now.since(since) > NEW_FOR => Load::default(),
                None => total,
            };
            let of_key = sent.entry(key).or_default();
            of_key.0 = of_key.0.take().or(role);
            of_key.1 = of_key.1.plus(new);
            connections.insert(connection, (total, now));
        }
        // One whose server did not answer is the same when it is seen again.
        self.connections.retain(|_, (_, seen)| now.since(*seen) <= NEW_FOR);
        self.connections.extend(connections);
        sent
    }

    fn grown(&self, stream: &WrittenStream) -> Load {
        self.streams.get(&stream.name).map_or_else(Load::default, |before| stream.held.minus(*before))
    }

    /// Charges each key with what it must have stored of a stream's growth: with what all others cannot have. Growth for which the
    /// keys did not send enough has other writers, which nobody saw: there only what a key sent beyond all others is its own.
    /// `late` becomes what the keys sent beyond what they can have stored.
    fn charge(&mut self, now: Timestamp, stream: &WrittenStream, sent: &Sent, late: &mut HashMap<String, Load>) {
        let grown = self.grown(stream);
        if self.charges.len() >= CHARGES_MAX {
            self.charges.clear();
        }
        let writers = sent.iter().filter(|(_, (role, _))| writes(role.as_ref(), stream));
        let possible = writers.map(|(key, (_, load))| {
            let before = self.late.get(key).copied().unwrap_or_default();
            (key, *load, load.plus(before).at_most(grown))
        });
        let possible: Vec<(&String, Load, Load)> = possible.collect();
        let all = possible.iter().fold(Load::default(), |all, (.., load)| all.plus(*load));
        for (key, sent, most) in possible {
            let left = late.entry(key.clone()).or_insert(sent);
            *left = left.minus(most);
            let certain = most.certainly(all, grown);
            if certain != Load::default() {
                self.charges.entry((stream.name.clone(), key.clone())).or_default().add(now, certain);
            }
        }
    }

    fn judge(&mut self, now: Timestamp, stream: &WrittenStream, sent: &Sent) -> Option<Over> {
        // A key that is alone in its role takes room from nobody.
        let is_alone = sent.values().filter(|(role, _)| writes(role.as_ref(), stream)).nth(1).is_none();
        if self.share >= SHARE_OFF || is_alone {
            return None;
        }
        let of_stream = self.charges.iter_mut().filter(|((name, _), _)| *name == stream.name);
        let charges: Vec<(String, Load)> = of_stream.map(|((_, key), window)| (key.clone(), window.sum(now))).collect();
        self.charges.retain(|_, window| !window.is_empty());
        let in_fleet = || charges.iter().filter(|(key, _)| !self.outs.is_out(key, now));
        let over = [TrafficBound::Bytes, TrafficBound::Messages].into_iter().find_map(|bound| {
            let (key, load) = in_fleet().max_by_key(|(_, load)| load.of(bound))?;
            let most = allowed(self.share, stream, *load, bound);
            (load.of(bound) > most).then(|| (key.clone(), bound, load.of(bound), most))
        });
        let (key, bound, stored, most) = over?;
        let term = self.put_out(&key, now)?;
        self.charges.retain(|(name, of), _| *name != stream.name || *of != key);
        Some(Over { key, stream: stream.name.clone(), bound, stored, most, term })
    }
}

/// Whether a key of this role may have written to the stream.
fn writes(role: Option<&RoleId>, stream: &WrittenStream) -> bool {
    role.is_none_or(|role| *role == stream.role)
}

/// How much a key that stored this may store: a share of what was left before it did, and always a part of the whole.
fn allowed(share: u32, stream: &WrittenStream, stored: Load, bound: TrafficBound) -> u64 {
    let (room, held, stored) = (stream.room.of(bound), stream.held.of(bound), stored.of(bound));
    let was_left = room.saturating_sub(held).saturating_add(stored).min(room);
    let part = u128::from(was_left) * u128::from(share) / 100;
    u64::try_from(part).unwrap_or(u64::MAX).max(room / LEAST_PART)
}

#[cfg(test)]
mod tests;
