//! The server: one connection after another, each with as many requests as it likes.

use std::{io, net::SocketAddr, sync::Arc, time::Duration};

use hyper::{body::Incoming, service::service_fn};
use hyper_util::rt::{TokioExecutor, TokioIo};
use opentelemetry_proto::tonic::collector::{
    metrics::v1::{
        ExportMetricsServiceRequest, ExportMetricsServiceResponse,
        metrics_service_server::{MetricsService, MetricsServiceServer, SERVICE_NAME as METRICS},
    },
    trace::v1::{
        ExportTraceServiceRequest, ExportTraceServiceResponse,
        trace_service_server::{TraceService, TraceServiceServer},
    },
};
use tokio::{net::TcpListener, sync::Semaphore};
use tonic::{Request, Response, Status, codec::CompressionEncoding, codegen::Service as _};

use crate::{
    point::{Point, points_of},
    span::{ReceivedSpan, spans_of},
};

/// Connections at once: a fleet has one a process.
const CONNECTIONS_MAX: usize = 1_024;

/// The pause after a connection that could not be made.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Why nothing can be received.
#[derive(Debug, thiserror::Error)]
pub enum SinkError {
    /// The address cannot be listened on.
    #[error("cannot listen on {address}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// What the system said.
        #[source]
        source: io::Error,
    },
}

/// A port that exporters can send to.
#[derive(Debug)]
pub struct Receiver {
    listener: TcpListener,
    address: SocketAddr,
}

impl Receiver {
    /// Listens; port 0 takes a free one.
    ///
    /// # Errors
    /// [`SinkError::Listen`].
    pub async fn listen(address: SocketAddr) -> Result<Self, SinkError> {
        let failed = |source| SinkError::Listen { address, source };
        let listener = TcpListener::bind(address).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        Ok(Self { listener, address })
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Gives every batch of spans to `take`, and every batch of series to `take_points`, until this future is dropped. An
    /// exporter that gets an error sends spans again, and series with its next ones.
    pub async fn serve<F, P>(self, take: F, take_points: P)
    where
        F: Fn(Vec<ReceivedSpan>) -> Result<(), String> + Send + Sync + 'static,
        P: Fn(Vec<Point>) -> Result<(), String> + Send + Sync + 'static,
    {
        // What a compressed batch unpacks to has the bound of every other one: tonic's 4 MiB.
        let gzip = CompressionEncoding::Gzip;
        let traces = TraceServiceServer::from_arc(Arc::new(Taking(take))).accept_compressed(gzip);
        let metrics = MetricsServiceServer::from_arc(Arc::new(Taking(take_points))).accept_compressed(gzip);
        let room = Arc::new(Semaphore::new(CONNECTIONS_MAX));
        // Ends all connections when it is dropped.
        let mut connections = tokio::task::JoinSet::new();
        loop {
            let room = room.clone().acquire_owned().await.expect("the semaphore is never closed");
            let stream = match self.listener.accept().await {
                Ok((stream, _)) => stream,
                Err(error) => {
                    // Such as too many open files: that passes.
                    tracing::debug!(%error, "a connection was not made");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                    continue;
                }
            };
            while connections.try_join_next().is_some() {}
            let (traces, metrics) = (traces.clone(), metrics.clone());
            let service = service_fn(move |request: hyper::Request<Incoming>| {
                let is_metrics = request.uri().path().trim_start_matches('/').starts_with(METRICS);
                let (mut traces, mut metrics) = (traces.clone(), metrics.clone());
                async move { if is_metrics { metrics.call(request).await } else { traces.call(request).await } }
            });
            connections.spawn(async move {
                let _room = room;
                let connection = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
                if let Err(error) = connection.serve_connection(TokioIo::new(stream), service).await {
                    tracing::debug!(%error, "a connection broke");
                }
            });
        }
    }
}

struct Taking<F>(F);

#[tonic::async_trait]
impl<F> TraceService for Taking<F>
where
    F: Fn(Vec<ReceivedSpan>) -> Result<(), String> + Send + Sync + 'static,
{
    async fn export(
        &self,
        request: Request<ExportTraceServiceRequest>,
    ) -> Result<Response<ExportTraceServiceResponse>, Status> {
        let spans = spans_of(request.into_inner());
        (self.0)(spans).map_err(Status::unavailable)?;
        Ok(Response::new(ExportTraceServiceResponse { partial_success: None }))
    }
}

#[tonic::async_trait]
impl<F> MetricsService for Taking<F>
where
    F: Fn(Vec<Point>) -> Result<(), String> + Send + Sync + 'static,
{
    async fn export(
        &self,
        request: Request<ExportMetricsServiceRequest>,
    ) -> Result<Response<ExportMetricsServiceResponse>, Status> {
        let points = points_of(request.into_inner());
        (self.0)(points).map_err(Status::unavailable)?;
        Ok(Response::new(ExportMetricsServiceResponse { partial_success: None }))
    }
}
