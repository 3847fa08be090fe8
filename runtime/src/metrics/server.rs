//! The endpoint: `GET /metrics`, `GET /healthz`, and nothing else. It reads, and answers nobody anything that is secret; how
//! many ask at once, how long each may take and how much it may send are bounded.

use std::{convert::Infallible, net::SocketAddr, path::PathBuf, sync::Arc, time::Duration};

use hyper::{
    Method, Request, Response, StatusCode,
    body::Incoming,
    header::{ALLOW, CONTENT_TYPE},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::Semaphore,
    task::JoinHandle,
};

use super::{Metrics, MetricsError};
use crate::{clock, health, telemetry::ErrorChain};

/// What the text is.
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
/// Where it is.
const PATH: &str = "/metrics";
/// Where probes ask whether the process is well: as `holdpoint health`, without a process for each question.
const HEALTH_PATH: &str = "/healthz";
/// Connections at once. A scraper has one.
const CONNECTIONS_MAX: usize = 16;
/// How long a connection may be open: longer than scrapers keep one without asking would serve nobody.
const CONNECTION_TIME: Duration = Duration::from_secs(300);
/// How long a request's head may take.
const HEAD_TIME: Duration = Duration::from_secs(10);
/// Bytes of a request's head.
const HEAD_BYTES: usize = 16 << 10;
/// The pause after a connection that could not be taken.
const PAUSE: Duration = Duration::from_millis(200);

/// Serves until it is dropped.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    task: JoinHandle<()>,
}

impl Server {
    /// Listens there. `sign` is the file in which the process says that it is well.
    pub(super) async fn begin(
        listen: SocketAddr,
        metrics: Metrics,
        sign: Option<PathBuf>,
    ) -> Result<Self, MetricsError> {
        let refused = |source| MetricsError::Listen { listen, source };
        let listener = TcpListener::bind(listen).await.map_err(refused)?;
        let address = listener.local_addr().map_err(refused)?;
        let task = tokio::spawn(accept(listener, Arc::new(Served { metrics, sign })));
        Ok(Self { address, task })
    }

