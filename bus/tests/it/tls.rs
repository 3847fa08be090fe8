//! TLS between a client and a real server, with certificates made here.

use std::path::{Path, PathBuf};

use holdpoint_bus::{
    Bus, ConnectArgs, ConnectError,
    auth::{Authority, Credentials},
    broker::{Broker, BrokerSpec},
    tls::{ClientCertificate, TlsError, TlsFiles},
};
use holdpoint_sandbox::service::Lifetime;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use tempfile::TempDir;

use crate::support::server;

/// An authority for certificates.
struct Issuer(CertifiedIssuer<'static, KeyPair>);

impl Issuer {
    fn new() -> Self {
        let mut params = CertificateParams::new(Vec::<String>::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Self(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    /// Writes `<name>.pem` and `<name>.key` for this host.
    fn issue(&self, dir: &Path, name: &str) -> ClientCertificate {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
        let cert = params.signed_by(&key, &self.0).unwrap();
        let files = ClientCertificate { cert: dir.join(format!("{name}.pem")), key: dir.join(format!("{name}.key")) };
        std::fs::write(&files.cert, cert.pem()).unwrap();
        std::fs::write(&files.key, key.serialize_pem()).unwrap();
        files
    }

    fn write(&self, path: PathBuf) -> PathBuf {
        std::fs::write(&path, self.0.pem()).unwrap();
        path
    }
}

/// A broker and what clients may use.
struct Lab {
    dir: TempDir,
    broker: Broker,
    credentials: Credentials,
    ours: Issuer,
    ca: PathBuf,
}

impl Lab {
    /// `tls`: further lines of the server's block; `None`: no TLS.
    async fn start(tls: Option<&str>) -> Self {
        let dir = TempDir::new().unwrap();
        let ours = Issuer::new();
        let ca = ours.write(dir.path().join("ca.pem"));
        let ClientCertificate { cert, key } = ours.issue(dir.path(), "server");
        let mut authority = Authority::create();
        let credentials = authority.mint_orchestrator(&"o1".parse().unwrap());
        let block = tls
            .map(|lines| format!("tls {{\n  cert_file: {cert:?}\n  key_file: {key:?}\n  ca_file: {ca:?}\n{lines}}}\n"));
        let spec = BrokerSpec {
            binary: server().await,
            dir: dir.path().join("broker"),
            authority: authority.server_config() + &block.unwrap_or_default(),
            port: 0,
            sync_always: false,
            max_memory_bytes: 1 << 20,
            max_file_bytes: 1 << 20,
            lifetime: Lifetime::Bound,
        };
        let broker = Broker::start(spec).await.unwrap();
        Self { dir, broker, credentials, ours, ca }
    }

    async fn connect(
        &self,
        scheme: &str,
        ca: Option<&Path>,
        client: Option<&ClientCertificate>,
    ) -> Result<Bus, ConnectError> {
        let url = self.broker.url().replace("nats://", scheme);
        let tls = TlsFiles { ca: ca.map(Path::to_owned), client: client.cloned() };
        Bus::connect(ConnectArgs { tls, ..ConnectArgs::new(url, self.credentials.clone()) }).await
    }
}

/// Why there is no connection.
#[track_caller]
fn refused(result: Result<Bus, ConnectError>) -> TlsError {
    match result {
        Err(ConnectError::Tls { source, .. }) => source,
        other => panic!("not refused for TLS: {other:?}"),
    }
}

#[tokio::test]
async fn a_broker_is_believed_by_the_certificate_of_its_authority_only() {
    let lab = Lab::start(Some("")).await;
    for scheme in ["tls://", "nats://"] {
        lab.connect(scheme, Some(&lab.ca), None).await.unwrap();
        let foreign = Issuer::new().write(lab.dir.path().join("foreign.pem"));
        let other = refused(lab.connect(scheme, Some(&foreign), None).await);
        assert!(matches!(other, TlsError::Certificates(_)), "{other:?}");
        // The system does not know it either.
        let none = refused(lab.connect(scheme, None, None).await);
        assert!(matches!(none, TlsError::Certificates(_)), "{none:?}");
    }
    let missing = refused(lab.connect("tls://", Some(&lab.dir.path().join("none.pem")), None).await);
    assert!(missing.to_string().contains("none.pem"), "{missing}");
}

#[tokio::test]
async fn a_broker_that_asks_for_certificates_gets_one_of_its_authority() {
    let lab = Lab::start(Some("  verify: true\n")).await;
    let own = lab.ours.issue(lab.dir.path(), "client");
    lab.connect("tls://", Some(&lab.ca), Some(&own)).await.unwrap();
    let foreign = Issuer::new().issue(lab.dir.path(), "foreign");
    for client in [None, Some(&foreign)] {
        let told = refused(lab.connect("tls://", Some(&lab.ca), client).await);
        assert!(matches!(told, TlsError::Ended(_)) && told.to_string().contains("client certificate"), "{told:?}");
    }
}

#[tokio::test]
async fn nothing_is_sent_without_tls_where_it_was_asked_for() {
    let lab = Lab::start(None).await;
    lab.connect("nats://", None, None).await.unwrap();
    for (scheme, ca) in [("tls://", None), ("tls://", Some(&*lab.ca)), ("nats://", Some(&*lab.ca))] {
        let told = refused(lab.connect(scheme, ca, None).await);
        assert!(matches!(told, TlsError::NoTls(_)), "{told:?}");
    }
}
