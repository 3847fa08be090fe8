//! What each key stores, by what the broker says of connections and streams ([`holdpoint_admission::traffic`] judges), and which
//! keys are out.

use std::{
    collections::{BTreeSet, HashMap, VecDeque},
    time::{Duration, Instant},
};

use holdpoint_admission::traffic::{
    Flooders, Load, Over, Sending, Term, TrafficBound, TrafficMeter, User, WrittenStream,
};
use holdpoint_bus::{
    connections::Connection,
    topology::{self, TopologyError},
};
use holdpoint_protocol::streams;
use holdpoint_runtime::{clock, telemetry::ErrorChain};

use crate::{metrics::CutOff, shell::Shell};

/// How often streams are looked at, at most.
const STREAMS_EVERY: Duration = Duration::from_millis(900);
/// How often connections are compared with streams that have hardly grown.
const COMPARE_ANYWAY: Duration = Duration::from_secs(30);
/// Connections that ended so long ago are still counted: longer than any pause between two looks.
pub(super) const ENDED_WITHIN: Duration = Duration::from_secs(120);
/// Keys whose users are remembered after their connections ended, far more than a fleet has. Past that all are forgotten.
const USERS_MAX: usize = 4_096;
/// Connections that ended and are not compared yet. A broker ends and begins some hundred a second, and they are compared
/// every 30 seconds at least.
const WENT_MAX: usize = 32_768;
/// What bounds what a key stores.
const SETTING: &str = "orchestrator.room_per_key";

/// A connection, at its server.
type Number = (String, u64);

/// See the module.
pub(super) struct Traffic {
    shell: Shell,
    meter: TrafficMeter<Number>,
    users: HashMap<String, User>,
    flooders: Flooders,
    /// Connections that ended since they were last compared.
    went: VecDeque<Connection>,
    looked: Option<Instant>,
    compared: Option<Instant>,
}

impl Traffic {
    pub(super) fn new(shell: Shell, room_per_key: u32) -> Self {
        Self {
            shell,
            meter: TrafficMeter::new(room_per_key),
            users: HashMap::new(),
            flooders: Flooders::default(),
            went: VecDeque::new(),
            looked: None,
            compared: None,
        }
    }

    /// The streams, if connections are to be compared with them now.
    pub(super) async fn due(&mut self) -> Option<Vec<WrittenStream>> {
        let passed = |since: Option<Instant>, span| since.is_none_or(|since| since.elapsed() >= span);
        if !passed(self.looked, STREAMS_EVERY) {
            return None;
        }
        self.looked = Some(Instant::now());
        let all = match look(&self.shell).await {
            Ok(all) => all,
            Err(error) => {
                tracing::debug!(error = %ErrorChain(&error), "cannot tell how full the streams are: {SETTING} is not kept");
                return None;
            }
        };
        (self.meter.is_due(&all) || self.shell.handed.has_flooders() || passed(self.compared, COMPARE_ANYWAY))
            .then_some(all)
    }

    /// Learns whose the keys of connections are.
    pub(super) fn learn(&mut self, open: &[Connection]) {
        if self.users.len() >= USERS_MAX {
            self.users.clear();
        }
        for connection in open.iter().filter(|connection| !connection.jwt.is_empty()) {
            if self.users.contains_key(&connection.key) {
                continue;
            }
            if let Ok(user) = self.shell.users.verify_jwt(&connection.jwt, clock::now()) {
                self.users.insert(connection.key.clone(), (user.role, user.name));
            }
        }
    }

    /// Takes in which connections ended, however short they were there.
    pub(super) fn went(&mut self, ended: Vec<Connection>) {
        self.learn(&ended);
        for connection in ended {
            if self.went.len() >= WENT_MAX {
                self.went.pop_front();
            }
            self.went.push_back(Connection { jwt: String::new(), ..connection });
        }
    }

    /// Compares what connections sent with what streams grew by. Who stored too much is out.
    pub(super) fn compare(&mut self, streams: &[WrittenStream], all: &[&Connection]) {
        self.compared = Some(Instant::now());
        let users = &self.users;
        let went = std::mem::take(&mut self.went);
        let sending = all.iter().copied().chain(&went).map(|connection| Sending {
            connection: (connection.server.clone(), connection.number),
            since: connection.since,
            key: connection.key.clone(),
            role: users.get(&connection.key).map(|(role, _)| role.clone()),
            sent: Load { bytes: connection.bytes, messages: connection.messages },
        });
        for over in self.meter.look(clock::now(), streams, sending) {
            self.tell(&over);
        }
    }

    /// Puts out the keys of agents that handed off too much.
    pub(super) fn put_out_flooders(&mut self) {
        let now = clock::now();
        self.flooders.add(now, self.shell.handed.take_flooders());
        let keys = |user: &User| {
            let connected = self.users.iter().filter(|(_, of)| *of == user).map(|(key, _)| key.clone());
            // The key that signed last: its connection may have ended before it was looked at.
            let signed = self.shell.senders.key(&user.0, &user.1);
            connected.chain(signed).collect::<BTreeSet<_>>().into_iter().collect()
        };
        for (flooder, keys) in self.flooders.take_known(now, keys) {
            for key in keys {
                let Some(term) = self.meter.put_out(&key, clock::now()) else { continue };
                self.shell.metrics.cut_off(&flooder.0, CutOff::Handoffs);
                let Term { until, times, .. } = term;
                tracing::warn!(
                    key, role = %flooder.0, agent = %flooder.1, setting = "orchestrator.handoffs_per_hour", %until, times,
                    "a key goes on handing off far beyond its bound: its connections are ended until then. Take it back \
                     (holdpoint keys revoke {key}) if it is not to come back"
                );
            }
        }
    }

    /// Whether a connection's key is out.
    pub(super) fn is_out(&self, connection: &Connection) -> bool {
        self.meter.is_out(&connection.key, clock::now())
    }

    /// Whether any key is.
    pub(super) fn is_any_out(&self) -> bool {
        self.meter.is_any_out(clock::now())
    }

    fn tell(&self, over: &Over) {
        let Over { key, stream, bound, stored, most, term: Term { until, times, .. } } = over;
        let user = self.users.get(key);
        let role = user.map_or_else(|| "unknown".to_owned(), |(role, _)| role.to_string());
        let agent = user.map_or_else(|| "unknown".to_owned(), |(_, name)| name.to_string());
        if let Some((role, _)) = user {
            let why = match bound {
                TrafficBound::Bytes => CutOff::Bytes,
                TrafficBound::Messages => CutOff::Messages,
            };
            self.shell.metrics.cut_off(role, why);
        }
        tracing::warn!(
            key, role, agent, stream, bound = %bound, stored, most, setting = SETTING, %until, times,
            "a key stored more in an hour than its share of its role's room: its connections are ended until then. Take it \
             back (holdpoint keys revoke {key}) if it is not to come back; raise {SETTING} or orchestrator.broker_disk if \
             this is honest work"
        );
    }
}

/// The streams that agents and people write.
async fn look(shell: &Shell) -> Result<Vec<WrittenStream>, TopologyError> {
    let roles = shell.roles();
    let mut all = Vec::new();
    for role in roles.handing() {
        for name in [streams::blob(&role), streams::handoff(&role)] {
            let room = topology::room(&shell.bus, &name).await?;
            let most = |most: Option<u64>| most.unwrap_or(u64::MAX);
            all.push(WrittenStream {
                name,
                role: role.clone(),
                held: Load { bytes: room.bytes, messages: room.messages },
                room: Load { bytes: most(room.bytes_max), messages: most(room.messages_max) },
            });
        }
    }
    Ok(all)
}
