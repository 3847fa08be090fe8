//! Sending JSON to a URL by POST, for notifications: one connection per request, plain or by TLS, with a time limit. It
//! follows no redirect, uses no proxy and keeps no cookie. When to send, and what to do about a failure, is the caller's.

mod target;

use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use hyper::{
    Request, StatusCode,
    body::Incoming,
    client::conn::http1,
    header::{AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, HOST, HeaderValue, InvalidHeaderValue, USER_AGENT},
};
use hyper_util::rt::TokioIo;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
    task::JoinSet,
};
use tokio_rustls::{
    TlsConnector,
    rustls::{self, ClientConfig, RootCertStore, crypto::ring, pki_types::InvalidDnsNameError},
};

use target::Target;
pub(crate) use target::{check, shown};

/// Bytes of an answer's head. Its body is not read.
const HEAD_BYTES: usize = 16 << 10;
/// Bytes of a token's file.
const TOKEN_BYTES_MAX: u64 = 16 << 10;

/// Why something was not delivered. No message contains the path of the URL or the token: either may be a secret.
#[derive(Debug, thiserror::Error)]
pub enum WebhookError {
    /// The URL cannot be used.
    #[error("the URL of the webhook {problem}")]
    Url {
        /// What is wrong with it.
        problem: &'static str,
    },
    /// The token's file cannot be read.
    #[error("cannot read the webhook's token from {}", path.display())]
    Token {
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The token has characters that no header can carry.
    #[error("the webhook's token has characters that a header cannot carry: it is one line of ASCII")]
    BadToken(#[source] InvalidHeaderValue),
    /// The system trusts no certificate authority.
    #[error("this system trusts no certificate authority: install its package `ca-certificates`, or set SSL_CERT_FILE")]
    NoRoots,
    /// TLS cannot be set up.
    #[error("cannot set up TLS")]
    Tls(#[source] rustls::Error),
    /// The host cannot be a name in a certificate.
    #[error("the host of the webhook cannot be verified")]
    Name(#[source] InvalidDnsNameError),
    /// Nothing listens there, or the certificate is not trusted.
    #[error("cannot connect to {host}")]
    Connect {
        /// Host and port.
        host: String,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The exchange failed.
    #[error("the request to {host} failed")]
    Http {
        /// Host and port.
        host: String,
        /// How.
        #[source]
        source: hyper::Error,
    },
    /// It answered with another place.
    #[error("{host} answered {status}: redirects are not followed, so give the final URL")]
    Redirect {
        /// Host and port.
        host: String,
        /// The answer.
        status: StatusCode,
    },
    /// It answered with a failure.
    #[error("{host} answered {status}")]
    Status {
        /// Host and port.
        host: String,
        /// The answer.
        status: StatusCode,
    },
    /// It did not answer in time.
    #[error("{host} did not answer within {} s", after.as_secs_f64())]
    TimedOut {
        /// Host and port.
        host: String,
        /// The limit.
        after: Duration,
    },
}

/// Where JSON is sent.
pub struct Webhook {
    target: Target,
    token_file: Option<PathBuf>,
    timeout: Duration,
    tls: Option<TlsConnector>,
}

impl std::fmt::Debug for Webhook {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Webhook({})", self.target.host_and_port())
    }
}

impl Webhook {
    /// Sends to `url`, with the content of `token_file` as bearer token. Each request takes `timeout` at most.
    ///
    /// # Errors
    /// [`WebhookError::Url`]; with `https://` also what keeps TLS from being set up.
    pub fn new(url: &str, token_file: Option<&Path>, timeout: Duration) -> Result<Self, WebhookError> {
        let target = check(url, token_file.is_some()).map_err(|problem| WebhookError::Url { problem })?;
        let tls = target.tls.then(|| connector(system_roots()?)).transpose()?;
        Ok(Self { target, token_file: token_file.map(Path::to_owned), timeout, tls })
    }

    /// Sends `json`, and waits until it was taken: an answer with a status of 200 to 299.
    ///
    /// # Errors
    /// [`WebhookError`]: it may have arrived all the same.
    pub async fn post(&self, json: String) -> Result<(), WebhookError> {
        let host = self.target.host_and_port();
        let answer = tokio::time::timeout(self.timeout, self.send(json)).await;
        let status = answer.map_err(|_| WebhookError::TimedOut { host: host.clone(), after: self.timeout })??;
        match status {
            taken if taken.is_success() => Ok(()),
            other if other.is_redirection() => Err(WebhookError::Redirect { host, status: other }),
            other => Err(WebhookError::Status { host, status: other }),
        }
    }

    async fn send(&self, json: String) -> Result<StatusCode, WebhookError> {
        let request = self.request(json).await?;
        let host = self.target.host_and_port();
        let connect = |source| WebhookError::Connect { host: host.clone(), source };
        let http = |source| WebhookError::Http { host: host.clone(), source };
        let stream = TcpStream::connect((self.target.host.as_str(), self.target.port)).await.map_err(connect)?;
        let Some(tls) = &self.tls else { return exchange(stream, request).await.map_err(http) };
        let name = self.target.host.clone().try_into().map_err(WebhookError::Name)?;
        let stream = tls.connect(name, stream).await.map_err(connect)?;
        exchange(stream, request).await.map_err(http)
    }

    async fn request(&self, json: String) -> Result<Request<String>, WebhookError> {
        let mut request = Request::post(self.target.path.clone())
            .header(HOST, self.target.authority.as_str())
            .header(USER_AGENT, concat!("holdpoint/", env!("CARGO_PKG_VERSION")))
            .header(CONTENT_TYPE, "application/json")
            .header(CONTENT_LENGTH, json.len())
            .body(json)
            .map_err(|_| WebhookError::Url { problem: "cannot be sent in a request" })?;
        if let Some(path) = &self.token_file {
            request.headers_mut().insert(AUTHORIZATION, bearer(path).await?);
        }
        Ok(request)
    }
}

/// What the token's file says now: it may be renewed while the process runs.
async fn bearer(path: &Path) -> Result<HeaderValue, WebhookError> {
    let unreadable = |source| WebhookError::Token { path: path.to_owned(), source };
    let file = tokio::fs::metadata(path).await.map_err(unreadable)?;
    if !file.is_file() {
        return Err(unreadable(io::Error::other("it is no file")));
    }
    let bytes = file.len();
    if bytes > TOKEN_BYTES_MAX {
        return Err(unreadable(io::Error::other(format!("it has {bytes} bytes, more than {TOKEN_BYTES_MAX}"))));
    }
    let token = tokio::fs::read_to_string(path).await.map_err(unreadable)?;
    let mut value = HeaderValue::from_str(&format!("Bearer {}", token.trim())).map_err(WebhookError::BadToken)?;
    value.set_sensitive(true);
    Ok(value)
}

/// Sends a request on a connection of its own; the status of the answer.
async fn exchange<S>(stream: S, request: Request<String>) -> Result<StatusCode, hyper::Error>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let mut builder = http1::Builder::new();
    builder.max_buf_size(HEAD_BYTES);
    let (mut sender, connection) = builder.handshake(TokioIo::new(stream)).await?;
    // Ends with this function.
    let mut driver = JoinSet::new();
    driver.spawn(async move {
        // The request reports what goes wrong with it.
        let _ = connection.await;
    });
    let answer: hyper::Response<Incoming> = sender.send_request(request).await?;
    Ok(answer.status())
}

fn system_roots() -> Result<RootCertStore, WebhookError> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if roots.is_empty() { Err(WebhookError::NoRoots) } else { Ok(roots) }
}

fn connector(roots: RootCertStore) -> Result<TlsConnector, WebhookError> {
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(WebhookError::Tls)?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(TlsConnector::from(Arc::new(config)))
}

#[cfg(test)]
mod tests;
