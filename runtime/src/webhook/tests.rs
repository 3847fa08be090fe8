//! Against listeners of our own.

use std::net::SocketAddr;

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
    sync::mpsc,
};
use tokio_rustls::{
    TlsAcceptor,
    rustls::{ServerConfig, pki_types::PrivateKeyDer},
};

use super::*;
use crate::telemetry::ErrorChain;

const PATIENT: Duration = Duration::from_secs(30);

/// Answers each request with the next of these, and reports what it was asked. `None`: it says nothing.
async fn listener(answers: Vec<Option<&'static str>>) -> (SocketAddr, mpsc::UnboundedReceiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (tell, told) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        let mut silent = Vec::new();
        for answer in answers {
            let (mut stream, _) = listener.accept().await.unwrap();
            tell.send(request(&mut stream).await).unwrap();
            match answer {
                Some(answer) => stream.write_all(answer.as_bytes()).await.unwrap(),
                None => silent.push(stream),
            }
        }
        std::future::pending::<()>().await;
    });
    (address, told)
}

/// A whole request: its head, and as much behind it as it says.
async fn request(stream: &mut (impl AsyncRead + Unpin)) -> String {
    let mut read = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&read).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length =
                head.lines().find_map(|line| line.to_lowercase().strip_prefix("content-length: ")?.parse().ok());
            if body.len() >= length.unwrap_or(0) {
                return text;
            }
        }
        assert!(stream.read_buf(&mut read).await.unwrap() > 0, "a whole request: {text}");
    }
}

fn hook(address: SocketAddr, token_file: Option<&Path>) -> Webhook {
    within(PATIENT, address, token_file)
}

fn within(timeout: Duration, address: SocketAddr, token_file: Option<&Path>) -> Webhook {
    Webhook::new(&format!("http://{address}/hook?key=secret"), token_file, timeout).unwrap()
}

const TAKEN: Option<&str> = Some("HTTP/1.1 204 No Content\r\n\r\n");

#[tokio::test]
async fn json_arrives_by_post_with_the_token_that_its_file_has_now() {
    let (address, mut told) = listener(vec![TAKEN, TAKEN]).await;
    let dir = tempfile::tempdir().unwrap();
    let token = dir.path().join("token");
    std::fs::write(&token, "first\n").unwrap();
    let hook = hook(address, Some(&token));
    hook.post("{\"kind\": \"question\"}".to_owned()).await.unwrap();
    let request = told.recv().await.unwrap();
    let (head, body) = request.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("POST /hook?key=secret HTTP/1.1\r\n"), "{head}");
    for line in
        [format!("host: {address}"), "content-type: application/json".into(), "authorization: Bearer first".into()]
    {
        assert!(head.lines().any(|found| found == line), "{line} in {head}");
    }
    assert_eq!(body, "{\"kind\": \"question\"}");
    std::fs::write(&token, "second").unwrap();
    hook.post("{}".to_owned()).await.unwrap();
    assert!(told.recv().await.unwrap().contains("authorization: Bearer second\r\n"));
}

#[tokio::test]
async fn a_failure_a_redirect_and_nobody_there_are_errors_that_tell_no_secret() {
    let moved = Some("HTTP/1.1 307 Temporary Redirect\r\nlocation: http://127.0.0.1:1/\r\n\r\n");
    let broken = Some("HTTP/1.1 500 Internal Server Error\r\n\r\n");
    let (address, _told) = listener(vec![broken, moved, Some("hello\r\n")]).await;
    let hook_here = hook(address, None);
    let mut errors = Vec::new();
    for expected in ["500 Internal", "redirects are not followed", "failed"] {
        let error = hook_here.post("{}".to_owned()).await.unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
        errors.push(error);
    }
    let gone = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    errors.push(hook(gone, None).post("{}".to_owned()).await.unwrap_err());
    assert!(matches!(errors.last(), Some(WebhookError::Connect { .. })), "{errors:?}");
    let dir = tempfile::tempdir().unwrap();
    let missing = dir.path().join("missing");
    errors.push(hook(gone, Some(&missing)).post("{}".to_owned()).await.unwrap_err());
    for error in errors {
        let text = ErrorChain(&error).to_string();
        assert!(!text.contains("secret"), "{text}");
    }
}

#[tokio::test]
async fn an_answer_that_does_not_come_is_given_up_in_time() {
    let (address, _told) = listener(vec![None]).await;
    let error = within(Duration::from_millis(200), address, None).post("{}".to_owned()).await.unwrap_err();
    assert!(matches!(error, WebhookError::TimedOut { .. }), "{error}");
    assert!(error.to_string().contains("within 0.2 s"), "{error}");
}

#[tokio::test]
async fn https_is_spoken_with_those_whom_the_roots_vouch_for() {
    let own = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let key = PrivateKeyDer::Pkcs8(own.signing_key.serialize_der().into());
    let server = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![own.cert.der().clone()], key)
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(server));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            serve(&acceptor, stream).await;
        }
    });
    let url = format!("https://localhost:{port}/");
    let target = check(&url, false).unwrap();
    let mut roots = RootCertStore::empty();
    let stranger = Webhook {
        target: target.clone(),
        token_file: None,
        timeout: PATIENT,
        tls: Some(connector(roots.clone()).unwrap()),
    };
    let error = stranger.post("{}".to_owned()).await.unwrap_err();
    assert!(matches!(error, WebhookError::Connect { .. }), "{error}");
    roots.add(own.cert.der().clone()).unwrap();
    let known = Webhook { tls: Some(connector(roots).unwrap()), ..stranger };
    known.post("{}".to_owned()).await.unwrap();
}

/// Takes a request, if the other side agrees to the certificate.
async fn serve(acceptor: &TlsAcceptor, stream: TcpStream) {
    let Ok(mut stream) = acceptor.accept(stream).await else { return };
    let asked = request(&mut stream).await;
    assert!(asked.starts_with("POST / HTTP/1.1"), "{asked}");
    stream.write_all(TAKEN.unwrap().as_bytes()).await.unwrap();
    stream.shutdown().await.unwrap();
}
