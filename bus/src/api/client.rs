//! Sending requests to the micro service.

use std::time::Duration;

use async_nats::{HeaderMap, Request, RequestErrorKind, service};
use bytes::Bytes;
use futures::{StreamExt as _, stream::FuturesUnordered};
use holdpoint_protocol::{headers, subjects};

use super::ApiFailure;
use crate::{Bus, message::header};

/// Why a request has no answer.
#[derive(Debug, thiserror::Error)]
pub enum ApiError {
    /// The service answered with a failure.
    #[error("{endpoint} was refused")]
    Refused {
        /// The endpoint.
        endpoint: String,
        /// What it answered.
        #[source]
        failure: ApiFailure,
    },
    /// Nobody serves the endpoint.
    #[error("no orchestrator serves {endpoint}")]
    NobodyThere {
        /// The endpoint.
        endpoint: String,
    },
    /// No answer in time; whether the request was carried out is not known.
    #[error("no answer from {endpoint} in {timeout:?}")]
    TimedOut {
        /// The endpoint.
        endpoint: String,
        /// How long it was waited for.
        timeout: Duration,
    },
    /// The connection was lost before the answer came; whether the request was carried out is not known.
    #[error("the connection was lost before {endpoint} answered")]
    Lost {
        /// The endpoint.
        endpoint: String,
    },
    /// The request could not be sent.
    #[error("cannot send to {endpoint}")]
    Send {
        /// The endpoint.
        endpoint: String,
        /// What the client said.
        #[source]
        source: async_nats::RequestError,
    },
}

/// A request.
#[derive(Debug, Clone)]
pub struct Call<'a> {
    /// The endpoint's name.
    pub endpoint: &'a str,
    /// JSON.
    pub payload: Bytes,
    /// How long to wait for the answer.
    pub timeout: Duration,
    /// W3C trace context.
    pub traceparent: Option<&'a str>,
}

/// As [`request`], asked once more in parallel after a `pause` without an answer, and again after twice that, and so
/// on: the orchestrator that has the question may be dead or asleep, and others are there; or all of them have much to
/// do. For requests that may be carried out twice.
///
/// # Errors
/// [`ApiError`] of the last one that had no answer.
pub async fn request_hedged(bus: &Bus, call: Call<'_>, mut pause: Duration) -> Result<Bytes, ApiError> {
    let mut asked = FuturesUnordered::from_iter([request(bus, call.clone())]);
    loop {
        match tokio::time::timeout(pause, asked.select_next_some()).await {
            Ok(Err(_)) if !asked.is_empty() => {}
            Ok(answer) => return answer,
            Err(_) => {
                asked.push(request(bus, call.clone()));
                pause *= 2;
            }
        }
    }
}

/// Signs and sends a request, and waits for its answer (JSON).
///
/// # Errors
/// [`ApiError`].
pub async fn request(bus: &Bus, call: Call<'_>) -> Result<Bytes, ApiError> {
    let Call { endpoint, payload, timeout, traceparent } = call;
    let subject = subjects::api(endpoint);
    let mut map = HeaderMap::new();
    map.insert(headers::CONTENT_TYPE, headers::JSON);
    map.insert(headers::SIGNATURE, bus.sign(&subject, &payload).as_str());
    map.insert(headers::JWT, bus.jwt());
    if let Some(traceparent) = traceparent {
        map.insert(headers::TRACEPARENT, traceparent);
    }
    let request = Request::new().headers(map).payload(payload).timeout(Some(timeout));
    let endpoint = endpoint.to_owned();
    let lost = bus.lost();
    let answer = tokio::select! {
        answer = bus.client().send_request(subject, request) => answer,
        () = lost => return Err(ApiError::Lost { endpoint }),
    };
    let answer = match answer {
        Ok(answer) => answer,
        Err(error) => {
            return Err(match error.kind() {
                RequestErrorKind::NoResponders => ApiError::NobodyThere { endpoint },
                RequestErrorKind::TimedOut => ApiError::TimedOut { endpoint, timeout },
                _ => ApiError::Send { endpoint, source: error },
            });
        }
    };
    let Some(map) = &answer.headers else { return Ok(answer.payload) };
    let Some(code) = header(map, service::NATS_SERVICE_ERROR_CODE) else { return Ok(answer.payload) };
    let message = header(map, service::NATS_SERVICE_ERROR).unwrap_or_default();
    Err(ApiError::Refused { endpoint, failure: ApiFailure { code: code.parse().unwrap_or(500), message } })
}
