//! Serving requests, a bounded number at once: of one key, of all operators, and of all agents. Agents' `progress` has
//! room of its own, because work stalls while it is not answered; and so have calls that wait for a decision.

use std::{
    future::Future,
    sync::Arc,
    time::{Instant, SystemTime},
};

use async_nats::service::{self, ServiceExt as _, endpoint::Endpoint};
use bytes::Bytes;
use futures::StreamExt as _;
use holdpoint_protocol::{Timestamp, completing::COMPLETE, headers, subjects};
use tokio::{sync::Semaphore, task::JoinSet};

use super::{
    ApiFailure, SERVICE,
    room::{Keys, Place},
};
use crate::{
    Bus,
    auth::{KnownUsers, OF_AGENTS, PROGRESS, VerifiedUser, may_call, verify_signature},
    message::header,
};

/// Requests in hand at once: of operators, as many of agents' `progress`, and as many of the other calls of agents. More than that
/// wait in the connection's buffer.
const REQUESTS_AT_ONCE: usize = 64;
/// The version that service discovery shows: that of the wire.
const SERVICE_VERSION: &str = "1.0.0";

/// The service could not be set up.
#[derive(Debug, thiserror::Error)]
#[error("cannot serve the API")]
pub struct ServeError(#[source] Box<dyn std::error::Error + Send + Sync>);

/// A request whose sender is known.
#[derive(Debug, Clone)]
pub struct ApiRequest {
    /// The endpoint's name.
    pub endpoint: String,
    /// Who sent it.
    pub caller: VerifiedUser,
    /// The JWT by which that is known.
    pub jwt: String,
    /// JSON, not looked at yet.
    pub payload: Bytes,
    /// W3C trace context.
    pub traceparent: Option<String>,
}

/// A service that runs until it is stopped or dropped.
#[derive(Debug)]
pub struct ApiServer {
    service: service::Service,
    tasks: JoinSet<()>,
}

impl ApiServer {
    /// Takes no more requests, and ends when those in hand are answered.
    pub async fn stop(mut self) {
        if let Err(error) = self.service.stop().await {
            tracing::debug!(%error, "the service was gone already");
        }
        while self.tasks.join_next().await.is_some() {}
    }
}

/// Serves these endpoints with `handler`, shared with all orchestrators that do. An answer is JSON. Each key may send so many
/// requests `a_minute` to this process; further ones are refused with 429.
///
/// # Errors
/// [`ServeError`] when the connection is closed.
pub async fn serve<H, F>(
    bus: &Bus,
    users: KnownUsers,
    endpoints: &[&str],
    a_minute: u32,
    handler: H,
) -> Result<ApiServer, ServeError>
where
    H: Fn(ApiRequest) -> F + Clone + Send + Sync + 'static,
    F: Future<Output = Result<Bytes, ApiFailure>> + Send + 'static,
{
    let service = bus.client().service_builder().start(SERVICE, SERVICE_VERSION).await.map_err(ServeError)?;
    let group = service.group(format!("{}.api", subjects::ROOT));
    let [of_operators, of_progress, of_agents] = [(); 3].map(|()| Arc::new(Semaphore::new(REQUESTS_AT_ONCE)));
    let keys = Keys::new(a_minute);
    let mut tasks = JoinSet::new();
    for name in endpoints {
        let endpoint = group.endpoint(*name).await.map_err(ServeError)?;
        let room = match *name {
            PROGRESS => &of_progress,
            name if OF_AGENTS.contains(&name) => &of_agents,
            _ => &of_operators,
        };
        let door = Door { endpoint: (*name).to_owned(), users: users.clone(), keys: keys.clone(), room: room.clone() };
        tasks.spawn(door.run(endpoint, handler.clone()));
    }
    if let Err(error) = bus.client().flush().await {
        tracing::debug!(%error, "the service is there when the broker is back");
    }
    Ok(ApiServer { service, tasks })
}

/// One endpoint.
struct Door {
    endpoint: String,
    users: KnownUsers,
    keys: Keys,
    room: Arc<Semaphore>,
}

impl Door {
    async fn run<H, F>(self, mut requests: Endpoint, handler: H)
    where
        H: Fn(ApiRequest) -> F,
        F: Future<Output = Result<Bytes, ApiFailure>> + Send + 'static,
    {
        let mut in_hand = JoinSet::new();
        while let Some(request) = requests.next().await {
            while in_hand.try_join_next().is_some() {}
            let (place, work) = match self.let_in(&request.message) {
                Ok((place, admitted)) => (place, handler(admitted)),
                Err(failure) => {
                    respond(&request, Err(failure)).await;
                    continue;
                }
            };
            let permit = self.room.clone().acquire_owned().await.expect("the semaphore is never closed");
            in_hand.spawn(async move {
                let _in_hand = (permit, place);
                respond(&request, work.await).await;
            });
        }
        while in_hand.join_next().await.is_some() {}
    }

    /// A request that may be worked on, and its place among those of its key.
    fn let_in(&self, message: &async_nats::Message) -> Result<(Place, ApiRequest), ApiFailure> {
        let request = self.admit(message)?;
        let place = self.keys.enter(&request.caller.public_key, self.endpoint == COMPLETE, Instant::now())?;
        Ok((place, request))
    }

    /// Whether the sender is who it says, and may use this endpoint.
    fn admit(&self, message: &async_nats::Message) -> Result<ApiRequest, ApiFailure> {
        let denied = |why: &str| ApiFailure::new(403, why);
        let map = message.headers.as_ref().ok_or_else(|| denied("not signed"))?;
        let jwt = header(map, headers::JWT).ok_or_else(|| denied("no Hp-Jwt"))?;
        let signature = header(map, headers::SIGNATURE).ok_or_else(|| denied("no Hp-Signature"))?;
        let caller = self.users.verify_jwt(&jwt, now()).map_err(|refusal| denied(&format!("Hp-Jwt: {refusal}")))?;
        let subject = subjects::api(&self.endpoint);
        if !verify_signature(&caller.public_key, &subject, &message.payload, &signature) {
            return Err(denied("the signature is not that of the key in Hp-Jwt"));
        }
        if !may_call(&caller.role, &self.endpoint) {
            return Err(denied(&format!("{} is not for the role {}", self.endpoint, caller.role)));
        }
        Ok(ApiRequest {
            endpoint: self.endpoint.clone(),
            caller,
            jwt,
            payload: message.payload.clone(),
            traceparent: header(map, headers::TRACEPARENT),
        })
    }
}

async fn respond(request: &service::Request, answer: Result<Bytes, ApiFailure>) {
    let answer = answer.map_err(|failure| service::error::Error {
        // A header is one line.
        status: failure.message.replace(['\r', '\n'], " "),
        code: usize::from(failure.code),
    });
    if let Err(error) = request.respond(answer).await {
        tracing::debug!(%error, "an answer could not be sent");
    }
}

fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_millis(0).after(since)
}
