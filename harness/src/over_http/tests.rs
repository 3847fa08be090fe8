//! Requests to servers that behave well, and badly.

use std::{
    io::{Read as _, Write as _},
    net::TcpListener,
};

use holdpoint_evidence::over_http::HEAD_BYTES_MAX;

use super::*;

/// How long a request of these tests may take.
const WITHIN: Duration = Duration::from_secs(30);

/// Serves one connection: reads the head of a request, and hands the connection on with it.
fn serve(answer: impl FnOnce(std::net::TcpStream, String) + Send + 'static) -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let (mut head, mut byte) = (Vec::new(), [0]);
        while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).unwrap() > 0 {
            head.extend_from_slice(&byte);
        }
        answer(stream, String::from_utf8(head).unwrap());
    });
    port
}

/// Serves these bytes, and closes.
fn serve_bytes(bytes: impl Into<Vec<u8>>) -> u16 {
    let bytes = bytes.into();
    // Nobody may be left to read all of it.
    serve(move |mut stream, _| drop(stream.write_all(&bytes)))
}

async fn ask_of(port: u16) -> Result<HttpAnswer, String> {
    ask::ask(port, &Sent::new("GET", "/"), WITHIN, BODY_BYTES_MAX).await
}

#[tokio::test]
async fn a_whole_response_is_taken_and_nothing_is_followed() {
    let port = serve_bytes("HTTP/1.1 302 Found\r\nLocation: /other\r\nX-A: b\r\nContent-Length: 2\r\n\r\nhi");
    let answer = ask_of(port).await.unwrap();
    let header = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let headers = vec![header("location", "/other"), header("x-a", "b"), header("content-length", "2")];
    assert_eq!(answer, HttpAnswer { status: 302, headers, body: b"hi".to_vec() });
}

#[tokio::test]
async fn a_request_has_what_the_test_says_and_a_type_for_its_body() {
    let (sender, receiver) = std::sync::mpsc::channel();
    let port = serve(move |mut stream, head| {
        sender.send(head).unwrap();
        stream.write_all(b"HTTP/1.1 204 No Content\r\n\r\n").unwrap();
    });
    let mut sent = Sent::new("POST", "/a?b=c");
    sent.headers.push(("Authorization".to_owned(), "Bearer x".to_owned()));
    sent.body = "{\"a\": 1}".to_owned();
    sent.say_type();
    assert_eq!(ask::ask(port, &sent, WITHIN, BODY_BYTES_MAX).await.unwrap().status, 204);
    let head = receiver.recv().unwrap().to_ascii_lowercase();
    assert!(head.starts_with("post /a?b=c http/1.1\r\n"), "{head}");
    for line in ["authorization: bearer x", "content-type: application/json", "content-length: 8", "connection: close"]
    {
        assert!(head.contains(&format!("\r\n{line}\r\n")), "{line}: {head}");
    }
    let mut other = Sent { body: "a".to_owned(), ..Sent::default() };
    other.headers.push(("content-TYPE".to_owned(), "x/y".to_owned()));
    other.say_type();
    assert_eq!(other.headers.len(), 1, "what the test says stays");
}

#[tokio::test]
async fn a_response_that_is_none_has_its_reason() {
    let endless = |mut stream: std::net::TcpStream, _: String| {
        let head = b"HTTP/1.1 200 OK\r\n\r\n";
        let _ = stream.write_all(head);
        while stream.write_all(&[b'x'; 4_096]).is_ok() {}
    };
    for (port, why) in [
        (serve_bytes("SSH-2.0-OpenSSH_9.6\r\n"), "it answered with something that is no HTTP/1.1"),
        (serve_bytes(""), "it closed the connection before its response was complete"),
        (serve_bytes("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhi"), "its body broke off after 2 bytes"),
        (
            serve_bytes(format!("HTTP/1.1 200 OK\r\nA: {}\r\n\r\n", "x".repeat(2 * HEAD_BYTES_MAX))),
            "the head of its response is too large",
        ),
        (serve(endless), "its body is longer than 1024 KiB"),
        (free_port().unwrap(), "nothing takes connections there"),
    ] {
        let found = ask_of(port).await.unwrap_err();
        assert!(found.starts_with(why), "{why}: {found}");
    }
}

#[tokio::test]
async fn a_server_that_hangs_is_waited_for_within_its_time_only() {
    let (held, hold) = std::sync::mpsc::channel::<()>();
    let port = serve(move |_stream, _| {
        // Ends with the error of a sender that is gone.
        let _ = hold.recv();
    });
    let found = ask::ask(port, &Sent::new("GET", "/"), Duration::from_millis(50), BODY_BYTES_MAX).await;
    assert_eq!(found.unwrap_err(), "no complete response within 50 ms");
    drop(held);
}

#[test]
fn an_environment_without_a_program_is_no_fault_of_the_work() {
    use std::os::unix::process::ExitStatusExt as _;
    let of = |code: i32| Missed::ended(ExitStatus::from_raw(code << 8), String::new()).code;
    assert_eq!([of(0), of(1), of(3), of(126), of(127), of(137)], [RED, RED, RED, NOT_RUN, NOT_FOUND, RED]);
    assert_eq!(Missed::ended(ExitStatus::from_raw(9), String::new()).code, RED);
}
