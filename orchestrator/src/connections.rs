//! Ends the connections that one key has too many ([`excess`] says which), and all of a key that is out because it stored too
//! much ([`traffic`]), so that no agent or operator can take the broker's connections or its role's room from the others.
//!
//! Every orchestrator with a user of the broker's own account looks: two that end the same do no harm.

mod traffic;

use std::time::Duration;

use holdpoint_admission::{
    connections::{ConnectionExcess, excess},
    traffic::WrittenStream,
};
use holdpoint_bus::{
    Bus, ConnectArgs,
    auth::Credentials,
    connections::{Connection, Connections, ConnectionsError},
};
use holdpoint_runtime::{
    clock,
    config::{NatsConfig, OrchestratorConfig},
    supervise::TaskFailed,
    telemetry::ErrorChain,
};
use holdpoint_text::{
    lines::{LineCounts, LineFate},
    shown,
};
use tokio::time::{Instant, sleep, sleep_until};
use traffic::Traffic;

use crate::shell::Shell;

/// How often connections are looked at, at most.
const LOOK_PAUSE: Duration = Duration::from_secs(1);
/// The same while a key is out: each connection of it costs a look at all of them.
const OUT_PAUSE: Duration = Duration::from_millis(100);
/// How often they are looked at though nobody came or went.
const LOOK_ANYWAY: Duration = Duration::from_secs(30);
/// The pause before it connects again, where the broker did not let it.
const CONNECT_PAUSE: Duration = Duration::from_secs(30);
/// Connections that are ended at one look; the others follow with the next.
const ENDED_MAX: usize = 1_024;
/// Keys that are spoken of at one look.
const TOLD_MAX: usize = 8;
/// Characters that are shown of the name which a client gives itself.
const NAME_LEN_MAX: usize = 64;
/// Who causes the lines in the log.
const LINES_OF: &str = "connections";
/// What bounds the connections of a key.
const SETTING: &str = "orchestrator.connections_per_key";

/// Arguments.
#[derive(Clone)]
pub(crate) struct Args {
    nats: NatsConfig,
    credentials: Credentials,
    /// The account of agents and people.
    account: String,
    most: usize,
    room_per_key: u32,
    shell: Shell,
}

impl Args {
    /// With these credentials of the broker's own account.
    pub(crate) fn new(nats: &NatsConfig, config: &OrchestratorConfig, credentials: Credentials, shell: Shell) -> Self {
        let account = shell.trust.roots().agents_account.clone();
        let most = usize::try_from(config.connections_per_key).unwrap_or(usize::MAX);
        Self { nats: nats.clone(), credentials, account, most, room_per_key: config.room_per_key, shell }
    }
}

/// What was ended so far, and how often that was said.
#[derive(Default)]
struct Told {
    lines: LineCounts,
    ended: u64,
}

impl Args {
    /// Until it is aborted.
    pub(crate) async fn look_for_ever(self) -> TaskFailed {
        let mut told = Told::default();
        let mut traffic = Traffic::new(self.shell.clone(), self.room_per_key);
        loop {
            match self.connect().await {
                Ok((bus, connections)) => self.look_while_let_in(&bus, connections, &mut told, &mut traffic).await,
                Err(error) => {
                    let error = ErrorChain(&*error).to_string();
                    tracing::warn!(error, "cannot look at connections: {SETTING} is not kept");
                }
            }
            sleep(CONNECT_PAUSE).await;
        }
    }

    async fn connect(&self) -> Result<(Bus, Connections), Box<dyn std::error::Error + Send + Sync>> {
        let mut args = ConnectArgs::new(self.nats.url.clone(), self.credentials.clone());
        args.tls = self.nats.tls.files();
        let bus = Bus::connect(args).await?;
        let connections = Connections::watch(bus.clone(), &self.account).await?;
        Ok((bus, connections))
    }

    /// Looks whenever a user came or went, or a stream has grown; returns when the broker does not accept the
    /// credentials any more.
    async fn look_while_let_in(&self, bus: &Bus, mut connections: Connections, told: &mut Told, traffic: &mut Traffic) {
        let mut streams = None;
        loop {
            if let Err(error) = self.look(&mut connections, told, traffic, streams.take()).await {
                tracing::warn!(error = %ErrorChain(&error), "cannot look at connections: {SETTING} is not kept");
            }
            let anyway = Instant::now() + LOOK_ANYWAY;
            // A key that is out does not stay for long.
            sleep(if traffic.is_any_out() { OUT_PAUSE } else { LOOK_PAUSE }).await;
            loop {
                tokio::select! {
                    () = connections.changed() => break,
                    () = sleep_until(anyway) => break,
                    () = bus.gone() => return,
                    () = sleep(LOOK_PAUSE) => {
                        streams = traffic.due().await;
                        if streams.is_some() {
                            break;
                        }
                    }
                }
            }
        }
    }

    async fn look(
        &self,
        connections: &mut Connections,
        told: &mut Told,
        traffic: &mut Traffic,
        streams: Option<Vec<WrittenStream>>,
    ) -> Result<(), ConnectionsError> {
        // Streams first: what is stored was sent.
        let streams = match streams {
            Some(streams) => Some(streams),
            None => traffic.due().await,
        };
        let all = connections.look().await?;
        // A server that did not answer may hold what stored the growth: it is compared the next time.
        let is_whole = connections.is_whole();
        traffic.learn(&all);
        traffic.went(connections.went());
        if let Some(streams) = streams.filter(|_| is_whole) {
            let ended = connections.ended(traffic::ENDED_WITHIN).await?;
            traffic.went(connections.went());
            traffic.compare(&streams, &all.iter().chain(&ended).collect::<Vec<_>>());
        }
        traffic.put_out_flooders();
        let (out, all): (Vec<_>, Vec<_>) = all.into_iter().partition(|connection| traffic.is_out(connection));
        for connection in out.iter().take(ENDED_MAX) {
            connections.end(connection).await?;
        }
        self.end_excess(connections, told, all).await
    }

    async fn end_excess(
        &self,
        connections: &Connections,
        told: &mut Told,
        all: Vec<Connection>,
    ) -> Result<(), ConnectionsError> {
        let all = all.into_iter().map(|connection| (connection.key.clone(), connection));
        let mut room = ENDED_MAX;
        for (number, over) in excess(all, self.most).into_iter().enumerate() {
            let mut ended = 0_u64;
            for connection in over.ended.iter().take(room) {
                ended += u64::from(connections.end(connection).await?);
            }
            room = room.saturating_sub(over.ended.len());
            told.ended += ended;
            if number < TOLD_MAX {
                self.tell(&over, ended, told);
            }
        }
        Ok(())
    }

    fn tell(&self, over: &ConnectionExcess<Connection>, ended: u64, told: &mut Told) {
        let LineFate::Written { left_out } = told.lines.next(LINES_OF, clock::now()) else { return };
        // What its client calls itself is its own word.
        let client =
            over.ended.first().map(|connection| connection.name.chars().take(NAME_LEN_MAX).collect::<String>());
        let client = client.as_deref().map(shown::line).unwrap_or_default();
        tracing::warn!(
            key = over.key, %client, connections = over.connections, bound = self.most, setting = SETTING, ended,
            ended_so_far = told.ended, lines_left_out = left_out,
            "a key has more connections than it may have: the newest were ended"
        );
    }
}
