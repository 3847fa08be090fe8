//! Opening a console: for the command of that name, and along with one that does something else.

use std::{
    net::{Ipv4Addr, SocketAddr},
    sync::Arc,
};

use holdpoint_console::{Console, ConsoleSettings};
use holdpoint_runtime::fresh;
use tokio::task::JoinHandle;

use super::{Plans, Seen};
use crate::{client::Client, failure::Failure, output, state::StateDir};

/// How a console is opened.
#[derive(Debug, Clone)]
pub(crate) struct Wanted {
    /// Where it listens.
    pub(crate) listen: SocketAddr,
    /// Under which name it is published, where there is something in front of it.
    pub(crate) published_as: Option<String>,
    /// Nothing may be done.
    pub(crate) read_only: bool,
}

impl Wanted {
    /// On this port of the loopback; 0 chooses one.
    pub(crate) fn on_loopback(port: u16) -> Self {
        Self { listen: (Ipv4Addr::LOCALHOST, port).into(), published_as: None, read_only: false }
    }
}

/// Opens a console in the name of whom the connection is of.
pub(crate) async fn open(
    client: &Client,
    wanted: Wanted,
    plans: Option<Plans>,
    state: Option<StateDir>,
) -> Result<Console<Seen>, Failure> {
    let Wanted { listen, published_as, read_only } = wanted;
    let names = published_as.into_iter().collect();
    let secrets = [fresh::nonce(), fresh::nonce(), fresh::nonce()];
    let seen = Arc::new(Seen::of(client.clone(), plans, state).await?);
    let opened = Console::open(seen, ConsoleSettings { listen, names, read_only, secrets }).await;
    opened.map_err(|error| not_listening(listen, &error))
}

/// Why there is no console.
pub(crate) fn not_listening(listen: SocketAddr, error: &std::io::Error) -> Failure {
    let hint = "choose another --port, or leave it out";
    Failure::environment("console", format!("cannot listen on {listen}: {error}"), hint)
}

/// A console that is served as long as this lives.
#[derive(Debug)]
pub(crate) struct Beside {
    /// The address with which a browser is let in.
    pub(crate) address: String,
    serving: JoinHandle<()>,
}

impl Drop for Beside {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

impl Beside {
    /// Serves one on a free port, if it is wanted, in the name of whom the connection is of.
    pub(crate) async fn start_if(
        wanted: bool,
        client: &Client,
        plans: Option<Plans>,
        state: &StateDir,
    ) -> Result<Option<Self>, Failure> {
        if !wanted {
            return Ok(None);
        }
        let place = Wanted::on_loopback(0);
        let listen = place.listen;
        let console = open(client, place, plans, Some(state.clone())).await?;
        let address = console.address().to_owned();
        let serving = tokio::spawn(async move {
            if let Err(error) = console.serve().await {
                // The command that it came along with goes on.
                output::err(&format!("warning: the console ended: {}", not_listening(listen, &error).message()));
            }
        });
        Ok(Some(Self { address, serving }))
    }
}
