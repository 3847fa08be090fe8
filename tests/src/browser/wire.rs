//! Requests of the WebDriver protocol: JSON over HTTP, one connection each.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpStream,
    process::ChildStdout,
    thread,
};

use serde_json::Value;

use super::PATIENCE;

/// A place below which requests go.
#[derive(Debug, Clone)]
pub(super) struct Wire {
    port: u16,
    below: String,
}

impl Wire {
    pub(super) fn new(port: u16, below: &str) -> Self {
        Self { port, below: below.to_owned() }
    }

    pub(super) fn below(&self, path: &str) -> Self {
        Self::new(self.port, &format!("{}{path}", self.below))
    }

    /// Sends a request, which has to succeed.
    #[track_caller]
    pub(super) fn call(&self, method: &str, path: &str, body: &Value) -> Value {
        self.try_call(method, path, body).unwrap_or_else(|said| panic!("{method} {path}: {said}"))
    }

    /// Sends a request.
    ///
    /// # Errors
    /// What the driver says of it.
    pub(super) fn try_call(&self, method: &str, path: &str, body: &Value) -> Result<Value, String> {
        let (status, answer) = self.send(method, path, body).map_err(|error| format!("no answer: {error}"))?;
        let value = serde_json::from_slice::<Value>(&answer).map_err(|error| error.to_string())?["value"].take();
        if status == 200 { Ok(value) } else { Err(format!("{}: {}", value["error"], value["message"])) }
    }

    fn send(&self, method: &str, path: &str, body: &Value) -> std::io::Result<(u16, Vec<u8>)> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port))?;
        stream.set_read_timeout(Some(PATIENCE))?;
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let head = format!(
            "{method} {}{path} HTTP/1.1\r\nhost: localhost:{}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
            self.below,
            self.port,
            body.len()
        );
        stream.write_all(format!("{head}{body}").as_bytes())?;
        let mut reader = BufReader::new(stream);
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let status = line.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or(0);
        let mut length = 0;
        loop {
            line.clear();
            reader.read_line(&mut line)?;
            let Some((name, value)) = line.trim_end().split_once(':') else { break };
            if name.eq_ignore_ascii_case("content-length") {
                length = value.trim().parse().unwrap_or(0);
            }
        }
        let mut answer = vec![0; length];
        reader.read_exact(&mut answer)?;
        Ok((status, answer))
    }
}

/// The port that a driver has chosen. What else it says is read and dropped, so that it is not held up.
pub(super) fn port_of(said: ChildStdout) -> u16 {
    let mut lines = BufReader::new(said).lines();
    let port = lines.by_ref().map_while(Result::ok).find_map(|line| {
        let (_, port) = line.split_once("started successfully on port ")?;
        port.trim_end_matches('.').parse().ok()
    });
    thread::spawn(move || lines.for_each(drop));
    port.unwrap_or_else(|| panic!("the driver of the browser did not start"))
}
