//! Connections: so many at once, and none that is silent for long.

use std::{
    io,
    net::SocketAddr,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

use axum::serve::Listener;
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::{TcpListener, TcpStream},
    sync::{OwnedSemaphorePermit, Semaphore},
    time::{Instant, Sleep, sleep_until},
};

/// How long a page may take.
pub(crate) const PAGE_TIMEOUT: Duration = Duration::from_secs(60);
/// Connections at once. A browser has six; the others wait.
pub(crate) const CONNECTIONS_MAX: usize = 64;
/// How long nothing may be heard of a connection and nothing be sent to it. Event streams say more often that they are there, and a
/// page that takes too long is answered before.
const SILENCE_MAX: Duration = PAGE_TIMEOUT.saturating_add(Duration::from_secs(30));
/// The pause after a connection could not be taken, because there are no file descriptors.
const PAUSE: Duration = Duration::from_millis(200);

/// A listener that lets so many in.
#[derive(Debug)]
pub(crate) struct Connections {
    listener: TcpListener,
    places: Arc<Semaphore>,
}

impl Connections {
    /// In front of this listener.
    pub(crate) fn new(listener: TcpListener) -> Self {
        Self { listener, places: Arc::new(Semaphore::new(CONNECTIONS_MAX)) }
    }
}

impl Listener for Connections {
    type Io = Connection;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Connection, SocketAddr) {
        let place = Arc::clone(&self.places).acquire_owned().await.expect("the semaphore is never closed");
        loop {
            match self.listener.accept().await {
                Ok((stream, from)) => {
                    let silence = Box::pin(sleep_until(Instant::now() + SILENCE_MAX));
                    return (Connection { stream, silence, _place: place }, from);
                }
                Err(error) => {
                    tracing::debug!(%error, "a connection could not be taken");
                    tokio::time::sleep(PAUSE).await;
                }
            }
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

/// A connection, with its place.
#[derive(Debug)]
pub(crate) struct Connection {
    stream: TcpStream,
    silence: Pin<Box<Sleep>>,
    _place: OwnedSemaphorePermit,
}

impl Connection {
    fn alive(&mut self) {
        self.silence.as_mut().reset(Instant::now() + SILENCE_MAX);
    }
}

impl AsyncRead for Connection {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match Pin::new(&mut self.stream).poll_read(cx, buf) {
            Poll::Ready(read) => {
                self.alive();
                Poll::Ready(read)
            }
            Poll::Pending => {
                ready!(self.silence.as_mut().poll(cx));
                Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
            }
        }
    }
}

impl AsyncWrite for Connection {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = ready!(Pin::new(&mut self.stream).poll_write(cx, bytes));
        self.alive();
        Poll::Ready(written)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
