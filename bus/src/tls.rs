//! TLS to the broker: whose certificates are believed, what is shown, and what may have gone wrong.

use std::{error::Error, fs, io, path::PathBuf};

use async_nats::{ConnectErrorKind, ConnectOptions, rustls};

/// Files for TLS, PEM each; none are needed where the broker has a certificate that the system believes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TlsFiles {
    /// Certificates of those who may have issued the broker's; the system's do not count then. TLS is demanded.
    pub ca: Option<PathBuf>,
    /// This client's certificate, followed by those between it and the broker's authority, and its key.
    pub client: Option<ClientCertificate>,
}

/// What a client shows a broker that asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientCertificate {
    /// The certificates.
    pub cert: PathBuf,
    /// The key. Secret.
    pub key: PathBuf,
}

/// Why there is no TLS connection.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file cannot be read.
    #[error("cannot read {}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The files do not hold what they have to, or the broker's certificate is not believed.
    #[error("the certificates do not fit")]
    Certificates(#[source] async_nats::ConnectError),
    /// What answers is no TLS.
    #[error("the broker does not speak TLS")]
    NoTls(#[source] async_nats::ConnectError),
    /// The broker ended the connection after its certificate was accepted.
    #[error("the broker ended the connection: it may want a client certificate, or another one")]
    Ended(#[source] async_nats::ConnectError),
}

impl TlsFiles {
    /// Whether the files can be read.
    pub(crate) fn check(&self) -> Result<(), TlsError> {
        let client = self.client.iter().flat_map(|client| [&client.cert, &client.key]);
        for path in self.ca.iter().chain(client) {
            fs::File::open(path).map_err(|source| TlsError::File { path: path.clone(), source })?;
        }
        Ok(())
    }

    /// Whether a connection without TLS is refused.
    fn demanded(&self, url: &str) -> bool {
        self.ca.is_some() || self.client.is_some() || url.split(',').any(|url| url.starts_with("tls://"))
    }

    /// Nothing is sent without TLS where it was asked for, also not to servers that the broker names later.
    pub(crate) fn apply(&self, url: &str, mut options: ConnectOptions) -> ConnectOptions {
        if self.demanded(url) {
            options = options.require_tls(true);
        }
        if let Some(ca) = &self.ca {
            options = options.add_root_certificates(ca.clone());
        }
        if let Some(ClientCertificate { cert, key }) = &self.client {
            options = options.add_client_certificate(cert.clone(), key.clone());
        }
        options
    }

    /// The error if TLS is at fault, or else as it was.
    pub(crate) fn blame(
        &self,
        url: &str,
        error: async_nats::ConnectError,
    ) -> Result<TlsError, async_nats::ConnectError> {
        let io = error.source().and_then(|source| source.downcast_ref::<io::Error>());
        let inner = io.and_then(io::Error::get_ref).and_then(|inner| inner.downcast_ref::<rustls::Error>());
        match inner {
            Some(rustls::Error::AlertReceived(_)) => return Ok(TlsError::Ended(error)),
            Some(rustls::Error::InvalidMessage(_)) => return Ok(TlsError::NoTls(error)),
            Some(_) => return Ok(TlsError::Certificates(error)),
            None if error.kind() == ConnectErrorKind::Tls => return Ok(TlsError::Certificates(error)),
            None => {}
        }
        // A broker that refuses a client certificate may close before its reason arrives.
        let closed = io.is_none_or(|io| {
            use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, UnexpectedEof};
            matches!(io.kind(), BrokenPipe | ConnectionAborted | ConnectionReset | UnexpectedEof)
        });
        if error.kind() == ConnectErrorKind::Io && closed && self.demanded(url) {
            return Ok(TlsError::Ended(error));
        }
        Err(error)
    }
}