    /// Where it listens: the port is the system's choice where 0 was asked for.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// What is read here.
struct Served {
    metrics: Metrics,
    sign: Option<PathBuf>,
}

async fn accept(listener: TcpListener, served: Arc<Served>) {
    let room = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    loop {
        let Ok(place) = room.clone().acquire_owned().await else { return };
        match listener.accept().await {
            Ok((stream, _)) => {
                let served = served.clone();
                tokio::spawn(async move {
                    let _place = place;
                    // A caller that stays longer asks again.
                    let _ = tokio::time::timeout(CONNECTION_TIME, answer(stream, &served)).await;
                });
            }
            Err(error) => {
                tracing::debug!(error = %ErrorChain(&error), "cannot take a connection for metrics");
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
}

async fn answer(stream: TcpStream, served: &Served) {
    let service = service_fn(|request: Request<Incoming>| {
        let response = respond(&request, served);
        async move { Ok::<_, Infallible>(response) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIME)
        .max_buf_size(HEAD_BYTES)
        .serve_connection(TokioIo::new(stream), service);
    if let Err(error) = connection.await {
        tracing::debug!(error = %ErrorChain(&error), "a connection for metrics ended");
    }
}

fn respond<B>(request: &Request<B>, served: &Served) -> Response<String> {
    let path = request.uri().path();
    if ![PATH, HEALTH_PATH].contains(&path) {
        return plain(StatusCode::NOT_FOUND, "metrics are at /metrics, and whether the process is well at /healthz\n");
    }
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        let mut response = plain(StatusCode::METHOD_NOT_ALLOWED, "only GET\n");
        response.headers_mut().insert(ALLOW, hyper::header::HeaderValue::from_static("GET, HEAD"));
        return response;
    }
    if path == HEALTH_PATH { how_it_is(served) } else { text(&served.metrics) }
}

/// Whether the process is well, by the sign that it writes.
fn how_it_is(served: &Served) -> Response<String> {
    let Some(sign) = &served.sign else {
        return plain(StatusCode::NOT_FOUND, "health.file is not configured: the process does not say how it is\n");
    };
    match health::look(sign, clock::now()) {
        Ok(sign) => plain(StatusCode::OK, &format!("{} is well\n", sign.name)),
        Err(unwell) => plain(StatusCode::SERVICE_UNAVAILABLE, &format!("{}\n", ErrorChain(&unwell))),
    }
}

fn text(metrics: &Metrics) -> Response<String> {
    match metrics.text() {
        Ok(text) => {
            let mut response = Response::new(text);
            response.headers_mut().insert(CONTENT_TYPE, hyper::header::HeaderValue::from_static(OPEN_METRICS));
            response
        }
        Err(_) => plain(StatusCode::INTERNAL_SERVER_ERROR, "the metrics cannot be written\n"),
    }
}

fn plain(status: StatusCode, text: &str) -> Response<String> {
    let mut response = Response::new(text.to_owned());
    *response.status_mut() = status;
    response
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    async fn ask(address: SocketAddr, request: &str) -> String {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer
    }

    fn any_port() -> Option<SocketAddr> {
        Some("127.0.0.1:0".parse().unwrap())
    }

    #[tokio::test]
    async fn metrics_are_read_with_get_from_one_path_and_nothing_else_is_answered() {
        let server = Metrics::new("test").serve(any_port(), None).await.unwrap().unwrap();
        let of = |method: &str, path: &str| format!("{method} {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
        let found = ask(server.address(), &of("GET", "/metrics")).await;
        assert!(found.starts_with("HTTP/1.1 200") && found.contains(OPEN_METRICS), "{found}");
        assert!(
            found.contains("holdpoint_build_info{process=\"test\",version=") && found.ends_with("# EOF\n"),
            "{found}"
        );
        assert!(ask(server.address(), &of("GET", "/")).await.starts_with("HTTP/1.1 404"));
        assert!(ask(server.address(), &of("POST", "/metrics")).await.starts_with("HTTP/1.1 405"));
        assert!(ask(server.address(), "nonsense\r\n\r\n").await.starts_with("HTTP/1.1 400"));
        let long = format!("GET /metrics HTTP/1.1\r\nhost: {}\r\n\r\n", "x".repeat(2 * HEAD_BYTES));
        assert!(ask(server.address(), &long).await.starts_with("HTTP/1.1 431"));
    }

    #[tokio::test]
    async fn a_port_that_is_taken_is_refused_and_without_an_address_nobody_listens() {
        let server = Metrics::new("test").serve(any_port(), None).await.unwrap().unwrap();
        let taken = Some(server.address());
        let refused = Metrics::new("test").serve(taken, None).await.unwrap_err();
        assert!(refused.to_string().contains("metrics.listen"), "{refused}");
        assert!(Metrics::new("test").serve(None, None).await.unwrap().is_none());
    }

    #[tokio::test]
    async fn a_probe_hears_from_the_endpoint_whether_the_process_is_well() {
        let get = "GET /healthz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n";
        let silent = Metrics::new("test").serve(any_port(), None).await.unwrap().unwrap();
        assert!(ask(silent.address(), get).await.starts_with("HTTP/1.1 404"));
        let dir = tempfile::tempdir().unwrap();
        let sign = dir.path().join("sign");
        let server = Metrics::new("test").serve(any_port(), Some(sign.clone())).await.unwrap().unwrap();
        assert!(ask(server.address(), get).await.starts_with("HTTP/1.1 503"));
        let of = |connected: bool| {
            let at = serde_json::to_string(&clock::now()).unwrap();
            format!(r#"{{"name":"builder-1","pid":1,"connected":{connected},"at":{at}}}"#)
        };
        std::fs::write(&sign, of(true)).unwrap();
        let well = ask(server.address(), get).await;
        assert!(well.starts_with("HTTP/1.1 200") && well.ends_with("builder-1 is well\n"), "{well}");
        std::fs::write(&sign, of(false)).unwrap();
        let cut_off = ask(server.address(), get).await;
        assert!(cut_off.starts_with("HTTP/1.1 503") && cut_off.contains("lost the broker"), "{cut_off}");
    }
}
