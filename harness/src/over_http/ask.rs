//! One request over HTTP/1.1 to the loopback, within a time and a size. Nothing is followed and nothing is tried again.

use std::{net::SocketAddr, pin::Pin, time::Duration};

use holdpoint_evidence::over_http::{HEAD_BYTES_MAX, HttpAnswer};
use hyper::{
    Request,
    body::{Body as _, Incoming},
    client::conn::http1,
    header::{CONNECTION, CONTENT_TYPE, HOST, HeaderName, HeaderValue},
};
use hyper_util::rt::TokioIo;
use tokio::{net::TcpStream, task::JoinSet};

/// A request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Sent {
    pub(super) method: String,
    pub(super) path: String,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: String,
}

impl Sent {
    pub(super) fn new(method: &str, path: &str) -> Self {
        Self { method: method.to_owned(), path: path.to_owned(), ..Self::default() }
    }

    /// Says what its body is, unless the test does.
    pub(super) fn say_type(&mut self) {
        if self.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case(CONTENT_TYPE.as_str())) {
            return;
        }
        let is_json = serde_json::from_str::<serde::de::IgnoredAny>(&self.body).is_ok();
        let kind = if is_json { "application/json" } else { "text/plain; charset=utf-8" };
        self.headers.push((CONTENT_TYPE.as_str().to_owned(), kind.to_owned()));
    }

    fn request(&self, port: u16) -> Result<Request<String>, String> {
        let mut request = Request::builder().method(self.method.as_str()).uri(self.path.as_str());
        let mut has_host = false;
        for (name, value) in &self.headers {
            let name =
                HeaderName::from_bytes(name.as_bytes()).map_err(|error| format!("the header `{name}`: {error}"))?;
            let value =
                HeaderValue::from_str(value).map_err(|error| format!("the value of the header {name}: {error}"))?;
            has_host |= name == HOST;
            request = request.header(name, value);
        }
        if !has_host {
            request = request.header(HOST, format!("localhost:{port}"));
        }
        let request = request.header(CONNECTION, "close").body(self.body.clone());
        request.map_err(|error| format!("the request cannot be sent: {error}"))
    }
}

/// Whether something takes connections on the port.
pub(super) async fn connects(port: u16, within: Duration) -> Result<(), String> {
    in_time(within, async { connected(port).await.map(drop) }).await
}

/// The whole response, or why there is none.
pub(super) async fn ask(port: u16, sent: &Sent, within: Duration, bytes_max: usize) -> Result<HttpAnswer, String> {
    let request = sent.request(port)?;
    in_time(within, exchange(port, request, bytes_max)).await
}

async fn in_time<T>(within: Duration, work: impl Future<Output = Result<T, String>>) -> Result<T, String> {
    let late = || format!("no complete response within {} ms", within.as_millis());
    tokio::time::timeout(within, work).await.unwrap_or_else(|_| Err(late()))
}

async fn connected(port: u16) -> Result<TcpStream, String> {
    let places = [SocketAddr::from(([127, 0, 0, 1], port)), SocketAddr::from(([0, 0, 0, 0, 0, 0, 0, 1], port))];
    TcpStream::connect(&places[..]).await.map_err(|error| format!("nothing takes connections there: {error}"))
}

async fn exchange(port: u16, request: Request<String>, bytes_max: usize) -> Result<HttpAnswer, String> {
    let stream = connected(port).await?;
    let mut builder = http1::Builder::new();
    builder.max_buf_size(HEAD_BYTES_MAX);
    let (mut sender, connection) = builder.handshake(TokioIo::new(stream)).await.map_err(|error| in_words(&error))?;
    // Ends with this function.
    let mut driver = JoinSet::new();
    driver.spawn(async move {
        // The request reports what goes wrong with it.
        let _ = connection.await;
    });
    let (head, body) = sender.send_request(request).await.map_err(|error| in_words(&error))?.into_parts();
    let text = |value: &HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    let headers = head.headers.iter().map(|(name, value)| (name.as_str().to_owned(), text(value))).collect();
    Ok(HttpAnswer { status: head.status.as_u16(), headers, body: whole(body, bytes_max).await? })
}

async fn whole(mut body: Incoming, bytes_max: usize) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    while let Some(frame) = std::future::poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await {
        let frame =
            frame.map_err(|error| format!("its body broke off after {} bytes: {}", bytes.len(), in_words(&error)))?;
        let Ok(part) = frame.into_data() else { continue };
        if bytes.len() + part.len() > bytes_max {
            return Err(format!("its body is longer than {} KiB", bytes_max >> 10));
        }
        bytes.extend_from_slice(&part);
    }
    Ok(bytes)
}

/// What went wrong, with its cause: hyper's own words alone are few.
fn in_words(error: &hyper::Error) -> String {
    let cause = std::error::Error::source(error).map(|cause| format!(": {cause}")).unwrap_or_default();
    let what = if error.is_parse_too_large() {
        "the head of its response is too large"
    } else if error.is_parse() {
        "it answered with something that is no HTTP/1.1"
    } else if error.is_incomplete_message() {
        "it closed the connection before its response was complete"
    } else {
        "the connection failed"
    };
    format!("{what} ({error}{cause})")
}
